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

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cached_property, update_wrapper
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeAlias, TypeVar, Unpack

from simulator import plugins
from simulator.api.progress import silent
from simulator.core.errors import UnknownName
from simulator.core.messages import Message, _, called_from_python, shown
from simulator.core.run_options import RehearsalOptions, RowOptions, RunOptions
from simulator.core.settings import SETTINGS_LISTED, Settings, load_settings
from simulator.core.settings import Protocol as RunProtocol
from simulator.core.types import Case, Conversations, Results
from simulator.shelves import FOLDER

if TYPE_CHECKING:  # each is imported by the call that needs it: `import simulator` loads no engine
    from pandas import DataFrame

    from simulator.api.outputs import RunOutputs
    from simulator.report.context import ReportContext
    from simulator.results.figures import RedTurn

Given = ParamSpec("Given")
Returned = TypeVar("Returned")


class Runnable(Protocol):
    """An object like those of LangChain and LangGraph."""

    @property
    def invoke(self) -> Callable[..., Any]:
        """Gives an output for an input."""
        ...


AnyBot: TypeAlias = Callable[..., Any] | Runnable | str | None
Cases: TypeAlias = (
    "str | Path | Iterable[Case] | Iterable[Mapping[str, Any]] | Iterable[str] | DataFrame | None"
)


class RunResults:
    """A finished run: its figures, the answers that need review, its conversations and reports.

    `path` is the run file. `stopped` says in English why the run ended early; None if it did not. Figures are
    those of the report, computed when first read. Reading them raises RunFileError if the file cannot be
    read.
    """

    def __init__(self, path: Path, settings: Settings, stopped: Message | str | None = None) -> None:
        """Reads nothing yet."""
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
        """The mean over conversations, 0 to 1; None if nothing was graded."""
        return self._context.summary.scores.score

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the score, 0 to 1; None with fewer than five questions."""
        return self._context.summary.scores.interval

    @property
    def passed(self) -> bool | None:
        """Whether the target was reached: False also if that is undecided, None without a target.

        `assert result.passed` therefore fails without a target, too.
        """
        return self._context.gate.passed

    @property
    def trial(self) -> bool:
        """Whether no model graded: then score and verdict say nothing about the bot."""
        return self._context.summary.trial

    @property
    def reasons(self) -> list[str]:
        """What keeps the run from passing, in English, most serious first; empty if it passed."""
        return self._context.reasons

    @property
    def red(self) -> "tuple[RedTurn, ...]":
        """The answers that need review, most serious first, each with question, reason and marks."""
        return tuple(self._context.summary.red.answers)

    @property
    def causes(self) -> dict[tuple[str, int], str]:
        """The cause of each answer that needs review, by conversation and turn (from 1).

        A sentence that also says how sure it is.
        """
        context = self._context
        return {key: context.text(context.cause_sentence(*key)) for key in context.causes}

    @property
    def conversations(self) -> Conversations:
        """The conversations with their turns, in the order of the plan."""
        return self._context.results.conversations

    def to_frame(self) -> "DataFrame":
        """Returns a pandas DataFrame with a row for each turn; see `Results.to_frame`."""
        return self._context.results.to_frame()

    def as_dict(self) -> dict[str, Any]:
        """Returns what `--json` prints."""
        return self._outputs.json_object

    def report(self, path: str | Path) -> Path:
        """Writes the report in the format of the suffix, and returns its path.

        Suffixes: .html, .md, .json, .csv, .xlsx, .xml (JUnit). The file is the one that `--to` writes into
        the run's folder: a workbook has what people wrote in earlier ones. Raises InputError for another
        suffix, and for a path that cannot be written.
        """
        from simulator.api.destinations import save_report

        save_report(self._outputs, Path(path))
        return Path(path)

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, the change since the last run, the answers that need review."""
        return self._outputs.notebook()

    def __repr__(self) -> str:
        """Score, verdict and the number of answers that need review, and whether it is a trial."""
        figures = f"score={self.score}, passed={self.passed}, red={len(self.red)}"
        return f"RunResults({str(self.path)!r}, {figures}{', trial=True' if self.trial else ''})"


RunName: TypeAlias = RunResults | str | Path


def _quiet(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """A call without what it prints; on a thread of its own where an event loop runs here.

    A notebook runs one, and `asyncio.run` refuses to start a second on the same thread. What is printed goes
    for the whole process, so calls at the same time from several threads are quiet together.
    """

    def quiet(*args: Given.args, **options: Given.kwargs) -> Returned:
        with silent():
            return function(*args, **options)

    def called(*args: Given.args, **options: Given.kwargs) -> Returned:
        plugins.offer()
        called_from_python(FOLDER)
        if not _is_loop_running():
            return quiet(*args, **options)
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(quiet, *args, **options).result()

    return update_wrapper(called, function)


def _is_loop_running() -> bool:
    import asyncio  # a page of help waits for nothing

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@_quiet
def rehearse(bot: AnyBot = None, cases: Cases = None, **options: Unpack[RehearsalOptions]) -> RunResults:
    """Has customers talk with the bot, grades every answer, and returns the run.

    `bot` is a function that takes a question, or question and history, and returns a text, or a text and its
    passages (docs/bots.md); an object with `invoke`; or the name of an adapter. `cases` is a file, a list of
    mappings or a pandas frame with its columns (docs/questions.md), a list of questions, or a list of `Case`.
    None for either takes that of rehearsal.toml, else the bundled one. Options are those of the command line.

    Raises InputError for what you can fix, RehearsalError otherwise, and KeyboardInterrupt on Ctrl-C: what is
    done is stored.
    """
    return _made("dialogue", bot, cases, _flags(options, RehearsalOptions))


@_quiet
def evaluate(bot: AnyBot = None, cases: Cases = None, **options: Unpack[RowOptions]) -> RunResults:
    """Asks the bot each row of a data set once, grades the answers, and returns the run.

    Arguments and errors are those of `rehearse`; `evaluate("recorded", cases)` grades recorded answers.
    """
    return _made("single_turn", bot, cases, _flags(options, RowOptions))


@_quiet
def grade(run: RunName, *, again: bool = False, **options: Unpack[RunOptions]) -> RunResults:
    """Grades a finished run with the judges given, without new conversations, and returns it.

    `run` is a `RunResults`, a path, "latest", or an id or its beginning. Grades that the run has are kept;
    `again` replaces them. Raises InputError if there is no such run, and RehearsalError otherwise.
    """
    from simulator.api.regrade import grade_run

    graded = grade_run(_name(run), _flags(options), again=again)
    return RunResults(graded.path, graded.settings, graded.stopped)


@_quiet
def diff(
    before: RunName = "latest", after: RunName = "latest", *, runs: str | Path | None = None
) -> dict[str, Any]:
    """Compares two runs: whether the bot got better or worse, and what broke. Asks no model.

    `before` and `after` name runs as in `grade`, in the folder `runs` (None: that of the settings); without
    `before` it is the last run that the newest can be compared with. Returns what `diff --json` prints:
    `regression`, `cannot_tell`, `said` and the figures behind them; writes no page. Raises InputError if both
    are the same run, or have no question in common.
    """
    from simulator.api.comparison import difference

    folder = Path(load_settings({"runs": runs and str(runs)}).runs)
    return difference(_name(before), _name(after), folder).without_page().as_json()


@_quiet
def review(
    run: RunName, source: str | Path | None = None, *, runs: str | Path | None = None
) -> dict[str, Any]:
    """Stores people's opinions on a run, and measures its judge by them. Asks no model.

    `source` is a workbook of `--to xlsx`, "sheet" or the address of one; None reads only what is stored.
    Returns what `review --json` prints. Raises InputError if nothing in it belongs to the run.
    """
    from simulator.api.verdicts import reviewed

    settings = load_settings({"runs": runs and str(runs)})
    return reviewed(_name(run), str(source) if source else None, settings, {}).as_json()


@_quiet
def learn(
    run: RunName | Sequence[RunName] = (), source: str | Path | None = None, **options: Unpack[RunOptions]
) -> dict[str, Any]:
    """Learns rules of the desk from people's labels, tries them on labels kept aside, and writes desk.toml.

    `run` names one run or several; empty means all labelled runs of the folder. `source` is read first: what
    `review` takes, or a file of labelled answers. Returns what `learn --json` prints: `accepted`, `why`,
    `clauses` and the figures behind them. Raises InputError if labels are too few, or all good or all bad.
    """
    from simulator.api.learning import learn_from

    named = [run] if isinstance(run, (str, Path, RunResults)) else run
    given = None if source is None else str(source)
    return learn_from([*map(_name, named)], given, _flags(options)).as_json()


@_quiet
def compare(first: RunName, second: RunName, **options: Unpack[RunOptions]) -> dict[str, Any]:
    """Has a judge pick the better answer of two runs, turn by turn, in both orders.

    `first` and `second` name runs as in `grade`. Returns what `compare --json` prints. Raises InputError if
    the two have no turn in common, or if no model is there to judge.
    """
    return plugins.comparing()([_name(first), _name(second)], load_settings(_flags(options)))


def open_run(run: RunName = "latest", runs: str = "runs") -> Results:
    """Returns the conversations and grades of a stored run.

    `run` names a run as in `grade`; ids are looked up in the folder `runs`. Raises RunFileError
    if there is none, or if it cannot be read.
    """
    from simulator.storage import run_file

    called_from_python(FOLDER)
    return run_file.read_run(run_file.find_run(_name(run), Path(runs)))


def _on_a_thread(function: Callable[Given, Returned]) -> Callable[Given, Coroutine[Any, Any, Returned]]:
    """The async twin of a call, which runs it on a thread: same arguments, result and errors."""

    async def twin(*args: Given.args, **options: Given.kwargs) -> Returned:
        import asyncio

        return await asyncio.to_thread(function, *args, **options)

    return update_wrapper(twin, function)


arehearse = _on_a_thread(rehearse)
aevaluate = _on_a_thread(evaluate)
agrade = _on_a_thread(grade)
adiff = _on_a_thread(diff)
areview = _on_a_thread(review)
alearn = _on_a_thread(learn)
acompare = _on_a_thread(compare)


def _made(protocol: RunProtocol, bot: AnyBot, cases: Cases, flags: dict[str, Any]) -> RunResults:
    from simulator.api.make import make_with_objects

    made = make_with_objects(protocol, bot, cases, flags)
    return RunResults(made.path, made.settings, made.stopped)


def _name(run: RunName) -> str:
    return str(run.path if isinstance(run, RunResults) else run)


def _flags(options: Mapping[str, Any], kind: type = RunOptions) -> dict[str, Any]:
    """The keywords as flags; raises UnknownName for one that is none, where no type checker looked."""
    for name in options:
        if name not in kind.__annotations__:
            raise UnknownName(_("keyword"), name, kind.__annotations__, listed=SETTINGS_LISTED)
    flags = {name: value for name, value in options.items() if name != "added"} | options.get("added", {})
    return {name: str(value) if isinstance(value, PurePath) else value for name, value in flags.items()}
