"""The fake bot answers, and misbehaves, as configured."""

import json

import aiohttp
import httpx2
import pytest

from tests.servers import bot

QUESTION = "返品の期限を教えてください。"


async def test_bot_answers_with_sources() -> None:
    """The bot answers in the language asked, sources ranked by score."""
    async with (
        bot.BotServer() as server,
        aiohttp.ClientSession() as session,
        session.post(server.url, json={"message": QUESTION, "history": [], "session": "s"}) as answer,
    ):
        told = (await answer.json())["data"]
    assert not told["reply"].isascii()
    assert [source["score"] for source in told["sources"]] == [0.9, 0.8]
    assert server.requests[0].body["session"] == "s"


def post(url: str, session: str = "s") -> tuple[int, bytes]:
    """Status and body of one question asked without an event loop."""
    with httpx2.Client() as client:
        answer = client.post(
            url, json={"message": QUESTION, "session": session}, headers={"X-Tenant": "acme"}
        )
        return answer.status_code, answer.content


BEHAVIOURS = [
    (bot.fails, 500, b'"error"'),
    (bot.says_nothing, 200, b'"reply": ""'),
    (bot.says_null, 200, b'"reply": null'),
    (bot.sends_control_codes, 200, rb"\u001b[31m"),
    (bot.is_no_json, 200, "返品は".encode()),
    (bot.is_html, 200, b"<!doctype html>"),
    (bot.lacks_the_path, 200, b'{"result"'),
    (bot.echoes_headers, 200, rb"\"x-tenant\": \"acme\""),
]


@pytest.mark.parametrize(("behaviour", "status", "part"), BEHAVIOURS)
def test_bot_misbehaves_as_told(behaviour: bot.Behaviour, status: int, part: bytes) -> None:
    """Each behaviour shows in status and body."""
    with bot.serve(behaviour) as server:
        told = post(server.url)
    assert told[0] == status
    assert part in told[1]


def test_bot_changes_behaviour_and_counts_sessions() -> None:
    """Sessions are counted apart; the behaviour can be switched while running."""
    with bot.serve(bot.counts_its_session) as server:
        replies = [json.loads(post(server.url, name)[1])["data"]["reply"] for name in ("a", "a", "b")]
        server.behaviour = bot.talks_on
        long = json.loads(post(server.url)[1])["data"]["reply"]
        server.behaviour = bot.resets
        with pytest.raises(httpx2.ReadError):
            post(server.url)
        assert post(server.url + "/elsewhere")[0] == 404
    assert (replies, len(long)) == (["1", "2", "1"], 200_000)


async def test_bot_hangs_until_the_client_leaves() -> None:
    """A hanging bot is left at the client's patience, and the server stops at once."""
    async with bot.BotServer(bot.hangs) as server, aiohttp.ClientSession() as session:
        with pytest.raises(TimeoutError):
            await session.post(server.url, json={"message": "a"}, timeout=aiohttp.ClientTimeout(total=0.2))
