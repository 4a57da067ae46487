"""Two runs on a terminal: did it get better, what turned red or green, and every judge's difference.

Everything is printed as text, never as markup: nothing that bots and models say can move a terminal.
"""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from simulator.core.document import wrap
from simulator.core.translations import plain
from simulator.reports.change_words import Said, Telling
from simulator.stats.comparison import TurnChange

SHOWN = 5
_STYLES = {"alarm": "bold red", "good": "bold green", "": ""}
_SOFT = "dim"


class Lines:
    """Prints sentences and grids on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def title(self, text: str) -> None:
        """A heading with air above it."""
        self._console.print()
        self.line(text, "bold underline")

    def line(self, text: str, style: str = "") -> None:
        """One paragraph, wrapped to the width."""
        for line in wrap(self._fit(text), self._console.width):
            self._console.print(Text(line, style=style), highlight=False)

    def item(self, marker: str, text: str, style: str = "", text_style: str = "") -> None:
        """A paragraph that hangs from its marker."""
        head = self._fit(marker)
        for line in wrap(self._fit(text), self._console.width - cell_len(head)):
            self._console.print(Text(head, style).append(line, text_style or None), highlight=False)
            head = " " * cell_len(head)

    def grid(self, columns: Sequence[str], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
        """A table whose first column is a name; `styles` are those of the rows."""
        grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for place, column in enumerate(columns):
            justify = "right" if 0 < place < len(columns) - 1 else "left"
            grid.add_column(Text(self._fit(column), _SOFT), justify=justify, overflow="fold")  # type: ignore[arg-type]
        for place, row in enumerate(rows):
            style = styles[place] if styles else ""
            grid.add_row(*(Text(self._fit(cell), style) for cell in row))
        self._console.print(grid, highlight=False)

    def _fit(self, text: str) -> str:
        """The text without control codes, and without what this console's encoding does not have."""
        encoding = self._console.encoding
        return plain(text).encode(encoding, "replace").decode(encoding)


def paint(telling: Telling, console: Console, page: str = "") -> None:
    """Prints the comparison, most important first; `page` is where it was written as a page."""
    lines, changes, say = Lines(console), telling.changes, telling.say
    lines.title(say("title", before=changes.before.run, after=changes.after.run))
    _said(lines, telling)
    _turned(lines, telling, "turned_red", changes.turned_red, "▲")
    _turned(lines, telling, "turned_green", changes.turned_green, "✓")
    for text in telling.colours():
        lines.line(text, _SOFT)
    _judges(lines, telling)
    if told := telling.beside():
        lines.title(say("beside_title"))
        for text in told:
            lines.item("- ", text)
    if page:
        lines.line("")
        lines.line(say("page", path=page))


def _said(lines: Lines, telling: Telling) -> None:
    """The verdict, what belongs to it, and the warnings."""
    headline = telling.headline()
    lines.line(headline.text, _STYLES[headline.tone] or "bold")
    for each in telling.below():
        lines.item(_marker(each), each.text, _STYLES[each.tone], _STYLES[each.tone])
    for each in telling.cautions():
        lines.item("! ", each.text, _STYLES["alarm"])
    if telling.changes.regression:
        lines.line(telling.say("regression"), _STYLES["alarm"])


def _marker(said: Said) -> str:
    return {"alarm": "✕ ", "good": "✓ "}.get(said.tone, "- ")


def _turned(lines: Lines, telling: Telling, title: str, found: Sequence[TurnChange], mark: str) -> None:
    """The turns that turned, with what was asked, answered before and now, and why."""
    say = telling.say
    lines.title(say(title, n=len(found)))
    if not found:
        lines.line(say("none"), _SOFT)
    for number, each in enumerate(found[:SHOWN], 1):
        where = {"persona": telling.words.name("persona", each.persona), "case": each.case, "turn": each.turn}
        guarded = f"  [{say('guarded')}]" if each.guarded else ""
        lines.item(f"{number}. ", f"{mark} {say('where', **where)}{guarded}", "bold", "bold")
        red = title == "turned_red"
        lines.item(f"   {say('question')}", each.question, _SOFT)
        lines.item(f"   {say('was')}", each.before or say("silent"), _SOFT)
        if not red and each.why_before:
            lines.item(f"     {say('why')}", each.why_before, _SOFT)
        lines.item(f"   {say('became')}", each.after or say("silent"), _SOFT)
        if red and each.why_after:
            lines.item(f"     {say('why')}", each.why_after, _SOFT)
    if len(found) > SHOWN:
        lines.line(say("rest", n=len(found) - SHOWN), _SOFT)


def _judges(lines: Lines, telling: Telling) -> None:
    """The table of judges, and the same by persona and by tag."""
    say, tones = telling.say, {"worse": "bold red", "better": "bold green"}
    lines.title(say("judges"))
    styles = [tones.get(row.verdict, "") for row in telling.changes.judges]
    lines.grid(telling.columns(), telling.rows(), styles)
    lines.line(telling.method(), _SOFT)
    for place, kind in enumerate(("part_persona", "part_tag")):
        if rows := telling.part_rows(kind):
            if not place:
                lines.title(say("parts"))
            lines.grid(telling.part_columns(kind), rows)
