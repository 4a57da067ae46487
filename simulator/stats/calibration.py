"""A judge's grades compared with people's labels: agreement, leniency, and from which grade on to trust it.

`measure` compares a judge with people row by row; `suggest` derives a threshold from right and wrong answers.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.core.types import Value
from simulator.stats.agreement import Floats, auroc, kendall, nearest_levels, quadratic_kappa, spearman
from simulator.stats.figures import rounded
from simulator.stats.intervals import Draws, drawn_kappa, drawn_mean, drawn_ranks, interval

# The scorers that count words and need no model, by their names in tables; a judge has to beat them.
TRIVIAL = ("length", "token_precision", "token_recall", "rouge_l")
# A domain of fewer rows has no figures worth comparing; annotators who met less often have no kappa.
ENOUGH_ROWS, MET = 10, 5
# From this share of one and the same grade on, a judge tells too little apart.
TOO_COMMON = 0.6
# A histogram of more grades than this is drawn in tenths of the scale.
MOST_BARS = 11
Method = Literal["quantile", "balanced"]
# Below so many right answers a threshold is marked as unreliable.
ENOUGH_RIGHT = 20
_DECIMALS = 1e4


class Threshold(Value):
    """A cut: of the rows graded `grade` or better, `precision` are good; `recall` of the good ones are there.

    `balanced_accuracy` is the mean of recall and of the share of the others that is below; 0.5 is chance.
    """

    grade: float
    precision: float
    recall: float
    balanced_accuracy: float
    rows: int


class FigureInterval(Value):
    """A figure and its 95 % interval; the interval is missing where there is only one group to draw."""

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


class HumanAgreement(Value):
    """How people agree: each with the mean of the others, and kappa over pairs who met."""

    scorer: Scorer
    kappa: float | None
    pairs: int
    annotators: int


class DomainAgreement(Value):
    """The agreement within one domain."""

    name: str
    n: int
    spearman: float | None
    auroc: float | None
    leniency: float


class Histogram(Value):
    """Bars of (grade, rows); the commonest grade and its share; `poor` when it is too common."""

    bars: tuple[tuple[float, int], ...]
    commonest: float
    share: float
    poor: bool


class Figures(Value):
    """A judge measured against people on n rows.

    `leniency` is the mean of judge less people on a common scale 0..1; `good` counts the rows that people
    call good, `levels` are those of the label on which kappa is taken.
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
    wanted_precision: float
    precise: Threshold | None
    scorers: tuple[Scorer, ...]
    humans: HumanAgreement | None
    parts: tuple[DomainAgreement, ...]
    best_trivial: str = ""
    advantage: FigureInterval | None = None

    @property
    def one_kind(self) -> bool:
        """Whether people call all rows good, or none."""
        return self.good in (0, self.n)

    def lowest(self, enough: int) -> DomainAgreement | None:
        """The domain of at least `enough` rows where the judge agrees least: by AUROC, or else by rho."""
        known = [part for part in self.parts if part.n >= enough and _agreement(part) is not None]
        return min(known, key=lambda part: _agreement(part) or 0.0) if len(known) > 1 else None


@dataclass(frozen=True)
class LabelledGrade:
    """One row: the judge's grade, what people said (higher is better), and what other scorers give."""

    group: str
    grade: float
    people: float
    part: str = ""
    votes: tuple[float, ...] = ()
    annotators: tuple[str, ...] = ()
    scorers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Yardstick:
    """The judge's scale, the levels of the label's, and from which label on an answer is good."""

    scale: tuple[float, float]
    levels: tuple[float, ...]
    good_from: float
    precision: float = 0.9
    seed: int = 42

    def grade_shares(self, grades: Sequence[float]) -> Floats:
        """Grades as shares (0..1) of the judge's scale."""
        low, high = self.scale
        return (np.asarray(grades, dtype=float) - low) / (high - low)

    def label_shares(self, labels: Sequence[float]) -> Floats:
        """Labels as shares (0..1) of theirs."""
        low, high = min(self.levels), max(self.levels)
        return (np.asarray(labels, dtype=float) - low) / ((high - low) or 1)

    def is_good(self, label: float) -> bool:
        """Whether people call it good."""
        return label >= self.good_from - 1e-9


class Suggestion(Value):
    """A threshold at or above which an answer is taken as right; None where the scores speak for none.

    `interval` holds it in 95 % of the samples of as many rows. `right_passing` and `wrong_passing` (0..1) are
    the shares of the right and of the wrong answers that reach it.
    """

    method: Method
    threshold: float | None
    interval: tuple[float, float] | None
    right: int
    wrong: int
    right_passing: float | None
    wrong_passing: float | None

    @property
    def few(self) -> bool:
        """Whether it rests on too few right answers."""
        return self.right < ENOUGH_RIGHT


def best_threshold(scores: Sequence[float], good: Sequence[bool]) -> Threshold | None:
    """The cut with the best balanced accuracy, the stricter of equals; None when none beats chance."""
    cuts = _cuts(scores, good)
    best = max(cuts, key=lambda cut: (round(cut.balanced_accuracy, 9), cut.grade), default=None)
    return best if best is not None and best.balanced_accuracy > 0.5 else None


def threshold_for_precision(scores: Sequence[float], good: Sequence[bool], wanted: float) -> Threshold | None:
    """The lowest cut from which on at least `wanted` (0..1) of the rows are good; None without one."""
    return next((cut for cut in _cuts(scores, good) if cut.precision >= wanted - 1e-12), None)


def _cuts(scores: Sequence[float], good: Sequence[bool]) -> list[Threshold]:
    """A cut at every grade that was given, the lowest first; none when all rows are of one kind."""
    is_good = np.asarray(good, dtype=bool)
    positive, negative = int(is_good.sum()), int((~is_good).sum())
    if not positive or not negative:
        return []
    grades, codes = np.unique(np.asarray(scores, dtype=float), return_inverse=True)
    hits, false = _at_or_above(codes, is_good, len(grades)), _at_or_above(codes, ~is_good, len(grades))
    return [
        Threshold(
            grade=float(grade),
            precision=float(hit / (hit + wrong)),
            recall=float(hit / positive),
            balanced_accuracy=float((hit / positive + 1 - wrong / negative) / 2),
            rows=int(hit + wrong),
        )
        for grade, hit, wrong in zip(grades, hits, false, strict=True)
    ]


def _at_or_above(codes: NDArray[np.intp], which: NDArray[np.bool_], grades: int) -> Floats:
    counted = np.bincount(codes[which], minlength=grades)
    found: Floats = np.cumsum(counted[::-1])[::-1].astype(float)
    return found


def _agreement(part: DomainAgreement) -> float | None:
    return part.auroc if part.auroc is not None else part.spearman


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
        "humans": _humans_json(figures.humans),
        "intervals": {"auroc": _pair(judge.auroc), "kappa": _pair(figures.kappa)},
        "leniency": figures.leniency.model_dump(),
        "means": {"judge": figures.judge_mean, "people": figures.people_mean},
        "good": {"from": figures.good_from, "rows": figures.good},
        "levels": list(figures.levels),
        "groups": figures.groups,
        "thresholds": {
            "balanced": figures.threshold and figures.threshold.model_dump(),
            "precision": figures.precise and figures.precise.model_dump(),
            "wanted_precision": figures.wanted_precision,
        },
        "histogram": {f"{grade:g}": rows for grade, rows in figures.histogram.bars},
        "commonest": {"grade": figures.histogram.commonest, "share": figures.histogram.share},
        "poor_discrimination": figures.histogram.poor,
        "advantage": figures.advantage
        and {"over": figures.best_trivial, "spearman": figures.advantage.model_dump()},
        "parts": {part.name: part.model_dump(exclude={"name"}) for part in figures.parts},
    }
    return rounded(shown)  # type: ignore[no-any-return]


def _pair(bounds: FigureInterval) -> list[float] | None:
    return None if bounds.low is None or bounds.high is None else [bounds.low, bounds.high]


def _scorer_json(scorer: Scorer) -> dict[str, Any]:
    return {
        "n": scorer.n,
        "spearman": scorer.spearman.model_dump(),
        "kendall": scorer.kendall,
        "auroc": scorer.auroc.value,
        "auroc_interval": _pair(scorer.auroc),
    }


def _humans_json(humans: HumanAgreement | None) -> dict[str, Any] | None:
    if humans is None:
        return None
    shown = _scorer_json(humans.scorer)
    return shown | {"kappa": humans.kappa, "pairs": humans.pairs, "annotators": humans.annotators}


def measure(rows: Sequence[LabelledGrade], by: Yardstick) -> Figures:
    """All figures of a judge on these rows; intervals draw groups, because rows of one group go together."""
    return _JudgeMeasurement(rows, by).figures()


class _JudgeMeasurement:
    """One judge on labelled rows: the columns of the rows, and the draws that all intervals share."""

    def __init__(self, rows: Sequence[LabelledGrade], by: Yardstick) -> None:
        self.rows, self.by = rows, by
        self.grades = [row.grade for row in rows]
        self.people = [row.people for row in rows]
        self.good = [by.is_good(label) for label in self.people]
        self.draws = Draws([row.group for row in rows], seed=by.seed)

    @cached_property
    def grade_shares(self) -> Floats:
        return self.by.grade_shares(self.grades)

    @cached_property
    def label_shares(self) -> Floats:
        return self.by.label_shares(self.people)

    def figures(self) -> Figures:
        others = [self._scorer(name) for name in self._names()]
        judge, kappa = self._ranked("judge", self.grades), self._kappa()
        return Figures(
            n=len(self.rows),
            groups=self.draws.clusters,
            good=sum(self.good),
            scale=self.by.scale,
            levels=self.by.levels,
            good_from=self.by.good_from,
            judge=judge,
            kappa=kappa,
            leniency=self._bounds(
                float((self.grade_shares - self.label_shares).mean()),
                drawn_mean(self.grade_shares - self.label_shares, self.draws),
            ),
            judge_mean=float(self.grade_shares.mean()),
            people_mean=float(self.label_shares.mean()),
            histogram=histogram(self.grades, self.by.scale),
            threshold=best_threshold(self.grades, self.good),
            wanted_precision=self.by.precision,
            precise=threshold_for_precision(self.grades, self.good, self.by.precision),
            scorers=tuple(others),
            humans=human_agreement(self.rows, self.by),
            parts=self._parts(),
            **self._advantage(others),
        )

    def _names(self) -> list[str]:
        """Trivial scorers first, then published ones by name."""
        found = {name for row in self.rows for name in row.scorers}
        return [*(name for name in TRIVIAL if name in found), *sorted(found - set(TRIVIAL))]

    def _kappa(self) -> FigureInterval:
        """Both on the label's own levels."""
        grades, labels = (
            nearest_levels(self.grade_shares, self.by.levels),
            nearest_levels(self.label_shares, self.by.levels),
        )
        return self._bounds(quadratic_kappa(grades, labels), drawn_kappa(grades, labels, self.draws))

    def _bounds(self, value: float | None, drawn: Floats) -> FigureInterval:
        return _bounded(value, drawn, self.draws)

    def _scorer(self, name: str) -> Scorer:
        """Another scorer, on the rows that it has something to say of."""
        has = [at for at, row in enumerate(self.rows) if name in row.scorers]
        values = [self.rows[at].scorers[name] for at in has]
        if len(has) == len(self.rows):
            return self._ranked(name, values)
        return _JudgeMeasurement([self.rows[at] for at in has], self.by)._ranked(name, values)

    def _ranked(self, name: str, values: Sequence[float]) -> Scorer:
        return ranked(name, values, self.people, self.good, self.draws)

    def _advantage(self, others: Sequence[Scorer]) -> dict[str, FigureInterval | str]:
        """The judge's rho less that of the best trivial scorer, with a paired bootstrap interval."""
        whole = [s for s in others if s.name in TRIVIAL and s.n == len(self.rows)]
        ranking = [scorer for scorer in whole if scorer.spearman.value is not None]
        best = max(ranking, key=lambda scorer: scorer.spearman.value or 0.0, default=None)
        rho = spearman(self.grades, self.people)
        if best is None or rho is None or best.spearman.value is None:
            return {}
        values = [row.scorers[best.name] for row in self.rows]
        ours, theirs = (drawn_ranks(v, self.people, None, self.draws)[0] for v in (self.grades, values))
        advantage = self._bounds(rho - best.spearman.value, ours - theirs)
        return {"best_trivial": best.name, "advantage": advantage}

    def _parts(self) -> tuple[DomainAgreement, ...]:
        names = sorted({row.part for row in self.rows})
        if len(names) < 2:
            return ()
        return tuple(self._part(name) for name in names)

    def _part(self, name: str) -> DomainAgreement:
        at = [index for index, row in enumerate(self.rows) if row.part == name]
        grades, people = [self.grades[i] for i in at], [self.people[i] for i in at]
        return DomainAgreement(
            name=name,
            n=len(at),
            spearman=spearman(grades, people) if len(at) > 1 else None,
            auroc=auroc(grades, [self.good[i] for i in at]),
            leniency=float((self.grade_shares[at] - self.label_shares[at]).mean()),
        )


def ranked(
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


def human_agreement(rows: Sequence[LabelledGrade], by: Yardstick) -> HumanAgreement | None:
    """How people agree with each other: each one with the mean of the others on the same row.

    Kappa is of pairs of named annotators who met on some rows, weighted by how often they met.
    None where no row has two votes.
    """
    one: list[float] = []
    others: list[float] = []
    groups: list[str] = []
    for row in (row for row in rows if len(row.votes) > 1):
        whole = sum(row.votes)
        one += row.votes
        others += [(whole - vote) / (len(row.votes) - 1) for vote in row.votes]
        groups += [row.group] * len(row.votes)
    if not one:
        return None
    named = {name for row in rows for name in row.annotators}
    kappa, pairs = _pairwise_kappa(rows)
    good = [by.is_good(label) for label in others]
    scorer = ranked("humans", one, others, good, Draws(groups, seed=by.seed))
    return HumanAgreement(scorer=scorer, kappa=kappa, pairs=pairs, annotators=len(named))


def _pairwise_kappa(rows: Sequence[LabelledGrade]) -> tuple[float | None, int]:
    met: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in rows:
        known = sorted(zip(row.annotators, row.votes, strict=False))
        for at, (name, vote) in enumerate(known):
            for other, second in known[at + 1 :]:
                met.setdefault((name, other), []).append((vote, second))
    found = [
        (kappa, len(votes))
        for votes in met.values()
        if len(votes) >= MET
        and (kappa := quadratic_kappa([a for a, _ in votes], [b for _, b in votes])) is not None
    ]
    weight = sum(count for _, count in found)
    return (sum(kappa * count for kappa, count in found) / weight if weight else None), len(found)


def histogram(grades: Sequence[float], scale: tuple[float, float]) -> Histogram:
    """How often each grade was given; every whole grade of a scale like 1..5 has its bar, also the empty."""
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
    found = interval(drawn) if value is not None and draws.clusters > 1 else None
    low, high = found or (None, None)
    return FigureInterval(value=value, low=low, high=high)


def suggest(  # noqa: PLR0917 - the rows in three columns, and how they are read
    scores: Sequence[float],
    right: Sequence[bool],
    groups: Sequence[str],
    method: Method,
    quantile: float,
    seed: int,
) -> Suggestion:
    """The threshold by one of two methods, with a bootstrap interval over `groups` of rows.

    `quantile`: the highest that at least 1 - `quantile` of the right answers reach. `balanced`: the cut with
    the best balanced accuracy, which needs wrong answers too; None where it is no better than chance.
    """
    values, good = np.asarray(scores, dtype=float), np.asarray(right, dtype=bool)
    draws = Draws(groups, seed=seed)
    if method == "quantile":
        found, drawn = (
            _lower_quantile(values[good], quantile),
            _drawn_quantiles(values, good, quantile, draws),
        )
    else:
        best = best_threshold(values.tolist(), good.tolist())
        found, drawn = best.grade if best else None, _drawn_cuts(values, good, draws)
    threshold = None if found is None else rounded_down(found)
    between = None if threshold is None else interval(drawn)
    return Suggestion(
        method=method,
        threshold=threshold,
        interval=between and (rounded_down(between[0]), rounded_down(between[1])),
        right=int(good.sum()),
        wrong=int((~good).sum()),
        right_passing=_share(values[good], threshold),
        wrong_passing=_share(values[~good], threshold),
    )


def rounded_down(value: float) -> float:
    """Four decimals, never more than the score itself: what reached it still does."""
    return math.floor(value * _DECIMALS + 1e-7) / _DECIMALS


def _share(scores: Floats, threshold: float | None) -> float | None:
    if threshold is None or not len(scores):
        return None
    return float((scores >= threshold - 1e-9).mean())


def _lower_quantile(scores: Floats, quantile: float) -> float | None:
    """The score that at most this share of them is below."""
    if not len(scores):
        return None
    return float(np.sort(scores)[min(len(scores) - 1, math.floor(quantile * len(scores) + 1e-9))])


def _drawn_quantiles(scores: Floats, right: ArrayLike, quantile: float, draws: Draws) -> Floats:
    """The same of every draw; NaN where a draw has no right answer."""
    rows = np.flatnonzero(right)
    rows = rows[np.argsort(scores[rows], kind="stable")]
    ordered = scores[rows]

    def figure(weights: Floats) -> Floats:
        below = np.cumsum(weights, axis=1)
        total = below[:, -1]
        at = np.argmax(below > (quantile * total + 1e-9)[:, None], axis=1)
        found: Floats = np.where(total > 0, ordered[at], np.nan)
        return found

    return draws.by_rows(rows, figure) if len(rows) else np.full(1, np.nan)


def _drawn_cuts(scores: Floats, right: ArrayLike, draws: Draws) -> Floats:
    """The best cut of every draw, the stricter of equals; NaN where a draw has answers of one kind only."""
    rows = np.argsort(scores, kind="stable")
    ordered, good = scores[rows], np.asarray(right, dtype=float)[rows]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(ordered)) + 1))

    def figure(weights: Floats) -> Floats:
        hits, false = (
            _weight_at_or_above(weights * good, starts),
            _weight_at_or_above(weights * (1 - good), starts),
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            balanced = np.round((hits / hits[:, :1] + 1 - false / false[:, :1]) / 2, 9)
        known = np.isfinite(balanced[:, 0])
        last = len(starts) - 1 - np.argmax(np.nan_to_num(balanced)[:, ::-1], axis=1)
        better = known & (np.nan_to_num(balanced).max(axis=1) > 0.5)
        found: Floats = np.where(better, ordered[starts][last], np.nan)
        return found

    return draws.by_rows(rows, figure)


def _weight_at_or_above(weights: Floats, starts: ArrayLike) -> Floats:
    """The weight at or above every distinct score, of every draw."""
    by_score = np.add.reduceat(weights, np.asarray(starts), axis=1)
    found: Floats = np.cumsum(by_score[:, ::-1], axis=1)[:, ::-1]
    return found
