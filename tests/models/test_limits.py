"""How many calls are in flight, who goes first, and that no place is ever lost."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.core.types import Query, Traits
from simulator.models.limiter import DIALOGUE, GRADING, BotPlaces, Limiter, Pause, Permit
from simulator.runner.conversation import ask
from tests.properties import examples
from tests.virtual_time import run_virtually

# The pause of a model that nobody has stopped.
FREE = Pause()


async def at_rest() -> None:
    """Lets every task go on until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


class Call:
    """A call that stays in flight until it is told to end."""

    def __init__(
        self, limiter: Limiter, priority: int, order: list[str], name: str = "", *, is_bot: bool = False
    ) -> None:
        self.slot, self.order, self.name = limiter.slot(priority, FREE, is_bot=is_bot), order, name
        self.over = asyncio.Event()
        self.place: Permit | None = None
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with self.slot as self.place:
            self.order.append(self.name)
            await self.over.wait()

    async def end(self) -> None:
        """Leaves its place."""
        self.over.set()
        await self.task
        await at_rest()


async def test_a_refusal_halves_the_room_once_per_round() -> None:
    """Refusals of calls that were in flight together count once; those that began later count again."""
    limiter, order = Limiter(8), list[str]()
    together = [Call(limiter, DIALOGUE, order) for _ in range(8)]
    await at_rest()
    for call in together:
        assert call.place
        limiter.refused(call.place)
    assert limiter.allowed == 4
    for call in together:
        await call.end()

    later = Call(limiter, DIALOGUE, order)
    await at_rest()
    assert later.place
    limiter.refused(later.place)
    assert limiter.allowed == 2
    await later.end()


async def test_room_grows_back_by_one_a_round_up_to_the_ceiling() -> None:
    """As many successes as there is room make room for one more."""
    limiter = Limiter(8)
    limiter.refused(Permit(0.0))
    for _ in range(5):
        limiter.succeeded()
    assert 4.9 < limiter.allowed < 5.5
    for _ in range(100):
        limiter.succeeded()
    assert limiter.allowed == 8
    for _ in range(9):
        limiter.refused(Permit(float("inf")))
    assert limiter.allowed == 1


def test_stops_of_a_model_add_up() -> None:
    """A further one while it lasts makes it longer, never shorter; a later one counts beside it."""
    pause = Pause()
    assert (pause.closed(100), pause.delay(100)) == (0, 0)
    pause.hold(10, 100)
    assert (pause.closed(104), pause.delay(104), pause.closed(120), pause.delay(120)) == (4, 6, 10, 0)
    pause.hold(5, 104)
    assert (pause.until, pause.delay(110)) == (110, 0)
    pause.hold(10, 108)
    assert (pause.until, pause.closed(118), pause.closed(120)) == (118, 18, 18)
    pause.hold(2, 118)
    assert pause.closed(190) == 20
    pause.hold(4, 200)
    assert [pause.closed(now) for now in (201, 300)] == [21, 24]


async def test_a_server_that_calls_itself_busy_or_is_late_halves_the_room_too() -> None:
    """Not where a call was alone with it; and room that once was too much grows slowly."""
    limiter, order = Limiter(8), list[str]()
    calls = [Call(limiter, DIALOGUE, order) for _ in range(8)]
    await at_rest()
    assert calls[0].place
    limiter.overloaded(calls[0].place, is_late=True)
    assert limiter.allowed == 4
    for call in calls[1:]:
        await call.end()
    limiter.overloaded(Permit(float("inf")))
    assert limiter.allowed == 4
    await calls[0].end()

    for _ in range(25):
        limiter.succeeded()
    assert limiter.allowed == pytest.approx(7.1824, abs=0.0001)
    for _ in range(600):
        limiter.succeeded()
    assert limiter.allowed == 8


async def test_room_that_a_busy_server_took_comes_back_as_fast_as_after_a_429() -> None:
    """Only what came too late was too much; two calls at once are no longer alone."""
    limiter, order = Limiter(2), list[str]()
    calls = [Call(limiter, DIALOGUE, order) for _ in range(2)]
    await at_rest()
    limiter.overloaded(calls[0].place or Permit(0.0))
    assert limiter.allowed == 1
    limiter.succeeded()
    assert limiter.allowed == 2
    for call in calls:
        await call.end()


def test_a_run_begins_with_few_calls_until_it_knows_how_long_one_takes() -> None:
    """A quick answer makes room for all, a slow one for no more than are answered in time one by one."""

    async def main(took: float, calls: int = 64) -> tuple[float, float]:
        limiter = Limiter(calls, timeout=60)
        first = limiter.allowed
        async with limiter.slot(DIALOGUE, FREE) as place:
            await asyncio.sleep(took)
            limiter.succeeded(place)
        return first, limiter.allowed

    assert run_virtually(main(0.2)) == (4, 64)
    assert run_virtually(main(1))[1] == pytest.approx(16)
    assert run_virtually(main(7.5)) == (4, 5)
    assert run_virtually(main(30)) == (4, 5)
    assert run_virtually(main(1, calls=2)) == (2, 2)
    for calls in (65, 1000):
        assert run_virtually(main(30, calls=calls)) == (calls, calls), "who asks for more knows the endpoint"


def test_an_answer_that_took_more_than_twice_as_long_as_the_quickest_makes_room_slowly() -> None:
    """Unless it came within an eighth of the time that there is for one."""

    async def main(timeout: float) -> list[float]:
        limiter, allowed = Limiter(64, timeout=timeout), list[float]()
        for took in (1, 2, 2.1, 2.1):
            async with limiter.slot(DIALOGUE, FREE) as place:
                await asyncio.sleep(took)
                limiter.succeeded(place)
            allowed.append(limiter.allowed)
        return allowed

    for timeout in (8, 16):
        assert run_virtually(main(timeout)) == pytest.approx([5, 6, 6 + 1 / 6, 6 + 1 / 6 + 6 / 37])
    assert run_virtually(main(20)) == pytest.approx([6, 7, 8, 9])


@pytest.mark.parametrize(
    ("said", "seconds", "allowed"), [("550 yen.", 0.2, 64), ("550 yen.", 0.01, 4), ("", 0.2, 4)]
)
def test_the_answer_of_a_bot_there_says_how_long_one_takes(said: str, seconds: float, allowed: int) -> None:
    """So the models' first calls need not find it out; one from a cache and a failure say nothing."""

    async def main() -> float:
        limiter = Limiter(64, timeout=60)

        async def bot(query: Query) -> str:
            await asyncio.sleep(seconds)
            return said

        vars(bot)["traits"] = Traits(places=BotPlaces(limiter, None))
        await ask(bot, Query(text="How much?", history=(), session="s", case="c", language="en"), 60)
        assert not limiter.active
        return limiter.allowed

    assert run_virtually(main()) == allowed


async def test_a_bot_has_half_of_the_places_beside_models() -> None:
    """All of them while nobody else is asked there; those that it leaves are its own again."""
    limiter, order = Limiter(4), list[str]()

    async def at_once() -> int:
        order.clear()
        calls = [Call(limiter, DIALOGUE, order, is_bot=True) for _ in range(4)]
        await at_rest()
        inside = len(order)
        for call in calls:
            await call.end()
        return inside

    assert await at_once() == 4
    async with limiter.slot(GRADING, FREE):
        pass
    assert [await at_once() for _ in range(2)] == [2, 2]
    order.clear()
    waiting = [Call(limiter, DIALOGUE, order, "bot", is_bot=True) for _ in range(4)]
    waiting.append(Call(limiter, DIALOGUE, order, "model"))
    await at_rest()
    assert order == ["bot", "bot", "model"]
    for call in waiting:
        await call.end()


STEPS = st.lists(
    st.tuples(st.sampled_from(["start", "end", "cancel", "refuse", "succeed", "both"]), st.integers(0, 9)),
    max_size=40,
)


@given(ceiling=st.integers(1, 4), steps=STEPS)
@settings(max_examples=examples(60), deadline=None)
def test_no_place_is_lost_or_made_up(ceiling: int, steps: Sequence[tuple[str, int]]) -> None:
    """Whatever starts, ends, is cancelled or refused: places in use are calls in flight."""
    asyncio.run(_history(ceiling, steps))


async def _history(ceiling: int, steps: Sequence[tuple[str, int]]) -> None:
    limiter, calls = Limiter(ceiling), list[Call]()
    for step, number in steps:
        chosen = calls[number % len(calls)] if calls else None
        if step == "start":
            calls.append(Call(limiter, number % 2, []))
        elif step == "refuse":
            limiter.refused(Permit(float("inf") if number % 2 else -1.0))
        elif step == "succeed":
            limiter.succeeded()
        elif chosen:
            if step != "cancel":
                chosen.over.set()
            if step != "end":
                chosen.task.cancel()
        if number % 3:
            await at_rest()
            _holds(limiter, calls, ceiling)
    for call in calls:
        call.over.set()
    await asyncio.gather(*(call.task for call in calls), return_exceptions=True)
    assert limiter.active == 0
    assert not any(limiter.waiting)
    newcomer = Call(limiter, GRADING, [])
    await at_rest()
    assert newcomer.place
    await newcomer.end()


def _holds(limiter: Limiter, calls: Sequence[Call], ceiling: int) -> None:
    inside = sum(call.place is not None and not call.task.done() for call in calls)
    waiting = sum(call.place is None and not call.task.done() for call in calls)
    assert limiter.active == inside <= ceiling
    assert not waiting or inside >= int(limiter.allowed)


async def test_a_grade_follows_seven_calls_of_the_dialogue() -> None:
    """Neither starves: grades go on, however many conversations wait."""
    limiter, order = Limiter(1), list[str]()
    talking = ("running", *(f"d{n}" for n in range(12)))
    waiting = dict.fromkeys(talking, DIALOGUE) | dict.fromkeys(("g1", "g2"), GRADING)
    calls = {name: Call(limiter, priority, order, name) for name, priority in waiting.items()}
    await at_rest()
    while any(not call.task.done() for call in calls.values()):
        await calls[order[-1]].end()

    assert order.index("g1") == 7
    assert order.index("g2") == 14
