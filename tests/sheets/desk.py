"""A team at its sheet: the same deeds in an Excel workbook, which every report writes anew, and in Google."""

import io
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from simulator.sheets import excel
from simulator.sheets.excel import read_edited
from simulator.sheets.google_api import target
from simulator.sheets.google_sheets import pull
from simulator.sheets.merge import EditedSheets
from simulator.sheets.model import Worksheet
from tests.excel import Person
from tests.servers.sheets import SheetsServer
from tests.sheets_sink import KEY, TITLE, Counting, letter, pushed, sheets_server

# Runs, one after the other.
FIRST, SECOND, THIRD = (
    "20261121-090400-mixed-0001",
    "20261122-090400-mixed-0002",
    "20261123-090400-mixed-0003",
)


class Workbook:
    """A workbook, which every report writes anew, and a person at it, who saves it before it is read."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder
        self._person: Person | None = None

    @property
    def person(self) -> Person:
        """Who has the workbook open."""
        self._person = self._person or Person(self.path)
        return self._person

    def save(self) -> None:
        """Saves what was typed since the last time."""
        if self._person:
            self._person.book.save(self.path)
            self._person = None

    def go_on_from(self, other: "Workbook") -> None:
        """Takes over all that stands at another one's desk, which stays as it is."""
        other.save()
        shutil.copytree(other.folder, self.folder, dirs_exist_ok=True)
        self.path = self.folder / other.path.relative_to(other.folder)

    def report(self, *sheets: Worksheet, run: str = FIRST) -> str:
        """Writes the worksheets of a run, each of which has a folder; what is said of it."""
        self.run_file = self.folder / run / "run.sqlite"
        self.run_file.parent.mkdir(exist_ok=True)
        self.run_file.touch()
        earlier = sorted(folder for folder in self.folder.iterdir() if folder.name < run)
        self.save()
        with redirect_stderr(io.StringIO()) as said:
            self.path = excel.save(sheets, self.run_file, earlier=earlier)
        return said.getvalue()

    def edited(self) -> EditedSheets:
        """What is read back."""
        self.save()
        return read_edited(self.path)

    def type(self, row: int, column: str, value: Any, tab: str = TITLE) -> None:
        """Types into a cell of a row (from 1)."""
        self.fill(row, {column: value}, tab)

    def fill(self, row: int, values: Mapping[str, Any], tab: str) -> None:
        """Types into several cells of a row, by the titles of columns."""
        for column, value in values.items():
            self.person.type(tab, row, column, value)

    def sort(self, column: str, tab: str = TITLE) -> None:
        """Sorts the rows, the last first."""
        place = self.person.place(tab, column) - 1
        self.person.sort(tab, lambda values: tuple(-ord(c) for c in str(values[place])))

    def delete_row(self, row: int, tab: str) -> None:
        """Deletes a row."""
        self.person.delete_row(tab, row)

    def rename(self, column: str, title: str, tab: str = TITLE) -> None:
        """Gives a column another heading."""
        self.person.rename(tab, column, title)

    def insert_column(self, before: str, title: str, tab: str = TITLE) -> None:
        """Adds a column of one's own."""
        self.person.insert_column(tab, before, title)

    def delete_column(self, column: str, tab: str = TITLE) -> None:
        """Deletes a column."""
        self.person.delete_column(tab, column)

    def add_sheet(self, title: str) -> None:
        """Adds a worksheet of one's own."""
        self.person.add_sheet(TITLE, title)

    def led_to(self, row: int, column: str, tab: str = TITLE) -> tuple[str, int]:
        """The worksheet and the row to which the link in a cell leads."""
        book = self.person.book
        cell = book[tab].cell(row, self.person.place(tab, column))
        [(title, place)] = book.defined_names[cell.hyperlink.location].destinations
        return title, int(place.rpartition("$")[2])

    def headings(self) -> list[str]:
        """The titles of the columns as they stand."""
        return [str(cell.value) for cell in self.person.book[TITLE][1]]

    def has_sheet(self, title: str) -> bool:
        """Whether the workbook has a worksheet."""
        return title in self.person.book.sheetnames


class GoogleSheet:
    """A Google Sheet, which every report brings up to date, and a person at it, who does the same."""

    def __init__(self, server: SheetsServer) -> None:
        self.server, self.mari, self.names = server, server.person(KEY), list[str]()

    def go_on_from(self, other: "GoogleSheet") -> None:
        self.server.store.books[KEY], self.names = other.server.book(KEY).copy(), other.names

    def report(self, *sheets: Worksheet, run: str = FIRST) -> str:
        self.names = [sheet.name for sheet in sheets]
        return "\n".join(pushed(*sheets).notes)

    def edited(self) -> EditedSheets:
        return pull(target(KEY), self.names, client=Counting())

    def _column(self, title: str, tab: str = TITLE) -> str:
        return letter(self.mari.rows(tab)[0].index(title))

    def type(self, row: int, column: str, value: Any, tab: str = TITLE) -> None:
        text = value.strftime("%Y/%m/%d") if isinstance(value, date) else value or ""
        self.mari.type(tab, f"{self._column(column, tab)}{row}", text)

    def fill(self, row: int, values: Mapping[str, Any], tab: str) -> None:
        for column, value in values.items():
            self.type(row, column, value, tab)

    def sort(self, column: str, tab: str = TITLE) -> None:
        self.mari.sort(tab, "A2:AA60", self._column(column, tab), descending=True)

    def rename(self, column: str, title: str, tab: str = TITLE) -> None:
        self.mari.rename_header(tab, column, title)

    def insert_column(self, before: str, title: str, tab: str = TITLE) -> None:
        place = self._column(before, tab)
        self.mari.insert_columns(tab, place)
        self.mari.type(tab, f"{place}1", title)

    def delete_column(self, column: str, tab: str = TITLE) -> None:
        self.mari.delete_columns(tab, column)

    def delete_row(self, row: int, tab: str) -> None:
        self.mari.delete_rows(tab, row)

    def led_to(self, row: int, column: str, tab: str = TITLE) -> tuple[str, int]:
        place = self.mari.rows(tab)[0].index(column)
        cell = self.server.book(KEY).sheet(tab).grid.get(row - 1, place)
        link = re.fullmatch(
            r"#gid=(\d+)&range=B(\d+)", cell["userEnteredFormat"]["textFormat"]["link"]["uri"]
        )
        assert link is not None
        return self.server.book(KEY).sheet_by_id(int(link[1])).title, int(link[2])

    def headings(self) -> list[str]:
        return [title for title in self.mari.rows(TITLE)[0] if title]

    def add_sheet(self, title: str) -> None:
        self.server.robot().open_by_key(KEY).add_worksheet(title, 5, 5)

    def has_sheet(self, title: str) -> bool:
        return title in [sheet.title for sheet in self.server.book(KEY).sheets]


Team = Workbook | GoogleSheet


@contextmanager
def team_at(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    """A team at a workbook in the folder ("xlsx"), or at a Google Sheet of its own."""
    if kind == "xlsx":
        yield Workbook(folder)
        return
    with sheets_server(monkeypatch) as running:
        yield GoogleSheet(running)
