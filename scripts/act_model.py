"""`python -m scripts.act_model`: learns the wordings that refuse and hand over.

From the rows of benchmarks/detector_rows/build, and from sentences that do neither: those of the articles of
benchmarks/cause_rows and of the bundled bot, and the answers of facts.*.txt.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.causes import desk_rows
from benchmarks.detectors import ACTS, LANGUAGES, labelled_lines
from simulator.core.types import Language
from simulator.text.act_model import CONSTANT, FEW, WEIGHTS, pieces
from simulator.text.acts import FILE
from simulator.text.segments import sentences

ROOT = Path(__file__).parents[1]
CAUSES, KNOWLEDGE = ROOT / "benchmarks/cause_rows", ROOT / "demo/knowledge"

# A piece of fewer answers is left out. How strongly weights are held down; steps of the descent, their size.
FEWEST, HELD_DOWN, STEPS, SIZE = 2, 0.01, 600, 0.5
# How often an example of the patterns counts.
TIMES = 4


def main() -> None:
    """Writes the weights."""
    found = {
        f"{kind}.{language}": weights(
            [
                *((row[2:], ACTS[row[0]][at]) for row in labelled_lines("build", language)),
                *((text, labels[at]) for text, *labels in promised(language)),
                *other,
            ],
            language,
        )
        for language in LANGUAGES
        for other in [[(text, False) for text in ordinary(language)]]
        for at, kind in enumerate(("refusal", "handover"))
    }
    WEIGHTS.write_text(
        json.dumps(found, ensure_ascii=False, indent=0, sort_keys=True) + "\n", encoding="utf-8"
    )


def promised(language: Language) -> Iterator[tuple[str, bool | None, bool | None]]:
    """The examples of the patterns: what looks like a refusal or a handover and is none weighs most."""
    examples = tomllib.loads(FILE.read_text(encoding="utf-8"))[language]["examples"]
    for kind, refuses, hands_over in (
        ("refusal", True, None), ("answer", False, False), ("handover", True, True),
        ("contact", None, False), ("no_handover", False, False),
    ):  # fmt: skip
        for text in examples[kind]:
            yield from [(text, refuses, hands_over)] * TIMES


def ordinary(language: Language) -> Iterator[str]:
    """Sentences and pairs of sentences that state something, each once."""
    desks = (
        path for half in ("build", "held") for path in sorted((CAUSES / half).glob(f"{language}-*.toml"))
    )
    articles = [each.text for path in desks for row in desk_rows(path) for each in row.articles]
    articles += [path.read_text(encoding="utf-8") for path in sorted(KNOWLEDGE.glob(f"{language}/*.md"))]
    for text in dict.fromkeys(articles):
        said = sentences(text)
        yield from said
        yield from (" ".join(pair) for pair in pairwise(said))


def weights(rows: Sequence[tuple[str, bool | None]], language: Language) -> dict[str, float]:
    """The weights of a logistic regression, by gradient descent; rows without a label are left out."""
    each = [(pieces(text, language), label) for text, label in rows if label is not None]
    counted = Counter(piece for found, label in each if label for piece in found)
    known = {
        piece: at for at, piece in enumerate(sorted(p for p, count in counted.items() if count >= FEWEST))
    }
    shown = np.zeros((len(each), len(known) + 1))
    for at, (found, _) in enumerate(each):
        shown[at, [known[piece] for piece in found if piece in known]] = 1
        shown[at] /= np.sqrt(max(FEW, shown[at].sum()))
        shown[at, -1] = CONSTANT
    wanted = np.array([float(bool(label)) for _, label in each])
    learned = np.zeros(len(known) + 1)
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-(shown @ learned)))
        learned -= SIZE * (shown.T @ (likely - wanted) + HELD_DOWN * learned) / np.sqrt(len(each))
    return {piece: round(float(learned[at]), 3) for piece, at in {**known, "": len(known)}.items()}


if __name__ == "__main__":
    main()
