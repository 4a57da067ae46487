"""Bounds of a mean: as wide as few questions deserve, and never wrong more often than they say."""

import math

import numpy as np
import pytest

from benchmarks.gate import Kind, simulate
from simulator.results.intervals import cluster_values, lower_bound, p_below, upper_bound


def names(count: int) -> list[str]:
    return [f"q{n}" for n in range(count)]


def binomial_tail(n: int, hits: int, chance: float) -> float:
    """The chance of so many hits or more."""
    return sum(math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(hits, n + 1))


@pytest.mark.parametrize("count", [5, 59, 400, 5000])
def test_a_perfect_run_keeps_the_doubt_of_the_rule_of_three(count: int) -> None:
    """Of n that are all right, 1 - 0.05 ** (1 / n) may still be wrong: no interval of width zero."""
    found = cluster_values([1.0] * count, names(count))

    assert lower_bound(found, 0.95) == pytest.approx(0.05 ** (1 / count), abs=1e-6)
    assert upper_bound(found, 0.95) == pytest.approx(1)


def test_yes_and_no_give_the_exact_binomial_interval() -> None:
    """38 of 40: 0.8508 to 0.9910, as every table of Clopper and Pearson says."""
    found = cluster_values([1.0] * 38 + [0.0] * 2, names(40))

    assert (lower_bound(found, 0.95), upper_bound(found, 0.95)) == pytest.approx((0.85085, 0.99104), abs=1e-4)
    for target in (0.8, 0.9, 0.93):
        assert p_below(found, target) == pytest.approx(binomial_tail(40, 38, target), abs=1e-6)


def test_it_is_the_bayesian_bootstrap_with_one_question_more() -> None:
    """Weights drawn at random give the same bound."""
    random = np.random.default_rng(7)
    values = random.choice([0.2, 0.4, 0.6, 0.8, 1.0], 60)
    found = cluster_values(values.tolist(), [f"q{n // 3}" for n in range(60)], floor=0.2)
    weights = random.exponential(size=(100_000, 21))
    sums, sizes = np.append(found.sums, 3 * 0.2), np.append(found.sizes, 3)
    drawn = np.quantile(weights @ sums / (weights @ sizes), 0.05)

    assert lower_bound(found, 0.95) == pytest.approx(drawn, abs=0.002)


def test_all_at_the_target_is_full_of_doubt() -> None:
    """Nothing above it, nothing for sure; and nothing is certain below the lowest value there is."""
    found = cluster_values([0.5] * 8, names(8))

    assert p_below(found, 0.5) == pytest.approx(1, abs=1e-4)
    assert p_below(found._replace(floor=0.5), 0.4) == 0
    assert lower_bound(found, 0.95) < 0.5 < upper_bound(found, 0.95)


KINDS = [
    Kind("all", 0.8, 20, 1), Kind("all", 0.9, 40, 1), Kind("rare", 0.8, 20, 1), Kind("topics", 0.9, 40, 3),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.shape}-{kind.cases}")
def test_of_a_thousand_bots_at_the_target_few_pass(kind: Kind) -> None:
    """At 95 % at most one in twenty (and what chance adds), where a plain target passes half of them."""
    found = simulate(kind, 1000, 42)

    assert found.fixed <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)
    assert found.plain > 0.4
