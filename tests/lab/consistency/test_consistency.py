"""Consistency: the same question gets the same facts, and what merely sounds different is no disagreement."""

from typing import Any

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core.types import Answer, Case, Conversation, Language, Results, Run, Turn
from simulator.lab.consistency import plugin
from simulator.lab.consistency.figures import across_languages, consistency, disagreement, subject
from simulator.lab.consistency.report import consistency_line
from simulator.text.figures import figures
from tests.sample_runs import rehearsed
from tests.texts import said

# Two answers to the same question, and whether they disagree.
PAIRS = (
    ("解約金は9,500円です。", "解約金は8,500円です。", True),
    ("解約金は9,500円です。", "解約金は税込で9,500円になります。", False),
    ("解約金は9,500円です。", "解約にかかる費用は9,500円でございます。", False),
    ("月額は2,980円です。", "月額料金は、税込2,980円です。別に事務手数料3,300円がかかります。", False),
    ("プランAは月額2,980円です。", "プランBは月額4,480円です。", False),
    ("受付時間は9時から18時までです。", "受付時間は9:00〜18:00です。", False),
    ("受付時間は9時から18時までです。", "受付時間は10時から18時までです。", True),
    ("締め切りは毎月20日です。", "締め切りは毎月25日です。", True),
    ("工事は最短で3営業日です。", "工事は最短で3営業日です。土日は休みです。", False),
    ("工事は最短で3営業日です。", "工事は最短で5営業日です。", True),
    ("お電話は0120-000-371です。", "お電話は0120-000-372です。", True),
    ("余ったデータ容量は翌月に繰り越せます。", "余ったデータ容量は翌月に繰り越せません。", True),
    ("余ったデータ容量は翌月に繰り越せません。", "恐れ入りますが、繰り越しはできません。", False),
    ("申し込みはマイページからできます。", "申し込みは店頭ではできません。", False),
    ("2年目までは1,100円、3年目からは無料です。", "3年目からは無料です。", False),
    ("初期費用は事務手数料3,300円と工事費22,000円です。", "初期費用は合計25,300円です。", False),
    ("月額は4,180円です。", "年額は50,160円です。", False),
    ("戸建ては5,280円です。", "集合住宅は4,180円です。", False),
    ("3日以内にお届けします。", "お届けは三日以内です。", False),
    ("違約金は1万円です。", "違約金は10,000円です。", False),
    ("The cancellation fee is 9,500 yen.", "The cancellation fee is 8,500 yen.", True),
    ("The cancellation fee is 9,500 yen.", "Cancelling costs you 9,500 yen, tax included.", False),
    ("We open at 9:00.", "We open at 9 a.m. every day.", False),
    ("The desk opens at 9:00 on weekdays.", "The desk opens at 10:00 on weekdays.", True),
    ("Plan A costs 2,980 yen a month.", "Plan B costs 4,480 yen a month.", False),
    ("Delivery takes 3 business days.", "Delivery takes 5 business days.", True),
    ("Unused data rolls over to the next month.", "Unused data does not roll over to the next month.", True),
    ("Please call 0120-000-371 for help.", "Please call 0120-000-372 for help.", True),
    ("You can apply in My Page.", "You cannot apply in a shop.", False),
    ("The setup fee is 3,300 yen.", "The construction fee is 22,000 yen.", False),
    ("It is free for two years, then 1,100 yen.", "After two years it is 1,100 yen.", False),
    ("Returns are accepted within 30 days.", "Returns are accepted within 14 days.", True),
)  # fmt: skip


def conversation(
    answer: str, *, persona: str = "calm", case: str = "fees-01-ja", language: Language = "ja", **more: Any
) -> Conversation:
    """A conversation of one turn."""
    about = Case(id=case, question="いくらですか", language=language, **more)
    turn = Turn(index=1, user=about.question, answer=Answer(text=answer))
    return Conversation(id=f"{persona}/{case}#1", case=about, persona=persona, turns=(turn,))


def results_of(*conversations: Conversation) -> Results:
    """A run of these conversations."""
    run: Run = rehearsed().run
    return Results(run=run, planned=len(conversations), conversations=conversations)


@pytest.mark.parametrize(("one", "other", "disagree"), PAIRS)
def test_two_answers_disagree_or_do_not(one: str, other: str, disagree: bool) -> None:
    """In either order, and with both statements word for word."""
    for first, second in ((one, other), (other, one)):
        result = disagreement(first, second)
        assert (result is not None) == disagree
        assert result is None or (result.one in first and result.other in second)


def test_personas_that_are_told_another_price_are_found() -> None:
    """The share counts pairs; the interval is by question, and takes five of them."""
    calm, beginner = (
        conversation("月額は2,980円です。"),
        conversation("月額は税込2,980円です。", persona="beginner"),
    )
    angry = conversation("月額は3,980円です。", persona="angry")
    fine = [
        conversation("はい、できます。", case=f"other{at}-ja", persona=persona)
        for at in range(4)
        for persona in ("calm", "angry")
    ]

    result = consistency(results_of(calm, beginner, angry, *fine))

    assert [(case.case, case.pairs, round(case.share, 2)) for case in result.cases] == [
        ("fees-01", 3, 0.33),
        *((f"other{at}", 1, 1.0) for at in range(4)),
    ]
    assert {(clash.one, clash.other) for clash in result.clashes} == {
        ("calm/fees-01-ja#1", "angry/fees-01-ja#1"),
        ("beginner/fees-01-ja#1", "angry/fees-01-ja#1"),
    }
    assert result.share == pytest.approx(13 / 15)
    assert result.low is not None
    assert 0.3 < result.low < 13 / 15
    assert (result.high or 0) > 0.95
    assert consistency(results_of(calm, angry, *fine[:2])).low is None


def test_a_question_is_known_in_other_words_and_languages() -> None:
    """By its tag, or by its id without the language."""
    assert subject(conversation("-").case) == subject(conversation("-", case="fees-01-en").case) == "fees-01"
    assert subject(conversation("-", case="en/fees-01").case) == "fees-01"
    assert subject(conversation("-", case="x", tags=("variant:fees-01",)).case) == "fees-01"
    assert subject(conversation("-", case="enable-01").case) == "enable-01"


def test_a_language_that_is_told_another_figure_is_found() -> None:
    """Only where the figure is what the question is about."""
    right = conversation("月額は4,180円です。", references=("月額4,180円です。",))
    wrong = conversation("It is 5,280 yen a month.", case="fees-01-en", language="en")
    same = conversation("It costs 4,180 yen monthly.", case="fees-01-en", language="en")

    assert [clash.link for clash in consistency(results_of(right, wrong)).clashes] == ["same_question"]
    assert consistency(results_of(right, same)).clashes == ()
    assert across_languages("工事費は22,000円です。", "The fee is 550 yen.", ()) is None


def test_a_report_has_a_line_only_where_customers_were_told_different_things() -> None:
    """With both statements."""
    calm, angry = conversation("月額は2,980円です。"), conversation("月額は3,980円です。", persona="angry")

    line = consistency_line(results_of(calm, angry))

    assert consistency_line(results_of(calm)) is None
    assert line is not None
    assert "月額は2,980円です。" in str(line)
    assert "月額は3,980円です。" in str(line)


def test_the_demo_bot_tells_every_persona_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """No false alarm on a real run, and a price that only angry customers are told is found in it."""
    options = "--offline --persona angry --persona calm --limit 5 --turns 2 --judges turn"
    assert main(options.split()) == 0
    capsys.readouterr()
    results = open_run()

    assert consistency(results).clashes == ()

    planted = [
        _dearer(conversation) if conversation.persona == "angry" else conversation
        for conversation in results.conversations
    ]
    changed = {t.case.id for t, was in zip(planted, results.conversations, strict=True) if t != was}
    result = consistency(results.model_copy(update={"conversations": tuple(planted)}))
    alarmed = {
        conversation.case.id
        for conversation in planted
        for clash in result.clashes
        if conversation.id in (clash.one, clash.other)
    }

    assert changed
    assert alarmed == changed
    assert all("angry/" in clash.one + clash.other for clash in result.clashes)


def _dearer(conversation: Conversation) -> Conversation:
    """The same conversation with every amount changed."""
    turns = []
    for turn in conversation.turns:
        text = turn.answer.text
        for each in figures(text):
            if each.kind == "amount":
                text = text.replace(each.text, f"9{each.text}")
        turns.append(turn.model_copy(update={"answer": turn.answer.model_copy(update={"text": text})}))
    return conversation.model_copy(update={"turns": tuple(turns)})


def test_customers_who_were_told_different_things_are_an_alarm() -> None:
    """Reports begin with what each of the two was told."""
    (note,) = plugin.remarks(rehearsed("ja", models={}))

    text = said(note.text, "ja")
    assert (note.tone, "9,800円" in text, "4,800円" in text) == ("alarm", True, True)
