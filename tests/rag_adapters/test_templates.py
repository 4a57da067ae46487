"""The templates of the http adapter, each against a bot of its platform."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from simulator.shelves.rag_adapters.http import connect

from simulator import ChatMessage, InputError, Passage, Query
from tests.asking import failure
from tests.servers.bot import BotServer, ReceivedQuestion
from tests.servers.platforms import CONTENT, KEY, BedrockGateway, DifyServer, PlatformServer

PASSAGES = [{"id": "1", "text": "料金表", "score": 0.5}]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the platforms want to see."""
    monkeypatch.setenv("DIFY_API_KEY", KEY)
    monkeypatch.setenv("BEDROCK_GATEWAY_KEY", KEY)


@pytest.fixture
async def plain() -> AsyncIterator[BotServer]:
    """A bot of the plain shape: the questions before this one, and the question."""

    def answer(asked: ReceivedQuestion) -> dict[str, Any]:
        before = len(asked.body["history"])
        return {"answer": f"{before}: {asked.body['question']}", "passages": PASSAGES}

    async with BotServer(answer) as running:
        yield running


async def conversation(bot: Any, session: str, *lines: str) -> list[Any]:
    """The answers to a customer's lines, one after the other, the dialogue told along."""
    history: tuple[ChatMessage, ...] = ()
    answers = []
    for line in lines:
        answer = await bot(Query(text=line, history=history, session=session, case="c1"))
        said = (ChatMessage(role="user", content=line), ChatMessage(role="assistant", content=answer.text))
        history = (*history, *said)
        answers.append(answer)
    return answers


PLATFORMS = [
    (DifyServer(), "dify", "seg-1"),
    (DifyServer(), "dify_stream", "seg-1"),
    (DifyServer(agent=True), "dify_stream", "seg-1"),
    (BedrockGateway(), "bedrock_agent", "s3://faq/fees.md"),
    (BedrockGateway(), "bedrock_knowledge_base", "s3://faq/fees.md"),
]


@pytest.mark.parametrize(("server", "template", "id_"), PLATFORMS)
async def test_each_customer_keeps_a_conversation(server: PlatformServer, template: str, id_: str) -> None:
    """The platform names it in its first answer, and hears that name again; passages come once each."""
    async with server:
        bot = connect(url=server.url, template=template)
        conversations = await asyncio.gather(
            *(conversation(bot, f"s{at}", "料金は？", "それで？") for at in range(3))
        )
        again = await conversation(bot, "s0", "最初から")
        await bot.aclose()

    for answers in conversations:
        assert [answer.text for answer in answers] == ["1番目: 料金は？", "2番目: それで？"]
        assert [(each.id, each.text) for each in answers[0].passages] == [(id_, CONTENT)]
    assert again[0].text == "1番目: 最初から"
    assert sorted(server.conversations.values()) == [1, 2, 2, 2]
    named = "conversation_id" if template.startswith("dify") else "sessionId"
    assert [named in request.body for request in server.requests].count(False) == 4


@pytest.mark.parametrize(
    ("server", "settings", "kind", "said"),
    [
        (DifyServer(fails=True), {"template": "dify_stream"}, "error", "HTTP 503: no model"),
        (DifyServer(agent=True), {"template": "dify"}, "error", 'HTTP 400: {"code": "invalid_param"'),
        (
            DifyServer(),
            {"template": "dify", "headers": "A: b"},
            "denied",
            'HTTP 401: {"code": "unauthorized"',
        ),
        (
            DifyServer(),
            {"template": "dify", "conversation": "name"},
            "malformed",
            "no 'name' in the reply, which",
        ),
        (
            DifyServer(),
            {"template": "dify", "conversation": "metadata"},
            "malformed",
            "the value at metadata is not a name",
        ),
        (BedrockGateway(), {"template": "bedrock_agent", "headers": ""}, "denied", "HTTP 403"),
    ],
)
async def test_failures_of_platforms_are_told(
    server: PlatformServer, settings: dict[str, Any], kind: str, said: str
) -> None:
    """In their own words; a setting given wins over the template's."""
    async with server:
        found = await failure(connect(url=server.url, **settings))

    assert found[0] == kind
    assert found[1].startswith(said)


async def test_the_plain_shape(plain: BotServer) -> None:
    """What a small server of one's own can speak."""
    bot = connect(url=plain.url, template="chat")
    answers = await conversation(bot, "s1", "料金は？", "それで？")
    await bot.aclose()

    assert [answer.text for answer in answers] == ["0: 料金は？", "2: それで？"]
    assert answers[0].passages == (Passage(id="1", text="料金表", score=0.5),)
    assert plain.requests[0].body == {
        "question": "料金は？",
        "history": [],
        "session": "s1",
        "language": "ja",
    }


@pytest.mark.parametrize(
    ("text", "settings", "said"),
    [
        ("", {"template": "difi"}, "template=difi: there is none of that name. There are: bedrock_agent, "),
        ("", {"template": "./none.toml"}, r"template=./none.toml: the file cannot be read \(No such file"),
        ("answer = ", {}, r"template=./t.toml: the file cannot be read \("),
        ("[1]", {"template": "./t.json"}, r"template=./t.json: must be an object of settings\."),
        ("answr = 'a'", {}, "template=./t.toml: answr: not a known key"),
        ("answer = 3", {}, "template=./t.toml: answer: must be text"),
        (
            "[request]\nm = '$question'",
            {},
            r"answer is missing: --set answer=PATH .*, or --set template=NAME \(bedrock_agent",
        ),
        (
            "answer = 'a'\nrequest = {m = '$question', c = '$conversation'}",
            {},
            r"\$conversation is used: say where the reply names it",
        ),
    ],
)
def test_slips_are_found_before_the_start(text: str, settings: dict[str, Any], said: str) -> None:
    """Whatever the user can mend is said by `connect`."""
    for name in ("t.toml", "t.json"):
        Path(name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        connect(**{"url": "http://127.0.0.1/chat", "template": "./t.toml", **settings})
