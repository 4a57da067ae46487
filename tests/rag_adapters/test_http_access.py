"""The adapter of JSON endpoints behind tokens, proxies and certificates of a company's own."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from simulator.shelves.rag_adapters.http import connect

from tests.asking import FIRST, answered, failure
from tests.servers.bot import BotServer
from tests.servers.faults import Reply
from tests.servers.malformed import RawServer
from tests.servers.tls import TlsBotServer
from tests.servers.tokens import CLIENT, SECRET, TokenServer


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the bot's owner gave the team."""
    monkeypatch.setenv("CLIENT_SECRET", SECRET)


@pytest.fixture
async def server() -> AsyncIterator[TokenServer]:
    """A bot that wants a token."""
    async with TokenServer() as running:
        yield running


def protected(server: TokenServer, **settings: Any) -> Any:
    """The bot behind tokens."""
    client = {"token_url": server.token_url, "client_id": CLIENT, "client_secret": "${CLIENT_SECRET}"}
    return connect(**{"url": server.url, "answer": "data.reply", **client, **settings})


@pytest.mark.parametrize("place", ["basic", "body"])
async def test_one_token_serves_all_questions(server: TokenServer, place: str) -> None:
    """However many are asked at once; the client's secret goes to the token endpoint alone."""
    server.latency = 0.02
    bot = protected(server, token_auth=place, scope="chat read", audience="https://bot.example")
    answers = await asyncio.gather(*(bot(FIRST) for _ in range(10)))
    await bot.aclose()

    assert {answer.text for answer in answers} == {"with ***"}
    assert len(server.forms) == 1
    assert server.forms[0]["grant_type"] == "client_credentials"
    assert (server.forms[0]["scope"], server.forms[0]["audience"]) == ("chat read", "https://bot.example")
    assert ("client_secret" in server.forms[0]) == (place == "body")
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer token-1-abcdef"}


@pytest.mark.parametrize(("life", "tokens"), [(3600, 1), (None, 1), (0, 3)])
async def test_a_token_is_kept_until_it_runs_out(
    server: TokenServer, life: float | None, tokens: int
) -> None:
    """One without a life is kept until it is refused."""
    server.life = life
    bot = protected(server)
    for _ in range(3):
        await bot(FIRST)
    await bot.aclose()

    assert len(server.forms) == tokens


async def test_a_refused_token_is_renewed_once(server: TokenServer) -> None:
    """All that were refused with it share the new one; the question is asked again with it."""
    bot = protected(server)
    await bot(FIRST)
    server.revoked.add("token-1-abcdef")
    answers = await asyncio.gather(*(bot(FIRST) for _ in range(10)))
    await bot.aclose()

    assert len(answers) == 10
    assert len(server.forms) == 2


async def test_a_new_token_that_is_refused_too_is_denied(server: TokenServer) -> None:
    """The bot is asked twice, not for ever; its words do not spread the token."""
    server.refuses_all = True

    assert await failure(protected(server)) == ("denied", "HTTP 401: no access with ***")
    assert len(server.requests) == 2
    assert len(server.forms) == 2


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (401, b'{"error": "a"}', "denied", 'no token from {host}: HTTP 401: {"error": "a"}'),
        (400, b'{"error": "b"}', "denied", 'no token from {host}: HTTP 400: {"error": "b"}'),
        (503, SECRET.encode(), "error", "no token from {host}: HTTP 503: ***"),
        (302, b"", "error", "no token from {host}: HTTP 302"),
        (200, b"<html>", "malformed", "the reply is not JSON but application/octet-stream: <html>"),
        (200, b"[]", "malformed", "{host} gives no access_token: the reply is a list of 0"),
        (200, b'{"token": 1}', "malformed", "{host} gives no access_token: the reply has the keys token"),
    ],
)
async def test_what_is_no_token(server: TokenServer, status: int, body: bytes, kind: str, said: str) -> None:
    """The message names the endpoint's host; a wrong client is denied, a failing endpoint is an error."""
    server.failure = Reply(status=status, body=body)

    assert await failure(protected(server)) == (kind, said.replace("{host}", f"127.0.0.1:{server.port}"))


async def test_a_token_endpoint_that_is_not_there(server: TokenServer, unused_tcp_port: int) -> None:
    """It is the one that cannot be reached, not the bot."""
    kind, said = await failure(protected(server, token_url=f"http://127.0.0.1:{unused_tcp_port}/token"))

    assert kind == "unreachable"
    assert said.startswith(f"cannot connect to 127.0.0.1:{unused_tcp_port}: ")


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "127.0.0.1:9"])
async def test_the_proxy_of_the_environment_is_not_for_this_machine(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere it holds, written as curl takes it, too, and is told from the bot."""
    monkeypatch.setenv("HTTP_PROXY", proxy)
    async with BotServer() as server:
        bot = connect(url=server.url, answer="data.reply")
        assert (await answered(bot)).text
        elsewhere = server.url.replace("127.0.0.1", "127.0.0.2")
        kind, said = await failure(connect(url=elsewhere, answer="data.reply"))

    assert kind == "unreachable"
    assert said.startswith("cannot connect to the proxy 127.0.0.1:9: ")


async def test_a_proxy_that_refuses_is_told_from_the_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    """It wants a password."""
    wants_login = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    async with RawServer(wants_login) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.removesuffix("/v1"))
        refused = await failure(connect(url="https://127.0.0.2:9/chat", answer="data.reply"))

    assert refused == ("unreachable", "the proxy refused to connect to 127.0.0.2:9: HTTP 407")


async def test_a_certificate_of_ones_own_is_trusted_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the file it is not, and the message names the variable."""
    async with TlsBotServer(tmp_path) as server:
        kind, said = await failure(connect(url=server.url, answer="data.reply"))
        monkeypatch.setenv("SSL_CERT_FILE", str(server.ca))
        answer = await answered(connect(url=server.url, answer="data.reply"))

    assert answer.text
    assert kind == "unreachable"
    assert said.startswith(f"127.0.0.1:{server.port} is not trusted: self-signed certificate")
    assert said.endswith("; SSL_CERT_FILE=FILE")
