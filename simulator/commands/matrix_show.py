"""What is shown of a matrix: the page of each cell's run, the comparison, the reports that were asked for."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from simulator.core.errors import RehearsalError, UnknownName
from simulator.core.settings import Settings

if TYPE_CHECKING:
    from simulator.addons.matrix.figures import MatrixFigures
    from simulator.addons.matrix.record import RecordFile
    from simulator.addons.matrix.report import MatrixReport

DONE, MISSED, INCOMPLETE = 0, 1, 3
# Of report.json: raised when a key changes its meaning or goes, never for a new one.
JSON_SCHEMA = 1


def check_reports(settings: Settings) -> None:
    """Raises InputError for a report that a matrix does not have, before any cost."""
    from simulator.commands.sinks import check_sinks

    for name in settings.to:
        if name not in REPORTS:
            raise UnknownName(
                "report of a matrix", name, REPORTS, "Each cell's run has them: report RUN --to."
            )
    check_sinks(settings)


def paint_cell(path: Path, settings: Settings) -> str:
    """Writes the page of one cell's own run; gives why it never got an answer, or nothing."""
    from simulator.addons.matrix.record import silence
    from simulator.commands.publish import improvements_for, report_language
    from simulator.commands.sinks import write_atomically
    from simulator.report.html import render
    from simulator.report.judges import standings
    from simulator.stats.outcome import figures_of, gate_of
    from simulator.storage.results import counted
    from simulator.storage.run_file import read_run

    results = counted(read_run(path))
    summary = figures_of(results, settings)
    gate, language = gate_of(results, summary, settings), report_language(results)
    known = standings(results, summary, language)
    mends = improvements_for(results, summary, settings, language)
    page = render(results, summary, gate, language, known, mends=mends)
    write_atomically(path.with_name("report.html"), page)
    return silence(results)


def show(file: "RecordFile", settings: Settings, stopped: str | None) -> int:
    """The comparison on the terminal, as a page, and as whatever was asked for; gives the exit code.

    `stopped` says why not every cell was run.
    """
    from rich.console import Console

    from simulator.addons.matrix import report
    from simulator.addons.matrix.figures import as_json, compared
    from simulator.addons.matrix.report import MatrixReport, ToldChain
    from simulator.commands.sinks import write_atomically

    found = compared(file.record, file.folder.parent)
    told, page = (ToldChain if found.chain else MatrixReport)(found), file.folder / "report.html"
    write_atomically(page, report.page(told))
    report.matrix_console_paint(told, Console(stderr=settings.json_output), str(page))
    if settings.json_output:
        shown = as_json(found) | {"store": str(file.folder / "matrix.json"), "page": str(page)}
        sys.stdout.write(json.dumps(shown, ensure_ascii=False) + "\n")
    _paint_all(told, file.folder, settings, stopped)
    return _exit_code(found, file, stopped)


def _paint_all(told: "MatrixReport", folder: Path, settings: Settings, stopped: str | None) -> None:
    """Every report that was asked for; one that fails keeps none of the others from being made."""
    failures: list[RehearsalError] = []
    for name in settings.to:
        try:
            sys.stderr.write(f"{REPORTS[name](told, folder, settings)}\n")
        except RehearsalError as error:
            failures.append(error)
    if failures and stopped is None:  # else, that it stopped says it all
        raise failures[0]


def _exit_code(found: "MatrixFigures", file: "RecordFile", stopped: str | None) -> int:
    from simulator.commands.publish import say_stopped

    if found.open or stopped:
        why = stopped or f"{len(found.open)} of {len(found.cells)} cells are not finished"
        say_stopped(file.folder / "matrix.json", why, "evaluate --resume {run}")
        return INCOMPLETE
    if any(cell.incomplete for cell in found.cells):
        return INCOMPLETE
    return MISSED if any(cell.passed is False for cell in found.cells) else DONE


def _xlsx(told: "MatrixReport", folder: Path, settings: Settings) -> str:
    from simulator.addons.matrix.report import save

    return str(save(told, folder / "report.xlsx"))


def _markdown(told: "MatrixReport", folder: Path, settings: Settings) -> str:
    from simulator.addons.matrix.report import markdown
    from simulator.commands.sinks import write_atomically

    write_atomically(folder / "report.md", markdown(told))
    return str(folder / "report.md")


def _json(told: "MatrixReport", folder: Path, settings: Settings) -> str:
    from simulator.addons.matrix.figures import as_json
    from simulator.commands.sinks import write_atomically

    shown = {"schema": JSON_SCHEMA, **as_json(told.found)}
    write_atomically(folder / "report.json", json.dumps(shown, ensure_ascii=False, indent=1) + "\n")
    return str(folder / "report.json")


def _sheets(told: "MatrixReport", folder: Path, settings: Settings) -> str:
    from simulator.addons.matrix.report import matrix_sheet
    from simulator.core.translations import plain
    from simulator.sheets import google_push
    from simulator.sheets.google_api import Target, target
    from simulator.sheets.google_push import new_sheet

    suffix = settings.worksheet or ""
    if settings.new_sheet:
        key = new_sheet(settings.new_sheet, settings.folder or "")
        place = Target(key=key, suffix=suffix, fresh=True)
    else:
        place = target(settings.sheet or "", suffix)
    pushed = google_push([matrix_sheet(told)], place, language=told.language)
    return "\n".join([pushed.url, *(plain(each) for each in pushed.notes)])


REPORTS: dict[str, Callable[["MatrixReport", Path, Settings], str]] = {
    "sheets": _sheets,
    "xlsx": _xlsx,
    "json": _json,
    "markdown": _markdown,
}
