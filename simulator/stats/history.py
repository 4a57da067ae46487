"""How a bot developed over its runs: a trend, a drop from one run to the next, and slow erosion."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import combinations, pairwise
from math import comb, factorial, fsum, sqrt
from pathlib import Path
from statistics import NormalDist, median
from typing import Any, Literal

from simulator.core.errors import InputError
from simulator.core.settings import Settings, stored_settings
from simulator.core.shelves import judge_name
from simulator.core.types import Language, Run, Score, Status, Value
from simulator.stats.intervals import ends_of, interval_of_mean
from simulator.stats.outcome import figures_of
from simulator.stats.red import deciding_judges, primary_judge, red_marks
from simulator.storage.run_file import RUN_FILE, read_run, run_ids
from simulator.storage.runs import RunRows, open_rows, replay_of

# The judges whose grades can colour a turn.
_COLOURING = ("turn", "groundedness", "claims", "facts")
# Fewer runs than this cannot show a trend: the exact test stays above 5 % whatever the order.
MIN_RUNS = 5
_EXACT_UP_TO = 50
Direction = Literal["too_few", "falling", "rising", "steady"]
# As many comparable runs, the newest ones, make the trend.
LAST = 20


class PastRun(Value):
    """A run as a row of the history; `score` and `interval` are 0..1, `rubric` that of the deciding judge.

    `stopped_early` is one whose gate was certain before every question was asked.
    """

    run: str
    created: datetime
    status: Status
    offline: bool
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
    stopped_early: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it went on to its end: what was asked before is no fair sample of all questions."""
        return self.status == "finished" and not self.stopped_early

    def is_like(self, other: "PastRun") -> bool:
        """Whether the two asked the same questions of the same bot and were graded alike."""
        own, others = ((r.cases, r.adapter, r.primary, r.rubric) for r in (self, other))
        return own == others


class Trend(Value):
    """A slope per step (Theil and Sen) with its 95 % interval, and the p of Mann and Kendall's test."""

    n: int
    slope: float
    interval: tuple[float, float]
    p: float

    @property
    def falling(self) -> bool:
        """Whether the slope's interval and the test agree that it goes down."""
        return self.interval[1] < 0 and self.p < 0.05

    @property
    def rising(self) -> bool:
        """Whether both agree that it goes up."""
        return self.interval[0] > 0 and self.p < 0.05


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
    found, unread = [], []
    for name in run_ids(folder):
        try:
            found.append(past_run(folder / name / RUN_FILE))
        except InputError:  # damaged, or with settings that are no longer understood
            unread.append(name)
    return tuple(sorted(found, key=lambda run: (run.created, run.run))), tuple(unread)


def past_run(path: Path) -> PastRun:
    """One run as a row of the history."""
    with open_rows(path) as rows:
        settings = stored_settings(rows.run.settings)
        if settings.customer_faults == "exclude":
            found = _from_results(path, settings)
        else:
            found = _from_rows(rows, settings)
        return found.model_copy(update={"stopped_early": rows.stopped_early})


def _from_rows(rows: RunRows, settings: Settings) -> PastRun:
    graded = set(rows.judges())
    named = deciding_judges(map(judge_name, settings.judges), graded)
    primary = primary_judge((*named, *sorted(graded - set(named))))
    grades: dict[tuple[str, int], list[Score]] = {place: [] for place in rows.turns}
    for score in rows.scores({primary, *_COLOURING}):
        if (place := (score.conversation, score.turn)) in grades:
            grades[place].append(score)
    red = sum(
        failed or bool(red_marks(place[0], grades[place], settings.red, primary))
        for place, failed in rows.turns.items()
    )
    own = [s for found in grades.values() for s in found if s.judge == primary and s.state == "scored"]
    means = _means(own)
    clusters = [rows.conversations[conversation][0] for conversation in means]
    values = list(means.values())
    return _row(
        rows.run,
        primary=primary,
        rubric=tuple(sorted({s.rubric for s in own if s.rubric and not s.by_rule})),
        cases=_begun_cases(rows),
        language=_language(english for _, english, _ in rows.conversations.values()),
        score=fsum(values) / len(values) if values else None,
        interval=interval_of_mean(values, clusters, seed=settings.seed, ends=ends_of(s.scale for s in own)),
        red=red,
        turns=len(rows.turns),
        graded=len(means),
    )


def _begun_cases(rows: RunRows) -> frozenset[str]:
    """The cases of the conversations that began."""
    with_turns = {conversation for conversation, _ in rows.turns}
    return frozenset(
        case
        for conversation, (case, _, ended) in rows.conversations.items()
        if ended or conversation in with_turns
    )


def _language(english: Iterable[bool]) -> Language:
    """The language most cases are in; Japanese on a tie."""
    found = list(english)
    return "en" if sum(found) * 2 > len(found) else "ja"


def _means(scores: Sequence[Score]) -> dict[str, float]:
    """The score of each conversation that has one."""
    values: dict[str, list[float]] = {}
    for score in scores:
        if score.value is not None:
            values.setdefault(score.conversation, []).append(score.value)
    return {conversation: fsum(found) / len(found) for conversation, found in values.items()}


def _from_results(path: Path, settings: Settings) -> PastRun:
    """Where turns that a customer spoilt are left out, it takes the whole run to know them."""
    results = read_run(path)
    summary = figures_of(results, settings)
    return _row(
        results.run,
        primary=summary.primary,
        rubric=tuple(sorted(summary.judges[summary.primary].rubrics)),
        cases=frozenset(c.case for c in summary.cases),
        language=_language(c.case.language == "en" for c in results.conversations),
        score=summary.score,
        interval=summary.interval,
        red=summary.red,
        turns=summary.turns,
        graded=summary.graded,
    )


def _row(run: Run, **figures: object) -> PastRun:
    known = {
        "run": run.id,
        "created": run.created,
        "status": run.status,
        "offline": run.offline,
        "adapter": str(run.settings.get("adapter", "")),
        "model": run.models.get("judge", ""),
        "replay_of": replay_of(run),
    }
    return PastRun.model_validate(known | figures)


def trend(values: Sequence[float], level: float = 0.95) -> Trend | None:
    """The trend of values in order, equally far apart; None under 5 of them."""
    if len(values) < MIN_RUNS:
        return None
    slopes = sorted((values[j] - values[i]) / (j - i) for i, j in combinations(range(len(values)), 2))
    return Trend(
        n=len(values), slope=median(slopes), interval=_interval(slopes, values, level), p=mann_kendall(values)
    )


def mann_kendall(values: Sequence[float]) -> float:
    """The two-sided p of Mann's test against a trend (1945), which is Kendall's tau against the order.

    Exact up to 50 values without ties; otherwise normal, without continuity correction, corrected for ties.
    """
    signs = [(b > a) - (b < a) for a, b in combinations(values, 2)]
    apart = abs(sum(signs))
    if 0 not in signs and len(values) <= _EXACT_UP_TO:
        inversions = (len(signs) - apart) // 2
        ways = sum(_orders_by_inversions(len(values))[: inversions + 1])
        return min(1.0, 2 * ways / factorial(len(values)))
    deviation = _deviation(values)
    return min(1.0, 2 * NormalDist().cdf(-apart / deviation)) if deviation else 1.0


def _interval(slopes: Sequence[float], values: Sequence[float], level: float) -> tuple[float, float]:
    """Sen's interval (1968): the slopes whose ranks are as far from the middle as the test allows."""
    reach = NormalDist().inv_cdf(0.5 + level / 2) * _deviation(values)
    low, high = round((len(slopes) - reach) / 2) - 1, round((len(slopes) + reach) / 2)
    return slopes[max(0, low)], slopes[min(len(slopes) - 1, high)]


def _deviation(values: Sequence[float]) -> float:
    """The standard deviation of Kendall's S when there is no trend."""
    n = len(values)
    tied = sum(k * (k - 1) * (2 * k + 5) for k in Counter(values).values())
    return sqrt((n * (n - 1) * (2 * n + 5) - tied) / 18)


def _orders_by_inversions(n: int) -> list[int]:
    """How many orders of n things have 0, 1, 2, ... pairs the wrong way round."""
    ways = [1]
    for size in range(2, n + 1):
        longest = comb(size, 2) + 1
        ways = [
            sum(ways[max(0, k - size + 1) : k + 1]) if k - size + 1 < len(ways) else 0 for k in range(longest)
        ]
    return ways


def history(runs: Sequence[PastRun], unread: Sequence[str] = (), last: int = LAST) -> History:
    """What some runs, oldest first, say of how the bot developed."""
    scored = [run for run in runs if run.score is not None]
    complete = [run for run in scored if run.is_whole] or scored
    comparable = [run for run in complete if run.is_like(complete[-1])][-last:]
    slope = trend([run.score or 0.0 for run in comparable])
    # The newest step down that is larger than chance.
    steps = reversed(list(pairwise(comparable)))
    dropped = next((fall for earlier, later in steps if (fall := _fall(earlier, later))), None)
    return History(
        runs=tuple(runs),
        followed=tuple(run.run for run in comparable),
        direction="too_few"
        if slope is None
        else "falling"
        if slope.falling
        else "rising"
        if slope.rising
        else "steady",
        trend=slope,
        dropped=dropped,
        eroded=None if dropped else _eroded(comparable),
        unread=tuple(unread),
    )


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


def history_json(history: History) -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals."""
    followed = frozenset(history.followed)
    return {
        "runs": [_run(run, comparable=run.run in followed) for run in history.runs],
        "comparable": len(followed),
        "direction": history.direction,
        "declining": history.declining,
        "trend": history.trend and {
            "n": history.trend.n,
            "slope": round(history.trend.slope, 4),
            "interval": [round(end, 4) for end in history.trend.interval],
            "p": round(history.trend.p, 4),
        },
        "dropped": _fall_json(history.dropped),
        "eroded": _fall_json(history.eroded),
        "unread": list(history.unread),
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
