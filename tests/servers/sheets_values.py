"""Values written by data filter, and by people."""

from itertools import zip_longest
from typing import Any

from tests.servers.sheets_a1 import Box, box_name, column_name
from tests.servers.sheets_edit import Edit
from tests.servers.sheets_errors import Json, invalid
from tests.servers.sheets_metadata import boxes_of
from tests.servers.sheets_state import Sheet
from tests.servers.sheets_typing import raw, typed


def _written(edit: Edit, sheet: Sheet, box: Box, told: Json, options: Json) -> Json:
    rows = told.get("values") or []
    if told.get("majorDimension") == "COLUMNS":
        rows = [list(line) for line in zip_longest(*rows)]
    height, width = len(rows), max(map(len, rows), default=0)
    target = _target(sheet, box, height, width)
    edit.guard(sheet, target)
    option, count = options.get("valueInputOption", ""), 0
    for number, row in enumerate(rows):
        for column, value in enumerate(row):
            if value is not None:
                _check_plain(value, number, column)
                write_value(edit, sheet, (target.top + number, target.left + column), value, option)
                count += 1
    made: Json = {"spreadsheetId": edit.book.key, "updatedRange": box_name(sheet.title, target)}
    if count:
        made |= {"updatedRows": height, "updatedColumns": width, "updatedCells": count}
    return made


def _target(sheet: Sheet, box: Box, height: int, width: int) -> Box:
    """Where the values go: a single cell is a corner, anything else a frame that must hold them."""
    name = box_name(sheet.title, box)
    corner = box.bottom == box.top + 1 and box.right == box.left + 1
    bottom, right = box.top + max(height, 1), box.left + max(width, 1)
    if not corner and height > box.bottom - box.top:
        raise invalid(f"Requested writing within range [{name}], but tried writing to row [{box.bottom + 1}]")
    if not corner and width > box.right - box.left:
        column = column_name(box.right)
        raise invalid(f"Requested writing within range [{name}], but tried writing to column [{column}]")
    if bottom > sheet.grid.rows or right > sheet.grid.columns:
        limits = f"Max rows: {sheet.grid.rows}, max columns: {sheet.grid.columns}"
        whole = box_name(sheet.title, Box(box.top, bottom, box.left, right))
        raise invalid(f"Range ({whole}) exceeds grid limits. {limits}")
    return Box(box.top, bottom, box.left, right)


def _check_plain(value: Any, row: int, column: int) -> None:
    if isinstance(value, dict | list):
        kind = "struct_value" if isinstance(value, dict) else "list_value"
        raise invalid(f"Invalid values[{row}][{column}]: {kind} {{\n}}\n")


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
    if entered is None or entered == {"stringValue": ""}:
        cell.pop("userEnteredValue", None)
    else:
        cell["userEnteredValue"] = entered
    known = cell.get("userEnteredFormat", {})
    if number_format and "numberFormat" not in known:
        cell["userEnteredFormat"] = known | {"numberFormat": number_format}
    edit.put(sheet, *at, cell)


def batch_update_by_filter(edit: Edit, body: Json) -> Json:
    """values.batchUpdateByDataFilter."""
    parts = []
    for told in body.get("data") or []:
        for sheet, box in boxes_of(edit.book, told.get("dataFilter") or {}, edit.project):
            part = _written(edit, sheet, box, told, body)
            part.pop("spreadsheetId")
            parts.append(part | {"dataFilter": told["dataFilter"]})
    return _totals(edit, parts)


def _totals(edit: Edit, parts: list[Json]) -> Json:
    made: Json = {"spreadsheetId": edit.book.key}
    for name in ("Rows", "Columns", "Cells"):
        made[f"totalUpdated{name}"] = sum(part.get(f"updated{name}", 0) for part in parts)
    made["totalUpdatedSheets"] = len({part["updatedRange"].rpartition("!")[0] for part in parts})
    return made | {"responses": parts}
