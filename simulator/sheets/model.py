"""Worksheets as values, before they are written to a Google Sheet or an Excel workbook.

Rows and columns are known by keys, never by titles or positions: people sort, insert and rename.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal, TypeVar, get_args, overload
from unicodedata import normalize

from pydantic import Field, PlainSerializer, SkipValidation

from simulator.core.messages import Message
from simulator.core.translations import row_texts, safe_text
from simulator.core.types import Language, Value

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
    title: str
    owner: Owner = "program"
    width: int = 16
    kind: Literal["text", "number", "choice", "date", "json"] = "text"
    choices: tuple[Choice, ...] = ()
    wrap: bool = False
    help: str = ""


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

    @overload
    def __getitem__(self, at: int) -> Item: ...

    @overload
    def __getitem__(self, at: slice) -> "LazyRows[Item]": ...

    def __getitem__(self, at: int | slice) -> "Item | LazyRows[Item]":
        """One of them, or some."""
        if isinstance(at, slice):
            return LazyRows(self._sources[at], self._make)
        return self._make(self._sources[at])

    def __iter__(self) -> Iterator[Item]:
        """One after the other."""
        return map(self._make, self._sources)

    def __eq__(self, other: object) -> bool:
        """Whether the other has equal items."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_equal, self, other))

    __hash__ = None  # type: ignore[assignment]


def _equal(one: object, other: object) -> bool:
    return one == other


def _all(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(rows)


# Not validated again: that would make all rows.
Rows = Annotated[Sequence[Row], SkipValidation, PlainSerializer(_all, return_type=tuple[Row, ...])]


class Chart(Value):
    """A chart of the columns `ys` over the column `x`."""

    title: str
    x: str
    ys: tuple[str, ...]
    kind: Literal["line", "column"] = "line"


class Worksheet(Value):
    """One worksheet: `name` is its stable id, `title` what people read on its tab.

    The first column holds the rows' keys. `help` says above or beside the table what it is for.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: Rows = ()
    frozen_columns: int = 1
    chart: Chart | None = None
    help: str = ""

    def column(self, key: str) -> Column:
        """The column of that key."""
        return next(column for column in self.columns if column.key == key)


FILE = Path(__file__).with_name("layouts.json")
LANGUAGES: tuple[Language, ...] = get_args(Language)
# Columns that are repeated for every turn, with its number.
TURN_COLUMNS = ("user", "assistant", "check")


@dataclass
class Layout:
    """One worksheet: tabs by language, columns by title, those of the team and of dates, choices by title."""

    titles: dict[Language, list[str]] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    team: set[str] = field(default_factory=set)
    days: set[str] = field(default_factory=set)
    choices: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def tabs(self) -> set[str]:
        """The tab's titles in all languages, folded."""
        return {folded(title) for titles in self.titles.values() for title in titles}

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


@lru_cache(maxsize=1)
def layouts() -> Mapping[str, Layout]:
    """The layout of every worksheet, in the order of their tabs."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Layout(**layout | {"team": set(layout["team"]), "days": set(layout["days"])})
        for name, layout in stored.items()
    }


def language_of(sheets: Iterable[Worksheet]) -> Language:
    """The language of the worksheets' titles; Japanese where none of them is known."""
    present = {(sheet.name, sheet.title) for sheet in sheets}
    known = (
        (language, name, title)
        for name, layout in layouts().items()
        for language, titles in layout.titles.items()
        for title in titles
    )
    found = {language for language, name, title in known if (name, title) in present}
    return next((language for language in LANGUAGES if language in found), "ja")


class PulledRow(Value):
    """A row by its key ("" for one that people added); `number` counts from 1 as people see it.

    Cells are by column key: texts as shown, without blanks around them; what was picked, by its id; days in
    ISO 8601.
    """

    key: str
    number: int
    cells: Mapping[str, str] = Field(default_factory=dict)


class PulledSheets(Value):
    """The rows of every worksheet that exists, and notes on rows and cells that were ignored."""

    rows: Mapping[str, tuple[PulledRow, ...]]
    notes: tuple[Message | str, ...] = ()


SHEET_WORDS_FILE = Path(__file__).with_name("worksheets.toml")


class SheetWords:
    """The words of one language: `words("column", "question")`."""

    def __init__(self, language: Language, *, rows: bool = False) -> None:
        self.language, self.rows = language, rows

    def __call__(self, table: str, key: str, /, **values: object) -> str:
        """The text of a key, with its variables filled; an unknown key is a bug and raises."""
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        own = row_texts(table, self.language).get(key) if self.rows else None
        return Template(own or _tables()[table][key][self.language]).substitute(shown)

    def choices(self, table: str) -> tuple[Choice, ...]:
        """A dropdown: every id of the table with its title."""
        return tuple(Choice(id=key, title=texts[self.language]) for key, texts in _tables()[table].items())

    def column(self, key: str, **settings: object) -> Column:
        """A column of the program's, with its title."""
        return Column.model_validate({"key": key, "title": self("column", key), **settings})

    def team(self, key: str, choices: str = "", **settings: object) -> Column:
        """A column of the team's, with a dropdown where `choices` names a table."""
        listed = self.choices(choices) if choices else ()
        kind = {"kind": "choice", "choices": listed} if choices else {}
        return self.column(key, owner="team", **kind, **settings)


def title_ids(table: str) -> dict[str, str]:
    """The ids of a dropdown's choices by their titles in both languages, and by the ids themselves."""
    return {title: key for key, texts in _tables()[table].items() for title in (key, *texts.values())}


def text_cell(text: str, mark: Mark = "", note: str = "") -> SheetCell:
    """Untrusted text, without control codes."""
    return SheetCell(text=safe_text(text), mark=mark, note=safe_text(note))


@lru_cache(maxsize=1)
def _tables() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads(SHEET_WORDS_FILE.read_text(encoding="utf-8"))


class Titles:
    """The keys of a worksheet's columns by their titles; `columns` are those that are pushed.

    `least` is how many of them a worksheet must have to be taken for a copy.
    """

    def __init__(self, name: str, columns: Sequence[Column] = ()) -> None:
        self._layout = layouts().get(name)
        self._own = {folded(column.title): column.key for column in columns}
        known = set(self._own.values()) or set(self._layout.columns.values() if self._layout else ())
        self.least = max(3, len(known) * 2 // 3)

    def __call__(self, title: str) -> str | None:
        """The key of the column of that title."""
        key = folded(title)
        return self._own.get(key) or (self._layout.column(key) if self._layout and key else None)
