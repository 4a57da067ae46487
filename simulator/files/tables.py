"""Rows of CSV and TSV files, and what the columns of any table are called."""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pydantic import JsonValue

from simulator.files.multiple_choice import subject_of, unnamed_columns
from simulator.files.quoting import shown
from simulator.files.row import Row, RowFault, Wrong, fault, stop
from simulator.files.streams import Lines

Fits = Callable[[Sequence[str]], bool]

# A recorded context can be longer than the 131,072 characters that the csv module stops at.
_LONGEST_CELL = 2**31 - 1


def table_rows(path: Path, lines: Lines, delimiter: str, fits: Fits, wrong: Wrong = stop) -> Iterator[Row]:
    """The rows below the column names; `fits` says whether a delimiter makes sense of these.

    `wrong` is told of rows that cannot be read; where it does not raise, reading goes on with the next line.
    """
    csv.field_size_limit(_LONGEST_CELL)
    header: list[str] = []
    beside: dict[str, JsonValue] = {}
    for line, cells in _lines_of_cells(path, lines(), _delimiter(lines, delimiter, fits), wrong):
        if not header and not fits(cells) and (header := unnamed_columns(cells)):
            beside = {"subject": subject_of(path)}
        elif not header:
            header = column_names(path, line, cells)
            continue
        try:
            yield Row(line, _by_column(path, line, header, cells) | beside, cells=True)
        except RowFault as found:
            wrong(found)


def _lines_of_cells(
    path: Path, lines: Iterator[str], delimiter: str, wrong: Wrong
) -> Iterator[tuple[int, list[str]]]:
    """The filled rows and the lines they begin on; a quotation that is never closed swallows the rest."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            what = (
                f"not a readable table row ({error}); inside quotation marks, write a quotation mark twice."
            )
            found = fault(path, start, what)
            if str(error) == "unexpected end of data":
                raise found from None
            wrong(found)
            cells = []
        if cells is None:
            return
        if any(map(str.strip, cells)):
            yield start, cells
        start = reader.line_num + 1


def column_names(path: Path, row: Row | int, cells: Sequence[str]) -> list[str]:
    """The names in a header row, without blanks around them; none may be there twice."""
    names = [cell.strip() for cell in cells]
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        raise fault(path, row, f"the column {shown(twice)} is there twice; rename one.")
    return names


def _delimiter(lines: Lines, usual: str, fits: Fits) -> str:
    """The delimiter of the file's kind, unless only another one makes sense of the header."""
    for delimiter in (usual, ",", "\t", ";"):
        try:
            rows = csv.reader(lines(), delimiter=delimiter, strict=True)
            if fits(next((row for row in rows if any(map(str.strip, row))), [])):
                return delimiter
        except csv.Error:
            continue
    return usual


def _by_column(path: Path, line: int, header: list[str], cells: list[str]) -> dict[str, JsonValue]:
    if any(map(str.strip, cells[len(header) :])):
        what = (
            f"{len(cells)} cells under {len(header)} column names;"
            " put a text that contains the separator in quotation marks."
        )
        raise fault(path, line, what)
    return {name: cell for name, cell in zip(header, cells, strict=False) if name}
