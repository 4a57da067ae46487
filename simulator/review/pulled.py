"""What the team wrote in the sheet or the workbook of a run, as verdicts on its turns.

Verdicts of the worksheet `review` were given on sight of the score; those of `blind` were not. Nothing of a
row is guessed: what cannot be read is named by its worksheet and row, and the rest of the row counts.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.errors import InputError
from simulator.core.types import HumanVerdict, Language, Results
from simulator.data.files import plain_suffix, printable, shown
from simulator.review.sources import HIGHEST, LOWEST, Entry, Source, plain_text
from simulator.sheets.model import PulledRow, SheetWords, title_ids
from simulator.stats.figures import Summary
from simulator.stats.review import SampledTurn, blind_sample

SHEET = "sheet"
# The worksheets in which the team says something of turns.
NAMES = ("review", "blind")
REVIEWERS = ("1", "2")
# What the run knows of the sheet it was pushed to: {"key": ..., "worksheet": ...}.
NOTE = "sheet"
_TEAM = ("judge_is", "correct_answer", "cause", "comment", "assignee", "checked", "status")
_KEY = re.compile(r"(?P<run>[^/]+)/.+/\d+", re.DOTALL)
_POINTS = re.compile(r"(\d(?:\.\d+)?)\s*点?")
# How notes of the readers end: that the row does not count is said of all faults alike.
_ENDING = re.compile(r"(?:[;,] (?:passed over|left out))?\.?$")
_WORKBOOKS = frozenset({".xlsx", ".xlsm"})
# Our worksheet may have lost its keys; somebody's own table of that title has fewer of our columns.
_OURS = 5


class Wanted(NamedTuple):
    """The run that verdicts are meant for.

    `asked` is the sheet that was named, with the suffix of its worksheets; `usual` is the one to take where
    none was named and the run knows of none.
    """

    results: Results
    summary: Summary
    language: Language
    asked: tuple[str | None, str | None] = (None, None)
    usual: tuple[str | None, str | None] = (None, None)


def sheet_of(name: str, wanted: Wanted) -> tuple[str, str]:
    """Key (or address) and suffix of the sheet meant by `sheet`, `sheet:KEY_OR_URL` or an address.

    Raises InputError where `sheet` is meant and no push has left a note in the run.
    """
    note = wanted.results.notes.get(NOTE)
    told = note if isinstance(note, dict) else {}
    pushed = str(told.get("key") or ""), str(told.get("worksheet") or "")
    key, suffix = wanted.asked
    key = ("" if name == SHEET else name.removeprefix(f"{SHEET}:").strip()) or key
    known = [each for each in (pushed, wanted.usual) if each[0]]
    if not key and not known:
        msg = f"{wanted.results.run.id} was pushed to no sheet: name one with --sheet KEY_OR_URL."
        raise InputError(msg)
    # A sheet that is known has its own suffix, however it was named.
    there = next(((k, s) for k, s in known if not key or str(k) in key), (key, ""))
    return str(key or there[0]), str(suffix or there[1] or "")


def sheet_source(name: str, wanted: Wanted) -> Source:
    """What stands in the run's Google Sheet now."""
    key, suffix = sheet_of(name, wanted)

    def read() -> Iterator[Entry]:
        from simulator.sheets import google_pull
        from simulator.sheets.google_api import target  # gspread: only where a sheet is named

        found = google_pull(target(key, suffix), NAMES)
        if not found.rows:
            words = SheetWords(wanted.language)
            there = " nor ".join(words("sheet", each) for each in NAMES)
            msg = f"sheet {printable(key)}: neither {there} is in it; write them with: report --to sheets"
            raise InputError(msg)
        yield from verdicts(found.rows, wanted)
        yield from map(_remark, found.notes)

    return read


def workbook_source(path: Path, wanted: Wanted) -> Source | None:
    """What stands in a workbook that was written by `--to xlsx`; None where it is another workbook."""
    if plain_suffix(path) not in _WORKBOOKS or not path.is_file():
        return None
    from simulator.sheets.excel_read import read_edited

    edited = read_edited(path)
    sheets = {name: sheet for name, sheet in edited.sheets.items() if name in NAMES}
    if not any("key" in sheet.columns or len(sheet.columns) >= _OURS for sheet in sheets.values()):
        return None
    rows = {name: [row.pulled for row in sheet.rows] for name, sheet in sheets.items()}
    remarks = [_remark(note) for note in edited.notes if _concerns(note)]

    def read() -> Iterator[Entry]:
        yield from verdicts(rows, wanted)
        yield from remarks

    return read


def _concerns(note: str) -> bool:
    """Whether a workbook's note is about a worksheet that is read, and says what is not said again."""
    from simulator.sheets.model import folded, layouts

    tab = folded(re.split(r"[:,]", note)[0])
    others = {title for name, layout in layouts().items() if name not in NAMES for title in layout.tabs}
    return tab not in others and "added row" not in note


def _remark(note: str) -> Entry:
    """A line of a reader's about what it passed over; what people deleted as a whole is no fault of a row."""
    place, _, why = _ENDING.sub("", note).partition(": ")
    if "no column" in why or "no such worksheet" in why:
        return Entry(place, note=why)
    return Entry(place, fault=why or "passed over")


@dataclass(frozen=True)
class _Place:
    """Where a row stands, and which turn it is about."""

    place: str
    conversation: str
    turn: int
    read: datetime

    def verdict(self, **said: Any) -> Entry:
        """A verdict on that turn."""
        at = {"conversation": self.conversation, "turn": self.turn, "given": self.read}
        return Entry(self.place, HumanVerdict(**at, **said))


def verdicts(rows: Mapping[str, Sequence[PulledRow]], wanted: Wanted) -> Iterator[Entry]:
    """What the rows of the worksheets `review` and `blind` say of the run, and what is wrong with them."""
    results, words, read = wanted.results, SheetWords(wanted.language), datetime.now(UTC)
    run = results.run.id
    turns = {f"{run}/{c.id}/{t.index}": (c.id, t.index) for c in results.conversations for t in c.turns}
    drawn = {(d.conversation, d.turn): d for d in blind_sample(results, wanted.summary)}
    for name in NAMES:
        for row in rows.get(name, ()):
            place = f"{words('sheet', name)} row {row.number}"
            at = turns.get(row.key.strip())
            if at is None:
                yield from _stranger(row, place, run)
            elif name == "review":
                yield from _review(row.cells, _Place(place, *at, read))
            else:
                yield from _blind(row.cells, _Place(place, *at, read), drawn.get(at))


def _stranger(row: PulledRow, place: str, run: str) -> Iterator[Entry]:
    """A row that is about no turn of this run."""
    key = row.key.strip()
    found = _KEY.fullmatch(key)
    if found and found["run"] != run:
        yield Entry(place, other_run=True)
    elif key:
        yield Entry(place, fault=f"its key {shown(key)} names no turn of this run")
    elif any(row.cells.get(column) for column in (*_TEAM, "grade_1", "comment_1", "grade_2", "comment_2")):
        yield Entry(place, fault="it has no key of its own (a row that was added or copied)")


def _review(cells: Mapping[str, str], at: _Place) -> Iterator[Entry]:
    said = {column: text for column in _TEAM if (text := plain_text(cells.get(column)))}
    judged = title_ids("judge_is").get(said.get("judge_is", ""))
    if "judge_is" in said and judged is None:
        what = f"judge_is {shown(said['judge_is'])} is none of the choices"
        yield Entry(at.place, fault=what)
    said.pop("judge_is", None)
    if said or judged:
        yield at.verdict(source="review", judge_is=judged, **said)
    elif not cells.get("judge_is", "").strip():
        yield Entry(at.place)


def _blind(cells: Mapping[str, str], at: _Place, drawn: SampledTurn | None) -> Iterator[Entry]:
    """One verdict for each reviewer who wrote something; a comment counts without a grade, too."""
    sampled = {"stratum": drawn.stratum, "sampled": drawn.sampled} if drawn else {}
    empty = True
    for reviewer in REVIEWERS:
        given = plain_text(cells.get(f"grade_{reviewer}"))
        comment = plain_text(cells.get(f"comment_{reviewer}"))
        grade = grade_of(given)
        if given and grade is None:
            what = f"grade_{reviewer} {shown(given)} is not between {LOWEST} and {HIGHEST}"
            yield Entry(at.place, fault=what)
        elif given or comment:
            yield at.verdict(source="blind", reviewer=reviewer, grade=grade, comment=comment, **sampled)
        empty = empty and not (given or comment)
    if empty:
        yield Entry(at.place)


def grade_of(text: str) -> float | None:
    """A grade 1..5 as people type it (4, ４, 4点); None for anything else."""
    found = _POINTS.fullmatch(unicodedata.normalize("NFKC", text).strip())
    grade = float(found[1]) if found else 0.0
    return grade if LOWEST <= grade <= HIGHEST else None
