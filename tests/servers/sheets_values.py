"""The values endpoints: get, update, append and clear, by A1 range or by data filter."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from tests.servers.sheets_a1 import Box, box_name, column_name
from tests.servers.sheets_edit import Edit
from tests.servers.sheets_errors import Json, invalid, within
from tests.servers.sheets_grid import inserted
from tests.servers.sheets_metadata import boxes_of
from tests.servers.sheets_read import value_range
from tests.servers.sheets_state import Sheet, Spreadsheet
from tests.servers.sheets_typing import raw, typed


def get(book: Spreadsheet, text: str, options: Json) -> Json:
    """values.get."""
    sheet, box = book.box(text, clip=True)
    return value_range(book, sheet, box, options)


def batch_get(book: Spreadsheet, options: Json) -> Json:
    """values.batchGet."""
    ranges = [get(book, text, options) for text in options.get("ranges", [])]
    return {"spreadsheetId": book.key, "valueRanges": ranges}


def batch_get_by_filter(edit: Edit, body: Json) -> Json:
    """values.batchGetByDataFilter."""
    found = []
    for told in body.get("dataFilters") or []:
        for sheet, box in boxes_of(edit.book, told, edit.project):
            values = value_range(edit.book, sheet, box, body)
            found.append({"valueRange": values, "dataFilters": [told]})
    return {"spreadsheetId": edit.book.key, "valueRanges": found}


def update(edit: Edit, text: str, values: Json, options: Json) -> Json:
    """values.update, and one part of values.batchUpdate."""
    if (named := values.get("range")) and _resolved(edit, named) != _resolved(edit, text):
        raise invalid(f"Requested writing within range [{text}], but the body says range [{named}]")
    sheet, box = edit.book.box(text)
    return _written(edit, sheet, box, values, options)


def _resolved(edit: Edit, text: str) -> tuple[int, Box]:
    sheet, box = edit.book.box(text)
    return sheet.id, box


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
    if options.get("includeValuesInResponse"):
        made["updatedData"] = value_range(edit.book, sheet, target, _response_options(options))
    return made


def _response_options(options: Json) -> Json:
    render = options.get("responseValueRenderOption", "FORMATTED_VALUE")
    dates = options.get("responseDateTimeRenderOption", "SERIAL_NUMBER")
    return {"valueRenderOption": render, "dateTimeRenderOption": dates}


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


def batch_update(edit: Edit, body: Json) -> Json:
    """values.batchUpdate."""
    parts = []
    for number, told in enumerate(body.get("data") or []):
        with within(f"data[{number}]"):
            text = told.get("range") or ""
            parts.append(update(edit, text, told | {"range": None}, body))
    return _totals(edit, parts)


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


def append(edit: Edit, text: str, values: Json, options: Json) -> Json:
    """values.append: after the table found within the range; the grid grows."""
    sheet, box = edit.book.box(text)
    table = table_in(sheet, box)
    made: Json = {"spreadsheetId": edit.book.key}
    top, left = (table.bottom, table.left) if table else (box.top, box.left)
    rows = values.get("values") or []
    height = len(rows) if values.get("majorDimension") != "COLUMNS" else max(map(len, rows), default=0)
    if table:
        made["tableRange"] = box_name(sheet.title, table)
    if options.get("insertDataOption") == "INSERT_ROWS" and top < sheet.grid.rows:
        insert_rows(edit, sheet, top, height)
    sheet.grid.rows = max(sheet.grid.rows, top + height)
    edit.book.check_size()
    corner = Box(top, top + 1, left, left + 1)
    return made | {"updates": _written(edit, sheet, corner, values, options)}


def insert_rows(edit: Edit, sheet: Sheet, at: int, count: int) -> None:
    """New rows for appended values."""
    sheet.grid.rows += count
    edit.shift(sheet, inserted(sheet.id, "ROWS", at, count))


def table_in(sheet: Sheet, box: Box) -> Box | None:
    """The last table that touches the box: filled rows without a gap, as wide as they are filled."""
    filled = {
        row: {c for c, cell in cells.items() if "userEnteredValue" in cell} for row, cells in _rows(sheet)
    }
    inside = [
        row for row, columns in filled.items() if box.top <= row < box.bottom and _touches(columns, box)
    ]
    if not inside:
        return None
    bottom = max(inside)
    while filled.get(bottom + 1):
        bottom += 1
    top = bottom
    while filled.get(top - 1):
        top -= 1
    columns = set().union(*(filled[row] for row in range(top, bottom + 1)))
    return Box(top, bottom + 1, min(columns), max(columns) + 1)


def _rows(sheet: Sheet) -> Iterator[tuple[int, dict[int, Json]]]:
    return iter(sheet.grid.cells.items())


def _touches(columns: set[int], box: Box) -> bool:
    return any(box.left <= column < box.right for column in columns)


def clear(edit: Edit, sheet: Sheet, box: Box) -> str:
    """Empty the box, formats and notes kept; its full name."""
    edit.guard(sheet, box)
    for row in range(box.top, box.bottom):
        for column, cell in list(sheet.grid.cells.get(row, {}).items()):
            if box.left <= column < box.right and "userEnteredValue" in cell:
                kept = {name: value for name, value in cell.items() if name != "userEnteredValue"}
                sheet.grid.put(row, column, kept)
    return box_name(sheet.title, box)


def batch_clear(edit: Edit, body: Json) -> Json:
    """values.batchClear."""
    cleared = [clear(edit, *edit.book.box(text)) for text in body.get("ranges") or []]
    return {"spreadsheetId": edit.book.key, "clearedRanges": cleared}
