"""What reports are made of (cells, tables, sections), and how their texts are wrapped and dated.

A report is data: `report/` and the add-ons compute a `Report`, and the painters of `report/painters/` draw it
for a terminal, as Markdown and as a page, without computing anything. So every view shows the same figures.

    Report      title, language, and
      Section     a title with blocks, shown in some views and not in others; its `figures` are for --json
        Line        a paragraph
        FactList    names and values in two columns
        Notes       short remarks
        Items       a list; an Item is a text with facts below it
        Table       rows of Cells
        Chart       a picture, with a sentence that says what is on it

A text is either ours (a Message, shown in the language of the report) or what others said (a str, word for
word). Nothing here is escaped: each painter does that for its own format, and strips control codes.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeVar

from simulator.core.messages import Language, Message, _, pgettext, safe_text, shown
from simulator.core.types import Value

Each = TypeVar("Each")
Tone = Literal["", "alarm", "good", "strong", "soft"]
"""How a text stands out: a warning, good news, the main point, or small print."""

Text = Message | str
"""What we say, which a painter shows in the language of the report; or what others said, word for word."""

View = Literal["brief", "terminal", "markdown", "page"]
"""Where a report is shown: after a run a terminal has `brief`, with --verbose all."""
# `markdown` is also what is posted to a pull request, and `page` is report.html.
EVERYWHERE: frozenset[View] = frozenset({"terminal", "markdown", "page"})
TERMINAL: frozenset[View] = frozenset({"terminal"})
BRIEF: frozenset[View] = frozenset({"brief"})
TEXT: frozenset[View] = frozenset({"terminal", "markdown"})
PAGE: frozenset[View] = frozenset({"page"})


class Cell(Value):
    """What one cell shows; `number` is the figure as worded (71 points are 71), `note` explains it.

    A worksheet has the number where other views have the text. `shade` is how good that is (0..1), for views
    that paint squares.
    `red` cells are painted FADBDA; their text or note says why, for those who see no colour.
    """

    text: Text
    number: float | None = None
    red: bool = False
    note: Text = ""
    shade: float | None = None
    tone: Tone = ""
    href: str = ""


class Table(Value):
    """A named table: `name` is its stable id, `title` and `columns` are in the reader's language.

    The first column names the row. `words` are the places of columns that hold words, which begin on the
    left. With `shaded`, cells are coloured by their shade. A `folded` table is a list to look things up in: a
    page opens it by a click on its title.
    """

    name: str
    title: Text
    columns: tuple[Text, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: frozenset[int] = frozenset()
    shaded: bool = False
    folded: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        columns: Iterable[Text],
        rows: Iterable[Iterable[Cell | Text | int | None]],
        title: Text = "",
        **looks: Any,
    ) -> "Table":
        """A table of cells, texts and numbers of things, with a dash for None; `looks` are further fields."""
        cells = tuple(tuple(map(_as_cell, row)) for row in rows)
        return cls(name=name, title=title, columns=tuple(columns), rows=cells, **looks)

    @classmethod
    def listing(
        cls,
        name: str,
        items: Iterable[Each],
        columns: Mapping[Text, Callable[[Each], Cell | Text | int | None]],
        title: Text = "",
        **looks: Any,
    ) -> "Table":
        """A row for each item; `columns` are titles, each with what its cells show of an item."""
        rows = ([show(item) for show in columns.values()] for item in items)
        return cls.of(name, columns, rows, title, **looks)


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph; the first Line of a section is what it says in short."""

    text: Text
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and what there is to say about it; a text of several lines keeps them."""

    name: Text
    text: Text
    warnings: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class FactList:
    """Names and values, painted in two columns; `title` stands above them."""

    facts: tuple[Fact, ...]
    title: Text = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """Short remarks, one below the other."""

    lines: tuple[Line, ...]

    @classmethod
    def of(cls, texts: Iterable[Text | Line], tone: Tone = "") -> "Notes":
        """Remarks; those that are texts alone have this tone."""
        return cls(tuple(text if isinstance(text, Line) else Line(text, tone) for text in texts))


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a list with what belongs to it; `marker` (1., ▲) stands before its text.

    A fact without a name is a paragraph. `sides` are what two runs have, turn by turn; a page sets them side
    by side. `link` is a text and the address where a page has the rest.
    """

    text: Text
    facts: tuple[Fact, ...] = ()
    tone: Tone = ""
    marker: str = ""
    sides: tuple[tuple[Fact, Fact], ...] = ()
    link: tuple[Text, str] | None = None

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
    more: Text = ""
    numbered: bool = False
    folded: bool = False

    @classmethod
    def first(cls, most: int, items: Iterable[Item], more: Message, **looks: bool) -> "Items":
        """At most so many items; `more` says of how many ({n}) others there are."""
        every = tuple(items)
        left = len(every) - most
        return cls(every[:most], more.format(n=left) if left > 0 else "", **looks)


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture; `description` says in a sentence what it shows.

    `line`: dots with figures over `labels`, from left to right. `bars`: a bar for every label. A value is
    None where there is none; `texts` are the values as people read them, `low` and `high` the ends of their
    intervals. `marks` are values of the scale with their texts.
    """

    kind: Literal["line", "bars"]
    title: Text
    description: Text
    labels: tuple[Text, ...]
    values: tuple[float | None, ...]
    texts: tuple[Text, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    marks: tuple[tuple[float, Text], ...] = ()

    @classmethod
    def bars(
        cls, description: Text, counts: Mapping[Text, int], of: Callable[[int], Text] = "{:,}".format
    ) -> "Chart":
        """A bar for each label, with numbers of things as `of` words them."""
        values, texts = tuple(map(float, counts.values())), tuple(map(of, counts.values()))
        return cls("bars", "", description, tuple(counts), values, texts)


Block = Line | FactList | Notes | Items | Table | Chart


@dataclass(frozen=True, slots=True)
class Section:
    """A title and what stands below it; `figures` is what `--json` shows under `key`.

    `key` is a stable name: of the part of --json, and of the anchor on a page. `views` are those that show
    it. A folded section is opened by a click where that is possible.
    """

    key: str
    title: Text
    blocks: tuple[Block, ...] = ()
    figures: dict[str, Any] = field(default_factory=dict)
    views: frozenset[View] = EVERYWHERE
    folded: bool = False

    @property
    def line(self) -> Text:
        """What the section says first."""
        return next((block.text for block in self.blocks if isinstance(block, Line)), "")

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables among its blocks."""
        return tuple(block for block in self.blocks if isinstance(block, Table))


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that people read about one subject, most important first, to be shown in `language`.

    `about` names the run and when it was. `lead` stands before the first section. `notice` says that no
    model took part. `wording` is "rows" where other words stand for some: in reports on single-turn rows.
    """

    title: Text
    language: Language
    lead: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    about: Text = ""
    notice: Text = ""
    wording: str = ""

    def shown_in(self, view: View) -> Iterator[Section]:
        """The sections of a view."""
        return (section for section in self.sections if view in section.views)

    def text(self, text: Text) -> str:
        """A text as its reader sees it, without control codes."""
        return safe_text(shown(text, self.language, self.wording))


def figures_section(  # noqa: PLR0917 - the parts of a section in the order in which they are read
    key: str,
    title: Text,
    line: Text,
    tables: Iterable[Table] = (),
    notes: Iterable[Text] = (),
    figures: dict[str, Any] | None = None,
) -> Section:
    """A section that says one thing and shows the figures for it, with notes on how to read them."""
    remarks = Notes.of(notes, "soft")
    blocks = (Line(line, "strong"), *tables, *((remarks,) if remarks.lines else ()))
    return Section(key, title, blocks, figures or {})


def page_section(path: str) -> tuple[Section, ...]:
    """Where the report is a page, for terminals; nothing without one."""
    return (
        (Section("page", "", (Line(_("Page: {path}", path=path)),), views=TERMINAL | BRIEF),) if path else ()
    )


def count_cell(n: int) -> Cell:
    """A number of things."""
    return Cell(text=f"{n:,}", number=n)


def _as_cell(value: Cell | Text | int | None) -> Cell:
    if isinstance(value, int):
        return count_cell(value)
    return value if isinstance(value, Cell) else Cell(text="–" if value is None else value)


def count_text(name: Text, n: int | str) -> Message:
    """How many there are of something, for a list: "timeout 3"."""
    return pgettext("a count", "{name} {n}", name=name, n=n)


def points(value: float | None, *, against: float | None = None) -> str:
    """A value 0..1 on the scale to 100, without decimals; "–" for None.

    Decimals are shown only where rounding would put the value on the other side of `against`, or a score of
    80 would miss a target of 80:

        0.795 -> 80     0.795 against 0.8 -> 79.5     0.7999 against 0.8 -> 79.99
    """
    if value is None:
        return "–"
    # Rounded up, 79.5 is shown as 80 beside "target 80 missed".
    below = against is not None and value < against - 1e-9
    # Half up, as people round, and not to the even neighbour as Python's `round` does.
    for places in range(4):
        text = f"{math.floor(value * 100 * 10**places + 0.5 + 1e-9) / 10**places:.{places}f}"
        if against is None or (float(text) < against * 100 - 1e-7) == below:
            break
    return text


def share_text(right: int, of: int, places: int = 0) -> Text:
    """`80 % (8 of 10)`, with so many decimals; a dash of none."""
    if not of:
        return "–"
    return _("{percent} % ({right} of {of})", percent=f"{100 * right / of:.{places}f}", right=right, of=of)


def target_points(target: float) -> str:
    """A target on the scale to 100, exactly as it was set."""
    return f"{100 * target:.6g}"


# The bars of a sparkline, lowest first.
_BARS = "▁▂▃▄▅▆▇█"


def zoned_time(moment: datetime) -> str:
    """The moment on the clock of this machine, which it names: "2026/11/21 18:04 JST"."""
    return f"{local_time(moment):%Y/%m/%d %H:%M %Z}"


def local_time(moment: datetime) -> datetime:
    """The moment in the time zone of this machine (TZ), as terminals and pages show it."""
    return moment.astimezone()


def excerpt(text: str, length: int = 160) -> str:
    """The beginning of a text on one line, with "…" where it goes on; `length` in characters."""
    # Four times as much is enough for any text that is not mostly blanks, and a megabyte is not split.
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


# Characters of a reason in a summary: three lines of a terminal, on which Japanese takes twice the room.
_REASON: dict[Language, int] = {"ja": 140, "en": 280}


def brief_reason(text: str, language: Language) -> str:
    """The beginning of a judge's reason, for a summary."""
    return excerpt(text, _REASON[language])


def sparkline(values: Iterable[float], low: float = 0.0, span: float = 1.0) -> str:
    """Values as a row of bars, from the lowest for `low` to the highest for `span` above it.

    0, .5, 1 -> "▁▅█"
    """
    return "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in values)
