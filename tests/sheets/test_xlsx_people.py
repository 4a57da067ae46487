"""What people do to a workbook, and what is read from it then."""

import functools
import tempfile
from datetime import date
from pathlib import Path

import openpyxl
import pytest

from simulator.report.worksheets import worksheets
from simulator.sheets import excel
from simulator.sheets.model import PulledRow
from tests.excel import Person, read
from tests.report.test_worksheets import report_context


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The worksheets of the rehearsed run that people write most in, in Japanese."""
    path = tmp_path / "report.xlsx"
    path.write_bytes(_workbook())
    return path


@functools.cache
def _workbook() -> bytes:
    """Written once; every test does something else to a copy of it."""
    written_in = [
        sheet for sheet in worksheets(report_context()) if sheet.name in ("review", "blind", "questions")
    ]
    with tempfile.TemporaryDirectory() as folder:
        return excel.write(written_in, Path(folder, "report.xlsx")).read_bytes()


def key(path: Path, tab: str, row: int) -> str:
    """The key that stands in a row, from 1."""
    return str(openpyxl.load_workbook(path)[tab].cell(row, 1).value)


def rows(path: Path, name: str) -> dict[str, PulledRow]:
    """The rows of a worksheet by key."""
    return {row.key: row for row in read(path)[name]}


def review(person: Person) -> str:
    """A turn reviewed in row 4; gives its key."""
    person.type("確認", 4, "判定", "採点が誤り")
    person.type("確認", 4, "コメント", "資料にあります")
    person.type("確認", 4, "確認日", date(2026, 11, 25))
    return str(person.book["確認"].cell(4, 1).value)


def reviewed(path: Path, turn: str) -> bool:
    """Whether that review is read as it was meant."""
    cells = rows(path, "review")[turn].cells
    meant = {"judge_is": "wrong", "comment": "資料にあります", "checked": "2026-11-25"}
    return {name: cells.get(name) for name in meant} == meant


@pytest.mark.parametrize("tab", ["確認", "Review", "Ｒｅｖｉｅｗ ", "山田さん"])
def test_without_any_name(path: Path, tab: str) -> None:
    """Tabs and columns are known by their titles in either language, or by most of the titles in them."""
    with Person(path) as person:
        turn = review(person)
        person.book.defined_names.clear()
        person.book["確認"].title = tab
        for old, new in {
            "判定": "Is the judge right?",
            "コメント": "ＣＯＭＭＥＮＴ",
            "確認日": " 確認日 ",
        }.items():
            person.place(tab, old)
            person.rename(tab, old, new)

    assert reviewed(path, turn)
