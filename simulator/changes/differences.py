"""How one judge's grades differ between two runs: by how much, how sure that is, and what can be said."""

from collections.abc import Mapping, Sequence
from math import ceil, fsum
from statistics import NormalDist, stdev
from typing import Literal

from simulator.analysis.intervals import bootstrap_interval
from simulator.changes.exact import holm, widened, wilcoxon
from simulator.types import Value

Verdict = Literal["better", "worse", "no_difference", "not_enough", "not_comparable"]

# Below these nothing is said: with fewer than six cases no order of events gets the exact test below 5 %.
FEWEST_PAIRS = FEWEST_CASES = 6
LEVEL = 0.95
# The difference (0..1) that a plan for more conversations aims at, and how surely it is to be seen.
WORTH_SEEING, POWER = 0.05, 0.8
_RESAMPLES = 4000
_NORMAL = NormalDist()

Pair = tuple[str, float, float]


class Difference(Value):
    """One judge over the pairs that it graded in both runs; means are 0..1, differences later less earlier.

    `larger` is the largest difference that the interval leaves possible; `more` is how many more paired
    conversations it takes to see a difference of 5 points, None when the pairs cannot tell.
    """

    judge: str
    verdict: Verdict
    pairs: int
    cases: int
    before: float | None
    after: float | None
    difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    p_holm: float | None
    larger: float | None
    more: int | None


def differences(
    pairs: Mapping[str, Sequence[Pair]], *, seed: int, apart: frozenset[str] = frozenset()
) -> tuple[Difference, ...]:
    """One row per judge, from its pairs (case, before, after); those in `apart` graded by another rubric.

    The p of a judge is Wilcoxon's over the mean differences of the cases, since conversations about one
    case are not independent. Holm's correction goes over the judges that could be significant at all: one
    that changed in fewer than six cases cannot be, whatever the signs (Tarone, 1990). Better or worse is
    said when the corrected p is below 5 % and the interval, too, leaves out 0.
    """
    by_case = {judge: _case_means(found) for judge, found in pairs.items()}
    tested = {
        judge: wilcoxon(means)
        for judge, means in by_case.items()
        if judge not in apart and _enough(len(pairs[judge]), len(means))
    }
    able = {judge: p for judge, p in tested.items() if _moved(by_case[judge]) >= FEWEST_CASES}
    adjusted = tested | holm(able)
    return tuple(
        _difference(
            judge, found, by_case[judge], seed, tested.get(judge), adjusted.get(judge), judge in apart
        )
        for judge, found in pairs.items()
    )


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
        before=_mean([before for _, before, _ in pairs]),
        after=_mean([after for *_, after in pairs]),
        difference=_mean(by),
        interval=interval,
        p=p,
        p_holm=p_holm,
        larger=max(abs(end) for end in interval) if interval else None,
        more=more_needed(cases, len(pairs)),
    )


def interval_of(by: Sequence[float], cases: Sequence[str], seed: int) -> tuple[float, float] | None:
    """The 95 % interval of a mean difference: cases are drawn, and few of them make it wider."""
    clusters = len(set(cases))
    if clusters < 2:
        return None
    level = widened(LEVEL, clusters)
    return bootstrap_interval(by, cases, seed=seed, resamples=_RESAMPLES, level=level)


def more_needed(cases: Sequence[float], pairs: int) -> int | None:
    """How many more paired conversations show a true difference of 5 points four times in five.

    From how far the cases' differences lie apart (the usual normal formula); 0 when there are enough.
    """
    if len(cases) < 2:
        return None
    reach = _NORMAL.inv_cdf(0.5 + LEVEL / 2) + _NORMAL.inv_cdf(POWER)
    wanted = max(FEWEST_CASES, ceil((reach * stdev(cases) / WORTH_SEEING) ** 2 - 1e-9))
    return max(0, ceil(wanted * pairs / len(cases)) - pairs)


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
