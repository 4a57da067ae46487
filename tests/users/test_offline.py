"""The customer without a model: reacts with a persona's phrases, and leaves when it is time."""

import re
from typing import Any

import pytest

from simulator.core import shelves
from simulator.core.types import Answer, Case, Facts, Failure, Language, Persona, PersonaText, Turn, Utterance
from simulator.users.offline import PhraseUser, filled
from tests.grading.test_lexical import (
    COMPLAINT,
    GOOD,
    HANDOVER,
    QUESTION,
    REFERENCE,
    REFUSAL,
    UNRELATED,
    a_case,
)

PHRASES = {
    "pressing": ("答えてください。「$question」です。", "違います！$question", "結論は？"),
    "refused": ("誰なら分かりますか。", "調べてください。"),
    "failed": ("返事がありません。", "もしもし。"),
    "followup": ("次は何をすれば？", "例外は？"),
    "thanks": ("どうも。", "助かりました。"),
    "leaving": ("もういいです。", "失礼します。"),
}


def a_persona(patience: int = 2, phrases: dict[str, tuple[str, ...]] | None = None) -> Persona:
    words = PersonaText(name="客", voice="短く話す", phrases=PHRASES if phrases is None else phrases)
    # Who is angry says nothing but the phrases.
    return Persona(id="angry", patience=patience, feeling=-1, ja=words, en=words)


def turns(*answers: str | None, said: tuple[str, ...] = ()) -> tuple[Turn, ...]:
    failure = Failure(kind="timeout", message="no answer within 60 s")
    lines = (QUESTION, *said, *(f"発言{at}" for at in range(9)))
    told = [Answer(text=text) if text else Answer(text="", error=failure) for text in answers]
    return tuple(Turn(index=at + 1, user=lines[at], answer=answer) for at, answer in enumerate(told))


def spoken(lines: list[str], answer: str) -> tuple[Turn, ...]:
    """These lines of the customer, each answered in the same way."""
    return tuple(Turn(index=n, user=line, answer=Answer(text=answer)) for n, line in enumerate(lines, 1))


async def next_line(
    *answers: str | None, patience: int = 3, case: Case | None = None, seed: int = 1
) -> Utterance:
    return await PhraseUser(a_persona(patience), seed)(case or a_case(), turns(*answers))


@pytest.mark.parametrize(
    ("answer", "situation"),
    [
        (None, "failed"),
        (REFUSAL, "refused"),
        (UNRELATED, "pressing"),
        ("ホーム1ギガにも解約金がかかります。", "followup"),
    ],
)
async def test_the_next_line_reacts_to_the_answer(answer: str | None, situation: str) -> None:
    """No answer, a refusal, something else, or a part of it; the first line is the question."""
    line = await next_line(answer)

    assert (await next_line()).text == QUESTION
    assert line.next == "stay"
    assert line.text in {filled(phrase, QUESTION) for phrase in PHRASES[situation]}
    assert line.reason


WHOLE = "ホーム1ギガの解約金は4,800円です。"


@pytest.mark.parametrize(
    ("answers", "given", "how"),
    [
        # Content, handed over, or out of patience after unhelpful answers in a row.
        ((REFERENCE,), {}, "satisfied"),
        ((UNRELATED, GOOD), {}, "satisfied"),
        ((HANDOVER,), {}, "handed_over"),
        ((UNRELATED, REFUSAL, None), {}, "gave_up"),
        # Also with little patience: whoever presses on after a good first answer punishes good bots.
        ((WHOLE,), {"patience": 2}, "satisfied"),
        ((WHOLE,), {"patience": 3}, "satisfied"),
        # A complaint is settled by a person only, not by an explanation.
        ((UNRELATED,), {"case": COMPLAINT}, "stay"),
        ((COMPLAINT.question,), {"case": COMPLAINT}, "stay"),
        ((HANDOVER,), {"case": COMPLAINT}, "handed_over"),
    ],
)
async def test_customers_leave_when_it_is_time(
    answers: tuple[str | None, ...], given: dict[str, Any], how: str
) -> None:
    """With a parting word that goes with how they leave."""
    line = await next_line(*answers, **given)

    assert line.next == how
    if how != "stay":
        assert line.text in PHRASES["leaving" if how == "gave_up" else "thanks"]


async def test_no_line_is_said_twice() -> None:
    """When a situation has no phrase left another lends one; when all are used up the customer leaves."""
    user, case = PhraseUser(a_persona(patience=99), 3), a_case()
    said: list[str] = []
    while (line := await user(case, turns(*[REFUSAL] * (len(said) + 1), said=tuple(said)))).next == "stay":
        said.append(line.text)

    assert len(said) == len(set(said)) >= 5
    assert set(PHRASES["refused"]) <= set(said)
    assert line.next == "gave_up"


async def test_the_same_seed_says_the_same_and_other_seeds_vary() -> None:
    """In every process: nothing hangs on Python's own hash."""
    lines = [(await next_line(UNRELATED, seed=seed)).text for seed in range(20)]

    assert lines == [(await next_line(UNRELATED, seed=seed)).text for seed in range(20)]
    assert len(set(lines)) == len(PHRASES["pressing"])


async def test_what_was_seen_of_earlier_answers_changes_nothing() -> None:
    """Asked turn by turn a customer says the same as one who meets the whole talk, also after another one."""
    talk, other = turns(UNRELATED, REFUSAL, None, UNRELATED), turns(GOOD, GOOD)
    user, case = PhraseUser(a_persona(9), 3), a_case()
    for at in range(len(talk) + 1):
        fresh = await PhraseUser(a_persona(9), 3)(case, talk[:at])
        assert await user(case, talk[:at]) == fresh
    assert await user(case, other[:1]) == await PhraseUser(a_persona(9), 3)(case, other[:1])


async def test_a_persona_without_phrases_leaves_without_a_word() -> None:
    """Nothing is made up for it."""
    line = await PhraseUser(a_persona(phrases={}), 1)(a_case(), turns(UNRELATED))

    assert (line.next, line.text) == ("gave_up", "")


FACTS = Facts(knows=("支払いは口座振替です。", "入居は4月です。"))


@pytest.mark.parametrize(
    ("fact", "said", "is_told"),
    [
        ("電話番号は090-1234-5678です", "０９０-1234-5678", False),
        ("注文番号はA-12345です", "A-12345です。", False),
        ("注文番号はA-12345です", "注文番号なら、メールにあります。", True),
    ],
)
async def test_a_number_alone_answers_the_desk(fact: str, said: str, is_told: bool) -> None:
    """Who said it is not asked for it as for something new; who named it without the number is."""
    user = PhraseUser(a_persona(3, PHRASES | {"asked": ("$fact。",)}), 1)
    case = a_case(facts=Facts(knows=(fact,)))

    line = await user(case, spoken([QUESTION, said], "念のため、番号を教えていただけますか。"))

    assert (fact in line.text) is is_told


SORRY = "ご不便をおかけし、申し訳ございません。ルーターの電源を入れ直してください。"


@pytest.mark.parametrize(
    ("answers", "feelings"),
    [
        ((UNRELATED, REFUSAL), [-2, -2]),
        ((SORRY,), [-2]),
        ((GOOD,), [1]),
        ((UNRELATED, SORRY, GOOD), [-2, -2, 0]),
    ],
)
async def test_anger_grows_and_softens_with_what_is_answered(
    answers: tuple[str, ...], feelings: list[int]
) -> None:
    """A useless answer angers, in whatever kind words, a solution softens."""
    user = PhraseUser(shelves.persona("angry"), 1)
    felt = [(await user(a_case(), turns(*answers[: n + 1]))).reaction for n in range(len(answers))]

    assert [each.feeling for each in felt if each] == feelings
    assert not any(each.overruled for each in felt if each)


async def test_a_repetition_angers_twice_as_much() -> None:
    """Also who was glad before."""
    calm = shelves.persona("calm").model_copy(update={"feeling": 1})
    again, other = turns(UNRELATED, UNRELATED), turns(UNRELATED, "工事は平日に行います。")
    felt = [(await PhraseUser(calm, 1)(a_case(), talk)).reaction for talk in (again, other)]

    assert [each.feeling for each in felt if each] == [-2, -1]


@pytest.mark.parametrize("seed", range(6))
async def test_nobody_is_blamed_for_a_good_first_answer(seed: int) -> None:
    """Only who had to ask twice says that it took long."""
    angry = shelves.persona("angry")
    talks = turns(GOOD), turns(UNRELATED, GOOD)
    at_once, at_last = [await PhraseUser(angry, seed)(a_case(), talk) for talk in talks]

    assert at_once.text in angry.ja.phrases["thanks"]
    assert at_last.text in angry.ja.phrases["at_last"]


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize(
    ("name", "lines"), [("angry", 1), ("hurried", 1), ("demands_person", 2), ("regular", 3), ("elderly", 4)]
)
async def test_a_useless_bot_hears_as_many_lines_as_patience_has(
    name: str, lines: int, language: Language
) -> None:
    """Of their own, beside the question; then they give up: the angry long before the regular."""
    useless = {"ja": UNRELATED, "en": "Please restart your router and wait a minute."}[language]
    question = {"ja": QUESTION, "en": "How much is it to cancel Home 1 Giga after a year?"}[language]
    reference = {"ja": REFERENCE, "en": "Cancelling Home 1 Giga within 24 months costs 4,800 yen."}[language]
    case = a_case(language=language, question=question, references=((reference,),))
    user, said = PhraseUser(shelves.persona(name), 1), [question]
    while (line := await user(case, spoken(said, useless))).next == "stay":
        said.append(line.text)

    assert (line.next, len(set(said))) == ("gave_up", lines + 1)
    if name == "demands_person":
        person = re.compile("人|担当|オペレーター|person|human|agent|someone|staff", re.IGNORECASE)
        assert all(person.search(each) for each in said[1:])


async def test_who_wants_a_person_asks_for_one_after_a_good_answer() -> None:
    """Once; then the answer will do."""
    persona = shelves.persona("demands_person")
    first, second = [await PhraseUser(persona, 1)(a_case(), turns(*[GOOD] * n)) for n in (1, 2)]

    assert (first.next, second.next) == ("stay", "satisfied")
    assert re.search("人|担当|詳しい方", first.text)


@pytest.mark.parametrize(
    ("discloses", "answer", "tells"),
    [
        ("at_once", UNRELATED, True),
        ("when_asked", UNRELATED, False),
        ("never", "入居されたのはいつでしょうか？", False),
    ],
)
async def test_facts_are_told_as_the_persona_has_it(discloses: str, answer: str, tells: bool) -> None:
    """At once, when asked, or never."""
    persona = a_persona(phrases=PHRASES | {"telling": ("だから、$fact！",)})
    user = PhraseUser(persona.model_copy(update={"discloses": discloses}), 1)
    line = await user(a_case(facts=FACTS), turns(answer))

    assert line.text.startswith("だから、") == tells


@pytest.mark.parametrize(
    ("phrase", "question", "expected"),
    [
        ("「$question」です。", "いくらですか？", "「いくらですか」です。"),
        ("違います！$question", "いくらですか？", "違います！いくらですか？"),
        ("I said ${question}", "How much?", "I said How much?"),
        ("結論は？", "いくらですか？", "結論は？"),
        ("It costs $5: $question!", "How much?", "It costs $5: How much!"),
        ("「$question」です。", "？", "「？」です。"),
    ],
)
def test_a_phrase_quotes_the_question(phrase: str, question: str, expected: str) -> None:
    """Without its end mark, unless the phrase ends with it; a plain dollar stays."""
    assert filled(phrase, question) == expected


ASKS_BACK = "恐れ入ります。入居されたのはいつでしょうか？"


@pytest.mark.parametrize("phrases", [{}, {"telling": ("だから、$fact！",)}])
async def test_a_desk_that_asks_back_is_told_the_fact_it_asks_for(
    phrases: dict[str, tuple[str, ...]],
) -> None:
    """In the persona's words, or plainly; it costs no patience."""
    user, case = PhraseUser(a_persona(1, PHRASES | phrases), 1), a_case(facts=FACTS)

    line = await user(case, turns(ASKS_BACK))

    assert (line.next, line.reason) == ("stay", "窓口に尋ねられた")
    assert line.text == ("だから、入居は4月です！" if phrases else "入居は4月です")
