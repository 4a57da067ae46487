"""OpenTelemetry's JSON (OTLP) with the GenAI conventions: spans, and logs with what was said."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.spans import Span, traces_of
from simulator.data.logs.talks import (
    Skipped,
    Talk,
    decoded,
    get,
    inner,
    objects,
    seconds,
    talks_of_traces,
    text_of,
    unflattened,
)

NAME = "OpenTelemetry (OTLP)"
_DEEPEST = 20


def matches(record: Any) -> bool:
    """An envelope of spans or of logs."""
    return bool({"resourceSpans", "resourceLogs", "resource_spans", "resource_logs"} & record.keys())


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The traces by conversation."""
    spans: dict[tuple[str, str], Span] = {}
    said: list[tuple[float, str, str, str, dict[str, Any]]] = []
    for record in records:
        for span in _inner(record, "resourceSpans", "scopeSpans", "spans"):
            made = _span(span, said)
            spans[made.trace, made.id] = made
        for log in _inner(record, "resourceLogs", "scopeLogs", "logRecords"):
            attributes = _attributes(log.get("attributes"))
            name = log.get("eventName") or get(attributes, "event.name") or ""
            body = _value(log.get("body"))
            inside = body if isinstance(body, dict) else {"content": body}
            time = seconds(log.get("timeUnixNano") or log.get("observedTimeUnixNano")) or 0.0
            said.append(
                (
                    time,
                    _id(log.get("traceId")),
                    _id(log.get("spanId")),
                    str(name),
                    {**attributes, "body": inside},
                )
            )
    for time, trace, id_, name, told in sorted(said, key=lambda each: each[0]):
        if name == "gen_ai.evaluation.result" and (trace, id_) not in spans:
            skipped.note(_("evaluations without their traces"))
            continue
        _take(spans.setdefault((trace, id_), Span(trace, id_, "", time, {}, "LLM")), name, told)
    yield from talks_of_traces(
        traces_of(spans.values()), skipped, _("traces without a text (it may be in the event logs)")
    )


def _inner(record: Any, *keys: str) -> Iterator[dict[str, Any]]:
    found = [record] if isinstance(record, dict) else []
    for key in keys:
        other = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
        found = [each for outer in found for each in objects(outer.get(key) or outer.get(other))]
    yield from found


def _span(span: dict[str, Any], said: list[Any]) -> Span:
    attributes, trace, id_ = (
        _attributes(span.get("attributes")),
        _id(span.get("traceId")),
        _id(span.get("spanId")),
    )
    start = seconds(span.get("startTimeUnixNano")) or 0.0
    said += [
        (
            seconds(event.get("timeUnixNano")) or start, trace, id_, str(event.get("name")),
            _attributes(event.get("attributes")),
        )
        for event in objects(span.get("events"))
    ]  # fmt: skip
    kind = str(get(attributes, "openinference.span.kind") or get(attributes, "gen_ai.operation.name") or "")
    return Span(trace, id_, _id(span.get("parentSpanId")), start, attributes, kind.upper())


def _take(span: Span, name: str, told: dict[str, Any]) -> None:
    """What an event says of its span: messages, or a rating."""
    mine = span.attributes.setdefault("gen_ai", {})
    if not isinstance(mine, dict):
        return
    body = inner(told, "body") or told
    if name == "gen_ai.evaluation.result":
        label = get(told, "gen_ai.evaluation.score.label")
        value = get(told, "gen_ai.evaluation.score.value")
        span.ratings[str(get(told, "gen_ai.evaluation.name"))] = value if value is not None else label
    elif name.startswith("gen_ai.") and name.endswith(".message"):
        _add(mine, "input", name.split(".")[1], body)
    elif name == "gen_ai.choice":
        message = body.get("message")
        _add(mine, "output", "assistant", decoded(message) if isinstance(decoded(message), dict) else body)
    for side in ("input", "output"):
        messages = (
            get(told, f"gen_ai.{side}.messages")
            or get(body, f"gen_ai.{side}.messages")
            or body.get(f"gen_ai.{side}.messages")
        )
        if messages and not get(mine, f"{side}.messages"):
            mine[side] = {"messages": messages}


def _add(mine: dict[str, Any], side: str, role: str, message: dict[str, Any]) -> None:
    held = mine.setdefault(side, {})
    text = text_of(message.get("content"))
    if isinstance(held, dict) and isinstance(held.setdefault("messages", []), list) and text:
        held["messages"].append({"role": role, "content": text})


def _attributes(pairs: Any) -> dict[str, Any]:
    return unflattened({str(pair.get("key")): _value(pair.get("value")) for pair in objects(pairs)})


def _value(value: Any, depth: int = 0) -> Any:
    if not isinstance(value, dict) or depth > _DEEPEST:
        return value
    if "kvlistValue" in value:
        pairs = objects(get(value, "kvlistValue.values"))
        return {str(pair.get("key")): _value(pair.get("value"), depth + 1) for pair in pairs}
    if "arrayValue" in value:
        return [_value(each, depth + 1) for each in objects(get(value, "arrayValue.values"))]
    return next(iter(value.values()), None)


def _id(value: Any) -> str:
    """Ids are in hexadecimal, or, by some writers, in base64."""
    text = str(value or "")
    if len(text) in (12, 24) and not all(letter in "0123456789abcdefABCDEF" for letter in text):
        try:
            return base64.b64decode(text).hex()
        except (ValueError, binascii.Error):
            return text
    return text.lower()
