"""Requests that make worksheets, columns and rows look as they shall; all of them for one batchUpdate."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from simulator.reports.sheets.cells import WRITTEN, Shown, color, written
from simulator.reports.sheets.standing import COLUMN, EVER, OWN_ID, WORKSHEET
from simulator.reports.worksheet import Chart, Column, Worksheet

Json = dict[str, Any]
GREY, BLUE = "EFEFEF", "CFE2F3"
# Rows below the last one and columns beside it in which people may write; a chart takes more of these.
SPARE_ROWS, SPARE_COLUMNS, CHART_COLUMNS = 100, 2, 9
# So long that wrapped rows would fill the screen: they are cut where the cell ends.
CLIPPED = frozenset({"passages", "earlier", "config"})
# A column as narrow as this holds keys that mean nothing to people: it is hidden.
HIDDEN_WIDTH = 8
_PIXELS_A_CHARACTER, _MARGIN = 7, 16
_PROTECTED = "Rehearsal writes this column anew; write in the blue columns. / 自動で書き直される列です"


def new_id() -> int:
    """An id for a worksheet or a piece of metadata."""
    return secrets.randbelow(2**31 - 1) + 1


def add_worksheet(worksheet: Worksheet, sheet_id: int, title: str, called: str) -> Iterator[Json]:
    """An empty worksheet with its header, looks, filter, and the metadata that it is known by."""
    width = len(worksheet.columns) + (CHART_COLUMNS if worksheet.chart else SPARE_COLUMNS)
    grid = {"rowCount": 1 + SPARE_ROWS, "columnCount": width, "frozenRowCount": 1}
    grid["frozenColumnCount"] = min(worksheet.frozen_columns, len(worksheet.columns) - 1)
    yield {"addSheet": {"properties": {"sheetId": sheet_id, "title": title, "gridProperties": grid}}}
    yield from tag_worksheet(sheet_id, called, [column.key for column in worksheet.columns])
    for index, column in enumerate(worksheet.columns):
        yield from add_column(worksheet, column, Spot(sheet_id, index, 0, called, new_id()))
    for owner, run in groupby(enumerate(worksheet.columns), key=lambda each: each[1].owner):
        if owner == "program":
            yield _protect(sheet_id, [index for index, _ in run])
    area = {"sheetId": sheet_id, "startRowIndex": 0, "startColumnIndex": 0}
    yield {"setBasicFilter": {"filter": {"range": area | {"endColumnIndex": len(worksheet.columns)}}}}


def tag_worksheet(sheet_id: int, called: str, keys: Sequence[str]) -> Iterator[Json]:
    """The metadata of a worksheet: what it is, that it is no copy, and its columns."""
    for key, value in ((WORKSHEET, called), (OWN_ID, str(sheet_id)), (EVER, " ".join(keys))):
        yield _tag(new_id(), key, value, {"sheetId": sheet_id})


def tag_column(sheet_id: int, index: int, key: str, tag: int) -> Json:
    """The metadata of a column."""
    span = _span(sheet_id, "COLUMNS", index, index + 1)
    return _tag(tag, COLUMN, key, {"dimensionRange": span})


def retag(tag: int, value: str) -> Json:
    """Another value for a piece of metadata."""
    one = {"developerMetadataLookup": {"metadataId": tag}}
    told = {"metadataValue": value}
    return {
        "updateDeveloperMetadata": {
            "dataFilters": [one],
            "developerMetadata": told,
            "fields": "metadataValue",
        }
    }


def _tag(tag: int, key: str, value: str, location: Json) -> Json:
    told = {"metadataId": tag, "metadataKey": key, "metadataValue": value, "visibility": "DOCUMENT"}
    return {"createDeveloperMetadata": {"developerMetadata": told | {"location": location}}}


class Spot(NamedTuple):
    """Where a column goes, the row of its header, whose worksheet it is, and the id of its metadata."""

    sheet_id: int
    column: int
    header: int
    called: str
    tag: int


def insert_column(worksheet: Worksheet, column: Column, spot: Spot) -> Iterator[Json]:
    """A column that came later, between the others."""
    # After the last column there is only the one before to take over from.
    span = _span(spot.sheet_id, "COLUMNS", spot.column, spot.column + 1)
    yield {"insertDimension": {"range": span, "inheritFromBefore": True}}
    yield from add_column(worksheet, column, spot)
    if column.owner == "program":
        yield _protect(spot.sheet_id, [spot.column])


def add_column(worksheet: Worksheet, column: Column, spot: Spot) -> Iterator[Json]:
    """Header, look, width and metadata of a column that is empty."""
    yield tag_column(spot.sheet_id, spot.column, column.key, spot.tag)
    # What an inserted column takes over from its neighbour goes.
    yield look_of(column, _box(spot.sheet_id, spot.column, spot.header + 1))
    yield {
        "updateCells": {
            "start": {"sheetId": spot.sheet_id, "rowIndex": spot.header, "columnIndex": spot.column},
            "rows": [{"values": [_header(worksheet, column, spot.called)]}],
            "fields": "userEnteredValue,note,userEnteredFormat,dataValidation",
        }
    }
    properties: Json = {"pixelSize": _MARGIN + _PIXELS_A_CHARACTER * column.width}
    if column.key == "key" and column.width <= HIDDEN_WIDTH:
        properties["hiddenByUser"] = True
    yield {
        "updateDimensionProperties": {
            "range": _span(spot.sheet_id, "COLUMNS", spot.column, spot.column + 1),
            "properties": properties,
            "fields": ",".join(properties),
        }
    }


def _header(worksheet: Worksheet, column: Column, called: str) -> Json:
    fill = BLUE if column.owner == "team" else GREY
    note = f"rehearsal:{called}" if column.key == "key" else column.help
    if column == worksheet.columns[min(1, len(worksheet.columns) - 1)]:
        note = "\n".join(filter(None, (note, worksheet.help)))
    look = {
        "backgroundColorStyle": color(fill),
        "textFormat": {"bold": True},
        "wrapStrategy": "WRAP",
        "verticalAlignment": "MIDDLE",
    }
    made: Json = {"userEnteredValue": {"stringValue": column.title}, "userEnteredFormat": look}
    return made | ({"note": note} if note else {})


def look_of(column: Column, box: Json) -> Json:
    """How cells of a column look, and what may be picked in them."""
    wrap = "WRAP" if column.wrap and column.key not in CLIPPED else "CLIP"
    look: Json = {"wrapStrategy": wrap, "verticalAlignment": "TOP"}
    if column.kind == "date":
        look["numberFormat"] = {"type": "DATE", "pattern": "yyyy/mm/dd"}
    cell: Json = {"userEnteredFormat": look}
    if rule := _rule(column):
        cell["dataValidation"] = rule
    return {"repeatCell": {"range": box, "cell": cell, "fields": "userEnteredFormat,dataValidation"}}


def _rule(column: Column) -> Json:
    """Other entries are warned of, never refused."""
    if column.choices:
        values = [{"userEnteredValue": choice.title} for choice in column.choices]
        return {"condition": {"type": "ONE_OF_LIST", "values": values}, "strict": False, "showCustomUi": True}
    if column.kind == "date" and column.owner == "team":
        return {"condition": {"type": "DATE_IS_VALID"}, "strict": False, "showCustomUi": True}
    return {}


def _protect(sheet_id: int, indexes: Sequence[int]) -> Json:
    area = {"sheetId": sheet_id, "startRowIndex": 1}
    area |= {"startColumnIndex": indexes[0], "endColumnIndex": indexes[-1] + 1}
    told = {"range": area, "description": _PROTECTED, "warningOnly": True}
    return {"addProtectedRange": {"protectedRange": told}}


def insert_rows(
    columns: Mapping[int, Column], rows: Sequence[Mapping[int, Shown]], sheet_id: int, at: int
) -> Iterator[Json]:
    """New rows from `at` on, filled in the same batch: no sort can come between the two.

    `columns` and the cells of a row are told by where they stand.
    """
    end = at + len(rows)
    yield {"insertDimension": {"range": _span(sheet_id, "ROWS", at, end)}}
    # The look of the row below is taken over, its colours and choices with it.
    plain = {"sheetId": sheet_id, "startRowIndex": at, "endRowIndex": end}
    fill = "userEnteredFormat.backgroundColorStyle"
    yield {"repeatCell": {"range": plain, "cell": {}, "fields": fill}}
    for index, column in columns.items():
        yield look_of(column, _box(sheet_id, index, at, end))
    for first, last in runs(sorted(columns)):
        lines = [{"values": [written(row.get(c, Shown())) for c in range(first, last)]} for row in rows]
        start = {"sheetId": sheet_id, "rowIndex": at, "columnIndex": first}
        yield {"updateCells": {"start": start, "rows": lines, "fields": WRITTEN}}


def runs(indexes: Sequence[int], gap: int = 0) -> Iterator[tuple[int, int]]:
    """Sorted indexes as spans without holes wider than `gap`; ends are not included."""
    first = last = None
    for index in indexes:
        if first is None or last is None:
            first = last = index
        elif index - last > gap + 1:
            yield first, last + 1
            first = index
        last = index
    if first is not None and last is not None:
        yield first, last + 1


def add_chart(chart: Chart, indexes: Mapping[str, int], sheet_id: int, rows: int, beside: int) -> Json:
    """The picture beside the table; it grows with the rows. The newest is at the top, and so at the right."""

    def source(key: str) -> Json:
        column = {"startColumnIndex": indexes[key], "endColumnIndex": indexes[key] + 1}
        area = {"sheetId": sheet_id, "startRowIndex": 0, "endRowIndex": rows, **column}
        return {"sourceRange": {"sources": [area]}}

    basic: Json = {
        "chartType": chart.kind.upper(),
        "legendPosition": "BOTTOM_LEGEND",
        "headerCount": 1,
        "domains": [{"domain": source(chart.x), "reversed": True}],
        "series": [{"series": source(key), "targetAxis": "LEFT_AXIS"} for key in chart.ys],
    }
    corner = {"anchorCell": {"sheetId": sheet_id, "rowIndex": 1, "columnIndex": beside}}
    place = {"overlayPosition": corner | {"widthPixels": 600, "heightPixels": 320}}
    return {"addChart": {"chart": {"spec": {"title": chart.title, "basicChart": basic}, "position": place}}}


def append_rows(sheet_id: int) -> Json:
    """Empty rows below the last one."""
    return {"appendDimension": {"sheetId": sheet_id, "dimension": "ROWS", "length": SPARE_ROWS}}


def delete_rows(sheet_id: int, rows: Sequence[int]) -> Iterator[Json]:
    """Rows go, the last ones first."""
    for first, last in reversed(list(runs(sorted(rows)))):
        yield {"deleteDimension": {"range": _span(sheet_id, "ROWS", first, last)}}


def _span(sheet_id: int, dimension: str, start: int, end: int) -> Json:
    return {"sheetId": sheet_id, "dimension": dimension, "startIndex": start, "endIndex": end}


def _box(sheet_id: int, column: int, top: int, bottom: int | None = None) -> Json:
    area = {"sheetId": sheet_id, "startColumnIndex": column, "endColumnIndex": column + 1}
    area["startRowIndex"] = top
    return area if bottom is None else area | {"endRowIndex": bottom}
