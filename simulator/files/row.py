"""One row of a data file, and errors that name the row."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from pydantic import JsonValue

from simulator.core.errors import CaseFileError
from simulator.files.quoting import printable

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class Row(NamedTuple):
    """One row: the line of the file it begins on (1-based) and its values by column name.

    `cells` is true for tables, where every value is text and a list is written inside one cell.
    `sheet` is the worksheet a row stands in: empty when there is no other, None when there are none.
    """

    line: int
    values: dict[str, JsonValue]
    cells: bool = False
    sheet: str | None = None

    @property
    def place(self) -> str:
        """Where the row is, as people see it: `line 3` in an editor, `row 3` in a spreadsheet."""
        return f"line {self.line}" if self.sheet is None else f"row {self.line}"


class RowFault(CaseFileError):
    """What is wrong with one row: a reader that is told to go on leaves out that row only."""

    def __init__(self, file: str, row: Row, what: str) -> None:
        super().__init__(f"{file}, {row.place}: {what}")
        self.file, self.row, self.what = file, row, what


# Who is told of a faulty row before the next one is read; by default it stops the reading.
Wrong = Callable[[RowFault], None]


def stop(found: RowFault) -> NoReturn:
    """The first faulty row is the last."""
    raise found


def fault(path: Path, row: Row | int, what: str) -> RowFault:
    """The error for something wrong in a row, or on a line, of a file."""
    at = Row(row, {}) if isinstance(row, int) else row
    sheet = printable(f"#{at.sheet}") if at.sheet else ""
    return RowFault(f"{path}{sheet}", at, what)


def is_storable(value: JsonValue) -> bool:
    r"""Whether no key or text holds NUL or half of a \u pair, which no file and no request can carry."""
    # A list instead of recursion, because depth is the sender's choice.
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend([*item.keys(), *item.values()])
        elif isinstance(item, str) and _UNSTORABLE.search(item):
            return False
    return True
