"""What readers are told before they rely on the figures."""

import pytest

from simulator.core.document import points
from simulator.core.titles import title
from simulator.core.types import RedRules
from simulator.report.context import ReportContext, notes
from tests.sample_runs import changed, decide, rehearsed, summed
from tests.texts import said


@pytest.mark.parametrize(
    ("value", "against", "shown"),
    [
        (None, None, "–"),
        (0.7, None, "70"),
        (0.725, None, "73"),
        (1.0, 0.9, "100"),
        (0.8996, 0.9, "89.96"),
        (0.896, 0.9, "89.6"),
        (0.9, 0.9, "90"),
        (0.71, 0.9, "71"),
        (0.696, 0.7, "69.6"),
        (0.9042, 0.904, "90.4"),
    ],
)
def test_points_round_half_up_and_never_look_like_a_target_that_was_missed(
    value: float | None, against: float | None, shown: str
) -> None:
    """89.96 of 90 is not shown as 90."""
    assert points(value, against=against) == shown


def test_notes_name_everything_that_is_missing_alarms_first() -> None:
    """Timeouts, failed and skipped grades, lost conversations and rewritten messages."""
    summary = summed(rehearsed("en"))
    found = notes(summary, decide(summary, 0.9), title)

    assert [said(note.text) for note in found] == [
        "Score ≥ 90 takes at least 5 questions that say anything about it; this run has 4.",
        "3 of 4 questions have a serious error (75.0 %); the target allows 20 % (--max-major).",
        "Failed messages of the simulated customer: 1 of 14 (7.1 %); 5 % are tolerated.",
        "Fluency, failed grades: 1 of 13 (malformed 1); they are not part of the mean."
        " Why: malformed: there is no JSON object in the reply",
        "Messages that the bot did not answer: 1 of 13 (timeout 1); these get the lowest grade by rule.",
        "Conversations cut short because the simulated customer failed: 1.",
        "Customers who left satisfied with a wrong or invented answer: 1 of 2.",
        "Similarity (6/13), Cosine (6/13): answers without a reference answer or passages were skipped.",
        "Messages of the simulated customer that were rewritten before the bot saw them:"
        " 1 of 13 (repetition 1, other language 1).",
    ]
    assert [note.tone == "alarm" for note in found] == [True] * 7 + [False] * 2


@pytest.mark.parametrize(("limit", "is_told"), [(None, True), (3, True), (4, False)])
def test_details_without_support_are_counted_unless_they_make_an_answer_red(
    limit: float | None, is_told: bool
) -> None:
    """A team that marks a groundedness of 4 red finds these answers among the red ones."""
    results = rehearsed("en")
    summary = changed(summed(results), rules=RedRules(groundedness=limit))
    context = ReportContext(results, summary, decide(summary, None), "en", None)

    assert any("groundedness 4" in said(note.text) for note in context.notes) is is_told


def test_mixed_rubrics_are_said() -> None:
    """A mean over grades of two rubrics is to be taken with care."""
    results = rehearsed("en")
    scores = (results.scores[0].model_copy(update={"rubric": "another"}), *results.scores[1:])
    summary = summed(results.model_copy(update={"scores": scores}))
    texts = [said(note.text) for note in notes(summary, decide(summary, None), title)]

    assert "Overall: grades of 2 different rubrics are mixed; take the mean with care." in texts
