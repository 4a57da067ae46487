"""Standard errors and intervals that know that turns of one case belong together."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.analysis.intervals import bootstrap_interval, clustered_stderr

VALUES = [0.2, 0.4, 0.6, 0.8, 1.0]
NAMES = ["a", "b", "c", "d", "e"]


def test_clusters_of_one_give_the_usual_standard_error() -> None:
    """That is s / sqrt(n), with n - 1 in s."""
    expected = statistics.stdev(VALUES) / math.sqrt(len(VALUES))

    assert clustered_stderr(VALUES, NAMES) == pytest.approx(expected)


def test_repeated_values_in_a_cluster_buy_no_certainty() -> None:
    """Three identical turns per case leave the error of the cases."""
    once = clustered_stderr(VALUES, NAMES)

    assert clustered_stderr(VALUES * 3, NAMES * 3) == pytest.approx(once)
    assert clustered_stderr(VALUES * 3, [f"{i}" for i in range(15)]) < once  # type: ignore[operator]


@pytest.mark.parametrize("clusters", [[], ["a"], ["a", "a"]])
def test_under_two_clusters_nothing_can_be_said(clusters: list[str]) -> None:
    """None, not zero."""
    values = [0.5] * len(clusters)

    assert clustered_stderr(values, clusters) is None
    assert bootstrap_interval(values, clusters, seed=1) is None


def test_interval_is_near_the_normal_one_for_many_cases() -> None:
    """Mean plus and minus 1.96 standard errors, within the noise of 2,000 resamples."""
    values = [0.2 * (1 + i % 5) for i in range(200)]
    names = [str(i) for i in range(200)]
    error = clustered_stderr(values, names) or 0

    interval = bootstrap_interval(values, names, seed=42)

    assert interval == pytest.approx((0.6 - 1.96 * error, 0.6 + 1.96 * error), abs=0.005)


def test_interval_is_wider_when_cases_repeat() -> None:
    """Ten conversations of one case say less than ten cases."""
    values = [0.2, 1.0] * 10
    many = bootstrap_interval(values, [str(i) for i in range(20)], seed=7)
    few = bootstrap_interval(values, ["a", "b"] * 10, seed=7)

    assert many
    assert few
    assert few[1] - few[0] > many[1] - many[0]


def test_interval_is_that_of_its_seed() -> None:
    """The same seed gives the same ends, another seed gives others."""
    values = [0.2 * (1 + i % 5) for i in range(30)]
    names = [str(i % 17) for i in range(30)]

    assert bootstrap_interval(values, names, seed=1) == bootstrap_interval(values, names, seed=1)
    assert bootstrap_interval(values, names, seed=1) != bootstrap_interval(values, names, seed=2)


@given(st.permutations([(0.2 * (1 + i % 5), str(i % 4)) for i in range(12)]))
def test_order_does_not_matter(pairs: list[tuple[float, str]]) -> None:
    """Conversations end in any order; the figures are the same to the last digit."""
    values, names = [v for v, _ in pairs], [n for _, n in pairs]
    ordered = sorted(pairs)

    assert bootstrap_interval(values, names, seed=3, resamples=50) == bootstrap_interval(
        [v for v, _ in ordered], [n for _, n in ordered], seed=3, resamples=50
    )


def test_interval_of_equal_values_has_no_width() -> None:
    """Every resample has the same mean."""
    assert bootstrap_interval([0.8] * 6, list("abcdef"), seed=1) == pytest.approx((0.8, 0.8))


def test_many_cases_are_drawn_in_blocks() -> None:
    """More cases than fit one block give an interval around the mean all the same."""
    values = [0.2 * (1 + i % 5) for i in range(5000)]

    low, high = bootstrap_interval(values, [str(i) for i in range(5000)], seed=5) or (0, 0)

    assert 0.58 < low < 0.6 < high < 0.62
