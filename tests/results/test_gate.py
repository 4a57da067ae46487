"""The gate: reached, missed, or too little to tell."""

from typing import Any

import pytest

from simulator.results.figures import Summary
from tests.diff_runs import a_result, grades_of
from tests.sample_runs import changed, decide, summed

# What is missing of these runs stands in the reasons beside it.
GRADED = [0.9] * 8


def summary(grades: list[float] | None = None, **changes: Any) -> Summary:
    """The rehearsed run without failures of the simulator or a judge, or one of such grades, so changed."""
    figures = summed(a_result(grades_of(grades)), ("turn",)) if grades else summed()
    whole = {"failed": 0, "cases": 6, "cases_due": 6}
    judges = {name: judge.model_copy(update=whole) for name, judge in figures.scores.judges.items()}
    return changed(figures, **({"failed": 0, "judges": judges} | changes))


@pytest.mark.parametrize(
    ("grades", "changes", "target", "passed", "reasons"),
    [
        (GRADED, {}, None, None, ()),
        ([0.7] * 8, {}, 0.9, False, ("Score ≥ 90 does not hold: the result is 70.",)),
        # Also when floating point falls short by nothing.
        ([0.1 + 0.7 + 0.1 - 1e-16] * 8, {"interval": None}, 0.9, True, ()),
        # The verdict stands; the doubt is in the reasons.
        (GRADED, {"interval": (0.84, 0.97)}, 0.9, True, (
            "90 reaches the target 90, but the 95 % interval begins at 84: more questions would settle it.",
        )),
        # A near miss never reads as equal: it has as many decimals as that takes.
        ([0.8996] * 8, {}, 0.9, False, ("Score ≥ 90 does not hold: the result is 89.96.",)),
    ],
)  # fmt: skip
def test_the_score_decides_and_the_reasons_say_why(
    grades: list[float], changes: dict[str, Any], target: float | None, passed: bool | None,
    reasons: tuple[str, ...],
) -> None:  # fmt: skip
    """Reached, missed, or without a target no verdict; none of these is incomplete."""
    gate = decide(summary(grades, **changes), target)

    assert (gate.target, gate.passed, gate.reasons, gate.incomplete) == (target, passed, reasons, False)


@pytest.mark.parametrize(("failed", "incomplete"), [(5, False), (6, True)])
def test_failed_grades_above_the_limit_make_it_incomplete(failed: int, incomplete: bool) -> None:
    """Five of a hundred are tolerated at 0.05, six are not."""
    figures = summary(GRADED)
    some = figures.scores.judges["turn"]
    judges = {
        "turn": some.model_copy(update={"n": 50, "failed": 0, "planned": 50}),
        "relevance": some.model_copy(update={"n": 50 - failed, "failed": failed, "planned": 50}),
    }
    gate = decide(changed(figures, judges=judges, interval=None), 0.9)

    assert gate.incomplete is incomplete
    assert gate.passed is not incomplete
    if incomplete:
        assert gate.reasons == ("Failed grades: 6 of 100 (6.0 %); 5 % are tolerated.",)


def test_skipped_grades_make_no_share_of_failed_ones_smaller() -> None:
    """Of 20 grades that were due 2 failed, however many turns the judge had nothing to say about."""
    figures = summary(GRADED)
    counts = {"n": 18, "failed": 2, "skipped": 980, "planned": 1000}
    judge = figures.scores.judges["turn"].model_copy(update=counts)

    gate = decide(changed(figures, judges={"turn": judge}), 0.9)

    assert (gate.passed, gate.incomplete) == (False, True)
    assert "Failed grades: 2 of 20 (10.0 %); 5 % are tolerated." in gate.reasons


def test_failures_of_the_deciding_judge_do_not_hide_among_others() -> None:
    """A judge that fails on a tenth of the turns cannot decide, however well the others did."""
    some = summary().scores.judges["turn"]
    good = some.model_copy(update={"n": 100, "failed": 0, "planned": 100})
    bad = some.model_copy(update={"n": 90, "failed": 10, "planned": 100})

    gate = decide(summary(judges={"turn": bad, **{f"j{i}": good for i in range(9)}}), None)

    assert gate.incomplete
    assert gate.reasons == ("Failed grades: 10 of 100 (10.0 %); 5 % are tolerated.",)


def test_failures_of_the_simulated_customer_make_it_incomplete() -> None:
    """They are counted over the messages that were to be written."""
    gate = decide(summed(), None)

    assert gate.incomplete
    assert gate.passed is None
    said = "Failed messages of the simulated customer: 1 of 14 (7.1 %); 5 % are tolerated."
    assert gate.reasons[-1] == said


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": "interrupted", "planned": 9}, "The run stopped after 8 of 9 conversations."),
        ({"status": "stopped", "planned": 9}, "The run stopped after 8 of 9 conversations."),
        ({"status": "running", "planned": 9}, "The run is not finished: 8 of 9 conversations."),
        ({"status": "finished", "planned": 9}, "The run stopped after 8 of 9 conversations."),
        ({"score": None}, "Nothing was graded, so there is no score."),
    ],
)
def test_what_is_unfinished_or_not_graded_never_passes(changes: dict[str, Any], reason: str) -> None:
    """However high the score so far; no score is not a score of 0."""
    gate = decide(summary(GRADED, interval=None, **changes), 0.5)

    assert (gate.passed, gate.incomplete, gate.reasons) == (False, True, (reason,))


@pytest.mark.parametrize(("of_a_log", "target", "incomplete"), [
    (13, None, False), (12, None, True), (0, None, True), (13, 0.5, True),
])  # fmt: skip
def test_a_log_without_grades_may_be_read(of_a_log: int, target: float | None, incomplete: bool) -> None:
    """Where every turn is of a log and nothing is asked for, no grade is missing."""
    gate = decide(summary(score=None, interval=None, unrecorded=of_a_log), target)

    assert gate.incomplete is incomplete
