"""Answers that arrive in pieces: server-sent events, or one JSON value per line."""

import codecs
import io
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_adapters._json import Condition, as_json
from rag_adapters._wire import Wire, pieces_of, refusal, shortened, text_of
from simulator import BotFailure, _

if TYPE_CHECKING:
    from aiohttp import ClientResponse

FORMS = ("sse", "lines")
DONE = "[DONE]"


class Event(NamedTuple):
    """One piece: the event's name, "" when it has none, and its data as it was sent."""

    name: str
    data: str


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The lines of a stream, whatever ends them."""
    decoder = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder("utf-8-sig")("replace"), translate=True
    )
    begun: list[str] = []
    async for chunk in chunks:
        first, *more = decoder.decode(chunk).split("\n")
        begun.append(first)
        if more:
            yield "".join(begun)
            for line in more[:-1]:
                yield line
            begun = [more[-1]]
    yield "".join((*begun, decoder.decode(b"", final=True)))


async def events_of(lines: AsyncIterator[str]) -> AsyncIterator[Event]:
    """The events of `text/event-stream`; one that the end cuts short counts as well."""
    name, data = "", list[str]()
    async for line in lines:
        field, _unused, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        elif field == "event":
            name = value.removeprefix(" ")
        elif not line:
            if data:
                yield Event(name, "\n".join(data))
            name, data = "", []
    if data:
        yield Event(name, "\n".join(data))


async def values_of(lines: AsyncIterator[str]) -> AsyncIterator[Event]:
    """The events of a stream of lines."""
    async for line in lines:
        if line.strip():
            yield Event("", line.strip())


class Streaming:
    """How a streamed answer is read: in which form it comes, and what ends it beside its own end."""

    def __init__(self, form: str, until: Condition | None) -> None:
        self.accept = "text/event-stream" if form == "sse" else "application/x-ndjson"
        self.until = until
        self._pieces = events_of if form == "sse" else values_of
        # What does not stream has said all there is; a page is told as such.
        self._unstreamed = ("text/html", "application/json") if form == "sse" else ("text/html",)

    async def replies(self, wire: Wire, arguments: dict[str, Any]) -> list[Any]:
        """The values of all pieces; raises BotFailure for an error among them."""
        headers = {**arguments["headers"], "Accept": f"{self.accept}, application/json"}
        async with wire.response({**arguments, "headers": headers}) as response:
            if response.content_type in self._unstreamed:
                return [wire.parsed(response, await text_of(response))]
            return _whole(await self._collected(wire, response))

    async def _collected(self, wire: Wire, response: "ClientResponse") -> list[Any]:
        found: list[Any] = []
        async for event in self._pieces(lines_of(pieces_of(response))):
            if event.data.strip() == DONE:
                return found
            found.append(_value(event.data))
            if _tells_error(event.name, found[-1]):
                # Masked before it is cut: half a secret would not be found any more.
                raise _failure(_value(wire.environment.masked(event.data)))
            if self.until and self.until.holds(found[-1]):
                return found
        if self.until:
            raise BotFailure("error", _("the stream ended without {until}", until=self.until.text))
        return found


def _value(data: str) -> Any:
    """A piece's JSON when it is an object or a list; words may look like numbers and stay words."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return data
    return value if isinstance(value, (dict, list)) else data


def _whole(values: list[Any]) -> list[Any]:
    """Texts are unquoted where all of them are quoted: one quotation mark alone may be a word."""
    if not values:
        raise BotFailure("empty", _("the stream had no event"))
    try:
        unquoted = [json.loads(value) if isinstance(value, str) else value for value in values]
    except (ValueError, RecursionError):
        return values
    return unquoted if all(isinstance(value, (str, dict, list)) for value in unquoted) else values


def _tells_error(name: str, value: Any) -> bool:
    """Whether a piece is an error, by its event's name or by its fields."""
    if not isinstance(value, dict):
        return name == "error"
    return bool(name == "error" or value.get("error") or "error" in (value.get("event"), value.get("type")))


def _failure(value: Any) -> BotFailure:
    fields = value if isinstance(value, dict) else {}
    told = fields.get("error") or fields.get("message") or value
    if isinstance(told, dict):
        told = told.get("message") or told
    text = told if isinstance(told, str) else as_json(told)
    status = fields.get("status")
    if isinstance(status, int) and 400 <= status < 600:
        return refusal(status, text)
    return BotFailure("error", _("the stream broke off with an error: {text}", text=shortened(text)))
