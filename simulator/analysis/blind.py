"""Which turns people grade blind: a seeded sample, stratified so that red turns are not too few."""

import random
from typing import Literal

from simulator.analysis.figures import Summary
from simulator.core.types import Results, Value

SIZE = 40
# The share of the sample that is not red, where there are enough turns of both kinds.
NOT_RED = 1 / 3

Stratum = Literal["red", "not_red"]


class Drawn(Value):
    """A turn of the sample; `sampled` (0..1) is the share of its stratum that was drawn."""

    conversation: str
    turn: int
    stratum: Stratum
    sampled: float


def blind_sample(results: Results, summary: Summary, size: int = SIZE) -> tuple[Drawn, ...]:
    """The same turns for the same run, whenever it is asked; shuffled, so that their order tells nothing.

    Turns without an answer or without a grade of the deciding judge are left out: there is nothing to
    compare. Without enough turns of one kind the other fills the sample.
    """
    red = {(turn.conversation, turn.turn) for turn in summary.reddest}
    graded = {(s.conversation, s.turn) for s in results.scores if s.judge == summary.primary}
    turns = [
        (talk.id, turn.index)
        for talk in results.conversations
        for turn in talk.turns
        if turn.answer.text.strip() and not turn.answer.error and (talk.id, turn.index) in graded
    ]
    lot = random.Random(results.run.id)  # noqa: S311 - a sample, no secret
    strata: dict[Stratum, list[tuple[str, int]]] = {
        "red": [turn for turn in turns if turn in red],
        "not_red": [turn for turn in turns if turn not in red],
    }
    wanted = _sizes(len(strata["red"]), len(strata["not_red"]), min(size, len(turns)))
    drawn = [
        Drawn(conversation=talk, turn=turn, stratum=name, sampled=wanted[name] / len(members))
        for name, members in strata.items()
        for talk, turn in lot.sample(members, wanted[name])
    ]
    lot.shuffle(drawn)
    return tuple(drawn)


def _sizes(red: int, not_red: int, size: int) -> dict[Stratum, int]:
    """How many of each: a third not red, unless one kind has too few."""
    others = min(not_red, max(round(size * NOT_RED), size - red))
    return {"red": size - others, "not_red": others}
