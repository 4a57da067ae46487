"""How a bot developed over its runs: a trend, a fall from one run to the next, and slow erosion."""

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from typing import Any, Literal

from simulator.changes.past import PastRun
from simulator.changes.trend import FEWEST, Trend, trend
from simulator.core.types import Value

Direction = Literal["too_few", "falling", "rising", "steady"]

# As many comparable runs, the newest ones, make the trend.
LAST = 20


class Fall(Value):
    """Two runs between which the score fell by more than both intervals leave to chance; `by` is 0..1."""

    earlier: str
    later: str
    by: float
    best: float


class History(Value):
    """The runs of a folder, oldest first, and what the comparable ones among them say.

    `followed` are those with the cases, bot, deciding judge and rubric of the newest one that went on to its
    end, at most `LAST`; what was stopped or broke off is never among them where a whole run is there.
    `eroded`: the newest is clearly below the best, although each step was within chance. `dropped`: the
    newest step that was not. `declining` when either of both slow ways of falling is there.
    """

    runs: tuple[PastRun, ...]
    followed: tuple[str, ...]
    direction: Direction
    trend: Trend | None
    dropped: Fall | None
    eroded: Fall | None
    unread: tuple[str, ...] = ()

    @property
    def declining(self) -> bool:
        """Whether it goes slowly downhill."""
        return self.direction == "falling" or self.eroded is not None


def history(runs: Sequence[PastRun], unread: Sequence[str] = (), last: int = LAST) -> History:
    """What some runs, oldest first, say of how the bot developed."""
    scored = [run for run in runs if run.score is not None]
    able = [run for run in scored if run.is_whole] or scored
    like = [run for run in able if run.is_like(able[-1])][-last:]
    found = trend([run.score or 0.0 for run in like])
    dropped = _dropped(like)
    return History(
        runs=tuple(runs),
        followed=tuple(run.run for run in like),
        direction=_direction(found),
        trend=found,
        dropped=dropped,
        eroded=None if dropped else _eroded(like),
        unread=tuple(unread),
    )


def _direction(found: Trend | None) -> Direction:
    if found is None or found.n < FEWEST:
        return "too_few"
    return "falling" if found.falling else "rising" if found.rising else "steady"


def _dropped(runs: Sequence[PastRun]) -> Fall | None:
    """The newest step down that is larger than chance."""
    steps = reversed(list(pairwise(runs)))
    return next((fall for one, other in steps if (fall := _fall(one, other))), None)


def _eroded(runs: Sequence[PastRun]) -> Fall | None:
    """From the best run to the newest one, by way of others."""
    if len(runs) < 3:
        return None
    best = max(runs[:-1], key=lambda run: run.score or 0.0)
    return _fall(best, runs[-1])


def _fall(one: PastRun, other: PastRun) -> Fall | None:
    """By how much the score fell, if that is more than both intervals together leave to chance.

    The half widths add up as independent errors do. Since both runs asked the same questions this is
    careful: what lies between questions is in both intervals; `diff` of the two, which pairs, sees more.
    """
    if one.score is None or other.score is None or one.interval is None or other.interval is None:
        return None
    by = one.score - other.score
    chance = sqrt((one.score - one.interval[0]) ** 2 + (other.interval[1] - other.score) ** 2)
    if by <= chance or by <= 0:
        return None
    return Fall(earlier=one.run, later=other.run, by=by, best=one.score)


def as_json(found: History) -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals."""
    followed = frozenset(found.followed)
    return {
        "runs": [_run(run, comparable=run.run in followed) for run in found.runs],
        "comparable": len(followed),
        "direction": found.direction,
        "declining": found.declining,
        "trend": found.trend and {
            "n": found.trend.n,
            "slope": round(found.trend.slope, 4),
            "interval": [round(end, 4) for end in found.trend.interval],
            "p": round(found.trend.p, 4),
        },
        "dropped": _fall_json(found.dropped),
        "eroded": _fall_json(found.eroded),
        "unread": list(found.unread),
    }  # fmt: skip


def _run(run: PastRun, *, comparable: bool) -> dict[str, Any]:
    shown = run.model_dump(mode="json", exclude={"cases"})
    return shown | {
        "cases": len(run.cases),
        "score": None if run.score is None else round(run.score, 4),
        "interval": run.interval and [round(end, 4) for end in run.interval],
        "comparable": comparable,
    }


def _fall_json(fall: Fall | None) -> dict[str, Any] | None:
    if fall is None:
        return None
    figures = {"by": round(fall.by, 4), "best": round(fall.best, 4)}
    return {"earlier": fall.earlier, "later": fall.later, **figures}
