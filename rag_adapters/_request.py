"""The request to a bot behind an endpoint, for each question."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from rag_adapters._environment import Environment
from rag_adapters._json import as_json, filled
from simulator import InputError, Message, Query, _

METHODS = ("POST", "PUT", "PATCH", "GET")
OF_THE_DIALOGUE = ("question", "system", "session", "history", "language", "conversation")

# A semicolon separates headers only before a name and a colon, because cookies have semicolons too.
_NEXT_HEADER = re.compile(r";\s*(?=[\w-]+\s*:)|\n")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^`|~\w-]+", re.ASCII)
_NOBODY = Query(text="-")


def headers_of(text: str) -> dict[str, str]:
    """`Name: value; Other-Name: value` as a mapping."""
    found = {}
    for line in filter(None, (part.strip() for part in _NEXT_HEADER.split(text))):
        name, colon, value = line.partition(":")
        if not colon or not _HEADER_NAME.fullmatch(name.strip()):
            msg = _("headers: write 'Name: value; Other-Name: value', secrets as ${{VARIABLE}}.")
            raise InputError(msg)
        found[name.strip()] = value.strip()
    return found


def checked_address(name: str, address: str) -> str:
    """The address, checked. Raises InputError when it is not a valid HTTP address."""
    try:
        parts = urlsplit(address)
        _unused = parts.port  # brackets and port are only checked on access
    except ValueError as error:
        msg = _("{name}: {error}.", name=name, error=error)
        raise InputError(msg) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        msg = _("{name}: must begin with http:// or https:// and name a host.", name=name)
        raise InputError(msg)
    return address


def host_of(address: str) -> str:
    """Host and port, the only part of an address in messages: the rest may hold a key."""
    return urlsplit(address).netloc.rpartition("@")[2]


@dataclass(frozen=True)
class RequestTemplate:
    """The request to the bot; `conversation` is the bot's own name for the dialogue, "" until it is known."""

    method: str
    url: str
    body: Any
    headers: Mapping[str, str]
    environment: Environment

    def check(self) -> None:
        """Raises InputError for settings with which no question could be sent."""
        if self.method not in METHODS:
            msg = _("method={method}: use one of {methods}.", method=self.method, methods=", ".join(METHODS))
            raise InputError(msg)
        if self.method == "GET" and not isinstance(self.body, dict):
            msg = _("request must be an object with method=GET: its fields become the query of the address.")
            raise InputError(msg)
        checked_address("url", self.address(_NOBODY))
        if not all(map(str.isprintable, self.header_values(_NOBODY).values())):
            msg = _("headers: a value from the environment has line breaks or control codes.")
            raise InputError(msg)

    @property
    def host(self) -> str:
        """Host and port of the bot."""
        return host_of(self.address(_NOBODY))

    def address(self, query: Query, conversation: str = "") -> str:
        """The address for this query; values of the dialogue are percent-encoded."""
        told = {name: quote(text, safe="") for name, text in _texts(query, conversation).items()}
        return self.environment.filled(self.url, **told)

    def arguments(self, query: Query, conversation: str = "") -> dict[str, Any]:
        """The request for this query, as arguments of aiohttp's `request`."""
        texts = {**self.environment.values, **_texts(query, conversation)}
        absent = () if conversation else ("conversation",)
        body = filled(self.body, texts, {"history": _plain(query.history)}, absent)
        address = self.address(query, conversation)
        sent: dict[str, Any] = {"method": self.method, "url": address, "allow_redirects": False}
        headers = {"Accept": "application/json", **self.header_values(query)}
        if self.method == "GET":
            params = {key: each if isinstance(each, str) else as_json(each) for key, each in body.items()}
            return {**sent, "params": params, "headers": headers}
        data = as_json(body).encode("utf-8", "replace")
        return {**sent, "data": data, "headers": {"Content-Type": "application/json", **headers}}

    def header_values(self, query: Query) -> dict[str, str]:
        """The configured headers for this query."""
        told = {"session": query.session, "language": query.language}
        try:
            return {name: self.environment.filled(text, **told) for name, text in self.headers.items()}
        except KeyError as error:
            msg = _("headers may use $session and $language, not ${error}.", error=error.args[0])
            raise InputError(msg) from None


def _plain(history: tuple[Message, ...]) -> list[dict[str, str]]:
    return [message.model_dump() for message in history]


def _texts(query: Query, conversation: str) -> dict[str, str]:
    told = {"question": query.text, "session": query.session, "language": query.language}
    told["system"] = query.system
    return {**told, "history": as_json(_plain(query.history)), "conversation": conversation}
