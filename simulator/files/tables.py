"""Rows of CSV and TSV files, and what the columns of any table are called."""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pydantic import JsonValue

from simulator.files.quoting import shown
from simulator.files.row import Row, fault
from simulator.files.text import lines

Fits = Callable[[Sequence[str]], bool]

# A recorded context can be longer than the 131,072 characters that the csv module stops at.
_LONGEST_CELL = 2**31 - 1


def table_rows(path: Path, text: str, delimiter: str, fits: Fits) -> Iterator[Row]:
    """The rows below the column names; `fits` says whether a delimiter makes sense of these."""
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(lines(text), delimiter=_delimiter(text, delimiter, fits), strict=True)
    header: list[str] = []
    start = 1
    try:
        for cells in reader:
            if header and any(map(str.strip, cells)):
                yield Row(start, _by_column(path, start, header, cells), cells=True)
            elif any(map(str.strip, cells)):
                header = column_names(path, start, cells)
            start = reader.line_num + 1
    except csv.Error as error:
        what = f"not a readable table row ({error}); inside quotation marks, write a quotation mark twice."
        raise fault(path, start, what) from None


def column_names(path: Path, row: Row | int, cells: Sequence[str]) -> list[str]:
    """The names in a header row, without blanks around them; none may be there twice."""
    names = [cell.strip() for cell in cells]
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        raise fault(path, row, f"the column {shown(twice)} is there twice; rename one.")
    return names


def _delimiter(text: str, usual: str, fits: Fits) -> str:
    """The delimiter of the file's kind, unless only another one makes sense of the header."""
    for delimiter in (usual, ",", "\t", ";"):
        try:
            rows = csv.reader(lines(text), delimiter=delimiter, strict=True)
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
