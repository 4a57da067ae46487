"""--to: the reports besides report.html, which are files beside it, a sheet, or the user's function.

A destination takes the `RunOutputs` of a run, writes, and returns where: a path or an address, with notes on
further lines. To add one, write such a function and name it in `DESTINATIONS`, or in a plug-in as a
`plugins.Destination`. Names are checked before a run starts (`check_destinations`): a missing key of Google's
should not show after an hour's work. Afterwards each is tried, and the first failure decides the exit code.
"""

import asyncio
import contextlib
import copy
import inspect
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from simulator import plugins
from simulator.api.outputs import RunOutputs
from simulator.api.team_words import keep_words, keep_words_of, newest_workbook, unread_workbooks
from simulator.cases.cases import read_cases
from simulator.core.errors import InputError, RehearsalError, RunFileError, UnknownName
from simulator.core.loading import describe_error, user_object
from simulator.core.messages import _, localised, safe_text, say
from simulator.core.settings import Settings
from simulator.core.types import Case
from simulator.core.writing import shown_path, write_atomically
from simulator.report.files import csv_bytes, json_lines, junit_xml
from simulator.report.painters.markdown import markdown
from simulator.report.worksheets import worksheets
from simulator.results.history import past_runs
from simulator.results.review_files import NOTE, Written, document_of
from simulator.sheets.excel import save
from simulator.sheets.google_api import account, target
from simulator.sheets.google_sheets import push
from simulator.sheets.model import Worksheet
from simulator.storage.run_file import RUN_FILE, add_note, read_run, run_ids
from simulator.storage.words import in_document, note_written

# Version of report.json: raised when a key changes its meaning or goes, not for a new one.
JSON_SCHEMA = 1
# The report by its suffix; a page is made without one.
_REPORTS = {".md": "markdown", ".json": "json", ".csv": "csv", ".xlsx": "xlsx", ".xml": "junit"}


# Writes one report; returns where it is, and notes on further lines.
Destination = Callable[[RunOutputs], str]


def write_report(name: str, output: RunOutputs) -> str:
    """Writes one report; returns where it is, and notes on further lines."""
    if added := plugins.destination(name):
        return added.send(name, output.context, output.settings)
    if ":" in name:
        return _user_function(name, output)
    return DESTINATIONS[name](output)


def save_report(output: RunOutputs, path: Path) -> None:
    """Writes the report that a suffix says.

    Raises UnknownName for a suffix of none, RunFileError for a path that cannot be written.
    """
    if path.suffix == ".html":
        write_atomically(path, output.page())
        return
    if path.suffix not in _REPORTS:
        raise UnknownName(_("kind of report"), path.suffix or path.name, (".html", *_REPORTS))
    write_atomically(path, Path(write_report(_REPORTS[path.suffix], output)).read_bytes())


def write_reports(output: RunOutputs) -> None:
    """Writes the reports of --to; one that fails does not stop the others."""
    failures: list[RehearsalError] = []
    for name in output.settings.to:
        try:
            _write(name, output)
        except RehearsalError as error:
            failures.append(error)
    if failures:
        raise failures[0]


def renew_reports(output: RunOutputs) -> None:
    """Writes the other reports that a resumed run has had: none is to show the run as it broke off.

    Nobody named them today, so that one which cannot be written is only said, with the command for later.
    """
    had = {
        name: list[str]()
        for suffix, name in _REPORTS.items()
        if any((output.folder / f"{file}{suffix}").is_file() for file in ("report", "junit"))
    }
    again = copy.copy(output)  # with all that is worked out
    if place := _sheet_that_shows(output):
        again.settings = output.settings.model_copy(
            update={"sheet": place["key"], "worksheet": place.get("worksheet")}
        )
        flags = (("--sheet", "key"), ("--worksheet", "worksheet"))
        had["sheets"] = [word for flag, key in flags if key in place for word in (flag, place[key])]
    for name in [name for name in had if name not in output.settings.to]:
        try:
            _write(name, again)
        except RehearsalError as error:
            line = _(
                "{name} still shows the run as it broke off ({reason:clause}). Write it anew: python run.py"
                " report {run} {words}",
                name=name, reason=error, run=output.folder.name, words=shlex.join(["--to", name, *had[name]]),
            )  # fmt: skip
            say(line)


def _sheet_that_shows(output: RunOutputs) -> dict[str, str]:
    """The key of the sheet that shows the run, and how its worksheets end; empty where none does any more."""
    note, folder = output.context.results.notes.get(NOTE), output.folder.resolve()
    if not isinstance(note, dict):
        return {}
    for later in takewhile(lambda name: name != folder.name, reversed(run_ids(folder.parent))):
        with contextlib.suppress(RehearsalError):  # damaged
            if read_run(folder.parent / later / RUN_FILE).notes.get(NOTE) == note:
                return {}
    return {key: str(text) for key, text in note.items() if text}


def _write(name: str, output: RunOutputs) -> None:
    where = write_report(name, output)
    # What a user's own function says stands by itself.
    line = localised(_("Written: {where}", where=where)) if name in DESTINATIONS else where
    sys.stderr.write(f"{line}\n")


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


def _sheets(output: RunOutputs) -> str:
    """Pushes the worksheets, and notes in the run where: `review --from sheet` and `purge` look there."""
    sheet = target(output.settings.sheet or "", output.settings.worksheet or "")
    document = document_of(sheet)
    pushed = push(_worksheets(output, document), sheet)
    for line in keep_words(Written.of(pushed.before, document), output.folder.parent, output.settings.tests):
        say(line)
    note_written(output.path, document)
    where = json.dumps({"key": sheet.key, "worksheet": sheet.suffix}, ensure_ascii=False)
    with contextlib.suppress(RunFileError):  # the run is locked, and is pushed again when it is over
        add_note(output.path, NOTE, where)
    return "\n".join([pushed.url, *(safe_text(localised(note)) for note in pushed.notes)])


def _check_sheet(settings: Settings) -> None:
    """Raises InputError where no sheet is named, its name is invalid, or there are no credentials."""
    if not settings.sheet:
        msg = _("--to sheets: which sheet? Make one at https://sheets.new, and add --sheet with its address.")
        raise InputError(msg)
    target(settings.sheet, settings.worksheet or "")
    account()


def _file(name: str, content: Callable[[RunOutputs], str | bytes | Iterable[str]]) -> Destination:
    """Writes a file of this name beside report.html."""

    def write(output: RunOutputs) -> str:
        path = output.folder / name
        write_atomically(path, content(output))
        return shown_path(path)

    return write


def _user_function(name: str, output: RunOutputs) -> str:
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


def _workbook(output: RunOutputs) -> Path:
    """Writes report.xlsx, with what the team wrote into workbooks of earlier runs of the folder."""
    folder = output.folder.resolve()
    before = [*takewhile(lambda name: name != folder.name, run_ids(folder.parent))]
    own, unread = newest_workbook(folder), unread_workbooks(folder.parent, before)
    for book in unread[1:]:
        say(_("{path}: saved after a later run began; what it says is kept with its own run.", path=book))
    for book in (*reversed(unread), *([own] if own else [])):
        for line in keep_words_of(book, folder.parent, output.settings.tests):
            say(line)
    last = own or next(iter(unread), None)
    made = _worksheets(output, document_of(last) if last else "")
    earlier = [folder.parent / name for name in before]
    path: Path = save(made, output.path, output.context.language, earlier=earlier)
    note_written(output.path, document_of(path))
    return path


def _worksheets(output: RunOutputs, document: str) -> tuple[Worksheet, ...]:
    """The worksheets, with all runs of the folder in their history, and the team's tests.

    `document` names the sheet or workbook into which they go, or whose words go along.
    """
    tests = output.settings.tests
    cases: Sequence[Case] = ()
    with contextlib.suppress(RehearsalError):  # `review` says what is wrong with the file
        cases = read_cases(tests) if tests.is_file() else ()
    past, _skipped = past_runs(output.folder.resolve().parent)
    return worksheets(output.context, past, cases, in_document(output.path, document))


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
