"""How a bot developed over its runs: a trend, a drop from one run to the next, and slow erosion.

Only like is compared with like. Of all runs of a folder those are followed that asked the questions of the
newest whole run, of the same bot, with the same deciding judge and rubric (`PastRun.is_like`); a run that was
stopped early or broke off asked no fair sample of the questions. Three ways of getting worse are told apart:

- `trend`: a slope over at least five runs that neither its interval nor the test leaves to chance
- `dropped`: two runs in a row, further apart than both intervals allow
- `eroded`: no such step, but the newest run lies that far below the best one

    scores .90, .88, .86, .84, .82 -> slope -0.02 a run, p = 0.0167, falling
    four runs, each below the last -> p = 0.083 at best, so nothing is said
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import combinations, pairwise
from math import sqrt
from pathlib import Path
from statistics import NormalDist, median
from typing import Any, Literal

import numpy as np
from pydantic import Field

from simulator.core.errors import InputError
from simulator.core.settings import stored_settings
from simulator.core.shelves import judge_name
from simulator.core.types import Language, Status, Value
from simulator.results.figures import rounded
from simulator.results.findings import Gate
from simulator.results.gate import gate_of
from simulator.results.summary import figures_of, grading_judges, summarise
from simulator.storage.run_file import RUN_FILE, read_run, replay_of, run_ids

# Fewer runs than this cannot show a trend: the exact test stays above 5 % whatever the order.
MIN_RUNS = 5
# Up to as many runs the orders are counted; beyond, the normal approximation is as good and takes no time.
_EXACT_UP_TO = 50
Direction = Literal["too_few", "falling", "rising", "steady"]
# As many comparable runs, the newest ones, make the trend.
LAST = 20


class PastRun(Value):
    """A run as a row of the history; `score` and `interval` are 0..1, `rubric` that of the deciding judge.

    `gate` is its verdict, by the run's own settings.
    """

    run: str
    created: datetime
    status: Status
    offline: bool
    trial: bool
    adapter: str
    model: str
    primary: str
    rubric: tuple[str, ...]
    cases: frozenset[str]
    language: Language
    replay_of: str | None
    score: float | None
    interval: tuple[float, float] | None
    red: int
    turns: int
    graded: int
    gate: Gate | None = Field(default=None, exclude=True)

    @property
    def is_whole(self) -> bool:
        """Whether it went on to its end: what was asked before is no fair sample of all questions."""
        return self.status == "finished"

    def is_like(self, other: "PastRun") -> bool:
        """Whether the two asked the same questions of the same bot and were graded alike."""
        kind, others = ((r.cases, r.adapter, r.primary, r.rubric) for r in (self, other))
        return kind == others


class Trend(Value):
    """A slope per step (Theil and Sen) with its 95 % interval, and the p of Mann and Kendall's test."""

    n: int
    slope: float
    interval: tuple[float, float]
    p: float

    @property
    def direction(self) -> Direction:
        """Falling or rising where the slope's interval and the test agree that it is."""
        low, high = self.interval
        sloping: Direction = "falling" if high < 0 else "rising" if low > 0 else "steady"
        return sloping if self.p < 0.05 else "steady"


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


def past_runs(folder: Path) -> tuple[tuple[PastRun, ...], tuple[str, ...]]:
    """The runs of a folder, oldest first, and the names of those that cannot be read."""
    runs, unread = [], []
    for name in run_ids(folder):
        try:
            runs.append(past_run(folder / name / RUN_FILE))
        except InputError:  # damaged, or with settings that are no longer understood
            unread.append(name)
    return tuple(sorted(runs, key=lambda run: (run.created, run.run))), tuple(unread)


def past_run(path: Path) -> PastRun:
    """One run as a row of the history, with the score that its reports show."""
    results = read_run(path)
    run, settings = results.run, stored_settings(results.run.settings)
    # How the customers were played takes long to find out; only where spoilt turns are left out it matters.
    if settings.customer_faults == "exclude":
        summary = figures_of(results, settings)
    else:
        judges = grading_judges(results, tuple(map(judge_name, settings.judges)))
        summary = summarise(results, rules=settings.red, judges=judges, seed=settings.seed)
    languages = Counter(conversation.case.language for conversation in results.conversations)
    deciding = summary.judges.get(summary.primary)
    return PastRun(
        run=run.id,
        **run.model_dump(include={"created", "status", "offline"}),
        trial=summary.trial,
        adapter=str(run.settings.get("adapter", "")),
        model=run.models.get("judge", ""),
        rubric=tuple(sorted(deciding.rubrics)) if deciding else (),
        cases=frozenset(case.case for case in summary.cases),
        language="en" if languages["en"] > languages["ja"] else "ja",
        replay_of=replay_of(run),
        **summary.model_dump(include={"primary", "score", "interval", "red", "turns", "graded"}),
        gate=gate_of(results, summary, settings),
    )


def trend(values: Sequence[float], level: float = 0.95) -> Trend | None:
    """The trend of values in order, equally far apart; None under 5 of them.

    The slope is the median of the slopes between all pairs (Theil, 1950; Sen, 1968): one bad night among
    twenty does not move it, as it would a least-squares line.
    """
    if len(values) < MIN_RUNS:
        return None
    slopes = sorted((values[j] - values[i]) / (j - i) for i, j in combinations(range(len(values)), 2))
    # Sen's interval (1968): the slopes whose ranks are as far from the middle as the test allows.
    reach = NormalDist().inv_cdf(0.5 + level / 2) * _deviation(values)
    low, high = round((len(slopes) - reach) / 2) - 1, round((len(slopes) + reach) / 2)
    interval = slopes[max(0, low)], slopes[min(len(slopes) - 1, high)]
    return Trend(n=len(values), slope=median(slopes), interval=interval, p=mann_kendall(values))


def mann_kendall(values: Sequence[float]) -> float:
    """The two-sided p of Mann's test against a trend (1945), which is Kendall's tau against the order.

    Exact up to 50 values without ties; otherwise normal, without continuity correction, corrected for ties.
    """
    signs = [(b > a) - (b < a) for a, b in combinations(values, 2)]
    apart = abs(sum(signs))
    if 0 not in signs and len(values) <= _EXACT_UP_TO:
        # How many orders of so many things have 0, 1, 2, ... pairs the wrong way round.
        ways = np.ones(1)
        for size in range(2, len(values) + 1):
            ways = np.convolve(ways, np.ones(size))
        inversions = (len(signs) - apart) // 2
        return min(1.0, 2 * float(ways[: inversions + 1].sum() / ways.sum()))
    deviation = _deviation(values)
    return 2 * NormalDist().cdf(-apart / deviation) if deviation else 1.0


def _deviation(values: Sequence[float]) -> float:
    """The standard deviation of Kendall's S when there is no trend, corrected for ties (Kendall, 1970)."""
    n = len(values)
    tied = sum(k * (k - 1) * (2 * k + 5) for k in Counter(values).values())
    return sqrt((n * (n - 1) * (2 * n + 5) - tied) / 18)


def history(runs: Sequence[PastRun], unread: Sequence[str] = (), last: int = LAST) -> History:
    """What some runs, oldest first, say of how the bot developed.

    `unread` are the names of runs that could not be read, which are only passed on; `last` is the largest
    number of comparable runs that make the trend.
    """
    scored = [run for run in runs if run.score is not None]
    # Where every run was stopped or broke off, these are all there is to go by.
    complete = [run for run in scored if run.is_whole] or scored
    # Like the newest one: what a bot was before its questions changed is another story.
    comparable = [run for run in complete if run.is_like(complete[-1])][-last:]
    slope = trend([run.score or 0.0 for run in comparable])
    # The newest step down that is larger than chance.
    steps = reversed(list(pairwise(comparable)))
    dropped = next((fall for earlier, later in steps if (fall := _fall(earlier, later))), None)
    # From the best run to the newest one, by way of others.
    best = max(comparable[:-1], key=lambda run: run.score or 0.0) if len(comparable) > 2 else None
    return History(
        runs=tuple(runs),
        followed=tuple(run.run for run in comparable),
        direction="too_few" if slope is None else slope.direction,
        trend=slope,
        dropped=dropped,
        eroded=_fall(best, comparable[-1]) if best and not dropped else None,
        unread=tuple(unread),
    )


def _fall(earlier: PastRun, later: PastRun) -> Fall | None:
    """By how much the score fell, if that is more than both intervals together leave to chance.

    The half widths add up as independent errors do. Since both runs asked the same questions this is
    careful: what lies between questions is in both intervals; `diff` of the two, which pairs, sees more.
    """
    if earlier.score is None or later.score is None or earlier.interval is None or later.interval is None:
        return None
    by = earlier.score - later.score
    chance = sqrt((earlier.score - earlier.interval[0]) ** 2 + (later.interval[1] - later.score) ** 2)
    return (
        Fall(earlier=earlier.run, later=later.run, by=by, best=earlier.score)
        if by > max(0.0, chance)
        else None
    )


def history_json(history: History) -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals."""
    followed = frozenset(history.followed)
    shown = {
        "runs": [
            run.model_dump(mode="json")
            | {"passed": run.gate and run.gate.passed, "decision": run.gate and run.gate.decision}
            | {"cases": len(run.cases), "comparable": run.run in followed}
            for run in history.runs
        ],
        "comparable": len(followed),
        "direction": history.direction,
        "declining": history.declining,
        **history.model_dump(mode="json", include={"trend", "dropped", "eroded", "unread"}),
    }
    return rounded(shown)  # type: ignore[no-any-return]
