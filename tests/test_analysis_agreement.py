"""Agreement of scores with labels, by rank."""

import pytest

from simulator.analysis.agreement import auroc, average_ranks, spearman


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    """10, 20, 20, 30 rank 1, 2.5, 2.5, 4."""
    assert average_ranks([10, 20, 20, 30]).tolist() == [1, 2.5, 2.5, 4]


@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [
        ([1, 2, 3, 4], [10, 100, 1000, 10000], 1),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1),
        ([1, 2, 3, 4, 5], [5, 6, 7, 8, 7], 0.8207826816681233),
        ([1, 1, 1], [1, 2, 3], None),
    ],
)
def test_spearman_is_the_correlation_of_ranks(
    scores: list[float], labels: list[float], expected: float | None
) -> None:
    """Ties get average ranks; a constant side has no correlation."""
    found = spearman(scores, labels)

    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("scores", "positive", "expected"),
    [
        ([0.1, 0.4, 0.35, 0.8], [False, False, True, True], 0.75),
        ([1, 2], [False, True], 1),
        ([1, 1], [False, True], 0.5),
        ([1, 2], [True, True], None),
    ],
)
def test_auroc_counts_the_pairs_in_the_right_order(
    scores: list[float], positive: list[bool], expected: float | None
) -> None:
    """Ties count half; without both kinds there are no pairs."""
    assert auroc(scores, positive) == expected
