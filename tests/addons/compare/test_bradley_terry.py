"""Ratings from pairwise verdicts."""

import math

import numpy as np
import pytest

from simulator.addons.compare.figures import elo, log_strengths


def test_a_published_table_is_reproduced() -> None:
    """Four players and their strengths, as worked out in the encyclopedia's article on the model."""
    wins = np.array([[0, 2, 0, 1], [3, 0, 5, 0], [0, 3, 0, 1], [4, 0, 3, 0]], dtype=float)
    strengths = np.exp(log_strengths(wins, prior=0))

    assert strengths == pytest.approx([0.640, 1.043, 0.660, 2.270], abs=5e-4)


def test_two_runs_have_the_odds_of_their_wins() -> None:
    """Three wins to one are odds of three: 190.8 points, mean 1000."""
    points = elo(log_strengths(np.array([[0, 1], [3, 0]], dtype=float), prior=0))

    assert points[1] - points[0] == pytest.approx(400 * math.log10(3))
    assert points.mean() == pytest.approx(1000)


def test_a_run_that_won_everything_stays_finite() -> None:
    """The virtual tie keeps it so; without it there would be no estimate."""
    points = elo(log_strengths(np.array([[0, 0], [20, 0]], dtype=float)))

    assert np.isfinite(points).all()
    assert points[1] > points[0] + 400


def test_runs_that_never_met_have_no_rating() -> None:
    """No comparison links the third with the first."""
    strengths = log_strengths(np.array([[0, 2, 0], [1, 0, 0], [0, 0, 0]], dtype=float))

    assert math.isnan(strengths[2])
    assert strengths[0] > 0 > strengths[1]


def test_draws_are_fitted_like_single_tables() -> None:
    """All at once gives what one after the other gives."""
    draws = np.random.default_rng(1).poisson(3, size=(5, 4, 4)).astype(float)
    draws[:, range(4), range(4)] = 0

    assert log_strengths(draws) == pytest.approx(np.array([log_strengths(each) for each in draws]), abs=1e-6)
