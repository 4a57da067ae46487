"""The Sheets server refuses what Google refuses and moves what Google moves, for the real gspread."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import gspread
import pytest
import requests
from google.auth.exceptions import RefreshError
from gspread.exceptions import APIError

from tests.servers.loopback import on_thread
from tests.servers.sheets import ROBOT, SheetsServer
from tests.servers.sheets_a1 import Area, parse_area
from tests.servers.sheets_api import METHODS
from tests.servers.sheets_auth import JWT_GRANT
from tests.servers.sheets_client import by_service_account
from tests.servers.sheets_people import NotAllowed, Person
from tests.servers.sheets_requests import HANDLERS
from tests.servers.sheets_schema import document, mask, methods
from tests.servers.sheets_troubles import Trouble

TABLE = [["ID", "質問", "判定"], ["1", "送料", ""], ["2", "返品", ""], ["3", "在庫", ""]]
OTHER = "other@project.iam.gserviceaccount.com"


@pytest.fixture
def server() -> Iterator[SheetsServer]:
    with on_thread(SheetsServer({"KEY": {"S": TABLE}}, auth=True)) as running:
        running.share("KEY")
        yield running


@pytest.fixture
def book(server: SheetsServer) -> Any:
    return server.robot().open_by_key("KEY")


@pytest.fixture
def mari(server: SheetsServer) -> Person:
    return server.person("KEY")


def apply(book: Any, **request: Any) -> Any:
    """One request of a batch, and its reply."""
    return book.batch_update({"requests": [request]})["replies"][0]


def post(book: Any, method: str, body: dict[str, Any]) -> Any:
    """A call that gspread has no word for."""
    address = f"https://sheets.googleapis.com/v4/spreadsheets/{book.id}{method}"
    return book.client.request("post", address, json=body).json()


def area(top: int, bottom: int, left: int, right: int) -> dict[str, int]:
    """A GridRange on the first worksheet."""
    rows = {"sheetId": 0, "startRowIndex": top, "endRowIndex": bottom}
    return {**rows, "startColumnIndex": left, "endColumnIndex": right}


def span(dimension: str, start: int, end: int) -> dict[str, Any]:
    """A DimensionRange on the first worksheet."""
    return {"sheetId": 0, "dimension": dimension, "startIndex": start, "endIndex": end}


def cells(book: Any) -> list[Any]:
    """The rows of the first worksheet with their cells, as the API shows them."""
    data = book.fetch_sheet_metadata({"includeGridData": "true"})["sheets"][0]["data"][0]
    return [row.get("values", []) for row in data["rowData"]]


def tag(number: int, dimension: str, index: int, key: str, value: str = "", **more: Any) -> dict[str, Any]:
    """A request for metadata on a row or a column."""
    place = {"location": {"dimensionRange": span(dimension, index, index + 1)}}
    told = {"metadataId": number, "metadataKey": key, "metadataValue": value, "visibility": "DOCUMENT"}
    return {"createDeveloperMetadata": {"developerMetadata": {**told, **place, **more}}}


def places(server: SheetsServer) -> dict[str, int]:
    """Where metadata stands now, by its value."""
    known = server.book("KEY").metadata
    return {told["metadataValue"]: told["location"]["dimensionRange"]["startIndex"] for told in known}


def test_formats_and_notes_stick(book: Any) -> None:
    """They are read back; a colour is found under both of its names; a mask leaves the rest alone."""
    red = {"red": 0.98, "green": 0.85, "blue": 0.85}
    look = {"backgroundColor": red, "textFormat": {"bold": True}}
    start = {"sheetId": 0, "rowIndex": 1, "columnIndex": 1}
    note = {"userEnteredValue": {"stringValue": "=x"}, "note": "訳あり"}
    written = {"start": start, "rows": [{"values": [note]}], "fields": "userEnteredValue,note"}
    wrap = {"wrapStrategy": "WRAP"}
    for given, fields in ((look, "userEnteredFormat"), (wrap, "userEnteredFormat.wrapStrategy")):
        told = {"cell": {"userEnteredFormat": given}, "fields": fields}
        apply(book, repeatCell={"range": area(1, 2, 1, 2), **told})
    apply(book, updateCells=written)
    cell = cells(book)[1][1]

    assert cell["userEnteredFormat"] == {**look, **wrap, "backgroundColorStyle": {"rgbColor": red}}
    assert cell["userEnteredValue"] == cell["effectiveValue"] == {"stringValue": "=x"}
    assert cell["note"] == "訳あり"
    apply(book, updateCells={"start": start, "rows": [{"values": [{}]}], "fields": "note"})
    assert "note" not in cells(book)[1][1], "a field that is named and not given is cleared"


def test_rows_and_columns_move_what_is_bound_to_them(server: SheetsServer, book: Any, mari: Person) -> None:
    """Inserting, moving and deleting carry cells, filters, protection and metadata along."""
    apply(book, addProtectedRange={"protectedRange": {"range": area(0, 4, 2, 3), "warningOnly": True}})
    apply(book, setBasicFilter={"filter": {"range": area(0, 4, 0, 3)}})
    columns = [tag(n + 1, "COLUMNS", n, "column", key) for n, key in enumerate(("id", "question", "label"))]
    rows = [tag(n + 10, "ROWS", n, "row", str(n)) for n in (1, 2, 3)]
    book.batch_update({"requests": [*columns, *rows]})
    mari.insert_columns("S", "質問", 2)
    mari.rename_header("S", "判定", "合否")
    mari.move_column("S", "合否", "ID")
    mari.insert_rows("S", 1, 3)
    mari.delete_rows("S", 6)
    mari.rename_sheet("S", "おはなし")
    told = book.fetch_sheet_metadata()["sheets"][0]

    assert places(server) == {"id": 1, "question": 4, "label": 0, "1": 4, "3": 5}
    assert mari.rows("おはなし")[3] == ["合否", "ID", "", "", "質問"]
    assert (told["protectedRanges"][0]["range"], told["basicFilter"]["range"]["endColumnIndex"]) == (
        {**area(3, 6, 0, 1)}, 5,
    )  # fmt: skip
    mari.delete_columns("おはなし", "A")
    assert "protectedRanges" not in book.fetch_sheet_metadata()["sheets"][0]
    assert "label" not in places(server)


def test_a_sort_leaves_row_metadata_behind(server: SheetsServer, book: Any, mari: Person) -> None:
    """Cells and notes go; whether tags of rows would, Google's documents do not say."""
    book.batch_update({"requests": [tag(n, "ROWS", n, "row", str(n)) for n in (1, 2, 3)]})
    mari.note("S", "A2", "覚え書き")
    mari.sort("S", "A2:C4", "ID", descending=True)

    assert [row[0] for row in mari.rows("S")] == ["ID", "3", "2", "1"]
    assert cells(book)[3][0]["note"] == "覚え書き"
    assert places(server) == {"1": 1, "2": 2, "3": 3}


def test_values_and_metadata_are_written_by_filter(server: SheetsServer, book: Any, mari: Person) -> None:
    """Wherever the column went, its values come by its key; one that is gone gets nothing."""
    apply(book, **tag(7, "COLUMNS", 2, "label"))
    mari.insert_columns("S", "ID", 1)
    one = {"developerMetadataLookup": {"metadataId": 7}}
    data = [{"dataFilter": one, "majorDimension": "COLUMNS", "values": [["判定", "=1+1", None, "×"]]}]
    mari.type("S", "D3", "△")
    wrote = post(book, "/values:batchUpdateByDataFilter", {"valueInputOption": "RAW", "data": data})
    update = {"dataFilters": [one], "developerMetadata": {"metadataValue": "new"}, "fields": "metadataValue"}
    apply(book, updateDeveloperMetadata=update)

    assert wrote["totalUpdatedCells"] == 3
    assert [row[3:] for row in mari.rows("S")] == [["判定"], ["=1+1"], ["△"], ["×"]]
    assert places(server) == {"new": 3}
    mari.delete_columns("S", "D")
    lost = post(book, "/values:batchUpdateByDataFilter", {"valueInputOption": "RAW", "data": data})
    assert lost["totalUpdatedCells"] == 0


def test_a_part_is_read_by_filter(book: Any) -> None:
    """Only the rows that were asked for, with what is bound to them."""
    apply(book, **tag(1, "ROWS", 2, "row", "2"))
    body = {"dataFilters": [{"gridRange": area(2, 3, 0, 3)}], "includeGridData": True}
    data = post(book, ":getByDataFilter", body)["sheets"][0]["data"][0]

    assert data["startRow"] == 2
    assert data["rowData"][0]["values"][1]["formattedValue"] == "返品"
    assert data["rowMetadata"][0]["developerMetadata"][0]["metadataValue"] == "2"


def test_metadata_of_another_project_is_not_seen(server: SheetsServer, book: Any) -> None:
    """PROJECT visibility is for the project that wrote it."""
    own = {"metadataKey": "own", "visibility": "PROJECT", "location": {"spreadsheet": True}}
    apply(book, createDeveloperMetadata={"developerMetadata": own})
    other = server.service_account("else@b.iam.gserviceaccount.com", "999")
    server.share("KEY", other["client_email"])

    assert book.fetch_sheet_metadata()["developerMetadata"][0]["metadataKey"] == "own"
    seen = by_service_account(other, server.url).open_by_key("KEY").fetch_sheet_metadata()
    assert "developerMetadata" not in seen


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("=1+1", "2"), ("=1/0", "#DIV/0!"), ("=NOPE(1)", "#NAME?"), ("'=1", "=1"), ("1,234.5", "1234.5"),
        ("TRUE", "TRUE"), ("2026-11-21", "2026/11/21"), ("001-2", "001-2"), ("よい", "よい"),
    ],
)  # fmt: skip
def test_people_type_as_in_a_browser(book: Any, mari: Person, typed: str, shown: str) -> None:
    """Formulas, numbers and dates are read as such; an apostrophe keeps text."""
    mari.type("S", "A2", typed)

    assert mari.read("S", "A2") == shown
    assert cells(book)[1][0]["formattedValue"] == shown


def test_a_filter_hides_rows_and_keeps_values(book: Any, mari: Person) -> None:
    """Hidden rows are told as such."""
    mari.filter("S", "質問", ["返品"])
    data = book.fetch_sheet_metadata({"includeGridData": "true"})["sheets"][0]["data"][0]

    assert [row.get("hiddenByFilter") for row in data["rowMetadata"][:4]] == [None, None, True, None]
    assert mari.rows("S") == TABLE


def test_a_page_shows_what_was_made(server: SheetsServer, mari: Person) -> None:
    """Text is escaped, notes are titles, fills are colours."""
    mari.type("S", "A2", "<b>x</b>")
    mari.note("S", "A2", 'a "note"')
    mari.paint("S", "A2:A2", {"red": 1})
    page = requests.get(f"{server.url}/spreadsheets/d/KEY/view", timeout=5).text

    for part in ("&lt;b&gt;x&lt;/b&gt;", 'title="a &quot;note&quot;"', "background-color:#ff0000"):
        assert part in page


CELL = {"userEnteredValue": {"stringValue": "", "numberValue": 1}}
LONG = {"values": [{"userEnteredValue": {"stringValue": "x" * 50001}}]}
METADATA = {"metadataKey": "k", "visibility": "DOCUMENT", "location": {"sheetId": 0}}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "No request set"),
    ({"trimWhitespace": {"range": {}}}, "this server does not yet"),
    ({"updateCels": {}}, "Unknown name \"updateCels\" at 'requests[0]': Cannot find field."),
    ({"repeatCell": {"range": {}, "cell": {"notes": "x"}, "fields": "note"}},
     "Unknown name \"notes\" at 'requests[0].repeat_cell.cell': Cannot find field."),
    ({"deleteSheet": {"sheetId": "x"}},
     "Invalid value at 'requests[0].delete_sheet.sheet_id' (TYPE_INT32), \"x\""),
    ({"insertDimension": {"range": {"dimension": "ROW"}}}, "Invalid value at 'requests[0].insert_"),
    ({"repeatCell": {"cell": {"note": 1}, "fields": "note"}}, "cell.note' (TYPE_STRING), 1"),
    ({"addSheet": {}, "deleteSheet": {"sheetId": 0}}, "oneof field 'kind' is already set"),
    ({"repeatCell": {"cell": CELL, "fields": "*"}}, "oneof field 'value' is already set"),
    ({"repeatCell": {"range": area(0, 1, 0, 1), "cell": {}, "fields": "userEnteredFormat.colour"}},
     "Invalid requests[0].repeatCell: Invalid field: userEnteredFormat.colour"),
    ({"repeatCell": {"range": area(0, 1, 0, 1), "cell": {}}}, "At least one field must be listed"),
    ({"repeatCell": {"range": {"sheetId": 9}, "cell": {}, "fields": "*"}}, "repeatCell: No grid with id: 9"),
    ({"repeatCell": {"range": area(0, 1001, 0, 1), "cell": {}, "fields": "*"}},
     "Range (S!A1:A1001) exceeds grid limits. Max rows: 1000, max columns: 26"),
    ({"addSheet": {"properties": {"title": "S"}}}, 'A sheet with the name "S" already exists.'),
    ({"addSheet": {"properties": {"gridProperties": {"rowCount": 1000000, "columnCount": 10}}}},
     "increase the number of cells in the workbook above the limit of 10000000 cells."),
    ({"deleteSheet": {"sheetId": 0}}, "You can't remove all the"),
    ({"deleteDimension": {"range": {"sheetId": 0, "dimension": "ROWS"}}}, "You can't delete all the rows"),
    ({"deleteDimension": {"range": span("ROWS", 999, 1005)}}, "Cannot delete a row that doesn't exist."),
    ({"insertDimension": {"range": span("ROWS", 0, 1), "inheritFromBefore": True}}, "inherit"),
    ({"appendDimension": {"sheetId": 0, "dimension": "ROWS", "length": 0}}, "length"),
    ({"updateCells": {"start": {"rowIndex": 0}, "fields": "userEnteredValue", "rows": [LONG]}},
     "more than the maximum of 50000 characters in a single cell."),
    *[({"createDeveloperMetadata": {"developerMetadata": METADATA | wrong}}, message) for wrong, message in (
        ({"metadataKey": ""}, "metadataKey must be set"), ({"visibility": None}, "visibility must be set"),
        ({"location": None}, "location must be set"), ({"metadataValue": "x" * 30001}, "exceeds the limit"),
    )],
]  # fmt: skip


@pytest.mark.parametrize(("request_", "message"), WRONG)
def test_a_wrong_request_is_told_so(book: Any, request_: dict[str, Any], message: str) -> None:
    """In Google's words, with the number and the kind of the request."""
    with pytest.raises(APIError) as caught:
        apply(book, **request_)

    assert caught.value.error["status"] == ("UNIMPLEMENTED" if "not yet" in message else "INVALID_ARGUMENT")
    assert message in caught.value.error["message"]


@pytest.mark.parametrize("body", ["{", "[]", '{"requests": [NaN]}'])
def test_what_is_no_json_is_refused(server: SheetsServer, book: Any, body: str) -> None:
    """As Google words it."""
    token = next(iter(server.accounts.tokens))
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    answer = requests.post(
        f"{server.url}/v4/spreadsheets/KEY:batchUpdate", data=body, headers=headers, timeout=5
    )

    assert answer.status_code == 400
    assert json.loads(answer.text)["error"]["message"].startswith("Invalid JSON payload received.")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"includeGridDatum": "true"}, "Cannot bind query parameter"),
        ({"includeGridData": "yes"}, "Invalid value at 'include_grid_data'"),
        ({"fields": "sheets.propertys"}, "Request contains an invalid argument"),
        ({"fields": "sheets(properties"}, "Request contains an invalid argument"),
        ({"fields": "properties, sheets"}, "Request contains an invalid argument"),
    ],
)
def test_a_wrong_query_is_told_so(book: Any, query: dict[str, str], message: str) -> None:
    """Unknown and wrong parameters are refused; so are masks with unknown names, open brackets and spaces."""
    with pytest.raises(APIError, match=message):
        book.fetch_sheet_metadata(query)


def test_masks_are_trees() -> None:
    """Dots, slashes and brackets nest."""
    rows: dict[str, Any] = {"properties": {"title": {}}, "data": {"rowData": {}}}
    told = mask("sheets(properties.title,data/rowData),namedRanges", "Spreadsheet")

    assert told == {"sheets": rows, "namedRanges": {}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A1", Area(0, 1, 0, 1)), ("D4:B2", Area(1, 4, 1, 4)), ("A:C", Area(0, None, 0, 3)),
        ("2:3", Area(1, 3, 0, None)), ("B2:B", Area(1, None, 1, 2)), ("AA10", Area(9, 10, 26, 27)),
        ("A0", None), ("ABCD1", None), ("", None), ("A", None),
    ],
)  # fmt: skip
def test_a1_notation(text: str, expected: Area | None) -> None:
    """Cells, ranges, whole and open columns and rows."""
    assert parse_area(text) == expected


def test_every_method_and_request_is_in_googles_document() -> None:
    """Nothing is made up."""
    assert METHODS.keys() < {method.name for method in methods()}
    assert document()["schemas"]["Request"].keys() > HANDLERS.keys()


def test_a_batch_is_all_or_nothing(server: SheetsServer, book: Any, mari: Person) -> None:
    """One refused request leaves everything as it was."""
    bad = [
        {"updateCells": {"range": area(0, 1, 0, 1), "rows": [], "fields": "*"}},
        {"insertDimension": {"range": span("ROWS", 0, 5)}},
        {"addSheet": {"properties": {"title": "T"}}},
        {"deleteSheet": {"sheetId": 77}},
    ]
    with pytest.raises(APIError, match=r"Invalid requests\[3\].deleteSheet: No sheet with id: 77"):
        book.batch_update({"requests": bad})

    assert mari.rows("S") == TABLE
    assert [sheet.title for sheet in server.book("KEY").sheets] == ["S"]


def test_an_unshared_sheet_is_forbidden(server: SheetsServer) -> None:
    """403 for those it is not shared with, and for readers who write; 404 for one that is not there."""
    stranger = server.robot(OTHER)
    with pytest.raises(PermissionError):
        stranger.open_by_key("KEY")
    with pytest.raises(gspread.SpreadsheetNotFound):
        stranger.open_by_key("NONE")
    server.share("KEY", OTHER, "reader")
    book = stranger.open_by_key("KEY")
    with pytest.raises(APIError, match="The caller does not have permission"):
        apply(book, addSheet={})


def test_tokens_are_looked_at(server: SheetsServer, book: Any) -> None:
    """None, an unknown one, too narrow a scope, an expired one, another key's, a revoked account's."""
    address = f"{server.url}/v4/spreadsheets/KEY"
    for headers in ({}, {"Authorization": "Bearer x"}):
        assert requests.get(address, timeout=5, headers=headers).status_code == 401
    narrow = by_service_account(
        server.service_account(), server.url, scopes=("https://www.googleapis.com/auth/calendar",)
    )
    with pytest.raises(PermissionError):
        narrow.open_by_key("KEY")
    exchanges = server.accounts.exchanges
    server.accounts.tokens.clear()
    assert book.fetch_sheet_metadata()
    assert server.accounts.exchanges == exchanges + 1, "google-auth asks for another token after 401"
    server.accounts.revoke(ROBOT)
    with pytest.raises(RefreshError, match="invalid_grant"):
        server.robot().open_by_key("KEY")


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "refresh_token", "refresh_token": "x"}, "invalid_client"),
        (
            {"grant_type": JWT_GRANT, "assertion": "a.b.c"},
            "invalid_grant",
        ),
    ],
)
def test_the_token_endpoint_is_strict(server: SheetsServer, form: dict[str, str], error: str) -> None:
    """Unknown grants, clients and signatures get nothing."""
    answer = requests.post(server.token_uri, data=form, timeout=5)

    assert answer.status_code in (400, 401)
    assert answer.json()["error"] == error


def test_a_disabled_api_names_its_switch(server: SheetsServer) -> None:
    """403 SERVICE_DISABLED with the address to visit."""
    server.disabled = {"sheets"}
    with pytest.raises(PermissionError) as caught:
        server.robot().open_by_key("KEY")

    error = caught.value.__cause__
    assert isinstance(error, APIError)
    assert "has not been used in project 123456789012 before or it is disabled" in str(error)
    metadata = error.error["details"][0]["metadata"]
    assert metadata["activationUrl"].endswith("sheets.googleapis.com/overview?project=123456789012")


def test_a_service_account_has_no_drive(server: SheetsServer) -> None:
    """It creates files in shared drives only, and none where a domain forbids apps."""
    robot = server.robot()
    plain, drive = server.folder(ROBOT), server.folder(ROBOT, shared_drive=True)
    for folder in (None, plain):
        with pytest.raises(APIError, match="The user's Drive storage quota has been exceeded"):
            robot.create("new", folder)
    made = robot.create("new", drive)

    assert [sheet.title for sheet in made.worksheets()] == ["シート1"]
    server.domain_policy = True
    with pytest.raises(APIError, match="administrators have disabled Drive apps"):
        robot.create("new", drive)


def test_quotas_run_out_and_refill(server: SheetsServer, book: Any) -> None:
    """The third write of a minute is 429 in Google's body; a minute later it goes."""
    moment = [0.0]
    server.quota.writes, server.quota.clock, server.quota.retry_after = 2, lambda: moment[0], 7
    for _ in range(2):
        apply(book, addSheet={})
    with pytest.raises(APIError) as caught:
        apply(book, addSheet={})

    assert caught.value.error["status"] == "RESOURCE_EXHAUSTED"
    assert "limit 'Write requests per minute per user'" in str(caught.value)
    assert caught.value.response.headers["Retry-After"] == "7"
    moment[0] = 61.0
    apply(book, addSheet={})


def test_trouble_comes_as_ordered(server: SheetsServer, book: Any) -> None:
    """A 502 in HTML, a 503 in JSON, a reset before anything is done, a slow answer, a reply that is lost."""
    server.troubles = [
        Trouble.status(502, on="write"),
        Trouble.status(503, on="spreadsheets.batchUpdate", html=False),
        Trouble.reset(on="write"),
        Trouble.slow(0.05, on="write"),
        Trouble.lost_reply(),
    ]
    for code in (-1, 503):
        with pytest.raises(APIError) as caught:
            apply(book, addSheet={})
        assert caught.value.code == code
    with pytest.raises(requests.ConnectionError):
        apply(book, addSheet={})
    assert len(book.worksheets()) == 1
    apply(book, addSheet={})
    with pytest.raises(requests.ConnectionError):
        apply(book, addSheet={})

    assert len(book.worksheets()) == 3, "it was carried out although the client saw the connection break"
    written = [entry for entry in server.log if entry.access == "write"]
    assert [entry.status for entry in written] == [502, 503, 0, 200, 0]
    assert written[3].seconds >= 0.04


def test_protection_holds_for_others(server: SheetsServer, book: Any, mari: Person) -> None:
    """Editors and the owner may edit; others may not; a warning stops no program."""
    server.share("KEY", OTHER)
    server.share("KEY", "ken@example.com")
    apply(book, addProtectedRange={"protectedRange": {"range": area(0, 2, 0, 1)}})
    warned = {"range": area(0, 2, 1, 2), "warningOnly": True, "description": "自動で書かれます"}
    apply(book, addProtectedRange={"protectedRange": warned})
    other = server.robot(OTHER).open_by_key("KEY")

    def write(to: Any, column: int) -> None:
        cell = {"userEnteredValue": {"stringValue": "x"}}
        apply(
            to,
            repeatCell={"range": area(0, 1, column, column + 1), "cell": cell, "fields": "userEnteredValue"},
        )

    write(book, 0)
    with pytest.raises(APIError, match="You are trying to edit a protected cell or object"):
        write(other, 0)
    write(other, 1)
    ken = server.person("KEY", "ken@example.com")
    with pytest.raises(NotAllowed, match="protected"):
        ken.type("S", "A1", "z")
    ken.type("S", "B1", "z")
    assert ken.warnings == ["自動で書かれます"]
    mari.type("S", "A1", "owner")
    assert mari.rows("S")[0][:2] == ["owner", "z"]


def test_only_this_machine_is_listened_on(server: SheetsServer) -> None:
    """The address is a loopback one."""
    assert socket.gethostbyname(server.url.split("/")[2].split(":")[0]).startswith("127.")
