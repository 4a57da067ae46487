"""A sitting with many customers at once: they come when they come, and nobody is graded meanwhile."""

import asyncio
from collections.abc import Sequence
from typing import Any

from simulator.core.errors import InputError
from simulator.core.settings import Settings, flag
from simulator.core.types import Case, Conversation, Rag, Turn, User, Utterance, traits_of
from simulator.load.pace import Pace
from simulator.load.times import Watch
from simulator.runner.context import RunContext
from simulator.runner.run import Progress, Runner
from simulator.storage.run_file import RunFile


def check_load(settings: Settings) -> None:
    """Raises InputError for customers' habits without customers, and for what cannot be held in a rush."""
    if settings.customers is None:
        given = [name for name in ("arrival", "think") if getattr(settings, name) is not None]
        if given:
            msg = f"{flag(given[0])} is about a load rehearsal: add --customers 50."
            raise InputError(msg)
    elif settings.sequential:
        msg = "--sequential holds the run in parts, --customers all at once: leave one of them out."
        raise InputError(msg)
    elif settings.engine != "local":
        msg = "--customers measures from one clock: leave out --engine, or hold it on one machine."
        raise InputError(msg)


class Rush(Runner):
    """One process with `--customers` customers at the same time.

    Grading begins when the last of them has left: no judge takes a bot's answer time.
    """

    def __init__(
        self,
        file: RunFile,
        stage: RunContext,
        rag: Rag,
        progress: Progress,
        plan: Sequence[Conversation] | None = None,
    ) -> None:
        """Like every sitting; the clock starts with `run`."""
        super().__init__(file, stage, rag, progress, plan)
        places = traits_of(rag).places is not None
        self.log = self.watch = Watch(file, stage.settings, places=places)
        self._pace = Pace(stage.settings)
        # What is to be graded when everybody has left; None from then on.
        self._later: list[tuple[Any, ...]] | None = []

    async def run(self) -> None:
        """All open conversations, so many at a time, and then all open grades."""
        self.watch.start()
        try:
            await super().run()
        finally:
            self.watch.write()
        later, self._later = self._later or [], None
        async with asyncio.TaskGroup() as tasks:
            for given in later:
                await self._room()
                super()._grade_later(*(*given[:-1], tasks))

    def _grade_later(self, *given: Any, **named: Any) -> None:
        if self._later is None:
            super()._grade_later(*given, **named)
        else:
            self._later.append(given)

    async def _play(self, start: Conversation, *given: Any, **named: Any) -> Conversation:
        due = self._pace.arrival()
        if due is not None:
            await asyncio.sleep(due - self.watch.now)
            self.watch.due(start.id, due)
        return await super()._play(start, *given, **named)

    def _user(self, start: Conversation) -> User:
        """The customer, who takes as long as people do; their own model's time is part of it."""
        user, most = super()._user(start), self.stage.turns(start)[0]

        async def thinking(case: Case, turns: tuple[Turn, ...]) -> Utterance:
            began, pause = self.watch.now, self._pace.thinking(start.id, len(turns) + 1)
            line = await user(case, turns)
            if pause is not None and line.next == "stay" and len(turns) < most:
                await asyncio.sleep(began + pause - self.watch.now)
                self.watch.due(start.id, began + pause)
            return line

        return thinking
