"""Whether a model answers anybody, and what calls do while it does not.

One call that fails may be at fault itself: a prompt that is too long, a text that crashes a server. Where
five in a row fail and nobody is answered in between, the model is away. Then

- no conversation is begun (`Availability.back`), and calls wait in a row (`turn`);
- the first of the row asks again after 1, 2, 4 seconds and so on, or as long as the endpoint names; where it
  fails it goes to the end of the row, for it may be the one at fault;
- the first answer lets all of them go on;
- after --patience without one everybody gets Outage, which ends the run: interrupted, without a loss.

Waiting here is nobody's own patience, and no limit of a bot's answer counts it.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum, auto

from simulator.core.clock import awake, uncounted
from simulator.core.errors import ModelFailure, Outage
from simulator.core.messages import _, say

# Failures in a row, of whichever calls, after which a model is away; fewer than the tries of a single call.
IN_A_ROW = 5
# Seconds of the first pause and of the longest, unless the endpoint asks for more; and what the last try has.
FIRST, LONGEST, LAST = 1.0, 5.0, 1.0


class _Told(Enum):
    """What a call that waits is told."""

    ASK = auto()
    BACK = auto()
    LOST = auto()


Place = asyncio.Future[_Told]


class Availability:
    """Of one model at one address; `answers` counts what it answered, refusals included."""

    def __init__(self, where: str, patience: float, notice: Callable[..., bool]) -> None:
        """`where` is the address as it is shown; `patience` in seconds; `notice` is that of `Notices`."""
        self.where, self.patience, self.notice = where, patience, notice
        self.answers = 0
        self._failures = 0
        self._since: float | None = None
        self._tries, self._asked_for = 0, 0.0
        self._asking = self._told = False
        self._failure = ModelFailure("error", "")
        self._row: deque[Place] = deque()
        self._openers: list[Place] = []
        self._timer: asyncio.TimerHandle | None = None
        self._lost: Outage | None = None

    @property
    def is_away(self) -> bool:
        """Whether nobody is answered."""
        return self._since is not None

    @property
    def left(self) -> float:
        """The seconds for which it may still be away."""
        return self.patience - (awake() - self._since) if self._since is not None else self.patience

    def answered(self) -> None:
        """Somebody was answered: all that wait go on."""
        self.answers += 1
        self._failures = 0
        if self._since is None:
            return
        if self._told:
            seconds = awake() - self._since
            say(_("{address} answers again, after {seconds:.0f} s.", address=self.where, seconds=seconds))
        self._since, self._tries, self._told = None, 0, False
        self.close()
        self._tell_all(_Told.BACK)

    def failed(self, failure: ModelFailure, wait: float | None) -> None:
        """Somebody was not answered; `wait` is for how many seconds the endpoint asks to be left alone."""
        self._failures += 1
        self._failure, self._asked_for = failure, wait or 0.0
        if self._since is None and self._failures >= IN_A_ROW:
            self._since = awake()

    def lost(self, failure: ModelFailure) -> Outage:
        """The end of the run for this reason; nobody else is kept waiting either."""
        if self._lost is None:
            self._lost = Outage(failure.failure.kind, failure.message)
            self._since = awake() if self._since is None else self._since
            self.close()
            self._tell_all(_Told.LOST)
        return Outage(self._lost.failure.kind, self._lost.message)

    async def turn(self) -> bool:
        """Waits while it is away. True: this call asks again for all, and tells with `asked` that it has.

        Raises Outage when nobody asks any more.
        """
        place: Place = asyncio.get_running_loop().create_future()
        self._row.append(place)
        self._ask_next()
        try:
            with uncounted():
                told = await place
        except asyncio.CancelledError:
            # Told to ask, and cancelled in the same moment.
            if place.done() and not place.cancelled() and place.result() is _Told.ASK:
                self.asked()
            raise
        if told is _Told.LOST:
            raise self.lost(self._failure)
        return told is _Told.ASK

    def asked(self) -> None:
        """The call that asked for all is over, whatever came of it."""
        self._asking = False
        if self.is_away:
            self._ask_next()

    async def back(self) -> None:
        """Waits with what need not begin while the model is away. Raises Outage once nobody waits for it."""
        # Without a call that asks it would be waited for in vain.
        if self.is_away and (self._asking or self._row or self._lost):
            place: Place = asyncio.get_running_loop().create_future()
            self._openers.append(place)
            if self._lost or await place is _Told.LOST:
                raise self.lost(self._failure)

    def close(self) -> None:
        """Ends a pause before the next try."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell_all(self, told: _Told) -> None:
        for place in (*self._row, *self._openers):
            if not place.done():
                place.set_result(told)
        self._row.clear()
        self._openers.clear()

    def _ask_next(self) -> None:
        """Lets the first of the row ask, after a pause; gives up where none is worth it."""
        if self._lost is not None:
            return self._tell_all(_Told.LOST)
        if self._asking:
            return None
        while self._row and self._row[0].done():
            self._row.popleft()
        if not self._row:
            # The call that has just asked may be about to stand in the row again.
            asyncio.get_running_loop().call_soon(self._let_begin)
            return None
        left, pause = self.left, max(min(FIRST * 2**self._tries, LONGEST), self._asked_for)
        if self._asked_for > left or left <= LAST:
            self._give_up(self._asked_for)
            return None
        pause = min(pause, max(left - LAST, 0.0))
        self._tries, self._asking = self._tries + 1, True
        waited = self.patience - left
        why = _(
            "{address} answers no call; no conversation begins until it does, for {left:.0f} s at most"
            " (--patience): {reason}",
            address=self.where,
            left=left,
            reason=self._failure.message,
        )
        self._told = self.notice(self.where, pause, why, since=waited) or self._told
        self._timer = asyncio.get_running_loop().call_later(pause, self._let_ask)
        return None

    def _let_begin(self) -> None:
        """Where no call is left that asks, whatever begins next does."""
        if not (self._asking or self._row):
            self._tell_all(_Told.BACK)

    def _let_ask(self) -> None:
        self._timer = None
        while self._row:
            if not (place := self._row.popleft()).done():
                place.set_result(_Told.ASK)
                return
        self.asked()

    def _give_up(self, asked_for: float) -> None:
        failure = self._failure
        if asked_for:
            why = _(
                "it asks for {wait:,.0f} s before another call: --patience is {patience:g} s",
                wait=asked_for,
                patience=self.patience,
            )
        else:
            why = _("no call was answered for {patience:g} s (--patience)", patience=self.patience)
        message = _("{failure} ({why})", failure=failure.message, why=why)
        self.lost(ModelFailure(failure.failure.kind, message))
