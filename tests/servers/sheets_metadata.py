"""Developer metadata, and the data filters that find it, rows, columns and ranges."""

import secrets
from collections.abc import Iterator

from tests.servers.sheets_a1 import Area, Box
from tests.servers.sheets_edit import Edit, fields_of, overlaps, updated
from tests.servers.sheets_errors import ApiError, Json, invalid
from tests.servers.sheets_read import shown_metadata, visible
from tests.servers.sheets_state import Sheet, Spreadsheet, axis_of, grid_area, metadata_sheet

# Characters of keys and values, for the spreadsheet and for each worksheet.
MOST_CHARACTERS = 30_000


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
    edit.book.metadata.append(made | {"project": edit.project})
    _check_size(edit.book)
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


def _check_size(book: Spreadsheet) -> None:
    sizes: dict[int | None, int] = {}
    for told in book.metadata:
        where = metadata_sheet(told)
        size = len(told["metadataKey"]) + len(told.get("metadataValue") or "")
        sizes[where] = sizes.get(where, 0) + size
    if max(sizes.values(), default=0) > MOST_CHARACTERS:
        raise invalid(f"Developer metadata exceeds the limit of {MOST_CHARACTERS} characters.")


def update(edit: Edit, told: Json) -> Json:
    """UpdateDeveloperMetadata."""
    tree = fields_of(told, "DeveloperMetadata", "developerMetadata")
    given = dict(told.get("developerMetadata") or {})
    if given.get("location"):
        given["location"] = located(edit, given["location"])
    changed = []
    for number, known in enumerate(edit.book.metadata):
        if any(matches(edit.book, known, one, edit.project) for one in told.get("dataFilters") or []):
            new = updated(shown_metadata(known), given, tree)
            edit.book.metadata[number] = new | {"project": known["project"]}
            changed.append(new)
    _check_size(edit.book)
    return {"developerMetadata": changed}


def delete(edit: Edit, told: Json) -> Json:
    """DeleteDeveloperMetadata."""
    one = told.get("dataFilter") or {}
    gone = [known for known in edit.book.metadata if matches(edit.book, known, one, edit.project)]
    edit.book.metadata = [known for known in edit.book.metadata if known not in gone]
    return {"deletedDeveloperMetadata": [shown_metadata(known) for known in gone]}


def search(edit: Edit, body: Json) -> Json:
    """developerMetadata.search."""
    found = []
    filters = body.get("dataFilters") or []
    for known in edit.book.metadata:
        hits = [one for one in filters if matches(edit.book, known, one, edit.project)]
        if hits:
            found.append({"developerMetadata": shown_metadata(known), "dataFilters": hits})
    return {"matchedDeveloperMetadata": found} if found else {}


def get(edit: Edit, number: int) -> Json:
    """developerMetadata.get."""
    for known in edit.book.metadata:
        if known["metadataId"] == number and visible(known, edit.project):
            return shown_metadata(known)
    raise ApiError(404, f"No developer metadata with id: {number}")


def matches(book: Spreadsheet, known: Json, one: Json, project: str | None) -> bool:
    """Whether a data filter finds this piece of metadata."""
    if not visible(known, project):
        return False
    if lookup := one.get("developerMetadataLookup"):
        return _looked_up(book, known, lookup)
    sheet, area = _area(book, one)
    box = _metadata_box(book, known)
    return metadata_sheet(known) == sheet.id and box is not None and overlaps(area, box)


def _looked_up(book: Spreadsheet, known: Json, lookup: Json) -> bool:
    for name in ("metadataId", "metadataKey", "metadataValue", "visibility"):
        if lookup.get(name) is not None and known.get(name) != lookup[name]:
            return False
    if lookup.get("locationType") not in (None, known["location"]["locationType"]):
        return False
    where = lookup.get("metadataLocation")
    if not where:
        return True
    if lookup.get("locationMatchingStrategy") == "INTERSECTING_LOCATION":
        return _intersects(book, known, where)
    return all(known["location"].get(name) == value for name, value in _normal(where).items())


def _normal(where: Json) -> Json:
    if dimension := where.get("dimensionRange"):
        return {"dimensionRange": {"sheetId": 0, **dimension}}
    return {name: value for name, value in where.items() if name != "locationType"}


def _intersects(book: Spreadsheet, known: Json, where: Json) -> bool:
    if where.get("spreadsheet"):
        return True
    dimension = where.get("dimensionRange")
    sheet_id = int((dimension or where).get("sheetId", 0))
    box = _metadata_box(book, known)
    if metadata_sheet(known) != sheet_id or box is None:
        return False
    return dimension is None or overlaps(_dimension_area(dimension), box)


def _dimension_area(dimension: Json) -> Area:
    start, end = dimension.get("startIndex", 0), dimension.get("endIndex")
    return Area(start, end) if dimension.get("dimension") == "ROWS" else Area(0, None, start, end)


def _metadata_box(book: Spreadsheet, known: Json) -> Box | None:
    number = metadata_sheet(known)
    if number is None:
        return None
    sheet = book.sheet_by_id(number)
    dimension = known["location"].get("dimensionRange")
    return sheet.box(_dimension_area(dimension) if dimension else Area())


def _area(book: Spreadsheet, one: Json) -> tuple[Sheet, Area]:
    if one.get("a1Range"):
        return book.resolve(one["a1Range"])
    if one.get("gridRange") is not None:
        return book.sheet_by_id(int(one["gridRange"].get("sheetId", 0))), grid_area(one["gridRange"])
    raise invalid("DataFilter must have a filter set.")


def boxes_of(book: Spreadsheet, one: Json, project: str | None) -> Iterator[tuple[Sheet, Box]]:
    """The parts of the spreadsheet that a data filter stands for."""
    if one.get("developerMetadataLookup") is None:
        sheet, area = _area(book, one)
        yield sheet, sheet.box(area)
        return
    for known in book.metadata:
        if matches(book, known, one, project):
            number = metadata_sheet(known)
            if number is not None and (box := _metadata_box(book, known)):
                yield book.sheet_by_id(number), box
