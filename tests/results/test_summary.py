"""What a run comes to, worked out by hand beside what the program says."""

import json
from typing import Any

import pytest

from simulator.core.settings import Settings
from simulator.core.types import CONVERSATION, Answer, Ended, Failure, Results, Score, Spending
from simulator.results.figures import failure_reason
from simulator.results.intervals import interval_of_mean
from simulator.results.red import RANK, worst_severity
from simulator.results.scores import by_rule
from simulator.results.summary import as_json, figures_of
from tests.diff_runs import a_result
from tests.golden_files import compare
from tests.run_helpers import a_turn
from tests.sample_runs import JUDGES, decide, rehearsed
from tests.sample_runs import summed as summary
from tests.texts import said


def without(results: Results, **scores: Any) -> Results:
    """The run without the scores that have these values."""
    kept = [s for s in results.scores if any(getattr(s, key) != value for key, value in scores.items())]
    return results.model_copy(update={"scores": tuple(kept)})


def test_score_is_the_mean_over_conversations_of_the_mean_over_turns() -> None:
    """Six conversations: 0.9, 0.533, 0.8, 0.667, 0.9 and 0.4."""
    figures = summary()

    assert list(figures.scores.by_conversation.values()) == pytest.approx(
        [0.9, 1.6 / 3, 0.8, 2 / 3, 0.9, 0.4]
    )
    assert figures.scores.score == pytest.approx((0.9 + 1.6 / 3 + 0.8 + 2 / 3 + 0.9 + 0.4) / 6)
    assert figures.scores.graded == 6
    assert figures.scores.interval is None  # of two questions


def test_the_interval_is_by_question() -> None:
    """Six conversations on two questions have none; on six, it is of grades that cannot be below 0.2."""
    results = rehearsed("ja")
    apart = tuple(
        conversation.model_copy(update={"case": conversation.case.model_copy(update={"id": conversation.id})})
        for conversation in results.conversations
    )
    found = summary(results.model_copy(update={"conversations": apart}))

    assert found.scores.interval == interval_of_mean(
        list(found.scores.by_conversation.values()),
        list(found.scores.by_conversation),
        seed=42,
        ends=(0.2, 1.0),
    )


def test_a_failure_of_the_bot_is_graded_and_shown_beside_the_mean() -> None:
    """The score over answered turns leaves the timeout out; the mean does not."""
    figures = summary()
    turn = figures.scores.judges["turn"]

    assert figures.bot_failures == {"timeout": 1}
    assert turn.raw_mean == pytest.approx(46 / 13)
    assert turn.mean == pytest.approx(46 / 13 / 5)
    assert figures.turns == 13
    # Every mean travels with its coverage: planned = n + skipped + failed = spoken turns.
    for judge in figures.scores.judges.values():
        assert judge.n + judge.skipped + judge.failed == judge.planned == figures.turns == 13
    assert figures.scores.judges["fluency"].failures == {"malformed": 1}
    assert (figures.scores.judges["similarity"].n, figures.scores.judges["similarity"].skipped) == (6, 7)


def test_a_grade_that_was_never_written_is_missed_and_no_failed_one() -> None:
    """A crash between answer and grade cannot raise the mean."""
    figures = summary(without(rehearsed(), judge="relevance", turn=3))

    relevance = figures.scores.judges["relevance"]
    assert (relevance.unreached, relevance.failed, relevance.failures) == (2, 0, {})
    assert (relevance.planned, relevance.due) == (13, 13)
    # Conversations without a grade are counted, and the score is the mean of the others.
    figures = summary(without(rehearsed(), judge="turn", conversation="beginner/work-01-ja#0"))

    assert figures.scores.missing == 1
    assert figures.scores.graded == 5
    assert figures.scores.score == pytest.approx((0.9 + 1.6 / 3 + 0.8 + 2 / 3 + 0.9) / 5)


def test_nothing_graded_has_no_score() -> None:
    """None everywhere, and no division by zero; the bot's own failure is red before it is graded."""
    empty = rehearsed().model_copy(update={"scores": ()})
    figures = summary(empty)

    assert (figures.scores.score, figures.scores.interval, figures.scores.total.value) == (None, None, None)
    assert (figures.scores.total.of, figures.scores.missing, figures.turns) == (0, 6, 13)
    assert [(r.case, r.turn, r.failure) for r in figures.red.answers] == [("billing-02-ja", 2, "timeout")]
    assert summary(empty.model_copy(update={"conversations": ()})).turns == 0


def test_total_adds_the_raw_means_of_what_was_graded() -> None:
    """Five metrics make 25; without a reference similarity and cosine are not among them."""
    full, bare = summary(), summary(judges=("turn", "relevance", "fluency"))

    raws = [full.scores.judges[name].raw_mean or 0 for name in JUDGES[1:]]
    assert full.scores.total.value == pytest.approx(sum(raws))
    assert full.scores.total.of == 25
    assert bare.scores.total.of == 10


def test_red_turns_are_counted_by_rule_and_sorted_worst_first() -> None:
    """Eight red turns, three of them by a second mark only."""
    figures = summary()

    assert figures.red.count == len(figures.red.answers) == 8
    assert figures.red.kinds == {"no_answer": 1, "overall": 4, "groundedness": 5, "correctness": 2}
    assert [(r.case, r.turn) for r in figures.red.answers[:2]] == [("cancel-03-ja", 1), ("cancel-03-ja", 2)]
    ranks = [RANK[worst_severity(red.marks)] for red in figures.red.answers]
    assert ranks == sorted(ranks)


def test_personas_have_their_own_rows() -> None:
    """Score, red turns and every judge with its coverage, and the name in both languages.

    What the simulator did wrong is counted apart: rewritten messages by rule, conversations that were lost.
    """
    (angry, *_), simulator = summary().scores.personas, summary().customers

    assert (angry.persona, angry.conversations, angry.graded, angry.turns, angry.red) == ("angry", 2, 2, 5, 3)
    assert angry.names == {"ja": "怒っているお客様", "en": "Angry customer"}
    assert angry.score == pytest.approx((0.9 + 1.6 / 3) / 2)
    assert (angry.judges["similarity"].n, angry.judges["similarity"].planned) == (2, 5)
    assert (simulator.guarded, simulator.failed, simulator.rules) == (1, 1, {"repeat": 1, "language": 1})


def test_the_questions_with_most_red_turns_come_first() -> None:
    """Of as many the one with the lowest score; what nobody could grade comes last of its kind."""
    grades = {
        "ungraded": [0.8], "fine": [1.0, 1.0], "poor": [0.8, 0.8], "once": [0.8, 0.4], "twice": [0.4, 0.6],
        "low": [0.2, 0.8],
    }  # fmt: skip
    results = a_result({(case, "calm", 1): values for case, values in grades.items()})
    scores = tuple(score for score in results.scores if "ungraded" not in score.conversation)
    found = summary(results.model_copy(update={"scores": scores}), ("turn",))

    assert [(each.case, each.red) for each in found.scores.cases] == [
        ("twice", 2), ("low", 1), ("once", 1), ("poor", 0), ("fine", 0), ("ungraded", 0),
    ]  # fmt: skip
    assert all(each.question for each in found.scores.cases), "in a run that is not large"


@pytest.mark.parametrize(("text", "error", "reason"), [
    ("はい", None, ""), (" ", None, "empty"), ("", Failure(kind="timeout", message="late"), "timeout: late"),
    ("", Failure(kind="unrecorded", message="not in the log"), ""),
])  # fmt: skip
def test_why_a_bot_gave_no_answer_is_said(text: str, error: Failure | None, reason: str) -> None:
    """Not of one that did, nor of a line after which a log ends."""
    turn = a_turn(1).model_copy(update={"answer": Answer(text=text, error=error)})

    assert said(failure_reason(turn), "en") == reason


def test_conversations_that_never_began_are_planned_only() -> None:
    """Planned, not finished, in no mean and no persona row."""
    results = rehearsed()
    idle = [c.model_copy(update={"turns": (), "ended": None}) for c in results.conversations[2:]]
    figures = summary(results.model_copy(update={"conversations": (*results.conversations[:2], *idle)}))

    assert (figures.planned, figures.finished, figures.turns) == (6, 2, 5)
    assert [p.persona for p in figures.scores.personas] == ["angry"]
    assert figures.scores.judges["turn"].planned == 5
    # Budget and interruption end a sitting, not a conversation.
    cut = results.conversations[0].model_copy(update={"ended": Ended.BUDGET})
    figures = summary(results.model_copy(update={"conversations": (cut, *results.conversations[1:])}))

    assert figures.finished == 5
    assert figures.ended["budget"] == 1


def test_a_later_grade_of_the_same_judge_replaces_the_earlier() -> None:
    """And grades of two rubrics are noticed."""
    results = rehearsed()
    key = "angry/fees-01-ja#0"
    again = Score(judge="turn", conversation=key, turn=1, state="scored", value=0.2, raw=1, rubric="new")
    figures = summary(results.model_copy(update={"scores": (*results.scores, again)}))

    assert figures.scores.by_conversation[key] == pytest.approx(0.5)
    assert len(figures.scores.judges["turn"].rubrics) == 2
    # Unknown prices make the cost unknown: they are never counted as nothing.
    results = rehearsed().model_copy(update={"spending": {"user": Spending(cost_usd=None)}})

    assert summary(results).money.cost_usd is None
    assert summary().money.cost_usd == pytest.approx(0.1247)


@pytest.mark.parametrize(("reason", "detail", "kind"), [
    ("timeout: 60 s", {}, "timeout"), ("timeout : 60 s", {}, "timeout"), ("it broke: badly", {}, "error"),
    ("", {}, "error"), ("x", {"kind": "malformed"}, "malformed"), ("timeout: x", {"kind": 5}, "error"),
])  # fmt: skip
def test_a_failed_grade_counts_by_its_kind(reason: str, detail: dict[str, Any], kind: str) -> None:
    """By the score's own, else by what stands before the colon; what nobody knows is an error."""
    results = rehearsed("en")
    broken = {"state": "failed", "value": None, "raw": None, "reason": reason, "detail": detail}
    first, *others = results.scores
    figures = summary(results.model_copy(update={"scores": (first.model_copy(update=broken), *others)}))
    judge = figures.scores.judges[first.judge]

    assert (judge.failed, judge.failures, judge.failure_reason) == (1, {kind: 1}, reason)


@pytest.mark.parametrize(("name", "is_rule"), [
    ("exact_match", True), ("answer.exact_match", True), ("contains@2", True), ("passed", True),
    ("turn", False), ("answer.turn", False), ("exact_match.turn", False),
])  # fmt: skip
def test_who_compares_by_rule_is_told_by_the_name(name: str, is_rule: bool) -> None:
    """Also of one output of a row, and of a further model."""
    assert by_rule(name) is is_rule


def test_json_has_exactly_the_agreed_keys() -> None:
    """The object of --json, rounded to 4 decimals."""
    figures = summary()
    shown = decide(figures, 0.9, 1.0).as_json() | as_json(figures)

    compare("report_summary.json", json.dumps(shown, ensure_ascii=False, indent=1) + "\n")


def test_rows_have_no_figures_of_whole_conversations() -> None:
    """A run of conversations keeps the judge of the whole, also where it has graded none of them yet."""
    results = rehearsed("en")
    settings = Settings(judges=("turn", CONVERSATION))
    rows = results.run.model_copy(update={"settings": {**results.run.settings, "protocol": "single_turn"}})

    assert CONVERSATION in figures_of(results, settings).scores.judges
    assert CONVERSATION not in figures_of(results.model_copy(update={"run": rows}), settings).scores.judges
