"""Rows of one file of any kind: a table of text here, worksheets and objects by readers of their own.

questions.csv          -> table_rows, after a look at the delimiter
questions.xlsx#料金    -> workbook_rows of that worksheet
questions.jsonl        -> json_rows
"""

import csv
import re
from collections.abc import Iterator
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
    check_columns,
    column_names,
    is_lower_heading,
)
from simulator.cases.structured import json_rows
from simulator.cases.workbooks import workbook_rows
from simulator.core.errors import CaseFileError
from simulator.core.messages import _, printable, sentences

ACCEPTED = _("CSV, TSV, JSONL, JSON or Excel (.xlsx), each also as .gz")
# `questions.xlsx#料金` names a worksheet; a worksheet's own name holds no slash.
_SHEET = re.compile(r"(.+\.xls[xm](?:\.gz)?)#([^/]+)", re.IGNORECASE)
# What Excel writes as the first line of a CSV to name its delimiter.
_NAMED_DELIMITER = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
Cells = tuple[int, list[str] | RowFault]


def file_rows(path: Path, fits: Fits) -> Rows:
    """The rows of a file of any kind; `fits` says whether column names make sense."""
    file, sheet = split_sheet(path)
    suffix = plain_suffix(file)
    if suffix in DELIMITERS:
        return table_rows(path, read_text(path), DELIMITERS[suffix], fits)
    if suffix in WORKBOOKS:
        return workbook_rows(file, sheet, fits)
    if suffix in OBJECTS:
        return json_rows(path, read_text(path))
    raise _unknown_kind(path, suffix)


def split_sheet(path: Path) -> tuple[Path, str]:
    """A workbook and the name of the worksheet behind `#`; the name is empty when there is none.

    A file whose own name has such a `#` in it is read as that file.
    """
    match = _SHEET.fullmatch(str(path))
    return (Path(match[1]), match[2]) if match and not path.exists() else (path, "")


def _unknown_kind(path: Path, suffix: str) -> CaseFileError:
    name = printable(str(path))
    if name.lower().startswith(("http:", "https:")):
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

    A row with more cells than names is a fault, unless the further ones are blank: nearly always a text with
    a comma in it lacks its quotation marks. Missing cells at the end are missing values. A first line `sep=;`
    names the delimiter and is no row.
    """
    csv.field_size_limit(MAX_CELL)  # a recorded context can be longer than what it stops at
    header: list[str] = []
    heading = 0
    constants: dict[str, JsonValue] = {}
    named = _NAMED_DELIMITER.fullmatch(next(_lines(text), ""))
    delimiter = named[1] if named else _delimiter(text, delimiter, fits)
    rows = _lines_of_cells(path, _lines(text), delimiter)
    if named:
        next(rows, None)
    for line, cells in _with_one_heading(rows, fits):
        if isinstance(cells, RowFault):
            yield cells
            continue
        if not header:
            check_columns(path, line, len(cells))
        if not header and not fits(cells) and (reader := choice_rows()):
            header, constants = reader.unnamed(path, cells)
            heading = line
        if not header:
            header, heading = column_names(path, line, cells), line
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


def _with_one_heading(rows: Iterator[Cells], fits: Fits) -> Iterator[Cells]:
    """The rows of a table; of a heading of two rows, groups of columns above names, only the lower one."""
    first, second = next(rows, None), next(rows, None)
    is_group = False
    if first and second:
        upper, lower = first[1], second[1]
        is_group = (
            isinstance(upper, list) and isinstance(lower, list) and is_lower_heading(upper, lower, fits)
        )
    if first and not is_group:
        yield first
    if second:
        yield second
    yield from rows


def _lines_of_cells(path: Path, lines: Iterator[str], delimiter: str) -> Iterator[Cells]:
    """The filled rows with the lines they begin on; an unclosed quotation swallows the rest of the file.

    So that one fault ends the reading, where all others are told row by row.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
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
                raise CutOff(path, start, sentences(what, cut)) from None
            yield start, RowFault(path, start, what)
            cells = []
        if cells is None:
            return
        if any(map(str.strip, cells)):
            yield start, cells
        start = reader.line_num + 1


def _lines(text: str) -> Iterator[str]:
    """The lines with their line ends: of what else `splitlines` takes for one, cells are full."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _delimiter(text: str, usual: str, fits: Fits) -> str:
    """The usual delimiter of the file type, unless the header fits only with another one."""
    # The one that the suffix promises is tried first: a header of one column fits with any of them.
    for delimiter in (usual, ",", "\t", ";"):
        try:
            rows = csv.reader(_lines(text), delimiter=delimiter, strict=True)
            first = next((row for row in rows if any(map(str.strip, row))), [])
            if len(first) > MAX_COLUMNS or fits(first):
                return delimiter
        except csv.Error:
            continue
    return usual
