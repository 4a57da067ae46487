"""Writes test questions to a file that `--cases` reads back unchanged, and proposes them in a sheet."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simulator.addons.testset.checks import FORMULA, NearDuplicates, RejectedQuestion
from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.core.types import Case, Language
from simulator.data.files import plain_suffix
from simulator.data.values import READERS, Cell
from simulator.report.worksheets import history_lines, proposals_sheet

COLUMNS = (
    "id", "question", "language", "history", "references", "passages", "answerable", "handover", "goal",
    "facts", "script", "tags",
)  # fmt: skip
SUFFIXES = (".csv", ".jsonl", ".yaml", ".yml")
# The worksheet of test questions.
QUESTIONS = "questions"


def check_name(path: Path) -> None:
    """Raises InputError for a kind of file that is not written, before anything is paid."""
    if plain_suffix(path) not in SUFFIXES or path.suffix.lower() == ".gz":
        msg = _(
            "--out {path}: give a name that ends in {suffixes}.", path=path, suffixes=", ".join(SUFFIXES[:-1])
        )
        raise InputError(msg)
    if not path.parent.is_dir():
        msg = _("--out {path}: there is no folder {parent}.", path=path, parent=path.parent)
        raise InputError(msg)


def content_of(cases: Sequence[Case], path: Path) -> bytes:
    """The file's content: CSV, JSONL or YAML, by its suffix."""
    if path.suffix.lower() == ".csv":
        rows = [[_cell(case, column) for column in COLUMNS] for case in cases]
        return _csv([COLUMNS, *rows])
    records = [_record(case) for case in cases]
    if path.suffix.lower() == ".jsonl":
        return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode()
    import yaml  # only where YAML is asked for

    return str(yaml.safe_dump(records, allow_unicode=True, sort_keys=False, width=100)).encode()


def rejected_of(rejected: Sequence[RejectedQuestion], reason_of: Callable[[RejectedQuestion], str]) -> bytes:
    """The rejected questions as a CSV table for people; `reason_of` gives the reason in words."""
    head = ("id", "question", "reference", "passages", "tags", "why", "detail")
    rows = [
        [
            _safe(text)
            for text in (
                each.case.id, each.case.question, "|".join(each.case.references_at(1)),
                "|".join(each.case.passages), "|".join(each.case.tags), reason_of(each), each.detail,
            )
        ]
        for each in rejected
    ]  # fmt: skip
    return _csv([head, *rows])


def _csv(rows: Sequence[Sequence[str]]) -> bytes:
    """CSV with a byte order mark, by which spreadsheets recognise UTF-8."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    return out.getvalue().encode("utf-8-sig", "replace")


def _record(case: Case) -> dict[str, Any]:
    """The fields of a case that differ from their defaults."""
    fields = case.model_dump(mode="json", exclude_defaults=True)
    if case.facts.knows or case.facts.unknown:
        fields["facts"] = {key: value for key, value in fields["facts"].items() if value}
    return {key: fields[key] for key in COLUMNS if key in fields}


def _cell(case: Case, column: str) -> str:
    """A cell as people write it where that is read back the same, else as JSON."""
    value = getattr(case, column)
    plain = _plain(case, column)
    if not plain or column in ("id", "question", "language", "goal", "answerable", "handover"):
        return plain
    try:
        same = READERS[column](Cell(column, plain, in_table=True)) == value
    except ValueError:
        same = False
    if same and not plain.startswith(tuple(FORMULA)):
        return plain
    return json.dumps(case.model_dump(mode="json")[column], ensure_ascii=False)


def _plain(case: Case, column: str) -> str:
    value = getattr(case, column)
    if column == "history":
        return history_lines(value, case.language)
    if column == "facts":
        return "\n".join([*value.knows, *(f"unknown: {text}" for text in value.unknown)])
    if column == "references":
        return "|".join(value[0]) if len(value) == 1 else ("\0" if value else "")
    if column == "answerable":
        return {True: "yes", False: "no", None: ""}[value]
    return "|".join(value) if isinstance(value, tuple) else str(value or "")


def _safe(text: str) -> str:
    return f"'{text}" if text.startswith(tuple(FORMULA)) else text


class ProposedCases(NamedTuple):
    """The sheet's address, how many questions were added, and how many were too like one in it (`near`)."""

    url: str
    added: int
    near: int
    notes: tuple[Message | str, ...] = ()


def check(sheet: str | None, worksheet: str | None) -> None:
    """Raises InputError where no sheet is named, or it cannot be written: before anything is paid."""
    from simulator.sheets.google_api import account, target

    if not sheet:
        msg = _("--to sheets: which? Give --sheet KEY or its address.")
        raise InputError(msg)
    target(sheet, worksheet or "")
    account()


def propose(cases: Sequence[Case], sheet: str, worksheet: str, language: Language) -> ProposedCases:
    """Adds rows for questions that are not in the sheet yet; rows that are in it stay as they are."""
    from simulator.sheets.google_api import target
    from simulator.sheets.google_sheets import pull, push

    at = target(sheet, worksheet)
    rows = pull(at, (QUESTIONS,)).rows.get(QUESTIONS, ())
    known = NearDuplicates()
    keys = {row.key for row in rows}
    for row in rows:
        texts = [row.cells.get("history", ""), row.cells.get("question", "")]
        about = tuple(filter(None, map(str.strip, row.cells.get("gold", "").split("|"))))
        known.add("\n".join(filter(None, texts)), row.key, about)
    fresh = [case for case in cases if case.id not in keys]
    unlike = []
    for case in fresh:
        texts = [history_lines(case.history, language), case.question]
        if known.add("\n".join(filter(None, texts)), case.id, case.passages) is None:
            unlike.append(case)
    pushed = push((proposals_sheet(unlike, language),), at, language=language)
    return ProposedCases(pushed.url, pushed.rows, len(fresh) - len(unlike), tuple(pushed.notes))
