"""What a run will cost, as it is said when the run starts."""

from collections.abc import Iterable, Sequence

from simulator.core.messages import Message, _, ngettext, say, sentences
from simulator.core.settings import JPY_PER_USD, dollars
from simulator.core.types import Conversation, Spending
from simulator.models.pricing import check_prices, money, total_spending
from simulator.results.disputes import disputed_in
from simulator.runner.context import RunContext
from simulator.runner.estimate import forecast


def announce_cost(context: RunContext, plan: Sequence[Conversation]) -> None:
    """Says on stderr what a run will cost. Raises InputError where a price is needed and unknown.

    The least, below it "At most 36 model calls, about 31,000 tokens, 0.12 USD.", and what the budget is in
    yen; that a budget may not be enough is no error, for the run stops in time.
    """
    settings = context.settings
    estimate = forecast(context, plan, disputed_in(settings.runs))
    check_prices(settings, estimate.high)
    most = total_spending(list(estimate.high.values())).cost_usd
    context.cost_of_one = most / len(plan) if most and plan else None
    say(_("At least {total}.", total=total(estimate.low.values())))
    say(_("At most {total}.", total=total(estimate.most.values())))
    if (budget := settings.budget) is None:
        return
    short = None
    cost = total_spending(list(estimate.most.values())).cost_usd or 0.0
    if cost > budget:
        short = _("It may not be enough: the run can come to {cost} USD.", cost=dollars(cost))
    line = _(
        "Budget: {budget} USD, {yen:,.0f} JPY at about {rate:g} JPY per USD.",
        budget=dollars(budget), yen=budget * JPY_PER_USD, rate=JPY_PER_USD,
    )  # fmt: skip
    say(sentences(line, short))


def total(spendings: Iterable[Spending]) -> Message:
    """`36 model calls, about 31,000 tokens, 0.12 USD`."""
    whole = total_spending(list(spendings))
    tokens = int(float(f"{whole.tokens_in + whole.tokens_out:.2g}"))  # more digits would be made up
    return _(
        "{calls}, about {tokens}, {money}",
        calls=ngettext("{n} model call", "{n} model calls", n=whole.calls),
        tokens=ngettext("{n} token", "{n} tokens", n=tokens),
        money=money(Spending(cost_usd=whole.cost_usd)),  # "at most ... at least" says nothing
    )
