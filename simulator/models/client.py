"""One request to a model, from the question to the reply: read from top to bottom, it is the request's life.

    ask / say / embed     what is wanted; a malformed reply is asked for once more
    complete              the request, and what the completion says (completion, context)
    _reply                out of the cache, else asked without what the endpoint refuses (cache, abilities)
    _send                 again while the error may pass; while the model answers nobody one asks for all
                          (patience)
    _attempt              one try: its most is reserved in the budget (pricing), a place is waited for
                          (limiter), and whoever has to know is told how it went
    _exchange             the request itself (exchange; providers: the same through LangChain)

What leaves `Model` is a ModelFailure (failures): AccessDenied and Outage end the run, OutOfPatience and the
others cost one line or grade. BudgetSpent passes through. What the models of a process share: connections.

The key of a reply in the cache is the hash of address and whole body, seed and all, also of what is refused:
two repeats with different seeds are two requests even where the endpoint takes no seeds.
"""

import contextlib
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from simulator.core.errors import LoginPage, MalformedReply, ModelFailure, OutOfPatience, RehearsalError
from simulator.core.messages import _, message_of
from simulator.core.roles import Endpoint
from simulator.core.types import Usage, usage_told
from simulator.models.abilities import EMBEDDING_FORMS, LIMITS, MOST_LESSONS
from simulator.models.cache import ResponseCache, request_key
from simulator.models.completion import Unusable, text_in
from simulator.models.connections import Connections
from simulator.models.context import tokens_read
from simulator.models.embedding import Embeddings, NoEmbeddings, rows_of, vectors_of
from simulator.models.exchange import NotJson, Transport
from simulator.models.failures import failure_at, failure_of, words_of
from simulator.models.forms import most_tokens, strict_schema
from simulator.models.limiter import DIALOGUE, Permit
from simulator.models.patience import Patience
from simulator.models.pricing import Ledger
from simulator.models.reading import parse_reply
from simulator.models.refusals import CallError, NoAnswer, Refused

Reply = TypeVar("Reply", bound=BaseModel)
Messages = list[dict[str, str]]
Body = dict[str, Any]

CHAT, EMBEDDINGS = "/chat/completions", "/embeddings"
# How many times as long a reply may be that is asked for once more, because the first was cut off: a model
# that thinks aloud before the form needs that much, and one that repeats itself for ever is ended all the
# same.
LONGER = 4
# The most tokens of a reply that nobody reads.
FEW_TOKENS = 16
# What a model is asked that answers nobody, to tell whether it is the model or the request.
SHORTEST = "Reply with OK."


class Received(NamedTuple):
    """The JSON of a reply, its tokens, the key of its request ("": not cached), and whether it was cached."""

    data: Any
    usage: Usage
    request: str = ""
    is_cached: bool = False


class Completion(NamedTuple):
    """The text of a chat completion, its tokens, and the key of its request in the cache.

    `cut_off` tells of a reply that reached its limit of tokens, or has all its words elsewhere: it is not
    whole, whatever can be read of it. An empty `request` means that nothing was cached.
    """

    text: str
    usage: Usage
    request: str
    cut_off: MalformedReply | None = None

    def read(self, reply_form: type[Reply], read: Callable[[str, type[Reply]], Reply]) -> Reply:
        """The reply in its form. Raises MalformedReply, also for one that was cut off."""
        if self.cut_off:
            raise self.cut_off
        return read(self.text, reply_form)


class Learnt(Exception):
    """The endpoint refused something that it is asked without from now on: the request goes out again."""


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
        self._pause = connections.pause(endpoint)
        self._abilities, self._availability, self._context_window = connections.record(endpoint)
        self._failure = partial(failure_at, endpoint)

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
            return first.read(reply_form, read)
        except MalformedReply as error:
            # The model sees what it wrote, or it could not know what was wrong with it.
            retry = [
                *messages,
                {"role": "assistant", "content": first.text[:4000] or "-"},
                {"role": "user", "content": again(str(error))},
            ]
        second = await self.complete(retry, seed, reply_form, longer=first.cut_off is not None)
        try:
            return second.read(reply_form, read)
        except MalformedReply:
            # A resumed run tries again, and must not get the same replies.
            self.cache.forget(first.request, second.request)
            raise

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
        most = None
        if reply_form is not None:
            most = most_tokens(reply_form) * (LONGER if longer else 1)
        received = await self._reply(CHAT, lambda: self._body(messages, seed, reply_form, most))
        try:
            said = text_in(received.data, reply_form)
        except Unusable as error:
            # Some answer every address, with a page or an error of their own.
            lacks = self.endpoint.missing_of_address if error.is_foreign else None
            raise self._failure(error.kind, error.words, advice=lacks) from error
        await self._check_was_read(messages, received.data)
        # An empty text is malformed, and would be so for every later run.
        if said.text and not received.is_cached:
            self.cache.put(received.request, received.data)
        cut_off = MalformedReply("malformed", said.elsewhere) if said.elsewhere else None
        if reply_form is not None and said.is_cut:
            written = received.usage.tokens_out or most or 0
            msg = _(
                "the reply was cut off at its limit of {n} tokens (max_tokens in {variable} sets another)",
                n=written,
                variable=f"REHEARSAL_{self.endpoint.role.upper()}_EXTRA",
            )
            cut_off = MalformedReply("malformed", msg, raw=said.text)
        return Completion(said.text, received.usage, received.request, cut_off)

    def _body(
        self, messages: Messages, seed: int | None, reply_form: type[BaseModel] | None, most: int | None
    ) -> Body:
        """The request in the best form that the endpoint has not refused yet."""
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

    def _with_extra(self, body: Body) -> Body:
        """A body with the fields of the user's own, which go before ours; without those that are None."""
        extra = self.endpoint.extra
        # The limit has two names, of which a body may have one.
        taken = {*LIMITS} if extra.keys() & {*LIMITS} else set[str]()
        ours = {name: value for name, value in body.items() if name not in taken}
        return {name: value for name, value in (ours | extra).items() if value is not None}

    async def _check_was_read(self, messages: Messages, data: Any) -> None:
        """Raises ModelFailure when the server cut the prompt: whatever it answered is no answer to that."""
        read, texts = tokens_read(data), [message["content"] for message in messages]
        if (size := await self._context_window.cut(texts, read, self._counted)) is not None:
            msg = _(
                "the server cut the prompt: it read {read:,d} tokens of about {size:,.0f}; raise its context"
                " (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH, see docs/models.md)",
                read=read,
                size=size,
            )
            raise self._failure("error", msg)

    async def _counted(self, text: str) -> int:
        """How many tokens a text is counted as, by a call that is answered with hardly any."""
        asked = {"model": self.endpoint.model, "messages": [{"role": "user", "content": text}]}
        received = await self._reply(
            CHAT, lambda: self._with_extra({**asked, self._abilities.limit: FEW_TOKENS})
        )
        if not received.is_cached:
            self.cache.put(received.request, received.data)
        return tokens_read(received.data)

    async def _reply(self, path: str, build: Callable[[], Body], *, keyed: bool = True) -> Received:
        """A reply from the cache, or of the endpoint, which is asked again without what it refuses.

        Unless `keyed`, the cache is not looked into. Raises ModelFailure.
        """
        # Each round leaves out one thing more, so there is an end to it.
        for _unused in range(MOST_LESSONS):
            body = build()
            request = self._key(path, body) if keyed else ""
            if (kept := self._from_cache(request)) is not None:
                return kept
            try:
                data, usage = await self._send(path, self._abilities.fitted(body))
            except Learnt:
                continue
            return Received(data, usage, request)
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
        usage = self._usage(data)
        self.ledger.charge(self.endpoint.role, usage, cached=True)
        return Received(data, usage, request, is_cached=True)

    def _usage(self, data: Any) -> Usage:
        counted = data.get("usage") if isinstance(data, dict) else None
        return usage_told(counted, self.endpoint.model) or Usage(model=self.endpoint.model)

    async def _send(self, path: str, body: Body) -> tuple[Any, Usage]:
        """The JSON of an answer and its tokens, asked for again while that may help. Raises ModelFailure.

        While the model answers nobody, it waits for its turn, and asks for as long as that takes, or Outage.
        """
        patience = Patience(self.connections.patience)
        answers: int | None = None
        empty = 0
        while True:
            pause, asks_for_all = 0.0, False
            if self._is_waited_for:
                left = await self._availability.turn()
                patience.renew(left)
                asks_for_all = left is not None
            patience.tries += 1
            try:
                data, usage = await self._attempt(path, body, patience)
                is_json = not isinstance(data, NotJson)
                empty += not is_json
                # Where a proxy may have answered instead, it is tried once more.
                if is_json or (empty > 1 and await self._is_no_json_final(path, patience)):
                    return data, usage
            except CallError as error:
                if not error.is_transient or await self._is_at_fault(path, patience):
                    answers = self._availability.answers if answers is None else answers
                    if (wait := self._pause_after(error, patience)) is None:
                        return await self._given_up(path, body, error, patience, answers)
                    pause = wait
            finally:
                if asks_for_all:
                    self._availability.asked()
            if pause:
                await patience.sleep(pause)

    def _pause_after(self, error: CallError, patience: Patience) -> float | None:
        """Seconds until the next attempt, with a notice where they are many; None for no further one."""
        attempts = self.connections.attempts
        # Of an endpoint that is only busy, patience alone decides.
        is_enough = patience.tries >= attempts and (attempts == 1 or not error.is_busy)
        if is_enough or not error.is_transient:
            return None
        pause = patience.fitting(self.connections.wait(error, patience.tries), error)
        if pause is not None:
            reason = failure_of(self.endpoint, error).message
            self.connections.notices.waiting(self.endpoint.address, pause, reason, since=patience.spent)
        return pause

    async def _given_up(
        self, path: str, body: Body, error: CallError, patience: Patience, answers: int
    ) -> tuple[Any, Usage]:
        """Raises the call's failure, or Outage where no other one was answered since the first error.

        Then it asks something else before; with an answer the model may be back this very moment.
        """
        failure = failure_of(self.endpoint, error, patience.gave_up)
        if patience.gave_up and self._availability.answers == answers:
            # Told to wait for longer, it asks for nothing in between.
            if patience.is_told or not await self._answers_at_all(path):
                raise self._availability.lost(failure) from error
            with contextlib.suppress(CallError):
                return await self._attempt(path, body, Patience(self.connections.patience))
        raise failure from error

    @property
    def _is_waited_for(self) -> bool:
        """Whether the model answers nobody; with one attempt a failure shows at once."""
        return self._availability.is_away and self.connections.attempts > 1

    async def _is_at_fault(self, path: str, patience: Patience) -> bool:
        """Whether a failure is that of the one call; else the model is waited for."""
        if not self._is_waited_for:
            return True
        if patience.tries >= self.connections.attempts:
            # Nobody else may be asking. Where something else is answered, this call has one try more.
            await self._answers_at_all(path)
        return False

    async def _is_no_json_final(self, path: str, patience: Patience) -> bool:
        """Whether a page in the place of a reply is waited for no longer.

        Raises AccessDenied where nothing was ever answered and the address is probably another one.
        """
        if not self._availability.answers and self.endpoint.missing_of_address:
            raise self._no_json("denied")
        return await self._is_at_fault(path, patience)

    async def _answers_at_all(self, path: str) -> bool:
        """Whether the model answers the shortest of requests; it is paid for like any other."""
        asked: Body = {"input": [SHORTEST]}
        if path != EMBEDDINGS:
            asked = {"messages": [{"role": "user", "content": SHORTEST}]}
        before, body = self._availability.answers, {"model": self.endpoint.model} | asked
        with contextlib.suppress(CallError, RehearsalError, Learnt):
            _data, usage = await self._attempt(path, body, Patience(self.connections.patience))
            if path == EMBEDDINGS:
                self.ledger.charge(self.endpoint.role, usage, sent=body)
        return self._availability.answers > before

    async def _attempt(self, path: str, body: Body, patience: Patience) -> tuple[Any, Usage]:
        """One try, of which ledger, limits and `Availability` hear; a refusal is an answer, too.

        Raises Refused, NoAnswer, Learnt and BudgetSpent.
        """
        role, is_chat = self.endpoint.role, path != EMBEDDINGS
        slot = self._limiter.slot(self.priority, self._pause, is_bot=role == "demo", patience=patience)
        try:
            # Embeddings are sent together, and have their room one by one.
            async with self.ledger.room(role, body) if is_chat else contextlib.nullcontext(), slot as permit:
                before = patience.spent
                try:
                    data = await self._exchange(path, body, patience)
                except CallError as error:
                    if isinstance(error, Refused) and self._abilities.learn(error.refusal, body):
                        self._availability.answered()
                        raise Learnt from error
                    self._relieve(error, permit, patience, before)
                    if isinstance(error, NoAnswer) and error.was_sent:
                        self.ledger.charge(role, self._usage(None), sent=body)
                    raise
                usage = self._usage(data)
                self._limiter.succeeded(permit)
                self._abilities.succeeded()
                if is_chat:
                    self.ledger.charge(role, usage, sent=body)
        except CallError as error:
            if error.is_transient:
                self._availability.failed(failure_of(self.endpoint, error), error.wait)
            # Without patience it was not even asked.
            elif not patience.gave_up:
                self._availability.answered()
            raise
        if isinstance(data, NotJson):
            self._availability.failed(self._no_json("malformed"), None)
        else:
            self._availability.answered()
        return data, usage

    def _no_json(self, kind: str) -> ModelFailure:
        lacks = self.endpoint.missing_of_address
        return self._failure(kind, _("the reply is not JSON"), advice=lacks or "")

    def _relieve(self, error: CallError, permit: Permit, patience: Patience, before: float) -> None:
        """Fewer calls at once, or none for a while, where the endpoint is busy or late."""
        if error.is_late and self._limiter.was_crowded_out(permit):
            patience.forgive(before)
        if error.status == 429:
            self._limiter.refused(permit)
            # After a 429 all calls to this model wait. None waits beyond its patience: each one gives up by
            # itself.
            if (seconds := error.wait or 0.0) < self.connections.patience:
                self._limiter.hold(self._pause, seconds)
        elif error.is_late or error.is_busy:
            self._limiter.overloaded(permit, is_late=error.is_late)

    @cached_property
    def _transport(self) -> Transport:
        return self.connections.transport(self.endpoint)

    async def _exchange(self, path: str, body: Body, patience: Patience) -> Any:
        """A reply; models of other providers override this."""
        with patience:
            seconds = min(self.connections.timeout, patience.left)
            reply = await self._transport.post(path, body, seconds)
        # Later it may be that of a proxy, which goes away again.
        if not isinstance(reply, NotJson) or not reply.is_page or self._availability.answers:
            return reply
        words = _("the reply is a web page, not JSON: {page}", page=reply.text)
        denied = self._failure("denied", words, advice=self.endpoint.missing_of_address)
        raise LoginPage("denied", denied.message)

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
                self.ledger.charge(self.endpoint.role, self._usage(data), sent=body)
        try:
            vectors = vectors_of(rows_of(data, len(texts)))
        except ValueError as error:
            raise self._failure("malformed", message_of(error)) from error
        if kept is None:
            self.cache.put(request, data)
        return vectors

    def _embedding_body(self, texts: list[str]) -> Body:
        return self._with_extra({"model": self.endpoint.model, "input": texts, "encoding_format": "base64"})

    async def _send_embeddings(self, texts: list[str]) -> Embeddings:
        """The embeddings of one request, in the best form that the endpoint takes. Raises ModelFailure.

        What it refuses before it has embedded anything may be the form, whatever it says of it.
        """
        abilities = self._abilities
        try:
            return await self._embedded(texts, abilities.embedding_form)
        except ModelFailure as error:
            refusal = error.__cause__.refusal if isinstance(error.__cause__, Refused) else None
            if refusal and refusal.has_no_embeddings:
                # No other call is lost by it: it ends only the judges that compare meanings.
                advice = _(
                    "Judges that need embeddings (cosine) grade nothing: use --embed-model lexical, or name"
                    " an endpoint with embeddings in REHEARSAL_EMBED_URL and REHEARSAL_EMBED_MODEL."
                )
                words = words_of(self.endpoint, error.__cause__)  # type: ignore[arg-type]
                raise NoEmbeddings("error", self._failure("error", words, advice=advice).message) from error
            is_final = isinstance(error, OutOfPatience) or not refusal or not refusal.may_be_of_form
            if abilities.embeds or is_final:
                raise
            for form in EMBEDDING_FORMS[1:] if len(texts) == 1 else EMBEDDING_FORMS[1:-1]:
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
        received = await self._reply(EMBEDDINGS, lambda: body, keyed=False)
        try:
            rows = rows_of(received.data, len(texts))
        except ValueError as error:
            raise self._failure("malformed", message_of(error)) from error
        self._abilities.embeds = True
        return Embeddings(rows, received.usage.tokens_in)
