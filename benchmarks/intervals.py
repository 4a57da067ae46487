"""Coverage of the 95 % interval of the score: simulated bots whose true score is known.

Shares of samples whose interval does, for two thousand samples of every kind: of the plain percentile
bootstrap, of the expanded one, of Student's t and of what reports show, with the mean width of the latter
three. Fails where reports show less than 93 %. `make bench-intervals` prints the table (two minutes).
"""

import argparse
import time
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.results.draws import interval_of_difference, student, widened
from simulator.results.intervals import LEVEL, interval_of_mean, retest_variance

Floats = NDArray[np.float64]
GRADES = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
# How often each grade is given, 1 to 5.
SHAPES: dict[str, tuple[float, ...]] = {
    "even": (0.2, 0.2, 0.2, 0.2, 0.2),
    "usual": (0.05, 0.1, 0.2, 0.3, 0.35),
    "good": (0.03, 0.04, 0.08, 0.25, 0.6),
    "skewed": (0.02, 0.03, 0.05, 0.1, 0.8),
    "near 1": (0.03, 0, 0.02, 0.05, 0.9),
    "pass/fail": (0.1, 0, 0, 0, 0.9),
}
CASES = (5, 8, 10, 20, 50)
REPEATS = (1, 3)
# The share of conversations that are graded as their question deserves; the others are as they come.
ALIKE = 0.6
# Bots as usual, whose judge gives a share of its grades by lot; every fifth one is graded twice (--retest).
UNSTEADY, BY_LOT, EVERY = "unsteady", 0.3, 5
SHAPES[UNSTEADY] = SHAPES["usual"]
# Where differences are shown: two runs of one bot, or of a bot and one that is half the way to perfect.
DIFFERENCES = ("unchanged", "improved")
FEWEST_DIFFERENCES = 6
LEAST = 0.93
_RESAMPLES = 1000


class Kind(NamedTuple):
    """How the bot is graded, how many questions it is asked, and how often each."""

    shape: str
    repeats: int
    cases: int

    @property
    def differs(self) -> bool:
        """Whether it is the difference of two runs."""
        return self.shape in DIFFERENCES


class Coverage(NamedTuple):
    """Shares (0..1) of samples whose interval holds the true mean, and the mean widths of three of them."""

    percentile: float
    expanded: float
    student: float
    shown: float
    width_expanded: float
    width_student: float
    width_shown: float


def kinds() -> Iterator[Kind]:
    """Every kind of bot, then of differences."""
    yield from (Kind(*each) for each in product(SHAPES, REPEATS, CASES))
    counts = (max(cases, FEWEST_DIFFERENCES) for cases in CASES)
    yield from (Kind(shape, 1, cases) for shape, cases in product(DIFFERENCES, counts))


def sampled(kind: Kind, samples: int, random: np.random.Generator) -> tuple[Floats, float, Floats]:
    """Values (samples, cases, repeats), their true mean, and the values of a second grading."""
    size = (samples, kind.cases, kind.repeats)
    if kind.differs:
        before, *_ = sampled(Kind("usual", 1, kind.cases), samples, random)
        shape = "usual" if kind.shape == "unchanged" else "good"
        other, *_ = sampled(Kind(shape, 1, kind.cases), samples, random)
        by = np.where(random.random(size) < ALIKE, 0.0, other - before)
        return by, (1 - ALIKE) * (_true(shape) - _true("usual")), by
    odds = SHAPES[kind.shape]
    deserved = random.choice(GRADES, (samples, kind.cases, 1), p=odds)
    found = random.choice(GRADES, size, p=odds)
    values = second = np.where(random.random(size) < ALIKE, deserved, found)
    if kind.shape == UNSTEADY:
        values, second = (
            np.where(random.random(size) < BY_LOT, random.choice(GRADES, size, p=odds), second) for _ in "12"
        )
    return values, _true(kind.shape), second


def _true(shape: str) -> float:
    return float(np.dot(SHAPES[shape], GRADES))


def simulate(kind: Kind, samples: int, seed: int) -> Coverage:
    """All figures of one kind."""
    random = np.random.default_rng([seed, kind.cases, kind.repeats, *kind.shape.encode()])
    values, true, second = sampled(kind, samples, random)
    means = values.mean(axis=2)
    places = random.integers(0, kind.cases, (_RESAMPLES, kind.cases))
    drawn = means[:, places].mean(axis=2)
    reach = student(0.5 + LEVEL / 2, kind.cases - 1) * means.std(axis=1, ddof=1) / kind.cases**0.5
    every = (
        _quantiles(drawn, LEVEL),
        _quantiles(drawn, widened(LEVEL, kind.cases)),
        means.mean(axis=1)[:, None] + np.column_stack([-reach, reach]),
        reported_intervals(kind, values, second, seed),
    )
    held = [float(((ends[:, 0] <= true + 1e-9) & (ends[:, 1] >= true - 1e-9)).mean()) for ends in every]
    return Coverage(*held, *(float((ends[:, 1] - ends[:, 0]).mean()) for ends in every[1:]))


def _quantiles(drawn: Floats, level: float) -> Floats:
    found: Floats = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=1).T
    return found


def reported_intervals(kind: Kind, values: Floats, second: Floats, seed: int) -> Floats:
    """The intervals that reports show of each sample; `second` are the values of a second grading."""
    names = [f"q{case:03}" for case in range(kind.cases) for _ in range(kind.repeats)]
    found = []
    for at, (one, other) in enumerate(zip(values, second, strict=True)):
        pairs = list(zip(one.ravel()[::EVERY].tolist(), other.ravel()[::EVERY].tolist(), strict=True))
        noise = retest_variance(pairs) if kind.shape == UNSTEADY else 0.0
        given = (one.ravel().tolist(), names)
        if kind.differs:
            found.append(interval_of_difference(*given, seed=seed + at))
        else:
            ends = float(GRADES[0]), 1.0
            found.append(interval_of_mean(*given, seed=seed + at, ends=ends, noise=noise))
    return np.array(found, dtype=float)


def main() -> None:
    """Prints a row for each kind of bot, and fails where too few intervals hold the true mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000, help="samples of each kind")
    parser.add_argument("--seed", type=int, default=42)
    given, started = parser.parse_args(), time.monotonic()
    print(f"{given.samples:,} samples of each kind; intervals of 95 % that hold the true mean, in %\n")
    print("                             held by                           width (points)")
    print("grades    repeats cases  percent.  expanded      t   shown    expanded     t  shown")
    worst = 1.0
    for kind in kinds():
        found = simulate(kind, given.samples, given.seed)
        worst = worst if kind.differs else min(worst, found.shown)
        figures = "{:10.1f}{:10.1f}{:7.1f}{:8.1f}{:12.1f}{:6.1f}{:7.1f}".format(*(100 * f for f in found))
        print(f"{kind.shape:10s}{kind.repeats:7d}{kind.cases:6d}{figures}", flush=True)
    print(f"\nFewest held of a score: {100 * worst:.1f} % ({time.monotonic() - started:.0f} s)")
    if worst < LEAST:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
