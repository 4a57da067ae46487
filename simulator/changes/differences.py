"""How one judge's grades differ between two runs: by how much, how sure that is, and what can be said."""

from collections.abc import Mapping, Sequence
from math import ceil, fsum
from statistics import NormalDist, stdev
from typing import Literal

from simulator.analysis.intervals import LEVEL, interval_of_mean
from simulator.changes.exact import holm, wilcoxon
from simulator.core.types import Value

Verdict = Literal["better", "worse", "no_difference", "not_enough", "not_comparable"]

# Below these nothing is said: with fewer than six cases no order of events gets the exact test below 5 %.
FEWEST_PAIRS = FEWEST_CASES = 6
# The difference (0..1) that a plan for more questions aims at, and how surely it is to be seen.
WORTH_SEEING, POWER = 0.05, 0.8
_NORMAL = NormalDist()

Pair = tuple[str, float, float]


class Difference(Value):
    """One judge over the pairs that it graded in both runs; means are 0..1, differences later less earlier.

    `p_holm` is p as it decides: corrected for how many judges were looked at. `moved` counts the cases in
    which anything changed. `larger` is the largest difference that the interval leaves possible; `more` is
    how many new cases it takes to see a difference of 5 points, None when the pairs cannot tell.
    """

    judge: str
    verdict: Verdict
    pairs: int
    cases: int
    moved: int
    before: float | None
    after: float | None
    difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    p_holm: float | None
    larger: float | None
    more: int | None

    @property
    def leaning(self) -> Literal["up", "down"] | None:
        """Where the interval leaves out 0 and the test still cannot rule out chance."""
        if self.verdict != "no_difference" or self.interval is None:
            return None
        low, high = self.interval
        return "up" if low > 0 else "down" if high < 0 else None


def differences(
    pairs: Mapping[str, Sequence[Pair]], *, primary: str, seed: int, apart: frozenset[str] = frozenset()
) -> tuple[Difference, ...]:
    """One row per judge, from its pairs (case, before, after); those in `apart` graded by another rubric.

    The p of a judge is Wilcoxon's over the mean differences of the cases, since conversations about one
    case are not independent. `primary` decides about the run. Better or worse is said when the p as
    `_corrected` is below 5 % and the interval, too, leaves out 0.
    """
    by_case = {judge: _case_means(found) for judge, found in pairs.items()}
    tested = {
        judge: wilcoxon(means)
        for judge, means in by_case.items()
        if judge not in apart and _enough(len(pairs[judge]), len(means))
    }
    able = {judge: p for judge, p in tested.items() if _moved(by_case[judge]) >= FEWEST_CASES}
    adjusted = tested | _corrected(able, primary)
    return tuple(
        _difference(
            judge, found, by_case[judge], seed, tested.get(judge), adjusted.get(judge), judge in apart
        )
        for judge, found in pairs.items()
    )


def _corrected(able: Mapping[str, float], primary: str) -> dict[str, float]:
    """The p of each judge by what it may cost to look at so many, of those that could be significant at all.

    One that changed in fewer than six cases cannot be, whatever the signs (Tarone, 1990). The score is what
    was asked beforehand: it is tested first and alone. Once it is significant the others follow by Holm's
    method at the full level (gatekeeping; Maurer, Hothorn and Lehmacher, 1995). Without that they may only
    spend half of it: bots that did not change are then called worse in at most 2.5 % + 1.25 % of runs.
    """
    first = {judge: p for judge, p in able.items() if judge == primary}
    others = holm({judge: p for judge, p in able.items() if judge != primary})
    costs = 1 if all(p < 1 - LEVEL for p in first.values()) else 2
    return first | {judge: min(1.0, costs * p) for judge, p in others.items()}


def _difference(  # noqa: PLR0917 - the parts of one row, each made elsewhere
    judge: str,
    pairs: Sequence[Pair],
    cases: Sequence[float],
    seed: int,
    p: float | None,
    p_holm: float | None,
    apart: bool,
) -> Difference:
    by = [after - before for _, before, after in pairs]
    interval = interval_of(by, [case for case, *_ in pairs], seed) if _enough(len(by), len(cases)) else None
    return Difference(
        judge=judge,
        verdict="not_comparable" if apart else _verdict(p_holm, interval),
        pairs=len(pairs),
        cases=len(cases),
        moved=_moved(cases),
        before=_mean([before for _, before, _ in pairs]),
        after=_mean([after for *_, after in pairs]),
        difference=_mean(by),
        interval=interval,
        p=p,
        p_holm=p_holm,
        larger=max(abs(end) for end in interval) if interval else None,
        more=more_needed(cases),
    )


def interval_of(by: Sequence[float], cases: Sequence[str], seed: int) -> tuple[float, float] | None:
    """The 95 % interval of a mean difference: cases are drawn, and few of them make it wider."""
    return interval_of_mean(by, cases, seed=seed, ends=None)


def more_needed(cases: Sequence[float]) -> int | None:
    """How many new cases, beside these, show a true difference of 5 points four times in five.

    From how far the cases' differences lie apart (the usual normal formula); 0 when there are enough. None
    where nothing differs: that does not tell how far apart they would lie.
    """
    if len(cases) < 2 or not _moved(cases):
        return None
    reach = _NORMAL.inv_cdf(0.5 + LEVEL / 2) + _NORMAL.inv_cdf(POWER)
    wanted = max(FEWEST_CASES, ceil((reach * stdev(cases) / WORTH_SEEING) ** 2 - 1e-9))
    return max(0, wanted - len(cases))


def _verdict(p_holm: float | None, interval: tuple[float, float] | None) -> Verdict:
    if p_holm is None or interval is None:
        return "not_enough"
    low, high = interval
    if p_holm < 1 - LEVEL and (low > 0 or high < 0):
        return "better" if low > 0 else "worse"
    return "no_difference"


def _moved(cases: Sequence[float]) -> int:
    """In how many cases anything changed."""
    return sum(abs(by) > 1e-9 for by in cases)


def _enough(pairs: int, cases: int) -> bool:
    return pairs >= FEWEST_PAIRS and cases >= FEWEST_CASES


def _case_means(pairs: Sequence[Pair]) -> list[float]:
    """The mean difference of each case."""
    found: dict[str, list[float]] = {}
    for case, before, after in pairs:
        found.setdefault(case, []).append(after - before)
    return [fsum(values) / len(values) for values in found.values()]


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None
