"""What texts say, counted: tokens, sentences, units; the same for full-width and plain writing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.text.evidence import (
    content_units,
    coverage,
    share,
    stem,
    topic_units,
    total_weight,
    unit_weight,
)
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


def test_endings_of_a_word_do_not_matter() -> None:
    """The forms of a verb and the plural of a noun are one unit."""
    assert {stem(word) for word in ("charge", "charges", "charged", "charging")} == {"charg"}
    assert stem("policies") == stem("policy")
    assert stem("stopped") == stem("stop")


def test_content_weighs_more_than_grammar() -> None:
    """Kanji and words before hiragana, hiragana before stop words, single units before pairs."""
    assert unit_weight("解") == unit_weight("fee") == 1
    assert unit_weight("fee") > unit_weight("の") > unit_weight("the") > 0
    assert unit_weight("解\t約") == 0.5


def test_topic_units_leave_grammar_out_unless_there_is_nothing_else() -> None:
    """A text of hiragana alone keeps its units."""
    assert set(topic_units("富士山です")) == set(topic_units("富士山")) | {"山\tで"}
    assert "で" not in topic_units("富士山です")
    assert topic_units("そうです") == content_units("そうです")


def test_share_is_precision_of_an_answer_and_recall_of_a_reference() -> None:
    """All of 富士山 is in 富士山です; not the other way round; nothing is wholly contained."""
    short, long = content_units("富士山"), content_units("富士山です")

    assert share(short, long) == 1
    assert 0 < share(long, short) < 1
    assert share(content_units(""), long) == 1
    assert total_weight(content_units("")) == 0


def test_a_question_is_covered_as_far_as_texts_take_it_up() -> None:
    """Grammar shared with an unrelated text covers nothing."""
    assert coverage("解約の期限は", ["解約の期限は20日です。"]) == 1
    assert coverage("解約の期限は", ["ルーターは黒です。"]) == 0
    assert coverage("When do I cancel?", ["You cancel on the 20th.", "By post."]) > 0.5


@given(st.text(max_size=200))
def test_any_text_is_cut_without_losing_its_tokens(text: str) -> None:
    """Whatever a bot says: no exception, and weights are finite and not negative."""
    assert total_weight(content_units(text)) >= 0
    assert all(sentence.strip() for sentence in sentences(text))
