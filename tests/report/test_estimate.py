"""The forecast in words: one line of money with its range, a table, what it rests on."""

from typing import Any

from simulator.report.estimate import forecast_report
from simulator.runner.estimate import forecast
from tests.run_helpers import a_case, a_stage, a_talk
from tests.servers.openai import OpenAIServer
from tests.texts import terminal

SERVER = OpenAIServer()  # never started: nothing is called
PRICED: dict[str, Any] = {
    "user_model": "gpt-4.1-mini", "judge_model": "gpt-4.1", "embed_model": "text-embedding-3-small",
    "adapter": "bot.py:answer",
}  # fmt: skip


def test_money_comes_first() -> None:
    """From what to what, in dollars and yen; then calls and tokens by role, and what the range means.

    The judge is asked for thirty grades at most, for the causes of thirty answers, and whether ten
    pairs of later ones are one fault.
    """
    plan = [a_talk(a_case("en", id=f"q{n}")) for n in range(10)]
    report = forecast_report(forecast(a_stage(SERVER, **PRICED), plan))
    _title, _gap, *lines = terminal(report, 400).splitlines()
    first, gap, head, customer, judge, total, _gap, meaning, *rest = lines

    assert first.startswith("Cost: 0.0")
    assert " JPY). Yen at 150 JPY per USD" in first
    assert (gap, " ".join(head.split())) == ("", "role model calls tokens in tokens out USD")
    assert [line.split()[:3] for line in (customer, judge)] == [
        ["Customer", "gpt-4.1-mini", "10-30"], ["Judge", "gpt-4.1", "10-70"],
    ]  # fmt: skip
    assert total.split()[:2] == ["total", "20-100"]
    assert meaning.startswith("At least, if every customer leaves after the first answer")
    assert rest[-1] == "Nothing was started."
