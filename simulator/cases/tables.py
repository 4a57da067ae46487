"""Rows of one file of any kind: a table of text here, worksheets and objects by readers of their own.

questions.csv          -> table_rows, after a look at the delimiter
questions.xlsx#料金    -> workbook_rows of that worksheet
questions.jsonl        -> json_rows
"""

import csv
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import chain, islice
from pathlib import Path

from pydantic import JsonValue

from simulator.cases.files import DELIMITERS, OBJECTS, WORKBOOKS, plain_suffix, read_text
from simulator.cases.formats import choice_rows
from simulator.cases.row import (
    MAX_CELL,
    MAX_COLUMNS,
    CutOff,
    Fits,
    Row,
    RowFault,
    Rows,
    WorkbookSheet,
    WorksheetRow,
    check_columns,
    column_names,
)
from simulator.cases.structured import json_rows
from simulator.cases.workbooks import MOST_TITLE_ROWS, column_row, heading_row, workbook_rows
from simulator.core.errors import CaseFileError
from simulator.core.messages import _, printable, sentences

ACCEPTED = _("CSV, TSV, JSONL, JSON or Excel (.xlsx), each also as .gz")
# `questions.xlsx#料金` names a worksheet; a worksheet's own name holds no slash.
_SHEET = re.compile(r"(.+\.xls[xm](?:\.gz)?)#([^/]+)", re.IGNORECASE)
# What Excel writes as the first line of a CSV to name its delimiter.
_NAMED_DELIMITER = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
# How Excel keeps the zeros of a number in a CSV: ="0120".
_TEXT_FORMULA = re.compile(r'\A="([^"]*)"\Z')
# A cell of a row that says nothing: blank, or the rule below the heading of a table in Markdown.
_RULE = re.compile(r"\s*(?::?-+:?)?\s*")
# What begins like objects is JSON, whatever its file is called.
_OBJECTS = re.compile(r'\s*\[?\s*\{\s*"')
# Characters that are parted into lines at once.
_AT_ONCE = 1 << 16
Cells = tuple[int, list[str] | RowFault]


def file_rows(path: Path, fits: Fits) -> Rows:
    """The rows of a file of any kind; `fits` says whether column names make sense."""
    file, sheet = split_sheet(path)
    suffix = plain_suffix(file)
    if is_address(path):
        raise _unknown_kind(path, suffix)
    if suffix in DELIMITERS and not _OBJECTS.match(text := read_text(path)):
        return table_rows(path, text, DELIMITERS[suffix], fits)
    if suffix in WORKBOOKS:
        return workbook_rows(file, sheet, fits)
    if suffix in OBJECTS | DELIMITERS.keys():
        return json_rows(path, read_text(path))
    raise _unknown_kind(path, suffix)


def is_address(path: Path) -> bool:
    """Whether somebody named an address of the web in place of a file."""
    return str(path).lower().startswith(("http:", "https:"))


def split_sheet(path: Path) -> tuple[Path, str]:
    """A workbook and the name of the worksheet behind `#`; the name is empty when there is none.

    A file whose own name has such a `#` in it is read as that file.
    """
    match = _SHEET.fullmatch(str(path))
    return (Path(match[1]), match[2]) if match and not path.exists() else (path, "")


def _unknown_kind(path: Path, suffix: str) -> CaseFileError:
    name = printable(str(path))
    if is_address(path):
        name = name.replace(":/", "://", 1)  # of two slashes a path keeps one
        what = _(
            "not a file here; download it; a Google Sheet is written sheet:KEY#worksheet. Read are {kinds}",
            kinds=ACCEPTED,
        )
    elif suffix == ".xls":
        what = _("an old Excel file; open it in Excel and save it as .xlsx")
    elif not path.exists():
        what = _("no such file; check the name and the folder")
    else:
        what = _(
            "'{suffix}' is not a known kind of data file; save it as {kinds}",
            suffix=suffix or path.name,
            kinds=ACCEPTED,
        )
    return CaseFileError(_("{path}: {why}.", path=name, why=what))


def table_rows(path: Path, text: str, delimiter: str, fits: Fits) -> Rows:
    """The rows below the column names; `fits` says whether a delimiter makes sense of these.

    Titles may stand above the names, and the names again between the rows. A row with more cells than names
    is a fault, unless the further ones are blank: nearly always a text with a comma in it lacks its quotation
    marks. Missing cells at the end are missing values. A first line `sep=;` names the delimiter and is no
    row.
    """
    csv.field_size_limit(MAX_CELL)  # a recorded context can be longer than what it stops at
    header: list[str] = []
    heading = 0
    constants: dict[str, JsonValue] = {}
    named = _NAMED_DELIMITER.fullmatch(next(_lines(text), ""))
    rows = _lines_of_cells(path, text, named[1] if named else _delimiter(path, text, delimiter, fits))
    if named:
        next(rows, None)
    head = [*islice(rows, MOST_TITLE_ROWS)]
    sheet = _sheet(head)
    top = _names_row(path, sheet, fits)
    start = heading_row(path, sheet, top)
    for place, (line, cells) in enumerate(chain(head, rows)):
        if isinstance(cells, CutOff):
            raise cells
        if isinstance(cells, RowFault):
            yield cells
            continue
        if place < start or [cell.strip() for cell in cells] == header:
            continue
        if not header:
            check_columns(path, line, len(cells))
            heading = line
            if top is None and (reader := choice_rows()):
                header, constants = reader.unnamed(path, cells)
            if not header:
                header = column_names(path, line, cells)
                continue
        if any(map(str.strip, cells[len(header) :])):
            what = _(
                "{cells} cells under {names} column names;"
                " put a text that contains the separator in quotation marks.",
                cells=len(cells),
                names=len(header),
            )
            yield RowFault(path, line, what)
            continue
        values: dict[str, JsonValue] = {name: cell for name, cell in zip(header, cells, strict=False) if name}
        yield Row(line, values | constants, heading)


def _names_row(path: Path, sheet: WorkbookSheet, fits: Fits) -> int | None:
    """The index of the line with the column names, which are counted before very many are looked up."""
    if sheet.lines:
        check_columns(path, sheet.lines[0].number, len(sheet.lines[0].texts))
    return column_row(sheet, fits)


def _sheet(rows: Iterable[Cells]) -> WorkbookSheet:
    """The rows as a worksheet has them, which tells the column names from titles."""
    read = ((line, () if isinstance(cells, RowFault) else cells) for line, cells in rows)
    texts = ((line, {n: cell for n, cell in enumerate(cells, 1) if cell.strip()}) for line, cells in read)
    return WorkbookSheet("", tuple(WorksheetRow(*row) for row in texts))


def _lines_of_cells(path: Path, text: str, delimiter: str) -> Iterator[Cells]:
    """The filled rows with the lines they begin on; an unclosed quotation swallows the rest of the file.

    So that one fault ends the reading, where all others are told row by row.
    """
    reader = csv.reader(_lines(text), delimiter=delimiter, strict=True, skipinitialspace=True)
    start = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            what = _(
                "not a readable table row ({error}); inside quotation marks, write a quotation mark twice.",
                error=error,
            )
            # An open quotation mark: the rest of the file is one cell, and there is no next row.
            if str(error) == "unexpected end of data":
                cut = _("Or the file ends in the middle of this: it was cut off. Export or copy it again.")
                yield start, CutOff(path, start, sentences(what, cut))
                return
            yield start, RowFault(path, start, what)
            cells = []
        if cells is None:
            return
        if not all(map(_RULE.fullmatch, cells)):
            yield start, [_TEXT_FORMULA.sub(r"\1", cell) if cell[:1] == "=" else cell for cell in cells]
        start = reader.line_num + 1


def _lines(text: str) -> Iterator[str]:
    """The lines with their line ends: of what else `splitlines` takes for one, cells are full."""
    return chain.from_iterable(map(StringIO, _parts(text)))


def _parts(text: str) -> Iterator[str]:
    """The text in pieces of whole lines: a `StringIO` takes four bytes for each character."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _AT_ONCE) + 1 or len(text)
        yield text[start:end]
        start = end


def _delimiter(path: Path, text: str, usual: str, fits: Fits) -> str:
    """The delimiter with which the header fits, the usual one of the file type first.

    Where it fits with none, the one that parts the first row most.
    """
    # The one that the suffix promises is tried first: a header of one column fits with any of them.
    parted: dict[str, int] = {}
    for delimiter in (usual, ",", "\t", ";", "|"):
        sheet = _sheet(islice(_lines_of_cells(path, text, delimiter), MOST_TITLE_ROWS))
        parted[delimiter] = len(sheet.lines[0].texts) if sheet.lines else 0
        if parted[delimiter] > MAX_COLUMNS or column_row(sheet, fits) is not None:
            return delimiter
    return max(parted, key=lambda delimiter: parted[delimiter])
