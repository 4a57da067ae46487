"""One request to an OpenAI-compatible endpoint, with two errors.

An answer that refuses is Refused. Any exception of the client, its transport, TLS or a decoder becomes
NoAnswer, only here, so that our own bugs are not hidden.

    200 and JSON                        the JSON
    200 and an error within             Refused, as if the answer had the status of that error
    200 and something else              NotJson: a page of a login or proxy, mostly
    4xx, 5xx, 3xx                       Refused, a redirect too: no key is sent to another address
    nothing in time                     NoAnswer "timeout"
    no connection, broken HTTP or TLS   NoAnswer "unreachable"
    a body over 8 MB, a wrong encoding  NoAnswer "malformed", and no second attempt

Models are asked through `Transport`, which is aiohttp and nothing around it: of a run's thousands of calls
each would otherwise cost as much again as sending it.
"""

import contextlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json, to_json

from simulator.core.clock import TimeLimit
from simulator.core.messages import _
from simulator.models.bodies import ACCEPTED, BodyError, decoded, whole_body
from simulator.models.network import (
    authorities,
    blocked_by,
    client_words,
    login_wanted,
    proxy_for,
    through,
)
from simulator.models.refusals import NoAnswer, Refused, refused_within, text_of_page

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientSession

# What requests say they come from.
AGENT = "rag-rehearsal"


# Seconds that an idle connection stays open: many servers close theirs after five, and a request that meets a
# closing connection is lost.
IDLE = 4.0


def session_of(
    calls: int, certificates: "ssl.SSLContext | bool", headers: Mapping[str, str] | None
) -> "ClientSession":
    """A pool of at most so many connections (0: without end), which keeps no cookies."""
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=calls, keepalive_timeout=IDLE, ssl=certificates),
        cookie_jar=aiohttp.DummyCookieJar(),
        # Bodies are unpacked where they are counted, and the time is that of the whole call.
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None),
        headers=headers,
    )


class NotJson(NamedTuple):
    """An answer that is not JSON: its text, or what the web page says that it is."""

    text: str
    is_page: bool


class Transport:
    """The connections to an endpoint."""

    def __init__(
        self, url: str, key: str, calls: int, headers: Mapping[str, str | None] = MappingProxyType({})
    ) -> None:
        """At most `calls` connections; `headers` take the place of ours, and one that is None is not sent."""
        # A query belongs to every request, behind its path.
        self._address, self._mark, self._query = url.partition("?")
        self._calls = calls
        ours = {
            "Accept": "application/json",
            "Accept-Encoding": ACCEPTED,
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "User-Agent": AGENT,
        }
        replaced = {name.lower() for name in headers}
        self._headers = {name: value for name, value in ours.items() if name.lower() not in replaced}
        self._headers |= {name: value for name, value in headers.items() if value is not None}
        # aiohttp looks at no variables of the environment unless it trusts all of them, .netrc too.
        self._proxy = proxy_for(url)
        self._session: ClientSession | None = None

    async def post(self, path: str, body: Any, seconds: float) -> Any:
        """Posts a body, and reads the whole answer within `seconds`: its JSON, or NotJson.

        Raises NoAnswer or Refused.
        """
        try:
            # One limit for connecting, waiting and reading: a body that trickles in is late as well.
            async with TimeLimit(seconds):
                status, headers, charset, content = await self._posted(path, to_json(body))
        except BodyError as error:
            raise NoAnswer("malformed", error.args[0], is_transient=False) from error
        # Certificates, proxies, resolvers and decoders have exceptions of their own, of no common base.
        except Exception as error:  # of any library
            from aiohttp import (
                ClientConnectionError,
                ClientConnectorError,
                ClientHttpProxyError,
                ClientPayloadError,
            )

            proxy = self._proxy
            if blocked := blocked_by(error, proxy):
                raise NoAnswer("denied", blocked, is_transient=False) from error
            if _has_timed_out(error):
                message = _("no reply within {seconds:g} s", seconds=round(seconds, 2))
                raise NoAnswer("timeout", through(proxy, message)) from error
            if isinstance(error, ClientConnectionError | ClientPayloadError):
                message = _("no connection ({reason})", reason=client_words(error))
            else:
                message = _("no valid HTTP answer ({reason})", reason=client_words(error))
            was_sent = not isinstance(error, ClientConnectorError | ClientHttpProxyError)
            raise NoAnswer("unreachable", through(proxy, message), was_sent=was_sent) from error
        if status == 407:  # of plain HTTP it answers itself
            raise NoAnswer("denied", login_wanted(self._proxy), is_transient=False)
        if status >= 300:
            raise Refused(status, headers, decoded(content, charset))
        data = _json(content, charset)
        if data is None:
            text, is_page = decoded(content, charset), headers.get("Content-Type", "").startswith("text/html")
            return NotJson(text_of_page(text) if is_page else text, is_page)
        if refused := refused_within(data, headers):
            raise refused
        return data

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()

    async def _posted(self, path: str, body: bytes) -> tuple[int, Mapping[str, str], str | None, bytes]:
        """Status, headers and charset of the answer, and its body unpacked."""
        if self._session is None:
            # Every call in flight has its own connection, which the next call reuses.
            self._session = session_of(
                self._calls, self._certificates(), None if self._proxy else self._headers
            )
        async with self._session.post(
            f"{self._address.rstrip('/')}{path}{self._mark}{self._query}",
            data=body,
            # Merged once and not for every call; but a proxy would be told them, and with them the key.
            headers=self._headers if self._proxy else None,
            proxy=self._proxy,
            # A redirect is an answer like any other: the key is sent to no other address.
            allow_redirects=False,
        ) as response:
            content = await whole_body(response.content, response.headers.get("Content-Encoding"))
            return response.status, response.headers, response.charset, content

    def _certificates(self) -> "ssl.SSLContext | bool":
        """The authorities that are trusted, where any are needed."""
        return authorities() if self._address.lower().startswith("https:") else True


def _json(content: bytes, charset: str | None) -> Any:
    """The JSON of an answer; None when it is not valid."""
    # Every call passes here; the standard parser takes several times as long.
    try:
        return from_json(content)
    except ValueError:  # it is faster, but leaves other encodings and half characters to json
        for body in (content, decoded(content, charset)):
            with contextlib.suppress(ValueError, RecursionError):
                return json.loads(body)
        return None


def _has_timed_out(error: BaseException | None) -> bool:
    # The first cause decides: the transport calls every lost connection a timeout.
    while error is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error is not None
