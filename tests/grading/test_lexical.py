"""The judges that stand in without a model: they count, and say what they counted."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core.replies import share_of
from simulator.core.types import Answer, Case, GradingContext, Passage, Score, Turn
from simulator.grading.lexical import LIMITS, STAND_INS, grade_of, lexical_score, rubric_of
from simulator.text.wording import quoted, wording

QUESTION = "ホーム1ギガを1年で解約すると解約金はいくらですか"
REFERENCE = "24か月以内の解約ですので、ホーム1ギガの解約金は4,800円です。"
PASSAGE = (
    "ミズナラ光は、24か月以内に解約すると、解約金がかかります。ホーム1ギガの解約金は4,800円です。"
    "マンション1ギガの解約金は3,700円です。解約金は最後の利用料金と一緒に請求いたします。"
)
GOOD = "お問い合わせありがとうございます。24か月以内に解約すると、ホーム1ギガの解約金は4,800円です。"
REFUSAL = "申し訳ございません。お問い合わせの内容は、手元の資料では確認できませんでした。"
REFUSAL_WITH_CONTACT = REFUSAL + "お手数ですが、サポート窓口 0120-000-371 へお問い合わせください。"
HANDOVER = "ご不便をおかけし、誠に申し訳ございません。担当者におつなぎいたします。"
UNRELATED = "ルーターの電源を切り、1分後に入れ直してください。"
ENGLISH = {
    "question": "What is the cancellation fee for Home 1 Giga after a year?",
    "reference": "Home 1 Giga costs 4,800 yen to cancel within 24 months.",
    "passage": "Cancelling within 24 months costs a fee. The cancellation fee of Home 1 Giga is 4,800 yen.",
    "good": "Thank you for asking. The cancellation fee of Home 1 Giga is 4,800 yen within 24 months.",
}


# Judges with another scale than 1 to 5, and those of them whose verdict is a share.
SHARES = ("llm_similarity",)
SCALES = dict.fromkeys((*SHARES, "llm_correctness"), (0, 1))
GRADES = tuple(name for name in STAND_INS if name not in SCALES)


def a_case(**changes: Any) -> Case:
    known = {"id": "fees", "question": QUESTION, "language": "ja", "references": ((REFERENCE,),)}
    return Case.model_validate(known | {"answerable": True} | changes)


WAITED = "半日待ったのに工事の人が来なかった。最低です"
COMPLAINT = a_case(question=WAITED, references=(), answerable=None, handover="required")
UNANSWERABLE = a_case(
    question="カエデ光の1ギガは月いくらですか",
    references=(("恐れ入りますが、他社の料金については、ご案内できる資料がございません。",),),
    answerable=False,
)


def an_exhibit(
    answer: str, case: Case | None = None, *earlier: str, passages: tuple[str, ...] = (PASSAGE,)
) -> GradingContext:
    case = case or a_case()
    found = tuple(Passage(id=str(at), text=text) for at, text in enumerate(passages))
    turns = tuple(
        Turn(index=at, user=case.question, answer=Answer(text=text, passages=found))
        for at, text in enumerate((*earlier, answer), 1)
    )
    return GradingContext(
        conversation="calm/fees#1", case=case, persona="calm", turn=turns[-1], earlier=turns[:-1]
    )


def grade(judge: str, answer: str, case: Case | None = None, *earlier: str, **given: Any) -> Score:
    return lexical_score(judge, an_exhibit(answer, case, *earlier, **given))


def raw(judge: str, answer: str, case: Case | None = None, *earlier: str, **given: Any) -> float:
    found = (grade(judge, answer, case, *earlier, **given)).raw
    assert found is not None
    return found


@pytest.mark.parametrize("name", STAND_INS)
@pytest.mark.parametrize("answer", [GOOD, REFUSAL, HANDOVER, UNRELATED, "?", "Sorry, I do not know."])
def test_every_judge_grades_every_answer_on_its_scale(name: str, answer: str) -> None:
    """A value from 0 to 1, a reason that says it is a trial's, the rubric's name; 1 to 5 with two decimals.

    Nothing is drawn by chance: the same again gets the same score. What states nothing is not grounded.
    """
    if name == "groundedness" and answer not in (GOOD, UNRELATED):
        assert grade(name, answer).state == "skipped"
        return
    score = grade(name, answer)
    low, high = SCALES.get(name, (1, 5))

    assert score == grade(name, answer)
    assert score.scale == (low, high)
    assert score.raw is not None
    assert low <= score.raw <= high
    assert name in SHARES or score.raw == round(score.raw, 2)
    assert score.value == share_of(score.raw, score.scale)
    assert score.reason.startswith("試行：")
    assert (score.judge, score.rubric, score.state, score.turn) == (name, rubric_of(name), "scored", 1)
    # Another number when what is counted changes: no grade is compared with those of before.
    assert score.rubric.startswith("lexical-10-")


@pytest.mark.parametrize("name", STAND_INS)
def test_reasons_are_in_the_language_of_the_case(name: str) -> None:
    """An English case gets English reasons, figures included."""
    case = a_case(language="en", question=ENGLISH["question"], references=((ENGLISH["reference"],),))
    for answer in (ENGLISH["good"], "The fee is 3,700 yen.", "I do not know."):
        score = grade(name, answer, case, passages=(ENGLISH["passage"],))

        assert score.state == "skipped" or score.reason.startswith("Trial: ")
        assert not re.search("[ぁ-んァ-ヶ一-龥]", score.reason)


def test_a_good_answer_gets_good_grades_from_all() -> None:
    """In both languages."""
    english = a_case(language="en", question=ENGLISH["question"], references=((ENGLISH["reference"],),))
    for name in GRADES:
        assert raw(name, GOOD) >= 4
        assert raw(name, ENGLISH["good"], english, passages=(ENGLISH["passage"],)) >= 4
    assert raw("llm_correctness", GOOD) == 1
    assert raw("llm_correctness", ENGLISH["good"], english, passages=(ENGLISH["passage"],)) == 1


def test_groundedness_falls_with_what_no_passage_has() -> None:
    """A copied answer 5, another figure at most 3, an invention at most 2; what is missing is named."""
    figure = grade("groundedness", "ホーム1ギガの解約金は9,900円です。")
    invention = grade("groundedness", "全額を現金書留でお客様のご自宅までお届けします。")

    assert raw("groundedness", GOOD) == 5
    assert "「" not in grade("groundedness", GOOD).reason
    assert (figure.raw or 0) <= 3
    assert "9,900円" in figure.reason
    assert (invention.raw or 0) <= 2
    assert raw("groundedness", "カエデ光は月額4,000円です。", UNANSWERABLE) <= 2
    assert "現金書留" in invention.reason


@pytest.mark.parametrize(
    "answer",
    [
        REFUSAL,
        REFUSAL_WITH_CONTACT,
        HANDOVER,
        "お問い合わせありがとうございます。",
        "どの機種をお使いですか？",
    ],
)
def test_what_states_nothing_has_no_grade_of_groundedness(answer: str) -> None:
    """Or the mean would be made of refusals: graded of planned says how many answers stated anything."""
    score = grade("groundedness", answer)

    assert score.state == "skipped"
    assert "述べていません" in score.reason


def test_groundedness_judges_by_this_turns_passages_only() -> None:
    """Neither the reference nor other passages support; without any, a claim is a 1."""
    assert raw("groundedness", GOOD, passages=(UNRELATED,)) <= 2
    assert raw("groundedness", GOOD, passages=()) == 1


@pytest.mark.parametrize(
    ("answer", "reference", "low", "high"),
    [
        ("富士山です", "富士山", 4, 5),
        ("富士山です", "富士山です。", 4, 5),
        ("桜島です", "富士山", 1, 2),
        ("桜島です", "富士山です。", 1, 2),
        ("解約金は4800円です", "解約金は４，８００円です。", 5, 5),
        ("解約金は3,700円です。", "解約金は4,800円です。", 1, 2),
        ("分かりかねます。", "解約金は4,800円です。", 1, 1.5),
        ("分かりかねます。", "資料に記載がございません。", 5, 5),
    ],
)
def test_similarity_compares_what_is_meant(answer: str, reference: str, low: float, high: float) -> None:
    """Words, figures, and whether it declines."""
    case = a_case(question="日本で一番高い山は?", references=((reference,),))

    assert low <= raw("similarity", answer, case) <= high
    assert raw("llm_correctness", answer, case) == (low >= 4)


@pytest.mark.parametrize("name", ["similarity", "llm_similarity", "llm_correctness"])
def test_without_a_reference_there_is_nothing_to_compare_with(name: str) -> None:
    """On a turn to which none belongs: skipped."""
    score = grade(name, GOOD, None, GOOD)

    assert (score.state, score.raw, score.value) == ("skipped", None, None)
    assert "2" in score.reason


def test_the_turn_judge_breaks_its_verdict_down() -> None:
    """Steps, a conclusion, Overall and Correctness; reason and conclusion are the same, raw is Overall."""
    score = grade("turn", GOOD)

    assert set(score.detail) == {"correctness", "overall", "steps", "against", "conclusion"}
    assert len(score.detail["steps"]) == 2  # type: ignore[arg-type]
    assert score.detail["steps"][1] == f"「{quoted(GOOD)}」と述べています。"  # type: ignore[index]
    assert score.reason == score.detail["conclusion"]
    assert score.raw == score.detail["overall"] == 5
    assert score.detail["against"] == "模範回答"
    assert grade("turn", GOOD, a_case(references=())).detail["against"] == "検索された部分"


@pytest.mark.parametrize("language", ["ja", "en"])
def test_small_talk_without_evidence_is_not_graded(language: str) -> None:
    """Neither passages nor a reference: skipped, with the reason in the language of the case."""
    case = a_case(references=(), answerable=None, language=language, question="Hello")
    score = grade("turn", "Hi there!", case, passages=())

    assert (score.state, score.value) == ("skipped", None)
    assert ("passages" if language == "en" else "検索された部分") in score.reason


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        (REFUSAL, {}),
        (REFUSAL_WITH_CONTACT, {}),
        ("担当者におつなぎいたします。", {}),
        ("24か月以内の解約ですので、ホーム1ギガの解約金は9,900円です。", {}),
        (UNRELATED, {}),
        # A handover that is due is missed also when the question itself is answered.
        (GOOD, {"handover": "required"}),
    ],
)
def test_a_wrong_answer_cannot_go_out(answer: str, known: dict[str, str]) -> None:
    """Declining what can be answered, an amount that is nowhere, or another matter: Overall at most 3."""
    assert raw("turn", answer, a_case(**known)) <= 3


@pytest.mark.parametrize(
    "known",
    [
        {"answerable": False, "references": ()},
        {"answerable": None, "references": ((REFUSAL,),)},
        {"answerable": None, "references": ()},
        {"answerable": True},
    ],
)
def test_an_honest_refusal_stands_above_an_answer_to_something_else(known: dict[str, Any]) -> None:
    """Of a question known as unanswerable, and wherever nothing that was retrieved answers."""
    case, passages = a_case(**known), ("駐車場は12台分あります。",)
    invented = "全額を現金書留でお客様のご自宅までお届けします。"

    for answer in (UNRELATED, invented):
        assert raw("turn", REFUSAL, case, passages=passages) > raw("turn", answer, case, passages=passages)


@pytest.mark.parametrize("answer", [GOOD, REFUSAL, UNRELATED, "解約金は9,900円です。", "どの機種ですか？"])
def test_the_same_answer_gets_the_same_grade_on_every_turn(answer: str) -> None:
    """Whatever the customer says next, and whatever was retrieved the second time."""
    first = an_exhibit(answer)
    again = an_exhibit(answer, None, answer)
    pressing = again.turn.model_copy(
        update={"user": "9,900円の件は？", "answer": Answer(text=answer, passages=())}
    )

    for shown in (again, again.model_copy(update={"turn": pressing})):
        assert lexical_score("turn", shown).raw == lexical_score("turn", first).raw


@pytest.mark.parametrize(("role", "names"), [("user", False), ("assistant", True)])
def test_a_figure_that_the_customer_named_before_is_nobodys_invention(role: str, names: bool) -> None:
    """In what was said before the first question, too; one that the desk named needs support."""
    case = a_case(history=({"role": role, "content": "9,900円と聞きました。"},))

    assert ("9,900円 は" in grade("groundedness", GOOD + "9,900円ではありません。", case).reason) is names


def test_another_answer_is_read_by_itself() -> None:
    """Whatever was said before it, to whichever question."""
    assert (raw("turn", GOOD, None, UNRELATED), raw("turn", UNRELATED, None, GOOD)) == (5, 1)


INK = "Use up a bottle of ink within 2 years of opening it."


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        (INK, False),
        ("2 years.", True),
        ("It lasts 2 years.", True),
        (f"{INK} The warranty is 2 years.", True),
    ],
)
def test_the_figure_of_an_article_on_something_else_answers_nothing(answer: str, is_right: bool) -> None:
    """The same number there is chance; alone, or beside a word of the matter, it is the answer."""
    case = a_case(
        question="How long is the warranty?",
        language="en",
        references=(("The warranty lasts 2 years from the purchase.",),),
    )

    assert (raw("turn", answer, case, passages=(INK,)) >= 4) is is_right


def test_an_invention_beside_a_right_answer_is_noticed() -> None:
    """The figure that is nowhere is named, and Correctness falls."""
    score = grade("turn", GOOD + "キャンペーン中は9,900円を現金書留でご自宅へお届けします。")

    assert float(str(score.detail["correctness"])) <= 3
    assert "9,900円" in (grade("groundedness", GOOD + "別に9,900円です。")).reason


@pytest.mark.parametrize(
    ("answer", "overall", "correctness"),
    [
        (REFUSAL, 4, 5),
        (REFUSAL_WITH_CONTACT, 5, 5),
        ("どちらの機種についてのご質問でしょうか。", 4, 4),
        (GOOD, 2, 2),
        ("カエデ光は月額4,000円です。", 2, 2),
    ],
)
def test_what_is_unanswerable_is_to_be_declined(answer: str, overall: int, correctness: int) -> None:
    """Honesty is a 4, with a contact a 5; to ask back invents nothing; any answer is a 2.

    A reference that declines says what is unanswerable where the data set does not.
    """
    for case in (UNANSWERABLE, UNANSWERABLE.model_copy(update={"answerable": None})):
        score = grade("turn", answer, case)
        assert (score.raw, score.detail["correctness"]) == (overall, correctness)


@pytest.mark.parametrize(
    ("answer", "overall", "correctness"),
    [
        (HANDOVER, 5, 5),
        ("担当者におつなぎいたします。", 4, 5),
        ("ご迷惑をおかけし、申し訳ございません。", 3, 5),
        (REFUSAL, 2, 4),
        (UNRELATED, 1, 3),
        (f"誠に申し訳ございません。{UNRELATED}", 2, 3),
    ],
)
def test_a_complaint_wants_an_apology_and_a_person(answer: str, overall: int, correctness: int) -> None:
    """Not a text about something else."""
    score = grade("turn", answer, COMPLAINT)
    assert (score.raw, score.detail["correctness"]) == (overall, correctness)


UNKNOWN: dict[str, Any] = {"references": (), "answerable": None}
LEFT_OUT = "ホーム1ギガの解約金は、24か月以内なら必要です。"
WRONG_FIGURE = "24か月以内の解約ですので、ホーム1ギガの解約金は9,900円です。"


@pytest.mark.parametrize(
    ("answer", "known", "passage", "grades", "conclusion"),
    [
        (GOOD, {}, PASSAGE, (5, 5), "good"),
        (GOOD, {}, "", (5, 5), "good"),
        (GOOD, {"references": ()}, PASSAGE, (5, 5), "good"),
        ("ホーム1ギガの解約金は9,900円です。", {"references": ()}, PASSAGE, (2.72, 2.72), "poor"),
        (WRONG_FIGURE, {}, PASSAGE, (2, 2), "poor"),
        (GOOD + "別に9,900円です。", {}, PASSAGE, (2, 2), "poor"),
        (GOOD + "別に99円です。", {}, PASSAGE, (2, 2), "poor"),
        # A single digit may be said in other words.
        (GOOD + "別に9円です。", {}, PASSAGE, (5, 5), "good"),
        (UNRELATED, {}, PASSAGE, (1, 1), "beside"),
        ("解約金がかかります。", {}, PASSAGE, (3.5, 3.5), "unsure"),
        ("どの機種をお使いですか？", {}, PASSAGE, (3.5, 3.5), "asked_back"),
        ("？", {}, PASSAGE, (1, 1), "poor"),
        ("？", {"handover": "required"}, PASSAGE, (1, 1), "poor"),
        (REFUSAL_WITH_CONTACT, {"handover": "required"}, PASSAGE, (4, 5), "handed_over"),
        (GOOD, {"handover": "required"}, PASSAGE, (3, 4), "no_handover"),
        (REFUSAL_WITH_CONTACT, {"handover": "forbidden"}, PASSAGE, (2, 4), "needless_handover"),
        (REFUSAL, {"handover": "forbidden"}, PASSAGE, (2, 4), "wrongly_refused"),
        (REFUSAL, {}, UNRELATED, (2, 4), "nothing_to_answer"),
        (REFUSAL, {"references": ()}, UNRELATED, (2, 4), "nothing_to_answer"),
        (REFUSAL, {"answerable": None}, UNRELATED, (2, 4), "nothing_to_answer"),
        (REFUSAL, UNKNOWN, UNRELATED, (4, 5), "no_contact"),
        (REFUSAL_WITH_CONTACT, UNKNOWN, UNRELATED, (4, 5), "rightly_refused"),
        (REFUSAL, UNKNOWN, PASSAGE, (2, 4), "wrongly_refused"),
        (REFUSAL, UNKNOWN, QUESTION, (2, 4), "wrongly_refused"),
    ],
)
def test_each_outcome_of_a_question_has_its_grades_and_its_sentence(
    answer: str, known: dict[str, Any], passage: str, grades: tuple[float, float], conclusion: str
) -> None:
    """By the reference where there is one, else by what was retrieved."""
    score = grade("turn", answer, a_case(**known), passages=(passage,) if passage else ())

    assert (score.raw, score.detail["correctness"]) == grades
    assert score.reason.startswith(f"試行：{wording('ja')(conclusion)}")


@pytest.mark.parametrize(
    ("judge", "answer", "value", "reason"),
    [
        ("groundedness", GOOD, 5, "回答の語の100%が、検索された部分にあります。"),
        ("groundedness", WRONG_FIGURE, 2.8,
         "回答の語の91%が、検索された部分にあります。9,900円 は、検索された部分にありません。"),
        ("groundedness", UNRELATED, 1.2,
         "回答の語の11%が、検索された部分にあります。1分 は、検索された部分にありません。"
         "「ルーターの電源を切り、1分後に入れ直してください」は見当たりません。"),
        ("similarity", WRONG_FIGURE, 1.91,
         "模範回答の語の91%が回答にあります。模範回答の 4,800円 がありません。"),
        ("similarity", REFUSAL, 1.5, "断るか引き継ぐかどうかが、模範回答と逆です。"),
        ("llm_similarity", WRONG_FIGURE, 0.0909,
         "模範回答の語の91%が回答にあります。模範回答の 4,800円 がありません。"),
        ("llm_similarity", LEFT_OUT, 0.6545,
         "模範回答の語の82%が回答にあります。模範回答の 4,800円 がありません。"),
        ("llm_similarity", REFUSAL, 0.05, "断るか引き継ぐかどうかが、模範回答と逆です。"),
        ("llm_correctness", LEFT_OUT, 0,
         "模範回答の語の82%が回答にあります。模範回答の 4,800円 がありません。"),
        ("llm_correctness", GOOD, 1, "模範回答の語の100%が回答にあります。"),
        ("turn", GOOD, 5,
         "語と数字は合っています。模範回答の語の100%が回答にあります。"
         "回答の語の100%が、検索された部分にあります。"),
        ("turn", WRONG_FIGURE, 2,
         "語か数字が合いません。模範回答の語の91%が回答にあります。模範回答の 4,800円 がありません。"),
    ],
)  # fmt: skip
def test_a_reason_says_what_was_counted(judge: str, answer: str, value: float, reason: str) -> None:
    """In shares, with the figures that differ and the sentence that nothing supports."""
    score = grade(judge, answer)

    assert (score.raw, score.reason) == (value, f"試行：{reason}")


@pytest.mark.parametrize("language", ["ja", "en"])
def test_courtesy_is_no_claim(language: str) -> None:
    """Thanks, regrets and closing phrases of other wording than the patterns' hardly change a grade."""
    japanese = language == "ja"
    case = a_case() if japanese else a_case(language="en", question=ENGLISH["question"])
    before = "お問い合わせありがとうございます。" if japanese else "Thank you for asking. "
    after = (
        "ご協力のほど、よろしくお願い申し上げます。少しでもお役に立てましたら幸いです。"
        if japanese
        else " If anything is unclear, please do not hesitate to ask. We look forward to welcoming you back."
    )
    answer, passage = (GOOD, PASSAGE) if japanese else (ENGLISH["good"], ENGLISH["passage"])
    for judge in ("groundedness", "turn"):
        plain = grade(judge, answer, case, passages=(passage,))
        padded = grade(judge, before + answer + after, case, passages=(passage,))
        assert abs((plain.raw or 0) - (padded.raw or 0)) <= 0.2


@pytest.mark.parametrize("judge", LIMITS)
def test_every_grade_can_be_reached(judge: str) -> None:
    """Nothing is a 1, everything a 5, each limit adds one, and half-way to it is half a grade."""
    limits = LIMITS[judge]

    assert [grade_of(share, judge) for share in (0, *limits, 1)] == [1, 2, 3, 4, 5, 5]
    assert grade_of((limits[1] + limits[2]) / 2, judge) == pytest.approx(3.5, abs=0.01)


HOSTILE = ("、", "1,", "「", "\ud800。", "e.g. ", "二〇", "Mon, ", "担当者へ")


def is_on_scale(name: str, answer: str, reference: str, language: str = "ja") -> bool:
    """Whether the judge's grade of it is on its scale; it may have nothing to grade."""
    case = a_case(language=language, references=((reference,),))
    low, high = SCALES.get(name, (1, 5))
    raw = grade(name, answer, case, passages=(reference,)).raw
    return raw is None or low <= raw <= high


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_bot_repeats_is_graded(text: str) -> None:
    """Thousands of times over, as answer, reference and passage; what that costs, a benchmark tells."""
    answer = text * (20_000 // len(text))

    assert all(is_on_scale(name, answer, answer) for name in STAND_INS)


@given(
    answer=st.text(max_size=300),
    reference=st.text(min_size=1, max_size=80),
    language=st.sampled_from(["ja", "en"]),
)
def test_any_text_can_be_graded(answer: str, reference: str, language: str) -> None:
    """Whatever comes in, every judge returns a grade on its scale, or none where it has nothing to grade."""
    assert all(is_on_scale(name, answer, reference, language) for name in STAND_INS)


def test_what_counting_cannot_judge_is_said_to_be_so() -> None:
    """It shares a few words with the reference, and no detail is wrong: no red turn, no praise either."""
    case = a_case(question="延長できますか", references=(("予約がなければ午後から延長できます。",),))
    answer = "ご予約の有無によります。マイページをご覧ください。"
    score = grade("turn", answer, case, passages=("マイページ",))

    assert score.raw == 3.5
    assert "分かりません" in score.reason
