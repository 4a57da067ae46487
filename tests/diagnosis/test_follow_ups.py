"""`answerable` is about the first question: what is asked later may well be answered."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from simulator.core.types import Answer, Case, GradingContext, Language, Passage, Turn
from simulator.data.cases import read_cases
from simulator.diagnosis.evidence import RedTurnEvidence
from simulator.grading.lexical import LexicalJudge
from simulator.stats.figures import RedTurn
from simulator.storage.run_file import find_run
from tests.commands import Command


class Talk(NamedTuple):
    """A first question that no article answers, a line that presses for it, and another question."""

    first: str
    declined: str
    pressed: str
    other: str
    right: str
    wrong: str


TALKS: dict[Language, Talk] = {
    "ja": Talk(
        "テレビのオプションは月いくらですか",
        "申し訳ございませんが、その件については資料に記載がございません。",
        "テレビのオプションは結局いくらなんですか",
        "では、ルーターのレンタル料金は月いくらですか",
        "ルーターのレンタル料金は月額550円です。",
        "ルーターのレンタル料金は月額1,980円です。",
    ),
    "en": Talk(
        "How much is the television option?",
        "I am sorry, our material does not cover this.",
        "But how much is the television option?",
        "Then how much is the rental of the router?",
        "The rental of the router is 550 yen a month.",
        "The rental of the router is 1,980 yen a month.",
    ),
}
LANGUAGES = tuple(TALKS)


def log(language: Language, later: str, answer: str, **more: Any) -> str:
    """A log of an unanswerable question, rightly declined, and a later line with an answer."""
    talk = TALKS[language]
    turns = [
        {"question": talk.first, "answer": talk.declined},
        {"question": later, "answer": answer, "contexts": [talk.right], "passages": ["fees"], **more},
    ]
    row = {"id": "talk", "answerable": "no", "turns": turns}
    Path("log.jsonl").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    return "log.jsonl"


def causes(command: Command, path: str) -> list[tuple[str, bool, list[int]]]:
    """Cause, certainty and turns of what there is to fix after this log was graded."""
    arguments = ("--adapter", "recorded", "--persona", "calm", "--offline")
    assert command("simulate", "--cases", path, *arguments).code == 0
    fixes = json.loads(command("fixes", "--json").out)["fixes"]
    return [(fix["cause"], fix["sure"], [turn["turn"] for turn in fix["turns"]]) for fix in fixes]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_right_answer_to_a_later_question_is_no_fault(language: Language, command: Command) -> None:
    """A passage answers it, though the first question has no answer."""
    assert causes(command, log(language, TALKS[language].other, TALKS[language].right)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wrong_answer_to_a_later_question_need_not_have_been_declined(
    language: Language, command: Command
) -> None:
    """It is red for what it says."""
    found = causes(command, log(language, TALKS[language].other, TALKS[language].wrong))

    assert [turns for _cause, _sure, turns in found] == [[2]]
    page = find_run("latest", Path("runs")).with_name("report.html").read_text(encoding="utf-8")
    assert TALKS[language].wrong[:20] in page
    assert "Expected: say" not in page
    assert "期待する回答：資料" not in page
    assert "should_refuse" not in {cause for cause, _sure, _turns in found}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_later_question_is_declined_where_its_own_reference_declines(
    language: Language, command: Command
) -> None:
    """By its reference, so that it is likely and not certain."""
    talk = TALKS[language]
    path = log(language, talk.other, talk.wrong, reference=talk.declined)

    assert causes(command, path) == [("should_refuse", False, [2])]


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_presses_for_the_first_question_still_gets_none(language: Language, command: Command) -> None:
    """The same in other words is the same question."""
    found = causes(command, log(language, TALKS[language].pressed, TALKS[language].wrong))

    assert found == [("should_refuse", False, [2])]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_made_up_answer_to_the_first_question_is_certain(language: Language, command: Command) -> None:
    """The case says that it has none."""
    row: dict[str, Any] = {"id": "a", "answerable": "no", "question": TALKS[language].first}
    row |= {"answer": TALKS[language].wrong, "contexts": [TALKS[language].right]}
    Path("one.jsonl").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")

    assert causes(command, "one.jsonl") == [("should_refuse", True, [1])]


def evidence(language: Language, line: str, answer: str) -> RedTurnEvidence:
    """The second turn of a customer who is played, with a passage that answers the other question."""
    talk = TALKS[language]
    case = Case(id="a", question=talk.first, language=language, answerable=False)
    turn = Turn(index=2, user=line, answer=Answer(text=answer, passages=(Passage(id="1", text=talk.right),)))
    context = GradingContext(conversation="c", case=case, persona="calm", turn=turn)
    red = RedTurn("c", 2, "calm", "a", line, answer, 0.2, "", None, ())
    return RedTurnEvidence(red, context, {}, None, None, None)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_played_customer_may_ask_something_else_too(language: Language) -> None:
    """A passage about what only the later line asks tells that it is another question."""
    talk = TALKS[language]

    assert not evidence(language, talk.other, talk.wrong).should_refuse
    assert evidence(language, talk.other, talk.wrong).answerable is None
    assert evidence(language, talk.pressed, talk.wrong).should_refuse


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_declines_a_later_question_that_a_passage_answers_is_graded_lower(language: Language) -> None:
    """Without a model as well: to decline is right where the first question is pressed for."""
    talk = TALKS[language]
    case = Case(
        id="a", question=talk.first, language=language, answerable=False, script=(talk.other,),
        references=((talk.declined,), (talk.right,)),
    )  # fmt: skip

    def graded(answer: str) -> float:
        passages = (Passage(id="1", text=talk.right),)
        turn = Turn(index=2, user=talk.other, answer=Answer(text=answer, passages=passages))
        context = GradingContext(conversation="c", case=case, persona="calm", turn=turn)
        value = LexicalJudge("turn").grade(context).value
        assert value is not None
        return value

    assert graded(talk.right) > 0.9
    assert graded(talk.declined) < 0.5


def test_answerable_of_a_dialogue_is_that_of_its_first_question() -> None:
    """Whatever later turns are; a later turn alone says nothing of it."""
    rows: list[list[Any]] = [["no", "yes"], ["yes", "no"], ["no", "no"], [None, "no"]]
    lines = [
        json.dumps({"turns": [{"question": "A?", "answerable": a}, {"question": "B?", "answerable": b}]})
        for a, b in rows
    ]
    Path("q.jsonl").write_text("\n".join(lines), encoding="utf-8")

    assert [case.answerable for case in read_cases("q.jsonl")] == [False, True, False, None]
