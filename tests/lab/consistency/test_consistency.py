"""Consistency: what a judge said of the answers that several customers got to one question."""

import json
from typing import Any

import pytest

from simulator.core.types import Answer, Case, Conversation, Results, Turn
from simulator.lab.consistency import report
from simulator.lab.consistency.figures import NOTE, consistency, judged_of
from simulator.lab.consistency.grade import questions
from tests.sample_runs import rehearsed
from tests.texts import said


def conversation(answer: str, *, persona: str = "calm", case: str = "fees-01-ja") -> Conversation:
    """A conversation of one turn."""
    about = Case(id=case, question="いくらですか", language="ja")
    turn = Turn(index=1, user=about.question, answer=Answer(text=answer))
    return Conversation(id=f"{persona}/{case}#1", case=about, persona=persona, turns=(turn,))


def results_of(*conversations: Conversation, judged: Any = ()) -> Results:
    """A run of these conversations, with what a judge said of the answers to its questions."""
    notes = {NOTE: json.loads(json.dumps(judged))}
    return Results(run=rehearsed().run, planned=len(conversations), conversations=conversations, notes=notes)


CALM, SAME = conversation("月額は2,980円です。"), conversation("月額は２，９８０円です。", persona="beginner")
ANGRY = conversation("月額は3,980円です。", persona="angry")
CLASH = {
    "one": CALM.id,
    "other": ANGRY.id,
    "one_answer": "月額は2,980円です。",
    "other_answer": "月額は3,980円です。",
    "reason": "料金が違う",
}
JUDGED = {
    "by": "gpt",
    "case": "fees-01-ja",
    "conversations": sorted([CALM.id, SAME.id, ANGRY.id]),
    "clashes": [CLASH, CLASH | {"one": SAME.id}],
}
OTHERS = [
    conversation("はい、できます。", case=f"other{at}", persona=persona)
    for at in range(4)
    for persona in ("calm", "angry")
]


def test_the_share_counts_pairs_and_the_interval_is_by_question() -> None:
    """A question with one answer agrees; the interval takes five questions."""
    result = consistency(results_of(CALM, SAME, ANGRY, *OTHERS, judged=[JUDGED]))

    assert [(case.case, case.pairs, round(case.share, 2)) for case in result.cases] == [
        ("fees-01-ja", 3, 0.33),
        *((f"other{at}", 1, 1.0) for at in range(4)),
    ]
    assert result.share == pytest.approx(13 / 15)
    assert result.low is not None
    assert 0.3 < result.low < 13 / 15
    assert consistency(results_of(CALM, ANGRY, *OTHERS[:2], judged=[JUDGED])).low is None


def test_answers_that_no_judge_compared_count_neither_way() -> None:
    """They differ in words, which proves nothing; each such question is put before the judge, once."""
    assert consistency(results_of(CALM, ANGRY)).share is None
    (question,) = questions(results_of(CALM, SAME, ANGRY, *OTHERS))

    assert [turn.answer.text for turn in (*question.context.earlier, question.context.turn)] == [
        CALM.turns[0].answer.text,
        ANGRY.turns[0].answer.text,
    ]
    results = results_of(CALM, SAME, ANGRY, judged=[JUDGED])
    assert list(questions(results, judged_of(results))) == []


def test_a_report_begins_with_what_customers_were_told_differently() -> None:
    """An alarm with both answers; none where nobody was told anything else."""
    (note,) = report.remarks(results_of(CALM, SAME, ANGRY, judged=[JUDGED]))

    text = said(note.text, "ja")
    assert (note.tone, "2,980円" in text, "3,980円" in text) == ("alarm", True, True)
    assert list(report.remarks(results_of(CALM, SAME))) == []
