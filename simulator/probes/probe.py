"""A probe: two exhibits that differ in one known way, and what that difference must do to a grade."""

import re
from collections.abc import Mapping
from typing import Literal

from simulator.core.types import GradingContext, Language, Value

Kind = Literal["flipped_fact", "padding", "curt", "angry", "twin", "shuffled", "longer"]
Expectation = Literal["falls", "stays", "reported"]

KINDS: tuple[Kind, ...] = ("flipped_fact", "padding", "curt", "angry", "twin", "shuffled", "longer")
# What must happen, and by how many grades (1..5): at least so far down, or at most so far from it on average.
EXPECTED: Mapping[Kind, tuple[Expectation, float | None]] = {
    "flipped_fact": ("falls", 2.0),
    "padding": ("stays", 0.2),
    "curt": ("stays", 0.2),
    "angry": ("stays", 0.2),
    "twin": ("stays", 0.2),
    "shuffled": ("stays", 0.1),
    "longer": ("reported", None),
}


class Probe(Value):
    """A generated pair: `base` is right, `changed` is the same but for what `note` says.

    `sort` is what was changed within its kind (amount, date, ability ...). `expects` falls: `changed` must
    lose at least `bound` grades of 1..5 and turn red; stays: the mean over all pairs of its kind may move by
    `bound` at most; reported: nothing is asked of it. `cluster` is shared by the pairs of one question.
    """

    kind: Kind
    sort: str
    language: Language
    cluster: str
    base: GradingContext
    changed: GradingContext
    expects: Expectation
    bound: float | None
    note: str


_LANGUAGE_MARK = re.compile(r"(?<![a-z])(?:ja|jp|en)(?![a-z])", re.IGNORECASE)


def without_language(name: str) -> str:
    """An id without its mark of a language: fees-01-ja and fees-01-en are one question."""
    return _LANGUAGE_MARK.sub("", name)
