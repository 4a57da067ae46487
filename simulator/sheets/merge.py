"""An edited workbook as values, merged into the worksheets of a newer report; and texts as cells hold them.

How a workbook is read stands in excel_read.py, which most runs never load.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from simulator.core.messages import Message
from simulator.core.replies import encodable
from simulator.core.types import Language
from simulator.sheets.model import (
    Column,
    Layout,
    LazyRows,
    PulledRow,
    Row,
    SheetCell,
    SheetWords,
    Worksheet,
    language_of,
    layouts,
)

_DAY = re.compile(r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*日?")


class EditedRow(NamedTuple):
    """A row of an edited worksheet; `others` are its cells in the columns that people added."""

    pulled: PulledRow
    others: tuple[str, ...] = ()


class EditedSheet(NamedTuple):
    """An edited worksheet: all titles, the keys of known columns, the titles of columns that people added."""

    tab: str
    titles: tuple[str, ...]
    columns: frozenset[str]
    others: tuple[str, ...]
    rows: Sequence[EditedRow]


class EditedWorkbook(NamedTuple):
    """An edited workbook; `notes` are on ignored cells, `foreign` are the worksheets that people added."""

    sheets: Mapping[str, EditedSheet]
    properties: Mapping[str, str]
    foreign: tuple[str, ...]
    notes: tuple[Message | str, ...]


def read_value(column: str, text: str, layout: Layout) -> str:
    """The value of a cell: the id of a choice, a day in ISO 8601, or its text."""
    if column in layout.choices:
        return layout.choice(column, text)
    if column in layout.days and (day := _DAY.fullmatch(text.strip())):
        return f"{int(day[1]):04}-{int(day[2]):02}-{int(day[3]):02}"
    return text


# Excel counts UTF-16 units: an emoji is two.
LONGEST = 32_767
_MARK_AT_MOST = 64
_ILLEGAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Workbooks write control characters as _x0001_, and a text that looks like that with an escape before it. Of
# two that share a low line only the first is escaped: the other would be read as the character.
_OVERLAPPING = re.compile(r"(_x[0-9A-Fa-f]{4})_(?=x[0-9A-Fa-f]{4}_)")
# C0 controls have pictures of their own (␀ ␁ ...); C1 controls have none.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)}
_PICTURES |= {0x7F: 0x2421, 0xFFFE: 0xFFFD, 0xFFFF: 0xFFFD} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
# What a spreadsheet takes for a formula as soon as somebody edits the cell.
_FORMULA = tuple("=+-@\t\n|%＝＋－＠")


def cell_text(text: str, language: Language, longest: int = LONGEST) -> str:
    """The text with control characters made visible, cut with a visible mark to what a cell holds."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _ILLEGAL.search(text):
        text = encodable(text.translate(_PICTURES))
    if "_x" in text:
        text = _OVERLAPPING.sub(r"\1＿", text)
    return text if units(text) <= longest else _cut(text, language, longest)


def units(text: str) -> int:
    """The length of a text as Excel counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _cut(text: str, language: Language, longest: int) -> str:
    start = text.encode("utf-16-le")[: 2 * (longest - _MARK_AT_MOST)].decode("utf-16-le", "ignore")
    return start + SheetWords(language)("text", "left_out", n=len(text) - len(start))


def looks_like_a_formula(text: str) -> bool:
    """Whether a spreadsheet could calculate the text once somebody edits its cell."""
    return text.lstrip(" \u3000").startswith(_FORMULA)


def text_width(text: str) -> float:
    """About how many narrow characters wide a line is; a kanji, three bytes of UTF-8, counts for two."""
    return (len(text) + len(text.encode())) / 2


def line_count(text: str, width: float, most: int) -> int:
    """About how many lines a text takes when it is wrapped at `width` narrow characters, up to `most`."""
    high = 0
    for line in text.split("\n"):
        high += max(1, ceil(text_width(line) / width))
        if high >= most:
            return most
    return high


# Columns that people added have this and their place for a key; only the writer uses it.
_OTHER = "other."
_OTHER_WIDTH = 20
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,9})(\.\d{0,4}[1-9])?")


def merged(worksheets: Sequence[Worksheet], edited: EditedWorkbook) -> tuple[Worksheet, ...]:
    """The worksheets, with the team's cells, rows, columns and order of those that the workbook holds."""
    language = language_of(worksheets)
    return tuple(
        _merged(sheet, edited.sheets[sheet.name], language) if sheet.name in edited.sheets else sheet
        for sheet in worksheets
    )


def fingerprint(sheets: Mapping[str, EditedSheet]) -> str:
    """A hash of all that the team can change: its cells, rows, columns, titles and their order."""
    # The JSON of all worksheets, a row at a time: whole, it is larger than the workbook.
    digest = hashlib.sha256(b"[")
    for place, (name, sheet) in enumerate(sorted(sheets.items())):
        head = _json([name, sheet.titles]).removesuffix("]")
        digest.update(f"{', ' if place else ''}{head}, [".encode())
        for number, row in enumerate(sheet.rows):
            digest.update(f"{', ' if number else ''}{_json(_team_part(row, layouts()[name].team))}".encode())
        digest.update(b"]]")
    digest.update(b"]")
    return digest.hexdigest()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def unedited(worksheets: Sequence[Worksheet]) -> dict[str, EditedSheet]:
    """The worksheets as they are read back while nobody has edited them."""
    language = language_of(worksheets)
    return {sheet.name: _unedited_sheet(sheet, language) for sheet in worksheets}


def _team_part(row: EditedRow, team: Iterable[str]) -> list[object]:
    cells = {key: text for key, text in sorted(row.pulled.cells.items()) if key in team}
    return [row.pulled.key, cells, row.others]


def _unedited_sheet(sheet: Worksheet, language: Language) -> EditedSheet:
    others = [column.key for column in sheet.columns if column.key.startswith(_OTHER)]
    layout = layouts()[sheet.name]

    def row_at(place: int) -> EditedRow:
        row = sheet.rows[place]
        texts = {key: cell_text(cell.text, language) for key, cell in row.cells.items()}
        filled = {key: text for key, text in texts.items() if text.strip()}
        cells = {k: read_value(k, text, layout) for k, text in filled.items() if k not in others}
        added = tuple(filled.get(key, "") for key in others)
        key = cell_text(row.key, language)
        return EditedRow(PulledRow(key=key, cells=cells, number=place + 2), added)

    rows = LazyRows(range(len(sheet.rows)), row_at)
    titles = tuple(filter(str.strip, (cell_text(column.title, language) for column in sheet.columns)))
    known = frozenset(column.key for column in sheet.columns) - set(others)
    return EditedSheet(tab=sheet.title, titles=titles, columns=known, others=(), rows=rows)


def _merged(sheet: Worksheet, edited: EditedSheet, language: Language) -> Worksheet:
    own = {cell_text(row.key, language): row for row in sheet.rows}
    remaining = [
        _merged_row(sheet, edited, row, own.get(row.pulled.key))
        for row in edited.rows
        if _remains(sheet, row, own)
    ]
    edited_keys = {row.pulled.key for row in edited.rows}
    new = [_unapproved(sheet, row) for key, row in own.items() if key not in edited_keys]
    others = tuple(
        Column(key=f"{_OTHER}{number}", title=title, owner="team", width=_OTHER_WIDTH, wrap=True)
        for number, title in enumerate(edited.others)
    )
    ordered = _ordered(list(own), new, remaining, language)
    return sheet.model_copy(update={"columns": (*sheet.columns, *others), "rows": tuple(ordered)})


def _remains(sheet: Worksheet, row: EditedRow, own: Mapping[str, Row]) -> bool:
    """Whether an edited row is of this run, or holds something that people wrote."""
    team = {column.key for column in sheet.columns if column.owner == "team"}
    has_edits = any(row.others) or bool(team & row.pulled.cells.keys())
    return has_edits or row.pulled.key in own or not row.pulled.key


def _merged_row(sheet: Worksheet, edited: EditedSheet, row: EditedRow, own: Row | None) -> Row:
    """The team's cells as edited, also those it emptied; the program's as they are now."""
    team = {
        column.key
        for column in sheet.columns
        if own is None or (column.owner == "team" and column.key in edited.columns)
    }
    cells = {key: cell for key, cell in (own.cells if own else {}).items() if key not in team}
    for column in sheet.columns:
        if column.key in team and (text := row.pulled.cells.get(column.key)):
            cells[column.key] = _cell(column, text)
    others = {f"{_OTHER}{n}": _other_cell(text) for n, text in enumerate(row.others) if text}
    return Row(key=own.key if own else row.pulled.key, cells=cells | others)


def _cell(column: Column, text: str) -> SheetCell:
    titles = {choice.id: choice.title for choice in column.choices}
    title = titles.get(text, text)
    # A grade is a number, as it is when people type it.
    return SheetCell(text=title, number=float(title) if text in titles and title.isdecimal() else None)


def _other_cell(text: str) -> SheetCell:
    """A cell in a column that people added; a number remains one."""
    return SheetCell(text=text, number=float(text)) if _NUMBER.fullmatch(text) else SheetCell(text=text)


def _unapproved(sheet: Worksheet, row: Row) -> Row:
    """A question that the team's workbook lacks may have been deleted there: it needs approval again."""
    if sheet.name != "questions":
        return row
    cells = dict(row.cells) | {"approved": _cell(sheet.column("approved"), "no")}
    return replace(row, cells=cells)


def _ordered(order: list[str], new: list[Row], remaining: list[Row], language: Language) -> list[Row]:
    """In the program's `order`; where the team sorted, its order below the new rows."""
    place = {key: number for number, key in enumerate(order)}
    keys = [place[key] for row in remaining if (key := cell_text(row.key, language)) in place]
    if keys != sorted(keys):
        return [*new, *remaining]
    ranks, last = [], -1
    for row in remaining:
        last = place.get(cell_text(row.key, language), last)
        ranks.append((last, 1, row))
    ranks += [(place[cell_text(row.key, language)], 0, row) for row in new]
    return [row for *_, row in sorted(ranks, key=lambda each: each[:2])]
