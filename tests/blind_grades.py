"""Runs that people have graded without seeing a score, for tests."""

from collections.abc import Callable
from typing import Any

from simulator.core.types import HumanVerdict, Results, Score
from tests.sample_runs import large

CONVERSATIONS = 40
# What the judge gives each turn; only the last one is red.
JUDGE = {1: 5, 2: 4, 3: 2}


def verdict(conversation: str, turn: int, grade: float | None, **known: Any) -> HumanVerdict:
    """One blind grade, unless `known` says otherwise."""
    return HumanVerdict(**{"source": "blind", "reviewer": "A"} | known | {
        "conversation": conversation, "turn": turn, "grade": grade,
    })  # fmt: skip


def graded(
    grade: Callable[[int, int], float | None], conversations: int = CONVERSATIONS, **known: Any
) -> Results:
    """A large run in which people gave `grade(conversation, turn)`; None leaves a turn ungraded."""
    results = large(conversations)
    scores = tuple(_judged(score) for score in results.scores)
    verdicts = tuple(
        verdict(conversation.id, turn.index, given, **known)
        for number, conversation in enumerate(results.conversations)
        for turn in conversation.turns
        if (given := grade(number, turn.index)) is not None
    )
    return results.model_copy(update={"verdicts": verdicts, "scores": scores})


def _judged(score: Score) -> Score:
    """No second marks: whatever else is graded is good."""
    grade = JUDGE[score.turn] if score.judge == "turn" else 5
    return score.model_copy(update={"raw": grade, "value": grade / 5, "state": "scored", "detail": {}})
