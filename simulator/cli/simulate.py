"""`simulate`, the main command: rehearse the bot, grade every turn, write the reports.

All that it does is in cli/run_or_resume.py.
"""

from typing import Any

from simulator.cli.options import takes_settings
from simulator.core.settings import load_settings


@takes_settings("dialogue")
def command(flags: dict[str, Any]) -> int:
    """Rehearse the bot: customers talk with it, every answer is graded, a report is written.

    Without a key or an endpoint everything runs offline, with simple versions (no AI) instead of the models.
    """
    from simulator.cli.run_or_resume import run_or_resume  # the whole engine: a page of help does without

    return run_or_resume(load_settings(flags), "dialogue", flags)
