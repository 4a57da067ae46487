"""Which turns of two runs can be compared: the customer has said the same so far."""

from collections.abc import Iterator
from typing import NamedTuple

from simulator.core.types import Case, Conversation, GradingContext, Results

Key = tuple[str, str, int]


class Pair(NamedTuple):
    """One turn of two runs, `a` and `b` (their ids), with what each of them answered."""

    a: str
    b: str
    one: GradingContext
    other: GradingContext
    repeat: int = 1

    @property
    def answers(self) -> tuple[str, str]:
        """What both said."""
        return self.one.turn.answer.text, self.other.turn.answer.text


class Matched(NamedTuple):
    """The comparable turns of two runs, and how many turns are not.

    `differing` turns exist in both, but the customer said something else; `alone` were answered in one run
    only, for the other one ends before, or is a log without an answer to them.
    """

    pairs: tuple[Pair, ...]
    differing: int
    alone: int


def matched(one: Results, other: Results) -> Matched:
    """Pairs by case, persona, repeat and turn, as long as the customer's lines are the same."""
    theirs = {_key(talk): talk for talk in other.conversations}
    pairs: list[Pair] = []
    differing = alone = 0
    for talk in one.conversations:
        beside = theirs.pop(_key(talk), None)
        if beside is None:
            alone += len(talk.turns)
            continue
        case = (talk if one.run.id > other.run.id else beside).case
        same = list(_same(talk, beside, case))
        found = [
            Pair(one.run.id, other.run.id, *both, talk.repeat)
            for both in same
            if not any(each.turn.unrecorded for each in both)
        ]
        shorter, longer = sorted((len(talk.turns), len(beside.turns)))
        pairs += found
        differing += shorter - len(same)
        alone += longer - shorter + len(same) - len(found)
    alone += sum(len(talk.turns) for talk in theirs.values())
    return Matched(tuple(pairs), differing, alone)


def _key(talk: Conversation) -> Key:
    return talk.case.id, talk.persona, talk.repeat


def _same(
    one: Conversation, other: Conversation, case: Case
) -> Iterator[tuple[GradingContext, GradingContext]]:
    """The turns of two conversations up to the first at which the customer says something else.

    Both are held against one `case`, the later run's: its references may have been mended since.
    """
    if one.case.history != other.case.history:
        return
    for at, (mine, theirs) in enumerate(zip(one.turns, other.turns, strict=False)):
        if (mine.index, mine.user) != (theirs.index, theirs.user):
            return
        yield _exhibit(one, case, at), _exhibit(other, case, at)


def _exhibit(talk: Conversation, case: Case, at: int) -> GradingContext:
    return GradingContext(
        conversation=talk.id,
        case=case,
        persona=talk.persona,
        turn=talk.turns[at],
        earlier=talk.turns[:at],
    )
