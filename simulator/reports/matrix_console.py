"""A matrix on a terminal: what is best on each data set, its table, and what is not finished."""

from rich.console import Console

from simulator.report.comparison import ConsoleLines
from simulator.report.console import paint_sections
from simulator.reports.matrix_words import Told


def paint(told: Told, console: Console, page: str = "") -> None:
    """Prints the comparison; `page` is where it was written as a page."""
    lines = ConsoleLines(console)
    lines.title(f"{told.title}  {told.found.id}")
    lines.line(told.headline(), "bold")
    paint_sections(told.sections(), told.words, console)
    if unfinished := list(told.unfinished()):
        lines.title(told.say("open_title"))
        for text in unfinished:
            lines.item("! ", text, "bold red")
    lines.line("")
    for text in told.notes():
        lines.item("- ", text, "dim", "dim")
    lines.line("")
    lines.line(told.total())
    if page:
        lines.line(told.say("next_open", path=page))
