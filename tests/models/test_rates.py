"""Requests and tokens a minute: configured ones hold in every minute, reported ones are used with care."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.models.limiter import (
    LONGEST_REPORTED_WAIT,
    REQUESTS,
    TOKENS,
    Bucket,
    Rates,
    Window,
    seconds_in,
    wait_asked_for,
)
from tests.properties import examples

MESSAGES = {"messages": [{"role": "user", "content": "料金はいくらですか。" * 30}]}


def headers(kind: str, limit: object, left: object, reset: str = "") -> dict[str, str]:
    """The three headers of a kind."""
    values = {"limit": limit, "remaining": left, "reset": reset}
    return {f"x-ratelimit-{what}-{kind}": str(value) for what, value in values.items()}


@given(
    most=st.integers(1, 40),
    calls=st.lists(st.tuples(st.floats(0, 30), st.integers(1, 60)), max_size=60),
)
@settings(max_examples=examples(60), deadline=None)
def test_no_minute_takes_more_than_is_given(most: int, calls: list[tuple[float, int]]) -> None:
    """However calls arrive: calls that wait for the delay stay within the limit in every minute."""
    window, now, taken = Window(TOKENS, most), 0.0, list[tuple[float, int]]()
    for pause, amount in calls:
        now += pause
        while (wait := window.delay(amount, now)) > 0:
            now += wait
        window.take(amount, now)
        taken.append((now, amount))
        within = sum(each for at, each in taken if at > now - 60)
        assert within <= most or within == amount, "only one that is larger than the limit, and alone"


def test_estimates_are_corrected_by_what_was_used() -> None:
    """A call that took fewer tokens than estimated makes room at once; one that failed took none."""
    rates = Rates([Window(TOKENS, 1000)])
    first, second = rates.take(900, 0.0), rates.take(100, 0.0)
    assert rates.delays(300, 1.0)

    rates.spent(first, 300, 100)
    assert not rates.delays(500, 1.0)
    assert rates.delays(501, 1.0)
    rates.spent(second)
    assert not rates.delays(600, 1.0)


def test_the_estimate_counts_prompt_and_reply_and_learns() -> None:
    """Nothing where nobody limits tokens; otherwise by size, with replies as long as those that came."""
    assert Rates().estimate(MESSAGES) == 0
    rates = Rates([Window(TOKENS, 10_000)])
    before = rates.estimate(MESSAGES)
    assert 300 < before < 900
    for _ in range(200):
        rates.spent(rates.take(10, 0.0), 10, 1000)
    assert rates.estimate(MESSAGES) == pytest.approx(before + 800, rel=0.01)
    assert rates.estimate({"input": ["一" * 300]}) == pytest.approx(300, rel=0.05)


def test_calls_slow_down_before_they_are_refused() -> None:
    """With two of sixty left and a second for each to come back, the third call waits that second."""
    rates = Rates()
    rates.update(rates.take(0, 0.0), headers("requests", 60, 2, "58s"), 0.0)
    rates.take(0, 0.0)
    rates.take(0, 0.0)

    assert list(rates.delays(0, 0.0).values()) == [pytest.approx(1)]
    assert not rates.delays(0, 1.01)


def test_an_answer_that_comes_late_tells_nothing_new() -> None:
    """The report to a newer call is kept."""
    rates = Rates()
    slow, quick = rates.take(0, 0.0), rates.take(0, 0.0)
    rates.update(quick, headers("requests", 60, 0, "60s"), 1.0)
    rates.update(slow, headers("requests", 60, 59, "1s"), 2.0)

    assert rates.delays(0, 1.5)


def test_a_limit_by_the_day_is_tried_after_a_minute() -> None:
    """Nobody waits for hours on the word of a header; the endpoint itself may refuse then."""
    bucket = Bucket(REQUESTS)
    bucket.update(headers("requests", 200, 0, "24h"), 0, 0.0)

    assert bucket.delay(1, 0.0) == LONGEST_REPORTED_WAIT
    assert bucket.delay(1, 59.0) == 1
    assert bucket.delay(1, 60.0) == 0
    bucket.take(1, 60.0)
    assert bucket.delay(1, 60.0) == LONGEST_REPORTED_WAIT


@pytest.mark.parametrize(
    ("limit", "left"),
    [("", "5"), ("0", "0"), ("-1", "-1"), ("60", "61"), ("60", "-3"), ("nan", "1"), ("x", "1")],
)
def test_headers_that_make_no_sense_are_not_believed(limit: str, left: str) -> None:
    """Some gateways send zeros for what they do not meter."""
    bucket = Bucket(REQUESTS)

    assert not bucket.update(headers("requests", limit, left, "1s"), 0, 0.0)
    assert not bucket.is_known


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1), ("6m0s", 360), ("20ms", 0.02), ("1h2m3.5s", 3723.5), ("12", 12), ("", None), ("soon", None)],
)
def test_durations_are_read_as_endpoints_write_them(text: str, seconds: float | None) -> None:
    """Words of OpenAI, Groq and Azure."""
    assert seconds_in(text) == (None if seconds is None else pytest.approx(seconds))


def test_milliseconds_are_more_exact_than_seconds() -> None:
    """retry-after-ms goes first; neither is no wait asked for."""
    assert wait_asked_for({"retry-after-ms": "250", "retry-after": "1"}) == 0.25
    assert wait_asked_for({}) is None
    assert math.isinf(Bucket(TOKENS).most)
