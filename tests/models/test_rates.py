"""Requests and tokens a minute hold in every minute."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.models.rates import MINUTE, TOKENS, Rates, Window
from simulator.models.refusals import wait_asked_for
from tests.properties import examples

MESSAGES = {"messages": [{"role": "user", "content": "料金はいくらですか。" * 30}]}


@given(most=st.integers(1, 40), calls=st.lists(st.tuples(st.floats(0, 30), st.integers(1, 60)), max_size=60))
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


def test_what_is_older_than_a_minute_leaves_the_window() -> None:
    """Nobody waits for it; what is younger is waited for until it leaves."""
    window = Window(TOKENS, 1)
    window.take(1, 0.0)
    assert window.delay(1, 100.0) == 0
    window.take(1, 100.0)
    assert window.delay(1, 130.0) == MINUTE - 30


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
    rates.spent(rates.take(10, 0.0), 10, 1000)
    assert rates.estimate(MESSAGES) == pytest.approx(before + 50), "a sixteenth of the way from 200 to 1000"
    for _ in range(200):
        rates.spent(rates.take(10, 0.0), 10, 1000)
    assert rates.estimate(MESSAGES) == pytest.approx(before + 800, rel=0.01)
    assert rates.estimate({"input": ["一" * 300]}) == pytest.approx(300, rel=0.05)


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
