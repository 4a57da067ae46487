"""Before a run: whether it can be kept, who plays the models, and what it will take."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from simulator.cases import unused_columns
from simulator.errors import RunFileError
from simulator.forecast import forecast
from simulator.knowledge import unread
from simulator.reports.words import plain
from simulator.settings import Settings
from simulator.stage import Stage
from simulator.types import Conversation, Role, Spending

# Names of unread files that are listed at most.
LISTED = 8
OFFLINE = "No model configured: lexical stand-ins play customer and judges (no language model, no cost)."


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
    if settings.cases and not settings.cases.startswith("sheet:"):
        columns = unused_columns(settings.cases)
        notes += (
            [f"{settings.cases}: nothing is made of the columns {', '.join(columns)}."] if columns else []
        )
    knowledge = settings.set.get("knowledge", "") if settings.adapter == "demo" else ""
    if knowledge and (left := unread(knowledge)):
        more = f" and {len(left) - LISTED} more" if len(left) > LISTED else ""
        notes.append(f"{knowledge}: not read: {', '.join(left[:LISTED])}{more}.")
    return tuple(notes)


def announce(settings: Settings, stage: Stage, plan: Sequence[Conversation]) -> None:
    """One line on stderr, and what is passed over; before a paid run its forecast."""
    for note in passed_over(settings):
        _say(plain(note))
    count = (
        f"{counted(len(plan), 'conversation')}, up to {counted(settings.turns, 'turn')} each,"
        f" bot: {settings.adapter}."
    )
    if stage.offline:
        asked = "Offline as asked: " if settings.offline else ""
        said = OFFLINE if not asked else asked + OFFLINE.partition(": ")[2]
        _say(f"{count} {said}")
        return
    playing = [role for role in stage.models() if role != "demo" or settings.adapter == "demo"]
    models = ", ".join(f"{role} {stage.models()[role]}" for role in playing)
    _say(f"{count} Models: {models}.")
    estimate = forecast(stage, plan)
    _say(f"At most {_total(estimate)}.")
    if settings.budget is not None and _cost(estimate) is None:
        _say("The price of a model is unknown: --budget counts only what has a known price.")


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
    return f"{counted(calls, 'model call')}, about {used:,} tokens, {_money(_cost(estimate))}"


def _cost(estimate: Mapping[Role, Spending]) -> float | None:
    costs = [s.cost_usd for s in estimate.values()]
    return None if None in costs else sum(c for c in costs if c is not None)


def _money(amount: float | None) -> str:
    return "price unknown" if amount is None else f"{amount:.2f} USD"


def counted(number: int, what: str) -> str:
    """`1 turn`, `3 turns`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
