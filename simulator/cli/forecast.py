"""What a run or another command will cost: said before it is paid, and shown by --dry-run."""

import os
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simulator.cli.terminal import (
    DONE,
    INCOMPLETE,
    Result,
    print_json,
    progress_bar,
    run_async,
    saved_in_cache,
    say,
)
from simulator.core.document import Line, Report
from simulator.core.messages import Message, _, language_of, ngettext, sentences
from simulator.core.settings import JPY_PER_USD, Settings, dollars
from simulator.core.titles import title
from simulator.core.types import LEXICAL, Conversation, Spending
from simulator.models.pricing import Ledger, check_prices, total_spending
from simulator.report.estimate import forecast_report
from simulator.report.painters.console import print_report
from simulator.report.tables import money, spending_table
from simulator.runner.context import RunContext
from simulator.runner.estimate import Forecast, by_role, forecast


def announce_cost(settings: Settings, context: RunContext, plan: Sequence[Conversation]) -> None:
    """Says on stderr what a run will cost. Raises InputError where a price is needed and unknown."""
    estimate = forecast(context, plan, Path(settings.runs))
    check_prices(settings, estimate.high)
    say(_("At most {total}.", total=total(estimate.high.values())))
    if estimate.like:
        expected = total(estimate.expected.values())
        say(_("Expected, based on run {run}: {cost}.", run=estimate.like, cost=expected))
    else:
        say(_("At least {total} (there is no similar run to go by).", total=total(estimate.low.values())))
    if settings.budget is not None:
        say(_budget(settings.budget, settings.jpy_per_usd, estimate))


def _budget(budget: float, jpy_per_usd: float, estimate: Forecast) -> Message:
    line = _(
        "Budget: {budget} USD, {yen:,.0f} JPY at about {rate:g} JPY per USD (--jpy-per-usd).",
        budget=dollars(budget),
        yen=budget * jpy_per_usd,
        rate=jpy_per_usd,
    )
    cost = total_spending(list((estimate.expected or estimate.high).values())).cost_usd or 0.0
    if cost <= budget:
        return line
    if estimate.like:
        return sentences(line, _("It may not be enough: {cost} USD are expected.", cost=dollars(cost)))
    return sentences(line, _("It may not be enough: the run can come to {cost} USD.", cost=dollars(cost)))


# --- Forecasts of --dry-run ---


def show_forecast(estimate: Forecast, *, as_json: bool, jpy_per_usd: float = JPY_PER_USD) -> None:
    """Prints the forecast of a run: what it costs, by role and model, and what that rests on."""
    if as_json:
        print_json(_forecast_json(estimate))
        return

    print_report(forecast_report(estimate, jpy_per_usd), as_json=False)


def show_calls(estimate: Mapping[Any, Spending], *, as_json: bool) -> int:
    """Prints the forecast of a command that knows only the most that it takes, by role; returns DONE."""
    if as_json:
        print_json(_calls_json(estimate))
        return DONE
    spending = [(title("role", role), spent) for role, spent in estimate.items()]
    most = Line(_("At most {total}. Nothing was started.", total=total(estimate.values())))
    blocks = (spending_table("forecast", _("role"), spending), most) if len(spending) > 1 else (most,)
    print_report(Report(_("Forecast"), language_of(os.environ), blocks))
    return DONE


class JudgeWork(NamedTuple):
    """Work that one model does, piece by piece: what it is, by which model, how much, and what it takes."""

    about: Message
    model: str
    pieces: int
    most: Spending


def judged(
    work: Callable[[Callable[..., None]], Coroutine[Any, Any, Result]],
    job: JudgeWork,
    settings: Settings,
) -> Result | int:
    """What the work returns; or the exit code, where it was a dry run or ended early.

    `work` is given what it calls for every piece that is done.
    """
    if settings.dry_run:
        return show_calls({"judge": job.most}, as_json=settings.json_output)
    by = None  # where functions alone grade, there is nothing to say
    if job.most.calls:
        check_prices(settings, [("judge", job.model)])
        by = _("Model: {model}. At most {total}.", model=job.model, total=total([job.most]))
    elif job.model == LEXICAL:
        by = _("No model configured: a lexical stand-in grades (no language model, no cost).")
    say(sentences(job.about, by))
    with progress_bar(job.pieces, _("graded")) as bar:
        done = run_async(work(bar.advance), saved_in_cache(settings.cache))
    return INCOMPLETE if done is None else done


def spent_json(ledger: Ledger) -> dict[str, Any]:
    """What a command has spent, for --json."""
    spent = ledger.spent
    return {
        "calls": {role: used.calls for role, used in ledger.roles.items()},
        "cost_usd": None if spent.cost_usd is None else round(spent.cost_usd, 4),
        "cost_at_least_usd": round(spent.least_usd, 4),
    }


def total(spendings: Iterable[Spending]) -> Message:
    """`36 model calls, about 31,000 tokens, 0.12 USD`."""
    whole = total_spending(list(spendings))
    return _(
        "{calls}, about {tokens}, {money}",
        calls=ngettext("{n} model call", "{n} model calls", n=whole.calls),
        tokens=ngettext("{n} token", "{n} tokens", n=whole.tokens_in + whole.tokens_out),
        money=money(Spending(cost_usd=whole.cost_usd)),  # "at most ... at least" says nothing
    )


def _forecast_json(estimate: Forecast) -> dict[str, Any]:
    """`forecast` and `cost_usd` are upper limits; `expected` is empty without an earlier run to go by."""
    usage: dict[str, Any] = {}
    parts = (("at_most", estimate.high), ("at_least", estimate.low), ("expected", estimate.expected))
    for name, by_model in parts:
        for (role, model), spent in by_model.items():
            usage.setdefault(role, {}).setdefault(model, {})[name] = _spending_json(spent)
    expected = by_role(estimate.expected)
    ends = (("low", estimate.low), ("high", estimate.high))
    return _calls_json(by_role(estimate.high)) | {
        "expected": {role: _spending_json(spent) for role, spent in expected.items()},
        "expected_cost_usd": total_spending(list(expected.values())).cost_usd if estimate.like else None,
        "usage": usage,
        "like": estimate.like,
        "bot": {"answers": estimate.answers},
        "range": {name: _spending_json(total_spending(list(end.values()))) for name, end in ends},
    }


def _calls_json(estimate: Mapping[Any, Spending]) -> dict[str, Any]:
    return {
        "forecast": {role: _spending_json(spent) for role, spent in estimate.items()},
        "cost_usd": total_spending(list(estimate.values())).cost_usd,
    }


def _spending_json(spent: Spending) -> dict[str, Any]:
    return spent.model_dump(exclude={"cached", "tokens_cached", "known_usd", "uncounted"})
