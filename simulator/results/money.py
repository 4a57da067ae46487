"""What a run used: calls, tokens and dollars of the program's roles, and those that the bot reports."""

from collections import Counter
from dataclasses import replace

from simulator.core.settings import stored_settings
from simulator.core.types import Results, Spending
from simulator.models.pricing import Prices, usage_of
from simulator.results.figures import MoneyFigures

# Of the adapter, the bundled bot: its model is one of the run's own roles, and its tokens are counted there.
_BUNDLED_BOT = "demo"


def money_figures(results: Results) -> MoneyFigures:
    """What the run used."""
    return MoneyFigures(spending=results.spending, usage=results.usage, bot=bot_usage(results))


def bot_usage(results: Results) -> dict[str, Spending]:
    """What the bot itself spent by model: calls, tokens, dollars; empty where no answer states its tokens.

    Without a model's name the cost is unknown (None), and not 0 as that of a stand-in. The bundled bot has
    no row: its calls are among those of the run (role `demo`).
    """
    # Its tokens are counted by the ledger; counting them here would show them twice.
    if results.run.settings.get("adapter", _BUNDLED_BOT) == _BUNDLED_BOT:
        return {}
    used: dict[str, Counter[str]] = {}
    for usage in results.conversations.usages():
        tokens = {key: getattr(usage, key) for key in ("tokens_in", "tokens_out", "tokens_cached")}
        used.setdefault(usage.model, Counter()).update(tokens, calls=1)
    prices, spending = Prices.of(stored_settings(results.run.settings)) if used else None, {}
    for model, counted in used.items():
        spent = Spending(**counted)
        cost = prices.cost_usd(usage_of(model, spent)) if prices and model else None
        spending[model] = replace(spent, cost_usd=cost)
    return spending
