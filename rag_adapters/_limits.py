"""Settings of every adapter: timeout, questions at once, retries.

    python run.py --adapter bot.py:answer --set timeout=20 --set concurrency=4 --set retries=2

They are added to the signature of every `connect`, so `--set` and `list` know them; a setting that an adapter
has itself stays its own. A bot without any of them is handed on as it is, and nothing is in between.

Retries are off by default: how often a bot fails is a finding. Where they are on, only a `Transient` is tried
again, after the wait that the bot asks for, else 0.5, 1, 2 ... seconds; a wait beyond `patience` ends it.
"""

import asyncio
import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from simulator.extending import (
    Answer,
    Bot,
    BotFailure,
    Notices,
    Query,
    TimeLimit,
    Transient,
    _,
    is_async,
    on_a_thread,
    traits_of,
)

# Seconds. The wait doubles with each attempt unless the bot names one; a bot that names a longer wait than
# a customer would stay is not asked again.
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0


@dataclass(frozen=True)
class Limits:
    """Seconds per answer, questions at once (None: as many as there are), further attempts."""

    timeout: Annotated[float, Field(gt=0)] | None = None
    concurrency: Annotated[int, Field(ge=1)] | None = None
    retries: Annotated[int, Field(ge=0, le=10)] = 0


def limited(connect: Callable[..., Any]) -> Callable[..., Any]:
    """`connect` with the settings of `Limits` beside its own, which take precedence."""
    signature = _signature(connect)
    settings_of_all = inspect.signature(Limits).parameters.values()
    added = [
        parameter.replace(kind=parameter.KEYWORD_ONLY)
        for parameter in settings_of_all
        if parameter.name not in signature.parameters
    ]

    @functools.wraps(connect)
    def connected(**settings: Any) -> Any:
        limits = Limits(
            **{
                parameter.name: settings.pop(parameter.name)
                for parameter in added
                if parameter.name in settings
            }
        )
        bot = connect(**settings)
        return later(bot, limits) if inspect.isawaitable(bot) else within(limits, bot)

    async def later(bot: Any, limits: Limits) -> Bot:
        return within(limits, await bot)

    parameters = list(signature.parameters.values())
    # A **settings at the end takes what is left, so the limits stand before it.
    rest = [parameters.pop()] if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD else []
    whole = signature.replace(parameters=[*parameters, *added, *rest])
    vars(connected)["__signature__"] = whole
    return connected


def _signature(connect: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(connect, eval_str=True)
    except NameError:  # an annotation that exists for type checkers only
        return inspect.signature(connect)


def within(limits: Limits, bot: Bot) -> Bot:
    """The bot with these limits, or the bot itself when there are none."""
    return bot if limits == Limits() else LimitedBot(bot, limits)


class LimitedBot:
    """A bot with a timeout, a limit of questions at once, and retries.

    The time of an answer includes retries and the waits between them, because a customer waits for all of it;
    it does not include the wait for a free place.
    """

    def __init__(self, bot: Bot, limits: Limits) -> None:
        self.bot, self.limits = bot, limits
        self.patience = math.inf  # seconds; set to the run's by the caller that connects the bot
        # Looked up here because it comes with the limits of models, which a bot without limits does without.
        self._notices = Notices()
        # Given to the runner as a trait: it waits for a place before it starts the clock of an answer.
        places = asyncio.Semaphore(limits.concurrency) if limits.concurrency else None
        self.traits = replace(traits_of(bot), places=places)

    async def __call__(self, query: Query) -> Any:
        """The bot's answer. Raises BotFailure with the number of attempts in its message."""
        clock = TimeLimit(self.limits.timeout)
        try:
            async with clock:
                answer = await self._persistently(query, clock)
        except TimeoutError:
            if not clock.expired():  # the bot's own timeout
                raise
            reason = _("no answer within {timeout:g} s", timeout=self.limits.timeout)
            raise BotFailure("timeout", reason) from None
        if isinstance(answer, Answer) and answer.seconds is None:
            return answer.model_copy(update={"seconds": clock.elapsed})
        return answer

    async def aclose(self) -> None:
        """Closes the bot's connections, if it has any."""
        closed = getattr(self.bot, "aclose", lambda: None)()
        if inspect.isawaitable(closed):
            await closed

    async def _persistently(self, query: Query, clock: TimeLimit) -> Any:
        from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

        def is_over(state: RetryCallState) -> bool:
            left = min(_LONGEST_WAIT, self.patience - clock.elapsed)
            return state.attempt_number > self.limits.retries or state.upcoming_sleep > left

        def wait(state: RetryCallState) -> float:
            asked_for = getattr(state.outcome and state.outcome.exception(), "wait", None)
            return float(_FIRST_WAIT * 2 ** (state.attempt_number - 1) if asked_for is None else asked_for)

        def again(state: RetryCallState) -> None:
            error = state.outcome and state.outcome.exception()
            self._notices.waiting(
                "", state.upcoming_sleep, _("the bot: {error}", error=error), since=clock.elapsed
            )

        attempts = AsyncRetrying(
            stop=is_over,
            wait=wait,
            retry=retry_if_exception_type(Transient),
            before_sleep=again,
            reraise=True,
        )
        try:
            return await attempts(self._asked, query)
        except Transient as error:
            made = attempts.statistics["attempt_number"]
            reason = _("{error} ({made} attempts)", error=error, made=made) if made > 1 else error.message
            if made <= self.limits.retries and error.wait:
                reason = _(
                    "{error} (it asks for {wait:,.0f} s before another question)",
                    error=reason,
                    wait=error.wait,
                )
            raise Transient(error.failure.kind, reason, error.wait) from None

    async def _asked(self, query: Query) -> Any:
        if is_async(self.bot):
            return await self.bot(query)
        result = await on_a_thread(_asked, self.bot, query, name="limited bot")
        return await result if inspect.isawaitable(result) else result


def _asked(bot: Bot, query: Query) -> Any:
    try:
        return bot(query)
    except BaseException as error:  # on a thread, SystemExit would end only the call
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            raise
        raise BotFailure("error", f"{type(error).__name__}: {error}") from None
