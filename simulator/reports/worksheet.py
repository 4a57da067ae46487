"""What a worksheet is, before it is painted in a Google Sheet or an Excel workbook.

Rows and columns are known by keys, never by titles or positions: people sort, insert and rename.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from simulator.types import Value

# How a cell is marked; its text says so, too, for those who see no colour.
Mark = Literal["red", "warn", "failed", "good", ""]
Owner = Literal["program", "team"]
FILLS: dict[Mark, str] = {"red": "FADBDA", "warn": "FFF2CC", "failed": "D9D9D9", "good": "E2F0D9"}


class Choice(Value):
    """One item of a dropdown: `id` is what the program understands, `title` what people pick."""

    id: str
    title: str


class Column(Value):
    """A column; a team's column is written when its row is made, and never again.

    `width` is in characters of the narrow kind, `help` is the note of the header cell.
    """

    key: str
    title: str
    owner: Owner = "program"
    width: int = 16
    kind: Literal["text", "number", "choice", "date", "json"] = "text"
    choices: tuple[Choice, ...] = ()
    wrap: bool = False
    help: str = ""


@dataclass(frozen=True, slots=True)
class SheetCell:
    """What a cell shows; a `number` makes it numeric, and `text` is then only its wording elsewhere.

    There are hundreds of thousands of them: small, and not checked again.
    """

    text: str = ""
    number: float | None = None
    mark: Mark = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row, known by its key; a column that it does not name is empty."""

    key: str
    cells: Mapping[str, SheetCell] = field(default_factory=dict)


class Chart(Value):
    """A picture of columns over another one."""

    title: str
    x: str
    ys: tuple[str, ...]
    kind: Literal["line", "column"] = "line"


class Worksheet(Value):
    """One worksheet: `name` is its stable id, `title` what people read on its tab.

    The first column holds the rows' keys. `help` says above or beside the table what it is for.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...] = ()
    frozen_columns: int = 1
    chart: Chart | None = None
    help: str = ""

    def column(self, key: str) -> Column:
        """The column of that key."""
        return next(column for column in self.columns if column.key == key)
