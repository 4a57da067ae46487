"""What a room of the lab, or a package of a third party, may add to the program.

A room is a folder of `simulator/lab/` with a `plugin.py`, and is named in `LAB` below with the words and
settings that ask for it: only then is it imported. A package of a third party names its plug-in in the
entry-point group `rehearsal.plugins`:

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
reports have the section, `list` shows the judge and `doctor` the package. Only the command line and the
Python API ask this module; what the other parts of the program need of a plug-in they are given.
"""

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from simulator.cases.formats import ChoiceRows, Format, offer_choice_rows, offer_formats
from simulator.core.choosing import Choosing, offer_choosing
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, say
from simulator.core.settings import AddedSettings, Settings, flag, is_set, offer_settings, target_conditions
from simulator.core.shelves import offer_judges
from simulator.grading.offered import offer_grading
from simulator.results.offered import GateFigure, offer_figures

if TYPE_CHECKING:  # a page of help needs none of these
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
    """Holds the conversations of a run, as `runner.run.perform` does in this process."""

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
        """Returns the path of the run file, and why the run stopped early, None if it did not."""
        ...


class Division(NamedTuple):
    """The conversations of a plan that this run holds, and notes of its run file: JSON by their keys."""

    conversations: "Sequence[Conversation]"
    notes: Mapping[str, str]


class Dividing(Protocol):
    """Picks a part of a plan; None where this run holds all of it."""

    def __call__(self, settings: Settings, plan: "Sequence[Conversation]", /) -> Division | None:
        """`plan` is the whole one, in its order."""
        ...


class Preparing(Protocol):
    """Makes what a run does before its first conversation; None where there is nothing to do."""

    def __call__(self, context: "RunContext", notes: "Mapping[str, JsonValue]") -> "Preparation | None":
        """`notes` are those of the run file, empty for a new run."""
        ...


class SectionBuilder(Protocol):
    """Makes a section of every report of a run; None where the run has nothing for it."""

    def __call__(self, results: "Results", summary: "Summary", settings: Settings, /) -> "Section | None":
        """Figures of a section stand in `--json` under its key; `settings` are those of this report."""
        ...


class RemarkBuilder(Protocol):
    """Says what to know before relying on a run's figures."""

    def __call__(self, results: "Results", /) -> "Iterable[Line]":
        """Lines, of the tone "alarm" or "soft"."""
        ...


class Printed(NamedTuple):
    """What a run prints to standard output in place of its summary, and remarks for standard error.

    `is_ungraded` where nothing was to be graded yet: without a target that is no failure.
    """

    text: str
    remarks: Sequence[Message] = ()
    is_ungraded: bool = False


@dataclass(frozen=True)
class Destination:
    """Where `--to` sends a run: `send` does it, and returns a line that says where to.

    It is given the name as it was typed, all that reports are made from, and the settings. `check` is given
    the name and raises InputError for what will not work, before anything is paid. What `send` raises is one
    line: an InputError (exit code 2) for something to mend, another RehearsalError (3) for what may pass.
    """

    send: "Callable[[str, ReportContext, Settings], str]"
    check: Callable[[str], None]


class RequestBatches(Protocol):
    """Models whose requests go to their provider in batches: within a day, at a part of the price."""

    at_once: int
    """How many turns are graded together."""

    def __call__(
        self, endpoint: "Endpoint", connections: "Connections", ledger: "Ledger", **options: Any
    ) -> "Model":
        """The model at an endpoint, as `models.client.Model` is made."""
        ...

    async def close(self, *, finished: bool) -> None:
        """Lets go of what is open; `finished` where every reply that was waited for has been used."""
        ...

    def interrupted(self) -> Message:
        """What becomes of the requests that are under way when somebody stops waiting."""
        ...

    def cancel(self, endpoint: "Endpoint | None") -> Message:
        """Cancels what an earlier grading left under way; says what became of it."""
        ...


class Batching(Protocol):
    """Makes the batches of one grading; `share` is what they cost of the usual price."""

    @property
    def share(self) -> float:
        """0.5 for half the price."""
        ...

    def __call__(self, file: "RunFile", /) -> RequestBatches:
        """`file` is that of the run, in which stands what is under way."""
        ...


class Evaluation(Protocol):
    """Evaluates several data sets, prompts or bots beside each other."""

    def __call__(self, files: Sequence[str], prompts: Sequence[str], flags: Mapping[str, Any]) -> int | None:
        """Returns the exit code; None where the command line means a single run."""
        ...


class Comparing(Protocol):
    """Has a judge pick the better answer of two runs, turn by turn."""

    def __call__(self, runs: Sequence[str], settings: Settings) -> dict[str, Any]:
        """`runs` are two names of runs; returns what `compare --json` prints."""
        ...


@dataclass(frozen=True, kw_only=True)
class Subcommands:
    """A command with subcommands, such as `thresholds suggest`; `about` is its page of help."""

    about: str
    commands: Mapping[str, Callable[..., int]]


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """What one room or package adds; everything but the name may be left out.

    A command is a function whose parameters are its options (as Typer reads them, or with
    `cli.options.takes`), whose docstring is its help and whose result is the exit code. A judge is a function
    as docs/judges.md describes it, or the path of a rubric in TOML. `readers` are formats of logs, `figures`
    what a target may name beside judges, `engine` what holds the conversations of a run in other processes.
    `settings` are options, variables and keys of rehearsal.toml (`core.settings.AddedSettings`); a room has
    them in its settings.py, which imports nothing else of it. `outputs` are those that the answers of a run
    are graded by, `choosing` how a prompt's choices are weighed, `panel` the models that grade as well,
    `choice_rows` reads rows of multiple-choice questions. `arguments` are what judges may ask for as a
    parameter. `destinations` are further names of --to, or beginnings of addresses: `https` is asked for by
    `--to https://...`. `batching` grades a run by a provider's batch API. `check` raises InputError for
    settings that cannot be used together, before anything is read; `settled` returns the settings as its run
    has them. `printed` is None for a run that prints its summary.
    """

    name: str
    commands: Mapping[str, Callable[..., int] | Subcommands] = field(default_factory=dict)
    judges: Mapping[str, Callable[..., Any] | Path] = field(default_factory=dict)
    readers: tuple[Format, ...] = ()
    settings: type[AddedSettings] | None = None
    figures: Mapping[str, GateFigure] = field(default_factory=dict)
    sections: tuple[SectionBuilder, ...] = ()
    remarks: tuple[RemarkBuilder, ...] = ()
    engine: Callable[[Settings], Engine | None] | None = None
    dividing: Dividing | None = None
    runner: "RunnerFactory | None" = None
    preparation: Preparing | None = None
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
    evaluation: Evaluation | None = None
    comparing: Comparing | None = None
    reacting: Callable[[Settings], Coroutine[Any, Any, int]] | None = None


@dataclass(frozen=True, kw_only=True)
class Room:
    """What asks for a room of the lab.

    Words of the command line, each with the first line of its help; settings that are set, and
    `arguments` that a judge asks for; names of --to; judges, and figures of a target, by name; notes of a
    run, and `graded`, judges by the last part of their names, that its reports show. `folder` is where it
    keeps what they show of any run. `remarks` where it looks at every run with customers that a model
    judged, `lines` where it looks at all in which customers said so many after the first ones. `readers`
    where it reads logs.
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

    def shows(self, results: "Results", settings: Settings, lines: int) -> bool:
        """Whether its sections may have something to say of this run."""
        return (
            any(note in results.notes for note in self.notes)
            or any(is_set(settings, name) for name in self.settings)
            or (self.lines is not None and lines >= self.lines)
            or (bool(self.folder) and Path(self.folder).is_dir())
            or any(judge.rpartition(".")[2] in self.graded for judge in results.scores.judges)
        )


# The rooms of the lab, by the names of their folders.
LAB: Mapping[str, Room] = {
    "consistency": Room(
        commands={
            "cross-examine": "Ask the bot about its own claims, and find where it contradicts itself.",
        },
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
        settings=("outputs", "scoring", "choosing", "positive", "tokenizer"),
        arguments=("tokenizer",),
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
    # With fewer lines the figure would be refused as too small.
    "likeness": Room(settings=("likeness",), figures=("likeness",), lines=20),
    "load": Room(settings=("customers", "arrival", "think"), notes=("load",)),
    "logs": Room(readers=True),
    "matrix": Room(),
}


def words() -> dict[str, str]:
    """The commands of all plug-ins, each with the first line of its help."""
    offered = {word: about for room in LAB.values() for word, about in room.commands.items()}
    for plugin in third_party():
        for word, command in plugin.commands.items():
            page = command.about if isinstance(command, Subcommands) else str(command.__doc__ or "")
            offered.setdefault(word, page.strip().partition("\n")[0])
    return offered


def command(word: str) -> Callable[..., int] | Subcommands | None:
    """The command that a plug-in has for this word; None where none has one.

    Raises InputError for a command of a room that is not there.
    """
    for name, room in LAB.items():
        if word in room.commands:
            return _asked(name, word).commands[word]
    return next((p.commands[word] for p in third_party() if word in p.commands), None)


def asked_by(settings: Settings) -> tuple[Plugin, ...]:
    """The plug-ins that a run with these settings needs.

    Raises InputError for a setting, or a figure of the target, of a room that is not there.
    """
    asked, targeted = [], {condition.name for condition in target_conditions(settings.target)}
    for name, room in LAB.items():
        given = [flag(key) for key in room.settings if is_set(settings, key)]
        given += [f"--target {key}" for key in room.figures if key in targeted]
        if given:
            asked.append(_asked(name, given[0]))
    return (*asked, *third_party())


def destination(name: str) -> Destination | None:
    """Where `--to NAME` sends a run by a plug-in; None where no plug-in has the name.

    Raises InputError for one of a room that is not there.
    """
    kind = name.partition("://")[0]
    for room, asked in LAB.items():
        if kind in asked.destinations:
            return _asked(room, f"--to {kind}").destinations[kind]
    return next((p.destinations[kind] for p in third_party() if kind in p.destinations), None)


def check(settings: Settings) -> None:
    """Raises InputError for settings of plug-ins that cannot be used together, or whose room is not there."""
    for plugin in asked_by(settings):
        if plugin.check:
            plugin.check(settings)


def engine_of(settings: Settings) -> Engine | None:
    """What holds the conversations of a run in other processes; None where this one does."""
    engines = (plugin.engine(settings) for plugin in asked_by(settings) if plugin.engine)
    return next(filter(None, engines), None)


def reporting(
    results: "Results", settings: Settings, *, is_judged: bool = False, lines: int = 0
) -> tuple[Plugin, ...]:
    """The plug-ins that have something to say of a run in its reports, made with these settings.

    A room that is not there is left out: a run is read without it. `lines` are those that customers said
    after the first ones.
    """
    is_talk = is_judged and not results.run.asks_once
    rooms = (
        _room(name)
        for name, room in LAB.items()
        if (room.remarks and is_talk) or room.shows(results, settings, lines)
    )
    return (*filter(None, rooms), *third_party())


def printed(results: "Results", settings: Settings) -> Printed | None:
    """What a run prints in place of its summary; None where no plug-in prints it in another way."""
    made = (p.printed(results) for p in reporting(results, settings) if p.printed)
    return next(filter(None, made), None)


class AddedByPlugins:
    """The settings of plug-ins, for `core.settings.offer_settings`; those of a room without its rest."""

    @cache  # noqa: B019 - there is one
    def models(self) -> tuple[type[AddedSettings], ...]:
        """Those of rooms that are there, and of third parties."""
        lab = Path(__file__).with_name("lab")
        rooms = (name for name in LAB if (lab / name / "settings.py").is_file())
        ours = tuple(_part_of_room(name, "settings").SETTINGS for name in rooms)
        return (*ours, *(plugin.settings for plugin in third_party() if plugin.settings))

    def missing(self, name: str) -> InputError | None:
        """What is said of a setting of a room that is not there; None for any other name."""
        return missing_setting(name)


class Judges:
    """The judges of plug-ins, for the shelf (`core.shelves.offer_judges`)."""

    def names(self) -> tuple[str, ...]:
        """Those of rooms that are there, and of third parties."""
        rooms = (name for key, room in LAB.items() if _is_there(key) for name in room.judges)
        return (*rooms, *(name for plugin in third_party() for name in plugin.judges))

    def source(self, name: str) -> Path | Callable[..., Any] | None:
        """The function or the rubric's file; None where no plug-in has that judge.

        Raises InputError for one of a room that is not there.
        """
        for key, room in LAB.items():
            if name in room.judges:
                return _asked(key, _("judge {name}", name=name)).judges[name]
        return next((p.judges[name] for p in third_party() if name in p.judges), None)


class GradingAdditions:
    """What plug-ins add to the grading of a run (`grading.offered.offer_grading`)."""

    def outputs(self, settings: Settings) -> "Outputs | None":
        """Those of the first plug-in that has any for this run."""
        plugins = (plugin.outputs(settings) for plugin in asked_by(settings) if plugin.outputs)
        return next(filter(None, plugins), None)

    def models(self, settings: Settings) -> Sequence[str]:
        """Those of all plug-ins."""
        return [model for plugin in asked_by(settings) if plugin.panel for model in plugin.panel(settings)]

    def arguments(self, settings: Settings, names: Collection[str]) -> Mapping[str, str | Sequence[str]]:
        """The values of all plug-ins that have one of these parameters; those of a room by its table."""
        rooms = (_room(key) for key, room in LAB.items() if not {*room.arguments}.isdisjoint(names))
        return {
            name: value(settings)
            for plugin in (*filter(None, rooms), *third_party())
            for name, value in plugin.arguments.items()
            if name in names
        }


def offer() -> None:
    """Makes known to the rest of the program what plug-ins have; said by whoever starts the program."""
    offer_judges(Judges())
    offer_settings(AddedByPlugins())
    offer_grading(GradingAdditions())
    if _is_there("datasets"):
        offer_choosing(_choosing)
        offer_choice_rows(_choice_rows)
    offer_formats(_formats)
    offer_figures(_figures)


@cache
def _formats() -> tuple[Format, ...]:
    """The formats of logs that plug-ins read; a room that is not there reads none."""
    rooms = filter(None, (_room(name) for name, room in LAB.items() if room.readers))
    return tuple(format_ for plugin in (*rooms, *third_party()) for format_ in plugin.readers)


def _choice_rows() -> ChoiceRows | None:
    return _part(_room("datasets")).choice_rows


def _figures() -> Mapping[str, GateFigure]:
    """Those of rooms by their table, for a room is made only when a target names one of its figures."""
    rooms = {
        name: partial(_room_figure, key, name)
        for key, room in LAB.items()
        if _is_there(key)
        for name in room.figures
    }
    return rooms | {name: figure for plugin in third_party() for name, figure in plugin.figures.items()}


def _room_figure(key: str, name: str, results: "Results") -> Iterable[tuple[float, str]]:
    return _part(_room(key)).figures[name](results)


def _choosing(settings: Settings) -> Choosing | None:
    return _part(_asked("datasets", "--choosing").choosing)(settings)


def evaluated(
    files: Sequence[str], prompts: Sequence[str], flags: Mapping[str, Any], *, is_several: bool
) -> int | None:
    """The exit code of a matrix; None where the command line means a single run.

    Raises InputError where several are asked for (`is_several`), and the room of matrices is not there.
    """
    room = (
        _asked("matrix", _("evaluate with several files, prompts or models"))
        if is_several
        else _room("matrix")
    )
    return room.evaluation(files, prompts, flags) if room and room.evaluation else None


def reacting() -> Callable[[Settings], Coroutine[Any, Any, int]]:
    """What plays each persona with bots of known kinds. Raises InputError where that room is not there."""
    return _part(_asked("likeness", "doctor --customers").reacting)


def batching() -> Batching:
    """What has a run graded in batches. Raises InputError where that room is not there."""
    return _part(_asked("export", "grade --batch").batching)


def comparing() -> Comparing:
    """What compares two runs in pairs. Raises InputError where that room is not there."""
    return _part(_asked("compare", "compare").comparing)


def missing(asked: Message | str, room: str) -> InputError:
    """What is said where somebody asks for a room that is not there."""
    return InputError(
        _(
            "{asked} belongs to the lab ({room}), which is not installed here: it takes the folder"
            " simulator/lab/{room}. pip install rag-rehearsal has it.",
            asked=asked,
            room=room,
        )
    )


def missing_setting(name: str) -> InputError | None:
    """What is said of a setting of a room that is not there; None for any other name."""
    room = next((key for key, room in LAB.items() if name in room.settings), None)
    return missing(flag(name), room) if room and not _is_there(room) else None


def _part(part: Part | None) -> Part:
    assert part is not None  # noqa: S101 - the room was made for it
    return part


def _asked(name: str, asked: Message | str) -> Plugin:
    room = _room(name)
    if room is None:
        raise missing(asked, name)
    return room


def _is_there(name: str) -> bool:
    return (Path(__file__).with_name("lab") / name / "plugin.py").is_file()


@cache
def _room(name: str) -> Plugin | None:
    """The plug-in of a room; None where its folder is not there."""
    if not _is_there(name):
        return None
    plugin: Plugin = _part_of_room(name, "plugin").PLUGIN
    return plugin


def _part_of_room(name: str, part: str) -> Any:
    return import_module(f".lab.{name}.{part}", __package__)


def third_party() -> tuple[Plugin, ...]:
    """The plug-ins of installed packages, but for those that are broken."""
    return tuple(plugin for plugin in _loaded() if isinstance(plugin, Plugin))


def faults() -> tuple[Message, ...]:
    """What is wrong with plug-ins that are broken, a line each."""
    return tuple(fault for fault in _loaded() if isinstance(fault, Message))


@cache
def _loaded() -> tuple[Plugin | Message, ...]:
    """The plug-ins of installed packages; one that is broken is left out, and said in a line."""
    entries = [_load(entry) for entry in entry_points(group=GROUP)]
    for fault in entries:
        if isinstance(fault, Message):
            say(fault)
    return tuple(entries)


def _load(entry: EntryPoint) -> Plugin | Message:
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
