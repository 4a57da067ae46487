"""A comparison for a terminal, in Japanese or English; everything as text, never as markup."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from simulator.core.document import wrap
from simulator.core.translations import plain
from simulator.pairwise.sections import Shown, sections
from simulator.report.listing import Item, Section

_ALARM, _SOFT, _TITLE = "bold red", "dim", "bold underline"


def paint(shown: Shown, console: Console) -> None:
    """Prints the whole comparison."""
    painter = _Painter(console)
    for section in sections(shown):
        painter.section(section)


class _Painter:
    def __init__(self, console: Console) -> None:
        self.console = console

    def section(self, section: Section) -> None:
        """Title, sentence, table, facts, list, small print."""
        self._line("")
        self._line(section.title, _TITLE)
        if section.lead:
            self._line(section.lead, "bold")
        self._table(section.table)
        for name, text in section.facts:
            self._line(f"{name}: {text}")
        for item in section.items:
            self._item(item, _ALARM if section.alarm else "")
        if section.aside:
            self._line(section.aside, _SOFT)

    def _table(self, rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as their widest cell, counts to the right."""
        shown = [[self._fit(" ".join(cell.split())) for cell in row] for row in rows]
        widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
        for number, (head, *row) in enumerate(shown):
            cells = [" " * (w - cell_len(cell)) + cell for cell, w in zip(row, widths[1:], strict=True)]
            line = "  ".join([head + " " * (widths[0] - cell_len(head)), *cells])
            self.console.print(Text(line, style="" if number else _SOFT), highlight=False, no_wrap=True)

    def _item(self, item: Item, style: str) -> None:
        self._line(f"- {item.text}" if item.beneath else item.text, style)
        for name, text in item.beneath:
            self._line(f"{name}: {text}", indent="    ")

    def _line(self, text: str, style: str = "", indent: str = "") -> None:
        for line in wrap(self._fit(text), self.console.width - len(indent)) if text else [""]:
            self.console.print(Text(indent + line, style=style), highlight=False)

    def _fit(self, text: str) -> str:
        """The text without control codes, and without what this console's encoding does not have."""
        encoding = self.console.encoding
        return plain(text).encode(encoding, "replace").decode(encoding)
