"""Redirects are not followed: a key goes to the address that the user gave, and nowhere else."""

import asyncio
from typing import Any

import pytest
from simulator.shelves.rag_adapters.http import connect

from simulator import Query
from simulator.core import shelves
from simulator.core.errors import AccessDenied
from simulator.core.messages import shown
from simulator.runner.conversation import ask
from tests.scripted_models import ASKED, KEY, connected, model_at
from tests.servers.malformed import RawServer, ok

QUERY = Query(text="料金は？", session="s1", case="c1", language="ja")
STATUSES = [
    b"301 Moved Permanently",
    b"302 Found",
    b"303 See Other",
    b"307 Temporary Redirect",
    b"308 Permanent",
]
SECRET = "hunter2-4711-secret"


def leading(to: str, status: bytes = b"307 Temporary Redirect") -> bytes:
    """An answer that leads there."""
    return ok(b"", f"Location: {to}".encode(), status=status)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("role", ["judge", "embed"])
async def test_a_models_key_goes_to_no_other_host(status: bytes, role: Any) -> None:
    """Another port is another host; it is one clear failure, and the other host hears nothing at all."""
    async with (
        RawServer(ok(b"{}")) as other,
        RawServer(leading(f"{other.url}/chat?sig=x", status)) as server,
        connected() as made,
    ):
        model = model_at(server.url, made, role=role)
        with pytest.raises(AccessDenied) as met:
            await (model.say(ASKED) if role == "judge" else model.embed(["a"]))

    said = f"{status[:3].decode()}: the endpoint has moved to {other.url}/chat, which is not followed."
    assert said in str(met.value)
    assert f"{other.url}/chat に移っています" in shown(met.value.message, "ja")
    assert (len(server.requests), other.requests) == (1, [])
    assert KEY.encode() in server.requests[0]


async def test_a_chat_bots_key_stays_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answered at once or as a stream."""
    monkeypatch.setenv("REHEARSAL_BOT_KEY", SECRET)
    async with RawServer(ok(b"{}")) as other, RawServer(leading(other.url)) as server:
        for stream in ("off", "on"):
            given = {"url": server.url, "model": "m", "stream": stream}
            bot: Any = await shelves.connect("openai_chat", given, {})
            answer = await ask(bot, QUERY, 5)
            await bot.aclose()
            assert answer.error is not None
            assert str(answer.error.message) == f"HTTP 307: the bot has moved; set url to {other.url}"

    assert other.requests == []
    assert SECRET.encode() in server.requests[0]


@pytest.mark.parametrize(
    "settings", [{}, {"stream": "sse"}, {"poll": "$url/$job", "job": "id", "interval": 0.01}]
)
async def test_a_bots_headers_stay_as_well(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The headers of the settings, also where a job is asked after."""
    monkeypatch.setenv("SHOP_KEY", SECRET)

    def reply(request: bytes) -> bytes:
        return (
            ok(b'{"id": "j"}') if "poll" in settings and request.startswith(b"POST") else leading(other.url)
        )

    async with RawServer(ok(b"{}")) as other, RawServer(reply) as server:
        bot = connect(url=server.url, answer="a", headers="X-Key: ${SHOP_KEY}", **settings)
        async with asyncio.timeout(5):
            answer = await ask(bot, QUERY, 5)
        await bot.aclose()

    assert answer.error is not None
    assert "the bot has moved" in str(answer.error.message)
    assert other.requests == []
    assert all(SECRET.encode() in request for request in server.requests)


async def test_a_clients_secret_goes_to_no_other_token_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoint that gives tokens may not hand its request on."""
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    async with RawServer(ok(b"{}")) as other, RawServer(leading(other.url)) as server:
        given: dict[str, Any] = {"token_url": server.url, "client_id": "c", "client_secret": "${SHOP_SECRET}"}
        bot = connect(url=server.url, answer="a", token_auth="body", **given)
        answer = await ask(bot, QUERY, 5)
        await bot.aclose()

    assert answer.error is not None
    assert "no token from" in str(answer.error.message)
    assert (other.requests, len(server.requests)) == ([], 1)
