"""Spans of OpenTelemetry with numbered attributes, and conversations that only a step around them names."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.cases.cases import read_cases

FIRST, SECOND = "How much is fibre?", "And in a house?"
ANSWERS = ["4,180 yen.", "5,280 yen."]
START = 1_763_600_400


def numbered(*said: str, answer: str, roles: bool = True) -> dict[str, str]:
    """Prompts that customer and bot said in turn, behind one of the system, as attributes."""
    found = {"gen_ai.completion.0.content": answer}
    given = [("system", "You are a desk."), *zip(["user", "assistant"] * len(said), said, strict=False)]
    for number, (role, text) in enumerate(given if roles else given[1:]):
        found[f"gen_ai.prompt.{number}.content"] = text
        found |= {f"gen_ai.prompt.{number}.role": role} if roles else {}
    return found


def span(trace: str, own: str, parent: str, at: int, attributes: dict[str, str]) -> dict[str, Any]:
    return {
        "traceId": trace, "spanId": own, "parentSpanId": parent, "name": "x",
        "startTimeUnixNano": str((START + at) * 10**9), "attributes": attributes,
    }  # fmt: skip


NAMED = {"gen_ai.conversation.id": "c-1"}
# The ids stand on the spans around the calls of the model; the second call repeats the first one's dialogue.
SPANS = [
    span("a1", "02", "01", 1, numbered(FIRST, answer=ANSWERS[0])),
    span("a1", "01", "", 0, NAMED),
    span("a2", "04", "03", 61, numbered(FIRST, ANSWERS[0], SECOND, answer=ANSWERS[1])),
    span("a2", "03", "", 60, NAMED),
]


def pairs(attributes: dict[str, str]) -> list[Any]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]


def snake(each: dict[str, Any]) -> dict[str, Any]:
    return {
        "trace_id": each["traceId"], "span_id": each["spanId"], "parent_id": each["parentSpanId"] or None,
        "name": "x", "start_time": int(each["startTimeUnixNano"]),
    }  # fmt: skip


def envelope(spans: list[dict[str, Any]]) -> str:
    inside = [each | {"attributes": pairs(each["attributes"])} for each in spans]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": inside}]}]})


def lines(records: list[dict[str, Any]]) -> str:
    return "\n".join(map(json.dumps, records))


def table(spans: list[dict[str, Any]]) -> str:
    rows = [snake(each) | {f"attributes.{k}": v for k, v in each["attributes"].items()} for each in spans]
    names = sorted({name for row in rows for name in row})
    return "\n".join(
        [",".join(names), *(",".join(f'"{row.get(name) or ""}"' for name in names) for row in rows)]
    )


WRITTEN = {
    "otlp.json": envelope(SPANS),
    "camel.jsonl": lines(SPANS),
    "pairs.jsonl": lines([each | {"attributes": pairs(each["attributes"])} for each in SPANS]),
    "snake.jsonl": lines([snake(each) | {"attributes": each["attributes"]} for each in SPANS]),
    "bare.jsonl": lines([snake(each) | each["attributes"] for each in SPANS]),
    "table.csv": table(SPANS),
}  # fmt: skip


def said(name: str, text: str) -> list[tuple[str, list[str], list[str]]]:
    Path(name).write_text(text, encoding="utf-8")
    return [
        (case.id, [case.question, *case.script], [answer.text for answer in case.recorded])
        for case in read_cases(name)
    ]


TALK = [("c-1", [FIRST, SECOND], ANSWERS)]


@pytest.mark.parametrize("name", WRITTEN)
def test_numbered_prompts_are_read_and_the_parent_names_the_conversation(name: str) -> None:
    """However spans are written: in an envelope, one a line, as pairs, flat, or in a table."""
    assert said(name, WRITTEN[name]) == TALK


def test_calls_of_one_turn_stay_one() -> None:
    """A bot that asks its model twice for one question gives one answer, the last."""
    spans = [SPANS[1], SPANS[0], span("a1", "05", "01", 2, numbered(FIRST, answer="4,180 yen a month."))]

    assert said("twice.json", envelope(spans)) == [("c-1", [FIRST], ["4,180 yen a month."])]


def test_prompts_without_roles_and_with_parts_are_read() -> None:
    """One prompt is what was asked; the text of a message may be a list of parts in JSON."""
    parts = json.dumps([{"type": "text", "text": SECOND}, {"type": "image_url", "image_url": "x"}])
    spans = [
        span("a1", "01", "", 0, NAMED | numbered(FIRST, answer=ANSWERS[0], roles=False)),
        span("a2", "02", "", 9, NAMED | numbered(parts, answer=ANSWERS[1])),
    ]

    assert said("parts.jsonl", lines(spans)) == TALK
