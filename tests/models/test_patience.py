"""One call has so many seconds in all: its attempts, the waits between them, and what a 429 holds up."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from simulator.shelves.rag_adapters._limits import Limits, within

from simulator import Answer, Query, Transient
from simulator.core import shelves
from simulator.core.errors import ModelFailure, Outage
from simulator.core.messages import shown
from simulator.core.settings import load_settings
from simulator.models.limiter import Limiter, Pause
from simulator.models.patience import Notices, Patience, wait_after
from simulator.models.refusals import NoAnswer, Refused
from tests.asking import FIRST
from tests.scripted_models import ASKED, GOOD, connected, model_at, waiting
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer
from tests.virtual_time import run_virtually


def test_a_call_is_forgiven_four_time_outs() -> None:
    """Those that stood behind our own calls are no tries; a prompt that no server answers has an end."""
    patience = Patience(60)
    for _ in range(6):
        patience.tries += 1
        patience.spent += 1
        patience.forgive(patience.spent - 1)

    assert (patience.tries, patience.spent) == (2, 2)


def test_a_call_waits_as_long_as_it_is_asked_to_or_twice_as_long_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Up to a minute, at random; also after two waits of less than a second that were asked for in vain."""
    monkeypatch.setattr("random.uniform", lambda low, high: (low, high))
    waits: Any = wait_after

    assert [waits(None, tries) for tries in (1, 2, 6, 7, 9)] == [(0, n) for n in (1, 2, 32, 60, 60)]
    asked = {seconds: Refused(429, {"retry-after": seconds}, "") for seconds in ("0.9", "1", "90")}
    assert [waits(asked["0.9"], tries) for tries in (1, 2, 3)] == [0.9, 0.9, (0, 4)]
    assert [waits(asked["1"], tries) for tries in (2, 3)] == [1, 1]
    assert [waits(asked["90"], 1), waits(asked["90"], 1, 30)] == [90, 30]


def test_a_wait_leaves_time_for_an_attempt() -> None:
    """A second, unless the endpoint itself asks for longer; where none is left the call is given up."""
    patience, late, asked = Patience(10), NoAnswer("timeout", "late"), Refused(429, {"retry-after": "6"}, "")
    patience.spent = 4
    assert (patience.left, [patience.fitting(wait, late) for wait in (4, 9)]) == (6, [4, 5])
    assert (patience.fitting(5.5, asked), patience.gave_up) == (5.5, "")
    assert (patience.fitting(6, asked), patience.is_told) == (None, True)
    assert str(patience.gave_up) == "it asks for 6 s before another call: --patience is 10 s"

    hasty = Patience(10)
    hasty.spent = 9
    assert [hasty.fitting(wait, late) for wait in (0.9, 1)] == [0.9, None]
    assert (str(hasty.gave_up), hasty.is_told) == ("given up after 9 s: --patience is 10 s", False)
    over = Patience(10)
    over.renew(4)
    assert (over.spent, over.left, over.fitting(7, Refused(429, {"retry-after": "3"}, ""))) == (6, 4, None)
    assert str(over.gave_up) == "given up after 6 s: --patience is 10 s"
    over.renew(12)
    assert over.spent == 0
    over.renew(3)
    over.renew(None)
    assert over.spent == 0
    over.spent = 11
    assert over.left == 0


def test_patience_is_declared_once() -> None:
    """By default two minutes, or as long as one answer may take; what is given holds."""
    assert load_settings({}, environ={}).patience == 120
    assert load_settings({"timeout": 600}, environ={}).patience == 600
    assert load_settings({"timeout": 600, "patience": 5}, environ={}).patience == 5
    assert load_settings({}, environ={"REHEARSAL_PATIENCE": "7.5"}).patience == 7.5
    Path("rehearsal.toml").write_text("patience = 9\n", encoding="utf-8")
    assert load_settings({}, environ={}).patience == 9


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=429, headers={"retry-after": "86400"}),
        Reply(status=503, headers={"retry-after": "86400"}),
        Reply(status=429, body=b'{"error": {"details": [{"retryDelay": "86400s"}]}}'),
        Reply(status=429, body=b'{"error": {"message": "Please try again in 24h0m0s."}}'),
    ],
)
async def test_to_be_asked_again_tomorrow_ends_it_at_once(reply: Reply) -> None:
    """For all calls: it says how long the endpoint wants to be left alone, and is told in both languages."""
    async with OpenAIServer(lambda _: reply) as server, connected(wait=wait_after) as made:
        async with asyncio.timeout(20):
            with pytest.raises(Outage, match="it asks for 86,400 s before another call") as met:
                await model_at(server, made).say(ASKED)

    assert server.counts["chat"] == 1
    assert "--patience is 120 s" in str(met.value)
    assert "86,400秒待つように" in shown(met.value.message, "ja")


async def test_attempts_and_waits_together_are_bounded() -> None:
    """Six attempts would take .8 s and more; the call is over after its .3 s, and says why."""
    busy = Reply(status=503, delay=0.05)
    async with OpenAIServer(lambda _: busy) as server, connected(wait=waiting(0.1)) as made:
        made.patience = 0.3
        with pytest.raises(Outage, match=r"\(given up after 0 s: --patience is 0\.3 s\)"):
            await model_at(server, made).say(ASKED)

    assert server.counts["chat"] <= 3  # the last, and shortest, tells whether anything is answered


async def test_an_attempt_is_cut_where_patience_ends() -> None:
    """An endpoint that hangs is not waited for longer than that, whatever --timeout says."""
    async with OpenAIServer(lambda _: Reply(GOOD, delay=3600)) as server, connected(timeout=60) as made:
        made.patience = 0.2
        async with asyncio.timeout(20):
            with pytest.raises(ModelFailure, match=r"no reply within 0\.2 s"):
                await model_at(server, made).say(ASKED)


async def test_waiting_for_a_place_of_our_own_costs_nothing() -> None:
    """Ten calls, one at a time, take longer than the patience of each."""
    async with OpenAIServer(lambda _: Reply(GOOD, delay=0.1)) as server, connected(calls=1) as made:
        made.patience = 0.5
        said = (model_at(server, made).say([{"role": "user", "content": str(n)}]) for n in range(10))
        assert len(await asyncio.gather(*said)) == 10


async def place(limiter: Limiter, pause: Pause, patience: Patience) -> None:
    """Waits for a place, and leaves it."""
    async with limiter.slot(0, pause, patience=patience):
        pass


def test_what_a_429_holds_up_counts() -> None:
    """A call behind it waits as long as it may, and no longer; one that could not wait fails at once."""

    async def main() -> tuple[float, float, float]:
        loop = asyncio.get_running_loop()
        limiter, pause = Limiter(1), Pause()
        patient, hasty, began = Patience(120), Patience(20), loop.time()
        pause.hold(10, began)
        waiting = asyncio.create_task(place(limiter, pause, Patience(20)))
        await asyncio.sleep(0)
        limiter.hold(pause, 30)
        with pytest.raises(NoAnswer, match=r"longer than --patience allows \(20 s\)"):
            await waiting
        with pytest.raises(NoAnswer, match=r"longer than --patience allows \(20 s\)") as met:
            await place(limiter, pause, hasty)
        assert (met.value.is_transient, met.value.was_sent) == (False, False)
        at_once = loop.time() - began
        assert limiter.active == 0, "who never had a place leaves none"
        await place(limiter, pause, patient)
        waited, spent = loop.time() - began, patient.spent
        limiter.close()
        assert spent == pytest.approx(waited, abs=0.1)
        return at_once, waited, spent

    at_once, waited, _ = run_virtually(main())
    assert at_once == 0
    assert waited == pytest.approx(30, abs=0.1)


def test_a_long_wait_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for all calls that wait for an endpoint; short waits are not worth any."""

    async def main() -> None:
        notices = Notices()
        notices.waiting("a", 4.9, "short")
        for _ in range(50):
            notices.waiting("a", 60, "busy")
        notices.waiting("b", 2, "503", since=3)
        await asyncio.sleep(14.9)
        notices.waiting("b", 9, "told a moment ago")
        await asyncio.sleep(0.2)
        notices.waiting("b", 7, "503")
        await asyncio.sleep(45.9)
        notices.waiting("a", 30, "busy")

    run_virtually(main())

    lines = capsys.readouterr().err.splitlines()
    assert lines == ["waiting 60 s: busy", "waiting 2 s: 503", "waiting 7 s: 503", "waiting 30 s: busy"]


async def asked(bot: Any) -> Answer | Transient:
    """What becomes of a question."""
    try:
        return await bot(FIRST)  # type: ignore[no-any-return]
    except Transient as failure:
        return failure


def test_a_bots_retries_end_with_patience(capsys: pytest.CaptureFixture[str]) -> None:
    """It is not waited for when no attempt could follow; a long wait is told."""
    times: list[float] = []

    async def rag(_query: Query) -> Answer:
        times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(1)
        raise Transient("error", "HTTP 503", 8)

    async def main() -> Answer | Transient:
        bot: Any = within(Limits(retries=9), rag)
        bot.patience = 25
        return await asked(bot)

    failure = run_virtually(main())

    assert str(failure) == "HTTP 503 (3 attempts) (it asks for 8 s before another question)"
    assert capsys.readouterr().err == "waiting 8 s: the bot: HTTP 503\n"


async def test_a_bot_has_the_patience_of_its_run() -> None:
    """Whichever adapter asks again; one that does not has no use for it."""
    settings = {"url": "http://127.0.0.1:1/chat", "answer": "a"}
    patient: Any = await shelves.connect("http", {**settings, "retries": "2"}, {"patience": 7.0})
    plain: Any = await shelves.connect("http", settings, {"patience": 7.0})

    assert patient.patience == 7
    assert not hasattr(plain, "patience")
