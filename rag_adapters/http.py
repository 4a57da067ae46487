"""Any bot behind a JSON endpoint: --set url=... --set answer=data.reply."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from rag_adapters._json import JsonPath, filled, kind, parsed, variables_in
from rag_adapters.documents import passages_of
from simulator import Answer, InputError, Message, Passage, Query, RagFailure

if TYPE_CHECKING:
    from aiohttp import ClientError, ClientResponse, ClientSession

METHODS = ("POST", "PUT", "PATCH", "GET")
OF_THE_DIALOGUE = ("question", "session", "history", "language")

# A semicolon parts two headers only where a name and a colon follow: cookies have semicolons too.
_NEXT_HEADER = re.compile(r";\s*(?=[\w-]+\s*:)|\n")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^`|~\w-]+", re.ASCII)
# Shorter values are words that may well be meant when a bot says them.
_SHORTEST_SECRET = 6
_SHOWN_OF_A_BODY = 200


def connect(
    *,
    url: str,
    answer: str,
    request: str = '{"message": "$question", "session": "$session"}',
    passages: str = "",
    passage_text: str = "text",
    passage_id: str = "id",
    headers: str = "",
    method: str = "POST",
) -> "HttpBot":
    """The bot at `url`; `request` is what it is sent, `answer` the path to its words in the reply.

    `$question`, `$session`, `$history` and `$language` are the dialogue's; any other variable is read
    from the environment.
    """
    body, head = parsed("request", request), headers_of(headers)
    used = {
        name: variables_in(name, part) for name, part in (("request", body), ("url", url), ("headers", head))
    }
    if "question" not in used["request"] | used["url"]:
        msg = "request has no $question. In a shell, use single quotes around it, or request=@file.json."
        raise InputError(msg)
    environment = _environment(set.union(*used.values()))
    asking = RequestTemplate(method.upper(), url, body, head, environment)
    asking.check()
    sources = JsonPath("passages", passages) if passages else None
    text, name = JsonPath("passage_text", passage_text), JsonPath("passage_id", passage_id)
    return HttpBot(asking, ReplyPaths(JsonPath("answer", answer), sources, text, name))


def headers_of(text: str) -> dict[str, str]:
    """`Name: value; Other-Name: value` as a mapping."""
    found = {}
    for line in filter(None, (part.strip() for part in _NEXT_HEADER.split(text))):
        name, colon, value = line.partition(":")
        if not colon or not _HEADER_NAME.fullmatch(name.strip()):
            msg = "headers: write 'Name: value; Other-Name: value', secrets as ${VARIABLE}."
            raise InputError(msg)
        found[name.strip()] = value.strip()
    return found


def _environment(used: set[str]) -> dict[str, str]:
    names = used - set(OF_THE_DIALOGUE)
    for name in sorted(names):
        if name not in os.environ:
            filled_in = ", ".join(f"${each}" for each in OF_THE_DIALOGUE)
            msg = f"${name} is not set in the environment, and the dialogue fills only {filled_in}."
            raise InputError(msg)
    return {name: os.environ[name].strip() for name in names}


@dataclass(frozen=True)
class RequestTemplate:
    """What the bot is sent; knows which of it is secret."""

    method: str
    url: str
    body: Any
    headers: Mapping[str, str]
    environment: Mapping[str, str] = field(repr=False)

    def check(self) -> None:
        """Raises InputError for what no question could be sent with."""
        if self.method not in METHODS:
            msg = f"method={self.method}: use one of {', '.join(METHODS)}."
            raise InputError(msg)
        if self.method == "GET" and not isinstance(self.body, dict):
            msg = "request must be an object with method=GET: its fields become the query of the address."
            raise InputError(msg)
        address = urlsplit(self.address(Query(text="-")))
        if address.scheme not in ("http", "https") or not address.hostname:
            msg = "url: must begin with http:// or https:// and name a host."
            raise InputError(msg)
        if not all(map(str.isprintable, self._header_values(Query(text="-")).values())):
            msg = "headers: a value from the environment has line breaks or control codes."
            raise InputError(msg)

    @property
    def host(self) -> str:
        """Host and port: all of the address that messages show, for the rest may hold a key."""
        return urlsplit(self.address(Query(text="-"))).netloc.rpartition("@")[2]

    def address(self, query: Query) -> str:
        """The address for this query; what comes from the dialogue is percent-encoded."""
        told = {name: quote(text, safe="") for name, text in self._texts(query).items()}
        try:
            address = Template(self.url).substitute({**told, **self.environment})
            _ = urlsplit(address).port  # brackets and port are only looked at when asked for
        except ValueError as error:
            msg = f"url: {error}."
            raise InputError(msg) from None
        return address

    def arguments(self, query: Query) -> dict[str, Any]:
        """The request for this query, as arguments of aiohttp's `request`."""
        body = filled(self.body, self._texts(query), {"history": _plain(query.history)})
        sent: dict[str, Any] = {"method": self.method, "url": self.address(query), "allow_redirects": False}
        headers = {"Accept": "application/json", **self._header_values(query)}
        if self.method == "GET":
            params = {key: each if isinstance(each, str) else _as_json(each) for key, each in body.items()}
            return {**sent, "params": params, "headers": headers}
        data = _as_json(body).encode("utf-8", "replace")
        return {**sent, "data": data, "headers": {"Content-Type": "application/json", **headers}}

    def masked(self, text: str) -> str:
        """A text without the values that came from the environment."""
        for value in self.environment.values():
            if len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, "***")
        return text

    def _header_values(self, query: Query) -> dict[str, str]:
        told = {"session": query.session, "language": query.language}
        try:
            return {
                name: Template(text).substitute({**self.environment, **told})
                for name, text in self.headers.items()
            }
        except KeyError as error:
            msg = f"headers may use $session and $language, not ${error.args[0]}."
            raise InputError(msg) from None

    def _texts(self, query: Query) -> dict[str, str]:
        told = {"question": query.text, "session": query.session, "language": query.language}
        return {**self.environment, **told, "history": _as_json(_plain(query.history))}


@dataclass(frozen=True)
class ReplyPaths:
    """Where a reply has the bot's words and the passages they rest on."""

    answer: JsonPath
    passages: JsonPath | None
    passage_text: JsonPath
    passage_id: JsonPath

    def read(self, reply: Any) -> Answer:
        """The answer in a parsed reply; raises RagFailure when there is none."""
        return Answer(text=self._text(self.answer.of(reply)), passages=self._passages(reply))

    def _text(self, value: Any) -> str:
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            return "\n".join(value)
        if value is None or value in ("", []):
            raise RagFailure("empty", f"the bot's answer at {self.answer.text} is empty")
        if isinstance(value, (dict, list)):
            raise RagFailure("malformed", f"what stands at {self.answer.text} is no text: it {kind(value)}")
        return value if isinstance(value, str) else _as_json(value)

    def _passages(self, reply: Any) -> tuple[Passage, ...]:
        """Not every answer has passages: a path that leads nowhere means none."""
        found = self.passages.within(reply) if self.passages else None
        if isinstance(found, dict):
            found = [found]
        return passages_of([self._document(each) for each in found] if isinstance(found, list) else found)

    def _document(self, entry: Any) -> Any:
        if not isinstance(entry, dict):
            return entry
        own = {"text": self.passage_text.within(entry), "id": self.passage_id.within(entry)}
        return {**entry, **{key: value for key, value in own.items() if value is not None}}


class HttpBot:
    """A bot behind an endpoint; keeps one pool of connections, made when it is first asked."""

    def __init__(self, asking: RequestTemplate, paths: ReplyPaths) -> None:
        self.asking, self.paths = asking, paths
        self._session: ClientSession | None = None

    async def __call__(self, query: Query) -> Answer:
        """The bot's answer; raises RagFailure for everything that is none."""
        from aiohttp import ClientError  # listing adapters does not wait for it

        try:
            async with self._connections().request(**self.asking.arguments(query)) as response:
                return self.paths.read(await self._reply(response))
        except ClientError as error:
            raise self._failure(error) from None

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()

    def _connections(self) -> "ClientSession":
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                # Many servers hang up after 5 idle seconds; a request sent just then would be lost.
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=3),
                # One customer's cookies must not reach another; sessions are told apart by $session.
                cookie_jar=aiohttp.DummyCookieJar(),
                # How long to wait is the rehearsal's --timeout.
                timeout=aiohttp.ClientTimeout(total=None),
                trust_env=self.asking.host.partition(":")[0] not in ("localhost", "127.0.0.1"),
            )
        return self._session

    async def _reply(self, response: "ClientResponse") -> Any:
        text = self.asking.masked(await response.text(errors="replace"))
        if response.status >= 400:
            failed = "denied" if response.status in (401, 403) else "error"
            raise RagFailure(failed, f"HTTP {response.status}: {_shortened(text)}".rstrip(": "))
        if response.status >= 300:
            where = self.asking.masked(response.headers.get("Location", "")).partition("?")[0]
            raise RagFailure(
                "error", f"HTTP {response.status}: the bot has moved; set url to {_shortened(where)}"
            )
        try:
            return json.loads(text.removeprefix("\ufeff"))
        except (ValueError, RecursionError):
            shown = f"{response.content_type}: {_shortened(text)}" if text.strip() else "an empty body"
            raise RagFailure("malformed", f"the reply is not JSON but {shown}") from None

    def _failure(self, error: "ClientError") -> RagFailure:
        from aiohttp import ClientConnectorError

        cause = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
        reason = _shortened(
            self.asking.masked(getattr(cause, "strerror", None) or f"{type(cause).__name__} {cause}")
        )
        if isinstance(error, ClientConnectorError):
            return RagFailure("unreachable", f"cannot connect to {self.asking.host}: {reason}")
        return RagFailure("error", f"{self.asking.host} broke off: {reason}")


def _plain(history: tuple[Message, ...]) -> list[dict[str, str]]:
    return [message.model_dump() for message in history]


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shortened(text: str) -> str:
    return " ".join(text.split())[:_SHOWN_OF_A_BODY]
