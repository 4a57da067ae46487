"""What a run does for its reports while it waits for others."""

import asyncio
from collections.abc import Sequence

from simulator.cli.prefetch import PrefetchingProgress
from simulator.core.types import Conversation, GradingContext, Score
from simulator.text.evidence import agreement
from tests.customer_conversations import QUESTION, REFERENCE, a_talk


class Told:
    """Who is told how a run goes on."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.over: list[str] = []

    def turn(self, conversation: Conversation) -> None:
        """A new turn."""

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """Grades."""

    def ended(self, conversation: Conversation) -> None:
        """A conversation is over."""
        self.over.append(conversation.id)


async def test_what_is_over_is_looked_at_one_by_one() -> None:
    """At once it is only passed on; a moment later the answer's agreement with its reference is known."""
    agreement.cache_clear()
    told = Told()
    ahead = PrefetchingProgress(told)
    for number in range(2):
        ahead.ended(a_talk((QUESTION["ja"], f"{REFERENCE['ja']}{number}"), id=f"talk {number}"))

    assert told.over == ["talk 0", "talk 1"]
    assert agreement.cache_info().currsize == 0
    async with asyncio.timeout(5):
        while agreement.cache_info().currsize < 2:  # noqa: ASYNC110 - nobody tells when it is found
            await asyncio.sleep(0)
