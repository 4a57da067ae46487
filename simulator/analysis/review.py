"""How far people's blind grades agree with the judge, and with each other."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from simulator.analysis.agreement import Floats, quadratic_kappa
from simulator.analysis.figures import Summary
from simulator.core.types import Conversation, HumanVerdict, Results, Turn, Value

# Where the rule for Overall is switched off, this is still where people's grades turn red.
RED_LINE = 0.7
LOW, HIGH, TOP = 2, 4, 5
_SAME = 1e-9


class Disputed(Value):
    """A turn about whose colour people and judge are far apart; grades are 1..5, `comment` is people's."""

    conversation: str
    turn: int
    question: str
    answer: str
    human: float
    judge: float
    comment: str = ""


class Reviewers(Value):
    """How people agree with each other on the `turns` that several of them graded, pair by pair.

    `within_one` is the share of pairs at most one grade apart, `kappa` is quadratically weighted.
    """

    turns: int
    within_one: float
    kappa: float | None


class Review(Value):
    """The judge beside people on the `turns` both have graded (`grades` by people in all).

    `within_one` is the share of turns at most one grade apart, `same_side` the share on which both are on
    the same side of the red line, `kappa` is quadratically weighted, `auroc` says how well the judge's grades
    part what people call red from the rest, and `difference` is judge less people, 0..1: positive is lenient.
    With `weighted`, a turn that was sampled less often counts for more. `missed` are turns that were not red
    although people gave 2 or less, about `missed_in_run` of them in the whole run; `overcalled` ones were
    red although people gave 4 or more.
    """

    turns: int
    grades: int
    reviewers: dict[str, int]
    weighted: bool
    within_one: float
    same_side: float
    kappa: float | None
    auroc: float | None
    difference: float
    missed: tuple[Disputed, ...]
    missed_in_run: float
    overcalled: tuple[Disputed, ...]
    between: Reviewers | None


class _Both(NamedTuple):
    """One turn: what people gave it on average, what the judge gave it (both 1..5), and its weight."""

    talk: Conversation
    turn: Turn
    verdicts: Sequence[HumanVerdict]
    human: float
    judge: float
    red: bool
    weight: float


def agreement(results: Results, summary: Summary) -> Review | None:
    """The judge beside people's blind grades; None where no turn has both."""
    both, weighted = _weighed(_both(results, summary))
    if not both:
        return None
    human, judge = np.array([b.human for b in both]), np.array([b.judge for b in both])
    weights = np.array([b.weight for b in both])
    line = TOP * (RED_LINE if summary.rules.overall is None else summary.rules.overall) - _SAME
    good, red = human >= line, np.array([b.red for b in both])
    missed = [b for b in both if not b.red and b.human <= LOW]
    return Review(
        turns=len(both),
        grades=sum(len(b.verdicts) for b in both),
        reviewers=_reviewers(both),
        weighted=weighted,
        within_one=_share(np.abs(judge - human) <= 1 + _SAME, weights),
        same_side=_share(good != red, weights),
        kappa=weighted_kappa(judge, human, weights),
        auroc=weighted_auroc(judge, good, weights),
        difference=_share(judge - human, weights) / TOP,
        missed=tuple(_disputed(b) for b in sorted(missed, key=lambda b: (b.human, -b.judge))),
        missed_in_run=sum(b.weight for b in missed),
        overcalled=tuple(_disputed(b) for b in both if b.red and b.human >= HIGH),
        between=_between([b.verdicts for b in both]),
    )


def _both(results: Results, summary: Summary) -> list[_Both]:
    """The turns that people and the deciding judge have graded, in the order of the run."""
    red = {(turn.conversation, turn.turn) for turn in summary.reddest}
    values = {(s.conversation, s.turn): s.value for s in results.scores if s.judge == summary.primary}
    given: dict[tuple[str, int], list[HumanVerdict]] = {}
    for verdict in results.verdicts:
        if verdict.source == "blind" and verdict.grade is not None:
            given.setdefault((verdict.conversation, verdict.turn), []).append(verdict)
    found = []
    for talk in results.conversations:
        for turn in talk.turns:
            key = (talk.id, turn.index)
            verdicts, value = given.get(key), values.get(key)
            if verdicts and value is not None:
                human = sum(v.grade or 0.0 for v in verdicts) / len(verdicts)
                found.append(_Both(talk, turn, verdicts, human, TOP * value, key in red, _weight(verdicts)))
    return found


def _weight(verdicts: Iterable[HumanVerdict]) -> float:
    """How many turns of the run one stands for; 0 where nobody knows."""
    return next((1 / v.sampled for v in verdicts if v.sampled), 0.0)


def _weighed(both: list[_Both]) -> tuple[list[_Both], bool]:
    """Sampling rates count only where all are known."""
    if all(b.weight for b in both):
        return both, len({round(b.weight, 9) for b in both}) > 1
    return [b._replace(weight=1.0) for b in both], False


def _share(of: Any, weights: Floats) -> float:
    return float(np.average(np.asarray(of, dtype=float), weights=weights))


def weighted_kappa(one: Floats, other: Floats, weights: Floats) -> float | None:
    """Quadratically weighted kappa of two gradings whose rows count by `weights`; None of two constants."""
    means = _share(one, weights), _share(other, weights)
    spread = _share((one - means[0]) ** 2, weights) + _share((other - means[1]) ** 2, weights)
    by_chance = spread + (means[0] - means[1]) ** 2
    return 1 - _share((one - other) ** 2, weights) / by_chance if by_chance > _SAME else None


def weighted_auroc(scores: Floats, good: Any, weights: Floats) -> float | None:
    """How often (0..1) a good row scores above another one, rows counting by `weights`, ties half."""
    good = np.asarray(good, dtype=bool)
    if good.all() or not good.any():
        return None
    order = np.argsort(scores[~good], kind="stable")
    others = scores[~good][order]
    below = np.concatenate(([0.0], np.cumsum(weights[~good][order])))
    under, up_to = (below[np.searchsorted(others, scores[good], side=s)] for s in ("left", "right"))
    return float(((under + up_to) / 2) @ weights[good] / (below[-1] * weights[good].sum()))


def _reviewers(both: Iterable[_Both]) -> dict[str, int]:
    """How many turns each one graded, by name."""
    names = sorted(v.reviewer for b in both for v in b.verdicts)
    return {name: names.count(name) for name in dict.fromkeys(names)}


def _between(graded: Iterable[Sequence[HumanVerdict]]) -> Reviewers | None:
    """Every pair of reviewers of one turn, in the order of their names."""
    several = [sorted(verdicts, key=lambda v: v.reviewer) for verdicts in graded if len(verdicts) > 1]
    pairs = [(a.grade or 0.0, b.grade or 0.0) for verdicts in several for a, b in combinations(verdicts, 2)]
    if not pairs:
        return None
    within = sum(abs(a - b) <= 1 + _SAME for a, b in pairs) / len(pairs)
    kappa = quadratic_kappa([a for a, _ in pairs], [b for _, b in pairs]) if len(pairs) > 1 else None
    return Reviewers(turns=len(several), within_one=within, kappa=kappa)


def _disputed(b: _Both) -> Disputed:
    return Disputed(
        conversation=b.talk.id,
        turn=b.turn.index,
        question=b.turn.user,
        answer=b.turn.answer.text,
        human=b.human,
        judge=b.judge,
        comment=next((v.comment for v in b.verdicts if v.comment), ""),
    )


def as_json(review: Review | None) -> dict[str, Any] | None:
    """What `review --json` prints of it, figures rounded to 4 decimals, without the texts of turns."""
    if review is None:
        return None
    shown = {key: getattr(review, key) for key in ("turns", "grades", "reviewers", "weighted")}
    for key in ("within_one", "same_side", "kappa", "auroc", "difference"):
        shown[key] = _rounded(getattr(review, key))
    missed = {"n": len(review.missed), "in_run": _rounded(review.missed_in_run)}
    shown["missed"] = missed | {"turns": _places(review.missed)}
    shown["overcalled"] = {"n": len(review.overcalled), "turns": _places(review.overcalled)}
    between = review.between
    shown["between_reviewers"] = between and {
        "turns": between.turns, "within_one": _rounded(between.within_one), "kappa": _rounded(between.kappa),
    }  # fmt: skip
    return shown


def _places(turns: Iterable[Disputed]) -> list[dict[str, Any]]:
    return [t.model_dump(include={"conversation", "turn", "human", "judge", "comment"}) for t in turns]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
