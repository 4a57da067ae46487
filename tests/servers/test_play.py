"""The fake model's answers fit what was asked, and fail as told."""

import json
from typing import Any, Literal, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tests.properties import examples
from tests.servers.faults import Faults, Reply
from tests.servers.replies import play


class Grade(BaseModel):
    """A verdict, its grade last."""

    reason: str
    mark: Literal["low", "high"]
    grade: int = Field(ge=1, le=5)


def asked(text: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """A chat request, with structured output if there is a schema."""
    form = {"type": "json_schema", "json_schema": {"name": "grade", "schema": schema}} if schema else None
    return {"messages": [{"role": "user", "content": text}], "response_format": form}


LEAVES: list[tuple[dict[str, Any], Any]] = [
    ({"type": "integer", "minimum": -3, "maximum": 3}, lambda v: type(v) is int and -3 <= v <= 3),
    ({"type": "integer", "maximum": -7}, lambda v: type(v) is int and v <= -7),
    ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 2}, lambda v: v == 1),
    ({"type": "number", "minimum": 0, "maximum": 1}, lambda v: 0 <= v <= 1),
    ({"type": ["string", "null"], "maxLength": 4}, lambda v: 0 < len(v) <= 4),
    ({"type": "string", "minLength": 90}, lambda v: len(v) >= 90),
    ({"const": "a"}, lambda v: v == "a"),
    ({"enum": [1, "b", None]}, lambda v: v in (1, "b", None)),
    ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, lambda v: v in (True, False)),
    ({"allOf": [{"type": "integer"}, {"minimum": 9, "maximum": 9}]}, lambda v: v == 9),
    ({"type": "array", "items": {"enum": ["x"]}, "minItems": 3}, lambda v: v == ["x"] * 3),
    ({"type": "array", "items": {"enum": ["x"]}, "maxItems": 0}, lambda v: v == []),
    ({"type": "null"}, lambda v: v is None),
    ({"type": "object"}, lambda v: v == {}),
]


@pytest.mark.parametrize(("schema", "fits"), LEAVES, ids=[json.dumps(schema) for schema, _ in LEAVES])
@settings(max_examples=examples(15))
@given(text=st.text())
def test_any_value_fits_its_schema(schema: dict[str, Any], fits: Any, text: str) -> None:
    """Whatever was said, the value drawn keeps to the schema's limits."""
    whole = {"type": "object", "properties": {"value": schema}}
    assert fits(json.loads(play(asked(text, whole)))["value"])


def test_random_faults_depend_on_seed_and_request_only() -> None:
    """The same requests in another order meet the same faults at about their rate, retries are drawn anew."""
    requests = [asked(str(n)) for n in range(400)]
    first, second = Faults({"429": 0.1, "cut": 0.1}), Faults({"429": 0.1, "cut": 0.1})
    met = {n: first(request) for n, request in enumerate(requests)}
    assert {n: second(requests[n]) for n in reversed(range(400))} == met
    assert all(25 < first.met[name] < 60 for name in ("429", "cut"))
    failed = [request for n, request in enumerate(requests) if cast(Reply, met[n]).status == 429]
    again = [cast(Reply, first(request)).status for request in failed]
    assert 0 < again.count(429) < len(failed) / 2
