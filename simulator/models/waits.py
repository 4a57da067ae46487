"""How long an endpoint asks to be left alone: in its headers, or in what it says.

retry-after-ms: 1500, Retry-After: 3, or a date           RFC 9110, OpenAI
{"error": {"details": [{"retryDelay": "25s"}]}}           Google's RetryInfo
{"retry_after": 12.5}, {"estimated_time": 20}             gateways, Hugging Face
Please try again in 1m3s. / Please retry after 6 seconds. / 25秒後に再試行してください。
"""

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from simulator.models.refusals import refusal_in

# Characters of a body in which a wait counts, and levels of JSON.
_MOST, _DEEPEST = 4_000, 6
# Names in a body, without case and separators; what they hold is seconds, or text with a unit.
_NAMES = frozenset({
    "retrydelay", "retryafter", "retryafterseconds", "retryaftersecs", "retryin", "retryinseconds",
    "estimatedtime",
})  # fmt: skip
_IN_MILLISECONDS = frozenset({"retryafterms", "retrydelayms", "retryinms", "retryaftermilliseconds"})
_UNITS = {
    "ms": 0.001, "milli": 0.001, "s": 1.0, "秒": 1.0, "m": 60.0, "分": 60.0, "h": 3600.0, "時": 3600.0,
    "d": 86400.0, "日": 86400.0,
}  # fmt: skip
# One or more of these in a row are a span: 1m3s, 2 minutes and 5 seconds, 1分3秒.
_NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
_UNIT = (
    r"(?:ms|milli(?:second|sec)s?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?"
    r"|秒間?|分間?|時間|日間?)(?![a-z])"
)
_PART = re.compile(rf"({_NUMBER})\s{{0,2}}({_UNIT})", re.IGNORECASE)
_SPAN = rf"(?:{_NUMBER}\s{{0,2}}{_UNIT}(?:\s{{0,2}}(?:,|and)?\s{{0,2}})?){{1,4}}"
# "try again in 20s", "retry your request after 30 seconds"; in Japanese the span is first.
_ASKED = re.compile(rf"\b(?:re-?try|try|again|wait|available)\w*[^.\d]{{0,40}}?({_SPAN})", re.IGNORECASE)
_ASKED_JA = re.compile(rf"({_SPAN})[)）]?\s?(?:ほど|以上)?(?:後|待|お待ち|経って|たって|おいて|してから)")
# Without a unit: "Retry-After: 30", and a RetryInfo that somebody printed.
_BARE = re.compile(
    rf"\bretry.?(?:after|delay)\b[^\w.-]{{1,5}}(?:seconds[^\w.-]{{1,3}})?({_NUMBER})(?![\w.])", re.IGNORECASE
)


def wait_asked_for(headers: Mapping[str, str], body: str = "") -> float | None:
    """The seconds in retry-after-ms (of OpenAI), in Retry-After (RFC 9110: a number or a date), or in a body.

    None when they are missing, invalid or in the past. "3" -> 3.0; "1500" of the first -> 1.5; a date 30 s
    behind the header Date -> 30.0; "soon" -> None; a body with "try again in 1m3s" -> 63.0.
    """
    exact, retry_after = _number(headers.get("retry-after-ms")), headers.get("retry-after")
    if exact is not None and exact >= 0:
        return exact / 1000
    seconds = _number(retry_after)
    if seconds is None and retry_after:
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            # By the server's own clock, if it sent one.
            seconds = (_http_date(retry_after) - _http_date(headers.get("date"))).total_seconds()
    if seconds is not None and seconds >= 0:
        return seconds
    return _wait_in(body[:_MOST])


def wait_of(error: BaseException | None) -> float | None:
    """The seconds that the answer of a client's error asks for, in its headers or its body."""
    # Other clients' errors hold the answer; ours is one itself.
    response = getattr(error, "response", None)
    response = error if response is None else response  # of requests, a refusal is false
    text = ""
    # Of a body that was not read, clients have no text.
    with contextlib.suppress(Exception):
        text = str(getattr(response, "text", "") or "")
    return wait_asked_for(getattr(response, "headers", None) or {}, text)


def _wait_in(body: str) -> float | None:
    """What a field of a body names, else its words."""
    with contextlib.suppress(ValueError, RecursionError):
        if fields := list(_fields(json.loads(body))):
            return fields[0]
    words = refusal_in(0, body).words or body
    spans = [match[1] for pattern in (_ASKED, _ASKED_JA) for match in pattern.finditer(words)]
    waits = [seconds for span in spans if (seconds := _seconds(span)) is not None]
    if not waits and (bare := _BARE.search(words)):
        waits = [float(bare[1])]
    return max(waits, default=None)


def _fields(value: Any, depth: int = 0) -> Iterator[float]:
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for item in value[:20]:
            yield from _fields(item, depth + 1)
    if not isinstance(value, Mapping):
        return
    for name, held in value.items():
        key = re.sub(r"[\s_-]", "", str(name)).lower()
        if key in _NAMES | _IN_MILLISECONDS and (seconds := _held(held)) is not None:
            yield seconds / 1000 if key in _IN_MILLISECONDS else seconds
    for held in value.values():
        yield from _fields(held, depth + 1)


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
