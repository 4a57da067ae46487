"""A matrix as Markdown: short enough for a comment on a pull request."""

from simulator.core.document import escaped
from simulator.report.markdown import section_text
from simulator.reports.matrix_words import Told


def markdown(told: Told) -> str:
    """The table of each data set with what it says, and what is not finished."""
    parts = [f"## {escaped(told.title)}", escaped(told.headline()), *map(section_text, told.sections())]
    if unfinished := list(told.unfinished()):
        listed = "\n".join(f"- {escaped(text)}" for text in unfinished)
        parts.append(f"### {escaped(told.say('open_title'))}\n\n{listed}")
    parts.append("\n".join(f"- {escaped(text)}" for text in told.notes()))
    parts += [escaped(told.total()), f"`{told.found.id}`"]
    return "\n\n".join(parts) + "\n"
