"""What is said before a run: who plays, and what it will take."""

from typing import Any

import pytest

from simulator.cli.forecast import show_forecast
from simulator.core.types import Spending
from simulator.runner.estimate import Forecast


def test_rows_without_a_model_have_no_empty_lists(capsys: pytest.CaptureFixture[str]) -> None:
    """Who grades is said instead; a bot of one's own is asked, and pays for itself."""
    for told, ends in (
        (True, "simple scoring (no AI, no cost)"),
        (False, "Apart from the bot, no model is used"),
    ):
        show_forecast(Forecast({}, {}, answers=1, rows=True, offline=told), as_json=False)
        title, *lines = capsys.readouterr().out.split("\n")[1:]
        text = " ".join(lines).rstrip()

        assert title == "Forecast"
        assert text.startswith("Questions to the bot: 1 at most; this forecast does not include")
        assert ends in text
        assert text.endswith("Nothing was started.")


def test_nobody_leaves_a_row_early(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is said of customers where rows are asked."""
    spent: dict[Any, Spending] = {("judge", "m"): Spending(calls=1, tokens_in=1, cost_usd=0.1)}
    show_forecast(Forecast(spent, spent, rows=True), as_json=False)
    out = capsys.readouterr().out

    assert "customers" not in out
    assert "stay" not in out
    assert "Judge  m          1          1           0  0.10" in out
