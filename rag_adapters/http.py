"""Any bot behind a JSON endpoint: --set url=... --set answer=data.reply, or --set template=dify.

First the bot, then its settings and what of them is checked before the start, the request that each question
becomes, a reply that is streamed, how an answer is read from one, and last `connect`, whose settings are
those of `HttpSettings`.

    request={"message": "$question", "session": "$session", "history": "$history"}
        with the question "How much?"  -> {"message": "How much?", "session": "s1", "history": []}
    answer=data.reply, passages=data.sources[*]
        of {"data": {"reply": "5 yen", "sources": [{"id": "a", "text": "It costs 5."}]}}
        -> "5 yen" with the passage a

What is guaranteed: every setting is checked, every variable found, and an address tried out before anything
is sent; a secret is read from the environment and masked in whatever the bot repeats of it; no redirect is
followed, for the headers may hold keys; whatever comes back, the outcome is an Answer or a BotFailure.
"""

import codecs
import inspect
import io
import json
import re
import time
import tomllib
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from urllib.parse import quote, urlencode

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from simulator.extending import (
    MOST_PASSAGES,
    Answer,
    BotFailure,
    InputError,
    Message,
    Passage,
    Query,
    ToolCall,
    Traits,
    Transient,
    _,
    codec_of,
    kind,
    passages_of,
    read_text_file,
    tool_calls_of,
    value_problem,
    written_out,
)

from ._json import (
    AnswerCondition,
    JsonPath,
    as_json,
    check_end,
    endings_in,
    filled,
    filtered,
    parsed,
    variables_in,
)
from ._wire import (
    Environment,
    Wire,
    checked_address,
    pieces_of,
    reported_failure,
    shortened,
    text_of,
)

if TYPE_CHECKING:
    from aiohttp import ClientResponse

V = TypeVar("V", bound=BaseModel)
TEMPLATES = Path(__file__).with_name("templates")
# What a request may use of the dialogue; every other variable comes from the environment.
OF_THE_DIALOGUE = ("question", "system", "session", "history", "language", "conversation")

# A semicolon separates headers only before a name and a colon, because cookies have semicolons too: "Cookie:
# a=1; b=2; X-Team: shop" are two headers.
_NEXT_HEADER = re.compile(r";\s*(?=[\w-]+\s*:)|\n")
# The token of RFC 9110, section 5.6.2.
_HEADER_NAME = re.compile(r"[!#$%&'*+.^`|~\w-]+", re.ASCII)
# The question with which settings are tried out before the start; it is never sent.
_NOBODY = Query(text="-")
# A path that leads nowhere, as opposed to one at which null stands.
_NOTHING = object()
# Types of events by which a stream tells what the bot thinks and which tools it calls, beside its answer:
# as Vercel's reasoning-delta, OpenAI's response.function_call_arguments.delta, THINKING_CONTENT of AG-UI.
_ASIDE = re.compile(r"reason|think|thought|tool|function", re.IGNORECASE)
# How an object begins, alone or in a list that is streamed.
_OBJECT = re.compile(r"\s*\[?\s*\{")
# A line of Vercel's data stream begins with the mark of a part and a colon; and the fields that parts become.
_PART = re.compile(r"([0-9a-z]):(?=[\"\[{])")
_PARTS = {"0": "text", "3": "error", "9": "tool_call", "a": "tool_result"}


class HttpBot:
    """A bot behind an endpoint; remembers what the bot calls each conversation.

    A reply comes at once or in pieces (`Streaming`). Either is a list of JSON values, of which `ReplyPaths`
    reads the answer.
    """

    def __init__(self, settings: "HttpSettings") -> None:
        """Raises InputError for what could not work."""
        body, headers = settings.body, headers_of(settings.headers)
        environment = _environment(settings, body, headers)
        self.request = RequestTemplate(settings.method, settings.url, body, headers, environment)
        self.wire = Wire(self.request.address(_NOBODY), environment)
        self.paths = ReplyPaths(settings)
        self.streaming = Streaming(settings, self.paths) if settings.stream else None
        self.traits = Traits(takes=frozenset({"system", "history"}) & variables_in("request", body))
        self._conversations: dict[str, str] = {}

    async def __call__(self, query: Query) -> Answer:
        """The bot's answer; raises BotFailure for everything that is none.

        The name of the conversation is sent from the second question on: a first question never continues a
        conversation of an earlier run.
        """
        conversation = self._conversations.get(query.session, "") if query.history else ""
        if not query.history:
            self.wire.cookies.forget(query.session)
        first: float | None = None
        try:
            arguments = self.request.arguments(query, conversation)
            if self.streaming:
                replies, first = await self.streaming.replies(self.wire, arguments, query.session)
            else:
                replies = [await self.wire.json(arguments, query.session, or_text=self.paths.is_whole)]
            if named := self.paths.conversation_in(replies):
                self._conversations[query.session] = named
            masked = partial(self.wire.masked, session=query.session)
            if error := self.paths.error_in(replies):
                # Masked before it is cut: half a secret would not be found any more.
                raise reported_failure(filtered(error, masked))
            # Of several steps of an agent the last one made the answer.
            *_before, ended = None, *endings_in(replies)
            check_end(ended)
            answer = self._masked(self.paths.read(replies, masked), query.session)
            return answer.model_copy(update={"first_token_seconds": first})
        except BotFailure as error:
            # A failure quotes what the bot said, and a bot may repeat the request with its headers.
            error.failure = self._masked(error.failure, query.session)
            error.args = (error.failure.message,)
            raise

    def _masked(self, value: V, session: str) -> V:
        """A value without secrets and cookies, in whichever of its texts the bot repeats them.

        Only here, at the end: a secret that was streamed in pieces is whole now, and names of conversations
        had to stay as they are.
        """
        if not self.wire.environment.secrets and not self.wire.cookies.values(session):
            return value
        changed = filtered(value.model_dump(), partial(self.wire.masked, session=session))
        return type(value).model_validate(changed)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self.wire.aclose()


# --- The settings ---


class HttpSettings(BaseModel):
    """docs/bots.md says what each setting is for.

    Texts are as they were typed, with their $variables; "" means that a setting is not used. `answer`,
    `passages`, `passage_text`, `passage_id`, `tools` and `conversation` are paths (`JsonPath`), `until` and
    `restart` conditions (`AnswerCondition`). A template file has the same names, and may have `request` as a
    table.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    template: str = ""
    answer: str = ""
    request: Any = '{"message": "$question", "session": "$session"}'
    passages: str = ""
    passage_text: str = "text"
    passage_id: str = "id"
    tools: str = ""
    headers: str = ""
    method: Annotated[Literal["POST", "GET"], BeforeValidator(lambda name: str(name).upper())] = "POST"
    conversation: str = ""
    stream: Literal["", "sse", "lines"] = ""
    until: str = ""
    restart: str = ""

    @property
    def body(self) -> Any:
        """The request as JSON; a template file may have it as a table."""
        return parsed("request", self.request) if isinstance(self.request, str) else self.request


def http_settings(given: dict[str, Any]) -> HttpSettings:
    """What is `given` over what the template has over the defaults; raises InputError for what is wrong."""
    template = given.get("template", "")
    base = read_template(template) if template else {}
    try:
        # What is set wins over the template, and that over the defaults.
        settings = HttpSettings.model_validate(base | given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        place = f"{name}={given[name]}" if name in given else f"template={template}: {name}"
        raise InputError(_("{place}: {problem}.", place=place, problem=value_problem(first))) from None
    if not settings.answer:
        there = ", ".join(template_names())
        msg = _(
            "answer is missing: --set answer=PATH of the bot's words, or --set template=NAME ({there}).",
            there=there,
        )
        raise InputError(msg)
    for name in ("until", "restart"):
        if getattr(settings, name) and not settings.stream:
            raise InputError(_("{name} also needs {other}.", name=name, other="stream"))
    return settings


def template_names() -> list[str]:
    """The templates that come along."""
    return sorted(path.stem for path in TEMPLATES.glob("*.toml"))


def read_template(name: str) -> dict[str, Any]:
    """The settings in the template `name`, or in a file `./mine.toml` or `./mine.json` of one's own.

    A name with a slash or a suffix is a file, so that a typing mistake in a bundled name is told as such.
    Raises InputError.
    """
    is_path = "/" in name or "\\" in name or name.endswith((".toml", ".json"))
    if not is_path and name not in template_names():
        there = ", ".join(template_names())
        msg = _(
            "template={name}: there is none of that name. There are: {there}; your own: ./mine.toml.",
            name=name,
            there=there,
        )
        raise InputError(msg)
    path = Path(name) if is_path else TEMPLATES / f"{name}.toml"
    try:
        text = read_text_file(path)
        read = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        msg = _("template={name}: the file cannot be read ({reason}).", name=name, reason=reason)
        raise InputError(msg) from None
    if not isinstance(read, dict):
        raise InputError(_("template={name}: must be an object of settings.", name=name))
    return read


def headers_of(text: str) -> dict[str, str]:
    """`Name: value; Other-Name: value` as a mapping."""
    headers = {}
    for line in filter(None, (part.strip() for part in _NEXT_HEADER.split(text))):
        name, colon, value = line.partition(":")
        if not colon or not _HEADER_NAME.fullmatch(name.strip()):
            raise InputError(_("headers: write 'Name: value; Other-Name: value', secrets as ${{VARIABLE}}."))
        headers[name.strip()] = value.strip()
    return headers


def _environment(settings: HttpSettings, body: Any, headers: Mapping[str, str]) -> Environment:
    """The variables of all settings, each found before the start.

    Raises InputError for a request without $question (a shell has eaten the dollar), and for $conversation
    without a path to it.
    """
    used = {"url": settings.url, "request": body, "headers": headers}
    variables = {name: variables_in(name, value) for name, value in used.items()}
    # The question may also stand in the address.
    names = variables["request"] | variables["url"]
    if "question" not in names:
        msg = _("request has no $question. In a shell, use single quotes around it, or request=@file.json.")
        raise InputError(msg)
    if "conversation" in names and not settings.conversation:
        msg = _("$conversation is used: say where the reply names it, as in conversation=conversation_id.")
        raise InputError(msg)
    # Secrets may stand in a file, too, which the run knows nothing of.
    written = written_out({"url": settings.url, "headers": settings.headers, "request": as_json(body)})
    return Environment(set.union(*variables.values()), OF_THE_DIALOGUE, written)


# --- The request ---


class RequestTemplate:
    """The request to the bot; `conversation` is the bot's own name for the dialogue, "" until it is known."""

    def __init__(
        self, method: str, url: str, body: Any, headers: Mapping[str, str], environment: Environment
    ) -> None:
        """Raises InputError for settings with which no question could be sent."""
        self.method, self.url, self.body, self.headers = method, url, body, headers
        self.environment = environment
        self.has_history = "history" in variables_in("request", body) or "history" in url
        self.is_form = method == "POST" and _is_form(headers, body)
        if method == "GET" and not isinstance(body, dict):
            msg = _("request must be an object with method=GET: its fields become the query of the address.")
            raise InputError(msg)
        checked_address("url", self.address(_NOBODY))
        # A line break would begin another header.
        if not all(map(str.isprintable, self._header_values(_NOBODY).values())):
            raise InputError(_("headers: a value from the environment has line breaks or control codes."))

    def address(self, query: Query, conversation: str = "") -> str:
        """The address for this query; values of the dialogue are percent-encoded.

        https://bot.example/chat/$session with the session "a/b" -> https://bot.example/chat/a%2Fb
        """
        if "$" not in self.url:
            return self.url
        texts = self._texts(query, conversation, self._history(query))
        return self.environment.filled(
            self.url, **{name: quote(text, safe="") for name, text in texts.items()}
        )

    def arguments(self, query: Query, conversation: str) -> dict[str, Any]:
        """The request for this query, as arguments of aiohttp's `request`.

        Variables are filled in after the JSON has been parsed, so no quotation mark of a customer can break
        it. A field that is nothing but $conversation is left out while nobody knows its name. With GET the
        fields become the query of the address, lists and objects as JSON.
        """
        history = self._history(query)
        texts = {**self.environment.values, **self._texts(query, conversation, history)}
        # Left out, not empty: bots take "" for the name of a conversation.
        absent = () if conversation else ("conversation",)
        body = filled(self.body, texts, {"history": history}, absent)
        address = self.address(query, conversation)
        sent: dict[str, Any] = {"method": self.method, "url": address, "allow_redirects": False}
        headers = {"Accept": "application/json", **self._header_values(query)}
        if self.method == "GET":
            return {**sent, "params": _as_fields(body), "headers": headers}
        # Half of a pair of surrogates, which a fuzzer's customer may say, becomes a question mark.
        text = urlencode(_as_fields(body), errors="replace") if self.is_form else as_json(body)
        data = text.encode("utf-8", "replace")
        if not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
        return {**sent, "data": data, "headers": headers}

    def _history(self, query: Query) -> list[dict[str, Any]]:
        """What was said before, where the request tells the bot; it may be long."""
        return [message.model_dump() for message in query.history] if self.has_history else []

    @staticmethod
    def _texts(query: Query, conversation: str, history: list[dict[str, Any]]) -> dict[str, str]:
        return {
            "question": query.text,
            "session": query.session,
            "language": query.language,
            "system": query.system,
            "history": as_json(history),
            "conversation": conversation,
        }

    def _header_values(self, query: Query) -> dict[str, str]:
        texts = {"session": query.session, "language": query.language}
        try:
            return {name: self.environment.filled(text, **texts) for name, text in self.headers.items()}
        except KeyError as error:
            msg = _("headers may use $session and $language, not ${error}.", error=error.args[0])
            raise InputError(msg) from None


def _is_form(headers: Mapping[str, str], body: Any) -> bool:
    """Whether the body is sent as a form, by the Content-Type among the headers; else it is JSON.

    Raises InputError for another one. JSON has many names: application/x-ndjson, application/vnd.api+json.
    """
    named = next((text for name, text in headers.items() if name.lower() == "content-type"), "")
    media = named.partition(";")[0].strip().lower()
    if media == "application/x-www-form-urlencoded":
        if not isinstance(body, dict):
            raise InputError(_("request must be an object for a form: its fields become those of the form."))
        return True
    if media and "json" not in media and "$" not in media:
        msg = _(
            "headers: {media} cannot be sent; use application/json or application/x-www-form-urlencoded.",
            media=media,
        )
        raise InputError(msg)
    return False


def _as_fields(body: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a query or a form; lists and objects as JSON."""
    return {key: part if isinstance(part, str) else as_json(part) for key, part in body.items()}


# --- A streamed reply ---


class Streaming:
    """An answer in pieces: server-sent events (`sse`), or one JSON value a line (`lines`).

    It ends with the stream, with `[DONE]`, or when `until` holds; where there is an `until`, a stream that
    ends without is broken.
    """

    def __init__(self, settings: HttpSettings, paths: "ReplyPaths") -> None:
        """`paths` tell where a piece has words of the answer."""
        self.says, self.is_json = paths.says, not paths.is_whole
        self.until = AnswerCondition("until", settings.until) if settings.until else None
        is_sse = settings.stream == "sse"
        self.accept = "text/event-stream" if is_sse else "application/x-ndjson"
        self._pieces = events_of if is_sse else values_of
        # What does not stream has said all there is: many bots answer a cached question or an error in one
        # piece. A page of a login is told as such.
        self._unstreamed = ("text/html", "application/json") if is_sse else ("text/html",)

    async def replies(
        self, wire: Wire, arguments: dict[str, Any], session: str
    ) -> tuple[list[Any], float | None]:
        """The values of all pieces, and the seconds until the first words; None where it does not stream.

        Raises BotFailure for an error among them.
        """
        began = time.perf_counter()
        headers = {**arguments["headers"], "Accept": f"{self.accept}, application/json"}
        async with wire.response({**arguments, "headers": headers}, session) as response:
            if response.content_type in self._unstreamed:
                return [wire.parsed(response, await text_of(response), session)], None
            values, first = await self._collected(wire, response, session)
        if not values:
            raise BotFailure("empty", _("the stream had no event"))
        return values, first - began

    async def _collected(
        self, wire: Wire, response: "ClientResponse", session: str
    ) -> tuple[list[Any], float]:
        """The values, and when the first words came: with the last value where no single one has words.

        An `error` ends the reading, whether it is the name of the event, its type, or a field. Leaving the
        loop leaves the connection, too: nobody waits for a bot that keeps it open after its last piece.
        """
        values, first, is_done = list[Any](), 0.0, False
        async for name, data in self._pieces(lines_of(pieces_of(response), response.charset)):
            if data.strip() == "[DONE]":
                is_done = True
                break
            value = _value(data)
            if value is data and self.is_json and _OBJECT.match(data):
                msg = _("a piece of the stream is not JSON: {piece}")
                raise BotFailure("malformed", msg.format(piece=shortened(wire.masked(data, session))))
            values.append(value)
            if not first and self.says(value):
                first = time.perf_counter()
            fields = value if isinstance(value, dict) else {}
            is_error = "error" in (name, fields.get("event"), fields.get("type"))
            if is_error or fields.get("error"):
                # Masked before it is cut: half a secret would not be found any more.
                raise reported_failure(_value(wire.masked(data, session)))
            if self.until and self.until.holds(value):
                is_done = True
                break
        else:
            if self.until and values:
                last = shortened(wire.masked(data, session))
                msg = _("the stream ended without {until}; its last piece: {last}")
                raise BotFailure("malformed", msg.format(until=self.until.text, last=last))
        is_chat = any(isinstance(_DELTA.within(value), dict) for value in values)
        if is_chat and not is_done and not any(endings_in(values)):
            raise Transient("error", _("the stream broke off: no finish_reason, no [DONE]"))
        return values, first or time.perf_counter()


# Of a chunk of a chat completion (OpenAI).
_DELTA = JsonPath("", "choices.0.delta")


async def lines_of(chunks: AsyncIterator[bytes], charset: str | None = None) -> AsyncIterator[str]:
    """The lines of a stream, whatever ends them.

    Chunks may end anywhere, also within a character or between CR and LF, so the decoder keeps what is not
    finished; a mark at the beginning (BOM) is no text.
    """
    decoder = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder(codec_of(charset))("replace"), translate=True
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


async def events_of(lines: AsyncIterator[str]) -> AsyncIterator[tuple[str, str]]:
    r"""Name ("" for none) and data of each event of `text/event-stream`; one that is cut short counts too.

        event: message        -> ("message", "a\nb")
        data: a
        data: b

    Comments, ids and retry times are left out (WHATWG, server-sent events).
    """
    name, data = "", list[str]()
    async for line in lines:
        field, _unused, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        elif field == "event":
            name = value.removeprefix(" ")
        elif not line:
            if data:
                yield name, "\n".join(data)
            name, data = "", []
    if data:
        yield name, "\n".join(data)


async def values_of(lines: AsyncIterator[str]) -> AsyncIterator[tuple[str, str]]:
    """The same of a stream with a value in each line."""
    async for line in lines:
        if line.strip():
            yield "", line.strip()


def _value(data: str) -> Any:
    """A piece's JSON when it is an object, a list or a text; words may look like numbers and stay words.

    0:"It is 5 yen." (Vercel) -> {"text": "It is 5 yen."}
    """
    part = _PART.match(data)
    try:
        value = json.loads(data[part.end() :] if part else data)
    except (ValueError, RecursionError):
        return data
    if part:
        return {_PARTS.get(part[1], part[1]): value}
    return value if isinstance(value, (dict, list, str)) else data


# --- The reply ---


class ReplyPaths:
    """Where answer, passages and the conversation's name stand in replies (of a stream, in their order)."""

    def __init__(self, settings: HttpSettings) -> None:
        self.answer = JsonPath("answer", settings.answer)
        self.passages = JsonPath("passages", settings.passages) if settings.passages else None
        self._has_passages = False
        self.passage_text = JsonPath("passage_text", settings.passage_text)
        self.passage_id = JsonPath("passage_id", settings.passage_id)
        self.tools = JsonPath("tools", settings.tools) if settings.tools else None
        named = settings.conversation
        self.conversation = JsonPath("conversation", named) if named else None
        self.restart = AnswerCondition("restart", settings.restart) if settings.restart else None

    @property
    def is_whole(self) -> bool:
        """Whether the whole reply is the answer (`$`), which then may be plain text."""
        return not self.answer.steps

    def error_in(self, replies: list[Any]) -> Any:
        """The reply that is an error, {"error": ...}, in the place of an answer; None where there is none."""
        last = replies[-1]
        is_error = isinstance(last, dict) and last.get("error")
        return last if is_error and not any(map(self.says, replies)) else None

    def read(self, replies: list[Any], masked: Callable[[str], str]) -> Answer:
        """The answer in a reply. Raises BotFailure when there is none, with the `masked` reply."""
        tools = self._tools(replies)
        try:
            text = self._text(replies, masked)
        except BotFailure:
            # A bot that only calls tools has no text to show.
            if not tools:
                raise
            text = ""
        passages, missing = self._passages(replies), self._missing_passages(replies)
        shows = self.passages is not None and not missing
        return Answer(
            text=text, passages=passages, shows_passages=shows, missing_passages=missing, tools=tools
        )

    def says(self, reply: Any) -> bool:
        """Whether there are words of the answer in a reply, or in a piece of one."""
        answer = self.answer.within(reply, _NOTHING)
        return answer is not _NOTHING and answer not in (None, "", []) and not _is_aside(reply)

    def conversation_in(self, replies: list[Any]) -> str:
        """The bot's own name for the conversation; "" when no path is configured.

        Raises BotFailure where there is a path and no name at it: without one, every later line would begin a
        new conversation, and the bot would be graded for what it cannot remember.
        """
        path = self.conversation
        if path is None:
            return ""
        # In a stream the name may come with any piece; the last one that has it counts.
        naming = (reply for reply in reversed(replies) if path.within(reply) not in (None, ""))
        named = path.of(next(naming, replies[-1]))
        if named in (None, "") or isinstance(named, (dict, list)):
            raise BotFailure("malformed", _("the value at {path} is not a name", path=path.text))
        return str(named)

    def _text(self, replies: list[Any], masked: Callable[[str], str]) -> str:
        """The text of all parts, from the last one that restarts on; the last, where each repeats the others.

        Thoughts and calls of tools are none of them where other pieces speak, nor is what has no text at the
        path. Raises BotFailure where no piece has one there (malformed, with what is there instead), and
        where all of them are empty (empty).
        """
        parts: list[str] = []
        speaks = any(map(self.says, replies))
        for reply in replies:
            if speaks and _is_aside(reply):
                continue
            if self.restart and self.restart.holds(reply):
                parts = []
            if (part := _text_at(self.answer.within(reply, _NOTHING))) is not None:
                parts.append(part)
        if not parts:
            raise self._no_text(replies[-1], masked)
        words = [part for part in parts if part]
        is_growing = len(words) > 2 and all(len(a) < len(b) and b.startswith(a) for a, b in pairwise(words))
        text = words[-1] if is_growing else "".join(words)
        if not text:
            raise BotFailure("empty", _("the bot's answer at {answer} is empty", answer=self.answer.text))
        return text

    def _no_text(self, reply: Any, masked: Callable[[str], str]) -> BotFailure:
        """The failure for a reply without a text at the path, with its beginning: it may say why."""
        try:
            there = kind(self.answer.of(reply))
            problem: Message | str = _(
                "the value at {answer} is not text: it {kind}", answer=self.answer.text, kind=there
            )
        except BotFailure as missing:
            problem = missing.message
        # Masked before it is cut: half a secret would not be found any more.
        shown = shortened(masked(as_json(filtered(reply, masked))))
        return BotFailure("malformed", _("{problem}: {reply}", problem=problem, reply=shown))

    def _tools(self, replies: list[Any]) -> tuple[ToolCall, ...] | None:
        """The calls of tools, of a stream those of all pieces; None without a path to them."""
        if self.tools is None:
            return None
        contents = [self.tools.within(reply) for reply in replies]
        several = (
            content if isinstance(content, list) else [content] for content in contents if content is not None
        )
        return tool_calls_of([call for calls in several for call in calls])

    def _missing_passages(self, replies: list[Any]) -> Message | str:
        """What stands there instead of passages, until a reply had any place for them; "" from then on.

        Many bots leave the key out where they found nothing; one that never has it has another name for it.
        """
        if self.passages is None or self._has_passages:
            return ""
        missing = [self.passages.missing(reply) for reply in replies]
        self._has_passages = None in missing
        return missing[-1] or "" if not self._has_passages else ""

    def _passages(self, replies: list[Any]) -> tuple[Passage, ...]:
        """The distinct passages; a path that leads nowhere means none."""
        entries: list[Any] = []
        for reply in replies:
            content = self.passages.within(reply) if self.passages else None
            for entry in content if isinstance(content, list) else [] if content is None else [content]:
                document = entry
                if isinstance(entry, dict):
                    fields_of_passage = {
                        "text": self.passage_text.within(entry),
                        "id": self.passage_id.within(entry),
                    }
                    document = entry | {
                        key: value for key, value in fields_of_passage.items() if value is not None
                    }
                # Each is compared with all before it; with one too many the answer is refused.
                if len(entries) <= MOST_PASSAGES and document not in entries:
                    entries.append(document)
        try:
            return passages_of(entries)
        except BotFailure as error:
            lacking = [e for e in entries if isinstance(e, dict) and self.passage_text.within(e) is None]
            if not lacking:
                raise
            problem = error.message
            if self.passages and self.passage_text.text != HttpSettings.model_fields["passage_text"].default:
                problem = self.passage_text.missing(lacking[0], self.passages.text) or problem
            msg = _("{problem}; say which key holds it: --set passage_text=KEY", problem=problem)
            raise BotFailure("malformed", msg) from None


def _is_aside(reply: Any) -> bool:
    """Whether a piece of a stream says by its type that it is not of the answer."""
    fields = reply if isinstance(reply, dict) else {}
    return bool(_ASIDE.search(f"{fields.get('type') or ''} {fields.get('event') or ''}"))


def _text_at(value: Any) -> str | None:
    """The text of a value: of several, and of content in parts, by lines; None where there is none."""
    if isinstance(value, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in value]
        # Parts of other kinds have none: an image, a thought.
        said = [text for text in texts if isinstance(text, str)]
        return "\n".join(said) if said or not value else None
    if value is None:
        return ""
    if value is _NOTHING or isinstance(value, dict):
        return None
    return value if isinstance(value, str) else as_json(value)


def connect(**given: Any) -> HttpBot:
    """The bot behind an endpoint; `request` is what it is sent, `answer` the path to its words in the reply.

    What is not given comes from `template`, else from the defaults of HttpSettings. `$question`,
    `$system` (of a prompt), `$session`, `$history`, `$language` and `$conversation` are the dialogue's; any
    other variable is read from the environment.
    """
    return HttpBot(http_settings(given))


# `--set` and `list` read the settings from the signature.
vars(connect)["__signature__"] = inspect.signature(HttpSettings)
