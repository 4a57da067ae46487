"""Verdicts against the run they are meant for: what fits is stored, what does not is named by its place."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from simulator.core.types import HumanVerdict, Results
from simulator.data.files import shown
from simulator.review.sources import Entry


class Fault(NamedTuple):
    """Something that cannot be used: where it stands, and why."""

    place: str
    why: str


@dataclass
class Taken:
    """What a source came to: verdicts that fit the run, rows in which nobody wrote, and faults.

    `other_runs` counts rows about other runs; `notes` are about the source as a whole.
    """

    verdicts: list[HumanVerdict] = field(default_factory=list)
    empty: int = 0
    other_runs: int = 0
    faults: list[Fault] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)


def take(entries: Iterable[Entry], results: Results) -> Taken:
    """What fits the run, and what does not; of two grades for one turn by one reviewer the first fits."""
    turns = {talk.id: {turn.index for turn in talk.turns} for talk in results.conversations}
    taken, known = Taken(), dict[tuple[str, int, str, str], str]()
    for entry in entries:
        why = entry.fault or (_why_not(entry.verdict, turns, known) if entry.verdict else "")
        if why:
            taken.faults.append(Fault(entry.place, why))
        elif entry.note:
            taken.notes.append(Fault(entry.place, entry.note))
        elif entry.verdict is None:
            taken.other_runs += entry.other_run
            taken.empty += not entry.other_run
        else:
            known[_key(entry.verdict)] = entry.place
            taken.verdicts.append(entry.verdict)
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
