"""A report as Markdown, for a comment on a pull request or a meeting. Texts of others are escaped.

What they could do otherwise is what a reader of the comment would take for ours: a link, a picture that tells
who looked, a mention that notifies people, HTML, or a heading that passes for the next section.
"""

import re
from collections.abc import Iterator

from simulator.core.document import (
    Block,
    Cell,
    Fact,
    FactList,
    Items,
    Line,
    Notes,
    Report,
    Section,
    Table,
    Text,
)
from simulator.core.messages import safe_text

# Signs that mean something in Markdown, at the beginning of a line or within it; a backslash before them is
# not shown.
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&])")


def markdown(report: Report) -> str:
    """The whole report; pictures are left out, their figures stand in tables."""
    painter = _MarkdownPainter(report)
    parts = [f"## {painter.text(report.title)}"]
    if report.notice:
        parts.append(f"> {painter.text(report.notice)}")
    parts += painter.blocks(report.lead)
    parts += ["\n\n".join(painter.section(section)) for section in report.shown_in("markdown")]
    if report.about:
        about = " ".join(report.text(report.about).replace("`", "'").split())
        parts.append(f"`{about}`")
    return "\n\n".join(parts) + "\n"


class _MarkdownPainter:
    """Writes the blocks of a report."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def text(self, text: Text) -> str:
        """A text in the language of the report, escaped."""
        return escaped(self._report.text(text))

    def section(self, section: Section) -> Iterator[str]:
        """Its title and blocks."""
        title, blocks = self.text(section.title), list(self.blocks(section.blocks))
        if section.folded:
            yield "\n\n".join([f"<details><summary>{title}</summary>", *blocks, "</details>"])
            return
        if title:
            yield f"### {title}"
        yield from blocks

    def blocks(self, blocks: tuple[Block, ...]) -> Iterator[str]:
        """Each block that has anything to say."""
        for block in blocks:
            match block:
                case Line():
                    yield self._line(block)
                case Notes() if block.lines:
                    yield "\n".join(map(self._note, block.lines))
                case FactList():
                    if block.title:
                        yield f"**{self.text(block.title)}**"
                    yield "\n".join(line for fact in block.facts for line in self._fact(fact))
                case Items() if block.items or block.more:
                    yield "\n".join(self._items(block))
                case Table():
                    if block.title:
                        yield f"**{self.text(block.title)}**"
                    yield self.table(block)

    def _marked(self, marker: str, text: Text) -> str:
        return " ".join(filter(None, (escaped(marker), self.text(text))))

    def _line(self, line: Line) -> str:
        text = self.text(line.text)
        if line.tone in ("", "soft"):
            return text if not line.tone else f"_{text}_"
        return f"**{text}**"

    def _note(self, note: Line) -> str:
        return f"- {'⚠ ' if note.tone == 'alarm' else ''}{self.text(note.text)}"

    def _fact(self, fact: Fact, indent: str = "") -> Iterator[str]:
        name = f"{self.text(fact.name)}: " if fact.name else ""
        yield f"{indent}- {name}{self.text(fact.text)}"
        yield from (f"{indent}  - ⚠ {self.text(warning)}" for warning in fact.warnings)

    def _items(self, items: Items) -> Iterator[str]:
        for number, item in enumerate(items.items, 1):
            text = self._marked(item.marker, item.text)
            head = f"{number}. " if items.numbered else "- "
            yield f"{head}{f'**{text}**' if item.tone in ('alarm', 'strong') else text}"
            for fact in item.lines:
                yield from self._fact(fact, " " * len(head))
        if items.more:
            yield f"\n{self.text(items.more)}"

    def table(self, table: Table) -> str:
        """A table without its title."""
        rows = [[self.text(title) for title in table.columns], ["---"] * len(table.columns)]
        rows += [[self._cell(cell) for cell in row] for row in table.rows]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def _cell(self, cell: Cell) -> str:
        mark, note = "▲" if cell.red else "", rf" \({self.text(cell.note)}\)" if cell.note else ""
        return f"{mark}{self.text(cell.text)}{note}"


def escaped(text: str) -> str:
    """Text of others on one line of Markdown: no markup, no link, no @mention.

    Signs are led by a backslash. Behind @, and before // of an address, stands an invisible word joiner
    (U+2060), which keeps GitHub from making a mention or a link of them.
    """
    line = " ".join(safe_text(text).split())
    return _SPECIAL.sub(r"\\\1", line).replace("@", "@\u2060").replace("://", ":\u2060//")
