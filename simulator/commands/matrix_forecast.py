"""What a whole matrix will take, cell by cell, before anything is paid."""

import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from simulator.core.settings import Settings
from simulator.core.types import Conversation, Ended, Language, Spending

if TYPE_CHECKING:
    from simulator.runner.context import RunContext
    from simulator.runner.estimate import ByModel, Forecast, SampledAnswers, UnknownCost, Who

_OPEN = (None, Ended.INTERRUPTED, Ended.BUDGET)


def forecast_cell(settings: Settings, run: Path | None = None) -> "Forecast":
    """What one cell will take; `run` is the file of one that was begun."""
    from simulator.commands.hearing import hearing
    from simulator.runner.estimate import forecast

    stage, plan = _held(settings, run) if run else _planned(settings)
    return forecast(stage, plan, Path(settings.runs), hearing(stage, plan))


def together(found: Sequence["Forecast"]) -> "Forecast":
    """The forecast of all of them; `like` where all go by the same earlier run."""
    from simulator.runner.estimate import Forecast

    like = {each.like for each in found}
    return Forecast(
        _sum(each.at_most for each in found),
        _sum(each.expected for each in found),
        like.pop() if len(like) == 1 else None,
        sum(each.answers for each in found),
        all(each.rows for each in found),
        any(each.offline for each in found),
        _sum(each.low for each in found),
        _sum(each.high for each in found),
        tuple(_unknown(found)),
        language=found[0].language if found else "en",
        asks_a_bot=any(each.asks_a_bot and not each.heard for each in found),
        heard=dict(_heard(found)) if all(each.heard for each in found) else {},
    )


def _heard(found: Sequence["Forecast"]) -> "Iterator[tuple[Language, SampledAnswers]]":
    """The answers of all bots that were asked, put together."""
    from simulator.runner.estimate import TokenRange

    for language in dict.fromkeys(language for cell in found for language in cell.heard):
        each = [cell.heard[language] for cell in found if language in cell.heard]
        yield (
            language,
            each[0]._replace(
                answer=TokenRange(*map(fmean, zip(*(one.answer for one in each), strict=True))),
                passages=TokenRange(*map(fmean, zip(*(one.passages for one in each), strict=True))),
                number=round(fmean(one.number for one in each)),
                asked=sum(one.asked for one in each),
            ),
        )


def _unknown(found: Sequence["Forecast"]) -> Iterator["UnknownCost"]:
    """What is unknown of any cell; of all others, what is expected of them goes into both ends."""
    from simulator.runner.estimate import UnknownCost

    kinds = dict.fromkeys(each.what for cell in found for each in cell.unknown)
    for what in kinds:
        lows, highs = zip(*(_ends(cell, what) for cell in found), strict=True)
        low = None if None in lows else sum(lows)
        yield UnknownCost(what, low, None if None in highs else sum(highs))


def _ends(cell: "Forecast", what: str) -> tuple[float | None, float | None]:
    from simulator.models.pricing import together as added

    usual = added(list(cell.expected.values())).cost_usd
    return next(((each.low, each.high) for each in cell.unknown if each.what == what), (usual, usual))


def _sum(parts: "Iterable[Mapping[Who, Spending]]") -> "ByModel":
    from simulator.models.pricing import together as added

    found: dict[Any, list[Any]] = {}
    for part in parts:
        for who, spent in part.items():
            found.setdefault(who, []).append(spent)
    return {who: added(spent) for who, spent in found.items()}


def _planned(settings: Settings) -> tuple["RunContext", Sequence[Conversation]]:
    from simulator.core.roles import endpoints
    from simulator.models.pricing import Ledger
    from simulator.runner.context import RunContext
    from simulator.runner.plan import plan_rows
    from simulator.runner.whose_bot import with_bot

    planned = plan_rows(with_bot(settings))
    with contextlib.redirect_stdout(sys.stderr):
        stage = RunContext(planned.settings, endpoints(settings), planned.personas, Ledger.of(settings))
        stage.check_adapter(planned.plan)
    return stage, planned.plan


def _held(settings: Settings, run: Path) -> tuple["RunContext", Sequence[Conversation]]:
    from simulator.core.roles import endpoints
    from simulator.models.pricing import Ledger
    from simulator.runner.context import RunContext
    from simulator.storage.run_file import read_run

    results = read_run(run)
    with contextlib.redirect_stdout(sys.stderr):
        stage = RunContext(settings, endpoints(settings), results.personas, Ledger.of(settings))
    return stage, [talk for talk in results.conversations if talk.ended in _OPEN]
