"""Turns without a verdict, because the case's reference and the passages contradict each other."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from simulator.analysis.red import is_undecided
from simulator.core.types import Case, Conversation, Results, Score, Turn
from simulator.storage.results import ByTurn, StoredConversations, once


class Undecided(NamedTuple):
    """Such a turn; `reference` and `passages` are the words that contradict each other."""

    case: Case
    turn: Turn
    reference: str
    passages: str


@once
def undecided(results: Results) -> list[Undecided]:
    """All that the turn judge found, in the order of the run."""
    talks = results.conversations
    if isinstance(talks, StoredConversations):
        return _found(talks.skipped_by("turn").with_scores())
    by_talk: dict[str, ByTurn] = {}
    for score in filter(is_undecided, results.scores):
        by_talk.setdefault(score.conversation, {}).setdefault(score.turn, {})[score.judge] = score
    return _found((talk, by_talk[talk.id]) for talk in talks if talk.id in by_talk)


def _found(graded: Iterable[tuple[Conversation, ByTurn]]) -> list[Undecided]:
    return [
        Undecided(talk.case, turn, *_sides(score))
        for talk, by_turn in graded
        for turn in talk.turns
        for score in by_turn.get(turn.index, {}).values()
        if is_undecided(score)
    ]


def _sides(score: Score) -> tuple[str, str]:
    """What reference and passages say where they contradict each other first."""
    conflicts: Any = score.detail["conflicts"]
    return str(conflicts[0]["reference"]), str(conflicts[0]["passages"])
