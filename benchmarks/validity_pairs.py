"""Which judge is measured on which label of the public sets, and which value of it is good."""

from collections.abc import Sequence
from typing import NamedTuple

from simulator.runner.labelled_answers import LabelFile


class Pairing(NamedTuple):
    """A label, what is good of it (None: what rounds to the top of its scale), and the judges that fit it.

    A judge that lacks what it needs on a set (a reference, passages) skips all rows and is left out.
    """

    label: str
    judges: tuple[str, ...]
    good: str | None = None


GROUNDED = ("groundedness", "claims", "turn")
EQUAL = ("similarity", "cosine", "llm_similarity", "llm_correctness")
# By label: sets of the same shape from elsewhere are measured as well.
PAIRINGS = (
    Pairing("faithfulness", GROUNDED),
    Pairing("hallucinated", GROUNDED, "0"),
    Pairing("attribution", GROUNDED, "Fully attributable"),
    Pairing("groundedness", GROUNDED),
    Pairing("entailment", GROUNDED, "entailment"),
    Pairing("correct", (*GROUNDED[:2], *EQUAL)),
    Pairing("similarity", EQUAL),
    Pairing("completeness", ("turn",)),
    Pairing("appropriateness", ("relevance",)),
    Pairing("naturalness", ("fluency",)),
    Pairing("coherence", ("turn",)),
    Pairing("understandability", ("fluency",)),
    Pairing("acceptable", ("fluency",)),
    Pairing("satisfaction", ("turn",)),
    Pairing("overall", ("turn",)),
)


def pairings(file: LabelFile) -> Sequence[Pairing]:
    """Those that this set has a label for."""
    return [pairing for pairing in PAIRINGS if pairing.label in file.dimensions]
