"""Codes are found however typed, and compared as they are meant."""

from simulator.text.spelling import codes
from simulator.text.typography import half_width


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
