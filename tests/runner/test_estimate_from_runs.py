"""What an earlier run teaches about the next: who leaves, and how long things are."""

import contextlib
from pathlib import Path
from typing import Any

from simulator.core.types import Conversation, Results, Run
from simulator.runner.estimate import Forecast, RoleModel, forecast, similar_run
from simulator.runner.run import rehearse
from simulator.storage.run_file import RunFile, run_ids
from tests.run_helpers import Quiet, a_case, a_stage, a_talk, echo
from tests.servers.openai import OpenAIServer, play

PRICED: dict[str, Any] = {
    "user_model": "gpt-4.1-mini",
    "judge_model": "gpt-4.1",
    "embed_model": "text-embedding-3-small",
    "adapter": "bot.py:answer",
    "judges": ("turn", "fluency", "cosine"),
    "turns": 4,
}


def leaves(request: dict[str, Any]) -> str:
    """Every third customer's decision is to leave; judges talk much."""
    text = play(request)
    if request["model"] == "gpt-4.1-mini":
        return text.replace('"stay"', '"gave_up"') if hash_of(request) % 3 == 0 else text
    return text.replace("。", "。とても長い説明がここに続きます。" * 8)


def hash_of(request: dict[str, Any]) -> int:
    """The same in every process."""
    return sum(map(ord, request["messages"][-1]["content"])) + int(request["seed"])


def asked(count: int, prefix: str, persona: str = "angry") -> tuple[Conversation, ...]:
    """So many conversations, not held yet."""
    return tuple(
        a_talk(a_case(id=f"{prefix}{n}", question=f"質問その{n}について教えてください"), persona=persona)
        for n in range(count)
    )


async def held(plan: tuple[Conversation, ...], server: OpenAIServer, **changes: Any) -> Results:
    """A run of these questions in the folder of runs."""
    context = a_stage(server, **(PRICED | changes))
    name = f"20261121-0904{len(run_ids(Path('runs'))):02}-angry-0001"
    run = Run(id=name, created=created(), settings=context.settings.stored_values(), models=context.models())
    with contextlib.closing(
        RunFile.create(Path("runs") / name, run, plan, list(context.personas.values()))
    ) as file:
        assert await rehearse(file, context, echo, Quiet()) is None
        results = file.results()
    await context.close(None)
    return results


def created() -> Any:
    """A date."""
    from datetime import UTC, datetime

    return datetime(2026, 11, 21, tzinfo=UTC)


def close(found: Forecast, results: Results, within: float) -> None:
    """Calls, tokens and dollars of every role and model are as they were counted."""
    assert found.expected.keys() == {(r, m) for r, models in results.usage.items() for m in models}
    for (role, model), spent in found.expected.items():
        counted = results.usage[role][model]
        for name in ("calls", "tokens_in", "cost_usd"):
            foreseen, real = getattr(spent, name), getattr(counted, name)
            assert abs(foreseen - real) <= within * real, (role, name, foreseen, real)


async def test_a_pilot_makes_the_forecast_close() -> None:
    """After 12 conversations, of which many end early, the forecast for 40 others is within 15 %."""
    async with OpenAIServer(leaves) as server:
        pilot = await held(asked(12, "pilot"), server)
        plan = asked(40, "main")
        context = a_stage(server, **PRICED)
        before, after = forecast(context, plan), forecast(context, plan, Path("runs"))
        results = await held(plan, server)
    turns = sum(len(conversation.turns) for conversation in results.conversations)

    assert turns < 0.8 * 160
    assert (before.like, after.like) == (None, pilot.run.id)
    assert before.expected["user", "gpt-4.1-mini"].calls == 160
    close(after, results, 0.15)
    for (role, model), least in after.low.items():
        assert least.calls <= results.usage[role][model].calls <= after.high[role, model].calls
    for who, most in after.at_most.items():
        assert most.calls >= after.expected[who].calls
        assert most.tokens_out >= after.expected[who].tokens_out


async def test_only_a_run_alike_teaches() -> None:
    """Another judge, model, bot or language, stand-ins, an unfinished run: nothing is learnt from them."""
    async with OpenAIServer() as server:
        run = await held(asked(1, "q"), server)
        plan = asked(2, "q")

        def learnt(plan: tuple[Conversation, ...] = plan, **changes: Any) -> str | None:
            found = similar_run(a_stage(server, **(PRICED | changes)), plan, Path("runs"))
            return found and found.run

        english = (a_talk(a_case("en")),)
        assert learnt() == learnt(turns=9, calls=3) == run.run.id
        assert learnt(judges=("turn",)) is learnt(judge_model="gpt-4o") is learnt(adapter="x.py:y") is None
        assert learnt(judging="separate") is learnt(english) is None
        with contextlib.closing(RunFile.reopen(Path("runs", run.run.id, "run.sqlite"))) as file:
            file.mark_running()
        assert learnt() is None
        assert similar_run(a_stage(server, **PRICED), plan, Path("nowhere")) is None


async def test_a_persona_leaves_as_its_own_kind_does() -> None:
    """Shares are those of the persona, drawn towards everybody's while little is known."""

    def angry_leaves(request: dict[str, Any]) -> str:
        angry = "怒" in request["messages"][0]["content"] and request["model"] == "gpt-4.1-mini"
        return play(request).replace('"stay"', '"gave_up"') if angry else play(request)

    async with OpenAIServer(angry_leaves) as server:
        await held((*asked(8, "a"), *asked(8, "b", "calm")), server)
        context = a_stage(server, **PRICED)
        found = similar_run(context, asked(1, "q"), Path("runs"))
        assert found is not None
        courses = [found.length(context, a_talk(persona=name)) for name in ("angry", "calm", "beginner")]

    assert courses[0].leaving > 0.4 > courses[2].leaving > courses[1].leaving
    assert {course.turns for course in courses} == {4}


async def test_more_conversations_make_the_range_narrower() -> None:
    """By the differences of those that were held; of one alone nobody knows how others would be."""
    async with OpenAIServer(leaves) as server:
        await held(asked(1, "one"), server)
        context, plan = a_stage(server, **PRICED), asked(40, "main")
        alone = similar_run(context, plan, Path("runs"))
        await held(asked(12, "pilot"), server)
        twelve = similar_run(context, plan, Path("runs"))
    assert alone is not None
    assert twelve is not None

    assert (alone.conversations, alone.variation, alone.spread(40) > 1) == (1, 1.0, True)
    assert 0.1 < twelve.variation < 0.7
    assert twelve.spread(1000) < twelve.spread(10) < alone.spread(1000)


async def test_what_only_later_turns_take_may_cost_nothing() -> None:
    """With a reference for the second turn alone, nothing is compared where all leave after the first."""
    case = a_case(references=((), ("四千円です。",)))
    async with OpenAIServer() as server:
        await held((a_talk(case),), server)
        found = forecast(a_stage(server, **PRICED), (a_talk(case),), Path("runs"))
    embed: RoleModel = ("embed", "text-embedding-3-small")

    assert [found.low[embed].calls, found.expected[embed].calls] == [0, 1]
