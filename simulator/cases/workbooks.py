"""Rows of Excel files, as people see their cells: numbers and dates in their formats, results of formulas.

Titles and notes may stand above the column names, a header may take two rows, merged cells hold for all rows
they cover, and ids keep their zeros (007 by the number format 000). Text that is struck out is left out; rows
that are hidden (or filtered away) are marked, so that readers of questions can leave them out. A cell whose
text cannot be read is named by row and column: a formula that Excel never calculated, one that shows #REF!, a
number format that is not supported.

`read_archive` has looked at the file's size before openpyxl reads the package and each row. Worksheets that
are hidden are not read unless they are named.
"""

import re
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from pydantic import JsonValue

from simulator.cases.files import read_archive, readable_or_error
from simulator.cases.headings import field_of
from simulator.cases.number_format import (
    GENERAL,
    FormattedText,
    UnsupportedFormat,
    shown_number,
    shown_text,
)
from simulator.cases.row import (
    Fits,
    LeftOut,
    Row,
    RowFault,
    Rows,
    WorksheetRow,
    check_columns,
    column_names,
    is_lower_heading,
)
from simulator.core.errors import CaseFileError
from simulator.core.messages import _, encodable, printable, quote

if TYPE_CHECKING:
    from simulator.cases.openpyxl_reader import Styles

# Column names stand below at most this many rows of titles and notes.
_MOST_TITLE_ROWS = 30
# The first day of most workbooks, as openpyxl has it.
_EPOCH = datetime(1899, 12, 30)
# Worksheets that an error names.
_MOST_NAMES = 20

# How a workbook writes a control character: _x000D_.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


class WorkbookSheet(NamedTuple):
    """The filled rows of a worksheet.

    `below` has the last row of each merged cell, by its row and column; `wide` the rows and columns of those
    that span several columns.
    """

    name: str
    lines: tuple[WorksheetRow, ...]
    below: Mapping[tuple[int, int], int] = {}
    wide: frozenset[tuple[int, int]] = frozenset()


def workbook_rows(path: Path, sheet: str, fits: Fits) -> Rows:
    """The rows of the named worksheet, or else of the only one whose column names fit."""
    sheets = read_workbook(path, sheet)
    if sheet or len(sheets) == 1:
        location = Path(f"{path}#{sheet}") if sheet else path
        return worksheet_rows(location, sheets[0], fits, named=False)
    fitting = [worksheet for worksheet in sheets if column_row(worksheet, fits) is not None]
    if len(fitting) != 1:
        names = tuple(quote(worksheet.name) for worksheet in (fitting or sheets)[:_MOST_NAMES])
        example = printable((fitting or sheets)[0].name) if sheets else "..."
        which = _("several worksheets have the column names that are needed ({names})", names=names)
        if not fitting:
            which = _("no worksheet has the column names that are needed ({names})", names=names)
        msg = _(
            "{path}: {which}; name one: {example}", path=path, which=which, example=f"{path.name}#{example}"
        )
        raise CaseFileError(msg)
    return worksheet_rows(path, fitting[0], fits, named=True)


def worksheet_rows(path: Path, sheet: WorkbookSheet, fits: Fits, *, named: bool) -> Rows:
    """The rows below the column names; `named` puts the name of the worksheet into errors.

    A fault in a cell matters only under a column that fills a field: a #REF! in somebody's notes is no reason
    to refuse the file. Hidden rows are left out.
    """
    title = sheet.name if named else ""
    if not sheet.lines:
        return
    top = column_row(sheet, fits)
    start = _first_wide(sheet.lines) if top is None else top
    head = sheet.lines[start]
    place = Row(head.number, {}, sheet=title)
    check_columns(path, place, max(head.texts, default=0))
    names = column_names(path, place, _cells(head))
    for line in sheet.lines[start + 1 :]:
        if line.hidden:
            yield LeftOut(path, Row(line.number, {}, sheet=title), "hidden")
            continue
        values: dict[str, JsonValue] = {
            name: line.texts.get(column, "") for column, name in enumerate(names, 1) if name
        }
        row = Row(line.number, values, head.number, title)
        faults = {
            names[column - 1]: what
            for column, what in line.faults.items()
            if column <= len(names) and field_of(names[column - 1])
        }
        if faults:
            name, what = next(iter(faults.items()))
            what = _("column {column}: {problem:sentence}", column=quote(name), problem=what)
        yield RowFault(path, row, what) if faults else row


def column_row(sheet: WorkbookSheet, fits: Fits) -> int | None:
    """The index of the line with the column names: the first that fits, if possible one with several.

    Of two rows of names the lower one counts: where a name is merged downwards over a second row, or stands
    above several names of it. None when no line fits. At most `_MOST_TITLE_ROWS` filled rows are looked at.
    """
    tops = [
        line
        for line in sheet.lines[:_MOST_TITLE_ROWS]
        if fits([text.strip() for text in line.texts.values()])
    ]
    if not tops:
        return None
    top = tops[_first_wide(tops)]
    last = max([top.number, *(sheet.below.get((top.number, column), 0) for column in top.texts)])
    start = max(place for place, line in enumerate(sheet.lines) if top.number <= line.number <= last)
    if start + 1 < len(sheet.lines):
        upper, lower = sheet.lines[start], sheet.lines[start + 1]
        spans = any((upper.number, column) in sheet.wide for column in upper.texts)
        if is_lower_heading(_cells(upper), _cells(lower), fits, spans=spans):
            return start + 1
    return start


def _cells(line: WorksheetRow) -> list[str]:
    """The texts of a row by column, with empty ones where it has none."""
    return [line.texts.get(column, "") for column in range(1, max(line.texts, default=0) + 1)]


def read_workbook(path: Path, sheet: str = "") -> list[WorkbookSheet]:
    """The visible worksheets of an Excel file, or the named one. Raises CaseFileError."""
    worksheets = open_workbook(path).worksheets
    if not sheet:
        return read_worksheets(
            path, [worksheet for worksheet in worksheets if worksheet.sheet_state == "visible"]
        )
    # By its exact name, or else by one that differs only in width and case.
    wanted = [worksheet for worksheet in worksheets if worksheet.title == sheet]
    wanted += [worksheet for worksheet in reversed(worksheets) if _plain(worksheet.title) == _plain(sheet)]
    if wanted:
        return read_worksheets(path, wanted[:1])
    names = tuple(quote(worksheet.title) for worksheet in worksheets[:_MOST_NAMES])
    msg = _("{path}: no worksheet {sheet}. There are: {names}.", path=path, sheet=quote(sheet), names=names)
    raise CaseFileError(msg)


def open_workbook(path: Path) -> Any:
    """The workbook of openpyxl, of which no worksheet is read yet. Raises CaseFileError."""
    from simulator.cases.openpyxl_reader import open_package  # with it openpyxl

    with readable_or_error(path, "Excel"), warnings.catch_warnings():
        # What openpyxl leaves out (validation lists, headers) is no part of a table.
        warnings.simplefilter("ignore")
        return open_package(read_archive(path, "Excel"))


def read_worksheets(path: Path, sheets: Iterable[Any]) -> list[WorkbookSheet]:
    """Worksheets of one workbook. Raises CaseFileError."""
    with readable_or_error(path, "Excel"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_worksheet(sheet) for sheet in sheets]


def worksheet_text(sheet: WorkbookSheet) -> str:
    """A worksheet as text: its name as a heading, then a line for each row."""
    rows = (
        " | ".join(" ".join(text.split()) for _unused, text in sorted(line.texts.items()))
        for line in sheet.lines
    )
    return "\n".join([f"# {sheet.name}", "", *rows])


def _plain(name: str) -> str:
    return normalize("NFKC", name).strip().casefold()


def _worksheet(sheet: Any) -> WorkbookSheet:
    from simulator.cases.openpyxl_reader import OpenWorksheet  # with it openpyxl

    source = OpenWorksheet(sheet)
    lines = (_line(source.styles, *row) for row in source.rows())
    filled = [line for line in lines if line.texts or line.faults]
    return _filled(sheet.title, filled, source.areas)


def _line(styles: "Styles", number: int, is_hidden: bool, cells: list[dict[str, Any]]) -> WorksheetRow:
    texts, faults = {}, {}
    for cell in cells:
        column, value = cell["column"], cell["value"]
        if cell["data_type"] == "uncalculated":
            faults[column] = _("a formula without a stored result; open the file in Excel and save it once")
            continue
        number_format, is_struck = styles.of(cell["style_id"])
        if is_struck and not isinstance(value, FormattedText):
            continue
        try:
            text = cell_text(value, number_format, styles.epoch)
        except UnsupportedFormat:
            texts[column] = cell_text(value)
            faults[column] = _(
                "the number {number} in the format {format}, which cannot be read as Excel shows it;"
                " format the cell as text or as a plain number",
                number=texts[column],
                format=quote(number_format),
            )
            continue
        if text.strip():
            texts[column] = text
            if cell["data_type"] == "e":
                faults[column] = _("it shows {text}; fix the formula", text=quote(text))
    return WorksheetRow(number, texts, faults, is_hidden)


def cell_text(value: object, number_format: str = GENERAL, epoch: datetime = _EPOCH) -> str:
    """The text that a cell with this value and this number format shows.

        7 with 000             -> 007, so that an id keeps its zeros
        1234.5 with "¥"#,##0   -> ¥1,235
        0.256 with 0.0%        -> 25.6%
        46113 with yyyy/m/d    -> 2026/4/1
        True                   -> TRUE

    A date that is stored as one is ISO 8601 in the format General. Raises UnsupportedFormat for a number in a
    format that is not supported.
    """
    match value:
        case None:
            return ""
        case str():
            plain = _ESCAPED.sub(lambda escaped: str(encodable(chr(int(escaped[1], 16)))), value)
            return shown_text(plain.replace("\r\n", "\n").replace("\r", "\n"), number_format)
        case bool():
            return str(value).upper()
        case date() | time() | timedelta():
            if number_format == GENERAL:
                return _moment(value)
            from openpyxl.utils.datetime import to_excel

            value = to_excel(value, epoch)
    return shown_number(value, number_format, epoch) if isinstance(value, (int, float)) else str(value)


def _moment(value: date | time | timedelta) -> str:
    """A date without a time of midnight; the hours of a duration may exceed 24."""
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat()


def _filled(
    name: str, lines: Sequence[WorksheetRow], areas: Sequence[tuple[int, int, int, int]]
) -> WorkbookSheet:
    """Repeats the text of a merged area (left, top, right, bottom) in its rows below the first.

    A category that is merged over five questions belongs to all five. Only the first column of an area is
    filled; `below` tells how far one reaches, by which a header of two rows is found.
    """
    by_number = {line.number: line for line in lines}
    numbers = sorted(by_number)
    below: dict[tuple[int, int], int] = {}
    wide = frozenset((top, column) for column, top, right, _bottom in areas if right > column)
    for column, top, _right, bottom in areas:
        text = by_number[top].texts.get(column) if top in by_number else None
        if text is None or bottom == top:
            continue
        below[top, column] = bottom
        covered = numbers[bisect_right(numbers, top) : bisect_right(numbers, bottom)]
        for number in covered:
            by_number[number].texts.setdefault(column, text)
    return WorkbookSheet(name, tuple(lines), below, wide)


def _first_wide(lines: Sequence[WorksheetRow]) -> int:
    """The index of the first line with more than one text; 0 when there is none."""
    return next((place for place, line in enumerate(lines) if len(line.texts) > 1), 0)
