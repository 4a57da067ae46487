"""Where a budget ends while calls are in flight."""

import asyncio
import random

import pytest

from simulator.models.pricing import Allowance, BudgetSpent


async def call(allowance: Allowance, most: float, cost: float, seen: list[float]) -> None:
    """One call that costs less than it held."""
    async with allowance.room(most):
        seen.append(allowance.spent + allowance.reserved)
        await asyncio.sleep(0)
        allowance.spent += cost


async def test_the_budget_is_never_exceeded() -> None:
    """However many calls want to go out at once: what is spent and held stays within it, to the end."""
    for seed in range(20):
        lots, allowance, seen = random.Random(seed), Allowance(5.0), list[float]()
        mosts = [lots.uniform(0.01, 0.5) for _ in range(200)]
        calls = [call(allowance, most, most * lots.random(), seen) for most in mosts]
        results = await asyncio.gather(*calls, return_exceptions=True)
        refused = [result for result in results if isinstance(result, BudgetSpent)]

        assert max(seen) <= 5.0
        assert 4.5 <= allowance.spent <= 5.0
        assert 0 < len(refused) == 200 - len(seen)
        assert (allowance.reserved, allowance.in_flight) == (0.0, 0)


async def test_a_call_waits_for_what_others_give_back() -> None:
    """It is not refused while calls in flight may cost less than they hold."""
    allowance, seen = Allowance(1.0), list[float]()
    await asyncio.gather(*(call(allowance, 0.6, 0.1, seen) for _ in range(5)))

    assert allowance.spent == pytest.approx(0.5)
    assert len(seen) == 5


async def test_after_the_first_refusal_nothing_goes_out() -> None:
    """Also nothing cheap: a run does not end with grades alone, or with dialogue alone."""
    allowance, seen = Allowance(1.0), list[float]()
    told = r"too little is left of the budget of 1\.00 USD \(0\.00 USD paid, and .* 1\.10 USD\)"
    with pytest.raises(BudgetSpent, match=told):
        await call(allowance, 1.1, 0.0, seen)
    with pytest.raises(BudgetSpent):
        await call(allowance, 0.1, 0.1, seen)

    assert seen == []


async def test_who_gives_up_waiting_holds_nothing() -> None:
    """A cancelled call neither blocks those behind it nor keeps its room."""
    allowance, seen = Allowance(1.0), list[float]()
    async with allowance.room(0.8):
        gone = asyncio.create_task(call(allowance, 0.9, 0.0, seen))
        next_one = asyncio.create_task(call(allowance, 0.2, 0.0, seen))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
    await next_one
    async with allowance.room(0.9):
        let_in = asyncio.create_task(call(allowance, 0.9, 0.0, seen))
        await asyncio.sleep(0)
    let_in.cancel()  # let in, and cancelled before it went on
    await asyncio.gather(let_in, return_exceptions=True)

    assert len(seen) == 1
    assert (allowance.reserved, allowance.in_flight) == (0.0, 0)
