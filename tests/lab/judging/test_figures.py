"""The figures of a judge beside people."""

import numpy as np
import pytest

from simulator.lab.judging.agreement import auroc
from simulator.lab.judging.figures import (
    LabelledGrade,
    Yardstick,
    drawn_auroc,
    drawn_mean,
    human_agreement,
    measure,
    nearest_levels,
)
from simulator.results.draws import Draws, interval

BY = Yardstick(scale=(1, 5), levels=(1, 2, 3, 4), good_from=3.5, seed=1)


def rows(*grades_and_labels: tuple[float, float]) -> list[LabelledGrade]:
    """Rows of a group each."""
    return [LabelledGrade(str(at), grade, label) for at, (grade, label) in enumerate(grades_and_labels)]


def test_a_judge_that_agrees_agrees() -> None:
    """The same order and the same place on the scale: every figure is at its best, and the cut is known."""
    figures = measure(rows((1, 1), (2.333, 2), (3.667, 3), (5, 4), (5, 4)), BY)

    assert (figures.judge.auroc.value, figures.kappa.value) == (1, 1)
    assert figures.leniency.value == pytest.approx(0, abs=1e-3)
    assert (figures.passing, figures.good) == (5, 2)


def test_leniency_is_judge_less_people_on_a_common_scale() -> None:
    """A 4 of 1..5 where people said 1 of 1..4 is three quarters too mild."""
    figures = measure(rows((4, 1), (5, 2), (4, 1)), BY)

    assert figures.leniency.value == pytest.approx((0.75 + 2 / 3 + 0.75) / 3)
    assert (figures.leniency.low or 0) > 0.6


def test_labels_of_0_and_1_are_held_against_the_red_rule() -> None:
    """A grade of 3 that is red is a bad one; how mild a grade is cannot be told without degrees."""
    by = Yardstick(scale=(1, 5), levels=(0, 1), good_from=0.5, seed=1)
    told = [(5, 1, False), (4, 1, False), (3, 0, True), (1, 0, True), (3, 1, True), (4, 0, False)]
    figures = measure(
        [LabelledGrade(str(at), grade, label, red=red) for at, (grade, label, red) in enumerate(told)], by
    )
    shown = figures.as_json()

    assert figures.kappa.value == pytest.approx(1 / 3)
    assert shown["red"] == {"rows": 3, "bad": 2, "of": 3}
    assert shown["leniency"] == {"value": None, "low": None, "high": None}
    assert measure(rows((4, 1), (5, 2)), BY).red is None


def test_a_single_class_has_no_auroc_and_no_cut() -> None:
    """Where nothing is bad, nothing can be told apart."""
    figures = measure(rows((3, 4), (5, 4), (4, 3.6)), BY)

    assert figures.one_kind
    assert (figures.judge.auroc.value, figures.passing) == (None, None)


def test_one_grade_for_most_rows_is_poor_discrimination() -> None:
    """60 % of fours are too many, however good the rest."""
    often, seldom = (
        measure(rows(*((grade, 1) for grade in grades)), BY) for grades in ((4, 4, 4, 2, 5), (4, 4, 3, 2, 5))
    )

    assert (often.poor, often.commonest, often.share) == (True, 4, 0.6)
    assert not seldom.poor


def test_people_are_compared_with_each_other() -> None:
    """Each vote with the mean of the others; of single votes there is nothing to say."""
    votes = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0), (4.0, 3.0)]
    marked = [
        LabelledGrade(group=str(at), grade=1, people=sum(pair) / 2, votes=pair)
        for at, pair in enumerate(votes)
    ]
    people = human_agreement(marked, BY)

    assert people is not None
    assert people.n == 10
    assert human_agreement(rows((1, 1)), BY) is None


@pytest.mark.parametrize(
    ("levels", "expected"),
    [([1, 2, 3, 4], [1, 2, 3, 3, 4]), ([0, 1], [0, 0, 1, 1, 1]), ([0, 50, 100], [0, 50, 50, 100, 100])],
)
def test_grades_go_to_the_nearest_level(levels: list[float], expected: list[float]) -> None:
    """The grades 1 to 5 on another scale: linear, halves up."""
    assert nearest_levels([0, 0.25, 0.5, 0.75, 1], levels).tolist() == expected


@pytest.mark.parametrize("at", [0, 7, 49])
def test_a_draw_gives_what_its_rows_give(at: int) -> None:
    """AUROC and mean by weights are those of the rows written out."""
    random = np.random.default_rng(1)
    labels = random.integers(0, 4, 30)
    scores, good = np.round(labels + random.normal(0, 1.5, 30)), labels >= 2
    draws = Draws([f"c{number // 3}" for number in range(30)], seed=5, resamples=50)
    counts = draws.by_rows(np.arange(30), lambda weights: weights)[at].astype(int)
    drawn = [row for row in range(30) for _ in range(counts[row])]

    assert drawn_auroc(scores, good, draws)[at] == pytest.approx(
        auroc(scores[drawn].tolist(), good[drawn].tolist())
    )
    assert drawn_mean(scores, draws)[at] == pytest.approx(scores[drawn].mean())


def test_what_a_draw_does_not_have_is_left_out() -> None:
    """A draw of one class has no AUROC; when half of the draws have none, neither has the interval."""
    draws = Draws(["a", "b", "c", "d"], seed=1)
    rare = drawn_auroc([1, 2, 3, 4], [False, False, False, True], draws)

    assert np.isnan(rare).any()
    assert interval(rare) is not None
    assert interval(drawn_auroc([1, 2, 3, 4], [True] * 4, draws)) is None
