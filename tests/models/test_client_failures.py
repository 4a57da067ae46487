"""When an endpoint fails: what is tried again, what it is called afterwards, and what is not shown."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from simulator.core.errors import AccessDenied, ModelFailure, Outage
from simulator.models import patience
from simulator.models.cache import ResponseCache
from simulator.models.connections import ATTEMPTS
from simulator.models.patience import wait_after
from simulator.models.pricing import Ledger
from tests.paths import ROOT
from tests.scripted_models import ASKED, GOOD, KEY, connected, model_at, verdict
from tests.servers.faults import BAD_GATEWAY
from tests.servers.openai import FAULTS, OpenAIServer, Reply, error, script

TRANSIENT = {
    "429": FAULTS["429"](""),
    "408": Reply(status=408),
    "409": Reply(status=409),
    "500": Reply(status=500),
    "502": BAD_GATEWAY,
    "503": Reply(status=503),
    "reset": Reply(close=True),
}
JSON = {"content-type": "application/json"}


def completion(content: Any) -> bytes:
    """A chat completion with this message content."""
    return json.dumps({"choices": [{"message": {"content": content}}]}).encode()


@pytest.mark.parametrize("name", TRANSIENT)
async def test_what_may_pass_is_tried_again(name: str) -> None:
    """One failure of this kind costs an attempt, not the reply."""
    async with OpenAIServer(script([TRANSIENT[name], GOOD])) as server, connected() as made:
        assert (await verdict(model_at(server, made)))["grade"] == 4

    assert server.counts["chat"] == 2


@pytest.mark.parametrize(
    ("reply", "timeout", "kind", "said"),
    [
        (TRANSIENT["500"], 10, "error", "500: The server had an error while processing your request."),
        (TRANSIENT["reset"], 10, "unreachable", "no connection"),
        (FAULTS["stall"](""), 0.126, "timeout", "no reply within 0.13 s"),
    ],
)
async def test_after_six_attempts_it_is_a_typed_failure(
    reply: Reply, timeout: float, kind: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a request that fails where another is answered: it says which model of which role, and why."""
    monkeypatch.setattr(patience, "FIRST", 0.0)
    ledger = Ledger({})

    def at_fault(request: Any) -> str | Reply:
        return reply if request["messages"] == ASKED else "OK"

    async with OpenAIServer(at_fault) as server, connected(timeout=timeout) as made:
        with pytest.raises(ModelFailure, match=r"^judge model fake-chat at ") as met:
            await model_at(server, made, ledger=ledger).say(ASKED)

    assert not isinstance(met.value, Outage)
    # Another one tells that it is this request, which has one try more.
    assert server.counts["chat"] == ATTEMPTS + 2 == 8
    assert (met.value.failure.kind, said in str(met.value)) == (kind, True)
    # What timed out or broke off may be billed: calls of unknown cost, beside the one that was answered.
    uncounted = 0 if kind == "error" else 7
    assert (ledger.spent.calls, ledger.spent.uncounted) == (uncounted + 1, uncounted)


async def test_an_address_where_nobody_listens_is_unreachable() -> None:
    """A refused connection and an unknown host are no time-out, and said in words of ours."""
    async with OpenAIServer() as gone:
        pass
    async with connected() as made:
        made.attempts = 1
        nowhere = "http://nowhere.invalid/v1"
        for url, why in ((gone.url, "nothing listens at this port"), (nowhere, "no host of this name")):
            with pytest.raises(ModelFailure, match=rf"no connection \({why}") as met:
                await model_at(url, made).say(ASKED)
            assert met.value.failure.kind == "unreachable"


class Told:
    """Remembers how long a call would have waited, and does not wait."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def __call__(self, error: BaseException, tries: int) -> float:
        self.waits.append(wait_after(error, tries))
        return 0.0


async def test_too_many_requests_wait_as_asked_and_halve_the_limit() -> None:
    """Retry-After is waited for, and the limit of the address is halved, then grows again."""
    wait = Told()
    async with OpenAIServer(script([FAULTS["429"](""), GOOD])) as server, connected(wait=wait) as made:
        model = model_at(server, made)
        limiter = made.limiter(model.endpoint)
        before = limiter.allowed
        await model.say(ASKED)

        assert wait.waits == [0]
        assert before / 2 < limiter.allowed < before


async def test_to_be_asked_again_at_once_is_believed_twice() -> None:
    """Then the usual wait is waited, else six attempts would pass in a moment that is no other."""
    wait = Told()
    async with OpenAIServer(script([FAULTS["429"]("")] * 4 + [GOOD])) as server, connected(wait=wait) as made:
        await model_at(server, made).say(ASKED)

    assert wait.waits[:2] == [0, 0]
    assert 0 < wait.waits[2] <= 4
    assert 0 < wait.waits[3] <= 8


async def test_the_wait_is_read_from_a_real_answer() -> None:
    """A number or a date, as long as it may be; the past, nonsense and minus are none."""
    import openai

    soon = format_datetime(datetime.now(tz=UTC) + timedelta(seconds=30), usegmt=True)
    told = ["7", "9999", soon, "-3", "nan", "soon", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 99 Foo"]
    refusals = script([Reply(status=429, headers={"retry-after": each}) for each in told])
    waits = []
    async with OpenAIServer(refusals) as server, openai.AsyncOpenAI(
        base_url=server.url, api_key="x", max_retries=0
    ) as client:  # fmt: skip
        for _ in told:
            with pytest.raises(openai.RateLimitError) as met:
                await client.post("/chat/completions", body={"model": "m", "messages": ASKED}, cast_to=object)
            waits.append(wait_after(met.value, tries=1, longest=120))

    assert waits[:2] == [7, 120]
    assert 25 <= waits[2] <= 31
    assert max(waits[3:]) <= 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=401),
        error(402, "Insufficient Balance"),
        Reply(status=403),
        Reply(status=404),
        FAULTS["quota"](""),
        error(404, "Not found: no endpoint here."),
    ],
)
async def test_no_access_ends_it_at_once(reply: Reply) -> None:
    """A refused key, account or model is asked once, and the message names what to check."""
    async with OpenAIServer(lambda _: reply) as server, connected() as made:
        with pytest.raises(AccessDenied, match="Check REHEARSAL_USER_KEY, _URL and _MODEL") as met:
            await model_at(server, made, role="user").say(ASKED)

    assert (server.counts["chat"], met.value.failure.kind) == (1, "denied")


@pytest.mark.parametrize("before", [0, 190, 290, 298])
@pytest.mark.parametrize("status", [401, 500])
async def test_a_key_that_the_endpoint_repeats_is_not_shown(before: int, status: int) -> None:
    """Also not the first half of it, where a long message is cut."""
    reply = error(status, f"{'x' * before} {KEY} is wrong\nreally")
    async with OpenAIServer(lambda _: reply) as server, connected() as made:
        made.attempts = 1
        with pytest.raises(ModelFailure) as met:
            await model_at(server, made).say(ASKED)

    assert KEY[:6] not in str(met.value)
    assert "\n" not in str(met.value)


async def test_a_query_in_the_address_is_not_shown() -> None:
    """What gateways take after a question mark may be secret."""
    async with OpenAIServer(lambda _: Reply(status=500)) as server, connected() as made:
        made.attempts = 1
        with pytest.raises(ModelFailure, match=f"at {server.url}: ") as met:
            await model_at(f"{server.url}?code=hunter2", made).say(ASKED)

    assert "hunter2" not in str(met.value)


@pytest.mark.parametrize(
    ("reply", "said", "charged"),
    [
        # An endpoint that takes offence at what was said refuses this turn, not the run.
        (error(400, "The prompt was filtered.", code="content_filter"), "The prompt was filtered", 0),
        # The model's own words of refusal are the message, and have their price.
        (FAULTS["refusal"](""), "I'm sorry, but I can't assist", 1),
    ],
)
async def test_a_refusal_is_told_as_one(reply: Reply, said: str, charged: int) -> None:
    """It is not asked again."""
    ledger = Ledger({})
    async with OpenAIServer(lambda _: reply) as server, connected() as made:
        with pytest.raises(ModelFailure, match=said) as met:
            await verdict(model_at(server, made, ledger=ledger))

    assert (met.value.failure.kind, server.counts["chat"], ledger.spent.calls) == ("refused", 1, charged)


NO_JSON = (
    Reply(body=b"not JSON", headers=JSON),
    Reply(body=b"\xff\xfe\x00", headers=JSON),
    Reply(body=b"", headers=JSON),
    Reply(body=b"[" * 100_000, headers=JSON),
    Reply(body=b"null"),
)


@pytest.mark.parametrize("reply", NO_JSON)
async def test_an_answer_that_is_no_json_is_asked_for_once_more(reply: Reply) -> None:
    """A proxy may have answered: the second answer counts, and a second one like the first is malformed."""
    async with OpenAIServer(script([reply, GOOD])) as server, connected() as made:
        assert await verdict(model_at(server, made)) == json.loads(GOOD)
    async with OpenAIServer(lambda _: reply) as server, connected() as made:
        with pytest.raises(ModelFailure, match=r"the reply is (not JSON: |empty)") as met:
            await model_at(server, made).say(ASKED)

    assert (met.value.failure.kind, server.counts["chat"]) == ("malformed", 2)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body=b'"ok"'),
        Reply(body=b"{}"),
        Reply(body=b'{"choices": []}'),
        Reply(body=b'{"choices": [{"message": null}]}'),
        Reply(body=b'{"choices": [{"message": {"content": [1]}}]}'),
        # Of Anthropic's, Google's and OpenAI's other API, and of a gateway.
        Reply(body=b'{"type": "message", "content": [{"type": "text", "text": "It is 5 yen."}]}'),
        Reply(body=b'{"candidates": [{"content": {"parts": [{"text": "It is 5 yen."}]}}]}'),
        Reply(body=b'{"output": [{"content": [{"type": "output_text", "text": "It is 5 yen."}]}]}'),
        Reply(body=b'{"statusCode": 200, "body": "{\\"choices\\": []}"}'),
    ],
)
async def test_an_answer_that_is_no_completion_is_malformed(reply: Reply) -> None:
    """JSON of another shape: a typed failure that says what there is, charged once, kept nowhere."""
    ledger = Ledger({})
    async with OpenAIServer(lambda _: reply) as server, connected(cache=ResponseCache("on")) as made:
        for _ in range(2):
            with pytest.raises(ModelFailure, match="the reply is not a chat completion: it ") as met:
                await model_at(server, made, ledger=ledger).say(ASKED)

    assert met.value.failure.kind == "malformed"
    assert server.counts["chat"] == ledger.roles["judge"].calls == 2


async def test_an_endpoint_without_base64_is_asked_for_numbers() -> None:
    """The refused encoding is left out from then on; usage is charged to the role, cached calls are free."""
    refused = error(400, "Unknown parameter: 'encoding_format'.", param="encoding_format")
    vectors, ledger = script([refused], lambda _: [[1.0, 2.0]]), Ledger({})
    async with OpenAIServer(embed=vectors) as server, connected(cache=ResponseCache("on")) as made:
        model = model_at(server, made, role="embed", ledger=ledger)
        found = [await model.embed([text]) for text in ("一", "二", "一")]

    assert found == [[[1.0, 2.0]]] * 3
    assert server.counts["embeddings"] == 3
    assert (ledger.roles["embed"].calls, ledger.roles["embed"].cached) == (2, 1)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"data": []},
        {"data": [{"index": at, "embedding": [1.0]} for at in range(3)]},
        {"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": ["x"]}]},
        {"data": [{"index": 0, "embedding": "%%%"}, {"index": 1, "embedding": "%%%"}]},
        {"data": [{"index": 0, "embedding": "AADAfw=="}, {"index": 1, "embedding": "AADAfw=="}]},
        {"data": [{"index": 0, "embedding": [10**400]}, {"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [0.0]}]},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]},
        {"data": [[1.0], [2.0]]},
    ],
)
async def test_embeddings_that_are_none_are_a_failure(data: dict[str, Any]) -> None:
    """One finite vector per text, of one length and not zeros, or a typed failure; nothing of it is kept."""
    reply = Reply(body=json.dumps(data).encode())
    async with OpenAIServer(embed=lambda _: reply) as server, connected(cache=ResponseCache("on")) as made:
        for _ in range(2):
            with pytest.raises(ModelFailure, match=r"embed model fake-chat .* embedding"):
                await model_at(server, made, role="embed").embed(["一", "二"])

    # Where their number is wrong, each text is asked for alone as well.
    rows = data.get("data", ())
    assert server.counts["embeddings"] == (2 if len(rows) == 2 and isinstance(rows[0], dict) else 6)


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [("shift_jis", "cp932"), ("utf-8", "utf-8"), ("of-nobody", "utf-8"), ("", "cp932"), ("", "euc_jp")],
)
async def test_a_refusal_is_told_in_the_encoding_that_its_page_names(charset: str, encoding: str) -> None:
    """Or that it can only be; proxies of Japanese companies answer in Shift_JIS with signs of Windows."""
    page = Reply(
        status=400,
        body="<title>①外部への接続は禁止です</title>".encode(encoding, "ignore"),
        headers={"content-type": f"text/html; charset={charset}"},
    )
    async with OpenAIServer(lambda _: page) as server, connected() as made:
        with pytest.raises(ModelFailure, match="外部への接続は禁止です"):
            await model_at(server, made).say(ASKED)


def test_asking_a_model_loads_no_openai_client() -> None:
    """It takes half a second, which every run with a model would wait for."""
    code = """
import asyncio, sys
from tests.scripted_models import ASKED, GOOD, connected, model_at
from tests.servers.openai import OpenAIServer, error, script

async def ask():
    replies = script([error(503, "busy"), error(400, "unknown field seed", param="seed"), GOOD])
    async with OpenAIServer(replies) as server, connected() as made:
        await model_at(server, made).say(ASKED, seed=1)
        assert server.counts["chat"] == 3

asyncio.run(ask())
print("openai" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
