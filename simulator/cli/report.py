"""`report RUN`: writes the reports of a run again.

Figures are worked out anew from the run file, by the settings that are stored in it: a newer version of the
program may therefore show an old run in another way, but with the grades that it got.
"""

from typing import Any

from simulator import plugins
from simulator.api.destinations import check_destinations
from simulator.cli.options import REPORTING, RUN, takes
from simulator.cli.publish import publish
from simulator.core.settings import load_settings, settings_of_run, stored_settings
from simulator.results.target import check_certainty
from simulator.storage.run_file import find_run, read_run


@takes(
    *REPORTING,
    "target",
    "max_major",
    "confidence",
    "knowledge",
    "likeness",
)
def command(flags: dict[str, Any], run: str = RUN) -> int:
    """Write the reports of a run again: report.html, the summary, and what --to names.

    --target and --confidence decide again whether a run passes; --confidence off drops the certainty that
    the run asked for.
    """
    today = load_settings(flags)
    check_destinations(today)
    path = find_run(run, today.runs)
    settings = settings_of_run(read_run(path).run.settings, flags, today, REPORTING)
    if flags.get("likeness"):
        plugins.check(stored_settings({"likeness": flags["likeness"]}))
    if flags["confidence"] is not None:
        check_certainty(settings)
    return publish(path, settings)
