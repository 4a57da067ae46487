"""Runs of a folder, read quickly: who they are, and the few figures by which they are followed over time.

Only what score and colour rest on is read: no passages, no reasoning, no answers. The figures are those of
the run's own report.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from math import fsum
from pathlib import Path

from simulator.analysis.intervals import ends_of, interval_of_mean
from simulator.analysis.red import deciding, primary_judge, red_marks
from simulator.core.errors import InputError
from simulator.core.settings import Settings, from_run
from simulator.core.shelves import judge_name
from simulator.core.types import Language, Run, Score, Status, Value
from simulator.outcome import figures_of
from simulator.storage.run_file import NAME, read_run, run_ids
from simulator.storage.runs import Rows, opened, replay_of

# The judges whose grades can colour a turn.
_COLOURING = ("turn", "groundedness", "claims", "facts")


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
        mine, others = ((r.cases, r.adapter, r.primary, r.rubric) for r in (self, other))
        return mine == others


def past_runs(folder: Path) -> tuple[tuple[PastRun, ...], tuple[str, ...]]:
    """The runs of a folder, oldest first, and the names of those that cannot be read."""
    found, unread = [], []
    for name in run_ids(folder):
        try:
            found.append(past_run(folder / name / NAME))
        except InputError:  # damaged, or with settings that are no longer understood
            unread.append(name)
    return tuple(sorted(found, key=lambda run: (run.created, run.run))), tuple(unread)


def past_run(path: Path) -> PastRun:
    """One run as a row of the history."""
    with opened(path) as rows:
        settings = from_run(rows.run.settings)
        if settings.customer_faults == "exclude":
            found = _from_whole(path, settings)
        else:
            found = _from_rows(rows, settings)
        return found.model_copy(update={"stopped_early": rows.stopped_early})


def _from_rows(rows: Rows, settings: Settings) -> PastRun:
    graded = set(rows.judges())
    named = deciding(map(judge_name, settings.judges), graded)
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
    clusters = [rows.talks[talk][0] for talk in means]
    values = list(means.values())
    return _row(
        rows.run,
        primary=primary,
        rubric=tuple(sorted({s.rubric for s in own if s.rubric and not s.by_rule})),
        cases=_held_cases(rows),
        language=_language(english for _, english, _ in rows.talks.values()),
        score=fsum(values) / len(values) if values else None,
        interval=interval_of_mean(values, clusters, seed=settings.seed, ends=ends_of(own)),
        red=red,
        turns=len(rows.turns),
        graded=len(means),
    )


def _held_cases(rows: Rows) -> frozenset[str]:
    """The questions that were asked."""
    spoken = {talk for talk, _ in rows.turns}
    return frozenset(case for talk, (case, _, ended) in rows.talks.items() if ended or talk in spoken)


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
    return {talk: fsum(found) / len(found) for talk, found in values.items()}


def _from_whole(path: Path, settings: Settings) -> PastRun:
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
