"""What the Sheets server refuses, loses or delays, as Google does."""

import socket
from collections.abc import Iterator
from typing import Any

import gspread
import pytest
import requests
from google.auth.exceptions import RefreshError
from gspread.exceptions import APIError

from tests.servers.loopback import on_thread
from tests.servers.sheets import MARI, ROBOT, SheetsServer
from tests.servers.sheets_people import NotAllowed
from tests.servers.sheets_troubles import Trouble


@pytest.fixture
def server() -> Iterator[SheetsServer]:
    with on_thread(SheetsServer({"KEY": {"S": [["a", "b"], ["1", "2"]]}}, auth=True)) as running:
        running.share("KEY")
        yield running


@pytest.fixture
def book(server: SheetsServer) -> Any:
    return server.robot().open_by_key("KEY")


def _request(book: Any, **request: Any) -> Any:
    return book.batch_update({"requests": [request]})


def _range(**more: int) -> dict[str, int]:
    return {"startRowIndex": 0, "endRowIndex": 1, "startColumnIndex": 0, "endColumnIndex": 1, **more}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"updateCels": {}},
            "Invalid JSON payload received. Unknown name \"updateCels\" at 'requests[0]': Cannot find field.",
        ),
        (
            {"repeatCell": {"range": {}, "cell": {"notes": "x"}, "fields": "note"}},
            "Unknown name \"notes\" at 'requests[0].repeat_cell.cell': Cannot find field.",
        ),
        (
            {"deleteSheet": {"sheetId": "x"}},
            "Invalid value at 'requests[0].delete_sheet.sheet_id' (TYPE_INT32), \"x\"",
        ),
        (
            {"insertDimension": {"range": {"dimension": "ROW"}}},
            "Invalid value at 'requests[0].insert_dimension.range.dimension'",
        ),
        ({"repeatCell": {"cell": {"note": 1}, "fields": "note"}}, "cell.note' (TYPE_STRING), 1"),
        (
            {"addSheet": {}, "deleteSheet": {"sheetId": 0}},
            "oneof field 'kind' is already set. Cannot set 'deleteSheet'",
        ),
        (
            {
                "repeatCell": {
                    "cell": {"userEnteredValue": {"stringValue": "", "numberValue": 1}},
                    "fields": "*",
                }
            },
            "oneof field 'value' is already set",
        ),
        (
            {"repeatCell": {"range": _range(), "cell": {}, "fields": "userEnteredFormat.colour"}},
            "Invalid requests[0].repeatCell: Invalid field: userEnteredFormat.colour",
        ),
        ({"repeatCell": {"range": _range(), "cell": {}}}, "At least one field must be listed in 'fields'"),
        (
            {"repeatCell": {"range": {"sheetId": 9}, "cell": {}, "fields": "*"}},
            "repeatCell: No grid with id: 9",
        ),
        (
            {"repeatCell": {"range": _range(endRowIndex=1001), "cell": {}, "fields": "*"}},
            "repeatCell: Range (S!A1:A1001) exceeds grid limits. Max rows: 1000, max columns: 26",
        ),
        (
            {"addSheet": {"properties": {"title": "S"}}},
            'requests[0].addSheet: A sheet with the name "S" already exists. Please enter another name.',
        ),
        ({"deleteSheet": {"sheetId": 0}}, "You can't remove all the"),
        (
            {"addSheet": {"properties": {"gridProperties": {"rowCount": 1000000, "columnCount": 10}}}},
            "increase the number of cells in the workbook above the limit of 10000000 cells.",
        ),
        (
            {"deleteDimension": {"range": {"dimension": "ROWS", "startIndex": 0}}},
            "You can't delete all the rows on the sheet.",
        ),
        (
            {"deleteDimension": {"range": {"dimension": "ROWS", "startIndex": 999, "endIndex": 1005}}},
            "Cannot delete a row that doesn't exist.",
        ),
        (
            {
                "updateCells": {
                    "start": {"rowIndex": 0},
                    "fields": "userEnteredValue",
                    "rows": [{"values": [{"userEnteredValue": {"stringValue": "x" * 50001}}]}],
                }
            },
            "Your input contains more than the maximum of 50000 characters in a single cell.",
        ),
    ],
)
def test_a_wrong_request_is_told_so(book: Any, request_: dict[str, Any], message: str) -> None:
    """400 INVALID_ARGUMENT in Google's words."""
    with pytest.raises(APIError) as caught:
        _request(book, **request_)

    assert caught.value.code == 400
    assert caught.value.error["status"] == "INVALID_ARGUMENT"
    assert message in caught.value.error["message"]


def test_a_misspelt_field_is_named_in_the_details(book: Any) -> None:
    """As field violations, one for each."""
    with pytest.raises(APIError) as caught:
        _request(book, addSheet={"property": {}, "titel": ""})

    found = caught.value.error["details"][0]
    assert found["@type"] == "type.googleapis.com/google.rpc.BadRequest"
    assert [told["field"] for told in found["fieldViolations"]] == ["requests[0].add_sheet"] * 2


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"valueInputOptions": "RAW"}, 'Unknown name "valueInputOptions": Cannot bind query parameter.'),
        ({"valueInputOption": "raw"}, "Invalid value at 'value_input_option'"),
        ({}, "'valueInputOption' is required but not specified"),
    ],
)
def test_a_wrong_query_is_told_so(book: Any, query: dict[str, str], message: str) -> None:
    """Unknown and wrong parameters are refused."""
    with pytest.raises(APIError, match=message):
        book.values_update("S!A1", params=query, body={"values": [["x"]]})


@pytest.mark.parametrize(
    ("where", "values", "message"),
    [
        ("S!A1001", [["x"]], r"Range \(S!A1001\) exceeds grid limits. Max rows: 1000, max columns: 26"),
        ("S!Z1", [["x", "y"]], "exceeds grid limits"),
        ("S!A1:A2", [["x"], ["y"], ["z"]], r"within range \[S!A1:A2\], but tried writing to row \[3\]"),
        ("S!A1:A2", [["x", "y"]], r"tried writing to column \[B\]"),
        ("なし!A1", [["x"]], "Unable to parse range: なし!A1"),
        ("S!A1", [["x" * 50001]], "maximum of 50000 characters in a single cell"),
        ("S!A1", [[["x"]]], r"Invalid values\[0\]\[0\]: list_value"),
    ],
)
def test_wrong_values_are_told_so(book: Any, where: str, values: list[list[Any]], message: str) -> None:
    """Beyond the grid, beyond the range, too long, not a value."""
    with pytest.raises(APIError, match=message):
        book.values_update(where, params={"valueInputOption": "RAW"}, body={"values": values})


@pytest.mark.parametrize("fields", ["sheets.propertys", "sheets(properties", "properties, sheets"])
def test_a_wrong_mask_is_told_so(book: Any, fields: str) -> None:
    """Unknown names, open brackets and spaces."""
    with pytest.raises(APIError, match="Request contains an invalid argument"):
        book.fetch_sheet_metadata({"fields": fields})


def test_a_batch_is_all_or_nothing(server: SheetsServer, book: Any) -> None:
    """One refused request leaves everything as it was."""
    before = server.person("KEY").rows("S")
    bad = [
        {"updateCells": {"range": _range(), "rows": [], "fields": "*"}},
        {"insertDimension": {"range": {"dimension": "ROWS", "startIndex": 0, "endIndex": 5}}},
        {"addSheet": {"properties": {"title": "T"}}},
        {"deleteSheet": {"sheetId": 77}},
    ]
    with pytest.raises(APIError, match=r"Invalid requests\[3\].deleteSheet: No sheet with id: 77"):
        book.batch_update({"requests": bad})
    with pytest.raises(APIError, match=r"Invalid data\[1\]: Unable to parse range"):
        book.worksheet("S").spreadsheet.values_batch_update(
            {"valueInputOption": "RAW", "data": [{"range": "S!A1", "values": [["z"]]}, {"range": "T!A1"}]}
        )

    assert server.person("KEY").rows("S") == before
    assert [sheet.title for sheet in book.worksheets()] == ["S"]


def test_an_unshared_sheet_is_forbidden(server: SheetsServer) -> None:
    """403 for those it is not shared with, and for readers who write; 404 for one that is not there."""
    stranger = server.robot("other@project.iam.gserviceaccount.com")
    with pytest.raises(PermissionError):
        stranger.open_by_key("KEY")
    with pytest.raises(gspread.SpreadsheetNotFound):
        stranger.open_by_key("NONE")
    server.share("KEY", "other@project.iam.gserviceaccount.com", "reader")
    sheet = stranger.open_by_key("KEY").sheet1
    with pytest.raises(APIError, match="The caller does not have permission"):
        sheet.update([["x"]], "A1")


def test_tokens_are_looked_at(server: SheetsServer, book: Any) -> None:
    """None, an unknown one, an expired one, too narrow a scope."""
    address = f"{server.url}/v4/spreadsheets/KEY"
    missing = requests.get(address, timeout=5).json()["error"]
    unknown = requests.get(address, timeout=5, headers={"Authorization": "Bearer x"})
    narrow = server.robot(scopes=("https://www.googleapis.com/auth/calendar",))
    reader = server.robot(scopes=("https://www.googleapis.com/auth/spreadsheets.readonly",))

    assert (missing["code"], missing["status"]) == (401, "UNAUTHENTICATED")
    assert missing["details"][0]["reason"] == "CREDENTIALS_MISSING"
    assert unknown.status_code == 401
    with pytest.raises(PermissionError):
        narrow.open_by_key("KEY")
    with pytest.raises(APIError, match="insufficient authentication scopes"):
        reader.open_by_key("KEY").sheet1.update([["x"]], "A1")
    exchanges = server.accounts.exchanges
    server.accounts.tokens.clear()
    assert book.sheet1.acell("A1").value == "a"
    assert server.accounts.exchanges == exchanges + 1, "google-auth asks for another token after 401"


def test_a_key_that_was_taken_back_is_refused(server: SheetsServer) -> None:
    """Another key's signature and a deleted account get no token; so does a revoked person."""
    person = server.signed_in()
    assert person.open_by_key("KEY").title == "t"
    server.accounts.revoke(MARI)
    server.accounts.revoke(ROBOT)
    for client in (server.robot(), person):
        with pytest.raises(RefreshError, match="invalid_grant"):
            client.open_by_key("KEY")


def test_a_disabled_api_names_its_switch(server: SheetsServer) -> None:
    """403 SERVICE_DISABLED with the address to visit."""
    server.disabled = {"sheets"}
    with pytest.raises(PermissionError) as caught:
        server.robot().open_by_key("KEY")

    error = caught.value.__cause__
    assert isinstance(error, APIError)
    assert "Google Sheets API has not been used in project 123456789012 before or it is disabled" in str(
        error
    )
    info = error.error["details"][0]
    assert info["reason"] == "SERVICE_DISABLED"
    assert info["metadata"]["activationUrl"].endswith("sheets.googleapis.com/overview?project=123456789012")


def test_a_domain_may_forbid_apps(server: SheetsServer) -> None:
    """403 domainPolicy."""
    server.domain_policy = True
    with pytest.raises(APIError) as caught:
        server.robot().list_spreadsheet_files()

    assert caught.value.error["errors"][0]["reason"] == "domainPolicy"


def test_a_service_account_has_no_drive(server: SheetsServer) -> None:
    """It creates files in shared drives only; a person anywhere."""
    robot = server.robot()
    plain, drive = server.folder(ROBOT), server.folder(ROBOT, shared_drive=True)
    for folder in (None, plain):
        with pytest.raises(APIError, match="The user's Drive storage quota has been exceeded"):
            robot.create("new", folder)
    made = robot.create("new", drive)
    made.share("mari@example.com", "user", "writer", notify=False)
    own = server.signed_in().create("own")

    assert [s.title for s in made.worksheets()] == ["シート1"]
    assert {p["emailAddress"] for p in made.list_permissions()} == {"mari@example.com"}
    assert server.signed_in().open("own").id == own.id
    assert {f["name"] for f in robot.list_spreadsheet_files()} == {"t", "new"}


def test_quotas_run_out_and_refill(server: SheetsServer, book: Any) -> None:
    """The third write of a minute is 429 in Google's body; a minute later it goes."""
    moment = [0.0]
    server.quota.writes, server.quota.clock, server.quota.retry_after = 2, lambda: moment[0], 7
    for _ in range(2):
        book.sheet1.update([["x"]], "A1")
    with pytest.raises(APIError) as caught:
        book.sheet1.update([["y"]], "A1")

    assert caught.value.error["status"] == "RESOURCE_EXHAUSTED"
    assert (
        "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute per user'"
        in str(caught.value)
    )
    assert caught.value.response.headers["Retry-After"] == "7"
    moment[0] = 61.0
    book.sheet1.update([["y"]], "A1")


def test_trouble_comes_as_ordered(server: SheetsServer, book: Any) -> None:
    """A 502 in HTML, a 503 in JSON, a reset, a slow answer; then all is well."""
    server.troubles = [
        Trouble.status(502, on="write"),
        Trouble.status(503, on="spreadsheets.values.update", html=False),
        Trouble.reset(on="write"),
        Trouble.slow(0.05, on="write"),
    ]
    sheet = book.sheet1
    for code in (-1, 503):
        with pytest.raises(APIError) as caught:
            sheet.update([["x"]], "A1")
        assert caught.value.code == code
    with pytest.raises(requests.ConnectionError):
        sheet.update([["x"]], "A1")
    assert sheet.acell("A1").value == "a"
    sheet.update([["x"]], "A1")

    assert [entry.status for entry in server.log.of("spreadsheets.values.update")] == [502, 503, 0, 200]
    assert server.log.of("spreadsheets.values.update")[-1].seconds >= 0.04


def test_a_reply_can_be_lost_after_the_write(server: SheetsServer, book: Any) -> None:
    """The rows are there although the client saw the connection break."""
    server.troubles = [Trouble.lost_reply()]
    with pytest.raises(requests.ConnectionError):
        book.sheet1.append_row(["3", "4"])

    assert book.sheet1.get_all_values()[-1] == ["3", "4"]


def test_protection_holds_for_others(server: SheetsServer, book: Any) -> None:
    """Editors and the owner may edit; others may not; a warning stops no program."""
    other = "other@project.iam.gserviceaccount.com"
    server.share("KEY", other)
    server.share("KEY", "ken@example.com")
    book.sheet1.add_protected_range("A1:A2", [ROBOT])
    book.sheet1.add_protected_range("B1:B2", [], warning_only=True, description="自動で書かれます")
    book.sheet1.update([["x"]], "A1")
    sheet = server.robot(other).open_by_key("KEY").sheet1
    with pytest.raises(APIError, match="You are trying to edit a protected cell or object"):
        sheet.update([["y"]], "A1")
    sheet.update([["y"]], "B1")

    ken = server.person("KEY", "ken@example.com")
    with pytest.raises(NotAllowed, match="protected"):
        ken.type("S", "A1", "z")
    ken.type("S", "B1", "z")
    assert ken.warnings == ["自動で書かれます"]
    server.person("KEY").type("S", "A1", "owner")
    assert book.sheet1.row_values(1) == ["owner", "z"]


def test_only_this_machine_is_listened_on(server: SheetsServer) -> None:
    """The address is a loopback one."""
    host = server.url.split("/")[2].split(":")[0]

    assert socket.gethostbyname(host).startswith("127.")
