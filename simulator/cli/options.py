"""Options are declared once, on Settings; a command names the ones it takes."""

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperCommand, TyperGroup

from simulator.core.document import wrap
from simulator.core.roles import DEFAULT_MODELS
from simulator.core.settings import Settings, flag
from simulator.core.templates import read_toml
from simulator.core.translations import FOLDER, language_of

# Before a paragraph: its lines are kept as they are.
_KEPT = "\b\n"
# What the command line itself says of an option, behind its help: `[default: 3]  [1<=x<=10]`.
_REMARKS = re.compile(r"(?:\s*\[(?:default: |required|x>=|[\d.]+<=x)[^]]*\])+$")
_DEFAULT, _LEAST, _RANGE = re.compile("default: (.+)"), re.compile("x>=(.+)"), re.compile("(.+)<=x<=(.+)")
_Page: Any = TyperCommand.context_class.formatter_class


@cache
def catalogue() -> dict[str, str]:
    """English to Japanese."""
    return read_toml(FOLDER / "help" / "ja.toml")


class JapanesePage(_Page):  # type: ignore[misc]
    """Writes a help page; where a text has no Japanese form, it stays English."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """How the command is called."""
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
    """A paragraph, title or help of an option, with what follows it in square brackets."""
    remarks = _REMARKS.search(english)
    text = english[: remarks.start()] if remarks else english
    said = catalogue().get(text, text)
    return f"{said}（{'、'.join(_remarks(remarks[0]))}）" if remarks else said


def _remarks(brackets: str) -> Iterator[str]:
    for remark in re.split(r"\]\s*\[|; ", brackets.strip().removeprefix("[").removesuffix("]")):
        if default := _DEFAULT.fullmatch(remark):
            said = catalogue().get(default[1])
            yield f"既定は{said}" if said else f"既定は {default[1]}"
        elif between := _RANGE.fullmatch(remark):
            yield f"{between[1]}〜{between[2]}"
        elif least := _LEAST.fullmatch(remark):
            yield f"{least[1]}以上"
        else:
            yield {"required": "必須"}.get(remark, remark)


def _lines(paragraph: str, width: int) -> str:
    """The paragraph in lines that fit, marked so that they are kept."""
    if paragraph.startswith(_KEPT):
        lines = [in_japanese(line) for line in paragraph.removeprefix(_KEPT).splitlines()]
    else:
        lines = wrap(in_japanese(" ".join(paragraph.split("\n"))), width, by_phrase=True)
    return _KEPT + "\n".join(lines)


# Tables of rehearsal.toml, with no flag of their own; and what the command itself says.
NO_FLAG = frozenset({"red", "greeting", "protocol"})
PANELS = {
    "What to rehearse": (
        "persona", "cases", "columns", "limit", "language", "turns", "repeats", "adapter", "set", "seed",
        "redact", "redact_patterns",
    ),
    "The customer": ("voice_opening", "typos", "script", "replay"),
    "Grading": (
        "judges", "judging", "votes", "panel", "guidelines", "contacts", "ng_words", "tokenizer", "check",
        "target", "max_major", "confidence", "sequential", "max_failed", "customer_faults", "knowledge",
    ),
    "Models": (
        "offline", "user_model", "judge_model", "embed_model", "demo_model",
        "user_temperature", "judge_temperature", "cache", "budget", "prices", "jpy_per_usd",
    ),
    "Running": (
        "concurrency", "calls", "rpm", "tpm", "timeout", "patience", "runs", "resume", "dry_run", "ask_bot",
        "shard", "engine", "scheduler", "workers",
    ),
    "Load": ("customers", "arrival", "think"),
    "Rows": ("prompt", "shots", "choosing", "labels", "positive", "outputs", "scoring", "sample", "strict"),
    "Output": ("to", "sheet", "worksheet", "new_sheet", "folder", "csv_encoding", "json_output"),
}  # fmt: skip
# Of single-turn data sets only, and of dialogues only.
OF_ROWS = frozenset(PANELS["Rows"])
OF_DIALOGUES = frozenset({
    "persona", "cases", "turns", *PANELS["The customer"], *PANELS["Load"], "user_model", "user_temperature",
    "customer_faults",
})  # fmt: skip
# Read by Settings from text, whatever they are there.
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
    "typos": "SHARE",
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
Command = Callable[..., int]  # of the flags that were given, and of parameters of its own


class CommandGroup(TyperGroup):
    """A word with words of its own, whose help is in the reader's language."""

    def get_help(self, ctx: Any) -> str:
        """The page, as text."""
        return super().get_help(_for_reader(ctx))


class PanelCommand(TyperCommand):
    """A command whose help shows its options under the titles of their panels, in one alignment."""

    def get_help(self, ctx: Any) -> str:
        """The page, as text, in the reader's language."""
        return super().get_help(_for_reader(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the panels in the order in which their first options are declared."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            usual = "Arguments" if param.param_type_name == "argument" else "Options"
            if record := param.get_help_record(ctx):
                title = getattr(param, "rich_help_panel", None) or usual
                panels.setdefault(title, []).append(
                    (record[0].removesuffix(" <str>").removesuffix(" <list[str]>"), record[1])
                )
        widest = max(len(name) for records in panels.values() for name, _ in records)
        for title, records in panels.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), text) for name, text in records])


def _for_reader(ctx: Any) -> Any:
    """The context of a command, which writes a Japanese page in a Japanese locale."""
    if language_of(os.environ) == "ja":
        pass  # English help does without it

        ctx.formatter_class = JapanesePage
    return ctx


def takes_settings(command: Command) -> Callable[..., int]:
    """The command with every setting of a dialogue as an option; it is called with the flags given."""
    return takes(*(name for names in PANELS.values() for name in names if name not in OF_ROWS))(command)


def takes_row_settings(command: Command) -> Callable[..., int]:
    """The same for a single-turn data set, after parameters of its own; prompts are given as a list."""
    names = (name for names in PANELS.values() for name in names if name not in OF_DIALOGUES)
    usual = {"judges": "those that fit the data"}
    return takes(*names, several=frozenset({"prompt"}), usual=usual)(command)


def takes(
    *names: str, several: frozenset[str] = frozenset(), usual: Mapping[str, str] = MappingProxyType({})
) -> Callable[[Command], Callable[..., int]]:
    """The command with these settings as options, after parameters of its own.

    `several` may be given more than once, and arrive as a list; `usual` are defaults that are this command's.
    """

    def with_options(command: Command) -> Callable[..., int]:
        _, *own = inspect.signature(command).parameters.values()

        def parsed(**given: Any) -> int:
            return command({name: given.pop(name) for name in names}, **given)

        panels = {name: panel for panel, members in PANELS.items() for name in members}
        alone = len(names) < len(panels) / 2  # a few options need no panels
        shown = {name: None if alone else panels[name] for name in names}
        options = [
            _parameter(name, shown[name], several=name in several, usual=usual.get(name)) for name in names
        ]
        parameters = [*own, *options]
        parsed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        parsed.__annotations__ = {p.name: p.annotation for p in parameters}
        parsed.__doc__ = command.__doc__
        return parsed

    return with_options


def _parameter(
    name: str, panel: str | None, *, several: bool = False, usual: str | None = None
) -> inspect.Parameter:
    field = Settings.model_fields[name]
    plain = _plain_type(field.annotation)
    shown = f" [default: {usual}]" if usual else _shown_default(name, field)
    if name in _AS_TEXT:
        plain = str | None
    if several:
        plain = list[str] | None
    option = typer.Option(
        flag(name), help=f"{field.description}{shown}", rich_help_panel=panel, show_default=False,
        metavar=_metavar(name, field),
    )  # fmt: skip
    annotation: Any = Annotated[plain, option]
    default = False if plain is bool else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _plain_type(annotation: Any) -> Any:
    """What the command line reads; ranges and choices are checked by Settings, in one place."""
    if annotation is bool:
        return bool
    options = _options(annotation)
    if any(get_origin(o) in (tuple, dict) for o in options):
        return list[str] | None
    if str in options:
        return str | None
    if any(_is(o, int) for o in options):
        return int | None
    if any(_is(o, float) for o in options):
        return float | None
    return str | None


def _options(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the one type."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _is(annotation: Any, kind: type) -> bool:
    return annotation is kind or (get_origin(annotation) is Annotated and get_args(annotation)[0] is kind)


def _metavar(name: str, field: FieldInfo) -> str | None:
    if field.annotation is bool or name in _METAVARS:
        return _METAVARS.get(name)
    for option in _options(field.annotation):
        if get_origin(option) is Literal:
            return "|".join(map(str, get_args(option)))
    known = {int: "N", float: "X"}
    plain = _plain_type(field.annotation)
    return _METAVARS.get(name) or next((m for t, m in known.items() if t in get_args(plain)), "NAME")


def _shown_default(name: str, field: FieldInfo) -> str:
    models: dict[str, str] = {f"{role}_model": model for role, model in DEFAULT_MODELS.items()}
    value = models.get(name, field.default)
    if field.default_factory is not None or value is None or value is False or value in ((), {}):
        return ""
    shown = (
        ", ".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else value
    )
    return f" [default: {shown}]"
