"""Two runs as Markdown: short enough for a comment on a pull request."""

from collections.abc import Iterator, Sequence

from simulator.core.document import escaped
from simulator.reports.change_words import Telling
from simulator.stats.comparison import TurnChange

# Turns that are quoted; the rest is on the page.
SHOWN = 10


def markdown(telling: Telling) -> str:
    """Verdict, warnings, what turned, and the table of judges."""
    changes, say = telling.changes, telling.say
    title = say("title", before=changes.before.run, after=changes.after.run)
    parts = [f"## {escaped(title)}", f"**{escaped(telling.headline().text)}**"]
    listed = [f"- {escaped(said.text)}" for said in telling.below()]
    listed += [f"- ⚠ {escaped(said.text)}" for said in telling.cautions()]
    parts += ["\n".join(listed)] if listed else []
    parts += [_table(telling.columns(), telling.rows()), escaped(telling.method())]
    parts += [_turned(telling, "turned_red", changes.turned_red)]
    parts += [_turned(telling, "turned_green", changes.turned_green)]
    parts += [" ".join(map(escaped, telling.colours()))]
    if told := telling.beside():
        parts += ["\n".join(f"- {escaped(text)}" for text in told)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _turned(telling: Telling, title: str, found: Sequence[TurnChange]) -> str:
    say = telling.say
    lines = [line for each in found[:SHOWN] for line in _turn(telling, each, red=title == "turned_red")]
    if len(found) > SHOWN:
        lines.append(f"- {escaped(say('rest', n=len(found) - SHOWN))}")
    head = escaped(say(title, n=len(found)))
    if not lines:
        return ""
    listed = "\n".join(lines)
    return f"<details><summary>{head}</summary>\n\n{listed}\n\n</details>"


def _turn(telling: Telling, each: TurnChange, *, red: bool) -> Iterator[str]:
    say = telling.say
    who = telling.words.name("persona", each.persona)
    guarded = f" [{say('guarded')}]" if each.guarded else ""
    yield f"- **{escaped(say('where', persona=who, case=each.case, turn=each.turn) + guarded)}**"
    why = each.why_after if red else each.why_before
    said = (
        (say("question"), each.question),
        (say("was"), each.before or say("silent")),
        (say("became"), each.after or say("silent")),
        (say("why"), why),
    )
    for name, text in said:
        if text:
            yield f"  - {escaped(name)} {escaped(text)}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    shown = [columns, ["---"] * len(columns), *rows]
    first, ruler, *rest = (
        f"| {' | '.join(cell if cell == '---' else escaped(cell) for cell in row)} |" for row in shown
    )
    return "\n".join([first, ruler, *rest])
