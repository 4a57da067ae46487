"""How low the mean of a bounded figure may be, by as many questions as were asked: without a distribution.

A lower bound after Gaffke (2005): the questions are weighed by exponential draws (Rubin's Bayesian
bootstrap, 1981), and one more question is among them that went as badly as can be. For shares of yes and no
it is the bound of Clopper and Pearson (1934); for whatever else lies between two ends, its coverage is
conjectured (Learned-Miller and Thomas, 2019) and never failed where it was tried. Where every question went
well it stays as low as the rule of three, while a bootstrap or Student's t knows no doubt at all.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Steps of the integral, in the logarithm of its variable: wide and fine enough for six decimals. The more
# questions there are, the faster the waves that it sums.
_STEP, _STEP_TIMES_ROOT = 0.1, 1.3
_ENDS = (-20.0, 12.0)


class Clusters(NamedTuple):
    """What was measured, question by question: sums of values (0..1) and how many values there are.

    `floor` is the lowest value there can be: a grade of 1 out of 5 is 0.2. `scatter` is the variance of the
    values of one and the same question; None where each was asked once.
    """

    sums: Floats
    sizes: Floats
    floor: float = 0.0
    scatter: float | None = None

    @property
    def mean(self) -> float:
        """The mean of all values."""
        return float(self.sums.sum() / self.sizes.sum())

    def turned(self) -> "Clusters":
        """The same with 1 for 0: its lower bound is the upper bound of this."""
        return Clusters(self.sizes - self.sums, self.sizes, 0.0, self.scatter)

    def without_scatter(self) -> "Clusters":
        """As if each question had been asked so often that chance averages out: only questions differ.

        Their means are drawn together by the share of variance between questions (the intraclass
        correlation of a mean; Donner and Koval, 1980).
        """
        means = self.sums / self.sizes
        seen = float(means.var(ddof=1)) if len(means) > 1 else 0.0
        chance = (self.scatter or 0.0) * float((1 / self.sizes).mean())
        kept = np.sqrt(max(0.0, 1 - chance / seen)) if seen > 0 else 1.0
        return self._replace(sums=self.sizes * (self.mean + kept * (means - self.mean)), scatter=0.0)


def clusters(values: Sequence[float], names: Sequence[str], floor: float = 0.0) -> Clusters:
    """Values by the names of their questions, in the order of the names."""
    _, places = np.unique(np.asarray(names, dtype=object).astype(str), return_inverse=True)
    given = np.asarray(values, dtype=float)
    sums, sizes = np.bincount(places, weights=given).astype(float), np.bincount(places).astype(float)
    free = len(given) - len(sizes)
    scatter = float(((given - (sums / sizes)[places]) ** 2).sum() / free) if free else None
    return Clusters(sums, sizes, floor, scatter)


def doubt(found: Clusters, target: float, times: float = 1.0) -> float:
    """The one-sided p-value (0..1) of a mean that is really below the target.

    `times` as many questions with the same results are imagined.
    """
    gains, counts = np.unique(np.round(found.sums - found.sizes * target, 10), return_counts=True)
    worst = float(np.max(found.sizes)) * (found.floor - target)
    return float(doubts(times * counts[None, :].astype(float), gains, worst)[0])


def doubts(counts: Floats, gains: Floats, worst: float) -> Floats:
    """The p-values of many samples: `counts` (samples, gains) says how often each gain occurs in each.

    A gain is what a question has above the target; `worst` is that of the question that went as badly as
    can be. It is the chance that their sum, each weighed by an exponential draw, is not above 0: the
    inversion of its characteristic function (Gil-Pelaez, 1951; Imhof, 1961).
    """
    scale = max(float(np.max(np.abs(gains), initial=0.0)), abs(worst))
    if worst >= 0 or scale == 0:
        return np.where(counts @ (gains < 0), 1.0, 0.0) if worst >= 0 else np.ones(len(counts))
    step = min(_STEP, _STEP_TIMES_ROOT / float(np.max(counts.sum(axis=1), initial=1.0)) ** 0.5)
    at = _points(step)[:, None] / scale
    waves = counts @ np.arctan(at * gains).T + np.arctan(at[:, 0] * worst)
    damping = counts @ np.log1p((at * gains) ** 2).T + np.log1p((at[:, 0] * worst) ** 2)
    integral = (np.sin(waves) * np.exp(-damping / 2)).sum(axis=1) * step
    chances: Floats = np.clip(0.5 - integral / np.pi, 0, 1)
    return chances


@lru_cache(maxsize=8)
def _points(step: float) -> Floats:
    points: Floats = np.exp(np.arange(*_ENDS, step))
    return points


def lower(found: Clusters, level: float) -> float:
    """The one-sided lower bound of the mean at a level of confidence (0.95)."""
    low, high = found.floor, found.mean
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if doubt(found, middle) <= 1 - level else (low, middle)
    return low


def upper(found: Clusters, level: float) -> float:
    """The one-sided upper bound of the mean at a level of confidence (0.95)."""
    return 1 - lower(found.turned(), level)
