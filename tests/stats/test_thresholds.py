"""From which grade on an answer is good."""

from simulator.stats.calibration import best_threshold

GRADES = [1, 2, 2, 3, 3, 4, 4, 5]
GOOD = [False, False, False, True, False, True, True, True]


def test_the_best_cut_balances_both_kinds() -> None:
    """At 3 all good ones are there and three of four others are below; at 4 it is 3/4 and 4/4."""
    found = best_threshold(GRADES, GOOD)

    assert found is not None
    assert (found.grade, found.balanced_accuracy, found.recall, found.precision) == (4, 0.875, 0.75, 1)


def test_no_cut_is_invented() -> None:
    """One kind of rows, or grades that say nothing."""
    assert best_threshold([1, 2], [True, True]) is None
    assert best_threshold([3, 3], [True, False]) is None
