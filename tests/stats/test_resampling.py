"""Bootstrap intervals of agreement over clusters."""

from collections import Counter

import numpy as np
import pytest

from simulator.stats.agreement import auroc
from simulator.stats.intervals import Draws, drawn, drawn_mean, interval

CLUSTERS = [f"c{number // 3}" for number in range(30)]
RANDOM = np.random.default_rng(1)
LABELS = RANDOM.integers(0, 4, 30)
SCORES = np.round(LABELS + RANDOM.normal(0, 1.5, 30))


@pytest.mark.parametrize("at", [0, 7, 49])
def test_a_draw_gives_what_its_rows_give(at: int) -> None:
    """Each cluster is drawn with all its rows; a mean by weights is that of the rows written out."""
    draws, found = Draws(CLUSTERS, seed=5, resamples=50), list[list[int]]()
    drawn(lambda rows: found.append(rows.tolist()), draws)
    sizes = Counter(CLUSTERS[row] for row in found[at])

    assert len(found[at]) == 30
    assert all(found[at].count(row) == sizes[CLUSTERS[row]] / 3 for row in range(30))
    assert drawn_mean(SCORES, draws)[at] == pytest.approx(SCORES[found[at]].mean())


def test_draws_depend_on_seed_and_clusters_only() -> None:
    """The same in any order of the rows; another seed draws others."""
    first, again, other = (drawn_mean(SCORES, Draws(CLUSTERS, seed=seed)) for seed in (1, 1, 2))
    turned = drawn_mean(SCORES[::-1], Draws(CLUSTERS[::-1], seed=1))

    assert first.tolist() == again.tolist()
    assert turned == pytest.approx(first)
    assert first.tolist() != other.tolist()


def test_what_a_draw_does_not_have_is_left_out() -> None:
    """A draw of one class has no AUROC; when half of the draws have none, neither has the interval."""
    draws = Draws(["a", "b", "c", "d"], seed=1)
    grades, one, every = np.arange(4), np.array([False, False, False, True]), np.full(4, True)
    rare = drawn(lambda at: auroc(grades[at], one[at]), draws)
    never = drawn(lambda at: auroc(grades[at], every[at]), draws)

    assert np.isnan(rare).any()
    assert interval(rare) is not None
    assert interval(never) is None
