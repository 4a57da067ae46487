"""A chain of prompts: each link alone on its own rows, then the whole on its rows, and one table of all."""

import contextlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from simulator.addons.matrix.plan import (
    Cell,
    DataSet,
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
from simulator.core.errors import InputError, RehearsalError, RunFileError, UnknownName
from simulator.core.secrets import restored
from simulator.core.settings import Settings, load
from simulator.core.translations import plain
from simulator.core.types import Conversation, Ended, Language, Spending
from simulator.models.pricing import BudgetSpent
from simulator.runner.chains import WHOLE, Chain, is_chain, read_chain
from simulator.storage.run_file import new_run_id, run_ids

if TYPE_CHECKING:
    pass

# These stand in the chain itself, for each link and for the whole.
_OF_THE_CHAIN = ("prompt", "outputs", "labels", "positive")


def chain_given(files: Sequence[str], link: str | None) -> Path | None:
    """The chain that a command line is about; None where it names none."""
    chains = [Path(name) for name in files if is_chain(Path(name))]
    if chains and len(files) == 1:
        return chains[0]
    if chains or link is not None:
        msg = "a chain is evaluated alone: python run.py evaluate chain.toml --link NAME"
        raise InputError(msg)
    return None


def run_chain(path: Path, flags: Mapping[str, Any], shape: "Shaping", link: str | None = None) -> int:
    """Runs every link and the whole, each by itself, or only the one called `link`; gives the exit code."""
    from simulator.addons.matrix.plan import resolved

    pass
    from simulator.cli.simulate import hold

    chain = read_chain(path)
    for name in _OF_THE_CHAIN:
        if flags.get(name):
            msg = f"--{name}: {path} says it for each link."
            raise InputError(msg)
    matrix = matrix_of(chain, link)
    if link is not None:
        (one,) = resolved(matrix, flags, shape)
        if one.outputs is None:  # else they have to be written down first, as those of a matrix are
            return hold(one.settings)
    return run_matrix(matrix, flags, shape)


def matrix_of(chain: Chain, link: str | None = None) -> Matrix:
    """The chain as runs: a data set for each link, with its prompt, and one for the whole."""
    data = tuple(_data(chain))
    if link is not None:
        known = [each.name for each in chain.links]
        data = tuple(each for each in data if each.name == link)
        if link not in (*known, WHOLE):
            raise UnknownName(f"link of {chain.path}", link, known)
    if not data:
        what = "this link has no rows of its own" if link else "neither a link nor the whole has rows"
        msg = f'{chain.path}: {what}: write cases = "rows.csv" there.'
        raise InputError(msg)
    return Matrix(data=data, settings=chain.settings, title=chain.title, chain=True)


def _data(chain: Chain) -> Iterator[DataSet]:
    for link in chain.links:
        if link.cases is not None:
            yield DataSet(name=link.name, cases=link.cases, settings=link.told)
    if chain.cases is not None:
        told = {**chain.whole, "prompt": chain.path}
        yield DataSet(name=WHOLE, cases=chain.cases, settings=told)


if TYPE_CHECKING:
    from simulator.runner.context import RunContext
    from simulator.runner.estimate import ByModel, Forecast, SampledAnswers, UnknownCost, Who

_OPEN = (None, Ended.INTERRUPTED, Ended.BUDGET)


def forecast_cell(settings: Settings, run: Path | None = None) -> "Forecast":
    """What one cell will take; `run` is the file of one that was begun."""
    from simulator.cli.hearing import hearing
    from simulator.runner.estimate import forecast

    context, plan = _held(settings, run) if run else _planned(settings)
    return forecast(context, plan, Path(settings.runs), hearing(context, plan))


def together(found: Sequence["Forecast"]) -> "Forecast":
    """The forecast of all of them; `like` where all go by the same earlier run."""
    from simulator.runner.estimate import Forecast

    like = {each.like for each in found}
    return Forecast(
        _sum(each.at_most for each in found),
        _sum(each.expected for each in found),
        like.pop() if len(like) == 1 else None,
        sum(each.answers for each in found),
        all(each.rows for each in found),
        any(each.offline for each in found),
        _sum(each.low for each in found),
        _sum(each.high for each in found),
        tuple(_unknown(found)),
        language=found[0].language if found else "en",
        asks_a_bot=any(each.asks_a_bot and not each.heard for each in found),
        heard=dict(_heard(found)) if all(each.heard for each in found) else {},
    )


def _heard(found: Sequence["Forecast"]) -> "Iterator[tuple[Language, SampledAnswers]]":
    """The answers of all bots that were asked, put together."""
    from simulator.runner.estimate import TokenRange

    for language in dict.fromkeys(language for cell in found for language in cell.heard):
        each = [cell.heard[language] for cell in found if language in cell.heard]
        yield (
            language,
            each[0]._replace(
                answer=TokenRange(*map(fmean, zip(*(one.answer for one in each), strict=True))),
                passages=TokenRange(*map(fmean, zip(*(one.passages for one in each), strict=True))),
                number=round(fmean(one.number for one in each)),
                asked=sum(one.asked for one in each),
            ),
        )


def _unknown(found: Sequence["Forecast"]) -> Iterator["UnknownCost"]:
    """What is unknown of any cell; of all others, what is expected of them goes into both ends."""
    from simulator.runner.estimate import UnknownCost

    kinds = dict.fromkeys(each.what for cell in found for each in cell.unknown)
    for what in kinds:
        lows, highs = zip(*(_ends(cell, what) for cell in found), strict=True)
        low = None if None in lows else sum(lows)
        yield UnknownCost(what, low, None if None in highs else sum(highs))


def _ends(cell: "Forecast", what: str) -> tuple[float | None, float | None]:
    from simulator.models.pricing import together as added

    usual = added(list(cell.expected.values())).cost_usd
    return next(((each.low, each.high) for each in cell.unknown if each.what == what), (usual, usual))


def _sum(parts: "Iterable[Mapping[Who, Spending]]") -> "ByModel":
    from simulator.models.pricing import together as added

    found: dict[Any, list[Any]] = {}
    for part in parts:
        for who, spent in part.items():
            found.setdefault(who, []).append(spent)
    return {who: added(spent) for who, spent in found.items()}


def _planned(settings: Settings) -> tuple["RunContext", Sequence[Conversation]]:
    from simulator.core.roles import endpoints
    from simulator.models.pricing import Ledger
    from simulator.runner.context import RunContext
    from simulator.runner.plan import plan_rows
    from simulator.runner.whose_bot import with_bot

    planned = plan_rows(with_bot(settings))
    with contextlib.redirect_stdout(sys.stderr):
        context = RunContext(planned.settings, endpoints(settings), planned.personas, Ledger.of(settings))
        context.check_adapter(planned.plan)
    return context, planned.plan


def _held(settings: Settings, run: Path) -> tuple["RunContext", Sequence[Conversation]]:
    from simulator.core.roles import endpoints
    from simulator.models.pricing import Ledger
    from simulator.runner.context import RunContext
    from simulator.storage.run_file import read_run

    results = read_run(run)
    with contextlib.redirect_stdout(sys.stderr):
        context = RunContext(settings, endpoints(settings), results.personas, Ledger.of(settings))
    return context, [conversation for conversation in results.conversations if conversation.ended in _OPEN]


if TYPE_CHECKING:
    from simulator.cli.simulate import Over
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
    from simulator.cli.engine import check_engine
    from simulator.cli.hearing import check_hearing

    pass

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
        pass

        found, errors = [], []
        for at in self.open():
            try:
                found.append(forecast_cell(self.settings[at], self.file.begun(at)))
            except InputError as error:
                errors.append(error)
        return together(found), errors

    def dry_run(self) -> int:
        """Shows the forecast of all open cells, and starts nothing."""
        from simulator.cli.announce import show_forecast

        found, errors = self.foreseen()
        if errors and len(errors) == len(self.open()):
            raise errors[0]
        for error in errors:
            say(f"a {self.each} cannot be run: {error}")
        show_forecast(found, as_json=self.now.json_output, jpy_per_usd=self.now.jpy_per_usd)
        return INCOMPLETE if errors else 0

    def _announce(self, todo: Sequence[int]) -> None:
        """How much there is to do, and before paid runs what all of it will take."""
        from simulator.cli.announce import total
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
        pass

        done = self._begin_or_take_up(at)
        if isinstance(done, int):
            return "interrupted" if done == INCOMPLETE else None
        silence = paint_cell(done.path, done.settings)
        if done.stopped is None:
            self.file.change(at, error=silence)
        return done.stopped

    def _begin_or_take_up(self, at: int) -> "Over | int":
        from simulator.cli.simulate import start, take_up

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


if TYPE_CHECKING:
    from simulator.addons.matrix.figures import MatrixFigures
    from simulator.addons.matrix.record import RecordFile
    from simulator.addons.matrix.report import MatrixReport

DONE, MISSED, MATRIX_SHOW_INCOMPLETE = 0, 1, 3
# Of report.json: raised when a key changes its meaning or goes, never for a new one.
JSON_SCHEMA = 1


def check_reports(settings: Settings) -> None:
    """Raises InputError for a report that a matrix does not have, before any cost."""
    from simulator.cli.sinks import check_sinks

    for name in settings.to:
        if name not in REPORTS:
            raise UnknownName(
                "report of a matrix", name, REPORTS, "Each cell's run has them: report RUN --to."
            )
    check_sinks(settings)


def paint_cell(path: Path, settings: Settings) -> str:
    """Writes the page of one cell's own run; gives why it never got an answer, or nothing."""
    from simulator.addons.matrix.record import silence
    from simulator.cli.publish import improvements_for, report_language
    from simulator.cli.sinks import write_atomically
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
    from simulator.cli.sinks import write_atomically

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
    from simulator.cli.publish import say_stopped

    if found.open or stopped:
        why = stopped or f"{len(found.open)} of {len(found.cells)} cells are not finished"
        say_stopped(file.folder / "matrix.json", why, "evaluate --resume {run}")
        return MATRIX_SHOW_INCOMPLETE
    if any(cell.incomplete for cell in found.cells):
        return MATRIX_SHOW_INCOMPLETE
    return MISSED if any(cell.passed is False for cell in found.cells) else DONE


def _xlsx(told: "MatrixReport", folder: Path, settings: Settings) -> str:
    from simulator.addons.matrix.report import save

    return str(save(told, folder / "report.xlsx"))


def _markdown(told: "MatrixReport", folder: Path, settings: Settings) -> str:
    from simulator.addons.matrix.report import markdown
    from simulator.cli.sinks import write_atomically

    write_atomically(folder / "report.md", markdown(told))
    return str(folder / "report.md")


def _json(told: "MatrixReport", folder: Path, settings: Settings) -> str:
    from simulator.addons.matrix.figures import as_json
    from simulator.cli.sinks import write_atomically

    shown = {"schema": JSON_SCHEMA, **as_json(told.found)}
    write_atomically(folder / "report.json", json.dumps(shown, ensure_ascii=False, indent=1) + "\n")
    return str(folder / "report.json")


def _sheets(told: "MatrixReport", folder: Path, settings: Settings) -> str:
    from simulator.addons.matrix.report import matrix_sheet
    from simulator.core.translations import plain
    from simulator.sheets.google_api import Target, target
    from simulator.sheets.google_push import new_sheet, push

    suffix = settings.worksheet or ""
    if settings.new_sheet:
        key = new_sheet(settings.new_sheet, settings.folder or "")
        place = Target(key=key, suffix=suffix, fresh=True)
    else:
        place = target(settings.sheet or "", suffix)
    pushed = push([matrix_sheet(told)], place, language=told.language)
    return "\n".join([pushed.url, *(plain(each) for each in pushed.notes)])


REPORTS: dict[str, Callable[["MatrixReport", Path, Settings], str]] = {
    "sheets": _sheets,
    "xlsx": _xlsx,
    "json": _json,
    "markdown": _markdown,
}
