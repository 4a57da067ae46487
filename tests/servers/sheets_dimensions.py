"""Batch requests about rows and columns: insert, delete, move, append, sizes, groups."""

from typing import NamedTuple

from tests.servers.sheets_a1 import Box
from tests.servers.sheets_edit import Edit, fields_of, updated
from tests.servers.sheets_errors import Json, invalid
from tests.servers.sheets_grid import Axis, Cell, deleted, inserted
from tests.servers.sheets_state import Sheet, axis_of

_WORDS: dict[Axis, str] = {"ROWS": "row", "COLUMNS": "column"}


class Span(NamedTuple):
    """Rows or columns of a worksheet, from start to before end."""

    sheet: Sheet
    axis: Axis
    start: int
    end: int

    @property
    def box(self) -> Box:
        """All cells of them."""
        rows, columns = self.sheet.grid.rows, self.sheet.grid.columns
        if self.axis == "ROWS":
            return Box(self.start, self.end, 0, columns)
        return Box(0, rows, self.start, self.end)


def span_of(edit: Edit, told: Json) -> Span:
    """A DimensionRange; an end that is left out is the grid's."""
    sheet, axis = edit.sheet(told), axis_of(told.get("dimension", ""))
    start, end = int(told.get("startIndex", 0)), int(told.get("endIndex", sheet.grid.size(axis)))
    if start >= end or start < 0:
        raise invalid(f"range.endIndex[{end}] must be after range.startIndex[{start}]")
    return Span(sheet, axis, start, end)


def existing(edit: Edit, told: Json) -> Span:
    """A DimensionRange within the grid."""
    span = span_of(edit, told)
    size = span.sheet.grid.size(span.axis)
    if span.end > size:
        limits = f"Max rows: {span.sheet.grid.rows}, max columns: {span.sheet.grid.columns}"
        raise invalid(f"Range ({_WORDS[span.axis]}s {span.start}..{span.end}) exceeds grid limits. {limits}")
    return span


def insert_dimension(edit: Edit, told: Json) -> Json:
    """InsertDimension."""
    span = span_of(edit, told.get("range") or {})
    size = span.sheet.grid.size(span.axis)
    if told.get("inheritFromBefore") and not span.start:
        raise invalid("Cannot set inheritFromBefore to true if inserting at the start of the sheet.")
    if span.start > size:
        raise invalid(f"range.startIndex[{span.start}] is after last {_WORDS[span.axis]} in grid[{size}]")
    insert(edit, span.sheet, span.axis, span.start, span.end - span.start)
    if told.get("inheritFromBefore") or span.start:
        _inherit(edit, span, bool(told.get("inheritFromBefore")))
    return {}


def insert(edit: Edit, sheet: Sheet, axis: Axis, at: int, count: int) -> None:
    """New rows or columns; everything from `at` on moves."""
    edit.book.shift(inserted(sheet.id, axis, at, count))
    sheet.grid.resize(axis, sheet.grid.size(axis) + count)


def _inherit(edit: Edit, span: Span, before: bool) -> None:
    """New cells look like their neighbours: format and validation, no values."""
    grid = span.sheet.grid
    source = span.start - 1 if before else span.end
    if source >= grid.size(span.axis):
        return
    across = range(grid.columns if span.axis == "ROWS" else grid.rows)
    for other in across:
        place = (source, other) if span.axis == "ROWS" else (other, source)
        cell = grid.get(*place)
        look: Cell = {name: cell[name] for name in ("userEnteredFormat", "dataValidation") if name in cell}
        for index in range(span.start, span.end) if look else ():
            grid.put(*((index, other) if span.axis == "ROWS" else (other, index)), look)


def delete_dimension(edit: Edit, told: Json) -> Json:
    """DeleteDimension."""
    span = span_of(edit, told.get("range") or {})
    delete(edit, span)
    return {}


def delete(edit: Edit, span: Span) -> None:
    """Rows or columns go, with what is bound to them; not all of them, nor frozen with none left."""
    word, size = _WORDS[span.axis], span.sheet.grid.size(span.axis)
    if span.end > size:
        tried = f"Tried to delete {word} index {span.end - 1} but there are only {size} {word}s."
        raise invalid(f"Cannot delete a {word} that doesn't exist. {tried}")
    if span.end - span.start >= size:
        raise invalid(f"You can't delete all the {word}s on the sheet.")
    given = span.sheet.properties.get("gridProperties", {})
    name = "frozenRowCount" if span.axis == "ROWS" else "frozenColumnCount"
    frozen = int(given.get(name, 0))
    left = frozen - max(0, min(span.end, frozen) - span.start)
    if frozen and left >= size - (span.end - span.start):
        raise invalid(f"Sorry, it is not possible to delete all non-frozen {word}s.")
    edit.guard(span.sheet, span.box)
    edit.book.shift(deleted(span.sheet.id, span.axis, span.start, span.end))
    span.sheet.grid.resize(span.axis, size - (span.end - span.start))
    if frozen:
        span.sheet.properties["gridProperties"] = given | {name: left}


def update_dimension_properties(edit: Edit, told: Json) -> Json:
    """UpdateDimensionProperties."""
    tree = fields_of(told, "DimensionProperties")
    span = existing(edit, told.get("range") or {})
    kept = span.sheet.grid.properties(span.axis)
    for index in range(span.start, span.end):
        kept[index] = updated(kept.get(index, {}), told.get("properties") or {}, tree)
    return {}
