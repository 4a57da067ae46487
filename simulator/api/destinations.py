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
from simulator.core.document import Report
from simulator.core.errors import InputError, RehearsalError, RunFileError, UnknownName
from simulator.core.loading import describe_error, user_object
from simulator.core.messages import _, localised, safe_text
from simulator.core.settings import Settings
from simulator.core.types import Language
from simulator.core.writing import write_atomically
from simulator.report.context import ReportContext
from simulator.report.files import csv_bytes, json_lines, junit_xml
from simulator.report.painters.markdown import markdown
from simulator.report.worksheets import worksheets
from simulator.results.history import past_runs
from simulator.results.review_files import DECIDED, decisions_in
from simulator.sheets.excel import read_edited, save
from simulator.sheets.google_api import account, target
from simulator.sheets.google_sheets import PushSummary, push
from simulator.sheets.merge import EditedSheets
from simulator.sheets.model import Worksheet
from simulator.storage.run_file import RUN_FILE, add_note, run_ids
from simulator.storage.words import note_written, save_release_decision

# Version of report.json: raised when a key changes its meaning or goes, not for a new one.
JSON_SCHEMA = 1
# So many runs of the folder are listed in the history of a workbook or sheet.
_LISTED = 50


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
    sheet, pushed = push_to_sheet(_worksheets(output), output.settings, output.context.language)
    note_written(output.folder / RUN_FILE)
    keep_decisions(pushed.before, output.folder.parent)
    where = json.dumps({"key": sheet.key, "worksheet": sheet.suffix}, ensure_ascii=False)
    with contextlib.suppress(RunFileError):  # the run is locked, and is pushed again when it is over
        add_note(output.folder / RUN_FILE, "sheet", where)
    return address_lines(pushed)


def keep_decisions(before: EditedSheets, runs: Path) -> None:
    """Stores what the team decided about runs of this folder, before their worksheets show another run."""
    for run, decision in decisions_in(before.rows).items():
        # A run that is somewhere else, or cannot be written, keeps its decision in the sheet's archive.
        if (path := runs / run / RUN_FILE).is_file():
            with contextlib.suppress(RunFileError):
                save_release_decision(path, decision)


def push_to_sheet(sheets: Sequence[Any], settings: Settings, language: Language) -> tuple[Any, PushSummary]:
    """Writes worksheets to the sheet of the settings; returns it, and what came of it."""
    sheet = target(settings.sheet or "", settings.worksheet or "")
    return sheet, push(sheets, sheet, language=language)


def address_lines(pushed: PushSummary) -> str:
    """The address of a sheet, with notes on further lines."""
    return "\n".join([pushed.url, *(safe_text(localised(note)) for note in pushed.notes)])


def _check_sheet(settings: Settings) -> None:
    """Raises InputError where no sheet is named, its name is invalid, or there are no credentials."""
    if not settings.sheet:
        msg = _(
            "--to sheets: which sheet? Add --sheet with its key or address: python run.py sheets connect"
            " makes one."
        )
        raise InputError(msg)
    target(settings.sheet, settings.worksheet or "")
    account()


def _file(name: str, content: Callable[[ReportOutput], str | bytes | Iterable[str]]) -> Destination:
    """Writes a file of this name beside report.html."""

    def write(output: ReportOutput) -> str:
        path = output.folder / name
        write_atomically(path, content(output))
        return str(path)

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
        "worksheets": lambda: worksheets(context),
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
    before = takewhile(lambda name: name != folder.name, run_ids(folder.parent))
    earlier = [folder.parent / name for name in before]
    context = output.context
    # The newest workbook of this run, and of the last one that has any.
    newest = [
        max(place.glob("report*.xlsx"), key=_saved, default=None) for place in (folder, *reversed(earlier))
    ]
    for book in filter(None, (newest[0], next(filter(None, newest[1:]), None))):
        with contextlib.suppress(RehearsalError):
            keep_decisions(read_edited(book, DECIDED), folder.parent)
    path: Path = save(_worksheets(output), output.folder / RUN_FILE, context.language, earlier=earlier)
    note_written(output.folder / RUN_FILE)
    return path


def _worksheets(output: ReportOutput) -> tuple[Worksheet, ...]:
    """The worksheets, with the newest runs of the folder in their history."""
    return worksheets(output.context, past_runs(output.folder.resolve().parent, _LISTED)[0])


def _saved(workbook: Path) -> int:
    """When it was last saved."""
    return workbook.stat().st_mtime_ns


DESTINATIONS: dict[str, Destination] = {
    "sheets": _sheets,
    "xlsx": lambda out: str(_workbook(out)),
    "json": _file(
        "report.json",
        lambda out: json_lines({"schema": JSON_SCHEMA, **out.json_object}, out.context),
    ),
    "csv": _file("report.csv", lambda out: csv_bytes(out.context)),
    "junit": _file("junit.xml", lambda out: junit_xml(out.context)),
    "markdown": _file("report.md", lambda out: markdown(out.report)),
}
