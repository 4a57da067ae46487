"""What two statements are compared by: their units by weight, and what they deny."""

import pytest

from simulator.lab.consistency.wording import (
    content_units,
    negated_words,
    share,
    topic_units,
    total_weight,
    unit_weight,
)


@pytest.mark.parametrize(
    ("texts", "is_odd"),
    [
        (
            "翌月に繰り越せません / 解約はできない / 領収書は不要です / 手数料なし / いたしかねます"
            " / 確認せず、 / There is no fee / You cannot cancel / It isn't possible",
            True,
        ),
        (
            "支払わなければなりません / かかるかもしれません / 問題ありません / 少ない料金です"
            " / まもなく届きます / ご利用いただけます / 必ずお電話ください / 申し訳ございません"
            " / not only by phone / できないことはありません",
            False,
        ),
    ],
)
def test_a_negation_is_heard(texts: str, is_odd: bool) -> None:
    """An odd number of them denies; obligations, politeness and double negation affirm."""
    assert [t for t in texts.split(" / ") if len(negated_words(t)) % 2 != is_odd] == []


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
