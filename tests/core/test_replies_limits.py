"""Replies without measure: deep, long, endless ones are read or refused, in no time."""

import json

import pytest

from tests.core.test_replies import GOOD, outcome


@pytest.mark.parametrize("depth", [100, 980, 1000, 3000])
@pytest.mark.parametrize("key", ["reason", "result"])
def test_deep_replies_are_refused(key: str, depth: int) -> None:
    """However deep lists and objects lie in each other, on either side of the recursion limit."""
    for opening, closing in (("[", "]"), ('{"a":', "}"), ('{"reason":', "}")):
        inner = opening * depth + "1" + closing * depth
        for text in (f'{{"{key}": {inner}}}', f'{{"{key}": {inner},}}', f'{{"{key}": {inner}'):
            assert outcome(text) is None


HUGE = {
    "long reason": '{"reason": "' + "長い。" * 70_000 + '", "grade": 4}',
    "long prose": "長い。" * 70_000 + GOOD,
    "long thought": "<think>" + "{長い。" * 50_000 + "</think>" + GOOD,
    "deep lists": '{"reason": ' + "[" * 200_000,
    "lists of objects": "[{" * 100_000,
    "deep and closed": '{"reason": ' + "[" * 50_000 + "]" * 50_000 + ', "grade": 4}',
    "quotes": '"' * 200_000,
    "open string of escapes": '{"reason": "' + '\\"' * 100_000,
    "commas": '{"reason": 1' + ", " * 100_000,
    "fences": "```json\n" * 25_000,
    "thoughts and ends": "<think></think>" * 13_000,
    "digits": '{"reason": "ok", "grade": ' + "4" * 200_000 + "}",
    "many wrappings": '{"A b": {"x": 1}}\n' * 20_000 + GOOD,
    "long python": "{'reason': '" + "長い" * 150_000 + "', 'grade': 4}",
    "long encoded": json.dumps('{"reason": "' + "長い" * 150_000 + '", "grade": 4}'),
    "python quotes": "{'reason': '" + "a'" * 100_000,
    "typographic openings": "{“" * 100_000,
    "comments": '{"reason": 1, ' + "//" * 150_000,
    "hashes": '{"reason": 1, ' + " #" * 150_000,
    "bracketed thoughts": "[THINK]" * 40_000,
    "wide braces": "｛" * 300_000,
    "spaces in a grade": '{"reason": "ok", "grade": "grade' + " " * 300_000 + 'x"}',
    "wrappings": '{"result": ' * 30_000,
    "lists of verdicts": "[" + '{"reason": "ok", "grade": 4},' * 10_000 + "{}]",
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_replies_are_read_or_refused(name: str) -> None:
    """200 to 400 kB of anything: none of it keeps the reader busy until the limit of a test."""
    read = outcome(HUGE[name])

    assert (read or {}).get("grade", 4) == 4
    assert (read is not None) == name.startswith(("long", "many"))
