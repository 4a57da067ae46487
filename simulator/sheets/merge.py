"""The one rule of what becomes of a worksheet that people have edited when a newer run is written into it.

However a worksheet is stored, it is read into an `EditedSheet`, and `merge` says what it becomes. Workbooks
and Google Sheets differ only in how they write that. The program's columns are the program's: written anew.
The team's are joined by the key of the row. A cell that a person changed since it was last read or written
stays; any other one gets what counts now, such as a newer word from the page of `open`, and a line says what
was replaced. Columns, rows and worksheets of people's own stay.

A worksheet's `departure` says what becomes of a row that the report no longer has:

    replaced   it goes; what people wrote in it, such as a decision, goes to the archive
    closed     asked again and graded, and no longer found: closed, and goes to the archive
               closed by the team (retested, won't fix): goes to the archive
               not asked, or not graded: waits in the archive, and says so there
    unfilled   it goes where nobody wrote in it
    kept       it stays

and of a row in the report that is not there:

    its key waits in the archive      it comes back as if it had never left, with the team's words
    its key is in the archive         it comes back with the team's words, and says that it was over
    another wrong answer to its       it takes over the team's words, but for what they said of the mark
    question has just gone
    otherwise                         it is new

Columns that people deleted stay out: a worksheet that is there only gets columns of further turns. A row that
people deleted comes back: its key is in the report.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, NamedTuple, TypeVar

from simulator.cases.row import WorksheetRow
from simulator.core.document import Text, excerpt
from simulator.core.messages import Message, _, ngettext, pgettext, safe_text, shown
from simulator.core.types import Language
from simulator.sheets.model import (
    ARCHIVED,
    LATER,
    RED,
    CellMark,
    CellRead,
    Column,
    Layout,
    PulledRow,
    SheetCell,
    SheetRow,
    Worksheet,
    folded,
    is_answer_key,
    question_of,
    turn_of,
)

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
# The columns that say what a row is about.
_SUBJECTS = ("question", "what", "item", "key")
# Columns that people added have this and their title for a key.
OTHER = "other."
# A status with which people are done with a row, and one with which the bot should be.
_CLOSED, _FIXED = frozenset({"retested", "wontfix"}), frozenset({"mended", "retested"})
# What people said of the mark of one answer says nothing of another.
_OF_THE_MARK = frozenset({"judge_is", "checked"})
# A text of people's own that was typed as a number, and reads the same when it is one again: 12, -3.5. Not
# 007, 1.50 and 1e5, which would come back changed, nor more digits than a spreadsheet keeps.
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,9})(\.\d{0,4}[1-9])?")
# What was never read; a test that people say No to, as a cell that says nothing.
_UNREAD, _NO_TEST = CellRead(""), ("make_test", "no", "")
# So many replaced cells are named.
_MOST_LINES = 5
# Before it Excel counts a 29 February 1900, which never was, and LibreOffice does not.
_FIRST_DAY = datetime(1900, 3, 1)
# How the cell of a red answer begins, and of one that is disputed.
_MARKED: Mapping[str, CellMark] = {"▲": "red", "△": "disputed"}

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

    `columns` are the known columns by key, `others` those that people added, by title.
    """

    tab: str
    header: int
    columns: Mapping[str, int]
    others: Mapping[str, int] = {}
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
    tab: str, lines: Sequence[WorksheetRow], layout: Layout, columns: Mapping[str, int], header: int = 0
) -> EditedSheet:
    """A worksheet's lines as rows by key, in their order.

    `columns` and `header` are where its marks say; the header is where the titles are, if that is somewhere
    else. Columns without a mark are known by their titles.
    Rows above the header count where they have a key: people sort a worksheet with its header.
    """
    most, titled = best_header(lines, layout)
    # A few titles may stand in any row: choices are called like columns.
    header = titled if most > max(1, len(columns) // 3) else header or titled
    titles = next((line.texts for line in lines if line.number == header), {})
    columns = by_title(titles, layout, columns)
    # Columns of people's own: any that is filled in and none of ours.
    filled = {place for line in lines if line.number >= header for place in line.texts}
    others = _named(titles, sorted(filled - set(columns.values())))
    notes = []
    if "key" not in columns:
        notes.append(SheetNote(tab, _("the column of keys is gone, so its rows cannot be recognized")))
    missing = sorted(layout.team - columns.keys())
    notes += [SheetNote(tab, _("no column {key}", key=key), "column") for key in missing]
    theirs = {place for key, place in columns.items() if key in layout.team} | set(others.values())
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
        added = {title: texts[place] for title, place in others.items() if place in texts}
        if not (key or cells or added):
            continue
        # People copy a row to fill it in for somebody else: the first is the one that the report writes.
        if key and (first := numbers.setdefault(key, number)) != number:
            notes.append(
                SheetNote(row, _("the same key as row {n}; read as an added row", n=str(first)), "copy")
            )
            key = ""
        rows.append(PulledRow(key=key, number=number, cells=cells, others=added))
    return EditedSheet(tab, header, columns, others, rows, tuple(notes))


def _named(titles: Mapping[int, str], places: Iterable[int]) -> dict[str, int]:
    """Columns of people's own by a title that no other of them has."""
    named: dict[str, int] = {}
    for place in places:
        title = titles.get(place, "").strip()
        named[title if title and title not in named else f"{title} ({place})".strip()] = place
    return named


class MergedRow(NamedTuple):
    """A row as it is to be; `number` is that of its place now, 0 of a new one.

    `ours` are the columns that the program writes into a row that is there.
    """

    row: SheetRow
    number: int = 0
    ours: Collection[str] = ()


class Merged(NamedTuple):
    """What becomes of an edited worksheet.

    `rows` are those of the report in its order, `kept` those that stay beside them, `gone` the numbers of
    those that go. `archived` are the rows that the archive gets. `places` are all columns by key once those
    in `added` stand at theirs, one after the other. `replaced` says which of the team's cells got a newer
    word.
    """

    rows: Sequence[MergedRow]
    kept: Sequence[MergedRow]
    gone: Sequence[int]
    archived: Sequence[SheetRow]
    places: Mapping[str, int]
    added: Sequence[tuple[Column, int]]
    replaced: Sequence[Message] = ()


def merge(
    sheet: Worksheet, edited: EditedSheet, archive: Mapping[str, PulledRow], *, is_new: bool = False
) -> Merged:
    """What a worksheet becomes in which people have worked; `archive` has the archive's rows by their keys.

    One that `is_new` is still being filled.
    """
    places, added = _places(sheet, edited, is_new=is_new)
    work = _Merging(sheet, edited, archive, is_new=is_new)
    rows = work.report()
    gone = [*work.leaving()]  # also rows that waited in the archive: they have no place
    out = set(map(id, gone))
    kept = [work.stays(row) for row in edited.rows if id(row) not in out and row.key not in work.reported]
    left = [row.number for row in gone if row.number]
    return Merged(rows, kept, left, work.archived, places, added, work.replaced)


def merge_all(
    worksheets: Iterable[Worksheet],
    edited: Mapping[str, EditedSheet],
    new: Collection[str] = (),
) -> dict[str, tuple[Worksheet, Merged]]:
    """All worksheets with what becomes of them, by name, in their order; `edited` has each of them.

    `new` names those that nobody can have worked in yet.

    The summary counts what became of the review; whatever leaves a worksheet is in the archive. An archive
    that has no rows is left out.
    """
    sheets = {sheet.name: sheet for sheet in worksheets}
    archive = {row.key: row for row in (edited["archive"].rows if "archive" in edited else ()) if row.key}
    done: dict[str, tuple[Worksheet, Merged]] = {}
    archived: list[SheetRow] = []
    # The review first, which the summary counts; the archive last, which has what left the others.
    for name in sorted(sheets, key=lambda name: (name == "archive", name != "review")):
        sheet = sheets[name]
        if name == "summary" and "review" in done:
            sheet = _counting(sheet, _outcomes(*done["review"], archive))
        if name == "archive":
            sheet = archived_sheet(sheet, archived, archive)
        merged = merge(sheet, edited[name], archive, is_new=name in new)
        archived += merged.archived
        if name != "archive" or archive or sheet.rows:
            done[name] = sheet, merged
    return {name: done[name] for name in sheets if name in done}


class _Merging:
    """One worksheet being merged: which rows of the report are there, and what becomes of all others."""

    def __init__(
        self, sheet: Worksheet, edited: EditedSheet, archive: Mapping[str, PulledRow], *, is_new: bool
    ) -> None:
        self.sheet, self.archive, self.is_new, self.archived = sheet, archive, is_new, list[SheetRow]()
        self.columns = {column.key: column for column in sheet.columns}
        self.team = {key for key, column in self.columns.items() if column.owner == "team"}
        # Rows that wait until their questions are asked again count as if they were here.
        self.over, waiting = self._from_archive(), dict[str, PulledRow]()
        if sheet.departure == "closed":
            outcomes = {key: self.archive[archive_key(sheet, key)].cells.get("outcome") for key in self.over}
            waiting = {key: row for key, row in self.over.items() if outcomes[key] == "not_asked"}
        self.there = {**waiting, **{row.key: row for row in edited.rows if row.key}}
        self.reported = {row.key for row in sheet.rows}
        self.ours = [key for key in [*self.columns][1:] if key not in self.team]
        text = sheet.columns[1].key
        keyless = [row.cells[text] for row in edited.rows if not row.key and text in row.cells]
        # Of worksheets that are the team's own alone: elsewhere a row without a key is a remark of people's.
        self.loose = set(map(folded, keyless)) if team_kept(sheet) else set[str]()
        self.replaced = list[Message]()
        # Rows whose words another answer to the same question takes over.
        self.taken_over = set[str]()

    def report(self) -> list[MergedRow]:
        """The rows of the report; those whose question people have already added are left out."""
        text, rows = self.sheet.columns[1].key, []
        heirs = self._heirs() if self.sheet.departure == "closed" else {}
        for row in self.sheet.rows:
            if before := self.there.get(row.key):
                filled = [*self._newer(row, before)]
                cells = (
                    {**row.cells, **self._words(before, self.team - {*filled})} if self.team else row.cells
                )
                if not before.number:
                    self.archived.append(self._archive_row(row.key, before, "back"))
                columns = [*self.ours, *(key for key in filled if key not in self.ours)]
                rows.append(MergedRow(self._stated(row, cells, before), before.number, columns))
            elif text in row.cells and folded(row.cells[text].text) in self.loose:
                continue
            elif old := self.over.get(row.key):
                words = {key: cell for key, cell in self._words(old, self.team).items() if cell.text}
                rows.append(MergedRow(self._stated(row, {**row.cells, **words}, old, "back")))
                if self.archive[archive_key(self.sheet, row.key)].cells.get("outcome") != "back":
                    self.archived.append(self._archive_row(row.key, old, "back"))
            elif heir := heirs.get(row.key):
                cells = {**row.cells, **self._words(heir, self.team - _OF_THE_MARK)}
                rows.append(MergedRow(self._stated(row, cells, heir, "reworded")))
            else:
                rows.append(MergedRow(row if self.is_new else _unapproved(self.sheet, row)))
        return rows

    def _newer(self, row: SheetRow, before: PulledRow) -> Iterator[str]:
        """The team's columns in which no person has changed anything, and which get what counts now.

        A row that was emptied says nothing, and gets all of it again.
        """
        read = row.read if any(map(before.cells.get, self.team)) else {}
        for key in (key for key in self.columns if key in self.team):
            there, after, said = before.cells.get(key, ""), row.cell(key).text, read.get(key, _UNREAD)
            is_unchanged = safe_text(there).strip() == said.text or (key, there, said.text) == _NO_TEST
            if not (
                is_unchanged and (key in read or (after and (self.sheet.departure == "closed" or row.read)))
            ):
                continue
            yield key
            text = title_of(self.columns[key], there)
            if there and text.strip() != after and (key, there, after) != _NO_TEST:
                place = _("{tab}, row {number:d}", tab=self.sheet.title, number=before.number)
                what = _("{row}, column {title}", row=place, title=self.columns[key].title)
                self.replaced.append(replaced_line(what, text, said.by, after))

    def leaving(self) -> Iterator[PulledRow]:
        """The rows that go; what is to be remembered of them is put into the archive."""
        for key, row in self.there.items():
            if key in self.reported:
                continue
            written, departure = filled_in(row, self.sheet), self.sheet.departure
            if departure == "closed":
                outcome = self._outcome(row) or "not_asked"
                if outcome == "not_asked" and not row.number:
                    continue
                # What nobody marked and nobody wrote into is no loss; what was closed is counted.
                is_problem = _questions(row) and _is_red(row)
                if key not in self.taken_over and (written or is_problem):
                    self.archived.append(self._archive_row(key, row, outcome))
                yield row
            elif departure == "replaced":
                if written:
                    self.archived.append(self._archive_row(key, row, "earlier"))
                yield row
            elif departure == "unfilled" and not written:
                yield row

    def _from_archive(self) -> dict[str, PulledRow]:
        """The rows of this worksheet that are in the archive, as they stood here, by their keys."""
        start, rows = archive_key(self.sheet, ""), dict[str, PulledRow]()
        for name, row in self.archive.items():
            if name.startswith(start):
                cells = {key: text for key, text in row.cells.items() if key in self.columns}
                cells |= {
                    key: row.cells[_in_archive(key)] for key in self.team if _in_archive(key) in row.cells
                }
                subject = next(key for key in _SUBJECTS if key in self.columns)
                cells[subject] = row.cells.get("subject", "")
                lines = (line.partition(": ") for line in row.cells.get("other", "").splitlines())
                others = {title: text for title, colon, text in lines if colon}
                key = name.removeprefix(start)
                rows[key] = PulledRow(key=key, number=0, cells=cells, others=others)
        return rows

    def stays(self, row: PulledRow) -> MergedRow:
        """A row that is not in the report, as it stands."""
        cells = {
            key: cell_of(self.columns.get(key), text)
            for key, text in row.cells.items()
            if key in self.columns
        }
        return MergedRow(SheetRow(row.key, cells | _own_cells(row)), row.number)

    def _outcome(self, row: PulledRow) -> str | None:
        """Why a row of the review or of the fixes goes; None where its questions were not asked."""
        questions = _questions(row)
        # A wrong answer to a follow-up says nothing where nobody followed up.
        asked = {f"{name}{LATER}" for name in questions} if LATER in row.key else questions
        if questions and asked | questions <= self.sheet.asked:
            return "changed" if questions & self.sheet.red else "right"
        if row.cells.get("status") in _CLOSED:
            return "team"
        return None if questions and (filled_in(row, self.sheet) or _is_red(row)) else "team"

    def _heirs(self) -> dict[str, PulledRow]:
        """Red rows that are new, each with a row of the same question that has just gone with people's words.

        A bot says the same wrong thing in other words every week: what people wrote of it is still wanted.
        """
        left: dict[str, list[PulledRow]] = {}
        for key, row in self.there.items():
            if key not in self.reported and self._outcome(row) == "changed" and filled_in(row, self.sheet):
                for question in _questions(row):
                    left.setdefault(question, []).append(row)
        heirs = {}
        for new in self.sheet.rows if left else ():
            rows = left.get(question_of(new.key))
            is_new = new.key not in self.there and archive_key(self.sheet, new.key) not in self.archive
            if rows and is_new and new.cell("severity").text:
                heirs[new.key] = rows.pop(0)
                self.taken_over.add(heirs[new.key].key)
        return heirs

    def _stated(
        self, row: SheetRow, cells: Mapping[str, SheetCell], before: PulledRow, state: str = "again"
    ) -> SheetRow:
        """The row with what this run says of it, and since when it is there."""
        if "state" not in self.columns or not row.cell("state").text:
            return replace(row, cells=cells)
        last, known = before.cells.get("run", ""), {choice.id for choice in self.columns["state"].choices}
        if row.cell("state").text == title_of(self.columns["state"], "disputed"):
            state = "disputed"
        elif last == self.sheet.run and before.cells.get("state") in known:
            # The same run once more: what people have fixed meanwhile has not been asked again.
            state = before.cells["state"]
        elif before.cells.get("status") in _FIXED:
            state = "fixed_again"
        since = before.cells.get("since") or last or self.sheet.run
        stated = {"state": SheetCell(title_of(self.columns["state"], state)), "since": SheetCell(since)}
        return replace(row, cells={**cells, **stated})

    def _words(self, row: PulledRow, keys: Collection[str]) -> dict[str, SheetCell]:
        """What people wrote in a row, also in columns of their own; what is empty there is empty."""
        cells = {key: cell_of(self.columns[key], row.cells.get(key, "")) for key in keys}
        return cells | _own_cells(row)

    def _archive_row(self, key: str, row: PulledRow, outcome: str) -> SheetRow:
        """A row of the archive; `outcome` is an id, for `archived_sheet` knows the titles."""
        if outcome == "back":
            return SheetRow(archive_key(self.sheet, key), {"outcome": SheetCell("back")})
        texts = row.cells
        subject = next((texts[name] for name in _SUBJECTS if name in texts), "")
        cells = {"from": self.sheet.title, "outcome": outcome, "closed": self.sheet.run, "subject": subject}
        cells |= {_in_archive(key): texts[key] for key in self.team if key in texts}
        cells |= {name: texts[name] for name in ("answer", "since", "rests_on") if name in texts}
        if row.others:
            cells["other"] = "\n".join(
                f"{title}: {' '.join(text.split())}" for title, text in row.others.items()
            )
        return SheetRow(archive_key(self.sheet, key), {name: SheetCell(text) for name, text in cells.items()})


def _in_archive(key: str) -> str:
    """The archive's column for a column of the team's; notes on a fix stand among the comments."""
    return key if key in ARCHIVED else "comment"


def archive_key(sheet: Worksheet, key: str) -> str:
    """The key of a row in the archive."""
    return f"{sheet.name}/{key}"


def archived_sheet(archive: Worksheet, rows: Sequence[SheetRow], there: Mapping[str, PulledRow]) -> Worksheet:
    """The archive with these rows, whose choices are ids; of a row that is back all else stays."""
    columns = {column.key: column for column in archive.columns}

    def titled(row: SheetRow) -> SheetRow:
        before = there[row.key].cells if row.key in there else {}
        texts = {**before, **{key: cell.text for key, cell in row.cells.items()}}
        return SheetRow(row.key, {k: cell_of(columns[k], text) for k, text in texts.items() if k in columns})

    return archive.model_copy(update={"rows": tuple(map(titled, rows))})


def _counting(summary: Worksheet, outcomes: Mapping[str, Counter[str]]) -> Worksheet:
    """The summary with these figures in its rows of the same keys."""

    def filled(row: SheetRow) -> SheetRow:
        if (counts := outcomes.get(row.key)) is None:
            return row
        owners = " · ".join(f"{owner or '–'} {n}" for owner, n in sorted(counts.items()))
        n = counts.total()
        cells = {"value": SheetCell(str(n), n), "explanation": SheetCell(owners)}
        return replace(row, cells={**row.cells, **cells})

    return summary.model_copy(update={"rows": tuple(map(filled, summary.rows))})


def _outcomes(review: Worksheet, merged: Merged, archive: Mapping[str, PulledRow]) -> dict[str, Counter[str]]:
    """What became of the rows of the review: by owner, how many; those that this run closed before, too."""
    archived = {key: row.cells for key, row in archive.items()}
    archived |= {row.key: {key: cell.text for key, cell in row.cells.items()} for row in merged.archived}
    of_review = [cells for key, cells in archived.items() if key.startswith(archive_key(review, ""))]
    fixed_again = title_of(review.column("state"), "fixed_again")
    closed = (c for c in of_review if (c.get("outcome"), c.get("closed")) == ("right", review.run))
    fixed = (line.row for line in merged.rows if line.row.cell("state").text == fixed_again)
    return {
        "closed": Counter(cells.get("assignee", "") for cells in closed),
        "fixed_again": Counter(row.cell("assignee").text for row in fixed),
        "not_asked": Counter(c.get("assignee", "") for c in of_review if c.get("outcome") == "not_asked"),
    }


def closing_line(sheets: Iterable[Worksheet]) -> Message | None:
    """Whose rows closed themselves in this run, for whoever writes it: "Mari 2 · Ken 1"."""
    rows = {row.key: row for sheet in sheets if sheet.name == "summary" for row in sheet.rows}
    owners = rows["closed"].cell("explanation").text if "closed" in rows else ""
    return _("Closed in this run, because they are right now: {owners}.", owners=owners) if owners else None


def replaced_line(what: Text, before: Text, by: str, after: Text) -> Message:
    """A word of the team's that another one replaced, and who wrote it."""
    who = safe_text(by) or pgettext("who wrote a word", "sheet")
    before, after = (excerpt(text) if isinstance(text, str) else text for text in (before, after))
    if not after:
        return _("{what}: “{old}” was taken back by {who}.", what=what, old=before, who=who)
    return _("{what}: “{old}” is now “{new}” ({who}).", what=what, old=before, new=after, who=who)


def replaced_lines(merged: Iterable[Merged]) -> Iterator[Message]:
    """The first lines on replaced cells of all worksheets, and how many more there are."""
    lines = [line for plan in merged for line in plan.replaced]
    yield from lines[:_MOST_LINES]
    if (n := len(lines) - _MOST_LINES) > 0:
        yield ngettext("{n} more cell was replaced.", "{n} more cells were replaced.", n=n)


def filled_in(row: PulledRow, sheet: Worksheet) -> bool:
    """Whether people wrote anything into a row."""
    return bool(row.others) or any(c.owner == "team" and c.key in row.cells for c in sheet.columns)


def _questions(row: PulledRow) -> frozenset[str]:
    """The question of a row that is about an answer, or the questions that a fix rests on."""
    if is_answer_key(row.key):
        return frozenset([question_of(row.key)])
    return frozenset(row.cells.get("rests_on", "").split())


def _is_red(row: PulledRow) -> bool:
    """Whether a row is of a red answer; fixes always are."""
    return not is_answer_key(row.key) or "severity" in row.cells or row.key.endswith(RED)


def title_of(column: Column, choice: str) -> str:
    """What people read for a choice; any other text is what they wrote."""
    return next((known.title for known in column.choices if known.id == choice), choice)


def cell_of(column: Column | None, text: str) -> SheetCell:
    """A cell as it was read: the id of a choice becomes its title, a figure a number, a red answer is red."""
    if column is None:
        return SheetCell(text)
    title = title_of(column, text)
    is_grade = title.isdecimal() and any(choice.title == title for choice in column.choices)
    if (is_grade or column.kind == "number") and _NUMBER.fullmatch(title):
        return SheetCell(title, float(title))
    return SheetCell(title, mark=_MARKED.get(title[:1], "") if column.owner == "program" else "")


def own_cell(text: str) -> SheetCell:
    """What people wrote in a column of their own: a number where it was typed as one."""
    return SheetCell(text, float(text) if _NUMBER.fullmatch(text) else None)


def _own_cells(row: PulledRow) -> dict[str, SheetCell]:
    return {f"{OTHER}{title}": own_cell(text) for title, text in row.others.items()}


def _places(
    sheet: Worksheet, edited: EditedSheet, *, is_new: bool
) -> tuple[dict[str, int], list[tuple[Column, int]]]:
    """All columns of a new worksheet; those of further turns go behind the ones before them there."""
    others = {f"{OTHER}{title}": place for title, place in edited.others.items()}
    places = {"key": 0, **edited.columns, **others}
    added: list[tuple[Column, int]] = []
    last, before = max(map(turn_of, edited.columns), default=0), "key"
    for column in sheet.columns:
        if column.key not in places:
            if not (is_new or turn_of(column.key) > last):
                continue
            at = places[before] + 1
            places = {key: place + (place >= at) for key, place in places.items()} | {column.key: at}
            added.append((column, at))
        before = column.key
    return places, added


def team_kept(sheet: Worksheet) -> bool:
    """Whether this worksheet is the team's own, to which the program only adds rows."""
    return all(column.owner == "team" for column in sheet.columns[1:])


def _unapproved(sheet: Worksheet, row: SheetRow) -> SheetRow:
    """A new question with "Not yet" in its column of approval: only what people approved is asked.

    It may have been thrown out by the team.
    """
    if "approved" not in row.cells:
        return row
    no = title_of(sheet.column("approved"), "no")
    return replace(row, cells={**row.cells, "approved": SheetCell(text=no)})


def day_of(text: str) -> datetime | None:
    """The day that an ISO date names, where a spreadsheet has such a day."""
    try:
        day = datetime.strptime(text, "%Y-%m-%d")
    except ValueError:
        return None
    return day if day >= _FIRST_DAY else None


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
