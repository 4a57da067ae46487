"""After a run: report files beside the run file, a summary on the terminal, an exit code."""

import contextlib
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.addons.load.figures import as_json as load_json
from simulator.addons.load.figures import load_of
from simulator.cli.sinks import SinkContext, paint, write_atomically
from simulator.core.errors import InputError, RehearsalError
from simulator.core.settings import Settings, from_run
from simulator.core.types import Language, RedRules, Results
from simulator.grading.panel import contest, is_contest, not_graded, printed
from simulator.report.context import ReportContext
from simulator.report.judges import JudgeTrusts, standings
from simulator.report.run import sections
from simulator.runner.masking import masks_of
from simulator.stats.answerability import answerability, handovers
from simulator.stats.figures import Summary
from simulator.stats.gate import Gate
from simulator.stats.outcome import figures_of, gate_of
from simulator.stats.summary_json import as_json
from simulator.storage.results import counted, english_share
from simulator.storage.run_file import read_run
from simulator.storage.runs import replay_of

if TYPE_CHECKING:
    from simulator.diagnosis.recommendations import Improvements
    from simulator.report.html_comparison import PageParts
    from simulator.stats.comparison import Changes

DONE, MISSED, TO_MEND, INCOMPLETE = 0, 1, 2, 3


def publish(path: Path, settings: Settings, stopped: str | None = None, go_on: str = "--resume {run}") -> int:
    """Paints everything that was asked for, and gives the exit code.

    `stopped` says why a run broke off, and `go_on` by which options of the program it is finished.
    """
    if stopped is None:
        return _show(path, settings)
    with contextlib.suppress(
        RehearsalError
    ):  # a full disk, a sheet that is away: that it stopped says it all
        _show(path, settings)
    say_stopped(path, stopped, go_on)
    return INCOMPLETE


def say_stopped(path: Path, why: str, go_on: str = "--resume {run}") -> None:
    """One line on stderr: why a run broke off, and how to finish it."""
    from simulator.core.translations import plain

    folder = path.parent
    run = folder.name if folder == Path(Settings().runs, folder.name) else str(folder)
    because = " ".join(plain(why).split())
    stop = "" if because.endswith((".", "?")) else "."
    how = go_on.format(run=shlex.quote(run))
    sys.stderr.write(f"error: {because}{stop} Finish it with: python run.py {how}\n")


def _show(path: Path, settings: Settings) -> int:
    """Report files, summary and JSON; gives the exit code."""
    results = counted(read_run(path))
    summary = figures_of(results, settings)
    gate = gate_of(results, summary, settings)
    language = report_language(results)
    known = standings(results, summary, language)
    shown = _with_standings(as_json(summary, gate, str(path)), known, results)
    if load := load_of(results, summary):
        shown["load"] = load_json(load)
    mends = improvements_for(results, summary, settings, language)
    from simulator.report.html import render  # jinja2: only when there is something to paint

    if _is_silent(summary):
        say_silent(results)
    page = path.with_name("report.html")
    write_atomically(page, render(results, summary, gate, language, known, mends=mends))
    aside = settings.json_output or is_contest(results)
    _paint(results, summary, gate, known, page, mends, aside=aside)
    if settings.json_output:
        sys.stdout.write(json.dumps(shown, ensure_ascii=False) + "\n")
    elif is_contest(results):
        _print_contest(results)
    told = ReportContext(results, summary, gate, language, settings.check_format, mends=mends)
    _paint_all(SinkContext(told, path.parent, settings, shown))
    return _exit_code(gate) or (INCOMPLETE if _is_silent(summary) else DONE)


def _is_silent(summary: Summary) -> bool:
    """Whether the bot was asked, and gave no answer at all."""
    return 0 < summary.turns == sum(summary.bot_failures.values())


def say_silent(results: Results) -> None:
    """What kept a bot that never answered from it, and how to try it alone."""
    from simulator.core.translations import plain

    errors = (turn.answer.error for conversation in results.conversations for turn in conversation.turns)
    first = next((" ".join(plain(error.message).split()) for error in errors if error), "empty answers")
    bot = shlex.quote(str(results.run.settings.get("adapter", "demo")))
    sys.stderr.write(f"The bot never answered: {first}\n")
    sys.stderr.write(f"Try it alone, with the same --set: python run.py doctor --adapter {bot}\n")


def _print_contest(results: Results) -> None:
    """The contest's result alone on stdout; which rows are not in it on stderr."""
    from simulator.core.translations import plain

    found = contest(results)
    for line in not_graded(found):
        sys.stderr.write(f"{plain(line)}\n")
    sys.stdout.write(f"{printed(found)}\n")


def _paint_all(painting: SinkContext) -> None:
    """Every report that was asked for; one that fails keeps none of the others from being made."""
    failures: list[RehearsalError] = []
    for name in painting.settings.to:
        try:
            sys.stderr.write(f"{paint(name, painting)}\n")
        except RehearsalError as error:
            failures.append(error)
    if failures:
        raise failures[0]


def publish_pair(before: Path, after: Path) -> int:
    """One page of two runs, beside the later one; says where it is."""
    earlier, later = held_against(before, after)
    sys.stdout.write(f"{paint_pair(earlier, later, after)}\n")
    return DONE


def paint_pair(
    earlier: "PageParts", later: "PageParts", path: Path, changes: "Changes | None" = None
) -> Path:
    """Writes the page of two runs beside the run file of the later one."""
    from simulator.report.html import side_by_side

    language = report_language(later.results)
    known = standings(later.results, later.summary, language)
    page = path.with_name("side-by-side.html")
    mends = improvements_for(later.results, later.summary, from_run(later.results.run.settings), language)
    write_atomically(page, side_by_side(earlier, later, language, known, changes, mends))
    return page


def held_against(before: Path, after: Path) -> tuple["PageParts", "PageParts"]:
    """Two runs with their figures, what is red by the rules of the later one."""
    later = painted(after)
    return painted(before, later.summary.rules), later


def painted(path: Path, rules: RedRules | None = None) -> "PageParts":
    """A finished run with its figures, by its own settings or by other rules for red."""
    from simulator.report.html_comparison import PageParts

    results = counted(read_run(path))
    settings = from_run(results.run.settings, **({"red": rules} if rules else {}))
    summary = figures_of(results, settings)
    return PageParts(results, summary, gate_of(results, summary, settings))


def _with_standings(shown: dict[str, Any], known: JudgeTrusts, results: Results) -> dict[str, Any]:
    """Beside every mean how far its judge agrees with people, and the drift check of the run."""
    for name, judge in shown["judges"].items():
        standing = known.judges.get(name)
        judge["calibration"] = standing.calibration if standing else None
        judge["warnings"] = list(standing.warnings) if standing else []
    shown["redacted"] = masks_of(results)
    shown["drift"] = results.notes.get("drift")
    shown["replay_of"] = replay_of(results.run)
    shown |= {each.key: each.figures for each in sections(results, report_language(results))}
    for name, figures in shown.get("classification", {}).items():
        shown["judges"][name] |= figures
    shown["answerability"] = answerability(results).as_json()
    shown["handover"] = handovers(results).as_json()
    return shown


def improvements_for(
    results: Results, summary: Summary, settings: Settings, language: Language
) -> "Improvements":
    """What to mend; without the bot's articles where they can no longer be read, for a report needs none."""
    from simulator.diagnosis.recommendations import improvements_of, improvements_of_run

    try:
        return improvements_of_run(results, summary, settings, language)
    except InputError as error:
        sys.stderr.write(f"{error} Causes are told without it.\n")
        return improvements_of(results, summary, language)


def _paint(  # noqa: PLR0917 - all that the summary on a terminal says
    results: Results,
    summary: Summary,
    gate: Gate,
    known: JudgeTrusts,
    page: Path,
    mends: "Improvements",
    *,
    aside: bool,
) -> None:
    from rich.console import Console

    from simulator.report.console import paint

    language = report_language(results)
    paint(summary, gate, results, language, Console(stderr=aside), page, known, mends)


def _exit_code(gate: Gate) -> int:
    if any(finding.problem == "evidence" for finding in gate.findings):
        return TO_MEND
    if gate.incomplete:
        return INCOMPLETE
    return MISSED if gate.passed is False else DONE


def report_language(results: Results) -> Language:
    """The language most cases are in; Japanese on a tie."""
    return "en" if english_share(results) > 0.5 else "ja"
