"""An Excel workbook that people have edited: its worksheets and columns, whatever was moved or renamed."""

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.utils import column_index_from_string

from simulator.data.files import read_archive, readable_or_error
from simulator.data.values import WorksheetRow
from simulator.data.workbooks import read_workbook
from simulator.sheets.excel_write import DELETED, LISTS
from simulator.sheets.merge import EditedSheet, EditedSheets, by_title, edited_sheet
from simulator.sheets.model import Layout, folded, layouts

# Titles and notes of people may stand above the header, in at most this many rows.
_MOST_TITLE_ROWS = 30
_NAMED = re.compile(r"rehearsal_([a-z]+)_(\w+)")
_PLACE = re.compile(r"=?\$?(?:'((?:[^']|'')+)'|([^'!]+))!\$([A-Z]{1,3})\$(\d{1,7})")

# Column keys with the row and the column (from 1) of the header cell.
Places = Mapping[str, tuple[int, int]]


def read_edited(path: Path) -> EditedSheets:
    """All known worksheets; raises CaseFileError in one line for a file that is not a workbook."""
    data = read_archive(path, "Excel")
    with readable_or_error(path, "Excel"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        workbook: Any = openpyxl.load_workbook(data, read_only=True, keep_links=False)
        # The names of a copied worksheet are its own: they count where the original is gone.
        defined = {n: d for sheet in workbook.worksheets for n, d in sheet.defined_names.items()}
        properties = {p.name: str(p.value) for p in workbook.custom_doc_props.props}
        hidden = [s.title for s in workbook.worksheets if s.sheet_state != "visible" and s.title != LISTS]
        defined |= dict(workbook.defined_names.items())
    places: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    ever = {name: set(properties.get(DELETED + name, "").split()) for name in layouts()}
    for defined_name, definition in defined.items():
        known, at = _NAMED.fullmatch(defined_name), _PLACE.fullmatch(definition.attr_text or "")
        if not known or known[1] not in layouts():
            continue
        name, column = known.groups()
        # A name remains when its column is deleted, and stands for nothing then.
        ever[name].add(column)
        if at:
            tab = at[1].replace("''", "'") if at[1] else at[2]
            header = int(at[4]), column_index_from_string(at[3])
            places.setdefault((tab, name), {})[column] = header
    tabs = {sheet.name: sheet.lines for tab in ("", *hidden) for sheet in read_workbook(path, tab)}
    names = _identified(tabs, places)
    sheets = {
        name: _sheet(tab, tabs[tab], layouts()[name], places.get((tab, name), {}), frozenset(ever[name]))
        for name, tab in names.items()
    }
    foreign = tuple(tab for tab, lines in tabs.items() if tab not in names.values() and lines)
    return EditedSheets(sheets, foreign, properties)


def _identified(
    tabs: Mapping[str, Sequence[WorksheetRow]], places: Mapping[tuple[str, str], Places]
) -> dict[str, str]:
    """The tab of each worksheet, found by the names in it, else by its title, else by its column titles."""
    found: dict[str, str] = {}
    for tab, name in ((tab, name) for tab in tabs for name in layouts() if (tab, name) in places):
        if name not in found or len(places[tab, name]) > len(places[found[name], name]):
            found[name] = tab
    for name, layout in layouts().items():
        free = [tab for tab in tabs if tab not in found.values()]
        titled = [tab for tab in free if folded(tab) in layout.tabs]
        alike = titled or [tab for tab in free if _best(tabs[tab], layout)[0] >= layout.least]
        if name not in found and alike:
            found[name] = alike[0]
    return {name: found[name] for name in layouts() if name in found}


def _best(lines: Sequence[WorksheetRow], layout: Layout) -> tuple[int, WorksheetRow]:
    """The line with the most titles of the layout, and how many those are."""
    counts = [
        (len(by_title(line.texts, layout, {})), -line.number, line) for line in lines[:_MOST_TITLE_ROWS]
    ]
    most, _, line = max(counts, default=(0, 0, WorksheetRow(0, {})))
    return most, line


def _sheet(
    tab: str, lines: Sequence[WorksheetRow], layout: Layout, places: Places, ever: frozenset[str]
) -> EditedSheet:
    """The header is where the columns' names are, or where their titles are."""
    number = Counter(row for row, _ in places.values()).most_common(1)[0][0] if places else 0
    named = {key: column for key, (row, column) in places.items() if row == number}
    top = next((line for line in lines if line.number == number), WorksheetRow(number, {}))
    # Names are stale when a program moved the columns and left them behind: they stand at other titles.
    stale = any(layout.column(top.texts.get(place, "")) not in (None, key) for key, place in named.items())
    most, titled = _best(lines, layout)
    if not named or stale or most > 2 > _best([top], layout)[0]:
        top, named = titled, {}
    columns = by_title(top.texts, layout, named)
    return edited_sheet(tab, lines, top.number, columns, layout=layout, ever=ever)
