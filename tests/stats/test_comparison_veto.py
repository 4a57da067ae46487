"""Which judges can make a comparison a regression, and what must not break whatever they say."""

import pytest

from simulator.stats.comparison import compare_runs
from tests.diff_runs import a_result, a_side, grades_of, side_of


@pytest.mark.parametrize(
    ("before", "after", "verdict", "regression"),
    [
        ([0.8] * 12, [1.0] * 12, "better", False),
        ([0.6] * 6 + [0.8] * 6, [1.0] * 11 + [0.6], "better", False),
        ([0.8] * 12, [0.8] * 12, "no_difference", False),
        ([0.8] * 12, [0.6] + [0.8] * 11, "no_difference", True),
        ([0.8] * 12, [0.6] + [1.0] * 11, "better", True),
        ([0.6] + [0.8] * 11, [0.8, 0.6] + [0.8] * 10, "no_difference", False),
    ],
)
def test_another_judge_has_a_veto_only_where_more_turned_red(
    before: list[float], after: list[float], verdict: str, regression: bool
) -> None:
    """Relevance falls in every case, which makes no turn red: what the deciding judge says is what counts."""
    both = ("turn", "relevance")
    one = a_result(grades_of([1.0] * 12), judges=("relevance",)).scores
    other = a_result(grades_of([0.6] * 12), "after", judges=("relevance",)).scores
    sides = [
        side_of(run.model_copy(update={"scores": (*run.scores, *more)}))
        for run, more in ((a_result(grades_of(before)), one), (a_result(grades_of(after), "after"), other))
    ]
    found = compare_runs(*sides, seed=1)

    assert tuple(each.judge for each in found.judges) == both
    assert found.verdict == verdict
    assert found.fallen == ("relevance",)
    assert found.regression is regression


def test_what_must_not_break_stays_absolute() -> None:
    """One guarded case that turned red is a regression, however much better the rest became."""
    tags = {"case-0": ("must-not-break",)}
    found = compare_runs(
        a_side(grades_of([0.8] + [0.2] * 12), tags=tags),
        a_side(grades_of([0.6] + [1.0] * 12), "after", tags=tags),
        seed=1,
    )

    assert (found.verdict, found.regression) == ("better", True)
