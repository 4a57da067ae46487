"""The program as Python calls: `rehearse`, `evaluate`, `grade`, `compare`, and their async twins.

    from simulator import rehearse

    result = rehearse(answer, cases="questions.csv", persona="angry", offline=True)
    print(result.score, [turn.question for turn in result.red])

Keyword names are those of the flags (`turns=3`, `judges="turn,facts"`, `target=80`); settings come from the
environment and rehearsal.toml as on the command line, keys from the environment alone. Nothing is printed.
What is wrong is raised as a RehearsalError, whose text is the line that the command would print.

Nothing here does what a command does not do: a function writes what it is given into the form that the
command line takes (cases into a file, a bot into a module that an adapter can name), makes a run by
`cli/rehearsal.py`, and returns it. So a run made from Python is a run like any other: `report`, `fixes` and
`diff` take it.
"""

import asyncio
import contextlib
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from simulator import plugins
from simulator.cli.terminal import only_the_verdict
from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import _, shown
from simulator.core.settings import Protocol, Settings, load_settings
from simulator.core.types import Conversations
from simulator.storage.results import without_superseded
from simulator.storage.run_file import read_run

if TYPE_CHECKING:  # each is imported by the call that needs it: `import simulator` loads no engine
    from pandas import DataFrame

    from simulator.cli.rehearsal import FinishedRun
    from simulator.report.context import ReportContext
    from simulator.stats.figures import RedTurn

Returned = TypeVar("Returned")
Cases = str | Path | Iterable[Mapping[str, Any]] | None
# Where the bots of callers are, so that an adapter finds them by a name: `called_from_python:answer`. That is
# also the adapter's name in reports.
_MODULE = "called_from_python"
_numbers = itertools.count(1)
# The file of a report by its suffix; a page is made without one.
_REPORTS = {".md": "markdown", ".json": "json", ".csv": "csv", ".xlsx": "xlsx", ".xml": "junit"}
# What only a command line can mean: what it prints, and where else it writes.
_COMMAND_LINE = (
    "dry_run",
    "json_output",
    "verbose",
    "quiet",
    "open_page",
    "to",
    "sheet",
    "worksheet",
    "new_sheet",
    "folder",
)


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


def rehearse(bot: Any = None, *, cases: Cases = None, **flags: Any) -> RunResults:
    """Has customers talk with the bot, grades every turn, and returns the run.

    `bot` is a function of a question, or of question and history, that returns a text, or a text and its
    passages (docs/adapters.md); an object with `invoke`; or the name of an adapter. `cases` is a file, or a
    list of objects with the columns of one. Raises RehearsalError; on Ctrl-C what is done is stored.
    """
    return _made("dialogue", bot, cases, flags)


def evaluate(cases: Cases, bot: Any = None, **flags: Any) -> RunResults:
    """Asks each row of a data set once, grades the answers, and returns the run; see `rehearse`."""
    return _made("single_turn", bot, cases, flags)


def grade(cases: Cases, **flags: Any) -> RunResults:
    """Grades answers that are in the rows already, with their contexts; see `rehearse`."""
    return _made("single_turn", "recorded", cases, flags)


def compare(*runs: RunResults | str | Path, **flags: Any) -> dict[str, Any]:
    """Has a judge pick the better answer of two runs, turn by turn, in both orders.

    `runs` are two results, or what names a run on the command line: an id, its start, "latest", a path.
    Returns what `compare --json` prints. Raises InputError where the two have no turn in common.
    """

    def work() -> dict[str, Any]:
        settings = load_settings(_checked(flags))
        names = [str(run.path if isinstance(run, RunResults) else run) for run in runs]
        return plugins.comparing()(names, settings)

    return _quietly(work)


async def arehearse(bot: Any = None, *, cases: Cases = None, **flags: Any) -> RunResults:
    """`rehearse`, awaited."""
    return await asyncio.to_thread(rehearse, bot, cases=cases, **flags)


async def aevaluate(cases: Cases, bot: Any = None, **flags: Any) -> RunResults:
    """`evaluate`, awaited."""
    return await asyncio.to_thread(evaluate, cases, bot, **flags)


async def agrade(cases: Cases, **flags: Any) -> RunResults:
    """`grade`, awaited."""
    return await asyncio.to_thread(grade, cases, **flags)


async def acompare(*runs: RunResults | str | Path, **flags: Any) -> dict[str, Any]:
    """`compare`, awaited."""
    return await asyncio.to_thread(lambda: compare(*runs, **flags))


def _made(protocol: Protocol, bot: Any, cases: Cases, flags: dict[str, Any]) -> RunResults:
    def work() -> RunResults:
        from simulator.cli import rehearsal
        from simulator.cli.resume import resume

        with _as_file(cases) as file, _as_adapter(bot, flags) as named:
            settings = rehearsal.run_settings(
                load_settings(_checked(named) | ({"cases": file} if file else {})), protocol
            )
            finished = rehearsal.start(settings) if settings.resume is None else resume(settings)
        if isinstance(finished, int):
            raise InputError(_("nothing was run."))
        # Ctrl-C reached the run, which stored what it had; in a notebook it has to reach the cell as well.
        if read_run(finished.path).run.status == "interrupted":
            raise KeyboardInterrupt
        return RunResults(finished)

    return _quietly(work)


def _checked(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags; raises UnknownName for a keyword that is none."""
    known = [name for name in Settings.model_fields if name not in _COMMAND_LINE]
    for name in flags:
        if name not in known:
            raise UnknownName(_("keyword"), name, known)
    return dict(flags)


@contextlib.contextmanager
def _as_file(cases: Cases) -> Iterator[str | None]:
    """The file of the cases; objects are written into one, so that they are checked like its rows."""
    if cases is None or isinstance(cases, (str, Path)):
        yield None if cases is None else str(cases)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.jsonl"
        lines = (json.dumps(dict(case), ensure_ascii=False, default=str) for case in cases)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        yield str(path)


@contextlib.contextmanager
def _as_adapter(bot: Any, flags: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The flags with the adapter of this bot, which is found by a name for as long as it is needed."""
    if bot is None or isinstance(bot, str):
        yield flags | ({"adapter": bot} if bot else {})
        return
    runs_itself = hasattr(bot, "invoke") or hasattr(bot, "ainvoke")
    if not runs_itself and not callable(bot):
        msg = _(
            "bot is {type}, not a function, an object with invoke, or the name of an adapter.",
            type=type(bot).__name__,
        )
        raise InputError(msg)
    # Under the function's own name, so that reports and errors name it; a second one of that name gets a
    # number.
    module = sys.modules.setdefault(_MODULE, ModuleType(_MODULE))
    plain = str(getattr(bot, "__name__", type(bot).__name__))
    name = plain if plain.isidentifier() else "bot"
    if hasattr(module, name):
        name = f"{name}_{next(_numbers)}"
    setattr(module, name, bot)
    place = f"{_MODULE}:{name}"
    own = (
        {"adapter": "runnable", "set": {"target": place, **flags.get("set", {})}}
        if runs_itself
        else {"adapter": place}
    )
    try:
        yield flags | own
    finally:
        delattr(module, name)


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
