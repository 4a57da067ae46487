"""Faults on demand, and the log of requests."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

from aiohttp import web

from tests.servers.sheets_errors import ApiError

Access = Literal["read", "write", "token", "page"]
LARGEST_PAYLOAD = 2_000_000
_HTML = """<!DOCTYPE html>
<html lang=en><meta charset=utf-8><title>Error {status} ({name})!!1</title>
<p><b>{status}.</b> <ins>That’s an error.</ins>
<p>{text} <ins>That’s all we know.</ins>
"""
_TEXTS = {
    500: ("Server Error", "The server encountered an error and could not complete your request."),
    502: ("Server Error", "The server encountered a temporary error and could not complete your request."),
    503: ("Service Unavailable", "The service is temporarily unavailable. Please try again later."),
}


@dataclass
class Trouble:
    """Something that goes wrong: `on` a method's name, "read", "write" or "" for any; `times` times."""

    kind: Literal["status", "reset", "lost"]
    on: str = ""
    times: int = 1
    code: int = 503
    html: bool = True
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def status(cls, code: int, *, on: str = "", times: int = 1, html: bool | None = None) -> Self:
        """An answer with this status instead of the real one; 5xx come as HTML unless told otherwise."""
        return cls("status", on, times, code, code >= 500 if html is None else html)

    @classmethod
    def reset(cls, *, on: str = "", times: int = 1) -> Self:
        """The connection is reset before anything is done."""
        return cls("reset", on, times)

    @classmethod
    def lost_reply(cls, *, on: str = "write", times: int = 1) -> Self:
        """The request is carried out, and then the connection is reset."""
        return cls("lost", on, times)

    def meets(self, method: str, access: Access) -> bool:
        """Whether this request is the one."""
        return self.times > 0 and self.on in ("", access, method)

    def answer(self) -> web.Response:
        """The answer of a `status` trouble."""
        if self.html:
            name, text = _TEXTS.get(self.code, ("Error", ""))
            page = _HTML.format(status=self.code, name=name, text=text)
            return web.Response(status=self.code, text=page, content_type="text/html", headers=self.headers)
        body = ApiError(self.code, _TEXTS.get(self.code, ("", f"status {self.code}"))[1]).body
        return web.json_response(body, status=self.code, headers=self.headers)


class Entry(NamedTuple):
    """One request: what it asked for, by whom, how it went; sizes in bytes."""

    method: str
    access: Access
    path: str
    status: int
    sent: int
    received: int
    seconds: float
    account: str


class Log(list[Entry]):
    """All requests in the order in which they were answered."""

    @property
    def reads(self) -> int:
        """How many requests count as reads."""
        return sum(entry.access == "read" for entry in self)

    @property
    def writes(self) -> int:
        """How many requests count as writes."""
        return sum(entry.access == "write" for entry in self)

    @property
    def largest(self) -> int:
        """Bytes of the largest request body."""
        return max((entry.sent for entry in self), default=0)

    def assert_payloads_fit(self, limit: int = LARGEST_PAYLOAD) -> None:
        """No request body is larger than the 2 MB that Google recommends."""
        large = [entry for entry in self if entry.sent > limit]
        assert not large, f"{large[0].method} sent {large[0].sent} bytes, more than {limit}"
