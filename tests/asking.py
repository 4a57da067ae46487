"""How tests ask a bot: one question, and what came of it."""

from collections.abc import Mapping
from typing import Any

import pytest

from simulator import Answer, BotFailure, ChatMessage, Query
from simulator.core import shelves
from simulator.runner.conversation import ask

HISTORY = (ChatMessage(role="user", content="前の質問"), ChatMessage(role="assistant", content="前の答え"))
FIRST = Query(text="料金は？", session="s1", case="c1", language="ja")
QUERY = FIRST.model_copy(update={"history": HISTORY})


async def put_to(adapter: str, settings: Mapping[str, str], timeout: float = 5) -> Answer:
    """What a run keeps of the answer to one question that the adapter asks."""
    bot: Any = await shelves.connect(adapter, settings, {})
    try:
        return await ask(bot, FIRST, timeout)
    finally:
        await bot.aclose()


async def answered(bot: Any, query: Query = FIRST) -> Any:
    """The answer to one question; the bot is closed."""
    try:
        return await bot(query)
    finally:
        await bot.aclose()


async def failure(bot: Any, query: Query = FIRST) -> tuple[str, str]:
    """Kind and message of the failure that one question meets; the bot is closed."""
    with pytest.raises(BotFailure) as caught:
        await answered(bot, query)
    return caught.value.failure.kind, str(caught.value.failure.message)
