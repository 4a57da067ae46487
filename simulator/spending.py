"""Calls, tokens and money by role. An unknown price stays unknown; it is never counted as nothing."""

from collections.abc import Callable
from functools import lru_cache

from simulator.errors import RehearsalError
from simulator.types import Role, Spending, Usage


class BudgetSpent(RehearsalError):
    """The run has reached `--budget`."""


@lru_cache(maxsize=256)
def _rates(model: str) -> tuple[float, float] | None:
    """Dollars per input and per output token, from the maintained price table; None if unknown."""
    from genai_prices import Usage as Counted  # a quarter second, only for paid runs
    from genai_prices import calc_price

    provider, _, name = model.rpartition(":")
    # The table finds embedding models only where their provider is named.
    for owner in (provider or None, "openai"):
        try:
            price = [
                float(
                    calc_price(
                        Counted(input_tokens=i, output_tokens=o), model_ref=name, provider_id=owner
                    ).total_price
                )
                for i, o in ((10_000, 0), (0, 10_000))
            ]
        except LookupError:
            continue
        return price[0] / 10_000, price[1] / 10_000
    return None


def cost_usd(usage: Usage) -> float | None:
    """The price of one call, or None when the model is not in the price table."""
    rates = _rates(usage.model)
    return None if rates is None else rates[0] * usage.tokens_in + rates[1] * usage.tokens_out


class Ledger:
    """What each role has used, kept while the run goes on and written through `record`."""

    def __init__(self, spent: dict[str, Spending], budget: float | None = None) -> None:
        """Starts from what an interrupted run had already spent."""
        self.roles = dict(spent)
        self.budget = budget
        self.record: Callable[[Role, Usage, bool, float | None], None] = lambda *_: None

    def charge(self, role: Role, usage: Usage, *, cached: bool = False) -> None:
        """Counts one answered call; a cached one costs nothing."""
        before = self.roles.get(role, Spending())
        cost = 0.0 if cached else cost_usd(usage)
        self.roles[role] = Spending(
            calls=before.calls + (not cached),
            cached=before.cached + cached,
            tokens_in=before.tokens_in + (0 if cached else usage.tokens_in),
            tokens_out=before.tokens_out + (0 if cached else usage.tokens_out),
            cost_usd=None if cost is None or before.cost_usd is None else before.cost_usd + cost,
        )
        self.record(role, usage, cached, cost)

    @property
    def cost_usd(self) -> float | None:
        """The whole run so far; None as soon as one part is unknown."""
        costs = [role.cost_usd for role in self.roles.values()]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def check(self) -> None:
        """Raises BudgetSpent when the known part of the cost has reached the budget."""
        known = sum(role.cost_usd or 0.0 for role in self.roles.values())
        if self.budget is not None and known >= self.budget:
            msg = f"the budget of {self.budget:g} USD is spent"
            raise BudgetSpent(msg)
