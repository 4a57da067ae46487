"""Pairs of spellings: by sound, by letters, with and without a dictionary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.text.spelling import hiragana, reading, spelling_likeness, spelling_pairs, unknown_words

NEEDS_DICTIONARY = pytest.mark.skipif(not reading("東京"), reason="the extra ja is not installed")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("スマホ", "すまほ"), ("ﾙｰﾀｰ", "ルーター"), ("サーバ", "サーバー"), ("ＷｉＦｉ", "Wi-Fi"),
        ("e sim", "eSIM"),
        ("two step", "Two-step"), ("引落", "引き落とし"),
    ],
)  # fmt: skip
def test_variants_of_one_word_are_alike(one: str, other: str) -> None:
    """Kana, width, long vowels, hyphens, spaces and okurigana make no other word."""
    assert spelling_likeness(one, other) >= 0.95


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ルーター", "router"), ("わいふぁい", "Wi-Fi"), ("ログイン", "login"), ("キャンペーン", "campaign"),
        ("fiber", "fibre"), ("違約金", "解約金"), ("cancelation", "cancellation"),
    ],
)  # fmt: skip
def test_likely_variants_are_offered(one: str, other: str) -> None:
    """Loan words, British and American spelling and near words are pairs with less certainty."""
    assert 0.6 <= spelling_likeness(one, other) < 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("アプリ", "料金"),
        ("router", "rental"),
        ("プラン", "router"),
        ("解約", "契約"),
        ("charge", "charges"),
        ("E-101", "E-205"),
    ],
)
def test_other_words_are_no_pair(one: str, other: str) -> None:
    """Different words, forms of one word and codes are never offered."""
    assert spelling_likeness(one, other) < 0.6


@NEEDS_DICTIONARY
def test_kanji_have_a_reading_with_the_dictionary() -> None:
    """東京, とうきょう and Tokyo are one name."""
    assert (
        spelling_likeness("東京", "とうきょう")
        == spelling_likeness("東京", "Tokyo")
        == spelling_likeness("とうきょう", "Tokyo")
        == 1
    )
    assert [
        (p.asked, p.written)
        for p in spelling_pairs("とうきょうのお店はありますか", ["東京の店舗は3つです。"])
    ] == [("とうきょう", "東京")]


def test_the_pair_is_named_within_a_sentence() -> None:
    """The word as it was asked and as the article writes it, also where hiragana has no boundary."""
    article = ["# ルーターの初期設定\n\nルーターの電源を入れ、Wi-Fiにつなぎます。"]

    assert spelling_pairs("るーたーの設定を教えて", article)[0][:2] == ("るーたー", "ルーター")
    assert spelling_pairs("わいふぁいがつながらない", article)[0][:2] == ("わいふぁい", "Wi-Fi")
    assert spelling_pairs("wifi settings", ["Setting up your Wi-Fi router"])[0][:2] == ("wifi", "Wi-Fi")
    assert spelling_pairs("ルーターの初期設定", article) == []


def test_strange_words_are_those_the_article_lacks() -> None:
    """Words that occur there, in whatever form, are not strange."""
    assert unknown_words("違約金の金額", ["解約金の金額は4,800円です。"]) == ["違約金"]
    assert unknown_words("is the charge refunded", ["We refund all charges."]) == []


LOANS = ("ルーター", "スマホ", "ログイン", "プラン", "キャンペーン", "メール", "アダプタ", "データ")


@st.composite
def spelt(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Words as a question and as an article writes them, each in katakana or hiragana."""
    chosen = draw(st.lists(st.sampled_from(LOANS), min_size=1, max_size=5, unique=True))
    both = [[draw(st.sampled_from([word, hiragana(word)])) for word in chosen] for _ in range(2)]
    return both[0], draw(st.permutations(both[1]))


@given(spelt())
def test_words_that_are_spelt_otherwise_are_pairs(spelling: tuple[list[str], list[str]]) -> None:
    """Each word that both have and write differently is named, once, as it stands in each; no other is."""
    asked, written = spelling
    found = spelling_pairs("、".join(asked), ["、".join(written)])

    assert {pair.asked for pair in found} == set(asked) - set(written)
    assert {pair.written for pair in found} == set(written) - set(asked)
    assert len(found) == len({pair.asked for pair in found}) == len({pair.written for pair in found})
    assert all(hiragana(pair.asked) == hiragana(pair.written) for pair in found)
