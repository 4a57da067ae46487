"""What a whole matrix will take, cell by cell, before anything is paid."""

import contextlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.settings import Settings
from simulator.types import Conversation, Ended

if TYPE_CHECKING:
    from simulator.forecast import ByModel, Forecast
    from simulator.stage import Stage

_OPEN = (None, Ended.INTERRUPTED, Ended.BUDGET)


def forecast_cell(settings: Settings, run: Path | None = None) -> "Forecast":
    """What one cell will take; `run` is the file of one that was begun."""
    from simulator.forecast import forecast

    stage, plan = _held(settings, run) if run else _planned(settings)
    return forecast(stage, plan, Path(settings.runs))


def together(found: Sequence["Forecast"]) -> "Forecast":
    """The forecast of all of them; `like` where all go by the same earlier run."""
    from simulator.forecast import Forecast

    like = {each.like for each in found}
    return Forecast(
        _sum(each.at_most for each in found),
        _sum(each.expected for each in found),
        like.pop() if len(like) == 1 else None,
        sum(each.answers for each in found),
        all(each.rows for each in found),
        any(each.offline for each in found),
    )


def _sum(parts: Iterable["ByModel"]) -> "ByModel":
    from simulator.spending import together as added

    found: dict[Any, list[Any]] = {}
    for part in parts:
        for who, spent in part.items():
            found.setdefault(who, []).append(spent)
    return {who: added(spent) for who, spent in found.items()}


def _planned(settings: Settings) -> tuple["Stage", Sequence[Conversation]]:
    from simulator.endpoints import endpoints
    from simulator.row_plan import plan_rows
    from simulator.spending import Ledger
    from simulator.stage import Stage

    planned = plan_rows(settings)
    with contextlib.redirect_stdout(sys.stderr):
        stage = Stage(planned.settings, endpoints(settings), planned.personas, Ledger.of(settings))
        stage.check_adapter(planned.plan)
    return stage, planned.plan


def _held(settings: Settings, run: Path) -> tuple["Stage", Sequence[Conversation]]:
    from simulator.endpoints import endpoints
    from simulator.spending import Ledger
    from simulator.stage import Stage
    from simulator.store import read_run

    results = read_run(run)
    with contextlib.redirect_stdout(sys.stderr):
        stage = Stage(settings, endpoints(settings), results.personas, Ledger.of(settings))
    return stage, [talk for talk in results.conversations if talk.ended in _OPEN]
