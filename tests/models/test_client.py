"""Calls to an endpoint: the forms in which a reply is asked for, what is charged, kept and shared."""

import asyncio
import re
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from simulator.core.errors import MalformedReply, ModelFailure
from simulator.core.types import Usage
from simulator.models.cache import ResponseCache
from simulator.models.forms import most_tokens, strict_schema
from simulator.models.pricing import BudgetSpent, Ledger
from tests.scripted_models import ASKED, GOOD, KEY, VERDICT, connected, model_at, verdict
from tests.servers.malformed import RawServer, ok
from tests.servers.openai import OpenAIServer, Reply, error, script


class Inner(BaseModel):
    """An item of a list, whose keys are called as those of a schema."""

    title: Literal["a", "b"]
    description: str = Field(default="", description="What a model is told by the prompt.")


class Nested(BaseModel):
    """A form with all that forms have."""

    text: str | None = None
    grade: int
    items: list[Inner]
    names: list[str] = []


FILLED = {"reason": "資料と合う。", "grade": 4}


def formats(server: OpenAIServer) -> list[str]:
    """The reply format of each request so far."""
    return [request.body.get("response_format", {}).get("type", "text") for request in server.requests]


async def test_a_reply_is_asked_for_as_a_strict_schema() -> None:
    """The first request carries model, messages, temperature, seed and the form as a closed schema."""
    async with OpenAIServer(lambda _: GOOD) as server, connected() as connections:
        filled = await verdict(model_at(server, connections, temperature=0.2), seed=42)

    body = server.requests[0].body
    assert filled == FILLED
    assert body | {"model": "fake-chat", "messages": ASKED, "temperature": 0.2, "seed": 42} == body
    form = {"name": "reply", "strict": True, "schema": strict_schema(VERDICT)}
    assert body["response_format"]["json_schema"] == form
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_strict_schema_is_closed_and_requires_everything() -> None:
    """Names and types alone, also where they are called like a title or a default."""
    closed = {"type": "object", "additionalProperties": False}
    inner = {
        "properties": {"title": {"enum": ["a", "b"], "type": "string"}, "description": {"type": "string"}},
        "required": ["title", "description"],
    }

    assert strict_schema(Nested) == closed | {
        "$defs": {"Inner": closed | inner},
        "properties": {
            "text": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "grade": {"type": "integer"},
            "items": {"type": "array", "items": {"$ref": "#/$defs/Inner"}},
            "names": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["text", "grade", "items", "names"],
    }


@pytest.mark.parametrize(
    ("refuses", "tried"),
    [
        ({"json_schema"}, ["json_schema", "json_object"]),
        ({"response_format"}, ["json_schema", "json_object", "text"]),
    ],
)
async def test_a_refused_format_is_asked_for_once(refuses: set[str], tried: list[str]) -> None:
    """Strict schema, JSON mode, plain text: the next call starts where this one ended."""
    fenced = f"```json\n{GOOD}\n```"
    async with OpenAIServer(lambda _: fenced, refuses=refuses) as server, connected() as made:
        model = model_at(server, made)
        assert await verdict(model) == FILLED
        assert formats(server) == tried
        assert await verdict(model_at(server, made)) == FILLED

    assert formats(server) == [*tried, tried[-1]]


async def test_a_refused_temperature_and_seed_are_left_out_from_then_on() -> None:
    """Each is refused once; other models at the same address keep theirs."""
    async with OpenAIServer(lambda _: GOOD, refuses={"temperature", "seed"}) as server, connected() as made:
        model = model_at(server, made, temperature=0.7)
        await verdict(model, seed=1)
        assert server.counts["chat"] == 3
        await verdict(model, seed=2)
        await model_at(server, made, name="other", temperature=0.7).say(ASKED)

    sent = [{"temperature", "seed"} & request.body.keys() for request in server.requests]
    assert sent[2:] == [set(), set(), {"temperature"}, set()]


async def test_an_address_may_end_in_a_query() -> None:
    """`?api-version=...` goes with every request, and the path stays before it."""
    async with OpenAIServer(lambda _: GOOD) as server, connected() as made:
        assert await verdict(model_at(f"{server.url}?api-version=7", made)) == FILLED


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
async def test_the_environments_proxy_is_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its login; not for a host that NO_PROXY excepts."""
    answer = ok(b'{"choices": [{"message": {"content": "hello"}}]}')
    async with RawServer(answer) as proxy, OpenAIServer(lambda _: GOOD) as server, connected() as made:
        monkeypatch.setenv(name, proxy.url.replace("//", "//me:secret@").removesuffix("/v1"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert await verdict(model_at(server, made)) == FILLED
        assert (await model_at("http://models.example/v1", made).say(ASKED))[0] == "hello"

    (request,) = proxy.requests
    assert request.startswith(b"POST http://models.example/v1/chat/completions HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in request


async def test_a_proxy_is_not_told_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for a connection, through which the endpoint alone is spoken to."""
    async with RawServer(ok(b"", status=b"403 Forbidden")) as proxy, connected() as made:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.removesuffix("/v1"))
        made.attempts = 1
        with pytest.raises(ModelFailure):
            await model_at("https://models.example/v1", made).say(ASKED)

    (request,) = proxy.requests
    assert request.startswith(b"CONNECT models.example:443 HTTP/1.1\r\n")
    assert KEY.encode() not in request


@pytest.mark.parametrize("reply", [error(400, "No."), error(400, "Bad temperature.", param="temperature")])
async def test_a_refusal_that_teaches_nothing_is_a_failure(reply: Reply) -> None:
    """What cannot be left out, or has been left out already, is not asked for again."""
    async with OpenAIServer(lambda _: reply) as server, connected() as made:
        named = rf"judge model fake-chat at {re.escape(server.url)}: 400: "
        with pytest.raises(ModelFailure, match=named) as met:
            await verdict(model_at(server, made, temperature=0.2))

    assert met.value.failure.kind == "error"
    assert server.counts["chat"] <= 2


async def test_a_malformed_reply_is_asked_for_once_more_with_the_error() -> None:
    """The second request shows the model its own reply and what is wrong with it; both are charged."""
    ledger = Ledger({})
    async with OpenAIServer(script(['{"reason": "x", "grade": 9}', GOOD])) as server, connected() as made:
        model = model_at(server, made, ledger=ledger)
        filled = await model.ask(ASKED, VERDICT, lambda problem: f"Again: {problem}")

    *_, before, told = server.requests[1].body["messages"]
    assert filled.model_dump() == FILLED
    assert before == {"role": "assistant", "content": '{"reason": "x", "grade": 9}'}
    assert told["content"] == "Again: grade: must be at most 5 (it was '9')"
    assert ledger.roles["judge"].calls == 2


@pytest.mark.parametrize("said", ["maybe a four", "", '{"reason": "x"}', '{"reason": "x", "grade": 0}'])
async def test_a_second_malformed_reply_is_a_failure_that_keeps_it(said: str) -> None:
    """After one re-ask the reply is given up, as it was said; the cache does not keep it either."""
    async with OpenAIServer(lambda _: said) as server, connected(cache=ResponseCache("on")) as made:
        for _ in range(2):
            with pytest.raises(MalformedReply) as met:
                await verdict(model_at(server, made))

    assert (met.value.failure.kind, met.value.raw) == ("malformed", said)
    assert server.counts["chat"] == 4
    assert [m["content"] for m in server.requests[1].body["messages"]][1] == (said or "-")


async def test_every_answered_call_is_charged_once() -> None:
    """A refusal costs nothing, a reply that broke off nobody knows what; else it is what was counted."""
    told: list[tuple[str, Usage, bool]] = []
    ledger = Ledger({})
    ledger.record = lambda role, usage, cached, _: told.append((role, usage, cached))
    counted = {"prompt_tokens": 120, "completion_tokens": 30}
    replies = [Reply(status=500), Reply(close=True), Reply("はい", usage=counted)]
    async with OpenAIServer(script(replies)) as server, connected() as made:
        text, usage = await model_at(server, made, role="demo", ledger=ledger).say(ASKED)

    assert (text, usage) == ("はい", Usage(model="fake-chat", tokens_in=120, tokens_out=30))
    assert told == [("demo", Usage(model="fake-chat"), False), ("demo", usage, False)]
    spent = ledger.roles["demo"]
    assert (spent.calls, spent.uncounted, spent.tokens_in) == (2, 1, 120)


def counted(details: Any) -> dict[str, Any]:
    """What an endpoint says of 120 tokens."""
    return {"prompt_tokens": 120, "completion_tokens": 30, "prompt_tokens_details": details}


@pytest.mark.parametrize(
    ("usage", "tokens_in", "cached"),
    [
        # From the endpoint's cache came as many as it says, but never more than went in.
        (counted({"cached_tokens": 64}), 120, 64),
        (counted({"cached_tokens": 10**6}), 120, 120),
        (counted({"cached_tokens": 10**12}), 120, 0),
        (counted({"cached_tokens": -1}), 120, 0),
        (counted([64]), 120, 0),
        # A call without a usable count is still a call.
        ({}, 0, 0),
        ({"prompt_tokens": "12"}, 12, 0),  # as some gateways write it
        ({"prompt_tokens": "9" * 13}, 0, 0),
        ({"prompt_tokens": -1}, 0, 0),
    ],
)
async def test_what_is_no_count_of_tokens_counts_none(usage: Any, tokens_in: int, cached: int) -> None:
    """Those of the endpoint's cache are told apart."""
    ledger = Ledger({})
    async with OpenAIServer(lambda _: Reply("はい", usage=usage)) as server, connected() as made:
        _, told = await model_at(server, made, role="demo", ledger=ledger).say(ASKED)

    spent = ledger.roles["demo"]
    assert (told.tokens_in, told.tokens_cached) == (tokens_in, cached)
    assert (spent.calls, spent.tokens_in, spent.tokens_cached) == (1, tokens_in, cached)


async def test_a_reply_in_a_form_has_a_limit() -> None:
    """Ample for the form, or that of the user's own fields; a plain text has none."""
    async with OpenAIServer(lambda _: GOOD) as server, connected() as made:
        model = model_at(server, made)
        await verdict(model)
        await model.say(ASKED)
        model.endpoint = model.endpoint.model_copy(update={"extra": {"max_completion_tokens": 77}})
        await verdict(model)

    limits = [request.body.get("max_tokens") for request in server.requests]
    assert limits == [most_tokens(VERDICT), None, None]
    assert server.requests[-1].body["max_completion_tokens"] == 77
    # 2,000 to think, 20 for each key, 300 for a text, 20 for a number or a word; 15 shorter items in a list.
    assert most_tokens(VERDICT) == 2000 + (20 + 300) + (20 + 20)
    items, names = 15 * ((20 + 20) + (20 + 60)), 15 * 60
    assert most_tokens(Nested) == 2000 + (20 + 300) + (20 + 20) + (20 + items) + (20 + names)


async def test_of_a_long_reply_the_model_sees_the_beginning() -> None:
    """4,000 characters of what it wrote, and of nothing a dash: an empty message is refused by some."""
    for first, shown in (("x" * 5000, "x" * 4000), ("", "-")):
        async with OpenAIServer(script([Reply(first)], then=lambda _: GOOD)) as server, connected() as made:
            assert await verdict(model_at(server, made)) == FILLED
        assert server.requests[1].body["messages"][-2] == {"role": "assistant", "content": shown}


async def test_a_reply_that_was_cut_off_is_not_read() -> None:
    """Even if something can be read of it; it is asked for once more, with more room, and then failed."""
    cut = Reply(GOOD, finish_reason="length", usage={"prompt_tokens": 9, "completion_tokens": 2340})
    async with OpenAIServer(script([cut], then=lambda _: GOOD)) as server, connected() as made:
        assert await verdict(model_at(server, made)) == FILLED
        told = server.requests[1].body
        server.reply = lambda _: cut
        with pytest.raises(MalformedReply, match=r"cut off at its limit of 2,340 tokens \(max_tokens in"):
            await verdict(model_at(server, made), seed=2)

    assert told["max_tokens"] == 4 * most_tokens(VERDICT)
    assert "cut off at its limit" in told["messages"][-1]["content"]
    assert server.counts["chat"] == 4


@pytest.mark.parametrize(
    ("refusals", "sent"),
    [
        (
            ["Unsupported parameter: 'max_tokens' is not supported with this model. "
             "Use 'max_completion_tokens' instead."],
            ["max_tokens", "max_completion_tokens", "max_completion_tokens"],
        ),
        (["Unrecognized request argument supplied: max_tokens"], ["max_tokens", "", ""]),
        (
            ["'max_tokens' or 'max_completion_tokens' is too large: 2350. "
             "This model's maximum context length is 4096 tokens."] * 2,
            ["max_tokens", "max_completion_tokens", "", ""],
        ),
        (
            ["This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."],
            ["max_tokens", "", ""],
        ),
    ],
)  # fmt: skip
async def test_a_limit_takes_the_name_that_the_endpoint_knows(refusals: list[str], sent: list[str]) -> None:
    """What reasons calls it otherwise; where it is refused it is left out, from then on."""
    for status in (400, 404, 415, 422):
        replies = [error(status, message) for message in refusals]
        async with OpenAIServer(script(replies, then=lambda _: GOOD)) as server, connected() as made:
            assert await verdict(model_at(server, made)) == FILLED
            assert await verdict(model_at(server, made), seed=2) == FILLED

        limits = {"max_tokens", "max_completion_tokens"}
        assert ["".join(limits & request.body.keys()) for request in server.requests] == sent


@pytest.mark.parametrize(("refuses", "statuses"), [(set(), {200: 2}), ({"seed"}, {400: 1, 200: 2})])
async def test_an_identical_request_is_answered_from_the_cache(
    refuses: set[str], statuses: dict[int, int]
) -> None:
    """It costs nothing and is counted apart; another seed is another request, also where it is not taken."""
    ledger, cache = Ledger({}), ResponseCache("on")
    async with OpenAIServer(lambda _: GOOD, refuses=refuses) as server, connected(cache=cache) as made:
        for seed in (1, 1, 2, 1, 2):
            await verdict(model_at(server, made, ledger=ledger), seed=seed)

    assert server.statuses == statuses
    assert (ledger.roles["judge"].calls, ledger.roles["judge"].cached) == (2, 3)


async def test_the_key_reaches_no_file(tmp_path: Path) -> None:
    """Requests are filed by a hash of address and body; the key is in neither."""
    path = tmp_path / "cache" / "responses.sqlite"
    cache = ResponseCache("on", path)
    async with OpenAIServer(lambda _: GOOD, key=KEY) as server, connected(cache=cache) as made:
        await verdict(model_at(server, made))

    assert b"reason" in path.read_bytes()
    assert all(KEY.encode() not in file.read_bytes() for file in path.parent.iterdir())


async def test_the_budget_stops_before_the_next_call() -> None:
    """A call that reaches the budget is the last; what is cached may still be had."""
    spent = Ledger({}, budget=1.0)
    dear = Reply(GOOD, usage={"prompt_tokens": 10_000_000, "completion_tokens": 0})
    async with OpenAIServer(lambda _: dear) as server, connected(cache=ResponseCache("on")) as made:
        model = model_at(server, made, name="gpt-4.1", ledger=spent)
        await verdict(model, seed=1)
        with pytest.raises(BudgetSpent, match=r"too little is left of the budget of 1\.00 USD"):
            await verdict(model, seed=2)
        await verdict(model, seed=1)

    assert server.counts["chat"] == 1


async def test_a_cancelled_call_gives_its_place_back() -> None:
    """Neither the call in flight nor the one that waits keeps the others out."""
    arrived = asyncio.Event()

    def reply(_: dict[str, Any]) -> str | Reply:
        first = not arrived.is_set()
        arrived.set()
        return Reply(delay=3600) if first else GOOD

    async with OpenAIServer(reply) as server, connected(calls=1) as made:
        model = model_at(server, made)
        stuck, waiting = (asyncio.create_task(verdict(model)) for _ in range(2))
        await arrived.wait()
        for task in (waiting, stuck):
            task.cancel()
        await asyncio.gather(stuck, waiting, return_exceptions=True)

        assert await verdict(model) == FILLED
        assert made.limiter(model.endpoint).active == 0
