"""Redirects are not followed: a key goes to the address that the user gave, and nowhere else."""

from http import HTTPStatus
from typing import Any

import pytest

from simulator.core.errors import AccessDenied
from simulator.core.messages import shown
from tests.asking import put_to
from tests.scripted_models import ASKED, KEY, connected, model_at
from tests.servers.malformed import RawServer, ok

STATUSES = [f"{status} {HTTPStatus(status).phrase}".encode() for status in (301, 302, 303, 307, 308)]
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
            answer = await put_to("openai_chat", {"url": server.url, "model": "m", "stream": stream})
            assert answer.error
            assert str(answer.error.message) == f"HTTP 307: the bot has moved; set url to {other.url}"

    assert other.requests == []
    assert SECRET.encode() in server.requests[0]


@pytest.mark.parametrize("settings", [{}, {"stream": "sse"}])
async def test_a_bots_secrets_stay_as_well(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The headers of the settings."""
    monkeypatch.setenv("SHOP_KEY", SECRET)
    async with RawServer(ok(b"{}")) as other, RawServer(leading(other.url)) as server:
        headers = {"headers": "X-Key: ${SHOP_KEY}"}
        answer = await put_to("http", {"url": server.url, "answer": "a", **settings, **headers})

    assert answer.error
    assert "the bot has moved" in str(answer.error.message)
    assert other.requests == []
    assert len(server.requests) == 1
    assert all(SECRET.encode() in request for request in server.requests)
