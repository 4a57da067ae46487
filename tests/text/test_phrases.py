"""What sentences of a desk do, by short lists: plain wordings are known, others left alone."""

import csv
from collections.abc import Callable

import pytest

from simulator.core.shelves import DEMO
from simulator.core.types import Language
from simulator.text.phrases import (
    LONGEST,
    apologises,
    asks_back,
    declines,
    hands_over,
    is_courtesy,
    names_contact,
    pieces,
    statements,
    turns_away,
    without_courtesies,
)
from tests.paths import fixture_rows

LANGUAGES: tuple[Language, ...] = ("ja", "en")


def language_of(text: str) -> Language:
    return "en" if text.isascii() else "ja"


@pytest.mark.parametrize(
    ("does", "text", "wanted"),
    [
        (declines, "申し訳ございませんが、その件については分かりかねます。", True),
        (declines, "資料に記載がございません。サポート窓口 0120-000-371 へお問い合わせください。", True),
        (declines, "恐れ入りますが、海外ではご利用いただけません。", False),
        (declines, "正確な日付は分かりかねますが、返金には3から5営業日、多くは1週間です。", False),
        (declines, "I am sorry, but our material says nothing about a TV option.", True),
        (declines, "No, there is no cancellation fee.", False),
        (declines, "If you do not know your password, reset it on the login page.", False),
        (hands_over, "担当者におつなぎいたします。", True),
        (hands_over, "担当者におつなぎすることはできません。", False),
        (hands_over, "Let me connect you with a member of our team.", True),
        (hands_over, "A colleague will contact you within two business days.", True),
        (hands_over, "Please call 0120-000-371.", False),
        (names_contact, "Please call 0120-000-371.", True),
        (names_contact, "料金は990円です。", False),
        (turns_away, "担当者につなぎます。2営業日以内にご連絡します。", True),
        (turns_away, "解約金は5,000円です。詳しくはサポート窓口へお問い合わせください。", False),
        (turns_away, "Your table is booked. A colleague will call you to confirm.", False),
        (asks_back, "恐れ入ります。機種名をお教えいただけますか？", True),
        (asks_back, "手数料は5,500円です。ほかにご不明な点はございますか？", False),
        (asks_back, "The fee is 5,500 yen. Is there anything else I can help you with?", False),
        (apologises, "ご不便をおかけし、申し訳ございませんが、お待ちください。", True),
        (apologises, "お問い合わせありがとうございます。", False),
        (is_courtesy, "ありがとうございました。", True),
        (is_courtesy, "Thank you very much!", True),
        (is_courtesy, "料金は990円です。ありがとうございました。", False),
    ],
)  # fmt: skip
def test_what_a_text_does(does: Callable[[str, Language], bool], text: str, wanted: bool) -> None:
    """Who says no may know, who is only mentioned takes nothing over, and a closing offer asks nothing."""
    assert does(text, language_of(text)) is wanted


def test_what_is_stated_is_what_is_left() -> None:
    """Neither courtesies nor questions, refusals and contacts; a sentence that turns has two sides."""
    text = "お問い合わせありがとうございます。申し訳ございませんが、解約金は5,000円です。機種はどれですか？"

    assert statements(text, "ja") == ("解約金は5,000円です。",)
    assert [piece.kind for piece in pieces("I am sorry, but it is not sold.", "en")] == [
        "courtesy",
        "statement",
    ]
    assert without_courtesies("Thank you. It is free.", "en") == "It is free."
    assert without_courtesies("Thank you.", "en") == "Thank you."


def test_an_english_answer_to_a_japanese_question_is_read_as_english() -> None:
    """A bot may fall into the other language."""
    assert declines("Sorry, I do not know.", "ja")


def test_an_endless_sentence_states_something_and_is_read_in_no_time() -> None:
    """Patterns never look at a sentence beyond the limit."""
    assert [piece.kind for piece in pieces("分かりかねます" * LONGEST, "ja")] == ["statement"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_bundled_references_are_read_rightly(language: Language) -> None:
    """Every unanswerable question is declined by its reference, every complaint handed over, no other."""
    with (DEMO / "cases" / f"{language}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    assert rows
    assert [
        row["id"]
        for row in rows
        if turns_away(row["references"], language) != (row["answerable"] != "yes")
        or hands_over(row["references"], language) != (row["handover"] == "required")
    ] == []


@pytest.mark.parametrize(("language", "least"), [("ja", 0.75), ("en", 0.65)])
def test_plainly_worded_refusals_are_found(language: Language, least: float) -> None:
    """Most of them, and hardly an answer among what is found."""
    rows = fixture_rows(f"refusals_{language}.jsonl")
    found = [row for row in rows if turns_away(row["text"], language)]
    right = [row for row in found if row["refusal"]]

    assert len(right) >= least * sum(row["refusal"] for row in rows)
    assert len(right) >= 0.93 * len(found)
