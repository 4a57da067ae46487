"""Rows of Excel files, as their cells show them: stored values of formulas, dates as ISO 8601.

Titles and notes may stand above the column names, a header may take two rows, merged cells hold for all rows
they cover, and ids keep their zeros (007 by the number format 000). What has no text to show is told by row
and column: a formula that Excel never calculated, or one that shows #N/A.

openpyxl reads the package and each row, and nothing of it is trusted: `read_archive` has looked at the sizes
before, `_Parser` stops at a row that is too wide, and `_worksheet` adds up what is held. Worksheets that are
hidden are not read unless they are named.
"""

import re
import sys
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.chartsheet import Chartsheet
from openpyxl.reader.excel import ExcelReader, _find_workbook_part
from openpyxl.worksheet._reader import DATA_TAG, FORMULA_TAG, MERGE_TAG, ROW_TAG, WorkSheetParser
from openpyxl.worksheet.merge import MergeCells
from openpyxl.xml.functions import iterparse
from pydantic import JsonValue

from simulator.core.errors import CaseFileError
from simulator.core.messages import _, encodable
from simulator.data.files import (
    MAX_COLUMNS,
    MAX_LINE,
    is_read_in_rows,
    printable,
    quote,
    read_archive,
    readable_or_error,
    too_large,
)
from simulator.data.values import Fits, Row, RowFault, Rows, WorksheetRow, column_names, field_of

# Column names stand below at most this many rows of titles and notes.
_MOST_TITLE_ROWS = 30
# A merged area is filled downwards; this limits areas that overlap again and again.
_MOST_FILLED = 1_000_000
# Bytes that the texts of a workbook may take, and about what a row and a cell take that hold nothing, and how
# much more a row with texts, a cell beside its text, and what is wrong with a cell.
_MOST_HELD, _OF_AN_EMPTY_ROW, _OF_AN_EMPTY_CELL = 205_000_000, 160, 20
_OF_A_ROW, _OF_A_CELL, _OF_A_FAULT = 190, 70, 600
# XML elements of a row: as many columns as there may be, each with a few for its value. And of all that
# follows the rows, such as merged cells.
_OF_A_WIDE_ROW = 8 * MAX_COLUMNS
# Worksheets that an error names.
_MOST_NAMES = 20

# In a number format: quoted and escaped literals, spaces and fillings; and one group of digits among such.
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|[_*].')
_AROUND = rf"((?:{_LITERAL.pattern.replace('(', '(?:')}|[^\w#?@/,.\"\\]|[^\x00-\x7f])*)"
# 000, #,##0, 0.00%, with literals around them; dates, fractions and exponents are left to General.
_NUMBER = re.compile(rf"{_AROUND}([#,]*0[0,]*)(?:\.(0{{1,30}}))?(%?){_AROUND}")
# Colours, conditions and locales; `[$¥-411]` is the currency ¥.
_BRACKETS = re.compile(r"\[(?:\$(?P<currency>[^\]\-\"]*))?[^\]]*\]")
_LARGEST = 10**15
# How a workbook writes a control character: _x000D_.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


class Worksheet(NamedTuple):
    """The filled rows of a worksheet; `below` has the last row of each merged cell, by its row and column."""

    name: str
    lines: tuple[WorksheetRow, ...]
    below: Mapping[tuple[int, int], int] = {}


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


def worksheet_rows(path: Path, sheet: Worksheet, fits: Fits, *, named: bool) -> Rows:
    """The rows below the column names; `named` puts the name of the worksheet into errors.

    A fault in a cell matters only under a column that fills a field: a #REF! in somebody's notes is no reason
    to refuse the file.
    """
    title = sheet.name if named else ""
    if not sheet.lines:
        return
    top = column_row(sheet, fits)
    start = _first_wide(sheet.lines) if top is None else top
    head = sheet.lines[start]
    cells = [head.texts.get(column, "") for column in range(1, max(head.texts, default=0) + 1)]
    names = column_names(path, Row(head.number, {}, sheet=title), cells)
    for line in sheet.lines[start + 1 :]:
        values: dict[str, JsonValue] = {
            name: line.texts.get(column, "") for column, name in enumerate(names, 1) if name
        }
        row = Row(line.number, values, cells=True, sheet=title)
        faults = {
            names[column - 1]: what
            for column, what in line.faults.items()
            if column <= len(names) and field_of(names[column - 1])
        }
        if faults:
            name, what = next(iter(faults.items()))
            what = _("column {column}: {problem:sentence}", column=quote(name), problem=what)
        yield RowFault(path, row, what) if faults else row


def column_row(sheet: Worksheet, fits: Fits) -> int | None:
    """The index of the line with the column names: the first that fits, if possible one with several.

    When a name is merged downwards over a second row of names, that second row counts. None when no line
    fits. At most `_MOST_TITLE_ROWS` filled rows are looked at.
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
    return max(place for place, line in enumerate(sheet.lines) if top.number <= line.number <= last)


def read_workbook(path: Path, sheet: str = "") -> list[Worksheet]:
    """The visible worksheets of an Excel file, or the named one. Raises CaseFileError."""
    worksheets = open_workbook(path).worksheets
    if not sheet:
        return read_worksheets(path, [each for each in worksheets if each.sheet_state == "visible"])
    # By its exact name, or else by one that differs only in width and case.
    wanted = [each for each in worksheets if each.title == sheet]
    wanted += [each for each in reversed(worksheets) if _plain(each.title) == _plain(sheet)]
    if wanted:
        return read_worksheets(path, wanted[:1])
    names = tuple(quote(each.title) for each in worksheets[:_MOST_NAMES])
    msg = _("{path}: no worksheet {sheet}. There are: {names}.", path=path, sheet=quote(sheet), names=names)
    raise CaseFileError(msg)


def open_workbook(path: Path) -> Any:
    """The workbook of openpyxl, of which no worksheet is read yet. Raises CaseFileError."""
    with readable_or_error(path, "Excel"), warnings.catch_warnings():
        # What openpyxl leaves out (validation lists, headers) is no part of a table.
        warnings.simplefilter("ignore")
        reader = _Reader(read_archive(path, "Excel"), read_only=True, data_only=True, keep_links=False)
        reader.read()
        return reader.wb


class _Reader(ExcelReader):  # type: ignore[misc]
    """What `openpyxl.load_workbook` uses, without reading at once what was not counted as such."""

    def read_workbook(self) -> None:
        """The list of worksheets. Raises ValueError where it stands among them."""
        if is_read_in_rows(place := _find_workbook_part(self.package).PartName[1:]):
            raise ValueError(place)
        super().read_workbook()

    def read_chartsheet(self, sheet: Any, _rel: Any) -> None:
        """Keeps its place only: there are no rows in it."""
        chart = Chartsheet()
        chart._parent, chart.title = self.wb, sheet.name
        self.wb._add_sheet(chart)


def read_worksheets(path: Path, sheets: Iterable[Any]) -> list[Worksheet]:
    """Worksheets of one workbook, as far as all of them fit in the memory. Raises CaseFileError."""
    read, held = [], 0
    with readable_or_error(path, "Excel"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sheet in sheets:
            worksheet, held = _worksheet(sheet, path, held)
            read.append(worksheet)
    return read


def worksheet_text(sheet: Worksheet) -> str:
    """A worksheet as text: its name as a heading, then a line for each row."""
    rows = (
        " | ".join(" ".join(text.split()) for _unused, text in sorted(line.texts.items()))
        for line in sheet.lines
    )
    return "\n".join([f"# {sheet.name}", "", *rows])


def _plain(name: str) -> str:
    return normalize("NFKC", name).strip().casefold()


class _Parser(WorkSheetParser):  # type: ignore[misc]
    """The parser below openpyxl's read-only mode, used directly.

    The mode itself pads rows to whatever width a file claims, and reports neither merged cells nor
    formulas without a result.
    """

    def rows(self, path: Path, sheet: str) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """The rows, then the merged cells. Raises RowFault for a row before it is too wide for the memory."""
        held, characters, over = 0, 0, False
        for _event, element in iterparse(self.source):
            held += 1
            characters += len(element.text or "")
            # A row that has been read is cleared, so that the tree does not grow with the file.
            if element.tag == ROW_TAG:
                yield self.parse_row(element)
                element.clear()
                held = characters = 0
            elif element.tag == DATA_TAG:  # what follows is no row
                over = True
            elif element.tag == MERGE_TAG:
                self.merged_cells = MergeCells.from_tree(element)
            if characters > MAX_LINE or (over and held > _OF_A_WIDE_ROW):
                raise too_large(path, MAX_LINE, unpacked=True)
            if held > _OF_A_WIDE_ROW:
                row = Row(self.row_counter + 1, {}, sheet=sheet)
                what = _("too many cells; at most {most} columns are read.", most=MAX_COLUMNS)
                raise RowFault(path, row, what)

    def parse_cell(self, element: Any) -> dict[str, Any]:
        cell: dict[str, Any] = super().parse_cell(element)
        # A formula without a stored result: written by a program, never opened in Excel.
        if cell["value"] is None and element.find(FORMULA_TAG) is not None and element.get("t") != "str":
            cell["data_type"] = "uncalculated"
        return cell


def _worksheet(sheet: Any, path: Path, held: int) -> tuple[Worksheet, int]:
    """A worksheet, and the bytes that are held now; before, it were so many."""
    workbook = sheet.parent
    formats = {"date_formats": workbook._date_formats, "timedelta_formats": workbook._timedelta_formats}
    lines = []
    with sheet._get_source() as source:
        parser = _Parser(source, sheet._shared_strings, data_only=True, epoch=workbook.epoch, **formats)
        for number, cells in parser.rows(path, sheet.title):
            line = _line(sheet, number, cells)
            if line.texts or line.faults:
                lines.append(line)
                held += _OF_A_ROW + _OF_A_FAULT * len(line.faults)
            held += (
                _OF_AN_EMPTY_ROW
                + _OF_AN_EMPTY_CELL * len(cells)
                + sum(_OF_A_CELL + sys.getsizeof(text) for text in line.texts.values())
            )
            if held > _MOST_HELD:
                raise too_large(path, _MOST_HELD, unpacked=True)
    areas = [area.bounds for area in parser.merged_cells.mergeCell] if parser.merged_cells else []
    return _filled(sheet.title, lines, areas), held


def _line(sheet: Any, number: int, cells: list[dict[str, Any]]) -> WorksheetRow:
    texts, faults = {}, {}
    for cell in cells:
        column, value = cell["column"], cell["value"]
        if cell["data_type"] == "uncalculated":
            faults[column] = _("a formula without a stored result; open the file in Excel and save it once")
            continue
        is_number = isinstance(value, (int, float))
        text = cell_text(value, (ReadOnlyCell(sheet, **cell).number_format if is_number else "") or "")
        if text.strip():
            texts[column] = text
            if cell["data_type"] == "e":
                faults[column] = _("it shows {text}; fix the formula", text=quote(text))
    return WorksheetRow(number, texts, faults)


def cell_text(value: object, number_format: str = "General") -> str:
    """The text that a cell with this value and this number format shows.

        7 with 000             -> 007, so that an id keeps its zeros
        1234.5 with "¥"#,##0   -> ¥1,235
        0.256 with 0.0%        -> 25.6%
        True                   -> TRUE

    Dates are ISO 8601; a number in an unsupported format is shown as in the format General.
    """
    match value:
        case None:
            return ""
        case str():
            plain = _ESCAPED.sub(lambda escaped: str(encodable(chr(int(escaped[1], 16)))), value)
            return plain.replace("\r\n", "\n").replace("\r", "\n")
        case bool():
            return str(value).upper()
        case date() | time() | timedelta():
            return _moment(value)
        case int() | float() if abs(value) < _LARGEST:
            # The format General shows up to 15 digits.
            general = str(int(value)) if int(value) == value else f"{value:.15g}"
            return _formatted(Decimal(repr(value)), number_format) or general
    return str(value)


def _moment(value: date | time | timedelta) -> str:
    """A date without a time of midnight; the hours of a duration may exceed 24."""
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat()


def _formatted(value: Decimal, number_format: str) -> str:
    """A number in a format of one group of digits among literals; empty for any other format."""
    positive, _unused, rest = number_format.partition(";")
    negative = rest.partition(";")[0]
    section = negative if value < 0 and negative else positive
    found = _NUMBER.fullmatch(_BRACKETS.sub(lambda match: f'"{match["currency"] or ""}"', section))
    if not found:
        return ""
    before, whole, places, percent, behind = found.groups(default="")
    # Numbers of Excel have 15 digits; the scale and the rounding must not lose any.
    with localcontext(prec=50):
        scaled = abs(value) * (100 if percent else 1)
        digits, dot, decimals = str(
            scaled.quantize(Decimal(1).scaleb(-len(places)), ROUND_HALF_UP)
        ).partition(".")
    digits = digits.zfill(whole.count("0"))
    grouped = f"{int(digits):,}" if "," in whole else digits
    before, behind = (_LITERAL.sub(r"\1\2", literal) for literal in (before, behind))
    text = f"{before}{grouped}{dot}{decimals}{percent}{behind}".strip()
    return f"-{text}" if value < 0 and not negative else text


def _filled(
    name: str, lines: Sequence[WorksheetRow], areas: Sequence[tuple[int, int, int, int]]
) -> Worksheet:
    """Repeats the text of a merged area (left, top, right, bottom) in its rows below the first.

    A category that is merged over five questions belongs to all five. Only the first column of an area is
    filled; `below` tells how far one reaches, by which a header of two rows is found.
    """
    by_number = {line.number: line for line in lines}
    numbers = sorted(by_number)
    below: dict[tuple[int, int], int] = {}
    left = _MOST_FILLED
    for column, top, _unused, bottom in areas:
        text = by_number[top].texts.get(column) if top in by_number else None
        if text is None or bottom == top:
            continue
        below[top, column] = bottom
        covered = numbers[bisect_right(numbers, top) : bisect_right(numbers, bottom)]
        # Areas may overlap: a small file can ask for the same rows to be filled again and again.
        left -= len(covered)
        if left < 0:
            raise ValueError(_("merged cells that overlap"))
        for number in covered:
            by_number[number].texts.setdefault(column, text)
    return Worksheet(name, tuple(lines), below)


def _first_wide(lines: Sequence[WorksheetRow]) -> int:
    """The index of the first line with more than one text; 0 when there is none."""
    return next((place for place, line in enumerate(lines) if len(line.texts) > 1), 0)
