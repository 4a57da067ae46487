"""The one rule of what a newer report leaves alone in a worksheet that people have edited.

However a worksheet is stored, it is read into an `EditedSheet`, and `merge` says which of its cells the
report writes. All others are the people's. Workbooks and Google Sheets differ only in how they write it.

The rule, by whose column it is and whether the row was there:

                           the row is there       the row is new       only people have the row
    column of the program  written anew           written              left
    column of the team     left                   written once         left
    column that is new     written                written              left
    column of people's own left                   empty                left

Columns that people deleted stay out. A row that people deleted comes back: its key is in the report. Example,
of a report with the rows k1 and k3, and a worksheet in which people added a column "Priority":

    before   key  What      Notes     Priority        after   key  What      Notes     Priority
             k1   old       ask Mari  high                    k3   third
             k2   gone                                        k1   new text  ask Mari  high
                                                              k2   gone
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeVar

from simulator.cases.values import WorksheetRow
from simulator.core.messages import Message, _, ngettext, shown
from simulator.core.types import Language
from simulator.sheets.model import Column, Layout, PulledRow, SheetCell, SheetRow, Worksheet, folded

# A day as people type it, the year first: 2026/1/5, 2026-01-05, 2026.1.5, 2026年1月5日. 5/1/2026 is no day
# here: nobody knows which of the two is the month.
_DAY = re.compile(r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*日?")
# What XML 1.0 has no place for; tab and line feed are allowed, a carriage return is made a line feed first.
_ILLEGAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Workbooks write control characters as _x0001_, and a text that looks like that with an escape before it. Of
# two that share a low line only the first is escaped: the other would be read as the character.
_OVERLAPPING = re.compile(r"(_x[0-9A-Fa-f]{4})_(?=x[0-9A-Fa-f]{4}_)")
# Titles and notes of people may stand above the header, in at most this many rows. Rows further down would be
# taken for a header where somebody copied one into the data.
_MOST_TITLE_ROWS = 30
# Columns that people added have this and their number for a key.
OTHER = "other."
# The column of worksheets whose rows last: of a row that people filled in for an earlier run it says which.
CARRIED, RUN = "carried", "run"

Place = TypeVar("Place")


class SheetNote(NamedTuple):
    """What could not be read, and where; `about` a cell, a column that is gone, or a row that is a copy.

    What can be read is read all the same; whoever asked for it says the notes that concern people.
    """

    place: Message | str
    why: Message | str
    about: Literal["cell", "column", "copy"] = "cell"

    @property
    def text(self) -> Message:
        """The whole note."""
        return _("{place}: {why}", place=self.place, why=self.why)


class EditedSheet(NamedTuple):
    """A worksheet as people left it; rows and columns count from 1.

    `titles` are all titles by their column, `columns` the known columns by key, `others` those that people
    added. `ever` has the keys of all columns that it once had: people may have deleted some.
    """

    tab: str
    header: int
    columns: Mapping[str, int]
    titles: Mapping[int, str] = {}
    ever: frozenset[str] = frozenset()
    others: tuple[int, ...] = ()
    rows: Sequence[PulledRow] = ()
    notes: tuple[SheetNote, ...] = ()


class EditedSheets(NamedTuple):
    """Worksheets as people left them, by name.

    `foreign` are the worksheets that people added, `properties` what the program keeps in a workbook.
    """

    sheets: Mapping[str, EditedSheet]
    foreign: tuple[str, ...] = ()
    properties: Mapping[str, str] = {}

    @property
    def notes(self) -> tuple[SheetNote, ...]:
        """What could not be read in any of them."""
        return tuple(note for sheet in self.sheets.values() for note in sheet.notes)

    @property
    def rows(self) -> dict[str, tuple[PulledRow, ...]]:
        """The rows in which a known column is filled, without blanks around the texts."""
        return {
            name: tuple(
                row.model_copy(update={"cells": {key: text.strip() for key, text in row.cells.items()}})
                for row in sheet.rows
                if row.key or row.cells
            )
            for name, sheet in self.sheets.items()
        }


def read_value(column: str, text: str, layout: Layout) -> str:
    """The value of a cell: the id of a choice, a day in ISO 8601, or its text.

    ("checked", "２０２６年1月5日") -> "2026-01-05"
    ("status", "反映済み")         -> "mended"     in whichever language the sheet is
    ("status", "so-so")            -> "so-so"      which whoever reads it may refuse
    """
    if column in layout.days and (day := _DAY.fullmatch(unicodedata.normalize("NFKC", text).strip())):
        return f"{int(day[1]):04}-{int(day[2]):02}-{int(day[3]):02}"
    return layout.choice(column, text)


def by_title(titles: Mapping[int, str], layout: Layout, by_key: Mapping[str, int]) -> dict[str, int]:
    """The columns by key: those of `by_key`, and of the others those with one of our titles.

    {1: "キー", 2: "コメント", 3: "優先度"} -> {"key": 1, "comment": 2}
    Of two columns with one title the left one counts; the other is the people's own.
    """
    columns = dict(by_key)
    for place, title in sorted(titles.items()):
        key = layout.column(title)
        if key and key not in columns and place not in columns.values():
            columns[key] = place
    return columns


def best_header(lines: Sequence[WorksheetRow], layout: Layout) -> tuple[int, int]:
    """How many of a layout's titles the row has that has most of them, and its number.

    Of rows with equally many the first; (0, 0) for a worksheet without rows.
    """
    counts = [
        (len(by_title(line.texts, layout, {})), -line.number, line.number)
        for line in lines[:_MOST_TITLE_ROWS]
    ]
    most, _unused, number = max(counts, default=(0, 0, 0))
    return most, number


def recognised(tabs: Mapping[Place, Sequence[WorksheetRow]], layout: Layout) -> Place | None:
    """The first of these worksheets with so many titles of a layout that it must be a copy of that one."""
    return next((tab for tab, lines in tabs.items() if best_header(lines, layout)[0] >= layout.least), None)


def edited_sheet(
    tab: str,
    lines: Sequence[WorksheetRow],
    layout: Layout,
    columns: Mapping[str, int],
    *,
    header: int,
    ever: frozenset[str],
    by_titles: bool,
) -> EditedSheet:
    """A worksheet's lines as rows by key, in their order.

    `columns` and `header` are where its marks say; the header is where the titles are, if that is somewhere
    else. `by_titles`: the marks may be stale or gone, and columns without one are known by their titles.
    `ever` are the columns that it once had; where it is empty, it had all.
    Rows above the header count where they have a key: people sort a worksheet with its header.
    """
    most, titled = best_header(lines, layout)
    # A few titles may stand in any row: choices are called like columns.
    header = titled if most > max(1, len(columns) // 3) else header or titled
    titles = next((line.texts for line in lines if line.number == header), {})
    if by_titles:
        # A program that moved the columns left their marks behind: they stand at other titles.
        stale = any(layout.column(titles.get(n, "")) not in (None, key) for key, n in columns.items())
        columns = by_title(titles, layout, {} if stale else columns)
    # Columns of people's own: any that is filled in and none of ours.
    filled = {place for line in lines if line.number >= header for place in line.texts}
    others = tuple(sorted(filled - set(columns.values())))
    notes = []
    if "key" not in columns:
        notes.append(SheetNote(tab, _("the column of keys is gone, so no row can be told from another")))
    missing = sorted(layout.team & (ever or layout.team) - columns.keys())
    notes += [SheetNote(tab, _("there is no column {key}", key=key), "column") for key in missing]
    theirs = {place for key, place in columns.items() if key in layout.team} | set(others)
    rows, numbers = [], dict[str, int]()
    for number, filled_in, faults, _hidden in lines:
        key = filled_in.get(columns.get("key", 0), "")
        if number == header or (number < header and not key):
            continue
        row = _("{tab}, row {number:d}", tab=tab, number=number)
        # Faults in the program's columns are no matter: they are written anew.
        for place in sorted(theirs & faults.keys()):
            title = " ".join(titles.get(place, str(place)).split())
            notes.append(SheetNote(_("{row}, column {title}", row=row, title=title), faults[place]))
        texts = {place: text for place, text in filled_in.items() if place not in faults}
        cells = {
            name: read_value(name, texts[place], layout)
            for name, place in columns.items()
            if name != "key" and place in texts
        }
        added = tuple(texts.get(place, "") for place in others)
        if not (key or cells or any(added)):
            continue
        # People copy a row to fill it in for somebody else: the first is the one that the report writes.
        if key and (first := numbers.setdefault(key, number)) != number:
            notes.append(
                SheetNote(row, _("the same key as row {n}; read as an added row", n=str(first)), "copy")
            )
            key = ""
        rows.append(PulledRow(key=key, number=number, cells=cells, others=added))
    return EditedSheet(tab, header, columns, titles, ever, others, rows, tuple(notes))


class Merged(NamedTuple):
    """What a report writes into an edited worksheet; what is not named here stays as people left it.

    `changed` has by row number the cells that are written, empty ones included; `new` are the rows that are
    not there. `places` are all columns by key once those in `added` stand at theirs, one after the other;
    `deleted` are the columns that people deleted: they stay out.

    In the example at the top, with the columns key, what, memo: changed {2: what = "new text"}, new [k3],
    places {"key": 1, "what": 2, "memo": 3, "other.0": 4}.
    """

    changed: dict[int, SheetRow]
    new: list[SheetRow]
    places: dict[str, int]
    added: list[tuple[Column, int]]
    deleted: list[Column]


def merge(sheet: Worksheet, edited: EditedSheet, *, fresh: Collection[str] = ()) -> Merged:
    """The program's cells are the report's; the team's are written once, with their row or their column.

    A row without a key that holds the text of a new question is that question. A new one may have been thrown
    out by the team, so it waits for approval.
    Columns that are `fresh` are there, but nobody has worked in them; with the keys the worksheet is new. (A
    push that lost its connection reads the columns that it has just made, and still has to fill them.)
    """
    places, added, deleted = _places(sheet, edited)
    ours = [
        column.key
        for column in sheet.columns[1:]
        if column.key in places
        and (column.owner == "program" or column.key not in edited.columns.keys() - fresh)
    ]
    text = sheet.columns[1].key
    keyless = [row.cells[text] for row in edited.rows if not row.key and text in row.cells]
    # Of worksheets that are the team's own alone: elsewhere a row without a key is a remark of people's.
    loose = set(map(folded, keyless)) if team_kept(sheet) else ()
    there = {row.key: row for row in edited.rows if row.key}
    changed, new = dict[int, SheetRow](), list[SheetRow]()
    for row in sheet.rows:
        if before := there.get(row.key):
            cells = {key: row.cell(key) for key in ours}
            if CARRIED in cells:
                # The run for which people filled in a row that is now one of a later run.
                run = before.cells.get(RUN, "")
                earlier = run if run < row.cell(RUN).text else ""
                run_of_words = before.cells.get(CARRIED, earlier) if _filled_in(before, sheet) else ""
                cells[CARRIED] = SheetCell(run_of_words)
            changed[before.number] = SheetRow(row.key, cells)
        elif text not in row.cells or folded(row.cells[text].text) not in loose:
            new.append(row if "key" in fresh else _unapproved(sheet, row))
    return Merged(changed, new, places, added, deleted)


def lasting(sheet: Worksheet) -> bool:
    """Whether a row of this worksheet is the same in the next run, with what people wrote into it.

    True of "review", whose keys come of what was said, and "fixes", whose keys come of what is to be done.
    """
    return any(column.key == CARRIED for column in sheet.columns)


def from_earlier(sheet: Worksheet, earlier: Sequence[EditedSheets]) -> EditedSheet | None:
    """The rows of a worksheet as people filled them in before, the first of `earlier` that has them.

    They stand in its own columns and order; columns that people added stand behind that of what is carried.
    None without any such row.
    """
    rows_by_key: dict[str, tuple[PulledRow, dict[str, str]]] = {}
    for there in (sheets.sheets[sheet.name] for sheets in earlier if sheet.name in sheets.sheets):
        headings = [there.titles.get(place, "") for place in there.others]
        for row in there.rows:
            # What was carried into a row that is empty now the team took back.
            if row.key and (_filled_in(row, sheet) or CARRIED in row.cells):
                rows_by_key.setdefault(row.key, (row, dict(zip(headings, row.others, strict=True))))
    written = {key: row for key, row in rows_by_key.items() if _filled_in(row[0], sheet)}
    # Rows are made anew whenever they are looked at.
    again = [written[row.key] for row in sheet.rows if row.key in written] if written else []
    titles = sorted({title for _row, words in again for title, word in words.items() if word})
    keys = [column.key for column in sheet.columns]
    end = keys.index(CARRIED) + 1
    added = dict(enumerate(titles, end + 1))
    places = {key: place + len(added) * (place > end) for place, key in enumerate(keys, 1)}
    rows = [
        row.model_copy(update={"number": number, "others": tuple(words.get(title, "") for title in titles)})
        for number, (row, words) in enumerate(again, 2)
    ]
    return EditedSheet(sheet.title, 1, places, added, others=tuple(added), rows=rows) if rows else None


def _filled_in(row: PulledRow, sheet: Worksheet) -> bool:
    """Whether people wrote anything into a row."""
    return any(row.others) or any(c.owner == "team" and c.key in row.cells for c in sheet.columns)


def _places(
    sheet: Worksheet, edited: EditedSheet
) -> tuple[dict[str, int], list[tuple[Column, int]], list[Column]]:
    """A column that was never there goes behind the one that stands before it in the report."""
    places = {"key": 0, **edited.columns, **{f"{OTHER}{n}": place for n, place in enumerate(edited.others)}}
    added: list[tuple[Column, int]] = []
    deleted: list[Column] = []
    before = "key"
    for column in sheet.columns:
        if column.key not in places and column.key in edited.ever:
            deleted.append(column)
            continue
        if column.key not in places:
            at = places[before] + 1
            places = {key: place + (place >= at) for key, place in places.items()} | {column.key: at}
            added.append((column, at))
        before = column.key
    return places, added, deleted


def team_kept(sheet: Worksheet) -> bool:
    """Whether this worksheet is the team's own, to which the program only adds rows."""
    return all(column.owner == "team" for column in sheet.columns[1:])


def _unapproved(sheet: Worksheet, row: SheetRow) -> SheetRow:
    """A new question with "Not yet" in its column of approval: only what people approved is asked."""
    if sheet.name != "questions":
        return row
    no = next(choice.title for choice in sheet.column("approved").choices if choice.id == "no")
    return replace(row, cells={**row.cells, "approved": SheetCell(text=no)})


def visible(text: str) -> str:
    """The text as a cell can hold it: U+FFFD stands for what no cell can hold."""
    if text.isprintable() and "_x" not in text:
        return text
    text = _ILLEGAL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _OVERLAPPING.sub(r"\1＿", text)


def cell_text(text: str, language: Language, longest: int) -> str:
    """The text as a cell holds it, cut with a mark where it is longer than a cell may be, in UTF-16 units.

    ("a" * 50, "en", 40) -> "aaaaaaaaaaaaaaaaaa… (32 more characters)". No pair of surrogates is parted.
    """
    text = visible(text)
    if 2 * len(text) <= longest or units(text) <= longest:
        return text
    room = longest - units(_left_out(len(text), language))
    kept = text.encode("utf-16-le")[: 2 * room].decode("utf-16-le", "ignore")
    return kept + _left_out(len(text) - len(kept), language)


def _left_out(n: int, language: Language) -> str:
    return shown(ngettext("… ({n} more character)", "… ({n} more characters)", n=n), language)


def units(text: str) -> int:
    """The length of a text in UTF-16 units, as Excel and Google count it: an emoji is two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
