"""Before a run: whether it can be kept, who plays the models, and what it will take."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.cli.hearing import hearing
from simulator.core.errors import RunFileError
from simulator.core.roles import check_players
from simulator.core.settings import JPY_PER_USD, Settings, dollars
from simulator.core.translations import plain
from simulator.core.types import Conversation, Role, Spending
from simulator.data.cases import Columns, columns_of
from simulator.data.knowledge import unread
from simulator.models.pricing import check_prices, together
from simulator.runner.context import RunContext
from simulator.runner.estimate import Forecast, SampledAnswers, by_role, forecast

# Names of unread files that are listed at most.
LISTED = 8
OFFLINE = "No model configured: lexical stand-ins play customer and judges (no language model, no cost)."
ROWS_OFFLINE = "No model configured: lexical stand-ins play the judges (no language model, no cost)."
ROWS_UNMODELLED = "No model takes part beside the bot."


def check_folder(runs: Path) -> None:
    """Raises RunFileError where a folder of runs could not be made or written; makes nothing."""
    try:
        existing = next(path for path in (runs, *runs.resolve().parents) if path.exists())
        writable = existing.is_dir() and os.access(existing, os.W_OK)
    except OSError:  # not even to be looked at
        writable = False
    if not writable:
        msg = f"{runs}: cannot be written. Choose another folder with --runs."
        raise RunFileError(msg)


def passed_over(settings: Settings) -> tuple[str, ...]:
    """What of the user's files has no effect: columns nobody knows, knowledge nobody can read."""
    notes: list[str] = []
    rows = settings.protocol == "single_turn"  # whose plan has told already
    if settings.cases and not rows and not settings.cases.startswith("sheet:"):
        columns = columns_of(settings.cases, settings.columns)
        if columns.unused:
            notes.append(f"{settings.cases}: nothing is made of the columns {', '.join(columns.unused)}.")
        notes += _unused_answers(settings, columns)
    knowledge = settings.set.get("knowledge", "") if settings.adapter == "demo" else ""
    if knowledge and (left := unread(knowledge)):
        more = f" and {len(left) - LISTED} more" if len(left) > LISTED else ""
        notes.append(f"{knowledge}: not read: {', '.join(left[:LISTED])}{more}.")
    return tuple(notes)


def _unused_answers(settings: Settings, columns: Columns) -> Iterator[str]:
    """A list of answers beside the questions often holds the right ones, under the name of the bot's own."""
    if not columns.answers or settings.adapter == "recorded":
        return
    column = columns.answers[0]
    what = f"{settings.cases}: the column {column} is taken for answers that a bot gave"
    yield (
        f"{what}; this bot answers by itself, so it is not used."
        if columns.has_references
        else f"{what}, and is not used. If it holds the right answers: --columns references={column}"
    )


def announce(settings: Settings, context: RunContext, plan: Sequence[Conversation]) -> None:
    """One line on stderr, and what is passed over; before a paid run its forecast."""
    for note in passed_over(settings):
        _say(plain(note))
    count = _count(settings, context, plan)
    if not context.models():
        _say(f"{count} {ROWS_UNMODELLED}")
        return
    if context.offline:
        said = ROWS_OFFLINE if context.asks_once else OFFLINE
        _say(f"{count} {'Offline as asked: ' + said.partition(': ')[2] if settings.offline else said}")
        return
    playing = [role for role in context.models() if role != "demo" or settings.adapter == "demo"]
    models = ", ".join(f"{role} {context.models()[role]}" for role in playing)
    _say(f"{count} Models: {models}.")
    found = forecast(context, plan, Path(settings.runs), hearing(context, plan))
    check_prices(settings, found.at_most)
    for line in _foreseen(found):
        _say(line)
    if settings.budget is not None:
        _say(_budget(settings.budget, settings, found))


def _count(settings: Settings, context: RunContext, plan: Sequence[Conversation]) -> str:
    if context.asks_once:
        prompt = f", prompt: {context.applied.told}" if context.applied else ""
        return f"{counted(len(plan), 'row')}, bot: {settings.adapter}{prompt}."
    turns = settings.turns
    if settings.adapter == "recorded":  # as far as the log goes
        turns = max((context.turns(conversation)[0] for conversation in plan), default=turns)
    return (
        f"{counted(len(plan), 'conversation')}, up to {counted(turns, 'turn')} each, bot: {settings.adapter}."
    )


def _foreseen(found: Forecast) -> tuple[str, str]:
    like = "" if found.like is None else f", going by run {plain(found.like)}"
    early = "" if found.rows else ": as if nobody left early"
    untold = f" (no earlier run like this one to go by{early})" if found.like is None else ""
    least = together(list(found.low.values())).cost_usd
    low = f", at least {dollars(least)} USD" if least else ""
    return f"At most {total(found.at_most)}.", f"Expected{like}: {total(found.expected)}{low}{untold}."


def _budget(budget: float, settings: Settings, found: Forecast) -> str:
    rate = settings.jpy_per_usd
    yen = f"{budget * rate:,.0f} JPY at about {rate:g} JPY per USD (--jpy-per-usd)"
    cost = together(list(found.expected.values())).cost_usd or 0.0
    short = f" It may not be enough: {dollars(cost)} USD are expected." if cost > budget else ""
    return f"Budget: {dollars(budget)} USD, {yen}.{short}"


def show_forecast(found: Forecast, *, as_json: bool, jpy_per_usd: float = JPY_PER_USD) -> None:
    """The forecast of `--dry-run`: its cost and range, by role and model, and what would tell more."""
    if as_json:
        print(json.dumps(_as_json(found), ensure_ascii=False))  # noqa: T201
        return
    from simulator.report.estimate import forecast_lines  # words and widths: a paid run does without

    for line in forecast_lines(found, jpy_per_usd):
        print(line)  # noqa: T201


def _as_json(found: Forecast) -> dict[str, Any]:
    """`forecast` and `cost_usd` are at most; `usage` has both by role and model; `range` is of the whole."""
    usage: dict[str, Any] = {}
    for name, by_model in (("at_most", found.at_most), ("expected", found.expected)):
        for (role, model), spent in by_model.items():
            usage.setdefault(role, {}).setdefault(model, {})[name] = _figures(spent)
    expected = by_role(found.expected)
    ends = (("low", found.low), ("high", found.high))
    return _totals_json(by_role(found.at_most)) | {
        "expected": {role: _figures(spent) for role, spent in expected.items()},
        "expected_cost_usd": together(list(expected.values())).cost_usd,
        "usage": usage,
        "like": found.like,
        "bot": {"answers": found.answers},
        "range": {name: _figures(together(list(end.values()))) for name, end in ends},
        "unknown": {each.what: {"low_usd": each.low, "high_usd": each.high} for each in found.unknown},
        "heard": {language: _heard(each) for language, each in found.heard.items()},
    }


def _heard(found: SampledAnswers) -> dict[str, Any]:
    """What the bot answered when it alone was asked: tokens at least, usually and at most."""
    tokens = {"answer_tokens": found.answer._asdict(), "passage_tokens": found.passages._asdict()}
    return {"asked": found.asked, "on": found.on or None, "passages": found.number, **tokens}


def _totals_json(estimate: Mapping[Role, Spending]) -> dict[str, Any]:
    return {
        "forecast": {role: _figures(spent) for role, spent in estimate.items()},
        "cost_usd": together(list(estimate.values())).cost_usd,
    }


def show_totals(estimate: Mapping[Role, Spending], *, as_json: bool) -> None:
    """The forecast of a command that only knows what it takes at most, by role."""
    if as_json:
        print(json.dumps(_totals_json(estimate), ensure_ascii=False))  # noqa: T201
        return
    for role, spent in estimate.items():
        print(_row(role, spent))  # noqa: T201
    print(f"At most {total(estimate)}. Nothing was started.")  # noqa: T201


def _figures(spent: Spending) -> dict[str, Any]:
    return spent.model_dump(exclude={"cached"})


def _row(role: str, spent: Spending) -> str:
    calls = f"{spent.calls:6} {'call ' if spent.calls == 1 else 'calls'}"
    used = f"{calls}  {spent.tokens_in:9,} tokens in  {spent.tokens_out:8,} out"
    return f"{role:6} {used}  {money(spent.cost_usd)}"


def total(estimate: Mapping[Any, Spending]) -> str:
    """`36 model calls, about 31,000 tokens, 0.12 USD`."""
    whole = together(list(estimate.values()))
    used = f"about {counted(whole.tokens_in + whole.tokens_out, 'token')}"
    return f"{counted(whole.calls, 'model call')}, {used}, {money(whole.cost_usd)}"


def money(amount: float | None) -> str:
    """`0.12 USD`; small amounts with the digits they need."""
    return "price unknown" if amount is None else f"{dollars(amount)} USD"


def counted(number: int, what: str) -> str:
    """`1 turn`, `3 turns`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def check_target(context: RunContext, plan: Sequence[Conversation]) -> None:
    """Raises InputError for a target that would be reached by accident: stand-ins, or no evidence."""
    settings = context.settings
    if settings.target is None:
        return
    from simulator.stats.outcome import check_evidence  # figures and all: only where there is a target

    roles: list[Role] = ["user", "judge"]
    if settings.adapter == "demo":
        roles.append("demo")
    check_players(settings, context.endpoints, [role for role in roles if context.is_played(role)])
    check_evidence(settings, (conversation.case for conversation in plan))
