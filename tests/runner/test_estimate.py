"""What a run will take, told before anything is paid."""

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Conversation, Results, Run
from simulator.runner.context import RunContext
from simulator.runner.estimate import by_role, earlier_run, forecast, tokens
from simulator.runner.run import hold_conversations
from simulator.storage.run_file import RunFile, run_ids
from tests.run_helpers import Quiet, a_case, a_stage, a_talk, an_exhibit, echo
from tests.servers.openai import OpenAIServer, play

SERVER = OpenAIServer()  # never started: nothing is called
PLAN = [a_talk(), a_talk(a_case("en", references=())), a_talk(persona="calm")]


def calls(context: RunContext, plan: list[Conversation] | None = None) -> dict[str, int]:
    """Calls at most, by role."""
    return {role: spent.calls for role, spent in by_role(forecast(context, plan or PLAN).high).items()}


def test_tokens_are_counted_by_script() -> None:
    """Japanese takes about a token a character, English one for four; full-width forms count as Japanese."""
    assert tokens("") == 0
    assert tokens("あ" * 110) == tokens("漢字" * 55) == tokens("，！" * 55) == 100
    assert tokens("abcd" * 25) == 25
    assert tokens("あ" * 110 + "abcd" * 25) == 125


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"turns": 4}, {"user": 12, "demo": 12, "judge": 12, "embed": 2}),
        ({"turns": 4, "judging": "separate"}, {"user": 12, "demo": 12, "judge": 24, "embed": 2}),
        ({"judges": ("turn",), "turns": 1}, {"user": 3, "demo": 3, "judge": 3}),
        ({"judges": ("turn",), "turns": 1, "voice_opening": True}, {"user": 6, "demo": 3, "judge": 3}),
        ({"judges": ("rouge_l",), "turns": 2}, {"user": 6, "demo": 6}),
        ({"judges": ("turn",), "turns": 1, "adapter": "bot.py:answer"}, {"user": 3, "judge": 3}),
        ({"judges": ("groundedness",), "turns": 1, "adapter": "http", "set": {"url": "http://localhost:1"}},
         {"user": 3}),
        ({"judges": ("groundedness",), "turns": 1, "adapter": "http",
          "set": {"url": "http://localhost:1", "passages": "docs"}}, {"user": 3, "judge": 3}),
    ],
)  # fmt: skip
def test_every_call_of_every_role_is_counted(settings: dict[str, Any], expected: dict[str, int]) -> None:
    """Customer, demo bot and grades once a turn; embeddings and grades only of what they can look at."""
    assert calls(a_stage(SERVER, **({"judges": ("turn", "relevance", "cosine")} | settings))) == expected


def test_the_range_is_from_one_turn_to_all() -> None:
    """A customer may leave after the first answer, and a bot of one's own may show passages or not."""
    judges = ("groundedness", "fluency")
    context = a_stage(SERVER, judges=judges, judging="separate", adapter="bot.py:answer")
    low, high = by_role(forecast(context, PLAN).low), by_role(forecast(context, PLAN).high)

    assert {role: (low[role].calls, high[role].calls) for role in high} == {"user": (3, 9), "judge": (3, 18)}
    assert all(low[role].tokens_in < high[role].tokens_in / 3 for role in high)


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize("judging", ["combined", "separate"])
def test_the_forecast_is_made_from_the_real_prompts(language: str, judging: str) -> None:
    """What a judge is really sent for a usual turn is covered, and not many times over."""
    case = a_case(language)  # type: ignore[arg-type]
    context = a_stage(SERVER, judges=("turn", "fluency"), judging=judging, turns=1)
    found = forecast(context, [a_talk(case)])
    low, high = by_role(found.low)["judge"], by_role(found.high)["judge"]
    rubrics = [context.judges[name] for name in ("turn", "fluency")]
    groups = [rubrics] if judging == "combined" else [[each] for each in rubrics]
    frame = context.grading.frame
    prompts = [frame.prompt(an_exhibit(case), group, alone=len(group) == 1) for group in groups]  # type: ignore[arg-type]
    sent = sum(tokens(message["content"]) for prompt in prompts for message in prompt)

    assert high.calls == len(groups)
    assert low.tokens_in <= 1.1 * sent  # very short texts
    assert sent <= high.tokens_in <= 2.5 * sent


# --- After an earlier run ---

PRICED: dict[str, Any] = {
    "user_model": "gpt-4.1-mini", "judge_model": "gpt-4.1", "embed_model": "text-embedding-3-small",
    "adapter": "bot.py:answer", "judges": ("turn", "fluency", "cosine"), "turns": 4,
}  # fmt: skip


def leaves(request: dict[str, Any]) -> str:
    """Every third customer's decision is to leave; judges talk much."""
    text = play(request)
    if request["model"] == "gpt-4.1-mini":
        chance = sum(map(ord, request["messages"][-1]["content"])) + int(request["seed"])
        left = text.replace('"stay"', '"satisfied"').replace('"nothing"', '"all"').replace('"part"', '"all"')
        return left if chance % 3 == 0 else text
    return text.replace("。", "。とても長い説明がここに続きます。" * 8)


def asked(count: int, prefix: str) -> tuple[Conversation, ...]:
    """So many conversations, not held yet."""
    return tuple(
        a_talk(a_case(id=f"{prefix}{n}", question=f"質問その{n}について教えてください")) for n in range(count)
    )


async def held(plan: tuple[Conversation, ...], server: OpenAIServer, **changes: Any) -> Results:
    """A run of these questions in the folder of runs."""
    context = a_stage(server, **(PRICED | changes))
    name = f"20261121-0904{len(run_ids(Path('runs'))):02}-angry-0001"
    created = datetime(2026, 11, 21, tzinfo=UTC)
    run = Run(id=name, created=created, settings=context.settings.stored_values(), models=context.models())
    file = RunFile.create(Path("runs") / name, run, plan, list(context.personas.values()))
    with contextlib.closing(file):
        assert await hold_conversations(file, context, echo, Quiet()) is None
        results = file.results()
    await context.close(None)
    return results


async def test_the_same_plan_again_takes_what_it_took() -> None:
    """Calls, tokens and dollars of every model are those recorded, also where customers left early."""
    async with OpenAIServer(leaves) as server:
        plan = asked(12, "q")
        before = forecast(a_stage(server, **PRICED), plan, Path("runs"))
        results = await held(plan, server)
        found = forecast(a_stage(server, **PRICED), plan, Path("runs"))
        larger = forecast(a_stage(server, **PRICED), asked(24, "new"), Path("runs"))

    assert sum(len(conversation.turns) for conversation in results.conversations) < 45
    assert (before.like, before.expected, found.like) == (None, {}, results.run.id)
    for key, spent in found.expected.items():
        taken = results.usage[key[0]][key[1]]
        assert (spent.calls, spent.tokens_in) == (taken.calls, taken.tokens_in)
        assert spent.tokens_out == taken.tokens_out
        assert spent.cost_usd == pytest.approx(taken.cost_usd)
        assert found.low[key].calls <= spent.calls <= found.high[key].calls
        assert found.low[key].tokens_out <= spent.tokens_out <= found.high[key].tokens_out
        assert larger.expected[key].calls == 2 * spent.calls
        assert larger.expected[key].cost_usd == pytest.approx(2 * (spent.cost_usd or 0))


async def test_only_a_run_alike_teaches() -> None:
    """Another judge, model, bot, language or number of turns, an unfinished run: nothing is learnt."""
    async with OpenAIServer() as server:
        run = await held(asked(1, "q"), server)

        def learnt(language: Any = "ja", folder: str = "runs", **changes: Any) -> str | None:
            found = earlier_run(a_stage(server, **(PRICED | changes)), {language}, Path(folder))
            return found.run.id if found else None

        assert learnt() == learnt(calls=3) == run.run.id
        for changes in (
            {"judges": ("turn",)}, {"judge_model": "gpt-4o"}, {"adapter": "x.py:y"}, {"turns": 9},
            {"judging": "separate"}, {"language": "en"}, {"folder": "nowhere"},
        ):  # fmt: skip
            assert learnt(**changes) is None
        with contextlib.closing(RunFile.reopen(Path("runs", run.run.id, "run.sqlite"))) as file:
            file.mark_running()
        assert learnt() is None
