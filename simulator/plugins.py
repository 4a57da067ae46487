"""What a room of the lab, or another package, may add to the program.

A room is a folder of `simulator/lab/` with a `plugin.py`. `LAB` below lists its commands and settings, and
only these import it. Another package names its plug-in in the entry-point group `rehearsal.plugins`:

    # pyproject.toml of the package
    [project.entry-points."rehearsal.plugins"]
    desk = "desk_plugin:PLUGIN"

    # desk_plugin.py
    from simulator import GradingContext
    from simulator.core.document import figures_section
    from simulator.plugins import Plugin

    def greets(context: GradingContext) -> bool:
        "Whether an answer begins with a greeting."
        return context.turn.answer.text.startswith("Hello")

    def greeted(results):
        "Of every answer whether it begins with a greeting (0 or 1), each with its question."
        for conversation in results.conversations:
            for turn in conversation.turns:
                yield float(turn.answer.text.startswith("Hello")), conversation.case.id

    def greetings(name: str = "you") -> int:
        "Say hello to somebody."
        print(f"Hello, {name}.")
        return 0

    def section(results, summary, settings):
        line, figures = f"{summary.turns} turns at the desk", {"turns": summary.turns}
        return figures_section(key="desk", title="The desk", line=line, figures=figures)

    PLUGIN = Plugin(
        name="desk",
        commands={"greetings": greetings},
        judges={"greets": greets},
        figures={"greeted": greeted},
        sections=(section,),
    )

Then `rehearsal greetings --name Ann`, `rehearsal --judges turn,greets` and `--target "greeted >= 0.9"` work,
reports have the section, `list` shows the judge and `doctor` the package. In the core only the command line
and the Python API import this module; they hand the other packages what these need of plug-ins.
"""

import sys
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from simulator.cases.formats import ChoiceRows, Format, offer_choice_rows, offer_formats
from simulator.core.choosing import Choosing, offer_choosing
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, say
from simulator.core.settings import AddedSettings, Settings, flag, is_set, offer_settings
from simulator.core.shelves import offer_judges
from simulator.core.target import target_conditions
from simulator.grading.offered import offer_grading
from simulator.results.offered import GateFigure, offer_figures

if TYPE_CHECKING:  # a page of help needs none of these
    from importlib.metadata import EntryPoint

    from pydantic import JsonValue

    from simulator.core.document import Line, Section
    from simulator.core.roles import Endpoint
    from simulator.core.types import Conversation, Results
    from simulator.grading.offered import Outputs
    from simulator.models.client import Model
    from simulator.models.connections import Connections
    from simulator.models.pricing import Ledger
    from simulator.report.context import ReportContext
    from simulator.results.figures import Summary
    from simulator.runner.context import RunContext
    from simulator.runner.run import Closing, Preparation, Progress, RunnerFactory
    from simulator.storage.run_file import RunFile

GROUP = "rehearsal.plugins"
Part = TypeVar("Part")


class Engine(Protocol):
    """Holds the conversations of a run in other processes; `runner.run.perform` does so in this one."""

    async def __call__(  # noqa: PLR0917 - the same as of the local engine
        self,
        context: "RunContext",
        plan: "Sequence[Conversation]",
        open_file: "Callable[[], RunFile]",
        progress: "Progress",
        prepare: "Preparation | None" = None,
        new_runner: "RunnerFactory | None" = None,
        closing: "Closing | None" = None,
    ) -> tuple[Path, Message | str | None]:
        """Returns the path of the run file, and why the run stopped early; None if it did not."""
        ...


class Division(NamedTuple):
    """The conversations that this run holds, in the plan's order, and notes for its run file: JSON by key."""

    conversations: "Sequence[Conversation]"
    notes: Mapping[str, str]


# Picks the part of a plan that this run holds; None for all of it.
Dividing: TypeAlias = "Callable[[Settings, Sequence[Conversation]], Division | None]"
# What to do with the open run file before the first conversation; None for nothing. The notes are those of
# the run file, empty for a new run.
Preparing: TypeAlias = "Callable[[RunContext, Mapping[str, JsonValue]], Preparation | None]"
# A section of every report of a run, by the settings of the report; None if the run has nothing for it.
# `--json` has its figures under its key.
SectionBuilder: TypeAlias = "Callable[[Results, Summary, Settings], Section | None]"
# What to know before relying on a run's figures: lines of the tone "alarm" or "soft", in the order to show
# them.
RemarkBuilder: TypeAlias = "Callable[[Results], Iterable[Line]]"
# Evaluates several data sets, prompts or bots, by files, prompts and flags, and compares them; returns the
# exit code, or None if the command line means a single run.
Evaluation: TypeAlias = "Callable[[Sequence[str], Sequence[str], Mapping[str, Any]], int | None]"
# Has a judge pick the better answer of two runs, turn by turn; returns what `compare --json` prints.
Comparing: TypeAlias = "Callable[[Sequence[str], Settings], dict[str, Any]]"


class Printed(NamedTuple):
    """What a run prints instead of its summary: `text` to standard output, `remarks` to standard error."""

    text: str
    remarks: Sequence[Message] = ()


@dataclass(frozen=True)
class Destination:
    """Where `--to` sends a run.

    `send` gets the name as typed, what reports are made from, and the settings; it returns a line that says
    where the run is now. It raises InputError (exit code 2) for what the user can fix, another RehearsalError
    (3) for what may pass. `check` gets the name before anything is paid, and raises InputError for one that
    will not work.
    """

    send: "Callable[[str, ReportContext, Settings], str]"
    check: Callable[[str], None]


class RequestBatches(Protocol):
    """Models that send their requests in batches: answered within a day, at a lower price."""

    at_once: int
    """How many turns to grade at the same time."""

    def __call__(
        self, endpoint: "Endpoint", connections: "Connections", ledger: "Ledger", **options: Any
    ) -> "Model":
        """Returns the model at an endpoint; arguments are those of `models.client.Model`."""
        ...

    async def close(self, *, finished: bool) -> None:
        """Closes what is open; `finished` if all replies have come and were used."""
        ...

    def interrupted(self) -> Message:
        """Says what becomes of open requests when the user stops waiting."""
        ...

    def cancel(self, endpoint: "Endpoint | None") -> Message:
        """Cancels the open requests of an earlier grading, and says what became of them."""
        ...


class Batching(Protocol):
    """Makes the batches of one grading."""

    @property
    def share(self) -> float:
        """Their price as a share of the usual one: 0.5 for half."""
        ...

    def __call__(self, file: "RunFile", /) -> RequestBatches:
        """Returns the models; `file` is the run file, which records open requests."""
        ...


@dataclass(frozen=True, kw_only=True)
class Subcommands:
    """A command with subcommands, such as `thresholds suggest`. `about` is its help."""

    about: str
    commands: Mapping[str, Callable[..., int]]


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """What a room or package adds.

    Only `name` is required. A function that returns None adds nothing to that run.

        commands       by name: a function whose parameters are its options (or with `cli.options.takes`),
                       whose docstring is its help, and which returns the exit code
        judges         by name: a function (docs/judges.md), or the path of a rubric in TOML
        readers        formats of logs
        settings       options, variables and keys of rehearsal.toml; a room has them in its settings.py,
                       which imports nothing else of the room
        figures        what a target may name: values from 0 to 1 (more is better), each with the id of its
                       case; the figure is their mean
        titles         what people read for a figure; without one its name
        sections       of reports, in order
        remarks        warnings about a run's figures, in order
        engine         holds the conversations of a run in other processes
        dividing       picks the part of a plan that this run holds
        runner         makes the runner of a run
        preparation    prepares a run before its first conversation
        check          raises InputError for settings that do not go together, before anything is read
        settled        returns the settings as the run has them
        outputs        what the answers of a run are graded by, and their thresholds
        choosing       how the choices of a prompt are weighed
        panel          further models that grade
        choice_rows    reads rows of multiple-choice questions
        arguments      parameters that judges may ask for, by name
        destinations   further names of --to, or beginnings of addresses: `https` for `--to https://...`
        batching       grades a run by a provider's batch API
        printed        what a run prints instead of its summary
        evaluation     evaluates several data sets, prompts or bots
        comparing      compares two runs in pairs
        reacting       plays each customer with bots of known kinds, and returns the exit code
    """

    name: str
    commands: Mapping[str, Callable[..., int] | Subcommands] = field(default_factory=dict)
    judges: Mapping[str, Callable[..., Any] | Path] = field(default_factory=dict)
    readers: tuple[Format, ...] = ()
    settings: type[AddedSettings] | None = None
    figures: Mapping[str, GateFigure] = field(default_factory=dict)
    titles: Mapping[str, Message] = field(default_factory=dict)
    sections: "tuple[SectionBuilder, ...]" = ()
    remarks: "tuple[RemarkBuilder, ...]" = ()
    engine: Callable[[Settings], Engine | None] | None = None
    dividing: "Dividing | None" = None
    runner: "RunnerFactory | None" = None
    preparation: "Preparing | None" = None
    check: Callable[[Settings], None] | None = None
    settled: Callable[[Settings], Settings] | None = None
    outputs: "Callable[[Settings], Outputs | None] | None" = None
    choosing: Callable[[Settings], Choosing | None] | None = None
    panel: Callable[[Settings], Sequence[str]] | None = None
    choice_rows: ChoiceRows | None = None
    arguments: Mapping[str, Callable[[Settings], str | Sequence[str]]] = field(default_factory=dict)
    destinations: Mapping[str, Destination] = field(default_factory=dict)
    batching: "Batching | None" = None
    printed: "Callable[[Results], Printed | None] | None" = None
    evaluation: "Evaluation | None" = None
    comparing: "Comparing | None" = None
    reacting: Callable[[Settings], Coroutine[Any, Any, int]] | None = None


@dataclass(frozen=True, kw_only=True)
class Room:
    """When a room of the lab is imported.

    A run or a command that has one of these needs it.

        commands       its commands, each with the first line of its help
        settings       settings that are set
        arguments      parameters that a judge asks for
        destinations   names of --to
        judges         names of judges
        figures        names in a target
        notes          notes of a run that its reports show
        graded         judges whose grades its reports show, by the last part of their names
        folder         a folder that its reports read, if there is one
        readers        True: whenever logs are read
        remarks        True: for every run with customers that a model judged
        lines          for every run with so many customers' lines after the first ones; None: for none
    """

    commands: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    graded: tuple[str, ...] = ()
    folder: str = ""
    readers: bool = False
    remarks: bool = False
    lines: int | None = None

    def targeted(self, settings: Settings) -> list[str]:
        """Returns its figures that the target names."""
        return [
            condition.name
            for condition in target_conditions(settings.target)
            if condition.name in self.figures
        ]

    def shows(self, results: "Results", settings: Settings, lines: int) -> bool:
        """Whether it may show something of this run; `lines` as in `reporting`."""
        return (
            any(note in results.notes for note in self.notes)
            or any(is_set(settings, name) for name in self.settings)
            or bool(self.targeted(settings))
            or (self.lines is not None and lines >= self.lines)
            or (bool(self.folder) and Path(self.folder).is_dir())
            or any(judge.rpartition(".")[2] in self.graded for judge in results.scores.judges)
        )


# The rooms of the lab, by the names of their folders.
LAB: Mapping[str, Room] = {
    "consistency": Room(
        commands={"consistency": "Find where customers got different answers to the same question."},
        remarks=True,
    ),
    "compare": Room(commands={"compare": "Have a judge pick the better answer of two runs, one by one."}),
    "dask": Room(
        commands={
            "merge": "Merge the runs of --shard 1/5, 2/5 ... into one run, with one report and one gate."
        },
        settings=("scheduler", "workers", "shard"),
    ),
    "datasets": Room(
        commands={"thresholds": "Find out from which score on an answer is right."},
        settings=("outputs", "scoring", "choosing", "positive"),
        judges=("choice", "label"),
        graded=("choice", "label"),
    ),
    "export": Room(settings=("grade",), destinations=("otlp", "https", "http")),
    "harness": Room(
        commands={
            "harness": (
                "Evaluate the bot with lm-evaluation-harness: its tasks or yours, as a run with reports."
            )
        },
        notes=("harness",),
    ),
    "judging": Room(
        commands={
            "calibrate": (
                "Compare a judge with people's labels: agreement, leniency, and from which grade on to trust"
                " it."
            )
        },
        settings=("check", "panel", "ng_words"),
        notes=("drift",),
        folder="calibrations",
        arguments=("ng_words",),
        judges=("answer_relevancy", "facts", "keigo", "language_match"),
    ),
    # With fewer lines its section would say that there are too few, and is shown only where it is asked for.
    "likeness": Room(figures=("likeness",), lines=20),
    "load": Room(settings=("customers", "arrival", "think"), notes=("load",)),
    "logs": Room(readers=True),
    "matrix": Room(),
}


def words() -> dict[str, str]:
    """Returns the commands of all plug-ins, each with the first line of its help."""
    offered = {word: about for room in LAB.values() for word, about in room.commands.items()}
    for plugin in third_party():
        for word, command in plugin.commands.items():
            page = command.about if isinstance(command, Subcommands) else _documentation(command)
            offered.setdefault(word, page.strip().partition("\n")[0])
    return offered


def _documentation(command: Callable[..., int]) -> str:
    """Returns the docstring of a command's function, which `cli.options.takes` keeps."""
    return str(getattr(command, "function", command).__doc__ or "")


def command(word: str) -> Callable[..., int] | Subcommands | None:
    """Returns the command of that name; None if no plug-in has it.

    Raises InputError for a command of a room that is not installed.
    """
    plugins = _plugins(lambda room: word in room.commands, word)
    return next((plugin.commands[word] for plugin in plugins if word in plugin.commands), None)


def asked_by(settings: Settings) -> tuple[Plugin, ...]:
    """Returns the plug-ins that a run with these settings needs.

    Raises InputError for a setting, or a figure of the target, of a room that is not installed.
    """
    asked = []
    for name, room in LAB.items():
        given = [flag(key) for key in room.settings if is_set(settings, key)]
        given += [f"--target {key}" for key in room.targeted(settings)]
        if given:
            asked.append(_asked(name, given[0]))
    return (*asked, *third_party())


def destination(name: str) -> Destination | None:
    """Returns the destination `--to NAME` of a plug-in; None if no plug-in has it.

    Raises InputError for one of a room that is not installed.
    """
    kind = name.partition("://")[0]
    plugins = _plugins(lambda room: kind in room.destinations, f"--to {kind}")
    return next((plugin.destinations[kind] for plugin in plugins if kind in plugin.destinations), None)


def check(settings: Settings) -> None:
    """Raises InputError for settings of plug-ins that do not go together, or whose room is not installed."""
    for plugin in asked_by(settings):
        if plugin.check:
            plugin.check(settings)


def engine_of(settings: Settings) -> Engine | None:
    """Returns what holds the conversations of a run in other processes; None if this one does."""
    engines = (plugin.engine(settings) for plugin in asked_by(settings) if plugin.engine)
    return next(filter(None, engines), None)


def reporting(
    results: "Results", settings: Settings, *, is_judged: bool = False, lines: int = 0
) -> tuple[Plugin, ...]:
    """Returns the plug-ins that may show something in the reports of a run, made with these settings.

    A room that is not installed is left out. `is_judged`: a model judged the run. `lines` is how many lines
    customers said after their first ones.
    """
    is_talk = is_judged and not results.run.asks_once
    return _plugins(lambda room: (room.remarks and is_talk) or room.shows(results, settings, lines))


def printed(results: "Results", settings: Settings) -> Printed | None:
    """Returns what a run prints instead of its summary; None if it prints that."""
    made = (p.printed(results) for p in reporting(results, settings) if p.printed)
    return next(filter(None, made), None)


@cache
def settings_models() -> tuple[type[AddedSettings], ...]:
    """Returns the settings of installed rooms and of other packages; imports only the settings of a room."""
    lab = Path(__file__).with_name("lab")
    rooms = (name for name in LAB if (lab / name / "settings.py").is_file())
    ours = tuple(_part_of_room(name, "settings").SETTINGS for name in rooms)
    return (*ours, *(plugin.settings for plugin in third_party() if plugin.settings))


def judge_names() -> tuple[str, ...]:
    """Returns the judges of installed rooms and of other packages."""
    rooms = (name for key, room in LAB.items() if _is_there(key) for name in room.judges)
    return (*rooms, *(name for plugin in third_party() for name in plugin.judges))


def judge_source(name: str) -> Path | Callable[..., Any] | None:
    """Returns the function or the rubric's path of a judge; None if no plug-in has it.

    Raises InputError for one of a room that is not installed.
    """
    plugins = _plugins(lambda room: name in room.judges, _("judge {name}", name=name))
    return next((plugin.judges[name] for plugin in plugins if name in plugin.judges), None)


class GradingAdditions:
    """What plug-ins add to the grading of a run (`grading.offered.offer_grading`)."""

    def outputs(self, settings: Settings) -> "Outputs | None":
        """Returns those of the first plug-in that has any for this run; None without."""
        plugins = (plugin.outputs(settings) for plugin in asked_by(settings) if plugin.outputs)
        return next(filter(None, plugins), None)

    def models(self, settings: Settings) -> Sequence[str]:
        """Returns the further models of all plug-ins, in order."""
        return [model for plugin in asked_by(settings) if plugin.panel for model in plugin.panel(settings)]

    def arguments(self, settings: Settings, names: Collection[str]) -> Mapping[str, str | Sequence[str]]:
        """Returns the values of these parameters, as far as plug-ins have them."""
        return {
            name: value(settings)
            for plugin in _plugins(lambda room: not {*room.arguments}.isdisjoint(names))
            for name, value in plugin.arguments.items()
            if name in names
        }


def offer() -> None:
    """Registers what plug-ins add. Call it when a program starts, before settings are read."""
    offer_judges(judge_names, judge_source)
    offer_settings(settings_models, missing_setting)
    offer_grading(GradingAdditions())
    if _is_there("datasets"):
        offer_choosing(_choosing)
        offer_choice_rows(_choice_rows)
    offer_formats(_formats)
    offer_figures(_figures, _figure_title)


@cache
def _formats() -> tuple[Format, ...]:
    """Returns the formats of logs that plug-ins read."""
    return tuple(format_ for plugin in _plugins(lambda room: room.readers) for format_ in plugin.readers)


def _choice_rows() -> ChoiceRows | None:
    return _part(_room("datasets")).choice_rows


def _figures() -> Mapping[str, GateFigure]:
    """Returns figures by name; a room is imported only when one of its figures is computed."""
    rooms = {
        name: partial(_room_figure, key, name)
        for key, room in LAB.items()
        if _is_there(key)
        for name in room.figures
    }
    return rooms | {name: figure for plugin in third_party() for name, figure in plugin.figures.items()}


def _figure_title(name: str) -> Message | None:
    """Returns what people read for a figure; None without a title."""
    plugins = _plugins(lambda room: name in room.figures)
    return next((plugin.titles[name] for plugin in plugins if name in plugin.titles), None)


def _room_figure(key: str, name: str, results: "Results") -> Iterable[tuple[float, str]]:
    return _part(_room(key)).figures[name](results)


def _choosing(settings: Settings) -> Choosing | None:
    return _part(_asked("datasets", "--choosing").choosing)(settings)


def evaluated(
    files: Sequence[str], prompts: Sequence[str], flags: Mapping[str, Any], *, is_several: bool
) -> int | None:
    """Runs a matrix and returns its exit code; None if the command line means a single run.

    Raises InputError if it has several files, prompts or models (`is_several`) and the room is not installed.
    """
    room = (
        _asked("matrix", _("evaluate with several files, prompts or models"))
        if is_several
        else _room("matrix")
    )
    return room.evaluation(files, prompts, flags) if room and room.evaluation else None


def reacting() -> Callable[[Settings], Coroutine[Any, Any, int]]:
    """Returns what plays each customer with bots of known kinds. Raises InputError without that room."""
    return _part(_asked("likeness", "doctor --customers").reacting)


def batching() -> Batching:
    """Returns what grades a run in batches. Raises InputError without that room."""
    return _part(_asked("export", "grade --batch").batching)


def comparing() -> Comparing:
    """Returns what compares two runs in pairs. Raises InputError without that room."""
    return _part(_asked("compare", "compare").comparing)


def missing(asked: Message | str, room: str) -> InputError:
    """Returns the error for something that needs a room that is not installed."""
    return InputError(
        _(
            "{asked} belongs to the lab ({room}), which is not installed here: it takes the folder"
            " simulator/lab/{room}. pip install rag-rehearsal has it.",
            asked=asked,
            room=room,
        )
    )


def missing_setting(name: str, shown: Message | str) -> InputError | None:
    """Returns the error for a setting of a room that is not installed; None for any other name.

    `shown` is how the setting was given: `--shard`, `REHEARSAL_SHARD`.
    """
    room = next((key for key, room in LAB.items() if name in room.settings), None)
    return missing(shown, room) if room and not _is_there(room) else None


def _part(part: Part | None) -> Part:
    assert part is not None  # noqa: S101 - the room was made for it
    return part


def _asked(name: str, asked: Message | str) -> Plugin:
    room = _room(name)
    if room is None:
        raise missing(asked, name)
    return room


def _plugins(wanted: Callable[[Room], object], asked: Message | str = "") -> tuple[Plugin, ...]:
    """Returns the plug-ins of the rooms that are wanted, then those of other packages.

    A room that is not installed is left out; raises InputError for it where the user `asked` for something.
    """
    keys = (key for key, room in LAB.items() if wanted(room))
    rooms = (_asked(key, asked) if asked else _room(key) for key in keys)
    return (*filter(None, rooms), *third_party())


def _is_there(name: str) -> bool:
    return (Path(__file__).with_name("lab") / name / "plugin.py").is_file()


@cache
def _room(name: str) -> Plugin | None:
    """Returns the plug-in of a room; None if the room is not installed."""
    if not _is_there(name):
        return None
    plugin: Plugin = _part_of_room(name, "plugin").PLUGIN
    return plugin


def _part_of_room(name: str, part: str) -> Any:
    return import_module(f".lab.{name}.{part}", __package__)


def third_party() -> tuple[Plugin, ...]:
    """Returns the plug-ins of installed packages, without broken ones."""
    return tuple(plugin for plugin in _loaded() if isinstance(plugin, Plugin))


def faults() -> tuple[Message, ...]:
    """Returns what is wrong with broken plug-ins, one line each."""
    return tuple(fault for fault in _loaded() if isinstance(fault, Message))


@cache
def _loaded() -> tuple[Plugin | Message, ...]:
    """Loads the plug-ins of installed packages; of a broken one prints and returns what is wrong."""
    entries = [_load(entry) for entry in _installed()]
    for fault in entries:
        if isinstance(fault, Message):
            say(fault)
    return tuple(entries)


def _installed() -> "Iterable[EntryPoint]":
    """Returns the entry points of the group.

    Usually there are none, and to look for the group's name takes a tenth of the time of reading them all.
    """
    files = (file for folder in sys.path for file in Path(folder).glob("*-info/entry_points.txt"))
    if not any(GROUP.encode() in file.read_bytes() for file in files):
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _load(entry: "EntryPoint") -> Plugin | Message:
    why: Message | str
    try:
        plugin = entry.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # code of others may even call sys.exit
        why = f"{type(error).__name__}: {error}"
    else:
        if isinstance(plugin, Plugin):
            return plugin
        why = _("it is {type}, not a simulator.plugins.Plugin", type=type(plugin).__name__)
    return _(
        "Plug-in {name} ({value}) is left out: {why}. Fix or uninstall its package.",
        name=entry.name,
        value=entry.value,
        why=why,
    )
