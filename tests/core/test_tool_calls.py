"""The calls of tools, in the forms in which bots, models and logs write them."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import ToolCall
from simulator.core.tool_calls import LONGEST_TEXT, MOST_CALLS, MOST_TEXT
from simulator.extending import tool_calls_in, tool_calls_of

ORDER = {"order": "A-1"}
REFUND = ToolCall(name="refund", arguments='{"order": "A-1"}')
DONE = REFUND.model_copy(update={"result": "done"})
USER = {"role": "user", "content": "返金して"}


@pytest.mark.parametrize(
    "call",
    [
        REFUND,
        {"name": "refund", "arguments": ORDER},
        {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": json.dumps(ORDER)}},
        {"name": "refund", "args": ORDER, "id": "c1", "type": "tool_call"},
        {"type": "tool_use", "id": "c1", "name": "refund", "input": ORDER},
        {"toolUse": {"toolUseId": "c1", "name": "refund", "input": ORDER}},
        {"functionCall": {"name": "refund", "args": ORDER}},
        {"type": "function_call", "call_id": "c1", "name": "refund", "arguments": json.dumps(ORDER)},
        {"type": "tool-call", "toolCallId": "c1", "toolName": "refund", "args": ORDER},
        {"tool": "refund", "tool_input": ORDER},
        SimpleNamespace(tool="refund", tool_input=ORDER),
        SimpleNamespace(id="c1", function=SimpleNamespace(name="refund", arguments=json.dumps(ORDER))),
    ],
)
def test_every_form_of_a_call_is_the_same_call(call: Any) -> None:
    """A model's, a framework's or this program's own."""
    assert tool_calls_of([call]) == (REFUND,)
    assert tool_calls_of(call) == (REFUND,)


@pytest.mark.parametrize(
    "call",
    [
        {"name": "refund", "arguments": ORDER, "result": "done"},
        {"tool": "refund", "tool_input": ORDER, "observation": "done"},
        (SimpleNamespace(tool="refund", tool_input=ORDER), "done"),
    ],
)
def test_a_result_beside_the_call(call: Any) -> None:
    """As agents tell their steps."""
    assert tool_calls_of([call]) == (DONE,)


@pytest.mark.parametrize(
    "messages",
    [
        [
            USER,
            {"role": "assistant", "tool_calls": [{"id": "c1", "function": REFUND.model_dump()}]},
            {"role": "tool", "tool_call_id": "c1", "content": "done"},
            {"role": "assistant", "content": "返金しました。"},
        ],
        [
            SimpleNamespace(type="human", content="返金して"),
            SimpleNamespace(
                type="ai", content="", tool_calls=[{"name": "refund", "args": ORDER, "id": "c1"}]
            ),
            SimpleNamespace(type="tool", content="done", tool_call_id="c1", name="refund"),
        ],
        [
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "refund", "input": ORDER}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]},
        ],
        [
            USER,
            {"role": "assistant", "function_call": REFUND.model_dump()},
            {"role": "function", "name": "refund", "content": "done"},
        ],
        [
            USER,
            {"type": "function_call", "call_id": "c1", "name": "refund", "arguments": ORDER},
            {"type": "function_call_output", "call_id": "c1", "output": "done"},
        ],
    ],
)
def test_the_result_stands_in_a_message_of_its_own(messages: list[Any]) -> None:
    """It names its call by id, or by the name of the function."""
    assert tool_calls_in(messages) == (DONE,)


def test_results_go_to_the_calls_that_they_name() -> None:
    """Two calls at once, answered the other way round."""
    calls = [{"id": id_, "function": {"name": "price", "arguments": id_}} for id_ in ("a", "b")]
    back = [{"role": "tool", "tool_call_id": id_, "content": f"of {id_}"} for id_ in ("b", "a")]
    found = tool_calls_in([USER, {"role": "assistant", "tool_calls": calls}, *back])
    assert [(call.arguments, call.result) for call in found or ()] == [("a", "of a"), ("b", "of b")]


def test_only_calls_of_this_turn_count() -> None:
    """Of a dialogue that knows tools, a turn without a call has none; of any other nobody knows."""
    before = [USER, {"role": "assistant", "content": "", "tool_calls": [REFUND.model_dump()]}]
    assert tool_calls_in([*before, USER, {"role": "assistant", "content": "はい"}]) == ()
    assert tool_calls_in([USER, {"role": "assistant", "content": "はい", "tool_calls": []}]) is None


@pytest.mark.parametrize(
    "other",
    [
        None, 5, "", "  ", {}, [[]], [{"name": ""}], [{"answer": "x"}],
        [{"type": "function", "function": {"name": "refund", "description": "Pays back.", "parameters": {}}}],
        [{"name": "refund", "parameters": {"type": "object", "properties": {}}}],
    ],
)  # fmt: skip
def test_what_is_no_call_is_left_out(other: Any) -> None:
    """A list of what a model may call is not a list of what it called."""
    assert tool_calls_of(other) == ()


def test_a_flood_of_calls_is_cut() -> None:
    """So many of them, so long each, and so much together."""
    long = tool_calls_of([{"name": "a", "arguments": "x" * 10_000, "result": "y" * 10_000}])
    assert len(long[0].arguments) == len(long[0].result or "") == LONGEST_TEXT + len(" […]")
    many = tool_calls_of([{"name": "a", "arguments": "x" * 10_000}] * (MOST_CALLS + 5))
    assert len(many) == MOST_CALLS
    assert sum(len(call.arguments) for call in many) < MOST_TEXT + MOST_CALLS * 10


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "type", "role", "content", "tool_calls", "function", "arguments", "id", "parts"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_value_is_too_strange(value: Any) -> None:
    """Whatever a bot sends, the outcome is calls with names."""
    for calls in (tool_calls_of(value), tool_calls_in(value) or (), tool_calls_in([value]) or ()):
        assert all(call.name.strip() for call in calls)
