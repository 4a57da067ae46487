"""Where texts are cut, and how they are compared word for word."""

import sys

import pytest

from simulator.core.errors import InputError, UnknownName
from simulator.text import normalise
from simulator.text.normalise import plain_form, squad_form, tokenizer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("富士山です。", "富 士 山 で す"),
        ("佐々木さんのサーバー", "佐 々 木 さ ん の サ ー バ ー"),
        ("ｻｰﾊﾞｰはＡＰＩキー", "サ ー バ ー は api キ ー"),
        ("１，０００円、3.5％", "1000 円 3.5"),
        ("I’m on 5G, v1.2 – OK?", "i'm on 5g v1 2 ok"),
        ("Straße", "strasse"),
        ("서울 특별시", "서울 특별시"),
        ("👍。、", ""),
        ("", ""),
    ],
)
def test_kana_and_kanji_are_cut_by_character_and_other_scripts_by_word(text: str, expected: str) -> None:
    """After NFKC and case folding, without punctuation; ー and 々 are characters like others."""
    assert tokenizer().cut(text) == expected.split()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ascii-words", "the api s 2 keys cafe"),
        ("ascii-words+porter", "the api s 2 key cafe"),
        ("blank", "the api's 2 keys、cafeです"),
        ("squad", "apis 2 keys、cafeです"),
    ],
)
def test_each_tokenizer_has_its_rule(name: str, expected: str) -> None:
    """Those that published values were computed with are to be had by name."""
    assert tokenizer(name).cut("The API's 2 keys、CAFEです") == expected.split()


def test_an_unknown_tokenizer_is_named_with_those_there_are() -> None:
    """As for any other name."""
    with pytest.raises(UnknownName, match=r"unknown tokenizer: 'janome'.*cjk-char"):
        tokenizer("janome")


def test_mecab_cuts_words() -> None:
    """Surfaces after NFKC, without punctuation, across lines; its dictionary and version are named."""
    pytest.importorskip("MeCab")
    mecab = tokenizer("mecab")

    assert mecab.name.startswith("mecab-ipadic ")
    assert " ".join(mecab.cut("東京都に住んでいます。\nＡＰＩキー")) == "東京 都 に 住ん で い ます api キー"


def test_without_mecab_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that names the extra."""
    monkeypatch.setitem(sys.modules, "MeCab", None)
    normalise._mecab.cache_clear()

    with pytest.raises(InputError, match="the extra 'ja': pip install mecab-python3 ipadic"):
        tokenizer("mecab")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        # Width, case, idle space, surrounding punctuation, commas of thousands, look-alike signs.
        ("富士山です。", "富士山です", True),
        ("１，０００円", "1000円", True),
        ("１２，３４５，６７８", "12345678", True),
        ("「ＡＰＩ キー」", "apiキー", True),
        ("**Oslo**.", "oslo", True),
        ("It’s  a\nDog!", '"it\'s a dog"', True),
        ("10〜20", "10～20", True),
        ("−5℃", "-5°c", True),
        ("ﾊﾟｿｺﾝ", "パソコン", True),
        # Signs and points of numbers, and signs that carry meaning.
        ("-5", "5", False),
        (".5", "5", False),
        ("C#", "C", False),
        ("C++", "C", False),
        ("5%", "5", False),
        ("¥5", "5", False),
        ("1,00", "100", False),
        ("。", "？", False),
    ],
)
def test_only_what_changes_an_answer_makes_a_difference(one: str, other: str, same: bool) -> None:
    """How it is typed does not."""
    assert (plain_form(one) == plain_form(other)) is same


def test_squad_forms_lose_articles_and_ascii_punctuation() -> None:
    """SQuAD's own normalisation."""
    assert squad_form("The  Beatles' (an) album.") == "beatles album"
