"""Cells: writing them on request, sorting them as people do."""

from typing import Any

from tests.servers.sheets_a1 import Box
from tests.servers.sheets_edit import Edit, fields_of, fits, rows_of, updated
from tests.servers.sheets_errors import Json
from tests.servers.sheets_grid import Cell
from tests.servers.sheets_schema import Mask
from tests.servers.sheets_state import Sheet
from tests.servers.sheets_typing import displayed, effective


def update_cells(edit: Edit, told: Json) -> Json:
    """updateCells: what the mask names is taken from the rows, and cleared where they have nothing."""
    tree = fields_of(told, "CellData")
    rows = rows_of(told)
    if told.get("range"):
        sheet, box = edit.box(told["range"])
        fits(rows, box)
    else:
        start = told.get("start") or {}
        top, left = start.get("rowIndex", 0), start.get("columnIndex", 0)
        width = max(map(len, rows), default=0)
        sheet, box = edit.box(_span(start.get("sheetId", 0), top, left, max(len(rows), 1), max(width, 1)))
    edit.guard(sheet, box)
    cleared = bool(told.get("range"))
    for row in range(box.top, box.bottom):
        given = rows[row - box.top] if row - box.top < len(rows) else []
        end = box.right if cleared else box.left + len(given)
        for column in range(box.left, end):
            new = given[column - box.left] if column - box.left < len(given) else {}
            edit.put(sheet, row, column, _updated(sheet.grid.get(row, column), new, tree))
    return {}


def _span(sheet_id: int, top: int, left: int, height: int, width: int) -> Json:
    rows = {"startRowIndex": top, "endRowIndex": top + height}
    return {"sheetId": sheet_id, **rows, "startColumnIndex": left, "endColumnIndex": left + width}


def _updated(old: Cell, new: Cell, tree: Mask) -> Cell:
    cell = updated(old, new, tree)
    entered = cell.get("userEnteredValue")
    if entered is not None and (not entered or entered.get("stringValue") == ""):
        del cell["userEnteredValue"]
    for name in ("effectiveValue", "formattedValue", "effectiveFormat", "hyperlink"):
        # Read-only: accepted, as Google does, and not kept.
        cell.pop(name, None)
    return cell


def repeat_cell(edit: Edit, told: Json) -> Json:
    """RepeatCell; cells that were one object are so afterwards, too."""
    tree = fields_of(told, "CellData")
    sheet, box = edit.box(told.get("range") or {})
    edit.guard(sheet, box)
    new, made = told.get("cell") or {}, dict[int, tuple[Cell, Cell]]()
    for row, column in box.cells:
        old = sheet.grid.get(row, column)
        if id(old) not in made:
            made[id(old)] = old, _updated(old, new, tree)
        edit.put(sheet, row, column, made[id(old)][1])
    return {}


def sort(edit: Edit, sheet: Sheet, box: Box, specs: list[Json]) -> None:
    """Sort the box's rows by their values; empty cells come last, whichever the order."""
    order = list(range(box.top, box.bottom))
    for spec in reversed(specs):
        column, down = int(spec.get("dimensionIndex", 0)), spec.get("sortOrder") == "DESCENDING"
        filled = [row for row in order if _sort_key(edit, sheet, row, column) is not None]
        blank = [row for row in order if _sort_key(edit, sheet, row, column) is None]
        order = sorted(filled, key=lambda row: _sort_key(edit, sheet, row, column), reverse=down) + blank
    columns = range(box.left, box.right)
    taken = [{c: sheet.grid.get(row, c) for c in columns} for row in order]
    for row, cells in enumerate(taken, start=box.top):
        for column, cell in cells.items():
            sheet.grid.put(row, column, cell)


def _sort_key(edit: Edit, sheet: Sheet, row: int, column: int) -> Any:
    entered = sheet.grid.get(row, column).get("userEnteredValue")
    if not entered:
        return None
    value = effective(entered)
    if "numberValue" in value:
        return 0, value["numberValue"], ""
    return 1, 0, displayed(value, None).casefold()
