"""What a matrix consists of: its data sets, prompts and models, and the cells these make."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field, JsonValue

from simulator.core.types import Text, Value


class DataSet(Value):
    """One file of rows; `settings` are what only its runs are told: its judges, its outputs."""

    name: Text
    cases: Text
    settings: dict[str, JsonValue] = Field(default={})


class PromptOf(Value):
    """One prompt: `prompt` is its id or file as `--prompt` takes it; None sends each row as it is."""

    name: str = ""
    prompt: str | None = None


class Bot(Value):
    """One model: what is set of the adapter, and which adapter, where it is not the common one."""

    name: str = ""
    adapter: str | None = None
    set: dict[str, str] = Field(default={})


class Cell(Value):
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
    prompts: tuple[PromptOf, ...] = (PromptOf(),)
    models: tuple[Bot, ...] = (Bot(),)
    settings: dict[str, JsonValue] = Field(default={})
    title: str = ""
    chain: bool = False

    def cells(self) -> Iterator[tuple[Cell, dict[str, Any]]]:
        """Each cell with what it is told beside the settings of all: data sets first, then prompts."""
        for data in self.data:
            for prompt in self.prompts:
                for model in self.models:
                    cell = Cell(data=data.name, prompt=prompt.name, model=model.name)
                    yield cell, self._told(data, prompt, model)

    def _told(self, data: DataSet, prompt: PromptOf, model: Bot) -> dict[str, Any]:
        told: dict[str, Any] = {**data.settings, "cases": data.cases}
        if prompt.prompt is not None:
            told["prompt"] = prompt.prompt
        if model.adapter is not None:
            told["adapter"] = model.adapter
        if model.set:
            told["set"] = dict(model.set)
        return told
