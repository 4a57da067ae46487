"""What two runs have in common: the same questions by the same customers, and the turns that can be compared.

A conversation is found again by case, persona and repeat. Its score is compared in any case; a single turn
only where the customer said the same: the first one, and every later one with the very same line.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from simulator.analysis.figures import RedTurn, Summary
from simulator.analysis.spoken import turn_failure
from simulator.core.types import Conversation, Results, Turn
from simulator.storage.results import counted

Key = tuple[str, str, int]
Place = tuple[str, int]

# What a team may write into the tags of a case that must stay as good as it is.
GUARDED = frozenset({"must-not-break", "壊さない", "必須"})


class Side(NamedTuple):
    """One run with its figures."""

    results: Results
    summary: Summary


class PairedTurn(NamedTuple):
    """One turn in both runs; `was` and `became` are what made it red, None where it was not."""

    earlier: Conversation
    later: Conversation
    before: Turn
    after: Turn
    was: RedTurn | None
    became: RedTurn | None


class Pairs:
    """The conversations of two runs, side by side."""

    def __init__(self, before: Side, after: Side) -> None:
        """`before` is the run that `after` is held against."""
        self.before, self.after = (Side(counted(s.results), s.summary) for s in (before, after))
        self.earlier, self.later = held(self.before.results), held(self.after.results)
        self.both = [key for key in self.later if key in self.earlier]

    @cached_property
    def reds(self) -> tuple[dict[Place, RedTurn], dict[Place, RedTurn]]:
        """The red turns of both runs, by conversation and turn."""
        sides = (self.before, self.after)
        first, second = ({(r.conversation, r.turn): r for r in side.summary.reddest} for side in sides)
        return first, second

    @cached_property
    def lines(self) -> tuple[int, int]:
        """On how many turns the customers said the very same, of all turns of the paired conversations."""
        same = whole = 0
        for one, other in self._talks():
            whole += max(len(one.turns), len(other.turns))
            same += sum(a.user == b.user for a, b in zip(one.turns, other.turns, strict=False))
        return same, whole

    @cached_property
    def turns(self) -> tuple[PairedTurn, ...]:
        """The turns that can be compared: the first of each conversation, and those with the same line."""
        was, became = self.reds
        return tuple(
            PairedTurn(one, other, a, b, was.get((one.id, a.index)), became.get((other.id, b.index)))
            for one, other in self._talks()
            for a, b in zip(one.turns, other.turns, strict=False)
            if a.index == 1 or a.user == b.user
        )

    @cached_property
    def guarded(self) -> tuple[str, ...]:
        """The ids of the cases that must not break: marked so in either run."""
        talks = (*self.earlier.values(), *self.later.values())
        return tuple(dict.fromkeys(c.case.id for c in talks if is_guarded(c.case.tags)))

    def _talks(self) -> Iterable[tuple[Conversation, Conversation]]:
        return ((self.earlier[key], self.later[key]) for key in self.both)


def held(results: Results) -> dict[Key, Conversation]:
    """The conversations that were held, by question, customer and repetition."""
    return {(c.case.id, c.persona, c.repeat): c for c in results.conversations if c.turns or c.ended}


def is_guarded(tags: Iterable[str]) -> bool:
    """Whether a case must not break."""
    return any(tag.strip().casefold().replace("_", "-").replace(" ", "-") in GUARDED for tag in tags)


def means_by_judge(side: Side) -> dict[str, dict[str, float]]:
    """For each judge the mean (0..1) of every conversation that it graded, as the run's own score counts."""
    spoken = _counted_turns(side)
    given: dict[str, dict[str, list[float]]] = {}
    for score in side.results.scores:
        if score.value is not None and score.state == "scored" and (score.conversation, score.turn) in spoken:
            given.setdefault(score.judge, {}).setdefault(score.conversation, []).append(score.value)
    return {
        judge: {talk: sum(values) / len(values) for talk, values in talks.items()}
        for judge, talks in given.items()
    }


def _counted_turns(side: Side) -> set[Place]:
    """Every spoken turn, but those that a customer spoilt where these are left out of the figures."""
    played = side.summary.simulator.customers
    spoilt = frozenset(played.spoilt if played.handling == "exclude" else ())
    return {
        (c.id, turn.index)
        for c in side.results.conversations
        for turn in c.turns
        if (c.id, turn.index) not in spoilt or turn_failure(turn)
    }


def by_customer(
    talks: Mapping[Key, Conversation], means: Mapping[str, float]
) -> dict[tuple[str, str], float]:
    """The mean of each case and persona that has one, over however often it was repeated."""
    found: dict[tuple[str, str], list[float]] = {}
    for (case, persona, _), talk in talks.items():
        if talk.id in means:
            found.setdefault((case, persona), []).append(means[talk.id])
    return {key: sum(values) / len(values) for key, values in found.items()}
