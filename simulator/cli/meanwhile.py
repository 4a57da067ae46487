"""What a run needs only at its end is read, and looked at, while it waits for answers."""

import asyncio
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from simulator.core.types import Conversation, GradingContext, Score
from simulator.runner.run import Progress

# Seconds: by then the first calls are under way, which there is enough to do for.
FIRST_ANSWERS = 1.0
# Conversations: of so many the texts' agreement with references is remembered until the reports.
LOOKED_AT = 150
# Seconds between two of them.
PAUSE = 0.02


class LookingAhead:
    """Tells how a run goes on, and looks at those conversations that are over as its reports will."""

    def __init__(self, told: Progress) -> None:
        """Everything is passed on to whoever is told."""
        self._told, self._left = told, LOOKED_AT
        self._over: deque[Conversation] = deque()

    def turn(self, conversation: Conversation) -> None:
        """A new turn is there."""
        self._told.turn(conversation)

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """A turn has been graded."""
        self._told.graded(context, scores)

    def ended(self, conversation: Conversation) -> None:
        """A conversation is over: what was answered in it is found soon, while others are waited for."""
        self._told.ended(conversation)
        if self._left:
            self._left -= 1
            self._over.append(conversation)
            if len(self._over) == 1:
                self._look_later()

    def _look_later(self) -> None:
        asyncio.get_running_loop().call_later(PAUSE, self._look)

    def _look(self) -> None:
        """At one of them; all at once would keep the next calls waiting."""
        from simulator.users.leaving import ScoresByTurn, answered_by

        answered_by(self._over.popleft(), ScoresByTurn())
        if self._over:
            self._look_later()


@contextmanager
def reading_meanwhile(*, offline: bool) -> Iterator[None]:
    """Imports on a thread what paints the reports, after the models' client; nothing in a shorter run."""
    timer = threading.Timer(FIRST_ANSWERS, _read, [offline])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _read(offline: bool) -> None:
    if not offline:
        import_module("openai")
    import_module("simulator.cli.publish")
    import_module("simulator.report.html")
    import_module("simulator.report.html").prepare()
    import_module("simulator.report.console")
