"""Spans of a trace, whatever tool kept them: the outermost one holds the question and the answer."""

from collections.abc import Iterable, Iterator
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
    "gen_ai.input.messages",
    "input.value",
    "llm.input_messages",
    "gen_ai.prompt",
    "traceloop.entity.input",
    "mlflow.spanInputs",
)
_OUT = (
    "gen_ai.output.messages",
    "output.value",
    "llm.output_messages",
    "gen_ai.completion",
    "traceloop.entity.output",
    "mlflow.spanOutputs",
)
_FOUND = ("retrieval.documents", "gen_ai.retrieval.documents", "reranker.output_documents")


@dataclass
class Span:
    """One step; `attributes` are nested objects, `kind` is in capitals: LLM, RETRIEVER, TOOL, CHAIN."""

    trace: str
    id: str
    parent: str
    start: float
    attributes: dict[str, Any]
    kind: str = ""
    session: str = ""
    passages: tuple[tuple[str, str], ...] = ()
    ratings: dict[str, Any] = field(default_factory=dict)


def traces_of(spans: Iterable[Span]) -> Iterator[Trace]:
    """A trace for each id of one. Spans may come in any order, and a parent may be missing."""
    by_trace: dict[str, list[Span]] = {}
    for span in spans:
        by_trace.setdefault(span.trace, []).append(span)
    for trace, its in by_trace.items():
        its.sort(key=lambda span: span.start)
        known = {span.id for span in its}
        outermost = [span for span in its if span.parent not in known] or its[:1]
        models = [span for span in its if span.kind in {"LLM", "CHAT"}]
        spoken = [*outermost, *models]
        last = [*reversed(outermost), *reversed(models)]
        asked = next(
            (
                value
                for span in spoken
                if (value := first(span.attributes, _IN)) is not None and asked_in(value)[1]
            ),
            None,
        )
        answered = next(
            (
                value
                for span in last
                if (value := first(span.attributes, _OUT)) is not None and answered_in(value)
            ),
            None,
        )
        sessions = (span.session or first(span.attributes, _SESSIONS) for span in its)
        ratings: dict[str, Any] = {}
        for span in its:
            ratings |= span.ratings
        yield Trace(
            trace, str(next(filter(None, sessions), "")), its[0].start, asked, answered,
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
