"""While a run waits for answers, it imports what paints its reports, and computes some of what they show."""

import asyncio
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from simulator.core.types import Conversation, GradingContext, Score
from simulator.runner.run import Progress

# Seconds before anything is imported: by then the first calls are under way.
DELAY = 1.0
# Conversations: the cache of text overlaps that the reports use holds about so many.
MOST = 150
# Seconds between two conversations: all at once would keep the next calls waiting.
PAUSE = 0.02


class PrefetchingProgress:
    """Passes all progress on, and looks through finished conversations as the reports will."""

    def __init__(self, progress: Progress) -> None:
        """`progress` is told everything."""
        self._progress, self._left = progress, MOST
        self._finished: deque[Conversation] = deque()

    def turn(self, conversation: Conversation) -> None:
        """There is a new turn."""
        self._progress.turn(conversation)

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """A turn has been graded."""
        self._progress.graded(context, scores)

    def ended(self, conversation: Conversation) -> None:
        """A conversation is over."""
        self._progress.ended(conversation)
        if self._left:
            self._left -= 1
            self._finished.append(conversation)
            if len(self._finished) == 1:
                asyncio.get_running_loop().call_later(PAUSE, self._prefetch)

    def _prefetch(self) -> None:
        from simulator.users.leaving import ScoresByTurn, answered_by

        answered_by(self._finished.popleft(), ScoresByTurn())
        if self._finished:
            asyncio.get_running_loop().call_later(PAUSE, self._prefetch)


@contextmanager
def prefetched_reports(*, offline: bool) -> Iterator[None]:
    """Imports on a thread what paints the reports, after the models' client, once a run takes longer."""
    timer = threading.Timer(DELAY, _import, [offline])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _import(offline: bool) -> None:
    if not offline:
        import_module("openai")
    import_module("simulator.cli.publish")
    import_module("simulator.report.run_page")
    import_module("simulator.report.painters.run_page").prepare()
    import_module("simulator.report.painters.console")
