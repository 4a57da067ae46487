"""What an endpoint says in another place than usual: beside the content, under status 200, without index."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from simulator.core.errors import AccessDenied, MalformedReply, ModelFailure
from simulator.models.cache import ResponseCache
from simulator.models.pricing import Ledger
from tests.scripted_models import ASKED, GOOD, connected, model_at, verdict
from tests.servers.openai import OpenAIServer, Reply, error, script

FILLED = json.loads(GOOD)


def message(finish: str = "stop", **fields: Any) -> Reply:
    """A chat completion whose message has these fields."""
    choice = {"message": {"role": "assistant", **fields}, "finish_reason": finish}
    return Reply(body=json.dumps({"choices": [choice]}).encode())


def called(*arguments: Any) -> dict[str, Any]:
    """The fields of a message that calls a tool with these arguments, once for each."""
    functions = [{"name": "reply", "arguments": each} for each in arguments]
    return {"content": None, "tool_calls": [{"type": "function", "function": each} for each in functions]}


@pytest.mark.parametrize(
    "fields",
    [
        {"content": None, "reasoning_content": GOOD},
        {"content": "", "reasoning": f"```json\n{GOOD}\n```"},
        {"reasoning_content": GOOD},
        called(GOOD),
        called(GOOD, GOOD),
        {"content": None, "function_call": {"name": "reply", "arguments": GOOD}},
    ],
)
async def test_a_form_beside_an_empty_content_is_read(fields: dict[str, Any]) -> None:
    """In the field for reasoning, or as the arguments of a tool; and kept like any other."""
    async with OpenAIServer(lambda _: message(**fields)) as server:
        for _ in range(2):
            async with connected(cache=ResponseCache("on")) as made:
                assert await verdict(model_at(server, made)) == FILLED

    assert server.counts["chat"] <= 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"content": None, "reasoning_content": f"Maybe {GOOD}, or a 2."}, "only reasoning"),
        (called('{"query": "返品"}'), r"only calls of tools \(reply\)"),
        (called(GOOD, GOOD.replace("4", "2")), "more than one verdict"),
        (called(None), r"only calls of tools \(reply\)"),
        ({"content": None, "reasoning_content": "", "tool_calls": []}, "the reply is empty"),
    ],
)
async def test_what_is_no_form_there_is_named(fields: dict[str, Any], said: str) -> None:
    """A draft in the thoughts is no verdict: the model is told, asked once more, and then it is a failure."""
    async with OpenAIServer(lambda _: message(**fields)) as server, connected() as made:
        with pytest.raises(MalformedReply, match=said):
            await verdict(model_at(server, made))

    assert server.counts["chat"] == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"content": "", "reasoning_content": "Let me see."}, "holds only reasoning .reasoning_content."),
        (called("{}"), "has no text, only calls of tools"),
        ({"content": "x" * 1_000_001}, "a reply of 1,000,001 characters"),
    ],
)
async def test_words_elsewhere_are_no_text(fields: dict[str, Any], said: str) -> None:
    """What is asked for a line or an answer has none then; and nobody writes a million characters."""
    async with OpenAIServer(lambda _: message(**fields)) as server, connected() as made:
        with pytest.raises(ModelFailure, match=said) as met:
            await model_at(server, made).say(ASKED)
        server.reply = lambda _: message(content="x" * 1_000_000)
        assert len((await model_at(server, made).say(ASKED))[0]) == 1_000_000

    assert met.value.failure.kind == "malformed"


async def test_a_content_goes_before_what_stands_beside_it() -> None:
    """Thoughts and tools beside an answer are not looked at."""
    fields = called(GOOD.replace("4", "1")) | {"content": GOOD, "reasoning_content": GOOD.replace("4", "2")}
    async with OpenAIServer(lambda _: message(**fields)) as server, connected() as made:
        assert await verdict(model_at(server, made)) == FILLED


@pytest.mark.parametrize(
    "content", [FILLED, ["", GOOD], [{"type": "thinking", "thinking": [{"text": "2"}]}, {"text": GOOD}]]
)
async def test_a_content_that_is_no_text_is_read(content: Any) -> None:
    """The form itself, or parts of which one is it."""
    async with OpenAIServer(lambda _: message(content=content)) as server, connected() as made:
        assert await verdict(model_at(server, made)) == FILLED


@pytest.mark.parametrize(
    "fields", [{}, {"content": None}, {"content": '{"reason": "彼は'}, {"content": GOOD}]
)
async def test_a_filtered_reply_is_refused(fields: dict[str, Any]) -> None:
    """As one that was refused at once; it is charged, and neither kept nor asked for again."""
    ledger = Ledger({})
    async with OpenAIServer(lambda _: message("content_filter", **fields)) as server, connected() as made:
        with pytest.raises(
            ModelFailure, match=r"took the reply away \(finish_reason content_filter\)"
        ) as met:
            await verdict(model_at(server, made, ledger=ledger))

    assert (met.value.failure.kind, server.counts["chat"], ledger.spent.calls) == ("refused", 1, 1)


def failing(**said: Any) -> Reply:
    """Status 200, and this."""
    return Reply(body=json.dumps(said).encode())


PASSING = [
    failing(error={"message": "Provider returned error", "code": 502}, user_id="u"),
    failing(error={"message": "slow down", "code": "429"}),
    failing(error="overloaded"),
    failing(object="error", message="busy", code=503),
    failing(code=50501, message="Service is too busy", data=None),
    Reply(body=b'[{"error": {"code": 503, "message": "overloaded"}}]'),
    failing(choices=[{"message": {"content": "{"}, "finish_reason": "error"}]),
]


@pytest.mark.parametrize("reply", PASSING)
async def test_a_passing_error_with_status_200_is_tried_again(reply: Reply) -> None:
    """As with the status that it names, or would have; nothing of it is charged."""
    ledger = Ledger({})
    async with OpenAIServer(script([reply, GOOD])) as server, connected() as made:
        assert await verdict(model_at(server, made, ledger=ledger)) == FILLED

    assert (server.counts["chat"], ledger.spent.calls) == (2, 1)


@pytest.mark.parametrize(
    ("said", "expected", "message"),
    [
        ({"message": "Provider returned error", "code": 502}, ModelFailure, "502: Provider returned"),
        ({"message": "No auth credentials found", "code": 401}, AccessDenied, "401: No auth"),
        ({"message": "Prompt is too odd", "type": "invalid_request_error"}, ModelFailure, "400: Prompt"),
        ({"message": "none left", "code": "insufficient_quota"}, AccessDenied, "none left"),
    ],
)
async def test_what_an_error_with_status_200_says_is_told(
    said: dict[str, Any], expected: type[ModelFailure], message: str
) -> None:
    """In the endpoint's words, with its status; a key that is refused ends the run."""
    async with OpenAIServer(lambda _: failing(error=said)) as server, connected() as made:
        made.attempts = 1
        with pytest.raises(expected, match=message):
            await model_at(server, made).say(ASKED)

    assert server.counts["chat"] == 1


async def test_a_parameter_refused_with_status_200_is_left_out() -> None:
    """From then on, as with any other status."""
    refusal = failing(error={"message": "Unsupported parameter: 'seed'", "code": 400})
    async with OpenAIServer(lambda body: refusal if "seed" in body else GOOD) as server, connected() as made:
        model = model_at(server, made)
        assert await verdict(model, seed=1) == await verdict(model, seed=2) == FILLED

    assert ["seed" in request.body for request in server.requests] == [True, False, False]


ROWS: list[tuple[list[dict[str, Any]], list[float]]] = [
    ([{"embedding": [1.0]}, {"index": 1, "embedding": [2.0]}], [1.0, 2.0]),
    ([{"index": 1, "embedding": [2.0]}, {"embedding": [1.0]}], [1.0, 2.0]),
    ([{"index": None, "embedding": [1.0]}, {"index": None, "embedding": [2.0]}], [1.0, 2.0]),
    ([{"embedding": [1.0]}, {"embedding": [2.0]}], [1.0, 2.0]),
    ([{"index": "1", "embedding": [2.0]}, {"index": "0", "embedding": [1.0]}], [1.0, 2.0]),
]


@pytest.mark.parametrize(("rows", "values"), ROWS)
async def test_an_index_that_is_left_out_is_the_place_or_zero(
    rows: list[dict[str, Any]], values: list[float]
) -> None:
    """Each text has its own embedding, in whichever order and with whichever index they come."""
    reply = Reply(body=json.dumps({"data": rows}).encode())
    async with OpenAIServer(embed=lambda _: reply) as server, connected() as made:
        found = await model_at(server, made, role="embed").embed(["一", "二"])

    assert found == [[value] for value in values]
    assert server.counts["embeddings"] == 1


async def test_an_index_that_leaves_the_order_open_is_a_failure() -> None:
    """No embedding is given to a text that it may not belong to."""
    rows = [{"embedding": [1.0]}, {"index": 0, "embedding": [2.0]}]
    reply = Reply(body=json.dumps({"data": rows}).encode())
    alone = Reply(body=json.dumps({"data": [{"index": 0, "embedding": [3.0]}]}).encode())

    def embed(body: dict[str, Any]) -> Reply:
        return reply if len(body["input"]) == 2 else alone

    async with OpenAIServer(embed=embed) as server, connected() as made:
        assert await model_at(server, made, role="embed").embed(["一", "二"]) == [[3.0], [3.0]]


Embed = Callable[[dict[str, Any]], Any]


def vectors(body: dict[str, Any]) -> list[list[float]]:
    """The length of each text."""
    given = body["input"] if isinstance(body["input"], list) else [body["input"]]
    return [[float(len(text))] for text in given]


@pytest.mark.parametrize(
    "refusal",
    [
        error(400, "base64 encoding is not currently supported"),
        error(500, "KeyError"),
        Reply(status=422, body=b'{"detail": "no"}'),
    ],
)
async def test_base64_that_is_refused_in_any_words_becomes_numbers(refusal: Reply) -> None:
    """From then on: the next call begins with them."""

    def embed(body: dict[str, Any]) -> Any:
        return refusal if "encoding_format" in body else vectors(body)

    async with OpenAIServer(embed=embed) as server, connected() as made:
        model = model_at(server, made, role="embed")
        assert await model.embed(["一", "二つ"]) == [[1.0], [2.0]]
        asked = server.counts["embeddings"]
        assert await model.embed(["三つ目"]) == [[3.0]]

    assert server.counts["embeddings"] == asked + 1


async def test_an_endpoint_that_embedded_as_base64_is_not_asked_for_numbers() -> None:
    """What it refuses afterwards is the text: one request, and no other form is tried."""
    embed = script([], lambda body: error(400, "too odd") if "odd" in body["input"] else vectors(body))
    async with OpenAIServer(embed=embed) as server, connected() as made:
        model = model_at(server, made, role="embed")
        await model.embed(["一"])
        with pytest.raises(ModelFailure, match="400: too odd"):
            await model.embed(["odd"])

    assert server.counts["embeddings"] == 2


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("status", [400, 413, 422])
async def test_an_endpoint_that_takes_few_texts_is_asked_for_few(most: int, status: int) -> None:
    """A call's own texts are parted as well; once its number is known no request has more."""

    def embed(body: dict[str, Any]) -> Any:
        return error(status, "too many inputs") if len(body["input"]) > most else vectors(body)

    async with OpenAIServer(embed=embed) as server, connected() as made:
        model = model_at(server, made, role="embed")
        assert await model.embed(["a" * n for n in range(1, 9)]) == [[float(n)] for n in range(1, 9)]
        before = len(server.requests)
        assert await model.embed(["b" * n for n in range(1, 9)]) == [[float(n)] for n in range(1, 9)]

    assert server.statuses[status] < 12
    assert all(len(request.body["input"]) <= most for request in server.requests[before:])


async def test_an_endpoint_that_embeds_only_the_first_text_is_asked_for_one_at_a_time() -> None:
    """Without a word of refusal: the number of its embeddings tells."""
    async with OpenAIServer(embed=lambda body: vectors(body)[:1]) as server, connected() as made:
        found = await model_at(server, made, role="embed").embed(["一", "二つ", "三つ目"])

    assert found == [[1.0], [2.0], [3.0]]
    assert len(server.requests[-1].body["input"]) == 1


async def test_an_endpoint_that_takes_no_list_is_given_the_text() -> None:
    """Two texts, in two requests of a text each."""

    def embed(body: dict[str, Any]) -> Any:
        return vectors(body) if isinstance(body["input"], str) else error(422, "str type expected")

    async with OpenAIServer(embed=embed) as server, connected() as made:
        model = model_at(server, made, role="embed")
        assert await model.embed(["一", "二つ"]) == [[1.0], [2.0]]
        before = server.counts["embeddings"]
        assert await model.embed(["三つ目", "四つ目だ"]) == [[3.0], [4.0]]

    assert server.counts["embeddings"] == before + 2
