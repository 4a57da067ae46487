"""What an endpoint says that gives no reply, in whichever shape: its words, what it names, how long to wait.

{"error": {"message": "Unsupported parameter: 'seed'", "param": "seed"}}     OpenAI
{"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not ..."}]}   FastAPI, Mistral
[{"error": {"message": "Unknown name 'seed': Cannot find field."}}]           Google
{"errors": {"seed": ["The seed field is not allowed."]}}                      ASP.NET
{"error": "unknown field seed"}, {"message": ...}, plain text, a page        LM Studio, vLLM, proxies
    -> `Refusal`: the words, and the parameters that they name by themselves

retry-after-ms: 1500, Retry-After: 3, or a date                               RFC 9110, OpenAI
{"error": {"details": [{"retryDelay": "25s"}]}}                               Google's RetryInfo
{"retry_after": 12.5}, {"estimated_time": 20}                                 gateways, Hugging Face
Please try again in 1m3s. / Please retry after 6 seconds. / 25秒後に再試行してください。
    -> `wait_asked_for`: seconds

The two errors of a request: `Refused` for an answer that is none, `NoAnswer` where none was read.
"""

import contextlib
import html
import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NamedTuple

from simulator.core.messages import Message, _
from simulator.core.patterns import LazyPattern

# The code of an endpoint (Groq) whose model did not fill in the form this once.
INVALID_FORM = "json_validate_failed"
# Characters of an endpoint's words, characters of a body in which a wait counts, and levels of JSON.
_MOST_WORDS, _MOST, _DEEPEST = 2_000, 4_000, 6
# Where the words stand in a body, whatever wraps them, the likeliest first; and the name of a parameter.
_WORDS = (
    "message", "msg", "detail", "details", "error", "errors", "error_description", "error_msg", "errmsg",
    "errormessage", "errortext",
    "reason", "issue", "description", "title",
)  # fmt: skip
_CODES = ("code", "type", "status")
_NAMING = ("param", "parameter", "loc", "field", "path", "property")
# The title of a page, but for one that only names a status: then the page says more.
_TITLE = LazyPattern(r"<title[^>]*>(?!\s*\d{3}\b)(.*?)</title>", re.DOTALL | re.IGNORECASE)
_TAG = LazyPattern(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
# Names in a body, without case and separators; what they hold is seconds, or text with a unit.
_WAIT = LazyPattern(
    r"(?:retry(?:delay|after|in)|resetafter|resetin|wait|estimatedtime)(?:s|secs?|seconds)?"
    r"|(?P<ms>(?:retry(?:delay|after|in)|resetafter|resetin|wait)(?:ms|milliseconds))"
)
# The headers that name milliseconds: OpenAI's, and Azure's.
_HEADERS_IN_MILLISECONDS = ("retry-after-ms", "x-ms-retry-after-ms")
_UNITS = {
    "ms": 0.001, "milli": 0.001, "s": 1.0, "秒": 1.0, "초": 1.0, "m": 60.0, "分": 60.0, "분": 60.0,
    "h": 3600.0, "時": 3600.0, "d": 86400.0, "日": 86400.0,
}  # fmt: skip
# One or more of these in a row are a span: 1m3s, 2 minutes and 5 seconds, 1分3秒.
_NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
_UNIT = (
    r"(?:ms|milli(?:second|sec)s?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?"
    r"|秒[間钟鐘]?|초|分[間钟鐘]?|분|時間|日間?)(?![a-z])"
)
_PART = LazyPattern(rf"({_NUMBER})\s{{0,2}}({_UNIT})", re.IGNORECASE)
_SPAN = rf"(?:{_NUMBER}\s{{0,2}}{_UNIT}(?:\s{{0,2}}(?:,|and)?\s{{0,2}})?){{1,4}}"

# "try again in 20s", "retry your request after 30 seconds"; in Japanese the span is first.
_ASKED = (
    LazyPattern(rf"\b(?:re-?try|try|again|wait|available|resets?)\w*[^.\d]{{0,40}}?{_SPAN}", re.IGNORECASE),
    LazyPattern(
        rf"{_SPAN}[)）]?\s?(?:ほど|以上)?(?:後|后|후|待|お待ち|経って|たって|おいて|してから)",
        re.IGNORECASE,
    ),
)
# Without a unit: "Retry-After: 30", and a RetryInfo that somebody printed.
_BARE = LazyPattern(
    rf"\bretry.?(?:after|delay)\b[^\w.-]{{1,5}}(?:seconds[^\w.-]{{1,3}})?({_NUMBER})(?![\w.])", re.IGNORECASE
)


# What is not there at all, and so will not be a moment later.
_UNSUPPORTED = LazyPattern(
    r"(?:not|n't|un)[ -]?(?:be |yet |currently )?(?:support|implement|enabl)"
    r"|サポートされて|対応して(?:い)?ません|不支持",
    re.IGNORECASE,
)
# A key that is none, and an account without money, whatever the status: Google says 400 of a wrong key.
_DENIED = LazyPattern(
    r"\bapi[ _-]?key\b[^.]{0,40}\b(?:not valid|invalid|expired|missing|incorrect)"
    r"|\b(?:invalid|incorrect|missing|expired|wrong|provide a valid) api[ _-]?key"
    r"|insufficient[ _](?:quota|balance|credits?|funds)|credit balance is too low|余额不足|arrearage"
    r"|\b(?:account|subscription)\b[^.]{0,30}\b(?:deactivated|suspended|disabled|overdue)",
    re.IGNORECASE,
)
# A text that a filter of the service did not let through.
FILTERED = LazyPattern(
    r"content.?(?:filter|policy)|responsible.?ai|data_?inspection|content exists risk|prohibited.?content"
    r"|\bsafety|block_?list|recitation|sensitive|\brefus",
    re.IGNORECASE,
)
# How a reply ends that reached its limit of tokens: length, max_tokens, MAX_TOKENS, model_length.
_CUT = LazyPattern(r"length|tokens|context.?window", re.IGNORECASE)
# A request that is too large is so the next time, too, though some call that a limit of pace (OpenAI's 429),
# or a failure of their own (llama.cpp's 500).
_TOO_LARGE = LazyPattern(r"\btoo large\b|\b(?:is|are) too (?:long|big)\b", re.IGNORECASE)
# What one says whose model is for chats, whatever its status.
_NO_EMBEDDINGS = LazyPattern(
    r"embeddings?\b.*\b(?:not|n[o']t|unsupported|disabled)|(?:not|n't|unsupported|without|no)\b.*\bembedding",
    re.IGNORECASE,
)


class Refusal(NamedTuple):
    """What an endpoint said: its status, its words on one line ("" for none), its code, what it names."""

    status: int
    words: str
    code: str = ""
    named: frozenset[str] = frozenset()

    @property
    def is_passing(self) -> bool:
        """Whether the model only failed to fill in the form this time (Groq)."""
        return self.code == INVALID_FORM

    @property
    def is_unsupported(self) -> bool:
        """Whether it says that something is not supported."""
        return bool(_UNSUPPORTED.search(self.words))

    @property
    def is_denied(self) -> bool:
        """Whether every call is refused: the key, the account, the address, or one that has moved.

        A redirect is not followed: the key is sent to no other address.
        """
        is_of_all = 300 <= self.status < 400 or self.status in (401, 402, 403, 404, 405)
        return is_of_all or bool(_DENIED.search(f"{self.code} {self.words}"))

    @property
    def is_filtered(self) -> bool:
        """Whether the text was refused for what it says."""
        said = self.words if self.status in (400, 422) and "exists risk" in self.words.lower() else ""
        return bool(FILTERED.search(f"{self.code} {said}"))

    @property
    def kind(self) -> str:
        """Of the failure that it is: denied concerns every call, refused this text alone."""
        return "denied" if self.is_denied else "refused" if self.is_filtered else "error"

    @property
    def is_transient(self) -> bool:
        """Whether another attempt may succeed: after 408, 409, 429 or 5xx.

        The same statuses as OpenAI's own client retries, but for what is not implemented (501) or spoken
        (505) there. An empty account is not transient, nor a request that is too large, nor what a 500 says
        is not supported; a form that the model did not fill in this once (Groq's `json_validate_failed`) is.
        """
        may_pass = self.status in (408, 409, 425, 429) or (
            self.status >= 500 and self.status not in (501, 505)
        )
        is_final = self.is_denied or (self.status == 500 and self.is_unsupported)
        is_final = is_final or (self.status in (429, 500) and bool(_TOO_LARGE.search(self.words)))
        return self.is_passing or (may_pass and not is_final)

    @property
    def has_no_embeddings(self) -> bool:
        """Whether an endpoint that refuses embeddings has none, or none by this model."""
        return self.status in (403, 404, 405, 410, 501) or bool(_NO_EMBEDDINGS.search(self.words))

    @property
    def may_be_of_form(self) -> bool:
        """Whether a request may be refused for its form, and not for its key, pace or length."""
        return self.kind == "error" and self.status not in (408, 409, 413, 429)


def how_it_ended(finish_reason: Any) -> Literal["whole", "cut", "filtered", "failed"]:
    """What the `finish_reason` of a chat completion says of it, in the words of whichever provider.

    "length", "MAX_TOKENS" -> cut; "content_filter", "SAFETY", "refusal" -> filtered; "error" -> failed;
    "stop", "end_turn", "eos", "tool_calls" and none at all -> whole.
    """
    reason = str(finish_reason)
    if FILTERED.search(reason):
        return "filtered"
    return "cut" if _CUT.search(reason) else "failed" if reason == "error" else "whole"


def refusal_in(status: int, body: str) -> Refusal:
    """The refusal in the body of an answer, which may be JSON of any shape, a text or a page."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Refusal(status, _one_line(text_of_page(body)))
    if isinstance(value, str):
        return Refusal(status, _one_line(value))
    texts, others, named, codes = list[str](), list[str](), set[str](), list[str]()
    for key, text in _entries(value):
        name = key.lower()
        if name == "errors" and isinstance(text, Mapping):  # by parameter, what is wrong with it
            named.update(*map(_names_in, text))
        if not isinstance(text, str) or not text.strip():
            continue
        if name in _WORDS:
            texts.append(text)
        elif name in _NAMING:
            named |= _names_in(text)
        elif name in _CODES:
            codes.append(text)
        elif " " in text.strip():
            others.append(text)
    words = _one_line("; ".join(dict.fromkeys(texts or others)))
    return Refusal(status, words, next(iter(codes), ""), frozenset(named))


def _names_in(place: str) -> set[str]:
    """The parameters that a place names: body.seed, /seed, messages[0].role."""
    return {place, *re.split(r"[^\w-]+", place)}


def _entries(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """All that is in a body, with the key that it stands under; codes before the words around them."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for item in value[:20]:
            yield from _entries(item, key, depth + 1)
        return
    yield key, value
    if isinstance(value, Mapping):
        # `code` is the finer one of the two, where both are there.
        first = [name for name in ("code", "type", *_WORDS) if name in value]
        for name in (*first, *(name for name in value if name not in first)):
            yield from _entries(value[name], str(name), depth + 1)


def text_of_page(body: str) -> str:
    """What a page is called, or else what it says; a text that is no page as it is."""
    head = body[: 20 * _MOST_WORDS]
    if "<" not in head:
        return head
    title = _TITLE.search(head)
    return html.unescape(_TAG.sub(" ", title[1] if title else head))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_MOST_WORDS]


class CallError(Exception):
    """A request without a reply; `status` is that of an answer, `wait` the seconds that it asks for."""

    status: int | None = None
    wait: float | None = None
    is_transient: bool

    @property
    def is_busy(self) -> bool:
        """Whether the endpoint takes no more calls now (529 is Anthropic's "overloaded")."""
        return self.status in (429, 503, 529)

    @property
    def is_late(self) -> bool:
        """Whether there was no answer in time."""
        return self.status in (408, 504)


class NoAnswer(CallError):
    """No readable HTTP answer. `kind` is that of a Failure; `is_transient`: another attempt may succeed.

    `denied` is of what stands between this machine and the endpoint: no other call can succeed either.
    `was_sent`: the request was, so that a reply may have been made, and billed, of which nothing arrived.
    """

    def __init__(
        self, kind: str, message: Message | str, *, is_transient: bool = True, was_sent: bool = True
    ) -> None:
        super().__init__(message)
        self.kind, self.is_transient, self.was_sent = kind, is_transient, was_sent

    @property
    def is_late(self) -> bool:
        """Whether there was no answer in time."""
        return self.kind == "timeout"


class Refused(CallError):
    """An answer other than a reply: its status, headers and text, and the refusal that is in it."""

    def __init__(self, status: int, headers: Mapping[str, str], text: str) -> None:
        self.status, self.headers, self.refusal = status, headers, refusal_in(status, text)
        self.wait, self.is_transient = wait_asked_for(headers, text), self.refusal.is_transient
        super().__init__(self.refusal.words)


def refused_within(data: Any, headers: Mapping[str, str]) -> Refused | None:
    """The refusal that an answer with status 200 is, with the status of its error; None for a reply."""
    if (error := _error_within(data)) is None:
        return None
    return Refused(_status_of(error), headers, json.dumps({"error": error}, ensure_ascii=False))


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
    only words, in whichever shape; or the only choice has an error in it, or ends by one.
    """
    if isinstance(data, list):
        return next((item.get("error") for item in data[:1] if isinstance(item, dict)), None)
    if not isinstance(data, dict) or data.get("data"):
        return None
    choices = data.get("choices")
    if not choices:
        # A message that is a text is the error's; one that is an object is of another program's API, like all
        # that stands under other names.
        said = {name: data[name] for name in (*_WORDS, *_CODES) if name in data}
        said.pop("message" if not isinstance(data.get("message"), str) else "", None)
        return data.get("error") or (said if refusal_in(200, json.dumps(said)).words else None)
    first = choices[0] if isinstance(choices, list) else None
    if not isinstance(first, dict):
        return None
    has_failed = how_it_ended(first.get("finish_reason")) == "failed"
    return first.get("error") or ("the provider failed (finish_reason error)" if has_failed else None)


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


def reason_of(error: Refused) -> Message | str:
    """The endpoint's reason for a refusal; for a redirect, its target."""
    if 300 <= error.refusal.status < 400:
        moved = error.headers.get("location", "").partition("?")[0] or _("another address")
        return _("the endpoint has moved to {address}, which is not followed.", address=moved)
    return error.refusal.words or _("no reason is given")


def wait_asked_for(headers: Mapping[str, str], body: str = "") -> float | None:
    """The seconds in retry-after-ms (of OpenAI), in Retry-After (RFC 9110: a number or a date), or in a body.

    None when they are missing, invalid or in the past. "3" -> 3.0; "1500" of the first -> 1.5; a date 30 s
    behind the header Date -> 30.0; "soon" -> None; a body with "try again in 1m3s" -> 63.0.
    """
    for name in _HEADERS_IN_MILLISECONDS:
        exact = _number(headers.get(name))
        if exact is not None and exact >= 0:
            return exact / 1000
    retry_after = headers.get("retry-after")
    seconds = _number(retry_after)
    if seconds is None and retry_after:
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            # By the server's own clock, if it sent one.
            seconds = (_http_date(retry_after) - _http_date(headers.get("date"))).total_seconds()
        seconds = _seconds(retry_after) if seconds is None else seconds
    if seconds is not None and seconds >= 0:
        return seconds
    asked = _wait_in(body[:_MOST])
    # Of the drafts of RateLimit, seconds until the quota is whole again.
    return _held(headers.get("ratelimit-reset")) if asked is None else asked


def refused_in(error: BaseException | None) -> Refused | None:
    """The refusal that an error is, or that one of another client holds as its answer; None without any."""
    if isinstance(error, Refused):
        return error
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    if not isinstance(status, int):
        return None
    text = ""
    # Of a body that was not read, clients have no text.
    with contextlib.suppress(Exception):
        text = str(getattr(response, "text", "") or "")
    return Refused(status, getattr(response, "headers", None) or {}, text or str(error))


def wait_of(error: BaseException | None) -> float | None:
    """The seconds that the answer of a client's error asks for, in its headers or its body."""
    refused = refused_in(error)
    return refused.wait if refused else None


def _wait_in(body: str) -> float | None:
    """What a field of a body names, else its words."""
    with contextlib.suppress(ValueError, RecursionError):
        for name, value in _entries(json.loads(body)):
            key = _WAIT.fullmatch(re.sub(r"[\s_-]", "", name).lower())
            if key and (seconds := _held(value)) is not None:
                return seconds / 1000 if key["ms"] else seconds
    words = refusal_in(0, body).words or body
    spans = [match[0] for pattern in _ASKED for match in pattern.finditer(words)]
    waits = [seconds for span in spans if (seconds := _seconds(span)) is not None]
    if not waits and (bare := _BARE.search(words)):
        waits = [float(bare[1])]
    return max(waits, default=None)


def _held(value: Any) -> float | None:
    """25, "25", "25.5s" and {"seconds": 25, "nanos": 500000000} in seconds."""
    seconds: float | None
    if isinstance(value, Mapping):
        whole, rest = _number(value.get("seconds", 0)), _number(value.get("nanos", 0))
        seconds = None if whole is None or rest is None else whole + rest / 1e9
    elif isinstance(value, bool):
        seconds = None
    else:
        seconds = _number(value)
        if seconds is None and isinstance(value, str):
            seconds = _seconds(value)
    return seconds if seconds is not None and seconds >= 0 else None


def _seconds(span: str) -> float | None:
    """The sum of a span: "1m3s" -> 63, "2 minutes and 5 seconds" -> 125; None for none."""
    parts: list[tuple[str, str]] = _PART.findall(span)
    if not parts:
        return None
    return sum(float(number) * _unit(name.lower()) for number, name in parts)


def _unit(name: str) -> float:
    return next(_UNITS[short] for short in ("ms", "milli", name[0]) if name.startswith(short))


def _http_date(text: str | None) -> datetime:
    date = parsedate_to_datetime(text) if text else datetime.now(tz=UTC)
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _number(value: Any) -> float | None:
    try:
        number = float(value or "") if isinstance(value, str | None) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
