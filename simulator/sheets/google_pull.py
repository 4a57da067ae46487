"""Reads back what people wrote into a Google Sheet, by keys; what it cannot read is noted, not fatal."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.sheets.google_api import SheetsClient, Target, worksheet_of
from simulator.sheets.model import PulledRow, PulledSheets, Titles, folded, layouts
from simulator.sheets.state import (
    HEAD,
    SPREADSHEETS,
    WORKSHEET,
    Cells,
    SheetState,
    Spreadsheet,
    Tab,
    area,
    cells,
    identity,
    read_spreadsheet,
    recognised_copy,
    sheet_state,
    text_of,
)

Json = dict[str, Any]
_CELL_FIELDS = "userEnteredValue,effectiveValue,formattedValue,note"
# In these people add rows of their own, without a key.
_KEYLESS = frozenset({"questions"})
_DAY = re.compile(r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*日?")


def pull(target: Target, names: Sequence[str], *, client: SheetsClient | None = None) -> PulledSheets:
    """Reads these worksheets (review, questions, ...) back; one that is not there is left out and noted.

    Raises InputError for what people can fix, and SinkUnavailable when Google cannot be reached.
    """
    client = client or SheetsClient()
    return client.persist(lambda: _pulled(client, target, names), f"sheet {target.key}")


def _pulled(client: SheetsClient, target: Target, names: Sequence[str]) -> PulledSheets:
    found = read_spreadsheet(client, target.key)
    notes: list[Message | str] = []
    rows: dict[str, tuple[PulledRow, ...]] = {}
    for name, state in sheet_states(client, target, found, names).items():
        if state is None:
            notes.append(
                _(
                    "{name}: there is no such worksheet, or its column of keys was deleted; left out.",
                    name=name,
                )
            )
        else:
            rows[name] = tuple(_rows(name, state, notes))
    return PulledSheets(rows=rows, notes=tuple(notes))


def sheet_states(
    client: SheetsClient, target: Target, found: Spreadsheet, names: Sequence[str]
) -> dict[str, SheetState | None]:
    """The worksheets with all of their cells, wherever people put them: one read, or two with copies."""
    tabs: dict[str, Tab] = {}
    for name in names:
        if tab := found.tab(identity(name, target.suffix)):
            tabs[name] = tab
    untagged = [tab for tab in found.tabs if WORKSHEET not in tab.tags]
    lost = [name for name in names if name not in tabs and name in layouts()]
    headers = cells(client, target.key, [area(tab, rows=(0, HEAD)) for tab in untagged if lost], _CELL_FIELDS)
    titles = {name: Titles(name) for name in names}
    for name in lost:
        if tab := recognised_copy(untagged, headers, identity(name, target.suffix), titles[name]):
            tabs[name] = tab
            untagged.remove(tab)
    known = cells(client, target.key, [area(tab) for tab in tabs.values()], _CELL_FIELDS)
    return {
        name: sheet_state(tabs[name], known.get(tabs[name].id, {}), titles[name]) if name in tabs else None
        for name in names
    }


def _rows(name: str, state: SheetState, notes: list[Message | str]) -> Iterator[PulledRow]:
    key = state.places["key"].column
    duplicates = {row for row, _unused in state.duplicates}
    notes += [
        f"{state.tab.title} row {row + 1}: the same key stands further up; passed over."
        for row in sorted(duplicates)
    ]
    merged = _merged_cells(state)
    for row in sorted({row for row, _unused in state.cells}):
        if row == state.header or row in duplicates:
            continue
        line = {
            k: text
            for k, p in state.places.items()
            if k != "key" and (text := _text(state.cells, merged, row, p.column))
        }
        known = text_of(state.cells.get((row, key), {}))
        if known or (line and name in _KEYLESS and row > state.header):
            cells = {column: _value(name, column, text) for column, text in line.items()}
            yield PulledRow(key=known, number=row + 1, cells=cells)
        elif line and row > state.header:
            notes.append(
                _("{title} row {row:d}: it has no key; passed over.", title=state.tab.title, row=row + 1)
            )


def _merged_cells(state: SheetState) -> dict[tuple[int, int], tuple[int, int]]:
    """Each merged cell with the upper left one of its area, which holds the value."""
    return {
        (row, column): (merge.get("startRowIndex", 0), merge.get("startColumnIndex", 0))
        for merge in state.tab.merges
        for row in range(merge.get("startRowIndex", 0), merge.get("endRowIndex", 0))
        for column in range(merge.get("startColumnIndex", 0), merge.get("startColumnIndex", 0) + 1)
    }


def _text(cells: Cells, merged: Mapping[tuple[int, int], tuple[int, int]], row: int, column: int) -> str:
    cell = cells.get(merged.get((row, column), (row, column)), {})
    if "errorValue" in (cell.get("effectiveValue") or {}):
        return ""
    return str(cell.get("formattedValue", text_of(cell))).strip()


def _value(name: str, column: str, text: str) -> str:
    """The id of a choice, a day in ISO 8601, or the text."""
    layout = layouts().get(name)
    if layout and column in layout.days and (day := _DAY.fullmatch(unicodedata.normalize("NFKC", text))):
        return f"{int(day[1]):04}-{int(day[2]):02}-{int(day[3]):02}"
    return layout.choice(column, text) if layout else text


def worksheet_values(address: str, *, client: SheetsClient | None = None) -> tuple[str, list[list[str]]]:
    """Name and cells (as shown) of the worksheet in `sheet:KEY#worksheet`; without a name the first one.

    Raises InputError in one line that says what to click or to set.
    """
    key, name = worksheet_of(address)
    client = client or SheetsClient()
    return client.persist(lambda: _values(client, address, key, name), address)


def _values(client: SheetsClient, address: str, key: str, name: str | None) -> tuple[str, list[list[str]]]:
    found = read_spreadsheet(client, key)
    tab = _named(found, name) if name else next(iter(found.tabs), None)
    if tab is None:
        what = _("there is no worksheet {name}", name=name or "with cells")
        msg = _(
            "{address}: {what}; its name stands on the tab at the bottom of the sheet.",
            address=address,
            what=what,
        )
        raise InputError(msg)
    return tab.title, _as_shown(client, key, tab)


def _named(found: Spreadsheet, name: str) -> Tab | None:
    exact = [tab for tab in found.tabs if tab.title == name]
    alike = [tab for tab in found.tabs if folded(tab.title) == folded(name)]
    return next(iter(exact or alike), None)


def _as_shown(client: SheetsClient, key: str, tab: Tab) -> list[list[str]]:
    body = {"dataFilters": [{"gridRange": {"sheetId": tab.id}}], "majorDimension": "ROWS"}
    response = client.read(f"{SPREADSHEETS}/{key}/values:batchGetByDataFilter", body=body)
    ranges = response.get("valueRanges", ())
    values = next((each["valueRange"].get("values", ()) for each in ranges), ())
    width = max(map(len, values), default=0)
    return [[str(cell) for cell in row] + [""] * (width - len(row)) for row in values]


def case_id(row: PulledRow) -> str:
    """A row's key; a question without one is named by its text, so that it keeps its name when sorted."""
    if row.key:
        return row.key
    return "q-" + hashlib.blake2s(folded(row.cells["question"]).encode(), digest_size=5).hexdigest()
