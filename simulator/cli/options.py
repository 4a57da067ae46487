"""The options of the commands, made from Settings, and their help pages in both languages.

Nearly every field of `Settings` (core/settings.py) is an option, mostly of the same name: its description is
the help, its type the kind of value, its default what help shows. A command takes some of them, and
parameters of its own:

    @takes("runs", "json_output")
    def command(flags: dict[str, Any], run: str = RUN, again: bool = option("--again", "...")) -> int:

`flags` has what stood on the command line, as text: {"runs": None, "json_output": False}.
`load_settings(flags)` reads and checks it with environment and rehearsal.toml, so that all three follow the
same rules.
"""

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from simulator.core.roles import DEFAULT_MODELS
from simulator.core.settings import (
    GROUPS,
    Protocol,
    added_settings,
    flag,
    foreign_settings,
    groups,
    setting_fields,
)

# The settings that help shows first; it has the others with --help-all.
USUAL = frozenset({
    "adapter", "set", "cases", "language", "limit", "persona", "turns", "user_model", "replay", "judges",
    "judge_model", "knowledge", "target", "max_major", "confidence", "offline", "dry_run", "resume", "runs",
    "to", "sheet", "json_output", "verbose", *GROUPS["Rows"],
})  # fmt: skip
# What every command takes that has models grade or write, and keeps nothing but their answers.
MODEL_WORK = (
    "cache", "budget", "prices", "calls", "timeout", "seed", "dry_run",
)  # fmt: skip
# How a finished run is reported; all else stays as the run was held, but for what the command line names.
REPORTING = (
    "to", "sheet", "worksheet", "json_output", "verbose", "runs",
)  # fmt: skip
# What an option's value looks like, where it is neither a name nor one of a few words: by what help shows, as
# in `--turns N`, `--cases FILE`.
_SHAPES = {
    "FILE": "cases guidelines contacts rules prices script",
    "KEY=VALUE": "set",
    "CASE=FILE,...": "columns",
    "REGEX": "redact_patterns",
    "NAME,...": "judges to labels",
    "RUN": "resume replay",
    "FOLDER": "runs",
    "KEY": "sheet",
    "SCORE": "target",
    "SHARE": "max_major confidence retest",
    "HOW": "judging causes",
    "PATH": "knowledge",
    "AMOUNT": "budget",
    "SECONDS": "timeout patience",
    "MODEL": "user_model judge_model embed_model demo_model",
    "N": "limit sample turns repeats seed concurrency calls rpm tpm",
}
_METAVARS = {name: shape for shape, names in _SHAPES.items() for name in names.split()}


def _shape(name: str) -> str:
    """What a value looks like in help; empty where it is a name or one of a few words."""
    added = (model.shapes[name] for model in added_settings() if name in model.shapes)
    return _METAVARS.get(name) or next(added, "")


# A second, short spelling.
_SHORT = {"runs": ("-o",)}
# Takes the flags, and parameters of its own; returns the exit code.
Command = Callable[..., int]


def option(flag: str, text: str, default: Any = None, **more: Any) -> Any:
    """An option of one command alone, as its parameter's default: `--limit N`, or `--again` for a switch.

    A `default` other than None and False is shown in the help; `...` means that the option must be given.
    """
    name, _unused, metavar = flag.partition(" ")
    value = default if metavar else False
    return typer.Option(
        value, name, metavar=metavar or None, help=text + _shown(value), show_default=False, **more
    )


def argument(metavar: str, text: str, default: Any = None) -> Any:
    """A word of a command line that is no option; see `option`."""
    return typer.Argument(default, metavar=metavar or None, help=text + _shown(default), show_default=False)


def _shown(default: Any) -> str:
    return "" if default in (None, False, "", ...) else f" [default: {default}]"


# The run that a command is about.
RUN = argument("RUN", "A run: id, start of an id, latest, or path.", "latest")
# Of labelled answers: `calibrate` and `thresholds suggest`.
GOOD = option(
    "--good VALUE",
    "The lowest label of a good answer; 0 or <=2 where low is good; or the text that "
    "marks one. Default: what rounds to the top of the scale.",
)


def takes_settings(
    protocol: Protocol, without: frozenset[str] = frozenset(), **looks: Any
) -> Callable[[Command], Callable[..., int]]:
    """The command with every setting of a protocol as an option but those in `without`; see `takes`."""
    foreign = foreign_settings(protocol)
    names = (name for names in groups().values() for name in names if name not in foreign | without)
    return takes(*names, **looks)


def takes(
    *names: str,
    repeated: frozenset[str] = frozenset(),
    defaults: Mapping[str, str] = MappingProxyType({}),
    texts: Mapping[str, str] = MappingProxyType({}),
    usual: frozenset[str] = USUAL,
) -> Callable[[Command], Callable[..., int]]:
    """The command with these settings as options, after parameters of its own.

    Of many, help shows the `usual` ones; of few, all.

    It is called with a dict of the flags, None or False where one is not on the command line. The options in
    `repeated` may be repeated, and arrive as a list; `defaults` are what help shows for this command, and
    `texts` the whole help of a setting that means something else here.
    """

    def with_options(command: Command) -> Callable[..., int]:
        _, *parameters_of_command = inspect.signature(command).parameters.values()
        titles: dict[str, str | None] = {
            name: title for title, members in groups().items() for name in members
        }
        # A setting of a room that is not there is no option.
        there = tuple(name for name in names if name in titles)

        def parsed(**values: Any) -> int:
            return command({name: values.pop(name) for name in there}, **values)

        if len(there) < len(titles) / 2:  # a few options need no titles
            titles = dict.fromkeys(titles)
        options = [
            _parameter(
                name,
                titles[name],
                repeated=name in repeated,
                default=defaults.get(name),
                text=texts.get(name),
                usual=usual,
            )
            for name in there
        ]
        # Typer reads a signature: this one has the command's own parameters, then one for each setting.
        parameters = [*parameters_of_command, *options]
        parsed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        parsed.__annotations__ = {p.name: p.annotation for p in parameters}
        parsed.__doc__ = command.__doc__
        return parsed

    return with_options


def _parameter(
    name: str,
    title: str | None,
    *,
    repeated: bool,
    default: str | None,
    text: str | None,
    usual: frozenset[str],
) -> inspect.Parameter:
    """The option of a setting. Its value is text, or a list of texts, which Settings reads and checks.

    bool -> a switch; Literal -> its words as the metavar (`ja|en`); a tuple or dict -> may be repeated.
    """
    field = setting_fields()[name]
    kinds = {get_origin(kind) or kind: kind for kind in (field.annotation, *get_args(field.annotation))}
    is_switch = bool in kinds
    # Prices are one file. Questions are, too, and Settings refuses a second one instead of overlooking it.
    is_list = repeated or name == "cases" or (name != "prices" and (tuple in kinds or dict in kinds))
    words = get_args(kinds.get(Literal))
    metavar = None if is_switch else _shape(name) or "|".join(words) or "NAME"
    text = text or f"{field.description}{_shown(default or _default_of(name, field))}"
    option = typer.Option(
        *_SHORT.get(name, ()), flag(name), help=text, metavar=metavar, rich_help_panel=title,
        show_default=False, hidden=name not in usual,
    )  # fmt: skip
    read_as: Any = bool if is_switch else list[str] | None if is_list else str | None
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if is_switch else None,
        annotation=Annotated[read_as, option],
    )


def _default_of(name: str, field: FieldInfo) -> str | None:
    """The default of a setting as help shows it; None where it has none, or one that is told in words."""
    models: dict[str, str] = {f"{role}_model": model for role, model in DEFAULT_MODELS.items()}
    value = models.get(name, field.default)
    if field.default_factory is not None or value in (None, False, (), {}):
        return None
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
