"""Calls, tokens and money by role. An unknown price stays unknown; it is never counted as nothing."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from simulator.allowance import Allowance, BudgetSpent
from simulator.core.errors import InputError
from simulator.core.roles import LEXICAL
from simulator.core.settings import JPY_PER_USD, Price, Settings, unpriced
from simulator.core.types import Results, Role, Spending, Usage

__all__ = ["JUDGE", "BudgetSpent", "Ledger", "Prices", "check_prices", "together"]

# For which judge the calls of this task are made; of several in one call, all of them: "relevance,fluency".
JUDGE: ContextVar[str] = ContextVar("judge", default="")
# Tokens that a reply is taken to have at most; twice the longest one seen where that is more.
LONGEST_REPLY = 2000


class Prices:
    """What models cost: the team's own prices first, then the maintained table of genai-prices."""

    def __init__(self, own: Mapping[str, Price] | None = None, jpy_per_usd: float = JPY_PER_USD) -> None:
        """`own` are prices by the model's name as it is configured."""
        self._own = {name: price.rates(jpy_per_usd) for name, price in (own or {}).items()}

    @classmethod
    def of(cls, settings: Settings) -> "Prices":
        """As these settings have them."""
        return cls(settings.prices, settings.jpy_per_usd)

    def rates(self, model: str) -> tuple[float, float] | None:
        """Dollars per input and per output token; None if unknown."""
        return self._own.get(model) or _listed(model)

    def cost_usd(self, usage: Usage) -> float | None:
        """The price of one call, or of many to one model; None when nobody knows the model's price."""
        rates = self.rates(usage.model)
        return None if rates is None else rates[0] * usage.tokens_in + rates[1] * usage.tokens_out

    def spending(self, model: str, calls: int, tokens_in: float, tokens_out: float) -> Spending:
        """So many calls to one model, priced; a stand-in has no name and costs nothing."""
        usage = Usage(model=model, tokens_in=round(tokens_in), tokens_out=round(tokens_out))
        return Spending(
            calls=calls,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            cost_usd=self.cost_usd(usage) if model else 0.0,
        )


@lru_cache(maxsize=256)
def _listed(model: str) -> tuple[float, float] | None:
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


def together(spendings: Sequence[Spending]) -> Spending:
    """Their sum; its cost is unknown as soon as one of theirs is."""
    costs = [each.cost_usd for each in spendings]
    return Spending(
        calls=sum(each.calls for each in spendings),
        cached=sum(each.cached for each in spendings),
        tokens_in=sum(each.tokens_in for each in spendings),
        tokens_out=sum(each.tokens_out for each in spendings),
        cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
    )


def check_prices(settings: Settings, models: Iterable[tuple[str, str]]) -> None:
    """Raises InputError when there is a budget and one of these roles' models has no known price."""
    prices = Prices.of(settings)
    for role, model in models if settings.budget is not None else ():
        if model not in ("", LEXICAL) and prices.rates(model) is None:
            raise InputError(unpriced(role, model))


def _repriced(usage: Mapping[str, Mapping[str, Spending]], prices: Prices) -> dict[str, Spending]:
    def priced(model: str, spent: Spending) -> Spending:
        used = Usage(model=model, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out)
        return (
            spent.model_copy(update={"cost_usd": prices.cost_usd(used)}) if spent.cost_usd is None else spent
        )

    return {role: together([priced(m, s) for m, s in models.items()]) for role, models in usage.items()}


class Ledger:
    """What each role has used, kept while the run goes on and written through `record`."""

    def __init__(
        self, spent: Mapping[str, Spending], budget: float | None = None, prices: Prices | None = None
    ) -> None:
        """Starts from what an interrupted run had already spent. `budget` is in dollars."""
        self.roles = dict(spent)
        self.prices = prices or Prices()
        self.budget = budget
        self._allowance = None if budget is None else Allowance(budget)
        self._longest: dict[str, int] = {}
        self.record: Callable[[Role, Usage, bool, float | None], None] = lambda *_: None

    @classmethod
    def of(cls, settings: Settings, earlier: Results | None = None) -> "Ledger":
        """With the budget and the prices of these settings; what had no price earlier may have one now."""
        prices = Prices.of(settings)
        spent = {} if earlier is None else {**earlier.spending, **_repriced(earlier.usage, prices)}
        return cls(spent, settings.budget, prices)

    def charge(self, role: Role, usage: Usage, *, cached: bool = False) -> None:
        """Counts one answered call; a cached one costs nothing."""
        before = self.roles.get(role, Spending())
        cost = 0.0 if cached else self.prices.cost_usd(usage)
        self.roles[role] = Spending(
            calls=before.calls + (not cached),
            cached=before.cached + cached,
            tokens_in=before.tokens_in + (0 if cached else usage.tokens_in),
            tokens_out=before.tokens_out + (0 if cached else usage.tokens_out),
            cost_usd=None if cost is None or before.cost_usd is None else before.cost_usd + cost,
        )
        if self._allowance is not None:
            self._allowance.spent = self._known
            self._longest[usage.model] = max(self._longest.get(usage.model, 0), usage.tokens_out)
        self.record(role, usage, cached, cost)

    @property
    def cost_usd(self) -> float | None:
        """The whole run so far; None as soon as one part is unknown."""
        return together(list(self.roles.values())).cost_usd

    def room(self, role: Role, body: Mapping[str, Any]) -> AbstractAsyncContextManager[None]:
        """Room in the budget for one request, until it is charged.

        Raises BudgetSpent when it might not fit, and when nobody knows its price.
        """
        if self._allowance is None:
            return nullcontext()
        self._allowance.spent = self._known
        return self._allowance.room(self._most(role, body))

    @property
    def _known(self) -> float:
        return sum(role.cost_usd or 0.0 for role in self.roles.values())

    def _most(self, role: Role, body: Mapping[str, Any]) -> float:
        """Dollars that a request costs at most: no tokenizer makes more tokens than there are bytes."""
        model = str(body.get("model", ""))
        if self.prices.rates(model) is None:
            raise BudgetSpent(unpriced(role, model))
        sent = len(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        reply = max(LONGEST_REPLY, 2 * self._longest.get(model, 0)) if "messages" in body else 0
        return self.prices.cost_usd(Usage(model=model, tokens_in=sent, tokens_out=reply)) or 0.0
