"""The judge facts: what was retrieved, what the customer said, and what is invented."""

from typing import Any

import pytest

from simulator.core.shelves import judge_files
from simulator.core.types import Answer, ChatMessage, GradingContext, Passage, Score, Turn
from simulator.grading.rubric import load_judge
from simulator.lab.judging.facts import facts
from tests.run_helpers import answered


def found_in(score: Score) -> Any:
    """What it says of each detail."""
    return score.detail["facts"]


def an_exhibit(answer: str, *passages: str, told: Any = None, **known: Any) -> GradingContext:
    shown = [Passage(id=f"kb/{number}", text=text) for number, text in enumerate(passages, start=1)]
    return answered(answer, told={"passages": shown} | (told or {}), **({"question": "q"} | known))


def test_each_detail_is_told_with_the_place_it_was_found() -> None:
    """Two of four are missing: half is found, the score is a major miss, and the reason quotes the misses."""
    answer = "月額は1万円、手数料は9,800円です。お電話は03-1234-5678へ、受付は午後6時までです。"
    score = facts(an_exhibit(answer, "受付は9:00〜18:00", "月額10,000円"))

    assert (score.state, score.raw, score.value, score.severity) == ("scored", 0.5, 0.5, "major")
    assert score.reason == "資料にない記載：9,800円、03-1234-5678"
    assert score.detail["facts"] == [
        {"text": "1万円", "kind": "amount", "found": True, "where": "kb/2"},
        {"text": "9,800円", "kind": "amount", "found": False, "where": ""},
        {"text": "03-1234-5678", "kind": "phone", "found": False, "where": ""},
        {"text": "午後6時", "kind": "time", "found": True, "where": "kb/1"},
    ]


def test_the_contact_list_bears_out_what_no_passage_has() -> None:
    """A passage is named first, the contact list where only it has the detail."""
    contacts = ("サポート 0120000371", "受付 9時～18時")
    score = facts(an_exhibit("0120-000-371（9:00〜18:00）へ。", "料金"), contacts)

    assert (score.raw, score.severity) == (1, None)
    assert [fact["where"] for fact in found_in(score)] == ["contacts"] * 3
    assert score.reason == "確認した記載（3件）はすべて資料にあります"


@pytest.mark.parametrize(
    "case",
    [
        {"user": "注文AB-1029384の5,500円は？"},
        {"history": (ChatMessage(role="user", content="AB-1029384、5500円です"),)},
        {"earlier": (Turn(index=1, user="AB-1029384で5,500円でした", answer=Answer(text="はい")),)},
    ],
)
def test_the_customers_own_words_are_no_invention(case: dict[str, Any]) -> None:
    """Of this turn, of an earlier one, or of the dialogue before."""
    score = facts(an_exhibit("AB-1029384（5,500円）ですね。", "配送について", **case))

    assert [fact["where"] for fact in found_in(score)] == ["customer", "customer"]


def test_what_the_bot_said_before_bears_nothing_out() -> None:
    """An invention does not become true by being repeated."""
    before = Turn(index=1, user="いくら", answer=Answer(text="9,800円です。"))

    assert facts(an_exhibit("9,800円です。", "料金表", earlier=(before,))).raw == 0


@pytest.mark.parametrize(
    ("answer", "passage", "share"),
    [
        ("一万円です。", "￥10,000", 1),
        ("2024年4月1日から。", "令和6年4月1日", 1),
        ("It takes two weeks.", "within 14 days", 1),
        ("1,200 g", "1.2キロ", 1),
        ("INFO@example.jpへ。", "ｉｎｆｏ＠example.jp、", 1),
        ("https://example.jp/a/をご覧ください。", "「https://example.jp/a」", 1),
        ("10,000円です。", "1,000円", 0),
        ("5GBです。", "15GB", 0),
        ("03-1234-5678へ。", "03-1234-5679", 0),
        ("https://example.jp/a", "https://example.jp/b", 0),
        ("10%です。", "10円", 0),
        ("2024年4月1日です。", "4月1日", 0),
    ],
)
def test_details_are_compared_by_what_they_mean(answer: str, passage: str, share: float) -> None:
    """However they are written; what differs in a sign or a unit is another detail."""
    assert facts(an_exhibit(answer, passage)).value == share


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        (an_exhibit("かしこまりました。", "料金は9,800円"), "確かめられる記載がありません"),
        (an_exhibit("9,800円です。", told={"shows_passages": False}), "資料を示さない"),
    ],
)
def test_without_anything_to_check_the_turn_is_skipped(context: GradingContext, reason: str) -> None:
    """Nothing stated, or a bot that never shows its passages."""
    score = facts(context)

    assert (score.state, score.raw) == ("skipped", None)
    assert reason in score.reason


def test_an_english_case_has_an_english_reason() -> None:
    """And a sum of two known amounts is not found: a miss is a call to look."""
    score = facts(an_exhibit("That makes $66.", "$33 plus $33", language="en"))

    assert score.reason == "not in the passages: $66"


def test_the_address_of_a_passage_may_be_cited_but_its_number_proves_nothing() -> None:
    """A source that is an address counts as said; a file name does not."""
    passage = Passage(id="faq-9800", text="料金表", source="https://example.jp/faq")
    context = answered("9,800円です。https://example.jp/faq/", told={"passages": [passage]})

    assert [fact["found"] for fact in found_in(facts(context))] == [False, True]


def test_its_grades_are_of_the_rubric_that_its_files_make() -> None:
    """Its module and its texts: grades before and after a change of either are not mixed."""
    judge = load_judge("facts")

    assert callable(judge)
    assert {path.name for path in judge_files(judge)} == {"facts.py", "_facts.toml"}
