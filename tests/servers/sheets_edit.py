"""One caller's changes to one spreadsheet: masks, protection, cells."""

from typing import Any, NamedTuple

from tests.servers.sheets_a1 import Box
from tests.servers.sheets_errors import Json, invalid
from tests.servers.sheets_grid import Cell
from tests.servers.sheets_schema import Mask, mask
from tests.servers.sheets_state import Sheet, Spreadsheet, grid_area
from tests.servers.sheets_typing import short

PROTECTED = (
    "You are trying to edit a protected cell or object. Please contact the spreadsheet owner to remove"
    " protection if you need to edit."
)


class Edit(NamedTuple):
    """A spreadsheet and who changes it; without a caller it is its owner."""

    book: Spreadsheet
    caller: str | None = None

    def sheet(self, told: Json) -> Sheet:
        """The worksheet that a GridRange, a DimensionRange or a request names."""
        return self.book.sheet_by_id(int(told.get("sheetId", 0)))

    def box(self, told: Json) -> tuple[Sheet, Box]:
        """The worksheet and box of a GridRange, which must lie within the grid."""
        sheet = self.sheet(told)
        area = grid_area(told)
        right = sheet.grid.columns if area.right is None else area.right
        asked = Box(area.top, sheet.grid.rows if area.bottom is None else area.bottom, area.left, right)
        _within(sheet, asked)
        return sheet, asked

    def guard(self, sheet: Sheet, box: Box) -> None:
        """Refuse to touch what is protected from the caller."""
        for told in sheet.lists["protectedRanges"]:
            if not self.may_edit(told) and overlaps(grid_area(told["range"]), box):
                raise invalid(PROTECTED)

    def may_edit(self, protected: Json) -> bool:
        """Whether the caller may edit a protected range."""
        if self.caller is None or protected.get("warningOnly") or self.book.owner == self.caller:
            return True
        return self.caller in protected.get("editors", {}).get("users", ())

    def put(self, sheet: Sheet, row: int, column: int, cell: Cell) -> None:
        """Replace a cell; overlong text is refused."""
        value = cell.get("userEnteredValue")
        if value and (text := value.get("stringValue") or value.get("formulaValue")):
            short(text)
        sheet.grid.put(row, column, cell)


def _within(sheet: Sheet, box: Box) -> None:
    rows, columns = sheet.grid.rows, sheet.grid.columns
    if box.bottom > rows or box.top >= rows or box.right > columns or box.left >= columns:
        raise invalid(f"Range exceeds grid limits. Max rows: {rows}, max columns: {columns}")
    for name, start, end in (("Row", box.top, box.bottom), ("Column", box.left, box.right)):
        if start >= end:
            raise invalid(f"range.end{name}Index[{end}] must be after range.start{name}Index[{start}]")


def overlaps(area: Any, box: Box) -> bool:
    """Whether an area and a box have a cell in common."""
    below = area.bottom is None or box.top < area.bottom
    beside = area.right is None or box.left < area.right
    return bool(below and beside and area.top < box.bottom and area.left < box.right)


def fields_of(told: Json, schema: str) -> Mask:
    """The `fields` of an update request as a tree; none at all is refused."""
    text = told.get("fields") or ""
    if not text:
        raise invalid("At least one field must be listed in 'fields'. (Use '*' to indicate all fields.)")
    return mask(text, schema)


def updated(old: Json, new: Json, tree: Mask) -> Json:
    """The old object with the masked fields taken from the new one; fields that it lacks are cleared."""
    if "*" in tree:
        return {name: value for name, value in new.items() if value is not None}
    made = dict(old)
    for name, inner in tree.items():
        if inner:
            value: Any = updated(old.get(name) or {}, new.get(name) or {}, inner)
            value = value or None
        else:
            value = new.get(name)
        _set(made, name, value)
    return made


def _set(made: Json, name: str, value: Any) -> None:
    # A colour of no kind is none.
    if value in (None, "") or (name.endswith("Style") and value == {}):
        made.pop(name, None)
    else:
        made[name] = value


def rows_of(told: Json) -> list[list[Json]]:
    """The cells of a list of RowData."""
    return [row.get("values") or [] for row in told.get("rows") or []]


def fits(rows: list[list[Json]], box: Box) -> None:
    """Refuse more rows or columns than the range asked for."""
    if len(rows) > box.bottom - box.top:
        tried, last = box.bottom, box.bottom - 1
        raise invalid(f"Attempting to write row: {tried}, beyond the last requested row of: {last}")
    if any(len(row) > box.right - box.left for row in rows):
        tried, last = box.right, box.right - 1
        raise invalid(f"Attempting to write column: {tried}, beyond the last requested column of: {last}")
