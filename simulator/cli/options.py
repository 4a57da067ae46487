"""The options of the commands, made from Settings, and their help pages in both languages."""

import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperCommand, TyperGroup

from simulator.core.document import wrap
from simulator.core.errors import InputError
from simulator.core.messages import HELP, _, language_of, pgettext, sentences, shown, verbatim
from simulator.core.roles import DEFAULT_MODELS
from simulator.core.settings import Protocol, Settings, flag
from simulator.core.types import PASSED

# What the parser itself says, and defaults that are words; everything else on a page stands where it is used.
_WORDS = (
    pgettext("help", "[OPTIONS]"),
    pgettext("help", "COMMAND"),
    pgettext("help", "[ARGS]..."),
    pgettext("help", "Arguments"),
    pgettext("help", "Options"),
    pgettext("help", "Commands"),
    pgettext("help", "all"),
    pgettext("help", "all, mixed"),
    pgettext("help", "all, each in its own"),
    pgettext("help", "those that fit the data"),
)
# Before a paragraph whose lines are not to be wrapped.
_VERBATIM = "\b\n"
# What the parser adds to the help of an option: `[default: 3]  [1<=x<=10]`.
REMARKS = re.compile(r"(?:\s*\[(?:default: |required|x>=|[\d.]+<=x)[^]]*\])+$")
_DEFAULT, _LEAST, _RANGE = re.compile("default: (.+)"), re.compile("x>=(.+)"), re.compile("(.+)<=x<=(.+)")
_Page: Any = TyperCommand.context_class.formatter_class


class JapanesePage(_Page):  # type: ignore[misc]
    """Writes a help page in Japanese; a text without a translation stays English."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """The line that says how the command is called."""
        super().write_usage(prog, " ".join(map(in_japanese, args.split())), prefix or "使い方：")

    def write_heading(self, heading: str) -> None:
        """The title of a list."""
        self.write(f"{in_japanese(heading)}：\n")

    def write_text(self, text: str) -> None:
        """Paragraphs, below the usage and at the end."""
        width = self.width - self.current_indent
        super().write_text("\n\n".join(_lines(paragraph, width) for paragraph in text.split("\n\n")))

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Names, and what each means beside it."""
        names = min(max(len(name) for name, _ in rows), col_max) + col_spacing
        width = self.width - names - self.current_indent
        super().write_dl([(name, _lines(text, width)) for name, text in rows], col_max, col_spacing)


def in_japanese(english: str) -> str:
    """A paragraph, title or help of an option in Japanese, with what the parser added in brackets."""
    remarks = REMARKS.search(english)
    text = english[: remarks.start()] if remarks else english
    japanese = shown(verbatim(text, HELP), "ja")
    return f"{japanese}（{'、'.join(_remarks(remarks[0]))}）" if remarks else japanese


def _remarks(brackets: str) -> Iterator[str]:
    for remark in re.split(r"\]\s*\[|; ", brackets.strip().removeprefix("[").removesuffix("]")):
        if default := _DEFAULT.fullmatch(remark):
            japanese = shown(verbatim(default[1], HELP), "ja")
            yield f"既定は {japanese}" if japanese == default[1] else f"既定は{japanese}"
        elif between := _RANGE.fullmatch(remark):
            yield f"{between[1]}〜{between[2]}"
        elif least := _LEAST.fullmatch(remark):
            yield f"{least[1]}以上"
        else:
            yield {"required": "必須"}.get(remark, remark)


def _lines(paragraph: str, width: int) -> str:
    """The paragraph in lines of this width, marked so that they are not wrapped again."""
    if paragraph.startswith(_VERBATIM):
        lines = [in_japanese(line) for line in paragraph.removeprefix(_VERBATIM).splitlines()]
    else:
        lines = wrap(in_japanese(" ".join(paragraph.split("\n"))), width, by_phrase=True)
    return _VERBATIM + "\n".join(lines)


PANELS = {
    "What to rehearse": (
        "persona", "cases", "columns", "limit", "language", "turns", "repeats", "adapter", "set", "seed",
        "redact", "redact_patterns",
    ),
    "The customer": ("voice_opening", "script", "replay"),
    "Grading": (
        "judges", "judging", "votes", "panel", "guidelines", "contacts", "ng_words", "tokenizer", "check",
        "target", "max_major", "confidence", "sequential", "max_failed", "customer_faults", "knowledge",
    ),
    "Models": (
        "offline", "user_model", "judge_model", "embed_model", "demo_model",
        "user_temperature", "judge_temperature", "cache", "budget", "prices", "jpy_per_usd",
    ),
    "Running": (
        "concurrency", "calls", "rpm", "tpm", "timeout", "patience", "runs", "resume", "dry_run",
        "shard", "engine", "scheduler", "workers",
    ),
    "Load": ("customers", "arrival", "think"),
    "Rows": ("prompt", "shots", "choosing", "labels", "positive", "outputs", "scoring", "sample", "strict"),
    "Output": ("to", "sheet", "worksheet", "new_sheet", "folder", "csv_encoding", "json_output"),
}  # fmt: skip
# The settings that only the rows of a data set have, and those that only conversations with customers have.
OWN_SETTINGS: Mapping[Protocol, frozenset[str]] = {
    "single_turn": frozenset(PANELS["Rows"]),
    "dialogue": frozenset({
        "persona", "turns", *PANELS["The customer"], *PANELS["Load"], "user_model", "user_temperature",
        "customer_faults",
    }),
}  # fmt: skip
# Text on the command line, whatever Settings makes of it.
_AS_TEXT = frozenset({"budget", "prices", "confidence"})
_METAVARS = {
    "set": "KEY=VALUE",
    "redact_patterns": "REGEX",
    "cases": "FILE",
    "columns": "CASE=FILE,...",
    "guidelines": "FILE",
    "contacts": "FILE",
    "ng_words": "FILE",
    "check": "FILE",
    "sheet": "KEY",
    "worksheet": "NAME",
    "new_sheet": "TITLE",
    "folder": "ID",
    "panel": "MODEL,...",
    "resume": "RUN",
    "runs": "FOLDER",
    "judges": "NAME,...",
    "to": "NAME,...",
    "target": "SCORE",
    "max_failed": "SHARE",
    "max_major": "SHARE",
    "confidence": "SHARE",
    "customer_faults": "HOW",
    "knowledge": "PATH",
    "budget": "AMOUNT",
    "prices": "FILE",
    "jpy_per_usd": "YEN",
    "script": "FILE",
    "replay": "RUN",
    "shard": "K/N",
    "prompt": "NAME",
    "outputs": "FILE",
    "sample": "N[:SEED]",
    "labels": "NAME,...",
    "positive": "LABEL",
    "scheduler": "ADDRESS",
    "arrival": "RATE",
    "think": "SECONDS",
    "timeout": "SECONDS",
    "patience": "SECONDS",
    "user_model": "MODEL",
    "judge_model": "MODEL",
    "embed_model": "MODEL",
    "demo_model": "MODEL",
}

# The run that a command is about.
Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run: id, start of an id, latest, or path. [default: latest]",
        show_default=False,
    ),
]
# Of labelled answers: `calibrate` and `thresholds suggest`.
Good = Annotated[
    str | None,
    typer.Option(
        "--good",
        metavar="VALUE",
        show_default=False,
        help="The lowest label of a right answer, or the text that marks one. "
        "Default: what rounds to the top of the scale.",
    ),
]
# Takes the flags, and parameters of its own; returns the exit code.
Command = Callable[..., int]


class CommandGroup(TyperGroup):
    """A command with subcommands, whose help is in the reader's language."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The subcommand that the first word names. Raises InputError where there is none."""
        word = args[0]
        if word.startswith("-") or self.get_command(ctx, word):
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(word, self.list_commands(ctx))
        raise InputError(
            sentences(
                _("No such command '{name}'.", name=word),
                _("Did you mean {names}?", names=", ".join(map(repr, near))) if near else None,
                _("See: {path} --help", path=ctx.command_path),
            )
        )

    def get_help(self, ctx: Any) -> str:
        """The page, as text."""
        return super().get_help(_for_reader(ctx))


class PanelCommand(TyperCommand):
    """A command whose help shows its options under titles, aligned over the whole page."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words that are left. Raises InputError for words that nothing takes."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if type(error).__name__ != "UsageError":  # its subclasses say of what kind they are
                raise
            words = str(error.message).partition(" (")[2].removesuffix(")")  # type: ignore[attr-defined]
            extra = _("Got unexpected extra argument(s) ({words}).", words=words)
            raise InputError(sentences(extra, _("See: {path} --help", path=ctx.command_path))) from None

    def get_help(self, ctx: Any) -> str:
        """The page, as text, in the reader's language."""
        return super().get_help(_for_reader(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the options by title, in the order in which they are declared."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if record := param.get_help_record(ctx):
                kind = "Arguments" if param.param_type_name == "argument" else "Options"
                name = record[0].removesuffix(" <str>").removesuffix(" <list[str]>")
                title = getattr(param, "rich_help_panel", None) or kind
                panels.setdefault(title, []).append((name, record[1]))
        # Beyond the column of names a longer one stands on a line of its own.
        widest = min(30, max(len(name) for records in panels.values() for name, _ in records))
        for title, records in panels.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), text) for name, text in records])


def _for_reader(ctx: Any) -> Any:
    """The context, which writes a Japanese page in a Japanese locale."""
    if language_of(os.environ) == "ja":
        ctx.formatter_class = JapanesePage
    return ctx


def takes_settings(
    protocol: Protocol,
    without: frozenset[str] = frozenset(),
    repeated: frozenset[str] = frozenset(),
    defaults: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Command], Callable[..., int]]:
    """The command with every setting of a protocol as an option but those in `without`; see `takes`."""
    foreign = _foreign_settings(protocol)
    names = (name for names in PANELS.values() for name in names if name not in foreign | without)
    return takes(*names, repeated=repeated, defaults=defaults)


def run_settings(settings: Settings, protocol: Protocol) -> Settings:
    """The settings of a run of a protocol: those of the other one, which rehearsal.toml may hold, are unset.

    Raises InputError for a way of scoring that does not fit the judges.
    """
    values: dict[str, Any] = {"protocol": protocol}
    values |= {name: Settings.model_fields[name].get_default() for name in _foreign_settings(protocol)}
    if protocol == "single_turn":
        values["turns"] = 1
    elif settings.outputs:
        judges = tuple(name for name in settings.judges if name != PASSED)
        values["judges"] = judges or Settings.model_fields["judges"].get_default()
    settings = settings.model_copy(update=values)
    if settings.scoring is None:
        return settings
    from simulator.stats.contest import contest_settings

    return contest_settings(settings)


def _foreign_settings(protocol: Protocol) -> frozenset[str]:
    return frozenset(name for other, names in OWN_SETTINGS.items() if other != protocol for name in names)


def takes(
    *names: str,
    repeated: frozenset[str] = frozenset(),
    defaults: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Command], Callable[..., int]]:
    """The command with these settings as options, after parameters of its own.

    It is called with a dict of the flags, None or False where one is not on the command line. The options in
    `repeated` may be repeated, and arrive as a list; `defaults` are what help shows for this command.
    """

    def with_options(command: Command) -> Callable[..., int]:
        _, *own = inspect.signature(command).parameters.values()

        def parsed(**values: Any) -> int:
            return command({name: values.pop(name) for name in names}, **values)

        titles: dict[str, str | None] = {name: title for title, members in PANELS.items() for name in members}
        if len(names) < len(titles) / 2:  # a few options need no titles
            titles = dict.fromkeys(titles)
        options = [
            _parameter(name, titles[name], repeated=name in repeated, default=defaults.get(name))
            for name in names
        ]
        parameters = [*own, *options]
        parsed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        parsed.__annotations__ = {p.name: p.annotation for p in parameters}
        parsed.__doc__ = command.__doc__
        return parsed

    return with_options


def _parameter(
    name: str, title: str | None, *, repeated: bool = False, default: str | None = None
) -> inspect.Parameter:
    field = Settings.model_fields[name]
    read_as = _option_type(field.annotation)
    shown_default = f" [default: {default}]" if default else _default_text(name, field)
    if name in _AS_TEXT:
        read_as = str | None
    if repeated:
        read_as = list[str] | None
    option = typer.Option(
        flag(name), help=f"{field.description}{shown_default}", rich_help_panel=title, show_default=False,
        metavar=_metavar(name, field),
    )  # fmt: skip
    annotation: Any = Annotated[read_as, option]
    missing = False if read_as is bool else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=missing, annotation=annotation)


def _option_type(annotation: Any) -> Any:
    """The type of an option; Settings checks ranges and choices, in one place."""
    if annotation is bool:
        return bool
    members = _members(annotation)
    if any(get_origin(o) in (tuple, dict) for o in members):
        return list[str] | None
    if str in members:
        return str | None
    if any(_is(o, int) for o in members):
        return int | None
    if any(_is(o, float) for o in members):
        return float | None
    return str | None


def _members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the one type."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _is(annotation: Any, kind: type) -> bool:
    return annotation is kind or (get_origin(annotation) is Annotated and get_args(annotation)[0] is kind)


def _metavar(name: str, field: FieldInfo) -> str | None:
    if field.annotation is bool or name in _METAVARS:
        return _METAVARS.get(name)
    for member in _members(field.annotation):
        if get_origin(member) is Literal:
            return "|".join(map(str, get_args(member)))
    read_as = get_args(_option_type(field.annotation))
    return "N" if int in read_as else "X" if float in read_as else "NAME"


def _default_text(name: str, field: FieldInfo) -> str:
    models: dict[str, str] = {f"{role}_model": model for role, model in DEFAULT_MODELS.items()}
    value = models.get(name, field.default)
    if field.default_factory is not None or value is None or value is False or value in ((), {}):
        return ""
    if isinstance(value, tuple):
        value = ", ".join(value)
    return f" [default: {value:g}]" if isinstance(value, float) else f" [default: {value}]"
