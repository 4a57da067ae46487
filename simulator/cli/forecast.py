"""What a run or another command will cost, as --dry-run shows it, and what a command says beforehand.

Of a run the range is told, at least and at most (`show_forecast`; api/forecast.py when it starts). Commands
that have a model grade or write know only the most that it can be (`show_calls`, `judged`). Where a price is
needed, for --budget, and unknown, nothing starts.
"""

import os
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NoReturn

from simulator.api.forecast import total
from simulator.api.progress import progress_bar
from simulator.cli.terminal import EndCommand, ExitCode, Result, print_json, run_async, saved_in_cache, say
from simulator.core.document import Line, Report
from simulator.core.messages import Message, _, language_of, sentences
from simulator.core.settings import Settings
from simulator.core.titles import title
from simulator.core.types import LEXICAL, Spending
from simulator.models.pricing import Ledger, check_prices, total_spending
from simulator.report.estimate import forecast_report
from simulator.report.painters.console import print_report
from simulator.report.tables import spending_table
from simulator.runner.estimate import Forecast, by_role


def show_forecast(estimate: Forecast, *, as_json: bool) -> None:
    """Prints the forecast of a run: what it costs, by role and model, and what that rests on."""
    if as_json:
        print_json(_forecast_json(estimate))
    else:
        print_report(forecast_report(estimate), as_json=False)


def show_calls(estimate: Mapping[Any, Spending], settings: Settings) -> NoReturn:
    """Ends a command with the most that it would take, by role: it knows no more."""
    if settings.json_output:
        print_json(_calls_json(estimate))
        raise EndCommand(ExitCode.DONE)
    spending = [(title("role", role), spent) for role, spent in estimate.items()]
    most = Line(_("At most {total}. Nothing was started.", total=total(estimate.values())))
    blocks = (spending_table("forecast", _("role"), spending), most) if len(spending) > 1 else (most,)
    print_report(Report(_("Forecast"), language_of(os.environ), blocks))
    raise EndCommand(ExitCode.DONE)


Work = Callable[[Callable[..., None]], Coroutine[Any, Any, Result]]


def judged(
    settings: Settings, work: Work[Result], about: Message, model: str, *, pieces: int, most: Spending
) -> Result:
    """What a model's work returns, which `about` describes; a dry run, or an early end, ends the command.

    The frame of `calibrate`, `compare` and `thresholds`: forecast, prices, a line about what follows, a bar.
    An early end says that the answers so far are in the response cache, so that the same command goes on.

    `work` is given what it calls for every piece that is done; it takes `most` at most.
    """
    if most.calls:
        check_prices(settings, [("judge", model)])
    if settings.dry_run:
        show_calls({"judge": most}, settings)
    by = None  # where functions alone grade, there is nothing to say
    if most.calls:
        by = _("Model: {model}. At most {total}.", model=model, total=total([most]))
    elif model == LEXICAL:
        by = _("No model configured: simple scoring (no AI, no cost).")
    say(sentences(about, by))
    with progress_bar(pieces, _("graded")) as bar:
        done = run_async(work(bar.advance), saved_in_cache(settings.cache))
    if done is None:  # why was said; the exit code is taken from here, past whatever the command would show
        raise EndCommand(ExitCode.INCOMPLETE)
    return done


def spent_json(ledger: Ledger) -> dict[str, Any]:
    """What a command has spent, for --json: `cost_usd` is null where the price of a part is unknown."""
    spent = ledger.spent
    return {
        "calls": {role: used.calls for role, used in ledger.roles.items()},
        "cost_usd": None if spent.cost_usd is None else round(spent.cost_usd, 4),
        "cost_at_least_usd": round(spent.least_usd, 4),
    }


def _forecast_json(estimate: Forecast) -> dict[str, Any]:
    """`forecast` and `cost_usd` are upper limits.

    `usage` has both limits by role and model, `range` both ends in sum, `bot` how often the bot is asked.
    """
    usage: dict[str, Any] = {}
    for name, by_model in (("at_most", estimate.most), ("at_least", estimate.low)):
        for (role, model), spent in by_model.items():
            usage.setdefault(role, {}).setdefault(model, {})[name] = _spending_json(spent)
    ends = (("low", estimate.low), ("high", estimate.most))
    return _calls_json(by_role(estimate.most)) | {
        "usage": usage,
        "bot": {"answers": estimate.answers},
        "range": {name: _spending_json(total_spending(list(end.values()))) for name, end in ends},
    }


def _calls_json(estimate: Mapping[Any, Spending]) -> dict[str, Any]:
    return {
        "forecast": {role: _spending_json(spent) for role, spent in estimate.items()},
        "cost_usd": total_spending(list(estimate.values())).cost_usd,
    }


def _spending_json(spent: Spending) -> dict[str, Any]:
    return {key: getattr(spent, key) for key in ("calls", "tokens_in", "tokens_out", "cost_usd")}
