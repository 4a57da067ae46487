"""Writes worksheets as an Excel workbook, row by row, with formats, notes, dropdowns and print settings."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import zip_longest
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import xlsxwriter
from xlsxwriter.utility import quote_sheetname, xl_col_to_name

from simulator.core.types import Language
from simulator.sheets.merge import cell_text, units
from simulator.sheets.model import FILLS, Chart, Column, Mark, Row, SheetCell, Worksheet

# What Excel takes in one cell, in UTF-16 units.
LONGEST = 32_767
# What a spreadsheet takes for a formula as soon as somebody edits the cell.
_FORMULA = tuple("=+-@\t\n|%＝＋－＠")
# A workbook-wide name for each header cell: people rename titles and move columns, and the names go along.
NAME = "rehearsal_{sheet}_{column}"
LISTS = "rehearsal_lists"
# Of a worksheet's columns, those that the team deleted.
DELETED = "rehearsal_deleted_"
AUTHOR = "Rehearsal"
# The font with which each language is read, and the height of one of its lines in points.
FONTS: dict[Language, tuple[str, float]] = {"ja": ("Yu Gothic", 16.5), "en": ("Calibri", 13.5)}
SIZE = 10
_GREY, _BLUE = "E7E6E6", "BDD7EE"
# On paper there are no gridlines, and over a fill there are none on the screen.
_BORDER = {"border": 1, "border_color": "D0D0D0"}
# Dropdowns reach so many rows below the last one: people add rows.
_SPARE_ROWS = 500
# Higher than that, a row no longer fits a screen; Excel itself allows 409 points.
_MOST_LINES = 14
# Columns that are only looked up are clipped sooner, in points: with whole passages, five rows were a page.
# At the right end of a worksheet they are not printed.
_LOOKUP_COLUMNS, _MOST_POINTS = frozenset({"scores", "passages", "earlier", "run"}), 90
_MOST_NOTE = 3000
_SHORT = 25
# So many narrow characters across a page can still be read.
_PAGE = 190
_A4 = 9
_FIRST_DAY = date(1900, 3, 1)


def paint(
    worksheets: Sequence[Worksheet], path: Path, properties: Mapping[str, str], language: Language = "ja"
) -> None:
    """Writes the workbook; `properties` are kept in it for the program itself."""
    # Beside the workbook, where what a killed process leaves behind is deleted with the rest.
    with TemporaryDirectory(prefix=f"{path.name}-", dir=path.parent) as folder:
        workbook = _Workbook(path, folder, language)
        try:
            for worksheet in worksheets:
                workbook.add(worksheet)
            workbook.close(properties)
        finally:
            workbook.release()


class _Workbook:
    """A workbook being written row by row; rows that are written are no longer in memory."""

    def __init__(self, path: Path, folder: str, language: Language) -> None:
        self.language = language
        self.font, self.line = FONTS[language]
        self._formats: dict[tuple[tuple[str, Any], ...], Any] = {}
        self._lists: dict[tuple[str, ...], int] = {}
        self._file = xlsxwriter.Workbook(
            str(path),
            {
                "constant_memory": True,
                "tmpdir": folder,
                "strings_to_formulas": False,
                "strings_to_urls": False,
                "strings_to_numbers": False,
                "default_format_properties": {"font_name": self.font, "font_size": SIZE},
            },
        )
        self._file.set_properties({"title": AUTHOR, "author": AUTHOR})

    def add(self, worksheet: Worksheet) -> None:
        """Adds a worksheet with its columns, rows, dropdowns, names and chart."""
        sheet = self._file.add_worksheet(worksheet.title)
        sheet.set_comments_author(AUTHOR)
        high = max(line_count(column.title, max(column.width - 3, 4), 3) for column in worksheet.columns)
        sheet.set_row(0, high * self.line + 5)
        for number, column in enumerate(worksheet.columns):
            self._column(sheet, worksheet, number, column)
        for number, row in enumerate(worksheet.rows, start=1):
            self._row(sheet, worksheet, number, row)
        chart, keys = worksheet.chart, [column.key for column in worksheet.columns]
        if chart and worksheet.rows and {chart.x, *chart.ys} <= set(keys):
            self._chart(sheet, worksheet, chart, keys)
        _view(sheet, worksheet)

    def close(self, properties: Mapping[str, str]) -> None:
        """Adds the properties and the lists of dropdowns, and writes the file."""
        for name, value in properties.items():
            self._file.set_custom_property(name, value, "text")
        lists = self._file.add_worksheet(LISTS)
        for row, titles in enumerate(zip_longest(*self._lists)):
            for column, title in enumerate(titles):
                # A number that people type is found in the list only where it is a number there, too.
                lists.write(row, column, int(title) if title and title.isdecimal() else title)
        lists.hide()
        try:
            self._file.close()
        except xlsxwriter.exceptions.FileCreateError as error:
            raise error.args[0] from None

    def release(self) -> None:
        """Closes what a failure left open."""
        for sheet in self._file.worksheets():
            for close in (sheet._opt_close, sheet._xml_close):
                # Unwritten content is lost anyway; the second file may never have been opened.
                with suppress(OSError, AttributeError):
                    close()

    def _format(self, **settings: Any) -> Any:
        key = tuple(sorted(settings.items()))
        if key not in self._formats:
            self._formats[key] = self._file.add_format(
                {"font_name": self.font, "font_size": SIZE, "valign": "top", **_BORDER, **settings}
            )
        return self._formats[key]

    def _cell_format(self, column: Column, mark: Mark = "", number_format: str = "", text: str = "") -> Any:
        settings: dict[str, Any] = {"text_wrap": True} if _wraps(column, text) else {}
        if mark:
            settings["bg_color"] = FILLS[mark]
        if number_format or column.kind == "date":
            day = "yyyy/mm/dd" if self.language == "ja" else "yyyy-mm-dd"
            settings["num_format"] = number_format or day
        if column.kind == "date" or (number_format and column.kind != "number"):
            settings["align"] = "left"  # among texts
        if text.lstrip(" \u3000").startswith(_FORMULA):
            settings["quote_prefix"] = True
        return self._format(**settings)

    def _column(self, sheet: Any, worksheet: Worksheet, number: int, column: Column) -> None:
        """The header of a column with its note and its name, and what holds for all of its cells."""
        sheet.set_column(number, number, column.width, self._cell_format(column), {"hidden": column.hidden})
        colour = _BLUE if column.owner == "team" else _GREY
        title = cell_text(column.title, self.language, LONGEST)
        sheet.write_string(0, number, title, self._format(bold=True, text_wrap=True, bg_color=colour))
        # The first column is hidden or narrow: what the worksheet is for stands over the second.
        about = worksheet.help if number == min(1, len(worksheet.columns) - 1) else ""
        self._note(sheet, 0, number, "\n\n".join(filter(None, (about, column.help))))
        if column.owner == "team" and (column.choices or column.help):
            last = len(worksheet.rows) + _SPARE_ROWS
            sheet.data_validation(1, number, last, number, self._rule(column))
        if column.key.isidentifier():
            name = NAME.format(sheet=worksheet.name, column=column.key)
            at = f"{quote_sheetname(worksheet.title)}!{xl_col_to_name(number, col_abs=True)}$1"
            self._file.define_name(name, f"={at}")

    def _row(self, sheet: Any, worksheet: Worksheet, number: int, row: Row) -> None:
        cells = dict(row.cells) | {"key": SheetCell(text=row.key)}
        texts = {key: cell_text(cell.text, self.language, LONGEST) for key, cell in cells.items()}
        # The most lines for which a column makes its row higher.
        lookup = int((_MOST_POINTS - 3) // self.line)
        high = 1
        for column in worksheet.columns:
            if _wraps(column, text := texts.get(column.key, "")):
                most = lookup if column.key in _LOOKUP_COLUMNS else _MOST_LINES
                high = max(high, line_count(text, max(column.width - 1, 4), most))
        sheet.set_row(number, high * self.line + 3)
        for place, column in enumerate(worksheet.columns):
            if (cell := cells.get(column.key)) is not None:
                self._cell(sheet, (number, place), column, cell, texts[column.key])
                self._note(sheet, number, place, cell.note)

    def _cell(self, sheet: Any, place: tuple[int, int], column: Column, cell: SheetCell, text: str) -> None:
        day = day_of(text) if column.kind == "date" else None
        if cell.number is not None:
            form = self._cell_format(column, cell.mark, _number_format(text))
            sheet.write_number(*place, cell.number, form)
        elif day:
            sheet.write_datetime(*place, datetime(day.year, day.month, day.day), self._cell_format(column))
        elif text.startswith("<r>") and text.endswith("</r>"):
            # xlsxwriter would write this unescaped, as markup of its own; in two pieces it does not.
            form = self._cell_format(column, cell.mark)
            sheet.write_rich_string(*place, text[:1], self._format(), text[1:], form)
        elif text:
            sheet.write_string(*place, text, self._cell_format(column, cell.mark, text=text))
        elif cell.mark:
            sheet.write_blank(*place, None, self._cell_format(column, cell.mark))

    def _note(self, sheet: Any, row: int, column: int, text: str) -> None:
        """A note in a box that is large enough to be read."""
        if not text:
            return
        note = cell_text(text, self.language, _MOST_NOTE)
        high = 20 + 19 * line_count(note, 46, 24)
        box = {"font_name": self.font, "font_size": 9, "width": 320, "height": high}
        sheet.write_comment(row, column, note, box)

    def _rule(self, column: Column) -> dict[str, Any]:
        """A dropdown that warns and does not forbid, and the column's help beside each of its cells."""
        rule: dict[str, Any] = {"validate": "any"}
        if titles := tuple(choice.title for choice in column.choices):
            # A range: listed in the rule itself they could not contain a comma.
            letter = xl_col_to_name(self._lists.setdefault(titles, len(self._lists)), col_abs=True)
            source = f"={LISTS}!{letter}$1:{letter}${len(titles)}"
            rule = {"validate": "list", "source": source, "error_type": "warning"}
        if column.help and units(column.help) <= 255:
            rule |= {"input_title": column.title[:32], "input_message": column.help}
        return rule

    def _chart(self, sheet: Any, worksheet: Worksheet, chart: Chart, keys: list[str]) -> None:
        """Below a short table, beside a long one; from the oldest run to the newest."""
        last = len(worksheet.rows)
        picture = self._file.add_chart({"type": "line"})
        for key in chart.ys:
            place, x, title = keys.index(key), keys.index(chart.x), worksheet.title
            names, values = [title, 1, x, last, x], [title, 1, place, last, place]
            series = {"name": [title, 0, place], "categories": names, "values": values}
            picture.add_series({**series, "marker": {"type": "circle"}})
        font = {"name": self.font, "size": 9}
        picture.set_title({"name": chart.title, "name_font": {"name": self.font, "size": 12}})
        # The newest run is the first row, and stands at the right.
        picture.set_x_axis({"reverse": True, "crossing": "max", "num_font": font, "text_axis": True})
        gridlines = {"visible": True, "line": {"color": "D9D9D9"}}
        picture.set_y_axis({"num_font": font, "major_gridlines": gridlines})
        picture.set_legend({"position": "bottom", "font": font})
        picture.set_size({"width": 640, "height": 320})
        corner = (last + 2, 1) if last <= _SHORT else (1, len(keys) + 1)
        sheet.insert_chart(*corner, picture, {"object_position": 2})


def text_width(text: str) -> float:
    """About how many narrow characters wide a line is; a kanji, three bytes of UTF-8, counts for two."""
    return (len(text) + len(text.encode())) / 2


def line_count(text: str, width: float, most: int) -> int:
    """About how many lines a text takes when it is wrapped at `width` narrow characters, up to `most`."""
    high = 0
    for line in text.split("\n"):
        high += max(1, ceil(text_width(line) / width))
        if high >= most:
            return most
    return high


def day_of(text: str) -> date | None:
    """The day that an ISO date names, where Excel has such a day."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if len(text) == 10 and day >= _FIRST_DAY else None


def _wraps(column: Column, text: str) -> bool:
    """Whether a cell is wrapped: where its column is, and where it would run into the next one."""
    return column.wrap or (column.key != "key" and text_width(text) > column.width)


def _number_format(text: str) -> str:
    """With as many decimals as the number is worded with."""
    whole, _, decimals = text.partition(".")
    places = f".{'0' * len(decimals)}" if decimals.isdigit() else ""
    return ("#,##0" if "," in whole else "0") + places


def _view(sheet: Any, worksheet: Worksheet) -> None:
    """On paper landscape, the header on each page, as few pages across as can still be read.

    What people fill in is one page across: a row that is parted is filled in beside the wrong question.
    """
    sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})
    sheet.freeze_panes(1, worksheet.frozen_columns)
    sheet.autofilter(0, 0, max(len(worksheet.rows), 1), len(worksheet.columns) - 1)
    if any(column.owner == "team" for column in worksheet.columns):
        sheet.set_tab_color(_BLUE)
    printed = list(worksheet.columns)
    while len(printed) > 1 and printed[-1].key in _LOOKUP_COLUMNS:
        printed.pop()
    if len(printed) < len(worksheet.columns):
        sheet.print_area(0, 0, max(len(worksheet.rows), 1), len(printed) - 1)
    filled_in = any(column.owner == "team" for column in printed)
    across = 1 if filled_in else max(1, round(sum(column.width for column in printed) / _PAGE))
    sheet.set_landscape()
    sheet.set_paper(_A4)
    sheet.set_margins(left=0.4, right=0.4, top=0.7, bottom=0.6)
    sheet.repeat_rows(0)
    if across > 1:
        sheet.repeat_columns(0, worksheet.frozen_columns - 1)
    sheet.fit_to_pages(across, 0)
    sheet.set_header(f"&L&A&R{worksheet.help.replace('&', '&&')[:200]}")
    sheet.set_footer("&C&P / &N")
