"""Turns in which the simulated customer was at fault: found when they are, and only then."""

from typing import Any

import pytest

from simulator.core.shelves import customers, persona
from simulator.core.types import ChatMessage, Conversation, Ended, Facts, Habits, Language, Results
from simulator.users.faults import customer_faults, inventions
from simulator.users.offline import filled
from tests.customer_conversations import (
    QUESTION,
    REFERENCE,
    REFUSAL,
    UNRELATED,
    a_case,
    a_person,
    a_run,
    a_talk,
    a_verdict,
    what_it_does,
)
from tests.sample_runs import rehearsed

ASKED, TOLD, REFUSED, OTHER = QUESTION["ja"], REFERENCE["ja"], REFUSAL["ja"], UNRELATED["ja"]


def kinds(results: Results) -> list[tuple[int, str]]:
    return [(fault.turn, fault.kind) for fault in customer_faults(results)]


def said(line: str, language: Language = "ja", heard: str | None = None, **case: object) -> Conversation:
    """A conversation whose second line is this one."""
    first = (QUESTION[language], heard or UNRELATED[language])
    return a_talk(first, (line, UNRELATED[language]), case=a_case(language, **case))


@pytest.mark.parametrize(
    ("line", "language", "is_made_up"),
    [
        # Numbers, dates, contacts, codes and names, stated as facts.
        ("契約番号はA-1032-55です。", "ja", True),
        ("3月5日に申し込みました。", "ja", True),
        ("毎月7,980円払っています。", "ja", True),
        ("090-1234-5678にかけてください。", "ja", True),
        ("佐藤と申します。", "ja", True),
        ("taro@example.comに送ってください。", "ja", True),
        ("担当の鈴木さんに聞きました。", "ja", True),
        ("My contract number is AB-40912.", "en", True),
        ("I signed up on March 5.", "en", True),
        ("I pay 7,980 yen a month.", "en", True),
        ("My name is Sarah. I am waiting.", "en", True),
        # What is told, asked or supposed: a false accusation would hide a fault of the bot.
        ("もう3回も聞いてます！10分待ってますよ！", "ja", False),
        ("手数料は3,300円ですか？", "ja", False),
        ("例えば3GBのプランです。", "ja", False),
        ("2年使ったら安くなるんでしたよね。", "ja", False),
        ("4月1日に解約する場合は変わります。", "ja", False),
        ("10日に請求書が来るのは分かりました。", "ja", False),
        ("光を1年使いました。12か月です。", "ja", False),
        ("人と話させてください！", "ja", False),
        ("That's the third time! I've been waiting 10 minutes.", "en", False),
        ("Is it 3,300 yen?", "en", False),
        ("If I cancel on April 1, it changes.", "en", False),
        ("I know, invoices come on the 10th.", "en", False),
        ("Please let me talk to a person.", "en", False),
    ],
)
def test_only_details_that_nobody_told_are_made_up(line: str, language: Language, is_made_up: bool) -> None:
    """And a line without any has no fault at all."""
    found = kinds(a_run(said(line, language)))

    assert ((2, "invented") in found) is is_made_up
    assert is_made_up or found == []


def test_everything_the_customer_was_given_is_known() -> None:
    """Facts, history, the persona's own knowledge, and what the desk or they themselves said before."""
    line = "契約番号はA-1032-55です。毎月7,980円払っています。"
    told = (
        said(line, facts=Facts(knows=("契約番号はA-1032-55", "月7,980円"))),
        said(line, history=(ChatMessage(role="user", content="A-1032-55、7,980円の者です"),)),
        said(line, heard="A-1032-55様、月額は7,980円でございますね。"),
    )
    again = a_talk((ASKED, OTHER), (line, OTHER), ("だから契約番号はA-1032-55です！", OTHER))

    assert [kinds(a_run(conversation)) for conversation in told] == [[], [], []]
    assert kinds(a_run(again)) == [(2, "invented")]


def test_sums_of_what_is_known_are_known() -> None:
    """3,300 and 22,000 make 25,300; 2,200 in 24 instalments make 52,800."""
    assert inventions("合計25,300円になります。", ["手数料3,300円", "工事費22,000円"], "ja") == []
    assert inventions("全部で52,800円になります。", ["月2,200円を24回"], "ja") == []
    assert inventions("全部で52,801円になります。", ["月2,200円を24回"], "ja") == ["52,801円"]


@pytest.mark.parametrize(
    ("line", "told", "language"),
    [
        ("100GBのプランです。", "100ギガのプラン", "ja"),
        ("昨日10:30に電話しました。", "10時30分に受付", "ja"),
        ("2026/4/1に申し込みました。", "2026年4月1日", "ja"),
        ("番号は090-1234-5678です。", "090 1234 5678", "ja"),
        ("契約番号はA1032-55です。", "A-1032-55", "ja"),
        ("I paid $120.50.", "120.5 dollars", "en"),
        ("I called 0120-000-371.", "call 0120000371", "en"),
    ],
)
def test_what_is_known_may_be_written_otherwise(line: str, told: str, language: Language) -> None:
    """A figure by what it comes to, a code without its hyphens; what nobody told is made up all the same."""
    assert inventions(line, [told], language) == []
    assert inventions(line, ["999"], language)


def test_another_matter_is_off_goal_unless_straying_is_the_role() -> None:
    """A question about what was never a matter here."""
    line = "ところで、北海道の旅館で露天風呂のおすすめはどこですか？"

    assert kinds(a_run(said(line))) == [(2, "off_goal")]
    conversation = said(line).model_copy(update={"persona": "off_topic"})
    assert kinds(a_run(conversation)) == []


@pytest.mark.parametrize(
    ("habit", "line", "fault"),
    [
        ("second_matter", "ところで、北海道の旅館で露天風呂のおすすめはどこですか？", "off_goal"),
        ("language", "Sorry, I don't know how to say this in Japanese", "broke_role"),
    ],
)
def test_a_habit_of_the_persona_is_no_fault(habit: str, line: str, fault: str) -> None:
    """Of others it is."""
    results = a_run(said(line))
    who = persona(results.conversations[0].persona)

    def of(habits: Habits) -> list[tuple[int, str]]:
        return kinds(results.model_copy(update={"personas": (who.model_copy(update={"habits": habits}),)}))

    assert of(Habits()) == [(2, fault)]
    assert of(Habits.model_validate({habit: 0.1})) == []


def test_repeats_and_lost_roles_are_found_after_the_first_line() -> None:
    """The case's own question is none of the customer's making, whatever it looks like."""
    again = [(f"結論だけを早く教えてください{mark}", OTHER) for mark in "。！"]
    conversation = a_talk((ASKED, OTHER), *again)
    role = said("お問い合わせありがとうございます。ご不明な点がございましたらお気軽にお問い合わせください。")
    own = a_talk((text := "契約番号はA-1です。いくらですか？", OTHER), case=a_case(question=text))

    assert kinds(a_run(conversation)) == [(3, "repeated")]
    assert kinds(a_run(role)) == [(2, "broke_role")]
    assert kinds(a_run(own)) == []


def test_leaving_satisfied_without_an_answer_is_too_early() -> None:
    """Right after a refusal or silence; not when all had been answered before, nor after a handover."""
    happy = Ended.SATISFIED
    handed = "担当の者から折り返しご連絡いたします。"

    def faults(*exchanges: tuple[str, str | None]) -> list[tuple[int, str]]:
        talk = a_talk(*exchanges, ended=happy)
        return kinds(a_run(talk, scores=what_it_does(talk, handing_over=handed)))

    assert faults((ASKED, REFUSED)) == [(1, "left_early")]
    assert faults((ASKED, OTHER), ("返事は？", None)) == [(2, "left_early")]
    assert faults((ASKED, TOLD), ("例外は？", REFUSED)) == []
    assert faults((ASKED, OTHER)) == [(1, "left_early")]
    assert faults((ASKED, handed)) == []
    # Where no judge says what an answer does, its words are not asked.
    assert kinds(a_run(a_talk((ASKED, REFUSED), ended=happy))) == []


def test_staying_after_everything_is_answered_is_too_late() -> None:
    """One more turn is tolerated; only a model as judge can tell that nothing was left out."""
    more = [("例外は？", OTHER), ("いつから？", OTHER), ("どこに書いてある？", OTHER)]
    judged = a_talk((ASKED, TOLD), *more)
    brief = a_talk((ASKED, TOLD), more[0])
    counted = a_verdict(judged, 1, 5).model_copy(update={"rubric": "lexical-1"})

    late = [(3, "left_late"), (4, "left_late")]

    assert kinds(a_run(judged, scores=[a_verdict(judged, 1, 5)], turns=3)) == late
    # Where more turns can be taken, people take them.
    assert kinds(a_run(judged, scores=[a_verdict(judged, 1, 5)], turns=9)) == []
    assert kinds(a_run(brief, scores=[a_verdict(brief, 1, 5)])) == []
    assert kinds(a_run(judged, scores=[a_verdict(judged, 1, 4)])) == []
    assert kinds(a_run(judged, scores=[counted])) == []
    assert kinds(a_run(judged)) == []


@pytest.mark.parametrize("marks", [{"answerable": None, "handover": "required"}, {"answerable": False}])
def test_what_no_answer_settles_is_never_answered(marks: dict[str, Any]) -> None:
    """Complaints, and questions that are marked unanswerable."""
    case = a_case(**marks)
    talk = a_talk((ASKED, TOLD), ("例外は？", OTHER), ("いつから？", OTHER), case=case)

    assert kinds(a_run(talk, scores=[a_verdict(talk, 1, 5)])) == []


def test_giving_up_while_answers_help_is_impatient() -> None:
    """Patience is counted in answers of no clear use; giving up when no turn is left is nobody's fault."""
    conversation = a_talk((ASKED, OTHER), ("結論は？", "途中解約には費用がかかります。"))
    helped = [a_verdict(conversation, 2, 4)]
    useless, helped_before = (
        [a_verdict(conversation, turn, raw) for turn, raw in enumerate(raws, 1)] for raws in ((2, 2), (5, 1))
    )
    person = a_talk((ASKED, OTHER), ("結論は？", "途中解約には費用がかかります。"), persona="demands_person")

    assert kinds(a_run(conversation, scores=helped)) == [(2, "impatient")]
    assert kinds(a_run(conversation, scores=helped_before)) == []
    assert kinds(a_run(conversation, scores=helped, people=[a_person("angry", patience=1)])) == []
    assert kinds(a_run(conversation, scores=useless)) == []
    assert kinds(a_run(conversation)) == []
    assert kinds(a_run(conversation, scores=helped, turns=2)) == []
    assert kinds(a_run(person, scores=[a_verdict(person, 2, 4)])) == []


def test_who_leaves_a_bot_that_only_asks_or_repeats_is_not_impatient() -> None:
    """However well its questions are graded, and the same part again."""
    asking = a_talk((ASKED, "ご契約はいつからでしょうか？"), ("分かりません", "お部屋は何階でしょうか？"))
    part = "途中解約には4,800円の費用がかかります。"
    again = a_talk((ASKED, part), ("ほかには？", part), ("それだけ？", part))

    for talk in (asking, again):
        did = {score.turn: score.response for score in what_it_does(talk)}
        praised = [
            a_verdict(talk, turn.index, 4).model_copy(update={"response": did[turn.index]})
            for turn in talk.turns
        ]
        assert kinds(a_run(talk, scores=praised)) == []


def test_given_lines_are_nobodys_fault() -> None:
    """A script, a file of scripts or a replayed run says what is said."""
    line = "契約番号はA-1032-55です。"
    scripted = said(line, script=(line,))

    assert kinds(a_run(scripted)) == []
    assert kinds(a_run(said(line), script="lines.csv")) == []
    assert kinds(a_run(said(line), replay="earlier")) == []


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize("name", customers())
def test_the_shelfs_own_phrases_are_no_faults(name: str, language: Language) -> None:
    """Every phrase of every persona, said for the first time."""
    case = a_case(language)
    spoken = persona(name).speaks(language).phrases.values()
    lines = [filled(phrase, case.question) for phrases in spoken for phrase in phrases]
    conversations = [
        a_talk((case.question, UNRELATED[language]), (line, UNRELATED[language]), case=case, id=f"x#{at}")
        for at, line in enumerate(lines)
    ]

    assert kinds(a_run(*conversations, people=[a_person("angry")])) == []


@pytest.mark.parametrize("language", ["ja", "en"])
def test_a_believable_run_has_no_faults(language: Language) -> None:
    """Until a customer of it says what nobody told them: then that line, and no other, is one."""
    run = rehearsed(language)
    conversation = next(each for each in run.conversations if len(each.turns) > 1)
    line = {"ja": "契約番号はA-1032-55です。", "en": "My contract number is AB-40912."}[language]
    first, second, *rest = conversation.turns
    turns = (first, second.model_copy(update={"user": line}), *rest)
    spoilt = conversation.model_copy(update={"turns": turns})
    others = [each for each in run.conversations if each is not conversation]
    found = customer_faults(run.model_copy(update={"conversations": (spoilt, *others)}))

    assert customer_faults(run) == ()
    [fault] = found
    assert (fault.conversation, fault.turn, fault.kind) == (conversation.id, 2, "invented")
