"""JSON answers as named outputs: found in whatever surrounds them, numbers in one form."""

import pytest

from simulator.lab.datasets.outputs import object_within, output_text, text_at, whole_object
from simulator.text.numerals import number_text

OBJECT = {"a": "1"}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.0", "1"), ("1", "1"), ("１，０００", "1000"), ("1,000.50", "1000.5"), (" -５ ", "-5"),
        ("−3", "-3"), ("1e3", "1000"), ("-0.0", "0"), (".5", "0.5"),
        ("12345678901234567890.10", "12345678901234567890.1"),
        ("007", None), ("1,0000", None), ("1.", None), ("-", None), ("", None), ("1e999", None),
        ("３個", None), ("2024-01-01", None), ("1" * 50, None),
    ],
)  # fmt: skip
def test_numbers_have_one_form(text: str, number: str | None) -> None:
    """Width, thousands, trailing zeros and exponents make no difference; a leading zero makes it a code."""
    assert number_text(text) == number


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        ' {"a" : "１" } ',
        '```json\n{"a": 1}\n```',
        'はい。次の通りです。\n```\n{"a": 1}\n```\n以上です。',
        'まず {"b": 2} と考え、答えは {"a": 1} です。',
        '<think>{"a": 5}</think>{"a": 1}',
        '{"a": 1} ({"note": "x"})',
        '[{"a": 1}]',
        "{" * 299 + '{"a": 1}',
        '{"a": 1, "b": "x\ny"}',
    ],
)
def test_an_object_is_found_in_an_answer(text: str) -> None:
    """In a code block or between sentences; of several the last that has a wanted key."""
    found = object_within(text, ["a"])

    assert found is not None
    assert text_at(found, "a") == "1"


@pytest.mark.parametrize(
    "text",
    [
        "", "わかりません。", '{"a": 1', "{'a': 1}", '"{\\"a\\": 1}"', "[1, 2]", '{"a":' * 5000,
        "{" * 300 + '{"a": 1}', '{"a": ' + "[" * 50_000 + "]" * 50_000 + "}",
    ],
)  # fmt: skip
def test_what_is_no_json_is_none(text: str) -> None:
    """Nothing is guessed, nothing is evaluated, and no nesting breaks it."""
    assert object_within(text, ["a"]) is None


def test_a_reference_is_json_as_a_whole_or_not_at_all() -> None:
    """A sentence that quotes an object is a text."""
    assert whole_object('```json\n{"a": 1}\n```') == OBJECT
    assert whole_object('Send {"a": 1} to us.') is None
    assert whole_object('{"a": 1} {"b": 2}') is None


def test_inner_values_are_canonical_json_or_dotted_names() -> None:
    """Keys are sorted, spaces gone, numbers plain, whether they are in quotation marks or not."""
    one = whole_object('{"x": {"n": [1.50, "2.0", true, null], "city": "東京"}, "t": "1,000", "a.b": "dot"}')
    other = whole_object('{"x": {"city":"東京","n":["1.5",2,true,null]}}')
    assert one
    assert other
    assert text_at(one, "x") == text_at(other, "x") == '{"city":"東京","n":[1.5,2,true,null]}'
    assert [text_at(one, name) for name in ("x.city", "x.n.0", "x.n.4", "x.no", "t", "a.b")] == [
        "東京", "1.5", None, None, "1000", "dot",
    ]  # fmt: skip
    assert (output_text(True), output_text(None), output_text("true")) == ("true", "null", "true")


def test_half_characters_are_made_whole() -> None:
    r"""A lone surrogate that only JSON can carry would break whatever is stored or sent."""
    found = whole_object('{"\\ud800": "\\udfff\\u0000"}')

    assert found == {"\ufffd": "\ufffd\ufffd"}
