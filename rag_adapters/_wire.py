"""The connection to a bot behind an endpoint: secrets, limits, and its errors as BotFailure.

What a setting names as `${VARIABLE}` is read from the environment, because settings are stored with the run,
and is masked in everything that the bot repeats of it. A body is unpacked piece by piece, within the limit of
`unpacked`; redirects are not followed, for the headers may hold keys; nothing is sent twice. Cookies are kept
as long as a conversation, in memory alone.
"""

import json
import os
import re
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from string import Template
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from simulator.extending import (
    ACCEPTED,
    PIECE,
    BodyError,
    BotFailure,
    InputError,
    LoginPage,
    Transient,
    _,
    authorities,
    blocked_by,
    changed,
    check_way,
    client_words,
    decoded,
    is_http_address,
    is_telling,
    is_this_machine,
    mask_secrets,
    proxy_for,
    refusal_in,
    session_of,
    text_of_page,
    through,
    unpacked,
    wait_asked_for,
    whole_body,
)

if TYPE_CHECKING:
    from aiohttp import ClientError, ClientResponse, ClientSession, CookieJar

# Characters of a body in a message; of what comes in, twenty times as much is looked at for them.
_SHOWN_OF_A_BODY = 200
# The content type of a web page; those of streams, by the setting that reads them.
_PAGE = "text/html"
_STREAMS: Mapping[str, str] = {
    "text/event-stream": "sse",
    "application/x-ndjson": "lines",
    "application/jsonl": "lines",
}
# The first lines of Vercel's data stream: f:{...} and 0:"...", or an error alone.
_PARTS = re.compile(r'\ufeff?(?:f:\{.*\}\r?\n)?[03]:"')
# The first event of a stream, behind a mark, comments and the other fields of an event.
_EVENT = re.compile(r"\ufeff?(?:(?:event|id|retry)?:.*\r?\n|\s)*data:")


class Environment:
    """The `${VARIABLES}` of the settings; masks their values, and secrets that the settings spell out."""

    def __init__(self, used: Iterable[str], dialogue: Collection[str], written: Iterable[str]) -> None:
        """The variables in `used` that are not the dialogue's. Raises InputError for one without a value."""
        names = set(used) - set(dialogue)
        for name in sorted(names):
            if not os.environ.get(name, "").strip():
                variables = ", ".join(f"${variable}" for variable in dialogue)
                msg = _(
                    "${name} is not set in the environment, and the conversation fills only {variables}.",
                    name=name,
                    variables=variables,
                )
                raise InputError(msg)
        self.values = {name: os.environ[name].strip() for name in names}
        # A value such as "true" or "shop" is no secret: masked, it would cut holes into every answer.
        self.secrets = set(filter(is_telling, (*self.values.values(), *written)))

    def filled(self, text: str, **values: str) -> str:
        """A text with its variables filled in. Raises KeyError for an unknown variable."""
        return Template(text).substitute({**values, **self.values})

    def masked(self, text: str, more: Collection[str] = ()) -> str:
        """A text with secret values and `more` of them masked, in base64, too.

        Values that could be ordinary words stay. The longest first, so that a secret which holds another one
        leaves no rest of itself.
        """
        secrets = self.secrets.union(filter(is_telling, more))
        return mask_secrets(text, sorted(secrets, key=len, reverse=True))


def checked_address(name: str, address: str) -> str:
    """The address, checked. Raises InputError when it is not a valid HTTP address.

    `name` is the setting it is from. An address without a scheme, with a port that is none, or with open
    brackets is told before the first question.
    """
    try:
        parts = urlsplit(address)
        _unused = parts.port  # brackets and port are only checked on access
    except ValueError as error:
        raise InputError(_("{name}: {error}.", name=name, error=error)) from None
    if not is_http_address(address):
        raise InputError(_("{name}: must begin with http:// or https:// and name a host.", name=name))
    return address


def host_of(address: str) -> str:
    """Host and port, the only part of an address in messages: the rest may hold a key."""
    return urlsplit(address).netloc.rpartition("@")[2]


class Cookies:
    """The cookies of each conversation, as a browser of its customer would keep them; no file holds them.

    A first question begins without any, whatever an earlier conversation of the same name was given.
    """

    def __init__(self) -> None:
        self._jars: dict[str, CookieJar] = {}

    def sent(self, session: str, address: str) -> dict[str, str]:
        """The cookies of a conversation that belong to this address, by name."""
        from yarl import URL

        jar = self._jars.get(session)
        there = {} if jar is None else jar.filter_cookies(URL(address))
        return {name: cookie.value for name, cookie in there.items()}

    def keep(self, session: str, response: "ClientResponse") -> None:
        """Keeps what a response sets."""
        from aiohttp import CookieJar

        if not response.cookies:
            return
        if session not in self._jars:
            # Unsafe is what aiohttp calls cookies of an address without a name, as bots on this machine have;
            # and as browsers do, a bot on this machine is given its Secure ones without TLS.
            local = response.url.origin() if is_this_machine(response.url.host or "") else ()
            self._jars[session] = CookieJar(unsafe=True, treat_as_secure_origin=local)
        self._jars[session].update_cookies(response.cookies, response.url)

    def values(self, session: str) -> set[str]:
        """The values of a conversation's cookies, to be masked where the bot repeats them."""
        return {cookie.value for cookie in self._jars.get(session, ())}

    def forget(self, session: str) -> None:
        """Drops the cookies of a conversation."""
        self._jars.pop(session, None)


class Wire:
    """The pool of connections to a bot, created for the first question.

    Proxies and certificates are those of the environment (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE).
    """

    def __init__(self, address: str, environment: Environment) -> None:
        """Raises InputError for a proxy or certificates of the environment that cannot be used."""
        check_way(address)
        self.host, self.environment = host_of(address), environment
        self._is_https, self._proxy = address.startswith("https:"), proxy_for(address)
        self.cookies = Cookies()
        self._has_answered = False
        self._session: ClientSession | None = None

    async def json(self, arguments: Mapping[str, Any], session: str, *, or_text: bool = False) -> Any:
        """The JSON reply to a request; with `or_text` also a plain text. Raises BotFailure."""
        async with self.response(arguments, session) as response:
            text = await text_of(response)
            # A page (of a login, mostly) is no answer, whatever is taken for one; nor is a stream.
            is_text = or_text and _is_text(response) and not stream_in(text)
            return _json_or_text(text) if is_text else self.parsed(response, text, session)

    @asynccontextmanager
    async def response(self, arguments: Mapping[str, Any], session: str) -> AsyncIterator["ClientResponse"]:
        """The response to a request of a conversation, after a check of its status. Raises BotFailure."""
        from aiohttp import ClientError  # listing adapters does not wait for it

        try:
            cookies = self.cookies.sent(session, arguments["url"])
            async with self._connections().request(
                **arguments, cookies=cookies, proxy=self._proxy
            ) as response:
                self.cookies.keep(session, response)
                if 300 <= response.status < 400:
                    where = redirected(str(response.url), response.headers.get("Location", ""))
                    raise moved(response.status, self.masked(where, session))
                if response.status >= 400:
                    text = await text_of(response)
                    text = text_of_page(text) if response.content_type == _PAGE else text
                    masked = self.masked(text, session)
                    raise refusal(response.status, masked, response.headers)
                self._has_answered = self._has_answered or response.content_type != _PAGE
                yield response
        except ClientError as error:
            raise self._failure(error) from None
        except BodyError as error:
            raise BotFailure("malformed", error.args[0]) from None

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()

    def masked(self, text: str, session: str) -> str:
        """A text without secrets of the environment and cookies of the conversation."""
        return self.environment.masked(text, self.cookies.values(session))

    def parsed(self, response: "ClientResponse", text: str, session: str) -> Any:
        """The JSON of a body. Raises BotFailure, or LoginPage for a web page before any answer."""
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            if response.content_type == _PAGE and not self._has_answered:
                raise login_page(self.host, self.masked(text_of_page(text), session)) from None
            said = shortened(self.masked(text, session))
            if stream := _STREAMS.get(response.content_type) or stream_in(text):
                msg = _("the reply is a stream: --set stream={name} reads it", name=stream)
                raise BotFailure("malformed", msg) from None
            shown = f"{response.content_type}: {said}" if said else _("an empty body")
            msg = _("the reply is not JSON but {shown}", shown=shown)
            if said and _is_text(response):
                msg = _("the reply is not JSON but {shown} (--set answer=$ reads text)", shown=shown)
            raise BotFailure("malformed", msg) from None

    def _connections(self) -> "ClientSession":
        if self._session is None:
            # Plain HTTP does without certificates, for they take 20 ms to read.
            certificates = authorities() if self._is_https else True
            # Cookies of one customer must not reach another: each conversation has its own (`Cookies`).
            self._session = session_of(0, certificates, {"Accept-Encoding": ACCEPTED})
        return self._session

    def _failure(self, error: "ClientError") -> BotFailure:
        """The failure for an error of the HTTP client.

        Transient (and tried again where --set retries says so) is what a moment may change: no connection to
        the bot or to the proxy. A certificate, a proxy's refusal and broken HTTP are not.
        """
        from aiohttp import ClientConnectorError, ClientHttpProxyError, ClientResponseError

        if blocked := blocked_by(error, self._proxy):
            reason = changed(blocked, self.environment.masked)
            return BotFailure("unreachable", _("{host}: {reason}", host=self.host, reason=reason))
        reason = changed(client_words(error), lambda text: shortened(self.environment.masked(text)))
        if isinstance(error, ClientConnectorError | ClientHttpProxyError):
            msg = _("cannot connect to {host}: {reason}", host=self.host, reason=reason)
            return Transient("unreachable", through(self._proxy, msg))
        if isinstance(error, ClientResponseError):
            msg = _("{host} gives no valid HTTP answer: {reason}", host=self.host, reason=reason)
            return BotFailure("malformed", msg)
        return BotFailure("error", _("{host}: {reason}", host=self.host, reason=reason))


def _is_text(response: "ClientResponse") -> bool:
    """Whether a body is called a text, or not called anything."""
    kind = response.content_type
    return "Content-Type" not in response.headers or (
        kind.startswith("text/") and kind not in {_PAGE, *_STREAMS}
    )


def stream_in(text: str) -> str:
    """The setting that reads a body which is a stream, whatever its type says; "" for another body."""
    if _EVENT.match(text):
        return "sse"
    if _PARTS.match(text):
        return "lines"
    objects = [line for line in text.splitlines() if line.strip()][:2]
    return "lines" if len(objects) == 2 and all(isinstance(_json_or_text(o), dict) for o in objects) else ""


def _json_or_text(text: str) -> Any:
    """The JSON of a body where it is an object or a list; else the text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (dict, list)) else text


async def text_of(response: "ClientResponse") -> str:
    """A body as text. Raises BodyError when it is too long."""
    whole = await whole_body(response.content, response.headers.get("Content-Encoding"))
    return decoded(whole, response.charset)


def pieces_of(response: "ClientResponse") -> AsyncIterator[bytes]:
    """A body in chunks as it arrives. Raises BodyError when it is too long."""
    return unpacked(response.content.iter_chunked(PIECE), response.headers.get("Content-Encoding"))


def redirected(asked: str, location: str) -> str:
    """Where a redirect leads, without name, password and query; `asked` is the address that sent it."""
    try:
        where = urljoin(asked, location)
        return urlsplit(where)._replace(netloc=host_of(where), query="", fragment="").geturl()
    except ValueError:  # brackets that are none
        return location.partition("?")[0]


def moved(status: int, where: str) -> BotFailure:
    """The failure for a redirect, which is not followed: the headers may hold keys for the first address.

    302 and 303 are how a page asks for a login; other ones name a new address.
    """
    msg = _("HTTP {status:d}: the bot has moved; set url to {where}")
    if status in (302, 303):
        msg = _(
            "HTTP {status:d}: sent to {where}, mostly a login: give the bot a key or token, or set url to it"
        )
    return BotFailure("error", msg.format(status=status, where=shortened(where)))


def refusal(status: int, text: str, headers: Mapping[str, str] = MappingProxyType({})) -> BotFailure:
    """The failure for an HTTP status from 400 on; Transient for 429 and 5xx.

    401 and 403 are `denied`, which ends the conversation at once; others are an `error`. The beginning of the
    body is told, and how long a Retry-After or the body asks to wait.
    """
    msg = f"HTTP {status}: {shortened(text)}".rstrip(": ")
    if status == 429 or status >= 500:
        return Transient("error", msg, wait_asked_for(headers, text))
    return BotFailure("denied" if status in (401, 403) else "error", msg)


def reported_failure(value: Any) -> BotFailure:
    """What a reply, or a piece of one, that is an error says.

    {"error": {"message": "no model"}}, {"errorText": "..."} or a text; with an HTTP status in it, as that
    status would be.
    """
    holders = (value, value.get("error")) if isinstance(value, dict) else ()
    codes = (part.get(key) for part in holders if isinstance(part, dict) for key in ("status", "code"))
    said = json.dumps(value, ensure_ascii=False)
    text = refusal_in(0, said).words or said
    if status := next((code for code in codes if isinstance(code, int) and 400 <= code < 600), None):
        return refusal(status, text)
    return BotFailure("error", _("the bot sent an error: {text}", text=shortened(text)))


def login_page(host: str, page: str) -> LoginPage:
    """The failure for a web page in the place of a first answer; `page` is what it is called."""
    msg = _(
        "{host} sent a web page instead of JSON: {page}. Check the address, and the token or key.",
        host=host,
        page=shortened(page),
    )
    return LoginPage("denied", msg)


def shortened(text: str) -> str:
    """The beginning of a text, on one line."""
    return " ".join(text[: 20 * _SHOWN_OF_A_BODY].split())[:_SHOWN_OF_A_BODY]
