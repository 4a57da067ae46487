"""What a matrix comes to: the figures of each cell, as frozen values that every report shows."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import Field

from simulator.core.types import Language, Value
from simulator.matrix.against import Against
from simulator.matrix.plan import Cell
from simulator.matrix.record import State


class JudgeFigures(Value):
    """One judge in one cell: the mean (0..1) of `n` graded rows of those `planned`, with its standard error.

    `against` is None in a cell that takes no part in the comparison.
    """

    mean: float | None
    stderr: float | None
    n: int
    planned: int
    failed: int = 0
    against: Against | None = None


class Labels(Value):
    """How well a cell told labels apart (0..1)."""

    accuracy: float
    accuracy_stderr: float | None
    f1: float
    f1_stderr: float | None


class CellFigures(Value):
    """One cell. `run` is the folder of its run; `error` says why there is none.

    `silent` are rows to which the model gave no answer, `not_extracted` those from whose answer something
    that was looked for could not be read. `against` is by what decides: F1 of labels, or the judge that does.
    `graded_usd` is what the run itself paid for, `answers_usd` the price of the answers' tokens: None where
    nobody knows. `answer_seconds` is the median of an answer.
    """

    cell: Cell
    state: State
    run: str = ""
    error: str = ""
    rows: int = 0
    silent: int = 0
    not_extracted: int = 0
    judges: dict[str, JudgeFigures] = Field(default={})
    labels: Labels | None = None
    against: Against | None = None
    passed: bool | None = None
    incomplete: bool = False
    graded_usd: float | None = None
    answers_usd: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    answer_seconds: float | None = None
    seconds: float = 0.0
    offline: bool = False


class DataFigures(Value):
    """One data set: its judges in the order in which they were named, and its cells in the order shown.

    `primary` is the judge that decides; with `by_f1` F1 does, and the cells are sorted
    by it, the best first.
    """

    name: str
    judges: tuple[str, ...]
    primary: str
    cells: tuple[CellFigures, ...]
    by_f1: bool = False

    @property
    def best(self) -> str:
        """The key of the cell that is best beyond chance by what decides; empty without one."""
        return next((e.cell.key for e in self.cells if e.against and e.against.verdict == "best"), "")


class Compared(Value):
    """A matrix as far as it has come; `language` is the one that most of its rows are in."""

    id: str
    title: str
    chain: bool = False
    created: datetime
    language: Language
    data: tuple[DataFigures, ...]

    @property
    def cells(self) -> tuple[CellFigures, ...]:
        """All cells, data set after data set."""
        return tuple(cell for data in self.data for cell in data.cells)

    @property
    def open(self) -> tuple[CellFigures, ...]:
        """The cells that are not finished."""
        return tuple(cell for cell in self.cells if cell.state != "finished")

    @property
    def cost_usd(self) -> float | None:
        """Dollars of all runs; None as soon as one is unknown."""
        costs = [cell.graded_usd for cell in self.cells if cell.run]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


def is_best(cell: CellFigures, judge: str) -> bool:
    """Whether the cell is better than every other by this judge, beyond chance."""
    found = cell.judges.get(judge)
    return bool(found and found.against and found.against.verdict == "best")


def as_json(found: Compared) -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals."""
    return {
        "matrix": found.id,
        "title": found.title,
        "chain": found.chain,
        "complete": not found.open,
        "cells": {state: sum(c.state == state for c in found.cells) for state in _states(found)},
        "data": [_data_json(data) for data in found.data],
        "cost_usd": _rounded(found.cost_usd, 6),
        "seconds": _rounded(sum(cell.seconds for cell in found.cells)),
    }


def _states(found: Compared) -> list[str]:
    return list(dict.fromkeys(["finished", *(cell.state for cell in found.cells)]))


def _data_json(data: DataFigures) -> dict[str, Any]:
    return {
        "name": data.name,
        "judges": list(data.judges),
        "primary": data.primary,
        "best": data.best or None,
        "sorted_by": "f1" if data.by_f1 else None,
        "cells": [_cell_json(cell) for cell in data.cells],
    }


def _cell_json(cell: CellFigures) -> dict[str, Any]:
    shown = cell.model_dump(mode="json", exclude={"cell", "judges", "labels"})
    judges = {name: _rounded(judge.model_dump(mode="json")) for name, judge in cell.judges.items()}
    labels = _rounded(cell.labels.model_dump()) if cell.labels else None
    names = {"prompt": cell.cell.prompt or None, "model": cell.cell.model or None}
    return names | _rounded(shown) | {"judges": judges, "labels": labels}  # type: ignore[no-any-return]


def _rounded(value: Any, places: int = 4) -> Any:
    """Four decimals; dollars with six, for a cell may cost less than a cent."""
    if isinstance(value, Mapping):
        return {key: _rounded(each, 6 if key.endswith("_usd") else 4) for key, each in value.items()}
    return round(value, places) if isinstance(value, float) else value
