"""Thresholds from the scores of right and wrong answers."""

import numpy as np
import pytest

from simulator.lab.datasets.suggested import Method, Suggestion, rounded_down, suggest


def of(
    scores: list[float], right: list[bool], method: Method = "quantile", quantile: float = 0.05
) -> Suggestion:
    groups = [str(at) for at in range(len(scores))]
    return suggest(scores, right, groups, method, quantile, 42)


def test_the_quantile_leaves_the_share_of_right_answers_that_was_asked_for() -> None:
    """Of 100 right answers 95 reach it; wrong ones have no part in it."""
    scores = [at / 100 for at in range(100)]
    found = of([*scores, 0.5, 0.01], [True] * 100 + [False] * 2)

    assert found.threshold == pytest.approx(0.05)
    assert (found.right, found.wrong, found.right_passing, found.wrong_passing) == (100, 2, 0.95, 0.5)
    assert of(scores, [True] * 100, quantile=0).threshold == 0
    assert of([0.2, 0.9], [True, True], quantile=0.5).threshold == pytest.approx(0.9)


def test_the_balanced_cut_parts_right_from_wrong() -> None:
    """The stricter of equals; without wrong answers, or no better than chance, there is none."""
    found = of([0.1, 0.2, 0.6, 0.7, 0.8], [False, False, True, True, True], "balanced")

    assert (found.threshold, found.right_passing, found.wrong_passing) == (0.6, 1, 0)
    assert of([0.5, 0.6], [True, True], "balanced").threshold is None
    assert of([0.9, 0.1], [False, True], "balanced").threshold is None


@pytest.mark.parametrize("method", ["quantile", "balanced"])
def test_the_interval_covers_the_threshold_of_other_samples(method: Method) -> None:
    """About 95 in 100 samples of the same kind have the true cut within their interval."""
    random, hits, true = np.random.default_rng(7), 0, {"quantile": 0.62, "balanced": 0.6}[method]
    for _ in range(6):
        right = random.uniform(0.6, 1, 150) if method == "quantile" else random.uniform(0.6, 0.9, 150)
        wrong = random.uniform(0.0, 0.6, 60)
        found = of([*right, *wrong], [True] * 150 + [False] * 60, method)
        low, high = found.interval or (1.0, 0.0)
        assert low <= (found.threshold or 0.0) <= high
        hits += low - 0.02 <= true <= high + 0.02

    assert hits >= 5
    # A threshold is rounded down, never over the score it was taken from: what reached it still does.
    assert rounded_down(6 / 7) == 0.8571
    assert rounded_down(0.8) == 0.8
    assert of([6 / 7] * 20, [True] * 20).right_passing == 1
    assert [of([0.5] * right, [True] * right).few for right in (19, 20)] == [True, False]
