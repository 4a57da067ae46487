"""`simulate`, the main command: rehearse the bot, grade every turn, write the reports.

All that it does is in cli/rehearsal.py.
"""

from importlib import import_module
from typing import Any

from simulator.cli.options import takes_settings
from simulator.core.settings import load_settings

# Imported when there is a run to make: a page of help does without.
REHEARSAL = "simulator.cli.rehearsal"


@takes_settings("dialogue")
def command(flags: dict[str, Any]) -> int:
    """Rehearse the bot: customers talk with it, every turn is graded, a report is written.

    Without a key or an endpoint everything runs offline, with lexical stand-ins for the models.
    """
    return int(import_module(REHEARSAL).run_or_resume(load_settings(flags), "dialogue", flags))
