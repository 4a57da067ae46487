"""The Sheets server refuses what Google refuses and moves what Google moves, for the real gspread."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers.loopback import on_thread
from tests.servers.sheets import SheetsServer
from tests.servers.sheets_api import METHODS
from tests.servers.sheets_people import Person
from tests.servers.sheets_requests import HANDLERS
from tests.servers.sheets_schema import document, methods

TABLE = [["ID", "質問", "判定"], ["1", "送料", ""], ["2", "返品", ""], ["3", "在庫", ""]]


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


def area(top: int, bottom: int, left: int, right: int) -> dict[str, int]:
    """A GridRange on the first worksheet."""
    rows = {"sheetId": 0, "startRowIndex": top, "endRowIndex": bottom}
    return {**rows, "startColumnIndex": left, "endColumnIndex": right}


def span(dimension: str, start: int, end: int) -> dict[str, Any]:
    """A DimensionRange on the first worksheet."""
    return {"sheetId": 0, "dimension": dimension, "startIndex": start, "endIndex": end}


def tag(number: int, dimension: str, index: int, key: str, value: str = "", **more: Any) -> dict[str, Any]:
    """A request for metadata on a row or a column."""
    place = {"location": {"dimensionRange": span(dimension, index, index + 1)}}
    told = {"metadataId": number, "metadataKey": key, "metadataValue": value, "visibility": "DOCUMENT"}
    return {"createDeveloperMetadata": {"developerMetadata": {**told, **place, **more}}}


def places(server: SheetsServer) -> dict[str, int]:
    """Where metadata stands now, by its value."""
    known = server.book("KEY").metadata
    return {told["metadataValue"]: told["location"]["dimensionRange"]["startIndex"] for told in known}


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


def test_every_method_and_request_is_in_googles_document() -> None:
    """Nothing is made up."""
    assert METHODS.keys() < {method.name for method in methods()}
    assert document()["schemas"]["Request"].keys() > HANDLERS.keys()
