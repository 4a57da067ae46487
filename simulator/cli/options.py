"""The options of the commands, most of them made from Settings.

Nearly every field of `Settings` (core/settings.py) is an option, mostly of the same name: its description is
the help, its type the kind of value, its default what help shows. A command takes some of them, and
parameters of its own:

    @takes("runs", "json_output")
    def command(flags: dict[str, Any], run: str = RUN, again: bool = option("--again", "...")) -> int:

`flags` has what stood on the command line, as text: {"runs": None, "json_output": False}.
`load_settings(flags)` reads and checks it with environment and rehearsal.toml, so that all three follow the
same rules. A function without `takes`, as a plug-in may have, has its parameters alone as options.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin
from unicodedata import normalize

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from simulator.core.errors import InputError, value_problem
from simulator.core.messages import _
from simulator.core.settings import (
    DEFAULT_MODELS,
    Looks,
    Protocol,
    flag,
    foreign_settings,
    groups,
    looks,
    setting_fields,
)

# What every command takes that has models grade or write, and keeps nothing but their answers.
MODEL_WORK = (
    "cache", "budget", "prices", "calls", "timeout", "seed", "dry_run",
)  # fmt: skip
# How a finished run is reported; all else stays as the run was held, but for what the command line names.
REPORTING = (
    "to", "sheet", "worksheet", "json_output", "verbose", "runs",
)  # fmt: skip
# A second, short spelling.
_SHORT = {"runs": ("-o",)}


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of a command; one without flags is an argument, a word that stands by itself.

    `name` is the parameter that gets the value: of type `kind`, not below `lowest` and not above `highest`;
    or `default`, which help shows as `shown`. A switch has no `metavar`. `title` is the list of a page of
    help, which shows a `rare` one second.
    """

    flags: tuple[str, ...] = ()
    metavar: str = ""
    text: str = ""
    default: Any = None
    shown: str = ""
    is_required: bool = False
    lowest: float | None = None
    highest: float | None = None
    name: str = ""
    kind: Any = str
    title: str = ""
    rare: bool = False

    @property
    def is_switch(self) -> bool:
        """Whether it takes no value."""
        return bool(self.flags) and not self.metavar

    @property
    def is_list(self) -> bool:
        """Whether it may be repeated."""
        return any(get_origin(kind) is list for kind in (self.kind, *get_args(self.kind)))

    @property
    def typed(self) -> str:
        """As it stands in help: `-o, --runs FOLDER`, `[FILE]`."""
        if not self.flags:
            is_marked = self.is_required or self.metavar.startswith("[")
            return self.metavar if is_marked else f"[{self.metavar}]"
        return f"{', '.join(self.flags)} {self.metavar}".rstrip()

    def value(self, text: str) -> Any:
        """The value that a text means. Raises InputError."""
        try:
            kind: Any = Annotated[self.kind, Field(ge=self.lowest, le=self.highest)]
            # Full-width digits are typed with a Japanese keyboard; only numbers have a lowest one.
            plain = text if self.lowest is None else normalize("NFKC", text)
            return TypeAdapter(kind).validate_python(plain)
        except ValidationError as error:
            msg = _(
                "{key}{at} {value}: {problem}.",
                key=self.flags[-1] if self.flags else self.metavar,
                at="",
                value=text[:60],
                problem=value_problem(error.errors()[0]),
            )
            raise InputError(msg) from None


@dataclass(frozen=True)
class Command:
    """A function with its options; of these, those in `settings` are handed to it as one table of flags."""

    function: Callable[..., int]
    options: tuple[Option, ...]
    settings: tuple[str, ...] = ()
    takes_flags: bool = False

    def __call__(self, values: Mapping[str, Any]) -> int:
        """Does it, with the values of the options by name; returns the exit code."""
        flags = {name: values[name] for name in self.settings}
        rest = {name: value for name, value in values.items() if name not in flags}
        return self.function(flags, **rest) if self.takes_flags else self.function(**rest)

    @property
    def help(self) -> str:
        """What it does: paragraphs."""
        return inspect.getdoc(self.function) or ""

    @property
    def first_line(self) -> str:
        """What it does, in a line."""
        return self.help.partition("\n")[0]


def option(typed: str, text: str, default: Any = None, shown: str = "", **bounds: Any) -> Any:
    """An option of one command alone, as its parameter's default: `--limit N`, or `--again` for a switch.

    A `default` other than None and False is shown in the help; `...` means that the option must be given.
    `shown` is what help shows instead. `lowest` and `highest` are bounds of a number.
    """
    flag, _blank, metavar = typed.partition(" ")
    option = _with_default(default if metavar else False, shown)
    return replace(option, flags=(flag,), metavar=metavar, text=text, **bounds)


def argument(metavar: str, text: str, default: Any = None) -> Any:
    """A word of a command line that is no option; see `option`."""
    return replace(_with_default(default), metavar=metavar, text=text)


def _with_default(default: Any, shown: str = "") -> Option:
    if default is ...:
        return Option(is_required=True)
    return Option(default=default, shown=shown or ("" if default in (None, False, "") else str(default)))


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
) -> Callable[[Callable[..., int]], Command]:
    """The command with every setting of a protocol as an option but those in `without`; see `takes`."""
    foreign = foreign_settings(protocol)
    names = (name for names in groups().values() for name in names if name not in foreign | without)
    return takes(*names, **looks)


def takes(
    *names: str,
    repeated: frozenset[str] = frozenset(),
    defaults: Mapping[str, str] = MappingProxyType({}),
    texts: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Callable[..., int]], Command]:
    """The command with these settings as options, after parameters of its own.

    The function is called with a dict of the flags, None
    or False where one is not on the command line. The options in `repeated` may be repeated, and arrive as a
    list; `defaults` are what help shows for this command, and `texts` the whole help of a setting that means
    something else here.
    """
    every = looks()
    titles = {name: title for title, members in groups().items() for name in members}
    # A setting of a room that is not there is no option.
    there = tuple(name for name in names if name in titles)
    is_short = len(there) < len(titles) / 2  # a few options need no titles

    def with_options(function: Callable[..., int]) -> Command:
        _flags, *own = inspect.signature(function, eval_str=True).parameters.values()
        options = (
            replace(
                _of_setting(name, every[name], defaults.get(name), texts.get(name), name in repeated),
                title="" if is_short else titles[name],
            )
            for name in there
        )
        return Command(function, (*map(_of_parameter, own), *options), there, takes_flags=True)

    return with_options


def as_command(function: Callable[..., int] | Command) -> Command:
    """A command; of a plain function the parameters are its options, those without a default arguments."""
    if isinstance(function, Command):
        return function
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return Command(function, tuple(map(_of_parameter, parameters)))


def _of_parameter(parameter: inspect.Parameter) -> Option:
    """What a parameter's default says of it, or of `name: str = "you"`: `--name NAME`."""
    kind, given, name = parameter.annotation, parameter.default, parameter.name
    if isinstance(given, Option):
        return replace(given, name=name, kind=kind)
    kind = str if kind is parameter.empty else kind
    if given is parameter.empty:
        return Option(metavar=name.upper(), is_required=True, name=name, kind=kind)
    metavar = "" if isinstance(given, bool) else name.upper()
    return replace(_with_default(given), flags=(flag(name),), metavar=metavar, name=name, kind=kind)


def _of_setting(name: str, look: Looks, default: str | None, text: str | None, is_repeated: bool) -> Option:
    """The option of a setting. Its value is text, or a list of texts, which Settings reads and checks.

    bool -> a switch; Literal -> its words as the metavar (`ja|en`); a tuple or dict -> may be repeated.
    """
    field = setting_fields()[name]
    parts = (field.annotation, *get_args(field.annotation))
    bare = (get_args(part)[0] if get_origin(part) is Annotated else part for part in parts)
    kinds = {get_origin(kind) or kind: kind for kind in bare}
    # Prices are one file. Questions are, too, and Settings refuses a second one instead of overlooking it.
    is_list = is_repeated or name == "cases" or (name != "prices" and (tuple in kinds or dict in kinds))
    words = get_args(kinds.get(Literal))
    return Option(
        flags=(*_SHORT.get(name, ()), flag(name)),
        metavar="" if bool in kinds else look.shape or "|".join(words) or ("N" if int in kinds else "NAME"),
        text=text or str(field.description),
        default=False if bool in kinds else None,
        shown="" if text else default or _default_of(name, field),
        name=name,
        kind=list[str] if is_list else str,
        rare=not look.usual,
    )


def _default_of(name: str, field: FieldInfo) -> str:
    """The default of a setting as help shows it; empty where it has none, or one that is told in words."""
    models: dict[str, str] = {f"{role}_model": model for role, model in DEFAULT_MODELS.items()}
    value = models.get(name, field.default)
    if field.default_factory is not None or value in (None, False, (), {}):
        return ""
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
