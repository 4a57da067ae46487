"""The one rule of what becomes of a worksheet that people have edited when a newer run is written into it.

However a worksheet is stored, it is read into an `EditedSheet`, and `merge` makes a worksheet of it and of
the run's. Workbooks and Google Sheets differ only in how they write that. The program's columns are the
program's: written anew. The team's are joined by the key of the row. A cell that a person changed since it
was last read or written stays; any other one gets what counts now, such as a newer word from the page of
`open`, and a line says what was replaced. Columns, rows and worksheets of people's own stay.

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
from typing import Literal, NamedTuple

from simulator.cases.row import WorksheetRow
from simulator.core.document import Text, excerpt
from simulator.core.messages import Message, _, ngettext, pgettext, safe_text
from simulator.sheets.model import (
    COLUMNS,
    LATER,
    OTHER,
    RED,
    WORKSHEETS,
    CellMark,
    CellRead,
    Column,
    Layout,
    PulledRow,
    SheetCell,
    SheetRow,
    Worksheet,
    folded,
    is_added,
    is_answer_key,
    question_of,
    turn_of,
)

# A day as people type it, the year first: 2026/1/5, 2026-01-05, 2026.1.5, 2026年1月5日. 5/1/2026 is no day
# here: nobody knows which of the two is the month.
_DAY = re.compile(r"(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*日?")
# Titles and notes of people may stand above the header, in at most this many rows. Rows further down would be
# taken for a header where somebody copied one into the data.
_MOST_TITLE_ROWS = 30
# The columns that say what a row is about.
_SUBJECTS = ("question", "what", "item", "key")
# The columns of the archive that stand under the same name where a row came from.
_REMEMBERED = frozenset(WORKSHEETS["archive"].columns.split()) - {"key"}
# A status with which people are done with a row, and one with which the bot should be.
_CLOSED, _FIXED = frozenset({"retested", "wontfix"}), frozenset({"mended", "retested"})
# What people said of the mark of one answer says nothing of another.
_OF_THE_MARK = "judge_is"
# A text of people's own that was typed as a number, and reads the same when it is one again: 12, -3.5. Not
# 007, 1.50 and 1e5, which would come back changed, nor more digits than a spreadsheet keeps.
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,9})(\.\d{0,4}[1-9])?")
# What was never read; a test that people say No to, as a cell that says nothing.
_UNREAD, _NO_TEST = CellRead(""), ("make_test", "no", "")
# So many replaced cells are named.
_MOST_LINES = 5
# How the cell of a red answer begins, and of one that is disputed.
_MARKED: Mapping[str, CellMark] = {"▲": "red", "△": "disputed"}
# The width of a column that people added.
_OTHER_WIDTH = 20

# --- A worksheet as people left it ---


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

    `columns` are by key, which is `OTHER` and the title of those that people added.
    """

    tab: str
    header: int
    columns: Mapping[str, int]
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
                if row.key or not all(map(is_added, row.cells))
            )
            for name, sheet in self.sheets.items()
        }


def edited_sheet(
    tab: str, lines: Sequence[WorksheetRow], layout: Layout, columns: Mapping[str, int], header: int = 0
) -> EditedSheet:
    """A worksheet's lines as rows by key, in their order.

    `columns` and `header` are where its marks say; the header is where the titles are, if that is somewhere
    else. Columns without a mark are known by their titles.
    Rows above the header count where they have a key: people sort a worksheet with its header.
    """
    most, titled = _header(lines, layout)
    # A few titles may stand in any row: choices are called like columns.
    header = titled if most > max(1, len(columns) // 3) else header or titled
    titles = next((line.texts for line in lines if line.number == header), {})
    columns = _by_title(titles, layout, columns)
    # Columns of people's own: any that is filled in and none of ours.
    filled = {place for line in lines if line.number >= header for place in line.texts}
    for place in sorted(filled - {*columns.values()}):
        title = titles.get(place, "").strip()
        is_free = title and f"{OTHER}{title}" not in columns
        columns[OTHER + (title if is_free else f"{title} ({place})".strip())] = place
    notes = []
    if "key" not in columns:
        notes.append(SheetNote(tab, _("the column of keys is gone, so its rows cannot be recognized")))
    missing = sorted(layout.team - columns.keys())
    notes += [SheetNote(tab, _("no column {title}", title=COLUMNS[key].title), "column") for key in missing]
    theirs = {columns[key] for key in layout.team if key in columns}
    rows, numbers = [], dict[str, int]()
    for number, filled_in, faults, _hidden in lines:
        key = filled_in.get(columns.get("key", 0), "")
        if number == header or (number < header and not key):
            continue
        row = _("{tab}, row {number:d}", tab=tab, number=number)
        # The program's columns are written anew, and it reads nothing in those that people added.
        for place in sorted(theirs & faults.keys()):
            title = " ".join(titles.get(place, str(place)).split())
            notes.append(SheetNote(_("{row}, column {title}", row=row, title=title), faults[place]))
        texts = {place: text for place, text in filled_in.items() if place not in faults}
        cells = {
            name: _value(name, texts[place], layout)
            for name, place in columns.items()
            if name != "key" and place in texts
        }
        if not (key or cells):
            continue
        # People copy a row to fill it in for somebody else: the first is the one that the report writes.
        if key and (first := numbers.setdefault(key, number)) != number:
            notes.append(
                SheetNote(row, _("the same key as row {n}; read as an added row", n=str(first)), "copy")
            )
            key = ""
        rows.append(PulledRow(key=key, number=number, cells=cells))
    return EditedSheet(tab, header, columns, rows, tuple(notes))


def _value(column: str, text: str, layout: Layout) -> str:
    """The value of a cell: the id of a choice, a day in ISO 8601, or its text.

    ("decided", "２０２６年1月5日") -> "2026-01-05"
    ("status", "反映済み")         -> "mended"     in whichever language the sheet is
    ("status", "so-so")            -> "so-so"      which whoever reads it may refuse
    """
    if column in layout.days and (day := _DAY.fullmatch(unicodedata.normalize("NFKC", text).strip())):
        return f"{int(day[1]):04}-{int(day[2]):02}-{int(day[3]):02}"
    return layout.choice(column, text)


def _by_title(titles: Mapping[int, str], layout: Layout, by_key: Mapping[str, int]) -> dict[str, int]:
    """The columns by key: those of `by_key`, and of the others those with one of our titles.

    {1: "キー", 2: "コメント", 3: "優先度"} -> {"key": 1, "comment": 2}
    Of two columns with one title the left one counts; the other is the people's own. Where the title of
    another column stands at the place of one, a program has moved cells without their marks: titles count.
    """
    there = {place: layout.column(title) for place, title in titles.items()}
    columns = dict(by_key)
    if any(there.get(place) not in (None, key) and there[place] in by_key for key, place in by_key.items()):
        columns = {
            key: place
            for key, place in by_key.items()
            if there.get(place) == key or (key not in there.values() and there.get(place) is None)
        }
    for place, key in sorted(there.items()):
        if key and key not in columns and place not in columns.values():
            columns[key] = place
    return columns


def _header(lines: Sequence[WorksheetRow], layout: Layout) -> tuple[int, int]:
    """How many of a layout's titles the row has that has most of them, and its number.

    Of rows with equally many the first; (0, 0) for a worksheet without rows.
    """
    counts = [(len(_by_title(line.texts, layout, {})), -line.number) for line in lines[:_MOST_TITLE_ROWS]]
    most, number = max(counts, default=(0, 0))
    return most, -number


# --- What becomes of it ---


class Merged(NamedTuple):
    """What becomes of a worksheet: the one that is to be written, and what is not in it any more.

    `sheet` has the run's rows in their order, then those that stay beside them, and people's columns behind
    all others. `gone` are the rows that go, `archived` those that the archive gets. `replaced` says which of
    the team's cells got a newer word.
    """

    sheet: Worksheet
    gone: Sequence[PulledRow]
    archived: Sequence[SheetRow]
    replaced: Sequence[Message]


def merge_all(
    worksheets: Iterable[Worksheet], edited: Mapping[str, EditedSheet], new: Collection[str] = ()
) -> dict[str, Merged]:
    """What becomes of all worksheets, by name, in their order; `edited` has each of them.

    `new` names those that nobody can have worked in yet.

    The summary counts what became of the review; whatever leaves a worksheet is in the archive. An archive
    that has no rows is left out.
    """
    sheets = {sheet.name: sheet for sheet in worksheets}
    archive = {row.key: row for row in (edited["archive"].rows if "archive" in edited else ()) if row.key}
    done: dict[str, Merged] = {}
    archived: list[SheetRow] = []
    # The review first, which the summary counts; the archive last, which has what left the others.
    for name in sorted(sheets, key=lambda name: (name == "archive", name != "review")):
        sheet = sheets[name]
        if name == "summary" and "review" in done:
            sheet = _counting(sheet, _outcomes(sheets["review"], done["review"], archive))
        if name == "archive":
            sheet = _with_archived(sheet, archived, archive)
        merged = merge(sheet, edited[name], archive, is_new=name in new)
        archived += merged.archived
        if name != "archive" or archive or sheet.rows:
            done[name] = merged
    return {name: done[name] for name in sheets if name in done}


def merge(
    sheet: Worksheet, edited: EditedSheet, archive: Mapping[str, PulledRow], *, is_new: bool = False
) -> Merged:
    """What a worksheet becomes in which people have worked; `archive` has the archive's rows by their keys.

    One that `is_new` is still being filled.
    """
    work = _Merging(sheet, edited, archive)
    rows = [*work.report(is_new=is_new)]
    gone = [*work.leaving()]
    out = set(map(id, gone))
    rows += [work.stays(row) for row in edited.rows if id(row) not in out and row.key not in work.reported]
    last = max(map(turn_of, edited.columns), default=0)
    columns = tuple(
        column
        for key, column in work.columns.items()
        if is_new or key in edited.columns or turn_of(key) > last
    )
    merged = {"title": edited.tab or sheet.title, "columns": columns, "rows": tuple(rows)}
    # Rows that waited in the archive have no place.
    left = [row for row in gone if row.number]
    return Merged(sheet.model_copy(update=merged), left, work.archived, work.replaced)


class _Merging:
    """One worksheet being merged: which rows of the report are there, and what becomes of all others."""

    def __init__(self, sheet: Worksheet, edited: EditedSheet, archive: Mapping[str, PulledRow]) -> None:
        self.sheet, self.archive = sheet, archive
        self.columns = {column.key: column for column in sheet.columns}
        self.team = [column.key for column in sheet.team]
        for key in filter(is_added, edited.columns):
            title = key.removeprefix(OTHER)
            self.columns[key] = Column(key=key, title=title, owner="team", width=_OTHER_WIDTH, wrap=True)
        # The rows of this worksheet in the archive. Those that wait there count as if they were here.
        self.over, waiting = dict[str, PulledRow](), dict[str, PulledRow]()
        for name, row in archive.items():
            if name.startswith(start := _archive_key(sheet, "")):
                key = name.removeprefix(start)
                rows = waiting if row.cells.get("outcome") == "not_asked" else self.over
                rows[key] = self._as_it_was(key, row)
        self.there = waiting | {row.key: row for row in edited.rows if row.key}
        self.reported = {row.key for row in sheet.rows}
        # In a worksheet that is the team's own a row without a key is a question that they added; elsewhere
        # it is a remark of theirs.
        subject, is_theirs = sheet.columns[1].key, len(self.team) == len(sheet.columns) - 1
        keyless = (row.cells.get(subject, "") for row in edited.rows if is_theirs and not row.key)
        self.added = set(map(folded, filter(None, keyless)))
        self.archived, self.replaced = list[SheetRow](), list[Message]()
        self.heirs = self._heirs()

    def report(self, *, is_new: bool) -> Iterator[SheetRow]:
        """The rows of the report; those whose question people have already added are left out."""
        subject = self.sheet.columns[1].key
        for row in self.sheet.rows:
            before, state = self._before(row.key)
            if before is None:
                if folded(row.cell(subject).text) not in self.added:
                    yield row if is_new else _unapproved(row)
                continue
            is_there = state == "again"
            newer = [*self._newer(row, before)]
            words = {
                key: cell_of(column, before.cells.get(key, ""))
                for key, column in self.columns.items()
                if column.owner == "team" and key not in newer and (is_there or key in before.cells)
            }
            if state == "reworded":
                words.pop(_OF_THE_MARK, None)
            elif not before.number and _archive_key(self.sheet, row.key) in self.archive:
                back = {"outcome": SheetCell("back")}
                self.archived.append(SheetRow(_archive_key(self.sheet, row.key), back))
            yield replace(
                row,
                cells={**row.cells, **words, **self._stated(row, before, state)},
                number=before.number if is_there else 0,
                ours=tuple(c.key for c in self.sheet.columns[1:] if c.owner == "program" or c.key in newer),
            )

    def _before(self, key: str) -> tuple[PulledRow | None, str]:
        """The row whose words a row of the report gets, and what it says of itself then."""
        if key in self.there:
            return self.there[key], "again"
        if key in self.over:
            return self.over[key], "back"
        return self.heirs.get(key), "reworded"

    def _stated(self, row: SheetRow, before: PulledRow, state: str) -> dict[str, SheetCell]:
        """What this run says of the row, and since when it is there."""
        if not row.cell("state").text:
            return {}
        last = before.cells.get("run", "")
        if row.cell("state").text == "disputed":
            state = "disputed"
        elif last == self.sheet.run and before.cells.get("state") in self.columns["state"].choices:
            # The same run once more: what people have fixed meanwhile has not been asked again.
            state = before.cells["state"]
        elif before.cells.get("status") in _FIXED:
            state = "fixed_again"
        since = before.cells.get("since") or last or self.sheet.run
        return {"state": SheetCell(state), "since": SheetCell(since)}

    def _newer(self, row: SheetRow, before: PulledRow) -> Iterator[str]:
        """The team's columns in which no person has changed anything, and which get what counts now.

        A row that was emptied says nothing, and gets all of it again.
        """
        read = row.read if any(map(before.cells.get, self.team)) else {}
        for key in self.team:
            there, after, said = before.cells.get(key, ""), row.cell(key).text, read.get(key, _UNREAD)
            is_unchanged = safe_text(there).strip() == said.text or (key, there, said.text) == _NO_TEST
            counts = key in read or (after and (self.sheet.departure == "closed" or row.read))
            if not (is_unchanged and counts):
                continue
            yield key
            if there and there.strip() != after and (key, there, after) != _NO_TEST:
                column = self.columns[key]
                place = _("{tab}, row {number:d}", tab=self.sheet.title, number=before.number)
                what = _("{row}, column {title}", row=place, title=column.title)
                texts = column.shown(there), column.shown(after)
                self.replaced.append(replaced_line(what, texts[0], "", texts[1], said.by))

    def leaving(self) -> Iterator[PulledRow]:
        """The rows that go; what is to be remembered of them is put into the archive."""
        passed_on = {row.key for row in self.heirs.values()}
        for key, row in self.there.items():
            if key in self.reported or (outcome := self._outcome(row)) is None:
                continue
            # What still waits in the archive stays there.
            if outcome == "not_asked" and not row.number:
                continue
            # What nobody marked and nobody wrote into is no loss; what was closed is counted.
            is_problem = _questions(row) and _is_red(row)
            if key not in passed_on and (is_problem or self._is_filled_in(row)):
                self.archived.append(self._archive_row(row, outcome))
            yield row

    def _outcome(self, row: PulledRow) -> str | None:
        """Why a row goes that is not in the report; None where it stays."""
        departure, questions = self.sheet.departure, _questions(row)
        if departure != "closed":
            goes = departure == "replaced" or (departure == "unfilled" and not self._is_filled_in(row))
            return "earlier" if goes else None
        # A wrong answer to a follow-up says nothing where nobody followed up.
        asked = {f"{name}{LATER}" for name in questions} if LATER in row.key else questions
        if questions and asked <= self.sheet.asked:
            return "changed" if questions & self.sheet.red else "right"
        is_open = questions and (_is_red(row) or self._is_filled_in(row))
        return "not_asked" if is_open and row.cells.get("status") not in _CLOSED else "team"

    def _heirs(self) -> dict[str, PulledRow]:
        """Red rows that are new, each with a row of the same question that has just gone with people's words.

        A bot says the same wrong thing in other words every week: what people wrote of it is still wanted.
        """
        left: dict[str, list[PulledRow]] = {}
        for key, row in self.there.items():
            if key not in self.reported and self._outcome(row) == "changed" and self._is_filled_in(row):
                for question in _questions(row):
                    left.setdefault(question, []).append(row)
        heirs = {}
        for new in self.sheet.rows if left else ():
            rows = left.get(question_of(new.key))
            if rows and self._is_new(new.key) and new.cell("severity").text:
                heirs[new.key] = rows.pop(0)
        return heirs

    def _is_new(self, key: str) -> bool:
        """Whether a row was not there before this run; it may be there since a write that was cut short."""
        row = self.there.get(key)
        if row is None:
            return key not in self.over
        return (row.cells.get("run"), row.cells.get("state")) == (self.sheet.run, "reworded")

    def stays(self, row: PulledRow) -> SheetRow:
        """A row that is not in the report, as it stands."""
        return SheetRow(row.key, _cells_of(self.columns, row.cells), number=row.number)

    def _is_filled_in(self, row: PulledRow) -> bool:
        """Whether people wrote anything into a row."""
        return any(key in self.team or is_added(key) for key in row.cells)

    def _archive_row(self, row: PulledRow, outcome: str) -> SheetRow:
        """A row of the archive."""
        texts = {name: text for name, text in row.cells.items() if name in _REMEMBERED}
        texts |= {"from": self.sheet.title, "outcome": outcome, "closed": self.sheet.run}
        texts["subject"] = next((row.cells[name] for name in _SUBJECTS if name in row.cells), "")
        added = {key.removeprefix(OTHER): text for key, text in row.cells.items() if is_added(key)}
        if added:
            texts["other"] = "\n".join(f"{title}: {' '.join(text.split())}" for title, text in added.items())
        cells = {name: SheetCell(text) for name, text in texts.items()}
        return SheetRow(_archive_key(self.sheet, row.key), cells)

    def _as_it_was(self, key: str, archived: PulledRow) -> PulledRow:
        """A row of the archive as it stood in this worksheet."""
        cells = {name: text for name, text in archived.cells.items() if name in self.columns}
        subject = next(name for name in _SUBJECTS if name in self.columns)
        cells[subject] = archived.cells.get("subject", "")
        lines = (line.partition(": ") for line in archived.cells.get("other", "").splitlines())
        cells |= {f"{OTHER}{title}": text for title, colon, text in lines if colon}
        return PulledRow(key=key, number=0, cells=cells)


def _archive_key(sheet: Worksheet, key: str) -> str:
    return f"{sheet.name}/{key}"


def _with_archived(archive: Worksheet, rows: Sequence[SheetRow], there: Mapping[str, PulledRow]) -> Worksheet:
    """The archive with these rows; of one that is back all else stays."""
    columns = {column.key: column for column in archive.columns}

    def kept(row: SheetRow) -> SheetRow:
        before = there[row.key].cells if row.key in there else {}
        texts = {**before, **{key: cell.text for key, cell in row.cells.items()}}
        return SheetRow(row.key, _cells_of(columns, texts))

    return archive.model_copy(update={"rows": tuple(map(kept, rows))})


def _counting(summary: Worksheet, outcomes: Mapping[str, Counter[str]]) -> Worksheet:
    """The summary with these figures in its rows of the same keys."""

    def filled(row: SheetRow) -> SheetRow:
        if (counts := outcomes.get(row.key)) is None:
            return row
        owners = " · ".join(
            summary.count.format(name=owner or summary.nobody, n=n) for owner, n in sorted(counts.items())
        )
        n = counts.total()
        cells = {"value": SheetCell(str(n), n), "explanation": SheetCell(owners)}
        return replace(row, cells={**row.cells, **cells})

    return summary.model_copy(update={"rows": tuple(map(filled, summary.rows))})


def _outcomes(review: Worksheet, merged: Merged, archive: Mapping[str, PulledRow]) -> dict[str, Counter[str]]:
    """What became of the rows of the review: by owner, how many; those that this run closed before, too."""
    archived = {key: row.cells for key, row in archive.items()}
    archived |= {row.key: {key: cell.text for key, cell in row.cells.items()} for row in merged.archived}
    of_review = [cells for key, cells in archived.items() if key.startswith(_archive_key(review, ""))]
    closed = (c for c in of_review if (c.get("outcome"), c.get("closed")) == ("right", review.run))
    fixed = (row for row in merged.sheet.rows if row.cell("state").text == "fixed_again")
    return {
        "closed": Counter(cells.get("assignee", "") for cells in closed),
        "fixed_again": Counter(row.cell("assignee").text for row in fixed),
        "not_asked": Counter(c.get("assignee", "") for c in of_review if c.get("outcome") == "not_asked"),
    }


def replaced_line(what: Text, before: Text, writer: str, after: Text, by: str) -> Message:
    """A word of the team's that another one replaced, and who wrote both; empty names are a sheet's."""
    old, new = (excerpt(text) if isinstance(text, str) else text for text in (before, after))
    sheet = pgettext("who wrote a word", "sheet")
    who = {"writer": safe_text(writer) or sheet, "by": safe_text(by) or sheet}
    return _("{what}: “{old}” ({writer}) is now “{new}” ({by}).", what=what, old=old, new=new, **who)


def replaced_lines(merged: Iterable[Merged]) -> Iterator[Message]:
    """The first lines on replaced cells of all worksheets, and how many more there are."""
    lines = [line for each in merged for line in each.replaced]
    yield from lines[:_MOST_LINES]
    if (n := len(lines) - _MOST_LINES) > 0:
        yield ngettext("{n} more cell was replaced.", "{n} more cells were replaced.", n=n)


def _questions(row: PulledRow) -> frozenset[str]:
    """The question of a row that is about an answer, or the questions that a fix rests on."""
    if is_answer_key(row.key):
        return frozenset([question_of(row.key)])
    return frozenset(row.cells.get("rests_on", "").split())


def _is_red(row: PulledRow) -> bool:
    """Whether a row is of a red answer; fixes always are."""
    return not is_answer_key(row.key) or "severity" in row.cells or row.key.endswith(RED)


def _unapproved(row: SheetRow) -> SheetRow:
    """A new question with "Not yet" in its column of approval: only what people approved is asked.

    It may have been thrown out by the team.
    """
    if "approved" not in row.cells:
        return row
    return replace(row, cells={**row.cells, "approved": SheetCell("no")})


def _cells_of(columns: Mapping[str, Column], texts: Mapping[str, str]) -> dict[str, SheetCell]:
    return {key: cell_of(columns[key], text) for key, text in texts.items() if key in columns}


def cell_of(column: Column, text: str) -> SheetCell:
    """A cell as it was read: a figure is a number, also one that was typed, and a red answer is red."""
    is_figure = column.kind == "number" or is_added(column.key) or text in column.choices
    if is_figure and _NUMBER.fullmatch(text):
        return SheetCell(text, float(text))
    return SheetCell(text, mark=_MARKED.get(text[:1], "") if column.owner == "program" else "")
