"""A run as Markdown: short enough for a comment on a pull request."""

from simulator.core.document import escape_markdown, stand_in_notice
from simulator.core.translations import points
from simulator.report import tables
from simulator.report.context import ReportContext, notes, verdict
from simulator.report.extras import load_text
from simulator.report.fixes import fixes_section, where_text
from simulator.report.gate import conditions_table
from simulator.report.painters.markdown import markdown_sections, table_text
from simulator.report.sections import sections
from simulator.report.tables import mark_text
from simulator.stats.figures import RedTurn

# Red turns that are quoted; the rest is in the report.
SHOWN = 10


def markdown(context: ReportContext) -> str:
    """Score and verdict, means with what they rest on, what is missing, and the gravest red turns."""
    words, summary = context.names, context.summary
    head = f"## {words('title')}: {points(summary.score, against=context.gate.target)} {words('of_hundred')}"
    state = (
        f"**{escape_markdown(verdict(context.gate, summary.score, words))}** · {words('red')} {summary.red}"
    )
    parts = [head, f"{state} {words('of_turns', turns=summary.turns)}"]
    if summary.offline:
        parts.insert(1, stand_in_notice(words))
    if conditions := conditions_table(context.gate, words):
        parts.append(table_text(conditions))
    parts += [table_text(tables.personas_table(summary, context.language))]
    bullets = [f"- {escape_markdown(note.text)}" for note in notes(summary, context.gate, words)]
    parts += ["\n".join(bullets)] if bullets else []
    parts += markdown_sections(sections(context.results, context.language))
    if load := load_text(context.results, summary, words):
        figures = [f"- {escape_markdown(fact.name)}: {escape_markdown(fact.value)}" for fact in load.facts]
        parts.append("\n".join([f"### {escape_markdown(load.headline)}", "", *figures]))
    if section := fixes_section(context.recommendations, words):
        parts.append(section)
    if summary.reddest:
        listed = "\n".join(_red(turn, context) for turn in summary.reddest[:SHOWN])
        title = f"{words('reddest_short')} ({min(SHOWN, summary.red)}/{summary.red})"
        parts.append(f"<details><summary>{escape_markdown(title)}</summary>\n\n{listed}\n\n</details>")
    parts.append(f"`{context.results.run.id}`")
    return "\n\n".join(parts) + "\n"


def _red(turn: RedTurn, context: ReportContext) -> str:
    words = context.names
    where = escape_markdown(where_text(turn, words))
    customer = f"  - {context.words('text', 'customer')}: {escape_markdown(turn.question)}"
    answer = f"  - {context.words('text', 'desk')}: {escape_markdown(turn.answer)}"
    marks = escape_markdown(mark_text(turn, words))
    return f"- **{marks}** {where}\n{customer}\n{answer}\n  - → {escape_markdown(turn.reason)}"
