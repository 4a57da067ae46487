"""Spreadsheets as the API shows them: resources, grid data, values."""

from collections.abc import Iterator

from tests.servers.sheets_a1 import Box
from tests.servers.sheets_errors import Json
from tests.servers.sheets_grid import EMPTY, Axis, Cell
from tests.servers.sheets_state import Sheet, Spreadsheet, metadata_sheet
from tests.servers.sheets_typing import displayed, effective

_SIZES: dict[Axis, int] = {"ROWS": 21, "COLUMNS": 100}


def number_format(cell: Cell) -> Json | None:
    """How the cell shows numbers."""
    found: Json | None = cell.get("userEnteredFormat", {}).get("numberFormat")
    return found


def formatted(cell: Cell) -> str:
    """What stands in the cell on the screen."""
    entered = cell.get("userEnteredValue")
    return displayed(effective(entered), number_format(cell)) if entered else ""


def cell_data(cell: Cell) -> Json:
    """A cell as CellData."""
    if not (entered := cell.get("userEnteredValue")):
        return cell
    value = effective(entered)
    return cell | {"effectiveValue": value, "formattedValue": displayed(value, number_format(cell))}


def sheet_properties(book: Spreadsheet, sheet: Sheet) -> Json:
    """A worksheet's properties with its index and the size of its grid."""
    given = sheet.properties.get("gridProperties", {})
    size = {"rowCount": sheet.grid.rows, "columnCount": sheet.grid.columns}
    grid = size | {name: value for name, value in given.items() if name not in size and value}
    kept = {
        name: value for name, value in sheet.properties.items() if value is not None and value is not False
    }
    return kept | {"index": book.sheets.index(sheet), "gridProperties": grid}


def sheet_resource(book: Spreadsheet, sheet: Sheet, boxes: list[Box], fields: str) -> Json:
    """A Sheet; `boxes` are the parts of which data is shown, as far as a mask asks for it."""
    made: Json = {"properties": sheet_properties(book, sheet)}
    here = [told for told in book.metadata if metadata_sheet(told) == sheet.id]
    if "data" in fields:
        made["data"] = [grid_data(sheet, here, box, fields) for box in boxes]
    made |= {name: entries for name, entries in sheet.lists.items() if entries}
    if sheet.basic_filter:
        made["basicFilter"] = sheet.basic_filter
    own = [told for told in here if "sheetId" in told["location"]]
    if own:
        made["developerMetadata"] = own
    return made


def grid_data(sheet: Sheet, metadata: list[Json], box: Box, fields: str) -> Json:
    """A box as GridData; empty ends of its cells are left out, and what the mask leaves out is not made."""
    made: Json = {}
    whole = "data(" not in fields
    if box.top:
        made["startRow"] = box.top
    if box.left:
        made["startColumn"] = box.left
    rows = list(_rows(sheet, box)) if whole or "rowData" in fields else []
    while rows and not rows[-1]:
        rows.pop()
    if rows:
        made["rowData"] = rows
    if whole or "rowMetadata" in fields:
        made["rowMetadata"] = [_size(sheet, "ROWS", row) for row in range(box.top, box.bottom)]
    if whole or "columnMetadata" in fields:
        made["columnMetadata"] = [_size(sheet, "COLUMNS", column) for column in range(box.left, box.right)]
    return _with_dimension_metadata(metadata, box, made)


def _rows(sheet: Sheet, box: Box) -> Iterator[Json]:
    """The rows; those of the same cells, as many are that people have still to fill, are one object."""
    made: dict[tuple[int, ...], Json] = {}
    for row in range(box.top, box.bottom):
        cells = sheet.grid.cells.get(row, {})
        same = *cells, *map(id, cells.values())
        if same not in made:
            last = max((column for column in cells if column < box.right), default=-1)
            shown_cells = [cell_data(cells.get(column, EMPTY)) for column in range(box.left, last + 1)]
            made[same] = {"values": shown_cells} if shown_cells else {}
        yield made[same]


def _size(sheet: Sheet, axis: Axis, index: int) -> Json:
    return {"pixelSize": _SIZES[axis]} | sheet.grid.properties(axis).get(index, {})


def _with_dimension_metadata(metadata: list[Json], box: Box, made: Json) -> Json:
    for told in metadata:
        if not (dimension := told["location"].get("dimensionRange")):
            continue
        rows = dimension["dimension"] == "ROWS"
        at = dimension["startIndex"] - (box.top if rows else box.left)
        entries = made.get("rowMetadata" if rows else "columnMetadata", ())
        if 0 <= at < len(entries):
            entries[at].setdefault("developerMetadata", []).append(told)
    return made


def resource(book: Spreadsheet, boxes: dict[int, list[Box]] | None, fields: str) -> Json:
    """A Spreadsheet; `boxes` names the worksheets and parts asked for, None for all; `fields` is a mask."""
    sheets = []
    for sheet in book.sheets:
        if boxes is None:
            shown_boxes = [Box(0, sheet.grid.rows, 0, sheet.grid.columns)]
        elif sheet.id in boxes:
            shown_boxes = boxes[sheet.id]
        else:
            continue
        sheets.append(sheet_resource(book, sheet, shown_boxes, fields))
    made: Json = {"spreadsheetId": book.key, "properties": book.properties, "sheets": sheets}
    own = [told for told in book.metadata if metadata_sheet(told) is None]
    if own:
        made["developerMetadata"] = own
    return made | {"spreadsheetUrl": f"https://docs.google.com/spreadsheets/d/{book.key}/edit"}
