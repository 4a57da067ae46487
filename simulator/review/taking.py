"""Verdicts against the run they are meant for: what fits is stored, what does not is named by its place."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from simulator.files.quoting import shown
from simulator.review.sources import Entry
from simulator.types import HumanVerdict, Results


class Fault(NamedTuple):
    """Something that cannot be used: where it stands, and why."""

    place: str
    why: str


@dataclass
class Taken:
    """What a source came to: verdicts that fit the run, rows without a grade, and faults."""

    verdicts: list[HumanVerdict] = field(default_factory=list)
    empty: int = 0
    faults: list[Fault] = field(default_factory=list)


def take(entries: Iterable[Entry], results: Results) -> Taken:
    """What fits the run, and what does not; of two grades for one turn by one reviewer the first fits."""
    turns = {talk.id: {turn.index for turn in talk.turns} for talk in results.conversations}
    taken, known = Taken(), dict[tuple[str, int, str, str], str]()
    for place, verdict, fault in entries:
        if verdict is None and not fault:
            taken.empty += 1
            continue
        why = fault or (_why_not(verdict, turns, known) if verdict else "")
        if why or verdict is None:
            taken.faults.append(Fault(place, why))
            continue
        known[_key(verdict)] = place
        taken.verdicts.append(verdict)
    return taken


def _why_not(
    verdict: HumanVerdict, turns: dict[str, set[int]], known: dict[tuple[str, int, str, str], str]
) -> str:
    if verdict.conversation not in turns:
        return f"no conversation {shown(verdict.conversation)} in this run"
    if verdict.turn not in turns[verdict.conversation]:
        return f"conversation {shown(verdict.conversation)} has no turn {verdict.turn}"
    if first := known.get(_key(verdict)):
        who = f" by {shown(verdict.reviewer)}" if verdict.reviewer else ""
        return f"a second grade{who} for the same turn; the first is on {first}"
    return ""


def _key(verdict: HumanVerdict) -> tuple[str, int, str, str]:
    return verdict.conversation, verdict.turn, verdict.source, verdict.reviewer
