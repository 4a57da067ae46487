"""After a run: report files beside the run file, a summary on the terminal, the exit code of the gate.

In this order, so that what matters most is there if the rest fails: report.html, the summary (or the object
of --json), then what --to names. Everything is made of the run file alone, which
is why `report RUN` can do it again at any time. The exit code, the first that applies:

    3   the run stopped early
    2   the deciding judge had no evidence, so that the target means nothing
    3   too much could not be graded
    1   the target was missed, or whether it was is too close to call
    3   the bot never answered
    0   the target was reached, or there is none
"""

import contextlib
import shlex
import sys
from itertools import chain
from pathlib import Path

from simulator import plugins
from simulator.api.destinations import check_destinations, renew_reports, write_reports
from simulator.api.outputs import RunOutputs
from simulator.api.run import FinishedRun
from simulator.cli.terminal import ExitCode, print_json, say, say_stopped
from simulator.core.errors import RehearsalError, Unforeseen
from simulator.core.messages import Message, _, sentences
from simulator.core.secrets import without_secrets
from simulator.core.settings import Settings
from simulator.core.writing import REPORT_AGAIN
from simulator.report.painters.console import print_report
from simulator.results.gate import Gate


def publish_run(finished: FinishedRun) -> int:
    """Writes the reports of a run that is over, and returns the exit code. A shard has no gate of its own."""
    settings = finished.settings
    if (shard := settings.added.get("shard")) and settings.target is not None:
        say(_("Shard {shard}: the target is for the merged run.", shard=shard))
        settings = settings.model_copy(update={"target": None, "confidence": None})
    try:
        return publish(finished.path, settings, finished.stopped)
    except RehearsalError:
        raise
    except Exception as error:
        raise Unforeseen(finished.path) from error


def publish(
    path: Path,
    settings: Settings,
    stopped: Message | str | None = None,
    resume: str = "--resume {run}",
) -> int:
    """Writes all reports of a run, and returns the exit code.

    `stopped` says why it ended early, None where it did not; `resume` are the words that finish it. Of a run
    that stopped, the reports of what there is are written if that is possible, and the exit code is 3
    whatever the gate would say. Raises RunFileError and others where the reports of a run that did not stop
    fail.
    """
    if stopped is None:
        try:
            return _publish(path, settings)
        except KeyboardInterrupt:
            raise RehearsalError(sentences(_("interrupted."), REPORT_AGAIN)) from None
    # That the run stopped matters more than a full disk, or a sheet that cannot be reached.
    with contextlib.suppress(RehearsalError, KeyboardInterrupt):
        _publish(path, settings)
    say_stopped(path, stopped, resume)
    return ExitCode.INCOMPLETE


def _publish(path: Path, settings: Settings) -> int:
    """Writes report files, summary and JSON; returns the exit code."""
    outputs = RunOutputs(path, settings)
    context, shown = outputs.context, outputs.json_object
    results, summary = context.results, context.summary
    # The bot was asked, and gave no answer at all.
    is_silent = 0 < summary.turns == sum(summary.bot_failures.values())
    if is_silent:
        adapter = str(results.run.settings.get("adapter", "demo"))
        given = (("--set", f"{name}={value}") for name, value in without_secrets(settings.set).items())
        words = shlex.join([adapter, *chain.from_iterable(given)])
        say(_("Try it alone: python run.py doctor --adapter {words}", words=words))
    outputs.write_pages()
    printed = plugins.printed(results, settings)
    print_report(outputs.report, as_json=settings.json_output or printed is not None, view=settings.view)
    if settings.json_output:
        print_json(shown)
    elif printed:
        for line in printed.remarks:
            say(line)
        sys.stdout.write(f"{printed.text}\n")
    if settings.resume:
        renew_reports(outputs)
    if settings.to:
        write_reports(outputs)
    # Stand-ins that had neither references nor passages to count by are no failure, unless a target was set.
    is_ungraded = summary.offline or context.ungraded is not None
    is_uncounted = is_ungraded and context.gate.asked is None and summary.scores.score is None
    return (ExitCode.DONE if is_uncounted else _exit_code(context.gate)) or (
        ExitCode.INCOMPLETE if is_silent else ExitCode.DONE
    )


def _exit_code(gate: Gate) -> int:
    if any(finding.problem == "evidence" for finding in gate.findings):
        return ExitCode.TO_FIX
    if gate.incomplete:
        return ExitCode.INCOMPLETE
    return ExitCode.MISSED if gate.passed is False else ExitCode.DONE


# What checks where reports go before a run, and what writes them after it.
REPORTS = check_destinations, publish_run
