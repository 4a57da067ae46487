"""Traces of Langfuse, whose records hold steps of a call, or a whole one.

A record and its number become parts: a `Step` for each observation, one of kind TRACE for what the record
says of the whole, a `Note` for each score. Which step is the outermost, and which texts count, is decided in
`talks`, where all steps of a trace are known.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from simulator.cases.dialogues import inner, objects, seconds
from simulator.cases.fields import decoded
from simulator.cases.logs.talks import TRACE, LogNote, Part, Step
from simulator.cases.logs.values import answered_in, at, camelled, passages_in
from simulator.core.messages import _
from simulator.core.tool_calls import tool_calls_of

# What a step is called that calls a tool.
TOOLS = frozenset({"TOOL", "EXECUTE_TOOL"})


def called(name: Any, given: Any, gave: Any) -> list[dict[str, Any]]:
    """The call of a tool that a step is; none without its name."""
    call = {"name": name, "arguments": given, "result": gave}
    return [tool_call.model_dump() for tool_call in tool_calls_of([call])]


def langfuse(record: dict[str, Any], _number: int) -> Iterator[Part]:
    """Traces downloaded from their page or read from its API, and tables of all that they have.

    A trace may hold its steps and its scores, or each is a record of its own and names its trace::

        {"id": "t-1", "sessionId": "s-1", "input": "...", "output": "...", "scores": [...],
         "observations": [{"id": "o-1", "type": "RETRIEVER", "input": "...", "output": [...]}]}
        {"id": "o-1", "traceId": "t-1", "parentObservationId": null, "type": "RETRIEVER", ...}

    Keys in snake_case are read alike.
    """
    record = camelled(record)
    # The table of sessions has counts and no texts.
    if "countTraces" in record or ("traces" in record and "input" not in record):
        yield _("sessions without texts (the export of traces has them)")
        return
    if is_score(record):
        yield _score(record, "")
        return
    steps = [record]
    whole: dict[str, Any] = {}
    # A record of its own is a step; a trace holds its steps.
    if "parentObservationId" not in record and not {"traceId", "type"} <= record.keys():
        steps = [*map(camelled, objects(record.get("observations")))]
        whole = camelled(inner(record, "trace")) or (record if "id" in record else {})
    id_ = str(whole.get("id") or at(steps[:1] and steps[0], "traceId") or "")
    if whole:
        # The scores of a table of traces have a column for each name, with a list.
        lists = {key: decoded(whole[key]) for key in sorted(whole.keys() - _NO_SCORES)}
        yield Step(
            id_, kind=TRACE, time=seconds(whole.get("timestamp")), session=str(whole.get("sessionId") or ""),
            asked=whole.get("input"), answered=whole.get("output"),
            ratings={
                key: value[-1] for key, value in lists.items()
                if isinstance(value, list) and value and not isinstance(value[-1], (dict, list))
            },
        )  # fmt: skip
    for step in steps:
        # Older SDKs have spans only, whose name tells that they search.
        searches = step.get("type") == "RETRIEVER" or (
            step.get("type") == "SPAN" and "retriev" in str(step.get("name")).lower()
        )
        yield Step(
            str(step.get("traceId") or id_), str(step.get("id") or ""),
            str(step.get("parentObservationId") or ""), seconds(step.get("startTime")),
            str(step.get("type")), str(step.get("sessionId") or ""), step.get("input"), step.get("output"),
            passages_in(step.get("output")) if searches else (),
            tools=called(step.get("name"), step.get("input"), step.get("output"))
            if step.get("type") in TOOLS else [],
        )  # fmt: skip
    for given in (record.get("scores"), whole.get("scores"), whole.get("corrections")):
        yield from (_score(camelled(score), id_) for score in objects(given))


_NO_SCORES = {"tags", "comments", "observations", "scores", "input", "output", "metadata", "corrections"}


def is_langfuse(record: dict[str, Any]) -> bool:
    """Keys that only exports of Langfuse have."""
    keys = camelled(record).keys()
    return (
        ("observations" in keys and not {"trace", "scores", "sessionId"}.isdisjoint(keys))
        or ("sessionId" in keys and not {"bookmarked", "htmlPath", "countTraces"}.isdisjoint(keys))
        or {"sessionId", "input", "output", "timestamp"} <= keys
        or not {"parentObservationId", "countTraces"}.isdisjoint(keys)
        or is_score(keys)
    )


def is_score(record: Iterable[str]) -> bool:
    """Whether this is a score of Langfuse in a file of its own."""
    # A score of Langfuse has a source, a value, and what it is about; no other format has all four.
    marks = ({"traceId", "sessionId"}, {"dataType", "name"}, {"source"}, {"value"})
    return not any(marks_of_score.isdisjoint(record) for marks_of_score in marks)


def _score(score: dict[str, Any], trace: str) -> LogNote:
    """A score as a note on its trace or session; a correction is a right answer, and has no name."""
    of = str(trace or score.get("traceId") or score.get("sessionId") or "")
    if score.get("dataType") == "CORRECTION":
        return LogNote(of, "", answered_in(score.get("longStringValue") or score.get("stringValue")))
    text = score.get("stringValue")
    return LogNote(of, str(score.get("name")), score.get("value") if text in (None, "") else text)
