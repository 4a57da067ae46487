"""What the models of one process share: clients, limits, rates, and what was learnt of each model."""

import asyncio
import base64
import importlib
import math
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.wait import wait_base

from simulator.core import replies
from simulator.core.errors import AccessDenied, MalformedReply, ModelFailure, OutOfPatience
from simulator.core.replies import encodable
from simulator.core.roles import Endpoint
from simulator.core.settings import Settings
from simulator.core.types import Usage
from simulator.models.cache import ResponseCache, request_key
from simulator.models.embedding import Batches, Embeddings, Send
from simulator.models.exchange import NoAnswer, http_client, json_of, may_pass, posted, reason_of
from simulator.models.limiter import (
    DIALOGUE,
    REQUESTS,
    TOKENS,
    Limiter,
    Permit,
    Rates,
    RetryAfter,
    Window,
    wait_asked_for,
)
from simulator.models.patience import HeldUp, Notices, Patience
from simulator.models.pricing import Ledger

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
ATTEMPTS = 6
# Seconds that an idle connection is kept: many servers hang up after five.
IDLE = 4.0
# Seconds that the bot is given to be asked before the client is imported beside it.
HEAD_START = 0.1
CLIENT = "openai"
FORMATS = ("schema", "json", "text")


@dataclass
class Abilities:
    """What one model at one endpoint has been found to understand."""

    reply_format: str = FORMATS[0]
    refused: set[str] = field(default_factory=set)


class Connections:
    """The clients, limits and known abilities of one process; closed once, at the end."""

    def __init__(
        self,
        *,
        calls: int,
        timeout: float,
        cache: ResponseCache,
        patience: float = 120.0,
        wait: wait_base | None = None,
    ) -> None:
        """At most `calls` in flight per endpoint, given `timeout` seconds an attempt, `patience` in all."""
        self.calls, self.timeout, self.patience, self.cache = calls, timeout, patience, cache
        self.attempts = ATTEMPTS
        self.wait = wait or RetryAfter(longest=math.inf)
        self.notices = Notices()
        self._clients: dict[tuple[str, str], AsyncOpenAI] = {}
        self._limiters: dict[tuple[str, str], Limiter] = {}
        self._abilities: dict[tuple[str, str], Abilities] = {}
        self._windows: dict[tuple[str, str, int, int], Window] = {}
        self._rates: dict[tuple[str, str, str, int | None, int | None], Rates] = {}
        self._batches: dict[tuple[str, str, str], Batches] = {}
        self._importing: asyncio.Task[Any] | None = None

    @classmethod
    def of(cls, settings: Settings, cache: ResponseCache | None = None) -> "Connections":
        """As the settings say; `cache` in place of theirs."""
        return cls(
            calls=settings.calls,
            timeout=settings.timeout,
            patience=settings.patience,
            cache=cache or ResponseCache(settings.cache),
        )

    def prepare(self) -> "asyncio.Task[Any]":
        """Starts to import the client on a thread: it takes a while, and the bot can be asked meanwhile."""
        if self._importing is None:
            self._importing = asyncio.create_task(self._import())
        return self._importing

    async def _import(self) -> None:
        """The thread would slow down those who ask the bot just now; while its answers come it is welcome."""
        if CLIENT not in sys.modules:
            await asyncio.sleep(HEAD_START)
            await asyncio.to_thread(importlib.import_module, CLIENT)

    def client(self, endpoint: Endpoint) -> "AsyncOpenAI":
        """The one client of this address and key; making one costs 18 ms of CPU."""
        where = (endpoint.url, endpoint.key.get_secret_value())
        if where not in self._clients:
            self._clients[where] = client_of(endpoint, self.timeout, self.calls)
        return self._clients[where]

    def limiter(self, endpoint: Endpoint) -> Limiter:
        """The limit that all roles at this address and key share."""
        where = (endpoint.url, endpoint.key.get_secret_value())
        if where not in self._limiters:
            why = f"{endpoint.address} takes no more calls within this minute"
            said = partial(self.notices.waiting, endpoint.address, why=why)
            self._limiters[where] = Limiter(self.calls, said)
        return self._limiters[where]

    def dialogue(self, *, goes_on: bool) -> None:
        """Whether conversations are still held; when they are over, grades have all places."""
        for limiter in self._limiters.values():
            limiter.dialogue(goes_on=goes_on)

    def rates(self, endpoint: Endpoint) -> Rates:
        """The requests and tokens a minute of this model; what is given counts all models at the address."""
        url, key = endpoint.url, endpoint.key.get_secret_value()
        where = (url, key, endpoint.model, endpoint.rpm, endpoint.tpm)
        if where not in self._rates:
            given = [
                (kind, most) for kind, most in ((REQUESTS, endpoint.rpm), (TOKENS, endpoint.tpm)) if most
            ]
            windows = [self._windows.setdefault((url, key, *each), Window(*each)) for each in given]
            self._rates[where] = Rates(windows)
        return self._rates[where]

    def batches(self, endpoint: Endpoint, send: Send) -> Batches:
        """Where texts for this embedding model are gathered; `send` is the first one's who asks."""
        where = (endpoint.url, endpoint.key.get_secret_value(), endpoint.model)
        return self._batches.setdefault(where, Batches(send))

    def abilities(self, endpoint: Endpoint) -> Abilities:
        """What this model has refused so far."""
        return self._abilities.setdefault((endpoint.url, endpoint.model), Abilities())

    async def persistently(
        self,
        patience: Patience,
        before_wait: Callable[[RetryCallState], None],
        call: Callable[..., Awaitable[T]],
        *given: Any,
    ) -> T:
        """What the call gives, at the first attempt or a later one; nearly all succeed at the first."""
        try:
            return await call(*given)
        except Exception as error:
            if not may_pass(error):
                raise
            first = [error]

        async def again() -> T:
            if first:
                raise first.pop()
            return await call(*given)

        attempts = AsyncRetrying(
            stop=lambda state: state.attempt_number >= self.attempts or patience.is_over(state),
            wait=self.wait,
            retry=retry_if_exception(may_pass),
            sleep=patience.sleep,
            before_sleep=before_wait,
            reraise=True,
        )
        return await attempts(again)

    async def close(self) -> None:
        """Closes every client, and the cache."""
        for limiter in self._limiters.values():
            limiter.close()
        await asyncio.gather(*(batches.close() for batches in self._batches.values()))
        if self._importing is not None:
            await self._importing
        await asyncio.gather(*(client.close() for client in self._clients.values()))
        self.cache.close()


def client_of(endpoint: Endpoint, timeout: float, calls: int) -> "AsyncOpenAI":
    """A client with as many connections as there can be calls."""
    from httpx2 import Limits
    from openai import AsyncOpenAI  # half a second: only for runs with a model

    # What stands behind a ? belongs to every request: the client would put its paths behind it.
    address, _, query = endpoint.url.partition("?")
    # Every call in flight has its connection, and keeps it for the next call.
    pool = Limits(max_connections=calls, max_keepalive_connections=calls, keepalive_expiry=IDLE)
    return AsyncOpenAI(
        api_key=endpoint.key.get_secret_value(),
        base_url=address,
        default_query=dict(parse_qsl(query)),
        max_retries=0,
        timeout=timeout,
        http_client=http_client(timeout=timeout, limits=pool),
    )


if TYPE_CHECKING:
    import httpx2
    from openai import APIStatusError

__all__ = ["Connections", "Messages", "Model"]

Form = TypeVar("Form", bound=BaseModel)
Messages = list[dict[str, str]]
Body = dict[str, Any]
# What is shown of an endpoint's own words.
LONGEST_MESSAGE = 300
# Characters of a reply that are worth reading, let alone keeping: no model writes as much in one go.
LONGEST_REPLY = 1_000_000
_DROPPABLE = ("temperature", "seed", "encoding_format")


class ModelReply(NamedTuple):
    """What an endpoint answered, the name of the request in the cache, and whether it came from there."""

    data: Any
    request: str
    cached: bool


class Said(NamedTuple):
    """The text of a chat completion, its tokens, and the name of the request in the cache."""

    text: str
    usage: Usage
    request: str


class Model:
    """One role's model: `say` for text, `ask` for a filled-in form, `embed` for vectors."""

    def __init__(
        self,
        endpoint: Endpoint,
        connections: Connections,
        ledger: Ledger,
        *,
        temperature: float | None = None,
        priority: int = DIALOGUE,
    ) -> None:
        """Calls with a lower `priority` number go first."""
        self.endpoint, self.connections, self.ledger = endpoint, connections, ledger
        self.temperature, self.priority = temperature, priority
        self._limiter = connections.limiter(endpoint)
        self._whose = f"{endpoint.address} {endpoint.model}"
        self._rates = connections.rates(endpoint)
        self._abilities = connections.abilities(endpoint)

    async def say(self, messages: Messages, *, seed: int | None = None) -> tuple[str, Usage]:
        """Plain text, and the tokens it took."""
        said = await self.complete(messages, seed, None)
        return said.text, said.usage

    async def ask(
        self,
        messages: Messages,
        reply_form: type[Form],
        again: Callable[[str], str],
        *,
        seed: int | None = None,
        read: Callable[[str, type[Form]], Form] = replies.read,
    ) -> Form:
        """The filled-in form. A malformed reply is asked for once more, with `again(problem)`."""
        said = await self.complete(messages, seed, reply_form)
        try:
            return read(said.text, reply_form)
        except MalformedReply as error:
            retry = [
                *messages,
                {"role": "assistant", "content": said.text[:4000] or "-"},
                {"role": "user", "content": again(str(error))},
            ]
        second = await self.complete(retry, seed, reply_form)
        try:
            return read(second.text, reply_form)
        except MalformedReply:
            # What failed is tried again by a resumed run, and shall not meet the same replies then.
            self.connections.cache.forget(said.request, second.request)
            raise

    async def embed(self, texts: list[str]) -> list[list[float]]:
        """One vector per text. What is asked at the same time goes out together, and is kept by itself."""
        body = self._embedding_body(texts)
        request = self._named("/embeddings", body)
        data = self._kept(request)
        cached = data is not None
        if data is None:
            async with self.ledger.room(self.endpoint.role, body):
                embedded = await self.connections.batches(self.endpoint, self._embedded)(texts)
                rows = [{"index": index, "embedding": row} for index, row in enumerate(embedded.rows)]
                data = {"data": rows, "usage": {"prompt_tokens": embedded.tokens}}
                self.ledger.charge(self.endpoint.role, _usage(data, self.endpoint.model))
        try:
            vectors = [_vector(row) for row in _rows(data, len(texts))]
        except (KeyError, TypeError, ValueError) as error:
            raise self._failure("malformed", "no embeddings in the reply") from error
        if not cached:
            self.connections.cache.put(request, data, self._whose)
        return vectors

    async def _embedded(self, texts: list[str]) -> Embeddings:
        """One request for all these texts."""
        data = await self._learning("/embeddings", lambda: self._embedding_body(texts), self._uncached)
        try:
            rows = _rows(data, len(texts))
        except (KeyError, TypeError, ValueError) as error:
            raise self._failure("malformed", f"not {len(texts)} embeddings in the reply") from error
        return Embeddings(rows, _usage(data, self.endpoint.model).tokens_in)

    def _embedding_body(self, texts: list[str]) -> Body:
        return {"model": self.endpoint.model, "input": texts, "encoding_format": "base64"}

    async def complete(
        self, messages: Messages, seed: int | None, reply_form: type[BaseModel] | None
    ) -> Said:
        """What the model says, kept in the cache unless it is nothing."""
        received = await self._learning(
            "/chat/completions", lambda: self._body(messages, seed, reply_form), self._cached
        )
        try:
            message = received.data["choices"][0]["message"]
            refusal, text = message.get("refusal"), _text(message.get("content"))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise self._failure("malformed", "the reply is not a chat completion") from error
        if refusal:
            raise self._failure("refused", str(refusal))
        if len(text) > LONGEST_REPLY:
            raise self._failure("malformed", f"a reply of {len(text):,} characters")
        if text:
            self._keep(received)
        return Said(text, _usage(received.data, self.endpoint.model), received.request)

    def _keep(self, received: ModelReply) -> None:
        """Caches an answer once it has turned out to be of use."""
        if not received.cached:
            self.connections.cache.put(received.request, received.data, self._whose)

    def _body(self, messages: Messages, seed: int | None, reply_form: type[BaseModel] | None) -> Body:
        body: Body = {"model": self.endpoint.model, "messages": messages}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if seed is not None:
            body["seed"] = seed
        if reply_form is not None and self._abilities.reply_format == "schema":
            described = {"name": "reply", "strict": True, "schema": replies.strict_schema(reply_form)}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        elif reply_form is not None and self._abilities.reply_format == "json":
            body["response_format"] = {"type": "json_object"}
        return body

    async def _learning(
        self, path: str, build: Callable[[], Body], send: Callable[[str, Body, Body], Awaitable[T]]
    ) -> T:
        """Sends the body, again without what the endpoint turns out not to understand."""
        if not (importing := self.connections.prepare()).done():
            await asyncio.shield(importing)  # one that is cancelled must not take the import from the others
        from openai import APIStatusError  # see Connections.prepare

        for _ in range(len(FORMATS) + len(_DROPPABLE)):
            body = build()
            sent = {key: value for key, value in body.items() if key not in self._abilities.refused}
            try:
                return await send(path, body, sent)
            except APIStatusError as error:
                if not self._learns(error, sent):
                    raise self._typed(error) from error
        raise self._failure("error", "the endpoint refuses every form of the request")

    def _named(self, path: str, body: Body) -> str:
        """Filed under the whole body: where seeds are refused, repeats still are not the same request."""
        return "" if self.connections.cache.is_off else request_key(self.endpoint.url + path, body)

    def _kept(self, request: str) -> dict[str, Any] | None:
        """The answer of the cache, entered in the ledger."""
        data = self.connections.cache.get(request) if request else None
        if data is not None:
            self.ledger.charge(self.endpoint.role, _usage(data, self.endpoint.model), cached=True)
        return data

    async def _cached(self, path: str, body: Body, sent: Body) -> ModelReply:
        request = self._named(path, body)
        data = self._kept(request)
        if data is not None:
            return ModelReply(data, request, cached=True)
        async with self.ledger.room(self.endpoint.role, sent):
            data = await self._retried(path, sent)
            self.ledger.charge(self.endpoint.role, _usage(data, self.endpoint.model))
        return ModelReply(data, request, cached=False)

    async def _uncached(self, path: str, _: Body, sent: Body) -> Any:
        return await self._retried(path, sent)

    async def _retried(self, path: str, body: Body) -> Any:
        from openai import APIStatusError  # see Connections.prepare

        patience = Patience(self.connections.patience)

        def wait(state: RetryCallState) -> None:
            error = state.outcome and state.outcome.exception()
            told = self._failed(error) if isinstance(error, APIStatusError | NoAnswer) else error
            address, seconds = self.endpoint.address, state.upcoming_sleep
            self.connections.notices.waiting(address, seconds, f"{told}", since=patience.spent)

        try:
            return await self.connections.persistently(patience, wait, self._post, path, body, patience)
        except APIStatusError as error:
            if patience.gave_up:
                raise self._given_up(self._failed(error), patience.gave_up) from error
            raise
        except NoAnswer as error:
            raise self._given_up(self._failed(error), patience.gave_up) from error
        except HeldUp as error:
            raise self._given_up(self._failure("error", str(error)), str(error)) from error

    async def _post(self, path: str, body: Body, patience: Patience) -> Any:
        async with AsyncExitStack() as left:
            entering = left.enter_async_context(self._place(body))
            place = await patience.queueing(entering, self._rates.pause)
            try:
                data, headers = await self._exchange(path, body, patience)
            except Exception as error:  # of whichever client
                self._refused(place, error)
                raise
            self._limiter.succeeded()
            self._told(place, headers)
            if place.ticket is not None:
                usage = _usage(data, self.endpoint.model)
                self._rates.spent(place.ticket, usage.tokens_in, usage.tokens_out)
            return data

    async def _exchange(self, path: str, body: Body, patience: Patience) -> tuple[Any, Mapping[str, str]]:
        """A reply and its headers: the one thing that is different where the client is another's."""
        response = await self._response(path, body, patience)
        if (data := json_of(response)) is None:  # something on the way answered instead: once more
            response = await self._response(path, body, patience)
            data = json_of(response)
        return data, response.headers

    async def _response(self, path: str, body: Body, patience: Patience) -> "httpx2.Response":
        client = self.connections.client(self.endpoint)
        with patience.spending():
            return await posted(client, path, body, min(self.connections.timeout, patience.left))

    def _place(self, body: Body) -> AbstractAsyncContextManager[Permit]:
        """Room for one call, in the order of priority and within the rates."""
        tokens, is_bot = self._rates.estimate(body), self.endpoint.role == "demo"
        return self._limiter.slot(self.priority, self._rates, tokens=tokens, is_bot=is_bot)

    def _refused(self, place: Permit, error: Exception) -> None:
        """Takes a call that came to nothing out of the rates; 429 makes all calls to this model wait."""
        if place.ticket is not None:
            self._rates.failed(place.ticket)
        response = getattr(error, "response", None)
        headers: Mapping[str, str] = getattr(response, "headers", None) or {}
        self._told(place, headers)
        if 429 in (getattr(error, "status_code", None), getattr(response, "status_code", None)):
            self._limiter.refused(place)
            seconds = wait_asked_for(headers) or 0.0
            if seconds < self.connections.patience:  # nobody would wait longer: each call finds out itself
                self._rates.hold(seconds, asyncio.get_running_loop().time())

    def _told(self, place: Permit, headers: Mapping[str, str]) -> None:
        if place.ticket is not None and headers:
            self._rates.answered(place.ticket, headers, asyncio.get_running_loop().time())

    def _learns(self, error: "APIStatusError", body: Body) -> bool:
        """Whether the refusal names something that can be left out from now on."""
        if error.status_code not in (400, 404, 415, 422, 501):
            return False
        said = f"{getattr(error, 'param', '')} {error}".lower()
        for name in _DROPPABLE:
            if name in body and name in said:
                self._abilities.refused.add(name)
                return True
        if "response_format" in body and any(word in said for word in ("response_format", "json", "schema")):
            # Several calls may learn this at once: go on from what was sent, not from what is known.
            sent = "schema" if body["response_format"]["type"] == "json_schema" else "json"
            following = FORMATS[FORMATS.index(sent) + 1]
            self._abilities.reply_format = max(self._abilities.reply_format, following, key=FORMATS.index)
            return True
        return False

    def _failed(self, error: "APIStatusError | NoAnswer") -> ModelFailure:
        return self._failure(error.kind, str(error)) if isinstance(error, NoAnswer) else self._typed(error)

    def _given_up(self, failure: ModelFailure, why: str) -> ModelFailure:
        """The failure, and that the patience of its call has ended; itself where it has not."""
        kind, said = failure.failure.kind, str(failure)
        return OutOfPatience(kind, said if why in said else f"{said} ({why})") if why else failure

    def _typed(self, error: "APIStatusError") -> ModelFailure:
        code = getattr(error, "code", None)
        kind = "refused" if code in ("content_filter", "content_policy_violation") else "error"
        moved = 300 <= error.status_code < 400  # the key goes nowhere but where the user sends it
        if moved or error.status_code in (401, 402, 403, 404) or code == "insufficient_quota":
            kind = "denied"
        return self._failure(kind, f"{error.status_code}: {reason_of(error)}")

    def _failure(self, kind: str, message: str) -> ModelFailure:
        """A typed failure that says which model of which role; never the key."""
        role = self.endpoint.role
        said = " ".join(encodable(self.endpoint.concealed(message)).split())[:LONGEST_MESSAGE]
        text = f"{role} model {self.endpoint.model} at {self.endpoint.address}: {said}"
        if kind == "denied":
            name = role.upper()
            return AccessDenied(kind, f"{text} Check REHEARSAL_{name}_KEY, _URL and _MODEL.")
        return ModelFailure(kind, text)


def _rows(data: Any, count: int) -> list[Any]:
    """The embeddings of a reply in the order of the texts; raises ValueError unless there are `count`."""
    rows = sorted(data["data"], key=lambda row: int(row["index"]))
    if len(rows) != count:
        msg = f"{len(rows)} embeddings for {count} texts"
        raise ValueError(msg)
    return [row["embedding"] for row in rows]


def _text(content: Any) -> str:
    """The text of a message, also of one that is a list of parts."""
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content)
    return str(encodable(str(content or "")))


def _usage(data: Any, model: str) -> Usage:
    counted = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(counted, dict):
        return Usage(model=model)
    asked, said = (_count(counted.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(model=model, tokens_in=asked, tokens_out=said)


def _count(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 <= value < 2**53 else 0


def _vector(embedding: Any) -> list[float]:
    """The floats of an embedding, sent as a list or as base64 of little-endian float32."""
    import numpy as np  # only for runs with an embedding model

    if isinstance(embedding, str):
        vector = np.frombuffer(base64.b64decode(embedding), dtype="<f4").astype(float)
    else:
        vector = np.asarray(embedding, dtype=float)
    if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
        msg = "not a vector of numbers"
        raise ValueError(msg)
    return [float(x) for x in vector]
