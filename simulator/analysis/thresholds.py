"""From which grade on an answer may be taken as good: the cut that people's labels bear out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.analysis.agreement import Floats
from simulator.core.types import Value


class Threshold(Value):
    """A cut: of the rows graded `grade` or better, `precision` are good; `recall` of the good ones are there.

    `balanced_accuracy` is the mean of recall and of the share of the others that is below; 0.5 is chance.
    """

    grade: float
    precision: float
    recall: float
    balanced_accuracy: float
    rows: int


def best_threshold(scores: Sequence[float], good: Sequence[bool]) -> Threshold | None:
    """The cut with the best balanced accuracy, the stricter of equals; None when none beats chance."""
    cuts = _cuts(scores, good)
    best = max(cuts, key=lambda cut: (round(cut.balanced_accuracy, 9), cut.grade), default=None)
    return best if best is not None and best.balanced_accuracy > 0.5 else None


def threshold_for_precision(scores: Sequence[float], good: Sequence[bool], wanted: float) -> Threshold | None:
    """The lowest cut at or above which at least `wanted` (0..1) of the rows are good; None without one."""
    return next((cut for cut in _cuts(scores, good) if cut.precision >= wanted - 1e-12), None)


def _cuts(scores: Sequence[float], good: Sequence[bool]) -> list[Threshold]:
    """A cut at every grade that was given, the lowest first; none when all rows are of one kind."""
    is_good = np.asarray(good, dtype=bool)
    positive, negative = int(is_good.sum()), int((~is_good).sum())
    if not positive or not negative:
        return []
    grades, codes = np.unique(np.asarray(scores, dtype=float), return_inverse=True)
    hits, false = _at_or_above(codes, is_good, len(grades)), _at_or_above(codes, ~is_good, len(grades))
    return [
        Threshold(
            grade=float(grade),
            precision=float(hit / (hit + wrong)),
            recall=float(hit / positive),
            balanced_accuracy=float((hit / positive + 1 - wrong / negative) / 2),
            rows=int(hit + wrong),
        )
        for grade, hit, wrong in zip(grades, hits, false, strict=True)
    ]


def _at_or_above(codes: NDArray[np.intp], which: NDArray[np.bool_], grades: int) -> Floats:
    counted = np.bincount(codes[which], minlength=grades)
    found: Floats = np.cumsum(counted[::-1])[::-1].astype(float)
    return found
