"""What people wrote, read back by keys: tolerant of all that people do to a worksheet, and frank about it."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simulator.core.errors import InputError
from simulator.sheets.google_api import Door, Target, worksheet_of
from simulator.sheets.model import PulledRow, PulledSheets, Titles, folded, layouts
from simulator.sheets.state import (
    HEAD,
    SPREADSHEETS,
    WORKSHEET,
    Book,
    Cells,
    SheetState,
    Tab,
    area,
    book,
    cells,
    identity,
    recognised,
    standing,
    text_of,
)

Json = dict[str, Any]
_WANTED = "userEnteredValue,effectiveValue,formattedValue,note"
# Here people add rows of their own, without a key.
_KEYLESS = frozenset({"questions"})
_DAY = re.compile(r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*日?")


def pull(target: Target, names: Sequence[str], *, door: Door | None = None) -> PulledSheets:
    """Reads these worksheets (review, questions, ...) back; one that is not there is left out and noted.

    Raises InputError for what people can mend, and SinkUnavailable when Google stays away.
    """
    door = door or Door()
    return door.persist(lambda: _pulled(door, target, names), f"sheet {target.key}")


def _pulled(door: Door, target: Target, names: Sequence[str]) -> PulledSheets:
    found = book(door, target.key)
    notes: list[str] = []
    rows: dict[str, tuple[PulledRow, ...]] = {}
    for name, stand in stands_of(door, target, found, names).items():
        if stand is None:
            notes.append(f"{name}: there is no such worksheet, or its column of keys was deleted; left out.")
        else:
            rows[name] = tuple(_rows(name, stand, notes))
    return PulledSheets(rows=rows, notes=tuple(notes))


def stands_of(door: Door, target: Target, found: Book, names: Sequence[str]) -> dict[str, SheetState | None]:
    """The worksheets with all of their cells, wherever people put them: one read, or two with copies."""
    tabs: dict[str, Tab] = {}
    for name in names:
        if tab := found.tab(identity(name, target.suffix)):
            tabs[name] = tab
    strangers = [tab for tab in found.tabs if WORKSHEET not in tab.tags]
    lost = [name for name in names if name not in tabs and name in layouts()]
    heads = cells(door, target.key, [area(tab, rows=(0, HEAD)) for tab in strangers if lost], _WANTED)
    titles = {name: Titles(name) for name in names}
    for name in lost:
        if tab := recognised(strangers, heads, identity(name, target.suffix), titles[name]):
            tabs[name] = tab
            strangers.remove(tab)
    known = cells(door, target.key, [area(tab) for tab in tabs.values()], _WANTED)
    return {
        name: standing(tabs[name], known.get(tabs[name].id, {}), titles[name]) if name in tabs else None
        for name in names
    }


def _rows(name: str, stand: SheetState, notes: list[str]) -> Iterator[PulledRow]:
    key = stand.places["key"].column
    again = {row for row, _ in stand.again}
    notes += [
        f"{stand.tab.title} row {row + 1}: the same key stands further up; passed over."
        for row in sorted(again)
    ]
    spread = _spread(stand)
    for row in sorted({row for row, _ in stand.cells}):
        if row == stand.header or row in again:
            continue
        line = {
            k: text
            for k, p in stand.places.items()
            if k != "key" and (text := _text(stand.cells, spread, row, p.column))
        }
        known = text_of(stand.cells.get((row, key), {}))
        if known or (line and name in _KEYLESS and row > stand.header):
            cells = {column: _meaning(name, column, text) for column, text in line.items()}
            yield PulledRow(key=known, number=row + 1, cells=cells)
        elif line and row > stand.header:
            notes.append(f"{stand.tab.title} row {row + 1}: it has no key; passed over.")


def _spread(stand: SheetState) -> dict[tuple[int, int], tuple[int, int]]:
    """Where the value of a merged cell stands: at its upper left."""
    return {
        (row, column): (merge.get("startRowIndex", 0), merge.get("startColumnIndex", 0))
        for merge in stand.tab.merges
        for row in range(merge.get("startRowIndex", 0), merge.get("endRowIndex", 0))
        for column in range(merge.get("startColumnIndex", 0), merge.get("startColumnIndex", 0) + 1)
    }


def _text(known: Cells, spread: Mapping[tuple[int, int], tuple[int, int]], row: int, column: int) -> str:
    cell = known.get(spread.get((row, column), (row, column)), {})
    if "errorValue" in (cell.get("effectiveValue") or {}):
        return ""
    return str(cell.get("formattedValue", text_of(cell))).strip()


def _meaning(name: str, column: str, text: str) -> str:
    """What was picked by its id, a day in ISO 8601; what nobody offered stays as it is."""
    layout = layouts().get(name)
    if layout and column in layout.days and (day := _DAY.fullmatch(unicodedata.normalize("NFKC", text))):
        return f"{int(day[1]):04}-{int(day[2]):02}-{int(day[3]):02}"
    return layout.choice(column, text) if layout else text


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
