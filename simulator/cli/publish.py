"""After a run: report files beside the run file, a summary on the terminal, the exit code of the gate.

In this order, so that what matters most is there if the rest fails: report.html, the summary (or the object
of --json), then what --to names, then the browser of --open. Everything is made of the run file alone, which
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
import webbrowser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from simulator import plugins
from simulator.cli.destinations import ReportOutput, write_reports
from simulator.cli.show import write_atomically
from simulator.cli.terminal import ExitCode, only_the_verdict, print_json, say, say_stopped
from simulator.core.document import Report, Section
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _, sentences
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import LEXICAL, Language, Results
from simulator.data.files import REPORT_AGAIN
from simulator.diagnosis.recommendations import MOST_FIXES, Improvements, improvements_of, improvements_of_run
from simulator.report.context import ReportContext
from simulator.report.judges import judge_trusts
from simulator.report.painters.console import print_report
from simulator.report.run import run_report
from simulator.report.run_page import run_page
from simulator.report.trust import JudgeTrusts
from simulator.report.verdict import verdict
from simulator.runner.masking import masks_of
from simulator.stats.answerability import answerability, handovers, unjudged_reason
from simulator.stats.figures import Summary
from simulator.stats.findings import Gate
from simulator.stats.gate import as_json, gate_of
from simulator.stats.summary import figures_of
from simulator.storage.results import english_share, without_superseded
from simulator.storage.run_file import read_run, replay_of

# A page stays below this, in bytes, so that it opens within a second or two and fits into a mail; a larger
# one is drawn again, with fewer conversations.
LARGEST = 8_000_000
ATTEMPTS = 4


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
    with only_the_verdict(settings.quiet):
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
    context = report_context(path, without_superseded(read_run(path)), settings)
    results, summary, shown = context.results, context.summary, json_object(context, path)
    # The bot was asked, and gave no answer at all.
    is_silent = 0 < summary.turns == sum(summary.bot_failures.values())
    if is_silent:
        errors = (turn.answer.error for conversation in results.conversations for turn in conversation.turns)
        first = next((error.message for error in errors if error), _("empty answers"))
        bot = shlex.quote(str(results.run.settings.get("adapter", "demo")))
        say(_("The bot never answered: {reason}", reason=first))
        say(_("Try it alone, with the same --set: python run.py doctor --adapter {bot}", bot=bot))
    report = run_report(context)
    write_atomically(Path(context.page), page_html(context, report))
    printed = plugins.printed(results, settings)
    print_report(report, as_json=settings.json_output or printed is not None, view=settings.view)
    if settings.json_output:
        print_json(shown)
    elif printed:
        for line in printed.remarks:
            say(line)
        sys.stdout.write(f"{printed.text}\n")
    if settings.to:
        write_reports(ReportOutput(context, report, path.parent, settings, shown))
    if settings.open_page and not webbrowser.open(Path(context.page).absolute().as_uri()):
        say(_("No browser was found; open {path} yourself.", path=context.page))
    # Stand-ins that had neither references nor passages to count by are no failure, unless a target was set.
    is_uncounted = summary.offline and context.gate.asked is None and summary.score is None
    return (ExitCode.DONE if is_uncounted else _exit_code(context.gate)) or (
        ExitCode.INCOMPLETE if is_silent else ExitCode.DONE
    )


def report_context(path: Path, results: Results, settings: Settings) -> ReportContext:
    """All that the reports of a run are made from; `path` is the run file, beside which the page stands.

    `settings` may be today's: `report --target 90` decides anew on the figures of an old run.
    """
    summary, language = figures_of(results, settings), report_language(results)
    # Stand-ins that counted words are not judged.
    is_plain = not (
        results.notes or stored_settings(results.run.settings).redacts or results.run.settings.get("replay")
    )
    is_judged = not is_plain or results.run.models.get("judge") != LEXICAL
    trusts = judge_trusts(results, summary, language) if is_judged else JudgeTrusts()
    lines = summary.turns - summary.finished
    added = plugins.reporting(results, settings, is_judged=is_judged, lines=lines)
    return ReportContext(
        results=results,
        summary=summary,
        gate=gate_of(results, summary, settings),
        language=language,
        improvements=improvements_for(results, summary, settings),
        trusts=trusts,
        page=str(path.with_name("report.html")),
        check=settings.check_format,
        added=tuple(added_sections(results, summary, settings, added)),
        remarks=tuple(line for plugin in added for look in plugin.remarks for line in look(results)),
    )


def added_sections(
    results: Results, summary: Summary, settings: Settings, added: Iterable[plugins.Plugin]
) -> Iterator[Section]:
    """The sections that plug-ins have of this run."""
    builders = (build for plugin in added for build in plugin.sections)
    yield from filter(None, (build(results, summary, settings) for build in builders))


def page_html(context: ReportContext, report: Report | None = None) -> bytes:
    """The page of a run with as many conversations as fit; a `report` that was made is drawn as it is."""
    share, shown = 1.0, report or run_report(context)
    for _attempt in range(ATTEMPTS):
        page = run_page(context, shown, share)
        if len(page) <= LARGEST:
            break
        share *= 0.9 * LARGEST / len(page)
    return page


def json_object(context: ReportContext, path: Path) -> dict[str, Any]:
    """The object of --json: the summary, how far its judges agree with people, and parts of the report.

    Keys of sections stand beside those of the summary. docs/outputs.md documents them; programs rely on them.
    """
    results, shown = context.results, as_json(context.summary, context.gate, str(path))
    shown["verdict"] = str(verdict(context.gate, context.summary.score, trial=context.summary.trial))
    for name, judge in shown["judges"].items():
        judge_trust = context.trusts.judges.get(name)
        agreement = judge_trust and judge_trust.calibration
        judge["calibration"] = context.text(agreement) if agreement else None
        judge["warnings"] = list(map(context.text, judge_trust.warnings)) if judge_trust else []
    masks = stored_settings(results.run.settings).redacts
    shown["redacted"] = masks_of(results) if masks else None
    shown["drift"] = results.notes.get("drift")
    shown["replay_of"] = replay_of(results.run)
    shown |= {section.key: section.figures for section in (*context.sections, *context.folded)}
    shown["simulator"]["likeness"] = shown.pop("likeness", None)
    for name, figures in shown.get("classification", {}).items():
        shown["judges"][name] |= figures
    for name, places in {"answerability": answerability(results), "handover": handovers(results)}.items():
        # A key of its own, and only where something is missing.
        why = unjudged_reason(places.unjudged, results)
        shown[name] = places.as_json() | ({"why": context.text(why)} if why else {})
    return shown


def improvements_for(results: Results, summary: Summary, settings: Settings) -> Improvements | None:
    """What to fix, None where no turn is red; without the bot's articles where they can no longer be read.

    The folder of --knowledge may be gone by the time of a report: causes then rest on what was retrieved
    alone.
    """
    if not summary.reddest:
        return None
    try:
        found = improvements_of_run(results, summary, settings, MOST_FIXES)
    except InputError as error:
        say(_("{error} Causes are given without it.", error=error))
        found = improvements_of(results, summary, most=MOST_FIXES)
    return found


def _exit_code(gate: Gate) -> int:
    if any(finding.problem == "evidence" for finding in gate.findings):
        return ExitCode.TO_FIX
    if gate.incomplete:
        return ExitCode.INCOMPLETE
    return ExitCode.MISSED if gate.passed is False else ExitCode.DONE


def report_language(results: Results) -> Language:
    """The language most cases are in; Japanese on a tie."""
    return "en" if english_share(results) > 0.5 else "ja"
