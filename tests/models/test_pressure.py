"""What an endpoint bears decides how many calls it gets at once; finding it out costs no call."""

import asyncio
import contextlib
from typing import Any

import pytest

from simulator.core.errors import ModelFailure, Outage
from simulator.models import patience
from simulator.models.connections import ATTEMPTS
from tests.scripted_models import ASKED, GOOD, connected, model_at, waiting
from tests.servers.openai import OpenAIServer, Reply


class OneByOne:
    """A server with one slot, which also goes on with calls that nobody waits for any more."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.at_once, self.most = seconds, 0, 0
        self._slot = asyncio.Lock()

    async def _work(self) -> None:
        async with self._slot:
            await asyncio.sleep(self.seconds)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Each request on a connection, in turn."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
                )
                await reader.readexactly(int(length.split(b":")[1]))
                self.at_once += 1
                self.most = max(self.most, self.at_once)
                await self._work()
                self.at_once -= 1
                body = b'{"choices": [{"message": {"content": "yes"}}]}'
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        writer.close()


async def said_by_all(model: Any, calls: int) -> list[Any]:
    """What becomes of so many calls at once."""
    asked = (model.say([{"role": "user", "content": str(n)}]) for n in range(calls))
    return await asyncio.gather(*asked, return_exceptions=True)


async def test_a_server_with_one_slot_answers_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 25 calls at once most would be late twice, and then given up; so few are at the server at once."""
    monkeypatch.setattr(patience, "FIRST", 0.1)
    monkeypatch.setattr(patience, "LAST", 0.1)
    served = OneByOne(0.06)
    server = await asyncio.start_server(served.answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server, connected(calls=64, timeout=0.5, wait=waiting(0.01)) as made:
        made.patience = 1.0
        said = await said_by_all(model_at(url, made), 25)

    assert [each for each in said if isinstance(each, Exception)] == []
    assert served.most < 20


async def test_a_call_that_never_comes_is_given_up_though_others_are_answered() -> None:
    """It is excused a few times for those that stood before it, and then counts as any other."""

    def reply(request: Any) -> str | Reply:
        return Reply(GOOD, delay=3600) if request["messages"] == ASKED else "yes"

    async with OpenAIServer(reply) as server, connected(timeout=0.1) as made:
        made.patience = 0.3
        model = model_at(server, made)
        hanging = asyncio.create_task(model.say(ASKED))
        async with asyncio.timeout(30):
            while not hanging.done():
                await said_by_all(model, 1)
        with pytest.raises(ModelFailure, match="no reply within") as met:
            await hanging

    assert not isinstance(met.value, Outage)


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_an_endpoint_that_is_only_busy_is_asked_until_patience_ends(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not six times; also where it answers others, so that the model is not away."""
    monkeypatch.setattr(patience, "IN_A_ROW", 1000)

    def reply(_request: Any) -> str | Reply:
        return Reply(status=status) if server.counts["chat"] <= 3 * ATTEMPTS else GOOD

    async with OpenAIServer(reply) as server, connected() as made:
        assert (await model_at(server, made).say(ASKED))[0] == GOOD

    assert server.counts["chat"] == 3 * ATTEMPTS + 1


@pytest.mark.parametrize(
    "failing", [Reply(status=429), Reply(status=503), Reply(status=504), Reply(GOOD, delay=3600)]
)
async def test_busy_and_late_answers_lower_the_calls_in_flight(failing: Reply) -> None:
    """As a 429 does: half of them for each round."""
    async with OpenAIServer(lambda _: failing) as server, connected(timeout=0.3) as made:
        made.attempts = 1
        model = model_at(server, made)
        limiter = made.limiter(model.endpoint)
        before = limiter.allowed
        await said_by_all(model, 3)

        assert limiter.allowed == before / 2


async def test_a_call_that_was_given_up_is_closed() -> None:
    """The server sees it, and can go on with what somebody waits for."""
    closed, arrived = list[asyncio.Future[bytes]](), asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        closed.append(asyncio.ensure_future(reader.read()))
        if len(closed) == 2:
            arrived.set()
        await closed[-1]
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server, connected(timeout=0.1) as made:
        made.attempts = 1
        with pytest.raises(ModelFailure, match="no reply within"):
            await model_at(url, made).say(ASKED)
        made.timeout = 60
        cancelled = asyncio.create_task(model_at(url, made).say(ASKED))
        await arrived.wait()
        cancelled.cancel()
        async with asyncio.timeout(10):
            await asyncio.gather(*closed)
