"""An OpenAI-compatible chat endpoint is the bot: --set model=... --set url=...

Each question is one request with the system text, the dialogue and the question as messages. Whole and
streamed replies end in the same shape, so both are read alike; of a stream the first words are timed. A
refusal is an answer to the customer, too; a reply that broke off, was cut off or filtered is none. Citations
with texts become passages; an endpoint without any shows none, which is not an empty retrieval.

Where the query names choices (a prompt that has the model choose a label), the endpoint is asked for
log-likelihoods first (`choosing`).
"""

import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from simulator.extending import (
    ACCEPTED,
    Answer,
    BodyError,
    BotFailure,
    Chooser,
    Choosing,
    InputError,
    Passage,
    Query,
    Traits,
    Transient,
    Unsupported,
    _,
    authorities,
    blocked_by,
    changed,
    check_way,
    client_words,
    decoded,
    how_it_ended,
    is_http_address,
    is_this_machine,
    kind,
    mask_secrets,
    passages_of,
    proxy_for,
    refused_in,
    text_of_page,
    tool_calls_in,
    unpacked,
    usage_told,
)

from ._json import JsonPath, check_end, filtered, parsed, setting
from ._wire import login_page, moved, redirected, refusal, reported_failure, stream_in

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI, OpenAIError

OPENAI = "https://api.openai.com/v1"
# Settings of `extra` that limit a reply.
_LIMITS = frozenset({"max_tokens", "max_completion_tokens"})
_MOST_CALLS = 200
# Settings of `extra` that offer tools to the model.
_OFFERED = frozenset({"tools", "functions"})
CHAT = "/chat/completions"
_NO_KEY = "none"  # the client insists on one; servers without keys ignore it

_TO_CHECK = _("Check --set url (up to /v1), --set model and the key, REHEARSAL_BOT_KEY.")

# Where endpoints with their own retrieval put the passages.
_CITATIONS = tuple(JsonPath("", path) for path in ("context.citations", "citations", "sources"))
_CHOICE = JsonPath("", "choices.0")


def connect(
    *,
    url: str = "",
    model: str,
    system: str = "",
    stream: bool = False,
    extra: str = "{}",
    top_logprobs: int = 20,
    choosing: Choosing | None = None,
) -> Any:  # the ChatBot, or what has to be awaited for it
    """The model `model` at `url` (OPENAI_BASE_URL when empty) with the system prompt `system`, as the bot.

    If a prompt has it choose among labels or letters, their likelihoods are requested: by the `top_logprobs`
    likeliest tokens of its answer. `choosing` is how that is done, None where the model writes its answers.

    `system` may be `@file.txt`; `extra` is JSON, or `@file.json`, that is added to every request. The key is
    REHEARSAL_BOT_KEY, else OPENAI_API_KEY, which goes to no other address than the one it is for.
    """
    common = os.environ.get("OPENAI_BASE_URL", "")
    address = url or common
    is_common = (address or OPENAI).rstrip("/") == (common or OPENAI).rstrip("/")
    shared = os.environ.get("OPENAI_API_KEY", "") if is_common else ""
    key = (os.environ.get("REHEARSAL_BOT_KEY") or shared).strip()
    if not key and not address:
        msg = _(
            "no key and no url: export REHEARSAL_BOT_KEY or OPENAI_API_KEY, or --set url=... of an endpoint"
            " without keys."
        )
        raise InputError(msg)
    if address and not is_http_address(address):
        msg = _(
            "url={address}: must begin with http:// or https://, as in http://localhost:11434/v1.",
            address=address,
        )
        raise InputError(msg)
    check_way(address or OPENAI)
    more = parsed("extra", extra)
    if not isinstance(more, dict):
        raise InputError(_('extra must be a JSON object, as in {{"temperature": 0}}.'))
    # Asked for the tokens, too: without that, a stream counts none.
    if stream:
        more = {"stream": True, "stream_options": {"include_usage": True}, **more}
    body, prompt = {"model": model, **more}, setting("system", system)
    bot = ChatBot(address, key or _NO_KEY, body, prompt, choosing=choosing, top_logprobs=top_logprobs)
    return _probe(bot) if choosing and choosing.is_required else bot


async def _probe(bot: "ChatBot") -> "ChatBot":
    """The bot, if its endpoint has log-likelihoods: during the run it would be too late to find out."""
    try:
        if bot.chooser:
            await bot.chooser.probe()
    except InputError:
        await bot.aclose()
        raise
    return bot


class ChatBot:
    """A chat model that answers customers; its client is created for the first question."""

    def __init__(
        self,
        url: str,
        key: str,
        body: Mapping[str, Any],
        system: str,
        *,
        choosing: Choosing | None,
        top_logprobs: int,
    ) -> None:
        """`choosing` is how choices are weighed, by so many of the likeliest tokens."""
        self.url, self.body, self.system = url, body, system
        self._key = key
        self.traits = Traits(
            takes=frozenset({"system", "history"}), address=url or OPENAI, to_check=_TO_CHECK
        )
        self._client: AsyncOpenAI | None = None
        self._has_answered = False
        self._choosing, self._top_logprobs = choosing, top_logprobs

    async def __call__(self, query: Query) -> Answer:
        """The model's answer. Raises BotFailure."""
        messages = self._messages(query)
        if query.choices and self.chooser and (chosen := await self.chooser(query, messages)):
            return chosen
        body = {**self.body, "messages": messages}
        reply, first = await self._with_bot_failures(self._posted(CHAT, body))
        if isinstance(reply, dict) and reply.get("error") and not reply.get("choices"):
            raise reported_failure(filtered(reply, self._masked))
        answer = _answer(reply, str(self.body["model"]), may_be_cut=not _LIMITS.isdisjoint(self.body))
        # A model that is offered tools and calls none has called none; of any other nobody knows.
        if answer.tools is None and not _OFFERED.isdisjoint(self.body):
            answer = answer.model_copy(update={"tools": ()})
        return answer.model_copy(update={"first_token_seconds": first})

    @cached_property
    def chooser(self) -> Chooser | None:
        """What weighs choices, made when there are some; None where the model writes its answers."""
        where = self.url.rpartition("@")[2] or "OpenAI"
        make = self._choosing and self._choosing.chooser
        return make(self.body, self.post, where, top_logprobs=self._top_logprobs) if make else None

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._client is not None:
            await self._client.close()

    def _messages(self, query: Query) -> list[dict[str, str]]:
        prompt = query.system or self.system  # the prompt of a row replaces that of the settings
        system = [{"role": "system", "content": prompt}] if prompt else []
        history = [message.model_dump() for message in query.history]
        return [*system, *history, {"role": "user", "content": query.text}]

    def _connections(self) -> "AsyncOpenAI":
        from openai import AsyncOpenAI

        if self._client is None:
            # Retries would hide how often the bot fails, and --timeout limits the time.
            self._client = AsyncOpenAI(
                api_key=self._key,
                base_url=self.url or None,
                max_retries=0,
                timeout=None,
                http_client=_http_client(self.url),
            )
        return self._client

    async def _with_bot_failures(self, reply: Awaitable[Any]) -> Any:
        from aiohttp import ClientError  # imported late: listing adapters does not need it
        from openai import OpenAIError

        try:
            return await reply
        except OpenAIError as error:
            raise self._failure(error) from None
        except ValueError as error:
            raise BotFailure("malformed", _("the reply is not JSON ({error})", error=error)) from None
        except BodyError as error:
            raise BotFailure("malformed", error.args[0]) from None
        except ClientError as error:
            reason = changed(client_words(error), self._masked)
            msg = _("{host} gives no valid HTTP answer: {reason}", host=self._host, reason=reason)
            raise BotFailure("malformed", msg) from None

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """The reply to a request that an endpoint may not support. Raises Unsupported if it does not."""
        from openai import BadRequestError, NotFoundError, UnprocessableEntityError

        try:
            reply, _unused = await self._with_bot_failures(self._posted(path, body))
            return reply
        except BotFailure as failure:
            # Only these say that the request was understood and is not supported.
            if isinstance(failure.__context__, (BadRequestError, NotFoundError, UnprocessableEntityError)):
                raise Unsupported(str(failure)) from None
            raise

    async def _posted(self, path: str, body: dict[str, Any]) -> tuple[Any, float | None]:
        """The reply; a streamed one is joined into a whole, and has the seconds until its first words."""
        if not body.get("stream"):
            reply = await self._connections().post(path, body=body, cast_to=object)
            self._check_page(reply)
            return reply, None
        began = time.perf_counter()
        stream: Any = await self._connections().post(
            path, body=body, cast_to=object, stream=True, stream_cls=_stream_class()
        )
        async with stream:
            if stream.response.headers.get("content-type", "").startswith("text/html"):
                self._check_page(decoded(await stream.response.aread()))
            if stream.response.headers.get("content-type", "").startswith("application/json"):
                return json.loads(await stream.response.aread()), None  # it does not stream
            whole, first = await _joined(stream)
            self._has_answered = True
        choices = whole.get("choices")
        if choices and not whole["finish_reason"] and not stream.is_done:
            raise Transient("error", _("the stream broke off: no finish_reason, no [DONE]"))
        return whole, first and first - began

    def _check_page(self, reply: object) -> None:
        """Raises LoginPage for a web page before any answer."""
        if not self._has_answered and isinstance(reply, str) and reply.lstrip().startswith("<"):
            raise login_page(self._host, self._masked(text_of_page(reply)))
        if isinstance(reply, str) and stream_in(reply) == "sse":
            msg = _("the reply is a stream: --set stream={name} reads it", name="true")
            raise BotFailure("malformed", msg)
        self._has_answered = True

    def _failure(self, error: "OpenAIError") -> BotFailure:
        """The failure for an error of the client: unreachable, denied, error, with the key masked.

        A refused connection may be tried again; one that broke off within an answer may not, for the bot has
        worked.
        """
        from openai import APIConnectionError, APIStatusError

        if isinstance(error, APIConnectionError):
            # A refused connection is raised as a timeout; there are no others, because none is set.
            cause = error.__cause__ or error
            if blocked := blocked_by(cause, proxy_for(self.url or OPENAI)):
                blocked = changed(blocked, self._masked)
                return BotFailure("unreachable", _("{host}: {reason}", host=self._host, reason=blocked))
            reason = _("{host}: {reason}", host=self._host, reason=changed(client_words(cause), self._masked))
            lost = type(cause).__name__.startswith("Connect")
            return Transient("unreachable", reason) if lost else BotFailure("error", reason)
        if isinstance(error, APIStatusError):
            headers = error.response.headers
            if 300 <= error.status_code < 400:
                where = redirected(str(error.response.url), headers.get("location", ""))
                return moved(error.status_code, self._masked(where))
            refused = refused_in(error)
            words = self._masked((refused and refused.refusal.words) or error.message)
            if error.status_code == 401 and self._key == _NO_KEY:
                msg = _("HTTP 401: {reason} (no key was sent: export REHEARSAL_BOT_KEY)", reason=words)
                return BotFailure("denied", msg)
            return refusal(error.status_code, words, headers)
        return BotFailure("error", self._masked(str(error)))

    @property
    def _host(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2] or "OpenAI"

    def _masked(self, text: str) -> str:
        masked = text if self._key == _NO_KEY else mask_secrets(text, (self._key,))
        return " ".join(masked.split())[:200]


def _http_client(address: str) -> "httpx2.AsyncClient":
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
    return LimitedClient(
        headers={"Accept-Encoding": ACCEPTED},
        trust_env=trusts_environment,
        verify=True if address.startswith("http:") else authorities(),
        timeout=None,
    )


@cache
def _stream_class() -> Any:
    """A stream of OpenAI's client that remembers whether it came to its end, `[DONE]`."""
    from openai import AsyncStream

    class Stream(AsyncStream[object]):
        is_done = False

        async def _iter_events(self) -> AsyncIterator[Any]:
            async for event in super()._iter_events():
                self.is_done = self.is_done or event.data.startswith("[DONE]")
                yield event

    return Stream


async def _joined(stream: AsyncIterator[Any]) -> tuple[dict[str, Any], float | None]:
    """The whole reply, and when the first words came."""
    first: float | None = None
    message: dict[str, Any] = {"content": "", "refusal": ""}
    whole: dict[str, Any] = {}
    async for chunk in stream:
        if not isinstance(chunk, dict):
            continue
        # Every piece repeats id and model; the last one has the usage.
        whole |= {key: value for key, value in chunk.items() if value is not None and key != "choices"}
        choice = _CHOICE.within(chunk)
        # Of several replies the first one counts.
        if not isinstance(choice, dict) or choice.get("index"):
            continue
        delta = choice.get("delta")
        for key, value in delta.items() if isinstance(delta, dict) else ():
            if key in ("content", "refusal"):
                message[key] += _text(value)
            elif key in ("tool_calls", "function_call"):
                pieces = value if key == "tool_calls" else [{"index": 0, "function": value}]
                _join_calls(message.setdefault("tool_calls", []), pieces)
            else:
                message[key] = value
        if first is None and (message["content"] or message["refusal"]):
            first = time.perf_counter()
        whole["finish_reason"] = choice.get("finish_reason") or whole.get("finish_reason")
        whole["choices"] = [{"message": message, "finish_reason": whole["finish_reason"]}]
    return whole, first


def _join_calls(calls: list[dict[str, Any]], pieces: Any) -> None:
    """Adds pieces of tool calls, whose arguments come in parts, each with the place of its call."""
    for piece in pieces if isinstance(pieces, list) else ():
        if not isinstance(piece, dict):
            continue
        place = piece.get("index")
        begun = calls if place is not None else []
        call = next((call for call in begun if call.get("index") == place), None)
        if call is None:
            if len(calls) >= _MOST_CALLS:
                continue
            calls.append(call := {"index": place, "function": {}})
        call |= {key: value for key, value in piece.items() if key != "function" and value is not None}
        function = piece.get("function")
        for key, text in function.items() if isinstance(function, dict) else ():
            if key in ("name", "arguments") and isinstance(text, str):
                call["function"][key] = call["function"].get(key, "") + text


def _answer(reply: Any, model: str, *, may_be_cut: bool) -> Answer:
    """The answer in a reply. Raises BotFailure for what is none, and for one that was filtered or cut off.

    `may_be_cut` says that the settings limit the tokens themselves: then a short reply is what was asked for.
    """
    choice = _CHOICE.within(reply)
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise BotFailure("malformed", _("the reply is not a chat completion: it {kind}", kind=kind(reply)))
    ended = choice.get("finish_reason")
    if not (how_it_ended(ended) == "cut" and may_be_cut):
        check_end(ended)
    # A refusal is an answer to the customer, too.
    text = _text(message.get("content")) or _text(message.get("refusal"))
    tools = tool_calls_in([{**message, "role": "assistant"}])
    if not text.strip() and not tools:
        msg = _("the model said nothing (finish_reason {choice})", choice=ended)
        raise BotFailure("empty", msg)
    passages, usage = _citations(message, reply), usage_told(reply.get("usage"), model)
    return Answer(text=text, passages=passages, shows_passages=bool(passages), usage=usage, tools=tools)


def _text(content: Any) -> str:
    """The text of a message; that of all parts when it has parts."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _citations(*holders: Any) -> tuple[Passage, ...]:
    """The first list of citations with texts; bare links do not count.

    In the message (context.citations of Azure's On Your Data, citations, sources), or beside it in the reply.
    """
    for holder in holders:
        for path in _CITATIONS:
            content = path.within(holder)
            entries = (
                [entry for entry in content if isinstance(entry, dict)] if isinstance(content, list) else []
            )
            texts = [
                e for e in entries if isinstance(e.get("content"), str) or isinstance(e.get("text"), str)
            ]
            if texts:
                return passages_of(texts)
    return ()
