"""Thresholds from the scores of right and wrong answers."""

import numpy as np
import pytest

from simulator.lab.datasets.suggested import Suggestion, rounded_down, suggest


def of(scores: list[float], right: list[bool]) -> Suggestion:
    return suggest(scores, right, [str(at) for at in range(len(scores))], 42)


def test_nineteen_of_twenty_right_answers_reach_it() -> None:
    """Of 100 right answers 95 do; wrong ones have no part in it."""
    scores = [at / 100 for at in range(100)]
    suggestion = of([*scores, 0.5, 0.01], [True] * 100 + [False] * 2)

    assert suggestion.threshold == pytest.approx(0.05)
    assert (suggestion.right, suggestion.wrong) == (100, 2)
    assert (suggestion.right_passing, suggestion.wrong_passing) == (0.95, 0.5)
    assert of([0.1, 0.2], [False, False]).threshold is None


def test_the_interval_covers_the_threshold_of_other_samples() -> None:
    """About 95 in 100 samples of the same kind have the true cut within their interval."""
    random, hits = np.random.default_rng(7), 0
    for _ in range(6):
        suggestion = of(
            [*random.uniform(0.6, 1, 150), *random.uniform(0.0, 0.6, 60)], [True] * 150 + [False] * 60
        )
        low, high = suggestion.interval or (1.0, 0.0)
        assert low <= (suggestion.threshold or 0.0) <= high
        hits += low - 0.02 <= 0.62 <= high + 0.02

    assert hits >= 5
    # A threshold is rounded down, never over the score it was taken from: what reached it still does.
    assert rounded_down(6 / 7) == 0.8571
    assert rounded_down(0.8) == 0.8
    assert of([6 / 7] * 20, [True] * 20).right_passing == 1
    assert [of([0.5] * right, [True] * right).few for right in (19, 20)] == [True, False]
