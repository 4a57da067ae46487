"""`review RUN`: reads what people wrote about a run, and holds the judge against it.

    sheet, workbook or file of grades   -> verdicts, one for each turn with that answer
    verdicts                            -> the run file; those that are there already count as known
    all verdicts of the run             -> shares, agreement, the corrected score, and a new page

The first is done by `addons/review/sources.py`, the last by `stats/review.py`.

What cannot be read is named with its place and skipped. Only where nothing fits the run is it refused, for
then it is most likely the sheet of another one.
"""

import contextlib
import sys
from pathlib import Path
from typing import Any

from simulator.addons.review.report import ReadCounts, ReviewOutcome, review_report
from simulator.addons.review.sources import ReviewTarget, Taken, as_lines, taken_from
from simulator.cli.options import RUN, option, takes
from simulator.cli.publish import page_html, report_context, report_language
from simulator.cli.show import show_report, write_atomically
from simulator.cli.terminal import ExitCode, say
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, as_called, ngettext, safe_text, sentences
from simulator.core.settings import Settings, load_settings, stored_settings
from simulator.core.types import Results
from simulator.stats import review
from simulator.stats.review import blind_agreement, review_findings
from simulator.stats.summary import figures_of
from simulator.storage.run_file import RunFile, find_run, read_run

# Sheet and worksheet: of the command line, and of all settings.
SheetOptions = tuple[tuple[str | None, str | None], tuple[str | None, str | None]]


@takes("sheet", "worksheet", "runs", "json_output")
def command(
    flags: dict[str, Any],
    run: str = RUN,
    source: str | None = option(
        "--from WHERE",
        "What the team wrote: `sheet` (that of the run, or --sheet), sheet:KEY_OR_URL, or the "
        "workbook of --to xlsx. Or a file of blind grades (JSONL, CSV, Excel, also .gz) with the "
        "columns conversation, turn, reviewer, grade (1-5) and comment, as --export writes it.",
    ),
    export: str | None = option(
        "--export FILE", "Write all blind grades to FILE, as labels for `calibrate`."
    ),
) -> int:
    """Read the team's reviews, compare the judge with people's blind grades, and correct the score.

    Reviews of red turns show how often a mark is right, what to fix first, and who still has something to
    do. Blind grades, given without seeing any score, show how far people and judge agree. From 50 of them
    on, the score is corrected to what people would have given, and a target applies to the corrected
    score. Everything is stored in the run; reading it twice adds nothing.
    """
    today = load_settings(flags)
    path = find_run(run, today.runs)
    sheet = (flags.get("sheet"), flags.get("worksheet")), (today.sheet, today.worksheet)
    read = _read(path, source, sheet) if source else None
    results = read_run(path)
    outcome = _outcome(path, results, stored_settings(results.run.settings), read)
    show_report(review_report(outcome), _as_json(outcome, path), as_json=today.json_output)
    if export:
        _export(results, outcome, Path(export))
    return ExitCode.DONE


def _read(path: Path, source: str, sheet: SheetOptions) -> ReadCounts:
    """Stores what fits the run, and names what does not. Raises InputError where nothing fits."""
    results = read_run(path)
    summary = figures_of(results, stored_settings(results.run.settings))
    target = ReviewTarget(results, summary, report_language(results), *sheet)
    taken = taken_from(source, target)
    is_of_run = bool(taken.verdicts or taken.empty)
    is_refused = not is_of_run and bool(taken.faults or taken.other_runs)
    for place, why in taken.notes:
        say(_("{place}: {why}.", place=_("{source}, {place}", source=source, place=place), why=why))
    for place, why in taken.faults:
        at = _("{source}, {place}", source=source, place=place) if place else source
        line = _("{place}: {why}.", place=at, why=why)
        say(line if is_refused else _("{place}: {why}; skipped.", place=at, why=why))
    if is_refused:
        raise InputError(_refused(source, taken, results.run.id))
    with contextlib.closing(RunFile.reopen(path)) as file:
        new = file.save_verdicts(taken.verdicts)
    # `new` are those that the run file had not: reading the same sheet twice adds nothing.
    kinds = [verdict.source for verdict in taken.verdicts]
    return ReadCounts(
        source, new, len(kinds) - new, taken.empty, len(taken.faults), taken.other_runs,
        review=kinds.count("review"), blind=kinds.count("blind"), answers=taken.answers,
    )  # fmt: skip


def _refused(source: str, taken: Taken, run: str) -> Message:
    if not taken.faults:
        return _(
            "{source}: none of its {n} rows is about {run}. Was another run written there?",
            source=source,
            n=taken.other_runs,
            run=run,
        )
    refused = ngettext(
        "{source}: {n} row is invalid, so nothing was stored.",
        "{source}: {n} rows are invalid, so nothing was stored.",
        n=len(taken.faults),
        source=source,
    )
    return sentences(refused, _("Is it a file of another run?"))


def _outcome(path: Path, results: Results, settings: Settings, read: ReadCounts | None) -> ReviewOutcome:
    """The figures of the review; the page of the run is written again, with them on it."""
    context = report_context(path, results, settings)
    summary, page = context.summary, Path(context.page)
    write_atomically(page, page_html(context))
    found = review_findings(results, summary)
    blind = blind_agreement(results, summary)
    return ReviewOutcome(summary, context.gate, blind, read, context.language, page, found)


def _as_json(outcome: ReviewOutcome, path: Path) -> dict[str, Any]:
    summary, read = outcome.summary, outcome.read
    return {
        "run": summary.run,
        "store": str(path),
        "read": read and {key: value for key, value in read._asdict().items() if key != "name"},
        "review": review.findings_json(outcome.findings),
        "agreement": review.agreement_json(outcome.review),
        "score": None if summary.score is None else round(summary.score, 4),
        "corrected": summary.corrected and summary.corrected.as_json(),
        "labels": summary.labels,
        "labels_missing": summary.shortage.more if summary.shortage else 0,
        "target": outcome.gate.asked,
        "passed": outcome.gate.passed,
        "reasons": list(outcome.gate.reasons),
    }


def _export(results: Results, outcome: ReviewOutcome, path: Path) -> None:
    lines, run = as_lines(results), outcome.summary.run
    if not lines:
        msg = _("nobody has graded a turn of {run} blind; name a file of grades with --from.", run=run)
        raise InputError(msg)
    write_atomically(path, lines)
    saved = ngettext(
        "Written to {path} ({n} turn). To calibrate a judge with it:",
        "Written to {path} ({n} turns). To calibrate a judge with it:",
        path=path, n=lines.count("\n"),
    )  # fmt: skip
    say(saved)
    command = as_called(f"python run.py calibrate {path} --judge {outcome.summary.primary} --label human")
    sys.stderr.write(safe_text(f"  {command}\n"))
