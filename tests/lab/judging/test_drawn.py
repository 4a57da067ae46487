"""Kendall's tau, and grades on the levels of a label."""

import random
from itertools import combinations

import numpy as np
import pytest

from simulator.lab.judging.drawn import kendall, nearest_levels


def tau_by_definition(scores: list[float], labels: list[float]) -> float | None:
    """Kendall's tau-b, pair by pair."""
    pairs = combinations(zip(scores, labels, strict=True), 2)
    signs = [(np.sign(a[0] - b[0]), np.sign(a[1] - b[1])) for a, b in pairs]
    scale = (sum(s != 0 for s, _ in signs) * sum(t != 0 for _, t in signs)) ** 0.5
    return float(sum(s * t for s, t in signs) / scale) if scale else None


@pytest.mark.parametrize("levels", [2, 4, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_kendall_is_tau_b(levels: int, seed: int) -> None:
    """Counted by inversions it is what the definition gives pair by pair, however many ties there are."""
    draw = random.Random(seed)
    scores = [float(draw.randrange(levels)) for _ in range(60)]
    labels = [score + draw.randrange(3) for score in scores]

    assert kendall(scores, labels) == pytest.approx(tau_by_definition(scores, labels))
    assert kendall([1.0] * 60, labels) is None


@pytest.mark.parametrize(
    ("levels", "expected"),
    [([1, 2, 3, 4], [1, 2, 3, 3, 4]), ([0, 1], [0, 0, 1, 1, 1]), ([0, 50, 100], [0, 50, 50, 100, 100])],
)
def test_grades_go_to_the_nearest_level(levels: list[float], expected: list[float]) -> None:
    """The grades 1 to 5 on another scale: linear, halves up."""
    assert nearest_levels([0, 0.25, 0.5, 0.75, 1], levels).tolist() == expected
