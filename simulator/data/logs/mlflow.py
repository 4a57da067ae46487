"""MLflow: traces of versions 2 and 3, as objects and as the table of `search_traces`."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.spans import Span, first, traces_of
from simulator.data.logs.talks import (
    Skipped,
    Talk,
    Trace,
    decoded,
    get,
    objects,
    seconds,
    talks_of_traces,
    unflattened,
)

NAME = "MLflow"
_STARTS = ("start_time_unix_nano", "start_time_ns", "start_time")


def matches(record: Any) -> bool:
    """A trace with its info and data, or a row of the table."""
    tables = (
        {"info", "data"},
        {"trace_id", "trace_metadata", "spans"},
        {"request_id", "request_metadata", "spans"},
    )
    return any(columns <= record.keys() for columns in tables)


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The traces by session."""
    yield from talks_of_traces(filter(None, map(_trace, records)), skipped, _("traces without a question"))


def _trace(record: Any) -> Trace | None:
    whole = decoded(record.get("trace"))
    if isinstance(whole, dict) and "info" in whole:
        record = whole
    info, data = decoded(record.get("info", record)), decoded(record.get("data", record))
    if not isinstance(info, dict) or not isinstance(data, dict):
        return None
    id_ = str(info.get("trace_id") or info.get("request_id") or "")
    metadata = [decoded(info.get(key)) for key in ("trace_metadata", "request_metadata", "tags")]
    sessions = (each.get("mlflow.trace.session") for each in metadata if isinstance(each, dict))
    spans = [_span(each, id_) for each in objects(decoded(data.get("spans")))]
    found = next(traces_of(spans), None) or Trace(id_, "", 0.0, None, None)
    found.id, found.session = id_, str(next(filter(None, sessions), ""))
    found.time = seconds(info.get("request_time") or info.get("timestamp_ms")) or found.time
    found.asked = found.asked or data.get("request") or info.get("request_preview")
    found.answered = found.answered or data.get("response") or info.get("response_preview")
    for each in objects(decoded(info.get("assessments"))):
        name = str(each.get("assessment_name") or each.get("name"))
        if "expectation" in each:
            right = get(each, "expectation.value") or get(each, "expectation.serialized_value.value")
            found.reference = right if isinstance(right, str) else found.reference
        elif "feedback" in each:
            found.ratings[name] = get(each, "feedback.value")
    return found


def _span(span: dict[str, Any], trace: str) -> Span:
    flat = decoded(span.get("attributes"))
    attributes = unflattened(
        {key: decoded(value) for key, value in flat.items()} if isinstance(flat, dict) else {}
    )
    context = decoded(span.get("context"))
    kind = first(attributes, ("mlflow.spanType",)) or span.get("span_type") or ""
    ids = context if isinstance(context, dict) else span
    return Span(
        trace, str(ids.get("span_id")), str(span.get("parent_span_id") or span.get("parent_id") or ""),
        seconds(next(filter(None, map(span.get, _STARTS)), None)) or 0.0, attributes,
        {"CHAT_MODEL": "LLM"}.get(str(kind), str(kind)),
    )  # fmt: skip
