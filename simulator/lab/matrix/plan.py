"""What a matrix consists of: its data sets, prompts and models, and the cells these make.

    read_matrix(Path("matrix.toml"))            a table [matrix], as docs/lab/matrix.md has it
    matrix_of_options(cases, prompts, given)    the same from repeated options of `evaluate`
    resolved(matrix, flags, shape)              every cell with its settings

    cases = ["faq.csv", "chat.jsonl"], prompts = ["plain", "strict"], models = ["gpt-5-mini", "qwen3"]
    -> eight cells: faq/plain/gpt-5-mini, faq/plain/qwen3, faq/strict/gpt-5-mini, ...

What is not varied has no name, and is left out of names. A setting of a cell comes from, in this order: the
axes and the table of its data set, the command line, the environment, the rest of the file, rehearsal.toml.
Everything is read and checked here, with the file and the key of what is wrong, before any cell runs.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, JsonValue

from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import Message, _
from simulator.core.secrets import is_secret
from simulator.core.settings import (
    PREFIX,
    SETTINGS_LISTED,
    Settings,
    added_files,
    load_settings,
    resolve_path,
    setting_fields,
    setting_text,
    shortened,
)
from simulator.core.templates import read_toml
from simulator.core.types import Text, Value

# Settings that name a file, looked up beside the matrix first.
_FILES = frozenset({"guidelines", "contacts", "rules", "knowledge"})


class MatrixData(Value):
    """One file of rows; `settings` are those of its runs alone: its judges, its outputs."""

    name: Text
    cases: Text
    settings: dict[str, JsonValue] = Field(default={})


class NamedPrompt(Value):
    """One prompt: `prompt` is its id or file as `--prompt` takes it; None sends each row as it is."""

    name: str = ""
    prompt: str | None = None


class NamedModel(Value):
    """One model: what is set of the adapter, and which adapter, where it is not the common one.

    "gpt-5-mini" alone is `set = { model = "gpt-5-mini" }`.
    """

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

    data: tuple[MatrixData, ...]
    prompts: tuple[NamedPrompt, ...] = (NamedPrompt(),)
    models: tuple[NamedModel, ...] = (NamedModel(),)
    settings: dict[str, JsonValue] = Field(default={})
    title: str = ""

    def cells(self) -> Iterator[tuple[CellId, dict[str, Any]]]:
        """Each cell with its own settings, without those of all: data sets first, then prompts."""
        for data in self.data:
            for prompt in self.prompts:
                for model in self.models:
                    cell = CellId(data=data.name, prompt=prompt.name, model=model.name)
                    axes = {"prompt": prompt.prompt, "adapter": model.adapter, "set": model.set or None}
                    of_cell = {key: value for key, value in axes.items() if value is not None}
                    yield cell, {**data.settings, "cases": data.cases, **of_cell}


# The keys of [matrix] that make cells, beside `judges` and `title`.
_AXES = ("cases", "prompts", "models")
# What a model's name is given as: `--set model=...`.
MODEL = "model"
# The adapter where only models are named: an endpoint that knows models by name.
CHAT = "openai_chat"


def is_matrix(path: Path) -> bool:
    """Whether this is a TOML file with a table [matrix]; raises PromptError for one that is broken."""
    return path.suffix.lower() == ".toml" and path.is_file() and "matrix" in read_toml(path)


def read_matrix(path: Path) -> Matrix:
    """The matrix of a file; raises InputError with the file and the key of what is invalid.

    Files that it names are looked up beside it, then in the current folder. Judges of all data sets stand in
    [matrix] or, where [judges] has none of its own for some of them, at the top.
    """
    # [judges] is a table of data sets, or a list as `judges` of any settings file; the rest are common
    # settings.
    table = read_toml(path)
    axes, judges = table.pop("matrix", None), table.pop("judges", None)
    if not isinstance(axes, dict):
        raise InputError(_("{path}: no table [matrix]. See docs/lab/matrix.md.", path=path))
    _check_keys(path, "[matrix]", axes, (*_AXES, "judges", "title"))
    file = _MatrixFile(path)
    data = file.data(axes.get("cases"), judges if isinstance(judges, dict) else {})
    settings = file.settings("", table)
    # Named in [matrix] they go before a list at the top; a data set's own go before either.
    common = axes.get("judges", judges if not isinstance(judges, dict) else None)
    if common is not None:
        settings["judges"] = _resolve_judges(path, common)
    models = file.models(axes.get("models"))
    if "adapter" in settings:
        settings["adapter"] = _resolve_bot(path, str(settings["adapter"]))
    return Matrix(
        data=data,
        prompts=file.prompts(axes.get("prompts")),
        models=models,
        settings=settings,
        title=str(axes.get("title", "")),
    )


def matrix_of_options(cases: Sequence[str], prompts: Sequence[str], given: Sequence[str]) -> Matrix | None:
    """The matrix of a command line; None where nothing is named twice. `given` is `--set`, key=value each.

    A key of `--set` with several values is an axis: each value is a model of its own. Raises InputError for
    two such keys, and where no data set is named.

        cases faq.csv, prompts plain and strict, given top=4 -> two cells, both with top=4 from the flags
        cases faq.csv, given model=a and model=b             -> two cells, models a and b
    """
    # A key that is given one value twice is no axis.
    values: dict[str, dict[str, None]] = {}
    for pair in given:
        key, _unused, value = pair.partition("=")
        values.setdefault(key.strip(), {})[value] = None
    several = {key: list(options) for key, options in values.items() if len(options) > 1}
    if len(several) > 1:
        msg = _("--set {settings}: only one of them may have several values.", settings=" and ".join(several))
        raise InputError(msg)
    # A single run, as `evaluate` has it without any matrix.
    if len(cases) < 2 and len(prompts) < 2 and not several:
        return None
    if not cases:
        raise InputError(_NO_CASES)
    # A secret is no name: it would stand in tables, folders and the record.
    models = tuple(
        NamedModel(name=f"{key} {number}" if is_secret(key) else option, set={key: option})
        for key, options in several.items()
        for number, option in enumerate(options, 1)
    )
    data_sets, named_prompts = _named(None, "cases", cases), _named(None, "prompts", prompts)
    return Matrix(
        data=tuple(MatrixData(name=name, cases=data_set) for name, data_set in data_sets.items()),
        prompts=tuple(NamedPrompt(name=name, prompt=prompt) for name, prompt in named_prompts.items())
        or (NamedPrompt(),),
        models=models or (NamedModel(),),
    )


_NO_CASES = _('[matrix] cases: name at least one file: cases = ["faq.csv"].')


class _MatrixFile:
    """Reads the tables of one file; its errors begin with the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def data(self, given: Any, judges: Mapping[str, Any]) -> tuple[MatrixData, ...]:
        """The data sets, each with its own settings; raises InputError without any."""
        if not given or not isinstance(given, str | list | dict):
            raise _error(self.path, _NO_CASES)
        named = _named(self.path, "cases", given)
        # A table for a data set that there is not would be silently without effect.
        for name in judges:
            if name not in named:
                raise UnknownName(_("data set"), name, named, _("(in [judges] of {path})", path=self.path))
        return tuple(
            MatrixData(
                name=name,
                cases=resolve_path(self.path, cases),
                settings=self._of_data(name, judges.get(name, {})),
            )
            for name, cases in named.items()
        )

    def _of_data(self, name: str, given: Any) -> dict[str, Any]:
        """The settings of one data set: `faq = ["em"]` are its judges, a table has any setting."""
        if not isinstance(given, str | list | dict):
            wrong = _(
                "[judges] {name} {value}: a list of judges, or a table of settings.",
                name=name,
                value=shortened(given),
            )
            raise _error(self.path, wrong)
        settings: dict[str, Any] = dict(given) if isinstance(given, dict) else {"judges": given}
        return self.settings(f"[judges.{name}] ", settings)

    def prompts(self, given: Any) -> tuple[NamedPrompt, ...]:
        """The prompts; one without a name where there are none."""
        if given is None:
            return (NamedPrompt(),)
        if not given or not isinstance(given, str | list | dict):
            wrong = _('[matrix] prompts: ids or files, as in prompts = ["plain", "strict"].')
            raise _error(self.path, wrong)
        return tuple(
            NamedPrompt(name=name, prompt=_resolve_prompt(self.path, prompt))
            for name, prompt in _named(self.path, "prompts", given).items()
        )

    def models(self, given: Any) -> tuple[NamedModel, ...]:
        """The models; one without a name where there are none."""
        if given is None:
            return (NamedModel(),)
        if isinstance(given, str):
            given = [given]
        if not given or not isinstance(given, list):
            wrong = _('[matrix] models: names, as in models = ["gpt-5-mini"], or [[matrix.models]].')
            raise _error(self.path, wrong)
        models = tuple(self._model(value) for value in given)
        _check_once(self.path, "models", [model.name for model in models])
        return models

    def _model(self, given: Any) -> NamedModel:
        if isinstance(given, str):
            return NamedModel(name=given, set={MODEL: given})
        if not isinstance(given, dict) or not isinstance(given.get("set", {}), dict):
            wrong = _(
                "[matrix] models {value}: a name, or a table of name, adapter and set.",
                value=shortened(given),
            )
            raise _error(self.path, wrong)
        _check_keys(self.path, "[[matrix.models]]", given, ("name", "adapter", "set"))
        values = {key: setting_text(value) for key, value in given.get("set", {}).items()}
        adapter = _resolve_bot(self.path, str(given["adapter"])) if "adapter" in given else None
        # By its own name, else by what is set as its model, else by its adapter.
        name = str(given.get("name") or values.get(MODEL) or given.get("adapter") or "")
        if not name:
            raise _error(self.path, _("[[matrix.models]]: each needs a name."))
        return NamedModel(name=name, adapter=adapter, set=values)

    def settings(self, where: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The settings beside the axes, by the names of rehearsal.toml, with the paths of their files."""
        settings = dict(given)
        for key, value in given.items():
            # They are axes: as common settings they would be there twice, and say different things.
            if key in {"cases", "prompt"}:
                wrong = _("{where}{key}: data sets and prompts belong in [matrix].", where=where, key=key)
                raise _error(self.path, wrong)
            if key not in setting_fields():
                place = f"({where}in {self.path})"
                raise UnknownName(_("setting"), key, setting_fields(), place, SETTINGS_LISTED)
            # Paths are looked up beside the file, then where the user stands.
            if key == "judges":
                settings[key] = _resolve_judges(self.path, value)
            elif key in _FILES | added_files() and isinstance(value, str):
                settings[key] = resolve_path(self.path, value)
        return settings


def _error(path: Path | None, message: Message) -> InputError:
    return InputError(_("{path}: {message}", path=path, message=message) if path else message)


def _named(path: Path | None, axis: str, given: Any) -> dict[str, str]:
    """Data sets or prompts by their names: those of a table, else what their files are called.

    A single text is a list of one.
    """
    if isinstance(given, str):
        given = [given]
    pairs = list(given.items()) if isinstance(given, dict) else [("", value) for value in given]
    # A number or an empty text in a list would become a file of that name.
    for _unused, value in pairs:
        if not isinstance(value, str) or not value.strip():
            wrong = _("[matrix] {axis} {value}: must be a text.", axis=axis, value=shortened(value))
            raise _error(path, wrong)
    name_of = _stem if axis == "cases" else _prompt_name
    named = [(name or name_of(value), value) for name, value in pairs]
    _check_once(path, axis, [name for name, _unused in named])
    return dict(named)


def _check_once(path: Path | None, axis: str, names: Sequence[str]) -> None:
    """Raises InputError for a name that occurs twice; names come from a file, or from options (None).

    Cells are known by their names, in tables, in the record and by `--resume`.
    """
    for at, name in enumerate(names):
        if name in names[:at]:
            way = _("rename a file")
            if path:
                way = _('[matrix.{axis}] {name} = "...", one line each', axis=axis, name=name)
            wrong = _(
                "[matrix] {axis}: two are called '{name}'; name them: {way}.", axis=axis, name=name, way=way
            )
            raise _error(path, wrong)


def _check_keys(path: Path, where: str, given: Mapping[str, Any], names: Sequence[str]) -> None:
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


# What settings loaded for a command are made to those of a single-turn data set.
Shaping = Callable[[Settings], Settings]


class ResolvedCell(NamedTuple):
    """One cell with its settings."""

    cell: CellId
    settings: Settings

    def stored(self) -> dict[str, Any]:
        """The settings for the record: without secrets, or judges and a bot that the data chooses."""
        # Left out unless somebody named them: the data chooses them again when the cell is run.
        unnamed = {"judges", "adapter"} - self.settings.model_fields_set
        return {key: value for key, value in self.settings.stored_values().items() if key not in unnamed}


def resolved(
    matrix: Matrix, flags: Mapping[str, Any], shape: Shaping, environ: Mapping[str, str] = os.environ
) -> tuple[ResolvedCell, ...]:
    """Every cell. The command line goes before the environment, that before the matrix; its axes go first.

    `shape` makes settings those of a single-turn data set. Raises InputError for what is wrong with any cell.
    """
    # Flags that were not typed say nothing; of the matrix, what the environment says as well gives way.
    given = {k: v for k, v in flags.items() if v is not None and v is not False and v not in ((), [])}
    of_matrix = {key: value for key, value in matrix.settings.items() if PREFIX + key.upper() not in environ}
    own_set, given_set = _pairs(of_matrix.pop("set", {})), _pairs(given.pop("set", {}))
    given = {**of_matrix, **given}
    # Once without any axis, to know what the cells share, and to fail once where a common setting is wrong.
    common = load_settings({**given, "set": own_set | given_set}, environ=environ)
    cells = []
    for cell, of_cell in matrix.cells():
        # A model's name alone means an endpoint that knows models by name, unless some adapter is named.
        assumed = MODEL in of_cell.get("set", {}) and not {"adapter"} & {*of_cell, *common.model_fields_set}
        if assumed:
            of_cell["adapter"] = CHAT
        # What is set of one adapter is nothing to another.
        same = assumed or of_cell.get("adapter", common.adapter) == common.adapter
        of_cell["set"] = {**(common.set if same else {}), **of_cell.get("set", {})}
        cells.append(ResolvedCell(cell, shape(load_settings({**given, **of_cell}, environ=environ))))
    return tuple(cells)


def _pairs(given: Any) -> dict[str, str]:
    """The values of `set` by name; raises InputError for what is not key=value."""
    return load_settings({"set": given, "adapter": "-"}, environ={}).set if given else {}


def _resolve_bot(file: Path, name: str) -> str:
    """`bot.py:answer` as a file names it; other names stay what they are."""
    # Only a path to a file is looked up; `package.module:function` is imported as it stands.
    module, colon, function = name.rpartition(":")
    return f"{resolve_path(file, module)}:{function}" if colon and module.endswith(".py") else name


def _resolve_prompt(file: Path, name: str) -> str:
    """`strict.toml` and `strict.toml:variant` as a file names them; anything else is a name of the shelf."""
    named, suffix, variant = name.partition(".toml")
    return f"{resolve_path(file, named + suffix)}{variant}" if suffix else name


def _resolve_judges(file: Path, names: Any) -> Any:
    """Judges as a file lists them: files of `mine.py:strict` and `mine.toml` beside it first."""
    if not isinstance(names, list):
        return names
    resolved = []
    for name in names:
        resolve = resolve_path if str(name).endswith(".toml") else _resolve_bot
        resolved.append(resolve(file, name) if isinstance(name, str) else name)
    return resolved
