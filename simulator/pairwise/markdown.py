"""A comparison as Markdown; what bots and customers said cannot mark anything up."""

from collections.abc import Iterator, Sequence

from simulator.core.document import escaped
from simulator.pairwise.sections import Shown, sections
from simulator.report.listing import Section


def markdown(shown: Shown) -> str:
    """The whole comparison."""
    lines = [line for at, section in enumerate(sections(shown)) for line in _section(section, at)]
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section, at: int) -> Iterator[str]:
    yield f"{'##' if at else '#'} {escaped(section.title)}"
    yield ""
    for line in filter(None, section.lead.split("\n")):
        yield f"**{escaped(line)}**"
        yield ""
    yield from _table(section.table)
    lines = [f"- {escaped(name)}: {escaped(text)}" for name, text in section.facts]
    for item in section.items:
        lines.append(f"- {escaped(item.text)}")
        lines += [f"  - {escaped(name)}: {escaped(text)}" for name, text in item.beneath]
    if lines:
        yield from (*lines, "")
    if section.aside:
        yield from (f"_{escaped(section.aside)}_", "")


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for at, row in enumerate(rows):
        yield f"| {' | '.join(map(escaped, row))} |"
        if at == 0:
            yield "|" + " --- |" * len(row)
    if rows:
        yield ""
