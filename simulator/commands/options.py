"""Options are declared once, on Settings; a command names the ones it takes."""

import inspect
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from simulator.settings import Settings, flag

# Tables of rehearsal.toml, with no flag of their own.
NO_FLAG = frozenset({"red", "greeting"})
_PANELS = {
    "What to rehearse": (
        "persona", "cases", "limit", "language", "turns", "repeats", "adapter", "set", "seed",
    ),
    "Grading": ("judges", "judging", "guidelines", "target", "max_failed"),
    "Models": (
        "offline", "user_model", "judge_model", "embed_model", "demo_model",
        "user_temperature", "judge_temperature", "cache", "budget",
    ),
    "Running": ("concurrency", "calls", "timeout", "runs", "resume", "dry_run"),
    "Output": ("to", "json_output"),
}  # fmt: skip


def takes_settings(command: Callable[[dict[str, Any]], int]) -> Callable[..., int]:
    """The command with every setting as an option; it is called with the flags that were given."""

    def parsed(**flags: Any) -> int:
        return command(flags)

    parameters = [
        _parameter(name, panel)
        for panel, names in _PANELS.items()
        for name in names
        if name in Settings.model_fields
    ]
    parsed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    parsed.__annotations__ = {p.name: p.annotation for p in parameters}
    parsed.__doc__ = command.__doc__
    return parsed


def _parameter(name: str, panel: str) -> inspect.Parameter:
    field = Settings.model_fields[name]
    plain, shown = _plain_type(field.annotation), _shown_default(field)
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
    if field.annotation is bool:
        return None
    for option in _options(field.annotation):
        if get_origin(option) is Literal:
            return "|".join(map(str, get_args(option)))
    named = {"set": "KEY=VALUE", "cases": "FILE", "guidelines": "FILE", "resume": "RUN", "runs": "FOLDER"}
    known = {int: "N", float: "X"}
    plain = _plain_type(field.annotation)
    return named.get(name) or next((m for t, m in known.items() if t in get_args(plain)), "NAME")


def _shown_default(field: FieldInfo) -> str:
    value = field.default
    if value in (None, (), False) or value == {}:
        return ""
    return f" [{','.join(value) if isinstance(value, tuple) else value}]"
