"""Curly and straight marks are one to every detector: what a sentence does and says is the same."""

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core.types import Language
from simulator.privacy.redactor import Redactor
from simulator.text import phrases
from simulator.text.figures import figures
from simulator.text.typography import codes, half_width, language_of, straight
from simulator.users.guard import Guard
from tests.paths import FIXTURES, fixture_rows

LANGUAGES: tuple[Language, ...] = ("ja", "en")
VARIANTS = {"'": "‘’ʼ＇", '"': "“”„＂", "-": "‐‑‒–−－—―"}
GUARDS = {language: Guard(language) for language in LANGUAGES}


def curly(text: str, seed: int) -> str:
    """The text with another sign for every ' " and -."""
    lot = random.Random(seed)
    return "".join(lot.choice(VARIANTS.get(sign, sign)) for sign in text)


def rows(name: str, key: str) -> list[str]:
    return [str(row[key]) for row in fixture_rows(name)]


def acts(language: Language) -> list[str]:
    return rows(f"refusals_{language}.jsonl", "text")


def personal(language: Language) -> list[str]:
    lines = (FIXTURES / f"personal_{language}.tsv").read_text(encoding="utf-8").splitlines()
    return [re.sub(r"\{\w+:([^{}]*)\}", r"\1", line.split("\t")[1]) for line in lines[::4]]


def masked(text: str, language: Language) -> dict[str, int]:
    return Redactor().redact(text, language).counts


Detector = Callable[[str, Language], object]
Texts = Callable[[Language], list[str]]


def differing(detect: Detector, texts: Texts, language: Language) -> list[tuple[str, str]]:
    """The texts of which something else is found when other signs stand for ' " and -, with these."""
    return [
        (text, changed)
        for seed, text in enumerate(texts(language))
        if (changed := curly(text, seed)) != text and detect(changed, language) != detect(text, language)
    ]


DETECTORS: dict[str, tuple[Detector, Texts]] = {
    "refusal": (phrases.turns_away, acts),
    "handover": (phrases.hands_over, acts),
    "pieces": (lambda text, language: [piece.kind for piece in phrases.pieces(text, language)], acts),
    "figures": (
        lambda text, _: [figure.value for figure in figures(text)],
        lambda language: rows(f"facts_{language}.jsonl", "answer"),
    ),
    "codes": (lambda text, _: codes(text), lambda language: rows(f"facts_{language}.jsonl", "answer")),
    "guard": (
        lambda text, language: GUARDS[language].broken_rule(text, ()),
        lambda language: rows(f"guard_lines_{language}.jsonl", "text"),
    ),
    "personal data": (masked, personal),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", list(DETECTORS))
def test_a_detector_says_the_same_of_curly_and_straight_marks(name: str, language: Language) -> None:
    """Over its own test sentences, each with other signs for its apostrophes, quotation marks and hyphens."""
    assert differing(*DETECTORS[name], language) == []


def test_a_curly_apostrophe_makes_no_answer_of_a_refusal() -> None:
    """As phones and word processors write it; and what takes no person in is no handover."""
    assert phrases.declines("I don’t know whether that is possible.", "en")
    assert phrases.declines("We don’t have any information about that.", "en")
    assert not phrases.hands_over("I can’t transfer you to an agent. The fee is 300 yen.", "en")


@given(st.text(alphabet="ab1 .,。ー〜'’‘\"“”-‐—―−@/あ漢", max_size=40))
def test_every_sign_keeps_its_place(text: str) -> None:
    """One character for one, ー and 〜 untouched, and once is enough."""
    plain = straight(text)

    assert len(plain) == len(text)
    assert straight(plain) == plain
    kept = [(a, b) for a, b in zip(text, plain, strict=True) if a not in "’‘“”‐—―−"]
    assert all(a == b for a, b in kept)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ask us—desk@example.com", None), ("see shop.example—it is new", None), ("E-205—what now", None),
        ("E-20—what now", "E-20-what now"), ("E-205—5", "E-205-5"),
        ("it is new—and blue", "it is new-and blue"),
        ("desk@example.com — ask", "desk@example.com - ask"), ("10–20", "10-20"), ("Ａ—１", "Ａ-１"),
    ],
)  # fmt: skip
def test_a_long_dash_beside_an_address_or_a_code_parts_words(text: str, plain: str | None) -> None:
    """A hyphen would join them; everywhere else one sign stands for all."""
    assert straight(text) == (plain or text)


def test_width_keeps_every_place() -> None:
    """Full-width forms become plain ones, one character for one; kana and kanji are let alone."""
    text = "Ａ１－２　￥５０、ルーター（光）。"

    assert half_width(text) == "A1-2 ¥50、ルーター(光)。"
    assert len(half_width(text)) == len(text)


def test_codes_are_counted_in_one_spelling() -> None:
    """Width and case make no difference, amounts are no codes; addresses and telephone numbers count."""
    assert codes("e-205、Ｅ－２０５、3,300円、24") == {"e-205": 2}
    assert codes("0120-000-371へ9:00から、help@mizunara.exampleへ") == {
        "0120-000-371": 1, "9:00": 1, "help@mizunara.example": 1,
    }  # fmt: skip


def test_kana_or_kanji_make_a_text_japanese() -> None:
    """Of any width; signs and letters alone are English."""
    assert [*map(language_of, ("WiFiが遅い", "料金", "ﾙｰﾀｰ", "café 10€", "?"))] == ["ja"] * 3 + ["en"] * 2
