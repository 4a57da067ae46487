"""Ordinary functions run beside the loop: whatever blocks or counts holds up no dialogue."""

import asyncio
import threading
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from simulator.core.concurrency import Worker, first_error, for_each, is_async, on_a_thread
from simulator.core.errors import InputError
from simulator.core.given_up import GIVEN_UP

word = ContextVar("word", default="")
BESIDE = [on_a_thread, Worker("test")]


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize(
    ("error", "told"),
    [(ValueError("no"), ValueError), (SystemExit(3), SystemExit), (StopIteration("x"), RuntimeError)],
)
async def test_what_is_raised_there_is_raised_here(
    beside: Any, error: BaseException, told: type[BaseException]
) -> None:
    """SystemExit, too; StopIteration as the RuntimeError that it is in every coroutine."""

    def fails() -> None:
        raise error

    with pytest.raises(told):
        await beside(fails)


async def test_a_worker_does_one_thing_after_the_other() -> None:
    """All on one thread, in the order in which it was asked, each with its own outcome."""
    worker, seen = Worker("counting"), list[int]()

    def count(number: int) -> str:
        seen.append(number)
        if number == 1:
            raise ValueError(str(number))
        return threading.current_thread().name

    found = await asyncio.gather(*(worker(count, n) for n in range(4)), return_exceptions=True)

    assert seen == [0, 1, 2, 3]
    assert [found[n] for n in (0, 2, 3)] == ["counting"] * 3
    assert isinstance(found[1], ValueError)


async def test_what_nobody_waits_for_is_not_begun() -> None:
    """Work that is cancelled before its turn is passed over."""
    worker, release, seen = Worker("counting"), threading.Event(), list[str]()
    first = asyncio.create_task(worker(release.wait, 10))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second = asyncio.create_task(worker(seen.append, "second"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    release.set()

    assert await first
    assert await worker(lambda: seen) == []


def test_one_worker_serves_several_loops() -> None:
    """Two runs in one process, one after the other or at once; each call comes back to its own."""
    worker = Worker("counting")

    async def main(n: int) -> list[int]:
        return list(await asyncio.gather(*(worker(pow, n, power) for power in (1, 2))))

    assert [asyncio.run(main(n)) for n in (2, 3)] == [[2, 4], [3, 9]]
    found: dict[int, list[int]] = {}
    threads = [threading.Thread(target=lambda n=n: found.update({n: asyncio.run(main(n))})) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: [n, n * n] for n in range(4)}


async def test_a_call_that_nobody_waits_for_is_noted() -> None:
    """So that the program can end without it; it has a name, and the context of its call."""
    word.set("told")
    begun, release, seen = asyncio.Event(), threading.Event(), list[str]()
    loop = asyncio.get_running_loop()

    def hang() -> None:
        seen.extend([threading.current_thread().name, word.get()])
        loop.call_soon_threadsafe(begun.set)
        release.wait(10)

    task = asyncio.create_task(on_a_thread(hang, name="bot"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()

    assert seen == ["bot", "told"]
    assert GIVEN_UP.pop().name == "bot"


class Awaited:
    """An object that is called like an async function."""

    async def __call__(self) -> None:
        """Nothing."""


def test_what_has_to_be_awaited_is_known() -> None:
    """An async function, alone, with arguments, or as an object; no class and no ordinary function."""
    asked = (Awaited().__call__, partial(Awaited().__call__), Awaited(), len, Awaited, print)

    assert [is_async(function) for function in asked] == [True, True, True, False, False, False]
    nested = BaseExceptionGroup("x", [BaseExceptionGroup("y", [KeyError("a"), KeyError("b")]), ValueError()])
    assert str(first_error(nested)) == "'a'"


async def test_work_side_by_side_comes_back_in_order() -> None:
    """Whichever item is done first, and never more of them at once than were asked for."""
    running, most = 0, 0

    async def work(item: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001 * (5 - item))
        running -= 1
        return 10 * item

    assert await for_each(range(5), work, 2) == [0, 10, 20, 30, 40]
    assert most == 2
    assert await for_each((), work, 2) == []
    assert await for_each(range(3), work, 10**12) == [0, 10, 20]


@pytest.mark.parametrize(("error", "arrives"), [(InputError, True), (ZeroDivisionError, False)])
async def test_what_is_under_way_arrives_after_an_expected_error(
    error: type[Exception], arrives: bool
) -> None:
    """It is paid for; nothing more is begun, and a bug ends all at once."""
    begun, finished = [], []

    async def work(item: int) -> None:
        begun.append(item)
        if item == 0:
            raise error("no")
        await asyncio.sleep(0.01)
        finished.append(item)

    with pytest.raises(error, match="no"):
        await for_each(range(9), work, 2)
    assert begun == [0, 1]
    assert finished == ([1] if arrives else [])
