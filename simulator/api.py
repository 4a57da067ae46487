"""The program as Python calls: `rehearse`, `evaluate`, `grade`, `compare`, and their async twins.

    from simulator import rehearse

    result = rehearse(answer, cases="questions.csv", persona="angry", offline=True)
    print(result.score, [turn.question for turn in result.red])

Keyword names are those of the flags (`turns=3`, `judges="turn,facts"`, `target=80`); settings come from the
environment and rehearsal.toml as on the command line, keys from the environment alone. Nothing is printed.
What is wrong is raised as a RehearsalError, whose text is the line that the command would print.

A run made from Python is a run like any other: `report`, `fixes` and `diff` take it.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, Unpack

from simulator import plugins
from simulator.cli.terminal import only_the_verdict
from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import _, shown
from simulator.core.run_options import RunOptions
from simulator.core.settings import Protocol as RunProtocol
from simulator.core.settings import load_settings
from simulator.core.types import Case, Conversations
from simulator.storage.results import without_superseded
from simulator.storage.run_file import read_run

if TYPE_CHECKING:  # each is imported by the call that needs it: `import simulator` loads no engine
    from pandas import DataFrame

    from simulator.cli.rehearsal import FinishedRun
    from simulator.report.context import ReportContext
    from simulator.stats.figures import RedTurn

Returned = TypeVar("Returned")
# The file of a report by its suffix; a page is made without one.
_REPORTS = {".md": "markdown", ".json": "json", ".csv": "csv", ".xlsx": "xlsx", ".xml": "junit"}


class Runnable(Protocol):
    """An object like those of LangChain and LangGraph."""

    @property
    def invoke(self) -> Callable[..., Any]:
        """Gives an output for an input."""
        ...


Bot: TypeAlias = Callable[..., Any] | Runnable | str | None
Cases: TypeAlias = str | Path | Iterable[Case] | Iterable[Mapping[str, Any]] | None


class RunResults:
    """A run that is over: its figures, its red turns, its conversations, and its reports.

    The run file at `path` stays; `stopped` says why the run ended early, in English, None where it did not.
    Figures are worked out at the first look, and are those of the report.
    """

    def __init__(self, finished: "FinishedRun") -> None:
        """Reads the run when it is first looked at."""
        self.path, self._settings = finished.path, finished.settings
        self.stopped = None if finished.stopped is None else shown(finished.stopped, "en")

    @cached_property
    def _context(self) -> "ReportContext":
        from simulator.cli import publish

        return publish.report_context(self.path, without_superseded(read_run(self.path)), self._settings)

    @property
    def score(self) -> float | None:
        """The mean over conversations, 0 to 1; None where nothing could be graded."""
        return self._context.summary.score

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the score, 0 to 1; None with fewer than five questions."""
        return self._context.summary.interval

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
        return tuple(self._context.summary.reddest)

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
        from simulator.cli import publish

        return publish.json_object(self._context, self.path)

    def report(self, path: str | Path) -> Path:
        """Writes the report as .html, .md, .json, .csv, .xlsx or .xml (JUnit), whatever the suffix says.

        It is a copy of what `--to` writes beside the run: a workbook has what people wrote in earlier ones.
        """
        from simulator.cli import destinations, publish
        from simulator.report.run import run_report

        path, context = Path(path), self._context
        if path.suffix == ".html":
            path.write_bytes(publish.page_html(context))
            return path
        if path.suffix not in _REPORTS:
            raise UnknownName(_("kind of report"), path.suffix or path.name, (".html", *_REPORTS))
        output = destinations.ReportOutput(
            context, run_report(context), self.path.parent, self._settings, self.as_dict()
        )
        path.write_bytes(Path(destinations.write_report(_REPORTS[path.suffix], output)).read_bytes())
        return path

    def __repr__(self) -> str:
        """The score, the verdict and the number of red turns."""
        return (
            f"RunResults({str(self.path)!r}, score={self.score}, passed={self.passed}, red={len(self.red)})"
        )


def rehearse(bot: Bot = None, cases: Cases = None, **options: Unpack[RunOptions]) -> RunResults:
    """Has customers talk with the bot, grades every turn, and returns the run.

    `bot` is a function of a question, or of question and history, that returns a text, or a text and its
    passages (docs/adapters.md); an object with `invoke`; or the name of an adapter. `cases` is a file, a list
    of objects with the columns of one, or a list of `Case`. Raises RehearsalError; on Ctrl-C what is done is
    stored.
    """
    return _quietly(lambda: _made("dialogue", bot, cases, options))


def evaluate(bot: Bot = None, cases: Cases = None, **options: Unpack[RunOptions]) -> RunResults:
    """Asks each row of a data set once, grades the answers, and returns the run; see `rehearse`."""
    return _quietly(lambda: _made("single_turn", bot, cases, options))


def grade(cases: Cases, **options: Unpack[RunOptions]) -> RunResults:
    """Grades answers that are in the rows already, with their contexts; see `rehearse`."""
    return _quietly(lambda: _made("single_turn", "recorded", cases, options))


def compare(
    first: RunResults | str | Path, second: RunResults | str | Path, **options: Unpack[RunOptions]
) -> dict[str, Any]:
    """Has a judge pick the better answer of two runs, turn by turn, in both orders.

    Both are results, or what names a run on the command line: an id, its start, "latest", a path.
    Returns what `compare --json` prints. Raises InputError where the two have no turn in common.
    """

    def work() -> dict[str, Any]:
        names = [str(run.path if isinstance(run, RunResults) else run) for run in (first, second)]
        return plugins.comparing()(names, load_settings(_flags(options)))

    return _quietly(work)


async def arehearse(bot: Bot = None, cases: Cases = None, **options: Unpack[RunOptions]) -> RunResults:
    """`rehearse`, awaited."""
    return await asyncio.to_thread(lambda: rehearse(bot, cases, **options))


async def aevaluate(bot: Bot = None, cases: Cases = None, **options: Unpack[RunOptions]) -> RunResults:
    """`evaluate`, awaited."""
    return await asyncio.to_thread(lambda: evaluate(bot, cases, **options))


async def agrade(cases: Cases, **options: Unpack[RunOptions]) -> RunResults:
    """`grade`, awaited."""
    return await asyncio.to_thread(lambda: grade(cases, **options))


async def acompare(
    first: RunResults | str | Path, second: RunResults | str | Path, **options: Unpack[RunOptions]
) -> dict[str, Any]:
    """`compare`, awaited."""
    return await asyncio.to_thread(lambda: compare(first, second, **options))


def _made(protocol: RunProtocol, bot: Bot, cases: Cases, options: Mapping[str, Any]) -> RunResults:
    from simulator.cli import rehearsal
    from simulator.cli.resume import resume
    from simulator.data.cases import GIVEN

    flags = _flags(options)
    listed: tuple[Any, ...] | None = None if cases is None or isinstance(cases, (str, Path)) else tuple(cases)
    objects = rehearsal.RunObjects(None if isinstance(bot, str) else bot, listed)
    if bot is not None:
        flags["adapter"] = bot if isinstance(bot, str) else _name_of(bot)
    if cases is not None:
        flags["cases"] = GIVEN if listed is not None else str(cases)
    settings = rehearsal.run_settings(load_settings(flags), protocol)
    if settings.resume is None:
        finished = rehearsal.start(settings, objects=objects)
    else:
        finished = resume(settings, bot=objects.bot)
    if isinstance(finished, int):
        raise InputError(_("nothing was run."))
    # Ctrl-C reached the run, which stored what it had; in a notebook it has to reach the cell as well.
    if read_run(finished.path).run.status == "interrupted":
        raise KeyboardInterrupt
    return RunResults(finished)


def _flags(options: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords as flags; raises UnknownName for one that is none, where no type checker looked."""
    for name in options:
        if name not in RunOptions.__annotations__:
            raise UnknownName(_("keyword"), name, RunOptions.__annotations__)
    return {name: str(value) if isinstance(value, PurePath) else value for name, value in options.items()}


def _name_of(bot: object) -> str:
    """What reports and errors call a bot: the name of its function or class, behind that of its module.

    `shop.rag:answer`, so that a run of a bot that can be imported is resumed from a command line, too.
    """
    if not callable(bot) and not hasattr(bot, "invoke") and not hasattr(bot, "ainvoke"):
        msg = _(
            "bot is {type}, not a function, an object with invoke, or the name of an adapter.",
            type=type(bot).__name__,
        )
        raise InputError(msg)
    module = getattr(bot, "__module__", None) or "__main__"
    name = str(getattr(bot, "__name__", type(bot).__name__))
    return f"{module}:{name if name.isidentifier() else 'bot'}"


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
