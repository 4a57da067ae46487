"""Progress on stderr while a run goes on; nothing when stderr is not a terminal."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from simulator.core.translations import language_of, told_in
from simulator.core.types import Conversation, GradingContext, Score
from simulator.runner.context import RunContext
from simulator.stats.red import primary_judge, red_marks


class Tally:
    """Counts what has happened so far."""

    def __init__(self, plan: Sequence[Conversation], context: RunContext) -> None:
        """Nothing has happened yet."""
        self.planned, self.context = len(plan), context
        self.over = self.turns = self.graded_turns = self.red = 0
        self.primary = primary_judge(context.grading.names)
        self.changed: Callable[[], None] = _nothing

    def turn(self, conversation: Conversation) -> None:
        """A new turn is there."""
        self.turns += 1
        self.changed()

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """A turn has been graded."""
        self.graded_turns += 1
        rules = self.context.settings.red
        self.red += bool(red_marks(context.conversation, scores, rules, self.primary))
        self.changed()

    def ended(self, conversation: Conversation) -> None:
        """A conversation is over."""
        self.over += 1
        self.changed()

    def __str__(self) -> str:
        """One line: conversations, turns, red, calls, money."""
        spent = self.context.ledger
        calls = sum(role.calls for role in spent.roles.values())
        money = "" if not calls else f", {calls} calls, {_money(spent.cost_usd)}"
        done = f"{self.over}/{self.planned} conversations, {self.graded_turns} turns graded"
        return f"{done}, {self.red} red{money}"


@contextlib.contextmanager
def progress_on_stderr(plan: Sequence[Conversation], context: RunContext) -> Iterator[Tally]:
    """The tally, shown as a bar when stderr is a terminal."""
    tally = Tally(plan, context)
    if not sys.stderr.isatty():
        yield tally
        return
    from rich.console import Console  # only for eyes
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=24), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        language = language_of(os.environ)
        task = bar.add_task(told_in(language, str(tally)), total=max(1, len(plan)))
        shown = [0.0]

        def changed() -> None:
            if time.monotonic() - shown[0] > 0.1:
                shown[0] = time.monotonic()
                bar.update(task, completed=tally.over, description=told_in(language, str(tally)))

        tally.changed = changed
        yield tally


def _nothing() -> None:
    pass


def _money(amount: float | None) -> str:
    return "price unknown" if amount is None else f"{amount:.2f} USD"
