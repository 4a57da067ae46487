"""From which grade on an answer is good."""

from collections.abc import Sequence

from simulator.stats.calibration import LabelledGrade, Yardstick, best_threshold, measure

GRADES = [1, 2, 2, 3, 3, 4, 4, 5]
GOOD = [False, False, False, True, False, True, True, True]


def test_the_best_cut_balances_both_kinds() -> None:
    """At 3 all good ones are there and three of four others are below; at 4 it is 3/4 and 4/4."""
    found = best_threshold(GRADES, GOOD)

    assert found is not None
    assert (found.grade, found.balanced_accuracy, found.recall, found.precision) == (4, 0.875, 0.75, 1)


def precise(grades: Sequence[float], good: Sequence[bool], wanted: float) -> float | None:
    """From which grade on as many of the rows are good."""
    rows = [LabelledGrade(str(at), *row) for at, row in enumerate(zip(grades, good, strict=True))]
    by = Yardstick(scale=(1, 5), levels=(0, 1), good_from=1, precision=wanted)
    found = measure(rows, by).precise
    return found.grade if found else None


def test_a_precision_is_reached_as_low_as_possible() -> None:
    """From 3 on four of five are good; from 4 on all are."""
    assert [precise(GRADES, GOOD, wanted) for wanted in (0.5, 0.8, 0.9)] == [1, 3, 4]


def test_no_cut_is_invented() -> None:
    """One kind of rows, grades that say nothing, or a precision that is never reached."""
    assert best_threshold([1, 2], [True, True]) is None
    assert best_threshold([3, 3], [True, False]) is None
    assert precise([5, 5, 1], [True, False, False], 0.9) is None
