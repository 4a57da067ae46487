"""Before a run: what rules it out, what of the data is ignored, which models play, what it will cost."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.cli.terminal import DONE, padded, print_json, print_report, say
from simulator.core.errors import RunFileError
from simulator.core.messages import Message, _, listed, localised, ngettext, pgettext, sentences
from simulator.core.roles import check_players
from simulator.core.settings import JPY_PER_USD, Settings, dollars
from simulator.core.types import Conversation, Role, Spending
from simulator.data.knowledge import unread_files
from simulator.models.pricing import check_prices, total_spending
from simulator.runner.context import RunContext
from simulator.runner.estimate import Forecast, by_role, forecast

# Unread files that are named at most.
LISTED = 8


def check_folder(runs: Path) -> None:
    """Raises RunFileError where a folder of runs could not be made or written; makes nothing."""
    try:
        existing = next(path for path in (runs, *runs.resolve().parents) if path.exists())
        writable = existing.is_dir() and os.access(existing, os.W_OK)
    except OSError:  # it cannot even be looked at
        writable = False
    if not writable:
        msg = _("{runs}: cannot be written. Choose another folder with --runs.", runs=runs)
        raise RunFileError(msg)


def check_target(context: RunContext, plan: Sequence[Conversation]) -> None:
    """Raises InputError for a target that could be reached by accident: by stand-ins, or without evidence."""
    settings = context.settings
    if settings.target is None:
        return
    from simulator.stats.gate import check_evidence

    roles: list[Role] = ["user", "judge"]
    if settings.adapter == "demo":
        roles.append("demo")
    check_players(settings, context.endpoints, [role for role in roles if context.is_played(role)])
    check_evidence(settings, (conversation.case for conversation in plan))


# --- What is said when a run starts ---

ROLE_NAMES: dict[str, Message] = {
    "user": pgettext("a role", "user"),
    "judge": pgettext("a role", "judge"),
    "embed": pgettext("a role", "embed"),
    "demo": pgettext("a role", "demo"),
}


def announce(settings: Settings, context: RunContext, plan: Sequence[Conversation]) -> None:
    """Says on stderr what is ignored, what will run, and, if it is paid for, what it will cost."""
    for note in _unread_knowledge(settings):
        say(note)
    size = _size(settings, context, plan)
    if not context.models():
        say(sentences(size, _("No model is used besides the bot.")))
        return
    if context.offline:
        reason = _("Offline as requested") if settings.offline else _("No model configured")
        roles = _("customer and judges") if context.has_customers else _("the judges")
        why = _(
            "{reason}: lexical stand-ins play {roles} (no language model, no cost).",
            reason=reason,
            roles=roles,
        )
        say(sentences(size, why))
        return
    roles_played = [role for role in context.models() if role != "demo" or settings.adapter == "demo"]
    models = tuple(
        _("{role} {model}", role=ROLE_NAMES[role], model=context.models()[role]) for role in roles_played
    )
    say(sentences(size, _("Models: {models}.", models=models)))
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


def _unread_knowledge(settings: Settings) -> Iterator[Message]:
    knowledge = settings.set.get("knowledge", "") if settings.adapter == "demo" else ""
    if knowledge and (files := unread_files(knowledge)):
        yield _("{knowledge}: not read: {files}.", knowledge=knowledge, files=listed(files, LISTED))


def _size(settings: Settings, context: RunContext, plan: Sequence[Conversation]) -> Message:
    if not context.has_customers:
        rows, bot = ngettext("{n} row", "{n} rows", n=len(plan)), settings.adapter
        if prompts := context.applied_prompts:
            return _("{rows}, bot: {bot}, prompt: {prompt}.", rows=rows, bot=bot, prompt=prompts.summary)
        return _("{rows}, bot: {bot}.", rows=rows, bot=bot)
    turns = settings.turns
    if settings.adapter == "recorded":  # as far as the log goes
        turns = max((context.turns(conversation)[0] for conversation in plan), default=turns)
    return _(
        "{conversations}, up to {turns} each, bot: {bot}.",
        conversations=ngettext("{n} conversation", "{n} conversations", n=len(plan)),
        turns=ngettext("{n} turn", "{n} turns", n=turns),
        bot=settings.adapter,
    )


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
    from simulator.report.estimate import forecast_report  # words and widths: a paid run does without

    print_report(forecast_report(estimate, jpy_per_usd), as_json=False)


def show_calls(estimate: Mapping[Any, Spending], *, as_json: bool) -> int:
    """Prints the forecast of a command that knows only the most that it takes, by role; returns DONE."""
    if as_json:
        print_json(_calls_json(estimate))
        return DONE
    if len(estimate) > 1:
        for role, spent in estimate.items():
            line = ngettext(
                "{role} {calls} call   {tokens_in} tokens in  {tokens_out} out  {money}",
                "{role} {calls} calls  {tokens_in} tokens in  {tokens_out} out  {money}",
                n=spent.calls,
                role=padded(localised(ROLE_NAMES[role]), 6),
                calls=f"{spent.calls:6}",
                tokens_in=f"{spent.tokens_in:9,}",
                tokens_out=f"{spent.tokens_out:8,}",
                money=money(spent.cost_usd),
            )
            sys.stdout.write(f"{localised(line)}\n")
    most = _("At most {total}. Nothing was started.", total=total(estimate.values()))
    sys.stdout.write(f"{localised(most)}\n")
    return DONE


def total(spendings: Iterable[Spending]) -> Message:
    """`36 model calls, about 31,000 tokens, 0.12 USD`."""
    whole = total_spending(list(spendings))
    return _(
        "{calls}, about {tokens}, {money}",
        calls=ngettext("{n} model call", "{n} model calls", n=whole.calls),
        tokens=ngettext("{n} token", "{n} tokens", n=whole.tokens_in + whole.tokens_out),
        money=money(whole.cost_usd),
    )


def money(amount: float | None) -> Message:
    """`0.12 USD`; small amounts with the digits they need."""
    return _("price unknown") if amount is None else _("{amount} USD", amount=dollars(amount))


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
    return spent.model_dump(exclude={"cached"})
