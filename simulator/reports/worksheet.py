"""What a worksheet is, before it is painted in a Google Sheet or an Excel workbook.

Rows and columns are known by keys, never by titles or positions: people sort, insert and rename.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, overload

from pydantic import PlainSerializer, SkipValidation

from simulator.core.types import Value

Item = TypeVar("Item")

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


class Made(Sequence[Item]):
    """A sequence that holds no item: each is made of a source when it is asked for, anew every time.

    The rows of a large run are longer than the run itself; nobody needs two of them at once.
    """

    def __init__(self, sources: Sequence[Any], make: Callable[[Any], Item]) -> None:
        """`make` makes an item of a source, always the same one."""
        self._sources, self._make = sources, make

    def __len__(self) -> int:
        """How many there are."""
        return len(self._sources)

    @overload
    def __getitem__(self, at: int) -> Item: ...

    @overload
    def __getitem__(self, at: slice) -> "Made[Item]": ...

    def __getitem__(self, at: int | slice) -> "Item | Made[Item]":
        """One of them, or some."""
        if isinstance(at, slice):
            return Made(self._sources[at], self._make)
        return self._make(self._sources[at])

    def __iter__(self) -> Iterator[Item]:
        """One after the other."""
        return map(self._make, self._sources)

    def __eq__(self, other: object) -> bool:
        """Whether the other has equal items."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_equal, self, other))

    __hash__ = None  # type: ignore[assignment]


def _equal(one: object, other: object) -> bool:
    return one == other


def _all(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(rows)


# Not checked again: a check would make them all.
Rows = Annotated[Sequence[Row], SkipValidation, PlainSerializer(_all, return_type=tuple[Row, ...])]


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
    rows: Rows = ()
    frozen_columns: int = 1
    chart: Chart | None = None
    help: str = ""

    def column(self, key: str) -> Column:
        """The column of that key."""
        return next(column for column in self.columns if column.key == key)
