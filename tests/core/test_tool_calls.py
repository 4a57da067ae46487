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
        {"type": "tool-refund", "toolCallId": "c1", "state": "input-available", "input": ORDER},
        {"type": "custom", "id": "c1", "custom": {"name": "refund", "input": ORDER}},
        {"tool_call_id": "c1", "tool_name": "refund", "tool_args": ORDER},
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
    "steps",
    [
        [
            {"type": "function_call", "call_id": "c1", "name": "refund", "arguments": ORDER},
            {"type": "function_call_output", "call_id": "c1", "output": "done"},
        ],
        [
            {"toolUse": {"toolUseId": "c1", "name": "refund", "input": ORDER}},
            {"toolResult": {"toolUseId": "c1", "content": [{"text": "done"}]}},
        ],
    ],
)
def test_a_result_after_the_call(steps: Any) -> None:
    """In the same list: of OpenAI's Responses, of Bedrock; and in the customer's name in a dialogue."""
    said = [USER, {"role": "assistant", "content": steps[:1]}, {"role": "user", "content": steps[1:]}]

    assert tool_calls_of(steps) == (DONE,)
    assert tool_calls_in(said) == (DONE,)


@pytest.mark.parametrize(
    "messages",
    [
        [
            USER,
            {"role": "assistant", "tool_calls": [{"id": "c1", "function": REFUND.model_dump()}]},
            {"id": "m2", "role": "tool", "tool_call_id": "c1", "content": "done"},
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
        [
            USER,
            {"role": "assistant", "tool_calls": [REFUND]},
            {"role": "tool", "content": [{"type": "text", "text": "do"}, "ne"]},
        ],
        [
            {"role": "user", "parts": [{"text": "返金して"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "refund", "args": ORDER}}, {"text": ""}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "refund", "response": "done"}}]},
        ],
        [
            SimpleNamespace(type="human", content="返金して"),
            SimpleNamespace(
                type="ai", content="", additional_kwargs={"tool_calls": [REFUND.model_dump() | {"id": "c1"}]}
            ),
            SimpleNamespace(type="tool", content="done", tool_call_id="c1"),
        ],
    ],
)
def test_the_result_stands_in_a_message_of_its_own(messages: list[Any]) -> None:
    """It names its call by id, or by the name of the function; one that names none is the open call's."""
    assert tool_calls_in(messages) == (DONE,)


def test_results_go_to_the_calls_that_they_name() -> None:
    """Two calls at once, answered the other way round."""
    calls = [{"id": id_, "function": {"name": "price", "arguments": id_}} for id_ in ("b", "a")]
    back = [{"role": "tool", "tool_call_id": id_, "content": f"of {id_}"} for id_ in ("a", "b")]
    found = tool_calls_in([USER, {"role": "assistant", "tool_calls": calls}, *back])
    assert [(call.arguments, call.result) for call in found or ()] == [("b", "of b"), ("a", "of a")]


def test_a_result_that_names_another_call_is_not_put_to_one_by_chance() -> None:
    """An unknown id leaves all calls open; with a name it is a call of which no more is known."""
    asked = [USER, {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "price"}}]}]
    lost, named = (
        {"role": "tool", "tool_call_id": "z", "content": "x"} | more for more in ({}, {"name": "fee"})
    )

    both = [{"functionCall": {"name": name}} for name in ("fee", "price")]
    parts = [{"functionResponse": {"name": name, "response": name}} for name in ("price", "fee")]
    assert [call.result for call in tool_calls_in([{"parts": both}, {"parts": parts}]) or ()] == [
        "fee",
        "price",
    ]
    assert tool_calls_in([*asked, lost]) == (ToolCall(name="price"),)
    assert tool_calls_in([*asked, named]) == (ToolCall(name="price"), ToolCall(name="fee", result="x"))


def test_a_call_that_comes_again_goes_on() -> None:
    """Streams send it once more with its arguments or its result; what it had stays."""
    begun, ended = {"id": "c1", "name": "refund"}, {"id": "c1", "name": "refund", "result": "done"}

    assert tool_calls_of([begun, begun | {"args": ORDER}, ended, begun]) == (DONE,)
    assert tool_calls_of(["refund", ("refund", {"状態": "済"}), {"name": "refund", "args": {(1,): 2}}]) == (
        ToolCall(name="refund"), ToolCall(name="refund", result='{"状態": "済"}'),
        ToolCall(name="refund", arguments="{(1,): 2}"),
    )  # fmt: skip


def test_only_calls_of_this_turn_count() -> None:
    """Of a dialogue that knows tools, a turn without a call has none; of any other nobody knows."""
    before = [USER, {"role": "assistant", "content": "", "tool_calls": [REFUND.model_dump()]}]
    assert tool_calls_in([*before, USER, {"role": "assistant", "content": "はい"}]) == ()
    assert tool_calls_in([USER, {"role": "assistant", "content": "はい", "tool_calls": []}]) is None
    assert tool_calls_in([*before, USER], all_turns=True) == (REFUND,)


@pytest.mark.parametrize(
    "other",
    [
        None, 5, "", "  ", {}, [[]], [[REFUND, "a", "b"]], [{"name": ""}], [{"answer": "x"}],
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
    many = tool_calls_of([{"name": "a" * 201, "arguments": "x" * 10_000, "result": "y" * 10_000}] * 1005)
    assert len(many) == MOST_CALLS == 1000
    cut = [text.count("x") + text.count("y") for call in many for text in (call.arguments, call.result or "")]
    assert cut[:26] == [LONGEST_TEXT] * 24 + [MOST_TEXT - 24 * (LONGEST_TEXT + len(" […]")), 0]
    assert (MOST_TEXT, sum(cut[26:])) == (100_000, 0)
    assert {call.name for call in many} == {"a" * 200 + " […]"}
    assert tool_calls_of([{"name": "a" * 200, "arguments": "x" * 4000}])[0].arguments == "x" * 4000


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
