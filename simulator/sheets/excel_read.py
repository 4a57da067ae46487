"""An Excel workbook that people have edited: its rows by key, whatever they sorted, inserted or renamed."""

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
from openpyxl.utils import column_index_from_string, get_column_letter

from simulator.core.messages import Message, _
from simulator.data.files import read_archive, readable_or_error
from simulator.data.workbooks import Worksheet, WorksheetRow, read_workbook
from simulator.sheets.excel_write import LISTS
from simulator.sheets.merge import EditedRow, EditedSheet, EditedWorkbook, read_value
from simulator.sheets.model import Layout, PulledRow, folded, layouts

# Titles and notes of people may stand above the header, in at most this many rows.
_MOST_TITLE_ROWS = 30
_NAMED = re.compile(r"rehearsal_([a-z]+)_(\w+)")
_PLACE = re.compile(r"=?\$?(?:'((?:[^']|'')+)'|([^'!]+))!\$([A-Z]{1,3})\$(\d{1,7})")

# Column keys by name, with the row and the column (from 1) of the header cell.
Places = Mapping[str, tuple[int, int]]


def read_edited(path: Path) -> EditedWorkbook:
    """All known worksheets; raises CaseFileError in one line for a file that is not a workbook."""
    places, properties, states = _outline(path)
    shown = {sheet.name: sheet for sheet in read_workbook(path)}
    hidden = [name for name, state in states.items() if state != "visible" and name != LISTS]
    found = shown | {name: sheet for name in hidden for sheet in read_workbook(path, name)}
    names = _identified(found, places)
    notes: list[Message | str] = []
    sheets = {
        name: _sheet(found[tab], places.get(tab, {}).get(name, {}), layouts()[name], notes)
        for name, tab in names.items()
    }
    foreign = tuple(tab for tab in found if tab not in names.values() and found[tab].lines)
    return EditedWorkbook(sheets, properties, foreign, tuple(notes))


def _outline(
    path: Path,
) -> tuple[dict[str, dict[str, dict[str, tuple[int, int]]]], dict[str, str], dict[str, str]]:
    """Header cells by tab, worksheet and column; the program's own properties; states of the tabs."""
    data = read_archive(path, "Excel")
    with readable_or_error(path, "Excel"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        workbook = openpyxl.load_workbook(data, read_only=True, keep_links=False)
        # The names of a copied worksheet are its own: they count where the original is gone.
        own = {n: d for sheet in workbook.worksheets for n, d in sheet.defined_names.items()}
        places = _places(own | dict(workbook.defined_names.items()))
        properties = {p.name: str(p.value) for p in workbook.custom_doc_props.props}
        return places, properties, {sheet.title: sheet.sheet_state for sheet in workbook.worksheets}


def _places(names: Mapping[str, Any]) -> dict[str, dict[str, dict[str, tuple[int, int]]]]:
    places: dict[str, dict[str, dict[str, tuple[int, int]]]] = {}
    for name, defined in names.items():
        known, at = _NAMED.fullmatch(name), _PLACE.fullmatch(defined.attr_text or "")
        if known and at and known[1] in layouts():
            tab = at[1].replace("''", "'") if at[1] else at[2]
            header = int(at[4]), column_index_from_string(at[3])
            places.setdefault(tab, {}).setdefault(known[1], {})[known[2]] = header
    return places


def _identified(tabs: Mapping[str, Worksheet], places: Mapping[str, Mapping[str, Places]]) -> dict[str, str]:
    """The tab of each worksheet, found by the names in it, else by its title, else by its column titles."""
    found: dict[str, str] = {}
    for tab in tabs:
        for name, columns in places.get(tab, {}).items():
            if name not in found or len(columns) > len(places[found[name]][name]):
                found[name] = tab
    for name, layout in layouts().items():
        free = [tab for tab in tabs if tab not in found.values()]
        titled = [tab for tab in free if folded(tab) in layout.tabs]
        alike = titled or [tab for tab in free if _resembles(tabs[tab], layout)]
        if name not in found and alike:
            found[name] = alike[0]
    return {name: found[name] for name in layouts() if name in found}


def _resembles(sheet: Worksheet, layout: Layout) -> bool:
    """Whether more than half of a worksheet's columns are there, and more than two of them."""
    best = max((_titled(line, layout) for line in sheet.lines[:_MOST_TITLE_ROWS]), default=0)
    return best > max(2, len(set(layout.columns.values())) / 2)


def _titled(line: WorksheetRow, layout: Layout) -> int:
    return len({layout.column(text) for text in line.texts.values()} - {None})


def _sheet(sheet: Worksheet, places: Places, layout: Layout, notes: list[Message | str]) -> EditedSheet:
    header, columns = _header(sheet, places, layout)
    below = [line for line in sheet.lines if line.number > header.number]
    known = set(columns.values())
    filled = {column for line in (header, *below) for column in line.texts}
    others = sorted(column for column in filled if column not in known)
    if "key" not in columns:
        notes.append(
            _("{sheet}: the column of keys is gone, so no row can be told from another", sheet=sheet.name)
        )
    missing = sorted(layout.team - columns.keys())
    notes += [_("{sheet}: there is no column {key}", sheet=sheet.name, key=key) for key in missing]
    return EditedSheet(
        tab=sheet.name,
        titles=tuple(header.texts[column] for column in sorted(header.texts)),
        columns=frozenset(columns),
        others=tuple(header.texts.get(column, "") for column in others),
        rows=tuple(_rows(_KnownTab(sheet.name, columns, others, layout), below, notes)),
    )


def _header(sheet: Worksheet, places: Places, layout: Layout) -> tuple[WorksheetRow, dict[str, int]]:
    """The header's line, and where each column stands: by its name, or else by its title."""
    lines = {line.number: line for line in sheet.lines}
    number = Counter(row for row, _ in places.values()).most_common(1)[0][0] if places else 0
    named = {key: column for key, (row, column) in places.items() if row == number}
    top = lines.get(number, WorksheetRow(number, {}))
    titled = max(sheet.lines[:_MOST_TITLE_ROWS], key=lambda line: _titled(line, layout), default=top)
    if not named or _stale(top, named, layout) or (_titled(titled, layout) > 2 > _titled(top, layout)):
        top, named = titled, {}
    for column, text in sorted(top.texts.items()):
        key = layout.column(text)
        if key and key not in named and column not in named.values():
            named[key] = column
    return top, named


def _stale(header: WorksheetRow, named: Mapping[str, int], layout: Layout) -> bool:
    """Whether names were left behind by a program that moved the columns: they stand at other titles."""
    return any(
        layout.column(header.texts.get(column, "")) not in (None, key) for key, column in named.items()
    )


class _KnownTab(NamedTuple):
    """A tab with the places of its known columns, of those that people added, and its layout."""

    tab: str
    columns: Mapping[str, int]
    others: Sequence[int]
    layout: Layout

    def faults(self, line: WorksheetRow) -> Iterator[Message | str]:
        """Notes on cells of the team that cannot be read in a line."""
        team = {column for key, column in self.columns.items() if key in self.layout.team}
        for column, why in line.faults.items():
            if column in team or column in self.others:
                yield _(
                    "{tab}, row {number:d}, column {get_column_letter}: {why}",
                    tab=self.tab,
                    number=line.number,
                    get_column_letter=get_column_letter(column),
                    why=why,
                )

    def cells(self, line: WorksheetRow) -> dict[str, str]:
        """The filled cells of a line by key."""
        return {
            key: read_value(key, line.texts[column], self.layout)
            for key, column in self.columns.items()
            if column in line.texts
        }


def _rows(known: _KnownTab, lines: Sequence[WorksheetRow], notes: list[Message | str]) -> Iterator[EditedRow]:
    rows_by_key: dict[str, int] = {}
    for line in lines:
        notes += known.faults(line)
        cells = known.cells(line)
        key = cells.pop("key", "")
        others = tuple(line.texts.get(column, "") for column in known.others)
        if not (key or cells or any(others)):
            continue
        if key in rows_by_key:
            first = rows_by_key[key]
            notes.append(
                _(
                    "{tab}, row {number:d}: the same key as row {first}; read as an added row",
                    tab=known.tab,
                    number=line.number,
                    first=first,
                )
            )
            key = ""
        elif key:
            rows_by_key[key] = line.number
        yield EditedRow(PulledRow(key=key, cells=cells, number=line.number), others)
