"""What a run will take, told before anything is paid."""

from typing import Any

import pytest

from simulator.core.types import Conversation
from simulator.runner.context import RunContext
from simulator.runner.estimate import by_role, forecast, tokens
from tests.run_helpers import a_case, a_stage, a_talk, an_exhibit
from tests.servers.openai import OpenAIServer

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
