"""A judge's grades compared with people's labels: agreement, leniency, and from which grade on to trust it.

`measure` takes rows (`LabelledGrade`) and a `Yardstick`, which says how both sides are to be read: the
judge's scale, the levels of the label, and from which label on an answer is good. Ranks are taken of grades
and labels as they are; kappa and leniency of both as shares of their own scales, so that a judge of 1 to 5
and people of 0 to 3 can be compared: a 4 is 0.75, a 3 is 1.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulator.core.types import Value
from simulator.lab.judging.drawn import drawn_kappa, drawn_mean, drawn_ranks, kendall, nearest_levels
from simulator.results.agreement import auroc, best_cut, quadratic_kappa, spearman
from simulator.results.draws import Draws, interval
from simulator.results.figures import rounded
from simulator.results.intervals import Floats

# The scorers that count words and need no model, by their names in tables; a judge has to beat them. In this
# order they stand in tables, before the published ones.
TRIVIAL = ("length", "token_precision", "token_recall", "rouge_l")
# Fewer rows have no figures worth comparing: the report says so in its first note.
ENOUGH_ROWS = 10
# From this share of one and the same grade on, a judge tells too little apart: models like to give 4 to all
# that is not plainly wrong.
TOO_COMMON = 0.6
# A histogram of more grades than this is drawn in tenths of the scale.
MOST_BARS = 11


class Threshold(Value):
    """A cut: of the rows graded `grade` or better, `precision` are good; `recall` of the good ones are there.

    `rows` counts those at or above it. `balanced_accuracy` is the mean of recall and of the share of the
    others that is below; 0.5 is chance.
    """

    grade: float
    precision: float
    recall: float
    balanced_accuracy: float
    rows: int


class FigureInterval(Value):
    """A figure and its 95 % interval; the interval is missing where there is only one group to draw.

    Without a `value` the figure has no meaning for these rows, as AUROC of rows that are all good.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None


class Scorer(Value):
    """How one scorer's order agrees with people's: rho, tau-b (-1..1) and AUROC (0..1)."""

    name: str
    n: int
    spearman: FigureInterval
    kendall: float | None
    auroc: FigureInterval


class RedAgreement(Value):
    """The red rule of runs against people: of `rows` red answers `bad` are called bad by people, of `of`."""

    rows: int
    bad: int
    of: int

    @property
    def precision(self) -> float | None:
        """The share (0..1) of red answers that people call bad; None where none is red."""
        return self.bad / self.rows if self.rows else None

    @property
    def recall(self) -> float | None:
        """The share (0..1) of answers that people call bad which are red; None where people call none bad."""
        return self.bad / self.of if self.of else None


class Histogram(Value):
    """Bars of (grade, rows); the commonest grade and its share; `poor` when it is too common."""

    bars: tuple[tuple[float, int], ...]
    commonest: float
    share: float
    poor: bool


class Figures(Value):
    """A judge measured against people on n rows.

    `leniency` is the mean of judge less people on a common scale 0..1; `good` counts the rows that people
    call good, `levels` are those of the label on which kappa is taken. Labels of 0 and 1 are no scale: there
    a grade is good or bad by the `red` rule of runs, and leniency has no value.

    `groups` are the clusters that intervals draw. `judge_mean` and `people_mean` are shares (0..1) of their
    scales. `scorers` are trivial and published ones on the rows that they have, `humans` is each annotator
    beside the mean of the others, the ceiling for any judge. `advantage` is the judge's rho less that of
    `best_trivial`, paired: its interval is narrower than those of both suggest.
    """

    n: int
    groups: int
    good: int
    scale: tuple[float, float]
    levels: tuple[float, ...]
    good_from: float
    judge: Scorer
    kappa: FigureInterval
    leniency: FigureInterval
    judge_mean: float
    people_mean: float
    histogram: Histogram
    threshold: Threshold | None
    scorers: tuple[Scorer, ...]
    humans: Scorer | None
    red: RedAgreement | None = None
    best_trivial: str = ""
    advantage: FigureInterval | None = None

    @property
    def one_kind(self) -> bool:
        """Whether people call all rows good, or none."""
        return self.good in (0, self.n)


@dataclass(frozen=True)
class LabelledGrade:
    """One row: the judge's grade, what people said (higher is better), and what other scorers give.

    `red`: whether this grade would make a turn of a run red. `people` is the mean of the `votes`, which are
    empty where a file gives one label without annotators. Rows of one `group` are drawn together.
    """

    group: str
    grade: float
    people: float
    red: bool = False
    votes: tuple[float, ...] = ()
    scorers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Yardstick:
    """The judge's scale, the levels of the label's, and from which label on an answer is good."""

    scale: tuple[float, float]
    levels: tuple[float, ...]
    good_from: float
    seed: int = 42

    def is_good(self, label: float) -> bool:
        """Whether people call it good."""
        return label >= self.good_from - 1e-9

    @property
    def is_binary(self) -> bool:
        """Whether people said good or not, without degrees."""
        return self.levels == (0.0, 1.0)


def best_threshold(scores: Sequence[float], good: Sequence[bool]) -> Threshold | None:
    """The cut with the best balanced accuracy, the stricter of equals; None when none beats chance."""
    values, is_good = np.asarray(scores, dtype=float), np.asarray(good, dtype=bool)
    grade = best_cut(values, is_good)
    if math.isnan(grade):
        return None
    above = values >= grade
    rows, recall = int(above.sum()), float(above[is_good].mean())
    return Threshold(
        grade=grade,
        precision=float(is_good[above].mean()),
        recall=recall,
        balanced_accuracy=float((recall + 1 - above[~is_good].mean()) / 2),
        rows=rows,
    )


def figures_json(figures: Figures) -> dict[str, Any]:
    """The figures under the names that others rely on, rounded to 4 decimals."""
    judge = figures.judge
    shown: dict[str, Any] = {
        "n": figures.n,
        "spearman": judge.spearman.model_dump(),
        "kendall": judge.kendall,
        "kappa": figures.kappa.value,
        "auroc": judge.auroc.value,
        "threshold": figures.threshold.grade if figures.threshold else None,
        "baselines": {scorer.name: _scorer_json(scorer) for scorer in figures.scorers},
        "humans": figures.humans and _scorer_json(figures.humans),
        "intervals": {"auroc": _pair(judge.auroc), "kappa": _pair(figures.kappa)},
        "leniency": figures.leniency.model_dump(),
        "means": {"judge": figures.judge_mean, "people": figures.people_mean},
        "good": {"from": figures.good_from, "rows": figures.good},
        "red": figures.red
        and figures.red.model_dump() | {"precision": figures.red.precision, "recall": figures.red.recall},
        "levels": list(figures.levels),
        "groups": figures.groups,
        "thresholds": {"balanced": figures.threshold and figures.threshold.model_dump()},
        "histogram": {f"{grade:g}": rows for grade, rows in figures.histogram.bars},
        "commonest": {"grade": figures.histogram.commonest, "share": figures.histogram.share},
        "poor_discrimination": figures.histogram.poor,
        "advantage": figures.advantage
        and {"over": figures.best_trivial, "spearman": figures.advantage.model_dump()},
    }
    return rounded(shown)  # type: ignore[no-any-return]


def _pair(bounds: FigureInterval) -> list[float] | None:
    """Both ends of the interval; None, rather than two nulls, where there was only one group to draw."""
    return None if bounds.low is None or bounds.high is None else [bounds.low, bounds.high]


def _scorer_json(scorer: Scorer) -> dict[str, Any]:
    return {
        "n": scorer.n,
        "spearman": scorer.spearman.model_dump(),
        "kendall": scorer.kendall,
        "auroc": scorer.auroc.value,
        "auroc_interval": _pair(scorer.auroc),
    }


def measure(rows: Sequence[LabelledGrade], by: Yardstick) -> Figures:
    """All figures of a judge on these rows; intervals draw groups, because rows of one group go together."""
    grades, people = [row.grade for row in rows], [row.people for row in rows]
    good = [by.is_good(label) for label in people]
    # One set of draws for all figures, so that they can be subtracted draw by draw.
    draws = Draws([row.group for row in rows], seed=by.seed)
    low, high = by.scale
    # Both sides as shares (0..1) of their own scale: a 4 of 1..5 is 0.75, a 3 of the labels 0..3 is 1.
    given = (np.asarray(grades) - low) / (high - low)
    worst, best = min(by.levels), max(by.levels)
    wanted = (np.asarray(people) - worst) / ((best - worst) or 1)
    red, bad = np.asarray([row.red for row in rows]), ~np.asarray(good)
    # Good or not has no middle to be mild or strict about; there red or not is the grade.
    lenient = None if by.is_binary else given - wanted
    level, label = (
        nearest_levels(shares, by.levels) for shares in (1.0 - red if by.is_binary else given, wanted)
    )
    names, scorers = {name for row in rows for name in row.scorers}, []
    # Trivial scorers first, then published ones by name; each on the rows that it has something to say of.
    for name in [*(name for name in TRIVIAL if name in names), *sorted(names - {*TRIVIAL})]:
        has = [at for at, row in enumerate(rows) if name in row.scorers]
        draws_of_rows = (
            draws if len(has) == len(rows) else Draws([rows[at].group for at in has], seed=by.seed)
        )
        values = [rows[at].scorers[name] for at in has]
        scorers.append(
            _ranked(name, values, [people[at] for at in has], [good[at] for at in has], draws_of_rows)
        )
    judge = _ranked("judge", grades, people, good, draws)
    return Figures(
        n=len(rows),
        groups=draws.clusters,
        good=sum(good),
        scale=by.scale,
        levels=by.levels,
        good_from=by.good_from,
        judge=judge,
        kappa=_bounded(quadratic_kappa(level, label), drawn_kappa(level, label, draws), draws),
        leniency=FigureInterval()
        if lenient is None
        else _bounded(float(lenient.mean()), drawn_mean(lenient, draws), draws),
        judge_mean=float(given.mean()),
        people_mean=float(wanted.mean()),
        histogram=histogram(grades, by.scale),
        threshold=best_threshold(grades, good),
        scorers=tuple(scorers),
        humans=human_agreement(rows, by),
        red=RedAgreement(rows=int(red.sum()), bad=int((red & bad).sum()), of=int(bad.sum()))
        if by.is_binary
        else None,
        **_advantage(judge, scorers, rows, draws),
    )


def _advantage(
    judge: Scorer, scorers: Sequence[Scorer], rows: Sequence[LabelledGrade], draws: Draws
) -> dict[str, Any]:
    """The judge's rho less that of the best trivial scorer, with a paired bootstrap interval.

    Only scorers that have a value for every row take part: the same draws have to be the same rows. Empty
    where there is none, or where the judge's rho has no value.
    """
    baselines = {
        scorer.name: scorer.spearman.value
        for scorer in scorers
        if scorer.name in TRIVIAL and scorer.n == len(rows) and scorer.spearman.value is not None
    }
    if not baselines or judge.spearman.value is None:
        return {}
    best = max(baselines, key=baselines.__getitem__)
    people = [row.people for row in rows]
    ours, theirs = (
        drawn_ranks(values, people, None, draws)[0]
        for values in ([row.grade for row in rows], [row.scorers[best] for row in rows])
    )
    advantage = _bounded(judge.spearman.value - baselines[best], ours - theirs, draws)
    return {"best_trivial": best, "advantage": advantage}


def _ranked(
    name: str, values: Sequence[float], people: Sequence[float], good: Sequence[bool], draws: Draws
) -> Scorer:
    """The rank agreement of one scorer with people."""
    rho, area = drawn_ranks(values, people, good, draws)
    return Scorer(
        name=name,
        n=len(values),
        spearman=_bounded(spearman(values, people), rho, draws),
        kendall=kendall(values, people),
        auroc=_bounded(auroc(values, good), area, draws),
    )


def human_agreement(rows: Sequence[LabelledGrade], by: Yardstick) -> Scorer | None:
    """How people agree with each other: each one with the mean of the others on the same row.

    None where no row has two votes.
    """
    votes, others, groups = list[float](), list[float](), list[str]()
    for row in (row for row in rows if len(row.votes) > 1):
        whole = sum(row.votes)
        votes += row.votes
        others += [(whole - vote) / (len(row.votes) - 1) for vote in row.votes]
        groups += [row.group] * len(row.votes)
    if not votes:
        return None
    return _ranked("humans", votes, others, list(map(by.is_good, others)), Draws(groups, seed=by.seed))


def histogram(grades: Sequence[float], scale: tuple[float, float]) -> Histogram:
    """How often each grade was given; every whole grade of a scale like 1..5 has its bar, also the empty."""
    # Of equally common grades the higher one is named.
    counted = Counter(round(grade, 2) for grade in grades)
    grade, most = max(counted.items(), key=lambda item: (item[1], item[0]))
    low, high = scale
    if len(counted) > MOST_BARS:
        width = (high - low) / 10
        at = Counter(min(9, int((value - low) / width + 1e-9)) for value in grades)
        bars = [(round(low + width * place, 2), at[place]) for place in range(10)]
    else:
        whole = range(int(low), int(high) + 1) if high - low > 1 else ()
        bars = [(float(value), counted[value]) for value in sorted({*counted, *map(float, whole)})]
    share = most / len(grades)
    return Histogram(bars=tuple(bars), commonest=grade, share=share, poor=share >= TOO_COMMON)


def _bounded(value: float | None, drawn: Floats, draws: Draws) -> FigureInterval:
    """No interval where there is no value, or only one group to draw."""
    bounds = interval(drawn) if value is not None and draws.clusters > 1 else None
    low, high = bounds or (None, None)
    return FigureInterval(value=value, low=low, high=high)
