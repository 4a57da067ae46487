"""Error rates of the gate: simulated bots whose true score is known, ten thousand of every kind.

Of bots that are just at the target, whoever passes passes wrongly: at `--confidence 0.95` at most 5 in 100
may. Beside it how many a plain target lets through, and how many truly better bots pass. `make bench-gate`
prints the table.
"""

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.results.intervals import p_values_below

Floats = NDArray[np.float64]
# all: right or wrong; grades: 1 to 5 of 5, never below 0.2; even, uneven: any value, close or far apart;
# topics: whole questions fail, whoever asks; rare: perfect but for some disasters.
Shape = Literal["all", "grades", "even", "uneven", "topics", "rare"]
SHAPES: tuple[Shape, ...] = ("all", "grades", "even", "uneven", "topics", "rare")
# Targets and how many questions are asked.
ASKED = ((0.8, 20), (0.8, 40), (0.9, 10), (0.9, 20), (0.9, 40), (0.9, 100), (0.95, 100))
REPEATS = (1, 3)
# The lowest value there can be, where it is not 0.
FLOORS: dict[Shape, float] = {"grades": 0.2, "rare": 0.2}
ALPHA = 0.05
# The means of questions lie on this grid, so that equal ones are counted together.
GRID = 60
# Random error of a share of ten thousand bots that is really 5 in 100, thrice.
TOLERATED = 0.0065


class Kind(NamedTuple):
    """One kind of bot, and how it is asked."""

    shape: Shape
    target: float
    cases: int
    repeats: int


class GateShares(NamedTuple):
    """Shares (0..1) of bots that pass wrongly, and of better bots that pass."""

    plain: float
    fixed: float
    power: float


def kinds() -> Iterator[Kind]:
    """Every kind of bot; repeats only where they are told apart from more questions."""
    for shape, (target, cases), repeats in product(SHAPES, ASKED, REPEATS):
        if repeats == 1 or (shape in ("grades", "topics") and target == 0.9):
            yield Kind(shape, target, cases, repeats)


def means(kind: Kind, score: float, bots: int, random: np.random.Generator) -> Floats:
    """The mean of every question of every bot, in steps of the grid; its expectation is `score`."""
    size = (bots, kind.cases)
    chance = _cases(kind.shape, score, size, random)
    # The conversations on one question share its chance: that is why they tell less than new questions.
    exact = GRID * np.mean([_talk(kind.shape, chance, random) for _ in range(kind.repeats)], axis=0)
    down = np.floor(exact + 1e-9)
    found: Floats = (down + (random.random(size) < exact - down - 1e-9)) / GRID
    return found


def _cases(shape: Shape, score: float, size: tuple[int, int], random: np.random.Generator) -> Floats:
    """How well the bot does on each question, on average."""
    spread = {"even": 20.0, "grades": 6.0, "uneven": 1.0, "topics": 0.15}
    if shape not in spread:
        return np.full(size, score)
    floor = FLOORS.get(shape, 0.0)
    share, sharp = (score - floor) / (1 - floor), spread[shape]
    return floor + (1 - floor) * random.beta(sharp * share, sharp * (1 - share), size)


def _talk(shape: Shape, chance: Floats, random: np.random.Generator) -> Floats:
    """One conversation on each question."""
    lot = random.random(chance.shape)
    if shape == "all":
        return (lot < chance).astype(float)
    if shape == "rare":
        return np.where(lot < (1 - chance) / (1 - FLOORS[shape]), FLOORS[shape], 1.0)
    if shape in ("grades", "topics"):
        fifths = np.floor(5 * chance)
        return (fifths + (lot < 5 * chance - fifths)) / 5
    return chance


def passing(found: Floats, kind: Kind) -> float:
    """The share of bots that pass with certainty."""
    steps = np.rint(found * GRID).astype(int)
    places = (steps + np.arange(len(found))[:, None] * (GRID + 1)).ravel()
    shape = (len(found), GRID + 1)
    counts = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    gains = np.arange(GRID + 1) / GRID - kind.target
    return float(_sure(counts, gains, FLOORS.get(kind.shape, 0.0) - kind.target, ALPHA).mean())


def _sure(counts: Floats, gains: Floats, worst: float, level: float) -> NDArray[np.bool_]:
    """Whose mean is surely above; where the expected sum is not, the doubt is above 1/e (Gruenbaum, 1960)."""
    found = np.zeros(len(counts), dtype=bool)
    likely = counts @ gains + worst > 0
    found[likely] = p_values_below(counts[likely], gains, worst) <= level
    return found


def simulate(kind: Kind, bots: int, seed: int) -> GateShares:
    """All figures of one kind of bot; the better ones are half the way to perfect."""
    random = np.random.default_rng([seed, *map(int, (kind.cases, kind.repeats, 100 * kind.target))])
    null = means(kind, kind.target, bots, random)
    good = means(kind, (1 + kind.target) / 2, max(200, bots // 10), random)
    return GateShares(
        plain=float((null.mean(axis=1) >= kind.target - 1e-9).mean()),
        fixed=passing(null, kind),
        power=passing(good, kind),
    )


def main() -> None:
    """Prints a row for each kind of bot, and fails where certainty was not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bots", type=int, default=10_000, help="bots of each kind")
    parser.add_argument("--seed", type=int, default=42)
    options, started = parser.parse_args(), time.monotonic()
    print(f"{options.bots:,} bots of each kind, true score at the target; shares in %\n")
    print("                              wrong passes   better bots pass")
    print("bots    target cases repeats   plain  sure          sure")
    worst, every = 0.0, list(kinds())
    with ProcessPoolExecutor(2) as processes:
        results = processes.map(partial(simulate, bots=options.bots, seed=options.seed), every)
        for kind, found in zip(every, results, strict=True):
            worst = max(worst, found.fixed)
            figures = "{:7.1f}{:6.1f}{:14.1f}".format(*(100 * f for f in found))
            print(f"{kind.shape:7s} {kind.target:6.2f}{kind.cases:6d}{kind.repeats:8d} {figures}", flush=True)
    took = time.monotonic() - started
    print(f"\nWorst share of wrong passes where certainty was asked for: {100 * worst:.1f} % ({took:.0f} s)")
    if worst > ALPHA + TOLERATED:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
