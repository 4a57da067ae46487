"""Where texts are cut: sentences and clauses, in Japanese and English."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.text.segments import clauses, normalise, sentences


def test_normalised_text_is_plain_and_lower_case() -> None:
    """Full-width letters, half-width kana and capitals make no difference."""
    assert normalise("Ｗｉ－Ｆｉのﾊﾟｽﾜｰﾄﾞ") == "wi-fiのパスワード"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("はい。できます！次は？", ("はい。", "できます！", "次は？")),
        ("「はい。いいえ。」と言う。次です。", ("「はい。いいえ。」と言う。", "次です。")),
        ("- 一つ目\n2. 二つ目\n## 見出し", ("一つ目", "二つ目", "見出し")),
        (
            "It costs 3.5 yen. Ask Mr. Smith, e.g. today. Done!",
            ("It costs 3.5 yen.", "Ask Mr. Smith, e.g. today.", "Done!"),
        ),
        ("**料金**は`330円`です", ("料金は330円です",)),
        ("", ()),
    ],
)
def test_sentences_end_where_people_end_them(text: str, expected: tuple[str, ...]) -> None:
    """Not inside quotations, decimals or abbreviations, and without Markdown."""
    assert sentences(text) == expected


def test_clauses_end_at_commas_but_not_inside_numbers() -> None:
    """１，０００円 stays one number."""
    assert clauses("ホームは１，０００円、マンションは800円です。") == [
        "ホームは１，０００円、",
        "マンションは800円です。",
    ]
    assert clauses("It is 1,000 yen, but not today.") == ["It is 1,000 yen,", "but not today."]


@given(st.text(max_size=200))
def test_any_text_is_cut(text: str) -> None:
    """Whatever a bot says: no exception, and no empty sentence."""
    assert all(sentence.strip() for sentence in sentences(text))
