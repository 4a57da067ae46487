"""From a counted share to a grade: the knots are data, in grades.toml, the same for both languages."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from simulator.core.errors import PromptError
from simulator.core.templates import read_toml

FILE = Path(__file__).with_name("grades.toml")
# Grades have so many decimals: enough to tell answers apart, and few enough to read.
DECIMALS = 2


class Grades:
    """The map from shares to grades, read and checked once."""

    def __init__(self, path: Path = FILE) -> None:
        """Raises PromptError unless every judge's limits are four rising shares."""
        tables = read_toml(path)
        self.formula = tables.get("formula")
        if not isinstance(self.formula, int):
            raise PromptError(f"{path}: formula must be a whole number.")
        limits = _table(path, tables, "limits")
        self._knots = {name: (0.0, *_rising(path, name, each)) for name, each in limits.items()}
        self._thresholds = _table(path, tables, "thresholds")
        for name, value in self._thresholds.items():
            if not _is_share(value):
                raise PromptError(f"{path}: [thresholds] {name} must be a share between 0 and 1.")

    def grade(self, share: float, judge: str, most: float = 5) -> float:
        """The grade (1 to `most`) of a share (0..1), rising in straight lines from limit to limit.

        `most` narrows the whole range instead of cutting its top off: what is capped keeps its order.
        """
        knots = self._knots[judge]
        at = bisect_right(knots, share)
        if at == len(knots):
            grade = float(at)
        else:
            grade = at + max(0.0, share - knots[at - 1]) / (knots[at] - knots[at - 1]) if at else 1.0
        return round(capped(grade, most), DECIMALS)

    def reaches(self, share: float, threshold: str) -> bool:
        """Whether a share is at or above a named threshold."""
        return share >= float(self._thresholds[threshold])


def capped(grade: float, most: float) -> float:
    """A grade (1..5) in the narrower range from 1 to `most`, in its order."""
    return 1 + (grade - 1) * (most - 1) / 4


@cache
def grades() -> Grades:
    """The shipped map."""
    return Grades()


def grade_of(share: float, judge: str, most: float = 5) -> float:
    """The grade (1 to `most`, at most 5) of a share (0..1) by the shipped map."""
    return grades().grade(share, judge, most)


def _table(path: Path, tables: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = tables.get(key)
    if not isinstance(found, Mapping):
        raise PromptError(f"{path}: the table [{key}] is missing.")
    return found


def _rising(path: Path, name: str, limits: Any) -> Sequence[float]:
    if (
        not isinstance(limits, list)
        or len(limits) != 4
        or not all(map(_is_share, limits))
        or any(low >= high for low, high in pairwise(limits))
    ):
        raise PromptError(f"{path}: [limits] {name} must be four rising shares between 0 and 1.")
    return [float(limit) for limit in limits]


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1
