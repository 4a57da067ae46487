"""`evaluate` with a matrix: each cell is a run of its own, and a table compares them.

A cell is a data set with a prompt and a model. What the cells are stands in
matrix.json (`simulator/lab/matrix/record.py`), so that a matrix can be resumed:

    runs/20261128-101500123-matrix-3f2a/matrix.json     the cells, with the run and the error of each
    runs/20261128-101500123-matrix-3f2a/report.html     the comparison
    runs/20261128-101501456-faq-concise-9c1d/...        the run of a cell, like any other

Cells run one after another, each with what is left of the budget of all. The id of a cell's run is written
down before the run is made: after a kill -9 the record knows which run to look for, and no cell is paid
twice.
"""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from simulator import plugins
from simulator.api.forecast import total
from simulator.api.outputs import report_context
from simulator.api.progress import stdout_to_stderr
from simulator.api.resume import resume
from simulator.api.run import check_folder, run_settings, start
from simulator.cli.forecast import show_forecast
from simulator.cli.show import show_report
from simulator.cli.terminal import ExitCode, say, say_stopped
from simulator.core.errors import InputError, RehearsalError, RunFileError, UnknownName
from simulator.core.messages import Message, _, language_of
from simulator.core.roles import endpoints
from simulator.core.secrets import restore_secrets
from simulator.core.settings import Settings, dollars, load_settings, stored_settings
from simulator.core.types import Conversation, Spending
from simulator.core.writing import replaced, write_atomically
from simulator.lab.matrix import record as records
from simulator.lab.matrix.figures import as_json, compared
from simulator.lab.matrix.plan import PlannedCell, cells_of, recorded
from simulator.lab.matrix.report import matrix_report, matrix_worksheet
from simulator.models.pricing import BudgetSpent, total_spending
from simulator.report.painters import html
from simulator.report.painters.markdown import markdown
from simulator.report.run_page import run_page
from simulator.runner.bot_choice import with_bot
from simulator.runner.context import RunContext
from simulator.runner.estimate import Forecast, forecast
from simulator.runner.plan import read_plan
from simulator.sheets.excel import paint
from simulator.storage.run_file import RUN_FILE, created_at, new_run_id, read_run, run_ids

# The reports that --to can name, and how their files end.
REPORTS = {"xlsx": "xlsx", "json": "json", "markdown": "md"}
# In the id of a matrix, where that of a run has its bot.
_LABEL = "matrix"


# --- What the command line means ---


def evaluate(cases: Sequence[str], prompts: Sequence[str], flags: Mapping[str, Any]) -> int | None:
    """Runs a matrix, or finishes one; None where the command line means a single run."""
    matrix: list[PlannedCell] | Path | None
    if flags.get("resume"):
        matrix = _record_to_resume(str(flags["resume"]), Path(load_settings(flags).runs))
    else:
        matrix = cells_of(cases, prompts, flags)
    return None if matrix is None else run_matrix(matrix, flags)


def _record_to_resume(name: str, runs: Path) -> Path | None:
    """The record of that name; `latest` is a matrix only where the newest run belongs to it.

    `--resume latest` means what was started last, be it a matrix or a single run made since.
    """
    path = records.find_record(name, runs)
    if path is None or name != "latest":
        return path
    record, newest = records.read_record(path), run_ids(runs)[-1:]
    runs_of_cells = {cell.run for cell in record.cells}
    is_last = not newest or newest[0] in runs_of_cells
    return path if is_last or created_at(runs / newest[0] / RUN_FILE) < record.created else None


# --- Running it ---


def run_matrix(matrix: list[PlannedCell] | Path, flags: Mapping[str, Any]) -> int:
    """Runs every cell that is not finished, and shows the comparison; a path is the record of a matrix.

    Returns 0 when all cells are finished (and reach the target, where there is one), 1 where one misses it,
    3 where a cell failed or is unfinished. Raises InputError where not one cell can be run.
    """
    # Several values of --set are models of the matrix, and no setting of all cells.
    today = load_settings(flags if isinstance(matrix, Path) else {**flags, "set": None})
    for name in today.to:
        if name not in REPORTS:
            hint = _("The run of each cell can have it: report RUN --to.")
            raise UnknownName(_("report of a matrix"), name, REPORTS, hint)
    # A dry run needs a record to ask, and leaves none.
    with contextlib.ExitStack() as stack:
        runs = Path(stack.enter_context(TemporaryDirectory())) if today.dry_run else today.runs
        run = _opened(matrix, flags, today, runs)
        stack.enter_context(contextlib.closing(run.file))
        _check(run.settings)
        if today.dry_run:
            return run.dry_run()
        stopped = run.run_all()
        run.check_any_started()
        return show(run.file, today, stopped)


class _MatrixRun(NamedTuple):
    """The file of the record of a matrix; the settings of each of its cells, and of today's command line."""

    file: records.RecordFile
    settings: Sequence[Settings]
    today: Settings

    def _open_cells(self) -> list[int]:
        """The places of the cells that are not finished."""
        return [at for at in range(len(self.file.record.cells)) if self.file.state(at) != "finished"]

    def forecast(self) -> tuple[Forecast, list[InputError]]:
        """What the open cells will take, and what is wrong with those that cannot be run."""
        forecasts, errors = [], []
        for at in self._open_cells():
            try:
                forecasts.append(forecast_cell(self.settings[at], self.file.begun(at)))
            except InputError as error:
                errors.append(error)
        return together(forecasts), errors

    def dry_run(self) -> int:
        """Shows the forecast of all open cells; returns the exit code."""
        estimate, errors = self.forecast()
        # Where nothing can be run, it is the command line that is wrong.
        if errors and len(errors) == len(self._open_cells()):
            raise errors[0]
        for error in errors:
            say(_("cannot be run: {error}", error=error))
        show_forecast(estimate, as_json=self.today.json_output)
        return ExitCode.INCOMPLETE if errors else ExitCode.DONE

    def run_all(self) -> Message | str | None:
        """Runs every open cell, one after another; returns why it stopped before the last one.

        A cell that cannot be run (a missing file, a wrong model name) is noted and left; the others go on. A
        spent budget, Ctrl-C and a disk that cannot be written end the matrix.
        """
        cells, open_cells = self.file.record.cells, self._open_cells()
        if open_cells and len(open_cells) < len(cells):
            n = len(cells)
            say(_("{done} of {n} cells are finished.", done=n - len(open_cells), n=n))
        if len(open_cells) > 1 and any(endpoints(self.settings[open_cells[0]]).values()):
            most = total(self.forecast()[0].most.values())
            say(_("All {n} cells: at most {most}.", n=len(open_cells), most=most))
        for at in open_cells:
            cell = cells[at].cell.shown
            say(_("cell {number} of {n}: {cell}", number=at + 1, n=len(cells), cell=cell))
            try:
                stopped = self._run_cell(at)
            except BudgetSpent as error:
                return _("{error}; a larger --budget goes on", error=error)
            except RunFileError:  # nothing can be written, or another process is at it
                raise
            except RehearsalError as error:
                self.file.change(at, error=str(error))
                say(_("cannot be run: {error}", error=error))
                continue
            except KeyboardInterrupt:
                return _("interrupted")
            if stopped:
                return stopped
        return None

    def _run_cell(self, at: int) -> Message | str | None:
        """Runs one cell with what is left of the budget of all; returns why it stopped early."""
        settings, begun = self.settings[at], self.file.begun(at)
        # Of today's command line, else as the matrix was started; what other cells spent is gone from it.
        if budget := self.today.budget or settings.budget:
            left = records.left_for(self.file, at, budget)
            if left <= 0:
                raise BudgetSpent(_("the budget of {budget} USD is spent", budget=dollars(budget)))
            settings = settings.model_copy(update={"budget": left})
        if begun is not None:
            finished = resume(settings.model_copy(update={"resume": str(begun.parent)}))
        else:
            now = datetime.now(tz=UTC).astimezone()
            cell = self.file.record.cells[at].cell
            run_id = new_run_id(now, ["-".join(filter(None, (cell.data, cell.prompt, cell.model)))])
            self.file.change(at, run=run_id, error="")
            finished = start(settings, run_id)
        if isinstance(finished, Forecast):
            return None
        error = write_page(finished.path, finished.settings)
        if finished.stopped is None:
            self.file.change(at, error=str(error))
        return finished.stopped

    def check_any_started(self) -> None:
        """Raises InputError, and deletes the record, where not one cell could be run."""
        cells = self.file.record.cells
        errors = [cell.error for at, cell in enumerate(cells) if cell.error and self.file.run(at) is None]
        if len(errors) < len(cells):
            return
        # Else `latest` would be a matrix of nothing.
        shutil.rmtree(self.file.folder, ignore_errors=True)
        if len(set(errors)) == 1:
            raise InputError(errors[0])
        cell = cells[0].cell.shown
        raise InputError(_("{error} ({cell}; every cell has an error)", error=errors[0], cell=cell))


def _opened(
    matrix: list[PlannedCell] | Path, flags: Mapping[str, Any], today: Settings, runs: Path
) -> _MatrixRun:
    """Continues a record, or begins one in `runs`."""
    if isinstance(matrix, Path):
        file = records.RecordFile.reopen(matrix)
        # Secrets are stored as masks, and are filled in from today's command line or environment.
        stored = [stored_settings(cell.settings, **today.unstored_values()) for cell in file.record.cells]
        cells = [cell.model_copy(update={"set": restore_secrets(cell.set, today.set)}) for cell in stored]
        return _MatrixRun(file, cells, today)
    settings = [run_settings(load_settings(planned.flags), "single_turn") for planned in matrix]
    _check(settings)
    now = datetime.now(tz=UTC)
    check_folder(runs)
    folder = runs / new_run_id(now.astimezone(), [_LABEL])
    # As private as a run's own folder: the record has the settings of the bot.
    folder.mkdir(parents=True, mode=0o700)
    cell_runs = tuple(
        records.CellRun(cell=planned.cell, settings=recorded(of_cell))
        for planned, of_cell in zip(matrix, settings, strict=True)
    )
    record = records.Record(id=folder.name, created=now, cells=cell_runs)
    return _MatrixRun(records.RecordFile.create(folder, record), settings, today)


def _check(cells: Sequence[Settings]) -> None:
    """Raises InputError for settings that do not go together, which may depend on a cell's prompt."""
    for settings in cells:
        plugins.check(settings)


# --- What it will cost ---


def forecast_cell(settings: Settings, run: Path | None = None) -> Forecast:
    """What one cell will take; `run` is the file of one that was begun."""
    plan: Sequence[Conversation]
    if run:
        results = read_run(run)
        plan, personas = results.conversations.select("unfinished"), results.personas
    else:
        plan, personas, settings, *_rest = read_plan(with_bot(settings))
    with stdout_to_stderr():
        context = RunContext(settings, personas)
        if not run:
            context.check_adapter(plan)
    return forecast(context, plan)


def together(forecasts: Sequence[Forecast]) -> Forecast:
    """The forecast of all of them."""

    def total_of(end: str) -> dict[Any, Spending]:
        """By role and model."""
        spendings: dict[Any, list[Spending]] = {}
        for part in forecasts:
            for key, spent in getattr(part, end).items():
                spendings.setdefault(key, []).append(spent)
        return {key: total_spending(listed) for key, listed in spendings.items()}

    return Forecast(
        low=total_of("low"),
        high=total_of("high"),
        causes=total_of("causes"),
        answers=sum(forecast.answers for forecast in forecasts),
        rows=all(forecast.rows for forecast in forecasts),
        offline=any(forecast.offline for forecast in forecasts),
        language=forecasts[0].language if forecasts else "en",
    )


# --- What came of it ---


def write_page(path: Path, settings: Settings) -> Message | str:
    """Writes the page of one cell's own run; returns why its bot never answered, empty where it did."""
    results = read_run(path)
    context = report_context(path, results, settings)
    write_atomically(Path(context.page), run_page(context))
    return records.silence(results)


def show(file: records.RecordFile, settings: Settings, stopped: Message | str | None) -> int:
    """Shows the comparison on the terminal, as a page and in the reports of --to; returns the exit code.

    `stopped` says why not every cell was run; None where all were. 3 where a cell is open or could not be
    graded, else 1 where one missed the target, else 0.
    """
    figures = compared(file.record, file.folder.parent)
    page, values = file.folder / "report.html", as_json(figures)
    language = language_of(os.environ)
    report = matrix_report(figures, language, str(page))
    write_atomically(page, html.page(report))
    where = {"store": str(file.folder / records.NAME), "page": str(page)}
    show_report(report, values | where, as_json=settings.json_output)
    for name in settings.to:
        path = file.folder / f"report.{REPORTS[name]}"
        if name == "xlsx":
            with replaced(path) as new:
                paint([matrix_worksheet(figures, language)], new, language)
        elif name == "json":
            text = json.dumps({"schema": 1, **values}, ensure_ascii=False, indent=1)
            write_atomically(path, f"{text}\n")
        else:
            write_atomically(path, markdown(report))
        sys.stderr.write(f"{path}\n")
    if figures.open or stopped:
        left, cells = len(figures.open), len(figures.cells)
        reason = stopped or _("{left} of {n} cells are not finished", left=left, n=cells)
        say_stopped(file.folder / records.NAME, reason, "evaluate --resume {run}")
        return ExitCode.INCOMPLETE
    if any(cell.incomplete for cell in figures.cells):
        return ExitCode.INCOMPLETE
    return ExitCode.MISSED if any(cell.passed is False for cell in figures.cells) else ExitCode.DONE
