"""Ordinary functions run beside the loop: whatever blocks or counts holds up no dialogue."""

import asyncio
import threading
from typing import Any

import pytest

from simulator.core.concurrency import Worker, for_each, on_a_thread
from simulator.core.errors import InputError

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
