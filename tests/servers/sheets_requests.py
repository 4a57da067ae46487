"""spreadsheets.batchUpdate: which request does what, all of them or none."""

import copy
from collections.abc import Callable

from tests.servers import sheets_cells as cells
from tests.servers import sheets_dimensions as dimensions
from tests.servers import sheets_metadata as metadata
from tests.servers import sheets_objects as objects
from tests.servers.sheets_edit import PROTECTED, Edit
from tests.servers.sheets_errors import ApiError, Json, invalid, within
from tests.servers.sheets_read import sheet_properties
from tests.servers.sheets_state import Sheet

Handler = Callable[[Edit, Json], Json]


def batch_update(edit: Edit, body: Json) -> list[Json]:
    """Apply all requests and give their replies; when one is refused nothing is changed."""
    requests = body.get("requests") or []
    if not requests:
        raise invalid("Must specify at least one request.")
    return [_applied(edit, number, request) for number, request in enumerate(requests)]


def _applied(edit: Edit, number: int, request: Json) -> Json:
    name, told = next(((k, v) for k, v in request.items() if v is not None), ("", None))
    if told is None:
        raise invalid(f"Invalid requests[{number}]: No request set.")
    if (handler := HANDLERS.get(name)) is None:
        raise ApiError(
            501, f"requests[{number}].{name}: Google knows this request, this server does not yet."
        )
    with within(f"requests[{number}].{name}"):
        return handler(edit, told)


def _add_sheet(edit: Edit, told: Json) -> Json:
    given = {name: value for name, value in (told.get("properties") or {}).items() if value is not None}
    index = given.pop("index", None)
    if index is not None and int(index) > len(edit.book.sheets):
        raise invalid(f"Sheet index {index} is too high.")
    sheet = edit.book.add_sheet(given, None if index is None else int(index))
    _check_frozen(sheet)
    return {"addSheet": {"properties": sheet_properties(edit.book, sheet)}}


def _delete_sheet(edit: Edit, told: Json) -> Json:
    sheet = _sheet(edit, told.get("sheetId", 0))
    for protected in sheet.lists["protectedRanges"]:
        if not edit.may_edit(protected):
            raise invalid(PROTECTED)
    edit.book.remove_sheet(sheet)
    return {}


def _sheet(edit: Edit, number: int) -> Sheet:
    try:
        return edit.book.sheet_by_id(int(number))
    except ApiError:
        raise invalid(f"No sheet with id: {number}") from None


def _check_frozen(sheet: Sheet) -> None:
    given = sheet.properties.get("gridProperties", {})
    for word, name, size in (
        ("rows", "frozenRowCount", sheet.grid.rows),
        ("columns", "frozenColumnCount", sheet.grid.columns),
    ):
        if int(given.get(name) or 0) >= size:
            raise invalid(f"You can't freeze all visible {word} on the sheet.")


def _duplicate_sheet(edit: Edit, told: Json) -> Json:
    source = _sheet(edit, told.get("sourceSheetId", 0))
    title = told.get("newSheetName") or f"Copy of {source.title}"
    index = int(told.get("insertSheetIndex", 0))
    size = {"rowCount": source.grid.rows, "columnCount": source.grid.columns}
    look = source.properties.get("gridProperties", {}) | size
    given = source.properties | {"title": title, "sheetId": told.get("newSheetId"), "gridProperties": look}
    made = edit.book.add_sheet(given, index)
    made.grid = source.grid.copy()
    made.lists = {name: _rebound(entries, made.id, name) for name, entries in source.lists.items()}
    made.basic_filter = copy.deepcopy(source.basic_filter)
    if made.basic_filter:
        made.basic_filter["range"]["sheetId"] = made.id
    return {"duplicateSheet": {"properties": sheet_properties(edit.book, made)}}


def _rebound(entries: list[Json], sheet_id: int, name: str) -> list[Json]:
    """Copies of the entries for another worksheet, with ids of their own."""
    made = copy.deepcopy(entries)
    for number, entry in enumerate(made):
        _rebind(entry, sheet_id)
        for kind in (objects.PROTECTED_RANGE, objects.CHART):
            if kind.list == name:
                entry[kind.id] = (entry[kind.id] + 1 + number + sheet_id) % 2**31
    return made


def _rebind(value: object, sheet_id: int) -> None:
    if isinstance(value, list):
        for inner in value:
            _rebind(inner, sheet_id)
    elif isinstance(value, dict):
        if "sheetId" in value or "startRowIndex" in value:
            value["sheetId"] = sheet_id
        for inner in value.values():
            _rebind(inner, sheet_id)


def _named(name: str, handler: Handler) -> Handler:
    return lambda edit, told: {name: handler(edit, told)}


HANDLERS: dict[str, Handler] = {
    "addSheet": _add_sheet,
    "deleteSheet": _delete_sheet,
    "duplicateSheet": _duplicate_sheet,
    "updateCells": cells.update_cells,
    "repeatCell": cells.repeat_cell,
    "mergeCells": cells.merge_cells,
    "insertDimension": dimensions.insert_dimension,
    "deleteDimension": dimensions.delete_dimension,
    "updateDimensionProperties": dimensions.update_dimension_properties,
    "createDeveloperMetadata": _named("createDeveloperMetadata", metadata.create),
    "addProtectedRange": objects.add_protected_range,
    "setBasicFilter": objects.set_basic_filter,
    "addChart": objects.add_chart,
}
