"""Langfuse: traces downloaded from their page or read from its API, and tables of all that they have."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Skipped,
    Talk,
    Trace,
    answered_in,
    asked_in,
    camelled,
    decoded,
    grouped,
    inner,
    objects,
    passages_in,
    seconds,
    talks_of_traces,
)

NAME = "Langfuse"
# Lists of a row of the table of traces; any other list is a score.
_LISTS = frozenset(
    {"tags", "comments", "observations", "scores", "input", "output", "metadata", "corrections"}
)


def matches(record: Any) -> bool:
    """Keys that only its exports have."""
    keys = camelled(record).keys()
    return (
        ("observations" in keys and not {"trace", "scores", "sessionId"}.isdisjoint(keys))
        or ("sessionId" in keys and not {"bookmarked", "htmlPath", "countTraces"}.isdisjoint(keys))
        or {"sessionId", "input", "output", "timestamp"} <= keys
        or not {"parentObservationId", "countTraces"}.isdisjoint(keys)
        or _is_score(keys)
    )


def _is_score(record: Any) -> bool:
    marks = ({"traceId", "sessionId"}, {"dataType", "name"}, {"source"}, {"value"})
    return not any(each.isdisjoint(record) for each in marks)


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The traces by session; observations and scores, in files of their own too, join their trace."""
    of_sessions: dict[str, dict[str, Any]] = {}

    def kept() -> Iterator[dict[str, Any]]:
        for record in map(camelled, records):
            if "countTraces" in record or ("traces" in record and "input" not in record):
                skipped.note(_("sessions without texts (the export of traces has them)"))
            elif _is_score(record) and not record.get("traceId"):
                of_sessions.setdefault(str(record["sessionId"]), {})[str(record.get("name"))] = _value(record)
            else:
                yield record

    traces = (trace for id_, its in grouped(kept(), _trace_id) if (trace := _trace(id_, its, skipped)))
    for talk in talks_of_traces(traces, skipped, _("traces without a question")):
        talk.turns[-1].ratings |= of_sessions.pop(talk.id, {})
        yield talk
    if of_sessions:
        skipped.note(
            _("scores without their traces (the export of traces has the texts)"),
            sum(map(len, of_sessions.values())),
        )


def _trace_id(record: dict[str, Any]) -> Any:
    of_trace = inner(record, "trace").get("id")
    whole = next(iter(objects(record.get("observations"))), {}) if "trace" not in record else {}
    return of_trace or record.get("traceId") or record.get("id") or camelled(whole).get("traceId")


def _trace(id_: str, records: list[dict[str, Any]], skipped: Skipped) -> Trace | None:
    """A trace of its own records, its observations and its scores."""
    trace: dict[str, Any] = {}
    observations, scores = [], []
    for record in records:
        if _is_score(record):
            scores.append(record)
        elif "parentObservationId" in record or {"traceId", "type"} <= record.keys():
            observations.append(record)
        else:
            observations += map(camelled, objects(record.get("observations")))
            about = camelled(inner(record, "trace")) or (record if "id" in record else {})
            trace |= {key: value for key, value in about.items() if value not in (None, "")}
            lists = (record.get("scores"), about.get("scores"), about.get("corrections"))
            scores += [camelled(each) for given in lists for each in objects(decoded(given))]
    if not trace and not observations:
        skipped.note(_("scores without their traces (the export of traces has the texts)"), len(scores))
        return None
    observations.sort(key=lambda each: str(each.get("startTime")))
    known = {str(each.get("id")) for each in observations}
    roots = [each for each in observations if str(each.get("parentObservationId")) not in known]
    trace = trace or (roots or observations)[0]
    models = [each for each in observations if each.get("type") == "GENERATION"]
    asked = (each.get("input") for each in (trace, *roots, *models) if asked_in(each.get("input"))[1])
    last = (trace, *roots, *reversed(models))
    answered = (each.get("output") for each in last if answered_in(each.get("output")))
    right = [each for each in scores if each.get("dataType") == "CORRECTION"]
    right_texts = (answered_in(each.get("longStringValue") or each.get("stringValue")) for each in right)
    given = {str(each["name"]): _value(each) for each in scores if each.get("name") and each not in right}
    sessions = (each.get("sessionId") for each in (trace, *observations))
    return Trace(
        id_, str(next(filter(None, sessions), "")),
        seconds(trace.get("timestamp") or trace.get("startTime")) or 0.0,
        next(asked, None), next(answered, None),
        tuple(p for each in observations if _searches(each) for p in passages_in(each.get("output"))),
        _columns(trace) | given, next(filter(None, right_texts), ""),
    )  # fmt: skip


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    """The scores of a table of traces, which have a column for each name, with a list."""
    lists = {
        key: value for key in row.keys() - _LISTS if isinstance(value := decoded(row[key]), list) and value
    }
    return {key: value[-1] for key, value in sorted(lists.items()) if not isinstance(value[-1], (dict, list))}


def _searches(observation: dict[str, Any]) -> bool:
    is_named = observation.get("type") == "SPAN" and "retriev" in str(observation.get("name")).lower()
    return observation.get("type") == "RETRIEVER" or is_named


def _value(score: dict[str, Any]) -> Any:
    return score.get("stringValue") if score.get("stringValue") not in (None, "") else score.get("value")
