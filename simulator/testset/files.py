"""Writes test questions to a file that `--cases` reads back unchanged, and proposes them in a sheet.

A cell is written as people write it ("a|b", "User: ..." lines) where the reader makes the same of it, and as
JSON where it would not: a text with a bar in it, one that a spreadsheet takes for a formula. Which of both is
found out by reading it (`_cell`). In a sheet only questions that are not there yet are added, unapproved;
rows that people have edited stay as they are.
"""

import contextlib
import csv
import io
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from simulator.cases.case import record_of
from simulator.cases.fields import READERS, FileCell
from simulator.cases.files import plain_suffix
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, shown
from simulator.core.types import Case, Language
from simulator.report.worksheets import cases_sheet, history_lines
from simulator.sheets.google_api import account, target
from simulator.sheets.google_sheets import pull, push
from simulator.testset.checks import FORMULA, NearDuplicates, RejectedQuestion

# The columns of the table, those of docs/questions.md in the order in which people fill them.
COLUMNS = (
    "id", "question", "language", "history", "references", "passages", "answerable", "handover", "goal",
    "facts", "script", "tags",
)  # fmt: skip
SUFFIXES = (".csv", ".jsonl")
# The worksheet of test questions.
QUESTIONS = "questions"


def check_name(path: Path) -> None:
    """Raises InputError for a kind of file that is not written, before anything is paid."""
    if plain_suffix(path) not in SUFFIXES or path.suffix.lower() == ".gz":
        msg = _("--out {path}: give a name that ends in {suffixes}.", path=path, suffixes=", ".join(SUFFIXES))
        raise InputError(msg)
    if not path.parent.is_dir():
        raise InputError(_("--out {path}: no folder {parent}.", path=path, parent=path.parent))


def content_of(cases: Sequence[Case], path: Path) -> bytes:
    """The file's content: CSV or JSONL, by its suffix."""
    if path.suffix.lower() == ".csv":
        rows = [[_cell(case, column) for column in COLUMNS] for case in cases]
        return _csv([COLUMNS, *rows])
    records = (json.dumps(record_of(case, COLUMNS), ensure_ascii=False) for case in cases)
    return "".join(f"{record}\n" for record in records).encode()


def rejected_of(rejected: Sequence[RejectedQuestion], reason_of: Callable[[RejectedQuestion], str]) -> bytes:
    """The rejected questions as a CSV table for people; `reason_of` gives the reason in words."""
    rows: list[tuple[str, ...]] = [("id", "question", "reference", "passages", "tags", "why", "detail")]
    for question in rejected:
        case = question.case
        lists = ("|".join(texts) for texts in (case.references_at(1), case.passages, case.tags))
        rows.append((case.id, case.question, *lists, reason_of(question), question.detail))
    return _csv(
        # An apostrophe keeps a spreadsheet from taking the cell for a formula; this table is only read by
        # people.
        [[f"'{text}" if text.lstrip().startswith(tuple(FORMULA)) else text for text in row] for row in rows]
    )


def _csv(rows: Sequence[Sequence[str]]) -> bytes:
    """CSV with a byte order mark, by which spreadsheets recognise UTF-8."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    return out.getvalue().encode("utf-8-sig", "replace")


def _cell(case: Case, column: str) -> str:
    """A cell as people write it where that is read back the same, else as JSON."""
    value: Any = getattr(case, column)
    if column in ("id", "question", "language", "goal", "handover"):
        return str(value or "")
    if column == "answerable":
        return {True: "yes", False: "no", None: ""}[value]
    if column == "history":
        plain = history_lines(value, case.language)
    elif column == "facts":
        plain = "\n".join([*value.knows, *(f"unknown: {text}" for text in value.unknown)])
    else:
        plain = "|".join(case.references_at(1) if column == "references" else value)
    # A reader may refuse what people would write: then JSON says it.
    with contextlib.suppress(ValueError):
        is_same = READERS[column](FileCell(column, plain, in_table=True)) == value
        if not plain or (is_same and not plain.startswith(tuple(FORMULA))):
            return plain
    return json.dumps(case.model_dump(mode="json")[column], ensure_ascii=False)


class ProposedCases(NamedTuple):
    """The sheet's address, how many questions were added, and how many were too like one in it (`near`)."""

    url: str
    added: int
    near: int
    notes: tuple[Message | str, ...] = ()


def check(sheet: str | None, worksheet: str | None) -> None:
    """Raises InputError where no sheet is named, or it cannot be written: before anything is paid."""
    if not sheet:
        raise InputError(_("--to sheets: which? Give --sheet KEY or its address."))
    target(sheet, worksheet or "")
    account()


def propose(cases: Sequence[Case], sheet: str, worksheet: str, language: Language) -> ProposedCases:
    """Adds rows for questions that are not in the sheet yet; rows that are in it stay as they are.

    One that is too like a row of the sheet, by question, history and passages, is left out and counted, so
    that a second run proposes what is new.
    """
    at = target(sheet, worksheet)
    rows = pull(at, (QUESTIONS,)).rows.get(QUESTIONS, ())
    # What is in the sheet already, edited or not.
    duplicates = NearDuplicates()
    for row in rows:
        about = tuple(filter(None, map(str.strip, row.cells.get("gold", "").split("|"))))
        duplicates.add(f"{row.cells.get('history', '')}\n{row.cells.get('question', '')}", row.key, about)
    keys = {row.key for row in rows}
    fresh = [case for case in cases if case.id not in keys]
    said = ((case, f"{history_lines(case.history, language)}\n{case.question}") for case in fresh)
    unlike = [case for case, text in said if duplicates.add(text, case.id, case.passages) is None]
    proposed = cases_sheet(unlike, partial(shown, language=language), language, approved="no")
    pushed = push((proposed,), at)
    return ProposedCases(pushed.url, pushed.rows, len(fresh) - len(unlike), tuple(pushed.notes))
