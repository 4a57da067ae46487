"""Models of other providers: LangChain's own client for one of them, spoken to over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from simulator.core.errors import AccessDenied, InputError, ModelFailure, Outage
from simulator.core.replies import NextLine
from simulator.core.roles import Endpoint
from simulator.models.cache import ResponseCache
from simulator.models.connections import Connections
from simulator.models.pricing import Ledger
from simulator.models.providers import ProviderModel
from tests.scripted_models import AT_ONCE
from tests.servers.anthropic import AnthropicServer, speaks
from tests.servers.loopback import on_thread

ASKED = [
    {"role": "system", "content": "あなたはお客様です。"},
    {"role": "user", "content": "こちらは相談窓口です。"},
    {"role": "assistant", "content": "返金はいつですか"},
    {"role": "user", "content": "5営業日です。"},
]


@pytest.fixture
def server() -> Iterator[AnthropicServer]:
    with on_thread(AnthropicServer()) as running:
        yield running


def model(server: AnthropicServer, connections: Connections | None = None, **changes: Any) -> ProviderModel:
    given = {"role": "user", "model": "anthropic:claude-test", "url": server.url, "key": SecretStr("sk-hush")}
    made = connections or Connections(calls=4, timeout=5, cache=ResponseCache("off"), wait=AT_ONCE)
    return ProviderModel(Endpoint.model_validate(given | changes), made, Ledger({}), temperature=0.7)


async def test_it_says_a_line(server: AnthropicServer) -> None:
    """The system prompt and the swapped dialogue arrive in the provider's own form; tokens are charged."""
    playing = model(server)

    text, usage = await playing.say(ASKED)

    sent = server.requests[-1].body
    assert text == "返金は5営業日です。"
    assert (usage.tokens_in, usage.tokens_out) == (11, 7)
    assert playing.ledger.roles["user"].calls == 1
    assert sent["system"] == "あなたはお客様です。"
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]
    assert sent["temperature"] == 0.7


async def test_further_fields_are_arguments_of_its_package(server: AnthropicServer) -> None:
    """Headers among them; they go before the program's own, and null leaves one out."""
    extra = {"default_headers": {"X-Team": "desk"}, "top_k": 5, "temperature": None}
    await model(server, extra=extra).say(ASKED)

    sent = server.requests[-1]
    assert (sent.headers["x-team"], sent.body["top_k"], "temperature" in sent.body) == ("desk", 5, False)


async def test_it_fills_in_a_form(server: AnthropicServer) -> None:
    """Structured replies go through the provider's tools, with the form's own schema."""
    line = await model(server).ask(ASKED, NextLine, str)

    assert line.message == "それはいつまでですか"
    assert set(server.requests[-1].body["tools"][0]["input_schema"]["properties"]) == {*NextLine.model_fields}


async def test_a_form_may_come_as_text(server: AnthropicServer) -> None:
    """A model that answers in words instead of using the tool is read like any other."""
    text = '{"message": "もう結構です", "next": "gave_up", "reason": ""}'
    server.answer = lambda _: (200, [{"type": "text", "text": text}])

    assert (await model(server).ask(ASKED, NextLine, str)).next == "gave_up"


@pytest.mark.parametrize("status", [409, 429, 500, 529])
async def test_what_passes_is_tried_again(server: AnthropicServer, status: int) -> None:
    """Two refusals, then the line; LangChain does not retry on its own."""
    left = [status, status]
    server.answer = lambda request: (left.pop(), []) if left else speaks(request)

    assert (await model(server).say(ASKED))[0] == "返金は5営業日です。"
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refused_key_or_model_stops_the_run(server: AnthropicServer, status: int) -> None:
    """It is not tried again, and its message holds no key."""
    server.answer = lambda _: (status, [])

    with pytest.raises(AccessDenied) as error:
        await model(server).say(ASKED)
    assert len(server.requests) == 1
    assert "sk-hush" not in str(error.value)
    assert "REHEARSAL_USER_KEY" in str(error.value)


async def test_a_lost_endpoint_is_typed(server: AnthropicServer) -> None:
    """Nobody there for all of --patience: an outage of kind `unreachable`."""
    hasty = Connections(calls=4, timeout=5, cache=ResponseCache("off"), wait=AT_ONCE, patience=0.5)
    with pytest.raises(Outage) as error:
        await model(server, hasty, url="http://127.0.0.1:9").say(ASKED)
    assert error.value.failure.kind == "unreachable"


async def test_other_providers_give_no_embeddings(server: AnthropicServer) -> None:
    """Said in one line, with what to use instead."""
    with pytest.raises(InputError, match="--embed-model lexical"):
        await model(server).embed(["a"])


async def test_a_chat_model_without_structured_replies_is_read_as_text(server: AnthropicServer) -> None:
    """LangChain's own fake has no tools: its words go through the same repair as any plain model's."""
    from langchain_core.language_models import FakeListChatModel

    playing = model(server)
    fenced = '```json\n{"message": "はい", "next": "stay", "reason": "",}\n```'
    playing.chat = FakeListChatModel(responses=[fenced])

    assert (await playing.ask(ASKED, NextLine, str)).message == "はい"
    assert server.requests == []


async def test_an_answer_that_comes_drop_by_drop_is_late(server: AnthropicServer) -> None:
    """The whole of it has `timeout` seconds, though the client never waits long for the next byte."""
    server.pace = 0.05
    connections = Connections(calls=1, timeout=0.256, cache=ResponseCache("off"), wait=AT_ONCE)
    connections.attempts = 1

    with pytest.raises(ModelFailure, match=r"no reply within 0\.26 s") as error:
        await model(server, connections=connections).say(ASKED)
    assert error.value.failure.kind == "timeout"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "mistralai:x"}, r"^mistralai:x: .*\(extra 'other'\)\.$"),
        (
            {"key": SecretStr(""), "url": "", "extra": {"max_tokens": "few"}},
            "^anthropic:claude-test: cannot be used: ",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    server: AnthropicServer, changes: dict[str, Any], said: str
) -> None:
    """A package that is missing, an argument that it does not take."""
    with pytest.raises(InputError, match=said) as met:
        model(server, **changes)

    assert "\n" not in str(met.value)
