"""Rows of Excel files, as their cells show them: stored values of formulas, dates as ISO 8601."""

import io
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import openpyxl
from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser
from pydantic import JsonValue

from simulator.core.errors import CaseFileError
from simulator.data.files import package, printable, readable, shown
from simulator.data.tables import Fits, column_names, shown_text
from simulator.data.values import (
    Row,
    Wrong,
    fault,
    field_of,
    stop,
)

# Column names stand below at most this many rows of titles and notes.
_MOST_TITLE_ROWS = 30


# A merged area is filled downwards; areas that overlap endlessly are no table.
_MOST_FILLED = 1_000_000


_UNCALCULATED = "a formula without a stored result; open the file in Excel and save it once"


class WorksheetRow(NamedTuple):
    """A row of a worksheet: its number, its texts by column (from 1), and cells that have none and why."""

    number: int
    texts: dict[int, str]
    faults: Mapping[int, str] = {}


class Worksheet(NamedTuple):
    """The filled rows of a worksheet; `below` says down to which row a merged cell's column reaches."""

    name: str
    lines: tuple[WorksheetRow, ...]
    below: Mapping[tuple[int, int], int] = {}


def workbook_rows(path: Path, sheet: str, fits: Fits, wrong: Wrong = stop) -> Iterator[Row]:
    """The rows of the worksheet that is named, or else of the only one whose column names fit."""
    sheets = read_workbook(path, sheet)
    if sheet or len(sheets) == 1:
        at = Path(f"{path}#{sheet}") if sheet else path
        return worksheet_rows(at, sheets[0], fits, wrong, named=False)
    fitting = [each for each in sheets if column_row(each, fits) is not None]
    if len(fitting) != 1:
        which = "several worksheets have" if fitting else "no worksheet has"
        names = ", ".join(shown(each.name) for each in fitting or sheets)
        example = printable((fitting or sheets)[0].name) if sheets else "..."
        msg = f"{path}: {which} the column names that are needed ({names}); name one: {path.name}#{example}"
        raise CaseFileError(msg)
    return worksheet_rows(path, fitting[0], fits, wrong, named=True)


def worksheet_rows(
    path: Path, sheet: Worksheet, fits: Fits, wrong: Wrong = stop, *, named: bool
) -> Iterator[Row]:
    """The rows below the column names; `named` puts the worksheet's name into errors."""
    title = sheet.name if named else ""
    if not sheet.lines:
        return
    top = column_row(sheet, fits)
    start = _first_wide(sheet.lines) if top is None else top
    head = sheet.lines[start]
    names = column_names(path, Row(head.number, {}, sheet=title), _in_order(head.texts))
    for line in sheet.lines[start + 1 :]:
        row = Row(line.number, _by_column(names, line), cells=True, sheet=title)
        problems = (
            fault(path, row, f"column {shown(names[column - 1])}: {what}.")
            for column, what in line.faults.items()
            if column <= len(names) and field_of(names[column - 1])
        )
        if (found := next(problems, None)) is None:
            yield row
        else:
            wrong(found)


def column_row(sheet: Worksheet, fits: Fits) -> int | None:
    """Which of the lines holds the column names: the first that fits, if possible one with several.

    Where a name is merged downwards over a second row of names, that second row counts.
    """
    tops = [line for line in sheet.lines[:_MOST_TITLE_ROWS] if fits(_stripped(line))]
    if not tops:
        return None
    top = tops[_first_wide(tops)]
    last = max([top.number, *(sheet.below.get((top.number, column), 0) for column in top.texts)])
    return max(place for place, line in enumerate(sheet.lines) if top.number <= line.number <= last)


def read_workbook(path: Path, sheet: str = "") -> list[Worksheet]:
    """The visible worksheets of an Excel file, or the one named; raises CaseFileError in one line."""
    data = package(path, "Excel")
    with readable(path, "Excel"), warnings.catch_warnings():
        # What openpyxl leaves out (validation lists, headers) is no part of a table.
        warnings.simplefilter("ignore")
        return _worksheets(path, data, sheet)


def worksheet_text(sheet: Worksheet) -> str:
    """A worksheet that is no list of passages: its name as a heading, a line for each row."""
    rows = (
        " | ".join(" ".join(text.split()) for _, text in sorted(line.texts.items())) for line in sheet.lines
    )
    return "\n".join([f"# {sheet.name}", "", *rows])


def _worksheets(path: Path, data: io.BytesIO, sheet: str) -> list[Worksheet]:
    workbook = openpyxl.load_workbook(data, read_only=True, data_only=True, keep_links=False)
    there = [each for each in workbook.worksheets if sheet or each.sheet_state == "visible"]
    if not sheet:
        return [_worksheet(each) for each in there]
    named = {_plain(each.title): each for each in there} | {each.title: each for each in there}
    if (found := named.get(sheet, named.get(_plain(sheet)))) is None:
        names = ", ".join(shown(each.title) for each in there)
        msg = f"{path}: no worksheet {shown(sheet)}. There are: {names}."
        raise CaseFileError(msg)
    return [_worksheet(found)]


def _plain(name: str) -> str:
    return normalize("NFKC", name).strip().casefold()


class _Parser(WorkSheetParser):  # type: ignore[misc]
    """The reader of openpyxl's read-only mode without what that mode adds and leaves out.

    It pads rows to whatever width a file claims, and knows neither merged cells nor whether an empty
    cell holds a formula.
    """

    def parse_cell(self, element: Any) -> dict[str, Any]:
        cell: dict[str, Any] = super().parse_cell(element)
        if cell["value"] is None and element.find(FORMULA_TAG) is not None and element.get("t") != "str":
            cell["data_type"] = "uncalculated"
        return cell


def _worksheet(sheet: Any) -> Worksheet:
    book = sheet.parent
    formats = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
    lines = []
    with sheet._get_source() as source:
        parser = _Parser(source, sheet._shared_strings, data_only=True, epoch=book.epoch, **formats)
        for number, cells in parser.parse():
            line = _line(sheet, number, cells)
            if line.texts or line.faults:
                lines.append(line)
    areas = [area.bounds for area in parser.merged_cells.mergeCell] if parser.merged_cells else []
    return _filled(sheet.title, lines, areas)


def _line(sheet: Any, number: int, cells: list[dict[str, Any]]) -> WorksheetRow:
    texts, faults = {}, {}
    for cell in cells:
        column = cell["column"]
        if cell["data_type"] == "uncalculated":
            faults[column] = _UNCALCULATED
        elif text := _text(sheet, cell):
            texts[column] = text
            if cell["data_type"] == "e":
                faults[column] = f"it shows {shown(text)}; mend the formula"
    return WorksheetRow(number, texts, faults)


def _text(sheet: Any, cell: dict[str, Any]) -> str:
    is_number = isinstance(cell["value"], (int, float))
    number_format = ReadOnlyCell(sheet, **cell).number_format if is_number else ""
    text = shown_text(cell["value"], number_format or "")
    return text if text.strip() else ""


def _filled(
    name: str, lines: Sequence[WorksheetRow], areas: Sequence[tuple[int, int, int, int]]
) -> Worksheet:
    """The text of a merged area also in the rows below its first; `areas` are left, top, right, bottom."""
    by_number = {line.number: line for line in lines}
    numbers = sorted(by_number)
    below: dict[tuple[int, int], int] = {}
    left = _MOST_FILLED
    for column, top, _, bottom in areas:
        text = by_number[top].texts.get(column) if top in by_number else None
        if text is None or bottom == top:
            continue
        below[top, column] = bottom
        reached = numbers[bisect_right(numbers, top) : bisect_right(numbers, bottom)]
        left -= len(reached)
        if left < 0:
            msg = "merged cells that overlap"
            raise ValueError(msg)
        for number in reached:
            by_number[number].texts.setdefault(column, text)
    return Worksheet(name, tuple(lines), below)


def _first_wide(lines: Sequence[WorksheetRow]) -> int:
    """The place of the first line with more than one text; the first line when there is none."""
    return next((place for place, line in enumerate(lines) if len(line.texts) > 1), 0)


def _stripped(line: WorksheetRow) -> list[str]:
    return [text.strip() for text in line.texts.values()]


def _in_order(texts: Mapping[int, str]) -> list[str]:
    return [texts.get(column, "") for column in range(1, max(texts, default=0) + 1)]


def _by_column(names: Sequence[str], line: WorksheetRow) -> dict[str, JsonValue]:
    return {name: line.texts.get(column, "") for column, name in enumerate(names, 1) if name}
