"""Bootstrap intervals of agreement over clusters."""

import numpy as np
import pytest

from simulator.lab.judging.drawn import drawn_kappa, drawn_mean, drawn_ranks
from simulator.results.agreement import auroc, quadratic_kappa, spearman
from simulator.results.draws import Draws, interval

CLUSTERS = [f"c{number // 3}" for number in range(30)]
RANDOM = np.random.default_rng(1)
LABELS = RANDOM.integers(0, 4, 30)
SCORES = np.round(LABELS + RANDOM.normal(0, 1.5, 30))
GOOD = LABELS >= 2


def resampled(draws: Draws, at: int) -> list[int]:
    """The rows of one draw, each as often as its cluster was drawn."""
    rows = np.arange(30)
    counts = draws.by_rows(rows, lambda weights: weights)[at].astype(int)
    return [int(row) for row in rows for _ in range(counts[row])]


@pytest.mark.parametrize("at", [0, 7, 49])
def test_a_draw_gives_what_its_rows_give(at: int) -> None:
    """Rho, AUROC, kappa and mean by weights are those of the rows written out."""
    draws = Draws(CLUSTERS, seed=5, resamples=50)
    rows = resampled(draws, at)
    rho, area = drawn_ranks(SCORES, LABELS, GOOD, draws)

    assert len(rows) == 30
    assert rho[at] == pytest.approx(spearman(SCORES[rows].tolist(), LABELS[rows].tolist()))
    assert area[at] == pytest.approx(auroc(SCORES[rows].tolist(), GOOD[rows].tolist()))
    kappa = drawn_kappa(SCORES, LABELS, draws)
    assert kappa[at] == pytest.approx(quadratic_kappa(SCORES[rows], LABELS[rows]))
    assert drawn_mean(SCORES, draws)[at] == pytest.approx(SCORES[rows].mean())


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
    _, rare = drawn_ranks([1, 2, 3, 4], [0, 0, 0, 1], [False, False, False, True], draws)
    _, never = drawn_ranks([1, 2, 3, 4], [1, 1, 1, 1], [True] * 4, draws)

    assert np.isnan(rare).any()
    assert interval(rare) is not None
    assert interval(never) is None
