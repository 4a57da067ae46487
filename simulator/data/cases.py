"""Questions from files: one row is one Case, whatever the team's headers and encodings are."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from simulator.core.errors import CaseFileError
from simulator.core.types import Answer, Case, Language
from simulator.data.files import language_of, shown
from simulator.data.readers import read_rows
from simulator.data.tables import Fits, Mapped
from simulator.data.values import (
    COLUMNS,
    NO_QUESTION,
    READERS,
    Cell,
    Row,
    RowFault,
    Wrong,
    answerability_tags,
    choice_columns,
    columns_by_field,
    fault,
    field_of,
    from_turns,
    has_question,
    is_empty,
    is_extra,
    question_of,
    settle,
    stop,
    with_choices,
)


def read_cases(
    path: str | Path, language: Language | None = None, columns: Mapping[str, str] | None = None
) -> tuple[Case, ...]:
    """The cases of a CSV, TSV, JSONL, JSON, YAML or Excel file (also `.gz`), in the file's order.

    `questions.xlsx#料金` names a worksheet; otherwise it is the only one with a column of questions.

    A row's language is what its column says, else `language`, else what its question is written in.
    The whole file is read before anything is returned, so a wrong last row costs nothing. `columns` are
    those of `--columns`: by our names, the columns of the file that are taken for them.
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
    """The cases of a worksheet that was read elsewhere; `source` and `name` stand in errors."""
    from simulator.data.workbooks import Worksheet, WorksheetRow, worksheet_rows

    lines = (
        WorksheetRow(number, {column: text for column, text in enumerate(row, 1) if text.strip()})
        for number, row in enumerate(cells, 1)
    )
    sheet = Worksheet(name, tuple(line for line in lines if line.texts))

    def read(fits: Fits, wrong: Wrong) -> Iterator[Row]:
        return worksheet_rows(Path(source), sheet, fits, wrong, named=True)

    rows = (
        Mapped(columns).rows(Path(source), read, has_question, stop) if columns else read(has_question, stop)
    )
    return _cases(Path(source), list(rows), language)


def _cases(path: Path, rows: list[Row], language: Language | None) -> tuple[Case, ...]:
    if not rows:
        msg = f"{path}: no questions in it; write one per row below the column names."
        raise CaseFileError(msg)
    width = len(numbered(1, len(rows)))
    return tuple(case for _, case in cases_of(path, rows, language, width=width))


def numbered(number: int, count: int) -> str:
    """The id of a row without one: its number among `count`, so that they sort."""
    return f"{number:0{max(3, len(str(count)))}}"


def cases_of(
    path: Path, rows: Iterable[Row], language: Language | None, wrong: Wrong = stop, *, width: int = 3
) -> Iterator[tuple[Row, Case]]:
    """The case of each row, as the rows come; `wrong` is told of those that make none.

    A row without an id has its number, of at least `width` digits. Two rows with one id would overwrite
    each other, for ids name conversations: the second one is wrong.
    """
    places: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        try:
            case = case_of(path, row, f"{number:0{width}}", language)
            if case.id in places:
                first = row._replace(line=places[case.id]).place
                what = f"the id {shown(case.id)} is already on {first}; give every row its own."
                raise fault(path, row, what)
        except RowFault as found:
            wrong(found)
        else:
            places[case.id] = row.line
            yield row, case


class Columns(NamedTuple):
    """Of a file's columns those that `read_cases` makes nothing of, and those of a bot's recorded answers.

    `has_references`: whether any column holds right answers.
    """

    unused: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    has_references: bool = False


def columns_of(path: str | Path, columns: Mapping[str, str] | None = None) -> Columns:
    """What becomes of the columns of a file; nothing is said of a workbook that we wrote."""
    try:
        rows = read_rows(Path(path), has_question, columns=columns)
        headers = dict.fromkeys(header for row in rows for header in row.values)
    except CaseFileError:  # it was read by another door, or else its reader has said what is wrong
        return Columns()
    used, fields = choice_columns(tuple(headers)), {header: field_of(header) for header in headers}
    return Columns(
        tuple(h for h, field in fields.items() if not field and not is_extra(h) and h not in used),
        tuple(h for h, field in fields.items() if field == "answer"),
        "references" in fields.values(),
    )


def select(
    cases: Iterable[Case], language: Language | Literal["all"] | None = None, limit: int | None = None
) -> tuple[Case, ...]:
    """The first `limit` cases in a language (None and "all": any), in their order."""
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
    """The case of one row; `number` is its id where it has none. Raises RowFault.

    `with_values` keeps the columns that no field is made of. Without `asks` a row needs no question, for a
    prompt makes one of its values; these stand for it in reports.
    """
    row = with_choices(path, row)
    cells = _cells(path, row)
    values = _values(row, cells) if with_values else {}
    if "question" not in cells and not _keeps_no_question(row, cells) and (asks or not any(values.values())):
        raise _no_question(path, row)
    fields: dict[str, Any] = {field: _read(path, row, cell, READERS[field]) for field, cell in cells.items()}
    if "question" not in cells:
        fields["question"], fields["history"] = question_of(fields.get("history", ()))
        if not asks and fields["question"] == NO_QUESTION:
            fields["question"] = _told(values) or NO_QUESTION
    if failed := fields.pop("error", None):
        fields["recorded"] = (Answer(text="", error=failed), *fields.get("recorded", ())[1:])
    if values:
        fields["values"] = values
    settle(path, row, fields, cells)
    if "answerable" in cells:
        fields["tags"] = (*fields.get("tags", ()), *answerability_tags(cells["answerable"]))
    fields.setdefault("id", number)
    fields.setdefault("language", language or _language(fields))
    return Case(**fields)


def _values(row: Row, cells: Mapping[str, Cell]) -> dict[str, str]:
    """The other columns as text, lists and objects as JSON; those of a case that we wrote, under `values`."""
    used = {cell.column for field, cell in cells.items() if field != "error"}
    found: dict[str, str] = {}
    for column, value in row.values.items():
        if column == "values" and isinstance(value, dict):
            found |= {key: _text(each) for key, each in value.items()}
        elif column not in used and not (field_of(column) and is_empty(value)):
            found[column] = _text(value)
    return found


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _told(values: Mapping[str, str]) -> str:
    """A row in words: its one value, or each with its name."""
    filled = {column: value for column, value in values.items() if value}
    if len(filled) == 1:
        return next(iter(filled.values()))
    return "\n".join(f"{column}: {value}" for column, value in filled.items())


def _keeps_no_question(row: Row, cells: Mapping[str, Cell]) -> bool:
    """Whether this is a recorded answer of a data set that says `"question": null`.

    An empty cell of a table is a forgotten question instead.
    """
    empty = [column for column, value in row.values.items() if is_empty(value) and has_question([column])]
    return bool(empty) and "answer" in cells and not row.cells


def _language(fields: Mapping[str, Any]) -> Language:
    """What the question is written in; where none was kept, the answer."""
    question = str(fields["question"])
    return language_of(question if question != NO_QUESTION else str(fields.get("answer", "")))


def _cells(path: Path, row: Row) -> dict[str, Cell]:
    """The cell of each field that this row fills; turns stand for the fields they imply."""
    columns = columns_by_field(row.values)
    cells = {field: Cell(column, row.values[column], row.cells) for field, column in columns.items()}
    if row.cells and not {"answer", "recorded"} & set(map(field_of, row.values)):
        cells.pop("error", None)  # a table of questions, with an `error` of its own
    turns = cells.pop("turns", None)
    if turns is None or "question" in cells:
        return cells
    implied = _read(path, row, turns, lambda cell: from_turns(cell.value))
    return {field: Cell(field, implied[field]) for field in columns_by_field(implied)} | cells


def _read(path: Path, row: Row, cell: Cell, reader: Callable[[Cell], Any]) -> Any:
    try:
        return reader(cell)
    except ValueError as error:
        raise fault(path, row, f"column {shown(cell.column)}: {error}.") from None


def _no_question(path: Path, row: Row) -> CaseFileError:
    found = [column for column in row.values if has_question([column])]
    if found:
        return fault(path, row, f"column {shown(found[0])} is empty; every row needs a question.")
    there = ", ".join(shown(column) for column in list(row.values)[:20])
    names = ", ".join(name for name in COLUMNS["question"] if name != "text")
    return fault(path, row, f"no question column. Found: {there}. Name one of them: {names}.")
