"""A report on a terminal.

Everything is printed as text, never as markup: what bots and models write cannot colour, move or rewrite a
terminal. Widths are cells, so that Japanese lines up. What is told by colour is told by a sign as well (▲, !,
✓), for those who see no colour, and for logs. Paths, addresses, commands and ids stay whole, to be copied.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as Styled

from simulator.core.document import (
    Block,
    Cell,
    Chart,
    FactList,
    Items,
    Line,
    Notes,
    Report,
    Table,
    Text,
    Tone,
    View,
    sparkline,
)
from simulator.core.messages import _, wrap
from simulator.report.painters.charts import bar_lengths

STYLES: dict[Tone, str] = {"": "", "alarm": "bold red", "good": "bold green", "strong": "bold", "soft": "dim"}
_SOFT = STYLES["soft"]
_MARKERS: dict[Tone, str] = {"alarm": "!", "good": "✓"}
# The least width of a column of words, in cells, and the cells between two columns.
_LABEL, _GAP = 10, 2
# A name that is wider than this has a line of its own.
_NAME = 24
# The longest bar of a chart, in marks of two cells.
_BAR = 12
# The warnings that a summary in brief has room for.
_WARNINGS = 3
# Its columns where there is no terminal to ask, as in a file or a log.
_BRIEF_WIDTH = 100
# The scores 0 to 1 that a row of bars spans at least: seven steps of a point each. Without it .70, .71 would
# look like the whole scale.
_LEAST_SPAN = 0.07
# A word of ASCII, such as `groundedness`, which is not parted; Japanese is parted anywhere.
_ASCII = re.compile(r"[!-~]+")


def print_report(report: Report, *, as_json: bool = False, view: View = "terminal") -> None:
    """Prints a report for people; on stderr where stdout is for JSON.

    Colours only where the stream is a terminal (rich looks, and obeys NO_COLOR). In brief, where there is no
    terminal to ask, lines are 100 cells wide.
    """
    console = Console(stderr=as_json)
    if view == "brief" and not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _BRIEF_WIDTH
    paint(report, console, view)


def paint(report: Report, console: Console, view: View = "terminal") -> None:
    """Prints a report; in brief only the warnings among its first remarks."""
    painter = _TerminalPainter(report, console)
    painter.title("  ".join(report.text(text) for text in (report.title, report.about) if text))
    if report.notice:
        painter.hang("", report.notice, "yellow")
    painter.blocks(report.lead if view == "terminal" else tuple(map(_important, report.lead)))
    for section in report.shown_in(view):
        if section.title:
            painter.title(section.title)
        else:
            painter.space()
        painter.blocks(section.blocks)


def _important(block: Block) -> Block:
    if not isinstance(block, Notes):
        return block
    warnings = [line for line in block.lines if line.tone != "soft"]
    if (left := len(warnings) - _WARNINGS) > 0:
        warnings[_WARNINGS:] = [Line(_("Further warnings: {n} (--verbose)", n=left), "alarm")]
    return Notes(tuple(warnings))


class _TerminalPainter:
    """Prints the blocks of a report on one console."""

    def __init__(self, report: Report, console: Console) -> None:
        self._report, self._console = report, console
        self._after_space = False

    def title(self, text: Text) -> None:
        """A heading with an empty line above it."""
        self.space()
        self.hang("", text, "bold underline")
        self._after_space = True

    def space(self) -> None:
        """An empty line, unless the last one is, or is a heading."""
        if not self._after_space:
            self._console.print()
        self._after_space = True

    def blocks(self, blocks: Sequence[Block]) -> None:
        """Each block below the other."""
        for block in blocks:
            match block:
                case Line():
                    self.hang("", block.text, STYLES[block.tone])
                case Notes():
                    for note in block.lines:
                        style = STYLES[note.tone]
                        self.hang(f"{_MARKERS.get(note.tone, '-')} ", note.text, style, style)
                case FactList():
                    self._facts(block)
                case Items():
                    self._items(block)
                case Table():
                    self._table(block)
                case Chart():
                    self._chart(block)

    def hang(self, head: Text, text: Text, style: str = "", head_style: str = "", indent: int = 0) -> None:
        """A paragraph behind its head; the lines that follow stand below its text."""
        head, text, room = self._fit(head), self._fit(text), self._console.width - indent
        if 2 * cell_len(head) > room:  # as the name of a fact may be
            head, text = "", head + text
        deep = cell_len(head)
        for line in wrap(text, room - deep):
            self._print(Styled(" " * indent).append(head, head_style).append(line, style))
            head = " " * deep

    def _print(self, line: Styled) -> None:
        """A line; the terminal may break one that is wider, but nobody's copy."""
        self._console.print(line, highlight=False, soft_wrap=True)
        self._after_space = False

    def _facts(self, facts: FactList) -> None:
        """Names and values in two columns; a wide name has a line of its own."""
        if facts.title:
            self.hang("", facts.title, _SOFT)
        column = min(_NAME, max((cell_len(self._fit(fact.name)) for fact in facts.facts), default=0)) + 2
        for fact in facts.facts:
            name = self._fit(fact.name)
            if cell_len(name) > column - 2:
                self.hang("", name, _SOFT)
                name = ""
            self.hang(name + " " * (column - cell_len(name)), fact.text, head_style=_SOFT)
            for warning in fact.warnings:
                self.hang("! ", warning, STYLES["alarm"], STYLES["alarm"], column - 2)

    def _items(self, items: Items) -> None:
        """Entries with what belongs to each below it."""
        for number, item in enumerate(items.items, 1):
            head, style = f"{f'{number}.' if items.numbered else item.marker or '-'} ", STYLES[item.tone]
            self.hang(head, item.text, style, style)
            indent = cell_len(head)
            for fact in item.lines:
                name = _("{name}: ", name=fact.name) if fact.name else ""
                self.hang(name, fact.text, "", _SOFT, indent)
                for warning in fact.warnings:
                    self.hang("→ ", warning, "", _SOFT, indent + 2)
        if items.more:
            self.hang("", items.more, _SOFT)

    def _table(self, table: Table) -> None:
        """A table in as many parts as the width takes, each led by the first column."""
        if table.title:
            self.hang("", table.title, STYLES["strong"])
            self._after_space = True
        head = [Cell(text=title, tone="soft") for title in table.columns]
        rows = [list(map(self._lines, row)) for row in (head, *table.rows)]
        words = {0, *table.words}
        columns = [[text for row in rows for text, _style in row[at]] for at in range(len(head))]
        wide = [max(map(cell_len, texts)) for texts in columns]
        # Figures stand on one line, where it is not most of the width.
        folds = words | {at for at, width in enumerate(wide) if 2 * width > self._console.width}
        least = [
            min(wide[at], max(_LABEL, _longest_word(texts))) if at in folds else wide[at]
            for at, texts in enumerate(columns)
        ]
        for places in _parts(least, self._console.width):
            widths = _shared(self._console.width, places, least, wide)
            self.space()
            for row in rows:
                wrapped = (
                    [(line, style) for text, style in row[at] for line in wrap(text, widths[at])]
                    for at in places
                )
                for cells in zip_longest(*wrapped, fillvalue=("", "")):
                    line = Styled()
                    for at, (text, style) in zip(places, cells, strict=True):
                        blank = " " * (widths[at] - cell_len(text))
                        line.append("" if at in words else blank).append(text, style)
                        line.append((blank if at in words else "") + " " * _GAP)
                    line.rstrip()
                    self._print(line)
        self.space()

    def _lines(self, cell: Cell) -> list[tuple[str, str]]:
        """The figure, and on a second line what it rests on, each with its style; red cells have a mark."""
        style = STYLES["alarm"] if cell.red else STYLES[cell.tone]
        marked = self._fit("▲" if cell.red else "") + self._fit(cell.text)
        notes = self._fit(cell.note).split("\n") if cell.note else []
        return [*((text, style) for text in marked.split("\n")), *((note, _SOFT) for note in notes)]

    def _chart(self, chart: Chart) -> None:
        """A line as a row of bars, bars as rows of marks."""
        if chart.kind == "line" and (line := _line_of(chart.values)):
            first, *_others, last = [self._fit(text) for text in chart.texts if text] or [""]
            self.hang("", f"{self._fit(chart.title)}  {first} {line} {last}")
        if chart.kind != "bars":
            return
        if chart.title:
            self.hang("", chart.title, _SOFT)
        labels = [self._fit(label) for label in chart.labels]
        width = max(map(cell_len, labels), default=0)
        for label, length, text in zip(labels, bar_lengths(chart), chart.texts, strict=True):
            space, marks = " " * (width - cell_len(label)), "■" * round(_BAR * length / 100)
            self.hang("", f"{space}{label}  {marks} {self._fit(text)}")

    def _fit(self, text: Text) -> str:
        """The text in the language of the report; "?" for what this console's encoding (cp932) lacks."""
        encoding = self._console.encoding
        return self._report.text(text).encode(encoding, "replace").decode(encoding)


def _parts(least: Sequence[int], width: int) -> Iterator[list[int]]:
    """The places of columns in groups that fit the width; the first column leads each.

    Of the least widths 20, 30, 30, 30 on a terminal of 100 -> [0, 1, 2], [0, 3].
    """
    places, free = [0], width - least[0]
    for at, column in enumerate(least[1:], 1):
        if column + _GAP > free and len(places) > 1:
            yield places
            places, free = [0], width - least[0]
        places.append(at)
        free -= column + _GAP
    yield places


def _shared(width: int, places: Sequence[int], least: Sequence[int], wide: Sequence[int]) -> dict[int, int]:
    """The widths of columns: what is free goes to those that need more, evenly."""
    free = max(0, width - sum(least[at] + _GAP for at in places) + _GAP)
    widths = {}
    for done, at in enumerate(sorted(places, key=lambda at: wide[at] - least[at])):
        more = min(wide[at] - least[at], free // (len(places) - done))
        widths[at] = least[at] + more
        free -= more
    return widths


def _longest_word(texts: Iterable[str]) -> int:
    """The width of the longest run of letters that no line break should part."""
    return max((len(word) for text in texts for word in _ASCII.findall(text)), default=0)


def _line_of(values: Sequence[float | None]) -> str:
    """Values as a row of bars from the lowest to the highest, but never so narrow that little looks steep.

    .56, .66, .74 -> "▁▅█"    .70, .71, None, .70 -> "▄▅▄"    fewer than two values -> ""
    """
    numbers = [value for value in values if value is not None]
    if len(numbers) < 2:
        return ""
    span = max(max(numbers) - min(numbers), _LEAST_SPAN)
    return sparkline(numbers, (max(numbers) + min(numbers) - span) / 2, span)
