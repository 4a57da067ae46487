"""What is said before a run: who plays the models, and what it will take."""

import json
import sys
from collections.abc import Mapping, Sequence

from simulator.forecast import forecast
from simulator.settings import Settings
from simulator.stage import Stage
from simulator.types import Conversation, Role, Spending

OFFLINE = "No model configured: lexical stand-ins play customer and judges (no language model, no cost)."


def announce(settings: Settings, stage: Stage, plan: Sequence[Conversation]) -> None:
    """One line on stderr; before a paid run its forecast."""
    count = f"{len(plan)} conversations, up to {settings.turns} turns each, bot: {settings.adapter}."
    if stage.offline:
        asked = "Offline as asked: " if settings.offline else ""
        said = OFFLINE if not asked else asked + OFFLINE.partition(": ")[2]
        _say(f"{count} {said}")
        return
    models = ", ".join(f"{role} {model}" for role, model in stage.models().items())
    _say(f"{count} Models: {models}.")
    _say(f"At most {_total(forecast(stage, plan))}.")


def show_forecast(estimate: Mapping[Role, Spending], *, as_json: bool) -> None:
    """The forecast of `--dry-run`."""
    if as_json:
        rows = {role: spending.model_dump(exclude={"cached"}) for role, spending in estimate.items()}
        print(json.dumps({"forecast": rows, "cost_usd": _cost(estimate)}, ensure_ascii=False))  # noqa: T201
        return
    for role, s in estimate.items():
        used = f"{s.calls:6} calls  {s.tokens_in:9,} tokens in  {s.tokens_out:8,} out"
        print(f"{role:6} {used}  {_money(s.cost_usd)}")  # noqa: T201
    print(f"At most {_total(estimate)}. Nothing was started.")  # noqa: T201


def _total(estimate: Mapping[Role, Spending]) -> str:
    calls = sum(s.calls for s in estimate.values())
    used = sum(s.tokens_in + s.tokens_out for s in estimate.values())
    return f"{calls:,} model calls, about {used:,} tokens, {_money(_cost(estimate))}"


def _cost(estimate: Mapping[Role, Spending]) -> float | None:
    costs = [s.cost_usd for s in estimate.values()]
    return None if None in costs else sum(c for c in costs if c is not None)


def _money(amount: float | None) -> str:
    return "price unknown" if amount is None else f"{amount:.2f} USD"


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
