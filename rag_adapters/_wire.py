"""The connection to a bot behind an endpoint, and its errors as BotFailure."""

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rag_adapters._environment import Environment
from rag_adapters._request import checked_address
from simulator import (
    ACCEPTED,
    PIECE,
    BodyError,
    BotFailure,
    InputError,
    Transient,
    _,
    changed,
    client_words,
    unpacked,
    wait_asked_for,
)

if TYPE_CHECKING:
    from aiohttp import ClientError, ClientResponse, ClientSession

    from rag_adapters._auth import Credentials

DIRECT = "none"
_SHOWN_OF_A_BODY = 200


@dataclass(frozen=True)
class Route:
    """The proxy to the bot ("": that of the environment, `none`: no proxy), and the trusted certificates."""

    proxy: str = ""
    trust: ssl.SSLContext | None = None

    @classmethod
    def of(cls, proxy: str, ca: str, environment: Environment) -> "Route":
        """Raises InputError for an invalid proxy address or certificate file."""
        address = proxy if proxy in ("", DIRECT) else checked_address("proxy", environment.filled(proxy))
        if "@" in proxy and address == proxy:
            msg = _("proxy: write name and password as ${{VARIABLE}}: settings are stored with the run.")
            raise InputError(msg)
        return cls(address, _trusting(ca) if ca else None)


def _trusting(ca: str) -> ssl.SSLContext:
    """A context with the system's certificates and those in the file."""
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(cafile=Path(ca))
    except (OSError, ValueError) as error:
        unreadable = isinstance(error, OSError) and not isinstance(error, ssl.SSLError)
        reason = getattr(error, "strerror", "") if unreadable else _("it holds no certificate in PEM form")
        msg = _("ca={ca}: the file cannot be used ({reason}).", ca=ca, reason=reason)
        raise InputError(msg) from None
    return context


class Wire:
    """The pool of connections to a bot, created for the first question."""

    def __init__(
        self, host: str, route: Route, environment: Environment, credentials: "Credentials | None" = None
    ) -> None:
        self.host, self.route, self.environment = host, route, environment
        self.credentials = credentials
        self._session: ClientSession | None = None

    async def json(self, arguments: Mapping[str, Any]) -> Any:
        """The JSON reply to a request. Raises BotFailure."""
        async with self.response(arguments) as response:
            return self.parsed(response, await text_of(response))

    @asynccontextmanager
    async def response(self, arguments: Mapping[str, Any]) -> AsyncIterator["ClientResponse"]:
        """The response to a request, after a check of its status. Raises BotFailure."""
        from aiohttp import ClientError  # listing adapters does not wait for it

        try:
            response = await self._sent(arguments)
            async with response:
                await self._check(response)
                yield response
        except ClientError as error:
            raise self.failure(error, self.host) from None
        except BodyError as error:
            raise BotFailure("malformed", str(error)) from None

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()

    def parsed(self, response: "ClientResponse", text: str) -> Any:
        """The JSON of a body. Raises BotFailure when it is not valid."""
        try:
            return json.loads(text.removeprefix("\ufeff"))
        except (ValueError, RecursionError):
            said = shortened(self.environment.masked(text))
            shown = f"{response.content_type}: {said}" if said else _("an empty body")
            raise BotFailure("malformed", _("the reply is not JSON but {shown}", shown=shown)) from None

    async def _sent(self, arguments: Mapping[str, Any]) -> "ClientResponse":
        """Sends a request, if necessary with a token, and with a new one when the bot refuses it."""
        session = self._connections()
        if self.credentials is None:
            return await session.request(**arguments)
        token = await self.credentials.token(self, session)
        response = await session.request(**_with_token(arguments, token))
        if response.status != 401:
            return response
        response.release()
        token = await self.credentials.token(self, session, refused=token)
        return await session.request(**_with_token(arguments, token))

    def _connections(self) -> "ClientSession":
        import aiohttp

        if self._session is None:
            named = self.route.proxy if self.route.proxy != DIRECT else ""
            here = self.host.partition(":")[0] in ("localhost", "127.0.0.1")
            self._session = aiohttp.ClientSession(
                # Many servers close connections after 5 idle seconds; a request sent just then would be lost.
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=3, ssl=self.route.trust or True),
                # Cookies of one customer must not reach another; $session identifies conversations.
                cookie_jar=aiohttp.DummyCookieJar(),
                # Bodies are unpacked where they are counted.
                auto_decompress=False,
                headers={"Accept-Encoding": ACCEPTED},
                # The run's --timeout applies.
                timeout=aiohttp.ClientTimeout(total=None),
                proxy=named or None,
                trust_env=not self.route.proxy and not here,
            )
        return self._session

    async def _check(self, response: "ClientResponse") -> None:
        if response.status < 300:
            return
        if response.status < 400:
            raise moved(response.status, self.environment.masked(response.headers.get("Location", "")))
        text = self.environment.masked(await text_of(response))
        raise refusal(response.status, text, response.headers)

    def failure(self, error: "ClientError", host: str) -> BotFailure:
        """The failure for an error of the HTTP client."""
        import aiohttp

        untrusted = getattr(error, "certificate_error", None)
        cause = untrusted or getattr(error, "os_error", None) or error
        said = getattr(cause, "verify_message", None) or getattr(cause, "strerror", None)
        words = said or _("{kind} {words}", kind=type(cause).__name__, words=client_words(cause))
        reason = changed(words, lambda text: shortened(self.environment.masked(text)))
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return BotFailure(
                "unreachable",
                _("the proxy refused to connect to {host}: HTTP {status:d}", host=host, status=error.status),
            )
        if isinstance(error, aiohttp.ClientProxyConnectionError):
            return Transient(
                "unreachable",
                _(
                    "cannot connect to the proxy {host}:{port:d}: {reason}",
                    host=error.host,
                    port=error.port,
                    reason=reason,
                ),
            )
        if isinstance(error, aiohttp.ClientSSLError):
            told = _("{host} speaks no TLS: {reason}", host=host, reason=reason)
            if untrusted:
                told = _("{host} is not trusted: {reason}; --set ca=FILE", host=host, reason=reason)
            return BotFailure("unreachable", told)
        if isinstance(error, aiohttp.ClientConnectorError):
            return Transient("unreachable", _("cannot connect to {host}: {reason}", host=host, reason=reason))
        if isinstance(error, aiohttp.ClientResponseError):
            return BotFailure(
                "malformed", _("{host} gives no valid HTTP answer: {reason}", host=host, reason=reason)
            )
        return BotFailure("error", _("{host} broke off: {reason}", host=host, reason=reason))


async def text_of(response: "ClientResponse") -> str:
    """A body as text. Raises BodyError when it is too long."""
    whole = b"".join([piece async for piece in pieces_of(response)])
    try:
        return whole.decode(response.charset or "utf-8", errors="replace")
    except LookupError:  # an unknown charset
        return whole.decode(errors="replace")


def pieces_of(response: "ClientResponse") -> AsyncIterator[bytes]:
    """A body in chunks as it arrives. Raises BodyError when it is too long."""
    return unpacked(response.content.iter_chunked(PIECE), response.headers.get("Content-Encoding"))


def moved(status: int, where: str) -> BotFailure:
    """The failure for a redirect, which is not followed: the headers may hold keys for the first address."""
    return BotFailure(
        "error",
        _(
            "HTTP {status:d}: the bot has moved; set url to {where}",
            status=status,
            where=shortened(where.partition("?")[0]),
        ),
    )


def refusal(status: int, text: str, headers: Mapping[str, str] = MappingProxyType({})) -> BotFailure:
    """The failure for an HTTP status from 400 on; Transient for 429 and 5xx."""
    told = f"HTTP {status}: {shortened(text)}".rstrip(": ")
    if status == 429 or status >= 500:
        return Transient("error", told, wait_asked_for(headers))
    return BotFailure("denied" if status in (401, 403) else "error", told)


def shortened(text: str) -> str:
    """The beginning of a text, on one line."""
    return " ".join(text[: 20 * _SHOWN_OF_A_BODY].split())[:_SHOWN_OF_A_BODY]


def _with_token(arguments: Mapping[str, Any], token: str) -> dict[str, Any]:
    return {**arguments, "headers": {**arguments["headers"], "Authorization": f"Bearer {token}"}}
