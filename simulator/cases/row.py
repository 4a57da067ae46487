"""A row of a file, before anybody asks what its columns mean; and what stands in the place of a faulty one.

Readers of files yield `Row`s and, in the place of one that cannot be read, a `RowFault`: a data set counts it
and goes on, a question file raises the first one (`raise_faults`).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import JsonValue

from simulator.cases.headings import choice_columns, columns_by_field, field_of
from simulator.core.errors import CaseFileError
from simulator.core.messages import Message, _, printable, quote

# Columns of a row, and characters of a cell or of a text in a log, which a run holds many times.
MAX_COLUMNS = 1 << 14
MAX_CELL = 1 << 21
# NUL, and halves of a pair of surrogates: SQLite, UTF-8 and JSON of others cannot carry them.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class Row(NamedTuple):
    """One row: the line of the file it begins on (1-based) and its values by column name.

    `heading` is the line of the column names of a table, where every value is text and a list is written
    inside one cell; None elsewhere. `sheet` is the worksheet of a row: empty in a workbook with one
    worksheet, None in other files; it decides whether people are told a line or a row.
    """

    line: int
    values: dict[str, JsonValue]
    heading: int | None = None
    sheet: str | None = None

    @property
    def cells(self) -> bool:
        """Whether it is a row of a table."""
        return self.heading is not None

    @property
    def columns(self) -> dict[str, str]:
        """By field the column that fills it."""
        return columns_by_field(self.values, in_table=self.cells)

    @property
    def place(self) -> Message:
        """Where the row is, as people see it: `line 3` in an editor, `row 3` in a spreadsheet."""
        if self.sheet is None:
            return _("line {line:d}", line=self.line)
        return _("row {row:d}", row=self.line)


class WorksheetRow(NamedTuple):
    """A row of a worksheet: its number, its texts by column (from 1), and why other cells have none."""

    number: int
    texts: dict[int, str]
    faults: Mapping[int, Message | str] = {}
    hidden: bool = False


class WorkbookSheet(NamedTuple):
    """The filled rows of a worksheet.

    `below` has the last row of each merged cell, by its row and column; `wide` the rows and columns of those
    that span several columns.
    """

    name: str
    lines: tuple[WorksheetRow, ...]
    below: Mapping[tuple[int, int], int] = {}
    wide: frozenset[tuple[int, int]] = frozenset()


class RowFault(CaseFileError):
    """An error in one row, for which just that row may be skipped.

    `questions.csv, line 14: column 'answerable': 'maybe' is neither yes nor no ...`. A reader of rows may
    yield it in the place of a row (`Rows`), so that a data set counts it and goes on; a question file raises
    the first.
    """

    def __init__(self, path: Path, row: Row | int, what: Message | str) -> None:
        """`row` may be the number of its line, `what` is a sentence."""
        row = Row(row, {}) if isinstance(row, int) else row
        sheet = printable(f"#{row.sheet}") if row.sheet else ""
        self.file, self.row, self.what = f"{path}{sheet}", row, what
        super().__init__(_("{file}, {place}: {what}", file=self.file, place=row.place, what=what))


class LeftOut(RowFault):
    """A row that people did not mean to be read: hidden, or prepared without a question.

    It is counted, and never raised.
    """

    def __init__(self, path: Path, row: Row | int, why: "Reason") -> None:
        super().__init__(path, row, _("left out"))
        self.why = why


# Why a row is left out.
Reason = Literal["hidden", "prepared"]


class CutOff(RowFault):
    """A row in the middle of which the file ends; how much is missing behind it, nobody knows."""


# Whether column names are those that a reader needs.
Fits = Callable[[Sequence[str]], bool]

# What a reader makes of a file: its rows, and in the place of one that cannot be read what is wrong with it.
Rows = Iterator[Row | RowFault]


def raise_faults(rows: Rows) -> Iterator[Row]:
    """The rows up to the first faulty one, which is raised."""
    for row in rows:
        if isinstance(row, LeftOut):
            continue
        if isinstance(row, RowFault):
            raise row
        yield row


def check_columns(path: Path, row: Row | int, n: int) -> None:
    """Raises RowFault for more columns than a spreadsheet has."""
    if n > MAX_COLUMNS:
        raise RowFault(path, row, _("{n} columns; at most {most} are read.", n=n, most=MAX_COLUMNS))


def is_storable(value: JsonValue) -> bool:
    r"""Whether no key or text holds NUL or half of a \u pair, which no file and no request can carry."""
    # A list instead of recursion, because the sender chooses the depth: 10,000 brackets are too deep for
    # a call each.
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend([*item.keys(), *item.values()])
        elif isinstance(item, str) and _UNSTORABLE.search(item):
            return False
    return True


def column_names(path: Path, row: Row | int, cells: Sequence[str]) -> list[str]:
    """The names in a header row, stripped; "" for a further column of the same name, which is not read.

    Raises RowFault for a name that occurs twice where it fills a field: either of the two may be meant.
    """
    names: list[str] = []
    for name in map(str.strip, cells):
        if name and name in names:
            if field_of(name) or name in choice_columns(tuple(cells)):
                what = _("the column {name} occurs twice; rename one of them.", name=quote(name))
                raise RowFault(path, row, what)
            names.append("")
        else:
            names.append(name)
    return names
