"""Spans of a trace, whatever tool kept them: the outermost one holds the question and the answer."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from simulator.data.logs.talks import (
    Trace,
    answered_in,
    asked_in,
    decoded,
    get,
    passages_in,
)

_SESSIONS = (
    "session.id", "gen_ai.conversation.id", "traceloop.association.properties.session_id",
    "traceloop.association.properties.conversation_id", "langfuse.session.id", "conversation.id", "thread.id",
)  # fmt: skip
# What went in, and what came out, likeliest first; `gen_ai.prompt` and `gen_ai.completion` are older.
_IN = (
    "gen_ai.input.messages", "input.value", "llm.input_messages", "gen_ai.prompt",
    "traceloop.entity.input", "mlflow.spanInputs",
)  # fmt: skip
_OUT = (
    "gen_ai.output.messages", "output.value", "llm.output_messages", "gen_ai.completion",
    "traceloop.entity.output", "mlflow.spanOutputs",
)  # fmt: skip
_FOUND = ("retrieval.documents", "gen_ai.retrieval.documents", "reranker.output_documents")


@dataclass
class Span:
    """One step; `attributes` are nested objects, `kind` is in capitals: LLM, RETRIEVER, TOOL, CHAIN."""

    id: str
    parent: str
    start: float
    attributes: dict[str, Any]
    kind: str = ""
    session: str = ""
    passages: tuple[tuple[str, str], ...] = ()
    ratings: dict[str, Any] = field(default_factory=dict)


def trace_of(id_: str, spans: Iterable[Span]) -> Trace:
    """The trace of these spans, which may come in any order, and of which a parent may be missing."""
    its = sorted(spans, key=lambda span: span.start)
    known = {span.id for span in its}
    outermost = [span for span in its if span.parent not in known] or its[:1]
    models = [span for span in its if span.kind in {"LLM", "CHAT"}]
    asked = (first(span.attributes, _IN) for span in (*outermost, *models))
    answered = (first(span.attributes, _OUT) for span in (*reversed(outermost), *reversed(models)))
    sessions = (span.session or first(span.attributes, _SESSIONS) for span in its)
    ratings: dict[str, Any] = {}
    for span in its:
        ratings |= span.ratings
    return Trace(
        id_, str(next(filter(None, sessions), "")), its[0].start if its else 0.0,
        next((value for value in asked if asked_in(value)[1]), None),
        next((value for value in answered if answered_in(value)), None),
        tuple(passage for span in its for passage in _passages(span)), ratings,
    )  # fmt: skip


def _passages(span: Span) -> tuple[tuple[str, str], ...]:
    if span.passages:
        return span.passages
    found = first(span.attributes, _FOUND)
    if found is None and span.kind in {"RETRIEVER", "RETRIEVAL"}:
        found = first(span.attributes, _OUT)
    return passages_in(found) if found is not None else ()


def first(attributes: dict[str, Any], paths: Iterable[str]) -> Any:
    """The first of these attributes that there is."""
    for path in paths:
        value = decoded(get(attributes, path))
        if value not in (None, "", [], {}):
            return value
    return None
