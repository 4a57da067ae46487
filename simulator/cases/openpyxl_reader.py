"""openpyxl's readers of a workbook's package and of its worksheets, used directly.

openpyxl's own read-only mode reports neither merged cells nor hidden rows, struck-out text, or formulas
without a result, and its other mode holds an object for each cell. To import openpyxl takes a quarter of a
second, so cases/workbooks.py imports this module where a workbook is opened.
"""

import io
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from openpyxl.cell.text import Text
from openpyxl.chartsheet import Chartsheet
from openpyxl.reader.excel import ExcelReader
from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE
from openpyxl.worksheet._reader import FORMULA_TAG, INLINE_STRING, MERGE_TAG, ROW_TAG, WorkSheetParser
from openpyxl.worksheet.merge import MergeCells
from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS
from openpyxl.xml.functions import iterparse

from simulator.cases.number_format import BUILT_IN, GENERAL, FormattedText

_STRING_TAG = f"{{{SHEET_MAIN_NS}}}si"


def open_package(package: io.BytesIO) -> Any:
    """The workbook of openpyxl, of which no worksheet is read yet."""
    reader = _Reader(package, read_only=True, data_only=True, keep_links=False)
    reader.read()
    return reader.wb


class OpenWorksheet:
    """A worksheet of a workbook that is open: its rows, and once these are read its merged areas."""

    def __init__(self, sheet: Any) -> None:
        """`sheet` is openpyxl's; nothing of it is read yet."""
        self._sheet = sheet
        self.styles = Styles(sheet.parent)
        # The merged areas (left, top, right, bottom).
        self.areas: list[tuple[int, int, int, int]] = []

    def rows(self) -> Iterator[tuple[int, bool, list[dict[str, Any]]]]:
        """Number, whether it is hidden, and cells of each row."""
        with self._sheet._get_source() as source:
            # Without the formats of dates, these stay the numbers that they are stored as.
            parser = _Parser(source, self._sheet._shared_strings, data_only=True, epoch=self.styles.epoch)
            for _event, element in iterparse(source):
                if element.tag == ROW_TAG:
                    is_hidden = element.get("hidden") in ("1", "true")
                    number, cells = parser.parse_row(element)
                    yield number, is_hidden, cells
                    element.clear()
                elif element.tag == MERGE_TAG:
                    self.areas = [area.bounds for area in MergeCells.from_tree(element).mergeCell]


class _Reader(ExcelReader):  # type: ignore[misc]
    """What `openpyxl.load_workbook` uses, with texts as people see them."""

    def read_strings(self) -> None:
        """The texts that cells share, without what is struck out in them."""
        part = self.package.find(SHARED_STRINGS)
        if part is None:
            return
        with self.archive.open(part.PartName[1:]) as source:
            for _event, node in iterparse(source):
                if node.tag == _STRING_TAG:
                    self.shared_strings.append(_unstruck(Text.from_tree(node)))
                    node.clear()

    def read_chartsheet(self, sheet: Any, _rel: Any) -> None:
        """Keeps its place only: there are no rows in it."""
        chart = Chartsheet()
        chart._parent, chart.title = self.wb, sheet.name
        self.wb._add_sheet(chart)


def _unstruck(text: Text) -> str:
    """The text of a cell without the runs that are struck out."""
    if not text.r:
        return str(text.content)
    runs = (run.t for run in text.r if run.t is not None and not (run.rPr is not None and run.rPr.strike))
    return FormattedText("".join([text.t or "", *runs]))


class _Parser(WorkSheetParser):  # type: ignore[misc]
    def parse_cell(self, element: Any) -> dict[str, Any]:
        cell: dict[str, Any] = super().parse_cell(element)
        if (inline := element.find(INLINE_STRING)) is not None and cell["value"] is not None:
            cell["value"] = _unstruck(Text.from_tree(inline))
        # A formula without a stored result: written by a program, never opened in Excel.
        if cell["value"] is None and element.find(FORMULA_TAG) is not None and element.get("t") != "str":
            cell["data_type"] = "uncalculated"
        return cell


class Styles:
    """By the number of a style: the number format of its cells, and whether they are struck out."""

    def __init__(self, workbook: Any) -> None:
        self.epoch: datetime = workbook.epoch
        self._workbook = workbook
        self._known: dict[int, tuple[str, bool]] = {}

    def of(self, style: int) -> tuple[str, bool]:
        """The number format of a style, and whether its font is struck out. Raises IndexError."""
        if style not in self._known:
            cell = self._workbook._cell_styles[style]
            number, custom = cell.numFmtId, self._workbook._number_formats
            if number < BUILTIN_FORMATS_MAX_SIZE:
                number_format = BUILT_IN.get(number) or BUILTIN_FORMATS.get(number, GENERAL)
            else:
                number_format = custom[number - BUILTIN_FORMATS_MAX_SIZE] or GENERAL
            self._known[style] = number_format, bool(self._workbook._fonts[cell.fontId].strike)
        return self._known[style]
