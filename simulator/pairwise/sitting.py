"""All pairs before the judge, so many at a time; what stops the sitting does not lose what was judged."""

import asyncio
from collections.abc import Callable, Sequence

from simulator.core.errors import RehearsalError
from simulator.models.pricing import BudgetSpent
from simulator.pairwise.judging import PairJudging, by_rule
from simulator.pairwise.outcome import Outcome
from simulator.pairwise.pairs import Pair
from simulator.runner.run import first_of


async def judged(
    pairs: Sequence[Pair], judge: PairJudging, at_once: int, told: Callable[[Outcome], None]
) -> list[Outcome]:
    """The outcome of every pair, in their order; raises what makes going on pointless (no money, no access).

    When the budget is spent, the calls in flight still arrive and are kept: they are paid for.
    """
    found: dict[int, Outcome] = {}
    waiting, spent = iter(range(len(pairs))), list[BudgetSpent]()
    stopped: BaseException | None

    async def work() -> None:
        for at in waiting:
            await asyncio.sleep(0)  # judges that never wait would keep Ctrl-C waiting
            try:
                found[at] = by_rule(pairs[at]) or await judge(pairs[at])
            except BudgetSpent as error:
                spent.append(error)
            if spent:
                return
            told(found[at])

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(len(pairs), at_once)):
                tasks.create_task(work())
    except* RehearsalError as group:
        stopped = first_of(group)
    else:
        stopped = spent[0] if spent else None
    if stopped is not None:
        raise stopped
    return [found[at] for at in range(len(pairs))]
