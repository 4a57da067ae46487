"""For how long one call goes on: its patience, the wait before another attempt, and what is said meanwhile.

Nobody waits twice for the same minute: time in the queue for a place among our own calls does not count as
--patience, whether they queue here or at the server (`Limiter.was_crowded_out`); a stop that the endpoint
asked for does.
"""

import asyncio
from contextlib import AbstractContextManager

from tenacity import RetryCallState, wait_random_exponential
from tenacity.wait import wait_base

from simulator.core.clock import awake
from simulator.core.messages import Message, _, say
from simulator.models.exchange import NoAnswer
from simulator.models.rates import Pause, Permit
from simulator.models.waits import wait_of


class RetryAfter(wait_base):
    """Waits as long as the endpoint asks for, otherwise random-exponentially from 1 to 60 seconds.

    Also where it has asked twice for less than a second in vain: all attempts would be over in no time.
    """

    def __init__(self, longest: float = 120.0) -> None:
        """No single wait is longer than `longest` seconds."""
        self.longest = longest
        self.otherwise: wait_base = wait_random_exponential(multiplier=1, max=60)

    def __call__(self, retry_state: RetryCallState) -> float:
        """Seconds until the next attempt."""
        # Of OpenAI's errors; NoAnswer has the answer to the provider's client, if any.
        seconds = wait_of(retry_state.outcome.exception() if retry_state.outcome else None)
        if seconds is None or (seconds < 1 and retry_state.attempt_number > 2):
            return self.otherwise(retry_state)
        return min(self.longest, seconds)


# Seconds of waiting that are worth a notice, and the seconds until the next one about the same endpoint:
# whoever looks at a terminal that stands still should know why, and not read the same line for each of 64
# calls.
WORTH_TELLING, SILENCE = 5.0, 15.0
# Seconds for a last attempt.
LAST = 1.0
# Time-outs of one call for which it is not to blame; a prompt that no server answers has an end.
MOST_FORGIVEN = 4


class Patience(AbstractContextManager[None]):
    """The seconds that one call may still take.

    Neither waiting for a place among our own calls counts, nor the time for which the process was suspended.
    `with patience:` counts the time of its block, `tries` the attempts. `gave_up` says why nobody waits any
    more, "" as long as somebody does.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.spent = seconds, 0.0
        self.tries = self.forgiven = 0
        self.gave_up: Message | str = ""
        # Whether the endpoint itself named a wait that is too long.
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

    def fitting(self, seconds: float, state: RetryCallState) -> float:
        """A wait that leaves time for an attempt after it, unless the endpoint itself asked for it."""
        error = state.outcome.exception() if state.outcome else None
        if seconds < self.left or self.left <= LAST or wait_of(error) is not None:
            return seconds
        return self.left - LAST

    def forgive(self, spent: float) -> None:
        """Takes back an attempt that stood behind our own calls, a few times; `spent` was spent before."""
        if self.forgiven < MOST_FORGIVEN:
            self.forgiven += 1
            self.tries -= 1
            self.spent = spent

    async def sleep(self, seconds: float) -> None:
        """Waits before another attempt; the wait counts."""
        with self:
            await asyncio.sleep(seconds)

    def is_over(self, state: RetryCallState) -> bool:
        """Whether the next wait would use up the patience, so that no attempt could follow."""
        # Without time for an attempt after it, a wait would be for nothing.
        if state.upcoming_sleep < self.left:
            return False
        seconds = wait_of(state.outcome.exception() if state.outcome else None)
        if seconds is None or seconds < self.left:
            self.gave_up = _(
                "given up after {spent:.0f} s: --patience is {patience:g} s",
                spent=self.spent,
                patience=self.seconds,
            )
        else:
            self.is_told = True
            self.gave_up = _(
                "it asks for {wait:,.0f} s before another call: --patience is {patience:g} s",
                wait=seconds,
                patience=self.seconds,
            )
        return True

    async def queueing(self, permit: asyncio.Future[Permit], pause: Pause) -> Permit:
        """A place in the queue; raises NoAnswer where 429s close it for longer than is left."""
        clock = asyncio.get_running_loop().time
        # Only stops that began or went on after the call queued up are its own.
        before = pause.closed(clock())

        def look() -> None:
            now = clock()
            left = self.left - (pause.closed(now) - before)
            if not permit.done() and (left <= 0 or pause.delay(1, now) > left):
                self.gave_up = _(
                    "429: held back for longer than --patience allows ({seconds:g} s)", seconds=self.seconds
                )
                held_back = NoAnswer("error", self.gave_up, is_transient=False, was_sent=False)
                permit.set_exception(held_back)

        look()
        pause.watchers.add(look)
        try:
            return await permit
        finally:
            pause.watchers.remove(look)
            self.spent += pause.closed(clock()) - before


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
