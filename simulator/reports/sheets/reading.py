"""Any worksheet of a spreadsheet as a table of what it shows: a file of questions."""

import hashlib
from typing import Any

from simulator.core.errors import InputError
from simulator.reports.layouts import folded
from simulator.reports.pulled import PulledRow
from simulator.reports.sheets.address import worksheet_of
from simulator.reports.sheets.door import Door
from simulator.reports.sheets.standing import SPREADSHEETS, Book, Tab, book

Json = dict[str, Any]


def worksheet_values(address: str, *, door: Door | None = None) -> tuple[str, list[list[str]]]:
    """Name and cells (as shown) of the worksheet in `sheet:KEY#worksheet`; without a name the first one.

    Raises InputError in one line that says what to click or to set.
    """
    key, name = worksheet_of(address)
    door = door or Door()
    return door.persist(lambda: _values(door, address, key, name), address)


def _values(door: Door, address: str, key: str, name: str | None) -> tuple[str, list[list[str]]]:
    found = book(door, key)
    tab = _named(found, name) if name else next(iter(found.tabs), None)
    if tab is None:
        what = f"there is no worksheet {name or 'with cells'}"
        msg = f"{address}: {what}; its name stands on the tab at the bottom of the sheet."
        raise InputError(msg)
    return tab.title, _as_shown(door, key, tab)


def _named(found: Book, name: str) -> Tab | None:
    exact = [tab for tab in found.tabs if tab.title == name]
    alike = [tab for tab in found.tabs if folded(tab.title) == folded(name)]
    return next(iter(exact or alike), None)


def _as_shown(door: Door, key: str, tab: Tab) -> list[list[str]]:
    body = {"dataFilters": [{"gridRange": {"sheetId": tab.id}}], "majorDimension": "ROWS"}
    told = door.read(f"{SPREADSHEETS}/{key}/values:batchGetByDataFilter", body=body)
    ranges = told.get("valueRanges", ())
    values = next((each["valueRange"].get("values", ()) for each in ranges), ())
    width = max(map(len, values), default=0)
    return [[str(cell) for cell in row] + [""] * (width - len(row)) for row in values]


def case_id(row: PulledRow) -> str:
    """A row's key; a question without one is named by its text, so that it keeps its name when sorted."""
    if row.key:
        return row.key
    return "q-" + hashlib.blake2s(folded(row.cells["question"]).encode(), digest_size=5).hexdigest()
