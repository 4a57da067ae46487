"""For how long it is worth asking: --patience of one call, and of all calls while a model answers nobody.

`Patience` is one call's: the seconds of its attempts and of the waits between them. Nobody waits twice for
the same minute: time in the queue for a place among our own calls does not count, whether they queue here or
at the server (`Limiter.was_crowded_out`); a stop that the endpoint asked for does.

`Availability` is the model's. One call that fails may be at fault itself: a prompt that is too long, a text
that crashes a server. Where five in a row fail and nobody is answered in between, the model is away. Then

- no conversation is begun (`back`), and calls wait in a row (`turn`);
- the first of the row asks again after 1, 2, 4 seconds and so on, or as long as the endpoint names; where it
  fails it goes to the end of the row, for it may be the one at fault;
- the first answer lets all of them go on;
- after --patience without one everybody gets Outage, which ends the run: interrupted, without a loss.

Waiting in that row is nobody's own patience, and no limit of a bot's answer counts it.
"""

import asyncio
import math
import random
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager

from simulator.core.clock import awake, uncounted
from simulator.core.errors import ModelFailure, Outage
from simulator.core.messages import Message, _, say
from simulator.models.refusals import wait_of

# Seconds for a last attempt.
LAST = 1.0
# Failures in a row, of whichever calls, after which a model is away; fewer than the tries of a single call.
IN_A_ROW = 5
# Seconds of the first pause and of the longest while it is, unless the endpoint asks for more.
FIRST, LONGEST = 1.0, 5.0
# Seconds of the longest wait between two attempts of a call, unless the endpoint asks for more.
LONGEST_WAIT = 60.0
# Seconds of waiting that are worth a notice, and the seconds until the next one about the same endpoint:
# whoever looks at a terminal that stands still should know why, and not read the same line for each of 64
# calls.
WORTH_TELLING, SILENCE = 5.0, 15.0
# Time-outs of one call for which it is not to blame; a prompt that no server answers has an end.
MOST_FORGIVEN = 4


def wait_after(error: BaseException | None, tries: int, longest: float = math.inf) -> float:
    """Seconds until the next attempt, after so many: as long as the endpoint asks for, up to `longest`.

    Otherwise at random, of at most 1, 2, 4 and so on up to 60 seconds; also where it has asked twice for less
    than a second in vain, or all attempts would be over in no time.
    """
    seconds = wait_of(error)
    if seconds is None or (seconds < 1 and tries > 2):
        return random.uniform(0, min(2.0 ** (tries - 1), LONGEST_WAIT))  # noqa: S311 - no secret
    return min(seconds, longest)


def _too_long(wait: float, patience: float) -> Message:
    return _(
        "it asks for {wait:,.0f} s before another call: --patience is {patience:g} s",
        wait=wait,
        patience=patience,
    )


class Patience(AbstractContextManager[None]):
    """The seconds that one call may still take.

    Neither waiting for a place among our own calls counts, nor the time for which the process was suspended.
    `with patience:` counts the time of its block, `tries` the attempts. `gave_up` says why nobody waits any
    more, "" as long as somebody does; `is_told`: because the endpoint named a wait that is too long.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.spent = seconds, 0.0
        self.tries = self.forgiven = 0
        self.gave_up: Message | str = ""
        self.is_told = False

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.seconds - self.spent)

    def __enter__(self) -> None:
        """Counts the time spent in the `with` block."""
        self._entered = awake()

    def __exit__(self, *_error: object) -> None:
        self.spent += awake() - self._entered

    def renew(self, seconds: float | None) -> None:
        """As if only so many seconds were left, or all of them: what was waited for was everybody's."""
        self.spent = 0.0 if seconds is None else max(0.0, self.seconds - seconds)

    def forgive(self, spent: float) -> None:
        """Takes back an attempt that stood behind our own calls, a few times; `spent` was spent before."""
        if self.forgiven < MOST_FORGIVEN:
            self.forgiven += 1
            self.tries -= 1
            self.spent = spent

    def fitting(self, seconds: float, error: BaseException) -> float | None:
        """A wait after this error that leaves time for an attempt; None, and `gave_up`, where none does.

        It is shortened for that, unless the endpoint itself asked for it.
        """
        asked_for = wait_of(error)
        if asked_for is None and self.left > LAST:
            seconds = min(seconds, self.left - LAST)
        if seconds < self.left:
            return seconds
        if asked_for is None or asked_for < self.left:
            self.gave_up = _(
                "given up after {spent:.0f} s: --patience is {patience:g} s",
                spent=self.spent,
                patience=self.seconds,
            )
        else:
            self.is_told, self.gave_up = True, _too_long(asked_for, self.seconds)
        return None

    async def sleep(self, seconds: float) -> None:
        """Waits before another attempt; the wait counts."""
        with self:
            await asyncio.sleep(seconds)


class Availability:
    """Of one model at one address; `answers` counts what it answered, refusals included."""

    def __init__(self, where: str, patience: float, notice: Callable[..., bool]) -> None:
        """`where` is the address as it is shown; `patience` in seconds; `notice` is that of `Notices`."""
        self.where, self.patience, self.notice = where, patience, notice
        self.answers = 0
        self._failures = 0  # in a row
        self._failure = ModelFailure("error", "")  # the last one
        self._asked_for = 0.0  # the seconds that came with it
        self._since: float | None = None  # it is away
        self._tries = 0  # since then
        self._due: float | None = None  # when the next one is to be
        self._row: deque[object] = deque()  # the calls that wait; the first one asks next
        self._is_asking = self._was_noticed = False
        self._news = asyncio.Event()  # set, and replaced, at whatever those that wait have to look at again
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
        if self._was_noticed:
            seconds = awake() - self._since
            say(_("{address} answers again, after {seconds:.0f} s.", address=self.where, seconds=seconds))
        self._since, self._tries, self._due, self._was_noticed = None, 0, None, False
        self._tell()

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
            self._tell()
        return Outage(self._lost.failure.kind, self._lost.message)

    async def turn(self) -> float | None:
        """Waits while it is away. Seconds: this call asks again for all, and has so many for it.

        It tells with `asked` that it has asked. None: it is back. Raises Outage when nobody asks any more.
        """
        place = object()
        self._row.append(place)
        try:
            with uncounted():
                while self.is_away:
                    self._raise_if_lost()
                    if self._is_asking or self._row[0] is not place:
                        await self._news.wait()
                    elif await self._is_due():
                        self._is_asking = True
                        return max(self.left, LAST)
        finally:
            self._row.remove(place)
            self._tell()
        return None

    def asked(self) -> None:
        """The call that asked for all is over, whatever came of it."""
        self._is_asking = False
        self._tell()

    async def back(self) -> None:
        """Waits with what need not begin while the model is away. Raises Outage once nobody waits for it."""
        while self.is_away:
            self._raise_if_lost()
            # Without a call that asks it would be waited for in vain.
            if not self._is_asking and not self._row:
                return
            await self._news.wait()

    def _raise_if_lost(self) -> None:
        if self._lost:
            raise self.lost(self._failure)

    async def _is_due(self) -> bool:
        """Whether it is time to ask again, after waiting for it, or for news."""
        if self._due is None:
            if (pause := self._pause()) is None:
                return False
            self._due = asyncio.get_running_loop().time() + pause
        try:
            async with asyncio.timeout_at(self._due):
                await self._news.wait()
        except TimeoutError:
            self._due = None
            return True
        return False

    def _pause(self) -> float | None:
        """Seconds until the next try, with a notice; None where it is given up."""
        left = self.left
        pause = max(min(FIRST * 2.0**self._tries, LONGEST), self._asked_for)
        if self._asked_for > left or left <= LAST:
            why = _("no call was answered for {patience:g} s (--patience)", patience=self.patience)
            why = _too_long(self._asked_for, self.patience) if self._asked_for else why
            message = _("{failure} ({why})", failure=self._failure.message, why=why)
            self.lost(ModelFailure(self._failure.failure.kind, message))
            return None
        pause = min(pause, max(left - LAST, 0.0))
        self._tries += 1
        why = _(
            "{address} answers no call; no conversation begins until it does, for {left:.0f} s at most"
            " (--patience): {reason}",
            address=self.where,
            left=left,
            reason=self._failure.message,
        )
        noticed = self.notice(self.where, pause, why, since=self.patience - left)
        self._was_noticed = noticed or self._was_noticed
        return pause

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class Notices:
    """Notices on stderr about waiting for an endpoint, one for all calls that wait."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def waiting(self, where: str, seconds: float, why: Message | str, since: float = 0.0) -> bool:
        """Prints a notice of a long wait, unless one was printed lately; whether it did.

        `since` is the time spent so far.
        """
        now = asyncio.get_running_loop().time()
        # Short waits add up: the third of three seconds is worth a word.
        if since + seconds >= WORTH_TELLING and now >= self._until.get(where, now):
            self._until[where] = now + max(seconds, SILENCE)
            say(_("waiting {seconds:.0f} s: {why}", seconds=seconds, why=why))
            return True
        return False
