"""Calls to OpenAI-compatible endpoints: one client per endpoint, one place that retries.

Replies are asked for as a strict JSON schema, then in JSON mode, then as plain text with repair,
whichever the endpoint understands; what it refused once (a format, a temperature, a seed) is
remembered for the process and not asked for again.
"""

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_base

from simulator import replies
from simulator.cache import ResponseCache, request_key
from simulator.endpoints import Endpoint
from simulator.errors import AccessDenied, MalformedReply, ModelFailure
from simulator.limits import DIALOGUE, Limiter, RetryAfter
from simulator.spending import Ledger
from simulator.types import Usage, encodable

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

Form = TypeVar("Form", bound=BaseModel)
Messages = list[dict[str, str]]
Body = dict[str, Any]
ATTEMPTS = 6
# What is shown of an endpoint's own words.
LONGEST_MESSAGE = 300
FORMATS = ("schema", "json", "text")
_DROPPABLE = ("temperature", "seed", "encoding_format")


class Received(NamedTuple):
    """What an endpoint answered, the name of the request in the cache, and whether it came from there."""

    data: Any
    request: str
    cached: bool


class Said(NamedTuple):
    """The text of a chat completion, its tokens, and the name of the request in the cache."""

    text: str
    usage: Usage
    request: str


@dataclass
class Abilities:
    """What one model at one endpoint has been found to understand."""

    reply_format: str = FORMATS[0]
    refused: set[str] = field(default_factory=set)


class Connections:
    """The clients, limits and known abilities of one process; closed once, at the end."""

    def __init__(
        self, *, calls: int, timeout: float, cache: ResponseCache, wait: wait_base | None = None
    ) -> None:
        """At most `calls` in flight per endpoint, each given `timeout` seconds."""
        self.calls, self.timeout, self.cache = calls, timeout, cache
        self.attempts = ATTEMPTS
        self.wait = wait or RetryAfter()
        self._clients: dict[tuple[str, str], AsyncOpenAI] = {}
        self._limiters: dict[tuple[str, str], Limiter] = {}
        self._abilities: dict[tuple[str, str], Abilities] = {}

    def client(self, endpoint: Endpoint) -> "AsyncOpenAI":
        """The one client of this address and key; making one costs 18 ms of CPU."""
        where = (endpoint.url, endpoint.key.get_secret_value())
        if where not in self._clients:
            self._clients[where] = _client(endpoint, self.timeout)
        return self._clients[where]

    def limiter(self, endpoint: Endpoint) -> Limiter:
        """The limit that all roles at this address and key share."""
        where = (endpoint.url, endpoint.key.get_secret_value())
        return self._limiters.setdefault(where, Limiter(self.calls))

    def abilities(self, endpoint: Endpoint) -> Abilities:
        """What this model has refused so far."""
        return self._abilities.setdefault((endpoint.url, endpoint.model), Abilities())

    def retrying(self, is_transient: Callable[[BaseException], bool]) -> AsyncRetrying:
        """Six attempts at whatever may pass, with the waits of this process."""
        return AsyncRetrying(
            stop=stop_after_attempt(self.attempts),
            wait=self.wait,
            retry=retry_if_exception(is_transient),
            reraise=True,
        )

    async def close(self) -> None:
        """Closes every client, and the cache."""
        await asyncio.gather(*(client.close() for client in self._clients.values()))
        self.cache.close()


def _client(endpoint: Endpoint, timeout: float) -> "AsyncOpenAI":
    from openai import AsyncOpenAI, DefaultAioHttpClient  # 0.7 s: only for runs with a model

    return AsyncOpenAI(
        api_key=endpoint.key.get_secret_value(),
        base_url=endpoint.url,
        max_retries=0,
        timeout=timeout,
        http_client=DefaultAioHttpClient(timeout=timeout),
    )


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
        self._abilities = connections.abilities(endpoint)

    async def say(self, messages: Messages, *, seed: int | None = None) -> tuple[str, Usage]:
        """Plain text, and the tokens it took."""
        said = await self._complete(messages, seed, None)
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
        said = await self._complete(messages, seed, reply_form)
        try:
            return read(said.text, reply_form)
        except MalformedReply as error:
            retry = [
                *messages,
                {"role": "assistant", "content": said.text[:4000] or "-"},
                {"role": "user", "content": again(str(error))},
            ]
        second = await self._complete(retry, seed, reply_form)
        try:
            return read(second.text, reply_form)
        except MalformedReply:
            # What failed is tried again by a resumed run, and shall not meet the same replies then.
            self.connections.cache.forget(said.request, second.request)
            raise

    async def embed(self, texts: list[str]) -> list[list[float]]:
        """One vector per text."""
        body = {"model": self.endpoint.model, "input": texts, "encoding_format": "base64"}
        received = await self._send("/embeddings", lambda: body)
        try:
            rows = sorted(received.data["data"], key=lambda row: int(row["index"]))
            vectors = [_vector(row["embedding"]) for row in rows]
        except (KeyError, TypeError, ValueError) as error:
            raise self._failure("malformed", "no embeddings in the reply") from error
        if len(vectors) != len(texts):
            raise self._failure("malformed", f"{len(vectors)} embeddings for {len(texts)} texts")
        self._keep(received)
        return vectors

    async def _complete(
        self, messages: Messages, seed: int | None, reply_form: type[BaseModel] | None
    ) -> Said:
        received = await self._send("/chat/completions", lambda: self._body(messages, seed, reply_form))
        try:
            message = received.data["choices"][0]["message"]
            refusal, text = message.get("refusal"), _text(message.get("content"))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise self._failure("malformed", "the reply is not a chat completion") from error
        if refusal:
            raise self._failure("refused", str(refusal))
        if text:
            self._keep(received)
        return Said(text, _usage(received.data, self.endpoint.model), received.request)

    def _keep(self, received: Received) -> None:
        """Caches an answer once it has turned out to be of use."""
        if not received.cached:
            self.connections.cache.put(received.request, received.data)

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

    async def _send(self, path: str, build: Callable[[], Body]) -> Received:
        """Sends the body, again without what the endpoint turns out not to understand."""
        from openai import APIStatusError  # see _client

        for _ in range(len(FORMATS) + len(_DROPPABLE)):
            body = build()
            sent = {key: value for key, value in body.items() if key not in self._abilities.refused}
            try:
                return await self._cached(path, body, sent)
            except APIStatusError as error:
                if not self._learns(error, sent):
                    raise self._typed(error) from error
        raise self._failure("error", "the endpoint refuses every form of the request")

    async def _cached(self, path: str, body: Body, sent: Body) -> Received:
        """Filed under the whole body: where seeds are refused, repeats still are not the same request."""
        request = request_key(self.endpoint.url + path, body)
        data = self.connections.cache.get(request)
        if data is not None:
            self.ledger.charge(self.endpoint.role, _usage(data, self.endpoint.model), cached=True)
            return Received(data, request, cached=True)
        self.ledger.check()
        data = await self._retried(path, sent)
        self.ledger.charge(self.endpoint.role, _usage(data, self.endpoint.model))
        return Received(data, request, cached=False)

    async def _retried(self, path: str, body: Body) -> Any:
        from openai import APIConnectionError  # see _client

        try:
            return await self.connections.retrying(_is_transient)(self._post, path, body)
        except APIConnectionError as error:
            if _has_timed_out(error):
                raise self._failure("timeout", f"no reply within {self.connections.timeout:g} s") from error
            cause = str(error.__cause__ or error).replace(" ssl:default", "")
            raise self._failure("unreachable", f"no connection ({cause})") from error

    async def _post(self, path: str, body: Body) -> Any:
        from openai import RateLimitError  # see _client

        async with self._limiter.slot(self.priority) as entered:
            try:
                # The reply is read here: building the SDK's response objects would double the CPU of a call.
                data = await self.connections.client(self.endpoint).post(path, body=body, cast_to=object)
            except RateLimitError:
                self._limiter.refused(entered)
                raise
            except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
                data = None  # answered, but not with JSON; whoever reads it says so
            self._limiter.succeeded()
            return data

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

    def _typed(self, error: "APIStatusError") -> ModelFailure:
        code = getattr(error, "code", None)
        kind = "refused" if code in ("content_filter", "content_policy_violation") else "error"
        if error.status_code in (401, 402, 403, 404) or code == "insufficient_quota":
            kind = "denied"
        return self._failure(kind, f"{error.status_code}: {_reason(error)}")

    def _failure(self, kind: str, message: str) -> ModelFailure:
        """A typed failure that says which model of which role; never the key."""
        secret = self.endpoint.key.get_secret_value()
        shown = message.replace(secret, "***") if len(secret) > 4 else message
        role = self.endpoint.role
        said = " ".join(encodable(shown).split())[:LONGEST_MESSAGE]
        text = f"{role} model {self.endpoint.model} at {self.endpoint.address}: {said}"
        if kind == "denied":
            name = role.upper()
            return AccessDenied(kind, f"{text} Check REHEARSAL_{name}_KEY, _URL and _MODEL.")
        return ModelFailure(kind, text)


def _is_transient(error: BaseException) -> bool:
    """Worth another attempt: no connection, a time-out, 408, 409, 429 or 5xx; not an empty account."""
    from openai import APIConnectionError, APIStatusError  # see _client

    if isinstance(error, APIStatusError):
        transient = error.status_code in (408, 409, 429) or error.status_code >= 500
        return transient and getattr(error, "code", "") != "insufficient_quota"
    return isinstance(error, APIConnectionError)


def _has_timed_out(error: BaseException | None) -> bool:
    """Told by what is at the bottom: the transport calls every lost connection a time-out."""
    while error is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error is not None


def _reason(error: "APIStatusError") -> str:
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    return str(message or error.message)


def _text(content: Any) -> str:
    """The text of a message, also of one that is a list of parts."""
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content)
    return str(encodable(str(content or "")))


def _usage(data: Any, model: str) -> Usage:
    counted = data.get("usage") if isinstance(data, dict) else None
    if not isinstance(counted, dict):
        return Usage(model=model)
    return Usage(
        model=model,
        tokens_in=_count(counted.get("prompt_tokens")),
        tokens_out=_count(counted.get("completion_tokens")),
    )


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
