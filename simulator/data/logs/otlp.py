"""OpenTelemetry's JSON (OTLP) with the GenAI conventions: spans, and logs with what was said."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.spans import Span, first, trace_of
from simulator.data.logs.talks import (
    Skipped,
    Talk,
    Trace,
    camelled,
    decoded,
    get,
    grouped,
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
    return not {"resourceSpans", "resourceLogs", "batches"}.isdisjoint(camelled(record))


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The traces by conversation."""

    def traces() -> Iterator[Trace]:
        for id_, its in grouped(_parts(records), lambda part: _id(part.get("traceId"))):
            said: list[tuple[float, str, str, dict[str, Any]]] = []
            spans = {span.id: span for each in its if "body" not in each for span in [_span(each, said)]}
            said += [_log(each) for each in its if "body" in each]
            answers = {first(span.attributes, ("gen_ai.response.id",)): span for span in spans.values()}
            for time, span_id, name, told in sorted(said, key=lambda each: each[0]):
                span = spans.get(span_id) or answers.get(get(told, "gen_ai.response.id"))
                if span is None and name == "gen_ai.evaluation.result":
                    skipped.note(_("evaluations without their traces"))
                    continue
                _take(span or spans.setdefault(span_id, Span(span_id, "", time, {}, "LLM")), name, told)
            if spans:
                yield trace_of(id_, spans.values())

    yield from talks_of_traces(traces(), skipped, _("traces without a text (it may be in the event logs)"))


def _parts(records: Iterator[Any]) -> Iterator[dict[str, Any]]:
    """The spans, and the log records, which are told by their body."""
    for record in records:
        for outer in _inner(record, "resourceSpans", "batches"):
            for scope in _inner(outer, "scopeSpans", "instrumentationLibrarySpans"):
                yield from _inner(scope, "spans")
        for outer in _inner(record, "resourceLogs"):
            for scope in _inner(outer, "scopeLogs", "instrumentationLibraryLogs"):
                yield from ({"body": None} | log for log in _inner(scope, "logRecords"))


def _inner(record: dict[str, Any], *keys: str) -> list[dict[str, Any]]:
    named = camelled(record)
    return [camelled(each) for key in keys for each in objects(named.get(key))]


def _log(log: dict[str, Any]) -> tuple[float, str, str, dict[str, Any]]:
    attributes, body = _attributes(log.get("attributes")), _value(log.get("body"))
    name = log.get("eventName") or get(attributes, "event.name") or ""
    told = attributes | {"body": body if isinstance(body, dict) else {"content": body}}
    time = seconds(log.get("timeUnixNano") or log.get("observedTimeUnixNano")) or 0.0
    return time, _id(log.get("spanId")), str(name), told


def _span(span: dict[str, Any], said: list[Any]) -> Span:
    attributes, id_ = _attributes(span.get("attributes")), _id(span.get("spanId"))
    start = seconds(span.get("startTimeUnixNano")) or 0.0
    for event in map(camelled, objects(span.get("events"))):
        time = seconds(event.get("timeUnixNano")) or start
        said.append((time, id_, str(event.get("name")), _attributes(event.get("attributes"))))
    kind = first(attributes, ("openinference.span.kind", "gen_ai.operation.name")) or ""
    return Span(id_, _id(span.get("parentSpanId")), start, attributes, str(kind).upper())


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
    kind, held = next(iter(camelled(value).items()), ("", None))
    if kind == "kvlistValue":
        pairs = objects(get(held, "values"))
        return {str(pair.get("key")): _value(pair.get("value"), depth + 1) for pair in pairs}
    return (
        [_value(each, depth + 1) for each in objects(get(held, "values"))] if kind == "arrayValue" else held
    )


def _id(value: Any) -> str:
    """Ids are in hexadecimal, or, by some writers, in base64."""
    text = str(value or "")
    if len(text) in (12, 24) and not all(letter in "0123456789abcdefABCDEF" for letter in text):
        try:
            return base64.b64decode(text).hex()
        except (ValueError, binascii.Error):
            return text
    return text.lower()
