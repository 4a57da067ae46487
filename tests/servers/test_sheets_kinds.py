"""The Sheets server's batch requests one by one, and the texts it reads and writes."""

from typing import Any

import pytest

from tests.servers import sheets_requests
from tests.servers.sheets import MARI, SheetsServer
from tests.servers.sheets_a1 import Area, cell_name, parse_area, split_sheet
from tests.servers.sheets_edit import Edit
from tests.servers.sheets_errors import ApiError
from tests.servers.sheets_formulas import renamed_in, shifted_formula
from tests.servers.sheets_grid import deleted, inserted, moved
from tests.servers.sheets_read import formatted, resource
from tests.servers.sheets_schema import document, mask, methods
from tests.servers.sheets_typing import displayed

TABLE: list[list[Any]] = [["a", "b", "c"], [1, 2, 3], ["x", "y", "z"]]
ROWS = {"sheetId": 0, "dimension": "ROWS"}
COLUMNS = {"sheetId": 0, "dimension": "COLUMNS"}


@pytest.fixture
def edit() -> Edit:
    return Edit(SheetsServer({"KEY": {"S": TABLE, "T": []}}).book("KEY"), MARI)


def _apply(edit: Edit, **request: Any) -> Any:
    return sheets_requests.batch_update(edit, {"requests": [request]})[0]


def _area(top: int, bottom: int, left: int, right: int) -> dict[str, int]:
    rows = {"sheetId": 0, "startRowIndex": top, "endRowIndex": bottom}
    return {**rows, "startColumnIndex": left, "endColumnIndex": right}


def _rows(edit: Edit) -> list[list[str]]:
    sheet = edit.book.sheets[0]
    used = sheet.grid.used()
    columns = range(used.right)
    return [[formatted(edit.book, sheet, sheet.grid.get(r, c)) for c in columns] for r in range(used.bottom)]


def _told(edit: Edit) -> Any:
    return resource(edit.book, None, True, None)["sheets"][0]


def test_columns_are_moved(edit: Edit) -> None:
    """To the left and to the right; the goal counts as before the move."""
    _apply(edit, moveDimension={"source": {**COLUMNS, "startIndex": 2, "endIndex": 3}, "destinationIndex": 0})
    _apply(edit, moveDimension={"source": {**COLUMNS, "startIndex": 0, "endIndex": 1}, "destinationIndex": 2})

    assert _rows(edit)[0] == ["a", "c", "b"]


def test_dimensions_grow_and_are_grouped(edit: Edit) -> None:
    """Appended rows, fitted widths, groups made and unmade."""
    _apply(edit, appendDimension={**ROWS, "length": 5})
    _apply(edit, autoResizeDimensions={"dimensions": {**COLUMNS, "startIndex": 0, "endIndex": 1}})
    _apply(edit, addDimensionGroup={"range": {**ROWS, "startIndex": 1, "endIndex": 2}})

    assert edit.book.sheets[0].grid.rows == 1005
    assert _told(edit)["data"][0]["columnMetadata"][0]["pixelSize"] < 100
    assert len(_told(edit)["rowGroups"]) == 1
    _apply(edit, deleteDimensionGroup={"range": {**ROWS, "startIndex": 1, "endIndex": 2}})
    assert "rowGroups" not in _told(edit)


def test_new_rows_look_like_their_neighbours(edit: Edit) -> None:
    """Above or below, as asked; values are not copied."""
    bold = {"userEnteredFormat": {"textFormat": {"bold": True}}}
    _apply(edit, repeatCell={"range": _area(0, 1, 0, 3), "cell": bold, "fields": "userEnteredFormat"})
    span = {"range": {**ROWS, "startIndex": 1, "endIndex": 2}}
    _apply(edit, insertDimension={**span, "inheritFromBefore": True})
    _apply(edit, insertDimension={"range": {**ROWS, "startIndex": 2, "endIndex": 3}})

    assert edit.book.sheets[0].grid.get(1, 0) == bold
    assert edit.book.sheets[0].grid.get(2, 0) == {}


def test_cells_are_copied_and_cut(edit: Edit) -> None:
    """A copy fills a larger destination; what is cut is gone."""
    copied = {"source": _area(1, 2, 0, 1), "destination": _area(5, 7, 0, 1), "pasteType": "PASTE_VALUES"}
    _apply(edit, copyPaste=copied)
    goal = {"sheetId": 0, "rowIndex": 8, "columnIndex": 0}
    _apply(edit, cutPaste={"source": _area(0, 1, 0, 3), "destination": goal})

    assert [row[0] for row in _rows(edit)] == ["", "1", "x", "", "", "1", "1", "", "a"]


def test_borders_are_drawn(edit: Edit) -> None:
    """Outside and inside lines go to the sides that they touch."""
    line = {"style": "SOLID"}
    _apply(
        edit, updateBorders={"range": _area(0, 2, 0, 1), "top": line, "innerHorizontal": {"style": "DOTTED"}}
    )

    first = edit.book.sheets[0].grid.get(0, 0)["userEnteredFormat"]["borders"]
    assert first == {"top": line, "bottom": {"style": "DOTTED"}}


def test_protection_is_updated(edit: Edit) -> None:
    """By its mask; then it is taken off."""
    made = _apply(
        edit, addProtectedRange={"protectedRange": {"range": _area(0, 1, 0, 3), "warningOnly": True}}
    )
    number = made["addProtectedRange"]["protectedRange"]["protectedRangeId"]
    new = {"protectedRangeId": number, "description": "見出し"}
    _apply(edit, updateProtectedRange={"protectedRange": new, "fields": "description"})

    assert _told(edit)["protectedRanges"][0]["description"] == "見出し"
    assert _told(edit)["protectedRanges"][0]["warningOnly"]
    _apply(edit, deleteProtectedRange={"protectedRangeId": number})
    assert "protectedRanges" not in _told(edit)


def test_filters_are_set_and_cleared(edit: Edit) -> None:
    """Basic filters and filter views."""
    _apply(edit, setBasicFilter={"filter": {"range": _area(0, 3, 0, 3)}})
    view = _apply(edit, addFilterView={"filter": {"title": "v", "range": _area(0, 3, 0, 3)}})[
        "addFilterView"
    ]["filter"]
    _apply(edit, updateFilterView={"filter": {**view, "title": "w"}, "fields": "title"})

    assert _told(edit)["filterViews"][0]["title"] == "w"
    _apply(edit, clearBasicFilter={"sheetId": 0})
    _apply(edit, deleteFilterView={"filterId": view["filterViewId"]})
    assert not {"basicFilter", "filterViews"} & _told(edit).keys()


def test_conditional_formats_have_an_order(edit: Edit) -> None:
    """Added at a place, moved, replaced, deleted."""
    rules = [
        {"ranges": [_area(n, n + 1, 0, 1)], "booleanRule": {"condition": {"type": "BLANK"}}} for n in range(3)
    ]
    for rule in rules[:2]:
        _apply(edit, addConditionalFormatRule={"rule": rule, "index": 0})
    _apply(edit, updateConditionalFormatRule={"sheetId": 0, "index": 0, "newIndex": 1})
    _apply(edit, updateConditionalFormatRule={"rule": rules[2], "index": 0})
    gone = _apply(edit, deleteConditionalFormatRule={"sheetId": 0, "index": 1})

    assert gone["deleteConditionalFormatRule"]["rule"] == rules[1]
    assert _told(edit)["conditionalFormats"] == [rules[2]]


def test_charts_and_banding_change_and_go(edit: Edit) -> None:
    """A chart is moved and deleted, banding recoloured and deleted."""
    position = {"overlayPosition": {"anchorCell": {"sheetId": 0, "rowIndex": 1, "columnIndex": 4}}}
    chart = _apply(edit, addChart={"chart": {"spec": {"title": "t"}, "position": position}})["addChart"][
        "chart"
    ]
    moved_to = {"overlayPosition": {"offsetXPixels": 5}}
    fields = {"newPosition": moved_to, "fields": "offsetXPixels"}
    _apply(edit, updateEmbeddedObjectPosition={"objectId": chart["chartId"], **fields})
    band = {"range": _area(0, 3, 0, 3)}
    made = _apply(edit, addBanding={"bandedRange": band})["addBanding"]["bandedRange"]
    colored = {**made, "rowProperties": {"headerColor": {"red": 1}}}
    _apply(edit, updateBanding={"bandedRange": colored, "fields": "rowProperties.headerColor"})
    _apply(edit, insertDimension={"range": {**ROWS, "startIndex": 0, "endIndex": 1}})

    told = _told(edit)
    assert told["charts"][0]["position"]["overlayPosition"]["anchorCell"]["rowIndex"] == 2
    assert told["charts"][0]["position"]["overlayPosition"]["offsetXPixels"] == 5
    assert told["bandedRanges"][0]["rowProperties"]["headerColorStyle"] == {"rgbColor": {"red": 1}}
    _apply(edit, deleteEmbeddedObject={"objectId": chart["chartId"]})
    _apply(edit, deleteBanding={"bandedRangeId": made["bandedRangeId"]})
    assert not {"charts", "bandedRanges"} & _told(edit).keys()


def test_named_ranges_are_renamed_and_go(edit: Edit) -> None:
    """Their names are unique."""
    one = _apply(edit, addNamedRange={"namedRange": {"name": "one", "range": _area(0, 1, 0, 1)}})[
        "addNamedRange"
    ]
    with pytest.raises(ApiError, match="already exists"):
        _apply(edit, addNamedRange={"namedRange": {"name": "ONE", "range": _area(0, 1, 0, 1)}})
    _apply(edit, updateNamedRange={"namedRange": {**one["namedRange"], "name": "two"}, "fields": "name"})

    assert edit.book.named_ranges[0]["name"] == "two"
    _apply(edit, deleteNamedRange={"namedRangeId": one["namedRange"]["namedRangeId"]})
    assert not edit.book.named_ranges


def test_a_copied_sheet_has_objects_of_its_own(edit: Edit) -> None:
    """Protection and filters of the copy are about the copy."""
    _apply(edit, addProtectedRange={"protectedRange": {"range": _area(0, 1, 0, 3), "warningOnly": True}})
    made = _apply(edit, duplicateSheet={"sourceSheetId": 0, "newSheetName": "写し", "newSheetId": 7})
    copied = edit.book.sheet("写し").lists["protectedRanges"][0]

    assert made["duplicateSheet"]["properties"]["sheetId"] == 7
    assert copied["range"]["sheetId"] == 7
    assert copied["protectedRangeId"] != edit.book.sheet("S").lists["protectedRanges"][0]["protectedRangeId"]


def test_properties_follow_their_mask(edit: Edit) -> None:
    """The file's and a worksheet's; shrinking loses what lies beyond."""
    _apply(
        edit, updateSpreadsheetProperties={"properties": {"title": "新", "locale": "x"}, "fields": "title"}
    )
    new = {"sheetId": 0, "gridProperties": {"rowCount": 2, "frozenRowCount": 1}, "hidden": True}
    _apply(
        edit, updateSheetProperties={"properties": new, "fields": "gridProperties(rowCount,frozenRowCount)"}
    )

    assert (edit.book.properties["title"], edit.book.properties["locale"]) == ("新", "ja_JP")
    assert _told(edit)["properties"]["gridProperties"] == {
        "rowCount": 2,
        "columnCount": 26,
        "frozenRowCount": 1,
    }
    assert "hidden" not in _told(edit)["properties"]
    assert _rows(edit) == [["a", "b", "c"], ["1", "2", "3"]]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"updateSheetProperties": {"properties": {"title": ""}, "fields": "title"}}, "cannot be empty"),
        (
            {
                "updateSheetProperties": {
                    "properties": {"gridProperties": {"frozenRowCount": 1000}},
                    "fields": "gridProperties.frozenRowCount",
                }
            },
            "You can't freeze all visible rows",
        ),
        (
            {
                "insertDimension": {
                    "range": {**ROWS, "startIndex": 0, "endIndex": 1},
                    "inheritFromBefore": True,
                }
            },
            "inherit",
        ),
        ({"appendDimension": {**ROWS, "length": 0}}, "length"),
        ({"mergeCells": {"range": {"sheetId": 0, "startRowIndex": 5, "endRowIndex": 4}}}, "must be after"),
        ({"trimWhitespace": {"range": {}}}, "this server does not yet"),
        ({}, "No request set"),
    ],
)
def test_what_makes_no_sense_is_refused(edit: Edit, request_: dict[str, Any], message: str) -> None:
    """With the number and kind of the request."""
    with pytest.raises(ApiError, match="requests"):
        _apply(edit, **request_)
    with pytest.raises(ApiError, match=message):
        _apply(edit, **request_)


@pytest.mark.parametrize(
    ("text", "area"),
    [
        ("A1", Area(0, 1, 0, 1)),
        ("$B$2:D4", Area(1, 4, 1, 4)),
        ("D4:B2", Area(1, 4, 1, 4)),
        ("A:C", Area(0, None, 0, 3)),
        ("2:3", Area(1, 3, 0, None)),
        ("B2:B", Area(1, None, 1, 2)),
        ("AA10", Area(9, 10, 26, 27)),
        ("A0", None),
        ("ABCD1", None),
        ("", None),
        ("A", None),
    ],
)
def test_a1_notation(text: str, area: Area | None) -> None:
    """Cells, ranges, whole and open columns and rows."""
    assert parse_area(text) == area


def test_names_of_sheets_and_cells() -> None:
    """Quotes are doubled within quotes."""
    assert split_sheet("'It''s!'!A1") == ("It's!", "A1")
    assert split_sheet("会話!A1:B2") == ("会話", "A1:B2")
    assert split_sheet("A1") == (None, "A1")
    assert cell_name(9, 701) == "ZZ10"


@pytest.mark.parametrize(
    ("formula", "shift", "result"),
    [
        ("=SUM(B2:B10)+$B$2", inserted(0, "COLUMNS", 1, 1), "=SUM(C2:C10)+$C$2"),
        ("=SUM(B2:B)", inserted(0, "ROWS", 1, 3), "=SUM(B5:B)"),
        ("=SUM(A:B)", inserted(0, "COLUMNS", 1, 1), "=SUM(A:C)"),
        ('=COUNTIF(S!$2:$3,"A1")', deleted(0, "ROWS", 0, 1), '=COUNTIF(S!$1:$2,"A1")'),
        ("=S!B2+T!B2", deleted(0, "COLUMNS", 1, 2), "=#REF!+T!B2"),
        ("=A1&LOG10(5)", moved(0, "COLUMNS", 0, 1, 3), "=C1&LOG10(5)"),
    ],
)
def test_references_follow(formula: str, shift: Any, result: str) -> None:
    """Relative or absolute; text and functions are left alone."""
    assert shifted_formula(formula, shift, "S", True) == result


def test_renames_are_followed() -> None:
    """Within quotes or without; not within text."""
    assert renamed_in("=会話!A1&'会話'!A2&\"会話!\"", "会話", "Q&A") == "='Q&A'!A1&'Q&A'!A2&\"会話!\""


@pytest.mark.parametrize(
    ("value", "pattern", "text"),
    [
        (0.1234, {"type": "PERCENT", "pattern": "0.0%"}, "12.3%"),
        (1234567.5, {"type": "NUMBER", "pattern": "#,##0"}, "1,234,568"),
        (3, {"type": "NUMBER", "pattern": "0.0#"}, "3.0"),
        (-3, {"type": "NUMBER", "pattern": '0"点";△0"点"'}, "△3点"),
        (46347.5, {"type": "DATE_TIME", "pattern": "yyyy-mm-dd hh:mm"}, "2026-11-21 12:00"),
        (46347, {"type": "DATE"}, "2026/11/21"),
        (46347, {"type": "DATE", "pattern": 'yyyy"年"m"月"d"日"'}, "2026年11月21日"),
        (0.1 + 0.2, None, "0.3"),
        (1e21, None, "1E+21"),
    ],
)
def test_numbers_are_shown_by_their_pattern(value: float, pattern: Any, text: str) -> None:
    """Percent, thousands, optional digits, signs, dates."""
    assert displayed({"numberValue": value}, pattern) == text


def test_masks_are_trees() -> None:
    """Dots, slashes and brackets nest."""
    assert mask("sheets(properties.title,data/rowData),namedRanges", "Spreadsheet") == {
        "sheets": {"properties": {"title": {}}, "data": {"rowData": {}}},
        "namedRanges": {},
    }


def test_every_method_and_handler_is_in_googles_document() -> None:
    """Nothing is made up, and no method of Google's is missing."""
    from tests.servers.sheets_api import METHODS

    assert {method.name for method in methods()} == METHODS.keys() | {"spreadsheets.create"}
    assert document()["schemas"]["Request"].keys() > sheets_requests.HANDLERS.keys()
