"""How a bot's model chooses among labels by log-likelihood: what the core asks of whoever does that.

That is a room of the lab. Whoever starts the program makes it known (`offer_choosing`); an adapter whose
endpoint may tell log-likelihoods takes a parameter `choosing`, and is given what `choosing_for` returns.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from simulator.core.messages import Message
from simulator.core.settings import Settings
from simulator.core.types import Answer, Query

Messages = Sequence[Mapping[str, str]]
# Sends a request to a path of an endpoint and returns its reply. Raises Unsupported where the endpoint
# understands the request and does not do it, BotFailure for whatever else goes wrong.
Post = Callable[[str, dict[str, Any]], Awaitable[Any]]


# Settings of a request that are for dialogues only.
_DIALOGUE_ONLY = frozenset({"stream", "stream_options", "messages", "n", "stop"})


def without_dialogue(body: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a request that also fit one for log-likelihoods."""
    return {key: value for key, value in body.items() if key not in _DIALOGUE_ONLY}


class Unsupported(Exception):
    """An endpoint that refuses this kind of request, with 400 or the like."""


class Chooser(Protocol):
    """Chooses by the log-likelihoods of one endpoint."""

    async def __call__(self, query: Query, messages: Messages) -> Answer | None:
        """The likeliest choice; None where the model has to write its answer."""
        ...

    async def probe(self) -> None:
        """Raises InputError where the endpoint has no log-likelihoods."""
        ...


class MakeChooser(Protocol):
    """Makes the chooser of an endpoint."""

    def __call__(self, body: Mapping[str, Any], post: Post, where: str, *, top_logprobs: int) -> Chooser:
        """`body` holds the model and other settings of every request; `where` names the endpoint."""
        ...


class Choosing(NamedTuple):
    """How choices are weighed.

    `refusal` is what is said of an adapter that cannot do it; None where the model may write its answers
    instead.
    """

    chooser: MakeChooser
    refusal: Message | None = None

    @property
    def is_required(self) -> bool:
        """Whether a run must not go on without log-likelihoods."""
        return self.refusal is not None


# How the choices of a run are weighed; None where the model writes its answers.
ChoosingFor = Callable[[Settings], Choosing | None]
_OFFERED: list[ChoosingFor] = []


def offer_choosing(choosing: ChoosingFor) -> None:
    """Makes known who chooses by log-likelihood; said by whoever starts the program."""
    _OFFERED[:] = [choosing]


def choosing_for(settings: Settings) -> Choosing | None:
    """What an adapter is given for a run whose prompt has choices; None where the model writes them."""
    return _OFFERED[0](settings) if _OFFERED else None
