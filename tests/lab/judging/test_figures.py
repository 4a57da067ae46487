"""The figures of a judge beside people."""

import pytest

from simulator.lab.judging.figures import (
    LabelledGrade,
    RedAgreement,
    Yardstick,
    best_threshold,
    figures_json,
    histogram,
    human_agreement,
    measure,
)

BY = Yardstick(scale=(1, 5), levels=(1, 2, 3, 4), good_from=3.5, seed=1)


def rows(*grades_and_labels: tuple[float, float]) -> list[LabelledGrade]:
    """Rows of a group each."""
    return [LabelledGrade(str(at), grade, label) for at, (grade, label) in enumerate(grades_and_labels)]


def test_a_judge_that_agrees_agrees() -> None:
    """The same order and the same place on the scale: every figure is at its best, and the cut is known."""
    found = measure(rows((1, 1), (2.333, 2), (3.667, 3), (5, 4), (5, 4)), BY)

    assert found.judge.spearman.value == pytest.approx(1)
    assert (found.judge.kendall, found.judge.auroc.value) == (1, 1)
    assert found.kappa.value == 1
    assert found.leniency.value == pytest.approx(0, abs=1e-3)
    assert found.threshold is not None
    assert (found.threshold.grade, found.good) == (5, 2)


def test_leniency_is_judge_less_people_on_a_common_scale() -> None:
    """A 4 of 1..5 where people said 1 of 1..4 is three quarters too mild."""
    found = measure(rows((4, 1), (5, 2), (4, 1)), BY)

    assert found.leniency.value == pytest.approx((0.75 + 2 / 3 + 0.75) / 3)
    assert (found.leniency.low or 0) > 0.6


def test_labels_of_0_and_1_are_held_against_the_red_rule() -> None:
    """A grade of 3 that is red is a bad one; how mild a grade is cannot be told without degrees."""
    by = Yardstick(scale=(1, 5), levels=(0, 1), good_from=0.5, seed=1)
    told = [(5, 1, False), (4, 1, False), (3, 0, True), (1, 0, True), (3, 1, True), (4, 0, False)]
    graded = [LabelledGrade(str(at), grade, label, red=red) for at, (grade, label, red) in enumerate(told)]
    found = measure(graded, by)
    shown = figures_json(found)

    assert found.kappa.value == pytest.approx(1 / 3)
    assert shown["red"] == {"rows": 3, "bad": 2, "of": 3, "precision": 0.6667, "recall": 0.6667}
    assert shown["leniency"] == {"value": None, "low": None, "high": None}
    assert figures_json(measure(rows((4, 1), (5, 2)), BY))["red"] is None
    # Shares of nothing are no shares: neither of red answers where none is, nor of bad ones.
    assert RedAgreement(rows=0, bad=0, of=4).precision is None
    assert RedAgreement(rows=4, bad=0, of=0).recall is None


def test_a_single_class_has_no_auroc_and_no_cut() -> None:
    """Where nothing is bad, nothing can be told apart."""
    found = measure(rows((3, 4), (5, 4), (4, 3.6)), BY)

    assert found.one_kind
    assert (found.judge.auroc.value, found.threshold) == (None, None)
    assert figures_json(found)["auroc"] is None


def test_one_grade_for_most_rows_is_poor_discrimination() -> None:
    """60 % of fours are too many, however good the rest."""
    assert histogram([4, 4, 4, 2, 5], (1, 5)).poor
    assert not histogram([4, 4, 3, 2, 5], (1, 5)).poor
    assert histogram([4, 4, 4, 2, 5], (1, 5)).bars == ((1, 0), (2, 1), (3, 0), (4, 3), (5, 1))


def test_many_grades_have_ten_bars_of_one_width() -> None:
    """Up to eleven grades each have their bar; of more, a border counts above, but for the highest."""
    eleven = [place / 10 for place in range(11)]
    assert histogram(eleven, (0, 1)).bars == tuple((value, 1) for value in eleven)
    found = histogram([1, 1.5, 1.9, 2, *(2.1 + place / 10 for place in range(8)), 4.95, 5], (1, 5))
    assert [value for value, _n in found.bars] == [1, 1.4, 1.8, 2.2, 2.6, 3, 3.4, 3.8, 4.2, 4.6]
    assert [n for _value, n in found.bars] == [1, 1, 3, 4, 3, 0, 0, 0, 0, 2]


def test_other_scorers_are_measured_on_the_rows_that_they_have() -> None:
    """A scorer that lacks a row says so by its n; only whole ones are compared with the judge."""
    pairs = ((1, 1), (2, 2), (4, 3), (5, 4), (3, 4))
    known = [{"length": -float(at), "token_precision": float(label)} for at, (_, label) in enumerate(pairs)]
    whole = [
        LabelledGrade(str(at), grade, label, scorers=known[at] | ({"rival": label} if at else {}))
        for at, (grade, label) in enumerate(pairs)
    ]
    found = measure(whole, BY)

    numbers = {scorer.name: scorer.n for scorer in found.scorers}
    assert list(numbers.items()) == [("length", 5), ("token_precision", 5), ("rival", 4)]
    assert found.best_trivial == "token_precision"
    assert found.advantage is not None
    assert (found.advantage.value or 0) < 0


def test_people_are_compared_with_each_other() -> None:
    """Each vote with the mean of the others; of single votes there is nothing to say."""
    votes = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0), (4.0, 3.0)]
    marked = [
        LabelledGrade(group=str(at), grade=1, people=sum(pair) / 2, votes=pair)
        for at, pair in enumerate(votes)
    ]
    found = human_agreement(marked, BY)

    assert found is not None
    assert found.n == 10
    assert human_agreement(rows((1, 1)), BY) is None


def test_no_correlation_at_all_is_more_than_a_negative_one() -> None:
    """The better of two trivial scorers has a rho of exactly 0; one without any rho is never the best."""
    ranks = [1.0, 2.0, 3.0, 4.0]
    known = {"length": [4.0, 3.0, 1.0, 2.0], "token_recall": [2.0, 4.0, 1.0, 3.0], "rouge_l": [1.0] * 4}
    marked = [
        LabelledGrade(str(at), rank, rank, scorers={name: values[at] for name, values in known.items()})
        for at, rank in enumerate(ranks)
    ]
    found = measure(marked, BY)

    assert {scorer.name: scorer.spearman.value for scorer in found.scorers}["token_recall"] == 0
    assert found.best_trivial == "token_recall"
    assert found.advantage is not None
    assert found.advantage.value == pytest.approx(1)


def test_the_best_cut_balances_both_kinds() -> None:
    """At 3 all good ones are there and three of four others are below; at 4 it is 3/4 and 4/4.

    There is none among rows of one kind, or where grades say nothing.
    """
    good = [False, False, False, True, False, True, True, True]
    found = best_threshold([1, 2, 2, 3, 3, 4, 4, 5], good)

    assert found is not None
    assert (found.grade, found.balanced_accuracy, found.recall, found.precision) == (4, 0.875, 0.75, 1)
    assert best_threshold([1, 2], [True, True]) is None
    assert best_threshold([3, 3], [True, False]) is None
