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


def at(minute: int) -> str:
    return f"2026-11-20T06:0{minute}:00Z"


def pairs(**values: Any) -> list[Any]:
    return [
        {"key": key.replace("__", "."), "value": {"stringValue": value} if isinstance(value, str) else value}
        for key, value in values.items()
    ]


def comments(**more: Any) -> list[Any]:
    said = zip((1, 2, 1, 2), (FIRST, ANSWERS[0], SECOND, ANSWERS[1]), strict=True)
    return [
        {"author_id": who, "created_at": at(n), "ticket_id": "c", "body": text, "public": True, **more}
        for n, (who, text) in enumerate(said)
    ]


def run(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"r{number}", "trace_id": f"r{number}", "run_type": "chain", "start_time": at(number),
        "inputs": {"input": (FIRST, SECOND)[number]}, "outputs": {"output": ANSWERS[number]},
        "extra": {"metadata": {"thread_id": "c"}}, **more,
    }  # fmt: skip


def events(number: int, attributes: Any = lambda **values: values) -> list[Any]:
    asked = {"name": "gen_ai.user.message", "attributes": attributes(content=(FIRST, SECOND)[number])}
    return [asked, {"name": "gen_ai.choice", "attributes": attributes(content=ANSWERS[number])}]


def response(number: int, given: Any, *before: Any, **more: Any) -> dict[str, Any]:
    message = {"type": "message", "content": [{"type": "output_text", "text": ANSWERS[number]}]}
    return {"id": f"a{number}", "created_at": number, "input": given, "output": [*before, message], **more}


def log(number: int, name: str, content: Any) -> dict[str, Any]:
    body = {"kvlistValue": {"values": pairs(**content)}}
    return {
        # In base64, as protobuf writes bytes: its hexadecimal is the conversation's id.
        "traceId": "W47/95gDgQPSabYzgT/GDA==", "spanId": f"0{number}", "timeUnixNano": str(10**18 + number),
        "attributes": pairs(event__name=name), "body": body,
    }  # fmt: skip


TALK = [("c", [FIRST, SECOND], ANSWERS)]
# What exports of the same programs hold besides: records, and the conversations in them.
KINDS: dict[str, tuple[list[Any], list[Any]]] = {
    "dify: a message without a question": (
        [{"id": "1", "query": " ", "answer": "x", "conversation_id": "c"},
         {"id": "2", "query": FIRST, "answer": ANSWERS[0], "conversation_id": "c"}],
        [("c", [FIRST], ANSWERS[:1])],
    ),
    "line: somebody who joins": (
        [{"events": [
            {"type": "follow", "source": {"userId": "c"}, "webhookEventId": "1"},
            {"type": "message", "message": {"type": "text", "text": FIRST}, "source": {"userId": "c"},
             "timestamp": 1763600400000, "webhookEventId": "2"},
        ]}],
        [("c", [FIRST], [])],
    ),
    "zendesk: a chat": (
        [{"id": "c", "visitor": {"name": "Ann"}, "history": [
            {"type": "chat.memberjoin", "msg": "joined"},
            {"type": "chat.msg", "nick": "visitor:1", "msg": FIRST},
            {"type": "chat.msg", "nick": "bot:2", "msg": ANSWERS[0]},
            {"type": "chat.msg", "name": "Ann", "msg": SECOND},
            {"type": "chat.msg", "nick": "agent:3", "msg": ANSWERS[1]},
        ]}],
        TALK,
    ),
    "zendesk: a chat that nobody took": (
        [{"id": "c", "visitor": {"name": "Ann"}, "message": FIRST}], [("c", [FIRST], [])],
    ),
    "zendesk: a ticket alone": (
        [{"ticket": {"id": "c", "requester_id": 1, "description": FIRST}}], [("c", [FIRST], [])],
    ),
    "zendesk: audits": (
        [{"ticket": {"id": "c", "requester_id": 1, "description": FIRST},
          "audits": [
              text | {"events": [{"type": "Change"}, text | {"type": "Comment"}]} for text in comments()
          ]}],
        TALK,
    ),
    "zendesk: comments alone": (comments(), TALK),
    "zendesk: a chat in a comment": (
        [comments(public=False, via={"channel": "chat_transcript"})[0] | {"body": "\n".join((
            f"(10:00:01) Visitor 1: {FIRST}", f"(10:00:05) Desk: {ANSWERS[0]}",
            f"(10:01:00) Visitor 1: {SECOND}", f"(10:01:05) Desk: {ANSWERS[1]}",
        ))}],
        TALK,
    ),
    "langsmith: a batch": ([{"post": [run(0)], "patch": [run(1)]}], TALK),
    "langsmith: runs within a run": (
        [run(0, outputs=None, child_runs=[{"id": "r2", "run_type": "llm", "inputs": {"input": FIRST},
                                           "outputs": {"output": ANSWERS[0]}}]), run(1)],
        TALK,
    ),
    "langsmith: examples": (
        [{"id": "c", "inputs": {"question": FIRST}, "outputs": {"answer": ANSWERS[0]}},
         {"id": "d", "inputs": {"n": 1}, "outputs": {}}],
        [("c", [FIRST], [])],
    ),
    "phoenix: events": (
        [{"context": {"trace_id": f"t{n}", "span_id": f"s{n}"}, "name": "x", "start_time": at(n),
          "attributes": {"session.id": "c"}, "span_events": events(n)} for n in (0, 1)],
        TALK,
    ),
    "otlp: events": (
        [{"resourceSpans": [{"scopeSpans": [{"spans": [
            {"traceId": f"a-trace-id-{n}", "spanId": f"s{n}", "startTimeUnixNano": str(10**18 + n),
             "attributes": pairs(gen_ai__conversation__id="c"), "events": events(n, pairs)} for n in (0, 1)
        ]}]}]}],
        TALK,
    ),
    "otlp: the AI SDK": (
        [{"resourceSpans": [{"scopeSpans": [{"spans": [
            {"traceId": f"a-trace-id-{n}", "spanId": f"s{n}", "startTimeUnixNano": str(10**18 + n),
             "attributes": pairs(
                 ai__telemetry__metadata__sessionId="c", ai__response__text=answer,
                 ai__prompt=json.dumps({"system": "Be kind.", "prompt": asked}),
             )} for n, (asked, answer) in enumerate(zip((FIRST, SECOND), ANSWERS, strict=True))
        ]}]}]}],
        TALK,
    ),
    "otlp: logs": (
        [{"resourceLogs": [{"scopeLogs": [{"logRecords": [
            log(1, "gen_ai.user.message", {"content": {"arrayValue": {"values": [
                {"kvlistValue": {"values": pairs(type="text", text=FIRST)}}]}}}),
            log(2, "gen_ai.choice", {"message": {"kvlistValue": {"values": pairs(content=ANSWERS[0])}}}),
        ]}]}]}],
        [("5b8efff798038103d269b633813fc60c", [FIRST], ANSWERS[:1])],
    ),
    "openai: a chain of responses": (
        [response(1, [{"role": "user", "content": FIRST}, {"role": "assistant", "content": ANSWERS[0]},
                      {"role": "user", "content": SECOND}],
                  {"type": "file_search_call", "results": [{"file_id": "f", "text": "5,280"}]},
                  previous_response_id="a0"),
         response(0, FIRST)],
        [("a0", [FIRST, SECOND], ANSWERS)],
    ),
    "openai: items of a conversation": (
        [{"type": "message", "role": "user", "conversation_id": "c", "content": [{"text": FIRST}]},
         {"type": "message", "role": "system", "conversation_id": "c", "content": [{"text": "Be kind."}]},
         {"type": "message", "role": "assistant", "conversation_id": "c", "content": [{"text": ANSWERS[0]}]}],
        [("c", [FIRST], ANSWERS[:1])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_other_exports_hold_is_read_as_well(kind: str) -> None:
    """Chats within tickets, batches, examples, events and logs of spans, chains of responses."""
    records_of_kind, talks = KINDS[kind]
    Path("log.jsonl").write_text("\n".join(map(json.dumps, records_of_kind)), encoding="utf-8")

    assert heard(read("log.jsonl")) == talks


def test_an_ai_agent_in_the_name_of_an_admin_is_no_hand_over() -> None:
    """Intercom marks its words; those of an admin without the mark are a person's."""
    agent = {"type": "admin", "from_ai_agent": True}
    parts = [{"part_type": "comment", "body": ANSWERS[0], "created_at": 2, "author": agent}]
    talk = {"type": "conversation", "id": "c", "created_at": 1, "conversation_parts": parts}
    talk |= {"source": {"body": FIRST, "author": {"type": "user"}}}
    Path("log.jsonl").write_text(json.dumps(talk), encoding="utf-8")
    [case] = read_cases("log.jsonl")
    assert case.tags == ()

    del agent["from_ai_agent"]
    Path("log.jsonl").write_text(json.dumps(talk), encoding="utf-8")
    [case] = read_cases("log.jsonl")
    assert case.tags == ("handed-over",)
