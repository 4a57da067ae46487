"""Which conversations a budget has room for, so that what it pays for is whole: held to the end, and graded.

A conversation costs what those before it took on average, or at most what was forecast while there are none;
without a forecast the first one tells. The next begins when that much is free beside what those under way
may still take, and what a call reserves beyond its cost, for the last one is refused by its most. So much of
a large budget is free that it is no limit; with a small one, and at the end of every one, conversations are
held one after the other, each with its grades.

    budget 0.05, one costs about 0.02    the first; with its last grade 0.02 are spent, and the second begins;
                                         then 0.01 is left: too little, and the run stops
"""

import asyncio

from simulator.core.messages import Message, _
from simulator.core.settings import dollars
from simulator.models.pricing import METER, Ledger


class _UnderWay:
    """A conversation that was begun: what it has cost, and how much of it is not done."""

    def __init__(self) -> None:
        self.cost, self.parts = [0.0], 1


class Purse:
    """The budget of a run by conversations; without a budget all may begin."""

    def __init__(self, ledger: Ledger, forecast: float | None) -> None:
        """`forecast` are the dollars that a conversation may cost at most, None where nobody knows."""
        self._ledger, self._forecast = ledger, forecast
        self._under_way: dict[str, _UnderWay] = {}
        self._done, self._paid = 0, 0.0
        self._changed = asyncio.Event()

    async def begin(self, conversation: str) -> Message | None:
        """Waits until there is room for one more; why there will be none, None where it may begin.

        What this task and those that it starts spend from here on is counted as this conversation's.
        """
        while (left := self._ledger.left) is not None and (self._under_way or self._done):
            usual = self._one
            held = sum(
                max(0.0, (usual or 0.0) - conversation.cost[0]) for conversation in self._under_way.values()
            )
            if usual is not None and left - held >= usual + self._ledger.excess:
                break
            if not self._under_way:
                return _(
                    "too little is left of the budget of {budget} USD for another conversation ({paid}, and"
                    " one costs about {one} USD)",
                    budget=dollars(self._ledger.budget or 0.0),
                    paid=self._ledger.paid,
                    one=dollars(usual or 0.0),
                )
            self._changed.clear()
            await self._changed.wait()
        begun = self._under_way[conversation] = _UnderWay()
        METER.set(begun.cost)
        return None

    def add(self, conversation: str) -> None:
        """There is something more to do for this conversation before it is whole."""
        if begun := self._under_way.get(conversation):
            begun.parts += 1

    def done(self, conversation: str) -> None:
        """Something of it is done; with the last of it, it is whole."""
        if not (begun := self._under_way.get(conversation)):
            return
        begun.parts -= 1
        if not begun.parts:
            del self._under_way[conversation]
            self._done += 1
            self._paid += begun.cost[0]
            self._changed.set()

    @property
    def _one(self) -> float | None:
        """What one more is expected to cost, in dollars; None while nobody knows."""
        return self._paid / self._done if self._done else self._forecast
