"""Before a run: what rules it out, what of the data is ignored, which models play, what it will cost."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.cli.bot_sample import bot_sample
from simulator.cli.terminal import DONE, counted, print_json, print_report, say
from simulator.core.errors import RunFileError
from simulator.core.roles import check_players
from simulator.core.settings import JPY_PER_USD, Settings, dollars
from simulator.core.translations import safe_text
from simulator.core.types import Conversation, Role, Spending
from simulator.data.knowledge import unread_files
from simulator.models.pricing import check_prices, total_spending
from simulator.runner.context import RunContext
from simulator.runner.estimate import Forecast, SampledAnswers, by_role, forecast

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
        msg = f"{runs}: cannot be written. Choose another folder with --runs."
        raise RunFileError(msg)


def check_target(context: RunContext, plan: Sequence[Conversation]) -> None:
    """Raises InputError for a target that could be reached by accident: by stand-ins, or without evidence."""
    settings = context.settings
    if settings.target is None:
        return
    from simulator.stats.outcome import check_evidence  # figures and all: only where there is a target

    roles: list[Role] = ["user", "judge"]
    if settings.adapter == "demo":
        roles.append("demo")
    check_players(settings, context.endpoints, [role for role in roles if context.is_played(role)])
    check_evidence(settings, (conversation.case for conversation in plan))


# --- What is said when a run starts ---


def announce(settings: Settings, context: RunContext, plan: Sequence[Conversation]) -> None:
    """Says on stderr what is ignored, what will run, and, if it is paid for, what it will cost."""
    for note in _unread_knowledge(settings):
        say(note)
    size = _size(settings, context, plan)
    if not context.models():
        say(f"{size} No model is used besides the bot.")
        return
    if context.offline:
        reason = "Offline as requested" if settings.offline else "No model configured"
        roles = "customer and judges" if context.has_customers else "the judges"
        say(f"{size} {reason}: lexical stand-ins play {roles} (no language model, no cost).")
        return
    roles_played = [role for role in context.models() if role != "demo" or settings.adapter == "demo"]
    models = ", ".join(f"{role} {context.models()[role]}" for role in roles_played)
    say(f"{size} Models: {models}.")
    estimate = forecast(context, plan, Path(settings.runs), bot_sample(context, plan))
    check_prices(settings, estimate.at_most)
    say(f"At most {total(estimate.at_most.values())}.")
    say(_expected(estimate))
    if settings.budget is not None:
        say(_budget(settings.budget, settings.jpy_per_usd, estimate))


def _unread_knowledge(settings: Settings) -> Iterator[str]:
    knowledge = settings.set.get("knowledge", "") if settings.adapter == "demo" else ""
    if knowledge and (files := unread_files(knowledge)):
        more = f" and {len(files) - LISTED} more" if len(files) > LISTED else ""
        yield f"{knowledge}: not read: {', '.join(files[:LISTED])}{more}."


def _size(settings: Settings, context: RunContext, plan: Sequence[Conversation]) -> str:
    if not context.has_customers:
        prompt = f", prompt: {context.applied_prompts.summary}" if context.applied_prompts else ""
        return f"{counted(len(plan), 'row')}, bot: {settings.adapter}{prompt}."
    turns = settings.turns
    if settings.adapter == "recorded":  # as far as the log goes
        turns = max((context.turns(conversation)[0] for conversation in plan), default=turns)
    conversations = counted(len(plan), "conversation")
    return f"{conversations}, up to {counted(turns, 'turn')} each, bot: {settings.adapter}."


def _expected(estimate: Forecast) -> str:
    least = total_spending(list(estimate.low.values())).cost_usd
    cost = total(estimate.expected.values()) + (f", at least {dollars(least)} USD" if least else "")
    if estimate.like is not None:
        return f"Expected, based on run {safe_text(estimate.like)}: {cost}."
    assumed = "" if estimate.rows else "; assumes that nobody leaves early"
    return f"Expected: {cost} (there is no similar run to go by{assumed})."


def _budget(budget: float, jpy_per_usd: float, estimate: Forecast) -> str:
    yen = f"{budget * jpy_per_usd:,.0f} JPY at about {jpy_per_usd:g} JPY per USD (--jpy-per-usd)"
    cost = total_spending(list(estimate.expected.values())).cost_usd or 0.0
    short = f" It may not be enough: {dollars(cost)} USD are expected." if cost > budget else ""
    return f"Budget: {dollars(budget)} USD, {yen}.{short}"


# --- Forecasts of --dry-run ---


def show_forecast(estimate: Forecast, *, as_json: bool, jpy_per_usd: float = JPY_PER_USD) -> None:
    """Prints the forecast of a run: cost and range, by role and model, and what is unknown of it."""
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
            calls = f"{spent.calls:6} {'call ' if spent.calls == 1 else 'calls'}"
            tokens = f"{spent.tokens_in:9,} tokens in  {spent.tokens_out:8,} out"
            print(f"{role:6} {calls}  {tokens}  {money(spent.cost_usd)}")  # noqa: T201
    print(f"At most {total(estimate.values())}. Nothing was started.")  # noqa: T201
    return DONE


def total(spendings: Iterable[Spending]) -> str:
    """`36 model calls, about 31,000 tokens, 0.12 USD`."""
    whole = total_spending(list(spendings))
    tokens = f"about {counted(whole.tokens_in + whole.tokens_out, 'token')}"
    return f"{counted(whole.calls, 'model call')}, {tokens}, {money(whole.cost_usd)}"


def money(amount: float | None) -> str:
    """`0.12 USD`; small amounts with the digits they need."""
    return "price unknown" if amount is None else f"{dollars(amount)} USD"


def _forecast_json(estimate: Forecast) -> dict[str, Any]:
    """`forecast` and `cost_usd` are upper limits; `usage` has both limits by role and model."""
    usage: dict[str, Any] = {}
    for name, by_model in (("at_most", estimate.at_most), ("expected", estimate.expected)):
        for (role, model), spent in by_model.items():
            usage.setdefault(role, {}).setdefault(model, {})[name] = _spending_json(spent)
    expected = by_role(estimate.expected)
    ends = (("low", estimate.low), ("high", estimate.high))
    return _calls_json(by_role(estimate.at_most)) | {
        "expected": {role: _spending_json(spent) for role, spent in expected.items()},
        "expected_cost_usd": total_spending(list(expected.values())).cost_usd,
        "usage": usage,
        "like": estimate.like,
        "bot": {"answers": estimate.answers},
        "range": {name: _spending_json(total_spending(list(end.values()))) for name, end in ends},
        "unknown": {cost.what: {"low_usd": cost.low, "high_usd": cost.high} for cost in estimate.unknown},
        "heard": {language: _sample_json(sample) for language, sample in estimate.samples.items()},
    }


def _calls_json(estimate: Mapping[Any, Spending]) -> dict[str, Any]:
    return {
        "forecast": {role: _spending_json(spent) for role, spent in estimate.items()},
        "cost_usd": total_spending(list(estimate.values())).cost_usd,
    }


def _spending_json(spent: Spending) -> dict[str, Any]:
    return spent.model_dump(exclude={"cached"})


def _sample_json(sample: SampledAnswers) -> dict[str, Any]:
    """What --ask-bot learnt: tokens at least, usually and at most."""
    tokens = {"answer_tokens": sample.answer._asdict(), "passage_tokens": sample.passages._asdict()}
    return {"asked": sample.asked, "on": sample.on or None, "passages": sample.number, **tokens}
