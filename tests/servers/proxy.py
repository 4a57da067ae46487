"""A forward proxy on 127.0.0.1: plain requests are passed on, CONNECT opens a tunnel."""

import asyncio
import contextlib
from base64 import b64encode
from typing import Self
from urllib.parse import urlsplit


class ProxyServer:
    """Passes on what it is asked to; `seen` keeps the first line of every request.

    With `login` ("name:password") it refuses who does not bring it with 407.
    """

    def __init__(self, login: str = "") -> None:
        self.login, self.seen = login, list[str]()
        self.port = 0
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def url(self) -> str:
        """The address clients are given."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if task := asyncio.current_task():
            self._tasks.append(task)
        with contextlib.suppress(asyncio.CancelledError, asyncio.IncompleteReadError):
            await self._answer(reader, writer)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
            # One request per connection: what comes after it would not be rewritten.
            passed = f"{method} {rest} {version}\r\nconnection: close\r\n{headers}".encode("latin-1")
            await self._tunnel(reader, writer, parts.netloc.partition(":"), passed)

    @staticmethod
    async def _tunnel(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to: tuple[str, str, str], first: bytes
    ) -> None:
        far_reader, far_writer = await asyncio.open_connection(to[0], int(to[2]))
        if first:
            far_writer.write(first)
        else:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        there = asyncio.create_task(_copy(reader, far_writer))
        try:
            await _copy(far_reader, writer)
        finally:
            there.cancel()
            far_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
