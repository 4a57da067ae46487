"""The adapter of JSON endpoints behind proxies and certificates of a company's own."""

from pathlib import Path

import pytest
from simulator.shelves.rag_adapters.http import connect

from tests.asking import answered, failure
from tests.servers.bot import BotServer
from tests.servers.malformed import RawServer
from tests.servers.tls import TlsBotServer


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
    assert said.startswith("cannot connect to 127.0.0.2:")
    assert said.endswith(", through the proxy http://127.0.0.1:9")


async def test_a_proxy_that_refuses_is_told_from_the_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    """It wants a password, lets nobody there, or reaches nobody, which may pass."""
    said: list[str] = []
    for status in (b"407 Login", b"403 Forbidden", b"502 Bad Gateway"):
        async with RawServer(b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % status) as proxy:
            address = proxy.url.removesuffix("/v1")
            monkeypatch.setenv("HTTPS_PROXY", address)
            kind, message = await failure(connect(url="https://127.0.0.2:9/chat", answer="data.reply"))
            assert kind == "unreachable"
            said.append(message.replace(address, "PROXY"))

    assert said[0].startswith("127.0.0.2:9: the proxy PROXY requires a login (407): HTTPS_PROXY=")
    assert said[1].startswith("127.0.0.2:9: the proxy PROXY refused the connection (403 Forbidden)")
    assert said[2].startswith("cannot connect to 127.0.0.2:9: Bad Gateway, through the proxy PROXY")
    assert said[2].endswith(", through the proxy PROXY")


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
    assert said.startswith(
        f"127.0.0.1:{server.port}: its certificate is not trusted (self-signed certificate)"
    )
    assert "set SSL_CERT_FILE to the certificate" in said
