"""One request to an OpenAI-compatible endpoint, with two errors, and bodies that cannot fill the memory.

An answer that refuses is Refused. Any exception of the client, its transport, TLS or a decoder becomes
NoAnswer, only here, so that our own bugs are not hidden.

    200 and JSON                        the JSON
    200 and an error within             Refused, as if the answer had the status of that error
    200 and something else              None: a captive portal or proxy; the caller tries once more
    4xx, 5xx, 3xx                       Refused, a redirect too: no key is sent to another address
    nothing in time                     NoAnswer "timeout"
    no connection, broken HTTP or TLS   NoAnswer "unreachable"
    a body over 8 MB, a wrong encoding  NoAnswer "malformed", and no second attempt

Bodies are unpacked while they arrive, a piece at a time, and counted as they come out: one megabyte of gzip
can hold a gigabyte of zeros, which libraries unpack before anybody can look at their length.

Models are asked through `Transport`, which is aiohttp and nothing around it: of a run's thousands of calls
each would otherwise cost as much again as sending it. Adapters use OpenAI's client, on the same transport and
with the same limits (`http_client`).
"""

import contextlib
import json
import os
import re
import ssl
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic_core import from_json, to_json

from simulator.core.clock import TimeLimit
from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.models.refusals import NoAnswer, Refused

if TYPE_CHECKING:
    import httpx2
    from aiohttp import ClientSession, StreamReader

# Bytes of one answer, unpacked; the longest that anybody needs, a batch of embeddings, take a tenth of it.
LARGEST_BODY = 8 * 2**20
# The ways to compress that are asked for. Others make gigabytes of a few bytes.
ACCEPTED = "gzip, deflate"
# What requests say they come from.
AGENT = "rag-rehearsal"
# Bytes that are read, or unpacked, at once.
PIECE = 2**14
# A gzip file can be many in a row (RFC 1952); so many are nobody's answer, but a way to keep a reader busy.
_MOST_PARTS = 1000
_EITHER = zlib.MAX_WBITS + 32  # with the header of gzip or of zlib
_GZIP = b"\x1f\x8b"


class BodyError(Exception):
    """An answer's body that is not read to its end, and why."""


async def unpacked(chunks: AsyncIterator[bytes], encoding: str | None) -> AsyncIterator[bytes]:
    """A body piece by piece as it arrives, without its Content-Encoding.

    Raises BodyError once it is longer than LARGEST_BODY, or when it is packed in a way nobody asked for.
    """
    body = _Body(encoding)
    async for chunk in chunks:
        for piece in body.pieces(chunk):
            yield piece


def import_client() -> None:
    """Imports what requests are made with; for a thread, as it takes a while."""
    import aiohttp  # noqa: F401


async def whole_body(stream: "StreamReader", encoding: str | None) -> bytes:
    """A body to its end, unpacked like `unpacked` does."""
    body, pieces = _Body(encoding), list[bytes]()
    while chunk := await stream.read(PIECE):
        pieces += body.pieces(chunk)
    return b"".join(pieces)


class _Body:
    """A body as far as it has arrived, of which gzip or deflate is undone a little at a time."""

    def __init__(self, encoding: str | None) -> None:
        self._name = (encoding or "").strip().lower()
        if self._name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            msg = _("the answer is compressed as {name}; gzip or deflate was asked for", name=self._name[:40])
            raise BodyError(msg)
        self._packed = self._size = self._parts = 0
        self._part: Any = None

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What the next chunk holds."""
        self._packed += len(chunk)
        # Both are counted: a packed body of 8 MB is too long, whatever is in it.
        for piece in (chunk,) if self._name in ("", "identity") else self._undone(chunk):
            self._size += len(piece)
            if max(self._size, self._packed) > LARGEST_BODY:
                raise BodyError(_("the answer is longer than {size} MB", size=LARGEST_BODY // 2**20))
            yield piece

    def _undone(self, chunk: bytes) -> Iterator[bytes]:
        """What a packed chunk holds; nothing of what follows the last part."""
        piece = b""
        while chunk or len(piece) == PIECE:  # a full piece: there may be more of the same chunk
            # What follows a part and is no other one is left aside, as gzip's own program does.
            if self._part is None or (self._part.eof and chunk.startswith(_GZIP)):
                self._begin(chunk)
            elif self._part.eof:
                return
            try:
                piece = self._part.decompress(chunk, PIECE)
            except zlib.error:
                msg = _("the answer cannot be decompressed: it is not what its Content-Encoding says")
                raise BodyError(msg) from None
            yield piece
            chunk = self._part.unused_data if self._part.eof else self._part.unconsumed_tail

    def _begin(self, chunk: bytes) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise BodyError(_("the answer is compressed in more than {n} parts", n=_MOST_PARTS))
        # Some servers leave out deflate's header, by which it would be known.
        bare = self._name == "deflate" and chunk[0] & 0x0F != zlib.DEFLATED
        self._part = zlib.decompressobj(-zlib.MAX_WBITS if bare else _EITHER)


# Seconds that an idle connection stays open: many servers close theirs after five, and a request that meets a
# closing connection is lost.
IDLE = 4.0
# Characters of a client's error message, which may repeat the whole answer.
_LONGEST = 200
# What this machine is called by itself.
THIS_MACHINE = frozenset(("localhost", "127.0.0.1", "::1", "0.0.0.0"))  # noqa: S104  # nothing is bound to it
# Statuses by which a proxy says that it does not let a request through, or reaches nobody.
OF_PROXIES = (403, 407, 502, 503, 504)
# Where the certificates of authorities are looked for, and what other programs call the same file.
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_OTHER_CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
# OpenSSL's numbers (X509_V_ERR_...) for a chain that ends at nobody whom this machine trusts.
_NOBODY_TRUSTED = (2, 18, 19, 20, 21, 27)


def http_client(address: str = "", **options: Any) -> "httpx2.AsyncClient":
    """An HTTP client that limits the size of bodies while they arrive, and follows no redirects.

    For an `address` on this machine it uses no proxy.
    """
    from httpx2 import AsyncByteStream, Request, Response
    from openai import DefaultAioHttpClient  # half a second: only for runs with a model

    class LimitedStream(AsyncByteStream):
        def __init__(self, response: Response) -> None:
            self.response = response

        async def __aiter__(self) -> Any:
            async for piece in unpacked(
                self.response.aiter_raw(), self.response.headers.get("content-encoding")
            ):
                yield piece

        async def aclose(self) -> None:
            await self.response.aclose()

    class LimitedClient(DefaultAioHttpClient):
        async def send(self, request: Request, *, stream: bool = False, **options: Any) -> Response:
            # A redirect is an answer like any other: the key is sent to no other address.
            raw = await super().send(request, stream=True, **{**options, "follow_redirects": False})
            headers = [pair for pair in raw.headers.raw if pair[0].lower() != b"content-encoding"]
            response = Response(
                raw.status_code,
                headers=headers,
                stream=LimitedStream(raw),
                request=request,
                extensions=raw.extensions,
            )
            try:
                if not stream:
                    await response.aread()
            except BaseException:
                await response.aclose()
                raise
            return response

    trusts_environment = not is_this_machine(urlsplit(address).hostname or "")
    return LimitedClient(headers={"Accept-Encoding": ACCEPTED}, trust_env=trusts_environment, **options)


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
        """Posts a body, and reads the whole answer within `seconds`: its JSON, or None when it is not valid.

        Raises NoAnswer or Refused.
        """
        try:
            # One limit for connecting, waiting and reading: a body that trickles in is late as well.
            async with TimeLimit(seconds):
                status, headers, text, content = await self._posted(path, to_json(body))
        except BodyError as error:
            raise NoAnswer("malformed", str(error), is_transient=False) from error
        # Certificates, proxies, resolvers and decoders have exceptions of their own, of no common base.
        except Exception as error:  # of any library
            from aiohttp import (
                ClientConnectionError,
                ClientConnectorError,
                ClientHttpProxyError,
                ClientPayloadError,
            )

            proxy = self._proxy
            if blocked := _blocked(error, proxy):
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
            raise NoAnswer("denied", _login_wanted(self._proxy), is_transient=False)
        if not 200 <= status < 300:
            raise Refused(status, headers, text)
        data = _json(content)
        if (said := _error_within(data)) is not None:
            raise Refused(_status_of(said), headers, json.dumps({"error": said}, ensure_ascii=False))
        return data

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()

    async def _posted(self, path: str, body: bytes) -> tuple[int, Mapping[str, str], str, bytes]:
        """Status and headers of the answer, its body as text where it is no reply, and its body unpacked."""
        session = self._session or self._connected()
        async with session.post(
            f"{self._address.rstrip('/')}{path}{self._mark}{self._query}",
            data=body,
            # Merged once and not for every call; but a proxy would be told them, and with them the key.
            headers=self._headers if self._proxy else None,
            proxy=self._proxy,
            # A redirect is an answer like any other: the key is sent to no other address.
            allow_redirects=False,
        ) as response:
            content = await whole_body(response.content, response.headers.get("Content-Encoding"))
            text = "" if 200 <= response.status < 300 else _text(content, response.charset)
            return response.status, response.headers, text, content

    def _connected(self) -> "ClientSession":
        import aiohttp

        self._session = aiohttp.ClientSession(
            # Every call in flight has its own connection, which the next call reuses.
            connector=aiohttp.TCPConnector(
                limit=self._calls, keepalive_timeout=IDLE, ssl=self._certificates()
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Bodies are unpacked where they are counted, and the time is that of the whole call.
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),
            headers=None if self._proxy else self._headers,
        )
        return self._session

    def _certificates(self) -> "ssl.SSLContext | bool":
        """The authorities that are trusted, where any are needed."""
        if not self._address.lower().startswith("https:"):
            return True
        import httpx2

        return httpx2.create_ssl_context()


def _text(content: bytes, charset: str | None) -> str:
    """A body as text; unknown and wrong encodings are read as UTF-8."""
    try:
        return content.decode(charset or "utf-8", "replace")
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")


def _json(content: bytes) -> Any:
    """The JSON of an answer; None when it is not valid."""
    # Every call passes here; the standard parser takes several times as long.
    try:
        return from_json(content)
    except ValueError:  # it is faster, but leaves byte order marks and half characters to json
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(content)
        return None


# What an error without a status is called by its code or type, and the status that it would have. Anything
# else may pass, like most of what a provider behind a gateway fails of.
_NAMED_STATUS = (
    (re.compile(r"rate.?limit|too.?many|exhausted|throttl"), 429),
    (re.compile(r"authent|api.?key|permission|unauthori[sz]ed"), 401),
    (re.compile(r"unexpected endpoint|(?:unknown|no such) (?:endpoint|path|url|route)|page not found"), 404),
    (re.compile(r"invalid|bad.?request|unsupported|not.?found|content.?(?:filter|policy)|context"), 400),
)


def _error_within(data: Any) -> Any:
    """The error of an answer with status 200 that holds nothing else; None where there is none.

    OpenRouter and other gateways have sent the status before their provider fails. Then there are no choices,
    or the only one has an error in it.
    """
    if not isinstance(data, dict) or data.get("data"):
        return None
    choices = data.get("choices")
    if not choices:
        return data.get("error") or (data if data.get("object") == "error" else None)
    first = choices[0] if isinstance(choices, list) else None
    return (first.get("error") or None) if isinstance(first, dict) else None


def _status_of(error: Any) -> int:
    """The status that an error has within an answer, or would have by its name; else 500."""
    said = error if isinstance(error, dict) else {}
    codes = [str(said.get(key) or "").lower() for key in ("code", "status", "status_code", "type")]
    if isinstance(error, str):
        codes.append(error[:200].lower())
    for code in codes:
        if re.fullmatch(r"[45]\d\d", code):
            return int(code)
    return next((status for name, status in _NAMED_STATUS if name.search(" ".join(codes))), 500)


def proxy_for(address: str) -> str | None:
    """The environment's proxy for an address (HTTPS_PROXY, ALL_PROXY, NO_PROXY); None for this machine."""
    parts, proxies = urlsplit(address), getproxies()
    if is_this_machine(parts.hostname or "") or proxy_bypass(parts.netloc):
        return None
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    # As in `proxy:3128`, which curl takes, too.
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy or None


def is_this_machine(host: str) -> bool:
    """Whether a host is this machine itself, which no proxy can reach."""
    return host.lower() in THIS_MACHINE


def check_way(address: str) -> None:
    """Raises InputError for a proxy that is not spoken to, and for a file of certificates that is not there.

    Known before the first call, which would only say that there is no connection.
    """
    proxy = proxy_for(address)
    if proxy and urlsplit(proxy).scheme not in ("http", "https"):
        msg = _(
            "{variable}={proxy}: only HTTP proxies are supported. Set HTTPS_PROXY=http://host:port, or"
            " NO_PROXY={host} to reach it directly.",
            variable=_proxy_variable(address, proxy),
            proxy=shown_proxy(proxy),
            host=urlsplit(address).hostname,
        )
        raise InputError(msg)
    if not address.startswith("https:"):
        return
    for name in CERTIFICATES:
        path = os.environ.get(name, "")
        if path and not Path(path).exists():
            raise InputError(_("{name}={path}: there is no such file or folder.", name=name, path=path))
    if path := os.environ.get("SSL_CERT_FILE", ""):
        try:
            ssl.create_default_context(cafile=path)
        except OSError as error:  # of ssl, too
            reason = getattr(error, "reason", None) or error.strerror or type(error).__name__
            msg = _(
                "SSL_CERT_FILE={path}: no certificates in it ({reason}); it must be a PEM file"
                " (-----BEGIN CERTIFICATE-----).",
                path=path,
                reason=reason,
            )
            raise InputError(msg) from None


def shown_proxy(proxy: str) -> str:
    """A proxy's address without its login."""
    before, scheme, rest = proxy.rpartition("://")
    return before + scheme + rest.rpartition("@")[2].partition("/")[0]


def _proxy_variable(address: str, proxy: str) -> str:
    """The variable of the environment that names a proxy, as it is written there."""
    wanted = (f"{urlsplit(address).scheme}_proxy", "all_proxy")
    given = (name for name, value in os.environ.items() if name.lower() in wanted and value in proxy)
    return next((name for name in given if os.environ[name]), "HTTPS_PROXY")


def through(proxy: str | None, message: Message | str) -> Message | str:
    """A failure with the proxy that the request went through."""
    if not proxy:
        return message
    return _("{failure}, through the proxy {proxy}", failure=message, proxy=shown_proxy(proxy))


def _blocked(error: BaseException, proxy: str | None) -> Message | str | None:
    """What is wrong where no other attempt can succeed: an untrusted certificate, a proxy's refusal."""
    from aiohttp import ClientHttpProxyError

    if isinstance(error, ClientHttpProxyError) and error.status == 407:
        return _login_wanted(proxy)
    if isinstance(error, ClientHttpProxyError) and 400 <= error.status < 500:
        return _(
            "the proxy {proxy} refused the connection ({status:d} {reason}); NO_PROXY lists hosts to reach"
            " directly",
            proxy=shown_proxy(proxy or ""),
            status=error.status,
            reason=client_words(error),
        )
    cause: BaseException | None = error
    # aiohttp's own error is one of ssl as well, without what ssl says.
    while cause is not None and not (isinstance(cause, ssl.SSLError) and hasattr(cause, "reason")):
        cause = getattr(cause, "certificate_error", None) or cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return through(proxy, _untrusted(cause))
    if cause is not None and cause.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
        return through(proxy, _("the server does not speak HTTPS; should it be http://?"))
    return None


def _untrusted(error: ssl.SSLCertVerificationError) -> Message:
    """What is wrong with a certificate, and what to set where it is only not known here."""
    reason = error.verify_message.strip().rstrip(".")
    if error.verify_code not in _NOBODY_TRUSTED:
        return _("its certificate is not valid: {reason}", reason=reason)
    told = _(
        "its certificate is not trusted ({reason}): set SSL_CERT_FILE to the certificate (PEM) of its issuer,"
        " usually your company",
        reason=reason,
    )
    other = next((name for name in _OTHER_CERTIFICATES if os.environ.get(name)), None)
    return (
        _("{told} ({other} is set but not read: SSL_CERT_FILE=${other})", told=told, other=other)
        if other
        else told
    )


def _login_wanted(proxy: str | None) -> Message:
    """What a proxy's 407 means."""
    return _(
        "the proxy {proxy} requires a login (407): HTTPS_PROXY=http://name:password@host:port; NO_PROXY lists"
        " hosts to reach directly",
        proxy=shown_proxy(proxy or "?"),
    )


def client_words(error: BaseException) -> Message | str:
    """The message of a client's error, short and without representations of its objects."""
    message = " ".join(str(getattr(error, "message", "") or error).split()).replace(" ssl:default", "")
    if message.startswith("<RawResponseMessage"):
        return _("the connection was closed within the headers")
    # Whole words: half a word of a cause cannot be looked up.
    cut = message[:_LONGEST].rpartition(" ")[0] or message[:_LONGEST]
    return (message if len(message) <= _LONGEST else f"{cut} …") or type(error).__name__


def _has_timed_out(error: BaseException | None) -> bool:
    # The first cause decides: the transport calls every lost connection a timeout.
    while error is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error is not None
