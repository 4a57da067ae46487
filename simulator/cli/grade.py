"""`grade RUN`: more judges for a finished run, and its reports anew. The grading is in api/regrade.py."""

import shlex
from typing import Any

from simulator import plugins
from simulator.api.destinations import check_destinations
from simulator.api.regrade import cancel_batch, grade_run, most_spent
from simulator.cli.forecast import show_calls
from simulator.cli.options import RUN, option, takes
from simulator.cli.publish import publish
from simulator.cli.terminal import ExitCode, print_json, say
from simulator.core.messages import _, sentences
from simulator.core.settings import load_settings
from simulator.core.types import PASSED
from simulator.storage.run_file import find_run


@takes(
    "judges", "outputs", "judging", "causes", "retest", "panel", "guidelines", "contacts", "ng_words",
    "rules", "target", "max_major", "confidence", "offline", "judge_model",
    "embed_model", "cache", "budget", "prices", "calls",
    "timeout", "dry_run", "to", "sheet", "worksheet", "runs", "json_output", "verbose",
)  # fmt: skip
def command(
    flags: dict[str, Any],
    run: str = RUN,
    again: bool = option("--again", "Also grade what a judge has graded before, and replace its grades."),
    batch: bool = option("--batch", "By the provider's batch API: within a day, at half the price."),
    cancel: bool = option("--cancel-batch", "Cancel the batch that an interrupted --batch left under way."),
) -> int:
    """Grade a finished run with more judges, without any new conversation.

    python run.py grade latest --judges claims,facts
    """
    today = load_settings(flags)
    check_destinations(today)
    make_batch = plugins.batching() if batch or cancel else None
    if cancel and make_batch:
        message = cancel_batch(run, flags, make_batch)
        say(sentences(_("{reason:sentence}", reason=message)))
        if today.json_output:
            print_json({"run": find_run(run, today.runs).parent.name, "message": message})
        return ExitCode.DONE
    if today.dry_run:
        show_calls({"judge": most_spent(run, flags, again=again, make_batch=make_batch)}, today)
    graded = grade_run(run, flags, again=again, make_batch=make_batch)
    settings = graded.settings
    judges = ",".join(name for name in graded.judges if name != PASSED)
    given = str(settings.added.get("outputs") or "")
    outputs = f" --outputs {shlex.quote(given)}" if given else ""
    resume = f"grade {{run}}{' --batch' if batch else ''}{f' --judges {judges}' if judges else ''}{outputs}"
    return publish(graded.path, settings, graded.stopped, resume)
