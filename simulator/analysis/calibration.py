"""A judge's grades beside people's labels: agreement, leniency, thresholds, and what it has to beat."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simulator.analysis.agreement import Floats, auroc, binned, kendall, quadratic_kappa, spearman
from simulator.analysis.calibration_figures import Bounds, Figures, Histogram, Humans, Part, Scorer
from simulator.analysis.resampling import Draws, drawn_kappa, drawn_mean, drawn_ranks, interval
from simulator.analysis.thresholds import best_threshold, threshold_for_precision

# The scorers of analysis/trivial.py, as they are called in every table.
TRIVIAL = ("length", "token_precision", "token_recall", "rouge_l")
# A domain of fewer rows has no figures worth comparing; annotators who met less often have no kappa.
ENOUGH, MET = 10, 5
# From this share of one and the same grade on, a judge tells too little apart.
TOO_COMMON = 0.6
# A histogram of more grades than this is drawn in tenths of the scale.
MOST_BARS = 11


@dataclass(frozen=True)
class Marked:
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

    def judged(self, grades: Sequence[float]) -> Floats:
        """Grades as shares (0..1) of the judge's scale."""
        low, high = self.scale
        return (np.asarray(grades, dtype=float) - low) / (high - low)

    def said(self, labels: Sequence[float]) -> Floats:
        """Labels as shares (0..1) of theirs."""
        low, high = min(self.levels), max(self.levels)
        return (np.asarray(labels, dtype=float) - low) / ((high - low) or 1)

    def is_good(self, label: float) -> bool:
        """Whether people call it good."""
        return label >= self.good_from - 1e-9


def measure(rows: Sequence[Marked], by: Yardstick) -> Figures:
    """All figures of a judge on these rows; intervals draw groups, because rows of one group go together."""
    return _Comparison(rows, by).figures()


class _Comparison:
    """The columns of the rows, and the draws that all intervals share."""

    def __init__(self, rows: Sequence[Marked], by: Yardstick) -> None:
        self.rows, self.by = rows, by
        self.grades = [row.grade for row in rows]
        self.people = [row.people for row in rows]
        self.good = [by.is_good(label) for label in self.people]
        self.draws = Draws([row.group for row in rows], seed=by.seed)

    @cached_property
    def judged(self) -> Floats:
        return self.by.judged(self.grades)

    @cached_property
    def said(self) -> Floats:
        return self.by.said(self.people)

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
                float((self.judged - self.said).mean()), drawn_mean(self.judged - self.said, self.draws)
            ),
            judge_mean=float(self.judged.mean()),
            people_mean=float(self.said.mean()),
            histogram=histogram(self.grades, self.by.scale),
            threshold=best_threshold(self.grades, self.good),
            wanted_precision=self.by.precision,
            precise=threshold_for_precision(self.grades, self.good, self.by.precision),
            scorers=tuple(others),
            humans=humans(self.rows, self.by),
            parts=self._parts(),
            **self._advantage(others),
        )

    def _names(self) -> list[str]:
        """Trivial scorers first, then published ones by name."""
        found = {name for row in self.rows for name in row.scorers}
        return [*(name for name in TRIVIAL if name in found), *sorted(found - set(TRIVIAL))]

    def _kappa(self) -> Bounds:
        """Both on the label's own levels."""
        judged, said = binned(self.judged, self.by.levels), binned(self.said, self.by.levels)
        return self._bounds(quadratic_kappa(judged, said), drawn_kappa(judged, said, self.draws))

    def _bounds(self, value: float | None, drawn: Floats) -> Bounds:
        return _bounded(value, drawn, self.draws)

    def _scorer(self, name: str) -> Scorer:
        """Another scorer, on the rows that it has something to say of."""
        has = [at for at, row in enumerate(self.rows) if name in row.scorers]
        values = [self.rows[at].scorers[name] for at in has]
        if len(has) == len(self.rows):
            return self._ranked(name, values)
        return _Comparison([self.rows[at] for at in has], self.by)._ranked(name, values)

    def _ranked(self, name: str, values: Sequence[float]) -> Scorer:
        return ranked(name, values, self.people, self.good, self.draws)

    def _advantage(self, others: Sequence[Scorer]) -> dict[str, Bounds | str]:
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

    def _parts(self) -> tuple[Part, ...]:
        names = sorted({row.part for row in self.rows})
        if len(names) < 2:
            return ()
        return tuple(self._part(name) for name in names)

    def _part(self, name: str) -> Part:
        at = [index for index, row in enumerate(self.rows) if row.part == name]
        grades, people = [self.grades[i] for i in at], [self.people[i] for i in at]
        return Part(
            name=name,
            n=len(at),
            spearman=spearman(grades, people) if len(at) > 1 else None,
            auroc=auroc(grades, [self.good[i] for i in at]),
            leniency=float((self.judged[at] - self.said[at]).mean()),
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


def humans(rows: Sequence[Marked], by: Yardstick) -> Humans | None:
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
    return Humans(scorer=scorer, kappa=kappa, pairs=pairs, annotators=len(named))


def _pairwise_kappa(rows: Sequence[Marked]) -> tuple[float | None, int]:
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


def _bounded(value: float | None, drawn: Floats, draws: Draws) -> Bounds:
    """No interval where there is no value, or only one group to draw."""
    found = interval(drawn) if value is not None and draws.clusters > 1 else None
    low, high = found or (None, None)
    return Bounds(value=value, low=low, high=high)
