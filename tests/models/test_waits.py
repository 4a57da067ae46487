"""How long an endpoint asks to be left alone, in whichever words."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.models.refusals import wait_asked_for
from tests.properties import examples


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Please retry in 25.56s.", 25.56),
        ("Rate limit reached for gpt-4o. Please try again in 1m3s. Visit the site to learn more.", 63),
        ("Please try again in 120ms.", 0.12),
        ("try again in 1h2m3.5s", 3723.5),
        ("You must wait at least 10 seconds between requests.", 10),
        ("Please wait 2 minutes and 5 seconds.", 125),
        ("Retry-After: 30", 30),
        ("quota exceeded retry_delay {\n  seconds: 25\n}", 25),
        ("25秒後に再試行してください。", 25),
        ("混み合っています。1分3秒後にお試しください。", 63),
        ("Your window resets in 12 seconds", 12),
        ("retry after 2 hours, 1 minute", 7260),
        ("retry after 1 day", 86_400),
        ("available in 250 milliseconds", 0.25),
        ("try again in 5s, or wait 9s to be sure", 9),
        ("2時間後に再試行してください。", 7200),
        ("1日間待ち", 86_400),
        ("5分钟后重试", 300),
        ("2분 후 다시 시도", 120),
        ("请在 20 秒后重试", 20),
        ("20초 후 다시 시도", 20),
        ("1分あたり10回までです。30秒お待ちください。", 30),
        ("60秒あたりの上限に達しました。", None),
        ("Rate limit reached: 10 requests per minute. Please wait until the next minute.", None),
        ("We retried 3 times", None),
        ("", None),
    ],
)
def test_a_wait_is_read_in_words(words: str, seconds: float | None) -> None:
    """In English and Japanese, by itself or within an error."""
    expected = None if seconds is None else pytest.approx(seconds)
    assert wait_asked_for({}, words) == expected
    assert wait_asked_for({}, json.dumps({"error": {"message": words}}, ensure_ascii=False)) == expected


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"error": {"message": "retry in 25.5s", "details": [{"a": 1}, {"retryDelay": "25s"}]}}, 25),
        ([{"error": {"details": [{"retryDelay": {"seconds": "3", "nanos": 500000000}}]}}], 3.5),
        ({"message": "You are being rate limited.", "retry_after": 12.5}, 12.5),
        ({"retryAfterMs": 1500}, 1.5),
        ({"error": "Model m is currently loading", "estimated_time": 20.0}, 20),
        ({"error": {"metadata": {"retry_after_s": 4}}}, 4),
        ({"retry_after": "1e999"}, None),
        ({"retry_after": True}, None),
        ({"retry_after": -1}, None),
        ({"retry_after": 0}, 0),
        ({"resetIn": "1m"}, 60),
        ({"wait_ms": 500}, 0.5),
        ({"retry-delay-milliseconds": 50}, 0.05),
        ({"retryDelay": {"seconds": 3}}, 3),
        ({"retryDelay": {"nanos": 500_000_000}}, 0.5),
        ({"retryDelay": {"seconds": "soon"}}, None),
        ({"retryDelay": {"seconds": -1}}, None),
        ({"retryDelay": {"nanos": "few"}}, None),
        ({"retryDelay": None, "retryAfter": 2}, 2),
        ({"limit": 30}, None),
    ],
)
def test_a_wait_is_read_in_a_field(body: Any, seconds: float | None) -> None:
    """As Google and gateways send it."""
    assert wait_asked_for({}, json.dumps(body)) == seconds


def test_a_header_goes_before_the_body() -> None:
    """It was made for this; where it holds none, the body is read."""
    assert wait_asked_for({"retry-after": "3"}, "try again in 9s") == 3
    assert wait_asked_for({"retry-after": "soon"}, "try again in 9s") == 9
    assert wait_asked_for({"retry-after": "12s"}) == 12
    assert wait_asked_for({"x-ms-retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert wait_asked_for({"ratelimit-reset": "30"}) == 30
    assert wait_asked_for({"ratelimit-reset": "30"}, "try again in 9s") == 9
    assert wait_asked_for({"retry-after": "-1"}, "try again in 9s") == 9


def test_only_the_beginning_of_a_body_is_read() -> None:
    """4,000 characters: a body may be as long as a page."""
    words = "try again in 7s"

    assert wait_asked_for({}, words.rjust(4_000)) == 7
    assert wait_asked_for({}, words.rjust(4_001)) is None


WORDS = st.lists(
    st.sampled_from(
        ["retry", "again in ", "wait ", "9" * 40, "1.5", "m", "s", " and ", "秒", "後", '{"', '":', "{"]
    )
)


@given(body=st.text(max_size=200) | WORDS.map("".join))
@settings(max_examples=examples(200), deadline=None)
def test_whatever_a_body_holds_is_a_wait_or_none(body: str) -> None:
    """Never an error, nor a number that cannot be waited for."""
    seconds = wait_asked_for({}, body)
    assert seconds is None or 0 <= seconds < float("inf")


def test_milliseconds_are_more_exact_than_seconds() -> None:
    """retry-after-ms goes first; neither is no wait asked for."""
    assert wait_asked_for({"retry-after-ms": "250", "retry-after": "1"}) == 0.25
    assert [wait_asked_for({"retry-after-ms": ms, "retry-after": "1"}) for ms in ("0", "-1")] == [0, 1]
    assert wait_asked_for({"retry-after": "0"}) == 0
    assert wait_asked_for({}) is None


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("Sat, 21 Nov 2026 09:00:30 GMT", 30),
        ("Sat, 21 Nov 2026 18:00:30 +0900", 30),
        ("Sat, 21 Nov 2026 09:00:30 -0000", 30),
        ("Sat, 21 Nov 2026 09:00:00 GMT", 0),
        ("Sat, 21 Nov 2026 08:59:59 GMT", None),
    ],
)
def test_a_date_is_read_by_the_clock_of_whoever_sent_it(asked: str, seconds: float | None) -> None:
    """Whatever this machine's clock says; what is over is no wait asked for."""
    sent = {"date": "Sat, 21 Nov 2026 09:00:00 GMT", "retry-after": asked}

    assert wait_asked_for(sent) == seconds
