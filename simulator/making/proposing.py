"""Made questions into the team's worksheet of test questions, where they wait for approval."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from simulator.core.types import Case, Language
from simulator.making.near import NearDuplicates

QUESTIONS = "questions"
# What the command says of it all.
WORDS = Path(__file__).with_name("words.toml")


class Proposed(NamedTuple):
    """Where they stand, how many were added, and how many were like one that is there."""

    url: str
    added: int
    near: int
    notes: tuple[str, ...] = ()


def check(sheet: str | None, worksheet: str | None) -> None:
    """Raises InputError where the sheet is not named, or nobody may write to it: before anything is paid."""
    from simulator.core.errors import InputError
    from simulator.sheets.google_api import account, target

    if not sheet:
        msg = "--to sheets: which? Give --sheet KEY or its address."
        raise InputError(msg)
    target(sheet, worksheet or "")
    account()


def propose(cases: Sequence[Case], sheet: str, worksheet: str, language: Language) -> Proposed:
    """Adds rows for what is not there yet; rows that are there, people's and ours, stay as they are."""
    from simulator.report.worksheets import proposals_sheet
    from simulator.sheets import google_pull, google_push
    from simulator.sheets.google_api import target

    at = target(sheet, worksheet)
    rows = google_pull(at, (QUESTIONS,)).rows.get(QUESTIONS, ())
    known = NearDuplicates()
    keys = {row.key for row in rows}
    for row in rows:
        said = [row.cells.get("history", ""), row.cells.get("question", "")]
        about = tuple(filter(None, map(str.strip, row.cells.get("gold", "").split("|"))))
        known.add("\n".join(filter(None, said)), row.key, about)
    fresh = [case for case in cases if case.id not in keys]
    unlike = [case for case in fresh if known.add(_said(case, language), case.id, case.passages) is None]
    pushed = google_push((proposals_sheet(unlike, language),), at, language=language)
    return Proposed(pushed.url, pushed.rows, len(fresh) - len(unlike), pushed.notes)


def _said(case: Case, language: Language) -> str:
    from simulator.report.worksheets import history_lines

    return "\n".join(filter(None, [history_lines(case.history, language), case.question]))
