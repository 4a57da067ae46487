"""A judge's grades compared with people's labels: agreement, leniency, and from which grade on to trust it.

`measure` takes rows (`LabelledGrade`) and a `Yardstick`, which says how both sides are to be read: the
judge's scale, the levels of the label, and from which label on an answer is good. AUROC is of grades as they
are; kappa and leniency of both as shares of their own scales, so that a judge of 1 to 5 and people of 0 to 3
can be compared: a 4 is 0.75, a 3 is 1.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simulator.core.types import Value
from simulator.lab.judging.agreement import (
    auroc,
    best_cut,
    divided,
    kappa_of_sums,
    moments,
    number_or_none,
    quadratic_kappa,
)
from simulator.results.draws import Draws, interval
from simulator.results.figures import rounded
from simulator.results.intervals import Floats

# Fewer rows have no figures worth comparing: the report says so in its first note.
ENOUGH_ROWS = 10
# From this share of one and the same grade on, a judge tells too little apart: models like to give 4 to all
# that is not plainly wrong.
TOO_COMMON = 0.6


class FigureInterval(Value):
    """A figure and its 95 % interval; the interval is missing where there is only one group to draw.

    Without a `value` the figure has no meaning for these rows, as AUROC of rows that are all good.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends of the interval; None, rather than two nulls, where there was only one group to draw."""
        return None if self.low is None or self.high is None else (self.low, self.high)


class Scorer(Value):
    """How often (0..1) a scorer sees a good answer above a bad one, on the `n` rows that it has."""

    name: str
    n: int
    auroc: FigureInterval


class RedAgreement(Value):
    """The red rule of runs against people: of `rows` red answers `bad` are called bad by people, of `of`."""

    rows: int
    bad: int
    of: int


class Figures(Value):
    """A judge measured against people on n rows.

    `leniency` is the mean of judge less people on a common scale 0..1; `good` counts the rows that people
    call good. Labels of 0 and 1 are no scale: there a grade is good or bad by the `red` rule of runs, and
    leniency has no value.

    `groups` are the clusters that intervals draw. `judge_mean` and `people_mean` are shares (0..1) of their
    scales. `commonest` is the grade that `share` of the rows got. `passing` is the grade that parts good
    answers best, None where none beats chance. `humans` is each annotator beside the mean of the others, the
    ceiling for any judge; None where no row has two votes.
    """

    n: int
    groups: int
    good: int
    scale: tuple[float, float]
    judge: Scorer
    kappa: FigureInterval
    leniency: FigureInterval
    judge_mean: float
    people_mean: float
    commonest: float
    share: float
    passing: float | None
    humans: Scorer | None
    red: RedAgreement | None = None

    @property
    def one_kind(self) -> bool:
        """Whether people call all rows good, or none."""
        return self.good in (0, self.n)

    @property
    def poor(self) -> bool:
        """Whether one grade is too common to tell answers apart."""
        return self.share >= TOO_COMMON

    def as_json(self) -> dict[str, Any]:
        """The figures under the names that others rely on, rounded to 4 decimals."""
        judge, humans = self.judge, self.humans
        shown: dict[str, Any] = {
            "n": self.n,
            "auroc": judge.auroc.value,
            "kappa": self.kappa.value,
            "threshold": self.passing,
            "humans": humans
            and {"n": humans.n, "auroc": humans.auroc.value, "auroc_interval": humans.auroc.ends},
            "intervals": {"auroc": judge.auroc.ends, "kappa": self.kappa.ends},
            "leniency": self.leniency.model_dump(),
            "means": {"judge": self.judge_mean, "people": self.people_mean},
            "good": self.good,
            "red": self.red and self.red.model_dump(),
            "groups": self.groups,
            "commonest": {"grade": self.commonest, "share": self.share},
            "poor_discrimination": self.poor,
        }
        return rounded(shown)  # type: ignore[no-any-return]


class LabelledGrade(NamedTuple):
    """One row: the judge's grade, and what people said (higher is better).

    `red`: whether this grade would make a turn of a run red. `people` is the mean of the `votes`, which are
    empty where a file gives one label without annotators. Rows of one `group` are drawn together.
    """

    group: str
    grade: float
    people: float
    red: bool = False
    votes: tuple[float, ...] = ()


class Yardstick(NamedTuple):
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


def measure(rows: Sequence[LabelledGrade], by: Yardstick) -> Figures:
    """All figures of a judge on these rows; intervals draw groups, because rows of one group go together."""
    grades, people = [row.grade for row in rows], [row.people for row in rows]
    good = [by.is_good(label) for label in people]
    draws = Draws([row.group for row in rows], seed=by.seed)
    low, high = by.scale
    # Both sides as shares (0..1) of their own scale: a 4 of 1..5 is 0.75, a 3 of the labels 0..3 is 1.
    given = (np.asarray(grades) - low) / (high - low)
    worst, best = min(by.levels), max(by.levels)
    wanted = (np.asarray(people) - worst) / ((best - worst) or 1)
    red, bad = np.asarray([row.red for row in rows]), ~np.asarray(good)
    # Good or not has no middle to be mild or strict about; there red or not is the grade.
    level, label = (
        nearest_levels(shares, by.levels) for shares in (1.0 - red if by.is_binary else given, wanted)
    )
    leniency = FigureInterval()
    if not by.is_binary:
        leniency = _bounded(float((given - wanted).mean()), drawn_mean(given - wanted, draws), draws)
    kappas = kappa_of_sums(draws.sums(moments(level, label)))
    # Of equally common grades the higher one is named.
    commonest, most = max(
        Counter(round(grade, 2) for grade in grades).items(), key=lambda item: (item[1], item[0])
    )
    return Figures(
        n=len(rows),
        groups=draws.clusters,
        good=sum(good),
        scale=by.scale,
        judge=ranked("judge", grades, good, draws),
        kappa=_bounded(quadratic_kappa(level, label), kappas, draws),
        leniency=leniency,
        judge_mean=float(given.mean()),
        people_mean=float(wanted.mean()),
        commonest=commonest,
        share=most / len(rows),
        passing=number_or_none(float(best_cut(np.asarray(grades, dtype=float), np.asarray(good)))),
        humans=human_agreement(rows, by),
        red=RedAgreement(rows=int(red.sum()), bad=int((red & bad).sum()), of=int(bad.sum()))
        if by.is_binary
        else None,
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
    return ranked("humans", votes, list(map(by.is_good, others)), Draws(groups, seed=by.seed))


def ranked(name: str, values: Sequence[float], good: Sequence[bool], draws: Draws) -> Scorer:
    """A scorer that gives these values to answers that people call good or not."""
    drawn = drawn_auroc(values, good, draws)
    return Scorer(name=name, n=len(values), auroc=_bounded(auroc(values, good), drawn, draws))


def drawn_auroc(scores: ArrayLike, good: ArrayLike, draws: Draws) -> Floats:
    """The AUROC of every draw; NaN where a draw has rows of one kind only."""
    values = np.asarray(scores, dtype=float)
    order = np.argsort(values, kind="stable")
    is_good = np.asarray(good, dtype=float)[order]
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0)

    def under(weights: Floats) -> Floats:
        # By score, how much weight is good, and how much is bad: a tie is half a win.
        above = np.add.reduceat(weights * is_good, starts, axis=1)
        bad = np.add.reduceat(weights * (1 - is_good), starts, axis=1)
        wins = (above * (np.cumsum(bad, axis=1) - bad / 2)).sum(axis=1)
        return divided(wins, above.sum(axis=1) * bad.sum(axis=1))

    return draws.by_rows(order, under)


def drawn_mean(values: ArrayLike, draws: Draws) -> Floats:
    """The mean of every draw."""
    given = np.asarray(values, dtype=float)
    sums = draws.sums([np.ones(len(given)), given])
    means: Floats = sums[:, 1] / sums[:, 0]
    return means


def nearest_levels(shares: ArrayLike, levels: Sequence[float]) -> Floats:
    """Shares (0..1) of a scale as the nearest of its levels; halfway goes up.

    On the levels 1 to 5 the shares 0, 0.2, 0.375, 0.5 and 1 are 1, 2, 3, 3 and 5: 0.375 is 2.5 of them.
    """
    steps = np.asarray(sorted(levels), dtype=float)
    values = steps[0] + np.asarray(shares, dtype=float) * (steps[-1] - steps[0])
    limits = [(low + high) / 2 for low, high in pairwise(steps)]
    # What is halfway but for the rounding of floats goes up, too.
    levels_of_values: Floats = steps[np.searchsorted(limits, values + 1e-9, side="right")]
    return levels_of_values


def _bounded(value: float | None, drawn: Floats, draws: Draws) -> FigureInterval:
    """No interval where there is no value, or only one group to draw."""
    bounds = interval(drawn) if value is not None and draws.clusters > 1 else None
    low, high = bounds or (None, None)
    return FigureInterval(value=value, low=low, high=high)
