"""Where texts are cut, and how they are compared word for word."""

import pytest

from simulator.text.normalise import plain_form, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("富士山です。", "富 士 山 で す"),
        ("ｻｰﾊﾞｰはＡＰＩキー", "サ ー バ ー は api キ ー"),
        ("１，０００円、3.5％", "1000 円 3.5"),
        ("I’m on 5G, v1.2 – OK?", "i'm on 5g v1 2 ok"),
        ("👍。、", ""),
    ],
)
def test_kana_and_kanji_are_cut_by_character_and_other_scripts_by_word(text: str, expected: str) -> None:
    """After NFKC and case folding, without punctuation; ー and 々 are characters like others."""
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        # Width, case, idle space, surrounding punctuation, commas of thousands, look-alike signs.
        ("１，０００円", "1000円", True),
        ("「ＡＰＩ キー」", "apiキー", True),
        ("**Oslo**.", "oslo", True),
        ("It’s  a\nDog!", '"it\'s a dog"', True),
        ("−5℃", "-5°c", True),
        # Signs and points of numbers, and signs that carry meaning.
        ("-5", "5", False),
        (".5", "5", False),
        ("C#", "C", False),
        ("1,00", "100", False),
        ("。", "？", False),
    ],
)
def test_only_what_changes_an_answer_makes_a_difference(one: str, other: str, same: bool) -> None:
    """How it is typed does not."""
    assert (plain_form(one) == plain_form(other)) is same
