"""Agreement of scores with labels: by rank, and on one scale."""

import random
from itertools import product
from typing import Any

import pytest

from simulator.lab.judging.agreement import (
    auroc,
    quadratic_kappa,
)


@pytest.mark.parametrize(
    ("measure", "scores", "labels", "expected"),
    [
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
