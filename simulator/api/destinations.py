"""--to: the reports besides report.html, which are files beside it, a sheet, or the user's function.

A destination takes a `ReportOutput`, writes, and returns where: a path or an address, with notes on further
lines. To add one, write such a function and name it in `DESTINATIONS`, or in a plug-in as a
`plugins.Destination`. Names are checked before a run starts (`check_destinations`): a missing key of Google's
should not show after an hour's work. Afterwards each is tried, and the first failure decides the exit code.
"""

import asyncio
import contextlib
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from simulator import plugins
from simulator.cases.cases import read_cases
from simulator.core.document import Report, Text
from simulator.core.errors import InputError, RehearsalError, RunFileError, UnknownName
from simulator.core.loading import describe_error, user_object
from simulator.core.messages import Message, _, localised, safe_text, say
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import Case, ReleaseDecision
from simulator.core.writing import shown_path, write_atomically
from simulator.report.context import ReportContext
from simulator.report.files import csv_bytes, json_lines, junit_xml
from simulator.report.painters.markdown import markdown
from simulator.report.people import decision_text
from simulator.report.worksheets import worksheets
from simulator.results.history import past_runs
from simulator.results.review import review_findings
from simulator.results.review_files import (
    DECIDED,
    TEAM,
    ReviewTarget,
    Taken,
    Written,
    document_of,
    replaced_lines,
    replaced_text,
)
from simulator.results.summary import figures_of
from simulator.sheets.excel import newest_first, read_edited, save
from simulator.sheets.google_api import account, target
from simulator.sheets.google_sheets import pull, push
from simulator.sheets.model import COLUMNS, PulledRow, Worksheet
from simulator.storage.results import report_language, run_of
from simulator.storage.run_file import RUN_FILE, add_note, read_run, run_ids
from simulator.storage.schema import snapshot
from simulator.storage.words import in_document, note_written, save_release_decision, save_verdicts
from simulator.testset.failures import save_tests

# Version of report.json: raised when a key changes its meaning or goes, not for a new one.
JSON_SCHEMA = 1
# The worksheets in which the team writes about a run.
_WRITTEN = ("review", *DECIDED)


@dataclass(frozen=True)
class ReportOutput:
    """What reports are made from: the run and its figures, its folder, the settings, the object of --json.

    `folder` is where files are written, which is that of the run.
    """

    context: ReportContext
    report: Report
    folder: Path
    settings: Settings
    json_object: dict[str, Any]


# Writes one report; returns where it is, and notes on further lines.
Destination = Callable[[ReportOutput], str]


def write_report(name: str, output: ReportOutput) -> str:
    """Writes one report; returns where it is, and notes on further lines."""
    if added := plugins.destination(name):
        return added.send(name, output.context, output.settings)
    if ":" in name:
        return _user_function(name, output)
    return DESTINATIONS[name](output)


def write_reports(output: ReportOutput) -> None:
    """Writes the reports of --to; one that fails does not stop the others."""
    failures: list[RehearsalError] = []
    for name in output.settings.to:
        try:
            sys.stderr.write(f"{write_report(name, output)}\n")
        except RehearsalError as error:
            failures.append(error)
    if failures:
        raise failures[0]


def check_destinations(settings: Settings) -> None:
    """Raises InputError for an unknown report, or a sheet without a name or credentials: before any cost."""
    if "sheets" in settings.to:
        _check_sheet(settings)
    for name in settings.to:
        if added := plugins.destination(name):
            added.check(name)
        elif ":" in name:
            _function(name)
        elif name not in DESTINATIONS:
            raise UnknownName(_("report"), name, DESTINATIONS, _("Your own function: --to post.py:send."))


def _sheets(output: ReportOutput) -> str:
    """Pushes the worksheets, and notes in the run where: `review --from sheet` and `purge` look there."""
    sheet = target(output.settings.sheet or "", output.settings.worksheet or "")
    document = document_of(sheet)
    pushed = push(_worksheets(output, document), sheet)
    for line in keep_words(Written.of(pushed.before, document), output.folder.parent, output.settings.tests):
        say(line)
    note_written(output.folder / RUN_FILE, document)
    where = json.dumps({"key": sheet.key, "worksheet": sheet.suffix}, ensure_ascii=False)
    with contextlib.suppress(RunFileError):  # the run is locked, and is pushed again when it is over
        add_note(output.folder / RUN_FILE, "sheet", where)
    return "\n".join([pushed.url, *(safe_text(localised(note)) for note in pushed.notes)])


def read_earlier_words(settings: Settings) -> None:
    """Stores what the team wrote about runs of the folder, before a new one is held that goes by it.

    It is read where the new run will be written, too. What cannot be read now is read, or said, then.
    """
    if "xlsx" in settings.to:
        for book in reversed(_unread_workbooks(settings.runs, run_ids(settings.runs))):
            _keep_words_of(book, settings.runs, settings.tests)
    if "sheets" in settings.to:
        with contextlib.suppress(RehearsalError):
            sheet = target(settings.sheet or "", settings.worksheet or "")
            written = Written.of(pull(sheet, _WRITTEN), document_of(sheet))
            keep_words(written, settings.runs, settings.tests)


def keep_words(written: Written, runs: Path, tests: Path) -> list[Message]:
    """Stores what the team wrote about runs of this folder, before their worksheets show another run.

    These are its decisions, its words about answers, and the answers that it made tests. Returns a line for
    each cell or row that cannot be read; all others are stored.
    """
    known, faults = set(run_ids(runs)), list[tuple[Text, Text]]()
    of_run: dict[str, list[PulledRow]] = {}
    for row in written.rows.get("review", ()):
        if (run := row.cells.get("run", "")) in known and any(map(row.cells.get, TEAM)):
            of_run.setdefault(run, []).append(row)
    for run, rows in of_run.items():
        with contextlib.suppress(RehearsalError):
            of_review = written._replace(rows={**written.rows, "review": rows, "blind": ()})
            faults += _keep_review(runs / run / RUN_FILE, of_review, tests)
    for run, decision in written.decisions.items():
        # A run that is somewhere else, or cannot be written, keeps its decision in the sheet's archive.
        if (path := runs / run / RUN_FILE).is_file():
            with contextlib.suppress(RunFileError):
                _save_decision(path, decision, written.document)
    named = ((_("{source}, {place}", source=written.document, place=place), why) for place, why in faults)
    return [_("{place}: {why}; skipped.", place=place, why=why) for place, why in named]


def save_words_of(path: Path, taken: Taken) -> int:
    """Stores verdicts and decision of a source; returns how many verdicts are new or changed.

    What they replace that was written elsewhere is said, with who wrote it.
    """
    saved = save_verdicts(path, taken.verdicts)
    for line in replaced_lines(saved.replaced):
        say(line)
    if taken.decision:
        _save_decision(path, taken.decision, taken.document)
    return saved.added


def _save_decision(path: Path, decision: ReleaseDecision, document: str) -> None:
    if before := save_release_decision(path, decision, document):
        say(
            replaced_text(
                COLUMNS["decision"].title, decision_text(before), before.by, decision_text(decision)
            )
        )


def _keep_review(path: Path, written: Written, tests: Path) -> list[tuple[Text, Text]]:
    """Stores the words about the answers of a run, and makes tests of those that are to be some.

    Returns the places of what cannot be read, and why not.
    """
    results = read_run(path)
    summary = figures_of(results, stored_settings(results.run.settings))
    taken = written.taken(ReviewTarget(results, summary, report_language(results)))
    taken.decision = None  # `keep_words` stores those of all runs
    save_words_of(path, taken)
    results = read_run(path)
    saved = save_tests(results, review_findings(results, summary), taken.closed, tests)
    if saved and saved.added:
        say(_("Tests in {path}: {n} added, made of the team's review.", path=saved.path, n=saved.added))
    return taken.faults


def _check_sheet(settings: Settings) -> None:
    """Raises InputError where no sheet is named, its name is invalid, or there are no credentials."""
    if not settings.sheet:
        msg = _("--to sheets: which sheet? Make one at https://sheets.new, and add --sheet with its address.")
        raise InputError(msg)
    target(settings.sheet, settings.worksheet or "")
    account()


def _file(name: str, content: Callable[[ReportOutput], str | bytes | Iterable[str]]) -> Destination:
    """Writes a file of this name beside report.html."""

    def write(output: ReportOutput) -> str:
        path = output.folder / name
        write_atomically(path, content(output))
        return shown_path(path)

    return write


def _user_function(name: str, output: ReportOutput) -> str:
    """Calls the user's function with the values that its parameters name: `def send(summary, gate)`.

    Values are made when they are asked for: worksheets take longest. What the function raises, and an exit
    from the program, is one line; a text that it returns is shown.
    """
    function, context = _function(name), output.context
    values: dict[str, Callable[[], Any]] = {
        "results": lambda: context.results,
        "summary": lambda: context.summary,
        "gate": lambda: context.gate,
        "worksheets": lambda: _worksheets(output, ""),
        "folder": lambda: output.folder,
    }
    parameters = inspect.signature(function).parameters
    try:
        result = function(**{key: value() for key, value in values.items() if key in parameters})
        if inspect.isawaitable(result):
            result = asyncio.run(asyncio.wait_for(result, None))
    except (Exception, SystemExit) as error:  # the user's own code: it ends this report, not the run
        why = describe_error(error)
        msg = _(
            "--to {name}: {why} The run is safe: write the report again with `report`.", name=name, why=why
        )
        raise RunFileError(msg) from None
    return f"{name}: {result}" if isinstance(result, str) else name


def _function(name: str) -> Callable[..., Any]:
    function = user_object(name)
    if not callable(function):
        msg = _("--to {name}: is {type}, not a function.", name=name, type=type(function).__name__)
        raise InputError(msg)
    return function  # type: ignore[no-any-return]


def _workbook(output: ReportOutput) -> Path:
    """Writes report.xlsx, with what the team wrote into workbooks of earlier runs of the folder."""
    folder = output.folder.resolve()
    before = [*takewhile(lambda name: name != folder.name, run_ids(folder.parent))]
    own, unread = _newest_workbook(folder), _unread_workbooks(folder.parent, before)
    for book in unread[1:]:
        say(_("{path}: saved after a later run began; what it says is kept with its own run.", path=book))
    for book in (*reversed(unread), *([own] if own else [])):
        for line in _keep_words_of(book, folder.parent, output.settings.tests):
            say(line)
    made = _worksheets(output, document_of(own) if own else "")
    earlier = [folder.parent / name for name in before]
    path: Path = save(made, folder / RUN_FILE, output.context.language, earlier=earlier)
    note_written(folder / RUN_FILE, document_of(path))
    return path


def _unread_workbooks(runs: Path, names: Sequence[str]) -> list[Path]:
    """Workbooks of these runs in which people may have written since they were read.

    First that of the last run that has one, then older ones that were saved after that run had begun.
    """
    books = [book for name in reversed(names) if (book := _newest_workbook(runs / name))]
    with contextlib.suppress(RehearsalError, IndexError):
        with snapshot(books[0].with_name(RUN_FILE)) as file, contextlib.closing(file):
            began = run_of(file).created.timestamp()
        return [books[0], *(book for book in books[1:] if book.stat().st_mtime > began)]
    return books[:1]


def _keep_words_of(workbook: Path, runs: Path, tests: Path) -> list[Message]:
    # One that cannot be read is left alone, and said to be where it is written anew.
    with contextlib.suppress(RehearsalError):
        return keep_words(Written.of(read_edited(workbook, _WRITTEN), document_of(workbook)), runs, tests)
    return []


def _worksheets(output: ReportOutput, document: str) -> tuple[Worksheet, ...]:
    """The worksheets, with all runs of the folder in their history, and the team's tests.

    `document` names the sheet or workbook into which they go, or whose words go along.
    """
    tests = output.settings.tests
    cases: Sequence[Case] = ()
    with contextlib.suppress(RehearsalError):  # `review` says what is wrong with the file
        cases = read_cases(tests) if tests.is_file() else ()
    past, _skipped = past_runs(output.folder.resolve().parent)
    return worksheets(output.context, past, cases, in_document(output.folder / RUN_FILE, document))


def _newest_workbook(folder: Path) -> Path | None:
    """The workbook of a run that was saved last; None without any."""
    return next(iter(newest_first([folder])), None)


DESTINATIONS: dict[str, Destination] = {
    "sheets": _sheets,
    "xlsx": lambda out: shown_path(_workbook(out)),
    "json": _file(
        "report.json",
        lambda out: json_lines({"schema": JSON_SCHEMA, **out.json_object}, out.context),
    ),
    "csv": _file("report.csv", lambda out: csv_bytes(out.context)),
    "junit": _file("junit.xml", lambda out: junit_xml(out.context)),
    "markdown": _file("report.md", lambda out: markdown(out.report)),
}
