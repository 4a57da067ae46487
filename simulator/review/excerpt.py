"""The review of a run as Markdown: what a morning meeting goes through."""

from collections.abc import Iterator

from simulator.core.document import escaped
from simulator.core.types import Language
from simulator.report.listing import Item, Say, Section
from simulator.review.agreed import blind_sections
from simulator.review.section import words_in
from simulator.review.teams import team_sections
from simulator.stats.review import Findings, Review


def markdown(found: Findings | None, review: Review | None, run: str, language: Language) -> str:
    """What the team says and how far people and judge agree; none of people's texts is taken for markup."""
    say = words_in(language)
    shown = team_sections(found, language) if found else ()
    parts = [f"## {escaped(say('title', run=run))}"]
    for section in (*shown, *blind_sections(review, language, say("blind_title"))):
        parts += [f"### {escaped(section.title)}", *_markdown(section, say)]
    return "\n\n".join(parts) + "\n"


def _markdown(section: Section, say: Say) -> Iterator[str]:
    if section.lead:
        yield f"**{escaped(section.lead)}**"
    if section.facts:
        yield "\n".join(f"- {escaped(name)}: {escaped(value)}" for name, value in section.facts)
    if section.table:
        head, *rows = ([escaped(cell) for cell in row] for row in section.table)
        lines = [head, ["---"] * len(head), *rows]
        yield "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if section.items:
        yield "\n".join(line for number, item in enumerate(section.items, 1) for line in _item(number, item))
    if section.more:
        yield escaped(say("more_items", n=section.more))
    if section.aside:
        yield f"_{escaped(section.aside)}_"


def _item(number: int, item: Item) -> Iterator[str]:
    yield f"{number}. {escaped(item.text)}"
    for name, text in item.beneath:
        yield f"   - {escaped(name)}: {escaped(text)}"
