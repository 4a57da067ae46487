"""A run of six conversations, worked out on paper: means, red answers and what a gate makes of them.

    question  customer  grades (of 5)   conversation             red
    a         angry     5, 5            1.0
    b         angry     5, 3            0.8                      turn 2, moderate: 0.6 is below 0.7
    c         angry     2               0.4                      turn 1, major: 0.4 at most
    d         calm      4               0.8
    e         calm      4, 4, 4         0.8
    f         calm      5, 1            0.6                      turn 2, major

The score is 4.4 / 6, the judge's own mean 42 / 55 over 11 turns. Beside it a judge of yes and no grades each
first answer: there the bounds are those of Clopper and Pearson, by scipy.
"""

from typing import Any

import pytest

from simulator.core.settings import Settings
from simulator.core.types import RedRules, Results, Score
from simulator.results.figures import Summary
from simulator.results.gate import Gate, gate_of
from simulator.results.summary import summarise
from tests.diff_runs import a_result

GRADES = {
    ("a", "angry", 1): [1.0, 1.0], ("b", "angry", 1): [1.0, 0.6], ("c", "angry", 1): [0.4],
    ("d", "calm", 1): [0.8], ("e", "calm", 1): [0.8, 0.8, 0.8], ("f", "calm", 1): [1.0, 0.2],
}  # fmt: skip


def paper(wrong: int = 0) -> tuple[Results, Summary]:
    """The run, with so many wrong first answers by the judge `em`."""
    results = a_result(GRADES)
    yes_or_no = [
        Score(
            judge="em", conversation=conversation.id, turn=turn.index, scale=(0, 1), reason="",
            **({"state": "skipped"} if turn.index > 1 else {"state": "scored", "value": right, "raw": right}),
        )
        for at, conversation in enumerate(results.conversations)
        for right in [float(at >= wrong)]
        for turn in conversation.turns
    ]  # fmt: skip
    results = results.model_copy(update={"scores": (*results.scores, *yes_or_no)})
    return results, summarise(results, rules=RedRules(), judges=("turn", "em"), seed=42)


def gate(target: float | str, wrong: int = 0, **settings: Any) -> Gate:
    """What a target makes of the run."""
    return gate_of(*paper(wrong), Settings(target=target, judges=("turn", "em"), **settings))


def test_scores_are_those_of_the_paper() -> None:
    """Over conversations, over turns, by customer and by question."""
    scores = paper()[1].scores
    turn = scores.judges["turn"]

    assert scores.score == pytest.approx(4.4 / 6)
    assert [round(mean, 9) for mean in scores.by_conversation.values()] == [1, 0.8, 0.4, 0.8, 0.8, 0.6]
    assert turn.mean == pytest.approx(42 / 55)
    assert (turn.n, turn.cases) == (11, 6)
    assert {row.persona: round(row.score or 0, 9) for row in scores.personas} == {
        "angry": round(2.2 / 3, 9), "calm": round(2.2 / 3, 9),
    }  # fmt: skip
    assert [(row.case, row.turns, row.red) for row in scores.cases] == [
        ("c", 1, 1), ("f", 2, 1), ("b", 2, 1), ("d", 1, 0), ("e", 3, 0), ("a", 2, 0),
    ]  # fmt: skip
    assert scores.interval
    assert scores.interval[0] < 4.4 / 6 < scores.interval[1]


def test_red_answers_are_those_of_the_paper() -> None:
    """The gravest first: of two major ones the lower."""
    red = paper()[1].red

    assert [(answer.case, answer.turn, answer.marks[0].severity) for answer in red.answers] == [
        ("f", 2, "major"), ("c", 1, "major"), ("b", 2, "moderate"),
    ]  # fmt: skip
    assert (red.count, red.kinds) == (3, {"overall": 3})


@pytest.mark.parametrize(
    ("target", "settings", "decision"),
    [
        (0.73, {"max_major": 0.34}, "passed"),
        (0.74, {"max_major": 0.34}, "missed"),
        # Two of six questions have a major turn: a third.
        (0.73, {"max_major": 0.33}, "missed"),
        (0.73, {}, "missed"),
        # Three of eleven turns are red, 0.27; on six questions nobody can be sure of much.
        ("red <= 0.28", {"max_major": 1}, "passed"),
        ("red <= 0.27", {"max_major": 1}, "missed"),
        ("red <= 0.28", {"max_major": 1, "confidence": 0.95}, "undecided"),
        # All six answers are right: 0.05 ** (1 / 6) is 0.607.
        ("em >= 0.6", {"max_major": 1, "confidence": 0.95}, "passed"),
        ("em >= 0.61", {"max_major": 1, "confidence": 0.95}, "undecided"),
        ("em >= 0.61", {"max_major": 1, "confidence": 0.94}, "passed"),
    ],
)
def test_the_gate_decides_as_on_paper(target: float | str, settings: dict[str, Any], decision: str) -> None:
    """By figures without a confidence, by one bound by question with one."""
    assert gate(target, **settings).decision == decision


@pytest.mark.parametrize(
    ("wrong", "low", "high"),
    [
        (0, 0.606962, 1.0),
        (1, 0.418197, 0.991488),
        (2, 0.271338, 0.93715),
        (3, 0.153161, 0.846839),
        (4, 0.06285, 0.728662),
        (5, 0.008512, 0.581803),
    ],
)
def test_bounds_of_yes_and_no_are_clopper_and_pearsons(wrong: int, low: float, high: float) -> None:
    """At 95 % to one side, as scipy 1.17.1 has them: `beta.ppf(0.05, right, wrong + 1)` and the like."""
    checked = gate("em >= 0.5", wrong, confidence=0.95, max_major=1).conditions[0]

    assert checked.figure.value == pytest.approx((6 - wrong) / 6)
    assert checked.bounds == pytest.approx((low, high), abs=1e-5)
