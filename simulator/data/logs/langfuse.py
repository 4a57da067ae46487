"""Langfuse: a trace downloaded from its page, tables of traces or observations, and pages of the API."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Skipped,
    Talk,
    Trace,
    answered_in,
    asked_in,
    decoded,
    objects,
    passages_in,
    seconds,
    talks_of_traces,
)

NAME = "Langfuse"
_TABLE = frozenset(
    [
        "id",
        "timestamp",
        "name",
        "userId",
        "sessionId",
        "release",
        "version",
        "environment",
        "tags",
        "bookmarked",
        "public",
        "input",
        "output",
        "metadata",
        "comments",
        "createdAt",
        "updatedAt",
        "projectId",
        "externalId",
        "latency",
        "totalCost",
        "usage",
        "scores",
        "observations",
        "htmlPath",
        "inputTokens",
        "outputTokens",
        "totalTokens",
        "inputCost",
        "outputCost",
        "levelCounts",
        "errorCount",
        "warningCount",
        "defaultCount",
        "debugCount",
        "observationCount",
    ]
)


def matches(record: Any) -> bool:
    """Keys that only its exports have."""
    first = next(iter(objects(record.get("data"))), record)
    of_a_session = {"bookmarked", "htmlPath", "countTraces", "dataType"}
    return (
        ("observations" in record and bool({"trace", "scores"} & record.keys()))
        or ("sessionId" in first and not of_a_session.isdisjoint(first))
        or {"sessionId", "input", "output", "timestamp"} <= first.keys()
        or "parentObservationId" in first or "countTraces" in first
        or {"traceId", "dataType", "source"} <= first.keys()
    )  # fmt: skip


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The traces by session; observations alone are put together by their trace."""
    traces: list[Trace] = []
    loose: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        for each in objects(record.get("data")) or [record]:
            if isinstance(each.get("observations"), list) and ("trace" in each or "scores" in each):
                traces.append(_whole(each))
            elif "parentObservationId" in each or ("traceId" in each and "type" in each):
                loose.setdefault(str(each.get("traceId") or each.get("id")), []).append(each)
            elif "dataType" in each:
                skipped.note(_("scores without their traces (the export of traces has the texts)"))
            elif "countTraces" in each or not {"input", "output"} & each.keys():
                skipped.note(_("sessions without texts (the export of traces has them)"))
            else:
                traces.append(_row(each))
    traces += (_whole({"observations": its}) for its in loose.values())
    yield from talks_of_traces(traces, skipped, _("traces without a question"))


def _whole(record: dict[str, Any]) -> Trace:
    observations = sorted(objects(record["observations"]), key=lambda each: str(each.get("startTime")))
    known = {str(each.get("id")) for each in observations}
    roots = [each for each in observations if str(each.get("parentObservationId")) not in known]
    trace = record["trace"] if isinstance(record.get("trace"), dict) else (roots or observations or [{}])[0]
    models = [each for each in observations if each.get("type") == "GENERATION"]
    asked = next(
        (each.get("input") for each in (trace, *roots, *models) if asked_in(each.get("input"))[1]), None
    )
    answered = next(
        (
            each.get("output")
            for each in (trace, *roots, *reversed(models))
            if answered_in(each.get("output"))
        ),
        None,
    )
    scores = [
        *objects(record.get("scores")),
        *objects(trace.get("scores")),
        *objects(trace.get("corrections")),
    ]
    right = (
        each.get("longStringValue") or each.get("stringValue")
        for each in scores
        if each.get("dataType") == "CORRECTION"
    )
    given = [each for each in scores if each.get("dataType") != "CORRECTION"]
    sessions = (each.get("sessionId") for each in (trace, *observations))
    return Trace(
        str(trace.get("traceId") or trace.get("id") or ""), str(next(filter(None, sessions), "")),
        seconds(trace.get("timestamp") or trace.get("startTime")) or 0.0, asked, answered,
        tuple(p for each in observations if _searches(each) for p in passages_in(each.get("output"))),
        {str(each["name"]): _value(each) for each in given if each.get("name")},
        str(answered_in(next(filter(None, right), ""))),
    )  # fmt: skip


def _searches(observation: dict[str, Any]) -> bool:
    return observation.get("type") == "RETRIEVER" or (
        observation.get("type") == "SPAN" and "retriev" in str(observation.get("name")).lower()
    )


def _value(score: dict[str, Any]) -> Any:
    return score.get("stringValue") if score.get("stringValue") not in (None, "") else score.get("value")


def _row(row: dict[str, Any]) -> Trace:
    named = {key: decoded(value) for key, value in row.items() if key not in _TABLE}
    ratings = {
        key: value[-1]
        for key, value in named.items()
        if isinstance(value, list) and value and not isinstance(value[-1], (dict, list))
    }
    ratings |= {
        str(each["name"]): _value(each) for each in objects(decoded(row.get("scores"))) if each.get("name")
    }
    return Trace(
        str(row.get("id") or ""), str(row.get("sessionId") or ""), seconds(row.get("timestamp")) or 0.0,
        row.get("input"), row.get("output"), ratings=ratings,
    )  # fmt: skip
