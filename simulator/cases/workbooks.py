"""Rows of Excel files: the worksheet with the column names that are needed, and its rows below these.

Titles and notes may stand above the column names, and a header may take two rows. Hidden rows are marked, so
that readers of questions can leave them out. Worksheets that are hidden are not read unless they are named.
"""

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

from pydantic import JsonValue

from simulator.cases.files import read_archive, readable_or_error
from simulator.cases.headings import field_of, meanings
from simulator.cases.row import (
    Fits,
    LeftOut,
    Row,
    RowFault,
    Rows,
    WorkbookSheet,
    WorksheetRow,
    check_columns,
    column_names,
)
from simulator.core.errors import CaseFileError
from simulator.core.messages import _, listed, printable, quote

# Column names stand below at most this many rows of titles and notes.
MOST_TITLE_ROWS = 30
# Worksheets that an error names.
_MOST_NAMES = 20


def workbook_rows(path: Path, sheet: str, fits: Fits) -> Rows:
    """The rows of the named worksheet, or else of the only one whose column names fit."""
    sheets = read_workbook(path, sheet)
    if sheet or len(sheets) == 1:
        location = Path(f"{path}#{sheet}") if sheet else path
        return worksheet_rows(location, sheets[0], fits, named=False)
    fitting = [worksheet for worksheet in sheets if column_row(worksheet, fits) is not None]
    if len(fitting) != 1:
        names = tuple(quote(worksheet.name) for worksheet in (fitting or sheets)[:_MOST_NAMES])
        # The longest, for the first one often is a cover.
        longest = max(fitting or sheets, key=lambda worksheet: len(worksheet.lines), default=None)
        example = printable(longest.name) if longest else "..."
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
    to refuse the file. Hidden rows are left out; titles between the rows, and the names again, are none.
    """
    title = sheet.name if named else ""
    if not sheet.lines:
        return
    head = sheet.lines[heading_row(path, sheet, column_row(sheet, fits))]
    place = Row(head.number, {}, sheet=title)
    check_columns(path, place, max(head.texts, default=0))
    header = cells_of(head)
    names = column_names(path, place, header)
    for line in sheet.lines[sheet.lines.index(head) + 1 :]:
        if line.hidden:
            yield LeftOut(path, Row(line.number, {}, sheet=title), "hidden")
            continue
        if cells_of(line) == header or _is_section(sheet, head, line):
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


def _is_section(sheet: WorkbookSheet, head: WorksheetRow, line: WorksheetRow) -> bool:
    """Whether a row is a title between the rows: one text over columns that have a name each."""
    column = next(iter(line.texts), 0)
    is_alone = len(line.texts) == 1 and (line.number, column) in sheet.wide
    return is_alone and (head.number, column) not in sheet.wide


def heading_row(path: Path, sheet: WorkbookSheet, top: int | None) -> int:
    """The index of the line with the column names: `top`, or where none fits the first with several texts.

    Raises CaseFileError for a table that has its names below each other, and a question in each column.
    """
    top = _first_wide(sheet.lines) if top is None else top
    if not sheet.lines:
        return top
    column, *others = sheet.lines[top].texts or [0]
    names = [line.texts[column].strip() for line in sheet.lines[top:MOST_TITLE_ROWS] if column in line.texts]
    fields = [*filter(None, map(field_of, names))]
    are_names = 1 < len({*fields}) == len(fields) > len(names) / 2
    if are_names and others and not any(field_of(sheet.lines[top].texts[place]) for place in others):
        msg = _(
            "{path}: the column names stand below each other ({names}), and each column is a question. Copy"
            " the table and paste it transposed, so that each row is one.",
            path=path,
            names=listed(list(map(quote, names)), 5),
        )
        raise CaseFileError(msg)
    return top


def column_row(sheet: WorkbookSheet, fits: Fits) -> int | None:
    """The index of the line with the column names, below titles and notes; None when no line fits.

    A row of data in which a name happens to stand (質問 under 種別) is none: names are wider than all above
    them, or several. Of two rows of names the lower one counts:

        問い合わせ  -     回答          groups over several columns
        分類        質問  正解          the names

    At most `MOST_TITLE_ROWS` filled rows are looked at.
    """
    top: int | None = None
    widest = 0
    for place, line in enumerate(sheet.lines[:MOST_TITLE_ROWS]):
        texts = [text.strip() for text in line.texts.values()]
        names, is_wider = len(meanings(texts)), len(texts) > widest
        if top is None:
            is_heading = is_wider or names > 1 or len(texts) == 1
        else:
            upper = sheet.lines[top]
            spans = any((upper.number, column) in sheet.wide for column in upper.texts)
            is_under = place == top + 1 and (spans or not line.texts.keys() <= upper.texts.keys())
            is_heading = (is_wider or is_under) and names > (len(upper.texts) > 1)
        if is_heading and fits(texts):
            top = place
        widest = max(widest, len(texts))
    if top is None:
        return None
    # A name may be merged downwards over further rows.
    upper = sheet.lines[top]
    last = max([upper.number, *(sheet.below.get((upper.number, column), 0) for column in upper.texts)])
    return max(place for place, line in enumerate(sheet.lines) if upper.number <= line.number <= last)


def cells_of(line: WorksheetRow) -> list[str]:
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
    from simulator.cases.openpyxl_reader import read_sheet  # with it openpyxl

    with readable_or_error(path, "Excel"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [read_sheet(sheet) for sheet in sheets]


def worksheet_text(sheet: WorkbookSheet) -> str:
    """A worksheet as text: its name as a heading, then a line for each row."""
    rows = (
        " | ".join(" ".join(text.split()) for _unused, text in sorted(line.texts.items()))
        for line in sheet.lines
    )
    return "\n".join([f"# {sheet.name}", "", *rows])


def _plain(name: str) -> str:
    return normalize("NFKC", name).strip().casefold()


def _first_wide(lines: Sequence[WorksheetRow]) -> int:
    """The index of the first line with more than one text; 0 when there is none."""
    return next((place for place, line in enumerate(lines) if len(line.texts) > 1), 0)
