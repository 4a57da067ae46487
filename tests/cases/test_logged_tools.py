"""The calls of tools that logs hold: as recorded answers have them."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator import ToolCall
from simulator.cases.cases import read_cases

ORDER = '{"order": "A-1"}'
CALLED = (ToolCall(name="refund", arguments=ORDER, result="done"),)


def asked(text: str) -> dict[str, str]:
    """A line of the customer."""
    return {"role": "user", "content": text}


def said(text: str, **more: Any) -> dict[str, Any]:
    """A line of the bot."""
    return {"role": "assistant", "content": text, **more}


CALL = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": ORDER}}
DONE = {"role": "tool", "tool_call_id": "c1", "content": "done"}
TALK = [
    asked("返金して"), said("", tool_calls=[CALL]), DONE, said("返金しました。"),
    asked("メールもして"), said("送りました。"),
]  # fmt: skip
LANGCHAIN = [
    {"type": "human", "data": {"content": "返金して"}},
    {
        "type": "ai",
        "data": {"content": "", "tool_calls": [{"name": "refund", "args": {"order": "A-1"}, "id": "c1"}]},
    },
    {"type": "tool", "data": {"content": "done", "tool_call_id": "c1", "name": "refund"}},
    {"type": "ai", "data": {"content": "返金しました。"}},
    {"type": "human", "data": {"content": "メールもして"}},
    {"type": "ai", "data": {"content": "送りました。"}},
]
LOGS: dict[str, list[Any]] = {
    "messages": [{"id": "a", "messages": TALK}],
    "langchain": [{"id": "a", "messages": LANGCHAIN}],
    "langfuse": [
        {
            "id": "t-1", "sessionId": "a", "timestamp": "2026-01-05T09:00:00Z", "input": "返金して",
            "output": "返金しました。", "scores": [],
            "observations": [
                {"id": "o", "type": "TOOL", "name": "refund", "input": {"order": "A-1"}, "output": "done"}
            ],
        },
        {
            "id": "t-2", "sessionId": "a", "timestamp": "2026-01-05T09:01:00Z", "input": "メールもして",
            "output": "送りました。", "scores": [], "observations": [],
        },
    ],
}  # fmt: skip


def cases_of(records: list[Any], path: Path) -> Any:
    """The cases in a file of these records."""
    path.write_text("\n".join(json.dumps(each, ensure_ascii=False) for each in records), encoding="utf-8")
    return read_cases(path)


@pytest.mark.parametrize("kind", LOGS)
def test_the_tools_of_a_log_stand_with_its_answers(kind: str, tmp_path: Path) -> None:
    """A turn of the same conversation without a call has none."""
    check_calls(LOGS[kind], tmp_path / "log.jsonl")


def check_calls(records: list[Any], path: Path) -> None:
    """The first turn of a log called a tool, the second none."""
    [case] = cases_of(records, path)

    assert [(answer.text, answer.tools) for answer in case.recorded] == [
        ("返金しました。", CALLED),
        ("送りました。", ()),
    ]


def test_a_log_without_tools_says_nothing_of_them(tmp_path: Path) -> None:
    """Unless its model was offered some."""
    talk = [asked("返金して"), said("返金しました。")]
    plain, offered = cases_of(
        [{"id": "a", "messages": talk}, {"id": "b", "messages": talk, "tools": [CALL]}],
        tmp_path / "log.jsonl",
    )

    assert (plain.recorded[0].tools, offered.recorded[0].tools) == (None, ())
