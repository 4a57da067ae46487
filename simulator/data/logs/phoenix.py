"""Phoenix and OpenInference: spans of the REST interface, of a dataframe, of `to_json`, and of strands."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.spans import Span, first, trace_of
from simulator.data.logs.talks import (
    Skipped,
    Talk,
    Trace,
    decoded,
    get,
    grouped,
    inner,
    objects,
    seconds,
    talks_of_traces,
    unflattened,
)

NAME = "Phoenix / OpenInference"


def matches(record: Any) -> bool:
    """A span with a trace and attributes, a note on one, or a bare object of GenAI attributes."""
    return (
        ({"attributes", "name"} <= record.keys() and not {"context", "trace_id"}.isdisjoint(record))
        or not {"context.trace_id", "annotator_kind"}.isdisjoint(record)
        or any(str(key).startswith(("gen_ai.", "llm.input_messages", "openinference.")) for key in record)
    )


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The traces by session; annotations join their span."""
    ratings: dict[str, dict[str, Any]] = {}

    def spans() -> Iterator[dict[str, Any]]:
        for number, record in enumerate(records):
            if "annotator_kind" in record:
                result = inner(record, "result") or record
                value = result.get("label") or result.get("score")
                ratings.setdefault(str(record.get("span_id")), {})[str(record.get("name"))] = value
            else:
                yield record | {"number": number}

    def traces() -> Iterator[Trace]:
        for id_, its in grouped(spans(), _trace_id):
            made = [_span(each) for each in its]
            for span in made:
                span.ratings |= ratings.pop(span.id, {})
            yield trace_of(id_, made)

    yield from talks_of_traces(traces(), skipped, _("traces without a question"))
    if ratings:
        skipped.note(_("annotations without their spans"), sum(map(len, ratings.values())))


def _context(each: dict[str, Any], name: str) -> Any:
    return get(decoded(each.get("context")), name) or each.get(name) or each.get(f"context.{name}")


def _trace_id(each: dict[str, Any]) -> Any:
    return _context(each, "trace_id") or each.get("gen_ai.response.id") or f"trace {each['number']}"


def _span(each: dict[str, Any]) -> Span:
    flat = decoded(each.get("attributes"))
    if isinstance(flat, list):  # pairs, as OTLP has them
        flat = {
            str(pair.get("key")): next(iter(inner(pair, "value").values()), None) for pair in objects(flat)
        }
    if not isinstance(flat, dict):  # a row of a dataframe, or a bare object of attributes
        named = ((str(key).removeprefix("attributes."), value) for key, value in each.items())
        flat = {key: _nested(value) for key, value in named if value not in (None, "")}
    attributes = unflattened(flat)
    for event in objects(decoded(each.get("span_events") or each.get("events"))):
        _take_event(event, attributes)
    kinds = ("openinference.span.kind", "gen_ai.operation.name")
    start = each.get("start_time") or each.get("start_time_unix_nano")
    return Span(
        str(_context(each, "span_id") or each["number"]),
        str(each.get("parent_id") or each.get("parent_span_id") or ""),
        seconds(start) or 0.0, attributes,
        str(each.get("span_kind") or first(attributes, kinds) or "").upper(),
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
