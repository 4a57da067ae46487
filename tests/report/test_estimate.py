"""The forecast in words: one line of money with its range, a table, what it rests on."""

import io
from typing import Any

from rich.console import Console

from simulator.core.types import Language
from simulator.report.estimate import forecast_report
from simulator.report.painters.console import paint
from simulator.runner.estimate import Forecast, forecast
from tests.run_helpers import a_case, a_stage, a_talk
from tests.servers.openai import OpenAIServer

SERVER = OpenAIServer()  # never started: nothing is called
PRICED: dict[str, Any] = {
    "user_model": "gpt-4.1-mini", "judge_model": "gpt-4.1", "embed_model": "text-embedding-3-small",
    "adapter": "bot.py:answer",
}  # fmt: skip


def shown(found: Forecast) -> list[str]:
    """The lines on a wide terminal, below the title."""
    out = io.StringIO()
    paint(forecast_report(found), Console(file=out, width=300, color_system=None))
    return out.getvalue().splitlines()[2:]


def lines_of(language: Language = "ja", **settings: Any) -> list[str]:
    """The lines for ten questions to a bot of one's own."""
    plan = [a_talk(a_case(language, id=f"q{n}")) for n in range(10)]
    return shown(forecast(a_stage(SERVER, **(PRICED | settings)), plan))


def test_money_comes_first() -> None:
    """From what to what, in dollars and yen; then calls and tokens by role, and what the range means."""
    first, gap, head, customer, judge, total, _gap, meaning, advice, *rest = lines_of("en")

    assert first.startswith("Cost: 0.0")
    assert " JPY). Yen at 150 JPY per USD" in first
    assert (gap, " ".join(head.split())) == ("", "role model calls tokens in tokens out USD")
    assert [line.split()[:3] for line in (customer, judge)] == [
        ["Customer", "gpt-4.1-mini", "10-30"], ["Judge", "gpt-4.1", "10-30"],
    ]  # fmt: skip
    assert total.split()[:2] == ["total", "20-60"]
    assert meaning.startswith("At least, if every customer leaves after the first answer")
    assert "run it with --limit 3 first" in advice
    assert rest[-1] == "Nothing was started."
