"""Whether the wording of an answer is that of a refusal or a handover: a logistic regression over its pieces.

It stands beside the patterns of acts.py, which know the wordings that were written down; a new writer words
half of it in other ways. The weights in act_model.json are learned by `python -m scripts.act_model`; `make
bench-detectors` measures both on rows of a writer from whom neither was made.
"""

import re
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from simulator.core.types import Language
from simulator.text.segments import normalise

WEIGHTS = Path(__file__).with_name("act_model.json")
# Longer answers are hardly among those it was learned from; sentence by sentence, the patterns read them.
LONGEST = {"ja": 120, "en": 200}
# An answer of fewer known pieces says little, whatever they weigh.
FEW = 20
# What the constant piece counts.
CONSTANT = 0.15
# The log odds from which on an answer counts as one. Of five writers, each measured with what was learned
# from the other four and with the patterns, 94 % of the refusals are found, and 93 % (ja) and 94 % (en) of
# the handovers; 85 of 100 answers taken for refusals are refusals, 95 of 100 taken for handovers are
# handovers. Of the worst writer 86 % (ja) and 90 % (en) of the refusals are found, 85 % and 86 % of the
# handovers.
LIKELY = {"refusal.ja": -1.0, "refusal.en": -1.0, "handover.ja": -1.0, "handover.en": -1.0}
_WORD = re.compile(r"[a-z0']+|[.,?!]")

Kind = Literal["refusal", "handover"]


def pieces(text: str, language: Language) -> frozenset[str]:
    """The pieces that count: 2 to 5 characters (ja), 1 to 3 words and 4 characters (en); any digit is 0."""
    plain = re.sub(r"\d", "0", normalise(text).lower())
    if language == "ja":
        return frozenset(_runs(plain, (2, 3, 4, 5)))
    words = _WORD.findall(plain)
    grams = (" ".join(words[at : at + size]) for size in (1, 2, 3) for at in range(len(words) - size + 1))
    return frozenset((*grams, *_runs(plain, (4,))))


def is_likely(kind: Kind, text: str, language: Language) -> bool:
    """Whether a short answer is worded like those that refuse, or that hand over."""
    if len(text) > LONGEST[language]:
        return False
    name = f"{kind}.{language}"
    weights = _weights()[name]
    known = [weights[piece] for piece in pieces(text, language) if piece in weights]
    return sum(known) / sqrt(max(FEW, len(known))) + CONSTANT * weights[""] > LIKELY[name]


def _runs(text: str, sizes: tuple[int, ...]) -> list[str]:
    return [text[at : at + size] for size in sizes for at in range(len(text) - size + 1)]


@cache
def _weights() -> dict[str, dict[str, float]]:
    """The weight of each known piece by kind and language; that of the constant under ''."""
    return TypeAdapter(dict[str, dict[str, float]]).validate_json(WEIGHTS.read_bytes())
