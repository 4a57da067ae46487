"""How sure a mean is, when its values come in clusters: turns of one case are not independent."""

from collections.abc import Sequence

# Keeps the matrices of drawn cases under about 12 MB, however many cases there are.
_DRAWS_AT_ONCE = 500_000


def clustered_stderr(values: Sequence[float], clusters: Sequence[str]) -> float | None:
    """The cluster-robust standard error of a mean (Liang and Zeger, 1986); None under 2 clusters.

    With the small-sample factor G / (G - 1), so that clusters of one value each give the usual
    standard error.
    """
    groups = _sums(values, clusters)
    if len(groups) < 2:
        return None
    mean = sum(total for total, _ in groups) / len(values)
    squares = sum((total - count * mean) ** 2 for total, count in groups)
    return float((squares * len(groups) / (len(groups) - 1)) ** 0.5 / len(values))


def bootstrap_interval(
    values: Sequence[float],
    clusters: Sequence[str],
    *,
    seed: int,
    resamples: int = 2000,
    level: float = 0.95,
) -> tuple[float, float] | None:
    """The percentile bootstrap interval of a mean (Efron, 1979), drawing clusters; None under 2.

    The order of the values does not matter: clusters are drawn in the order of their names.
    """
    import numpy as np

    groups = np.array(_sums(values, clusters), dtype=float)
    if len(groups) < 2:
        return None
    random = np.random.default_rng(seed)
    means = np.empty(resamples)
    rows = max(1, _DRAWS_AT_ONCE // len(groups))
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        drawn = groups[random.integers(0, len(groups), size=(stop - start, len(groups)))].sum(axis=1)
        means[start:stop] = drawn[:, 0] / drawn[:, 1]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _sums(values: Sequence[float], clusters: Sequence[str]) -> list[tuple[float, int]]:
    """Sum and count of each cluster, by name; values are sorted so that float sums never drift."""
    if len(set(clusters)) == len(clusters):  # as in most data sets: one value each
        return [(value, 1) for _, value in sorted(zip(clusters, values, strict=True))]
    found: dict[str, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        found.setdefault(cluster, []).append(value)
    return [(sum(sorted(found[name])), len(found[name])) for name in sorted(found)]
