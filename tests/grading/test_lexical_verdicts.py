"""What the stand-ins' grades are made of: order below a cap, courtesy, what was compared."""

import pytest

from tests.grading.test_lexical import ENGLISH, GOOD, PASSAGE, REFERENCE, a_case, grade, raw


async def test_a_question_back_is_neither_borne_out_nor_invented() -> None:
    """A 4: it claims nothing, but gives nothing either."""
    score = await grade("groundedness", "どの機種をお使いですか？", passages=())

    assert (score.raw, score.detail["claims"]) == (4, 0)


async def test_what_is_capped_keeps_its_order() -> None:
    """Of two answers with a wrong figure, the one that is otherwise borne out is graded higher."""
    better = await raw("groundedness", "ホーム1ギガの解約金は9,900円です。")
    worse = await raw("groundedness", "ホーム1ギガの送料は9,900円で、現金書留だけです。")

    assert 1 <= worse < better <= 3


@pytest.mark.parametrize("language", ["ja", "en"])
async def test_courtesy_is_no_claim(language: str) -> None:
    """Thanks, regrets and closing phrases of other wording than the patterns' change no grade."""
    japanese = language == "ja"
    case = a_case() if japanese else a_case(language="en", question=ENGLISH["question"])
    before = "ご面倒をおかけいたしますが、" if japanese else "We greatly value your business. "
    after = (
        "ご協力のほど、よろしくお願い申し上げます。少しでもお役に立てましたら幸いです。"
        if japanese
        else " If anything is unclear, please do not hesitate to ask. We look forward to welcoming you back."
    )
    answer, passage = (GOOD, PASSAGE) if japanese else (ENGLISH["good"], ENGLISH["passage"])
    for judge in ("groundedness", "turn"):
        plain = await grade(judge, answer, case, passages=(passage,))
        padded = await grade(judge, before + answer + after, case, passages=(passage,))
        assert abs((plain.raw or 0) - (padded.raw or 0)) <= 0.2


@pytest.mark.parametrize(
    ("references", "passages", "expected"),
    [(((REFERENCE,),), (PASSAGE,), "正解例"), ((), (PASSAGE,), "資料"), ((), (), "なし")],
)
async def test_the_turn_judge_says_what_correctness_was_held_against(
    references: tuple[tuple[str, ...], ...], passages: tuple[str, ...], expected: str
) -> None:
    """The reference, else the passages, else neither."""
    score = await grade("turn", GOOD, a_case(references=references), passages=passages)

    assert score.detail["against"] == expected
