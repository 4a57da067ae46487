"""`review RUN`: reads what people wrote about a run, and holds the judge against it.

It is read and worked out by `api/verdicts.py`.
"""

import sys
from pathlib import Path
from typing import Any

from simulator.api.verdicts import reviewed
from simulator.cli.options import RUN, option, takes
from simulator.cli.show import show_report
from simulator.cli.terminal import ExitCode, say
from simulator.core.errors import InputError
from simulator.core.messages import _, as_called, ngettext, safe_text
from simulator.core.settings import load_settings
from simulator.core.writing import write_atomically
from simulator.report.review import ReviewOutcome, review_report
from simulator.results.review_files import as_lines


@takes("sheet", "worksheet", "tests", "runs", "json_output")
def command(
    flags: dict[str, Any],
    run: str = RUN,
    source: str | None = option(
        "--from WHERE",
        "What the team wrote: `sheet` (that of the run, or --sheet), sheet:KEY_OR_URL, or the "
        "workbook of --to xlsx.",
    ),
    export: str | None = option(
        "--export FILE", "Write all blind grades to FILE, as labels for `calibrate`."
    ),
) -> int:
    """Read the team's reviews, and compare the judge with people's blind grades.

    Reviews of the marked answers show how often a mark is right, what to fix first, and who still has
    something to do. Blind grades, given without seeing any score, show how far people and judge agree.
    Questions that the team made a test are written to --tests, masked. Everything is
    stored in the run; reading it twice adds nothing.
    """
    today = load_settings(flags)
    outcome = reviewed(run, source, today, flags)
    show_report(review_report(outcome), outcome.as_json(), as_json=today.json_output)
    if export:
        _export(outcome, Path(export))
    return ExitCode.DONE


def _export(outcome: ReviewOutcome, path: Path) -> None:
    lines, run = as_lines(outcome.results), outcome.summary.run
    if not lines:
        msg = _("no answer of {run} has a blind grade; name a file of grades with --from.", run=run)
        raise InputError(msg)
    write_atomically(path, lines)
    saved = ngettext(
        "Written to {path} ({n} answer). To calibrate a judge with it:",
        "Written to {path} ({n} answers). To calibrate a judge with it:",
        path=path, n=lines.count("\n"),
    )  # fmt: skip
    say(saved)
    command = as_called(
        f"python run.py calibrate {path} --judge {outcome.summary.scores.primary} --label human"
    )
    sys.stderr.write(safe_text(f"  {command}\n"))
