"""A report on a terminal.

Everything is printed as text, never as markup: what bots and models write cannot colour, move or rewrite a
terminal. Widths are cells, so that Japanese lines up. What is told by colour is told by a sign as well (▲, !,
✓), for those who see no colour, and for logs.
"""

import os
import re
from collections.abc import Iterable, Sequence
from itertools import product

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
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
# In cells. The first column is at least this wide, and no wider than its longest word up to the second
# figure.
_LABEL, _WORD = 10, 32
# A name that is wider than this has a line of its own.
_NAME = 24
# Below this width (in cells) the columns that a table can spare are left out.
_NARROW = 100
# Cells between the columns of a table.
_GAP = 2
# The longest bar of a chart, in marks of two cells.
_BAR = 12
# The warnings that a summary in brief has room for.
_WARNINGS = 3
# Its columns where there is no terminal to ask, as in a file or a log.
_BRIEF_WIDTH = 100
# The scores 0 to 1 that a row of bars spans at least: seven steps of a point each. Without it .70, .71 would
# look like the whole scale.
_LEAST_SPAN = 0.07
# A word of ASCII, such as `groundedness`, which is not parted within a column; Japanese is parted anywhere.
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
        painter.line(Line(report.notice), "yellow")
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
        self.line(Line(text), "bold underline")
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
                    self.line(block)
                case Notes():
                    for note in block.lines:
                        self.line(note, marker=note.marker or _MARKERS.get(note.tone, "-"))
                case FactList():
                    self._facts(block)
                case Items():
                    self._items(block)
                case Table():
                    self._table(block)
                case Chart():
                    self._chart(block)

    def line(self, line: Line, style: str = "", marker: str = "") -> None:
        """A paragraph wrapped to the width, hanging from its marker."""
        style, marker = style or STYLES[line.tone], marker or line.marker
        self._hanging(f"{marker} " if marker else "", line.text, style, style, line.indent)

    def _facts(self, facts: FactList) -> None:
        """Names and values in two columns; a wide name has a line of its own."""
        if facts.title:
            self.line(Line(facts.title, "soft"))
        column = min(_NAME, max((cell_len(self._fit(fact.name)) for fact in facts.facts), default=0)) + 2
        for fact in facts.facts:
            name = self._fit(fact.name)
            if cell_len(name) > column - 2:
                self.line(Line(name, "soft"))
                name = ""
            self._hanging(name + " " * (column - cell_len(name)), fact.text, _SOFT, "")
            for warning in fact.warnings:
                self.line(Line(warning, "alarm", marker="!", indent=column - 2))

    def _items(self, items: Items) -> None:
        """Entries with what belongs to each below it."""
        for number, item in enumerate(items.items, 1):
            head = f"{f'{number}.' if items.numbered else item.marker or '-'} "
            self._hanging(head, item.text, STYLES[item.tone], STYLES[item.tone])
            indent = cell_len(head)
            for fact in item.lines:
                name = _("{name}: ", name=fact.name) if fact.name else ""
                self._hanging(name, fact.text, _SOFT, "", indent)
                for warning in fact.warnings:
                    self._hanging("→ ", warning, _SOFT, "", indent + 2)
        if items.more:
            self.line(Line(items.more, "soft"))

    def _hanging(self, head: Text, text: Text, style: str, text_style: str, indent: int = 0) -> None:
        """A paragraph behind its head; the lines that follow stand below its text."""
        head, whole = self._fit(head), self._fit(text)
        deep = cell_len(head)
        room = max(2, self._console.width - indent - deep)
        for line in wrap(whole, room) if whole else [""]:
            line_text = Styled(" " * indent).append(head, style).append(line, text_style)
            # A line that is wider is a command, which the terminal may break, but nobody's copy.
            self._console.print(line_text, highlight=False, soft_wrap=cell_len(line) > room)
            self._after_space = False
            head = " " * deep

    def _table(self, table: Table) -> None:
        """A table in as many parts as the width takes; red cells carry a mark as well."""
        if table.title:
            self.line(Line(table.title, "strong"))
            self._after_space = True
        for columns in self._parts(table):
            grid = Grid(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
            for place in columns:
                left = not place or place in table.words
                grid.add_column(
                    Styled(self._fit(table.columns[place]), _SOFT),
                    justify="left" if left else "right",
                    no_wrap=not left or self._holds_ids(table, place),
                    overflow="fold",
                )
            for row in table.rows:
                grid.add_row(*(self._cell(row[place]) for place in columns))
            self.space()
            # What fills up the last column is not printed: people copy and compare what they see.
            for segments in self._console.render_lines(grid, pad=False):
                line = Styled.assemble(*((segment.text, segment.style or "") for segment in segments))
                line.rstrip()
                self._console.print(line, highlight=False, no_wrap=True, overflow="ignore", crop=False)
            self._after_space = False
        self.space()

    def _holds_ids(self, table: Table, place: int) -> bool:
        """Whether each cell is one word, as an id is: it stays whole, and the words beside it are broken."""
        cells = [row[place] for row in table.rows]
        words = [self._marked(cell) for cell in cells if not cell.note]
        widest = max(map(cell_len, words), default=0)
        return (
            all(map(_ASCII.fullmatch, words))
            and len(words) == len(cells)
            and cell_len(self._fit(table.columns[place])) <= widest <= _WORD
        )

    def _cell(self, cell: Cell) -> Styled:
        """The figure, and on a second line what it rests on."""
        style = STYLES["alarm"] if cell.red else STYLES[cell.tone]
        text = Styled(self._marked(cell), style)
        return text.append(f"\n{self._fit(cell.note)}", style=_SOFT) if cell.note else text

    def _chart(self, chart: Chart) -> None:
        """A line as a row of bars, bars as rows of marks."""
        if chart.kind == "line" and (line := _line_of(chart.values)):
            first, *_others, last = [self._fit(text) for text in chart.texts if text] or [""]
            self.line(Line(f"{self._fit(chart.title)}  {first} {line} {last}"))
        if chart.kind != "bars":
            return
        if chart.title:
            self.line(Line(chart.title, "soft"))
        labels = [self._fit(label) for label in chart.labels]
        width = max(map(cell_len, labels), default=0)
        for label, length, text in zip(labels, bar_lengths(chart), chart.texts, strict=True):
            space, marks = " " * (width - cell_len(label)), "■" * round(_BAR * length / 100)
            self.line(Line(f"{space}{label}  {marks} {self._fit(text)}"))

    def _marked(self, cell: Cell) -> str:
        return self._fit("▲" if cell.red else "") + self._fit(cell.text)

    def _parts(self, table: Table) -> list[list[int]]:
        """The places of columns in groups that fit the width; the first column leads each.

        Seven columns on a narrow terminal -> [[0, 1, 2, 3], [0, 4, 5, 6]]. A column that is wider than the
        terminal stands in a group of its own, and its cells are folded.
        """
        width = self._console.width
        places = [at for at in range(len(table.columns)) if width >= _NARROW or at not in table.spared]
        texts = {at: [self._fit(table.columns[at])] for at in places}
        for row, at in product(table.rows, places):
            texts[at] += self._marked(row[at]), self._fit(row[at].note)
        widths = {at: max(map(cell_len, column)) for at, column in texts.items()}
        for at in table.words & widths.keys():
            widths[at] = max(min(widths[at], _LABEL), _longest_word(texts[at]))
        label = min(widths[0], max(_LABEL, _longest_word(texts[0])))
        parts, free = [[0]], width - label - _GAP
        for place in places[1:]:
            if widths[place] > free and len(parts[-1]) > 1:
                parts.append([0])
                free = width - label - _GAP
            parts[-1].append(place)
            free -= widths[place] + _GAP
        return parts

    def _fit(self, text: Text) -> str:
        """The text in the language of the report; "?" for what this console's encoding (cp932) lacks."""
        encoding = self._console.encoding
        return self._report.text(text).encode(encoding, "replace").decode(encoding)


def _longest_word(names: Iterable[str]) -> int:
    """The width of the longest run of letters that no line break should part; Japanese breaks anywhere."""
    return min(_WORD, max((len(word) for name in names for word in _ASCII.findall(name)), default=0))


def _line_of(values: Sequence[float | None]) -> str:
    """Values as a row of bars from the lowest to the highest, but never so narrow that little looks steep.

    .56, .66, .74 -> "▁▅█"    .70, .71, None, .70 -> "▄▅▄"    fewer than two values -> ""
    """
    numbers = [value for value in values if value is not None]
    if len(numbers) < 2:
        return ""
    span = max(max(numbers) - min(numbers), _LEAST_SPAN)
    return sparkline(numbers, (max(numbers) + min(numbers) - span) / 2, span)
