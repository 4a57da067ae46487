"""Claims, retrieval and the customer's feeling, counted: each finding, and the verdict made of them."""

from typing import Any

import pytest

from simulator.core.types import Answer, Case, GradingContext, Language, Passage, Score, Turn
from simulator.grading.lexical import LexicalJudge

FEES = "ミズナラ光を24か月以内に解約すると、解約金がかかります。ホーム1ギガの解約金は4,800円です。"
ROUTER = "ルーターは解約から14日以内に、着払いで返送してください。"
ENGLISH_FEES = "Cancelling within 24 months costs a fee. The cancellation fee of Home 1 Giga is 4,800 yen."
SHOP = "The shop in Osaka opens at 9:00 and closes at 18:00 on weekdays."


async def graded(judge: str, answer: str, *passages: str, **case: Any) -> Score:
    known: dict[str, Any] = {"id": "fees", "question": "ホーム1ギガの解約金はいくらですか", "language": "ja"}
    the_case = Case(**(known | case))
    found = tuple(Passage(id=f"p{at}", text=text) for at, text in enumerate(passages, 1))
    turn = Turn(index=1, user=the_case.question, answer=Answer(text=answer, passages=found))
    return LexicalJudge(judge).grade(
        GradingContext(conversation="calm/fees#1", case=the_case, persona="calm", turn=turn)
    )


async def felt(text: str, language: Language) -> float:
    score = await graded("tone", "承知しました。", question=text, language=language)
    assert score.scale == (-2, 2)
    assert score.raw is not None
    assert score.value == (score.raw + 2) / 4
    return score.raw


@pytest.mark.parametrize(
    ("answer", "passages", "language", "verdicts", "where"),
    [
        ("ホーム1ギガの解約金は4,800円です。", (ROUTER, FEES), "ja", ["supported"], ["p2"]),
        ("ホーム1ギガの解約金は3,700円です。", (ROUTER, FEES), "ja", ["contradicted"], ["p2"]),
        ("解約金がかかりません。", (ROUTER, FEES), "ja", ["contradicted"], ["p2"]),
        ("窓口では商品券をお配りしています。", (ROUTER, FEES), "ja", ["not_found"], [""]),
        (
            "ホーム1ギガの解約金は4,800円です。窓口では商品券をお配りしています。",
            (FEES,),
            "ja",
            ["supported", "not_found"],
            ["p1", ""],
        ),
        ("ホーム1ギガの解約金は4,800円です。", (), "ja", ["not_found"], [""]),
        (
            "The cancellation fee of Home 1 Giga is 4,800 yen.",
            (SHOP, ENGLISH_FEES),
            "en",
            ["supported"],
            ["p2"],
        ),
        (
            "The fee for cancelling Home 1 Giga is 3,700 yen.",
            (SHOP, ENGLISH_FEES),
            "en",
            ["contradicted"],
            ["p2"],
        ),
        ("We send a voucher to every customer.", (SHOP, ENGLISH_FEES), "en", ["not_found"], [""]),
    ],
)
async def test_every_claim_is_held_against_the_passages(
    answer: str, passages: tuple[str, ...], language: str, verdicts: list[str], where: list[str]
) -> None:
    """Supported and contradicted name the passage; the verdict is the share that is supported."""
    score = await graded("claims", answer, *passages, language=language)
    claims: Any = score.detail["claims"]

    assert [claim["verdict"] for claim in claims] == verdicts
    assert [claim["passage"] for claim in claims] == where
    assert "".join(claim["claim"] for claim in claims) == answer
    assert score.raw == score.value == verdicts.count("supported") / len(verdicts)
    assert score.scale == (0, 1)


async def test_a_contradiction_is_graver_than_what_is_not_found() -> None:
    """Major and moderate; nothing when all is supported."""
    assert (await graded("claims", "ホーム1ギガの解約金は3,700円です。", FEES)).severity == "major"
    assert (await graded("claims", "窓口では商品券をお配りしています。", FEES)).severity == "moderate"
    assert (await graded("claims", "ホーム1ギガの解約金は4,800円です。", FEES)).severity is None


@pytest.mark.parametrize(
    "answer",
    ["申し訳ございません。分かりかねます。", "どのプランをお使いですか？", "担当者におつなぎします。"],
)
async def test_what_claims_nothing_has_all_its_claims_supported(answer: str) -> None:
    """Refusals, questions and handovers: 1, with an empty list."""
    score = await graded("claims", answer)

    assert (score.raw, score.detail["claims"], score.severity) == (1, [], None)


async def test_a_number_that_the_customer_gave_needs_no_passage() -> None:
    """It is theirs."""
    answer = "12か月での解約ですので、解約金がかかります。"
    question = "12か月で解約すると、解約金がかかりますか"

    assert (await graded("claims", answer, FEES, question=question)).raw == 1


@pytest.mark.parametrize(
    ("passages", "expected"),
    [
        ((FEES, ROUTER), 1.0),
        ((ROUTER, FEES), 0.5),
        ((ROUTER, SHOP, FEES), 1 / 3),
        ((FEES, ROUTER, FEES), (1 + 2 / 3) / 2),
        ((ROUTER,), 0.0),
    ],
)
@pytest.mark.parametrize("references", [(("ホーム1ギガの解約金は4,800円です。",),), ()])
async def test_useful_passages_belong_first(
    passages: tuple[str, ...], expected: float, references: tuple[tuple[str, ...], ...]
) -> None:
    """Average precision by the reference; without one, by the question."""
    score = await graded("context_precision", "はい。", *passages, references=references)
    told: Any = score.detail["passages"]

    assert score.raw == pytest.approx(expected)
    assert [each["id"] for each in told] == [f"p{at}" for at in range(1, len(passages) + 1)]
    assert [bool(each["useful"]) for each in told] == [text == FEES for text in passages]


async def test_recall_is_how_much_of_the_reference_was_retrieved() -> None:
    """Each statement with the passage that holds it, numbers included."""
    reference = "ホーム1ギガの解約金は4,800円です。ルーターは14日以内に返送してください。"
    half = await graded("context_recall", "はい。", ROUTER, references=((reference,),))
    whole = await graded("context_recall", "はい。", ROUTER, FEES, references=((reference,),))
    stated: Any = half.detail["statements"]

    assert (half.raw, whole.raw) == (0.5, 1)
    assert [(each["found"], each["passage"]) for each in stated] == [(0, ""), (1, "p1")]
    assert (
        await graded("context_recall", "はい。", FEES.replace("4,800", "4,900"), references=((reference,),))
    ).raw == 0


async def test_agreement_is_also_given_as_a_share() -> None:
    """0 to 1, the measure itself."""
    reference = (("ホーム1ギガの解約金は4,800円です。",),)
    same = await graded("llm_similarity", "ホーム1ギガの解約金は4,800円です。", references=reference)
    other = await graded("llm_similarity", "ルーターは黒です。", references=reference)

    assert same.raw == same.value == same.detail["score"] == 1
    assert (other.raw or 0) < 0.2


@pytest.mark.parametrize(
    ("text", "language", "low", "high"),
    [
        ("ふざけるな！！責任者を出せ！！", "ja", -2, -2),
        ("最悪です。二度と使いません。", "ja", -2, -2),
        ("何回言わせるんですか！", "ja", -2, -1),
        ("まだ届かなくて困っています。", "ja", -1, -1),
        ("それでは答えになっていません。", "ja", -1, -1),
        ("解約金はいくらですか", "ja", 0, 0),
        ("すみません、返品の送料は誰が払いますか", "ja", 0, 0),
        ("教えていただけると助かります。", "ja", 0, 0),
        ("なるほど、分かりました。", "ja", 1, 1),
        ("ありがとうございます。", "ja", 1, 1),
        ("ありがとうございます。でも、まだ困っています。", "ja", -1, 0),
        ("本当にありがとうございます！助かりました！", "ja", 2, 2),
        ("This is ridiculous!! Get me your manager!", "en", -2, -2),
        ("You people are useless. I will sue.", "en", -2, -2),
        ("I'm still waiting and rather disappointed.", "en", -1, -1),
        ("How much is the fee?", "en", 0, 0),
        ("Is there a late fee? No problem if so.", "en", 0, 0),
        ("I would be grateful for an answer.", "en", 0, 0),
        ("OK, thanks.", "en", 1, 1),
        ("Thank you so much, that was very helpful!", "en", 2, 2),
        ("Thanks, but I am still confused.", "en", -1, 0),
    ],
)
async def test_the_customers_words_show_how_they_feel(
    text: str, language: Language, low: int, high: int
) -> None:
    """From -2 to 2; politeness and requests are even, what follows a "but" weighs more."""
    assert low <= await felt(text, language) <= high


async def test_a_feeling_is_told_by_its_words() -> None:
    """In reason and detail, in the language of the case; the answer does not matter."""
    angry = await graded("tone", "ありがとうございます！", question="もう最悪です。")
    even = await graded("tone", "最悪です。", question="How long does it take?", language="en")

    assert "最悪" in angry.reason
    assert angry.detail["words"] == ["最悪"]
    assert (even.raw, even.detail["words"]) == (0, [])
    assert even.reason == "Counted, not read: No words of feeling were found."
