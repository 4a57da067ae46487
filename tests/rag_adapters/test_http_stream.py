"""The adapter of JSON endpoints that answer in pieces."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from simulator.shelves.rag_adapters.http import connect

from simulator import Passage
from tests.asking import answered, failure
from tests.servers.streaming import StreamServer, event

DONE = event("[DONE]")


@pytest.fixture
async def server() -> AsyncIterator[StreamServer]:
    """A bot that says what a test tells it."""
    async with StreamServer() as running:
        yield running


async def asked(server: StreamServer, *chunks: bytes | float | None, **settings: Any) -> Any:
    """One question to a bot that answers with these chunks."""
    server.chunks = chunks
    return await answered(connect(**{"url": server.url, "answer": "text", "stream": "sse", **settings}))


async def failed(server: StreamServer, *chunks: bytes | float | None, **settings: Any) -> tuple[str, str]:
    """The failure that it meets."""
    server.chunks = chunks
    return await failure(connect(**{"url": server.url, "answer": "text", "stream": "sse", **settings}))


def pieces(*texts: str) -> bytes:
    """Events with a text each."""
    return b"".join(event({"text": text}) for text in texts)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_chunks_may_end_anywhere(server: StreamServer, size: int) -> None:
    """Within a character, within a line break, within an event."""
    stream = b"\xef\xbb\xbf: hello\r\n" + pieces("月額", "990円").replace(b"\n", b"\r\n") + b"data:[DONE]\r\r"
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]

    assert (await asked(server, *chunks)).text == "月額990円"


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (event("Hello") + event(" world") + event("3") + DONE, "Hello world3"),
        (event('"Hel"') + event('"lo \\""') + event('"3"'), 'Hello "3'),
        (event('"') + event("yes") + event('"'), '"yes"'),
        (event("two\nlines"), "two\nlines"),
        (b"data: no\ndata\nid: 7\nretry: 3\n\ndata: blank line at the end", "no\nblank line at the end"),
    ],
)
async def test_events_may_be_mere_text(server: StreamServer, stream: bytes, said: str) -> None:
    """With answer=$ the data of the events is the answer; JSON texts are unquoted."""
    assert (await asked(server, stream, answer="$")).text == said


async def test_lines_of_json_are_a_stream_too(server: StreamServer) -> None:
    """One JSON value per line, whatever it is called."""
    server.content_type = "application/json"
    lines = b'{"text": "a"}\n\n{"text": "b", "sources": ["s"]}\n{"done": true}\n{"text": "c"}'
    answer = await asked(server, lines, stream="lines", until="done", passages="sources")

    assert (answer.text, answer.passages) == ("ab", (Passage(id="1", text="s"),))
    assert server.requests[0].headers["accept"] == "application/x-ndjson, application/json"


async def test_lines_of_vercel(server: StreamServer) -> None:
    """The mark of a part names its field; whoever reads it as a text is told so, and errors are errors."""
    server.content_type = "text/plain"
    lines = 'f:{"messageId":"m"}\n0:"月額"\n9:{"toolName":"fees","args":{}}\n0:"990円"\nd:{}\n'.encode()
    answer = await asked(server, lines, stream="lines", tools="tool_call")

    assert (answer.text, [call.name for call in answer.tools]) == ("月額990円", ["fees"])
    told = ("malformed", "the reply is a stream: --set stream=lines reads it")
    assert await failed(server, lines, stream="", answer="$") == told
    assert await failed(server, b'3:"no model"\n', stream="lines") == (
        "error",
        "the bot sent an error: no model",
    )


@pytest.mark.parametrize(
    "kind", ["reasoning-delta", "response.function_call_arguments.delta", "THINKING_CONTENT"]
)
async def test_thoughts_and_calls_of_tools_are_no_answer(server: StreamServer, kind: str) -> None:
    """By the type of the event, under whichever field; nor is an event with something else there."""
    thought, other = event({"type": kind, "text": "5,000円?"}), event({"type": "start", "text": {"id": 1}})

    assert (await asked(server, other, thought, pieces("月額", "990円"))).text == "月額990円"


@pytest.mark.parametrize(
    ("charset", "codec"),
    [("Shift_JIS", "cp932"), ("windows-31j", "cp932"), ("EUC-JP", "euc_jp"), ("ISO-8859-1", "utf-8")],
)
async def test_a_stream_in_the_charset_that_it_names(server: StreamServer, charset: str, codec: str) -> None:
    """As older servers of Japan have it; what a server calls everything is UTF-8."""
    server.content_type = f"text/event-stream; charset={charset}"
    stream = 'data: {"text": "月額990円"}\n\n'.encode(codec)

    assert (await asked(server, stream)).text == "月額990円"


async def test_a_condition_ends_the_stream(server: StreamServer) -> None:
    """The connection is left, though the bot keeps it open."""
    ended = event({"text": "b", "event": "end"})
    answer = await asked(server, pieces("a"), ended, 3600.0, until="event=end|stop")
    async with asyncio.timeout(5):
        await server.left.wait()

    assert answer.text == "ab"


async def test_an_event_may_begin_anew(server: StreamServer) -> None:
    """A moderation replaces what was said; a bot that repeats all of it so far begins anew each time."""
    replaced = [event({"text": "no", "event": "m"}), event({"text": "sorry", "event": "replace"})]
    growing = [pieces("", "月", "月額", "月額990円", "")]

    assert (await asked(server, *replaced, restart="event=replace")).text == "sorry"
    assert (await asked(server, pieces("", "は", "はい"))).text == "ははい"
    for settings in ({"restart": "text"}, {}):
        assert (await asked(server, *growing, **settings)).text == "月額990円"


async def test_a_secret_is_masked_although_it_comes_in_pieces(
    server: StreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put together again, it would stand in the answer."""
    monkeypatch.setenv("BOT_TOKEN", "sk-very-secret")
    answer = await asked(
        server, pieces("it is sk-ve", "ry-secret"), headers="Authorization: Bearer ${BOT_TOKEN}"
    )

    assert answer.text == "it is ***"


@pytest.mark.parametrize(
    ("chunks", "settings", "kind", "said"),
    [
        ([], {}, "empty", "the stream had no event"),
        ([DONE], {}, "empty", "the stream had no event"),
        ([pieces("", "")], {}, "empty", "the bot's answer at text is empty"),
        ([event({"delta": "a"})], {}, "malformed", "no 'text' in the reply, which has the keys delta"),
        ([event("words")], {}, "malformed", "no 'text' in the reply, which is a text"),
        ([event({"text": {"a": 1}})], {}, "malformed", "the value at text is not text: it has the keys a: {"),
        ([event('{"text": "a"'), DONE], {}, "malformed", 'a piece of the stream is not JSON: {"text": "a"'),
        ([event('[{"text": "a"},')], {}, "malformed", "a piece of the stream is not JSON: [{"),
        (
            [pieces("a", "b")],
            {"until": "event=end"},
            "malformed",
            'the stream ended without event=end; its last piece: {"text": "b"}',
        ),
        ([pieces("a"), None], {}, "error", "127.0.0.1"),
        (
            [pieces("a"), event({"error": {"message": "no model"}})],
            {},
            "error",
            "the bot sent an error: no model",
        ),
        ([event("overloaded", "error")], {}, "error", "the bot sent an error: overloaded"),
        ([event({"type": "error", "errorText": "no model"})], {}, "error", "the bot sent an error: no model"),
        (
            [event({"type": "error", "code": 7}, "x")],
            {},
            "error",
            'the bot sent an error: {"type"',
        ),
        ([event({"event": "error", "status": 401, "message": "key"})], {}, "denied", "HTTP 401: key"),
        ([event({"event": "error", "status": 503, "message": "busy"})], {}, "error", "HTTP 503: busy"),
        ([b"data: " + b"x" * 2**20] * 9, {}, "malformed", "the answer is longer than 8 MB"),
    ],
)
async def test_failures_say_what_came_instead(
    server: StreamServer, chunks: Sequence[bytes | None], settings: dict[str, str], kind: str, said: str
) -> None:
    """Half an answer is none; an error among the events is the bot's."""
    found = await failed(server, *chunks, **settings)

    assert found[0] == kind
    assert found[1].startswith(said)
    assert len(found[1]) < 300


async def test_the_first_words_are_timed(server: StreamServer) -> None:
    """From the question to the first piece with words: what comes before is no answer yet."""
    began = time.perf_counter()
    thinking = event({"status": "thinking"}) + event({"text": ""})
    answer = await asked(server, thinking, 0.05, pieces("990"), 0.05, pieces("円"), DONE)

    assert 0.05 <= answer.first_token_seconds <= time.perf_counter() - began - 0.05


def chunk(text: str, reason: str | None = None) -> bytes:
    """A piece of a chat completion."""
    return event({"choices": [{"delta": {"content": text}, "finish_reason": reason}]})


@pytest.mark.parametrize(
    ("stream", "kind", "said"),
    [
        (chunk("月額") + chunk("4,1"), "error", "the stream broke off: no finish_reason, no [DONE]"),
        (chunk("月額") + chunk("4,1", "length"), "error", "the reply was cut off at its limit of tokens"),
        (chunk("月額4") + chunk("", "content_filter") + DONE, "refused", "a filter of the service took"),
    ],
)
async def test_a_chat_completion_that_is_not_whole(
    server: StreamServer, stream: bytes, kind: str, said: str
) -> None:
    """Half an answer is none, whichever adapter reads it."""
    found = await failed(server, stream, answer="choices.0.delta.content")

    assert (found[0], found[1][: len(said)]) == (kind, said)
