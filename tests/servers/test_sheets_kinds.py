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


def test_new_rows_look_like_their_neighbours(edit: Edit) -> None:
    """Above or below, as asked; values are not copied."""
    bold = {"userEnteredFormat": {"textFormat": {"bold": True}}}
    _apply(edit, repeatCell={"range": _area(0, 1, 0, 3), "cell": bold, "fields": "userEnteredFormat"})
    span = {"range": {**ROWS, "startIndex": 1, "endIndex": 2}}
    _apply(edit, insertDimension={**span, "inheritFromBefore": True})
    _apply(edit, insertDimension={"range": {**ROWS, "startIndex": 2, "endIndex": 3}})

    assert edit.book.sheets[0].grid.get(1, 0) == bold
    assert edit.book.sheets[0].grid.get(2, 0) == {}


def test_a_copied_sheet_has_objects_of_its_own(edit: Edit) -> None:
    """Protection and filters of the copy are about the copy."""
    _apply(edit, addProtectedRange={"protectedRange": {"range": _area(0, 1, 0, 3), "warningOnly": True}})
    made = _apply(edit, duplicateSheet={"sourceSheetId": 0, "newSheetName": "写し", "newSheetId": 7})
    copied = edit.book.sheet("写し").lists["protectedRanges"][0]

    assert made["duplicateSheet"]["properties"]["sheetId"] == 7
    assert copied["range"]["sheetId"] == 7
    assert copied["protectedRangeId"] != edit.book.sheet("S").lists["protectedRanges"][0]["protectedRangeId"]


def test_properties_follow_their_mask(edit: Edit) -> None:
    """Shrinking loses what lies beyond."""
    new = {"sheetId": 0, "gridProperties": {"rowCount": 2, "frozenRowCount": 1}, "hidden": True}
    _apply(
        edit, updateSheetProperties={"properties": new, "fields": "gridProperties(rowCount,frozenRowCount)"}
    )

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
