"""Real HTTP servers on 127.0.0.1, on the caller's event loop or on a thread of their own."""

import asyncio
import contextlib
import json
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from aiohttp import web
from aiohttp.http import RawRequestMessage

_LARGEST_BODY = 64 * 2**20
_LARGEST_KEPT = 256 * 2**10


class Recorded(NamedTuple):
    """One request as it arrived: header names in lower case, the body parsed (None above 256 kB)."""

    path: str
    headers: dict[str, str]
    body: Any


class LoopbackServer:
    """A server on 127.0.0.1 whose subclass answers in `handle`; `async with` starts it, `on_thread` too."""

    path = "/"

    def __init__(self, *, port: int = 0, record: bool = True) -> None:
        self.port, self.record = port, record
        self.requests: list[Recorded] = []
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        """The address clients are given."""
        return f"http://127.0.0.1:{self.port}{self.path}"

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        raise NotImplementedError

    def keep(self, request: web.BaseRequest, raw: bytes, body: Any) -> None:
        """Record a request, unless recording is off."""
        if self.record:
            headers = {name.lower(): value for name, value in request.headers.items()}
            kept = body if len(raw) <= _LARGEST_KEPT else None
            self.requests.append(Recorded(request.path, headers, kept))

    async def __aenter__(self) -> Self:
        # web.Server has no router and no middleware: half the work of web.Application per request.
        server = web.Server(self.handle, request_factory=_request, handler_cancellation=True, access_log=None)
        # Stalled answers are not waited for; zero would mean for ever.
        self._runner = web.ServerRunner(server, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=2048).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()


class RawLoopbackServer:
    """A server of bare connections on 127.0.0.1, for what no HTTP library would send.

    Its subclass answers in `converse`; the connection is closed afterwards.
    """

    path = ""

    def __init__(self) -> None:
        self.port = 0
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def url(self) -> str:
        """The address clients are given."""
        return f"http://127.0.0.1:{self.port}{self.path}"

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read from one connection and answer."""
        raise NotImplementedError

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
        with contextlib.suppress(asyncio.CancelledError, asyncio.IncompleteReadError, ConnectionError):
            await self.converse(reader, writer)
        with contextlib.suppress(ConnectionError):
            writer.close()


class Startable(Protocol):
    """A server for an `async with`."""

    async def __aenter__(self) -> Any: ...

    async def __aexit__(self, *_: object) -> None: ...


S = TypeVar("S", bound=Startable)


@contextlib.contextmanager
def on_thread(server: S) -> Iterator[S]:
    """Run `server` on a daemon thread with its own event loop until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=type(server).__name__, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def until_killed(server: LoopbackServer) -> None:
    """Serve until the process is killed, after the address on one line of standard output."""
    async with server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


def dumps(body: Any) -> bytes:
    """JSON as UTF-8, Japanese unescaped."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")


def reset(request: web.BaseRequest) -> web.Response:
    """Drop the connection without an answer: the client sees it reset by its peer."""
    if request.transport is not None:
        connection = request.transport.get_extra_info("socket")
        # Lingering for zero seconds turns the close into a TCP reset.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
    return web.Response()


def _request(
    message: RawRequestMessage, payload: Any, protocol: Any, writer: Any, task: "asyncio.Task[None]"
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=_LARGEST_BODY)
