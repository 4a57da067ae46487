"""The forecast in words: one line of money with its range, a table, what is unknown, what would tell."""

import io
from typing import Any

import pytest
from rich.console import Console

from simulator.core.types import Language, Spending
from simulator.report.estimate import forecast_report
from simulator.report.painters.console import paint
from simulator.runner.estimate import ByModel, Forecast, SampledAnswers, TokenRange, UnknownCost, forecast
from tests.run_helpers import a_case, a_stage, a_talk
from tests.servers.openai import OpenAIServer

SERVER = OpenAIServer()  # never started: nothing is called
PRICED: dict[str, Any] = {
    "user_model": "gpt-4.1-mini", "judge_model": "gpt-4.1", "embed_model": "text-embedding-3-small",
    "adapter": "bot.py:answer",
}  # fmt: skip
HEARD = SampledAnswers(TokenRange(30, 40, 50), TokenRange(0, 100, 300), 1, reports_retrieval=True, asked=3)


def shown(found: Forecast) -> list[str]:
    """The lines on a wide terminal, below the title."""
    out = io.StringIO()
    paint(forecast_report(found), Console(file=out, width=300, color_system=None))
    return [line.rstrip() for line in out.getvalue().splitlines()[2:]]


def lines_of(language: Language = "ja", **settings: Any) -> list[str]:
    """The lines for ten questions to a bot of one's own."""
    plan = [a_talk(a_case(language, id=f"q{n}")) for n in range(10)]
    return shown(forecast(a_stage(SERVER, **(PRICED | settings)), plan))


def test_money_comes_first() -> None:
    """From what to what, in dollars and yen, and what the table says."""
    first, gap, head, *rest = lines_of("en")

    assert first.startswith("Cost: 0.0")
    assert " USD (" in first
    assert " JPY); as in the table about 0." in first
    assert "Yen at 150 JPY per USD" in first
    assert (gap, " ".join(head.split())) == ("", "role model calls tokens in tokens out USD USD from-to")
    assert [line.split()[0] for line in rest[:3]] == ["Customer", "Judge", "total"]
    assert rest[-1] == "Nothing was started."


def test_what_is_unknown_is_priced_and_can_be_found_out() -> None:
    """Passages and leaving with their dollars; then how to know better."""
    lines = "\n".join(lines_of())

    assert "- ボットが資料を見せるか：見せなければ 0." in lines
    assert "- お客様がいつ去るか：全員が最初の回答で去れば 0." in lines
    assert "--ask-bot を付けると、各言語の最初の 3 問だけをボットに尋ねて" in lines
    assert "先に --limit 3 で試すと（約 0." in lines
    assert "ボットに尋ねるのは最大 30 回です" in lines


def test_an_unknown_price_is_said() -> None:
    """Calls and tokens are told all the same."""
    lines = lines_of("en", judge_model="nobody-knows-it")

    assert lines[0].startswith("Cost: price unknown")
    assert "unknown" in lines[4]
    assert "--limit 3 first: forecasts" in "\n".join(lines)


@pytest.mark.parametrize(("number", "says"), [(1, "an answer, passages: 1."), (0, "it showed no passages.")])
def test_what_was_heard_is_told(number: int, says: str) -> None:
    """How many questions were asked, whose costs these were, and what the answers were like."""
    spent: ByModel = {("judge", "m"): Spending(calls=9, cost_usd=1.0)}
    found = Forecast(
        spent, spent, low=spent, high=spent, samples={"en": HEARD._replace(number=number)}, asks_a_bot=True,
        unknown=(UnknownCost("lengths"),),
    )  # fmt: skip
    lines = "\n".join(shown(found))

    assert "The bot alone was asked 3 questions (only its own costs): on average 40 tokens" in lines
    assert says in lines
    assert "- how long the reasons of grades are" in lines
    assert "--ask-bot" not in lines


def test_an_earlier_run_is_named() -> None:
    """It leaves nothing unknown; what everything could come to at most is said beside it."""
    spent: ByModel = {("judge", "m"): Spending(calls=9, cost_usd=1.0)}
    most: ByModel = {("judge", "m"): Spending(calls=9, cost_usd=2.0)}
    found = Forecast(most, spent, "20261121-a-run", low=spent, high=spent, sample_skipped=True)
    lines = shown(found)

    assert lines[0].startswith("Cost: about 1.00 USD (150 JPY), probably 1.00 to 1.00 USD")
    assert "going by run 20261121-a-run." in lines[0]
    assert "The bot was not asked: run 20261121-a-run tells." in lines
    assert "At most 2.00 USD, if everything turns out long." in lines
    assert "Not known yet:" not in lines
