"""A worksheet's cells and dimensions, and how everything moves when rows and columns do."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from tests.servers.sheets_a1 import Box
from tests.servers.sheets_errors import Json

Axis = Literal["ROWS", "COLUMNS"]
Cell = Json
EMPTY: Cell = {}
_BOUNDS = {"ROWS": ("startRowIndex", "endRowIndex"), "COLUMNS": ("startColumnIndex", "endColumnIndex")}
_ANCHOR = {"ROWS": "rowIndex", "COLUMNS": "columnIndex"}


class Shift(NamedTuple):
    """Where each index of one dimension of one worksheet goes; None for those that are deleted."""

    sheet_id: int
    axis: Axis
    to: Callable[[int], int | None]
    # Where rows were inserted: a range that ends there does not grow.
    inserted_at: int | None = None

    def span(self, start: int | None, end: int | None) -> tuple[int | None, int | None] | None:
        """A half-open range after the shift; None when nothing of it is left."""
        if end is None:
            return (start if not start else self._first(start)), None
        kept = [new for index in _ends(start or 0, end, self) if (new := self.to(index)) is not None]
        if not kept:
            return None
        # An open start stays open: what is inserted before it is part of it.
        return (None if start is None else min(kept)), max(kept) + 1

    def _first(self, start: int) -> int:
        moved = self.to(start)
        while moved is None:
            start += 1
            moved = self.to(start)
        return moved


def _ends(start: int, end: int, shift: Shift) -> Iterator[int]:
    # An insertion keeps the order, so the two ends tell all; a deletion or a move is walked through.
    return iter((start, end - 1) if shift.inserted_at is not None else range(start, end))


def inserted(sheet_id: int, axis: Axis, at: int, count: int) -> Shift:
    """`count` new rows or columns before index `at`."""
    return Shift(sheet_id, axis, lambda index: index + count if index >= at else index, at)


def deleted(sheet_id: int, axis: Axis, start: int, end: int) -> Shift:
    """Indices start..end are gone."""

    def to(index: int) -> int | None:
        if index < start:
            return index
        return None if index < end else index - (end - start)

    return Shift(sheet_id, axis, to)


def moved(sheet_id: int, axis: Axis, start: int, end: int, destination: int) -> Shift:
    """Indices start..end stand before what was at `destination`."""
    size = end - start

    def to(index: int) -> int | None:
        if start <= index < end:
            return index - start + (destination if destination < start else destination - size)
        if destination <= index < start:
            return index + size
        return index - size if end <= index < destination else index

    return Shift(sheet_id, axis, to)


def shifted(value: Any, shift: Shift) -> Any:
    """A JSON value with all ranges and anchors in it moved; None for a range of which nothing is left."""
    if isinstance(value, list):
        return [new for inner in value if (new := shifted(inner, shift)) is not None]
    if not isinstance(value, dict):
        return value
    start, end = _BOUNDS[shift.axis]
    here = value.get("sheetId", 0) == shift.sheet_id
    if here and (start in value or end in value):
        return _bounded(value, start, end, shift)
    if here and value.get("dimension") == shift.axis and "startIndex" in value:
        return _bounded(value, "startIndex", "endIndex", shift)
    if here and _ANCHOR[shift.axis] in value:
        return _anchored(value, shift)
    made = {name: shifted(inner, shift) for name, inner in value.items()}
    # Without its range a protected range, a filter or a piece of metadata is gone, too.
    lost = [name for name, inner in made.items() if inner is None and value[name] is not None]
    return None if lost else made


def _bounded(value: Json, start: str, end: str, shift: Shift) -> Json | None:
    span = shift.span(value.get(start), value.get(end))
    if span is None:
        return None
    made = {name: inner for name, inner in value.items() if name not in (start, end)}
    return made | {name: index for name, index in zip((start, end), span, strict=True) if index is not None}


def _anchored(value: Json, shift: Shift) -> Json:
    name = _ANCHOR[shift.axis]
    new = shift.to(value[name])
    return value | {name: value[name] if new is None else new}


class Grid:
    """Cells by row and column. A cell is never changed, it is replaced: copies share them."""

    def __init__(self, rows: int = 1000, columns: int = 26) -> None:
        self.rows, self.columns = rows, columns
        self.cells: dict[int, dict[int, Cell]] = {}
        self.row_properties: dict[int, Json] = {}
        self.column_properties: dict[int, Json] = {}

    def copy(self) -> "Grid":
        """A copy that can be changed on its own."""
        made = Grid(self.rows, self.columns)
        made.cells = {row: dict(cells) for row, cells in self.cells.items()}
        made.row_properties = dict(self.row_properties)
        made.column_properties = dict(self.column_properties)
        return made

    def get(self, row: int, column: int) -> Cell:
        """The cell, or the empty one."""
        return self.cells.get(row, {}).get(column, EMPTY)

    def put(self, row: int, column: int, cell: Cell) -> None:
        """Replace the cell; an empty one is forgotten."""
        if cell:
            self.cells.setdefault(row, {})[column] = cell
        elif column in (cells := self.cells.get(row, {})):
            del cells[column]
            if not cells:
                del self.cells[row]

    def properties(self, axis: Axis) -> dict[int, Json]:
        """What is set on rows or on columns: widths, hidden."""
        return self.row_properties if axis == "ROWS" else self.column_properties

    def size(self, axis: Axis) -> int:
        """How many rows or columns there are."""
        return self.rows if axis == "ROWS" else self.columns

    def resize(self, axis: Axis, size: int) -> None:
        """Set how many rows or columns there are; what lies beyond is lost."""
        if axis == "ROWS":
            self.rows = size
            self.cells = {row: cells for row, cells in self.cells.items() if row < size}
            return
        self.columns = size
        kept = {row: {c: cell for c, cell in cells.items() if c < size} for row, cells in self.cells.items()}
        self.cells = {row: cells for row, cells in kept.items() if cells}

    def shift(self, shift: Shift) -> None:
        """Move cells and what is set on dimensions."""
        if shift.axis == "ROWS":
            self.cells = _keyed(self.cells, shift)
            self.row_properties = _keyed(self.row_properties, shift)
            return
        self.cells = {row: kept for row, cells in self.cells.items() if (kept := _keyed(cells, shift))}
        self.column_properties = _keyed(self.column_properties, shift)

    def used(self) -> Box:
        """The smallest box from A1 with all values and notes in it."""
        filled = [
            (row, column)
            for row, cells in self.cells.items()
            for column, cell in cells.items()
            if has_value(cell)
        ]
        bottom = max((row for row, _ in filled), default=-1) + 1
        right = max((column for _, column in filled), default=-1) + 1
        return Box(0, bottom, 0, right)


def has_value(cell: Cell) -> bool:
    """Whether the cell has a value."""
    return "userEnteredValue" in cell


def _keyed(entries: dict[int, Any], shift: Shift) -> dict[int, Any]:
    return {new: entry for old, entry in entries.items() if (new := shift.to(old)) is not None}
