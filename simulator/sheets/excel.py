"""The report as an Excel workbook: never written over what the team wrote in an earlier one.

First what becomes of the workbooks that are there, then how one is read, whatever was moved or renamed in
it, and how it is painted, row by row, with formats, notes, dropdowns and print settings.

Whether people saved a workbook shows in its time: the program notes in it when it wrote it
(`rehearsal_written`). From this follows where the next report goes, in a run's folder with

    nothing, or report.xlsx as the program left it  -> report.xlsx, with the words of the last earlier run's
    report.xlsx that somebody saved                 -> report-2.xlsx, with their words, rows and columns
    report.xlsx saved, and report-2.xlsx made of it -> report-2.xlsx anew, with the same words
    report.xlsx open in Excel or LibreOffice        -> the next free number, and a line on stderr

Worksheets and columns are found by defined names, which follow their cells through moves and renames:
`rehearsal_review_judge_is` = 'Review'!$H$1. Rows are found by their keys. What becomes of each row says
`sheets/merge.py`; worksheets of people's own are copied with their values and formulas.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from simulator.cases.row import WorksheetRow
from simulator.cases.workbooks import open_workbook, read_worksheets
from simulator.core.errors import InputError, RunFileError
from simulator.core.messages import Message, _, say, shown
from simulator.core.types import Language
from simulator.core.writing import REPORT_AGAIN, replaced
from simulator.sheets.merge import (
    EditedSheet,
    EditedSheets,
    edited_sheet,
    merge_all,
    replaced_lines,
)
from simulator.sheets.model import (
    FILLS,
    FROZEN,
    HEADINGS,
    TURN_COLUMNS,
    WORKSHEETS,
    CellMark,
    Column,
    SheetCell,
    SheetRow,
    Worksheet,
    cell_text,
    day_of,
    decimals_of,
    layouts,
    turn_of,
)

# When the program wrote a workbook, in seconds.
_WRITTEN = "rehearsal_written"
# Some file systems (FAT) keep times of even seconds only, so all times are made even.
_SECONDS = 2
# report.xlsx and report-2.xlsx; a copy that people named themselves (report-final.xlsx) has no number.
_NUMBERED = re.compile(r"report(?:-(\d{1,4}))?\.xlsx")
# The worksheets that go on in the next run; conversations and blind grades are those of one run.
_GO_ON = ("summary", "review", "fixes", "history", "archive")


class _LockedFile(Exception):
    """A file that another program holds open, or has just written."""


class _Workbook(NamedTuple):
    """A workbook of ours; `touched`: somebody saved it after the program."""

    path: Path
    content: EditedSheets
    touched: bool


def save(
    worksheets: Sequence[Worksheet],
    run_file: Path,
    language: Language = "ja",
    *,
    earlier: Sequence[Path] = (),
) -> Path:
    """Writes report.xlsx beside the run file, or report-2.xlsx ... once the team has written in one.

    It has what the team wrote in the workbook beside the run file that was saved last, or, where nobody wrote
    in one, in that of the last run in `earlier`, folders in the order of their runs. A workbook that is open
    in Excel is left alone; stderr says where the report stands instead. Returns the path that was written.

    Raises RunFileError where nothing can be written. A workbook that cannot be read counts as the team's: it
    is left alone with a line on stderr, and the report gets the next number.
    """
    folder, started = run_file.parent, time.time_ns()
    newest = _newest(folder)
    source, names = newest, tuple(layouts())
    if newest is None or (not newest.touched and newest.path.name == "report.xlsx"):
        # All that it has of the team came from earlier runs, where they may have gone on writing.
        runs = (_newest(place, _GO_ON) for place in reversed(earlier))
        if last := next(filter(None, runs), None):
            source, names = last, _GO_ON
    n = 1
    if newest:
        number = _NUMBERED.fullmatch(newest.path.name)
        # Behind one that people saved; in the place of one that the program made of it since.
        n = int((number and number[1]) or 1) + newest.touched
    before = source.content if source else EditedSheets({})
    for note in before.notes:
        if source and note.about == "cell":
            say(_("{workbook}, {note:sentence}", workbook=source.path, note=note.text))
    there = {name: sheet for name, sheet in before.sheets.items() if name in names}
    joined, replaced_cells = _joined(worksheets, there)
    for line in replaced_cells:
        say(line)
    copied = (source.path, before.foreign) if source and before.foreign else None
    while True:
        path = folder / ("report.xlsx" if n == 1 else f"report-{n}.xlsx")
        n += 1
        # What is there may go only as the program left it, and if the team's words come along.
        is_source = newest and path == newest.path and not newest.touched
        if path.exists() and not is_source:
            continue
        try:
            return write(joined, path, language, since=started, copied=copied)
        except _LockedFile:
            say(_("{path} is open in another program; the report goes into the next one.", path=path.name))


def newest_first(folders: Iterable[Path]) -> list[Path]:
    """The workbooks in these folders, the last one saved first; of two at one time that of the later run."""
    paths = [path for folder in folders for path in folder.glob("*.xlsx") if _is_ours(path)]
    return sorted(
        paths, key=lambda path: (path.stat().st_mtime // _SECONDS, path.parent.name, path.stem), reverse=True
    )


def _is_ours(path: Path) -> bool:
    """Whether it is a workbook of a report: people rename them, and keep tables of their own beside them."""
    if path.name.startswith("report"):
        return path.is_file()
    with suppress(OSError, BadZipFile, KeyError), ZipFile(path) as parts:
        return b"rehearsal_" in parts.read("xl/workbook.xml")
    return False


def _newest(folder: Path, names: Sequence[str] = ()) -> _Workbook | None:
    """The workbook in a folder that was saved last; as stderr says, without those that cannot be read."""
    for path in newest_first([folder]):
        try:
            content = read_edited(path, names)
        except InputError as error:
            say(_("{fault} It is left alone.", fault=error))
            continue
        if content.sheets:
            # Saving it changes its time.
            return _Workbook(path, content, content.properties.get(_WRITTEN) != str(path.stat().st_mtime))
    return None


def _joined(
    worksheets: Sequence[Worksheet], before: Mapping[str, EditedSheet]
) -> tuple[list[Worksheet], list[Message]]:
    """The worksheets with all that people wrote, and which cells were replaced."""
    # Without its keys a worksheet cannot be joined; it stays in the file that people saved.
    there = {name: sheet for name, sheet in before.items() if "key" in sheet.columns}
    sheets = [sheet for sheet in worksheets if sheet.name in there or (there and sheet.name == "archive")]
    edited = {"archive": EditedSheet("", 1, {"key": 1}), **there}
    merged = merge_all(sheets, edited, {"archive"} - there.keys())
    # An archive is there once something has gone into it.
    joined = [
        merged[sheet.name].sheet if sheet.name in merged else sheet
        for sheet in worksheets
        if sheet.name in merged or sheet.name != "archive"
    ]
    return joined, [*replaced_lines(merged.values())]


def write(
    worksheets: Sequence[Worksheet],
    path: Path,
    language: Language = "ja",
    *,
    since: int | None = None,
    copied: tuple[Path, Sequence[str]] | None = None,
) -> Path:
    """Writes a workbook that knows when that was; `copied` are a workbook and worksheets of it.

    It is made under another name and moved into its place, so a killed process leaves the old one. Raises
    RunFileError where it cannot be written; _LockedFile where the old file is open, or was written after
    `since` (nanoseconds): somebody saved it while the new one was made of what it said before.
    """
    # Excel and LibreOffice each keep a lock file beside a workbook that they have open.
    if any(path.with_name(name).exists() for name in (f"~${path.name}", f".~lock.{path.name}#")):
        raise _LockedFile
    now = time.time() // _SECONDS * _SECONDS
    try:
        with replaced(path, REPORT_AGAIN) as new:
            paint(worksheets, new, language, {_WRITTEN: str(now)}, copied)
            # The time that the file says of itself, to the second: else the next look would take it for
            # saved.
            os.utime(new, (now, now))
            if since and path.exists() and path.stat().st_mtime_ns > since:
                raise _LockedFile
    except RunFileError as error:
        # On Windows a file that another program holds open cannot be replaced.
        if isinstance(error.__cause__, PermissionError) and path.exists():
            raise _LockedFile from None
        raise
    return path


# --- Reading ---

# The name of a header cell, `rehearsal_review_judge_is`: worksheet and column.
_NAMED = re.compile(r"rehearsal_([a-z]+)_(\w+)")
# What it stands for: 'Review (2)'!$H$1, Review!$H$1, =Review!$H$1. Of a column that was deleted it is
# Review!#REF!, which is no place.
_PLACE = re.compile(r"=?\$?(?:'((?:[^']|'')+)'|([^'!]+))!\$([A-Z]{1,3})\$(\d{1,7})")

# Column keys with the row and the column (from 1) of the header cell.
Places = Mapping[str, tuple[int, int]]


def read_edited(path: Path, names: Sequence[str] = ()) -> EditedSheets:
    """All known worksheets, or those of these `names`, and the titles of people's own.

    Raises CaseFileError in one line for a file that is not a workbook.
    """
    from openpyxl.utils import column_index_from_string

    workbook = open_workbook(path)
    properties = {entry.name: str(entry.value) for entry in workbook.custom_doc_props.props}
    places: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    for defined_name, definition in workbook.defined_names.items():
        match, at = _NAMED.fullmatch(defined_name), _PLACE.fullmatch(definition.attr_text or "")
        # A name remains when its column is deleted, and stands for nothing then.
        if match and at and match[1] in layouts():
            tab = at[1].replace("''", "'") if at[1] else at[2]
            header = int(at[4]), column_index_from_string(at[3])
            places.setdefault((tab, match[1]), {})[match[2]] = header
    # With `names` what is ours is read only where it is named; what is not ours may be people's own.
    named = dict(list(places))
    wanted = [
        worksheet
        for worksheet in workbook.worksheets
        if worksheet.title not in (LISTS, properties.get(PRINTED))
        and (not names or named.get(worksheet.title, names[0]) in names)
    ]
    tabs = {sheet.name: sheet.lines for sheet in read_worksheets(path, wanted)}
    # Of two worksheets with the names of one, such as a copy, the one that has most of them.
    by_names = sorted(places, key=lambda place: len(places[place]))
    tab_of = {name: tab for tab, name in by_names if tab in tabs}
    sheets = {name: _sheet(tab, tabs[tab], name, places[tab, name]) for name, tab in tab_of.items()}
    foreign = tuple(tab for tab, lines in tabs.items() if tab not in tab_of.values() and lines)
    return EditedSheets(sheets, foreign, properties)


def _sheet(tab: str, lines: Sequence[WorksheetRow], name: str, places: Places) -> EditedSheet:
    """A worksheet by the names of its header cells, most of which are in one row."""
    header = Counter(row for row, _column in places.values()).most_common(1)[0][0]
    columns = {key: column for key, (row, column) in places.items() if row == header}
    return edited_sheet(tab, lines, layouts()[name], columns, header)


# --- Painting ---

# What Excel takes in one cell, in UTF-16 units.
LONGEST = 32_767
# What a spreadsheet takes for a formula as soon as somebody edits the cell: such texts get the mark that
# Excel sets for a leading apostrophe (quotePrefix). The last four are full-width signs, which Japanese Excel
# takes for the narrow ones.
_FORMULA = tuple("=+-@\t\n|%＝＋－＠")
# Where the lists of dropdowns are, and the property that names the worksheet for printing.
LISTS, PRINTED = "rehearsal_lists", "rehearsal_printed"
# A row of the conversations to which others lead, with a number.
_ROW = "rehearsal_row_"
AUTHOR = "Rehearsal"
# The colour of a link.
LINK = "0563C1"
# The font with which each language is read, and the height of one of its lines in points at `SIZE`.
FONTS: dict[Language, tuple[str, float]] = {"ja": ("Yu Gothic", 16.5), "en": ("Calibri", 13.5)}
SIZE = 10
# On paper there are no gridlines, and over a fill there are none on the screen.
_BORDER = {"border": 1, "border_color": "D0D0D0"}
# Dropdowns reach so many rows below the last one: people add rows, to "questions" above all.
_SPARE_ROWS = 500
# Higher than that, a row no longer fits a screen; Excel itself allows 409 points.
_MOST_LINES = 14
# Columns that are only looked up are clipped sooner: with whole passages, five rows were a page.
_LOOKUP_COLUMNS, _MOST_LOOKED_UP = frozenset({"passages", "earlier", "run"}), 4
# Characters of a note: a judge's conclusion has some hundred.
_MOST_NOTE = 3000
# Pages of the review. Conversations are laid out in blocks of so wide columns, where there are not too many.
_MOST_PAGES, _MOST_BLOCKS, _BLOCK = 6, 400, (38, 60, 52)
# A4 landscape within its margins (inches), in narrow characters and in points, at full size.
_MARGINS = {"left": 0.3, "right": 0.3, "top": 0.6, "bottom": 0.5}
_PAGE_WIDTH, _PAGE_HEIGHT = 148, 500
# The paper's number in xlsxwriter, which is Excel's.
_A4 = 9


def paint(
    worksheets: Sequence[Worksheet],
    path: Path,
    language: Language = "ja",
    properties: Mapping[str, str] = {},
    copied: tuple[Path, Sequence[str]] | None = None,
) -> None:
    """Writes the workbook; `properties` are what it keeps for the program."""
    # Beside the workbook, where what a killed process leaves behind is deleted with the rest.
    with TemporaryDirectory(prefix=f"{path.name}-", dir=path.parent) as folder:
        workbook = _WorkbookPainter(path, folder, language)
        try:
            for worksheet in worksheets:
                workbook.add(worksheet)
            if copied:
                workbook.copy(*copied)
            workbook.close(properties)
        finally:
            workbook.release()


class _WorkbookPainter:
    """A workbook being written row by row; rows that are written are no longer in memory.

    xlsxwriter's `constant_memory` asks for every cell of a row before the next row: 10,000 turns take about a
    second and no memory of their own. Formats are shared, for Excel takes only about 64,000 different ones.
    """

    def __init__(self, path: Path, folder: str, language: Language) -> None:
        self.language = language
        self.font, self.line = FONTS[language]
        self._formats: dict[tuple[tuple[str, Any], ...], Any] = {}
        # The choices of dropdowns, by the column of the hidden worksheet in which they stand.
        self._lists: list[list[str]] = []
        # The names of the rows to which links lead, by key; names follow them through moves and renames.
        self._names: dict[str, str] = {}
        import xlsxwriter  # like openpyxl, only where there is a workbook

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
        """Adds a worksheet with its columns, rows, dropdowns and names."""
        sheet = self._file.add_worksheet(worksheet.title)
        sheet.set_comments_author(AUTHOR)
        # The arrow of the filter takes about three characters of a heading.
        high = max(line_count(column.title, max(column.width - 3, 4), 3) for column in worksheet.columns)
        sheet.set_row(0, high * self.line + 5)
        for number, column in enumerate(worksheet.columns):
            self._column(sheet, worksheet, number, column)
        heights = [self._row(sheet, worksheet, n, row) for n, row in enumerate(worksheet.rows, start=1)]
        _view(sheet, worksheet)
        if worksheet.name == "conversations" and 0 < len(worksheet.rows) <= _MOST_BLOCKS:
            self._header(sheet, _("For paper: the worksheet “{name}”.", name=self._blocks(worksheet)))
            # A cell without anything: what is printed elsewhere is no page here.
            beside = len(worksheet.columns) + 1
            sheet.print_area(0, beside, 0, beside)
        else:
            self._paper(sheet, worksheet, heights)

    def _paper(self, sheet: Any, worksheet: Worksheet, heights: Sequence[float]) -> None:
        """Prints the columns that are read first, one page across: who fills in a row must see all of it.

        Of the review no more rows are printed than are read on paper: the gravest that need review.
        A worksheet that is none of a run's (the lab has some) is printed with all its columns.
        """
        keys = [column.key for column in worksheet.columns]
        kind = WORKSHEETS.get(worksheet.name)
        end = kind.printed if kind else ""
        last = keys.index(end) if end in keys else len(keys) - 1
        width = sum(column.width + 1 for column in worksheet.columns[1 : last + 1])
        rows, room = 0, _MOST_PAGES * _PAGE_HEIGHT / min(1.0, _PAGE_WIDTH / width)
        for high, row in zip(heights, worksheet.rows, strict=True):
            room -= high
            if worksheet.name == "review" and (room < 0 or not row.cell("severity").text):
                break
            rows += 1
        sheet.print_area(0, 1, max(rows, 1), last)
        sheet.repeat_rows(0)
        sheet.fit_to_pages(1, 0)
        if rows < len(worksheet.rows):
            every = len(worksheet.rows)
            part = _("The first {n} of {all} rows; the others are in the file.", n=rows, all=every)
            self._header(sheet, part)

    def _header(self, sheet: Any, text: Message) -> None:
        """Prints a text at the top of each page, beside the title of the worksheet."""
        sheet.set_header(f"&L&A&R&8 {shown(text, self.language).replace('&', '&&')}")

    def _blocks(self, worksheet: Worksheet) -> str:
        """The conversations once more, for paper: below each other, a line a turn; returns their title."""
        title = shown(_("{worksheet}, for printing", worksheet=worksheet.title), self.language)[:31]
        sheet = self._file.add_worksheet(title)
        self._file.set_custom_property(PRINTED, title, "text")
        for place, width in enumerate(_BLOCK):
            sheet.set_column(place, place, width)
        heading = {"bold": True, "text_wrap": True, "bg_color": HEADINGS["program"]}
        for number, cells in enumerate(_block_rows(worksheet, self.language)):
            texts = [cell_text(cell.text, LONGEST) for cell in cells]
            widths = _BLOCK if len(cells) > 1 else (sum(_BLOCK),)
            lines = zip(texts, widths, strict=True)
            high = max(line_count(text, width - 1, _MOST_LINES) for text, width in lines)
            sheet.set_row(number, high * self.line + 3)
            if len(cells) == 1:
                sheet.merge_range(number, 0, number, len(_BLOCK) - 1, texts[0], self._format(**heading))
                continue
            for place, (cell, text) in enumerate(zip(cells, texts, strict=True)):
                fill = {"bg_color": FILLS[cell.mark]} if cell.mark else {}
                sheet.write_string(number, place, text, self._format(text_wrap=True, **fill))
        _landscape(sheet)
        sheet.fit_to_pages(1, 0)
        sheet.set_footer("&L&A&C&P / &N")
        return title

    def close(self, properties: Mapping[str, str]) -> None:
        """Adds the properties, and writes the file."""
        from xlsxwriter.exceptions import FileCreateError

        if self._lists:
            lists = self._file.add_worksheet(LISTS)
            lists.hide()
            for number in range(max(map(len, self._lists))):
                for place, titles in enumerate(self._lists):
                    if number < len(titles):
                        lists.write_string(number, place, titles[number])
        for name, value in properties.items():
            self._file.set_custom_property(name, value, "text")
        try:
            self._file.close()
        except FileCreateError as error:
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

    def _cell_format(
        self,
        column: Column,
        mark: CellMark = "",
        number_format: str = "",
        text: str = "",
        *,
        is_link: bool = False,
    ) -> Any:
        """How a cell looks: wrapped or not, filled by its mark, a number or a day by its format."""
        settings: dict[str, Any] = {"text_wrap": True} if _wraps(column, text) else {}
        if mark:
            settings["bg_color"] = FILLS[mark]
        if number_format or column.kind == "date":
            day = "yyyy/mm/dd" if self.language == "ja" else "yyyy-mm-dd"
            settings["num_format"] = number_format or day
        if column.kind == "date" or (number_format and column.kind != "number"):
            settings["align"] = "left"  # among texts
        elif number_format:
            settings |= {"align": "right", "indent": 1}  # apart from the text of the next column
        if text.lstrip(" \u3000").startswith(_FORMULA):
            settings["quote_prefix"] = True
        if is_link:
            settings |= {"font_color": LINK, "underline": 1}
        return self._format(**settings)

    def _column(self, sheet: Any, worksheet: Worksheet, number: int, column: Column) -> None:
        """The header of a column with its note and its name, and what holds for all of its cells."""
        from xlsxwriter.utility import quote_sheetname, xl_col_to_name

        sheet.set_column(number, number, column.width, self._cell_format(column), {"hidden": column.hidden})
        heading = self._format(bold=True, text_wrap=True, bg_color=HEADINGS[column.owner])
        sheet.write_string(0, number, cell_text(column.title, LONGEST), heading)
        self._note(sheet, 0, number, worksheet.note(column))
        if column.owner == "team" and column.choices:
            last = len(worksheet.rows) + _SPARE_ROWS
            rule = {"validate": "list", "source": self._listed([*column.choices.values()])}
            # It warns and does not forbid.
            sheet.data_validation(1, number, last, number, {**rule, "error_type": "warning"})
        # Columns that people added ("other.0") have no name, and are known by being none of ours.
        if column.key.isidentifier():
            # People rename titles and move columns, and the names of header cells go along.
            name = f"rehearsal_{worksheet.name}_{column.key}"
            at = f"{quote_sheetname(worksheet.title)}!{xl_col_to_name(number, col_abs=True)}$1"
            self._file.define_name(name, f"={at}")

    def _row(self, sheet: Any, worksheet: Worksheet, number: int, row: SheetRow) -> float:
        """A row, as high as its highest text, within limits; returns its height in points.

        Excel would set the height itself, but as high as the longest passage, of 4,000 characters.
        """
        from xlsxwriter.utility import quote_sheetname

        if worksheet.name == "conversations" and (name := self._names.get(row.key)):
            self._file.define_name(name, f"={quote_sheetname(worksheet.title)}!$B${number + 1}")
        texts = {c.key: cell_text(c.shown(row.cell(c.key).text), LONGEST) for c in worksheet.columns}
        high = 1
        for column in worksheet.columns:
            if not column.hidden and _wraps(column, text := texts[column.key]):
                most = _MOST_LOOKED_UP if column.key in _LOOKUP_COLUMNS else _MOST_LINES
                high = max(high, line_count(text, max(column.width - 1, 4), most))
        sheet.set_row(number, high * self.line + 3)
        for place, column in enumerate(worksheet.columns):
            cell = row.cell(column.key)
            self._cell(sheet, (number, place), column, cell, texts[column.key])
            self._note(sheet, number, place, cell.note)
        return high * self.line + 3

    def _cell(self, sheet: Any, place: tuple[int, int], column: Column, cell: SheetCell, text: str) -> None:
        # A day that Excel knows is written as one, so that it sorts and filters; any other text stays a text.
        day = day_of(text) if column.kind == "date" else None
        if cell.number is not None:
            form = self._cell_format(column, cell.mark, _number_format(text))
            sheet.write_number(*place, cell.number, form)
        elif day:
            sheet.write_datetime(*place, day, self._cell_format(column))
        elif text and cell.row:
            form = self._cell_format(column, cell.mark, text=text, is_link=True)
            name = self._names.setdefault(cell.row, f"{_ROW}{len(self._names) + 1}")
            sheet.write_url(*place, f"internal:{name}", form, text)
        elif text.startswith("<r>") and text.endswith("</r>"):
            # xlsxwriter would write this unescaped, as markup of its own; in two pieces it does not.
            form = self._cell_format(column, cell.mark)
            sheet.write_rich_string(*place, text[:1], self._format(), text[1:], form)
        elif text:
            sheet.write_string(*place, text, self._cell_format(column, cell.mark, text=text))

    def _note(self, sheet: Any, row: int, column: int, text: str) -> None:
        """A note in a box that is large enough to be read."""
        if not text:
            return
        note = cell_text(text, _MOST_NOTE)
        high = 20 + 19 * line_count(note, 46, 24)
        box = {"font_name": self.font, "font_size": 9, "width": 320, "height": high}
        sheet.write_comment(row, column, note, box)

    def _listed(self, titles: list[str]) -> str:
        """Where a list of choices stands in the hidden worksheet."""
        from xlsxwriter.utility import xl_col_to_name

        if titles not in self._lists:
            self._lists.append(titles)
        column = xl_col_to_name(self._lists.index(titles), col_abs=True)
        return f"={LISTS}!{column}$1:{column}${len(titles)}"

    def copy(self, source: Path, titles: Iterable[str]) -> None:
        """Copies worksheets of people's own: values and formulas; all else stays in their file."""
        from openpyxl import load_workbook

        workbook, shown = load_workbook(source), load_workbook(source, data_only=True)
        for title in titles:
            sheet = self._file.add_worksheet(title)
            for cell in (cell for row in workbook[title].iter_rows() for cell in row):
                self._copied(sheet, cell, shown[title][cell.coordinate].value)

    def _copied(self, sheet: Any, cell: Any, value: Any) -> None:
        look = {} if cell.number_format == "General" else {"num_format": cell.number_format}
        form, place = self._format(**look), (cell.row - 1, cell.column - 1)
        if cell.data_type == "f":
            sheet.write_formula(*place, str(cell.value), form, "" if value is None else value)
        elif cell.is_date:
            sheet.write_datetime(*place, value, form)
        elif isinstance(value, bool | int | float):
            (sheet.write_boolean if isinstance(value, bool) else sheet.write_number)(*place, value, form)
        elif value is not None:
            sheet.write_string(*place, str(value), form)


def _block_rows(worksheet: Worksheet, language: Language) -> Iterator[list[SheetCell]]:
    """The conversations below each other: a heading in one cell, then the three cells of each turn."""
    turns = max(turn_of(column.key) for column in worksheet.columns)
    for row in worksheet.rows:
        score = row.cell("score")
        points = score.text if score.number is None else shown(_("{n} of 100", n=score.text), language)
        parts = (*row.cell("config").text.splitlines(), points, row.cell("ended").text)
        yield [SheetCell(" · ".join(filter(None, parts)))]
        for turn in range(1, turns + 1):
            cells = [row.cell(f"{key}{turn}") for key in TURN_COLUMNS]
            if any(cell.text for cell in cells):
                yield cells


def text_width(text: str) -> float:
    """About how many narrow characters wide a line is; a kanji, three bytes of UTF-8, counts for two.

    "abc" -> 3.0, "日本" -> 4.0. The standard library's east_asian_width, letter by letter, takes far longer.
    """
    return (len(text) + len(text.encode())) / 2


def line_count(text: str, width: float, most: int) -> int:
    """About how many lines a text takes when it is wrapped at `width` narrow characters, up to `most`."""
    high = 0
    for line in text.split("\n"):
        high += max(1, ceil(text_width(line) / width))
        if high >= most:
            return most
    return high


def _wraps(column: Column, text: str) -> bool:
    """Whether a cell is wrapped: where its column is, and where it would run into the next one."""
    return column.wrap or (column.key != "key" and text_width(text) > column.width)


def _number_format(text: str) -> str:
    """With as many decimals as the number is worded with: "82.5" -> "0.0", "1,234" -> "#,##0"."""
    decimals = decimals_of(text)
    return ("#,##0" if "," in text.partition(".")[0] else "0") + (f".{'0' * decimals}" if decimals else "")


def _view(sheet: Any, worksheet: Worksheet) -> None:
    """On paper landscape, its title on each page."""
    sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})
    sheet.freeze_panes(1, FROZEN)
    sheet.autofilter(0, 0, max(len(worksheet.rows), 1), len(worksheet.columns) - 1)
    if any(column.owner == "team" for column in worksheet.columns):
        sheet.set_tab_color(HEADINGS["team"])
    _landscape(sheet)
    sheet.set_header(f"&L&A&R{worksheet.help.replace('&', '&&')[:200]}")
    sheet.set_footer("&C&P / &N")


def _landscape(sheet: Any) -> None:
    sheet.set_landscape()
    sheet.set_paper(_A4)
    sheet.set_margins(**_MARGINS)
