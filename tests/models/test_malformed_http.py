"""Endpoints and bots that speak HTTP wrongly, or not at all: a typed failure, and the run goes on."""

import json
from typing import Any

import pytest

from simulator import Answer
from simulator.core import shelves
from simulator.core.errors import ModelFailure
from simulator.runner.conversation import ask
from tests.asking import FIRST, put_to
from tests.scripted_models import ASKED, GOOD, connected, model_at
from tests.servers.malformed import BODY, MALFORMED, UNUSUAL, RawServer, ok

COMPLETION = ok(json.dumps({"choices": [{"message": {"content": GOOD}}]}).encode())
SLIPS = ("status is no number", "long header", "bad chunk size", "length twice", "negative length")
WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "plain": ("http", {"answer": "answer"}),
    "sse": ("http", {"answer": "answer", "stream": "sse"}),
    "chat": ("openai_chat", {"model": "m"}),
    "streamed chat": ("openai_chat", {"model": "m", "stream": "on"}),
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_what_is_no_http_is_a_models_typed_failure(name: str) -> None:
    """Its message is a line that names the model, and nothing of the client's own objects."""
    async with RawServer(MALFORMED[name]) as server, connected(timeout=2) as made:
        made.attempts = 1
        with pytest.raises(ModelFailure, match=r"^judge model fake-chat at http\S+: ") as met:
            await model_at(server.url, made).say(ASKED)

    assert met.value.failure.kind in {"unreachable", "malformed", "error"}
    assert not {"\n", "Traceback", "RawResponseMessage"} & set(str(met.value).split(" "))
    assert len(str(met.value)) < 300


@pytest.mark.parametrize("name", SLIPS)
async def test_a_model_is_asked_again_after_it(name: str) -> None:
    """A proxy may have slipped: the next answer counts, of a chat as of embeddings."""
    vectors = ok(b'{"data": [{"index": 0, "embedding": [1.0, 2.0]}]}')
    answers = iter((MALFORMED[name], COMPLETION, MALFORMED[name], vectors))
    async with RawServer(lambda _: next(answers)) as server, connected() as made:
        assert (await model_at(server.url, made).say(ASKED))[0] == GOOD
        assert await model_at(server.url, made, role="embed").embed(["a"]) == [[1.0, 2.0]]

    assert len(server.requests) == 4


@pytest.mark.parametrize("way", WAYS)
async def test_what_is_no_http_is_the_bots_failure(way: str) -> None:
    """Whichever way a bot is asked: a kind, and a line that says what came."""
    adapter, given = WAYS[way]
    found: dict[str, Answer] = {}
    said = b""

    async with RawServer(lambda _: said) as server:
        bot: Any = await shelves.connect(adapter, {"url": server.url, **given}, {})
        for name, said in MALFORMED.items():  # noqa: B007 - the server answers with it
            found[name] = await ask(bot, FIRST, 30)
        await bot.aclose()

    assert {name: each.text for name, each in found.items() if each.text} == {}
    errors = {name: each.error for name, each in found.items() if each.error}
    assert {error.kind for error in errors.values()} <= {"error", "malformed", "unreachable", "empty"}
    assert not [error for error in errors.values() if "RawResponseMessage" in str(error.message)]
    assert {errors[name].kind for name in SLIPS} == {"malformed"}


@pytest.mark.parametrize("name", UNUSUAL)
async def test_what_is_only_unusual_is_read(name: str) -> None:
    """A reason, a charset or a cookie that makes no sense is nothing that an answer needs."""
    async with RawServer(UNUSUAL[name] + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY) as server:
        assert (await put_to("http", {"url": server.url, "answer": "answer"})).text == "ok"
