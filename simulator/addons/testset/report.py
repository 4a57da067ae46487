"""Cases as a file that `--cases` reads back just as they are: CSV, JSONL or YAML."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simulator.addons.testset.near import NearDuplicates
from simulator.addons.testset.plan import RejectedQuestion
from simulator.core.errors import InputError
from simulator.core.types import Case, Language
from simulator.data.files import plain_suffix
from simulator.data.values import READERS, Cell
from simulator.report.worksheets import history_lines

COLUMNS = (
    "id", "question", "language", "history", "references", "passages", "answerable", "handover", "goal",
    "facts", "script", "tags",
)  # fmt: skip
SUFFIXES = (".csv", ".jsonl", ".yaml", ".yml")
# What a spreadsheet takes for a formula at the beginning of a cell.
_FORMULA = tuple("=+-@＝＋－＠\t\r")


def check_name(path: Path) -> None:
    """Raises InputError for a kind of file that is not written, before anything is paid."""
    if plain_suffix(path) not in SUFFIXES or path.suffix.lower() == ".gz":
        msg = f"--out {path}: give a name that ends in {', '.join(SUFFIXES[:-1])}."
        raise InputError(msg)
    if not path.parent.is_dir():
        msg = f"--out {path}: there is no folder {path.parent}."
        raise InputError(msg)


def content_of(cases: Sequence[Case], path: Path) -> bytes:
    """The file's content, of the kind that its name says."""
    if path.suffix.lower() == ".csv":
        rows = [[_cell(case, column) for column in COLUMNS] for case in cases]
        return _csv([COLUMNS, *rows])
    records = [_record(case) for case in cases]
    if path.suffix.lower() == ".jsonl":
        return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode()
    import yaml  # only where YAML is asked for

    return str(yaml.safe_dump(records, allow_unicode=True, sort_keys=False, width=100)).encode()


def rejected_of(rejected: Sequence[RejectedQuestion], told: Callable[[RejectedQuestion], str]) -> bytes:
    """The rejected questions as a table for people; `told` says why in words."""
    head = ("id", "question", "reference", "passages", "tags", "why", "detail")
    rows = [
        [
            _safe(text)
            for text in (
                each.case.id, each.case.question, "|".join(each.case.references_at(1)),
                "|".join(each.case.passages), "|".join(each.case.tags), told(each), each.detail,
            )
        ]
        for each in rejected
    ]  # fmt: skip
    return _csv([head, *rows])


def _csv(rows: Sequence[Sequence[str]]) -> bytes:
    """With a byte order mark, by which spreadsheets know that it is UTF-8."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    return out.getvalue().encode("utf-8-sig", "replace")


def _record(case: Case) -> dict[str, Any]:
    """What of a case is not as always."""
    told = case.model_dump(mode="json", exclude_defaults=True)
    if case.facts.knows or case.facts.unknown:
        told["facts"] = {key: value for key, value in told["facts"].items() if value}
    return {key: told[key] for key in COLUMNS if key in told}


def _cell(case: Case, column: str) -> str:
    """A cell as people write it where that reads back the same, else as JSON."""
    value = getattr(case, column)
    plain = _plain(case, column)
    if not plain or column in ("id", "question", "language", "goal", "answerable", "handover"):
        return plain
    try:
        same = READERS[column](Cell(column, plain, in_table=True)) == value
    except ValueError:
        same = False
    if same and not plain.startswith(_FORMULA):
        return plain
    told = case.model_dump(mode="json")[column]
    return json.dumps(told, ensure_ascii=False)


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
    return f"'{text}" if text.lstrip(" \u3000").startswith(_FORMULA) else text


QUESTIONS = "questions"
# What the command says of it all.
WORDS = Path(__file__).with_name("making.toml")


class ProposedCases(NamedTuple):
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


def propose(cases: Sequence[Case], sheet: str, worksheet: str, language: Language) -> ProposedCases:
    """Adds rows for what is not there yet; rows that are there, people's and ours, stay as they are."""
    from simulator.report.worksheets import proposals_sheet
    from simulator.sheets.google_api import target
    from simulator.sheets.google_pull import pull
    from simulator.sheets.google_push import push

    at = target(sheet, worksheet)
    rows = pull(at, (QUESTIONS,)).rows.get(QUESTIONS, ())
    known = NearDuplicates()
    keys = {row.key for row in rows}
    for row in rows:
        said = [row.cells.get("history", ""), row.cells.get("question", "")]
        about = tuple(filter(None, map(str.strip, row.cells.get("gold", "").split("|"))))
        known.add("\n".join(filter(None, said)), row.key, about)
    fresh = [case for case in cases if case.id not in keys]
    unlike = [case for case in fresh if known.add(_said(case, language), case.id, case.passages) is None]
    pushed = push((proposals_sheet(unlike, language),), at, language=language)
    return ProposedCases(pushed.url, pushed.rows, len(fresh) - len(unlike), pushed.notes)


def _said(case: Case, language: Language) -> str:
    from simulator.report.worksheets import history_lines

    return "\n".join(filter(None, [history_lines(case.history, language), case.question]))
