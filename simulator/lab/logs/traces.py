"""Formats of tracing tools but Langfuse, whose records hold steps of a call, or a whole one.

Each function takes a record and its number and yields parts: a `Step` for each span, run or observation, one
of kind TRACE for what the record says of the whole, a `Note` for each rating. Which step is the outermost,
and which texts count, is decided in `talks`, where all steps of a trace are known.

    {"context.trace_id": "t", "span_kind": "RETRIEVER", "attributes.retrieval.documents": [...]}
        -> Step("t", kind="RETRIEVER", passages=...)
    {"annotator_kind": "HUMAN", "span_id": "s", "name": "thumbs", "result": {"label": "up"}}
        -> Note("s", "thumbs", "up")
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from simulator.cases.dialogues import inner, objects, seconds
from simulator.cases.fields import decoded, text_of
from simulator.cases.logs.langfuse import TOOLS, called
from simulator.cases.logs.talks import MODELS, TRACE, LogNote, Part, Step
from simulator.cases.logs.values import (
    answered_in,
    asked_in,
    at,
    camelled,
    get,
    passages_in,
    unflattened,
)
from simulator.core.messages import _

# Attributes of a span, likeliest first: its session, what went in and came out, passages, and its kind.
# Traces with one session are one conversation; a trace without a session is a conversation of one turn.
# `gen_ai.prompt` and `gen_ai.completion` are older names, `ai.` those of Vercel's AI SDK.
_SESSION = (
    "session.id|gen_ai.conversation.id|traceloop.association.properties.session_id"
    "|traceloop.association.properties.conversation_id|langfuse.session.id|conversation.id|thread.id"
    "|ai.telemetry.metadata.sessionId"
)
_IN = (
    "gen_ai.input.messages|input.value|llm.input_messages|gen_ai.prompt|traceloop.entity.input"
    "|ai.prompt.messages|ai.prompt"
)
_OUT = (
    "gen_ai.output.messages|output.value|llm.output_messages|gen_ai.completion|traceloop.entity.output"
    "|ai.response.text"
)
_FOUND = "retrieval.documents|gen_ai.retrieval.documents|reranker.output_documents"
_KIND = "openinference.span.kind|gen_ai.operation.name"
# What only a call of a model has, by whatever name it calls its kind.
_OF_MODELS = "gen_ai.prompt|gen_ai.completion|gen_ai.input.messages|gen_ai.output.messages|llm.request.type"
# Arrays and lists within each other are so deep at most.
_DEEPEST = 20


def _span(ids: tuple[Any, Any, Any], time: Any, attributes: dict[str, Any], kind: Any = "") -> Step:
    """A step whose texts stand in attributes with the names of OpenInference or GenAI.

    In OpenInference, for example::

        {"openinference.span.kind": "LLM", "session.id": "s-1",
         "input.value": "...", "output.value": "..."}

    What comes out of a step that retrieves is its passages, if no attribute of their own names them.
    The ids are those of its trace, its own, and its parent's.
    """
    kind = str(kind or at(attributes, _KIND) or "").upper()
    if at(attributes, _OF_MODELS) and kind not in MODELS:
        kind = "LLM"
    passages = at(attributes, _FOUND) or (
        at(attributes, _OUT) if kind in {"RETRIEVER", "RETRIEVAL"} else None
    )
    trace, span, parent = (str(id_ or "") for id_ in ids)
    return Step(
        trace, span, parent, seconds(time), kind, str(at(attributes, _SESSION) or ""),
        at(attributes, _IN), at(attributes, _OUT), passages_in(passages),
        tools=called(
            at(attributes, "tool.name|gen_ai.tool.name"),
            at(attributes, f"gen_ai.tool.call.arguments|tool.parameters|{_IN}"),
            at(attributes, f"gen_ai.tool.call.result|{_OUT}"),
        ) if kind in TOOLS else [],
    )  # fmt: skip


def _event(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """What an event says of its span: one message, or all that went in and came out.

    Names as gen_ai.user.message and gen_ai.choice are those of the older conventions, in which each message
    is an event; newer ones have all of them in one.
    """
    body = inner(fields, "body") or fields
    if name.startswith("gen_ai.") and name.endswith(".message"):
        text = text_of(body.get("content"))
        return {"asked": [{"role": name.split(".")[1], "content": text}] if text else None}
    if name == "gen_ai.choice":
        message = decoded(body.get("message"))
        text = text_of((message if isinstance(message, dict) else body).get("content"))
        return {"answered": [{"role": "assistant", "content": text}] if text else None}
    places = "gen_ai.{0}.messages|body.gen_ai.{0}.messages|body.{0}.messages"
    return {"asked": at(fields, places.format("input")), "answered": at(fields, places.format("output"))}


def langsmith(record: dict[str, Any], number: int) -> Iterator[Part]:
    """Exported runs, what its SDK sends, feedback, and examples with their right answer."""
    if {"run_id", "key"} <= record.keys() and "run_type" not in record:
        # Feedback has a score, or a value where it is a word.
        value = record.get("value") if record.get("score") is None else record["score"]
        yield LogNote(str(record["run_id"]), str(record["key"]), value)
    elif "run_type" in record:
        yield from _run(record)
    elif batch := [*objects(record.get("post")), *objects(record.get("patch"))]:
        for run in batch:
            yield from _run(run)
    elif asked_in(record.get("inputs"))[1]:
        split = get(record, "metadata.dataset_split")
        yield Step(
            str(record.get("id") or number), kind=TRACE, asked=record["inputs"],
            reference=answered_in(record.get("outputs")),
            tags=[str(name) for name in (split if isinstance(split, list) else [split]) if name],
        )  # fmt: skip
    else:
        yield _("examples without a question")


def is_langsmith(record: dict[str, Any]) -> bool:
    """A run, a batch of them, feedback, or an example of a data set."""
    return (
        not {"run_type", "post"}.isdisjoint(record)
        or {"run_id", "key", "score"} <= record.keys()
        or ({"inputs", "outputs"} <= record.keys() and "model" not in record)
    )


def _run(run: dict[str, Any]) -> Iterator[Step]:
    names = ("session_id", "thread_id", "conversation_id")
    places = (
        "thread_id",
        *(f"{place}{name}" for name in names for place in ("extra.metadata.", "metadata.")),
    )
    stats = decoded(run.get("feedback_stats"))
    yield Step(
        str(at(run, "trace_id|run_id|parent_run_id|id") or ""), str(run.get("id") or ""),
        str(run.get("parent_run_id") or ""), seconds(run.get("start_time")),
        str(run.get("run_type") or "").upper(), str(at(run, "|".join(places)) or ""),
        run.get("inputs"), run.get("outputs"),
        passages_in(run.get("outputs")) if run.get("run_type") == "retriever" else (),
        {
            key: values.get("values") if values.get("avg") is None else values["avg"]
            for key, values in (stats.items() if isinstance(stats, dict) else ()) if isinstance(values, dict)
        },
        error=str(run.get("error") or ""),
        tools=called(run.get("name"), run.get("inputs"), run.get("outputs"))
        if run.get("run_type") == "tool" else [],
    )  # fmt: skip
    for child in objects(run.get("child_runs")):
        yield from _run({"trace_id": run.get("trace_id") or run.get("id")} | child)


def phoenix(record: dict[str, Any], number: int) -> Iterator[Part]:
    """Spans of the REST interface, of a dataframe, of `to_json`, and of strands; notes on them."""
    if "annotator_kind" in record:
        result = inner(record, "result") or record
        yield LogNote(str(record.get("span_id")), str(record.get("name")), at(result, "label|score"))
        return
    flat = decoded(record.get("attributes"))
    if isinstance(flat, list):  # pairs, as OTLP has them
        flat = _attributes(flat)
    if not isinstance(flat, dict):  # a row of a dataframe, or a bare object of attributes
        named = ((str(key).removeprefix("attributes."), decoded(value)) for key, value in record.items())
        flat = {
            key: [unflattened(item) if isinstance(item, dict) else item for item in value]
            if isinstance(value, list) else value
            for key, value in named if value not in (None, "")
        }  # fmt: skip
    ids = (
        at(record, "context.trace_id|trace_id|traceId|gen_ai.response.id") or f"trace {number}",
        at(record, "context.span_id|span_id|spanId") or number,
        at(record, "parent_id|parent_span_id|parentSpanId|parentId"),
    )
    start = at(record, "start_time|start_time_unix_nano|startTimeUnixNano|startTime")
    step = _span(ids, start, unflattened(flat), record.get("span_kind"))
    for event in objects(record.get("span_events") or record.get("events")):
        attributes = event.get("attributes")
        inside = unflattened(attributes) if isinstance(attributes, dict) else {}
        event_fields = _event(str(event.get("name")), inside | {"body": decoded(event.get("body"))})
        step.asked, step.answered = (
            event_fields.get("asked") or step.asked,
            event_fields.get("answered") or step.answered,
        )
    yield step


def is_phoenix(record: dict[str, Any]) -> bool:
    """A span with a trace and attributes, a note on one, or a bare object of GenAI attributes."""
    return (
        (
            {"attributes", "name"} <= record.keys()
            and not {"context", "trace_id", "traceId"}.isdisjoint(record)
        )
        or not {"context.trace_id", "annotator_kind"}.isdisjoint(record)
        or any(str(key).removeprefix("attributes.").startswith(_OF_SPANS) for key in record)
    )


# How attributes begin that only spans of models have.
_OF_SPANS = ("gen_ai.", "llm.input_messages", "openinference.")


def otlp(record: dict[str, Any], _number: int) -> Iterator[Part]:
    """OpenTelemetry's JSON with the GenAI conventions: spans, and logs with what was said.

        {"resourceSpans": [{"scopeSpans": [{"spans": [
            {"traceId": "...", "attributes": [...], "events": [...]}]}]}]}

    Newer conventions put messages into attributes, older ones into events or log records of their own, which
    name their span.
    """
    for scope in _inner(record, "resourceSpans|batches", "scopeSpans|instrumentationLibrarySpans"):
        for span in map(camelled, objects(scope.get("spans"))):
            trace, id_, start = (
                _id(span.get("traceId")),
                _id(span.get("spanId")),
                span.get("startTimeUnixNano"),
            )
            attributes = _attributes(span.get("attributes"))
            yield _span((trace, id_, _id(span.get("parentSpanId"))), start, attributes)
            for event in map(camelled, objects(span.get("events"))):
                about = _attributes(event.get("attributes"))
                yield from _told(
                    trace, id_, event.get("timeUnixNano") or start, str(event.get("name")), about
                )
    for scope in _inner(record, "resourceLogs", "scopeLogs|instrumentationLibraryLogs"):
        for log in map(camelled, objects(at(scope, "logRecords|log_records"))):
            about, body = _attributes(log.get("attributes")), _value(log.get("body"))
            about |= {"body": body if isinstance(body, dict) else {"content": body}}
            name = str(log.get("eventName") or get(about, "event.name") or "")
            time = at(log, "timeUnixNano|observedTimeUnixNano")
            yield from _told(_id(log.get("traceId")), _id(log.get("spanId")), time, name, about)


def is_otlp(record: dict[str, Any]) -> bool:
    """An envelope of spans or of logs."""
    return not {"resourceSpans", "resourceLogs", "batches"}.isdisjoint(camelled(record))


def _told(trace: str, id_: str, time: Any, name: str, attributes: dict[str, Any]) -> Iterator[Part]:
    """What an event or a log record says: messages of its span, or a rating of it."""
    if name == "gen_ai.evaluation.result":
        value = get(attributes, "gen_ai.evaluation.score.value")
        label = get(attributes, "gen_ai.evaluation.score.label")
        of = str(id_ or get(attributes, "gen_ai.response.id") or "")
        yield LogNote(of, str(get(attributes, "gen_ai.evaluation.name")), label if value is None else value)
    elif any((said := _event(name, attributes)).values()):
        yield Step(trace, id_, time=seconds(time), kind="LLM", **said)


def _inner(record: dict[str, Any], outer: str, inside: str) -> Iterator[dict[str, Any]]:
    for resource in map(camelled, objects(at(camelled(record), outer))):
        yield from map(camelled, objects(at(resource, inside)))


def _attributes(pairs: Any) -> dict[str, Any]:
    return unflattened({str(pair.get("key")): _value(pair.get("value")) for pair in objects(pairs)})


def _value(value: Any, depth: int = 0) -> Any:
    if not isinstance(value, dict) or depth > _DEEPEST:
        return value
    kind, held = next(iter(camelled(value).items()), ("", None))
    if kind == "kvlistValue":
        pairs = objects(get(held, "values"))
        return {str(pair.get("key")): _value(pair.get("value"), depth + 1) for pair in pairs}
    if kind == "arrayValue":
        return [_value(item, depth + 1) for item in objects(get(held, "values"))]
    return held


def _id(value: Any) -> str:
    """Ids are in hexadecimal, or, by some writers, in base64.

    OTLP's JSON says hexadecimal; protobuf's own JSON writes bytes as base64: "5B8EFFF798038103" and
    "W47/95gDgQM=" are one span.
    """
    text = str(value or "")
    if len(text) in (12, 24) and not all(letter in "0123456789abcdefABCDEF" for letter in text):
        try:
            return base64.b64decode(text).hex()
        except (ValueError, binascii.Error):
            return text
    return text.lower()
