"""Prices of models, what a run has spent, and its budget.

Before each attempt of a call it reserves the most that it may cost, and releases that when its cost is known.
A call that does not fit waits for calls in flight, and is refused when none of them is left. So the budget
is never exceeded, unless a reply is longer than expected.

    spent 4.90 of 5.00, 3 calls in flight with 0.02 reserved each, the next may cost 0.06
        it waits: 4.90 + 0.06 + 0.06 > 5.00
    they arrive and cost 0.005 each; 4.915 + 0.06 fits, and it goes out

A cost is None, not 0, where nobody knows it: the price of the model is in no table, or the reply told no
tokens. Sums with such a call are "at least" the rest of it. With --budget an unknown price is refused before
the run (`check_prices`), and a call whose reply never came counts as the most that it may have cost.

Prices: those of the user (--prices, [prices] of rehearsal.toml), then those of the package genai-prices.
1,000 tokens in and 100 out of gpt-4.1-mini cost 0.00056 dollars, and with 400 of them from the endpoint's
cache 0.00044.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _
from simulator.core.settings import Price, Settings, TokenPrices, dollars, missing_price
from simulator.core.types import LEXICAL, Results, Role, Spending, Usage

# What the calls of this task have cost, in a list so that the tasks it starts add to the same sum.
METER: ContextVar[list[float]] = ContextVar("meter", default=[0.0])  # noqa: B039 - a sum of what nobody asks for
# The most tokens that a reply is expected to have, or twice the longest one so far if that is more: what a
# call without a limit of its own reserves. Too much would hold up calls that fit, too little break the
# budget.
LONGEST_REPLY = 2000


class BudgetSpent(RehearsalError):
    """The next call could exceed `--budget`."""


class Allowance:
    """A budget in dollars: what is spent, and what calls in flight have reserved."""

    def __init__(self, budget: float, spent: float = 0.0) -> None:
        self.budget, self.spent = budget, spent
        self.reserved, self.in_flight = 0.0, 0
        self.lost = 0.0  # of `spent`, what calls of unknown cost may have cost at most
        self._first_in_line = asyncio.Lock()
        self._released = asyncio.Event()
        self._refused: Message | str | None = None

    @asynccontextmanager
    async def room(self, most: float) -> AsyncIterator[None]:
        """Reserves `most` dollars for one call. Raises BudgetSpent when they cannot become available.

        Calls are served in order: the first one waits until calls in flight release enough, the others wait
        for the first. After the first refusal every call is refused, or a run would end with its cheapest
        calls only.
        """
        async with self._first_in_line:
            # Only the first in line waits here, so a dear call is not overtaken for ever by cheap ones.
            while self._refused is None and self.spent + self.reserved + most > self.budget:
                if not self.in_flight:
                    self._refused = self._reason(most)
                    break
                self._released.clear()
                await self._released.wait()
            if self._refused is not None:
                raise BudgetSpent(self._refused)
            self.in_flight += 1
            self.reserved += most
        try:
            yield
        finally:
            self.in_flight -= 1
            self.reserved = self.reserved - most if self.in_flight else 0.0  # without rounding errors
            self._released.set()

    def _reason(self, most: float) -> Message:
        return _(
            "too little is left of the budget of {budget} USD ({paid}, and the next call may cost {most}"
            " USD)",
            budget=dollars(self.budget),
            paid=paid(self.spent, is_known=not self.lost),
            most=dollars(most),
        )


def paid(amount: float, *, is_known: bool) -> Message:
    """What was paid, or may have been at most where the cost of some calls is not known."""
    if is_known:
        return _("{amount} USD paid", amount=dollars(amount))
    return _("at most {amount} USD paid", amount=dollars(amount))


class Prices:
    """Prices of models: the configured ones first, then those of genai-prices."""

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        """`own` has prices by the configured name of a model."""
        self._own = {name: price.rates for name, price in (own or {}).items()}

    def rates(self, model: str) -> TokenPrices | None:
        """Dollars per token; None if unknown."""
        return self._own.get(model) or _listed(model)

    def cost_usd(self, usage: Usage) -> float | None:
        """The cost in dollars; None when the price of the model is unknown."""
        rates = self.rates(usage.model)
        if rates is None:
            return None
        # What an endpoint tells may not add up; more tokens cannot be cached than went in.
        cached = min(usage.tokens_cached, usage.tokens_in)
        return (
            rates.input * (usage.tokens_in - cached) + rates.cached * cached + rates.output * usage.tokens_out
        )

    def spending(self, model: str, calls: int, tokens_in: float, tokens_out: float) -> Spending:
        """The spending on these calls to one model; a stand-in (an empty name) costs nothing."""
        usage = Usage(model=model, tokens_in=round(tokens_in), tokens_out=round(tokens_out))
        return Spending(
            calls=calls,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            cost_usd=self.cost_usd(usage) if model else 0.0,
        )

    def completed(self, model: str, spent: Spending) -> Spending:
        """Spending whose cost was unknown, at the price that the model has now.

        After `--resume` with a --prices file the budget knows what the earlier sessions cost.
        """
        if spent.cost_usd is not None:
            return spent
        cost = self.cost_usd(usage_of(model, spent))
        if spent.uncounted:
            return replace(spent, known_usd=cost or 0.0)
        return replace(spent, cost_usd=cost)


def usage_of(model: str, spent: Spending) -> Usage:
    """The tokens of all calls together."""
    tokens = {key: getattr(spent, key) for key in ("tokens_in", "tokens_out", "tokens_cached")}
    return Usage(model=model, **tokens)


@lru_cache
def _listed(model: str) -> TokenPrices | None:
    """What genai-prices has, which loads slowly: kept for the hour, as Python keeps compiled modules."""
    source, kept_in = find_spec("genai_prices"), Path(cache_from_source(__file__)).with_name("prices.json")
    table = Path(source.origin) if source and source.origin else Path()
    hour = f"{datetime.now(tz=UTC):%Y-%m-%d %H}"  # some have prices for the night
    state, kept = f"{table} {table.stat().st_mtime_ns} {hour}", dict[str, Any]()
    with suppress(OSError, ValueError):
        kept = json.loads(kept_in.read_bytes())
    if kept.get("of") != state:
        kept = {"of": state, "prices": {}}
    if model not in kept["prices"]:
        kept["prices"][model] = _looked_up(model)
        with suppress(OSError):
            if not sys.dont_write_bytecode:
                kept_in.write_bytes(to_json(kept))
    rates = kept["prices"][model]
    return rates and TokenPrices(*rates)


def _looked_up(model: str) -> TokenPrices | None:
    from genai_prices import Usage as TokenCounts
    from genai_prices import calc_price

    # anthropic:claude-x is listed as claude-x of anthropic.
    provider, _, name = model.rpartition(":")
    # The table has embedding models only under their provider.
    for owner in (provider or None, "openai"):
        try:
            new, written, again = (
                float(calc_price(TokenCounts(**counts), model_ref=name, provider_id=owner).total_price)
                for counts in (
                    {"input_tokens": 10_000}, {"output_tokens": 10_000},
                    {"input_tokens": 10_000, "cache_read_tokens": 10_000},
                )
            )  # fmt: skip
        except LookupError:
            continue
        return TokenPrices(new / 10_000, written / 10_000, min(again, new) / 10_000)
    return None


def total_spending(spendings: Iterable[Spending]) -> Spending:
    """The sum; its cost is None as soon as one cost is."""
    return sum(spendings, Spending())


def money(spent: Spending) -> Message:
    """Dollars with the digits that small amounts need; of an unknown cost the part that is known."""
    if spent.cost_usd is not None:
        return _("{amount} USD", amount=dollars(spent.cost_usd))
    if spent.known_usd:
        return _("at least {amount} USD", amount=dollars(spent.known_usd))
    return _("cost unknown")


def check_prices(settings: Settings, models: Iterable[tuple[str, str]]) -> None:
    """Raises InputError when there is a budget and one of these roles' models has no known price."""
    prices = Prices(settings.prices)
    for role, model in models if settings.budget is not None else ():
        if model not in ("", LEXICAL) and prices.rates(model) is None:
            raise InputError(missing_price(role, model))


class Ledger:
    """What each role has spent in a run; every call is passed on to `record`."""

    def __init__(
        self, spent: Mapping[str, Spending], budget: float | None = None, prices: Prices | None = None
    ) -> None:
        """`spent` is what an interrupted run had spent already; `budget` is in dollars."""
        self.roles = dict(spent)
        self.prices = prices or Prices()
        self.budget = budget
        self._allowance = None if budget is None else Allowance(budget)
        self._longest = Counter[str]()
        # The most dollars by which a call has reserved more than it cost: as much the last one needs.
        self.excess = 0.0
        self._lost = 0.0  # the most that calls without a reply, or a count, may have cost
        self.record: Callable[[Role, Usage, bool, float | None], None] = lambda *_: None

    @classmethod
    def of(cls, settings: Settings, earlier: Results | None = None) -> "Ledger":
        """With the budget and prices of these settings; earlier calls without a price may have one now."""
        prices = Prices(settings.prices)
        spent = dict(earlier.spending) if earlier else {}
        for role, models in earlier.usage.items() if earlier else ():
            # By role, over all its models: a resumed run may have another one.
            spent[role] = total_spending([prices.completed(model, each) for model, each in models.items()])
        return cls(spent, settings.budget, prices)

    def charge(
        self,
        role: Role,
        usage: Usage,
        *,
        cached: bool = False,
        sent: Mapping[str, Any] | None = None,
        share: float = 1.0,
    ) -> None:
        """Counts one call; a cached one costs nothing, one without a count of tokens nobody knows what.

        `share` is what it costs of the usual price: 0.5 in a batch. A budget takes what nobody knows for the
        most that the request that was `sent` may cost.
        """
        # A free model (prices of 0) costs nothing, whether or not tokens were told.
        is_counted = usage.tokens_in or usage.tokens_out
        is_known = cached or is_counted or self.prices.rates(usage.model) == (0, 0, 0)
        price = self.prices.cost_usd(usage) if is_known and not cached else None
        cost = 0.0 if cached else None if price is None else share * price
        if cached:
            call = Spending(cached=1)
        else:
            call = Spending(
                calls=1,
                tokens_in=usage.tokens_in,
                tokens_out=usage.tokens_out,
                tokens_cached=usage.tokens_cached,
                cost_usd=cost,
                uncounted=int(not is_counted),
            )
        self.roles[role] = self.roles[role] + call if role in self.roles else call
        if self._allowance is not None:
            # The endpoint may have charged for a reply that never came.
            most = share * self._most(role, sent) if sent is not None else 0.0
            lost = 0.0 if is_counted else most
            self._lost += lost
            self._allowance.lost = self._lost
            self.excess = max(self.excess, most - (cost or lost))
            METER.get()[0] += lost + (cost or 0.0)
            self._allowance.spent = self._known_cost
            self._longest[usage.model] = max(self._longest[usage.model], usage.tokens_out)
        self.record(role, usage, cached, cost)

    @property
    def left(self) -> float | None:
        """The dollars of the budget that are not spent; None without one."""
        return None if self.budget is None else self.budget - self._known_cost

    @property
    def paid(self) -> Message:
        """What counts against the budget, in words."""
        return paid(self._known_cost, is_known=not self._lost)

    @property
    def spent(self) -> Spending:
        """What the run has used so far."""
        return total_spending(self.roles.values())

    def room(
        self, role: Role, body: Mapping[str, Any], share: float = 1.0
    ) -> AbstractAsyncContextManager[None]:
        """Reserves the budget for one request, until it is charged; `share` as in `charge`.

        Raises BudgetSpent when the request might exceed it, or when its price is unknown.
        """
        if self._allowance is None:
            return nullcontext()
        self._allowance.spent = self._known_cost
        return self._allowance.room(share * self._most(role, body))

    @property
    def _known_cost(self) -> float:
        return self._lost + sum(each.least_usd for each in self.roles.values())

    def _most(self, role: Role, body: Mapping[str, Any]) -> float:
        """The most dollars that a request may cost: there are never more tokens than bytes.

        Byte-pair tokenizers begin with single bytes and only join them. That is three to four times too much
        for English, but a bound, and it takes no tokenizer.
        """
        model = str(body.get("model", ""))
        if self.prices.rates(model) is None:
            raise BudgetSpent(missing_price(role, model))
        # The body as it is sent, form and all: a schema counts as input at most endpoints.
        try:
            size = len(to_json(body))
        except ValueError:  # half a character: it cannot be sent either
            return 0.0
        reply = max(LONGEST_REPLY, 2 * self._longest[model]) if "messages" in body else 0
        reply = min(reply, body.get("max_tokens") or body.get("max_completion_tokens") or reply)
        return self.prices.cost_usd(Usage(model=model, tokens_in=size, tokens_out=reply)) or 0.0
