"""`--to otlp`: what a receiver of traces gets of a run, from the command line."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.commands import Command, held_once
from tests.servers.loopback import on_thread
from tests.servers.otlp import OTLPServer

HELD = ("--offline", "--persona", "calm", "--cases", "cases.csv", "--adapter", "bot.py:answer",
        "--turns", "2", "--language", "en")  # fmt: skip
RUN = (*HELD, "--to", "otlp")
AGAIN = ("report", "latest", "--to", "otlp")
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
BOT = '''
from simulator import Answer
from simulator.core.types import Passage, ToolCall, Usage


def answer(question):
    """What a bot with a search and a tool says."""
    return Answer(
        text="It is 550 yen, write to ann.smith@example.com.",
        passages=(Passage(id="fees.md", text="Shipping is 550 yen.", score=0.75),),
        tools=(ToolCall(name="order_status", arguments='{"order": 7}', result="sent"),),
        usage=Usage(model="gpt-x", tokens_in=90, tokens_out=9, tokens_cached=60),
        first_token_seconds=0.25,
    )
'''


class Received(NamedTuple):
    """A span as the receiver decodes it, with the spans below it."""

    name: str
    attributes: dict[str, Any]
    events: list[dict[str, Any]]
    ids: tuple[bytes, bytes, bytes]


def values(attributes: Any) -> dict[str, Any]:
    """Attributes as a mapping."""
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in attributes}


def spans(server: OTLPServer) -> list[Received]:
    """All spans that the receiver has, in the order in which they came."""
    return [
        Received(
            span.name,
            values(span.attributes),
            [values(event.attributes) for event in span.events if event.name == "gen_ai.evaluation.result"],
            (span.trace_id, span.parent_span_id, span.span_id),
        )
        for request in server.received
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


CASES = """id,question,reference
fees,What is shipping to bob@example.org?,It is 550 yen.
hours,When are you open?,From nine to six.
"""


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with its questions and its bot, and an address in one of the questions."""
    return held_once(tmp_path_factory, HELD, files={"bot.py": BOT, "cases.csv": CASES})


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> None:
    """These questions, and a bot that shows all there is to show."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    Path("cases.csv").write_text(CASES, encoding="utf-8")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")


@pytest.fixture
def run(world: None, held: Path) -> None:
    """The finished run, where the test stands."""
    shutil.copytree(held, Path(), dirs_exist_ok=True)


@pytest.fixture
def receiver(world: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[OTLPServer]:
    """A receiver that OpenTelemetry's variables name."""
    with on_thread(OTLPServer()) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
        yield server


def test_each_conversation_is_a_trace_with_its_grades(command: Command, receiver: OTLPServer) -> None:
    """Conversation, turn, customer, answer, documents, tools and judges, by the conventions' names."""
    done = command(*RUN)
    received = spans(receiver)

    assert "otlp: 2 conversations sent to " in done.err
    roots = [span for span in received if not span.ids[1]]
    assert [span.name for span in roots] == ["conversation calm/fees#1", "conversation calm/hours#1"]
    assert len({span.ids[0] for span in received}) == 2
    names = {span.ids[2]: span.name for span in received}
    below = {(names[span.ids[1]], span.name) for span in received if span.ids[1]}
    assert below >= {
        ("conversation calm/fees#1", "turn 1"),
        ("turn 1", "customer calm"),
        ("turn 1", "invoke_agent bot.py:answer"),
        ("invoke_agent bot.py:answer", "retrieval"),
        ("invoke_agent bot.py:answer", "execute_tool order_status"),
        ("turn 1", "judge turn"),
        ("turn 1", "judge similarity"),
    }
    answer = next(span for span in received if span.name.startswith("invoke_agent"))
    assert answer.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert answer.attributes["gen_ai.response.time_to_first_chunk"] == 0.25
    assert answer.attributes["gen_ai.usage.cache_read.input_tokens"] == 60
    grades = {event["gen_ai.evaluation.name"]: event for event in answer.events}
    assert 0.2 <= grades["turn"]["gen_ai.evaluation.score.value"] <= 1
    judge = next(span for span in received if span.name == "judge turn")
    assert (
        judge.attributes["gen_ai.evaluation.score.value"] == grades["turn"]["gen_ai.evaluation.score.value"]
    )


def test_what_was_said_stays_here_unless_asked_for(
    command: Command, run: None, receiver: OTLPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No question, answer, document, reason or argument leaves; with the conventions' variable all do."""
    done = command(*AGAIN)
    sent = b"".join(request.body for request in receiver.requests)
    assert f"without what was said: {CONTENT}=true" in done.err
    for text in (b"550 yen", b"fees.md", b"bob@example.org", b'"order"', b"explanation"):
        assert text not in sent

    receiver.received.clear()
    monkeypatch.setenv(CONTENT, "true")
    command("report", "--to", "otlp")
    received = spans(receiver)
    answer = next(span for span in received if span.name.startswith("invoke_agent"))
    (asked,) = json.loads(answer.attributes["gen_ai.input.messages"])
    assert asked == {
        "role": "user",
        "parts": [{"type": "text", "content": "What is shipping to bob@example.org?"}],
    }
    retrieval = next(span for span in received if span.name == "retrieval")
    documents = json.loads(retrieval.attributes["gen_ai.retrieval.documents"])
    assert documents == [{"id": "fees.md", "score": 0.75, "content": "Shipping is 550 yen."}]
    assert any("gen_ai.evaluation.explanation" in event for event in answer.events)


def test_what_is_masked_in_the_run_is_masked_in_its_traces(
    command: Command, receiver: OTLPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Addresses of a run with --redact are nowhere in what is sent."""
    monkeypatch.setenv(CONTENT, "true")
    command(*RUN, "--redact", "on")
    sent = b"".join(request.body for request in receiver.requests)

    assert b"What is shipping to" in sent
    assert b"bob@example.org" not in sent
    assert b"ann.smith@example.com" not in sent


def test_a_run_that_is_sent_again_has_the_same_ids(command: Command, run: None, receiver: OTLPServer) -> None:
    """So whatever tells spans by their ids has them once; another run has others."""
    command(*AGAIN)
    first = [span.ids for span in spans(receiver)]
    receiver.received.clear()
    command("report", "--to", "otlp")
    assert [span.ids for span in spans(receiver)] == first
    assert len(set(first)) == len(first)
    receiver.received.clear()
    command(*RUN)
    assert not {span.ids[2] for span in spans(receiver)} & {ids[2] for ids in first}


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (401, 2, "refused the key (401). Look at OTEL_EXPORTER_OTLP_HEADERS."),
        (404, 2, "takes no traces (404). Look at OTEL_EXPORTER_OTLP_ENDPOINT."),
        (200, 2, "takes no traces (200). Look at OTEL_EXPORTER_OTLP_ENDPOINT."),
        (403, 2, "refused the key (403)."),
        (405, 2, "takes no traces (405)."),
        (400, 2, "answered with 400. the key *** is unknown"),
        (429, 3, "answered with 429."),
        (500, 3, "answered with 500."),
    ],
)
def test_a_receiver_that_refuses_is_one_line(
    command: Command,
    run: None,
    receiver: OTLPServer,
    *,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    code: int,
    said: str,
) -> None:
    """The headers arrived, no key is shown, and the code is for CI."""
    receiver.status, receiver.page = status, status == 200
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x,api_key=sk-otlp-4711-secret")
    done = command(*AGAIN)

    assert done.code == code
    (line,) = [line for line in done.err.splitlines() if "--to otlp" in line]
    assert said in line
    assert "send it again with `report`" in line
    assert "sk-otlp" not in done.err + done.out
    assert receiver.requests[0].headers["api_key"] == "sk-otlp-4711-secret"


def test_a_receiver_that_is_away_is_one_line(
    command: Command, world: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the run is lost, and it may be sent later."""
    with on_thread(OTLPServer()) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
    done = command(*RUN)

    assert done.code == 3
    (line,) = [line for line in done.err.splitlines() if "--to otlp" in line]
    assert f"{server.url}/v1/traces: no answer (Connection refused). The run is safe" in line
    assert len(list(Path("runs").glob("*/report.html"))) == 1
    assert command("report", "--json").code == 0


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318", "localhost:4318/v1/traces is not an address"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1", "http://[::1/v1/traces is not an address"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:port", "http://a:port/v1/traces is not an address"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "speaks http/protobuf alone"),
    ],
)
def test_what_cannot_work_is_said_before_the_run(
    command: Command, world: None, *, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    """One line, exit code 2, nothing asked and nothing written."""
    monkeypatch.setenv(name, value)
    done = command(*RUN)

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err
    assert not Path("runs").exists()


@pytest.mark.parametrize("missing", ["", ".sdk", ".exporter.otlp.proto.http"])
def test_without_the_extra_it_says_what_to_install(
    command: Command, world: None, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """Before the run, as anything else that is missing; also where another package brings a part of it."""
    package = f"opentelemetry{missing}"
    for module in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    done = command(*RUN)

    assert done.code == 2
    assert not Path("runs").exists()
    assert "needs the extra 'otlp': pip install opentelemetry-sdk" in done.err
