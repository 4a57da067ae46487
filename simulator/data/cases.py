"""Reads cases from files: one row is one Case, whatever its headers and its encoding are."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from simulator.core.errors import CaseFileError
from simulator.core.messages import _
from simulator.core.types import Answer, Case, Language
from simulator.data.files import language_of, quote
from simulator.data.readers import read_rows
from simulator.data.tables import ColumnMapping, Fits
from simulator.data.values import (
    COLUMNS,
    NO_QUESTION,
    READERS,
    Cell,
    OnFault,
    Row,
    RowFault,
    answerability_tags,
    choice_columns,
    collect_choices,
    columns_by_field,
    field_of,
    fields_of_turns,
    has_question,
    is_empty,
    is_extra,
    raise_fault,
    row_fault,
    set_choice_label,
    split_question,
)


def read_cases(
    path: str | Path, language: Language | None = None, columns: Mapping[str, str] | None = None
) -> tuple[Case, ...]:
    """The cases of a CSV, TSV, JSONL, JSON, YAML or Excel file (also `.gz`), in the file's order.

    `questions.xlsx#料金` names a worksheet; otherwise the only one with a column of questions is read.

    The language of a row is that of its column, else `language`, else the one its question is written in.
    `columns` are those of `--columns`: columns of the file, by field. The whole file is read before anything
    is returned, so that a wrong last row is found before a run is paid for. Raises CaseFileError.
    """
    path = Path(path)
    return _cases(path, list(read_rows(path, has_question, columns=columns)), language)


def cases_of_worksheet(
    source: str,
    name: str,
    cells: Sequence[Sequence[str]],
    language: Language | None = None,
    columns: Mapping[str, str] | None = None,
) -> tuple[Case, ...]:
    """The cases of a worksheet that was read before; `source` and `name` are for errors."""
    from simulator.data.workbooks import Worksheet, WorksheetRow, worksheet_rows

    lines = (
        WorksheetRow(number, {column: text for column, text in enumerate(row, 1) if text.strip()})
        for number, row in enumerate(cells, 1)
    )
    sheet = Worksheet(name, tuple(line for line in lines if line.texts))

    def read(fits: Fits, on_fault: OnFault) -> Iterator[Row]:
        return worksheet_rows(Path(source), sheet, fits, on_fault, named=True)

    rows = (
        ColumnMapping(columns).rows(Path(source), read, has_question, raise_fault)
        if columns
        else read(has_question, raise_fault)
    )
    return _cases(Path(source), list(rows), language)


def _cases(path: Path, rows: list[Row], language: Language | None) -> tuple[Case, ...]:
    if not rows:
        msg = _("{path}: no questions in it; write one per row below the column names.", path=path)
        raise CaseFileError(msg)
    width = len(row_id(1, len(rows)))
    return tuple(case for _unused, case in cases_of(path, rows, language, width=width))


def row_id(number: int, count: int) -> str:
    """The id of a row without one: its number, with zeros so that `count` ids sort."""
    return f"{number:0{max(3, len(str(count)))}}"


def cases_of(
    path: Path,
    rows: Iterable[Row],
    language: Language | None,
    on_fault: OnFault = raise_fault,
    *,
    width: int = 3,
) -> Iterator[tuple[Row, Case]]:
    """The case of each row, in their order; `on_fault` gets rows that are not valid cases.

    A row without an id gets its number, of at least `width` digits. A second row with the same id is invalid,
    because conversations are named by the id.
    """
    lines: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        try:
            case = case_of(path, row, f"{number:0{width}}", language)
            if case.id in lines:
                first = row._replace(line=lines[case.id]).place
                what = _(
                    "the id {case} is already on {first}; give every row its own.",
                    case=quote(case.id),
                    first=first,
                )
                raise row_fault(path, row, what)
        except RowFault as fault:
            on_fault(fault)
        else:
            lines[case.id] = row.line
            yield row, case


class ColumnUse(NamedTuple):
    """The columns of a file that `read_cases` ignores, and those with recorded answers of a bot.

    `has_references` says whether a column holds right answers.
    """

    unused: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    has_references: bool = False


def columns_of(path: str | Path, columns: Mapping[str, str] | None = None) -> ColumnUse:
    """How the columns of a file are used; empty for a file that `read_rows` cannot read."""
    try:
        rows = read_rows(Path(path), has_question, columns=columns)
        headers = dict.fromkeys(header for row in rows for header in row.values)
    except CaseFileError:  # a workbook of worksheets is read elsewhere; any other error has been reported
        return ColumnUse()
    used, fields = choice_columns(tuple(headers)), {header: field_of(header) for header in headers}
    return ColumnUse(
        tuple(h for h, field in fields.items() if not field and not is_extra(h) and h not in used),
        tuple(h for h, field in fields.items() if field == "answer"),
        "references" in fields.values(),
    )


def select_cases(
    cases: Iterable[Case], language: Language | Literal["all"] | None = None, limit: int | None = None
) -> tuple[Case, ...]:
    """The first `limit` cases in a language (None and "all": any language), in their order."""
    return tuple(islice((case for case in cases if language in {None, "all", case.language}), limit))


def case_of(
    path: Path,
    row: Row,
    number: str,
    language: Language | None,
    *,
    with_values: bool = False,
    asks: bool = True,
) -> Case:
    """The case of one row; `number` is the id of a row without one. Raises RowFault.

    `with_values` keeps the other columns as the case's values. Without `asks` a row needs no question,
    because a prompt is made of its values; reports then show the values as the question.
    """
    row = collect_choices(path, row)
    cells = _cells(path, row)
    values = _values(row, cells) if with_values else {}
    if "question" not in cells and not _keeps_no_question(row, cells) and (asks or not any(values.values())):
        raise _no_question(path, row)
    fields: dict[str, Any] = {field: _read(path, row, cell, READERS[field]) for field, cell in cells.items()}
    if "question" not in cells:
        fields["question"], fields["history"] = split_question(fields.get("history", ()))
        if not asks and fields["question"] == NO_QUESTION:
            fields["question"] = _as_question(values) or NO_QUESTION
    if error := fields.pop("error", None):
        fields["recorded"] = (Answer(text="", error=error), *fields.get("recorded", ())[1:])
    if values:
        fields["values"] = values
    set_choice_label(path, row, fields, cells)
    if "answerable" in cells:
        fields["tags"] = (*fields.get("tags", ()), *answerability_tags(cells["answerable"]))
    fields.setdefault("id", number)
    fields.setdefault("language", language or _language(fields))
    return Case(**fields)


def _values(row: Row, cells: Mapping[str, Cell]) -> dict[str, str]:
    """The columns that fill no field, as text (lists and objects as JSON).

    In a case that this program wrote, they are in `values`.
    """
    used = {cell.column for field, cell in cells.items() if field != "error"}
    others: dict[str, str] = {}
    for column, value in row.values.items():
        if column == "values" and isinstance(value, dict):
            others |= {key: _text(item) for key, item in value.items()}
        elif column not in used and not (field_of(column) and is_empty(value)):
            others[column] = _text(value)
    return others


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _as_question(values: Mapping[str, str]) -> str:
    """The only value of a row, or all of them with their names."""
    filled = {column: value for column, value in values.items() if value}
    if len(filled) == 1:
        return next(iter(filled.values()))
    return "\n".join(f"{column}: {value}" for column, value in filled.items())


def _keeps_no_question(row: Row, cells: Mapping[str, Cell]) -> bool:
    """Whether this is a recorded answer whose data set says `"question": null`.

    In a table, an empty cell is a forgotten question instead.
    """
    empty = [column for column, value in row.values.items() if is_empty(value) and has_question([column])]
    return bool(empty) and "answer" in cells and not row.cells


def _language(fields: Mapping[str, Any]) -> Language:
    """The language of the question, or of the answer in a data set without questions."""
    question = str(fields["question"])
    return language_of(question if question != NO_QUESTION else str(fields.get("answer", "")))


def _cells(path: Path, row: Row) -> dict[str, Cell]:
    """The cell of each field that this row fills, including those that its turns imply."""
    columns = columns_by_field(row.values)
    cells = {field: Cell(column, row.values[column], row.cells) for field, column in columns.items()}
    if row.cells and not {"answer", "recorded"} & set(map(field_of, row.values)):
        cells.pop("error", None)  # in a table without answers, `error` means something else
    turns = cells.pop("turns", None)
    if turns is None or "question" in cells:
        return cells
    implied = _read(path, row, turns, lambda cell: fields_of_turns(cell.value))
    return {field: Cell(field, implied[field]) for field in columns_by_field(implied)} | cells


def _read(path: Path, row: Row, cell: Cell, reader: Callable[[Cell], Any]) -> Any:
    try:
        return reader(cell)
    except ValueError as error:
        raise row_fault(path, row, f"column {quote(cell.column)}: {error}.") from None


def _no_question(path: Path, row: Row) -> CaseFileError:
    questions = [column for column in row.values if has_question([column])]
    if questions:
        return row_fault(
            path,
            row,
            _("column {questions} is empty; every row needs a question.", questions=quote(questions[0])),
        )
    columns = ", ".join(quote(column) for column in list(row.values)[:20])
    names = ", ".join(name for name in COLUMNS["question"] if name != "text")
    return row_fault(
        path,
        row,
        _("no question column. Found: {columns}. Name one of them: {names}.", columns=columns, names=names),
    )
