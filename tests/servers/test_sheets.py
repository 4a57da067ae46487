"""The Sheets server, spoken to by the real gspread with real credentials."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from gspread.exceptions import APIError
from gspread.utils import ValueInputOption, ValueRenderOption

from tests.servers.loopback import on_thread
from tests.servers.sheets import ROBOT, SheetsServer

TABLE: list[list[Any]] = [
    ["ID", "質問", "点", "メモ"],
    ["001", "送料は", 4, ""],
    ["002", "返品は", 2, ""],
    ["003", "在庫は", 5, "急ぎ"],
]


@pytest.fixture
def server() -> Iterator[SheetsServer]:
    with on_thread(SheetsServer({"KEY": {"会話": TABLE, "まとめ": []}}, auth=True)) as running:
        running.share("KEY")
        yield running


@pytest.fixture
def book(server: SheetsServer) -> Any:
    return server.robot().open_by_key("KEY")


def test_values_are_read_as_shown(book: Any) -> None:
    """Trailing empty cells and rows are left out; numbers come as shown or as they are."""
    sheet = book.worksheet("会話")

    assert [s.title for s in book.worksheets()] == ["会話", "まとめ"]
    assert sheet.get("A1:Z1000") == [
        ["ID", "質問", "点", "メモ"],
        *[[*r[:2], str(r[2]), *r[3:]] for r in _cut()],
    ]
    assert sheet.get("C2", value_render_option=ValueRenderOption.unformatted) == [[4]]
    assert sheet.get("A:A", major_dimension="COLUMNS") == [["ID", "001", "002", "003"]]
    assert book.values_get("まとめ") == {"range": "'まとめ'!A1:Z1000", "majorDimension": "ROWS"}


def _cut() -> list[list[Any]]:
    return [["001", "送料は", 4], ["002", "返品は", 2], ["003", "在庫は", 5, "急ぎ"]]


def test_reading_stops_where_the_grid_ends(book: Any) -> None:
    """A range may end beyond the grid when it is read, but not begin there."""
    assert book.values_get("会話!C2:ZZZ")["range"] == "'会話'!C2:Z1000"
    with pytest.raises(APIError, match=r"Range \('会話'!A1001:A1002\) exceeds grid limits"):
        book.values_get("会話!A1001:A1002")


def test_raw_text_stays_text(book: Any) -> None:
    """RAW keeps "=1+1" and "1" as text, whatever they look like."""
    sheet = book.worksheet("まとめ")
    sheet.update([["=1+1", "1", 1, True, None, ""]], "A1", value_input_option=ValueInputOption.raw)

    assert sheet.get("A1:F1", value_render_option=ValueRenderOption.unformatted) == [["=1+1", "1", 1, True]]


@pytest.mark.parametrize(
    ("typed", "value", "shown"),
    [
        ("=1+1", 2, "2"),
        ("1", 1, "1"),
        ("1,234.5", 1234.5, "1,234.5"),
        ("12.5%", 0.125, "12.5%"),
        ("TRUE", True, "TRUE"),
        ("'=1", "=1", "=1"),
        ("2026-11-21", 46347, "2026/11/21"),
        ("2026/11/21 9:05", 46347.37847222222, "2026/11/21 9:05:00"),
        ("=1/0", "#DIV/0!", "#DIV/0!"),
        ("=NOPE(1)", "#NAME?", "#NAME?"),
        ('=HYPERLINK("https://example.com","見る")', "見る", "見る"),
        ('=COUNTIF(会話!C2:C,">=4")&"件"', "2件", "2件"),
        ("=IFERROR(AVERAGE('会話'!D2:D),0)", 0, "0"),
        ("001-2", "001-2", "001-2"),
        ("よい", "よい", "よい"),
    ],
)
def test_entered_text_is_read(book: Any, typed: str, value: Any, shown: str) -> None:
    """USER_ENTERED reads formulas, numbers, dates and booleans as a person's typing is read."""
    sheet = book.worksheet("まとめ")
    sheet.update([[typed]], "A1", value_input_option=ValueInputOption.user_entered)

    assert sheet.get("A1", value_render_option=ValueRenderOption.unformatted) == [[value]]
    assert sheet.acell("A1").value == shown


def test_a_formula_is_given_back(book: Any) -> None:
    """FORMULA rendering gives the formula."""
    sheet = book.worksheet("会話")
    sheet.update_acell("D1", "=SUM(C2:C4)*2")

    assert sheet.acell("D1", value_render_option=ValueRenderOption.formula).value == "=SUM(C2:C4)*2"
    assert sheet.acell("D1").value == "22"


def test_many_ranges_go_in_one_request(server: SheetsServer, book: Any) -> None:
    """batch_update and batch_get are one request each."""
    sheet = book.worksheet("まとめ")
    server.log.clear()
    sheet.batch_update([{"range": "A1:B1", "values": [["あ", "い"]]}, {"range": "B3", "values": [[3]]}])

    assert sheet.batch_get(["A1:C1", "A3:C3"]) == [[["あ", "い"]], [["", "3"]]]
    assert server.log.counts == {"spreadsheets.values.batchUpdate": 1, "spreadsheets.values.batchGet": 1}


def test_rows_are_appended_after_the_table(book: Any) -> None:
    """The grid grows when it is full."""
    sheet = book.worksheet("会話")
    sheet.resize(4)
    answer = sheet.append_rows([["004", "x"], ["005", "y"]])

    assert answer["tableRange"] == "'会話'!A1:D4"
    assert answer["updates"]["updatedRange"] == "'会話'!A5:B6"
    assert book.worksheet("会話").row_count == 6


def test_clearing_keeps_formats(book: Any) -> None:
    """Clearing empties values only."""
    sheet = book.worksheet("会話")
    sheet.format("A1", {"textFormat": {"bold": True}})
    sheet.batch_clear(["A1:B2"])
    sheet.clear()

    assert sheet.get_all_values() == [[]]
    data = book.fetch_sheet_metadata(
        {"ranges": "会話!A1", "fields": "sheets.data.rowData.values.userEnteredFormat"}
    )
    assert data["sheets"][0]["data"][0]["rowData"][0]["values"][0]["userEnteredFormat"]["textFormat"]["bold"]


def test_worksheets_come_and_go(book: Any) -> None:
    """Added, renamed, moved, duplicated, hidden, deleted."""
    sheet = book.add_worksheet("新しい", 10, 5, index=0)
    sheet.update_title("改名")
    sheet.update_index(2)
    copied = sheet.duplicate(insert_sheet_index=0, new_sheet_name="写し")
    copied.hide()
    book.del_worksheet(book.worksheet("まとめ"))

    assert [(s.title, s.row_count, s.isSheetHidden) for s in book.worksheets()] == [
        ("写し", 10, True),
        ("会話", 1000, False),
        ("改名", 10, False),
    ]


def test_formats_and_notes_stick(book: Any) -> None:
    """They are read back; a colour is found under both of its names; a mask leaves the rest alone."""
    sheet = book.worksheet("会話")
    red = {"red": 0.98, "green": 0.85, "blue": 0.85}
    sheet.format("A1:B2", {"backgroundColor": red, "textFormat": {"bold": True}})
    sheet.format("A2", {"wrapStrategy": "WRAP"})
    sheet.update_notes({"B2": "訳あり", "B3": "もう一つ"})
    sheet.freeze(rows=1, cols=2)

    cells = book.fetch_sheet_metadata({"ranges": "会話!A1:D4", "includeGridData": "true"})["sheets"][0][
        "data"
    ][0]
    first, second = cells["rowData"][1]["values"][:2]
    assert first["userEnteredFormat"] == {
        "backgroundColor": red,
        "backgroundColorStyle": {"rgbColor": red},
        "textFormat": {"bold": True},
        "wrapStrategy": "WRAP",
    }
    assert second["note"] == "訳あり"
    assert second["userEnteredValue"] == second["effectiveValue"] == {"stringValue": "送料は"}
    assert sheet.get_notes() == [[], ["", "訳あり"], ["", "もう一つ"]]
    assert sheet.get_note("B2") == "訳あり"
    again = book.worksheet("会話")
    assert (again.frozen_row_count, again.frozen_col_count) == (1, 2)


def test_one_request_writes_value_fill_and_note(book: Any) -> None:
    """An update takes what its mask names; a field that is named and not given is cleared."""
    sheet = book.worksheet("会話")
    cell = {"userEnteredValue": {"stringValue": "=x"}, "note": "赤い理由"}
    start = {"sheetId": sheet.id, "rowIndex": 1, "columnIndex": 1}
    _batch(
        book, updateCells={"start": start, "rows": [{"values": [cell]}], "fields": "userEnteredValue,note"}
    )
    _batch(book, updateCells={"start": start, "rows": [{"values": [{}]}], "fields": "note"})

    assert sheet.acell("B2").value == "=x"
    assert sheet.get_note("B2") == ""


def _batch(book: Any, **request: Any) -> Any:
    return book.batch_update({"requests": [request]})["replies"][0]


def test_rows_and_columns_move_what_is_bound_to_them(book: Any) -> None:
    """Inserting, moving and deleting carry cells, filters, protection and formulas along."""
    sheet, other = book.worksheet("会話"), book.worksheet("まとめ")
    other.update_acell("A1", "=SUM('会話'!C2:C4)+会話!$C$3")
    sheet.add_protected_range("C1:C4", [ROBOT], description="点")
    sheet.set_basic_filter("A1:D4")
    sheet.insert_cols([["新"]], 2)
    sheet.insert_rows([["x"]], 3)

    assert (
        other.acell("A1", value_render_option=ValueRenderOption.formula).value
        == "=SUM('会話'!D2:D5)+会話!$D$4"
    )
    assert other.acell("A1").value == "13"
    told = book.fetch_sheet_metadata()
    protected = told["sheets"][0]["protectedRanges"][0]["range"]
    assert (protected["startColumnIndex"], protected["endRowIndex"]) == (3, 5)
    assert told["sheets"][0]["basicFilter"]["range"]["endColumnIndex"] == 5
    sheet.delete_columns(4)
    assert "protectedRanges" not in book.fetch_sheet_metadata()["sheets"][0]
    assert other.acell("A1").value == "#REF!"


def test_a_rename_is_followed_by_formulas(book: Any) -> None:
    """References name the worksheet anew."""
    book.worksheet("まとめ").update_acell("A1", "=SUM(会話!C2:C4)")
    book.worksheet("会話").update_title("Q & A")

    sheet = book.worksheet("まとめ")
    assert sheet.acell("A1", value_render_option=ValueRenderOption.formula).value == "=SUM('Q & A'!C2:C4)"


def test_a_range_is_sorted(book: Any) -> None:
    """By value; notes go along; empty cells come last in either order."""
    sheet = book.worksheet("会話")
    sheet.update_note("A3", "二番")
    sheet.sort((3, "des"), range="A2:D1000")

    assert sheet.col_values(1) == ["ID", "003", "001", "002"]
    assert sheet.get_note("A4") == "二番"


def test_a_page_shows_what_was_made(server: SheetsServer, book: Any) -> None:
    """Text is escaped, notes are titles, fills are colours."""
    sheet = book.worksheet("会話")
    sheet.update([["<b>x</b>"]], "A2")
    sheet.update_note("A2", 'a "note"')
    sheet.format("A2", {"backgroundColor": {"red": 1}})
    page = requests.get(f"{server.url}/spreadsheets/d/KEY/view", timeout=5).text

    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert 'title="a &quot;note&quot;"' in page
    assert "background-color:#ff0000" in page


def test_three_hundred_rows_are_written_fast(server: SheetsServer, book: Any) -> None:
    """100 conversations of three turns, formats and metadata with them, take well under a second."""
    sheet = book.worksheet("まとめ")
    fill = {"backgroundColor": {"red": 0.98, "green": 0.85, "blue": 0.85}, "wrapStrategy": "WRAP"}
    cell = {
        "userEnteredValue": {"stringValue": "お客様の質問です。" * 5},
        "userEnteredFormat": fill,
        "note": "理由",
    }
    start = {"sheetId": sheet.id, "rowIndex": 0, "columnIndex": 0}
    write = {"start": start, "rows": [{"values": [cell] * 20}] * 300, "fields": "userEnteredValue,note"}
    tags = [{"createDeveloperMetadata": {"developerMetadata": _tag(sheet.id, row)}} for row in range(300)]
    started = time.perf_counter()
    book.batch_update({"requests": [{"updateCells": write}, *tags]})

    assert time.perf_counter() - started < 3, "about 0.3 s on an idle machine"
    assert server.log.kinds["createDeveloperMetadata"] == 300
    assert server.log.largest > 1_000_000
    with pytest.raises(AssertionError, match=r"spreadsheets\.batchUpdate sent"):
        server.log.assert_payloads_fit(1_000_000)


def _tag(sheet_id: int, row: int) -> dict[str, Any]:
    place = {"sheetId": sheet_id, "dimension": "ROWS", "startIndex": row, "endIndex": row + 1}
    told = {"metadataKey": "row", "metadataValue": f"c{row}", "visibility": "DOCUMENT"}
    return {**told, "location": {"dimensionRange": place}}
