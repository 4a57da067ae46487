"""When customers come, and how long they think: drawn from the seed, the same in every run.

    --customers 50                       all fifty at once, each next one as soon as one leaves
    --customers 50 --arrival 30/min      a Poisson process: every two seconds on average, in bunches
    --think 8                            a pause before each line, with a median of 8 s

Pauses are log-normal with a spread of `SPREAD`: most are near the median, a few several times as long, as
people are. The time that the customer's own model takes is part of the pause, not added to it.

Judges wait until the last customer has left. They would take the same network and processor, and slow down
the answers that are being timed.
"""

import asyncio
import math
import random
from collections.abc import Iterator
from typing import Any

from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings, flag
from simulator.core.types import Case, Conversation, Turn, User, Utterance, traits_of
from simulator.lab.load.figures import LineTimer
from simulator.lab.load.settings import LoadSettings, read_arrival
from simulator.runner.run import Runner
from simulator.storage.run_file import RunFile

# Of the logarithm of thinking times: one in six is longer than 1.6 times the median.
SPREAD = 0.5


class Pace:
    """The arrival times of customers in one session, and their thinking times, in seconds."""

    def __init__(self, settings: Settings) -> None:
        """By default all customers arrive at once, and do not think."""
        load = LoadSettings.of(settings)
        self.customers = load.customers or 1
        self.think, self._seed = load.think, settings.seed
        self._arrivals = self._arriving(read_arrival(load.arrival) if load.arrival else None)

    def arrival(self) -> float | None:
        """When the next customer is due, in seconds from the start; None for as soon as there is room."""
        return next(self._arrivals, None)

    def _arriving(self, rate: float | None) -> Iterator[float]:
        """All at once, or `rate` customers a second: a Poisson process, whose gaps are exponential."""
        if rate is None:
            yield from (0.0 for _unused in range(self.customers))
            return
        rng, at = random.Random(f"{self._seed}/arrivals"), 0.0  # noqa: S311 - a choice, not a secret
        while True:
            # Customers who do not know of one another: gaps are exponential, and arrivals bunch.
            at += rng.expovariate(rate)
            yield at

    def thinking(self, conversation: str, turn: int) -> float | None:
        """Seconds that a customer reads and types before a line (log-normal); None for no pause."""
        if self.think is None:
            return None
        rng = random.Random(f"{self._seed}/{conversation}/{turn}")  # noqa: S311 - as above
        return self.think * math.exp(SPREAD * rng.gauss(0, 1))


def check_load(settings: Settings) -> None:
    """Raises InputError for --arrival or --think without --customers."""
    load = LoadSettings.of(settings)
    named = (name for name in ("arrival", "think") if getattr(load, name) is not None)
    if load.customers is None and (name := next(named, None)):
        raise InputError(_("{flag} is about a load rehearsal: add --customers 50.", flag=flag(name)))


class LoadRunner(Runner):
    """A Runner with `--customers` customers at the same time.

    Grading begins when the last of them has left, so that judges do not slow the bot's answers down. What a
    resumed run has already graded is not graded again; its sessions are counted one by one (`load_sessions`).
    """

    file: RunFile

    def __init__(self, *args: Any) -> None:
        """Like every Runner; the clock starts with `run`."""
        super().__init__(*args)
        places = traits_of(self.bot).places is not None
        self.log = self.watch = LineTimer(self.file, self.context.settings, places=places)
        self._pace = Pace(self.context.settings)
        # Turns to grade when everybody has left, as arguments; None from then on.
        self._ungraded_turns: list[tuple[Any, ...]] | None = []

    @property
    def places(self) -> int:
        """As many customers at once as were asked for, whatever --concurrency is."""
        return self._pace.customers

    async def run(self) -> None:
        """Plays all open conversations, then grades all ungraded turns."""
        self.watch.start()
        try:
            await super().run()
        finally:
            self.watch.write()
        turns, self._ungraded_turns = self._ungraded_turns or [], None
        async with asyncio.TaskGroup() as tasks:
            for args in turns:
                await self._grading_caught_up()
                super()._grade_later(*(*args[:-1], tasks))

    async def _afford(self, start: Conversation) -> None:
        """All customers come, whatever is left: their number is what is measured."""

    def _grade_later(self, *args: Any, **kwargs: Any) -> None:
        if self._ungraded_turns is None:
            super()._grade_later(*args, **kwargs)
        else:
            self._ungraded_turns.append(args)

    async def _play(self, start: Conversation, *args: Any, **kwargs: Any) -> Conversation:
        # Taken when the conversation gets its place, so with more customers than places the later ones are
        # late, and that is measured.
        due = self._pace.arrival()
        if due is not None:
            await asyncio.sleep(due - self.watch.now)
            self.watch.due[start.id] = due
        return await super()._play(start, *args, **kwargs)

    def _user(self, start: Conversation) -> User:
        """The user, slowed down to a person's speed; the time of the user's model is part of it.

        No pause before somebody leaves, nor after the last turn: nobody waits for a line that is not sent.
        """
        user, most = super()._user(start), self.context.turns(start)[0]

        async def thinking(case: Case, turns: tuple[Turn, ...]) -> Utterance:
            began, pause = self.watch.now, self._pace.thinking(start.id, len(turns) + 1)
            line = await user(case, turns)
            # The pause begins with the last answer, and the model's time is in it; nothing is waited where
            # that took longer.
            if pause is not None and line.next == "stay" and len(turns) < most:
                await asyncio.sleep(began + pause - self.watch.now)
                self.watch.due[start.id] = began + pause
            return line

        return thinking
