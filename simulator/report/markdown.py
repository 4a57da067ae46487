"""A run as Markdown: short enough for a comment on a pull request."""

from simulator.core.document import Cell, Section, Table, escaped, stand_in
from simulator.core.translations import points
from simulator.report import tables
from simulator.report.context import ReportContext, notes, verdict
from simulator.report.extras import load_text
from simulator.report.fixes import fixes_section, where_text
from simulator.report.run import conditions_table, sections
from simulator.report.tables import mark_text
from simulator.stats.figures import RedTurn

__all__ = ["escaped", "markdown", "section_text"]

# Red turns that are quoted; the rest is in the report.
SHOWN = 10


def markdown(told: ReportContext) -> str:
    """Score and verdict, means with what they rest on, what is missing, and the gravest red turns."""
    words, summary = told.names, told.summary
    head = f"## {words('title')}: {points(summary.score, against=told.gate.target)} {words('of_hundred')}"
    state = f"**{escaped(verdict(told.gate, summary.score, words))}** · {words('red')} {summary.red}"
    parts = [head, f"{state} {words('of_turns', turns=summary.turns)}"]
    if summary.offline:
        parts.insert(1, stand_in(words))
    if conditions := conditions_table(told.gate, words):
        parts.append(_table(conditions))
    parts += [_table(tables.personas_table(summary, told.language))]
    told_notes = [f"- {escaped(note.text)}" for note in notes(summary, told.gate, words)]
    parts += ["\n".join(told_notes)] if told_notes else []
    parts += map(section_text, sections(told.results, told.language))
    if load := load_text(told.results, summary, words):
        figures = [f"- {escaped(fact.name)}: {escaped(fact.value)}" for fact in load.facts]
        parts.append("\n".join([f"### {escaped(load.headline)}", "", *figures]))
    if section := fixes_section(told.improvements, words):
        parts.append(section)
    if summary.reddest:
        listed = "\n".join(_red(turn, told) for turn in summary.reddest[:SHOWN])
        title = f"{words('reddest_short')} ({min(SHOWN, summary.red)}/{summary.red})"
        parts.append(f"<details><summary>{escaped(title)}</summary>\n\n{listed}\n\n</details>")
    parts.append(f"`{told.results.run.id}`")
    return "\n\n".join(parts) + "\n"


def _red(turn: RedTurn, told: ReportContext) -> str:
    words = told.names
    who = escaped(where_text(turn, words))
    customer = f"  - {told.words('text', 'customer')}: {escaped(turn.question)}"
    desk = f"  - {told.words('text', 'desk')}: {escaped(turn.answer)}"
    marks = escaped(mark_text(turn, words))
    return f"- **{marks}** {who}\n{customer}\n{desk}\n  - → {escaped(turn.reason)}"


def section_text(section: Section) -> str:
    """A part of a report: title, line, tables, notes."""
    notes = [f"- {escaped(note)}" for note in section.notes]
    told = [f"### {escaped(section.title)}", escaped(section.line)]
    for shown in section.tables:
        told += [f"**{escaped(shown.title)}**", _table(shown)] if shown.title else [_table(shown)]
    return "\n\n".join([*told, *(["\n".join(notes)] if notes else [])])


def _table(shown: Table) -> str:
    lines = [_line([escaped(title) for title in shown.columns]), _line(["---"] * len(shown.columns))]
    return "\n".join([*lines, *(_line([_cell(cell) for cell in row]) for row in shown.rows)])


def _cell(cell: Cell) -> str:
    mark, note = "▲" if cell.red else "", f" ({cell.note})" if cell.note else ""
    return escaped(f"{mark}{cell.text}{note}")


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
