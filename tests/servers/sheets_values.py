"""Values written by data filter, and by people."""

from itertools import zip_longest
from typing import Any

from tests.servers.sheets_a1 import Box
from tests.servers.sheets_edit import Edit
from tests.servers.sheets_errors import Json, invalid
from tests.servers.sheets_metadata import boxes_of
from tests.servers.sheets_state import Sheet
from tests.servers.sheets_typing import raw, typed


def _write(edit: Edit, sheet: Sheet, box: Box, told: Json, option: str) -> None:
    rows = told.get("values") or []
    if told.get("majorDimension") == "COLUMNS":
        rows = [list(line) for line in zip_longest(*rows)]
    height, width = len(rows), max(map(len, rows), default=0)
    target = _target(sheet, box, height, width)
    edit.guard(sheet, target)
    for number, row in enumerate(rows, target.top):
        for column, value in enumerate(row, target.left):
            if value is not None:
                write_value(edit, sheet, (number, column), value, option)


def _target(sheet: Sheet, box: Box, height: int, width: int) -> Box:
    """Where the values go: a single cell is a corner, anything else a frame that must hold them."""
    corner = box.bottom == box.top + 1 and box.right == box.left + 1
    bottom, right = box.top + max(height, 1), box.left + max(width, 1)
    if not corner and (height > box.bottom - box.top or width > box.right - box.left):
        raise invalid("Requested writing within a range, but tried writing beyond it")
    if bottom > sheet.grid.rows or right > sheet.grid.columns:
        raise invalid(
            f"Range exceeds grid limits. Max rows: {sheet.grid.rows}, max columns: {sheet.grid.columns}"
        )
    return Box(box.top, bottom, box.left, right)


def write_value(
    edit: Edit, sheet: Sheet, at: tuple[int, int], value: Any, option: str = "USER_ENTERED"
) -> None:
    """Put a value into a cell, its format and note kept; an empty string empties it."""
    cell = dict(sheet.grid.get(*at))
    if option == "USER_ENTERED":
        entered, number_format = typed(value)
    elif option == "RAW":
        entered, number_format = raw(value), None
    else:
        raise invalid("'valueInputOption' is required but not specified")
    cell.pop("textFormatRuns", None)
    if entered == {"stringValue": ""}:
        cell.pop("userEnteredValue", None)
    else:
        cell["userEnteredValue"] = entered
    known = cell.get("userEnteredFormat", {})
    if number_format and "numberFormat" not in known:
        cell["userEnteredFormat"] = known | {"numberFormat": number_format}
    edit.put(sheet, *at, cell)


def batch_update_by_filter(edit: Edit, body: Json) -> Json:
    """values.batchUpdateByDataFilter; of its reply nothing is read."""
    for told in body.get("data") or []:
        for sheet, box in boxes_of(edit.book, told.get("dataFilter") or {}):
            _write(edit, sheet, box, told, body.get("valueInputOption", ""))
    return {"spreadsheetId": edit.book.key}
