"""Many calls to one endpoint through the real client: its limits are kept, and nobody holds another up."""

import asyncio
from itertools import islice

from pydantic import SecretStr

from simulator.core.roles import Endpoint
from simulator.core.types import Role
from simulator.models.client import Model
from simulator.models.connections import Connections
from simulator.models.limiter import DIALOGUE, GRADING
from simulator.models.pricing import Ledger
from tests.scripted_models import ASKED, GOOD, KEY, connected, model_at, verdict
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer
from tests.servers.replies import ChatRequest


def limited(server: OpenAIServer, made: Connections, role: Role = "judge", **limits: int) -> Model:
    """A role's model under the limits that its user gave."""
    endpoint = Endpoint(role=role, model="m", url=server.url, key=SecretStr(KEY), **limits)
    return Model(endpoint, made, Ledger({}), priority=GRADING if role == "judge" else DIALOGUE)


async def test_all_roles_share_what_an_endpoint_was_given() -> None:
    """Customer and judge, of different models, at one address: five requests in all."""
    async with OpenAIServer(lambda _: GOOD) as server, connected(calls=20) as made:
        user, judge = limited(server, made, "user", rpm=5), limited(server, made, rpm=5)
        calls = [asyncio.create_task(model.say(ASKED)) for model in (judge, user) * 4]
        for answer in islice(asyncio.as_completed(calls), 5):
            await answer
        waiting = [task for task in calls if task.cancel()]

    assert (len(waiting), server.counts["chat"]) == (3, 5)


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
