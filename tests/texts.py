"""What the texts of a report say, and what a terminal shows of all of it."""

import io
from typing import Any

from rich.console import Console

from simulator.core.document import Report, Text, View
from simulator.core.messages import Language, shown
from simulator.report.painters.console import paint


def said(text: Text, language: Language = "en", wording: str = "") -> str:
    """A text as its reader sees it; `wording` is "rows" in reports on single-turn rows."""
    return shown(text, language, wording)


def terminal(report: Report, width: int = 100, view: View = "terminal", **console: Any) -> str:
    """What a terminal of that width shows of a report."""
    out = io.StringIO()
    paint(report, Console(file=out, width=width, **console), view)
    return out.getvalue()
