"""Many calls to one endpoint through the real client: its limits are kept, and nobody holds another up."""

import asyncio
from pathlib import Path

from pydantic import SecretStr

from simulator.core.errors import ModelFailure
from simulator.core.roles import DIALOGUE, GRADING, Endpoint
from simulator.core.types import Role
from simulator.models.cache import ResponseCache
from simulator.models.client import Connections, Model
from simulator.models.pricing import Ledger
from tests.scripted_models import ASKED, GOOD, KEY, connected, model_at, verdict
from tests.servers.faults import Reply
from tests.servers.metering import Meter
from tests.servers.openai import OpenAIServer, tokens
from tests.servers.replies import ChatRequest


def limited(server: OpenAIServer, made: Connections, role: Role = "judge", **limits: int) -> Model:
    """A role's model under the limits that its user gave."""
    endpoint = Endpoint(role=role, model="m", url=server.url, key=SecretStr(KEY), **limits)
    return Model(endpoint, made, Ledger({}), priority=GRADING if role == "judge" else DIALOGUE)


async def test_headers_slow_calls_down_before_one_is_refused() -> None:
    """Thirty calls, six at a time, where twenty fit into a (short) minute: no 429 at all."""
    meter = Meter(requests=20, minute=0.5)
    async with OpenAIServer(lambda _: GOOD, meter=meter) as server, connected(calls=6) as made:
        await asyncio.gather(*(verdict(model_at(server, made)) for _ in range(30)))

    assert meter.refused == 0
    assert server.counts["chat"] == 30


async def test_a_silent_endpoint_is_asked_as_often_as_the_user_says() -> None:
    """With `rpm` given, the calls beyond it wait for the next minute; without it they are refused."""
    meter = Meter(requests=5, silent=True)
    async with OpenAIServer(lambda _: GOOD, meter=meter) as server, connected(calls=20) as made:
        calls = [asyncio.create_task(limited(server, made, rpm=5).say(ASKED)) for _ in range(9)]
        done, waiting = await asyncio.wait(calls, timeout=0.5)
        for task in waiting:
            task.cancel()

    assert (len(done), len(waiting), meter.refused) == (5, 4, 0)


async def test_all_roles_share_what_an_endpoint_was_given() -> None:
    """Customer and judge, of different models, at one address: five requests in all."""
    async with OpenAIServer(lambda _: GOOD) as server, connected(calls=20) as made:
        user, judge = limited(server, made, "user", rpm=5), limited(server, made, rpm=5)
        calls = [asyncio.create_task(model.say(ASKED)) for model in (judge, user) * 4]
        done, waiting = await asyncio.wait(calls, timeout=0.5)
        for task in waiting:
            task.cancel()

    assert len(done) == 5


async def test_after_429_nobody_else_runs_into_the_same_wall() -> None:
    """One call is refused for a while: those that waited behind it are not sent meanwhile."""
    refused = Reply(status=429, headers={"retry-after-ms": "150"})
    met = list[float]()

    def reply(_: ChatRequest) -> str | Reply:
        met.append(asyncio.get_running_loop().time())
        return refused if len(met) == 1 else GOOD

    async with OpenAIServer(reply) as server, connected(calls=1) as made:
        await asyncio.gather(*(verdict(model_at(server, made)) for _ in range(5)))

    assert len(met) == 6
    assert met[1] - met[0] >= 0.15


async def test_a_bot_that_hangs_leaves_judges_and_customers_their_places() -> None:
    """The bot's model at the same endpoint never answers: eight of its calls, and all grades arrive."""

    def reply(body: ChatRequest) -> str | Reply:
        return Reply(GOOD, delay=3600) if body["model"] == "bot" else GOOD

    async with OpenAIServer(reply) as server, connected(calls=4) as made:
        judge = model_at(server, made, priority=GRADING)
        await verdict(judge)
        bot = model_at(server, made, role="demo", name="bot")
        hanging = [asyncio.create_task(bot.say(ASKED)) for _ in range(8)]
        user = model_at(server, made, role="user", priority=DIALOGUE)
        async with asyncio.timeout(5):
            await asyncio.gather(*(verdict(model, seed=n) for n in range(20) for model in (judge, user)))
        for task in hanging:
            task.cancel()

    assert server.counts["chat"] == 41 + 2


async def test_a_dead_bot_endpoint_is_nobody_elses() -> None:
    """Where the bot's model has an address of its own, nothing of it is shared."""
    async with (
        OpenAIServer(lambda _: Reply(GOOD, delay=3600)) as dead,
        OpenAIServer(lambda _: GOOD) as server,
        connected(calls=2, timeout=0.3) as made,
    ):
        made.attempts = 1
        bots = [asyncio.create_task(model_at(dead, made, role="demo").say(ASKED)) for _ in range(4)]
        async with asyncio.timeout(5):
            await asyncio.gather(*(verdict(model_at(server, made), seed=n) for n in range(20)))
        failures = await asyncio.gather(*bots, return_exceptions=True)

    assert {each.failure.kind for each in failures if isinstance(each, ModelFailure)} == {"timeout"}


async def test_every_call_in_flight_has_its_connection() -> None:
    """The pool of connections is no smaller than the calls that may be in flight."""
    async with OpenAIServer(lambda _: Reply(GOOD, delay=0.3)) as server, connected(calls=130) as made:
        await asyncio.gather(*(verdict(model_at(server, made), seed=n) for n in range(130)))

    assert server.max_in_flight == 130


async def test_embeddings_asked_together_are_one_request_and_kept_one_by_one(tmp_path: Path) -> None:
    """Each is in the books and in the cache by itself: what is asked again alone is not paid again."""
    ledger = Ledger({})
    cache = ResponseCache("on", tmp_path / "responses.sqlite")
    async with OpenAIServer() as server, connected(cache=cache) as made:
        model = model_at(server, made, role="embed", ledger=ledger)
        together = await asyncio.gather(*(model.embed([f"回答{n}", "正解"]) for n in range(10)))
        assert server.counts["embeddings"] == 1
        alone = [await model.embed([f"回答{n}", "正解"]) for n in range(10)]

    assert alone == together
    assert server.counts["embeddings"] == 1
    assert (ledger.roles["embed"].calls, ledger.roles["embed"].cached) == (10, 10)
    sent = "".join(("回答0", "正解", *(f"回答{n}" for n in range(1, 10))))
    assert ledger.roles["embed"].tokens_in == tokens(sent)
