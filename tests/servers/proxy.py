"""A forward proxy on 127.0.0.1: plain requests are forwarded, CONNECT opens a tunnel."""

import asyncio
import contextlib
from base64 import b64encode
from urllib.parse import urlsplit

from tests.servers.loopback import RawLoopbackServer


class ProxyServer(RawLoopbackServer):
    """Forwards requests; `seen` keeps the first line of every one.

    With `login` ("name:password") it refuses requests without it with 407.
    """

    def __init__(self, login: str = "") -> None:
        super().__init__()
        self.login, self.seen = login, list[str]()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one request, or tunnel a connection."""
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, headers = head.decode("latin-1").partition("\r\n")
        self.seen.append(line)
        method, address, version = line.split(" ")
        expected = f"Basic {b64encode(self.login.encode()).decode()}"
        if self.login and f"proxy-authorization: {expected}".lower() not in headers.lower():
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
        elif method == "CONNECT":
            await self._tunnel(reader, writer, address.partition(":"), b"")
        else:
            parts = urlsplit(address)
            rest = parts._replace(scheme="", netloc="").geturl()
            # One request per connection: a second one would not be rewritten.
            forwarded = f"{method} {rest} {version}\r\nconnection: close\r\n{headers}".encode("latin-1")
            await self._tunnel(reader, writer, parts.netloc.partition(":"), forwarded)

    @staticmethod
    async def _tunnel(
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        address: tuple[str, str, str],
        first: bytes,
    ) -> None:
        far_reader, far_writer = await asyncio.open_connection(address[0], int(address[2]))
        if first:
            far_writer.write(first)
        else:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        upstream = asyncio.create_task(_copy(reader, far_writer))
        try:
            await _copy(far_reader, writer)
        finally:
            upstream.cancel()
            far_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
