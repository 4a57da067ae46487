"""What readers are told before they rely on the figures."""

from typing import Any

import pytest

from simulator.core.document import Line, points
from simulator.core.errors import Failure
from simulator.core.messages import _
from simulator.core.types import ConversationTuple, RedRules, Results
from simulator.report.context import ReportContext
from simulator.report.notes import notes
from simulator.results.figures import Summary
from simulator.results.gate import Gate
from tests.diff_runs import a_result, grades_of
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


def noted(summary: Summary, gate: Gate | None = None, results: Results | None = None) -> list[Line]:
    """The notes of a run with these figures."""
    results = results or rehearsed("en")
    return list(notes(ReportContext(results, summary, gate or decide(summary, None), "en", None)))


def test_notes_name_everything_that_is_missing_alarms_first() -> None:
    """Timeouts, failed and skipped grades, lost conversations and rewritten messages."""
    summary = summed(rehearsed("en"))
    found = noted(summary, decide(summary, 0.9))

    assert [said(note.text) for note in found] == [
        "Fluency, failed grades: 1 of 13 (wrong format 1); they are not part of the mean."
        " Why: malformed: there is no JSON object in the reply",
        "Messages that the bot did not answer: 1 of 13 (timeout 1); these get the lowest grade by rule."
        " Why: timeout: no answer within 60 s",
        "Conversations cut short because the simulated customer failed: 1.",
        "No question has a reference answer: whether answers are right was not checked.",
        "Similarity (6/13), Cosine (6/13): answers without a reference answer or passages were skipped.",
        "Messages of the simulated customer that were rewritten before the bot saw them:"
        " 1 of 13 (repetition 1, other language 1).",
        "Answers with details that no passage supports, though not marked for it (groundedness 4): 3.",
    ]
    assert [note.tone == "alarm" for note in found] == [True] * 4 + [False] * 3


@pytest.mark.parametrize(("limit", "is_told"), [(None, True), (3, True), (4, False)])
def test_details_without_support_are_counted_unless_they_make_an_answer_red(
    limit: float | None, is_told: bool
) -> None:
    """A team that marks a groundedness of 4 red finds these answers among the red ones."""
    summary = changed(summed(rehearsed("en")), rules=RedRules(groundedness=limit))

    assert any("groundedness 4" in said(note.text) for note in noted(summary)) is is_told


@pytest.mark.parametrize(
    ("graded", "failures", "told"),
    [
        (9, {"turn": 10}, "10 of 19 grades failed: no turn"),
        (10, {"turn": 10}, "10 of 20 grades failed: no turn"),
        (200, {"turn": 10}, ""),
        (0, {"turn": 6, "fluency": 5}, "11 of 11 grades failed: no turn"),
        (0, {"turn": 5, "fluency": 5}, ""),
    ],
)
def test_what_most_grades_failed_for_is_said_first(graded: int, failures: dict[str, int], told: str) -> None:
    """Where more failed than did not, for one reason mostly, or where too many are missing."""
    some = summed(rehearsed("en"))
    judges = {
        name: judge.model_copy(
            update={
                "n": graded if name == "turn" else 0,
                "failed": failures.get(name, 0),
                "failure_reason": f"no {name}" if name in failures else "",
            }
        )
        for name, judge in some.scores.judges.items()
    }
    first, *_others = noted(changed(some, judges=judges))

    assert ("grades failed: " in said(first.text)) is bool(told)
    assert told in said(first.text)


def test_a_run_that_has_not_begun_is_no_log_without_answers() -> None:
    """It has neither questions nor answers yet."""
    none = rehearsed("en").model_copy(update={"conversations": (), "scores": ()})

    assert not any("The log has no answer" in said(note.text) for note in noted(summed(none), results=none))


def test_a_score_that_may_fall_short_is_told() -> None:
    """The verdict stands; with a confidence the bound itself decides."""
    results = a_result(grades_of([0.9] * 8))
    summary = changed(summed(results, ("turn",)), interval=(0.84, 0.97))
    doubt = "90 reaches the target 90, but the 95 % interval begins at 84: more questions would settle it."
    gate = decide(summary, 0.9)

    assert gate.passed
    assert [said(note.text) for note in noted(summary, gate, results)] == [doubt]
    sure = gate._replace(confidence=0.95)
    assert not noted(summary, sure, results)
    assert not noted(summary, decide(summary, 0.84), results)


def test_mixed_rubrics_are_said() -> None:
    """A mean over grades of two rubrics is to be taken with care."""
    results = rehearsed("en")
    scores = (results.scores[0].model_copy(update={"rubric": "another"}), *results.scores[1:])
    mixed = results.model_copy(update={"scores": scores})
    texts = [said(note.text) for note in noted(summed(mixed), results=mixed)]

    assert "Overall: grades of 2 different rubrics are mixed; take the mean with care." in texts


def test_answers_whose_reference_contradicts_the_passages_are_counted_above() -> None:
    """They have no grade, and only the team can say which of the two is right: an alarm, in every summary."""
    results = rehearsed("en")
    conflict = {"conflicts": [{"reference": "1,100 yen", "passages": "2,200 yen"}]}
    undecided = {"state": "skipped", "value": None, "raw": None, "detail": conflict}
    first, *others = results.scores
    skipped = results.model_copy(update={"scores": (first.model_copy(update=undecided), *others)})
    text = (
        "Answers left undecided because reference answer and passages contradict each other: 1."
        " Correct one of the two."
    )

    [note] = [note for note in noted(summed(skipped), results=skipped) if said(note.text) == text]
    assert note.tone == "alarm"


def test_a_bot_that_never_answers_and_lost_passages_say_why() -> None:
    """The reason stands beside the count, so that nobody has to look for it in a log."""
    some = rehearsed("en")

    def run_of(**told: Any) -> Results:
        """The run with all of its answers changed in this way."""
        talks = [
            talk.model_copy(
                update={
                    "turns": tuple(
                        turn.model_copy(update={"answer": turn.answer.model_copy(update=told)})
                        for turn in talk.turns
                    )
                }
            )
            for talk in some.conversations
        ]
        return some.model_copy(update={"conversations": ConversationTuple(talks)})

    missing = _("no {wanted} in {place}, which {kind}", wanted="'docs'", place="data", kind="is empty")
    silent = run_of(text="", error=Failure(kind="malformed", message=missing))
    lost = run_of(shows_passages=False, missing_passages=missing)
    of_silent, of_lost = noted(summed(silent), results=silent), noted(summed(lost), results=lost)

    assert (
        "The bot never answered (wrong format 13). The score is the lowest there is, by rule, and says"
        in (texts := "\n".join(said(note.text) for note in of_silent))
    )
    assert "Why: wrong format: no 'docs' in data, which is empty" in texts
    assert (
        "Answers not graded for groundedness, because their passages are not where the settings say:"
        " 13 of 13. Why: no 'docs' in data, which is empty"
        in [said(n.text) for n in of_lost if n.tone == "alarm"]
    )
