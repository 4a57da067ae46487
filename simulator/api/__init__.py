"""The program as Python calls: `rehearse`, `evaluate`, `grade`, `diff`, `review`, and their async twins.

    from simulator import rehearse

    result = rehearse(answer, cases="questions.csv", persona="angry", offline=True)
    print(result.score, [turn.question for turn in result.red])

Keyword names are those of the flags (`turns=3`, `judges="turn,facts"`, `target=80`); settings come from the
environment and rehearsal.toml as on the command line, keys from the environment alone. Nothing is printed.
What is wrong is raised as a RehearsalError, whose text is the line that the command would print.

A run made from Python is a run like any other: `report`, `fixes` and `diff` take it. The commands call what
these calls call, with `Settings`, and print what comes back: `make` (api/make.py), `grade_run`
(api/regrade.py), `difference` (api/comparison.py), `reviewed` (api/verdicts.py).
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, Unpack

from simulator import plugins
from simulator.api.progress import only_the_verdict
from simulator.core.errors import UnknownName
from simulator.core.messages import Message, _, shown
from simulator.core.run_options import RehearsalOptions, RowOptions, RunOptions
from simulator.core.settings import Protocol as RunProtocol
from simulator.core.settings import Settings, load_settings
from simulator.core.types import Case, Conversations, Results

if TYPE_CHECKING:  # each is imported by the call that needs it: `import simulator` loads no engine
    from pandas import DataFrame

    from simulator.api.outputs import RunOutputs
    from simulator.report.context import ReportContext
    from simulator.results.figures import RedTurn

Returned = TypeVar("Returned")


class Runnable(Protocol):
    """An object like those of LangChain and LangGraph."""

    @property
    def invoke(self) -> Callable[..., Any]:
        """Gives an output for an input."""
        ...


AnyBot: TypeAlias = Callable[..., Any] | Runnable | str | None
Cases: TypeAlias = str | Path | Iterable[Case] | Iterable[Mapping[str, Any]] | None
Source: TypeAlias = str | Path | Iterable[Mapping[str, Any]] | None


class RunResults:
    """A run that is over: its figures, its red turns, its conversations, and its reports.

    The run file at `path` stays; `stopped` says why the run ended early, in English, None where it did not.
    Figures are worked out at the first look, and are those of the report.
    """

    def __init__(self, path: Path, settings: Settings, stopped: Message | str | None = None) -> None:
        """Reads the run when it is first looked at."""
        self.path, self._settings = path, settings
        self.stopped = None if stopped is None else shown(stopped, "en")

    @cached_property
    def _outputs(self) -> "RunOutputs":
        from simulator.api.outputs import RunOutputs

        return RunOutputs(self.path, self._settings)

    @property
    def _context(self) -> "ReportContext":
        return self._outputs.context

    @property
    def score(self) -> float | None:
        """The mean over conversations, 0 to 1; None where nothing could be graded."""
        return self._context.summary.scores.score

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the score, 0 to 1; None with fewer than five questions."""
        return self._context.summary.scores.interval

    @property
    def passed(self) -> bool | None:
        """Whether the target was reached: False also where that is undecided, None without a target.

        So `assert result.passed` fails without a target, too.
        """
        return self._context.gate.passed

    @property
    def reasons(self) -> list[str]:
        """What keeps the run from passing, gravest first, in English."""
        return [shown(finding.message, "en") for finding in self._context.gate.findings]

    @property
    def red(self) -> "tuple[RedTurn, ...]":
        """The turns that people should read, gravest first: question, answer, reason, marks."""
        return tuple(self._context.summary.red.answers)

    @property
    def causes(self) -> dict[tuple[str, int], str]:
        """Why each red turn is red, by conversation and turn: a sentence, with how sure that is."""
        context = self._context
        return {key: context.text(context.cause_sentence(*key)) for key in context.causes}

    @property
    def conversations(self) -> Conversations:
        """The conversations with their turns, in the order of the plan."""
        return self._context.results.conversations

    def to_frame(self) -> "DataFrame":
        """A pandas DataFrame with a row for each turn; see `Results.to_frame`."""
        return self._context.results.to_frame()

    def as_dict(self) -> dict[str, Any]:
        """The object of --json."""
        return self._outputs.json_object

    def report(self, path: str | Path) -> Path:
        """Writes the report as .html, .md, .json, .csv, .xlsx or .xml (JUnit), whatever the suffix says.

        It is a copy of what `--to` writes beside the run: a workbook has what people wrote in earlier ones.
        Raises InputError for another suffix, and for a place that cannot be written.
        """
        self._outputs.write(Path(path))
        return Path(path)

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, what has changed since the last run, and the red answers."""
        return self._outputs.notebook()

    def __repr__(self) -> str:
        """The score, the verdict and the number of red turns."""
        return (
            f"RunResults({str(self.path)!r}, score={self.score}, passed={self.passed}, red={len(self.red)})"
        )


RunName: TypeAlias = RunResults | str | Path


def rehearse(bot: AnyBot = None, cases: Cases = None, **options: Unpack[RehearsalOptions]) -> RunResults:
    """Has customers talk with the bot, grades every turn, and returns the run.

    `bot` is a function of a question, or of question and history, that returns a text, or a text and its
    passages (docs/bots.md); an object with `invoke`; or the name of an adapter. `cases` is a file, a list
    of objects with the columns of one, or a list of `Case`. Raises RehearsalError; on Ctrl-C what is done is
    stored.
    """
    return _quietly(lambda: _made("dialogue", bot, cases, options))


def evaluate(bot: AnyBot = None, cases: Cases = None, **options: Unpack[RowOptions]) -> RunResults:
    """Asks each row of a data set once, grades the answers, and returns the run; see `rehearse`."""
    return _quietly(lambda: _made("single_turn", bot, cases, options))


def grade(run: RunName, *, again: bool = False, **options: Unpack[RunOptions]) -> RunResults:
    """Grades a finished run with more judges, without any new conversation, and returns it.

    `run` is a result, or what names a run on the command line: an id, its start, "latest", a path. With
    `again` grades that are there are replaced. Raises RehearsalError.
    """

    def work() -> RunResults:
        from simulator.api.regrade import grade_run

        graded = grade_run(_name(run), _flags(options), again=again)
        return RunResults(graded.path, graded.settings, graded.stopped)

    return _quietly(work)


def diff(before: RunName, after: RunName = "latest", *, runs: str | Path | None = None) -> dict[str, Any]:
    """Whether the bot got better from one run to a later one, and what broke; asks no model.

    Returns what `diff --json` prints: `regression`, `cannot_tell`, `said` and the figures behind them. No
    page is written. Names are looked up in the folder `runs`. Raises InputError where the two have no
    question in common.
    """

    def work() -> dict[str, Any]:
        from simulator.api.comparison import difference

        folder = Path(load_settings({"runs": runs and str(runs)}).runs)
        return difference(_name(before), _name(after), folder).without_page().as_json()

    return _quietly(work)


def review(run: RunName, source: Source = None, *, runs: str | Path | None = None) -> dict[str, Any]:
    """Stores what people say about a run, and holds its judge against it; asks no model.

    `source` is a workbook of `--to xlsx`, a file of blind grades, "sheet" or its address, or a list of dicts
    with the columns conversation, turn, reviewer, grade (1 to 5) and comment; without it only what was stored
    before is read. Returns what `review --json` prints. Raises InputError where nothing of it fits the run.
    """

    def work() -> dict[str, Any]:
        from simulator.api.verdicts import reviewed

        settings = load_settings({"runs": runs and str(runs)})
        given = str(source) if isinstance(source, (str, Path)) else tuple(source or ())
        sheet = (None, None), (settings.sheet, settings.worksheet)
        return reviewed(_name(run), given, settings.runs, sheet, settings.tests).as_json()

    return _quietly(work)


def learn(
    run: RunName | Sequence[RunName] = (), source: str | Path | None = None, **options: Unpack[RunOptions]
) -> dict[str, Any]:
    """Learns rules of the desk from people's labels, tries them on labels kept aside, and writes desk.toml.

    Of all labelled runs of the folder, or of those that are named; `source` is read first, as `review` reads
    it, or a file of labelled answers. Returns what `learn --json` prints: `accepted`, `why`, `clauses` and
    the figures behind them. Raises InputError for labels that are too few, or of one kind.
    """

    def work() -> dict[str, Any]:
        from simulator.api.learning import learn_from

        named = [run] if isinstance(run, (str, Path, RunResults)) else run
        given = None if source is None else str(source)
        flags = _flags(options)
        settings = load_settings(flags)
        sheet = (None, None), (settings.sheet, settings.worksheet)
        return learn_from([*map(_name, named)], given, flags, sheet).as_json()

    return _quietly(work)


def compare(first: RunName, second: RunName, **options: Unpack[RunOptions]) -> dict[str, Any]:
    """Has a judge pick the better answer of two runs, turn by turn, in both orders.

    Both are results, or what names a run on the command line: an id, its start, "latest", a path.
    Returns what `compare --json` prints. Raises InputError where the two have no turn in common.
    """

    def work() -> dict[str, Any]:
        return plugins.comparing()([_name(first), _name(second)], load_settings(_flags(options)))

    return _quietly(work)


def open_run(run: str = "latest", runs: str = "runs") -> Results:
    """A run by its id, the beginning of one, `latest` or its path; RunFileError if there is none."""
    from simulator.storage import run_file

    return run_file.read_run(run_file.find_run(run, Path(runs)))


async def arehearse(
    bot: AnyBot = None, cases: Cases = None, **options: Unpack[RehearsalOptions]
) -> RunResults:
    """`rehearse`, awaited."""
    return await asyncio.to_thread(lambda: rehearse(bot, cases, **options))


async def aevaluate(bot: AnyBot = None, cases: Cases = None, **options: Unpack[RowOptions]) -> RunResults:
    """`evaluate`, awaited."""
    return await asyncio.to_thread(lambda: evaluate(bot, cases, **options))


async def agrade(run: RunName, *, again: bool = False, **options: Unpack[RunOptions]) -> RunResults:
    """`grade`, awaited."""
    return await asyncio.to_thread(lambda: grade(run, again=again, **options))


async def adiff(
    before: RunName, after: RunName = "latest", *, runs: str | Path | None = None
) -> dict[str, Any]:
    """`diff`, awaited."""
    return await asyncio.to_thread(lambda: diff(before, after, runs=runs))


async def areview(run: RunName, source: Source = None, *, runs: str | Path | None = None) -> dict[str, Any]:
    """`review`, awaited."""
    return await asyncio.to_thread(lambda: review(run, source, runs=runs))


async def alearn(
    run: RunName | Sequence[RunName] = (), source: str | Path | None = None, **options: Unpack[RunOptions]
) -> dict[str, Any]:
    """`learn`, awaited."""
    return await asyncio.to_thread(lambda: learn(run, source, **options))


async def acompare(first: RunName, second: RunName, **options: Unpack[RunOptions]) -> dict[str, Any]:
    """`compare`, awaited."""
    return await asyncio.to_thread(lambda: compare(first, second, **options))


def _made(protocol: RunProtocol, bot: AnyBot, cases: Cases, options: Mapping[str, Any]) -> RunResults:
    from simulator.api.make import make_with_objects

    kind = RowOptions if protocol == "single_turn" else RehearsalOptions
    made = make_with_objects(protocol, bot, cases, _flags(options, kind))
    return RunResults(made.path, made.settings, made.stopped)


def _name(run: RunName) -> str:
    return str(run.path if isinstance(run, RunResults) else run)


def _flags(options: Mapping[str, Any], kind: type = RunOptions) -> dict[str, Any]:
    """The keywords as flags; raises UnknownName for one that is none, where no type checker looked."""
    for name in options:
        if name not in kind.__annotations__:
            raise UnknownName(_("keyword"), name, kind.__annotations__)
    flags = {name: value for name, value in options.items() if name != "added"} | options.get("added", {})
    return {name: str(value) if isinstance(value, PurePath) else value for name, value in flags.items()}


def _quietly(work: Callable[[], Returned]) -> Returned:
    """What the work returns, without what it prints; on a thread of its own where an event loop runs here.

    A notebook runs one, and `asyncio.run` refuses to start a second on the same thread. What is printed goes
    for the whole process, so calls at the same time from several threads are quiet together.
    """
    plugins.offer()

    def silent() -> Returned:
        with only_the_verdict(quiet=True):
            return work()

    if not _has_loop():
        return silent()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(silent).result()


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
