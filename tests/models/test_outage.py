"""A model that answers nobody is waited for by all, asked by one, and lost once --patience is over."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from simulator.core.clock import TimeLimit
from simulator.core.errors import ModelFailure, Outage, OutOfPatience
from simulator.models import patience
from simulator.models.client import SHORTEST
from simulator.models.patience import Availability, Notices
from tests.scripted_models import ASKED, connected, model_at, waiting
from tests.servers.faults import BAD_GATEWAY
from tests.servers.openai import OpenAIServer, Reply
from tests.virtual_time import run_virtually

GONE = ModelFailure("error", "500: gone")


def away(patience: float = 120.0, wait: float | None = None) -> Availability:
    """A model that has failed often enough."""
    there = Availability("http://a/v1", patience, Notices().waiting)
    for _ in range(5):
        assert not there.is_away
        there.failed(GONE, wait)
    assert there.is_away
    return there


async def call(there: Availability, name: str, back_at: float, told: list[tuple[str, float]]) -> str:
    """One that waits, and asks when it is its turn; the model is back at that second of the loop."""
    clock = asyncio.get_running_loop().time
    while await there.turn():
        told.append((name, round(clock() - 1000, 1)))
        try:
            if clock() - 1000 >= back_at:
                there.answered()
                break
            there.failed(GONE, None)
        finally:
            there.asked()
    return name


def held(names: Sequence[str], back_at: float, **options: Any) -> tuple[list[Any], list[tuple[str, float]]]:
    """What becomes of calls that begin together, and who asked when."""
    told: list[tuple[str, float]] = []

    async def main() -> list[Any]:
        there = away(**options)
        calls = [call(there, name, back_at, told) for name in names]
        return await asyncio.gather(*calls, return_exceptions=True)

    return run_virtually(main()), told


def test_one_asks_for_all_after_growing_pauses(capsys: pytest.CaptureFixture[str]) -> None:
    """Each time another one; with the first answer all go on, and who watches is told of both."""
    calls, told = held("abc", back_at=13)

    assert calls == ["a", "b", "c"]
    assert told == [("a", 1.0), ("b", 3.0), ("c", 7.0), ("a", 12.0), ("b", 17.0)]
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(
        "waiting 4 s: http://a/v1 answers no call; no conversation begins until it does"
    )
    assert said[0].endswith("for 117 s at most (--patience): 500: gone")
    assert said[-1] == "http://a/v1 answers again, after 17 s."


def test_after_patience_all_are_told_that_it_is_lost() -> None:
    """The last try is as late as it may be; whoever comes later is told at once."""
    calls, told = held("ab", back_at=1000, patience=10)

    assert [type(each) for each in calls] == [Outage, Outage]
    assert str(calls[0]) == "500: gone (no call was answered for 10 s (--patience))"
    assert [at for _, at in told] == [1.0, 3.0, 7.0, 9.0]


def test_a_wait_that_is_asked_for_is_kept_or_too_long() -> None:
    """Nobody asks before; where it goes beyond patience nobody waits for it."""
    assert held("a", back_at=0, wait=40.0)[1] == [("a", 40.0)]
    calls, told = held("a", back_at=0, wait=400.0)

    assert told == []
    assert "it asks for 400 s before another call: --patience is 120 s" in str(calls[0])


def test_nothing_begins_while_it_is_away() -> None:
    """What waits to begin does so with the first answer, or is told that there will be none."""

    async def main(back_at: float) -> tuple[float, Any]:
        there, told = away(patience=20), list[tuple[str, float]]()
        calling = asyncio.create_task(call(there, "a", back_at, told))
        await asyncio.sleep(0)
        [began] = await asyncio.gather(there.back(), return_exceptions=True)
        await asyncio.gather(calling, return_exceptions=True)
        return asyncio.get_running_loop().time() - 1000, began

    assert run_virtually(main(back_at=5)) == (7.0, None)
    lost = run_virtually(main(back_at=99))
    assert lost[0] == pytest.approx(19)
    assert isinstance(lost[1], Outage)


async def test_an_answer_after_all_lets_calls_go_on() -> None:
    """One that was under way when the model was given up: then nobody is told that it is lost."""
    there = away()
    there.lost(GONE)
    for waits in (there.turn, there.back):
        with pytest.raises(Outage, match="500: gone"):
            await waits()
    there.answered()

    assert await there.turn() is None
    await there.back()


def test_who_asks_may_be_cancelled() -> None:
    """Then the next one asks; with nobody left what waits to begin does, and asks itself."""

    async def main() -> list[tuple[str, float]]:
        there, told = away(), list[tuple[str, float]]()
        first = asyncio.create_task(call(there, "a", 0, told))
        second = asyncio.create_task(call(there, "b", 0, told))
        await asyncio.sleep(0.5)
        first.cancel()
        await second
        there = away()
        only = asyncio.create_task(call(there, "c", 0, told))
        await asyncio.sleep(0.5)
        opening = asyncio.create_task(there.back())
        await asyncio.sleep(0)
        only.cancel()
        await opening
        await there.back()
        return told

    assert run_virtually(main()) == [("b", 1.0)]


def test_the_time_of_a_bot_is_not_that_of_an_outage() -> None:
    """A bot that asks a model of ours has its whole time for an answer once that is back."""

    async def main() -> tuple[float, bool]:
        told: list[tuple[str, float]] = []
        async with TimeLimit(10) as limit:
            await call(away(), "a", 50, told)
            await asyncio.sleep(9)
        return limit.elapsed, limit.expired()

    elapsed, expired = run_virtually(main())
    assert (round(elapsed, 1), expired) == (9.0, False)


@pytest.mark.parametrize(
    "failing",
    [Reply(status=500), Reply(status=429), Reply(close=True), BAD_GATEWAY],
)
async def test_calls_in_flight_wait_for_an_endpoint(failing: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it fails with, twenty calls are all answered, and in between few ask."""
    monkeypatch.setattr(patience, "FIRST", 0.0)
    failures = 30

    def reply(_request: Any) -> str | Reply:
        return failing if server.counts["chat"] <= failures else "yes"

    async with OpenAIServer(reply) as server, connected(calls=20) as made:
        model = model_at(server, made)
        asked = (model.say([{"role": "user", "content": str(n)}]) for n in range(20))
        said = await asyncio.gather(*asked)

    assert {text for text, _ in said} == {"yes"}
    assert server.counts["chat"] <= failures + 20


async def test_a_proxy_that_answers_for_it_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an endpoint that has answered before, all calls wait while there is a page to log in at."""
    monkeypatch.setattr(patience, "FIRST", 0.0)

    def reply(_request: Any) -> str | Reply:
        page = Reply(body=b"<html>log in</html>", headers={"content-type": "text/html"})
        return page if 1 < server.counts["chat"] <= 50 else "yes"

    async with OpenAIServer(reply) as server, connected(calls=20) as made:
        model = model_at(server, made)
        await model.say(ASKED)
        said = await asyncio.gather(*(model.say([{"role": "user", "content": str(n)}]) for n in range(20)))

    assert {text for text, _ in said} == {"yes"}


async def test_an_endpoint_that_stays_away_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the failure of a single call; who asks afterwards is told so without asking."""
    monkeypatch.setattr(patience, "FIRST", 0.0)
    async with OpenAIServer(lambda _: Reply(status=500)) as server, connected() as made:
        made.patience = 1.2
        with pytest.raises(Outage, match=r"500: .* \(no call was answered for 1\.2 s \(--patience\)\)"):
            await model_at(server, made).say(ASKED)
        before = server.counts["chat"]
        with pytest.raises(Outage):
            await model_at(server, made).say(ASKED)

    assert server.counts["chat"] == before


async def test_a_request_that_alone_fails_is_no_outage() -> None:
    """Where patience is short, too: the endpoint answers something else, and the run goes on."""

    def at_fault(request: Any) -> str | Reply:
        return Reply(status=500) if request["messages"] == ASKED else "OK"

    async with OpenAIServer(at_fault) as server, connected(wait=waiting(0.2)) as made:
        made.patience = 0.3
        with pytest.raises(OutOfPatience) as met:
            await model_at(server, made).say(ASKED)
        await made.back()

    assert not isinstance(met.value, Outage)
    assert [request.body["messages"][0]["content"] for request in server.requests].count(SHORTEST) == 1
