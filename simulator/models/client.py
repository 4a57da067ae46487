"""Calls to OpenAI-compatible models: the connections of a process, and one `Model` for each role.

What happens to a call, from the outside in:

    ask / say / embed     a structured reply is read, and asked for once more where it is malformed
    _adapting             what the endpoint has refused is left out, and the call goes out again
    _send_cached          a reply that is in the cache costs nothing and waits for nothing
    _send                 up to ATTEMPTS tries, more where it is busy, with the waits that are asked for
    _attempt              one try; while the model answers nobody, calls wait for one of them (outage.py)
    ledger.room           the most that it may cost is reserved in the budget, or BudgetSpent raised
    limiter.slot          a place among the calls in flight at this host, and room in its requests a minute
    transport.post        one request

Each of them raises only what the next one outside can do nothing about. What leaves `Model` is a
ModelFailure: AccessDenied and Outage end the run, OutOfPatience and the others cost one line or grade.

The key of a reply in the cache is the hash of address and whole body, seed and all, also of what is refused:
two repeats with different seeds are two requests even where the endpoint takes no seeds.
"""

import asyncio
import base64
import contextlib
import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.wait import wait_base

from simulator.core.errors import AccessDenied, MalformedReply, ModelFailure, OutOfPatience, RehearsalError
from simulator.core.messages import Message, _, changed, encodable, sentences
from simulator.core.roles import DIALOGUE, Endpoint
from simulator.core.settings import Settings
from simulator.core.types import Usage, usage_told
from simulator.models.cache import ResponseCache, request_key
from simulator.models.context import ContextWindow, Prompt, tokens_read
from simulator.models.embedding import EmbeddingBatcher, Embeddings, Send
from simulator.models.exchange import (
    OF_PROXIES,
    NoAnswer,
    Refused,
    Transport,
    check_way,
    is_transient,
    proxy_for,
    reason_of,
    status_of,
    through,
)
from simulator.models.limiter import BotPlaces, Limiter
from simulator.models.outage import LAST, Availability
from simulator.models.patience import Notices, Patience, RetryAfter
from simulator.models.pricing import Ledger
from simulator.models.rates import REQUESTS, TOKENS, Rates, Window
from simulator.models.reading import lone_form, most_tokens, names_key_of, parse_reply, strict_schema
from simulator.models.refusals import DROPPABLE, EMBEDDING_FORMS, MOST_LESSONS, Abilities
from simulator.models.waits import wait_of

__all__ = ["Connections", "Messages", "Model"]

T = TypeVar("T")
Reply = TypeVar("Reply", bound=BaseModel)
Messages = list[dict[str, str]]
Body = dict[str, Any]

# Tries of one request in all, as long as others are answered, with random waits of at most 1, 2, 4, 8 and
# 16 s between them. Where nobody is, it is tried for as long as --patience lasts.
ATTEMPTS = 6
# How many times as long a reply may be that is asked for once more, because the first was cut off: a model
# that thinks aloud before the form needs that much, and one that repeats itself for ever is ended all the
# same.
LONGER = 4
# Statuses that concern every call to a model, and those of an endpoint that has no embeddings.
_DENIED = (401, 402, 403, 404, 405)
_NO_EMBEDDINGS = (403, 404, 405, 410, 501)
_SAYS_NO_EMBEDDINGS = re.compile(
    r"embeddings?\b.*\b(?:not|n[o']t|unsupported|disabled)|(?:not|n't|unsupported|without|no)\b.*\bembedding",
    re.IGNORECASE,
)
# Of a refusal: a header that it wants, a field of the request that it wants, and how fields are named.
_NAMES_HEADER = re.compile(r"subscription.?key|api-key|x-[a-z-]+|\bheaders?\b", re.IGNORECASE)
_ASKS_FOR_FIELD = re.compile(
    r"\b(?:required|requires?|missing|must|should|needs?|only supports?|expected|provide|specify)\b",
    re.IGNORECASE,
)
_FIELD = re.compile(r"\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b|['\"`]([A-Za-z]\w+)['\"`]")
_OUR_FIELDS = frozenset((
    *DROPPABLE, "model", "messages", "input", "response_format", "json_schema", "json_object", "body",
    "prompt", "role", "content", "user", "system", "assistant", "text", "index", "type", "name", "schema",
    "strict", "invalid_request_error", "context_length_exceeded",
))  # fmt: skip
# Statuses of an endpoint that takes no more calls now (529 is Anthropic's "overloaded"), and of one that did
# not answer in time.
BUSY, LATE = frozenset({429, 503, 529}), frozenset({408, 504})
# Characters of an endpoint's own words in an error.
LONGEST_MESSAGE = 300
EMBEDDINGS = "/embeddings"
# The most tokens of a reply that nobody reads.
FEW_TOKENS = 16
# What a model is asked that answers nobody, to tell whether it is the model or the request.
SHORTEST = "Reply with OK."
# Fields of a message for what was thought, by servers and gateways.
REASONING = ("reasoning_content", "reasoning", "thinking")
# Why a reply ended that a filter of the service took away, or the rest of it.
FILTERED = ("content_filter", "safety", "refusal")
# Characters of a reply; a longer one is an error, because no model writes as much at once.
LONGEST_REPLY = 1_000_000


class Connections:
    """The connections, limits and known abilities of one process; closed once, at the end."""

    def __init__(
        self,
        *,
        calls: int,
        timeout: float,
        cache: ResponseCache,
        patience: float = 120.0,
        wait: wait_base | None = None,
    ) -> None:
        """At most `calls` in flight per endpoint; `timeout` seconds per attempt, `patience` per call."""
        self.calls, self.timeout, self.patience, self.cache = calls, timeout, patience, cache
        self.attempts = ATTEMPTS
        self.max_tokens: int | None = None
        self.wait = wait or RetryAfter(longest=math.inf)
        self.notices = Notices()
        self._transports: dict[tuple[Any, ...], Transport] = {}
        self._checked: set[str] = set()
        self._embeddings: dict[tuple[str, str, str], _FirstEmbedding] = {}
        self._limiters: dict[str, Limiter] = {}
        self._models: dict[tuple[str, str], ModelRecord] = {}
        self._windows: dict[tuple[str, str, int, int], Window] = {}
        self._rates: dict[tuple[str, str, str, int | None, int | None], Rates] = {}
        self._batches: dict[tuple[str, str, str], EmbeddingBatcher] = {}

    @classmethod
    def of(cls, settings: Settings) -> "Connections":
        """With the limits of these settings, and their cache."""
        made = cls(
            calls=settings.calls,
            timeout=settings.timeout,
            patience=settings.patience,
            cache=ResponseCache(settings.cache),
        )
        made.max_tokens = settings.max_tokens
        return made

    def transport(self, endpoint: Endpoint) -> Transport:
        """The shared connections to this address with this key."""
        # By key as well: headers belong to a session, and two keys must not meet in one.
        where = (endpoint.url, endpoint.key.get_secret_value(), tuple(endpoint.sent_headers.items()))
        if where not in self._transports:
            key = endpoint.key.get_secret_value()
            self._transports[where] = Transport(endpoint.url, key, self.calls, endpoint.sent_headers)
        return self._transports[where]

    def check(self, endpoint: Endpoint) -> None:
        """Raises InputError for a proxy or certificates of the environment that cannot be used."""
        if endpoint.url not in self._checked and not endpoint.of_provider:
            check_way(endpoint.url)
            self._checked.add(endpoint.url)

    def embeddings(self, endpoint: Endpoint) -> "_FirstEmbedding":
        """Whether this endpoint has embeddings, as far as it has shown."""
        where = (endpoint.url, endpoint.key.get_secret_value(), endpoint.model)
        return self._embeddings.setdefault(where, _FirstEmbedding())

    def limiter(self, endpoint: Endpoint) -> Limiter:
        """The limit that all calls to this host share, whichever their keys and paths."""
        # By host: judge and customer at one server compete for it, whatever their paths and keys.
        where = endpoint.host
        if where not in self._limiters:
            why = _("{address} takes no more calls within this minute", address=endpoint.address)
            on_wait = partial(self.notices.waiting, endpoint.address, why=why)
            self._limiters[where] = Limiter(self.calls, on_wait, timeout=self.timeout)
        return self._limiters[where]

    def rates(self, endpoint: Endpoint) -> Rates:
        """The rates of this model; configured ones count the calls to all models at the address."""
        url, key = endpoint.url, endpoint.key.get_secret_value()
        where = (url, key, endpoint.model, endpoint.rpm, endpoint.tpm)
        if where not in self._rates:
            limits = [
                (kind, most) for kind, most in ((REQUESTS, endpoint.rpm), (TOKENS, endpoint.tpm)) if most
            ]
            # Accounts are limited by key, so models with the same one share a window.
            windows = [self._windows.setdefault((url, key, *limit), Window(*limit)) for limit in limits]
            self._rates[where] = Rates(windows)
        return self._rates[where]

    def places_of_bot(self, endpoint: Endpoint, own: AbstractAsyncContextManager[Any] | None) -> BotPlaces:
        """The places of a bot that is asked at this address, within the limits of the models there."""
        return BotPlaces(self.limiter(endpoint), Rates(self.rates(endpoint).configured), own)

    def batches(self, endpoint: Endpoint, send: Send) -> EmbeddingBatcher:
        """The shared batcher of this embedding model; the first caller's `send` is used."""
        where = (endpoint.url, endpoint.key.get_secret_value(), endpoint.model)
        return self._batches.setdefault(where, EmbeddingBatcher(send))

    def record(self, endpoint: Endpoint) -> "ModelRecord":
        """What the model there has shown of itself, to whichever role."""
        where = (endpoint.url, endpoint.model)
        if where not in self._models:
            availability = Availability(endpoint.address, self.patience, self.notices.waiting)
            self._models[where] = ModelRecord(Abilities(), availability, ContextWindow())
        return self._models[where]

    async def back(self) -> None:
        """Waits while one of the models answers nobody. Raises Outage where that outlasts --patience."""
        for record in tuple(self._models.values()):
            await record.availability.back()

    async def close(self) -> None:
        """Closes all connections, and the cache."""
        for record in self._models.values():
            record.availability.close()
        for limiter in self._limiters.values():
            limiter.close()
        await asyncio.gather(*(batches.close() for batches in self._batches.values()))
        await asyncio.gather(*(each.close() for each in self._transports.values()))
        self.cache.close()


class ModelRecord(NamedTuple):
    """What one model has shown: what it supports, whether it answers anybody, how it counts tokens."""

    abilities: Abilities
    availability: Availability
    context_window: ContextWindow


class _Learnt(Exception):
    """The endpoint refused something that it is asked without from now on: the call goes out again."""


class _FirstEmbedding:
    """Whether an endpoint has embeddings. `first` is set once the first request is over."""

    def __init__(self) -> None:
        self.first: asyncio.Event | None = None
        self.refusal: Message | str | None = None


class Received(NamedTuple):
    """The JSON of a reply, and its tokens."""

    data: Any
    usage: Usage


class Completion(NamedTuple):
    """The text of a chat completion, its tokens, and the key of its request in the cache.

    `cut_off` tells of a reply that reached its limit of tokens, or has all its words elsewhere: it is not
    whole, whatever can be read of it. An empty `request` means that nothing was cached.
    """

    text: str
    usage: Usage
    request: str
    cut_off: MalformedReply | None = None


class Model:
    """The model of a role: `say` for text, `ask` for a structured reply, `embed` for vectors."""

    def __init__(
        self,
        endpoint: Endpoint,
        connections: Connections,
        ledger: Ledger,
        *,
        temperature: float | None = None,
        priority: int = DIALOGUE,
        cached: bool = True,
    ) -> None:
        """Calls with a lower `priority` go first; unless `cached`, no reply is kept."""
        self.endpoint, self.connections, self.ledger = endpoint, connections, ledger
        self.cache = connections.cache if cached else ResponseCache("off")
        self.temperature, self.priority = temperature, priority
        connections.check(endpoint)
        self._limiter = connections.limiter(endpoint)
        self._rates = connections.rates(endpoint)
        self._abilities, self._availability, self._context_window = connections.record(endpoint)

    async def say(self, messages: Messages, *, seed: int | None = None) -> tuple[str, Usage]:
        """A text, and the tokens of the call."""
        completion = await self.complete(messages, seed, None)
        return completion.text, completion.usage

    async def ask(
        self,
        messages: Messages,
        reply_form: type[Reply],
        again: Callable[[str], str],
        *,
        seed: int | None = None,
        read: Callable[[str, type[Reply]], Reply] = parse_reply,
    ) -> Reply:
        """A structured reply. A malformed one is requested once more, with the message `again(problem)`.

        Raises ModelFailure, or MalformedReply for the second malformed reply.
        """
        first = await self.complete(messages, seed, reply_form)
        try:
            return _whole(first, reply_form, read)
        except MalformedReply as error:
            # The model sees what it wrote, or it could not know what was wrong with it.
            retry = [
                *messages,
                {"role": "assistant", "content": first.text[:4000] or "-"},
                {"role": "user", "content": again(str(error))},
            ]
        second = await self.complete(retry, seed, reply_form, longer=first.cut_off is not None)
        try:
            return _whole(second, reply_form, read)
        except MalformedReply:
            # A resumed run tries again, and must not get the same replies.
            self.cache.forget(first.request, second.request)
            raise

    async def embed(self, texts: list[str]) -> list[list[float]]:
        """One vector per text. Simultaneous calls are sent together, but cached one by one."""
        body = self._embedding_body(texts)
        request = self._key(EMBEDDINGS, body)
        # Each call by itself, though they are sent together: another run asks in other company.
        kept = self._from_cache(request)
        if kept is not None:
            data = kept.data
        else:
            async with self.ledger.room(self.endpoint.role, body):
                embedded = await self.connections.batches(self.endpoint, self._send_embeddings)(texts)
                rows = [{"index": index, "embedding": row} for index, row in enumerate(embedded.rows)]
                data = {"data": rows, "usage": {"prompt_tokens": embedded.tokens}}
                self.ledger.charge(self.endpoint.role, _usage(data, self.endpoint.model), sent=body)
        try:
            vectors = [_vector(row) for row in _rows(data, len(texts))]
        except (KeyError, TypeError, ValueError) as error:
            raise self._failure("malformed", _("no embeddings in the reply")) from error
        if kept is None:
            self.cache.put(request, data)
        return vectors

    async def _send_embeddings(self, texts: list[str]) -> Embeddings:
        """The embeddings of one request; an endpoint that has none is asked once. Raises ModelFailure."""
        there = self.connections.embeddings(self.endpoint)
        if there.first is not None:
            await there.first.wait()
            if there.refusal:
                raise ModelFailure("error", there.refusal)
            return await self._in_best_form(texts)
        there.first = asyncio.Event()
        try:
            return await self._in_best_form(texts)
        except ModelFailure as error:
            if not _has_no_embeddings(error):
                raise
            # No other call is lost by it: it ends only the judges that compare meanings.
            advice = _(
                "Judges that need embeddings (cosine) grade nothing: use --embed-model lexical, or name an"
                " endpoint with embeddings in REHEARSAL_EMBED_URL and REHEARSAL_EMBED_MODEL."
            )
            reason = self._reason(error.__cause__)  # type: ignore[arg-type]
            there.refusal = self._failure("error", reason, advice=advice).failure.message
            raise ModelFailure("error", there.refusal) from error
        finally:
            there.first.set()

    async def _in_best_form(self, texts: list[str]) -> Embeddings:
        """The embeddings of one request, in the best form that the endpoint takes.

        What it refuses before it has embedded anything may be the form, whatever it says of it.
        """
        abilities = self._abilities
        try:
            return await self._embedded(texts, abilities.embedding_form)
        except ModelFailure as failure:
            if abilities.embeds or _has_no_embeddings(failure) or not _may_be_of_the_form(failure):
                raise
            for form in EMBEDDING_FORMS[1:]:
                if form == "text" and len(texts) > 1:
                    break
                with contextlib.suppress(ModelFailure):
                    embeddings = await self._embedded(texts, form)
                    abilities.embedding_form = form
                    return embeddings
            raise

    async def _embedded(self, texts: list[str], form: str) -> Embeddings:
        body = self._embedding_body(texts)
        if form != "base64":
            del body["encoding_format"]
        if form == "text" and len(texts) == 1:
            body["input"] = texts[0]
        data, usage = await self._adapting(
            EMBEDDINGS, lambda: body, lambda path, _, sent: self._send(path, sent)
        )
        try:
            rows = _rows(data, len(texts))
        except (KeyError, TypeError, ValueError) as error:
            raise self._failure("malformed", _("not {n} embeddings in the reply", n=len(texts))) from error
        self._abilities.embeds = True
        return Embeddings(rows, usage.tokens_in)

    def _embedding_body(self, texts: list[str]) -> Body:
        return self._with_extra({"model": self.endpoint.model, "input": texts, "encoding_format": "base64"})

    def _with_extra(self, body: Body) -> Body:
        """A body with the fields of the user's own, which go before ours; without those that are None."""
        extra = self.endpoint.extra
        return {name: value for name, value in (body | extra).items() if value is not None} if extra else body

    async def complete(
        self,
        messages: Messages,
        seed: int | None,
        reply_form: type[BaseModel] | None,
        *,
        longer: bool = False,
    ) -> Completion:
        """A chat completion, cached unless it is empty. Raises ModelFailure.

        A form limits its tokens; `longer`: the first one was cut off, and this one may be longer.
        """
        most = self._most_tokens(reply_form, longer=longer)
        (data, usage), request, cached = await self._adapting(
            "/chat/completions", lambda: self._body(messages, seed, reply_form, most), self._send_cached
        )
        try:
            choice = data["choices"][0]
            message, ended = choice["message"], choice.get("finish_reason")
            refusal, text = message.get("refusal"), _text(message.get("content"))
            elsewhere = None
            if not text.strip():
                text, elsewhere = _besides_content(message, reply_form)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            # Some answer every address, with a page or an error of their own.
            lacks = self.endpoint.missing_of_address
            told = _("the reply is not a chat completion")
            raise self._failure("malformed", told, advice=lacks) from error
        # Of structured outputs: a model that will not fill in the form says so in a field of its own.
        if refusal:
            raise self._failure("refused", str(refusal))
        if str(ended).lower() in FILTERED:
            msg = _("a filter of the service took the reply away (finish_reason {reason})", reason=str(ended))
            raise self._failure("refused", msg)
        if elsewhere and reply_form is None:
            raise self._failure("malformed", elsewhere)
        if len(text) > LONGEST_REPLY:
            raise self._failure("malformed", _("a reply of {n} characters", n=len(text)))
        await self._check_was_read(messages, data)
        # An empty text is malformed, and would be so for every later run.
        if text and not cached:
            self.cache.put(request, data)
        cut_off = MalformedReply("malformed", elsewhere) if elsewhere else None
        if reply_form is not None and ended == "length":
            written = usage.tokens_out or most or 0
            msg = _("the reply was cut off at its limit of {n} tokens (--max-tokens sets another)", n=written)
            cut_off = MalformedReply("malformed", msg, raw=text)
        return Completion(text, usage, request, cut_off)

    async def _check_was_read(self, messages: Messages, data: Any) -> None:
        """Raises ModelFailure when the server cut the prompt: whatever it answered is no answer to that."""
        read, window = tokens_read(data), self._context_window
        texts = [message["content"] for message in messages]
        if window.is_plausible(texts, read):
            return
        prompt = Prompt.of("\n".join(texts))
        async with window.lock:
            if not window.has_asked(prompt):
                await self._learn_tokens(prompt, read)
        if window.is_cut(prompt, read):
            msg = _(
                "the server cut the prompt: it read {read:,d} tokens of about {size:,.0f}; raise its context"
                " (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH, see docs/models.md)",
                read=read,
                size=prompt.size * (window.ratio(prompt) or 1.0),
            )
            raise self._failure("error", msg)

    async def _learn_tokens(self, prompt: Prompt, read: int) -> None:
        """Asks with a third of a prompt, only to see how it is counted."""
        part, of_part = prompt.third(), None
        with contextlib.suppress(RehearsalError):  # then nothing tells
            of_part = await self._counted(part.text)
            # As many as the whole: it was cut as well, or every request is told to have so many.
            if of_part == read and await self._counted(part.beginning().text) == read:
                of_part = 0
        self._context_window.learn(prompt, part, of_part)

    async def _counted(self, text: str) -> int:
        """How many tokens a text is counted as, by a call that is answered with hardly any."""
        asked = {"model": self.endpoint.model, "messages": [{"role": "user", "content": text}]}
        (data, _usage), request, cached = await self._adapting(
            "/chat/completions",
            lambda: self._with_extra({**asked, self._abilities.limit: FEW_TOKENS}),
            self._send_cached,
        )
        if not cached:
            self.cache.put(request, data)
        return tokens_read(data)

    def _most_tokens(self, reply_form: type[BaseModel] | None, *, longer: bool) -> int | None:
        """The limit of a reply: as it is set, else by its form; None for one without a form."""
        if reply_form is None:
            return None
        return self.connections.max_tokens or most_tokens(reply_form) * (LONGER if longer else 1)

    def _body(
        self, messages: Messages, seed: int | None, reply_form: type[BaseModel] | None, most: int | None
    ) -> Body:
        body: Body = {"model": self.endpoint.model, "messages": messages}
        if most is not None:
            body[self._abilities.limit] = most
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if seed is not None:
            body["seed"] = seed
        if reply_form is not None and self._abilities.reply_format == "schema":
            schema = {"name": "reply", "strict": True, "schema": strict_schema(reply_form)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif reply_form is not None and self._abilities.reply_format == "json":
            body["response_format"] = {"type": "json_object"}
        return self._with_extra(body)

    async def _adapting(
        self, path: str, build: Callable[[], Body], send: Callable[[str, Body, Body], Awaitable[T]]
    ) -> T:
        """Sends the body, and again without what the endpoint refuses."""
        # Each round leaves out one thing more, so there is an end to it.
        for _unused in range(MOST_LESSONS):
            body = build()
            try:
                return await send(path, body, self._abilities.fitted(body))
            except _Learnt:
                continue
            except Refused as error:
                raise self._as_failure(error) from error
        raise self._failure("error", _("the endpoint refuses every form of the request"))

    def _key(self, path: str, body: Body) -> str:
        """The cache key of the whole body: even if seeds are refused, repeats are different requests."""
        if self.cache.is_off:
            return ""
        # A gateway may choose the model by a header; a key that is changed chooses nothing.
        headers = {"headers": shown} if (shown := self.endpoint.shown_headers) else {}
        return request_key(self.endpoint.url + path, body | headers)

    def _from_cache(self, request: str) -> Received | None:
        """The reply in the cache, counted in the ledger, or None."""
        data = self.cache.get(request) if request else None
        if data is None:
            return None
        usage = _usage(data, self.endpoint.model)
        self.ledger.charge(self.endpoint.role, usage, cached=True)
        return Received(data, usage)

    async def _send_cached(self, path: str, body: Body, sent: Body) -> tuple[Received, str, bool]:
        """A reply, the key of its request in the cache, and whether it came from there."""
        request = self._key(path, body)
        if (kept := self._from_cache(request)) is not None:
            return kept, request, True
        return await self._send(path, sent), request, False

    async def _send(self, path: str, body: Body) -> Received:
        """A reply, requested again while the error is transient and patience is left.

        A refusal without an end of patience stays Refused, from which `_adapting` may learn.
        """
        connections, patience = self.connections, Patience(self.connections.patience)
        first: Exception | None = None
        try:
            return await self._attempt(path, body, patience)
        except Exception as error:  # only now it takes more than an attempt
            first, answers = error, self._availability.answers

        async def attempt() -> Received:
            nonlocal first
            if error := first:  # tenacity counts the first one, too
                first = None
                raise error
            return await self._attempt(path, body, patience)

        def notice(state: RetryCallState) -> None:
            error: Any = state.outcome and state.outcome.exception()
            address, reason = self.endpoint.address, f"{self._as_failure(error)}"
            connections.notices.waiting(address, state.upcoming_sleep, reason, since=patience.spent)

        attempts = AsyncRetrying(
            stop=lambda state: self._is_enough(patience, state) or patience.is_over(state),
            wait=lambda state: patience.fitting(connections.wait(state), state),
            retry=retry_if_exception(is_transient),
            sleep=patience.sleep,
            before_sleep=notice,
            reraise=True,
        )
        try:
            return await attempts(attempt)
        except (Refused, NoAnswer) as error:
            if isinstance(error, Refused) and not patience.gave_up:
                raise
            failure = self._as_failure(error, patience.gave_up)
            is_alone = patience.gave_up and self._availability.answers == answers
            # Told to wait for longer, it asks for nothing in between.
            if is_alone and (patience.is_told or not await self._answers_at_all(path)):
                raise self._availability.lost(failure) from error
            if is_alone:  # it may be back this very moment
                with contextlib.suppress(Refused, NoAnswer):
                    return await self._heard(path, body, Patience(connections.patience))
            raise failure from error

    def _is_enough(self, patience: Patience, state: RetryCallState) -> bool:
        """Whether all attempts are made; of an endpoint that is only busy, patience alone decides."""
        error = state.outcome.exception() if state.outcome else None
        attempts = self.connections.attempts
        return patience.tries >= attempts and (attempts == 1 or status_of(error) not in BUSY)

    async def _attempt(self, path: str, body: Body, patience: Patience) -> Received:
        """One attempt; while the model answers nobody, as many as it takes until it does, or Outage."""
        there, answers = self._availability, 0
        while True:
            asks = False
            if self._is_waited_for:
                asks = await there.turn()
                # The wait was everybody's; whoever asks for all has what is left for all.
                patience.spent = max(0.0, patience.seconds - max(there.left, LAST)) if asks else 0.0
            patience.tries += 1
            try:
                received = await self._heard(path, body, patience)
                answers += 1
                # Where a proxy may have answered instead, it is tried once more.
                if received.data is not None or (answers > 1 and await self._is_at_fault(path, patience)):
                    return received
            except Exception as error:  # of whichever client
                if not is_transient(error) or await self._is_at_fault(path, patience):
                    raise
            finally:
                if asks:
                    there.asked()

    async def _is_at_fault(self, path: str, patience: Patience) -> bool:
        """Whether a failure is that of the one call; else the model is waited for."""
        if not self._is_waited_for:
            return True
        if patience.tries >= self.connections.attempts:
            # Nobody else may be asking. Where something else is answered, this call has one try more.
            await self._answers_at_all(path)
        return False

    @property
    def _is_waited_for(self) -> bool:
        """Whether the model answers nobody; with one attempt a failure shows at once."""
        return self._availability.is_away and self.connections.attempts > 1

    async def _heard(self, path: str, body: Body, patience: Patience) -> Received:
        """One attempt, of which `Availability` hears whether it was answered; a refusal is an answer, too."""
        try:
            # Embeddings are sent together, and have their room one by one.
            if path == EMBEDDINGS:
                received = await self._post(path, body, patience)
            else:
                async with self.ledger.room(self.endpoint.role, body):
                    received = await self._post(path, body, patience)
                    self.ledger.charge(self.endpoint.role, received.usage, sent=body)
        except Exception as error:  # of whichever client
            if is_transient(error):
                failure = self._as_failure(error)  # type: ignore[arg-type]
                self._availability.failed(failure, wait_of(error))
            # Without patience, or money, it was not even asked.
            elif not (isinstance(error, RehearsalError) or patience.gave_up):
                self._availability.answered()
            raise
        if received.data is None:
            self._availability.failed(self._failure("malformed", _("the reply is no JSON")), None)
        else:
            self._availability.answered()
        return received

    async def _answers_at_all(self, path: str) -> bool:
        """Whether the model answers the shortest of requests; it is paid for like any other."""
        said: Body = {"input": [SHORTEST]}
        if path != EMBEDDINGS:
            said = {"messages": [{"role": "user", "content": SHORTEST}]}
        before, body = self._availability.answers, {"model": self.endpoint.model} | said
        with contextlib.suppress(Exception):  # of whichever client
            received = await self._heard(path, body, Patience(self.connections.patience))
            if path == EMBEDDINGS:
                self.ledger.charge(self.endpoint.role, received.usage, sent=body)
        return self._availability.answers > before

    async def _post(self, path: str, body: Body, patience: Patience) -> Received:
        """One attempt, within the limits of the endpoint, which learn from its outcome."""
        tokens, is_bot = self._rates.estimate(body), self.endpoint.role == "demo"
        slot = self._limiter.slot(
            self.priority,
            self._rates,
            tokens=tokens,
            is_bot=is_bot,
            patience=patience,
        )
        clock = asyncio.get_running_loop().time
        async with slot as permit:
            before = patience.spent
            try:
                data = await self._exchange(path, body, patience)
            except Exception as error:  # of whichever client
                if isinstance(error, Refused) and self._abilities.learn(error.refusal, body):
                    self._rates.spent(permit)
                    raise _Learnt from error
                if isinstance(error, NoAnswer) and error.was_sent:
                    self.ledger.charge(self.endpoint.role, Usage(model=self.endpoint.model), sent=body)
                self._rates.spent(permit)
                status = status_of(error)
                is_late = status in LATE or (isinstance(error, NoAnswer) and error.kind == "timeout")
                if is_late and self._limiter.was_crowded_out(permit):
                    patience.forgive(before)
                if is_late or status in BUSY - {429}:
                    self._limiter.overloaded(permit, is_late=is_late)
                if status == 429:
                    self._limiter.refused(permit)
                    seconds = wait_of(error) or 0.0
                    # After a 429 all calls to this model wait. None waits beyond its patience: each one
                    # gives up by itself.
                    if seconds < self.connections.patience:
                        self._rates.pause.hold(seconds, clock())
                raise
            self._limiter.succeeded(permit)
            self._abilities.succeeded()
            usage = _usage(data, self.endpoint.model)
            self._rates.spent(permit, usage.tokens_in, usage.tokens_out)
            return Received(data, usage)

    async def _exchange(self, path: str, body: Body, patience: Patience) -> Any:
        """A reply; models of other providers override this."""
        with patience:
            seconds = min(self.connections.timeout, patience.left)
            return await self.connections.transport(self.endpoint).post(path, body, seconds)

    def _as_failure(self, error: Refused | NoAnswer, gave_up: Message | str = "") -> ModelFailure:
        """The failure for an error of the endpoint; OutOfPatience when `gave_up` says why nobody waits."""
        if isinstance(error, NoAnswer):
            is_ours = error.kind == "denied" and error.status_code is None
            # What stands in between has nothing to do with the key.
            failure = self._failure(error.kind, error.args[0], advice="" if is_ours else None)
        else:
            # A content filter refuses one text; a redirect, a 401, 402, 403, 404 or 405 concern every call.
            code = error.refusal.code
            kind = "refused" if code in ("content_filter", "content_policy_violation") else "error"
            moved = 300 <= error.status_code < 400  # not followed: the key is sent to no other address
            if moved or error.status_code in _DENIED or code == "insufficient_quota":
                kind = "denied"
            failure = self._failure(kind, self._reason(error), advice=self._advice(error, kind))
        if not gave_up:
            return failure
        message = failure.message
        if str(gave_up) not in str(message):
            message = _("{failure} ({why})", failure=message, why=gave_up)
        return OutOfPatience(failure.failure.kind, message)

    def _reason(self, error: Refused) -> Message | str:
        """The status and the endpoint's reason, with the proxy that may have said it."""
        told = _("{status:d}: {reason}", status=error.status_code, reason=reason_of(error))
        proxy = proxy_for(self.endpoint.url) if error.status_code in OF_PROXIES else None
        # Within TLS nobody but the endpoint answers.
        return through(proxy if self.endpoint.url.startswith("http:") else None, told)

    def _advice(self, error: Refused, kind: str) -> Message | str | None:
        """What to do about a refusal; None for what is said of every one of its kind."""
        reason, name = str(reason_of(error)), self.endpoint.role.upper()
        usual = _("Check REHEARSAL_{name}_KEY, _URL and _MODEL.", name=name)
        if error.status_code in (404, 405) and "model" not in reason.lower():
            lacks = self.endpoint.missing_of_address
            return sentences(lacks, usual) if lacks else None
        if error.status_code in (401, 403) and _NAMES_HEADER.search(reason):
            headers = _("Headers are set in REHEARSAL_{name}_HEADERS='api-key: ${{VARIABLE}}'.", name=name)
            return sentences(headers, usual)
        if kind == "error" and error.status_code in (400, 422) and (field := self._field_of(error, reason)):
            return _(
                "Request fields are set in REHEARSAL_{name}_EXTRA='{{\"{field}\": ...}}'.",
                name=name,
                field=field,
            )
        return None

    def _field_of(self, error: Refused, reason: str) -> str:
        """The field that a refusal asks for, or that came from the user's own; empty where it names none."""
        said = [*sorted(error.refusal.named), *(a or b for a, b in _FIELD.findall(reason))]
        own = next((field for field in self.endpoint.extra if field in said or field in reason), "")
        named = (field for field in said if field.isidentifier() and field not in _OUR_FIELDS)
        return own or (next(named, "") if _ASKS_FOR_FIELD.search(reason) else "")

    def _failure(
        self, kind: str, message: Message | str, *, advice: Message | str | None = None
    ) -> ModelFailure:
        """A failure that names the model and its role, and never contains the key.

        An endpoint may repeat the key in its refusal, or a proxy the whole address; both are masked first.
        `advice` is what to do; None: the settings to check, where access is denied.
        """
        role = self.endpoint.role
        text = _(
            "{role} model {model} at {address}: {reason}",
            role=role,
            model=self.endpoint.model,
            address=self.endpoint.address,
            reason=changed(message, self._short),
        )
        if kind == "denied" and advice is None:
            advice = _("Check REHEARSAL_{name}_KEY, _URL and _MODEL.", name=role.upper())
        if advice:
            ended = str(text).rstrip().endswith((".", "!", "?", "。", "！", "？"))
            text = sentences(text, advice) if ended else _("{failure}. {advice}", failure=text, advice=advice)
        return (AccessDenied if kind == "denied" else ModelFailure)(kind, text)

    def _short(self, text: str) -> str:
        """A text of others on one line, without the key."""
        return " ".join(str(encodable(self.endpoint.concealed(text))).split())[:LONGEST_MESSAGE]


def _has_no_embeddings(error: ModelFailure) -> bool:
    """Whether an endpoint that refuses embeddings has none, or none by this model."""
    cause = error.__cause__
    status = getattr(cause, "status_code", None)
    if status in _NO_EMBEDDINGS or status is None:
        return status is not None
    # Of a model for chats; its own status for it is whichever.
    return status in (400, 422) and bool(_SAYS_NO_EMBEDDINGS.search(str(cause)))


def _rows(data: Any, count: int) -> list[Any]:
    """The embeddings of a reply in the order of the texts; raises ValueError unless there are `count`."""
    rows = data["data"]
    if len(rows) != count:
        raise ValueError(_("{n} embeddings for {count} texts", n=len(rows), count=count))
    # Endpoints may answer in another order, and say so by the index. Some leave it out, some only where it
    # is 0, as protocol buffers do.
    places = [row.get("index") for row in rows]
    if places.count(None) == count:
        return [row["embedding"] for row in rows]
    numbers = [0 if place is None else int(place) for place in places]
    if places.count(None) > 1 or (None in places and numbers.count(0) > 1):
        raise ValueError(_("embeddings without an index"))
    return [row["embedding"] for _unused, row in sorted(zip(numbers, rows, strict=True), key=itemgetter(0))]


def _may_be_of_the_form(failure: ModelFailure) -> bool:
    """Whether a request may have failed for its form: it was refused, not for its key, pace or length."""
    status = getattr(failure.__cause__, "status_code", None)
    is_final = isinstance(failure, AccessDenied | OutOfPatience)
    return status not in (None, 408, 409, 413, 429) and failure.failure.kind == "error" and not is_final


def _whole(
    completion: Completion, reply_form: type[Reply], read: Callable[[str, type[Reply]], Reply]
) -> Reply:
    """The reply in its form. Raises MalformedReply, also for one that was cut off."""
    if completion.cut_off:
        raise completion.cut_off
    return read(completion.text, reply_form)


def _besides_content(
    message: Mapping[str, Any], reply_form: type[BaseModel] | None
) -> tuple[str, Message | None]:
    """The form that a message without content has elsewhere; or "", and why nothing else in it is read.

    Some models call a tool instead of answering, and some servers take the whole answer for reasoning. But
    what is thought is not said: of reasoning only what is nothing but the form counts.
    """
    calls = message.get("tool_calls")
    called = calls if isinstance(calls, list) and calls else [message.get("function_call")]
    functions = [each.get("function") or each for each in called if isinstance(each, dict)]
    if functions:
        given = [each.get("arguments") for each in functions]
        text = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in given)
        if reply_form is not None and names_key_of(text, reply_form):
            return text, None
        names = ", ".join(str(each.get("name"))[:40] for each in functions[:3])
        return "", _("the reply has no text, only calls of tools ({names})", names=names)
    for name in REASONING:
        if thought := _text(message.get(name)).strip():
            if reply_form is not None and (form := lone_form(thought)):
                return form, None
            msg = _(
                "the reply is empty and only its reasoning ({field}) is not, which is no answer:"
                " switch thinking off, or the server's parser of reasoning",
                field=name,
            )
            return "", msg
    return "", None


def _text(content: Any) -> str:
    """The text of a message, also of one that is a list of parts."""
    # Of reasoning models, what was thought is a part without a text.
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content)
    return str(encodable(str(content or "")))


def _usage(data: Any, model: str) -> Usage:
    counted = data.get("usage") if isinstance(data, dict) else None
    return usage_told(counted, model) or Usage(model=model)


def _vector(embedding: Any) -> list[float]:
    """The floats of an embedding, sent as a list or as base64 of little-endian float32."""
    import numpy as np  # only for runs with an embedding model

    if isinstance(embedding, str):
        # Far fewer bytes than a list of numbers, and quicker to read.
        vector = np.frombuffer(base64.b64decode(embedding), dtype="<f4").astype(float)
    else:
        vector = np.asarray(embedding, dtype=float)
    if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
        raise ValueError(_("not a vector of numbers"))
    return vector.tolist()  # type: ignore[no-any-return]
