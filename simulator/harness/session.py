"""One process of lm_eval: its one event loop, who takes part, and what was said and graded in it.

lm_eval makes models and filters by name and task functions by path, so that they can meet only here.
"""

import asyncio
import functools
import sys
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from simulator.core import shelves
from simulator.core.roles import endpoints
from simulator.core.settings import Settings, load
from simulator.core.types import Conversation, Language, Rag, Results
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext

T = TypeVar("T")
# A document: the task's name, and its number there.
Place = tuple[str, int]


class Session:
    """Made once per process; the bot is connected when it is first asked."""

    def __init__(self, settings: Settings, earlier: Results | None = None) -> None:
        """Whatever is wrong with the settings shows here; `earlier` is the run that is gone on with."""
        self.settings = settings.model_copy(update={"protocol": "single_turn"})
        self.ledger = Ledger.of(settings, earlier)
        self.stage = RunContext(self.settings, endpoints(settings), (shelves.scripted(),), self.ledger)
        self.tasks: Mapping[str, Any] = {}
        # What was held for a document, as often as it was asked; and for a row of one of our own tasks.
        self.talks: dict[Place, list[Conversation]] = {}
        self.of_rows: dict[tuple[str, str], Conversation] = {}
        self._runner = asyncio.Runner()
        self._rag: Rag | None = None

    @functools.cached_property
    def playing(self) -> RunContext:
        """Where customers are played: only for documents that name a persona."""
        settings = self.settings.model_copy(update={"protocol": "dialogue"})
        return RunContext(settings, endpoints(settings), tuple(self.stage.personas.values()), self.ledger)

    @property
    def whole(self) -> RunContext:
        """Everyone who takes part."""
        return self.playing if "playing" in vars(self) else self.stage

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of async work: all of it runs on one event loop, to which connections belong."""
        return self._runner.run(work)

    async def bot(self, plan: tuple[Conversation, ...]) -> Rag:
        """The bot, connected when it is first needed."""
        if self._rag is None:
            self._rag = await self.stage.rag(plan)
        return self._rag

    def masked(self, text: str, language: Language) -> str:
        """The text without personal data, where that is to be masked."""
        redactor = self.stage.redactor
        return redactor.redact(text, language).text if redactor else text

    def close(self) -> None:
        """Closes every connection, and the loop."""
        self.run(self.stage.close(self._rag))
        if self.whole is not self.stage:
            self.run(self.whole.close(None))
        self._runner.close()
        _forget(self)


class _Current:
    session: Session | None = None


def begin(settings: Settings, earlier: Results | None = None) -> Session:
    """The session of this process from now on."""
    _Current.session = Session(settings, earlier)
    return _Current.session


def current() -> Session:
    """The session of this process; begun by the environment and rehearsal.toml where nobody began one."""
    return _Current.session or begin(load({}))


def _forget(session: Session) -> None:
    if _Current.session is session:
        _Current.session = None


def say(text: str) -> None:
    """A line on stderr, where everything goes that is no result."""
    sys.stderr.write(f"{text}\n")
