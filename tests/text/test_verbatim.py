"""Codes, addresses, numbers and negations are found however typed, and compared as they are meant."""

import time

import pytest

from simulator.text.spelling import codes, exact_spans, is_same_matter
from simulator.text.typography import half_width


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("E-205とＥ－１０１が消えません", ["E-205", "Ｅ－１０１", "ません"]),
        ("0120-000-371に9:00から", ["0120-000-371", "9:00"]),
        ("お客様番号はA123456で、10GBです", ["A123456", "10GB"]),
        ("3,300円と１万２千円、$20 and 20 dollars", ["3,300円", "１万２千円", "$20", "20 dollars"]),
        ("help@mizunara.exampleへ送った", ["help@mizunara.example"]),
        ("https://a.example/x?y=1 と www.a.example/faq", ["https://a.example/x?y=1", "www.a.example/faq"]),
        ("I can't log in, it does not work", ["can't", "not"]),
        ("届かないし、無料でもない", ["ない", "無", "ない"]),
        ("Wi-Fi 6を2台、5月から", []),
    ],
)
def test_what_must_stay_is_found(text: str, parts: list[str]) -> None:
    """Error codes, numbers with marks in them, amounts, addresses and negations, full-width ones too."""
    assert [text[start:end] for start, end in exact_spans(text)] == parts


def test_width_keeps_every_place() -> None:
    """Full-width forms become plain ones, one character for one; kana and kanji are let alone."""
    text = "Ａ１－２　￥５０、ルーター（光）。"

    assert half_width(text) == "A1-2 ¥50、ルーター(光)。"
    assert len(half_width(text)) == len(text)


def test_codes_are_counted_in_one_spelling() -> None:
    """Width and case make no difference, amounts are no codes."""
    assert codes("e-205、Ｅ－２０５、3,300円、24") == {"e-205": 2}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("5月に解約したい", "５月にかいやくしたい", True),
        ("E-205が消えません", "E-206が消えません", False),
        ("料金はかかりません", "料金はかかります", False),
        ("3,300円です", "3,800円です", False),
        ("2年で3回", "3年で2回", False),
        ("It does not work", "It does work", False),
        ("24 months", "24 moths", False),
    ],
)
def test_the_same_matter_has_the_same_facts(one: str, other: str, same: bool) -> None:
    """Another width or spelling is the same; another number, unit, code or a lost negation is not."""
    assert is_same_matter(one, other) is same


@pytest.mark.parametrize("text", ["1,", "1万", "ません", "なく", "分からないが、", "a@b."])
def test_hostile_lines_are_compared_in_no_time(text: str) -> None:
    """Rows of figures and of negations: not read again from each of them."""
    line, started = text * (20_000 // len(text)), time.process_time()

    assert is_same_matter(line, line)
    assert time.process_time() - started < 3
