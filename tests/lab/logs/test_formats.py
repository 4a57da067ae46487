"""Conversations in the files of chat platforms, helpdesks and tracing tools, read as they are."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.cases.cases import read_cases
from simulator.cases.logs import format_of, formats, rows_of_file
from simulator.runner.labelled_answers import read_labels
from tests.cases.test_log_tables import read, written
from tests.cases.test_log_tables import said as heard
from tests.cases.test_logged_tools import ORDER, check_calls
from tests.cases.test_logs import (
    ANSWERS,
    FIRST,
    LOGS,
    SECOND,
    WRAPPED,
    check_case,
    check_joined,
    check_reader,
    check_wrapped,
    records,
    said,
    said_in,
)
from tests.cases.test_logs import BESIDES as OF_CORE

# What a file has besides: tags, ids of passages by turn, history, how many further conversations.
BESIDES: dict[str, dict[str, Any]] = {
    "phoenix.json": {"passages": [["plans#1"], []]},
    "otlp.json": {"tags": ["relevance=good"]},
    "langsmith.jsonl": {"tags": ["user_score=1.0"], "passages": [["plans#1"], []]},
    "zendesk.ndjson": {"tags": ["satisfaction_rating=good", "handed-over"]},
    "intercom.json": {"tags": ["conversation_rating=4", "handed-over"]},
    "salesforce.csv": {"tags": ["handed-over"]},
    "dify.json": {
        "tags": ["feedback=like"], "passages": [["plans#1"], []], "third": ("工事費は？", "provider timeout"),
    },
    "line.jsonl": {"answers": []},
    "thread.json": {},
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDES)
def test_a_log_is_read_as_it_is(name: str) -> None:
    """Two turns in time order with answers; what was rated, found and said before; no system, no notes."""
    check_case(name, BESIDES[name])


@pytest.mark.parametrize("kind", WRAPPED)
@pytest.mark.parametrize("name", [name for name in BESIDES if name != "thread.json"])
def test_a_log_is_read_in_whatever_it_is_wrapped(kind: str, name: str, tmp_path: Path) -> None:
    """Pages, lines of a logger, UTF-16 and gzip say the same as the file as it was exported."""
    check_wrapped(kind, name, tmp_path)


# By format the texts of a conversation, and what was thought of it, in a file of its own.
COMPANIONS: dict[str, tuple[str, str, str]] = {
    "phoenix": (
        "phoenix.json", '{"annotator_kind":"HUMAN","name":"liked","span_id":"b1","result":{"label":"yes"}}',
        "liked=yes",
    ),
    "langsmith": ("langsmith.jsonl", '{"run_id":"r1","key":"liked","score":null,"value":"yes"}', "liked=yes"),
    "dify": ("dify.json", '{"message_id":"2","conversation_id":"s-1","rating":"bad"}', "feedback=bad"),
    "zendesk": (
        "zendesk.ndjson", '{"satisfaction_ratings":[{"ticket_id":"s-1","score":"bad"}]}',
        "satisfaction_rating=bad",
    ),
    "otlp": (
        "otlp.json",
        '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"bb","spanId":"03","eventName":'
        '"gen_ai.evaluation.result","attributes":[{"key":"gen_ai.evaluation.name","value":{"stringValue":'
        '"tone"}},{"key":"gen_ai.evaluation.score.value","value":{"doubleValue":4}}]}]}]}]}',
        "tone=4",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPANIONS)
def test_files_that_belong_together_are_joined(name: str, tmp_path: Path) -> None:
    """Ratings in a file of their own join by id, in a folder or named with a comma; alone, one line."""
    check_joined(COMPANIONS[name], tmp_path)


def test_a_case_of_salesforce_and_its_comments_are_one_conversation(tmp_path: Path) -> None:
    """Two exports, joined by the case, in order of time; what is not published is left out and counted."""
    (tmp_path / "Case.csv").write_text(
        "Id,CaseNumber,Description,CreatedById,CreatedDate\n500A,17,光回線の料金は？,c,2026-11-20T06:00:00Z\n",
        encoding="utf-8",
    )
    (tmp_path / "CaseComment.csv").write_text(
        "ParentId,CommentBody,CreatedById,CreatedDate,IsPublished\n500A,戸建ては？,c,2026-11-20T08:00:00Z,true\n"
        '500A,"月額5,280円です。",d,2026-11-20T09:00:00Z,true\n500A,確認中,d,2026-11-20T06:30:00Z,false\n'
        '500A,"月額4,180円です。",d,2026-11-20T07:00:00Z,true\n',
        encoding="utf-8",
    )

    assert said_in(tmp_path) == [[FIRST, SECOND, *ANSWERS]]
    assert read_cases(tmp_path)[0].id == "17"


def test_every_format_has_a_sample() -> None:
    """A new format comes with a file that is read by it."""
    names = (*OF_CORE, *BESIDES)

    assert {format_of(record) for name in names for record in records(LOGS / name)[:1]} == {*formats()}


SAMPLES = [records(LOGS / name) for name in BESIDES]


@given(st.data())
def test_no_value_breaks_a_reader(data: st.DataObject) -> None:
    """Whatever stands in the place of a value, conversations come out, or nothing does."""
    check_reader(data, SAMPLES)


def test_a_log_without_a_rating_has_no_labels() -> None:
    """It is refused in one line."""
    assert "no answer in it was rated" in said(LOGS / "thread.json", read_labels)


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("report", ("Case Number", "Comment Body", "Created Date", "Published", "Created By")),
        ("Japanese report", ("ケース番号", "コメント本文", "作成日", "公開", "作成者")),
        ("case comments", ("Case Number", "Case Comments", "Case Comment Created Date", "Public Case Comment",
                           "Case Comment Created By")),
        ("api", ("ParentId", "CommentBody", "CreatedDate", "IsPublished", "CreatedBy.Name")),
        ("data loader", ("PARENTID", "COMMENTBODY", "CREATEDDATE", "ISPUBLISHED", "CREATEDBYID")),
    ],
)  # fmt: skip
def test_case_comments_of_salesforce_are_read_by_any_names(
    kind: str, columns: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a report, an interface or a loader; that the first author is taken for the customer is said."""
    rows = [
        ("500A", "How much is it?", "2026-11-20T06:00:00Z", "true", "Jane"),
        ("500A", "It is 5 yen.", "2026-11-20T06:20:00Z", "true", "Desk"),
        ("500A", "Ask billing.", "2026-11-20T06:10:00Z", "false", "Desk"),
    ]
    name = written(f"{kind}.csv", **{column: [row[at] for row in rows] for at, column in enumerate(columns)})

    assert heard(read(name)) == [("500A", ["How much is it?"], ["It is 5 yen."])]
    told = capsys.readouterr().err
    assert "internal notes: 1" in told
    assert "the author of the first comment is taken for the customer: 1" in told


@pytest.mark.parametrize(
    ("column", "words"),
    [("CreatedBy", ("Agent", "Customer")), ("Role", ("担当者", "お客様"))],
)  # fmt: skip
def test_a_case_comment_says_who_wrote_it(column: str, words: tuple[str, str]) -> None:
    """By a word for the author: a desk that writes first is no customer."""
    name = written(
        "c.csv", CaseNumber=["1"] * 3, CommentBody=["We called.", "How much is it?", "It is 5 yen."],
        CreatedDate=[f"2026-11-20T06:0{n}:00Z" for n in range(3)], **{column: [words[0], words[1], words[0]]},
    )  # fmt: skip

    assert heard(read(name)) == [("1", ["How much is it?"], ["It is 5 yen."])]


SPAN = {"trace_id": "t", "name": "s", "start_time": "2026-01-05T09:00:00Z"}
TRACES: dict[str, list[Any]] = {
    "langsmith": [
        {
            "id": "r1", "trace_id": "r1", "run_type": "chain", "start_time": "2026-01-05T09:00:00Z",
            "inputs": {"input": "返金して"}, "outputs": {"output": "返金しました。"},
            "extra": {"metadata": {"session_id": "a"}},
        },
        {
            "id": "r2", "trace_id": "r1", "parent_run_id": "r1", "run_type": "tool", "name": "refund",
            "start_time": "2026-01-05T09:00:01Z", "inputs": {"order": "A-1"}, "outputs": "done",
        },
        {
            "id": "r3", "trace_id": "r3", "run_type": "chain", "start_time": "2026-01-05T09:01:00Z",
            "inputs": {"input": "メールもして"}, "outputs": {"output": "送りました。"},
            "extra": {"metadata": {"session_id": "a"}},
        },
    ],
    "phoenix": [
        {
            **SPAN, "span_id": "1", "context": {"trace_id": "t", "span_id": "1"}, "span_kind": "CHAIN",
            "attributes": {"session.id": "a", "input.value": "返金して", "output.value": "返金しました。"},
        },
        {
            **SPAN, "span_id": "2", "parent_id": "1", "context": {"trace_id": "t", "span_id": "2"},
            "span_kind": "TOOL", "attributes": {
                "tool.name": "refund", "input.value": ORDER, "output.value": "done",
            },
        },
        {
            "name": "s", "start_time": "2026-01-05T09:01:00Z", "span_kind": "CHAIN",
            "context": {"trace_id": "u", "span_id": "3"},
            "attributes": {"session.id": "a", "input.value": "メールもして", "output.value": "送りました。"},
        },
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", TRACES)
def test_the_tools_of_a_log_stand_with_its_answers(kind: str, tmp_path: Path) -> None:
    """A turn of the same conversation without a call has none."""
    check_calls(TRACES[kind], tmp_path / "log.jsonl")


def test_a_response_of_openai_with_its_call(tmp_path: Path) -> None:
    """The call stands beside the message in the output."""
    output = [
        {"type": "function_call", "call_id": "c1", "name": "refund", "arguments": ORDER},
        {"type": "message", "content": [{"type": "output_text", "text": "返金しました。"}]},
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"id": "r", "object": "response", "input": "返金して", "output": output}))
    [row] = list(rows_of_file(path) or [])

    answers: Any = row.values["recorded"]
    assert answers[0]["tools"] == [{"name": "refund", "arguments": ORDER, "result": None}]
