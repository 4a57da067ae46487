"""What a matrix consists of: its data sets, prompts and models, and the cells these make."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, JsonValue

from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import Message, _
from simulator.core.secrets import is_secret
from simulator.core.settings import (
    FILE_SETTINGS,
    NOT_STORED,
    PREFIX,
    Settings,
    load_settings,
    resolve_bot,
    resolve_judges,
    resolve_path,
    resolve_prompt,
    setting_text,
    shortened,
    stored_settings,
)
from simulator.core.templates import read_toml
from simulator.core.types import PASSED, Text, Value
from simulator.data.cases import DatasetRequest, has_rows_in


class DataSet(Value):
    """One file of rows; `settings` are those of its runs alone: its judges, its outputs."""

    name: Text
    cases: Text
    settings: dict[str, JsonValue] = Field(default={})


class NamedPrompt(Value):
    """One prompt: `prompt` is its id or file as `--prompt` takes it; None sends each row as it is."""

    name: str = ""
    prompt: str | None = None


class NamedModel(Value):
    """One model: what is set of the adapter, and which adapter, where it is not the common one."""

    name: str = ""
    adapter: str | None = None
    set: dict[str, str] = Field(default={})


class CellId(Value):
    """One place of the matrix, by the names of its data set, prompt and model; without any, `""`."""

    data: str
    prompt: str = ""
    model: str = ""

    @property
    def key(self) -> str:
        """`faq/strict/qwen3`, without what the matrix does not vary."""
        return "/".join(filter(None, (self.data, self.prompt, self.model)))

    @property
    def shown(self) -> str:
        """As progress names it: `faq x strict x qwen3`."""
        return " x ".join(filter(None, (self.data, self.prompt, self.model)))


class Matrix(Value):
    """All that is to be run: every data set with every prompt and every model.

    `settings` are those of every cell, by the names of rehearsal.toml.
    """

    data: tuple[DataSet, ...]
    prompts: tuple[NamedPrompt, ...] = (NamedPrompt(),)
    models: tuple[NamedModel, ...] = (NamedModel(),)
    settings: dict[str, JsonValue] = Field(default={})
    title: str = ""
    chain: bool = False

    def cells(self) -> Iterator[tuple[CellId, dict[str, Any]]]:
        """Each cell with its own settings, without those of all: data sets first, then prompts."""
        for data in self.data:
            for prompt in self.prompts:
                for model in self.models:
                    cell = CellId(data=data.name, prompt=prompt.name, model=model.name)
                    yield cell, _cell_settings(data, prompt, model)


def _cell_settings(data: DataSet, prompt: NamedPrompt, model: NamedModel) -> dict[str, Any]:
    settings: dict[str, Any] = {**data.settings, "cases": data.cases}
    if prompt.prompt is not None:
        settings["prompt"] = prompt.prompt
    if model.adapter is not None:
        settings["adapter"] = model.adapter
    if model.set:
        settings["set"] = dict(model.set)
    return settings


TABLE = "matrix"
_AXES = ("cases", "prompts", "models")
_MODEL_KEYS = ("name", "adapter", "set")
# What a model's name is given as: `--set model=...`.
MODEL = "model"
# What metric files call an answer that is not split into outputs.
WHOLE = "default"
# The adapter where only models are named: an endpoint that knows models by name.
CHAT = "openai_chat"


def is_matrix(path: Path) -> bool:
    """Whether this is a TOML file with a table [matrix]; raises PromptError for one that is broken."""
    return path.suffix.lower() == ".toml" and path.is_file() and TABLE in read_toml(path)


def read_matrix(path: Path) -> Matrix:
    """The matrix of a file; raises InputError with the file and the key of what is invalid.

    Files that it names are looked up beside it, then in the current folder. Judges of all data sets stand in
    [matrix] or, where [judges] has none of its own for some of them, at the top.
    """
    table = read_toml(path)
    axes, judges = table.pop(TABLE, None), table.pop("judges", None)
    if not isinstance(axes, dict):
        msg = _("{path}: there is no table [matrix]. See docs/matrix.md.", path=path)
        raise InputError(msg)
    _check_keys(path, "[matrix]", axes, (*_AXES, "judges", "title"))
    source = _Source(path)
    data = source.data(axes.get("cases"), judges if isinstance(judges, dict) else {})
    settings = source.settings("", table)
    common = axes.get("judges", judges if not isinstance(judges, dict) else None)
    if common is not None:
        settings["judges"] = resolve_judges(path, common)
    models = source.models(axes.get("models"))
    if "adapter" in settings:
        settings["adapter"] = source.adapter(str(settings["adapter"]))
    return Matrix(
        data=data,
        prompts=source.prompts(axes.get("prompts")),
        models=models,
        settings=settings,
        title=str(axes.get("title", "")),
    )


def matrix_of_options(cases: Sequence[str], prompts: Sequence[str], given: Sequence[str]) -> Matrix | None:
    """The matrix of a command line; None where nothing is named twice. `given` is `--set`, key=value each.

    A key of `--set` with several values is an axis: each value is a model of its own.
    """
    values: dict[str, dict[str, None]] = {}
    for pair in given:
        key, _unused, value = pair.partition("=")
        values.setdefault(key.strip(), {})[value] = None
    several = {key: list(found) for key, found in values.items() if len(found) > 1}
    if len(several) > 1:
        msg = _("--set {settings}: only one of them may have several values.", settings=" and ".join(several))
        raise InputError(msg)
    if len(cases) < 2 and len(prompts) < 2 and not several:
        return None
    models = tuple(
        NamedModel(name=f"{key} {number}" if is_secret(key) else each, set={key: each})
        for key, found in several.items()
        for number, each in enumerate(found, 1)
    )
    source = _Source(None)
    return Matrix(
        data=source.data(list(cases), {}),
        prompts=source.prompts(list(prompts) or None),
        models=models or (NamedModel(),),
    )


class _Source:
    """Where a matrix is read from: a file, or the command line (None). Its errors name the file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def error(self, message: Message | str) -> InputError:
        """An error, with the file that holds it."""
        return InputError(_("{path}: {message}", path=self.path, message=message) if self.path else message)

    def data(self, given: Any, judges: Mapping[str, Any]) -> tuple[DataSet, ...]:
        """The data sets, each with its own settings."""
        if isinstance(given, str):
            given = [given]
        if not given or not isinstance(given, list | dict):
            raise self.error(_('[matrix] cases: name at least one file: cases = ["faq.csv"].'))
        named = self._named("cases", given, _stem)
        for name in judges:
            if name not in named:
                raise UnknownName(_("data set"), name, named, _("(in [judges] of {path})", path=self.path))
        return tuple(
            DataSet(name=name, cases=self.file(cases), settings=self._of_data(name, judges.get(name, {})))
            for name, cases in named.items()
        )

    def _of_data(self, name: str, given: Any) -> dict[str, Any]:
        """`faq = ["em"]` are its judges; a table has any setting."""
        if not isinstance(given, str | list | dict):
            raise self.error(
                _(
                    "[judges] {name} {value}: a list of judges, or a table of settings.",
                    name=name,
                    value=shortened(given),
                )
            )
        settings: dict[str, Any] = dict(given) if isinstance(given, dict) else {"judges": given}
        if (thresholds := settings.pop("thresholds", None)) is not None:
            settings["outputs"] = self._with_thresholds(name, settings.get("outputs", {}), thresholds)
            if isinstance(settings.get("judges"), list):  # a judge with a threshold grades only once
                without = [judge for judge in settings["judges"] if judge not in thresholds]
                settings["judges"] = without or [PASSED]
        return self.settings(f"[judges.{name}] ", settings)

    def _with_thresholds(self, name: str, outputs: Any, thresholds: Any) -> dict[str, Any]:
        """`{em = 1}` is about the whole answer, `{path = {em = 1}}` about one output of it."""
        if not isinstance(outputs, dict) or not isinstance(thresholds, dict):
            raise self.error(
                _(
                    "[judges.{name}] thresholds: a table beside judges; a file of outputs has its own.",
                    name=name,
                )
            )
        found = {output: list(judges) for output, judges in outputs.items()}
        for key, limit in thresholds.items():
            output, limits = (key, limit) if isinstance(limit, dict) else (WHOLE, {key: limit})
            metrics = [{"name": judge, "threshold": at} for judge, at in limits.items()]
            found[output] = [each for each in found.get(output, []) if _judge(each) not in limits] + metrics
        return found

    def prompts(self, given: Any) -> tuple[NamedPrompt, ...]:
        """The prompts; one without a name where there are none."""
        if given is None:
            return (NamedPrompt(),)
        if isinstance(given, str):
            given = [given]
        if not given or not isinstance(given, list | dict):
            raise self.error(_('[matrix] prompts: ids or files, as in prompts = ["plain", "strict"].'))
        named = self._named("prompts", given, _prompt_name)
        return tuple(NamedPrompt(name=name, prompt=self._prompt(prompt)) for name, prompt in named.items())

    def _prompt(self, given: str) -> str:
        """`strict.toml:variant` and `strict.toml` are files, anything else is an id."""
        return resolve_prompt(self.path, given) if self.path else given

    def models(self, given: Any) -> tuple[NamedModel, ...]:
        """The models; one without a name where there are none."""
        if given is None:
            return (NamedModel(),)
        if isinstance(given, str):
            given = [given]
        if not given or not isinstance(given, list):
            raise self.error(
                _('[matrix] models: names, as in models = ["gpt-5-mini"], or [[matrix.models]].')
            )
        found = tuple(self._model(each) for each in given)
        self._once("models", [model.name for model in found])
        return found

    def _model(self, given: Any) -> NamedModel:
        if isinstance(given, str):
            return NamedModel(name=given, set={MODEL: given})
        if not isinstance(given, dict) or not isinstance(given.get("set", {}), dict):
            raise self.error(
                _(
                    "[matrix] models {value}: a name, or a table of name, adapter and set.",
                    value=shortened(given),
                )
            )
        _check_keys(self.path, "[[matrix.models]]", given, _MODEL_KEYS)
        values = {key: setting_text(value) for key, value in given.get("set", {}).items()}
        adapter = self.adapter(str(given["adapter"])) if "adapter" in given else None
        name = str(given.get("name") or values.get(MODEL) or given.get("adapter") or "")
        if not name:
            raise self.error(_("[[matrix.models]]: each needs a name."))
        return NamedModel(name=name, adapter=adapter, set=values)

    def settings(self, where: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The settings beside the axes, by the names of rehearsal.toml, with the paths of their files."""
        for key in given:
            if key in {"cases", "prompt"}:
                raise self.error(
                    _("{where}{key}: data sets and prompts stand in [matrix].", where=where, key=key)
                )
            if key not in Settings.model_fields:
                raise UnknownName(_("setting"), key, Settings.model_fields, f"({where}in {self.path})")
        files: dict[str, Any] = {
            key: self.file(value)
            for key, value in given.items()
            if key in FILE_SETTINGS and isinstance(value, str)
        }
        if self.path and "judges" in given:
            files["judges"] = resolve_judges(self.path, given["judges"])
        return {**given, **files}

    def adapter(self, name: str) -> str:
        """`bot.py:answer`, its file looked up beside the matrix first."""
        return resolve_bot(self.path, name) if self.path else name

    def file(self, name: str) -> str:
        """A file as it is named; one that is there beside the matrix, by its path from here."""
        return resolve_path(self.path, name) if self.path else name

    def _named(self, axis: str, given: Any, name_of: Any) -> dict[str, str]:
        pairs = list(given.items()) if isinstance(given, dict) else [(None, each) for each in given]
        for _unused, each in pairs:
            if not isinstance(each, str) or not each.strip():
                raise self.error(
                    _("[matrix] {axis} {value}: must be a text.", axis=axis, value=shortened(each))
                )
        named = [(name or name_of(each), each) for name, each in pairs]
        self._once(axis, [name for name, _unused in named])
        return dict(named)

    def _once(self, axis: str, names: Iterable[str]) -> None:
        known: set[str] = set()
        for name in names:
            if name in known:
                way = (
                    _('[matrix.{axis}] {name} = "...", one line each', axis=axis, name=name)
                    if self.path
                    else _("rename a file")
                )
                raise self.error(
                    _(
                        "[matrix] {axis}: two are called '{name}'; name them: {way}.",
                        axis=axis,
                        name=name,
                        way=way,
                    )
                )
            known.add(name)


def _judge(metric: Any) -> str:
    """The name of a judge of an output, which may stand alone or in a table."""
    return str(metric.get("name") if isinstance(metric, dict) else metric)


def _check_keys(path: Path | None, where: str, given: Mapping[str, Any], names: Sequence[str]) -> None:
    for key in given:
        if key not in names:
            raise UnknownName(_("key of {where}", where=where), key, names, f"(in {path})")


def _stem(cases: str) -> str:
    """`data/faq.jsonl.gz` is `faq`; `sheet:KEY#tab` is what stands after the mark."""
    if cases.startswith("sheet:"):
        return cases.rpartition("#")[2] if "#" in cases else cases.removesuffix("/")
    return Path(cases).name.partition(".")[0] or Path(cases).name


def _prompt_name(prompt: str) -> str:
    """`prompts/strict.toml` is `strict`; `choose:terse` stays as it is."""
    file, suffix, variant = prompt.partition(".toml")
    return f"{Path(file).name}{variant}" if suffix else prompt


# Settings that do not change the results: speed, cost, waiting.
_WITHOUT_EFFECT = frozenset(
    {"concurrency", "calls", "rpm", "tpm", "timeout", "budget", "prices", "jpy_per_usd", "cache"}
)
# Judges and thresholds of a data set that stand in the matrix itself.
INLINE = "outputs"
# What settings loaded for a command are made to those of a single-turn data set.
Shaping = Callable[[Settings], Settings]


class ResolvedCell(NamedTuple):
    """One cell with its settings; `outputs` are judges and thresholds that have no file of their own yet."""

    cell: CellId
    settings: Settings
    outputs: dict[str, Any] | None = None

    def stored(self) -> dict[str, Any]:
        """The settings for the record: without secrets, or judges and a bot that the data chooses."""
        unnamed = {"judges", "adapter"} - self.settings.model_fields_set
        return {key: value for key, value in self.settings.stored_values().items() if key not in unnamed}

    def identity(self) -> dict[str, Any]:
        """What tells the cell from others: all that changes its results."""
        own = {key: value for key, value in self.stored().items() if key not in _WITHOUT_EFFECT}
        return {**own, "cell": self.cell.model_dump(), "inline": self.outputs}

    def files(self) -> Iterator[str]:
        """The files that change the results."""
        settings = self.settings
        name, suffix, _unused = (settings.prompt or "").partition(".toml")
        prompt = f"{name}{suffix}" if suffix else f"prompts/{name.partition(':')[0]}.toml"
        adapter = settings.adapter.rpartition(":")[0]
        yield from filter(None, (settings.cases, prompt, settings.outputs, adapter))


def resolved(
    matrix: Matrix, flags: Mapping[str, Any], shape: Shaping, environ: Mapping[str, str] = os.environ
) -> tuple[ResolvedCell, ...]:
    """Every cell. The command line goes before the environment, that before the matrix; its axes go first."""
    given = {k: v for k, v in flags.items() if v is not None and v is not False and v not in ((), [])}
    of_matrix = {key: value for key, value in matrix.settings.items() if PREFIX + key.upper() not in environ}
    own_set, given_set = _pairs(of_matrix.pop("set", {})), _pairs(given.pop("set", {}))
    common = load_settings({**of_matrix, **given, "set": own_set | given_set}, environ=environ)
    return tuple(
        _resolve(cell, own, {**of_matrix, **given}, common, shape, environ) for cell, own in matrix.cells()
    )


def in_language(cells: Sequence[ResolvedCell]) -> tuple[tuple[ResolvedCell, ...], tuple[str, ...]]:
    """The cells with rows in the language that was asked for, and the data sets of the others.

    Raises InputError where no data set has such rows.
    """
    has_rows: dict[tuple[str | None, str | None, bool], bool] = {}
    for settings in (each.settings for each in cells):
        key = _row_key(settings)
        has_rows[key] = has_rows[key] if key in has_rows else _has_rows(settings)
    kept = tuple(each for each in cells if has_rows[_row_key(each.settings)])
    if cells and not kept:
        msg = _(
            "no data set has rows in '{language}': leave out --language.", language=cells[0].settings.language
        )
        raise InputError(msg)
    out = dict.fromkeys(each.cell.data for each in cells if each not in kept)
    return kept, tuple(out)


def _row_key(settings: Settings) -> tuple[str | None, str | None, bool]:
    return settings.cases, settings.language, settings.prompt is None


def _has_rows(settings: Settings) -> bool:
    language = settings.case_language
    if language is None or settings.cases is None or not Path(settings.cases).is_file():
        return True
    request = DatasetRequest(language, asks=settings.prompt is None, columns=settings.columns)
    return has_rows_in(Path(settings.cases), request)


def _resolve(  # noqa: PLR0917 - the layers of one cell's settings
    cell: CellId,
    own: dict[str, Any],
    given: dict[str, Any],
    common: Settings,
    shape: Shaping,
    environ: Mapping[str, str],
) -> ResolvedCell:
    own, outputs = _without_inline(own)
    assumed = MODEL in own.get("set", {}) and not {"adapter"} & {*own, *common.model_fields_set}
    if assumed:
        own["adapter"] = CHAT
    same = assumed or own.get("adapter", common.adapter) == common.adapter
    values = {**(common.set if same else {}), **own.pop("set", {})}
    return ResolvedCell(cell, shape(load_settings({**given, **own, "set": values}, environ=environ)), outputs)


def _without_inline(own: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    outputs = own.get(INLINE)
    if not isinstance(outputs, dict):
        return dict(own), None
    return {key: value for key, value in own.items() if key != INLINE}, outputs


def _pairs(given: Any) -> dict[str, str]:
    """The values of `set` by name; raises InputError for what is not key=value."""
    return load_settings({"set": given, "adapter": "-"}, environ={}).set if given else {}


def with_files(cells: Sequence[ResolvedCell], folder: Path) -> tuple[ResolvedCell, ...]:
    """The cells with a file for judges and thresholds that stood in the matrix itself."""
    return tuple(_with_file(each, folder) if each.outputs else each for each in cells)


def _with_file(each: ResolvedCell, folder: Path) -> ResolvedCell:
    path = folder / f"{INLINE}-{''.join(c if c.isalnum() else '_' for c in each.cell.data)}.json"
    try:
        path.write_text(json.dumps(each.outputs, ensure_ascii=False, indent=1), encoding="utf-8")
    except OSError as error:
        msg = _("{path}: cannot be written ({strerror}).", path=path, strerror=error.strerror)
        raise InputError(msg) from None
    judges = each.settings.judges if "judges" in each.settings.model_fields_set else ()
    settings = {INLINE: str(path), "judges": tuple(dict.fromkeys((PASSED, *judges)))}
    return each._replace(settings=each.settings.model_copy(update=settings), outputs=None)


def from_record(stored: Mapping[str, Any], today: Settings) -> Settings:
    """The settings of a cell in its record, with today's reports."""
    return stored_settings(stored, **{name: getattr(today, name) for name in NOT_STORED})
