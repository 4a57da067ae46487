"""The gate: reached, missed, or too little to tell."""

from typing import Any

import pytest

from simulator.core.types import RedRules
from simulator.stats.figures import Summary
from simulator.stats.gate import decide
from simulator.stats.summary import summarise
from tests.sample_runs import JUDGES, rehearsed


def summary(**changes: Any) -> Summary:
    """The rehearsed run without failures of the simulator or a judge, and with these figures."""
    figures = summarise(rehearsed(), rules=RedRules(), judges=JUDGES, seed=42)
    judges = {name: judge.model_copy(update={"failed": 0}) for name, judge in figures.judges.items()}
    calm = {"simulator": figures.simulator.model_copy(update={"failed": 0}), "judges": judges}
    return figures.model_copy(update=calm | changes)


def test_without_a_target_there_is_no_verdict() -> None:
    """Target and passed are null."""
    gate = decide(summary(), None, 0.05, 0.0)

    assert (gate.target, gate.passed, gate.reasons, gate.incomplete) == (None, None, (), False)


def test_below_the_target_is_not_passed_and_says_why() -> None:
    """The reason names score, target and red turns."""
    gate = decide(summary(score=0.71), 0.9, 0.05, 1.0)

    assert gate.passed is False
    assert gate.incomplete is False
    assert gate.reasons == ("The score 71 is below the target 90: 8 of 13 turns are red.",)


def test_at_the_target_is_passed() -> None:
    """Reaching it is enough, also when floating point falls short by nothing."""
    assert decide(summary(score=0.9, interval=(0.9, 0.95)), 0.9, 0.05, 1.0).passed is True
    assert decide(summary(score=0.1 + 0.7 + 0.1 - 1e-16, interval=None), 0.9, 0.05, 1.0).passed is True


def test_a_passed_gate_says_when_the_interval_does_not_support_it() -> None:
    """The verdict stands; the doubt is in the reasons."""
    gate = decide(summary(score=0.92, interval=(0.84, 0.97)), 0.9, 0.05, 1.0)

    assert gate.passed is True
    assert gate.reasons == (
        "92 reaches the target 90, but the 95 % interval begins at 84: more questions would settle it.",
    )


def test_a_near_miss_never_reads_as_equal() -> None:
    """As many decimals as it takes."""
    (reason,) = decide(summary(score=0.8996), 0.9, 0.05, 1.0).reasons

    assert reason.startswith("The score 89.96 is below the target 90")


@pytest.mark.parametrize(("failed", "incomplete"), [(5, False), (6, True)])
def test_failed_grades_above_the_limit_make_it_incomplete(failed: int, incomplete: bool) -> None:
    """Five of a hundred are tolerated at 0.05, six are not."""
    some = summary().judges["turn"]
    judges = {
        "turn": some.model_copy(update={"n": 50, "failed": 0, "planned": 50}),
        "relevance": some.model_copy(update={"n": 50 - failed, "failed": failed, "planned": 50}),
    }
    gate = decide(summary(score=0.95, interval=None, judges=judges), 0.9, 0.05, 1.0)

    assert gate.incomplete is incomplete
    assert gate.passed is not incomplete
    if incomplete:
        assert gate.reasons == ("Failed grades: 6 of 100 (6.0 %); 5 % are tolerated.",)


def test_failures_of_the_deciding_judge_do_not_hide_among_others() -> None:
    """A judge that fails on a tenth of the turns cannot decide, however well the others did."""
    some = summary().judges["turn"]
    good = some.model_copy(update={"n": 100, "failed": 0, "planned": 100})
    bad = some.model_copy(update={"n": 90, "failed": 10, "planned": 100})

    gate = decide(summary(judges={"turn": bad, **{f"j{i}": good for i in range(9)}}), None, 0.05, 1.0)

    assert gate.incomplete
    assert gate.reasons == ("Failed grades: 10 of 100 (10.0 %); 5 % are tolerated.",)


def test_failures_of_the_simulated_customer_make_it_incomplete() -> None:
    """They are counted over the messages that were to be written."""
    gate = decide(summarise(rehearsed(), rules=RedRules(), judges=JUDGES, seed=42), None, 0.05, 1.0)

    assert gate.incomplete
    assert gate.passed is None
    assert gate.reasons[-1] == (
        "Failed messages of the simulated customer: 1 of 14 (7.1 %); 5 % are tolerated."
    )


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("interrupted", "The run stopped after 6 of 9 conversations."),
        ("stopped", "The run stopped after 6 of 9 conversations."),
        ("running", "The run is not finished: 6 of 9 conversations."),
        ("finished", "The run stopped after 6 of 9 conversations."),
    ],
)
def test_an_unfinished_run_never_passes(status: str, reason: str) -> None:
    """However high its score so far."""
    gate = decide(summary(score=1.0, interval=None, status=status, planned=9), 0.5, 0.05, 1.0)

    assert (gate.passed, gate.incomplete, gate.reasons) == (False, True, (reason,))


def test_nothing_graded_never_passes() -> None:
    """No score is not a score of 0, and not a pass."""
    gate = decide(summary(score=None, interval=None), 0.1, 1.0, 1.0)

    assert (gate.passed, gate.incomplete) == (False, True)
    assert gate.reasons == ("Nothing was graded, so there is no score.",)
