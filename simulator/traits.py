"""What the bots of this program say of themselves; what is called alike on a user's own object is theirs."""

import asyncio
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Traits:
    """How a bot is asked.

    `takes` are the parts of a query beside its text that it is told of: "system", "history". It has `places`
    for so many questions at once, and whoever asks waits for one. One that answers `at_once` keeps nobody
    waiting.
    """

    takes: frozenset[str] = frozenset()
    places: asyncio.Semaphore | None = None
    at_once: bool = False


_USUAL = Traits()


def traits_of(rag: Any) -> Traits:
    """The traits of a bot that has some, else the usual ones."""
    try:
        found = getattr(rag, "traits", None)
    except Exception:  # a user's object, whose attributes are code of its own
        return _USUAL
    return found if isinstance(found, Traits) else _USUAL
