"""The adapter of chat endpoints, over the wire."""

import json
from functools import partial
from typing import Any

import pytest
from simulator.shelves.rag_adapters.openai_chat import connect

from simulator import BotFailure, InputError, Passage, ToolCall, Transient, Usage
from simulator.runner.conversation import as_answer
from tests.asking import QUERY, answered, failure
from tests.servers.faults import FAULTS, Reply
from tests.servers.openai import OpenAIServer

CITED = {
    "content": "料金は月額990円です。",
    "title": "料金",
    "url": None,
    "filepath": "plans.md",
    "chunk_id": "0",
}
PASSAGE = Passage(id="plans.md", text="料金は月額990円です。", source="plans.md")


async def asked(server: OpenAIServer, **settings: Any) -> Any:
    """One question to a bot with these settings."""
    return await answered(connect(**{"url": server.url, "model": "fake-chat", **settings}), QUERY)


def completion(message: dict[str, Any], **more: Any) -> Reply:
    """A whole reply with this message."""
    return Reply(body=json.dumps({"choices": [{"message": message}], **more}).encode())


def events(body: bytes) -> Reply:
    """A streamed reply."""
    return Reply(body=body, headers={"content-type": "text/event-stream"})


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_with_its_usage(stream: bool) -> None:
    """Streamed or whole, the text and the tokens are the same."""
    text = "月額990円です。ほかにご不明な点はございますか。"
    usage = {"prompt_tokens": 30, "completion_tokens": 12}
    async with OpenAIServer(lambda _: Reply(text, usage=usage)) as server:
        answer = await asked(server, stream=stream)

    assert answer.text == text
    assert answer.usage == Usage(model="fake-chat", tokens_in=30, tokens_out=12)
    assert bool(server.requests[0].body.get("stream")) is stream
    assert (answer.first_token_seconds is not None) is stream


async def test_the_dialogue_is_sent_as_messages() -> None:
    """System text first, then what was said before, then the question; extras go with it."""
    async with OpenAIServer() as server:
        await asked(
            server, system="丁寧に。", extra='{"temperature": 0, "data_sources": [{"type": "search"}]}'
        )

    assert server.requests[0].body == {
        "model": "fake-chat",
        "messages": [
            {"role": "system", "content": "丁寧に。"},
            {"role": "user", "content": "前の質問"},
            {"role": "assistant", "content": "前の答え"},
            {"role": "user", "content": "料金は？"},
        ],
        "temperature": 0,
        "data_sources": [{"type": "search"}],
    }


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        ({}, "none"),
        ({"OPENAI_API_KEY": "sk-openai"}, "none"),
        ({"OPENAI_API_KEY": "sk-openai", "OPENAI_BASE_URL": "the server"}, "sk-openai"),
        ({"OPENAI_API_KEY": "sk-openai", "REHEARSAL_BOT_KEY": "sk-bot"}, "sk-bot"),
    ],
)
async def test_where_the_key_comes_from(
    variables: dict[str, str], sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bot's own; OpenAI's goes only to the address that it is for. Local servers need none."""
    async with OpenAIServer() as server:
        for name, value in variables.items():
            monkeypatch.setenv(name, value.replace("the server", server.url))
        await asked(server)

    assert server.requests[0].headers["authorization"] == f"Bearer {sent}"


@pytest.mark.parametrize(
    ("message", "more"),
    [
        ({"content": "990円です。", "context": {"citations": [CITED]}}, {}),
        ({"content": "990円です。", "citations": [CITED]}, {}),
        ({"content": "990円です。"}, {"citations": [CITED]}),
    ],
)
async def test_citations_become_passages(message: dict[str, Any], more: dict[str, Any]) -> None:
    """Endpoints that search for themselves say what they found, in the message or beside it."""
    async with OpenAIServer(lambda _: completion(message, **more)) as server:
        answer = await asked(server)

    assert answer.passages == (PASSAGE,)


async def test_text_in_parts_and_refusals_are_answers() -> None:
    """Whatever reached the customer counts as said."""
    parts = completion({"content": [{"type": "text", "text": "月額"}, {"type": "text", "text": "990円"}]})
    async with OpenAIServer(lambda _: parts) as server:
        assert (await asked(server)).text == "月額990円"
        server.reply = lambda _: Reply(refusal="お答えできません。")
        assert (await asked(server)).text == "お答えできません。"
        assert (await asked(server, stream=True)).text == "お答えできません。"


FAILURES = [
    (Reply(status=500), "error", "HTTP 500: The server had an error"),
    (Reply(status=429), "error", "HTTP 429: Rate limit reached"),
    (Reply(status=401), "denied", "HTTP 401: Incorrect API key provided. (no key was sent: export"),
    (FAULTS["502"](""), "error", "HTTP 502: "),
    (Reply(""), "empty", "the model said nothing (finish_reason stop)"),
    (
        Reply("", finish_reason="content_filter"),
        "refused",
        "a filter of the service took the reply away (finish_reason content_filter)",
    ),
    (
        Reply("月額4,1", finish_reason="content_filter"),
        "refused",
        "a filter of the service took the reply away (finish_reason content_filter)",
    ),
    (
        Reply("月額4,1", finish_reason="length"),
        "error",
        "the reply was cut off at its limit of tokens (finish_reason length)",
    ),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("reply", "kind", "said"), FAILURES)
async def test_failures_are_typed(reply: Reply, kind: str, said: str, stream: bool) -> None:
    """Each has its kind, and a message that begins with the status or the reason."""
    async with OpenAIServer(lambda _: reply) as server:
        found = await failure(connect(url=server.url, model="m", stream=stream))

    assert found[0] == kind
    assert found[1].startswith(said)
    assert server.counts["chat"] == 1


async def test_a_bot_that_does_not_stream_is_read_at_once() -> None:
    """Whatever it was asked for; and a refusal in a list, as Google's, is told by its words."""
    replies = iter(
        [
            completion({"content": "4,180 yen."}),
            Reply(status=400, body=b'[{"error": {"code": 400, "message": "API key not valid."}}]'),
        ]
    )
    async with OpenAIServer(lambda _: next(replies)) as server:
        bot = connect(url=server.url, model="m", stream=True)
        answer = await bot(QUERY)
        refused = await failure(bot)

    assert (answer.text, answer.first_token_seconds) == ("4,180 yen.", None)
    assert refused == ("error", "HTTP 400: API key not valid.")


async def test_an_error_in_the_place_of_a_completion_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some gateways send it as a success; the key in it is masked."""
    monkeypatch.setenv("REHEARSAL_BOT_KEY", "sk-very-secret")
    error = Reply(body=b'{"error": {"message": "quota of sk-very-secret exceeded"}}')
    async with OpenAIServer(lambda _: error) as server:
        found = await failure(connect(url=server.url, model="m"))

    assert found == ("error", "the bot sent an error: quota of *** exceeded")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(body=b"not json"), "the reply is not JSON"),
        (Reply(body=b"hello", headers={"content-type": "text/html"}), "it is a text"),
        (Reply(body=b"[]"), "it is a list of 0"),
        (Reply(body=b'{"output": "a"}'), "it has the keys output"),
        (Reply(body=b'{"choices": []}'), "it has the keys choices"),
        (Reply(body=b'{"choices": [null]}'), "it has the keys choices"),
        (events(b"data: {}\n\n"), "the reply is a stream: --set stream=true reads it"),
    ],
)
async def test_other_replies_are_malformed(reply: Reply, said: str) -> None:
    """The message says what came instead."""
    async with OpenAIServer(lambda _: reply) as server:
        kind, message = await failure(connect(url=server.url, model="m"))

    assert kind == "malformed"
    assert said in message


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply("半分までしか届かない答えです。", close=True), ""),
        (events(b'data: 1\n\ndata: {"error": {"message": "out of memory"}}\n\n'), "out of memory"),
    ],
)
async def test_a_stream_that_breaks_off_is_an_error(reply: Reply, said: str) -> None:
    """Half an answer is no answer; some endpoints notice too late for a status."""
    async with OpenAIServer(lambda _: reply) as server:
        kind, message = await failure(connect(url=server.url, model="m", stream=True))

    assert kind == "error"
    assert said in message


async def test_a_bot_on_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the company's variables say."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with OpenAIServer(lambda _: "4,180円です。") as server:
        assert (await answered(connect(url=server.url, model="m"))).text == "4,180円です。"


async def test_the_key_is_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gateways repeat keys in their errors; they are masked."""
    monkeypatch.setenv("REHEARSAL_BOT_KEY", "sk-very-secret")
    body = b'{"error": {"message": "no such key: sk-very-secret"}}'
    async with OpenAIServer(lambda _: Reply(status=400, body=body)) as server:
        with pytest.raises(BotFailure, match=r"HTTP 400: no such key: \*\*\*"):
            await asked(server)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "export REHEARSAL_BOT_KEY or OPENAI_API_KEY"),
        ({"url": "localhost:11434/v1"}, "url=localhost:11434/v1: must begin with http"),
        ({"url": "http://127.0.0.1/v1", "extra": "[]"}, "extra must be a JSON object"),
        ({"url": "http://127.0.0.1/v1", "extra": "{"}, "extra is not JSON"),
        ({"url": "http://127.0.0.1/v1", "system": "@no-such-file"}, "system=@no-such-file"),
    ],
)
def test_slips_are_found_before_the_start(settings: dict[str, str], said: str) -> None:
    """Whatever the user can mend is said by `connect`."""
    with pytest.raises(InputError, match=said):
        connect(model="m", **settings)


def chunks(*texts: str, finish_reason: str | None = None, done: bool = False) -> bytes:
    """A stream in pieces, which may end as a whole one does."""
    choices: list[dict[str, Any]] = [{"delta": {"content": text}, "finish_reason": None} for text in texts]
    if finish_reason:
        choices.append({"delta": {}, "finish_reason": finish_reason})
    pieces = "".join(f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in choices)
    return (pieces + ("data: [DONE]\n\n" if done else "")).encode()


async def test_a_stream_that_breaks_off_is_no_answer() -> None:
    """Half a price would be graded as the bot's; another try may bring the whole."""
    async with OpenAIServer(lambda _: events(chunks("月額", "4,1"))) as server:
        bot = connect(url=server.url, model="m", stream=True)
        with pytest.raises(Transient, match="the stream broke off: no finish_reason"):
            await bot(QUERY)
        await bot.aclose()


@pytest.mark.parametrize(("reason", "done"), [("stop", False), (None, True), ("stop", True)])
async def test_either_mark_of_an_end_will_do(reason: str | None, done: bool) -> None:
    """Some servers send no [DONE], others no finish_reason."""
    async with OpenAIServer(
        lambda _: events(chunks("月額", "990円", finish_reason=reason, done=done))
    ) as server:
        assert (await asked(server, stream=True)).text == "月額990円"


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_limit_of_ones_own_may_cut_a_reply(limit: str, stream: bool) -> None:
    """A classifier that is asked for three tokens says no more."""
    async with OpenAIServer(lambda _: Reply("返金", finish_reason="length")) as server:
        assert (await asked(server, extra=json.dumps({limit: 3}), stream=stream)).text == "返金"


CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "refund", "arguments": '{"order": "A-1"}'},
}
CALLED = (ToolCall(name="refund", arguments='{"order": "A-1"}'),)


@pytest.mark.parametrize("content", ["返金します。", None, ""])
async def test_the_tools_that_a_model_calls_are_seen(content: str | None) -> None:
    """Beside a text; without one nothing was said to the customer, and the failure names the tool."""
    reply = completion({"content": content, "tool_calls": [CALL]})
    async with OpenAIServer(lambda _: reply) as server:
        answer = as_answer(await asked(server))

    assert answer.tools == CALLED
    if content:
        assert (answer.text, answer.error) == (content, None)
    else:
        assert answer.error
        assert (answer.error.kind, str(answer.error.message)) == (
            "only_tools",
            "the bot only called a tool (refund)",
        )


def _always(answer: Reply, _request: Any) -> Reply:
    return answer


async def test_the_pieces_of_streamed_calls_are_put_together() -> None:
    """Arguments come in parts; two calls take turns, and of a flood 200 are kept."""
    pieces: list[dict[str, Any]] = [
        {"content": "", "tool_calls": [{"index": 0, "id": "c1", "function": {"name": "refund"}}]},
        {"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "mail", "arguments": "{"}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"order": '}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"A-1"}'}}]},
        {"tool_calls": ["no call", {"index": 1, "function": {"arguments": "}", "name": 1}}]},
    ]  # fmt: skip
    old = [
        {"function_call": {"name": "refund"}},
        {"function_call": None},
        {"function_call": {"arguments": '{"order": "A-1"}'}},
    ]
    flood: list[dict[str, Any]] = [{"tool_calls": [{"function": {"name": "t"}}] * 150}] * 2
    found = []
    for deltas in (pieces, old, flood):
        chunks = [{"choices": [{"delta": piece, "finish_reason": None}]} for piece in deltas]
        chunks.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
        body = b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks)
        answers = events(body + b"data: [DONE]\n\n")
        async with OpenAIServer(partial(_always, answers)) as server:
            found.append((await asked(server, stream=True)).tools)

    assert found[:2] == [(*CALLED, ToolCall(name="mail", arguments="{}")), CALLED]
    assert len(found[2] or ()) == 200


async def test_a_model_that_is_offered_tools_and_calls_none_has_called_none() -> None:
    """Without an offer nobody knows, and nothing is shown."""
    offer = json.dumps({"tools": [{"type": "function", "function": {"name": "refund"}}]})
    async with OpenAIServer() as server:
        assert (await asked(server, extra=offer)).tools == ()
        assert (await asked(server)).tools is None
