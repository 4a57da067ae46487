"""The kinds of questions and the wordings that there are, and how many of each are made."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from simulator.core.errors import InputError, UnknownName
from simulator.core.types import Case, Value

Kind = Literal[
    "simple", "number", "procedure", "two-passages", "comparison", "follow-up", "complaint",
    "false-fact", "neighbour", "competitor", "private", "small-talk",
]  # fmt: skip
Wording = Literal["plain", "keigo", "casual", "keywords", "typed"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WORDINGS: tuple[Wording, ...] = get_args(Wording)
OUT_OF_SCOPE: frozenset[Kind] = frozenset({"false-fact", "neighbour", "competitor", "private", "small-talk"})
PAIRED: frozenset[Kind] = frozenset({"two-passages", "comparison"})
# What a rule can make without a model.
BY_RULE: frozenset[Kind] = frozenset(
    {"simple", "number", "procedure", "neighbour", "competitor", "private", "small-talk"}
)
# How many of twenty questions are of each kind, unless kinds are named.
SHARES: dict[Kind, int] = {
    "simple": 4, "number": 2, "procedure": 2, "two-passages": 2, "comparison": 1, "follow-up": 2,
    "complaint": 1, "false-fact": 2, "neighbour": 1, "competitor": 1, "private": 1, "small-talk": 1,
}  # fmt: skip
# The tag of every made question: people find them by it.
MADE = "made"
Why = Literal[
    "empty", "long", "language", "document", "copied", "unanswerable", "differs", "one_passage", "alone",
    "no_number", "unsupported", "answered", "no_name", "ambiguous", "duplicate",
]  # fmt: skip
WHYS: tuple[Why, ...] = get_args(Why)


class Rejected(Value):
    """A question that was made and is not proposed; `detail` says more than the word of `why`."""

    case: Case
    why: Why
    detail: str = ""


class Made(NamedTuple):
    """What came of it: cases, what was rejected, and the failures of models by their kind."""

    cases: tuple[Case, ...]
    rejected: tuple[Rejected, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()


def chosen_kinds(given: Sequence[str], *, by_rule: bool) -> tuple[Kind, ...]:
    """The kinds that are made; without any named, all that there can be.

    Raises UnknownName, and InputError for a kind that only a model can make.
    """
    names = [name.strip() for item in given for name in item.split(",") if name.strip()]
    for name in names:
        if name not in KINDS:
            raise UnknownName("kind of question", name, KINDS)
    wanted = tuple(kind for kind in KINDS if not names or kind in names)
    if not by_rule:
        return wanted
    if names and (beyond := [kind for kind in wanted if kind not in BY_RULE]):
        msg = f"--kinds {beyond[0]}: only a model can make these; without one: {', '.join(sorted(BY_RULE))}."
        raise InputError(msg)
    return tuple(kind for kind in wanted if kind in BY_RULE)


def chosen_wordings(given: Sequence[str]) -> tuple[Wording, ...]:
    """The wordings that questions take in turn; without any named, all of them."""
    names = [name.strip() for item in given for name in item.split(",") if name.strip()]
    for name in names:
        if name not in WORDINGS:
            raise UnknownName("wording", name, WORDINGS)
    return tuple(wording for wording in WORDINGS if not names or wording in names)


def quotas(kinds: Sequence[Kind], number: int) -> dict[Kind, int]:
    """How many questions of each kind make up `number`: by their shares, the largest remainders first."""
    whole = sum(SHARES[kind] for kind in kinds)
    exact = {kind: number * SHARES[kind] / whole for kind in kinds}
    found = {kind: int(share) for kind, share in exact.items()}
    rest = sorted(kinds, key=lambda kind: (found[kind] - exact[kind], KINDS.index(kind)))
    for kind in rest[: number - sum(found.values())]:
        found[kind] += 1
    return found
