"""The decision that the team types into the Summary worksheet is kept with the run, and shown with it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from simulator import open_run
from simulator.core.messages import shown
from simulator.sheets.model import COLUMNS, TABS
from tests.excel import Person
from tests.servers.sheets import SheetsServer
from tests.sheets_sink import KEY, column, letter, row_of, sheets_server

TAB = shown(TABS["summary"], "ja")
TYPED = {
    "decision": "条件付き",
    "approver": "佐藤",
    "decided": "2026/12/01",
    "why": "料金の回答を直してから",
}
KEPT = {"verdict": "conditional", "by": "佐藤", "on": "2026-12-01", "reason": "料金の回答を直してから"}
SHOWN = "条件付き · 佐藤 · 2026-12-01 · 料金の回答を直してから"


@pytest.fixture
def sheet(monkeypatch: pytest.MonkeyPatch) -> Iterator[SheetsServer]:
    """A Google Sheet."""
    with sheets_server(monkeypatch) as server:
        yield server


def typed(path: Path, **texts: str) -> None:
    """The decision as somebody types it into a workbook."""
    with Person(path) as person:
        for name, text in texts.items():
            person.type(TAB, 2, shown(COLUMNS[name].title, "ja"), text)


def test_a_decision_in_a_workbook_is_kept_and_shown(run: Any) -> None:
    """In the JSON of three commands, on the page, in the next workbook; the gate says what it said before."""
    folder, target = Path("runs", open_run().run.id), ("--to", "xlsx", "--target", "90", "--json")
    before = run("report", "latest", *target)
    typed(folder / "report.xlsx", **TYPED)
    reviewed = run("review", "latest", "--from", str(folder / "report.xlsx"), "--json")
    (folder / "report.xlsx").unlink()
    after = run("report", "latest", *target)

    assert reviewed.json["release_decision"] == after.json["release_decision"] == KEPT
    assert (after.code, after.json["passed"]) == (before.code, before.json["passed"]) == (1, False)
    assert run("history", "--json").json["runs"][0]["release_decision"] == KEPT
    assert SHOWN in (folder / "report.html").read_text(encoding="utf-8")
    assert "佐藤" in run("history").out
    next_book = openpyxl.load_workbook(folder / "report.xlsx")[TAB]
    assert {"条件付き", "佐藤", "料金の回答を直してから"} <= {cell.value for cell in next_book[2]}


def test_an_empty_row_takes_nothing_back_and_own_words_are_kept(run: Any) -> None:
    """What is none of the choices is kept as it was typed."""
    folder = Path("runs", open_run().run.id)
    assert run("report", "latest", "--to", "xlsx").code == 0
    book = folder / "report.xlsx"
    empty = Path(shutil.copy(book, "empty.xlsx"))
    typed(book, decision="保留", approver="鈴木")
    assert run("review", "latest", "--from", str(book)).code == 0
    again = run("review", "latest", "--from", str(empty), "--json")

    assert again.json["release_decision"] == {"verdict": "保留", "by": "鈴木", "on": "", "reason": ""}


def test_the_next_push_keeps_the_decision_on_the_run_before(run: Any, sheet: SheetsServer) -> None:
    """Typed into the sheet, which then shows another run: the run file has it, without `review`."""
    first = open_run().run.id
    assert run("report", first, "--to", "sheets", "--sheet", KEY).code == 0
    person = sheet.person(KEY)
    for name, text in TYPED.items():
        place = letter(column(sheet, name, "summary"))
        person.type(TAB, f"{place}{row_of(sheet, f'{first}/decision', TAB)}", text)
    assert run("--offline", "--persona", "calm", "--limit", "2", "--turns", "1").code == 0
    second = open_run().run.id
    assert run("report", second, "--to", "sheets", "--sheet", KEY).code == 0

    assert second != first
    decision = open_run(first).release_decision
    assert decision is not None
    assert decision.model_dump() == KEPT
    assert open_run(second).release_decision is None
