"""A person at an Excel workbook: sorts, inserts, renames, moves and types; names follow as in Excel."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.utils import column_index_from_string, get_column_letter

from simulator.sheets.excel import read_edited
from simulator.sheets.model import PulledRow

_PLACE = re.compile(r"(.*!)\$([A-Z]+)\$(\d+)")


def read(path: Path) -> dict[str, tuple[PulledRow, ...]]:
    """The rows of every worksheet in a workbook that people may have edited."""
    return read_edited(path).rows


class Person:
    """Opens a workbook, changes it, and saves it: `with Person(path) as person: ...`."""

    def __init__(self, path: Path, *, moves_names: bool = True) -> None:
        """Without `moves_names` it is a program that leaves names behind when it moves columns."""
        self.path, self._moves_names = path, moves_names
        self.book: Any = openpyxl.load_workbook(path)

    def __enter__(self) -> "Person":
        return self

    def __exit__(self, *failed: object) -> None:
        self.book.save(self.path)

    def place(self, tab: str, title: str) -> int:
        """The column, from 1, of that title."""
        return next(int(cell.column) for cell in self.book[tab][1] if cell.value == title)

    def type(self, tab: str, row: int, title: str, value: object) -> None:
        """Types into a cell; `row` counts from 1, the header's."""
        self.book[tab].cell(row, self.place(tab, title)).value = value

    def sort(self, tab: str, order: Callable[[tuple[Any, ...]], Any]) -> None:
        """Sorts the rows below the header."""
        sheet = self.book[tab]
        rows = sorted(sheet.iter_rows(min_row=2, values_only=True), key=order)
        self._fill(sheet, rows)

    def add(self, tab: str, values: dict[str, object]) -> int:
        """Adds a row at the end, without a key."""
        number = int(self.book[tab].max_row) + 1
        for title, value in values.items():
            self.type(tab, number, title, value)
        return number

    def delete_row(self, tab: str, row: int) -> None:
        """Deletes a row."""
        self.book[tab].delete_rows(row)

    def rename(self, tab: str, title: str, new: str) -> None:
        """Gives a column another title."""
        self.book[tab].cell(1, self.place(tab, title)).value = new

    def insert_column(self, tab: str, before: str, title: str) -> None:
        """Inserts a column of one's own."""
        place = self.place(tab, before)
        self.book[tab].insert_cols(place)
        self.book[tab].cell(1, place).value = title
        self._names(tab, lambda column: column + 1 if column >= place else column)

    def delete_column(self, tab: str, title: str) -> None:
        """Deletes a column."""
        place = self.place(tab, title)
        self.book[tab].delete_cols(place)
        self._names(tab, lambda c: None if c == place else c - 1 if c > place else c)

    def add_sheet(self, tab: str, title: str) -> None:
        """Adds a worksheet of one's own behind another."""
        self.book.create_sheet(title, self.book.sheetnames.index(tab) + 1)["A1"] = "自分の表"

    def _fill(self, sheet: Any, rows: Sequence[Sequence[Any]]) -> None:
        for number, values in enumerate(rows, start=2):
            for place, value in enumerate(values, start=1):
                sheet.cell(number, place).value = value

    def _names(self, tab: str, moved: Callable[[int], int | None]) -> None:
        if not self._moves_names:
            return
        for name in self.book.defined_names.values():
            found = _PLACE.fullmatch(name.attr_text)
            if found and found[1] in (f"{tab}!", f"'{tab}'!"):
                place = moved(column_index_from_string(found[2]))
                at = f"${get_column_letter(place)}${found[3]}" if place else "#REF!"
                name.attr_text = f"{found[1]}{at}"
