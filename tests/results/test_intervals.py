"""Standard errors and intervals that know that turns of one case belong together."""

import math
import random
import statistics
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.intervals import Kind, simulate
from simulator.results.draws import interval, interval_of_difference, widened
from simulator.results.intervals import (
    MIN_CLUSTERS,
    blocks,
    cluster_values,
    clustered_stderr,
    ends_of,
    interval_of_mean,
    joint_interval,
    lower_bound,
    p_below,
    retest_variance,
    standard_error,
    upper_bound,
)
from tests.properties import examples

VALUES = [0.2, 0.4, 0.6, 0.8, 1.0]
NAMES = ["a", "b", "c", "d", "e"]
GRADED = st.lists(
    st.tuples(st.sampled_from([0.0, *VALUES]), st.sampled_from("abcdefgh")),
    min_size=MIN_CLUSTERS,
    max_size=24,
)

IntervalOf: TypeAlias = Callable[..., tuple[float, float] | None]
BOTH = pytest.mark.parametrize("interval_of", [interval_of_mean, interval_of_difference])


def names(count: int) -> list[str]:
    return [f"q{n:04}" for n in range(count)]


def width(ends: tuple[float, float] | None) -> float:
    """From end to end."""
    assert ends
    return ends[1] - ends[0]


def test_repeated_values_in_a_cluster_buy_no_certainty() -> None:
    """Clusters of one give s / sqrt(n), with n - 1 in s; three identical turns per case leave that error."""
    once = clustered_stderr(VALUES, NAMES)

    assert once == pytest.approx(statistics.stdev(VALUES) / math.sqrt(len(VALUES)))
    assert clustered_stderr(VALUES * 3, NAMES * 3) == pytest.approx(once)
    assert clustered_stderr(VALUES * 3, [f"{i}" for i in range(15)]) < once  # type: ignore[operator]


def test_figures_by_hand() -> None:
    """Four questions of one value, two of two; a verdict of four that flips; ten of ten, and four of five."""
    yes_and_no = [1.0, 1.0, 0.0, 0.0]
    ten, five = cluster_values([1.0] * 10, names(10)), cluster_values([1.0] * 4 + [0.0], names(5))
    mixed = cluster_values([1.0, 0.2, 0.4], ["a", "b", "a"], 0.2)

    assert clustered_stderr(yes_and_no, list("abcd")) == pytest.approx(0.288675, abs=1e-6)
    assert clustered_stderr(yes_and_no, list("aabb")) == pytest.approx(0.5)
    assert retest_variance([(1, 1), (1, 0), (0, 0), (1, 1)]) == 0.125
    assert retest_variance([]) == 0
    assert p_below(ten, 0.7) == pytest.approx(0.7**10, abs=1e-6)
    assert (lower_bound(ten, 0.95), upper_bound(ten, 0.95)) == pytest.approx((0.741134, 1), abs=1e-6)
    assert (lower_bound(five, 0.95), upper_bound(five, 0.95)) == pytest.approx((0.342592, 0.989794), abs=1e-5)
    assert interval_of_mean([1.0] * 8 + [0.0] * 2, names(10), seed=1) == pytest.approx(
        (0.48, 0.965), abs=0.01
    )
    assert ([*mixed.sums], [*mixed.sizes], mixed.floor, mixed.noise) == ([1.4, 0.2], [2, 1], 0.2, 0)
    assert [mixed.mean, *mixed.turned().sums] == pytest.approx([1.6 / 3, 0.6, 0.8])


def test_noise_of_the_judge_widens_bounds_and_intervals() -> None:
    """By the variance that another grading would bring; 400,000 weighed draws give the same bounds."""
    values, noise = [0.6, 0.8] * 10, 0.04
    plain = cluster_values(values, names(20))
    noisy = plain._replace(noise=noise)

    assert lower_bound(noisy, 0.95) == pytest.approx(0.5654, abs=1e-4)
    assert lower_bound(plain, 0.95) == pytest.approx(0.5964, abs=1e-4)
    assert noisy.turned().noise == noise
    assert width(interval_of_mean(values, names(20), seed=1, noise=noise)) == pytest.approx(0.234, abs=0.01)
    assert width(interval_of_mean(values, names(20), seed=1)) == pytest.approx(0.162, abs=0.01)


@pytest.mark.parametrize(("draws", "wide", "sizes"), [
    (5, 1_000_000, [2, 2, 1]), (3, 666_667, [2, 1]), (2, 5_000_000, [1, 1]), (4000, 0, [4000]), (0, 7, []),
])  # fmt: skip
def test_draws_are_made_as_many_at_a_time_as_fit_into_memory(draws: int, wide: int, sizes: list[int]) -> None:
    """Two million figures, and at least one draw."""
    assert [*blocks(draws, wide)] == sizes


def test_a_drawn_figure_that_half_of_the_draws_lack_has_no_interval() -> None:
    """Where chance took away what it needs; else the percentiles of those that have one."""
    lacking, drawn = [math.nan, math.inf], [n / 100 for n in range(101)]

    assert interval(np.array([1.0, 2.0, *lacking])) is None
    assert interval(np.array([1.0, 1.0, 1.0, *lacking])) == (1.0, 1.0)
    assert interval(np.array(drawn)) == pytest.approx((0.025, 0.975))
    assert interval(np.array(drawn), 0.5) == pytest.approx((0.25, 0.75))
    assert [widened(0.95, n) for n in (6, 50)] == pytest.approx([0.9951, 0.9576], abs=5e-5)


@pytest.mark.parametrize("clusters", [[], ["a"], ["a", "a"]])
def test_under_two_clusters_no_error_can_be_told(clusters: list[str]) -> None:
    """None, not zero."""
    assert clustered_stderr([0.5] * len(clusters), clusters) is None


@BOTH
@pytest.mark.parametrize("count", range(MIN_CLUSTERS + 1))
def test_no_interval_under_five_clusters(count: int, interval_of: IntervalOf) -> None:
    """However many values they have."""
    found = interval_of([0.2, 0.8] * count, names(count) * 2, seed=1)

    assert (found is None) == (count < MIN_CLUSTERS)


@BOTH
@pytest.mark.parametrize("count", [400, 1200])
def test_interval_is_near_the_normal_one_for_many_cases(count: int, interval_of: IntervalOf) -> None:
    """Mean plus and minus 1.96 standard errors, within the noise of the draws; also drawn in blocks."""
    values = [0.2 * (1 + i % 5) for i in range(count)]
    error = clustered_stderr(values, names(count)) or 0

    interval = interval_of(values, names(count), seed=42)

    assert interval == pytest.approx((0.6 - 1.96 * error, 0.6 + 1.96 * error), abs=0.005)


@settings(max_examples=examples(60))
@given(GRADED, st.randoms(use_true_random=False), st.sampled_from([interval_of_mean, interval_of_difference]))
def test_what_holds_of_any_grades(
    graded: list[tuple[float, str]], order: random.Random, interval_of: IntervalOf
) -> None:
    """Within 0..1, around the mean, and in any order the same to the last digit."""

    def found(pairs: Sequence[tuple[float, str]]) -> tuple[float, float] | None:
        return interval_of([v for v, _ in pairs], [n for _, n in pairs], seed=3, draws=200)

    interval = found(graded)

    assert found(order.sample(graded, len(graded))) == interval
    assert (interval is None) == (len({name for _, name in graded}) < MIN_CLUSTERS)
    if interval:
        mean = statistics.fmean(value for value, _ in graded)
        assert 0 <= interval[0] <= mean + 1e-9
        assert mean - 1e-9 <= interval[1] <= 1


@pytest.mark.parametrize("count", [5, 20, 59])
def test_all_right_is_no_certainty(count: int) -> None:
    """The rule of three, as at the gate: no interval of width zero."""
    low, high = interval_of_mean([1.0] * count, names(count), seed=1) or (0, 0)

    assert low == pytest.approx(0.05 ** (1 / count), abs=0.015)
    assert high == 1


@pytest.mark.parametrize("values", [VALUES * 2, [1.0] * 9 + [0.2], [0.8, 1.0] * 20, [1.0] * 12])
def test_it_reaches_no_less_far_than_the_bound_of_the_gate(values: list[float]) -> None:
    """Nobody is told that more is sure than what `--confidence 0.95` would let pass."""
    low, _ = interval_of_mean(values, names(len(values)), seed=1, ends=(0.2, 1.0)) or (1, 1)

    assert low <= lower_bound(cluster_values(values, names(len(values)), 0.2), 0.95) + 0.01


@BOTH
@pytest.mark.parametrize(("value", "count"), [(0.2, 6), (0.6, 30), (0.7, 30)])
def test_the_mean_is_never_outside(value: float, count: int, interval_of: IntervalOf) -> None:
    """Not by a digit of rounding either, where all cases say the same."""
    values = [value] * count
    low, high = interval_of(values, names(count), seed=1) or (1, 0)

    assert low <= np.mean(values) <= high


def test_where_no_grade_is_below_a_fifth_the_worst_is_not_zero() -> None:
    """The ends of five-step grades, and of other scales."""
    grades, shares = [(1.0, 5.0)], [(0.0, 10.0)]

    assert (ends_of(grades), ends_of(shares), ends_of([])) == ((0.2, 1.0), (0.0, 1.0), (0.0, 1.0))
    assert ends_of([*grades, *shares]) == (0.0, 1.0)
    five_steps = interval_of_mean(VALUES, NAMES, seed=1, ends=(0.2, 1.0))
    assert width(five_steps) < width(interval_of_mean(VALUES, NAMES, seed=1))


KINDS = [Kind("usual", 1, 5), Kind("usual", 3, 8), Kind("near 1", 1, 8), Kind("pass/fail", 1, 20)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.shape}-{kind.cases}")
def test_it_holds_the_true_mean_as_often_as_it_says(kind: Kind) -> None:
    """95 times in 100, less what chance leaves of 300 samples; the plain bootstrap it replaced does not."""
    found = simulate(kind, 300, 7)

    assert found.shown >= 0.93
    assert found.percentile < 0.93


@given(n=st.integers(2, 5000), share=st.floats(0, 1))
def test_the_standard_error_of_a_share_is_that_of_zeros_and_ones(n: int, share: float) -> None:
    """With n - 1 under the root of its variance; one row has none."""
    right = round(n * share)
    mean = right / n
    variance = (right * (1 - mean) ** 2 + (n - right) * mean**2) / (n - 1)

    assert standard_error(mean, n) == pytest.approx(math.sqrt(variance / n), abs=1e-9)
    assert standard_error(1.0, 1) is None


def test_the_joint_interval_holds_whichever_is_right() -> None:
    """Of two that differ, as often as it says; that of all values together holds neither.

    It goes from the lowest end to the highest, and is unknown where one of them is.
    """
    assert joint_interval([(0.2, 0.4), (0.5, 0.9)]) == joint_interval([(0.2, 0.9), (0.5, 0.6)]) == (0.2, 0.9)
    assert joint_interval([(0.2, 0.9), None]) is joint_interval([None]) is None
    rng, questions, trials = random.Random(1), 20, 60
    held = {"joint": 0, "together": 0}
    for trial in range(trials):
        sides = [[float(rng.random() < chance) for _question in range(questions)] for chance in (0.35, 0.75)]
        right = (0.35, 0.75)[trial % 2]
        own = [interval_of_mean(side, names(questions), seed=1, draws=400) for side in sides]
        together = interval_of_mean([*sides[0], *sides[1]], names(questions) * 2, seed=1, draws=400)
        for name, ends in (("joint", joint_interval(own)), ("together", together)):
            assert ends
            held[name] += ends[0] <= right <= ends[1]

    assert held["joint"] >= 0.95 * trials
    assert held["together"] < 0.5 * trials
