"""Worksheets of Excel files, their cells as people see them: numbers in their formats, results of formulas.

Merged cells hold for all rows that they cover, and ids keep their zeros (007 by the number format 000). Text
that is struck out is left out; rows that are hidden (or filtered away) are marked. A cell whose text cannot
be read is named: a formula that Excel never calculated, one that shows #REF!, a number format that is not
supported.

openpyxl's readers of a package and of its worksheets are used directly.

openpyxl's own read-only mode reports neither merged cells nor hidden rows, struck-out text, or formulas
without a result, and its other mode holds an object for each cell. To import openpyxl takes a quarter of a
second, so cases/workbooks.py imports this module where a workbook is opened.
"""

import io
import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from openpyxl.cell.text import Text
from openpyxl.chartsheet import Chartsheet
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.numbers import BUILTIN_FORMATS
from openpyxl.utils.datetime import to_excel
from openpyxl.worksheet._reader import FORMULA_TAG, INLINE_STRING, MERGE_TAG, ROW_TAG, WorkSheetParser
from openpyxl.worksheet.merge import MergeCells
from openpyxl.xml.constants import ARC_STYLE, SHARED_STRINGS, SHEET_MAIN_NS
from openpyxl.xml.functions import fromstring, iterparse

from simulator.cases.number_format import BUILT_IN, GENERAL, UnsupportedFormat, shown_number
from simulator.cases.row import WorkbookSheet, WorksheetRow
from simulator.core.messages import _, encodable, quote

# The first day of most workbooks, as openpyxl has it.
_EPOCH = datetime(1899, 12, 30)
# How a workbook writes a control character: _x000D_.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_STRING_TAG, _TEXT_TAG = f"{{{SHEET_MAIN_NS}}}si", f"{{{SHEET_MAIN_NS}}}t"


def open_package(package: io.BytesIO) -> Any:
    """The workbook of openpyxl, of which no worksheet is read yet."""
    reader = _Reader(package, read_only=True, data_only=True, keep_links=False)
    reader.read()
    reader.wb._cell_styles = reader.styles()
    return reader.wb


def read_sheet(sheet: Any) -> WorkbookSheet:
    """The filled rows of an openpyxl worksheet, their cells as people see them."""
    workbook = sheet.parent
    lines: list[WorksheetRow] = []
    areas: list[tuple[int, int, int, int]] = []
    with sheet._get_source() as source:
        # Without the formats of dates, these stay the numbers that they are stored as.
        parser = _Parser(source, sheet._shared_strings, data_only=True, epoch=workbook.epoch)
        for _event, element in iterparse(source):
            if element.tag == ROW_TAG:
                number, cells = parser.parse_row(element)
                line = _line(number, cells, workbook._cell_styles, workbook.epoch)
                if line.texts or line.faults:
                    lines.append(line._replace(hidden=element.get("hidden") in ("1", "true")))
                element.clear()
            elif element.tag == MERGE_TAG:
                areas = [area.bounds for area in MergeCells.from_tree(element).mergeCell]
    return _with_merged(sheet.title, lines, areas)


def _line(
    number: int, cells: list[dict[str, Any]], styles: Sequence[tuple[str, bool]], epoch: datetime
) -> WorksheetRow:
    texts, faults = {}, {}
    for cell in cells:
        column, value = cell["column"], cell["value"]
        if cell["data_type"] == "uncalculated":
            faults[column] = _("a formula without a stored result; open the file in Excel and save it once")
            continue
        number_format, is_struck = styles[cell["style_id"]]
        if is_struck and not isinstance(value, FormattedText):
            continue
        try:
            text = cell_text(value, number_format, epoch)
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
    return WorksheetRow(number, texts, faults)


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
            return plain.replace("\r\n", "\n").replace("\r", "\n")
        case bool():
            return str(value).upper()
        case date() | time() | timedelta():
            if number_format == GENERAL:
                return _moment(value)
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


def _with_merged(
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


class FormattedText(str):
    """A text of which parts have a font of their own."""


class _Reader(ExcelReader):  # type: ignore[misc]
    """What `openpyxl.load_workbook` uses, with texts as people see them.

    Colours, properties and the like, in which other programs write what openpyxl refuses, are not read.
    """

    def read(self) -> None:
        """The steps of openpyxl that a table needs."""
        self.read_manifest()
        self.read_strings()
        self.read_workbook()
        self.read_custom()
        self.read_worksheets()
        self.parser.assign_names()

    def styles(self) -> list[tuple[str, bool]]:
        """By its number the number format of a style, and whether its font is struck out."""
        if ARC_STYLE not in self.valid_files:
            return [(GENERAL, False)]
        sheet = fromstring(self.archive.read(ARC_STYLE))
        given = {node.get("numFmtId"): node.get("formatCode") for node in _inside(sheet, "numFmts")}
        formats = {str(number): text for number, text in (BUILTIN_FORMATS | BUILT_IN).items()} | given
        strikes = [font.find(f"{{{SHEET_MAIN_NS}}}strike") for font in _inside(sheet, "fonts")]
        struck = {
            str(number)
            for number, strike in enumerate(strikes)
            if strike is not None and strike.get("val") not in ("0", "false")
        }
        return [
            (formats.get(node.get("numFmtId")) or GENERAL, node.get("fontId") in struck)
            for node in _inside(sheet, "cellXfs")
        ]

    def read_strings(self) -> None:
        """The texts that cells share, without what is struck out in them."""
        part = self.package.find(SHARED_STRINGS)
        if part is None:
            return
        with self.archive.open(part.PartName[1:]) as source:
            for _event, node in iterparse(source):
                if node.tag == _STRING_TAG:
                    self.shared_strings.append(_unstruck(node))
                    node.clear()

    def read_chartsheet(self, sheet: Any, _rel: Any) -> None:
        """Keeps its place only: there are no rows in it."""
        chart = Chartsheet()
        chart._parent, chart.title = self.wb, sheet.name
        self.wb._add_sheet(chart)


def _inside(sheet: Any, name: str) -> list[Any]:
    """The elements of a list in the sheet of styles."""
    return [*(sheet.find(f"{{{SHEET_MAIN_NS}}}{name}") or ())]


def _unstruck(node: Any) -> str:
    """The text of a cell without the runs that are struck out."""
    if len(node) == 1 and node[0].tag == _TEXT_TAG:  # as nearly all are, and openpyxl takes its time
        return node[0].text or ""
    text = Text.from_tree(node)
    if not text.r:
        return str(text.content)
    runs = (run.t for run in text.r if run.t is not None and not (run.rPr is not None and run.rPr.strike))
    return FormattedText("".join([text.t or "", *runs]))


class _Parser(WorkSheetParser):  # type: ignore[misc]
    def parse_cell(self, element: Any) -> dict[str, Any]:
        if (inline := element.find(INLINE_STRING)) is not None:
            element.remove(inline)
        cell: dict[str, Any] = super().parse_cell(element)
        if inline is not None and (cell["value"] is not None or cell["data_type"] == "inlineStr"):
            cell["value"] = _unstruck(inline)
        # A formula without a stored result: written by a program, never opened in Excel.
        if cell["value"] is None and element.find(FORMULA_TAG) is not None and element.get("t") != "str":
            cell["data_type"] = "uncalculated"
        return cell
