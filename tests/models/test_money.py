"""Amounts as people write them, and prices of a team's own."""

from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.core.settings import JPY_PER_USD, Price, Settings, load_settings, stored_settings


def loaded(**flags: Any) -> Settings:
    """With an empty environment."""
    return load_settings(flags, environ={})


@pytest.mark.parametrize(("written", "expected"), [
    ("5", 5), (5, 5), ("5USD", 5), ("5 usd", 5), ("$5", 5), ("＄５．５", 5.5), ("5ドル", 5),
    ("1,000.50", 1000.5), ("1,234,567", 1234567), ("0.01", 0.01),
    ("800JPY", 800 / JPY_PER_USD), ("800円", 800 / JPY_PER_USD), ("¥800", 800 / JPY_PER_USD),
    ("￥１，８００", 1800 / JPY_PER_USD), ("¥800円", 800 / JPY_PER_USD),
])  # fmt: skip
def test_an_amount_is_read_as_people_write_it(written: Any, expected: float) -> None:
    """In dollars or yen, with signs, words, commas and full-width figures; it is dollars from then on."""
    assert loaded(budget=written).budget == pytest.approx(expected)


@pytest.mark.parametrize(
    "written", ["five", "$5円", "5 EUR", "0", "-1", "1e9", "nan", "0,01", "12,34", "1.000,50"]
)
def test_what_is_no_amount_is_refused(written: str) -> None:
    """In one line that begins with the flag."""
    with pytest.raises(InputError, match=r"^--budget "):
        loaded(budget=written)


def test_own_prices_come_from_tables_and_files() -> None:
    """A table of rehearsal.toml, and over it a file, whose table may stand alone."""
    Path("rehearsal.toml").write_text(
        '[prices."a"]\ninput = 1\noutput = 2\n[prices."b:7"]\ninput = 0\n', encoding="utf-8"
    )
    Path("own.toml").write_text('[a]\ninput = 150\ncurrency = "JPY"\n', encoding="utf-8")
    Path("nested.toml").write_text("[prices.c]\ninput = 3\n", encoding="utf-8")
    free, own = Price(input=0), Price(input=150, currency="JPY")

    assert loaded().prices == {"a": Price(input=1, output=2), "b:7": free}
    assert loaded(prices="own.toml").prices == {"a": own, "b:7": free}
    assert load_settings({}, environ={"REHEARSAL_PRICES": "nested.toml"}).prices["c"] == Price(input=3)
    assert stored_settings(loaded(prices="own.toml").stored_values()).prices["a"] == own


@pytest.mark.parametrize(("text", "said"), [
    (None, "no such file"), ("[", "not valid TOML"), ("[a]\noutput = 1", "a input: missing"),
    ("[a]\ninput = -1", "must be at least"), ("[a]\ninput = 1\ncurrency = 'EUR'", "USD, JPY"),
    ("[a]\ninput = 1\nper = 2", "a per"), ("a = 1", "a: "),
])  # fmt: skip
def test_prices_that_make_no_sense_are_told(text: str | None, said: str) -> None:
    """In one line that says where, and for a wrong entry how a right one looks."""
    if text is not None:
        Path("own.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"^(--prices |own\.toml: )") as met:
        loaded(prices="own.toml")

    assert said in str(met.value)
    assert "\n" not in str(met.value)
