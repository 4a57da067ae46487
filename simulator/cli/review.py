"""`review RUN`: what people say of a run, beside what the judge said, and what it leaves to do."""

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.options import Run, takes
from simulator.core.settings import Settings, from_run, load

if TYPE_CHECKING:
    from simulator.addons.review.report import Read, ReviewReport
    from simulator.addons.review.sources import Fault, ReviewTarget, Taken
    from simulator.core.types import Results

    Asked = tuple[tuple[str | None, str | None], tuple[str | None, str | None]]

# fmt: off
From = Annotated[str | None, typer.Option(
    "--from", metavar="WHERE", show_default=False,
    help="What the team wrote: `sheet` (where the run was pushed to, or --sheet), sheet:KEY_OR_URL, or the "
    "workbook of --to xlsx. Or a file of blind grades (JSONL, CSV, Excel, also .gz): columns conversation, "
    "turn, reviewer, grade (1-5) and comment, or what --export writes.",
)]
Strict = Annotated[bool, typer.Option(
    "--strict", help="Store nothing if a row cannot be used. Otherwise such rows are named and skipped.",
)]
Export = Annotated[str | None, typer.Option(
    "--export", metavar="FILE", show_default=False, help="Write all blind grades as labels for `calibrate`.",
)]
Markdown = Annotated[str | None, typer.Option(
    "--markdown", metavar="FILE", show_default=False,
    help="Write the review as Markdown, for the morning meeting.",
)]
# fmt: on
DONE = 0


@takes("sheet", "worksheet", "runs", "json_output")
def command(
    flags: dict[str, Any],
    run: Run = "latest",
    source: From = None,
    *,
    strict: Strict = False,
    export: Export = None,
    markdown: Markdown = None,
) -> int:
    """Take in what the team wrote, compare the judge with people's blind grades, and correct the score.

    From the review of red turns: how often a mark is right, what to mend first, and who has something left
    to do. From grades given without seeing any score: how far people and judge agree; from 50 of them on,
    the score is shown as people would have given it, and a target is held against that. All is stored in
    the run; reading it twice adds nothing.
    """
    from simulator.storage.run_file import find_run, read_run

    given = load(flags)
    path = find_run(run, Path(given.runs))
    asked = (flags.get("sheet"), flags.get("worksheet")), (given.sheet, given.worksheet)
    read = _read(path, source, asked, strict=strict) if source else None
    results = read_run(path)
    shown = _shown(path, results, from_run(results.run.settings), read)
    _print(shown, path, as_json=given.json_output)
    if export:
        _export(results, shown, Path(export))
    if markdown:
        _excerpt(shown, Path(markdown))
    return DONE


def _read(path: Path, source: str, asked: "Asked", *, strict: bool) -> "Read":
    """Stores what fits the run, and names what does not."""
    from simulator.addons.review.report import Read
    from simulator.addons.review.sources import source_of, take
    from simulator.core.errors import InputError
    from simulator.storage.run_file import RunFile, read_run

    results = read_run(path)
    taken = take(source_of(source, _wanted(results, asked))(), results)
    ours = bool(taken.verdicts or taken.empty)
    refused = (bool(taken.faults) and (strict or not ours)) or (bool(taken.other_runs) and not ours)
    for note in taken.notes:
        _say(source, note, "")
    for fault in taken.faults:
        _say(source, fault, "" if refused else "; skipped")
    if refused:
        raise InputError(_refused(source, taken, results.run.id, strict=strict))
    with contextlib.closing(RunFile.reopen(path)) as file:
        new = file.reviewed(taken.verdicts)
    kinds = [verdict.source for verdict in taken.verdicts]
    return Read(
        source, new, len(kinds) - new, taken.empty, len(taken.faults), taken.other_runs,
        review=kinds.count("review"), blind=kinds.count("blind"),
    )  # fmt: skip


def _wanted(results: "Results", asked: "Asked") -> "ReviewTarget":
    """What a source has to know of the run."""
    from simulator.addons.review.sources import ReviewTarget
    from simulator.cli.publish import report_language
    from simulator.stats.outcome import figures_of

    summary = figures_of(results, from_run(results.run.settings))
    return ReviewTarget(results, summary, report_language(results), *asked)


def _refused(source: str, taken: "Taken", run: str, *, strict: bool) -> str:
    if not taken.faults:
        return f"{source}: none of its {taken.other_runs} rows is about {run}. Was another run pushed there?"
    many = len(taken.faults)
    rows = "1 row cannot be used" if many == 1 else f"{many} rows cannot be used"
    how = "Mend it, or leave out --strict." if strict and taken.verdicts else "Is it a file of another run?"
    return f"{source}: {rows}, so nothing was stored. {how}"


def _say(source: str, fault: "Fault", end: str) -> None:
    from simulator.core.translations import plain

    where = f"{source}, {fault.place}" if fault.place else source
    sys.stderr.write(f"{' '.join(plain(f'{where}: {fault.why}').split())}{end}.\n")


def _shown(path: Path, results: "Results", settings: Settings, read: "Read | None") -> "ReviewReport":
    """The figures, and the page beside the run file painted anew with them."""
    from simulator.addons.review.report import ReviewReport
    from simulator.cli.publish import improvements_for, report_language
    from simulator.cli.sinks import write_atomically
    from simulator.report.html import render
    from simulator.report.judges import standings
    from simulator.stats.outcome import figures_of, gate_of
    from simulator.stats.review import agreement, findings

    summary = figures_of(results, settings)
    gate, language = gate_of(results, summary, settings), report_language(results)
    page = path.with_name("report.html")
    known = standings(results, summary, language)
    mends = improvements_for(results, summary, settings, language)
    write_atomically(page, render(results, summary, gate, language, known, mends=mends))
    found = findings(results, summary)
    return ReviewReport(summary, gate, agreement(results, summary), read, language, page, found)


def _print(shown: "ReviewReport", path: Path, *, as_json: bool) -> None:
    from rich.console import Console

    from simulator.addons.review.report import paint

    paint(shown, Console(stderr=as_json))
    if as_json:
        sys.stdout.write(json.dumps(_as_json(shown, path), ensure_ascii=False) + "\n")


def _as_json(shown: "ReviewReport", path: Path) -> dict[str, Any]:
    from simulator.stats import review
    from simulator.stats import review as reviewed

    summary, read = shown.summary, shown.read
    return {
        "run": summary.run,
        "store": str(path),
        "read": read and {key: value for key, value in read._asdict().items() if key != "name"},
        "review": reviewed.reviewed_as_json(shown.findings),
        "agreement": review.as_json(shown.review),
        "score": None if summary.score is None else round(summary.score, 4),
        "corrected": summary.corrected and summary.corrected.as_json(),
        "labels": summary.labels,
        "labels_missing": summary.shortage.more if summary.shortage else 0,
        "target": shown.gate.asked,
        "passed": shown.gate.passed,
        "reasons": list(shown.gate.reasons),
    }


def _export(results: "Results", shown: "ReviewReport", path: Path) -> None:
    from simulator.addons.review.report import as_lines, say_exported
    from simulator.cli.sinks import write_atomically
    from simulator.core.errors import InputError

    lines = as_lines(results)
    if not lines:
        msg = f"nobody has graded a turn of {shown.summary.run} blind; give a file of grades with --from."
        raise InputError(msg)
    write_atomically(path, lines)
    sys.stderr.write(say_exported(path, lines.count("\n"), shown))


def _excerpt(shown: "ReviewReport", path: Path) -> None:
    from simulator.addons.review.figures import markdown
    from simulator.addons.review.report import say_excerpt
    from simulator.cli.sinks import write_atomically
    from simulator.core.errors import InputError

    run = shown.summary.run
    if shown.findings is None and shown.review is None:
        msg = f"nobody has reviewed a turn of {run}; read the sheet or the workbook with --from."
        raise InputError(msg)
    write_atomically(path, markdown(shown.findings, shown.review, run, shown.language))
    sys.stderr.write(say_excerpt(path, shown))
