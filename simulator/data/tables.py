"""Rows of CSV and TSV files, and the column names of any table (`--columns` included)."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from simulator.core.errors import UnknownName
from simulator.core.messages import _
from simulator.data.files import Lines, quote
from simulator.data.values import (
    COLUMNS,
    OnFault,
    Row,
    RowFault,
    field_of,
    implied_columns,
    raise_fault,
    row_fault,
    subject_of,
)

# Whether column names are those that a reader needs.
Fits = Callable[[Sequence[str]], bool]

# A recorded context can be longer than the 131,072 characters that the csv module stops at.
_LONGEST_CELL = 2**31 - 1


def table_rows(
    path: Path, lines: Lines, delimiter: str, fits: Fits, on_fault: OnFault = raise_fault
) -> Iterator[Row]:
    """The rows below the column names; `fits` says whether a delimiter makes sense of these.

    `on_fault` gets rows that cannot be read; unless it raises, reading goes on with the next line.
    """
    csv.field_size_limit(_LONGEST_CELL)
    header: list[str] = []
    constants: dict[str, JsonValue] = {}
    for line, cells in _lines_of_cells(path, lines(), _delimiter(lines, delimiter, fits), on_fault):
        if not header and not fits(cells) and (header := implied_columns(cells)):
            constants = {"subject": subject_of(path)}
        elif not header:
            header = column_names(path, line, cells)
            continue
        try:
            yield Row(line, _by_column(path, line, header, cells) | constants, cells=True)
        except RowFault as fault:
            on_fault(fault)


def _lines_of_cells(
    path: Path, lines: Iterator[str], delimiter: str, on_fault: OnFault
) -> Iterator[tuple[int, list[str]]]:
    """The filled rows with the lines they begin on; an unclosed quotation swallows the rest of the file."""
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
            fault = row_fault(path, start, what)
            if str(error) == "unexpected end of data":
                raise fault from None
            on_fault(fault)
            cells = []
        if cells is None:
            return
        if any(map(str.strip, cells)):
            yield start, cells
        start = reader.line_num + 1


def column_names(path: Path, row: Row | int, cells: Sequence[str]) -> list[str]:
    """The names in a header row, stripped. Raises RowFault for a name that occurs twice."""
    names = [cell.strip() for cell in cells]
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        raise row_fault(
            path, row, _("the column {twice} occurs twice; rename one of them.", twice=quote(twice))
        )
    return names


def _delimiter(lines: Lines, usual: str, fits: Fits) -> str:
    """The usual delimiter of the file type, unless the header fits only with another one."""
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
        what = _(
            "{n} cells under {n2} column names; put a text that contains the separator in quotation marks.",
            n=len(cells),
            n2=len(header),
        )
        raise row_fault(path, line, what)
    return {name: cell for name, cell in zip(header, cells, strict=False) if name}


# Reads rows, given the needed column names and the handler of faulty rows.
ReadRows = Callable[[Fits, OnFault], Iterator[Row]]

# The alias of a field whose cell holds one text: in `references` a line break begins another one.
_HEADERS = {"references": "reference"}


class ColumnMapping:
    """The columns that `--columns` assigns to fields; other columns that mean these fields are ignored."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        """`columns` has columns of a file by field. Raises UnknownName for an unknown field."""
        self.columns: dict[str, str] = {}
        for name, column in columns.items():
            field = field_of(name)
            if field is None:
                raise UnknownName(_("case column in --columns"), name, COLUMNS)
            self.columns[field] = column

    def renamed(self, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The values of a row under the names of the fields."""
        assigned = frozenset(self.columns.values())
        others = {
            key: value
            for key, value in values.items()
            if key not in assigned and field_of(key) not in self.columns
        }
        return others | {
            _HEADERS.get(field, field): values[column]
            for field, column in self.columns.items()
            if column in values
        }

    def rows(self, path: Path, read: ReadRows, fits: Fits, on_fault: OnFault) -> Iterator[Row]:
        """The renamed rows of `read`. Raises UnknownName for a column that no row has."""
        assigned = frozenset(self.columns.values())

        def fitting(headers: Iterable[str]) -> bool:
            return fits(list(self.renamed(dict.fromkeys(headers))))

        # The first pass also accepts a header with only some of the columns, to say which one is missing.
        self._check(
            path, read(lambda headers: fitting(headers) or bool(assigned & {*headers}), lambda _: None)
        )
        return (row._replace(values=self.renamed(row.values)) for row in read(fitting, on_fault))

    def _check(self, path: Path, rows: Iterable[Row]) -> None:
        missing, headers = dict.fromkeys(self.columns.values()), dict[str, None]()
        for row in rows:
            headers |= dict.fromkeys(row.values)
            missing = {name: None for name in missing if name not in headers}
            if not missing:
                return
        if headers:
            raise UnknownName(_("column of {path} in --columns", path=path), next(iter(missing)), headers)
