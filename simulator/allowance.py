"""How much of a budget may still be spent while calls are in flight whose cost is not known yet.

Every call holds the most it may cost before it goes out, and gives it back when its real cost is known.
One that does not fit waits for calls in flight, and is refused when none is left that could give
anything back. So the budget is never exceeded, unless a reply is longer than was held for it.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from simulator.core.errors import RehearsalError
from simulator.core.settings import dollars


class BudgetSpent(RehearsalError):
    """The next call could exceed `--budget`."""


class Allowance:
    """A budget in dollars, what of it is spent, and what the calls in flight hold of it."""

    def __init__(self, budget: float, spent: float = 0.0) -> None:
        """Nothing is in flight yet."""
        self.budget, self.spent = budget, spent
        self.held, self.in_flight = 0.0, 0
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._refused: str | None = None

    @asynccontextmanager
    async def room(self, most: float) -> AsyncIterator[None]:
        """Holds `most` dollars for one call; raises BudgetSpent when there will never be so much left.

        After the first refusal nothing more goes out: a run does not end with its cheapest calls.
        """
        await self._take(most)
        try:
            yield
        finally:
            self._give_back(most)

    async def _take(self, most: float) -> None:
        if not self._waiting and self._fits(most):
            self._hold(most)
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((most, place))
        self._wake()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self._give_back(most)  # let in and cancelled at once
            raise

    def _fits(self, most: float) -> bool:
        return self._refused is None and self.spent + self.held + most <= self.budget

    def _hold(self, most: float) -> None:
        self.in_flight += 1
        self.held += most

    def _give_back(self, most: float) -> None:
        self.in_flight -= 1
        self.held = self.held - most if self.in_flight else 0.0  # no rests of rounding
        self._wake()

    def _wake(self) -> None:
        while self._waiting:
            most, place = self._waiting[0]
            if place.done():  # cancelled
                self._waiting.popleft()
            elif self._fits(most):
                self._waiting.popleft()
                self._hold(most)
                place.set_result(None)
            elif self._refused is None and self.in_flight:
                return
            else:
                self._waiting.popleft()
                self._refused = self._refused or self._reason(most)
                place.set_exception(BudgetSpent(self._refused))

    def _reason(self, most: float) -> str:
        paid = f"{dollars(self.spent)} USD paid, and the next call may cost {dollars(most)} USD"
        return f"the budget of {self.budget:g} USD is spent ({paid})"
