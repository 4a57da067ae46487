"""Agreement of scores with labels: by rank, and on one scale."""

import random
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from simulator.results.agreement import (
    auroc,
    average_ranks,
    kendall,
    nearest_levels,
    quadratic_kappa,
    spearman,
)


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    """10, 20, 20, 30 rank 1, 2.5, 2.5, 4."""
    assert average_ranks([10, 20, 20, 30]).tolist() == [1, 2.5, 2.5, 4]


@pytest.mark.parametrize(
    ("measure", "scores", "labels", "expected"),
    [
        # The correlation of ranks: ties get average ranks; a constant side has no correlation.
        (spearman, [1, 2, 3, 4], [10, 100, 1000, 10000], pytest.approx(1)),
        (spearman, [1, 2, 3, 4], [4, 3, 2, 1], pytest.approx(-1)),
        (spearman, [1, 2, 3, 4, 5], [5, 6, 7, 8, 7], pytest.approx(0.8207826816681233)),
        (spearman, [1, 1, 1], [1, 2, 3], None),
        # The share of pairs in the right order: ties count half; without both kinds there are no pairs.
        (auroc, [0.1, 0.4, 0.35, 0.8], [False, False, True, True], 0.75),
        (auroc, [1, 2], [False, True], 1),
        (auroc, [1, 1], [False, True], 0.5),
        (auroc, [1, 2], [True, True], None),
    ],
)
def test_agreement_by_rank(measure: Any, scores: list[float], labels: list[float], expected: Any) -> None:
    """As it is defined, and None where it is not."""
    assert measure(scores, labels) == expected


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


def kappa_by_definition(one: list[int], other: list[int], levels: int) -> float:
    """1 less observed over expected disagreement, out of the whole confusion matrix."""
    pairs = list(product(range(levels), repeat=2))
    count = len(one)
    observed = sum(
        (i - j) ** 2 * sum(a == i and b == j for a, b in zip(one, other, strict=True)) for i, j in pairs
    )
    expected = sum((i - j) ** 2 * one.count(i) * other.count(j) / count for i, j in pairs)
    return 1 - observed / expected


def test_quadratic_kappa_is_that_of_the_confusion_matrix() -> None:
    """From moments it is the same; equal constants have none."""
    draw = random.Random(3)
    one = [draw.randrange(4) for _ in range(80)]
    other = [min(3, value + draw.randrange(2)) for value in one]

    assert quadratic_kappa(one, other) == pytest.approx(kappa_by_definition(one, other, 4))
    assert quadratic_kappa(one, one) == 1
    assert quadratic_kappa([2, 2], [2, 2]) is None


@pytest.mark.parametrize(
    ("levels", "expected"),
    [([1, 2, 3, 4], [1, 2, 3, 3, 4]), ([0, 1], [0, 0, 1, 1, 1]), ([0, 50, 100], [0, 50, 50, 100, 100])],
)
def test_grades_go_to_the_nearest_level(levels: list[float], expected: list[float]) -> None:
    """The grades 1 to 5 on another scale: linear, halves up."""
    assert nearest_levels([0, 0.25, 0.5, 0.75, 1], levels).tolist() == expected
