"""The history of runs on a terminal."""

from rich.console import Console

from simulator.reports.change_console import Lines
from simulator.reports.history_words import COLUMNS, Told

_STYLES = {"alarm": "bold red", "good": "bold green"}
# Columns that a narrow terminal does without, in this order.
_SPARED = ("model", "interval", "graded", "bot")
_NARROW = 100


def paint(told: Told, console: Console, page: str = "") -> None:
    """Prints what the runs say, then the runs, the newest first."""
    lines = Lines(console)
    lines.title(told.say("history", n=len(told.history.runs)))
    if not told.history.runs:
        lines.line(told.say("history_none"))
    for said in told.sentences():
        lines.item("! " if said.tone == "alarm" else "- ", said.text, _STYLES.get(said.tone, ""))
    if line := told.sparkline():
        lines.line("")
        lines.line(f"{told.say('history_title')}  {line}")
    if told.history.runs:
        spared = _SPARED if console.width < _NARROW else ()
        shown = [place for place, key in enumerate(COLUMNS) if key not in spared]
        columns, rows = told.columns(), told.rows()
        lines.line("")
        lines.grid([columns[at] for at in shown], [[row[at] for at in shown] for row in rows])
    if page:
        lines.line("")
        lines.line(told.say("history_page", path=page))
