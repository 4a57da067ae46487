"""Developer metadata, and the data filters that find it, rows, columns and ranges."""

import secrets
from collections.abc import Iterator

from tests.servers.sheets_a1 import Area, Box
from tests.servers.sheets_edit import Edit
from tests.servers.sheets_errors import Json, invalid
from tests.servers.sheets_state import Sheet, Spreadsheet, axis_of, grid_area, metadata_sheet


def create(edit: Edit, told: Json) -> Json:
    """CreateDeveloperMetadata."""
    given = told.get("developerMetadata") or {}
    if not given.get("metadataKey"):
        raise invalid("DeveloperMetadata.metadataKey must be set.")
    if given.get("visibility", "DEVELOPER_METADATA_VISIBILITY_UNSPECIFIED") not in ("DOCUMENT", "PROJECT"):
        raise invalid("DeveloperMetadata.visibility must be set.")
    number = given.get("metadataId") or secrets.randbelow(2**31 - 1) + 1
    if any(known["metadataId"] == number for known in edit.book.metadata):
        raise invalid(f"A developer metadata with id {number} already exists.")
    made = {"metadataId": number, **given, "location": located(edit, given.get("location") or {})}
    edit.book.metadata.append(made)
    return {"developerMetadata": made}


def located(edit: Edit, location: Json) -> Json:
    """A DeveloperMetadataLocation with its type filled in."""
    if dimension := location.get("dimensionRange"):
        sheet = edit.sheet(dimension)
        axis = axis_of(dimension.get("dimension", ""))
        start, end = dimension.get("startIndex", 0), dimension.get("endIndex")
        if end != start + 1:
            raise invalid("DeveloperMetadataLocation.dimensionRange must represent a single row or column.")
        if end > sheet.grid.size(axis):
            raise invalid(f"dimensionRange.endIndex[{end}] is beyond the grid[{sheet.grid.size(axis)}]")
        span = {"sheetId": sheet.id, "dimension": axis, "startIndex": start, "endIndex": end}
        return {"locationType": axis.removesuffix("S"), "dimensionRange": span}
    if location.get("sheetId") is not None:
        return {"locationType": "SHEET", "sheetId": edit.sheet(location).id}
    if location.get("spreadsheet"):
        return {"locationType": "SPREADSHEET", "spreadsheet": True}
    raise invalid("DeveloperMetadata.location must be set.")


def matches(known: Json, one: Json) -> bool:
    """Whether a data filter finds this piece of metadata."""
    lookup = one.get("developerMetadataLookup") or {}
    return all(known.get(name) == wanted for name, wanted in lookup.items())


def _dimension_area(dimension: Json) -> Area:
    start, end = dimension.get("startIndex", 0), dimension.get("endIndex")
    return Area(start, end) if dimension.get("dimension") == "ROWS" else Area(0, None, start, end)


def boxes_of(book: Spreadsheet, one: Json) -> Iterator[tuple[Sheet, Box]]:
    """The parts of the spreadsheet that a data filter stands for: a range, or what metadata is bound to."""
    if one.get("gridRange") is not None:
        sheet = book.sheet_by_id(int(one["gridRange"].get("sheetId", 0)))
        yield sheet, sheet.box(grid_area(one["gridRange"]))
    elif one.get("developerMetadataLookup") is None:
        raise invalid("DataFilter must have a filter set.")
    else:
        for known in book.metadata:
            number = metadata_sheet(known)
            if matches(known, one) and number is not None:
                sheet = book.sheet_by_id(number)
                dimension = known["location"].get("dimensionRange")
                yield sheet, sheet.box(_dimension_area(dimension) if dimension else Area())
