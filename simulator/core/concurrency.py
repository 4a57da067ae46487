"""Much work at once: calls of models side by side, and ordinary functions beside the event loop.

Whatever may block or compute for long never runs on the loop itself: an answer of the bot that arrives
meanwhile would be measured as late, and with `--timeout` be counted as a failure. So

- a bot or judge of the user's own is called on a daemon thread of its own (`on_a_thread`), where it may
  sleep, call sys.exit or hang for ever;
- our own judges that count share one thread (`Worker`): they are quick, hold the interpreter's lock, and two
  of them at once would take as long as one after the other;
- calls of models wait for the network and stay on the loop (`for_each`).
"""

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextvars import Context, copy_context
from functools import partial
from itertools import chain, islice
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from simulator.core.errors import RehearsalError
from simulator.core.given_up import GIVEN_UP

Item = TypeVar("Item")
Result = TypeVar("Result")
Outcome = asyncio.Future[Any]
# A future, which of its methods settles it, and with what.
_Settled = tuple[Outcome, Callable[[Any], None], Any]


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await: an async function, or an object with such a `__call__`.

    False for an ordinary function that returns a coroutine, which nobody can tell before it is called.
    """
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def for_each(
    items: Iterable[Item], work: Callable[[Item], Awaitable[Result]], at_once: int
) -> list[Result]:
    """The result of each item, in their order; `at_once` items are worked on together.

    An expected error (a RehearsalError: no money, no access) ends it. Nothing more is begun then, but what is
    under way still arrives, since it is paid for; the first such error is raised. A bug cancels everything.
    """
    results: dict[int, Result] = {}
    errors: list[RehearsalError] = []
    waiting = iter(enumerate(items))

    # All workers take from one iterator: whoever is free takes the next, and none needs to know how many.
    async def worker(*first: tuple[int, Item]) -> None:
        for at, item in chain(first, waiting):
            await asyncio.sleep(0)  # work that never waits would keep Ctrl-C waiting
            try:
                results[at] = await work(item)
            except RehearsalError as error:
                errors.append(error)
            if errors:
                return

    try:
        async with asyncio.TaskGroup() as tasks:
            for first in islice(waiting, at_once):  # a limit may be far above what there is to do
                tasks.create_task(worker(first))
    # A group would be shown as a tree of tracebacks; one of them says enough.
    except BaseExceptionGroup as group:
        raise first_error(group) from None
    if errors:
        raise errors[0]
    return [results[at] for at in range(len(results))]


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error within nested groups."""
    first = group.exceptions[0]
    return first_error(first) if isinstance(first, BaseExceptionGroup) else first


async def on_a_thread(function: Callable[..., Any], *args: Any, name: str = "own") -> Any:
    """What the function gives or raises, run on a daemon thread, where one that hangs goes on by itself."""
    loop = asyncio.get_running_loop()
    call = _Call(partial(function, *args), copy_context(), loop.create_future())
    thread = threading.Thread(target=_work_off, args=(loop, [call]), daemon=True, name=name)
    thread.start()
    try:
        return await call.outcome
    except asyncio.CancelledError:
        GIVEN_UP.append(thread)
        raise


class Worker:
    """One daemon thread for work that only counts: more of them would but fight for the interpreter.

    What is asked for in one turn of the loop goes over to it together, and comes back together. Each handing
    over wakes a thread, which takes longer than most of these calls.
    """

    def __init__(self, name: str) -> None:
        """The thread starts with the first work."""
        self.name = name
        self._waiting: SimpleQueue[tuple[asyncio.AbstractEventLoop, list[_Call]]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._gathered: list[_Call] = []

    async def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        """What the function gives or raises, once everything before it is done."""
        loop = asyncio.get_running_loop()
        call = _Call(partial(function, *args), copy_context(), loop.create_future())
        # Two runs in one process have two loops, and their calls come back to their own.
        if not self._gathered or self._gathered[0].outcome.get_loop() is not loop:
            self._gathered = []
            loop.call_soon(self._hand_over, loop, self._gathered)
        self._gathered.append(call)
        return await call.outcome

    def _hand_over(self, loop: asyncio.AbstractEventLoop, calls: "list[_Call]") -> None:
        self._gathered = []
        self._waiting.put((loop, calls))
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True, name=self.name)
            self._thread.start()

    def _work(self) -> None:
        while True:
            _work_off(*self._waiting.get())


class _Call(NamedTuple):
    """What a thread is to call, in which context, and where its outcome arrives."""

    function: Callable[[], Any]
    context: Context
    outcome: Outcome

    def settled(self) -> _Settled:
        """The call is made; how its outcome is to be settled, back in the loop."""
        try:
            return self.outcome, self.outcome.set_result, self.context.run(self.function)
        except StopIteration as error:  # a future cannot hold it
            return self.outcome, self.outcome.set_exception, RuntimeError(f"StopIteration: {error}")
        except BaseException as error:  # on a thread of its own, SystemExit ends nothing but the call
            return self.outcome, self.outcome.set_exception, error


def _work_off(loop: asyncio.AbstractEventLoop, calls: list[_Call]) -> None:
    """Makes the calls for which somebody waits still, and settles them back in their loop."""
    # Cancelled meanwhile: nobody waits for it.
    settled = [call.settled() for call in calls if not call.outcome.done()]

    def settle() -> None:
        for outcome, method, value in settled:
            if not outcome.done():
                method(value)

    with contextlib.suppress(RuntimeError):  # the run is over, and with it the loop
        loop.call_soon_threadsafe(settle)
