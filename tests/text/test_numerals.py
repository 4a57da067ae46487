"""Numbers as people write them."""

import pytest

from simulator.text.numerals import value_of


@pytest.mark.parametrize(
    ("numeral", "value"),
    [
        ("1万5千", 15_000),
        ("二千二十四", 2024),
        ("二〇二四", 2024),
        ("2億3,000万", 230_000_000),
        ("三百三", 303),
        ("twenty-four", 24),
        ("two hundred thousand", 200_000),
        ("万", None),
    ],
)
def test_numerals_have_a_value(numeral: str, value: int | None) -> None:
    """Kanji by place or by power, scales behind figures, English words."""
    assert value_of(numeral) == value
