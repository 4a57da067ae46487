"""A report as Markdown, for a comment on a pull request or a meeting. Texts of others are escaped."""

from collections.abc import Iterable, Iterator

from simulator.core.document import Block, Cell, Facts, Items, Line, Notes, Report, Section, Table
from simulator.core.document import escape_markdown as escaped
from simulator.core.translations import safe_text


def markdown(report: Report) -> str:
    """The whole report; pictures are left out, their figures stand in tables."""
    parts = [f"## {escaped(report.title)}"]
    if report.notice:
        parts.append(f"> **{escaped(report.notice[0])}** {escaped(report.notice[1])}")
    parts += _blocks(report.lead)
    for section in report.shown_in("markdown"):
        parts += _section(section)
    if report.about:
        about = " ".join(safe_text(report.about).replace("`", "'").split())
        parts.append(f"`{about}`")
    return "\n\n".join(parts) + "\n"


def markdown_sections(sections: Iterable[Section]) -> list[str]:
    """Parts of a report, to be set between empty lines."""
    return ["\n\n".join(_section(section)) for section in sections]


def _section(section: Section) -> Iterator[str]:
    title, blocks = escaped(section.title), list(_blocks(section.blocks))
    if section.folded:
        yield "\n\n".join([f"<details><summary>{title}</summary>", *blocks, "</details>"])
        return
    if title:
        yield f"### {title}"
    yield from blocks


def _blocks(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Line():
                yield _line(block)
            case Notes() if block.lines:
                yield "\n".join(map(_note, block.lines))
            case Facts():
                if block.title:
                    yield f"**{escaped(block.title)}**"
                yield "\n".join(_facts(block))
            case Items() if block.items or block.more:
                yield "\n".join(_items(block))
            case Table():
                if block.title:
                    yield f"**{escaped(block.title)}**"
                yield table_text(block)
            case _:
                pass


def _line(line: Line) -> str:
    text = escaped(f"{line.marker} {line.text}" if line.marker else line.text)
    if line.tone in ("", "soft"):
        return text if not line.tone else f"_{text}_"
    return f"**{text}**"


def _note(note: Line) -> str:
    return f"- {'⚠ ' if note.tone == 'alarm' else ''}{escaped(note.text)}"


def _facts(facts: Facts) -> Iterator[str]:
    for fact in facts.facts:
        yield f"- {escaped(fact.name)}: {escaped(fact.text)}"
        yield from (f"  - ⚠ {escaped(warning)}" for warning in fact.warnings)


def _items(items: Items) -> Iterator[str]:
    for number, item in enumerate(items.items, 1):
        text = escaped(f"{item.marker} {item.text}" if item.marker else item.text)
        head = f"{number}. " if items.numbered else "- "
        yield f"{head}{f'**{text}**' if item.tone in ('alarm', 'strong') else text}"
        indent = " " * len(head)
        for fact in item.lines:
            yield f"{indent}- {escaped(f'{fact.name}: {fact.text}' if fact.name else fact.text)}"
            yield from (f"{indent}  - ⚠ {escaped(warning)}" for warning in fact.warnings)
    if items.more:
        yield f"\n{escaped(items.more)}"


def table_text(table: Table) -> str:
    """A table without its title."""
    lines = [_row([escaped(title) for title in table.columns]), _row(["---"] * len(table.columns))]
    return "\n".join([*lines, *(_row([_cell(cell) for cell in row]) for row in table.rows)])


def _cell(cell: Cell) -> str:
    mark, note = "▲" if cell.red else "", f" ({cell.note})" if cell.note else ""
    return escaped(f"{mark}{cell.text}{note}")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
