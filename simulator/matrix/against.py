"""Which cell of a data set is best, and whether that is more than chance: paired by row.

The cell with the highest mean is looked for in the data and then tested by the same data. The price is paid
for all pairs of cells, not only for those with the best one: p times their number (Bonferroni), so that of
cells that do not differ one is called worse, or best, in fewer than 5 % of matrices.
"""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.core.types import Value
from simulator.stats.comparison import FEWEST_CASES
from simulator.stats.exact_tests import wilcoxon
from simulator.stats.intervals import LEVEL

Floats = NDArray[np.float64]
# `equal`: every cell has the same.
# `highest`: leads, and at least one other may be as good; `best`: every other is worse, beyond chance.
Verdict = Literal[
    "best", "highest", "equal", "worse", "no_difference", "not_enough", "not_comparable", "alone"
]  # fmt: skip


# Means that differ by less are the same: they were added up in another order.
_THE_SAME = 1e-9


class Against(Value):
    """One cell held against the one with the highest mean, by the rows that both have.

    `difference` (-1..1) is this one less that one, with its standard error; `p` is as corrected. Of the
    leading cell itself, `open` says to how many others no difference is shown.
    """

    verdict: Verdict
    to: str = ""
    rows: int = 0
    difference: float | None = None
    stderr: float | None = None
    p: float | None = None
    open: int = 0


class Graded(NamedTuple):
    """What a judge gave one cell: a value for each row, in the data set's order, NaN where there is none."""

    values: Floats
    rubrics: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """The mean over the rows that have a value; NaN where none has."""
        known = self.values[~np.isnan(self.values)]
        return float(known.mean()) if len(known) else float("nan")


def against_best(graded: Mapping[str, Graded]) -> dict[str, Against]:
    """Each cell of a data set, by its key, held against the best of those that were graded alike."""
    return against_highest(
        {key: each.mean for key, each in graded.items()},
        lambda key, leader, pairs: _against(graded[key], graded[leader], leader, pairs),
    )


def against_highest(
    means: Mapping[str, float], against: Callable[[str, str, int], Against]
) -> dict[str, Against]:
    """Each cell held against the one with the highest figure; where all have the same, none is that.

    `against` holds one cell against the leading one; its third argument is the number of pairs.
    """
    able = {key: mean for key, mean in means.items() if not np.isnan(mean)}
    if len(able) < 2:
        return {key: Against(verdict="alone") for key in able}
    if max(able.values()) - min(able.values()) < _THE_SAME:
        return {key: Against(verdict="equal", difference=0.0) for key in able}
    leader = max(able, key=able.__getitem__)
    pairs = len(able) * (len(able) - 1) // 2
    found = {key: against(key, leader, pairs) for key in able if key != leader}
    return {leader: _leading(found, leader)} | found


def _leading(others: Mapping[str, Against], leader: str) -> Against:
    verdicts = [each.verdict for each in others.values()]
    still_open = sum(verdict != "worse" for verdict in verdicts)
    if set(verdicts) <= {"not_enough", "not_comparable"}:
        return Against(verdict=verdicts[0], to=leader, open=still_open)
    return Against(verdict="highest" if still_open else "best", to=leader, open=still_open)


def _against(one: Graded, best: Graded, leader: str, pairs: int) -> Against:
    by = one.values - best.values
    by = by[~np.isnan(by)]
    rows = len(by)
    if one.rubrics and best.rubrics and set(one.rubrics) != set(best.rubrics):
        return Against(verdict="not_comparable", to=leader, rows=rows)
    if rows < FEWEST_CASES:
        mean = float(by.mean()) if rows else None
        return Against(verdict="not_enough", to=leader, rows=rows, difference=mean)
    difference, p = float(by.mean()), min(1.0, pairs * wilcoxon(by.tolist()))
    beyond = p < 1 - LEVEL and difference < 0
    return Against(
        verdict="worse" if beyond else "no_difference",
        to=leader,
        rows=rows,
        difference=difference,
        stderr=float(by.std(ddof=1)) / sqrt(rows),
        p=p,
    )
