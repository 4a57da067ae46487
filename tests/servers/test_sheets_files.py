"""Files and the rarer calls of gspread against the Sheets server."""

import json
from collections.abc import Iterator
from typing import Any

import gspread
import pytest
import requests
from gspread.exceptions import APIError

from tests.servers.loopback import on_thread
from tests.servers.sheets import MARI, ROBOT, SheetsServer
from tests.servers.sheets_people import NotAllowed

TABLE = [["名", "点"], ["あ", "1"], ["い", "2"]]


@pytest.fixture
def server() -> Iterator[SheetsServer]:
    with on_thread(SheetsServer({"KEY": {"S": TABLE, "T": [["q"]]}}, auth=True)) as running:
        running.share("KEY")
        yield running


@pytest.fixture
def book(server: SheetsServer) -> Any:
    return server.robot().open_by_key("KEY")


def test_a_file_is_copied_shared_and_deleted(server: SheetsServer) -> None:
    """By a person; only the owner may delete."""
    mari = server.signed_in()
    copied = mari.copy("KEY", "写し")
    copied.share("ken@example.com", "user", "writer", notify=False)
    copied.share(None, "anyone", "reader")
    ken = server.signed_in("ken@example.com")

    assert [s.title for s in ken.open("写し").worksheets()] == ["S", "T"]
    assert {p["type"] for p in copied.list_permissions()} == {"user", "anyone"}
    with pytest.raises(APIError, match="sufficient permissions"):
        ken.del_spreadsheet(copied.id)
    copied.remove_permissions("ken@example.com", "any")
    assert ken.open_by_key(copied.id).title == "写し", "anybody may read it"
    mari.del_spreadsheet(copied.id)
    with pytest.raises(gspread.SpreadsheetNotFound):
        mari.open_by_key(copied.id)


def test_a_domain_can_be_shared_with(server: SheetsServer) -> None:
    """Everybody there may write."""
    server.share("KEY", "domain:example.org")
    server.signed_in("any@example.org").open_by_key("KEY").sheet1.update([["x"]], "A1")

    assert server.person("KEY").read("S", "A1") == "x"


def test_a_file_is_made_by_the_sheets_api(server: SheetsServer) -> None:
    """By a person with worksheets as told; a service account has no room for it."""
    body = {"properties": {"title": "新"}, "sheets": [{"properties": {"title": "一"}}]}
    address = "https://sheets.googleapis.com/v4/spreadsheets"
    made = server.signed_in().http_client.request("post", address, json=body).json()
    with pytest.raises(APIError, match="storage quota"):
        server.robot().http_client.request("post", address, json=body)

    assert made["sheets"][0]["properties"]["title"] == "一"
    assert server.book(made["spreadsheetId"]).permissions == {MARI: "owner"}


def test_a_worksheet_goes_to_another_file(server: SheetsServer, book: Any) -> None:
    """Both files must be shared with who copies."""
    server.add("OTHER", {"X": []})
    with pytest.raises(APIError, match="does not have permission"):
        book.worksheet("S").copy_to("OTHER")
    server.share("OTHER")

    assert book.worksheet("S").copy_to("OTHER")["title"] == "Copy of S"
    assert server.person("OTHER").rows("Copy of S") == TABLE


def test_people_use_the_menus(server: SheetsServer, book: Any) -> None:
    """They paint, delete columns and worksheets, rename the file, share it."""
    mari = server.person("KEY")
    mari.paint("S", "A1:B1", {"red": 1})
    mari.delete_columns("S", "名")
    mari.add_sheet("メモ", 0)
    mari.delete_sheet("T")
    mari.rename_file("改名")
    mari.insert_rows("S", 2, 2)
    mari.filter("S", "点", ["1"])
    mari.show_all("S")
    mari.share(ROBOT, "reader")

    assert mari.rows("S") == [["点"], [""], [""], ["1"], ["2"]]
    assert [s.title for s in book.worksheets()] == ["メモ", "S"]
    with pytest.raises(NotAllowed, match="already exists"):
        mari.rename_sheet("S", "メモ")
    with pytest.raises(KeyError):
        mari.insert_columns("S", "無い見出し")
    with pytest.raises(APIError, match="permission"):
        book.worksheet("S").update([["x"]], "A1")


def test_all_spreadsheets_have_a_page(server: SheetsServer) -> None:
    """The start page leads to them."""
    start = requests.get(server.url, timeout=5)

    assert '<a href="/spreadsheets/d/KEY/view">' in start.text
    assert requests.get(f"{server.url}/spreadsheets/d/KEY/edit", timeout=5).status_code == 200
    assert requests.get(f"{server.url}/spreadsheets/d/NONE/view", timeout=5).status_code == 404


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "refresh_token", "refresh_token": "x"}, "invalid_client"),
        (
            {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "a.b.c"},
            "invalid_grant",
        ),
    ],
)
def test_the_token_endpoint_is_strict(server: SheetsServer, form: dict[str, str], error: str) -> None:
    """Unknown grants, clients and signatures get nothing."""
    answer = requests.post(server.token_uri, data=form, timeout=5)

    assert answer.status_code in (400, 401)
    assert answer.json()["error"] == error


@pytest.mark.parametrize("body", ["{", "[]", '{"requests": [NaN]}'])
def test_what_is_no_json_is_refused(server: SheetsServer, book: Any, body: str) -> None:
    """As Google words it."""
    token = next(iter(server.accounts.tokens))
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    address = f"{server.url}/v4/spreadsheets/KEY:batchUpdate"
    answer = requests.post(address, data=body, headers=headers, timeout=5)

    assert answer.status_code == 400
    assert json.loads(answer.text)["error"]["message"].startswith("Invalid JSON payload received.")
