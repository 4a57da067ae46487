"""Many calls to one endpoint through the real client: its limits are kept, and nobody holds another up."""

import asyncio

from simulator.models.limiter import DIALOGUE, GRADING
from tests.scripted_models import ASKED, GOOD, connected, model_at, verdict
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer
from tests.servers.replies import ChatRequest


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
