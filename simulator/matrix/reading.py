"""A matrix as it is written: a TOML file with [matrix], or options that are given more than once."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.core.errors import InputError, UnknownName
from simulator.core.secrets import is_secret
from simulator.core.settings import (
    FILES,
    Settings,
    bot_named_in,
    judges_named_in,
    named_in,
    plain,
    prompt_named_in,
    short,
)
from simulator.core.templates import read_toml
from simulator.core.types import PASSED
from simulator.matrix.plan import Bot, DataSet, Matrix, PromptOf

TABLE = "matrix"
_AXES = ("cases", "prompts", "models")
_OF_A_MODEL = ("name", "adapter", "set")
# What a model's name is given as: `--set model=...`.
MODEL = "model"
# What the article's metric files call an answer that is not split into outputs.
WHOLE = "default"
# Who is asked where models are named and nobody says how: an endpoint that knows models by name.
CHAT = "openai_chat"


def is_matrix(path: Path) -> bool:
    """Whether this is a TOML file with a table [matrix]; raises PromptError for one that is broken."""
    return path.suffix.lower() == ".toml" and path.is_file() and TABLE in read_toml(path)


def read_matrix(path: Path) -> Matrix:
    """The matrix of a file; raises InputError, with the file and the key, for what does not hold together.

    Files that it names are looked up beside it, then where the user stands. Judges of all data sets stand in
    [matrix] or, where [judges] has none of its own for some of them, at the top.
    """
    told = read_toml(path)
    axes, judges = told.pop(TABLE, None), told.pop("judges", None)
    if not isinstance(axes, dict):
        msg = f"{path}: there is no table [matrix]. See docs/matrix.md."
        raise InputError(msg)
    _known(path, "[matrix]", axes, (*_AXES, "judges", "title"))
    place = _Place(path)
    data = place.data(axes.get("cases"), judges if isinstance(judges, dict) else {})
    settings = place.settings("", told)
    common = axes.get("judges", judges if not isinstance(judges, dict) else None)
    if common is not None:
        settings["judges"] = judges_named_in(path, common)
    models = place.models(axes.get("models"))
    if "adapter" in settings:
        settings["adapter"] = place.adapter(str(settings["adapter"]))
    return Matrix(
        data=data,
        prompts=place.prompts(axes.get("prompts")),
        models=models,
        settings=settings,
        title=str(axes.get("title", "")),
    )


def matrix_of_options(cases: Sequence[str], prompts: Sequence[str], given: Sequence[str]) -> Matrix | None:
    """The matrix of a command line; None where nothing is there twice. `given` is `--set`, key=value each.

    A key of `--set` that has several values is an axis: each of them is a model of its own.
    """
    values: dict[str, dict[str, None]] = {}
    for pair in given:
        key, _, value = pair.partition("=")
        values.setdefault(key.strip(), {})[value] = None
    several = {key: list(found) for key, found in values.items() if len(found) > 1}
    if len(several) > 1:
        msg = f"--set {' and '.join(several)}: only one of them may have several values."
        raise InputError(msg)
    if len(cases) < 2 and len(prompts) < 2 and not several:
        return None
    models = tuple(
        Bot(name=f"{key} {number}" if is_secret(key) else each, set={key: each})
        for key, found in several.items()
        for number, each in enumerate(found, 1)
    )
    place = _Place(None)
    return Matrix(
        data=place.data(list(cases), {}),
        prompts=place.prompts(list(prompts) or None),
        models=models or (Bot(),),
    )


class _Place:
    """Where a matrix is read from: how its mistakes are told, and where its files are."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def wrong(self, what: str) -> InputError:
        """A mistake, with the file in which it is."""
        return InputError(f"{self.path}: {what}" if self.path else what)

    def data(self, given: Any, judges: Mapping[str, Any]) -> tuple[DataSet, ...]:
        """The data sets, each with its own settings."""
        if isinstance(given, str):
            given = [given]
        if not given or not isinstance(given, list | dict):
            raise self.wrong('[matrix] cases: name at least one file: cases = ["faq.csv"].')
        named = self._named("cases", given, _stem)
        for name in judges:
            if name not in named:
                raise UnknownName("data set", name, named, f"(in [judges] of {self.path})")
        return tuple(
            DataSet(name=name, cases=self.file(cases), settings=self._of_data(name, judges.get(name, {})))
            for name, cases in named.items()
        )

    def _of_data(self, name: str, given: Any) -> dict[str, Any]:
        """`faq = ["em"]` are its judges; a table has any setting."""
        if not isinstance(given, str | list | dict):
            raise self.wrong(f"[judges] {name} {short(given)}: a list of judges, or a table of settings.")
        told: dict[str, Any] = dict(given) if isinstance(given, dict) else {"judges": given}
        if (thresholds := told.pop("thresholds", None)) is not None:
            told["outputs"] = self._with_thresholds(name, told.get("outputs", {}), thresholds)
            if isinstance(told.get("judges"), list):  # what has a threshold is not asked a second time
                told["judges"] = [each for each in told["judges"] if each not in thresholds] or [PASSED]
        return self.settings(f"[judges.{name}] ", told)

    def _with_thresholds(self, name: str, outputs: Any, thresholds: Any) -> dict[str, Any]:
        """`{em = 1}` is about the whole answer, `{path = {em = 1}}` about one output of it."""
        if not isinstance(outputs, dict) or not isinstance(thresholds, dict):
            raise self.wrong(
                f"[judges.{name}] thresholds: a table beside judges; a file of outputs has its own."
            )
        found = {output: list(judges) for output, judges in outputs.items()}
        for key, limit in thresholds.items():
            output, limits = (key, limit) if isinstance(limit, dict) else (WHOLE, {key: limit})
            metrics = [{"name": judge, "threshold": at} for judge, at in limits.items()]
            found[output] = [each for each in found.get(output, []) if _judge(each) not in limits] + metrics
        return found

    def prompts(self, given: Any) -> tuple[PromptOf, ...]:
        """The prompts; one without a name where there are none."""
        if given is None:
            return (PromptOf(),)
        if isinstance(given, str):
            given = [given]
        if not given or not isinstance(given, list | dict):
            raise self.wrong('[matrix] prompts: ids or files, as in prompts = ["plain", "strict"].')
        named = self._named("prompts", given, _prompt_name)
        return tuple(PromptOf(name=name, prompt=self._prompt(prompt)) for name, prompt in named.items())

    def _prompt(self, given: str) -> str:
        """`strict.toml:variant` and `strict.toml` are files, anything else is an id."""
        return prompt_named_in(self.path, given) if self.path else given

    def models(self, given: Any) -> tuple[Bot, ...]:
        """The models; one without a name where there are none."""
        if given is None:
            return (Bot(),)
        if isinstance(given, str):
            given = [given]
        if not given or not isinstance(given, list):
            raise self.wrong('[matrix] models: names, as in models = ["gpt-5-mini"], or [[matrix.models]].')
        found = tuple(self._model(each) for each in given)
        self._once("models", [model.name for model in found])
        return found

    def _model(self, given: Any) -> Bot:
        if isinstance(given, str):
            return Bot(name=given, set={MODEL: given})
        if not isinstance(given, dict) or not isinstance(given.get("set", {}), dict):
            raise self.wrong(f"[matrix] models {short(given)}: a name, or a table of name, adapter and set.")
        _known(self.path, "[[matrix.models]]", given, _OF_A_MODEL)
        values = {key: plain(value) for key, value in given.get("set", {}).items()}
        adapter = self.adapter(str(given["adapter"])) if "adapter" in given else None
        name = str(given.get("name") or values.get(MODEL) or given.get("adapter") or "")
        if not name:
            raise self.wrong("[[matrix.models]]: each needs a name.")
        return Bot(name=name, adapter=adapter, set=values)

    def settings(self, where: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is told beside the axes, by the names of rehearsal.toml."""
        for key in given:
            if key in {"cases", "prompt"}:
                raise self.wrong(f"{where}{key}: data sets and prompts stand in [matrix].")
            if key not in Settings.model_fields:
                raise UnknownName("setting", key, Settings.model_fields, f"({where}in {self.path})")
        files: dict[str, Any] = {
            key: self.file(told) for key, told in given.items() if key in FILES and isinstance(told, str)
        }
        if self.path and "judges" in given:
            files["judges"] = judges_named_in(self.path, given["judges"])
        return {**given, **files}

    def adapter(self, name: str) -> str:
        """`bot.py:answer`, its file looked up beside the matrix first."""
        return bot_named_in(self.path, name) if self.path else name

    def file(self, name: str) -> str:
        """A file as it is named; one that is there beside the matrix, by its path from here."""
        return named_in(self.path, name) if self.path else name

    def _named(self, axis: str, given: Any, name_of: Any) -> dict[str, str]:
        pairs = list(given.items()) if isinstance(given, dict) else [(None, each) for each in given]
        for _, each in pairs:
            if not isinstance(each, str) or not each.strip():
                raise self.wrong(f"[matrix] {axis} {short(each)}: must be a text.")
        named = [(name or name_of(each), each) for name, each in pairs]
        self._once(axis, [name for name, _ in named])
        return dict(named)

    def _once(self, axis: str, names: Iterable[str]) -> None:
        known: set[str] = set()
        for name in names:
            if name in known:
                way = f'[matrix.{axis}] {name} = "...", one line each' if self.path else "rename a file"
                raise self.wrong(f"[matrix] {axis}: two are called '{name}'; name them: {way}.")
            known.add(name)


def _judge(metric: Any) -> str:
    """The name of a judge of an output, which may stand alone or in a table."""
    return str(metric.get("name") if isinstance(metric, dict) else metric)


def _known(path: Path | None, where: str, given: Mapping[str, Any], names: Sequence[str]) -> None:
    for key in given:
        if key not in names:
            raise UnknownName(f"key of {where}", key, names, f"(in {path})")


def _stem(cases: str) -> str:
    """`data/faq.jsonl.gz` is `faq`; `sheet:KEY#tab` is what stands after the mark."""
    if cases.startswith("sheet:"):
        return cases.rpartition("#")[2] if "#" in cases else cases.removesuffix("/")
    return Path(cases).name.partition(".")[0] or Path(cases).name


def _prompt_name(prompt: str) -> str:
    """`prompts/strict.toml` is `strict`; `choose:terse` stays as it is."""
    file, suffix, variant = prompt.partition(".toml")
    return f"{Path(file).name}{variant}" if suffix else prompt
