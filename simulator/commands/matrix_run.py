"""A matrix of data sets, prompts and models: every cell a run of its own, then all in one table."""

import contextlib
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from simulator.addons.matrix.plan import (
    Cell,
    Matrix,
    ResolvedCell,
    from_record,
    in_language,
    is_matrix,
    matrix_of_options,
    read_matrix,
    resolved,
    with_files,
)
from simulator.addons.matrix.record import NAME as RECORD
from simulator.addons.matrix.record import (
    CellRun,
    Record,
    RecordFile,
    find_record,
    fingerprint,
    is_finished,
    new_folder,
    read_record,
    record_ids,
    shared,
)
from simulator.core.errors import InputError, RehearsalError, RunFileError
from simulator.core.secrets import restored
from simulator.core.settings import Settings, load
from simulator.core.translations import plain
from simulator.models.pricing import BudgetSpent
from simulator.runner.chains import WHOLE
from simulator.storage.run_file import new_run_id, run_ids

if TYPE_CHECKING:
    from simulator.commands.simulate import Over
    from simulator.runner.estimate import Forecast

INCOMPLETE = 3
_LABEL = "matrix"
Shaping = Callable[[Settings], Settings]


def matrix_given(
    cases: Sequence[str], prompts: Sequence[str], flags: Mapping[str, Any]
) -> "Matrix | Path | None":
    """The matrix that a command line is about, or the record of one that is to be gone on with."""
    if flags.get("resume"):
        return _record_meant(str(flags["resume"]), Path(load(flags).runs))
    files = [name for name in cases if name.lower().endswith(".toml")]
    for name in files:
        if Path(name).is_file() and not is_matrix(Path(name)):
            msg = f"{name}: neither a matrix ([matrix]) nor a chain ([[links]]). See docs/matrix.md."
            raise InputError(msg)
    if files:
        matrix = read_matrix(Path(files[0]))
        if len(cases) > 1 or len(prompts) > 1 or (prompts and matrix.prompts[0].prompt):
            msg = f"{files[0]} names its own data sets and prompts: leave out what stands beside it."
            raise InputError(msg)
        return matrix
    return matrix_of_options(cases, prompts, flags.get("set") or ())


def _record_meant(name: str, runs: Path) -> Path | None:
    """The record of that name; `latest` is a matrix where the newest run belongs to one."""
    path = find_record(name, runs)
    if path is None or name != "latest":
        return path
    newest = run_ids(runs)[-1:]
    held = {cell.run for cell in read_record(path).cells}
    return path if not newest or newest[0] in held or newest[0] < path.parent.name else None


def run_matrix(given: "Matrix | Path", flags: Mapping[str, Any], shape: Shaping) -> int:
    """Runs every cell that is not finished, and shows the comparison; gives the exit code.

    0 when all cells are finished (and reach the target, where there is one), 1 where one misses it, 3 where
    a cell failed or is unfinished. Raises InputError where not one cell can be run.
    """
    from simulator.commands.engine import check_engine
    from simulator.commands.hearing import check_hearing
    from simulator.commands.matrix_show import check_reports, show

    # What is several of the axes is no setting by itself.
    now = load({**flags, "set": None} if isinstance(given, Matrix) else flags)
    check_hearing(now)
    check_engine(now)
    check_reports(now)
    with contextlib.ExitStack() as stack:
        runs = Path(stack.enter_context(TemporaryDirectory())) if now.dry_run else Path(now.runs)
        work = stack.enter_context(contextlib.closing(_Work.on(given, flags, shape, now, runs)))
        if now.dry_run:
            return work.dry_run()
        stopped = work.hold_all()
        work.check_anything()
        return show(work.file, now, stopped)


class _Work:
    """The cells of a matrix with today's settings, and where their record is."""

    def __init__(self, file: RecordFile, settings: Sequence[Settings], now: Settings) -> None:
        """`settings` has those of every cell, as it would be begun."""
        self.file, self.settings, self.now = file, settings, now

    @classmethod
    def on(
        cls, given: "Matrix | Path", flags: Mapping[str, Any], shape: Shaping, now: Settings, runs: Path
    ) -> "_Work":
        """Goes on with a record, or an unfinished one of the very same matrix, or begins one in `runs`."""
        if isinstance(given, Path):
            file = RecordFile.reopen(given)
            return cls(file, [_as_written(file.record, at, now) for at in range(len(file.record.cells))], now)
        cells, without = in_language(resolved(given, flags, shape))
        if without:
            say(f"left out, for no row is in '{cells[0].settings.language}': {', '.join(without)}")
        digest = fingerprint(
            [each.told() for each in cells], [name for each in cells for name in each.files()]
        )
        if known := unfinished(digest, Path(now.runs)):
            file = RecordFile.reopen(known)
            say(f"Going on with {file.record.id}.")
            return cls(file, [each.settings for each in with_files(cells, file.folder)], now)
        return cls(*_begun(given, cells, digest, runs), now)

    def close(self) -> None:
        """Lets the record go."""
        self.file.close()

    @property
    def each(self) -> str:
        """What a cell is called: of a chain, its link."""
        return "link" if self.file.record.chain else "cell"

    def open(self) -> list[int]:
        """The cells that are not finished."""
        return [at for at in range(len(self.file.record.cells)) if self.file.state(at) != "finished"]

    def foreseen(self) -> "tuple[Forecast, list[InputError]]":
        """What the open cells will take, and what is wrong with those that cannot be run."""
        from simulator.commands.matrix_forecast import forecast_cell, together

        found, errors = [], []
        for at in self.open():
            try:
                found.append(forecast_cell(self.settings[at], self.file.begun(at)))
            except InputError as error:
                errors.append(error)
        return together(found), errors

    def dry_run(self) -> int:
        """Shows the forecast of all open cells, and starts nothing."""
        from simulator.commands.announce import show_forecast

        found, errors = self.foreseen()
        if errors and len(errors) == len(self.open()):
            raise errors[0]
        for error in errors:
            say(f"a {self.each} cannot be run: {error}")
        show_forecast(found, as_json=self.now.json_output, jpy_per_usd=self.now.jpy_per_usd)
        return INCOMPLETE if errors else 0

    def _announce(self, todo: Sequence[int]) -> None:
        """How much there is to do, and before paid runs what all of it will take."""
        from simulator.commands.announce import total
        from simulator.core.roles import endpoints

        cells = len(self.file.record.cells)
        if todo and len(todo) < cells:
            say(f"{cells - len(todo)} of {cells} {self.each}s are finished.")
        if len(todo) > 1 and any(endpoints(self.settings[todo[0]]).values()):
            found, _ = self.foreseen()
            most, expected = total(found.at_most), total(found.expected)
            say(f"All {len(todo)} {self.each}s: at most {most}; expected {expected}.")

    def hold_all(self) -> str | None:
        """Every cell that is not finished, one after another; gives why it stopped before the last one."""
        cells, todo = self.file.record.cells, self.open()
        self._announce(todo)
        for at in todo:
            say(f"{self.each} {at + 1} of {len(cells)}: {cells[at].cell.shown}")
            try:
                stopped = self._hold(at)
            except BudgetSpent as error:
                return f"{error}; a larger --budget goes on"
            except RunFileError:  # nothing can be written, or another process is at it
                raise
            except RehearsalError as error:
                self.file.change(at, error=str(error))
                say(f"cannot be run: {error}")
                continue
            except KeyboardInterrupt:
                return "interrupted"
            if stopped:
                return stopped
        return None

    def _hold(self, at: int) -> str | None:
        from simulator.commands.matrix_show import paint_cell

        done = self._begin_or_take_up(at)
        if isinstance(done, int):
            return "interrupted" if done == INCOMPLETE else None
        silence = paint_cell(done.path, done.settings)
        if done.stopped is None:
            self.file.change(at, error=silence)
        return done.stopped

    def _begin_or_take_up(self, at: int) -> "Over | int":
        from simulator.commands.simulate import start, take_up

        settings, begun = self._with_budget(at), self.file.begun(at)
        if begun is not None:
            return take_up(settings.model_copy(update={"resume": str(begun.parent)}))
        run_id = new_run_id(datetime.now(tz=UTC).astimezone(), [_label(self.file.record.cells[at].cell)])
        self.file.change(at, run=run_id, error="")
        return start(settings, run_id)

    def _with_budget(self, at: int) -> Settings:
        """The settings of a cell with what is left of the budget of all."""
        from simulator.addons.matrix.record import left_for

        settings = self.settings[at]
        budget = self.now.budget or settings.budget
        if budget is None:
            return settings
        left = left_for(self.file, at, budget)
        if left <= 0:
            msg = f"the budget of {budget:g} USD is spent"
            raise BudgetSpent(msg)
        return settings.model_copy(update={"budget": left})

    def check_anything(self) -> None:
        """Raises InputError where nothing could be run at all; nothing is left behind then."""
        cells = self.file.record.cells
        errors = [cell.error for at, cell in enumerate(cells) if cell.error and self.file.run(at) is None]
        if len(errors) < len(cells):
            return
        shutil.rmtree(self.file.folder, ignore_errors=True)
        more = "" if len(set(errors)) == 1 else f" ({cells[0].cell.shown}; each {self.each} has a mistake)"
        raise InputError(f"{errors[0]}{more}")


def unfinished(digest: str, runs: Path) -> Path | None:
    """The newest record of the very same matrix, where not all of its cells are finished."""
    for name in reversed(record_ids(runs)):
        path = runs / name / RECORD
        record = read_record(path)
        if record.digest == digest:
            return None if is_finished(record, runs) else path
    return None


def _begun(
    matrix: Matrix, cells: Sequence[ResolvedCell], digest: str, runs: Path
) -> tuple[RecordFile, list[Settings]]:
    now = datetime.now(tz=UTC)
    folder = new_folder(runs, new_run_id(now.astimezone(), [WHOLE if matrix.chain else _LABEL]))
    cells = with_files(cells, folder)
    stored = [each.stored() for each in cells]
    common = shared(stored)
    held = [
        CellRun(cell=each.cell, settings={key: value for key, value in told.items() if key not in common})
        for each, told in zip(cells, stored, strict=True)
    ]
    record = Record(
        id=folder.name,
        created=now,
        title=matrix.title,
        chain=matrix.chain,
        digest=digest,
        settings=common,
        cells=tuple(held),
    )
    return RecordFile.create(folder, record), [each.settings for each in cells]


def _as_written(record: Record, at: int, now: Settings) -> Settings:
    """A cell's settings as they were written down, with secrets and a budget as they are given today."""
    stored = from_record(record.told(at), now)
    return stored.model_copy(update={"set": restored(stored.set, now.set)})


def _label(cell: Cell) -> str:
    """What the id of a run says of its cell: the beginnings of its names."""
    parts = [part for part in (cell.data, cell.prompt, cell.model) if part]
    return "-".join(part[: (21 - len(parts)) // len(parts)] for part in parts)


def say(text: str) -> None:
    """One line on stderr."""
    sys.stderr.write(" ".join(plain(text).split()) + "\n")
