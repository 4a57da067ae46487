"""Time that counts: neither what was slept through, nor what is left out on purpose."""

import asyncio
import time

import pytest

from simulator.core import clock
from simulator.core.clock import TimeLimit, uncounted
from tests.virtual_time import run_virtually


def test_a_limit_ends_what_takes_longer() -> None:
    """As asyncio.timeout does; None is no limit."""

    async def main() -> tuple[float, bool]:
        limit = TimeLimit(5)
        with pytest.raises(TimeoutError):
            async with limit:
                await asyncio.sleep(60)
        async with TimeLimit(None) as free:
            await asyncio.sleep(60)
        assert not free.expired()
        return limit.elapsed, limit.expired()

    elapsed, expired = run_virtually(main())
    assert (expired, elapsed >= 65 - 0.01) == (True, True)  # it goes on counting; who cares asks within


def test_what_is_left_out_moves_every_limit_around_it() -> None:
    """Also where two tasks of one block leave out overlapping times."""

    async def away(begin: float, seconds: float) -> None:
        await asyncio.sleep(begin)
        with uncounted():
            await asyncio.sleep(seconds)

    async def main() -> tuple[float, float]:
        async with TimeLimit(20) as outer, TimeLimit(10) as inner:
            await asyncio.gather(away(1, 100), away(50, 100))
            await asyncio.sleep(8.5)
            return outer.elapsed, inner.elapsed

    assert list(run_virtually(main())) == pytest.approx([9.5, 9.5])


def test_a_limit_moves_on_by_what_was_slept_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that stood still for an hour has its whole time afterwards."""
    lost = 0.0

    async def main() -> float:
        nonlocal lost
        async with TimeLimit(10) as limit:
            await asyncio.sleep(3)
            lost += 3600
            await asyncio.sleep(3605)
            return limit.elapsed

    monkeypatch.setattr(clock, "slept", lambda: lost)
    assert run_virtually(main()) == pytest.approx(8)


def test_a_busy_loop_is_not_asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot that blocks it takes its own time."""
    monkeypatch.setattr(clock, "BEAT", 0.02)
    monkeypatch.setattr(clock, "LATE", 0.2)
    monkeypatch.setattr(clock, "_heart", None)

    async def main() -> float:
        async with TimeLimit(60) as limit:
            time.sleep(0.4)  # noqa: ASYNC251 - as a bot of somebody might
            return limit.elapsed

    assert asyncio.run(main()) > clock.LATE
