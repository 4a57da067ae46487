"""Whether a judge is good enough to decide: what it marks of bad answers, and passes of good ones.

Both shares are held against people's labels, each with its one-sided 95 % lower bound (Clopper and Pearson,
1934). A judge is certified from a bound of .80 for both:

    14 of 14   .807        13 of 13   .794
    21 of 22   .802        20 of 21   .793
    45 of 50   .801

Questions are what is counted: what a judge makes of ten answers to one question is little more than one
observation, so a question counts once, with the share of its answers that the judge is right about.

Answers that were drawn more often than others count for less. Each weighs what it would in a sample where
all had the chance of the rarest kind: of answers drawn with chances .1 and .5 the latter weigh a fifth. That
keeps shares unbiased, and a bound rests on as many answers as such a sample would have had. Part of a hit is
no hit and part of a miss is a whole one, so that the bound is never too good.
"""

from collections.abc import Iterable, Sequence
from math import ceil, exp, floor, fsum, lgamma, log
from typing import Any, Literal, NamedTuple

from pydantic import Field

from simulator.core.messages import Message, _, ngettext
from simulator.core.types import Value
from simulator.results.bisection import bisected

# What both bounds have to reach, and how sure they are.
NEEDED, LEVEL = 0.8, 0.95
# Sums of weights in floating point: what is as near as this is the same.
_SAME = 1e-9
# As many more answers are named; beyond, more answers alone are no way to a certificate.
MOST_MORE = 200


class CheckedAnswer(NamedTuple):
    """An answer that people call `bad` or good, and whether the judge marks it.

    `weight` (above 0, at most 1): for how many answers drawn at random it counts. `key` names the answer
    among those to its question: the same one given to several customers is shown as one.
    """

    question: str
    bad: bool
    marked: bool
    key: str = ""
    weight: float = 1.0


class Side(Value):
    """The answers of one kind, bad or good: the judge was right about `right` of `answers`.

    `share` (0..1) weighs them, None without any; `bound` is its one-sided 95 % lower bound. `more` answers of
    this kind, each about another question, drawn at random and judged rightly, would bring the bound to .80;
    None where that takes more than anybody labels.
    """

    right: int = 0
    answers: int = 0
    share: float | None = None
    bound: float = 0.0
    more: int | None = 14

    @property
    def certified(self) -> bool:
        """Whether the bound reaches what a certificate takes."""
        return self.more == 0


class Standing(Value):
    """What is known of a judge with one rubric and model, from people's labels.

    `bad` and `good` are the two sides. `stand_in`: words were counted, and nobody certifies that.
    `failed_probes` are those of `doctor --judge` that it did not pass; None: it was not tried.
    """

    judge: str
    rubric: str = ""
    model: str = ""
    bad: Side = Field(default_factory=Side)
    good: Side = Field(default_factory=Side)
    stand_in: bool = False
    failed_probes: tuple[str, ...] | None = None

    @property
    def certified(self) -> bool:
        """Whether both shares are certain enough."""
        is_sound = not self.stand_in and not self.failed_probes
        return is_sound and self.bad.certified and self.good.certified

    @property
    def state(self) -> Literal["certified", "checked", "not_checked", "stand_in"]:
        """In a word; `checked` has labels, but too few, or too few of them agree."""
        if self.stand_in:
            return "stand_in"
        if self.certified:
            return "certified"
        return "checked" if self.bad.answers + self.good.answers else "not_checked"

    def as_json(self) -> dict[str, Any]:
        """The object of --json, figures rounded to 4 decimals."""

        def side(values: Side) -> dict[str, Any]:
            share = None if values.share is None else round(values.share, 4)
            return values.model_dump() | {"share": share, "bound": round(values.bound, 4)}

        tried = None if self.failed_probes is None else list(self.failed_probes)
        return {
            "state": self.state,
            "marks_bad": side(self.bad),
            "passes_good": side(self.good),
            "failed_probes": tried,
            "rubric": self.rubric,
            "model": self.model,
        }


def lower_bound(right: int, wrong: int) -> float:
    """The one-sided 95 % lower bound of a share (Clopper and Pearson, 1934): 14 of 14 are .807."""
    return bisected(0.0, 1.0, lambda share: _at_least(right, wrong, share) <= 1 - LEVEL)


def _at_least(right: int, wrong: int, share: float) -> float:
    """How likely so many are right by chance, or more, where that share is: 14 of 14 at .8 are .044."""
    n = right + wrong
    return fsum(
        exp(
            lgamma(n + 1) - lgamma(misses + 1) - lgamma(n - misses + 1)
            + (n - misses) * log(share) + misses * log(1 - share)
        )
        for misses in range(wrong + 1)
    )  # fmt: skip


def is_certain(right: int, wrong: int) -> bool:
    """Whether the bound reaches .80: of 21 of 22 it does, of 20 of 21 it does not."""
    return _at_least(right, wrong, NEEDED) <= 1 - LEVEL


def side_of(answers: Iterable[CheckedAnswer], *, bad: bool) -> Side:
    """One side of a standing: of the bad answers those it marks, of the good ones those it passes."""
    of_kind = [answer for answer in answers if answer.bad == bad]
    by_question: dict[str, list[tuple[float, bool]]] = {}
    distinct: dict[tuple[str, str], bool] = {}
    for answer in of_kind:
        hit = answer.marked == bad
        by_question.setdefault(answer.question, []).append((answer.weight, hit))
        distinct[answer.question, answer.key] = hit
    right, wrong = _counts([*by_question.values()])
    weights = fsum(answer.weight for answer in of_kind)
    hits = fsum(answer.weight for answer in of_kind if answer.marked == bad)
    return Side(
        right=sum(distinct.values()),
        answers=len(distinct),
        share=hits / weights if weights else None,
        bound=lower_bound(right, wrong),
        more=next((n for n in range(MOST_MORE + 1) if is_certain(right + n, wrong)), None),
    )


def _counts(questions: Sequence[Sequence[tuple[float, bool]]]) -> tuple[int, int]:
    """How many questions went right and wrong, whole ones; a question is one at most, however often asked."""
    right, whole = [], []
    for answers in questions:
        weight = fsum(weight for weight, _hit in answers)
        counted = min(1.0, weight)
        whole.append(counted)
        right.append(counted * fsum(weight for weight, hit in answers if hit) / weight)
    hits = floor(fsum(right) + _SAME)
    return hits, ceil(fsum(whole) - fsum(right) - _SAME)


def standing_line(standing: Standing | None) -> Message:
    """How good a judge is known to be, in one line beside every verdict."""
    return _("Judge: {standing}", standing=standing_text(standing))


def standing_text(standing: Standing | None) -> Message:
    """How good a judge is known to be, beside the word "Judge"."""
    if standing is not None and standing.failed_probes:
        names = standing.failed_probes
        return _("not to be relied on; it failed probes that any judge must pass: {names}.", names=names)
    if standing is not None and standing.stand_in:
        return _("simple scoring (no AI), which is never certified.")
    if standing is None or standing.state == "not_checked":
        return _("not checked; grade answers blind to see how far it agrees with people.")
    bad, good = standing.bad, standing.good
    kinds = (
        (bad.more, ngettext("{n} more bad answer", "{n} more bad answers", n=bad.more or 0)),
        (good.more, ngettext("{n} more good answer", "{n} more good answers", n=good.more or 0)),
    )
    if standing.certified:
        text = _(
            "certified; it marks {marked} of {bad} bad answers, and passes {passed} of {good} good ones."
        )
    elif bad.more is None or good.more is None:
        text = _(
            "not certified; it agrees with people in {agrees} of {answers} (marks {marked} of {bad}"
            " bad answers, passes {passed} of {good} good ones)."
        )
    else:
        text = _("agrees with people in {agrees} of {answers}; needed: {needed}.")
    return text.format(
        marked=bad.right,
        bad=bad.answers,
        passed=good.right,
        good=good.answers,
        agrees=bad.right + good.right,
        answers=bad.answers + good.answers,
        needed=tuple(text for more, text in kinds if more),
    )
