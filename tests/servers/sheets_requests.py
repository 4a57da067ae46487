"""spreadsheets.batchUpdate: which request does what, all of them or none."""

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


def _named(name: str, handler: Handler) -> Handler:
    return lambda edit, told: {name: handler(edit, told)}


HANDLERS: dict[str, Handler] = {
    "addSheet": _add_sheet,
    "deleteSheet": _delete_sheet,
    "updateCells": cells.update_cells,
    "repeatCell": cells.repeat_cell,
    "insertDimension": dimensions.insert_dimension,
    "deleteDimension": dimensions.delete_dimension,
    "updateDimensionProperties": dimensions.update_dimension_properties,
    "createDeveloperMetadata": _named("createDeveloperMetadata", metadata.create),
    "addProtectedRange": objects.add_protected_range,
    "setBasicFilter": objects.set_basic_filter,
}
