"""Worksheets as values, before they are written to a Google Sheet or an Excel workbook.

Rows and columns are known by keys, never by titles or positions: people sort, insert and rename.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import product
from typing import Annotated, Any, Literal, TypeVar
from unicodedata import normalize

from pydantic import Field, SkipValidation

from simulator.core.messages import Message, safe_text, shown
from simulator.core.templates import LANGUAGES
from simulator.core.types import Value
from simulator.sheets.titles import CHOICES, COLUMN_HELP, COLUMNS, HELP, TABS, WORKSHEETS

Item = TypeVar("Item")

# How a cell is marked; its text says so, too, for those who see no colour.
Mark = Literal["red", "warn", "failed", "good", ""]
Owner = Literal["program", "team"]
FILLS: dict[Mark, str] = {"red": "FADBDA", "warn": "FFF2CC", "failed": "D9D9D9", "good": "E2F0D9"}


class Choice(Value):
    """One item of a dropdown: `id` is what the program understands, `title` what people pick."""

    id: str
    title: str


class Column(Value):
    """A column; a team's column is written when its row is made, and never again.

    `width` is in characters of the narrow kind, `help` is the note of the header cell.
    """

    key: str
    title: str = ""
    owner: Owner = "program"
    width: int = 16
    kind: Literal["text", "number", "date"] = "text"
    choices: tuple[Choice, ...] = ()
    wrap: bool = False
    help: str = ""

    @property
    def hidden(self) -> bool:
        """Whether people see it: keys in so narrow a column mean nothing to them."""
        return self.key == "key" and self.width <= 8


@dataclass(frozen=True, slots=True)
class SheetCell:
    """What a cell shows; a `number` makes it numeric, and `text` is then only its wording elsewhere.

    A dataclass with slots, not a model: there are hundreds of thousands of them.
    """

    text: str = ""
    number: float | None = None
    mark: Mark = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row, known by its key; a column that it does not name is empty."""

    key: str
    cells: Mapping[str, SheetCell] = field(default_factory=dict)


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
Rows = Annotated[Sequence[Row], SkipValidation]


class Chart(Value):
    """A line chart of the columns `ys` over the column `x`."""

    title: str
    x: str
    ys: tuple[str, ...]


class Worksheet(Value):
    """One worksheet: `name` is its stable id, `title` what people read on its tab.

    The first column holds the rows' keys. `help` says above or beside the table what it is for.
    """

    name: str
    title: str = ""
    columns: tuple[Column, ...]
    rows: Rows = ()
    frozen_columns: int = 1
    chart: Chart | None = None
    help: str = ""

    def column(self, key: str) -> Column:
        """The column of that key."""
        return next(column for column in self.columns if column.key == key)


# Columns that are repeated for every turn, with its number.
TURN_COLUMNS = ("user", "assistant", "check")


@dataclass
class Layout:
    """One worksheet: the titles of its tab, columns by title, choices by column and title.

    Titles are folded. `team` and `days` are the columns of the team and of dates.
    """

    tabs: set[str] = field(default_factory=set)
    columns: dict[str, str] = field(default_factory=dict)
    team: set[str] = field(default_factory=set)
    days: set[str] = field(default_factory=set)
    choices: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def least(self) -> int:
        """How many of its columns a worksheet must have to be taken for this one."""
        return max(3, len(set(self.columns.values())) * 2 // 3)

    def column(self, title: str) -> str | None:
        """The key of the column of that title, in either language."""
        key = folded(title)
        if found := self.columns.get(key):
            return found
        number = key[len(key.rstrip("0123456789")) :]
        column = self.columns.get(key.removesuffix(number)) if number else None
        return f"{column}{int(number)}" if column in TURN_COLUMNS else None

    def choice(self, column: str, text: str) -> str:
        """The id of a dropdown's choice; any other text is returned as it is."""
        return self.choices.get(column, {}).get(folded(text), text)


def folded(title: str) -> str:
    """A title in NFKC, lower case and with single spaces: people change these by accident."""
    return " ".join(normalize("NFKC", title).casefold().split())


# In characters of the narrow kind, where a worksheet's own differs from the column's.
_WIDTHS = {
    ("questions", "question"): 44,
    ("questions", "reference"): 44,
    ("history", "key"): 30,
    ("technical", "key"): 30,
    ("technical", "value"): 60,
}
# Columns at least so wide have long texts, which are wrapped.
_WIDE = 20
# Columns that only reports of dialogues ("") or of single-turn rows have.
_ONLY = {("review", "persona"): "", ("fixes", "customers"): "", ("conversations", "reference"): "rows"}
# Their rows have nothing beside the key by which they are known.
_ONE_FROZEN = ("blind", "history", "technical")


def worksheet(
    name: str,
    text: Callable[[Message | str], str],
    rows: Rows,
    wording: str = "",
    turns: Iterable[int | str] = (),
) -> Worksheet:
    """A worksheet of a run with titles as `text` shows them; `turns` are the numbers of its turns.

    `wording` is "rows" in a report on single-turn rows.
    """
    keys = [key for key in WORKSHEETS[name].split() if _ONLY.get((name, key), wording) == wording]
    numbered = [(key, n) for n in turns for key in keys if key in TURN_COLUMNS]
    return Worksheet(
        name=name,
        title=text(TABS[name]),
        columns=tuple(
            _column(name, key, n, text)
            for key, n in [*((key, "") for key in keys if key not in TURN_COLUMNS), *numbered]
        ),
        rows=rows,
        frozen_columns=1 if name in _ONE_FROZEN else 2,
        help=text(HELP[name]),
    )


def _column(name: str, key: str, n: int | str, text: Callable[[Message | str], str]) -> Column:
    kind = COLUMNS[key]
    team = kind.team or (name == "questions" and key != "key")
    width = _WIDTHS.get((name, key), kind.width)
    choices = CHOICES.get(key, {}) if team else {}
    return Column(
        key=f"{key}{n}",
        title=text(kind.title.format(n=n) if key in TURN_COLUMNS else kind.title),
        owner="team" if team else "program",
        width=width,
        kind=kind.kind,
        choices=tuple(Choice(id=each, title=text(title)) for each, title in choices.items()),
        wrap=width > _WIDE and key != "key",
        help=text(COLUMN_HELP.get(key, "")),
    )


@cache
def layouts() -> Mapping[str, Layout]:
    """The layout of every worksheet by its titles in both languages, in the order of their tabs."""
    found = {name: Layout() for name in WORKSHEETS}
    # Reports on single-turn rows have titles of their own.
    for (name, layout), wording, language in product(found.items(), ("", "rows"), LANGUAGES):
        text = partial(shown, language=language, context=wording)
        sheet = worksheet(name, text, (), wording, turns=[""])
        layout.tabs.add(folded(sheet.title))
        for column in sheet.columns:
            layout.columns.setdefault(folded(column.title), column.key)
            if column.owner == "team":
                layout.team.add(column.key)
            if column.kind == "date":
                layout.days.add(column.key)
            choices = layout.choices.setdefault(column.key, {})
            for choice in column.choices:
                choices |= {folded(choice.id): choice.id, folded(choice.title): choice.id}
    return found


def layout_of(sheet: Worksheet) -> Layout:
    """The layout of a worksheet, which also knows the columns by the titles that they have there."""
    layout = layouts().get(sheet.name, Layout())
    return replace(layout, columns=layout.columns | {folded(c.title): c.key for c in sheet.columns})


class PulledRow(Value):
    """A row by its key ("" for one that people added); `number` counts from 1 as people see it.

    Cells are by column key: texts as shown; what was picked, by its id; days in ISO 8601. `others` are the
    texts in the columns that people added.
    """

    key: str
    number: int
    cells: Mapping[str, str] = Field(default_factory=dict)
    others: tuple[str, ...] = ()


def text_cell(text: str, mark: Mark = "", note: str = "") -> SheetCell:
    """Untrusted text, without control codes."""
    return SheetCell(text=safe_text(text), mark=mark, note=safe_text(note))
