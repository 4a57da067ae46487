"""Phoenix and OpenInference: spans of the REST interface, of a dataframe, of `to_json`, and of strands."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.spans import Span, traces_of
from simulator.data.logs.talks import (
    Skipped,
    Talk,
    decoded,
    get,
    objects,
    seconds,
    talks_of_traces,
    unflattened,
)

NAME = "Phoenix / OpenInference"


def matches(record: Any) -> bool:
    """A span with a trace and attributes, a page of them, or a bare object of GenAI attributes."""
    first = next(iter(objects(record.get("data"))), record)
    return (
        ({"attributes", "name"} <= first.keys() and ("context" in first or "trace_id" in first))
        or "context.trace_id" in first
        or "annotator_kind" in first
        or any(key.startswith(("gen_ai.", "llm.input_messages", "openinference.")) for key in map(str, first))
    )  # fmt: skip


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The traces by session."""
    spans = []
    for number, record in enumerate(records):
        for each in objects(record.get("data")) or [record]:
            if "annotator_kind" in each:
                skipped.note(_("annotations without their spans"))
            else:
                spans.append(_span(each, number))
    yield from talks_of_traces(traces_of(spans), skipped, _("traces without a question"))


def _span(each: dict[str, Any], number: int) -> Span:
    flat = each.get("attributes")
    if isinstance(flat, str):
        flat = decoded(flat)
    if not isinstance(flat, dict):  # a row of a dataframe, or a bare object of attributes
        flat = {
            str(key).removeprefix("attributes."): _nested(value)
            for key, value in each.items()
            if value not in (None, "")
        }
    attributes = unflattened(flat)
    context = decoded(each.get("context")) if each.get("context") else {}
    context = context if isinstance(context, dict) else {}
    for event in objects(decoded(each.get("span_events") or each.get("events"))):
        _take_event(event, attributes)
    kind = (
        each.get("span_kind")
        or get(attributes, "openinference.span.kind")
        or get(attributes, "gen_ai.operation.name")
        or ""
    )
    trace = (
        context.get("trace_id")
        or each.get("trace_id")
        or each.get("context.trace_id")
        or get(attributes, "gen_ai.response.id")
        or number
    )
    return Span(
        str(trace),
        str(context.get("span_id") or each.get("span_id") or each.get("context.span_id") or number),
        str(each.get("parent_id") or each.get("parent_span_id") or ""),
        seconds(each.get("start_time")) or 0.0, attributes, str(kind).upper(),
    )  # fmt: skip


def _nested(value: Any) -> Any:
    value = decoded(value)
    return (
        [unflattened(each) if isinstance(each, dict) else each for each in value]
        if isinstance(value, list)
        else value
    )


def _take_event(event: dict[str, Any], attributes: dict[str, Any]) -> None:
    """Messages that stand in an event instead of the attributes."""
    body = event.get("body") if isinstance(event.get("body"), dict) else None
    inside = unflattened(event["attributes"]) if isinstance(event.get("attributes"), dict) else {}
    told = get(inside, "gen_ai") if isinstance(get(inside, "gen_ai"), dict) else {}
    mine = attributes.setdefault("gen_ai", {})
    if not isinstance(mine, dict):
        return
    for side in ("input", "output"):
        messages = get(told, f"{side}.messages") or (get(body, f"{side}.messages") if body else None)
        if messages and not get(mine, f"{side}.messages"):
            mine[side] = {"messages": messages}
