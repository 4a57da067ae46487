"""Worksheets as values, before they are written to a Google Sheet or an Excel workbook.

Rows and columns are known by keys, never by titles or positions: people sort, insert and rename.

`report/worksheets.py` makes `Worksheet`s of a run, `sheets/merge.py` says what becomes of one in which people
have worked, `sheets/excel.py` and `sheets/google_sheets.py` write them and read them back as `PulledRow`s, in
which choices are ids and days ISO dates whatever the language was. The tables below are the only place that
says which worksheets, columns and choices there are: `worksheet()` makes a worksheet of them, `layouts()`
what it takes to recognise one. A new column is a line of `COLUMNS`, and its key in `WORKSHEETS`.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, lru_cache, partial
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple, TypeVar
from unicodedata import normalize

from pydantic import Field, SkipValidation

from simulator.cases.headings import NAMES
from simulator.core.document import count_text
from simulator.core.messages import Message, _, pgettext, safe_text, shown
from simulator.core.templates import LANGUAGES
from simulator.core.titles import TITLES
from simulator.core.types import Case, Turn, Value

Item = TypeVar("Item")

# How a cell is marked: red to be looked at, warn where too much is missing, failed for what could not be
# graded, good for what was reached, disputed for what people say is no error. Its text says so, too, for
# those who see no colour.
CellMark = Literal["red", "warn", "failed", "good", "disputed", ""]
Owner = Literal["program", "team"]
# What becomes of a row that the next run does not report: see `sheets/merge.py`.
Departure = Literal["closed", "replaced", "unfilled", "kept"]
# Fills of marked cells, and of headings: blue ones are the team's. RRGGBB; red is (250, 219, 218), which the
# article that this sheet comes from uses.
FILLS: dict[CellMark, str] = {
    "red": "FADBDA",
    "warn": "FFF2CC",
    "failed": "D9D9D9",
    "good": "E2F0D9",
    "disputed": "E7E6E6",
}
HEADINGS: dict[Owner, str] = {"program": "EFEFEF", "team": "CFE2F3"}
# Columns that stay in sight: the key, which is hidden, and what the row is about.
FROZEN = 2
# The columns that people added have this and their title for a key.
OTHER = "other."


def is_added(column: str) -> bool:
    """Whether the key is that of a column that people added."""
    return column.startswith(OTHER)


class Column(Value):
    """A column; a team's column is written when its row is made, and again only where nobody changed it.

    `width` is in characters of the narrow kind, `help` is the note of the header cell. `kind` says how texts
    of the team's are read ("date"), or how cells are aligned and formatted. `choices` are titles by ids; they
    are offered in columns of the team's, not enforced, and in the program's are what a cell may say. `wrap`:
    long texts make the row higher.
    """

    key: str
    title: str = ""
    owner: Owner = "program"
    width: int = 16
    kind: Literal["text", "number", "date"] = "text"
    choices: Mapping[str, str] = Field(default_factory=dict)
    wrap: bool = False
    help: str = ""

    @property
    def hidden(self) -> bool:
        """Whether people see it: what only the program reads means nothing to them."""
        return self.key in {"key", "rests_on"}

    def shown(self, text: str) -> str:
        """What people read in a cell: the title of a choice, or any other text."""
        return self.choices.get(text, text)


@dataclass(frozen=True, slots=True)
class SheetCell:
    """What a cell says: a text, the id of a choice, or a `number`, whose wording says with how many decimals.

    SheetCell("82.5", 82.51) is a number that reads 82.5; SheetCell("82.5") is a text. It may lead to the
    `row` of a key among the conversations.

    A dataclass with slots, not a model: there are hundreds of thousands of them.
    """

    text: str = ""
    number: float | None = None
    mark: CellMark = ""
    note: str = ""
    row: str = ""


EMPTY = SheetCell()


class CellRead(NamedTuple):
    """What a cell of the team's said when it was last read or written, and who wrote what counts now."""

    text: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row, known by its key; a column that it does not name is empty.

    `read` has cells of the team's by column. One that still says what it said then was changed by no person
    since, and gets what counts. `number` is that of its place in the sheet, 0 of a row that is not there;
    of one that is there the columns in `ours` are written, and all others left as they are.
    """

    key: str
    cells: Mapping[str, SheetCell] = field(default_factory=dict)
    read: Mapping[str, CellRead] = field(default_factory=dict)
    number: int = 0
    ours: tuple[str, ...] = ()

    def cell(self, column: str) -> SheetCell:
        """What the row has in a column."""
        return SheetCell(self.key) if column == "key" else self.cells.get(column, EMPTY)


class LazyRows(Sequence[Item]):
    """A sequence that stores no item: each is made from its source on every access.

    The rows of a large run are larger than the run itself, and are needed one at a time.
    """

    def __init__(self, sources: Sequence[Any], make: Callable[[Any], Item]) -> None:
        """`make` must return equal items for the same source."""
        self._sources, self._make = sources, make

    def __len__(self) -> int:
        """How many there are."""
        return len(self._sources)

    def __getitem__(self, at: Any) -> Any:
        """One of them, or a list of some."""
        if isinstance(at, slice):
            return list(map(self._make, self._sources[at]))
        return self._make(self._sources[at])

    def __iter__(self) -> Iterator[Item]:
        """One after the other."""
        return map(self._make, self._sources)


# Not validated again: that would make all rows.
Rows = Annotated[Sequence[SheetRow], SkipValidation]


class Worksheet(Value):
    """One worksheet: `name` is its stable id, `title` what people read on its tab.

    The first column holds the rows' keys. `help` says above or beside the table what it is for.
    `run` is the run that the rows are of; `asked`
    are the questions that it asked and graded, `red` those of them that need review, by what their keys begin
    with (`question_key`); `asked` also says of which of them a further turn was graded (`LATER`). `departure`
    is what becomes of a row that is no longer in `rows`, `nobody` what its assignee is called where it has
    none, `count` how a number behind a name is written.
    """

    name: str
    title: str = ""
    columns: tuple[Column, ...]
    rows: Rows = ()
    help: str = ""
    run: str = ""
    asked: frozenset[str] = frozenset()
    red: frozenset[str] = frozenset()
    departure: Departure = "kept"
    nobody: str = ""
    count: str = "{name} {n}"

    @property
    def team(self) -> tuple[Column, ...]:
        """The columns in which people write."""
        return tuple(column for column in self.columns if column.owner == "team")

    def note(self, column: Column) -> str:
        """The note of a column's heading; what the worksheet is for stands over the first that people see."""
        first = self.columns[min(1, len(self.columns) - 1)]
        return "\n\n".join(filter(None, (self.help if column == first else "", column.help)))


# Columns that are repeated for every turn, with its number: user1, assistant1, check1, user2, ...
TURN_COLUMNS = ("user", "assistant", "check")


def turn_of(column: str) -> int:
    """The number of the turn in the key of a column; 0 for any other: "assistant12" -> 12."""
    name = column.rstrip("0123456789")
    return int(column[len(name) :] or 0) if name in TURN_COLUMNS else 0


class PulledRow(Value):
    """A row by its key ("" for one that people added); `number` counts from 1 as people see it.

    Cells are by column key: texts as shown; what was picked, by its id; days in ISO 8601.
    """

    key: str
    number: int
    cells: Mapping[str, str] = Field(default_factory=dict)


@dataclass
class Layout:
    """One worksheet, as it may look in either language: what its columns and choices are called.

    `columns` has keys by title, `choices` ids by column and title. All titles are folded. `team` and `days`
    are the columns of the team and of dates.
    """

    columns: dict[str, str] = field(default_factory=dict)
    team: set[str] = field(default_factory=set)
    days: set[str] = field(default_factory=set)
    choices: dict[str, dict[str, str]] = field(default_factory=dict)

    def column(self, title: str) -> str | None:
        """The key of the column of that title, in either language; None for a title of people's own.

        " コメント " -> "comment"    "お客様3" -> "user3"
        """
        key = folded(title)
        if key_of_title := self.columns.get(key):
            return key_of_title
        name = key.rstrip("0123456789")
        column, number = self.columns.get(name.rstrip()), key.removeprefix(name)
        return f"{column}{number}" if number and column in TURN_COLUMNS else None

    def choice(self, column: str, text: str) -> str:
        """The id of a choice, also where people say the same otherwise (〇, 👍); any other text as it is."""
        return self.choices.get(column, {}).get(_ENDING.sub("", folded(text)), text)


# What changes nothing about a word: a full stop, an exclamation mark, the colour of an emoji.
_ENDING = re.compile("[。.!\ufe0f\U0001f3fb-\U0001f3ff]+$")


@lru_cache(1_024)
def folded(title: str) -> str:
    """A title in NFKC, lower case and with single spaces: people change these by accident.

    " Ｃｏｍｍｅｎｔ　１ " -> "comment 1"
    """
    return " ".join(normalize("NFKC", title).casefold().split())


# --- Which worksheets and columns a run has, what they are called, and what is picked in them ---


class WorksheetKind(NamedTuple):
    """A worksheet: what it is called and for, and its columns in their order.

    What is read first stands left, what is only looked up right: on paper stand the columns up to `printed`.
    `departure` is what becomes of a row that the next run does not report.
    """

    title: Message
    help: Message
    columns: str
    printed: str
    departure: Departure = "kept"


# The worksheets, by name, in the order of their tabs. The name is in metadata, defined names and keys, and
# never changes; the title may.
WORKSHEETS: Mapping[str, WorksheetKind] = {
    "summary": WorksheetKind(
        pgettext("a worksheet", "Summary"),
        _("Fill in your release decision, who approved it, when and why, in the row at the top."),
        "key item value explanation decision approver decided why",
        printed="why",
        departure="replaced",
    ),
    "review": WorksheetKind(
        pgettext("a worksheet", "Review"),
        _(
            "Start at the top. Fill in the columns with a blue heading. One row is one answer to "
            "one question, however many customers got it; what you write stays in its row in the "
            "next run. A row whose question is answered rightly then goes to the archive, and "
            "one whose question was not asked waits there."
        ),
        "key severity state question answer reference reason likely_cause judge_is assignee"
        " status cause correct_answer make_test comment disputed persona conversation expect passages"
        " earlier since run",
        printed="status",
        departure="closed",
    ),
    "fixes": WorksheetKind(
        pgettext("a worksheet", "Fixes"),
        _(
            "The fixes with the largest gain come first. A fix keeps its row from run to run, "
            "and goes to the archive when it is no longer found. Columns with a blue heading are "
            "for your team to fill in."
        ),
        "key rank state what who found_cause sure gain assignee status memo turns question answer reason"
        " since run rests_on",
        printed="status",
        departure="closed",
    ),
    "conversations": WorksheetKind(
        _("Conversations"),
        _(
            "Every conversation in full. Answers to review are red cells; the judge's conclusion "
            "is in their note."
        ),
        "key config score ended reference user assistant check",
        printed="score",
        departure="replaced",
    ),
    "blind": WorksheetKind(
        pgettext("a worksheet", "Blind"),
        _(
            "Grade the answers from 1 to 5 without looking at any score. With two reviewers you see how far"
            " people agree."
        ),
        "key question earlier passages answer grade_1 comment_1 grade_2 comment_2",
        printed="comment_1",
        departure="unfilled",
    ),
    "questions": WorksheetKind(
        pgettext("a worksheet", "Questions"),
        _(
            "The questions of the next run: only rows that are in use and approved are asked. Add rows as you"
            " like."
        ),
        "key question reference expect category use approved answerable handover gold goal facts history",
        printed="approved",
    ),
    "history": WorksheetKind(
        pgettext("a worksheet", "History"),
        _("One row for each run."),
        "key date score target verdict decision red turns no_answer seconds cost",
        printed="cost",
    ),
    "trends": WorksheetKind(
        pgettext("a worksheet", "Question by question"),
        _(
            "How the score of each question developed over the runs that can be compared, from the oldest to"
            " the newest: ▁ is 0 points, █ is 100."
        ),
        "key question trend score change runs run",
        printed="run",
        departure="replaced",
    ),
    "archive": WorksheetKind(
        pgettext("a worksheet", "Archive"),
        _("What is over, with all that your team wrote about it. It comes back if it happens again."),
        "key from outcome closed subject answer judge_is cause correct_answer make_test assignee"
        " status comment memo decision approver decided why other since rests_on",
        printed="cause",
    ),
}
TABS: Mapping[str, Message] = {name: kind.title for name, kind in WORKSHEETS.items()}


class ColumnKind(NamedTuple):
    """A column of whichever worksheets have it: `width` is in narrow characters.

    A column of the `team` is written when its row is made, and never again.
    """

    title: Message
    width: int = 16
    team: bool = False
    kind: Literal["text", "number", "date"] = "text"


# The columns by key. Those of turns have the number of the turn. A key is the same in every worksheet that
# has the column; its owner is the program where `team` is not said.
COLUMNS: Mapping[str, ColumnKind] = {
    "key": ColumnKind(pgettext("a column", "Key"), 8),
    "run": ColumnKind(pgettext("a column", "Run")),
    "config": ColumnKind(pgettext("a column", "Config"), 24),
    "user": ColumnKind(_("Customer {n}", n=""), 34),
    "assistant": ColumnKind(_("Bot {n}", n=""), 34),
    "check": ColumnKind(_("Judge {n}", n=""), 34),
    "severity": ColumnKind(pgettext("a column", "Severity"), 10),
    "persona": ColumnKind(pgettext("a column", "Customer"), 22),
    "question": ColumnKind(pgettext("a column", "Question"), 26),
    "earlier": ColumnKind(pgettext("a column", "Earlier conversation"), 34),
    "answer": ColumnKind(pgettext("a column", "Answer"), 36),
    "passages": ColumnKind(pgettext("a column", "Retrieved passages"), 44),
    "reason": ColumnKind(pgettext("a column", "Reason"), 30),
    "judge_is": ColumnKind(pgettext("a column", "Is the judge right?"), 12, team=True),
    "correct_answer": ColumnKind(pgettext("a column", "Proposed reference answer"), 34, team=True),
    "make_test": ColumnKind(pgettext("a column", "Make it a test"), 12, team=True),
    "cause": ColumnKind(pgettext("a column", "Cause"), 14, team=True),
    "likely_cause": ColumnKind(pgettext("a column", "Likely cause"), 28),
    "rank": ColumnKind(pgettext("a column", "Rank"), 8, kind="number"),
    "what": ColumnKind(pgettext("a column", "What to do"), 52),
    "who": ColumnKind(pgettext("a column", "Who fixes it"), 14),
    "found_cause": ColumnKind(pgettext("a column", "Cause"), 14),
    "sure": ColumnKind(pgettext("a column", "Certainty"), 10),
    "gain": ColumnKind(pgettext("a column", "Gain"), 12, kind="number"),
    "memo": ColumnKind(pgettext("a column", "Notes"), 28, team=True),
    "comment": ColumnKind(pgettext("a column", "Comment"), 28, team=True),
    "assignee": ColumnKind(pgettext("a column", "Assignee"), 12, team=True),
    "status": ColumnKind(pgettext("a column", "Status"), 12, team=True),
    "state": ColumnKind(pgettext("a column", "This run"), 12),
    "disputed": ColumnKind(pgettext("a column", "Disputed"), 20),
    "since": ColumnKind(pgettext("a column", "First seen in"), 18),
    "conversation": ColumnKind(pgettext("a column", "Conversation"), 24),
    "ended": ColumnKind(pgettext("a column", "Ending"), 14),
    "rests_on": ColumnKind(pgettext("a column", "Questions it rests on"), 8),
    "from": ColumnKind(pgettext("a column", "Worksheet"), 12),
    "outcome": ColumnKind(pgettext("a column", "Outcome"), 24),
    "closed": ColumnKind(pgettext("a column", "Closed by"), 18),
    "subject": ColumnKind(pgettext("a column", "What it was about"), 40),
    "other": ColumnKind(pgettext("a column", "Columns that your team added"), 28),
    "grade_1": ColumnKind(pgettext("a column", "Grade, reviewer 1"), 14, team=True),
    "comment_1": ColumnKind(pgettext("a column", "Comment, reviewer 1"), 28, team=True),
    "grade_2": ColumnKind(pgettext("a column", "Grade, reviewer 2"), 14, team=True),
    "comment_2": ColumnKind(pgettext("a column", "Comment, reviewer 2"), 28, team=True),
    "reference": ColumnKind(pgettext("a column", "Reference answer"), 26),
    "expect": ColumnKind(pgettext("a column", "Expectations"), 34),
    "answerable": ColumnKind(pgettext("a column", "Answerable"), 14, team=True),
    "handover": ColumnKind(pgettext("a column", "Handover"), 14, team=True),
    "category": ColumnKind(pgettext("a column", "Category"), team=True),
    "use": ColumnKind(pgettext("a column", "In use"), 12, team=True),
    "gold": ColumnKind(pgettext("a column", "Needed articles"), 22, team=True),
    "goal": ColumnKind(pgettext("a column", "Goal"), 30, team=True),
    "facts": ColumnKind(pgettext("a column", "Customer's facts"), 30, team=True),
    "history": ColumnKind(pgettext("a column", "Earlier conversation"), 30, team=True),
    "approved": ColumnKind(pgettext("a column", "Approved"), 12, team=True),
    "item": ColumnKind(pgettext("a column", "Item"), 30),
    "value": ColumnKind(pgettext("a column", "Value")),
    "explanation": ColumnKind(pgettext("a column", "Details"), 40),
    "decision": ColumnKind(_("Release decision"), team=True),
    "approver": ColumnKind(pgettext("a column", "Approved by"), 14, team=True),
    "decided": ColumnKind(pgettext("a column", "Approved on"), 12, team=True, kind="date"),
    "why": ColumnKind(pgettext("a column", "Why"), 34, team=True),
    "trend": ColumnKind(pgettext("a column", "Over the runs"), 24),
    "change": ColumnKind(pgettext("a column", "Change"), kind="number"),
    "runs": ColumnKind(pgettext("a column", "Runs"), kind="number"),
    "date": ColumnKind(pgettext("a column", "Date")),
    "score": ColumnKind(pgettext("a column", "Score"), kind="number"),
    "target": ColumnKind(pgettext("a column", "Target"), kind="number"),
    "verdict": ColumnKind(pgettext("a column", "Verdict")),
    "red": ColumnKind(pgettext("a column", "Answers to review"), kind="number"),
    "turns": ColumnKind(_("Answers"), 10, kind="number"),
    "no_answer": ColumnKind(pgettext("a column", "No answer"), kind="number"),
    "seconds": ColumnKind(pgettext("a column", "Seconds"), kind="number"),
    "cost": ColumnKind(pgettext("a column", "Cost (USD)"), kind="number"),
}

# What people mean by a grade, the best first.
GRADES: Mapping[int, Message] = {
    5: _("may go out as it is"),
    4: _("may go out with a blemish"),
    3: _("may go out after a small fix"),
    2: _("misleads or is of no use"),
    1: _("does harm"),
}
_GRADES = _("{parts}", parts=[_("{n} {meaning}", n=n, meaning=meaning) for n, meaning in GRADES.items()])
COLUMN_HELP: Mapping[str, Message] = {
    "persona": _("Who got this answer. What you write in the row counts for all of them."),
    "state": _(
        "What this run says of the row: new, there again, fixed but there again, or disputed: your team says"
        " that the judge is wrong. A row whose question was not asked waits in the archive."
    ),
    "disputed": _(
        "In which run your team said of this answer that the judge is wrong. The row is grey then, and no"
        " longer counted among what needs review; score and verdict stay. Choose “Judge is right” to take it"
        " back."
    ),
    "closed": _("The run in which it was over."),
    "judge_is": _(
        "Was the judge right to mark this answer? “Judge is right” if so; “Judge is wrong” "
        "if it needs no review (or, if not marked, needs one); “Unsure” if you cannot tell."
    ),
    "correct_answer": _(
        "What it should have said. Once the status is fixed or retested it becomes the reference of the"
        " next run"
    ),
    "make_test": _(
        "“Yes” makes a test of the question, with what was said before it and the reference "
        "answer: `review` writes it into a question file, masked."
    ),
    "expect": _(
        "What the bot has to do in this conversation, and what it must not do: one sentence "
        "per line. A judge decides for each whether it was met."
    ),
    "gain": _(
        "How much the score (of 100) would gain if the fixed answers were graded like the "
        "average answer that needs no review"
    ),
    "grade_1": _GRADES,
    "grade_2": _GRADES,
}

_GRADE: Mapping[str, Message | str] = {n: n for n in "54321"}
# What is picked in a column, by what the program understands: ids are in run files and never change.
CHOICES: Mapping[str, Mapping[str, Message | str]] = {
    "judge_is": {
        "right": pgettext("a choice", "Judge is right"),
        "wrong": pgettext("a choice", "Judge is wrong"),
        "unsure": pgettext("a choice", "Unsure"),
    },
    "make_test": {
        "yes": pgettext("a choice of a test", "Yes"),
        "no": pgettext("a choice of a test", "No"),
    },
    "cause": TITLES["cause"],
    "status": {
        "open": pgettext("a choice", "Open"),
        "doing": pgettext("a choice", "In progress"),
        "mended": pgettext("a choice", "Fixed"),
        "retested": pgettext("a choice", "Retested"),
        "wontfix": pgettext("a choice", "Won't fix"),
    },
    "answerable": {"yes": pgettext("a choice", "Yes"), "no": pgettext("a choice", "No")},
    "handover": {
        "required": pgettext("a choice", "Required"),
        "forbidden": pgettext("a choice", "Not wanted"),
        "optional": pgettext("a choice", "Either"),
    },
    "use": {"yes": pgettext("a choice of use", "Yes"), "no": pgettext("a choice of use", "No")},
    "approved": {
        "yes": pgettext("a choice", "Approved"),
        "no": pgettext("a choice", "Not yet"),
        "rejected": pgettext("a choice", "Rejected"),
    },
    "decision": {
        "go": pgettext("a choice", "Go"),
        "conditional": pgettext("a choice", "Go with conditions"),
        "no": pgettext("a choice", "No go"),
    },
    "state": {
        "new": pgettext("a state", "New"),
        "again": pgettext("a state", "Again"),
        "reworded": pgettext("a state", "Again, in other words"),
        "fixed_again": pgettext("a state", "Fixed, but needs review again"),
        "back": pgettext("a state", "Was over, and is back"),
        "disputed": pgettext("a state", "Disputed"),
    },
    "outcome": {
        "right": pgettext("an outcome", "Answered rightly"),
        "changed": pgettext("an outcome", "No longer given; the question still needs review"),
        "not_asked": pgettext("an outcome", "Not asked this time: comes back when it is"),
        "team": pgettext("an outcome", "Closed by the team"),
        "earlier": pgettext("an outcome", "Of an earlier run"),
        "back": pgettext("an outcome", "Back again"),
    },
    "grade_1": _GRADE,
    "grade_2": _GRADE,
}
# Characters of the narrow kind, where a worksheet's own width differs from that of the column.
_WIDTHS = {
    ("questions", "question"): 44,
    ("questions", "reference"): 44,
    ("trends", "question"): 60,
}
# Columns at least so wide have long texts, which are wrapped.
_WIDE = 20
# Columns that only reports of dialogues ("") or of single-turn rows have.
_ONLY = {
    ("review", "persona"): "", ("conversations", "ended"): "",
    ("conversations", "reference"): "rows",
}  # fmt: skip


def worksheet(
    name: str,
    text: Callable[[Message | str], str],
    rows: Rows,
    wording: str = "",
    turns: Iterable[int | str] = (),
) -> Worksheet:
    """A worksheet of a run with titles as `text` shows them; `turns` are the numbers of its turns.

    `wording` is "rows" in a report on single-turn rows, which has no customers, but references.
    Columns of turns follow the others: key config user1 assistant1 check1 user2 ...
    """
    kind = WORKSHEETS[name]
    keys = [key for key in kind.columns.split() if _ONLY.get((name, key), wording) == wording]
    numbered = [(key, n) for n in turns for key in keys if key in TURN_COLUMNS]
    once = [(key, "") for key in keys if key not in TURN_COLUMNS]
    return Worksheet(
        name=name,
        title=text(kind.title),
        columns=tuple(_column(name, key, n, text) for key, n in (*once, *numbered)),
        rows=rows,
        help=text(kind.help),
        departure=kind.departure,
        nobody=text(_("no owner")),
        count=text(count_text("{name}", "{n}")),
    )


def _column(name: str, key: str, n: int | str, text: Callable[[Message | str], str]) -> Column:
    kind = COLUMNS[key]
    is_team = kind.team or (name == "questions" and key != "key")
    width = _WIDTHS.get((name, key), kind.width)
    return Column(
        key=f"{key}{n}",
        title=text(kind.title.format(n=n) if key in TURN_COLUMNS else kind.title),
        owner="team" if is_team and name not in {"archive", "history"} else "program",
        width=width,
        kind=kind.kind,
        choices={choice: text(title) for choice, title in CHOICES.get(key, {}).items()},
        wrap=width > _WIDE and key != "key",
        help=text(COLUMN_HELP.get(key, "")),
    )


@cache
def layouts() -> Mapping[str, Layout]:
    """The layout of every worksheet by its titles in both languages, in the order of their tabs."""
    by_name = {name: Layout() for name in WORKSHEETS}
    # Reports on single-turn rows have titles of their own.
    for (name, layout), wording, language in product(by_name.items(), ("", "rows"), LANGUAGES):
        sheet = worksheet(name, partial(shown, language=language, context=wording), (), wording, turns=[""])
        layout.team.update(column.key for column in sheet.team)
        for column in sheet.columns:
            layout.columns.setdefault(folded(column.title), column.key)
            if column.kind == "date":
                layout.days.add(column.key)
            choices = layout.choices.setdefault(column.key, {})
            for choice, title in column.choices.items():
                meant = NAMES["meant"].get(column.key, {}).get(choice, ())
                choices |= {folded(word): choice for word in (choice, title, *meant)}
    return by_name


# --- What a cell can hold ---

_DECIMALS = re.compile(r"[^.]*\.(\d+)")
# What XML 1.0 has no place for; tab and line feed are allowed, a carriage return is made a line feed first.
_ILLEGAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# Workbooks write control characters as _x0001_, and a text that looks like that with an escape before it. Of
# two that share a low line only the first is escaped: the other would be read as the character.
_OVERLAPPING = re.compile(r"(_x[0-9A-Fa-f]{4})_(?=x[0-9A-Fa-f]{4}_)")
# Before it Excel counts a 29 February 1900, which never was, and LibreOffice does not.
_FIRST_DAY = datetime(1900, 3, 1)


def decimals_of(text: str) -> int:
    """How many decimals a number is worded with."""
    decimals = _DECIMALS.match(text)
    return len(decimals[1]) if decimals else 0


def text_cell(text: str, mark: CellMark = "", note: str = "") -> SheetCell:
    """Untrusted text, without control codes."""
    return SheetCell(text=safe_text(text), mark=mark, note=safe_text(note))


def number_cell(n: float, mark: CellMark = "") -> SheetCell:
    """A number as it is: a whole one to its last digit, others to six digits."""
    return SheetCell(text=f"{n:.0f}" if n % 1 == 0 else f"{n:g}", number=n, mark=mark)


def day_of(text: str) -> datetime | None:
    """The day that an ISO date names, where a spreadsheet has such a day."""
    try:
        day = datetime.strptime(text, "%Y-%m-%d")
    except ValueError:
        return None
    return day if day >= _FIRST_DAY else None


def cell_text(text: str, longest: int) -> str:
    """The text as a cell holds it: cut with "…" where it is longer, in UTF-16 units.

    U+FFFD stands for what no cell can hold. No pair of surrogates is parted.
    """
    if not text.isprintable() or "_x" in text:
        text = _ILLEGAL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
        text = _OVERLAPPING.sub(r"\1＿", text)
    if 2 * len(text) <= longest or units(text) <= longest:
        return text
    return text.encode("utf-16-le")[: 2 * longest - 2].decode("utf-16-le", "ignore") + "…"


def units(text: str) -> int:
    """The length of a text in UTF-16 units, as Excel and Google count it: an emoji is two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


# --- The keys of rows in the worksheet to review: one for each distinct answer, the same in every run ---

# They rest on what was said, never on ids: these may be the numbers of rows, and change when rows are added.
#     answer-b68e7b11b447d55c-first-3f660c66268e2901-red
#            question and     turn  answer, contexts  red for somebody: an answer that turns red, or is so no
#            history                                  longer, is a row of its own, to be looked at once more
# What the customer said just before is no part of it: customers never say the same in the same words.
# What ends the key of an answer that is red for somebody, and stands in that of an answer to a first line.
RED, FIRST, LATER = "-red", "-first-", "-later-"
# How the key of a row ends in which the lead is asked what the desk wants.
DESK_QUESTION = "desk"
_START = "answer-"


def question_key(case: Case) -> str:
    """What the keys of all answers to a question begin with: width, case and spaces make no difference."""
    history = [[line.role, folded(line.content)] for line in case.history]
    return _START + _digest(folded(case.question), history)


def answer_key(case: Case, turn: Turn) -> str:
    """Turns have the same key where the bot gave the same answer about the same question."""
    answer = turn.answer
    said = _digest(case.contexts, case.choices, folded(answer.text), answer.error and answer.error.kind)
    return f"{question_key(case)}{FIRST if turn.index == 1 else LATER}{said}"


def is_answer_key(key: str) -> bool:
    """Whether this is the key of a distinct answer, as the rows of the review have."""
    return key.startswith(_START) and "/" not in key


def question_of(key: str) -> str:
    """The question that the key of a distinct answer is about, as `question_key` gives it."""
    return "-".join(key.split("-")[:2])


def _digest(*parts: Any) -> str:
    """16 hexadecimal digits: that two of 100,000 answers share them by chance has odds of 3 in 10 billion."""
    return hashlib.blake2s(json.dumps(parts).encode(), digest_size=8).hexdigest()
