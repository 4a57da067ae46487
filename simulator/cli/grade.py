"""`grade RUN`: more judges for a finished run, and its reports anew. The grading is in api/regrade.py."""

import shlex
from typing import Any

from simulator.api.destinations import check_destinations
from simulator.api.regrade import grade_run
from simulator.cli.options import RUN, option, takes
from simulator.cli.publish import publish
from simulator.core.settings import load_settings
from simulator.core.types import PASSED


@takes(
    "judges", "outputs", "judging", "causes", "retest", "panel", "guidelines", "contacts", "ng_words",
    "rules", "tokenizer", "target", "max_major", "confidence", "min_graded", "offline", "judge_model",
    "embed_model", "max_tokens", "cache", "budget", "prices", "jpy_per_usd", "calls",
    "timeout", "to", "sheet", "worksheet", "runs", "json_output", "verbose", "quiet",
)  # fmt: skip
def command(
    flags: dict[str, Any],
    run: str = RUN,
    again: bool = option("--again", "Also grade what a judge has graded before, and replace its grades."),
) -> int:
    """Grade a finished run with more judges, without any new conversation.

    python run.py grade latest --judges claims,facts
    """
    today = load_settings(flags)
    check_destinations(today)
    graded = grade_run(run, flags, again=again)
    settings = graded.settings
    judges = ",".join(name for name in graded.judges if name != PASSED)
    given = str(settings.added.get("outputs") or "")
    outputs = f" --outputs {shlex.quote(given)}" if given else ""
    resume = f"grade {{run}}{f' --judges {judges}' if judges else ''}{outputs}"
    return publish(graded.path, settings, graded.stopped, resume)
