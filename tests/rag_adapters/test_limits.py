"""The settings that every adapter takes."""

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from simulator.shelves.rag_adapters._limits import LimitedBot, Limits, within

from simulator import Answer, Case, InputError, Query, Transient
from simulator.core import shelves
from simulator.runner.conversation import ask
from tests.asking import FIRST, answered, failure
from tests.servers import bot as bots
from tests.servers.bot import BotServer
from tests.servers.faults import Reply

NAMES = ["timeout", "concurrency", "retries"]


@pytest.fixture
async def server() -> AsyncIterator[BotServer]:
    """A bot that answers until a test tells it otherwise."""
    async with BotServer(lambda _: bots.bot_reply("990円です。")) as running:
        yield running


def failing(times: int, reply: Reply) -> Callable[[Any], Any]:
    """A bot's behaviour: so many failures, then an answer."""
    left = [reply] * times
    return lambda _: left.pop() if left else bots.bot_reply("990円です。")


async def connected(server: BotServer, **settings: str) -> Any:
    """The bot over http, connected as in a rehearsal."""
    return await shelves.connect("http", {"url": server.url, "answer": "data.reply", **settings}, {})


@pytest.mark.parametrize("name", shelves.adapter_names())
def test_every_adapter_takes_them(name: str) -> None:
    """Beside its own settings, with their bounds."""
    connect = shelves.connector(name)
    cases = (Case(id="c", question="q", language="ja", answer="a"),)
    required = {
        key: "x"
        for key, parameter in inspect.signature(connect).parameters.items()
        if parameter.default is parameter.empty and key != "cases"
    }
    given = {**required, "timeout": "2.5", "concurrency": "3", "retries": "1"}
    bound = shelves.adapter_arguments(name, connect, given, {"cases": cases, "chat": None})

    assert [bound[key] for key in NAMES] == [2.5, 3, 1]
    for wrong in ({"timeout": "0"}, {"concurrency": "0"}, {"retries": "-1"}, {"retries": "two"}):
        with pytest.raises(InputError, match=f"adapter {name}: --set {next(iter(wrong))}="):
            shelves.adapter_arguments(name, connect, {**required, **wrong}, {"cases": cases, "chat": None})


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_bot_is_asked_again_as_often_as_told(server: BotServer, status: int) -> None:
    """The time of the answer counts from the first attempt."""
    server.behaviour = failing(2, Reply(status=status, headers={"retry-after": "0"}))
    rag = await connected(server, retries="2")
    answer = await answered(rag)

    assert answer.text == "990円です。"
    assert len(server.requests) == 3
    assert answer.seconds > 0


@pytest.mark.parametrize(
    "reply",
    [Reply(status=400), Reply(status=401), Reply(status=404), Reply(close=True), Reply(body=b"<html>")],
)
async def test_what_would_not_change_is_not_tried_again(server: BotServer, reply: Reply) -> None:
    """Nor a question that may have been answered already."""
    server.behaviour = failing(1, reply)
    rag = await connected(server, retries="3")
    await failure(rag)

    assert len(server.requests) == 1


async def test_a_bot_that_wants_to_be_left_alone_for_long_is(server: BotServer) -> None:
    """No customer would stay: the refusal counts, at once."""
    server.behaviour = failing(1, Reply(status=429, body=b"later", headers={"retry-after": "3600"}))
    rag = await connected(server, retries="3")

    said = "HTTP 429: later (it asks for 3,600 s before another question)"
    assert await failure(rag) == ("error", said)


async def test_an_answer_is_waited_for_so_long(server: BotServer) -> None:
    """Attempts and waits together; the message is that of the rehearsal's own limit."""
    server.behaviour = bots.hangs
    rag = await connected(server, timeout="0.05")
    hung = await failure(rag)
    server.behaviour = failing(9, Reply(status=503))
    patient = await connected(server, timeout="0.05", retries="9")
    busy = await failure(patient)

    assert hung == busy == ("timeout", "no answer within 0.05 s")


async def test_a_bots_own_time_out_stays_its_own() -> None:
    """It is told from ours."""

    async def rag(_query: Query) -> Answer:
        raise TimeoutError("upstream")

    with pytest.raises(TimeoutError, match="upstream"):
        await within(Limits(timeout=5), rag)(FIRST)


async def test_so_many_are_asked_at_once() -> None:
    """Waiting for a place does not count as the bot's time."""
    active, most = 0, 0

    async def rag(_query: Query) -> Answer:
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0.01)
        active -= 1
        return Answer(text="a")

    bot = within(Limits(concurrency=2), rag)
    started = asyncio.get_running_loop().time()
    answers = await asyncio.gather(*(ask(bot, FIRST, 10) for _ in range(10)))
    took = asyncio.get_running_loop().time() - started

    assert most == 2
    # Two at a time: the times of the bot itself fill the whole twice at most; with waiting it is six times.
    assert sum(answer.seconds or 0 for answer in answers) < 3 * took


async def test_blocking_bots_have_limits_too() -> None:
    """They run on threads of their own, which do not hold up the exit."""
    threads = []

    def rag(query: Query) -> Answer:
        threads.append((threading.current_thread().daemon, time.perf_counter()))
        if len(threads) == 1:
            raise Transient("error", "HTTP 503", 0)
        return Answer(text=query.text)

    bot = within(Limits(concurrency=1, retries=1, timeout=5), rag)

    assert (await bot(FIRST)).text == "料金は？"
    assert [daemon for daemon, _ in threads] == [True, True]


@pytest.mark.parametrize(
    ("raised", "said"), [(SystemExit(3), "SystemExit: 3"), (StopIteration("x"), "StopIteration: x")]
)
async def test_a_blocking_bot_that_wants_to_end_everything(raised: BaseException, said: str) -> None:
    """It ends its own answer."""

    def rag(_query: Query) -> Answer:
        raise raised

    assert await failure(within(Limits(timeout=5), rag)) == ("error", said)


async def test_a_connect_of_ones_own_can_have_them() -> None:
    """As it stands; a setting that it has itself stays its own, and what is Transient is tried again."""
    shop = """
from simulator import Transient

class Bot:
    closed = False
    asked = 0
    async def __call__(self, query):
        Bot.asked += 1
        if Bot.asked < 3:
            raise Transient("unreachable", "HTTP 503", 0)
        return "a"
    def aclose(self):
        Bot.closed = True

async def connect(*, timeout: str = "own", **more: str):
    Bot.timeout = timeout
    return Bot()
"""
    await asyncio.to_thread(Path("shop.py").write_text, shop, encoding="utf-8")
    rag: Any = await shelves.connect(
        "shop.py:connect", {"timeout": "mine", "concurrency": "1", "retries": "2"}, {}
    )
    answer = await answered(rag)

    made: Any = type(rag.bot)
    assert type(rag) is LimitedBot
    assert answer == "a"
    assert (made.timeout, made.closed, made.asked) == ("mine", True, 3)
