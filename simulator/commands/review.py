"""`review RUN`: what people say of a run, beside what the judge said."""

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.commands.options import takes
from simulator.settings import Settings, from_run, load

if TYPE_CHECKING:
    from simulator.review.console import Read, Shown
    from simulator.review.taking import Fault, Taken
    from simulator.types import Results

# fmt: off
Run = Annotated[str, typer.Argument(
    metavar="RUN", help="A run: id, start of an id, latest, or path. [default: latest]", show_default=False,
)]
From = Annotated[str | None, typer.Option(
    "--from", metavar="FILE", show_default=False,
    help="Blind grades (JSONL, CSV, Excel, also .gz): columns conversation, turn, reviewer, grade (1-5) and "
    "comment, or what --export writes.",
)]
Strict = Annotated[bool, typer.Option(
    "--strict", help="Store nothing if a row cannot be used. Otherwise such rows are named and skipped.",
)]
Export = Annotated[str | None, typer.Option(
    "--export", metavar="FILE", show_default=False, help="Write all blind grades as labels for `calibrate`.",
)]
# fmt: on
DONE = 0


@takes("runs", "json_output")
def command(
    flags: dict[str, Any],
    run: Run = "latest",
    source: From = None,
    strict: Strict = False,
    export: Export = None,
) -> int:
    """Compare the judge with people's blind grades, and correct the score by them.

    Grades that people gave without seeing any score are stored in the run. From 50 of them on, the score
    is shown as people would have given it, and a target is held against that. Reading a file twice adds
    nothing.
    """
    from simulator.store import find_run, read_run

    given = load(flags)
    path = find_run(run, Path(given.runs))
    read = _read(path, source, strict=strict) if source else None
    results = read_run(path)
    shown = _shown(path, results, from_run(results.run.settings), read)
    _print(shown, path, as_json=given.json_output)
    if export:
        _export(results, shown, Path(export))
    return DONE


def _read(path: Path, source: str, *, strict: bool) -> "Read":
    """Stores what fits the run, and names what does not."""
    from simulator.errors import InputError
    from simulator.review.console import Read
    from simulator.review.sources import source_of
    from simulator.review.taking import take
    from simulator.store import RunFile

    with contextlib.closing(RunFile.reopen(path)) as file:
        taken = take(source_of(source)(), file.results())
        refused = bool(taken.faults) and (strict or not taken.verdicts)
        for fault in taken.faults:
            _say(source, fault, "" if refused else "; skipped")
        if refused:
            raise InputError(_refused(source, taken, strict=strict))
        new = file.reviewed(taken.verdicts)
    return Read(source, new, len(taken.verdicts) - new, taken.empty, len(taken.faults))


def _refused(source: str, taken: "Taken", *, strict: bool) -> str:
    many = len(taken.faults)
    rows = "1 row cannot be used" if many == 1 else f"{many} rows cannot be used"
    how = "Mend it, or leave out --strict." if strict and taken.verdicts else "Is it a file of another run?"
    return f"{source}: {rows}, so nothing was stored. {how}"


def _say(source: str, fault: "Fault", end: str) -> None:
    from simulator.reports.words import plain

    sys.stderr.write(f"{' '.join(plain(f'{source}, {fault.place}: {fault.why}').split())}{end}.\n")


def _shown(path: Path, results: "Results", settings: Settings, read: "Read | None") -> "Shown":
    """The figures, and the page beside the run file painted anew with them."""
    from simulator.analysis.gate import decide
    from simulator.analysis.review import agreement
    from simulator.analysis.summary import everyone_who_graded, summarise
    from simulator.commands.publish import report_language
    from simulator.commands.sinks import write_atomically
    from simulator.reports.html import render
    from simulator.reports.standing import standings
    from simulator.review.console import Shown

    judges = everyone_who_graded(results, settings.judges)
    summary = summarise(results, rules=settings.red, judges=judges, seed=settings.seed)
    gate, language = decide(summary, settings.target, settings.max_failed), report_language(results)
    page = path.with_name("report.html")
    write_atomically(page, render(results, summary, gate, language, standings(results, summary, language)))
    return Shown(summary, gate, agreement(results, summary), read, language, page)


def _print(shown: "Shown", path: Path, *, as_json: bool) -> None:
    from rich.console import Console

    from simulator.review.console import paint

    paint(shown, Console(stderr=as_json))
    if as_json:
        sys.stdout.write(json.dumps(_as_json(shown, path), ensure_ascii=False) + "\n")


def _as_json(shown: "Shown", path: Path) -> dict[str, Any]:
    from simulator.analysis import review

    summary, read = shown.summary, shown.read
    return {
        "run": summary.run,
        "store": str(path),
        "read": read and {key: value for key, value in read._asdict().items() if key != "name"},
        "agreement": review.as_json(shown.review),
        "score": None if summary.score is None else round(summary.score, 4),
        "corrected": summary.corrected and summary.corrected.as_json(),
        "labels": summary.labels,
        "labels_missing": summary.shortage.more if summary.shortage else 0,
        "target": shown.gate.target,
        "passed": shown.gate.passed,
        "reasons": list(shown.gate.reasons),
    }


def _export(results: "Results", shown: "Shown", path: Path) -> None:
    from simulator.commands.sinks import write_atomically
    from simulator.errors import InputError
    from simulator.review.console import say_exported
    from simulator.review.export import as_lines

    lines = as_lines(results)
    if not lines:
        msg = f"nobody has graded a turn of {shown.summary.run} blind; give a file of grades with --from."
        raise InputError(msg)
    write_atomically(path, lines)
    sys.stderr.write(say_exported(path, lines.count("\n"), shown))
