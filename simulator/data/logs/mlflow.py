"""MLflow: traces of versions 2 and 3, as objects, as pages, and as the table of `search_traces`."""

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
    objects,
    seconds,
    talks_of_traces,
    unflattened,
)

NAME = "MLflow"
_STARTS = ("start_time_unix_nano", "start_time_ns", "start_time")
_MARKS = (
    "info data",
    "trace_info",
    "trace_metadata request_time",
    "trace_metadata spans",
    "request_metadata spans",
    "request_metadata timestamp_ms",
)


def matches(record: Any) -> bool:
    """A trace with its info and data, or a row of the table."""
    return any(set(columns.split()) <= record.keys() for columns in _MARKS)


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The traces by session."""
    yield from talks_of_traces(filter(None, map(_trace, records)), skipped, _("traces without a question"))


def _trace(record: Any) -> Trace | None:
    whole = decoded(record.get("trace"))
    record = whole if isinstance(whole, dict) and not {"info", "trace_info"}.isdisjoint(whole) else record
    info = decoded(record.get("info") or record.get("trace_info") or record)
    data = decoded(record.get("data", record))
    if not isinstance(info, dict) or not isinstance(data, dict):
        return None
    id_ = str(info.get("trace_id") or info.get("request_id") or "")
    metadata = [decoded(info.get(key)) for key in ("trace_metadata", "request_metadata", "tags")]
    sessions = (each.get("mlflow.trace.session") for each in metadata if isinstance(each, dict))
    found = trace_of(id_, [_span(each) for each in objects(decoded(data.get("spans")))])
    found.session = str(next(filter(None, sessions), "")) or found.session
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


def _span(span: dict[str, Any]) -> Span:
    flat = decoded(span.get("attributes"))
    flat = flat if isinstance(flat, dict) else {}
    attributes = unflattened({key: decoded(value) for key, value in flat.items()})
    context = decoded(span.get("context"))
    kind = first(attributes, ("mlflow.spanType",)) or span.get("span_type") or ""
    ids = context if isinstance(context, dict) else span
    return Span(
        str(ids.get("span_id")), str(span.get("parent_span_id") or span.get("parent_id") or ""),
        seconds(next(filter(None, map(span.get, _STARTS)), None)) or 0.0, attributes,
        {"CHAT_MODEL": "LLM"}.get(str(kind), str(kind)),
    )  # fmt: skip
