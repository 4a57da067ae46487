"""Developer metadata through the real API while people work in the sheet."""

from collections.abc import Iterator
from typing import Any

import pytest
from gspread.exceptions import APIError

from tests.servers.loopback import on_thread
from tests.servers.sheets import SheetsServer
from tests.servers.sheets_people import NotAllowed

TABLE = [["ID", "質問", "判定"], ["1", "送料", ""], ["2", "返品", ""], ["3", "在庫", ""]]


@pytest.fixture
def server() -> Iterator[SheetsServer]:
    with on_thread(SheetsServer({"KEY": {"会話": TABLE}})) as running:
        yield running


@pytest.fixture
def book(server: SheetsServer) -> Any:
    server.share("KEY")
    made = server.robot().open_by_key("KEY")
    made.batch_update(
        {"requests": [_create("COLUMNS", n, key) for n, key in enumerate(("id", "question", "label"))]}
    )
    made.batch_update({"requests": [_create("ROWS", n, "row", str(n)) for n in (1, 2, 3)]})
    return made


def _create(dimension: str, index: int, key: str, value: str = "") -> dict[str, Any]:
    place = {"sheetId": 0, "dimension": dimension, "startIndex": index, "endIndex": index + 1}
    told = {"metadataKey": key, "metadataValue": value, "visibility": "DOCUMENT"}
    return {"createDeveloperMetadata": {"developerMetadata": {**told, "location": {"dimensionRange": place}}}}


def _search(book: Any, **lookup: Any) -> list[dict[str, Any]]:
    body = {"dataFilters": [{"developerMetadataLookup": lookup}]}
    address = f"https://sheets.googleapis.com/v4/spreadsheets/{book.id}/developerMetadata:search"
    found = book.client.request("post", address, json=body).json()
    return [told["developerMetadata"] for told in found.get("matchedDeveloperMetadata", [])]


def _places(book: Any, **lookup: Any) -> list[tuple[str, int]]:
    found = _search(book, **lookup)
    return [(told["metadataValue"], told["location"]["dimensionRange"]["startIndex"]) for told in found]


def test_metadata_follows_inserted_and_moved_columns(server: SheetsServer, book: Any) -> None:
    """A column is found by its key wherever people put it and whatever they call it."""
    mari = server.person("KEY")
    mari.insert_columns("会話", "質問", 2)
    mari.rename_header("会話", "判定", "合否")
    mari.move_column("会話", "合否", "ID")
    mari.rename_sheet("会話", "おはなし")

    assert _places(book, metadataKey="label") == [("", 0)]
    assert _places(book, metadataKey="question") == [("", 4)]
    assert mari.rows("おはなし")[0] == ["合否", "ID", "", "", "質問"]


def test_metadata_follows_inserted_rows_and_dies_with_deleted_ones(server: SheetsServer, book: Any) -> None:
    """Rows keep their tags; a deleted row's is gone."""
    mari = server.person("KEY")
    mari.insert_rows("会話", 1, 3)
    mari.delete_rows("会話", 6)

    assert _places(book, metadataKey="row") == [("1", 4), ("3", 5)]


@pytest.mark.parametrize(("carries", "places"), [(False, [1, 2, 3]), (True, [3, 2, 1])])
def test_a_sort_may_leave_row_metadata_behind(
    server: SheetsServer, book: Any, carries: bool, places: list[int]
) -> None:
    """Cells are sorted; whether tags of rows go along can be chosen, for a client must bear both."""
    server.sort_carries_metadata = carries
    book.sheet1.sort((1, "des"), range="A2:C4")

    assert book.sheet1.col_values(1) == ["ID", "3", "2", "1"]
    assert [place for _, place in _places(book, metadataKey="row")] == places


def test_metadata_is_updated_and_deleted_by_filter(book: Any) -> None:
    """By key, by value, by place; replies show what was changed."""
    one = {"developerMetadataLookup": {"metadataKey": "row", "metadataValue": "2"}}
    update = {"dataFilters": [one], "developerMetadata": {"metadataValue": "new"}, "fields": "metadataValue"}
    told = book.batch_update({"requests": [{"updateDeveloperMetadata": update}]})["replies"][0]
    gone = {"dataFilter": {"a1Range": "会話!A4:B4"}}
    lost = book.batch_update({"requests": [{"deleteDeveloperMetadata": gone}]})["replies"][0]

    assert told["updateDeveloperMetadata"]["developerMetadata"][0]["metadataValue"] == "new"
    deleted = {told["metadataKey"] for told in lost["deleteDeveloperMetadata"]["deletedDeveloperMetadata"]}
    assert deleted == {"id", "question", "row"}
    assert _places(book, metadataKey="row") == [("1", 1), ("new", 2)]


def test_metadata_finds_its_place(book: Any) -> None:
    """Exact or intersecting places; spreadsheet and sheet metadata stand in their resources."""
    whole = {
        "metadataKey": "run",
        "metadataValue": "r1",
        "visibility": "PROJECT",
        "location": {"spreadsheet": True},
    }
    sheet = {
        "metadataKey": "kind",
        "metadataValue": "talks",
        "visibility": "DOCUMENT",
        "location": {"sheetId": 0},
    }
    book.batch_update(
        {"requests": [{"createDeveloperMetadata": {"developerMetadata": m}} for m in (whole, sheet)]}
    )
    place = {"dimensionRange": {"sheetId": 0, "dimension": "ROWS", "startIndex": 2, "endIndex": 3}}

    assert [m["metadataValue"] for m in _search(book, metadataLocation=place)] == ["2"]
    crossing = _search(book, metadataLocation=place, locationMatchingStrategy="INTERSECTING_LOCATION")
    assert [m["metadataKey"] for m in crossing] == ["id", "question", "label", "row", "kind"]
    told = book.fetch_sheet_metadata()
    assert told["developerMetadata"][0]["metadataKey"] == "run"
    assert told["sheets"][0]["developerMetadata"][0]["metadataKey"] == "kind"


def test_metadata_of_another_project_is_not_seen(server: SheetsServer, book: Any) -> None:
    """PROJECT visibility is for the project that wrote it."""
    told = {"metadataKey": "own", "visibility": "PROJECT", "location": {"spreadsheet": True}}
    book.batch_update({"requests": [{"createDeveloperMetadata": {"developerMetadata": told}}]})
    info = server.service_account("else@b.iam.gserviceaccount.com", "999")
    server.share("KEY", info["client_email"])
    other = server.accounts.known[info["client_email"]]

    assert len(_search(book, metadataKey="own")) == 1
    assert other.project == "999"
    assert "developerMetadata" not in _as(server, info).open_by_key("KEY").fetch_sheet_metadata()


def _as(server: SheetsServer, info: dict[str, Any]) -> Any:
    from tests.servers.sheets_client import by_service_account

    return by_service_account(info, server.url)


def test_values_are_read_and_written_by_metadata(server: SheetsServer, book: Any) -> None:
    """Wherever the column went, its values come and go by its key."""
    server.person("KEY").insert_columns("会話", "ID", 1)
    one = {"developerMetadataLookup": {"metadataKey": "label"}}
    address = f"https://sheets.googleapis.com/v4/spreadsheets/{book.id}/values:"
    data = [{"dataFilter": one, "majorDimension": "COLUMNS", "values": [["判定", "○", "×"]]}]
    body = {"valueInputOption": "RAW", "data": data}
    wrote = book.client.request("post", address + "batchUpdateByDataFilter", json=body).json()
    read = book.client.request("post", address + "batchGetByDataFilter", json={"dataFilters": [one]}).json()

    assert wrote["totalUpdatedCells"] == 3
    assert read["valueRanges"][0]["valueRange"]["values"] == [["判定"], ["○"], ["×"]]
    assert read["valueRanges"][0]["valueRange"]["range"] == "'会話'!D1:D1000"


def test_a_spreadsheet_is_read_by_filter(book: Any) -> None:
    """Only the parts that were asked for, with their cells."""
    body = {"dataFilters": [{"developerMetadataLookup": {"metadataKey": "row", "metadataValue": "2"}}]}
    address = f"https://sheets.googleapis.com/v4/spreadsheets/{book.id}:getByDataFilter"
    told = book.client.request("post", address, json=body | {"includeGridData": True}).json()

    data = told["sheets"][0]["data"][0]
    assert data["startRow"] == 2
    assert data["rowData"][0]["values"][1]["formattedValue"] == "返品"
    assert data["rowMetadata"][0]["developerMetadata"][0]["metadataValue"] == "2"


@pytest.mark.parametrize(
    "told",
    [
        {"metadataKey": "", "visibility": "DOCUMENT", "location": {"spreadsheet": True}},
        {"metadataKey": "k", "location": {"spreadsheet": True}},
        {"metadataKey": "k", "visibility": "DOCUMENT"},
        {"metadataKey": "k", "visibility": "DOCUMENT", "location": {"dimensionRange": {"dimension": "ROWS"}}},
        {
            "metadataKey": "k",
            "metadataValue": "x" * 30001,
            "visibility": "DOCUMENT",
            "location": {"sheetId": 0},
        },
    ],
)
def test_incomplete_metadata_is_refused(book: Any, told: dict[str, Any]) -> None:
    """A key, a visibility, one row or column, and not too long."""
    with pytest.raises(APIError):
        book.batch_update({"requests": [{"createDeveloperMetadata": {"developerMetadata": told}}]})


def test_people_type_as_in_a_browser(server: SheetsServer, book: Any) -> None:
    """Numbers are numbers, strict lists hold, a filter hides rows and keeps values."""
    mari = server.person("KEY")
    rule = {"condition": {"type": "ONE_OF_LIST", "values": [{"userEnteredValue": "○"}]}, "strict": True}
    area = {"sheetId": 0, "startRowIndex": 1, "endRowIndex": 4, "startColumnIndex": 2, "endColumnIndex": 3}
    book.batch_update({"requests": [{"setDataValidation": {"range": area, "rule": rule}}]})
    mari.type("会話", "C2", "○")
    with pytest.raises(NotAllowed, match="validation"):
        mari.type("会話", "C3", "△")
    mari.paste("会話", "D2", [["=1+2", "50%"], ["メモ", ""]])
    mari.note("会話", "A2", "覚え書き")
    mari.filter("会話", "判定", ["○"])
    mari.sort("会話", "A2:E4", "ID", descending=True)

    assert mari.rows("会話")[3] == ["1", "送料", "○", "3", "50%"]
    assert book.sheet1.get_note("A4") == "覚え書き"
    data = book.fetch_sheet_metadata({"ranges": "会話!A1:A4", "includeGridData": "true"})["sheets"][0][
        "data"
    ][0]
    assert [told.get("hiddenByFilter", False) for told in data["rowMetadata"]] == [False, False, False, True]
