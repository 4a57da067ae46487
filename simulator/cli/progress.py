"""Progress on stderr while a run goes on; nothing when stderr is not a terminal."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from simulator.cli.terminal import progress_bar
from simulator.core.messages import Message, _
from simulator.core.types import Conversation, GradingContext, Score
from simulator.report.tables import money
from simulator.runner.context import RunContext
from simulator.stats.red import primary_judge, red_marks


class Tally:
    """Counts conversations, graded and red turns of a run."""

    def __init__(self, plan: Sequence[Conversation], context: RunContext) -> None:
        """`changed` is called after every event."""
        self.planned, self.context = len(plan), context
        self.over = self.graded_turns = self.red = 0
        self.primary = primary_judge(context.grading.names)
        self.changed: Callable[[], None] = lambda: None

    def turn(self, conversation: Conversation) -> None:
        """There is a new turn."""
        self.changed()

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """A turn has been graded; of whole conversations only the endings are counted."""
        if context.closing is not None:
            return
        self.graded_turns += 1
        rules = self.context.settings.red
        self.red += bool(red_marks(context.conversation, scores, rules, self.primary))
        self.changed()

    def ended(self, conversation: Conversation) -> None:
        """A conversation is over."""
        self.over += 1
        self.changed()

    def __str__(self) -> str:
        return str(self.message())

    def message(self) -> Message:
        """One line: conversations, turns, red, calls, money."""
        spent = self.context.ledger.spent
        price = money(spent) if spent.cost_usd is None else f"{spent.cost_usd:.2f} USD"
        counts = {"over": self.over, "planned": self.planned, "graded": self.graded_turns, "red": self.red}
        if spent.calls:
            return _(
                "{over}/{planned} conversations, {graded} turns graded, {red} red, {calls} calls, {price}",
                calls=spent.calls,
                price=price,
                **counts,
            )
        return _("{over}/{planned} conversations, {graded} turns graded, {red} red", **counts)


@contextlib.contextmanager
def progress_on_stderr(plan: Sequence[Conversation], context: RunContext) -> Iterator[Tally]:
    """The tally, shown as a bar when stderr is a terminal."""
    tally, updated = Tally(plan, context), 0.0
    with progress_bar(len(plan), tally.message()) as bar:

        def changed() -> None:
            nonlocal updated
            if time.monotonic() - updated > 0.1:
                updated = time.monotonic()
                bar.update(tally.over, len(plan), tally.message())

        tally.changed = changed
        yield tally
