"""The settings of every cell: what the matrix says of it, on top of what all of them are told."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.errors import InputError
from simulator.core.settings import NOT_OF_THE_RUN, PREFIX, Settings, from_run, load
from simulator.core.types import PASSED
from simulator.data.datasets import has_rows_in
from simulator.matrix.plan import Cell, Matrix
from simulator.matrix.reading import CHAT, MODEL

# How fast, for how much, how long to wait: these change nothing about what comes out.
_OF_THE_SITTING = frozenset(
    {"concurrency", "calls", "rpm", "tpm", "timeout", "budget", "prices", "jpy_per_usd", "cache"}
)
# Judges and thresholds of a data set that stand in the matrix itself.
INLINE = "outputs"
# What settings loaded for a command are made to those of a single-turn data set.
Shaping = Callable[[Settings], Settings]


class Resolved(NamedTuple):
    """One cell with its settings; `outputs` are judges and thresholds that have no file of their own yet."""

    cell: Cell
    settings: Settings
    outputs: dict[str, Any] | None = None

    def stored(self) -> dict[str, Any]:
        """What is written down, without secrets. Judges and a bot that nobody named depend on the data."""
        unnamed = {"judges", "adapter"} - self.settings.model_fields_set
        return {key: value for key, value in self.settings.of_the_run().items() if key not in unnamed}

    def told(self) -> dict[str, Any]:
        """What the cell is known by, however fast and for how much it is run."""
        own = {key: value for key, value in self.stored().items() if key not in _OF_THE_SITTING}
        return {**own, "cell": self.cell.model_dump(), "inline": self.outputs}

    def files(self) -> Iterator[str]:
        """The files that decide what comes out."""
        settings = self.settings
        name, suffix, _ = (settings.prompt or "").partition(".toml")
        prompt = f"{name}{suffix}" if suffix else f"prompts/{name.partition(':')[0]}.toml"
        adapter = settings.adapter.rpartition(":")[0]
        yield from filter(None, (settings.cases, prompt, settings.outputs, adapter))


def resolved(
    matrix: Matrix, flags: Mapping[str, Any], shape: Shaping, environ: Mapping[str, str] = os.environ
) -> tuple[Resolved, ...]:
    """Every cell. The command line goes before the environment, that before the matrix; its axes go first."""
    given = {k: v for k, v in flags.items() if v is not None and v is not False and v not in ((), [])}
    told = {key: value for key, value in matrix.settings.items() if PREFIX + key.upper() not in environ}
    own_set, given_set = _pairs(told.pop("set", {})), _pairs(given.pop("set", {}))
    common = load({**told, **given, "set": own_set | given_set}, environ=environ)
    return tuple(
        _resolved(cell, own, {**told, **given}, common, shape, environ) for cell, own in matrix.cells()
    )


def in_language(cells: Sequence[Resolved]) -> tuple[tuple[Resolved, ...], tuple[str, ...]]:
    """The cells of which some row is in the language that is asked for, and the data sets of the others.

    Raises InputError where no data set has such rows.
    """
    known: dict[tuple[str | None, str | None, bool], bool] = {}
    for settings in (each.settings for each in cells):
        key = _reading(settings)
        known[key] = known[key] if key in known else _has_rows(*key, settings.columns)
    kept = tuple(each for each in cells if known[_reading(each.settings)])
    if cells and not kept:
        msg = f"no data set has rows in '{cells[0].settings.language}': leave out --language."
        raise InputError(msg)
    out = dict.fromkeys(each.cell.data for each in cells if each not in kept)
    return kept, tuple(out)


def _reading(settings: Settings) -> tuple[str | None, str | None, bool]:
    return settings.cases, settings.language, settings.prompt is None


def _has_rows(cases: str | None, language: str | None, asks: bool, columns: Mapping[str, str]) -> bool:
    if language not in {"ja", "en"} or cases is None or not Path(cases).is_file():
        return True
    return has_rows_in(Path(cases), "ja" if language == "ja" else "en", asks=asks, columns=columns)


def _resolved(  # noqa: PLR0917 - the layers of one cell's settings
    cell: Cell,
    own: dict[str, Any],
    given: dict[str, Any],
    common: Settings,
    shape: Shaping,
    environ: Mapping[str, str],
) -> Resolved:
    own, outputs = _without_inline(own)
    assumed = MODEL in own.get("set", {}) and not {"adapter"} & {*own, *common.model_fields_set}
    if assumed:
        own["adapter"] = CHAT
    same = assumed or own.get("adapter", common.adapter) == common.adapter
    values = {**(common.set if same else {}), **own.pop("set", {})}
    return Resolved(cell, shape(load({**given, **own, "set": values}, environ=environ)), outputs)


def _without_inline(own: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    outputs = own.get(INLINE)
    return (
        ({k: v for k, v in own.items() if k != INLINE}, outputs)
        if isinstance(outputs, dict)
        else (dict(own), None)
    )


def _pairs(given: Any) -> dict[str, str]:
    """`set` as it may be given, by name; InputError for what is no setting."""
    return load({"set": given, "adapter": "-"}, environ={}).set if given else {}


def with_files(cells: Sequence[Resolved], folder: Path) -> tuple[Resolved, ...]:
    """The cells with a file for judges and thresholds that stood in the matrix itself."""
    return tuple(_with_file(each, folder) if each.outputs else each for each in cells)


def _with_file(each: Resolved, folder: Path) -> Resolved:
    path = folder / f"{INLINE}-{''.join(c if c.isalnum() else '_' for c in each.cell.data)}.json"
    try:
        path.write_text(json.dumps(each.outputs, ensure_ascii=False, indent=1), encoding="utf-8")
    except OSError as error:
        msg = f"{path}: cannot be written ({error.strerror})."
        raise InputError(msg) from None
    judges = each.settings.judges if "judges" in each.settings.model_fields_set else ()
    told = {INLINE: str(path), "judges": tuple(dict.fromkeys((PASSED, *judges)))}
    return each._replace(settings=each.settings.model_copy(update=told), outputs=None)


def from_record(told: Mapping[str, Any], now: Settings) -> Settings:
    """The settings of a cell as they were written down; how to show them is today's."""
    return from_run(told, **{name: getattr(now, name) for name in NOT_OF_THE_RUN})
