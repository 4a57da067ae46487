"""A chain as the bot under test: link after link is asked, and the last one's answer is the chain's."""

import asyncio
import contextlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simulator.conversation import answered
from simulator.core.errors import RagFailure
from simulator.core.types import Answer, Failure, Passage, Query, Step, Traits, Usage, traits_of
from simulator.grading.outputs import object_within, output_text
from simulator.prompting.asking import Prompted
from simulator.prompting.rendering import MissingVariable

# So much of the time that a customer waits is for the links; the rest is for saying which was late.
_SHARE = 0.99


class Asked(NamedTuple):
    """One link at its work; `own` when its bot is not the one that the whole run is told of."""

    name: str
    bot: Prompted
    own: bool = False


class Chained:
    """Has the places of the run's own bot; `timeout` in seconds is for all links together."""

    def __init__(self, links: Sequence[Asked], rag: Any, timeout: float) -> None:
        """`rag` is the run's own bot, whichever links it is asked by."""
        self.links, self.rag, self.timeout = tuple(links), rag, timeout
        self.traits = Traits(places=traits_of(rag).places)

    async def __call__(self, query: Query) -> Answer:
        """The last link's answer, with every link's as its steps; a link's failure is the chain's."""
        loop = asyncio.get_running_loop()
        late = loop.time() + self.timeout * _SHARE
        earlier: dict[str, str] = {}
        passages: tuple[Passage, ...] | None = None
        steps: list[Step] = []
        for link in self.links:
            answer = await _asked(link, query, Before(earlier, passages), max(late - loop.time(), 0.001))
            steps.append(Step(link=link.name, text=answer.text, seconds=answer.seconds, usage=answer.usage))
            if answer.error is not None:
                return _failed(link.name, answer.error, steps)
            passages = answer.passages if answer.shows_passages else passages
            earlier |= outcome(link.name, answer.text)
        return _whole(answer, steps, passages)

    async def aclose(self) -> None:
        """Closes the connections of every bot, once."""
        for bot in (self.rag, *(link.bot for link in self.links if link.own)):
            closed = getattr(bot, "aclose", lambda: None)()
            if inspect.isawaitable(closed):
                await closed


class Before(NamedTuple):
    """What the links before one came to: variables, and the passages that one of them showed last."""

    values: Mapping[str, str]
    passages: tuple[Passage, ...] | None


async def _asked(link: Asked, query: Query, before: Before, timeout: float) -> Answer:
    texts = None if before.passages is None else tuple(passage.text for passage in before.passages)

    async def once(asked: Query) -> Any:
        try:
            return await link.bot.ask(asked, before.values, texts)
        except MissingVariable as error:
            told = f"its prompt needs ${error.variable}, which no link before it gave"
            raise RagFailure("malformed", told) from None

    own = query.model_copy(update={"session": f"{query.session}/{link.name}"})
    places = traits_of(link.bot).places if link.own else None
    async with places or contextlib.nullcontext():
        return await answered(once, own, timeout)


def outcome(name: str, text: str) -> dict[str, str]:
    """What later links may use of a link's answer: `$intent`, `$intent_category`, `$intent_address_city`."""
    found = object_within(text)
    return {name: text, **dict(_flat(name, found or {}))}


def _flat(name: str, found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        yield f"{name}_{key}", _said(value)
        if isinstance(value, Mapping):
            yield from _flat(f"{name}_{key}", value)


def _said(value: Any) -> str:
    """A JSON value as a prompt says it: texts and numbers as they were written."""
    if isinstance(value, str):
        return value
    return output_text(value) if isinstance(value, (dict, list)) else json.dumps(value)


def _failed(name: str, error: Failure, steps: list[Step]) -> Answer:
    failure = error.model_copy(update={"message": f"link {name}: {error.message}"})
    return Answer(text="", error=failure, steps=tuple(steps), usage=_usage(steps))


def _whole(last: Answer, steps: list[Step], passages: tuple[Passage, ...] | None) -> Answer:
    return last.model_copy(
        update={
            "passages": passages or (),
            "shows_passages": passages is not None,
            "seconds": None,  # of all links: whoever asked the chain has timed it
            "usage": _usage(steps),
            "steps": tuple(steps),
        }
    )


def _usage(steps: list[Step]) -> Usage | None:
    """What all links took together; of several models, by no name, for no price fits their sum."""
    known = [step.usage for step in steps if step.usage]
    if not known:
        return None
    models = {usage.model for usage in known}
    return Usage(
        model=models.pop() if len(models) == 1 else "",
        tokens_in=sum(usage.tokens_in for usage in known),
        tokens_out=sum(usage.tokens_out for usage in known),
    )
