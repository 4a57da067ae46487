"""A worksheet that keeps few of its rows and notes in memory is written like one that keeps all."""

import tracemalloc
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from xlsxwriter.worksheet import Worksheet as Plain

from simulator.sheets.excel_write import Page, paint
from simulator.sheets.model import Column, LazyRows, Row, SheetCell, Worksheet

# Notes are numbered in blocks of 1,024: these are two and a half.
ROWS = 2_600


def written(path: Path, kind: type) -> dict[str, bytes]:
    """The files within a workbook of three worksheets of one kind; the second has no notes."""
    book = xlsxwriter.Workbook(str(path), {"constant_memory": True, "tmpdir": str(path.parent)})
    book.worksheet_class = kind
    book.set_properties({"created": datetime(2026, 11, 25)})
    for name, noted in (("a", True), ("b", False), ("c", True)):
        filled(book.add_worksheet(name), noted=noted)
    pages = book.worksheets()
    book.close()
    for page in pages:
        if isinstance(page, Page):
            page.close_notes()
    with zipfile.ZipFile(path) as archive:
        return {each: archive.read(each) for each in archive.namelist()}


def filled(sheet: Any, *, noted: bool) -> None:
    """Rows of different heights, with texts, blanks and, if so wished, notes in two of the columns."""
    sheet.set_comments_author("Rehearsal")
    sheet.set_column(1, 1, 40)
    for row in range(ROWS):
        sheet.set_row(row, 15 + row % 7)
        sheet.write_string(row, 0, f"答え <{row}>")
        for column in (0, 2):
            if noted and row % 5 != column:
                box = {"font_name": "Yu Gothic", "font_size": 9, "width": 320, "height": 20 + row % 90}
                sheet.write_comment(row, column, f"メモ\n& {row} '\"", box)


def test_the_workbook_is_the_same_to_the_byte(tmp_path: Path) -> None:
    """Cells, heights, notes, where their boxes stand, and how they are numbered."""
    assert written(tmp_path / "a.xlsx", Page) == written(tmp_path / "b.xlsx", Plain)


def sheet(count: int, *, fails: bool = False) -> Worksheet:
    """A worksheet of so many rows, each with a long note; the one after them is perhaps not to be had."""

    def row(number: int) -> Row:
        if number == count:
            raise KeyError(number)
        return Row(key=str(number), cells={"answer": SheetCell(text="答え", note=f"{number}" * 100)})

    columns = (Column(key="key", title="キー", width=8), Column(key="answer", title="回答"))
    return Worksheet(name="review", title="確認", columns=columns, rows=LazyRows(range(count + fails), row))


def test_memory_does_not_grow_with_the_notes(tmp_path: Path) -> None:
    """Six thousand of them, two megabytes of text, and what is kept of all their rows."""
    paint([sheet(10)], tmp_path / "a.xlsx", {})
    tracemalloc.start()
    try:
        paint([sheet(6_000)], tmp_path / "a.xlsx", {})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 3e6
    notes = openpyxl.load_workbook(tmp_path / "a.xlsx").worksheets[0]["B"]
    assert [cell.comment.text for cell in notes[1:]] == [f"{number}" * 100 for number in range(6_000)]


@pytest.mark.parametrize("count", [3, 3_000])
def test_a_workbook_that_fails_leaves_nothing(tmp_path: Path, count: int) -> None:
    """Neither in memory nor on the disk, wherever its notes are by then."""
    with pytest.raises(KeyError):
        paint([sheet(count, fails=True)], tmp_path / "a.xlsx", {})

    assert list(left(tmp_path)) == []


def left(folder: Path) -> Iterator[Path]:
    """The files of a folder."""
    return folder.rglob("*")
