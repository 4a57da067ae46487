"""What a matrix consists of: the data sets, prompts and models that a command line names more than once.

    evaluate faq.csv chat.jsonl --prompt plain --prompt strict --set model=gpt-5-mini --set model=qwen3
    -> eight cells: faq/plain/gpt-5-mini, faq/plain/qwen3, faq/strict/gpt-5-mini, ...

What is not varied has no name, and is left out of names. Everything is checked here, before any cell runs.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.secrets import is_secret
from simulator.core.settings import Settings
from simulator.core.types import Value


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


class PlannedCell(NamedTuple):
    """One cell, and the options of its run."""

    cell: CellId
    flags: Mapping[str, Any]


def recorded(settings: Settings) -> dict[str, Any]:
    """The settings of a cell for the record: without secrets, or judges and a bot that the data chooses."""
    # Left out unless somebody named them: the data chooses them again when the cell is run.
    unnamed = {"judges", "adapter"} - settings.model_fields_set
    return {key: value for key, value in settings.stored_values().items() if key not in unnamed}


def cells_of(
    cases: Sequence[str], prompts: Sequence[str], flags: Mapping[str, Any]
) -> list[PlannedCell] | None:
    """The cells of a command line, data sets first, then prompts; None where nothing is named twice.

    A key of `--set` with several values is an axis: each value is a model of its own. Raises InputError for
    two such keys, for two data sets or prompts of one name, and where no data set is named.

        cases faq.csv, prompts plain and strict, set top=4 -> two cells, both with top=4
        cases faq.csv, set model=a and model=b             -> two cells, models a and b
    """
    given = [pair.partition("=") for pair in dict.fromkeys(flags.get("set") or ())]
    keys = [key.strip() for key, _sign, _value in given]
    several = [key for key in dict.fromkeys(keys) if keys.count(key) > 1]
    if len(several) > 1:
        msg = _("--set {settings}: only one of them may have several values.", settings=" and ".join(several))
        raise InputError(msg)
    # A single run, as `evaluate` has it without any matrix.
    if len(cases) < 2 and len(prompts) < 2 and not several:
        return None
    if not cases:
        raise InputError(_("Name the file of rows that all prompts and models are tried with."))
    common = ["".join(pair) for pair, key in zip(given, keys, strict=True) if key not in several]
    values = [value for (_key, _sign, value), key in zip(given, keys, strict=True) if key in several]
    # A secret is no name: it would stand in tables, folders and the record.
    models = {
        f"{several[0]} {number}" if is_secret(several[0]) else value: [f"{several[0]}={value}"]
        for number, value in enumerate(values, 1)
    }
    data_sets = _named(cases, _stem).items()
    named_prompts = _named(prompts, _prompt_name).items() or [("", None)]
    return [
        PlannedCell(
            CellId(data=data, prompt=prompt, model=model),
            {**flags, "cases": file, "prompt": prompt_file, "set": [*common, *of_model]},
        )
        for (data, file), (prompt, prompt_file), (model, of_model) in product(
            data_sets, named_prompts, models.items() or [("", [])]
        )
    ]


def _named(files: Sequence[str], name_of: Callable[[str], str]) -> dict[str, str]:
    """Data sets or prompts by their names; raises InputError where two have the same.

    Cells are known by their names, in tables, in the record and by `--resume`.
    """
    named: dict[str, str] = {}
    for file in files:
        if (other := named.setdefault(name_of(file), file)) != file or files.count(file) > 1:
            names = {"file": other, "other": file, "name": name_of(file)}
            raise InputError(_("{file} and {other} would both be called '{name}': rename a file.", **names))
    return named


def _stem(cases: str) -> str:
    """`data/faq.jsonl.gz` is `faq`; `sheet:KEY#tab` is what stands after the mark."""
    if cases.startswith("sheet:"):
        return cases.rpartition("#")[2] if "#" in cases else cases.removesuffix("/")
    return Path(cases).name.partition(".")[0] or Path(cases).name


def _prompt_name(prompt: str) -> str:
    """`prompts/strict.toml` is `strict`; `choose:terse` stays as it is."""
    file, suffix, variant = prompt.partition(".toml")
    return f"{Path(file).name}{variant}" if suffix else prompt
