"""Probes graded and compared: what moves a judge although it should not, and what should and does not.

A probe is a pair of answers to one question that differ in one known way (plan.py makes them).
Both are graded, and the grades compared, judge by judge and kind by kind:

    flipped_fact   an amount, date or duration turned into another   falls by 2 grades, and turns red
    padding        thanks and apologies added                        truth moves by 0.2 at most
    angry          the same answer to an angry customer              moves by 0.2 at most
    shuffled       the passages in another order                     moves by 0.1 at most

A flipped fact has to fall in 90 % of the pairs, all else has to stay on average. A bound that is broken
stands beside the judge's mean in every later report.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import product

from simulator.core.concurrency import for_each
from simulator.core.replies import FIFTHS
from simulator.core.types import GradingContext, Language, RedRules, Score, Value
from simulator.lab.judging.stored import FLIPPED, BiasRow, Kind
from simulator.results.draws import interval_of_difference
from simulator.results.red import red_marks

# By how many grades (1..5) each kind has to fall at least, or may move on average at most.
BOUNDS: Mapping[Kind, float] = {FLIPPED: 2.0, "padding": 0.2, "angry": 0.2, "shuffled": 0.1}
# What follows a judge's name where only its Correctness is looked at.
_CORRECTNESS = ".correctness"
# Of the flipped facts, at least this share must fall by the bound, and turn from not red to red.
CAUGHT = 0.9
# Sums of grades in floating point: what is as near as this is the same.
_SAME = 1e-9
# Judges of manner and retrieval: a wrong fact is not theirs to see.
_MANNER = frozenset(
    ("fluency", "relevance", "answer_relevancy", "tone", "keigo", "language_match", "cosine", "risk",
     "context_precision", "context_recall")
)  # fmt: skip
# Courtesy may please whoever grades the whole; it must not make an answer truer.
_WHOLE = frozenset(("turn", "similarity", "llm_similarity", "rouge_l"))
Grade = Callable[[GradingContext], Awaitable[list[Score]]]


class Probe(Value):
    """A generated pair: `base` is right, `changed` is the same but for what its kind says.

    `cluster` is shared by the pairs of one question.
    """

    kind: Kind
    language: Language
    cluster: str
    base: GradingContext
    changed: GradingContext


# A probe with the scores of both sides.
_Pair = tuple[Probe, Sequence[Score], Sequence[Score]]


class Bias(Value):
    """The result of a set of probes: rows by language, kind and judge; `contexts` were graded once each."""

    probes: int
    contexts: int
    seed: int
    rows: tuple[BiasRow, ...]

    @property
    def broken(self) -> tuple[BiasRow, ...]:
        """The rows whose bound does not hold: 要注意."""
        return tuple(row for row in self.rows if row.held is False)


async def measure_bias(
    probes: Sequence[Probe],
    grade: Grade,
    *,
    rules: RedRules | None = None,
    seed: int = 42,
    at_once: int = 64,
) -> Bias:
    """Grades every context of the probes once, `at_once` of them at a time, and compares the pairs.

    Raises what `grade` raises; nothing is compared then.
    """
    # By the name of their conversation: the base of many pairs is graded once.
    contexts = {c.conversation: c for probe in probes for c in (probe.base, probe.changed)}
    graded = await for_each(tuple(contexts.values()), grade, at_once)
    scores = dict(zip(contexts, graded, strict=True))
    rows: list[BiasRow] = []
    # A row never mixes languages: a judge may be steady in one and not in the other.
    for place in product(("ja", "en"), BOUNDS):
        of_kind = [probe for probe in probes if (probe.language, probe.kind) == place]
        pairs = [(p, scores[p.base.conversation], scores[p.changed.conversation]) for p in of_kind]
        rows += _rows(pairs, rules or RedRules(), seed)
    return Bias(probes=len(probes), contexts=len(contexts), seed=seed, rows=tuple(rows))


def _rows(pairs: Sequence[_Pair], rules: RedRules, seed: int) -> Iterator[BiasRow]:
    """A row for each judge in their order, followed by its Correctness."""
    scores = [score for _probe, base, other in pairs for score in (*base, *other)]
    for judge in dict.fromkeys(score.judge for score in scores):
        yield _row(judge, pairs, rules, seed)
        if any(s.judge == judge and "correctness" in s.detail for s in scores):
            yield _row(judge + _CORRECTNESS, pairs, rules, seed)


def _row(judge: str, pairs: Sequence[_Pair], rules: RedRules, seed: int) -> BiasRow:
    """The row of one judge, or of its Correctness."""
    probe, name = pairs[0][0], judge.removesuffix(_CORRECTNESS)
    bound = BOUNDS[probe.kind]
    grades, fell, red, clusters, failed = list[tuple[float, float]](), [], [], [], 0
    for pair, *sides in pairs:
        base, other = (next((score for score in side if score.judge == name), None) for side in sides)
        failed += any(score is not None and score.state == "failed" for score in (base, other))
        was, now = _grade(base, judge), _grade(other, judge)
        if base is None or other is None or was is None or now is None:
            continue
        grades.append((was, now))
        # By the bound on grades; a judge of shares falls as soon as one of the answer's facts is denied.
        fell.append(now - was <= _SAME - bound if other.scale == FIFTHS else now - was < -_SAME)
        red.append((_is_red(base, rules, judge), _is_red(other, rules, judge)))
        clusters.append(pair.cluster)
    moved = [now - was for was, now in grades]
    difference, share_fallen = _mean(moved), _mean(fell)
    # A judge that sees red everywhere catches nothing: only the changed answer may be red.
    turned = _mean([now and not was for was, now in red])
    held = None
    if is_bound(probe.kind, judge) and difference is not None:
        held = abs(difference) <= bound + _SAME
        if probe.kind == FLIPPED:
            held = min(share_fallen or 0.0, turned or 0.0) >= CAUGHT - _SAME
    return BiasRow(
        language=probe.language,
        kind=probe.kind,
        judge=judge,
        n=len(moved),
        failed=failed,
        skipped=len(pairs) - len(moved) - failed,
        before=_mean([was for was, _now in grades]),
        after=_mean([now for _was, now in grades]),
        difference=difference,
        interval=interval_of_difference(moved, clusters, seed=seed),
        fell=share_fallen if probe.kind == FLIPPED else None,
        red_before=_mean([was for was, _now in red]),
        turned=turned,
        bound=bound if is_bound(probe.kind, judge) else None,
        held=held,
    )


def _is_red(score: Score, rules: RedRules, judge: str) -> bool:
    marks = red_marks([score], rules)
    return any(mark.kind == "correctness" for mark in marks) if judge.endswith(_CORRECTNESS) else bool(marks)


def is_bound(kind: Kind, judge: str) -> bool:
    """Whether a bound is set on this judge for this kind of probe.

        turn on padding -> no     turn.correctness on padding -> yes     fluency on anything -> no

    Judges of manner and of what was retrieved are only reported; of padded answers the truth is
    bound (Correctness, groundedness, claims, facts, and judges of one's own), not the grade of the whole.
    """
    match = re.match(r"\w+", judge)
    name, dotted = (match[0] if match else judge), judge.endswith(_CORRECTNESS)
    return name not in _MANNER and (dotted or kind != "padding" or name not in _WHOLE)


def _grade(score: Score | None, judge: str) -> float | None:
    """The grade from 1 to 5: of the judge, or of its Correctness; None without one."""
    if score is None or score.state != "scored" or score.raw is None:
        return None
    if judge.endswith(_CORRECTNESS):
        grade = score.detail.get("correctness")
        return float(grade) if isinstance(grade, int | float) else None
    low, high = score.scale
    return 1 + 4 * (score.raw - low) / (high - low)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
