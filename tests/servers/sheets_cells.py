"""Batch requests about cells: writing, formats, validation, sorting, finding, copying, merging."""

import re
from typing import Any

from tests.servers.sheets_a1 import Box
from tests.servers.sheets_compute import effective
from tests.servers.sheets_edit import Edit, fields_of, fits, overlaps, rows_of, updated
from tests.servers.sheets_errors import Json, invalid
from tests.servers.sheets_grid import Cell, Shift, shifted
from tests.servers.sheets_schema import Mask
from tests.servers.sheets_state import Sheet, grid_area, grid_range
from tests.servers.sheets_typing import displayed
from tests.servers.sheets_values import write_value

_BORDERS = ("top", "bottom", "left", "right")


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
            _update(edit, sheet, (row, column), new, tree)
    return {}


def _span(sheet_id: int, top: int, left: int, height: int, width: int) -> Json:
    rows = {"startRowIndex": top, "endRowIndex": top + height}
    return {"sheetId": sheet_id, **rows, "startColumnIndex": left, "endColumnIndex": left + width}


def _update(edit: Edit, sheet: Sheet, at: tuple[int, int], new: Cell, tree: Mask) -> None:
    cell = updated(sheet.grid.get(*at), new, tree)
    entered = cell.get("userEnteredValue")
    if entered is not None and (not entered or entered.get("stringValue") == ""):
        del cell["userEnteredValue"]
    for name in ("effectiveValue", "formattedValue", "effectiveFormat", "hyperlink"):
        # Read-only: accepted, as Google does, and not kept.
        cell.pop(name, None)
    edit.put(sheet, *at, cell)


def repeat_cell(edit: Edit, told: Json) -> Json:
    """RepeatCell."""
    tree = fields_of(told, "CellData", "cell")
    sheet, box = edit.box(told.get("range") or {})
    edit.guard(sheet, box)
    for row, column in box.cells:
        _update(edit, sheet, (row, column), told.get("cell") or {}, tree)
    return {}


def append_cells(edit: Edit, told: Json) -> Json:
    """appendCells: after the last row with data; rows are added as needed."""
    tree = fields_of(told, "CellData")
    sheet, rows = edit.sheet(told), rows_of(told)
    top = sheet.grid.used().bottom
    sheet.grid.rows = max(sheet.grid.rows, top + len(rows))
    edit.book.check_size()
    box = Box(top, top + len(rows), 0, sheet.grid.columns)
    fits(rows, box)
    edit.guard(sheet, box)
    for row, given in enumerate(rows, start=top):
        for column, new in enumerate(given):
            _update(edit, sheet, (row, column), new, tree)
    return {}


def set_data_validation(edit: Edit, told: Json) -> Json:
    """setDataValidation; without a rule it is cleared."""
    sheet, box = edit.box(told.get("range") or {})
    edit.guard(sheet, box)
    rule = told.get("rule")
    if rule and not (rule.get("condition") or {}).get("type"):
        raise invalid("DataValidationRule.condition is required.")
    for row, column in box.cells:
        cell = {k: v for k, v in sheet.grid.get(row, column).items() if k != "dataValidation"}
        edit.put(sheet, row, column, cell | {"dataValidation": rule} if rule else cell)
    return {}


def sort_range(edit: Edit, told: Json) -> Json:
    """SortRange."""
    sheet, box = edit.box(told.get("range") or {})
    edit.guard(sheet, box)
    sort(edit, sheet, box, told.get("sortSpecs") or [])
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
    if edit.carries_metadata:
        _carry_metadata(edit, sheet, dict(zip(order, range(box.top, box.bottom), strict=True)))


def _carry_metadata(edit: Edit, sheet: Sheet, went: dict[int, int]) -> None:
    edit.book.metadata = shifted(edit.book.metadata, Shift(sheet.id, "ROWS", lambda row: went.get(row, row)))


def _sort_key(edit: Edit, sheet: Sheet, row: int, column: int) -> Any:
    entered = sheet.grid.get(row, column).get("userEnteredValue")
    if not entered:
        return None
    value = effective(edit.book, sheet, entered)
    if "numberValue" in value:
        return 0, value["numberValue"], ""
    if "boolValue" in value:
        return 2, int(value["boolValue"]), ""
    return 1, 0, displayed(value, None).casefold()


def find_replace(edit: Edit, told: Json) -> Json:
    """FindReplace."""
    counts = {"values": 0, "formulas": 0, "rows": 0, "sheets": 0, "occurrences": 0}
    if not told.get("find"):
        raise invalid("FindReplaceRequest.find is required.")
    pattern = _pattern(told)
    for sheet, box in _searched(edit, told):
        rows = set()
        for row, column in box.cells:
            found, formula = _replace(edit, sheet, (row, column), pattern, told)
            if found:
                rows.add(row)
                counts["occurrences"] += found
                counts["formulas" if formula else "values"] += 1
        counts["rows"] += len(rows)
        counts["sheets"] += bool(rows)
    changed = {f"{name}Changed": n for name, n in counts.items() if n}
    return {"findReplace": changed}


def _pattern(told: Json) -> re.Pattern[str]:
    text = told["find"] if told.get("searchByRegex") else re.escape(told["find"])
    text = f"^(?:{text})$" if told.get("matchEntireCell") else text
    return re.compile(text, 0 if told.get("matchCase") else re.IGNORECASE)


def _searched(edit: Edit, told: Json) -> list[tuple[Sheet, Box]]:
    if told.get("range"):
        return [edit.box(told["range"])]
    sheets = edit.book.sheets if told.get("allSheets") else [edit.sheet(told)]
    return [(sheet, sheet.grid.used()) for sheet in sheets]


def _replace(
    edit: Edit, sheet: Sheet, at: tuple[int, int], pattern: re.Pattern[str], told: Json
) -> tuple[int, bool]:
    entered = sheet.grid.get(*at).get("userEnteredValue") or {}
    formula = "formulaValue" in entered
    if not entered or (formula and not told.get("includeFormulas")):
        return 0, formula
    text = entered["formulaValue"] if formula else displayed(entered, None)
    replacement = told.get("replacement") or ""
    new, found = pattern.subn(replacement if told.get("searchByRegex") else lambda _: replacement, text)
    if found:
        edit.guard(sheet, Box(at[0], at[0] + 1, at[1], at[1] + 1))
        write_value(edit, sheet, at, new)
    return found, formula


def merge_cells(edit: Edit, told: Json) -> Json:
    """mergeCells; what lies under the first cell is lost."""
    sheet, box = edit.box(told.get("range") or {})
    edit.guard(sheet, box)
    if any(overlaps(grid_area(known), box) for known in sheet.lists["merges"]):
        raise invalid("You must select all cells in a merged range to merge or unmerge them.")
    for part in _merged_boxes(box, told.get("mergeType", "MERGE_ALL")):
        sheet.lists["merges"].append(grid_range(sheet, part))
        for row, column in part.cells[1:]:
            cell = {k: v for k, v in sheet.grid.get(row, column).items() if k != "userEnteredValue"}
            edit.put(sheet, row, column, cell)
    return {}


def _merged_boxes(box: Box, kind: str) -> list[Box]:
    if kind == "MERGE_ROWS":
        return [box._replace(top=row, bottom=row + 1) for row in range(box.top, box.bottom)]
    if kind == "MERGE_COLUMNS":
        return [box._replace(left=column, right=column + 1) for column in range(box.left, box.right)]
    return [box]


def unmerge_cells(edit: Edit, told: Json) -> Json:
    """UnmergeCells."""
    sheet, box = edit.box(told.get("range") or {})
    edit.guard(sheet, box)
    sheet.lists["merges"] = [m for m in sheet.lists["merges"] if not overlaps(grid_area(m), box)]
    return {}


def update_borders(edit: Edit, told: Json) -> Json:
    """UpdateBorders."""
    sheet, box = edit.box(told.get("range") or {})
    edit.guard(sheet, box)
    for row, column in box.cells:
        sides = {"top": row == box.top, "bottom": row == box.bottom - 1}
        sides |= {"left": column == box.left, "right": column == box.right - 1}
        drawn = {side: told.get(side) if sides[side] else _inner(told, side) for side in _BORDERS}
        drawn = {side: border for side, border in drawn.items() if border}
        cell = sheet.grid.get(row, column)
        known = cell.get("userEnteredFormat", {})
        if drawn:
            new = known | {"borders": known.get("borders", {}) | drawn}
            edit.put(sheet, row, column, cell | {"userEnteredFormat": new})
    return {}


def _inner(told: Json, side: str) -> Any:
    return told.get("innerHorizontal" if side in ("top", "bottom") else "innerVertical")


_PASTED = {
    "PASTE_VALUES": ("userEnteredValue",),
    "PASTE_FORMULA": ("userEnteredValue",),
    "PASTE_FORMAT": ("userEnteredFormat",),
    "PASTE_DATA_VALIDATION": ("dataValidation",),
}


def copy_paste(edit: Edit, told: Json) -> Json:
    """copyPaste, repeated over a larger destination; formulas are copied as they stand."""
    source, box = edit.box(told.get("source") or {})
    goal, area = edit.box(told.get("destination") or {})
    copied = [[source.grid.get(r, c) for c in range(box.left, box.right)] for r in range(box.top, box.bottom)]
    height, width = max(area.bottom - area.top, len(copied)), max(area.right - area.left, len(copied[0]))
    target = edit.box(_span(goal.id, area.top, area.left, height, width))[1]
    edit.guard(goal, target)
    names = _PASTED.get(told.get("pasteType", "PASTE_NORMAL"))
    for row, column in target.cells:
        new = copied[(row - target.top) % len(copied)][(column - target.left) % len(copied[0])]
        edit.put(goal, row, column, _pasted(edit, goal.grid.get(row, column), new, names))
    return {}


def _pasted(edit: Edit, old: Cell, new: Cell, names: tuple[str, ...] | None) -> Cell:
    if names is None:
        return new
    kept = {name: value for name, value in old.items() if name not in names}
    return kept | {name: new[name] for name in names if name in new}


def cut_paste(edit: Edit, told: Json) -> Json:
    """CutPaste."""
    source, box = edit.box(told.get("source") or {})
    edit.guard(source, box)
    at = told.get("destination") or {}
    height, width = box.bottom - box.top, box.right - box.left
    span = _span(at.get("sheetId", 0), at.get("rowIndex", 0), at.get("columnIndex", 0), height, width)
    goal, target = edit.box(span)
    edit.guard(goal, target)
    taken = [source.grid.get(*place) for place in box.cells]
    for place in box.cells:
        source.grid.put(*place, {})
    for place, cell in zip(target.cells, taken, strict=True):
        goal.grid.put(*place, cell)
    return {}
