"""A run's worksheets with what the team wrote into an earlier workbook: nothing of theirs is lost."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from simulator.core.types import Language
from simulator.reports.layouts import language_of, layouts
from simulator.reports.pulled import PulledRow
from simulator.reports.worksheet import Column, Made, Row, SheetCell, Worksheet
from simulator.reports.xlsx_found import Edited, EditedRow, EditedSheet, read_value
from simulator.reports.xlsx_text import cell_text

# Columns that people added are known by this and their place, and to nobody but the writer.
_OTHER = "other."
_OTHER_WIDTH = 20
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,9})(\.\d{0,4}[1-9])?")


def merged(worksheets: Sequence[Worksheet], edited: Edited) -> tuple[Worksheet, ...]:
    """The worksheets, with the team's cells, rows, columns and order of those that the workbook holds."""
    language = language_of(worksheets)
    return tuple(
        _merged(sheet, edited.sheets[sheet.name], language) if sheet.name in edited.sheets else sheet
        for sheet in worksheets
    )


def fingerprint(sheets: Mapping[str, EditedSheet]) -> str:
    """A hash of all that the team can change: its cells, rows, columns, titles and the order of them."""
    told = hashlib.sha256(b"[")  # the JSON of it all, a row at a time
    for place, (name, sheet) in enumerate(sorted(sheets.items())):
        head = _json([name, sheet.titles]).removesuffix("]")
        told.update(f"{', ' if place else ''}{head}, [".encode())
        for number, row in enumerate(sheet.rows):
            told.update(f"{', ' if number else ''}{_json(_told(row, layouts()[name].team))}".encode())
        told.update(b"]]")
    told.update(b"]")
    return told.hexdigest()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def as_found(worksheets: Sequence[Worksheet]) -> dict[str, EditedSheet]:
    """The worksheets as they are read back while nobody has edited them."""
    language = language_of(worksheets)
    return {sheet.name: _as_found(sheet, language) for sheet in worksheets}


def _told(row: EditedRow, team: Iterable[str]) -> list[object]:
    theirs = {key: text for key, text in sorted(row.pulled.cells.items()) if key in team}
    return [row.pulled.key, theirs, row.others]


def _as_found(sheet: Worksheet, language: Language) -> EditedSheet:
    others = [column.key for column in sheet.columns if column.key.startswith(_OTHER)]
    layout = layouts()[sheet.name]

    def found(place: int) -> EditedRow:
        row = sheet.rows[place]
        texts = {key: cell_text(cell.text, language) for key, cell in row.cells.items()}
        filled = {key: text for key, text in texts.items() if text.strip()}
        cells = {k: read_value(k, text, layout) for k, text in filled.items() if k not in others}
        beside = tuple(filled.get(key, "") for key in others)
        key = cell_text(row.key, language)
        return EditedRow(PulledRow(key=key, cells=cells, number=place + 2), beside)

    rows = Made(range(len(sheet.rows)), found)
    titles = tuple(filter(str.strip, (cell_text(column.title, language) for column in sheet.columns)))
    known = frozenset(column.key for column in sheet.columns) - set(others)
    return EditedSheet(tab=sheet.title, titles=titles, columns=known, others=(), rows=rows)


def _merged(sheet: Worksheet, edited: EditedSheet, language: Language) -> Worksheet:
    own = {cell_text(row.key, language): row for row in sheet.rows}
    rows = [_carried(sheet, edited, found, own.get(found.pulled.key)) for found in edited.rows]
    kept = [row for row, found in zip(rows, edited.rows, strict=True) if _stays(sheet, found, own)]
    there = {found.pulled.key for found in edited.rows}
    new = [_unapproved(sheet, row) for key, row in own.items() if key not in there]
    others = tuple(
        Column(key=f"{_OTHER}{number}", title=title, owner="team", width=_OTHER_WIDTH, wrap=True)
        for number, title in enumerate(edited.others)
    )
    ordered = _ordered(list(own), new, kept, language)
    return sheet.model_copy(update={"columns": (*sheet.columns, *others), "rows": tuple(ordered)})


def _stays(sheet: Worksheet, found: EditedRow, own: Mapping[str, Row]) -> bool:
    """Rows of this run stay, and rows in which people wrote something, wherever they come from."""
    team = {column.key for column in sheet.columns if column.owner == "team"}
    wrote = any(found.others) or bool(team & found.pulled.cells.keys())
    return wrote or found.pulled.key in own or not found.pulled.key


def _carried(sheet: Worksheet, edited: EditedSheet, found: EditedRow, own: Row | None) -> Row:
    """The team's cells as they were found, also those it emptied; the program's as they are now."""
    theirs = {
        column.key
        for column in sheet.columns
        if own is None or (column.owner == "team" and column.key in edited.columns)
    }
    cells = {key: cell for key, cell in (own.cells if own else {}).items() if key not in theirs}
    for column in sheet.columns:
        if column.key in theirs and (text := found.pulled.cells.get(column.key)):
            cells[column.key] = _cell(column, text)
    beside = {f"{_OTHER}{n}": _other(text) for n, text in enumerate(found.others) if text}
    return Row(key=own.key if own else found.pulled.key, cells=cells | beside)


def _cell(column: Column, text: str) -> SheetCell:
    titles = {choice.id: choice.title for choice in column.choices}
    shown = titles.get(text, text)
    # A grade is a number, as it is when people type it.
    return SheetCell(text=shown, number=float(shown) if text in titles and shown.isdecimal() else None)


def _other(text: str) -> SheetCell:
    """What stands in a column that people added; a number remains one."""
    return SheetCell(text=text, number=float(text)) if _NUMBER.fullmatch(text) else SheetCell(text=text)


def _unapproved(sheet: Worksheet, row: Row) -> Row:
    """A question that the team's workbook has not: it may have been deleted there, so it is asked again."""
    if sheet.name != "questions":
        return row
    cells = dict(row.cells) | {"approved": _cell(sheet.column("approved"), "no")}
    return replace(row, cells=cells)


def _ordered(natural: list[str], new: list[Row], kept: list[Row], language: Language) -> list[Row]:
    """As the team sorted them below what is new; as the program does where nobody sorted."""
    place = {key: number for number, key in enumerate(natural)}
    keys = [place[key] for row in kept if (key := cell_text(row.key, language)) in place]
    if keys != sorted(keys):
        return [*new, *kept]
    ranks, last = [], -1
    for row in kept:
        last = place.get(cell_text(row.key, language), last)
        ranks.append((last, 1, row))
    ranks += [(place[cell_text(row.key, language)], 0, row) for row in new]
    return [row for *_, row in sorted(ranks, key=lambda each: each[:2])]
