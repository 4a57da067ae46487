"""Several votes of one judge: the median counts, and disagreement is told."""

import pytest

from simulator.core.types import Score
from simulator.grading.model_judge import median_score


def vote(grade: int | None, correctness: int = 4) -> Score:
    """One vote of the turn judge; None is one that could not be read."""
    known = {"judge": "turn", "conversation": "angry/a#1", "turn": 1}
    if grade is None:
        return Score(**known, state="failed", reason="no JSON")
    detail = {"correctness": correctness, "overall": grade, "conclusion": f"note {grade}"}
    return Score(
        **known,
        state="scored",
        value=grade / 5,
        raw=grade,
        reason=f"note {grade}",
        detail=detail,
    )


@pytest.mark.parametrize(("grades", "median"), [((5, 2, 4), 4), ((3, 3, 3), 3), ((1, 5), 3), ((4,), 4)])
def test_the_median_counts(grades: tuple[int, ...], median: float) -> None:
    """Of an even number the two in the middle are averaged."""
    score = median_score([vote(grade) for grade in grades])

    assert (score.raw, score.value) == (median, median / 5)
    assert score.detail["votes"] == list(grades)
    assert score.detail["spread"] == max(grades) - min(grades)


def test_the_reason_is_that_of_the_vote_nearest_to_the_median() -> None:
    """A reason belongs to the grade beside it."""
    assert median_score([vote(5), vote(2), vote(4)]).reason == "note 4"


@pytest.mark.parametrize(("grades", "disagree"), [((4, 5, 4), False), ((3, 5, 4), True), ((1, 5, 5), True)])
def test_votes_two_grades_apart_disagree(grades: tuple[int, ...], disagree: bool) -> None:
    """One grade apart is the noise of judging."""
    assert median_score([vote(grade) for grade in grades]).detail["disagreement"] is disagree


def test_no_category_hangs_on_one_vote() -> None:
    """Correctness is the median of the votes', although another vote lends its words."""
    score = median_score([vote(4, correctness=1), vote(4, correctness=4), vote(5, correctness=4)])

    assert score.detail["correctness"] == 4


def test_an_unreadable_vote_is_left_out_and_counted() -> None:
    """The grade stands on the rest; when none is left the grade failed."""
    score = median_score([vote(None), vote(2), vote(2)])

    assert (score.raw, score.detail["failed_votes"]) == (2, 1)
    assert median_score([vote(None), vote(None)]).state == "failed"


@pytest.mark.parametrize(
    ("skipped", "read", "state"), [(2, 1, "skipped"), (1, 2, "scored"), (1, 1, "scored"), (1, 0, "skipped")]
)
def test_most_votes_have_to_find_nothing_to_grade_by(skipped: int, read: int, state: str) -> None:
    """One vote alone that sees a contradiction does not skip the turn, and it counts as read."""
    conflict = vote(None).model_copy(update={"state": "skipped", "detail": {"conflicts": [{}]}})
    score = median_score([conflict] * skipped + [vote(2)] * read)

    assert score.state == state
    assert score.detail.get("failed_votes", 0) == 0
