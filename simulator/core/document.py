"""What reports are made of (cells, tables, sections), and how their texts are wrapped, escaped and dated."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from simulator.core.translations import safe_text
from simulator.core.types import Language, Value

Tone = Literal["", "alarm", "good", "strong", "soft"]
"""How a text stands out: a warning, good news, the main point, or small print."""

View = Literal["terminal", "markdown", "page"]
EVERYWHERE: frozenset[View] = frozenset({"terminal", "markdown", "page"})
TERMINAL: frozenset[View] = frozenset({"terminal"})
MARKDOWN: frozenset[View] = frozenset({"markdown"})
TEXT: frozenset[View] = frozenset({"terminal", "markdown"})
PAGE: frozenset[View] = frozenset({"page"})


class Cell(Value):
    """What one cell shows; `number` is the exact figure (a score is 0..1), `note` explains it.

    `shade` is how good that is (0..1), for views that paint squares.
    `red` cells are painted FADBDA; their text or note says why, for those who see no colour.
    """

    text: str
    number: float | None = None
    red: bool = False
    note: str = ""
    shade: float | None = None
    tone: Tone = ""
    href: str = ""


class Table(Value):
    """A named table: `name` is its stable id, `title` and `columns` are in the reader's language.

    The first column names the row, and `counts` is the place of the figure that counts, where one stands out.
    `words` are the places of columns that hold words, which begin on the left. Columns at the places in
    `spared` are left out where there is little room. With `shaded`, cells are coloured by their shade.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    counts: int = 1
    words: frozenset[int] = frozenset()
    spared: frozenset[int] = frozenset()
    shaded: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph. With a marker it hangs from it; `indent` is how many cells it stands in on a terminal."""

    text: str
    tone: Tone = ""
    marker: str = ""
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and what there is to say about it; a text of several lines keeps them."""

    name: str
    text: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, painted in two columns; `title` stands above them."""

    facts: tuple[Fact, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """Short remarks, one below the other."""

    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a list with what belongs to it; `marker` (1., ▲) stands before its text.

    A fact without a name is a paragraph. `sides` are what two runs have, turn by turn; a page sets them side
    by side. `link` is a text and the address where a page has the rest.
    """

    text: str
    facts: tuple[Fact, ...] = ()
    tone: Tone = ""
    marker: str = ""
    sides: tuple[tuple[Fact, Fact], ...] = ()
    link: tuple[str, str] | None = None

    @property
    def lines(self) -> tuple[Fact, ...]:
        """The facts and then the sides, one below the other."""
        return (*self.facts, *(side for both in self.sides for side in both))


@dataclass(frozen=True, slots=True)
class Items:
    """A list; `more` says what it leaves out. With `numbered` its items are counted from 1.

    Of a folded list, a page opens what belongs to an item by a click on its text.
    """

    items: tuple[Item, ...]
    more: str = ""
    numbered: bool = False
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one line or bar of a chart, None where there is none.

    `texts` are the values as people read them; `low` and `high` are the ends of their intervals; `notes`
    say what they rest on.
    """

    name: str
    values: tuple[float | None, ...]
    texts: tuple[str, ...] = ()
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture; `description` says in a sentence what it shows.

    `lines`: the first series with dots and figures, the others as thin lines, over `labels` from left to
    right. `ranges`: one series, whose notes mark what is best; every label has a dot and its interval, one
    below the other. `bars`: one series, with a bar for every label. `shares`: every label has a bar, which
    the series divide.
    `marks` are values of the scale with their texts, and `limit` is the one that must be reached.
    """

    kind: Literal["lines", "ranges", "bars", "shares"]
    title: str
    description: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    marks: tuple[tuple[float, str], ...] = ()
    limit: tuple[float, str] | None = None
    note: str = ""


Block = Line | Facts | Notes | Items | Table | Chart


@dataclass(frozen=True, slots=True)
class Section:
    """A title and what stands below it; `figures` is what `--json` shows under `key`.

    `views` are those that show it. A folded section is opened by a click where that is possible.
    """

    key: str
    title: str
    blocks: tuple[Block, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)
    views: frozenset[View] = EVERYWHERE
    folded: bool = False

    @property
    def line(self) -> str:
        """What the section says first."""
        return next((block.text for block in self.blocks if isinstance(block, Line)), "")

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables among its blocks."""
        return tuple(block for block in self.blocks if isinstance(block, Table))


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that people read about one subject, in one language, most important first.

    `about` names the run and when it was. `lead` stands before the first section. `notice` says that no
    model took part.
    """

    title: str
    language: Language
    lead: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    about: str = ""
    notice: tuple[str, str] | None = None

    def shown_in(self, view: View) -> Iterator[Section]:
        """The sections of a view."""
        return (section for section in self.sections if view in section.views)


def figures_section(  # noqa: PLR0917 - the parts of a section in the order in which they are read
    key: str,
    title: str,
    line: str,
    tables: Iterable[Table] = (),
    notes: Iterable[str] = (),
    figures: dict[str, Any] | None = None,
) -> Section:
    """A section that says one thing and shows the figures for it, with notes on how to read them."""
    remarks = tuple(Line(note, "soft") for note in notes)
    blocks: list[Block] = [Line(line, "strong"), *tables]
    if remarks:
        blocks.append(Notes(remarks))
    return Section(key, title, tuple(blocks), figures or {})


def count_cell(n: int) -> Cell:
    """A number of things."""
    return Cell(text=f"{n:,}", number=n)


# The same whoever paints the sheet, a colleague's laptop or a nightly job: else one worksheet mixes zones.
JST = ZoneInfo("Asia/Tokyo")


def local_time(moment: datetime) -> datetime:
    """The moment in the time zone of this machine (TZ), as terminals and pages show it."""
    return moment.astimezone()


_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&])")


def escape_markdown(text: str) -> str:
    """Text of others on one line of Markdown: no markup, no link, no @mention."""
    line = " ".join(safe_text(text).split())
    return _SPECIAL.sub(r"\\\1", line).replace("@", "@\u2060").replace("://", ":\u2060//")


# Japanese breaks between any two characters, but not before a closing mark or after an opening one.
_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6"
_OPENING, _ENDING = "（「『【〈《［", "、。，．）」』】〉》］！？：；・…"
_CLOSING = _ENDING + "ー々"
_UNIT = re.compile(
    rf"\s+|[{_OPENING}]*(?:[^\s{_WIDE}]+|[{_WIDE}])[{_CLOSING}]*(?:(?<=[{_WIDE}])[,.:;!?)]+)?|[{_OPENING}]+"
)
# Short texts read better when words stay whole: a phrase is about what ends in hiragana (1ターンの・採点を).
_HONORIFIC = "[おご][一-鿿]"
_PHRASE = re.compile(
    rf"\s+|[{_OPENING}]*[^\s{_WIDE}]*[おご]?(?:(?![ぁ-ゟ{_OPENING}{_ENDING}])[{_WIDE}])*"
    rf"(?:(?!{_HONORIFIC})[ぁ-ゟ])*[{_ENDING}]*(?:(?<=[{_WIDE}])[,.:;!?)]+(?!\w))?"
)


def wrap(text: str, width: int, *, by_phrase: bool = False) -> list[str]:
    """The text in lines of at most `width` cells; its own line breaks are kept."""
    units = _PHRASE if by_phrase else _UNIT
    return [line for paragraph in text.split("\n") for line in _wrapped(paragraph, max(2, width), units)]


def _wrapped(paragraph: str, width: int, units: re.Pattern[str]) -> list[str]:
    """One paragraph in lines; a unit that is wider than the line is cut where it must be."""
    from rich.cells import cell_len, chop_cells  # --help does without

    lines, free = [""], width
    for unit in (part for found in units.findall(paragraph) for part in chop_cells(found, width)):
        size = cell_len(unit)
        if size > free:
            lines.append("")
            free = width
            if unit.isspace():
                continue
        lines[-1] += unit
        free -= size
    return [line.rstrip() for line in lines]
