"""What bots say of themselves: only those of this program do."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from simulator.shelves.rag_adapters._limits import LimitedBot, Limits

from simulator.core.types import Case, Query
from simulator.runner.conversation import ask
from simulator.runner.masking import MaskedBot
from simulator.runner.prompts import PromptedBot, PromptVariant, read_prompt

QUERY = Query(text="いくらですか", case="r1")
PROMPT = """
version = "1"
ja.user = "$question"
en.user = "$question"
"""


def prompt_of(text: str) -> PromptVariant:
    """A prompt of the user's own."""
    Path("mine.toml").write_text(text, encoding="utf-8")
    return read_prompt("./mine.toml")


class Crowded:
    """A bot whose own affairs are called as this program calls some of its."""

    def __init__(self, value: Any) -> None:
        self.places = self.takes = self.at_once = self.traits = self.limits = value

    def __call__(self, query: Query) -> str:
        """The answer."""
        return "in " + threading.current_thread().name


class Touchy:
    """A bot with attributes that cannot be looked at."""

    def __getattr__(self, name: str) -> Any:
        """Fails as a careless one does."""
        raise (AttributeError if name.startswith("_") else KeyError)(name)

    def __call__(self, query: Query) -> str:
        """The answer."""
        return "in " + threading.current_thread().name


@pytest.mark.parametrize(
    "made", [partial(Crowded, value) for value in (["Tokyo"], 5, True, "two")] + [Touchy]
)
async def test_a_bots_own_attributes_are_its_own(made: Callable[[], Any]) -> None:
    """Whatever they are called, and with a prompt and limits around it, it is asked as any bot."""
    bot = made()
    prompt, row = prompt_of(PROMPT), Case(id="r1", question="いくらですか", language="ja")
    prompted = PromptedBot(bot, prompt, lambda _: row)
    around = [bot, MaskedBot(bot, None, 5), LimitedBot(bot, Limits(concurrency=1)), prompted]

    for rag in around:
        answer = await ask(rag, QUERY, 5)
        assert (answer.error, answer.text.startswith("in ")) == (None, True)
        assert answer.text != f"in {threading.current_thread().name}"
