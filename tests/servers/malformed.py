"""A server that answers with invalid HTTP, or with no HTTP at all: bytes exactly as a test gives them."""

import asyncio
import gzip
import re
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tests.servers.loopback import RawLoopbackServer, on_thread

_OK = b"HTTP/1.1 200 OK\r\n"
_JSON = b"Content-Type: application/json\r\n"
BODY = b'{"answer": "ok"}'
_SOUND = b"Content-Length: 16\r\n"
_CHUNKED = _OK + _JSON + b"Transfer-Encoding: chunked\r\n\r\n"


def _with(*headers: bytes, body: bytes = BODY) -> bytes:
    return _OK + _JSON + b"".join(header + b"\r\n" for header in headers) + b"\r\n" + body


# Each answer ends with the end of its connection; none of them is a whole and sound HTTP answer.
MALFORMED: dict[str, bytes] = {
    "closed at once": b"",
    "random bytes": bytes(range(256)) * 8,
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "a page without HTTP": b"<html><body>It works!</body></html>\n",
    "TLS": b"\x15\x03\x03\x00\x02\x02\x46",
    "HTTP/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80\x00\x04\x00\x01\x00\x00",
    "status is no number": b"HTTP/1.1 abc OK\r\n" + _SOUND + b"\r\n" + BODY,
    "status too large": b"HTTP/1.1 99999 OK\r\n" + _SOUND + b"\r\n" + BODY,
    "unknown version": b"HTTP/7.3 200 OK\r\n" + _SOUND + b"\r\n" + BODY,
    "half a status line": b"HTTP/1.",
    "long status line": b"HTTP/1.1 200 " + b"O" * 9000 + b"\r\n" + _SOUND + b"\r\n" + BODY,
    "long header": _with(_SOUND.strip(), b"X-Long: " + b"a" * 9000),
    "too many headers": _with(_SOUND.strip(), *(b"X-%d: a" % n for n in range(5000))),
    "header without colon": _with(_SOUND.strip(), b"nonsense"),
    "header without name": _with(_SOUND.strip(), b": a"),
    "control byte in a header": _with(_SOUND.strip(), b"X-Bad: a\x00b\x01"),
    "control byte in a name": _with(_SOUND.strip(), b"X-\x07Bad: a"),
    "headers that never end": _OK + _JSON,
    "length is no number": _with(b"Content-Length: many"),
    "length twice": _with(b"Content-Length: 16", b"Content-Length: 3"),
    "negative length": _with(b"Content-Length: -5"),
    "length beyond all bounds": _with(b"Content-Length: 99999999999999999999999"),
    "length and chunks": _with(b"Content-Length: 16", b"Transfer-Encoding: chunked"),
    "unknown transfer encoding": _with(b"Transfer-Encoding: sideways, chunked"),
    "bad chunk size": _CHUNKED + b"zz\r\n" + BODY + b"\r\n0\r\n\r\n",
    "negative chunk size": _CHUNKED + b"-10\r\n" + BODY + b"\r\n0\r\n\r\n",
    "endless chunk size": _CHUNKED + b"f" * 40 + b"\r\n" + BODY,
    "chunk longer than announced": _CHUNKED + b"3\r\n" + BODY + b"\r\n0\r\n\r\n",
    "no last chunk": _CHUNKED + b"10\r\n" + BODY + b"\r\n",
    "truncated body": _with(b"Content-Length: 1600"),
    "no gzip": _with(_SOUND.strip(), b"Content-Encoding: gzip"),
    "no deflate": _with(_SOUND.strip(), b"Content-Encoding: deflate"),
    "brotli nobody asked for": _with(_SOUND.strip(), b"Content-Encoding: br"),
    "compressed twice": _with(b"Content-Encoding: gzip, gzip", body=gzip.compress(gzip.compress(BODY))),
    "another protocol from now on": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + BODY,
    "only continues": b"HTTP/1.1 100 Continue\r\n\r\n" * 3,
    "not text": _with(b"Content-Length: 4", body=b"\xff\xfe\x00\x80"),
}
# Unusual, but no reason to fail: what stands before length and body.
UNUSUAL: dict[str, bytes] = {
    "reason that is no text": b"HTTP/1.1 200 \xff\xfe\r\n",
    "charset that nobody knows": _OK + b"Content-Type: application/json; charset=klingon\r\n",
    "cookie that is none": _OK + _JSON + b"Set-Cookie: =;;;a; Max-Age=x; Domain=[\r\n",
}


def bomb(encoding: str, *, megabytes: int = 1024, status: bytes = b"200 OK") -> bytes:
    """An answer of about a thousandth of its `megabytes`: blanks, a JSON text once all of it is there."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = pack.compress(b" " * 2**24) + pack.flush(zlib.Z_FULL_FLUSH)
    begin = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff" if encoding == "gzip" else b""
    body = begin + block * (megabytes // 16)
    headers = b"Content-Type: application/json\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n"
    return b"HTTP/1.1 %s\r\n" % status + headers % (encoding.encode(), len(body)) + body


Answer = bytes | Callable[[bytes], bytes]


class RawServer(RawLoopbackServer):
    """Answers every request with bytes as they are, and closes the connection.

    `answer` may look at the request. With `pace` it sends byte by byte, so many seconds apart; with `holds`
    the connection stays open after the answer.
    """

    path = "/v1"

    def __init__(self, answer: Answer, *, pace: float = 0.0, holds: bool = False) -> None:
        super().__init__()
        self.answer, self.pace, self.holds = answer, pace, holds
        self.requests: list[bytes] = []

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request and send the bytes."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        request = head + await reader.readexactly(int(length[1]) if length else 0)
        self.requests.append(request)
        await self._send(writer, self.answer(request) if callable(self.answer) else self.answer)

    async def _send(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        for at in range(len(answer)) if self.pace else ():
            writer.write(answer[at : at + 1])
            await asyncio.sleep(self.pace)
        if not self.pace:
            writer.write(answer)
        await writer.drain()
        if self.holds:
            await asyncio.Event().wait()


def ok(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """A sound answer."""
    lines = (b"Content-Type: application/json", b"Content-Length: %d" % len(body), *headers)
    return b"HTTP/1.1 %s\r\n" % status + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def serve(answer: Answer, **options: Any) -> AbstractContextManager[RawServer]:
    """The server on a thread of its own."""
    return on_thread(RawServer(answer, **options))
