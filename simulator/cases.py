"""Questions from files: one row is one Case, whatever the team's headers and encodings are."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from simulator.errors import CaseFileError
from simulator.files.columns import COLUMNS, columns_by_field, field_of, has_question, is_empty, is_extra
from simulator.files.quoting import shown
from simulator.files.row import Row, fault
from simulator.files.rows import read_rows
from simulator.files.text import language_of
from simulator.files.turns import NO_QUESTION, from_turns, question_of
from simulator.files.values import READERS, Cell, answerability_tags
from simulator.types import Case, Language


def read_cases(path: str | Path, language: Language | None = None) -> tuple[Case, ...]:
    """The cases of a CSV, TSV, JSONL, JSON, YAML or Excel file (also `.gz`), in the file's order.

    `questions.xlsx#料金` names a worksheet; otherwise it is the only one with a column of questions.

    A row's language is what its column says, else `language`, else what its question is written in.
    The whole file is read before anything is returned, so a wrong last row costs nothing.
    """
    path = Path(path)
    return _cases(path, list(read_rows(path, has_question)), language)


def cases_of_worksheet(
    source: str, name: str, cells: Sequence[Sequence[str]], language: Language | None = None
) -> tuple[Case, ...]:
    """The cases of a worksheet that was read elsewhere; `source` and `name` stand in errors."""
    from simulator.files.workbooks import Line, Worksheet, worksheet_rows

    lines = (
        Line(number, {column: text for column, text in enumerate(row, 1) if text.strip()})
        for number, row in enumerate(cells, 1)
    )
    sheet = Worksheet(name, tuple(line for line in lines if line.texts))
    rows = list(worksheet_rows(Path(source), sheet, has_question, named=True))
    return _cases(Path(source), rows, language)


def _cases(path: Path, rows: list[Row], language: Language | None) -> tuple[Case, ...]:
    if not rows:
        msg = f"{path}: no questions in it; write one per row below the column names."
        raise CaseFileError(msg)
    width = max(3, len(str(len(rows))))
    cases = tuple(_case(path, row, f"{number:0{width}}", language) for number, row in enumerate(rows, 1))
    _check_ids(path, rows, cases)
    return cases


def unused_columns(path: str | Path) -> tuple[str, ...]:
    """The columns of a file that `read_cases` makes nothing of; none of a workbook that we wrote."""
    try:
        headers = dict.fromkeys(
            header for row in read_rows(Path(path), has_question) for header in row.values
        )
    except CaseFileError:  # it was read by another door, or else its reader has said what is wrong
        return ()
    return tuple(header for header in headers if not field_of(header) and not is_extra(header))


def select(
    cases: Iterable[Case], language: Language | Literal["all"] | None = None, limit: int | None = None
) -> tuple[Case, ...]:
    """The first `limit` cases in a language (None and "all": any), in their order."""
    return tuple(islice((case for case in cases if language in {None, "all", case.language}), limit))


def _case(path: Path, row: Row, number: str, language: Language | None) -> Case:
    cells = _cells(path, row)
    if "question" not in cells and not _keeps_no_question(row, cells):
        raise _no_question(path, row)
    fields: dict[str, Any] = {field: _read(path, row, cell, READERS[field]) for field, cell in cells.items()}
    if "question" not in cells:
        fields["question"], fields["history"] = question_of(fields.get("history", ()))
    _settle_choice(path, row, fields, cells)
    if "answerable" in cells:
        fields["tags"] = (*fields.get("tags", ()), *answerability_tags(cells["answerable"]))
    fields.setdefault("id", number)
    fields.setdefault("language", language or _language(fields))
    return Case(**fields)


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


def _settle_choice(path: Path, row: Row, fields: dict[str, Any], cells: Mapping[str, Cell]) -> None:
    """A number that answers a list of choices is the place (from 0) of the right one: the label."""
    answer = cells.get("answer")
    if answer is None or "choices" not in fields or "label" in fields or type(answer.value) is not int:
        return
    if not 0 <= answer.value < len(fields["choices"]):
        what = f"column {shown(answer.column)}: there is no choice {answer.value}; the first is 0."
        raise fault(path, row, what)
    fields["label"] = fields["choices"][answer.value]
    del fields["answer"]


def _check_ids(path: Path, rows: Iterable[Row], cases: Iterable[Case]) -> None:
    """Ids name conversations, so two rows with one id would overwrite each other."""
    places: dict[str, str] = {}
    for row, case in zip(rows, cases, strict=True):
        if case.id in places:
            what = f"the id {shown(case.id)} is already on {places[case.id]}; give every row its own."
            raise fault(path, row, what)
        places[case.id] = row.place
