"""Where a run is painted to besides report.html: files beside it, a sheet, a function of one's own."""

import asyncio
import contextlib
import inspect
import json
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.core.errors import InputError, RunFileError, UnknownName
from simulator.core.settings import Settings
from simulator.data.files import beside

if TYPE_CHECKING:
    from simulator.report.context import ReportContext

# Of report.json: raised when a key changes its meaning or goes, never for a new one.
JSON_SCHEMA = 1


@dataclass(frozen=True)
class SinkContext:
    """What a sink may need: the run in words and figures, its folder, the settings, `--json`'s object."""

    told: "ReportContext"
    folder: Path
    settings: Settings
    shown: dict[str, Any]


def paint(name: str, painting: SinkContext) -> str:
    """Paints to one sink; gives a line on what came of it."""
    if ":" in name:
        return _own(name, painting)
    return SINKS[name](painting)


# What people call a report, and its name here.
CALLED = {"excel": "xlsx", "md": "markdown", "sheet": "sheets"}


def check_sinks(settings: Settings) -> None:
    """Raises InputError for a report that there is not, or a sheet that is not named: before any cost."""
    if "sheets" in settings.to:
        _check_sheet(settings)
    for name in settings.to:
        if ":" not in name and name not in SINKS:
            meant = f" {name} is called {CALLED[name.lower()]}." if name.lower() in CALLED else ""
            hint = f"Your own: --to post.py:send.{meant}"
            raise UnknownName("report", name, SINKS, hint)
        if ":" in name:
            _function(name)


def write_atomically(path: Path, content: str | bytes | Iterable[str]) -> None:
    """The whole file or the old one: written beside it, then renamed; readable by its owner only.

    Content that comes in pieces is never held whole.
    """
    new = beside(path)
    pieces = [content] if isinstance(content, str | bytes) else content
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            for piece in pieces:
                file.write(piece.encode("utf-8") if isinstance(piece, str) else piece)
        new.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        msg = f"{path}: cannot be written ({error.strerror}). The run is safe: paint it again with `report`."
        raise RunFileError(msg) from None


def _xlsx(painting: SinkContext) -> str:
    from simulator.report.worksheets import worksheets
    from simulator.sheets import excel
    from simulator.storage.run_file import NAME

    return str(excel.save(worksheets(painting.told), painting.folder / NAME))


def _sheets(painting: SinkContext) -> str:
    from simulator.core.translations import plain
    from simulator.report.worksheets import worksheets
    from simulator.sheets.google_api import Target, target
    from simulator.sheets.google_push import new_sheet, push
    from simulator.storage.run_file import NAME, note

    settings = painting.settings
    suffix = settings.worksheet or ""
    if settings.new_sheet:
        key = new_sheet(settings.new_sheet, settings.folder or "")
        place = Target(key=key, suffix=suffix, fresh=True)
    else:
        place = target(settings.sheet or "", suffix)
    pushed = push(worksheets(painting.told), place, language=painting.told.language)
    where = {"key": place.key, "worksheet": suffix}
    with contextlib.suppress(RunFileError):  # the run is going on: it is pushed again when it is over
        note(painting.folder / NAME, "sheet", json.dumps(where, ensure_ascii=False))
    return "\n".join([pushed.url, *(plain(each) for each in pushed.notes)])


def _check_sheet(settings: Settings) -> None:
    """A sheet must be named, rightly, and there must be credentials, before anything is paid."""
    from simulator.sheets.google_api import account, target

    if settings.new_sheet:
        target("x" * 20, settings.worksheet or "")
    elif not settings.sheet:
        msg = "--to sheets: which? Give --sheet KEY or its address, or --new-sheet TITLE."
        raise InputError(msg)
    else:
        target(settings.sheet, settings.worksheet or "")
    account()


def _json(painting: SinkContext) -> str:
    from simulator.report.files import json_lines

    return _file(
        painting, "report.json", json_lines({"schema": JSON_SCHEMA, **painting.shown}, painting.told)
    )


def _csv(painting: SinkContext) -> str:
    from simulator.report.files import csv_bytes

    return _file(painting, "report.csv", csv_bytes(painting.told, painting.settings.csv_encoding))


def _junit(painting: SinkContext) -> str:
    from simulator.report.files import junit_xml

    return _file(painting, "junit.xml", junit_xml(painting.told))


def _markdown(painting: SinkContext) -> str:
    from simulator.report.markdown import markdown

    return _file(painting, "report.md", markdown(painting.told))


def _file(painting: SinkContext, name: str, content: str | bytes | Iterable[str]) -> str:
    path = painting.folder / name
    write_atomically(path, content)
    return str(path)


def _own(name: str, painting: SinkContext) -> str:
    """A function of the user's own; it is given what its parameters name."""
    from simulator.core.shelves import told as told_by
    from simulator.report.worksheets import worksheets

    function = _function(name)
    told = painting.told
    offered: dict[str, Callable[[], Any]] = {
        "results": lambda: told.results,
        "summary": lambda: told.summary,
        "gate": lambda: told.gate,
        "worksheets": lambda: worksheets(told),
        "folder": lambda: painting.folder,
    }
    wanted = inspect.signature(function).parameters
    try:
        said = function(**{key: make() for key, make in offered.items() if key in wanted})
        said = asyncio.run(_awaited(said)) if inspect.isawaitable(said) else said
    except (Exception, SystemExit) as error:  # the user's own code: it ends this report, not the run
        msg = f"--to {name}: {told_by(error)} The run is safe: paint it again with `report`."
        raise RunFileError(msg) from None
    return f"{name}: {said}" if isinstance(said, str) else name


async def _awaited(said: Awaitable[Any]) -> Any:
    return await said


def _function(name: str) -> Callable[..., Any]:
    from simulator.core.shelves import user_object

    found = user_object(name)
    if not callable(found):
        msg = f"--to {name}: is {type(found).__name__}, not a function."
        raise InputError(msg)
    return found  # type: ignore[no-any-return]


SINKS: dict[str, Callable[[SinkContext], str]] = {
    "sheets": _sheets,
    "xlsx": _xlsx,
    "json": _json,
    "csv": _csv,
    "junit": _junit,
    "markdown": _markdown,
}
