"""Probes graded and compared: what moves a judge although it should not, and what should and does not.

A probe is a pair of answers to one question that differ in one known way (plan.py makes them).
Both are graded, and the grades compared, judge by judge and kind by kind:

    flipped_fact   an amount, date or yes turned into another    falls by 2 grades, and turns red
    padding        thanks and apologies added                    truth moves by 0.2 at most
    angry          the same answer to an angry customer          moves by 0.2 at most
    twin           the same question in the other language       moves by 0.2 at most
    shuffled       the passages in another order                 moves by 0.1 at most

What falls has to do so in 90 % of the pairs, what stays has to on average. A bound that is broken stands
beside the judge's mean in every later report.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import product

from simulator.core.concurrency import for_each
from simulator.core.replies import FIFTHS
from simulator.core.types import GradingContext, Language, RedRules, Score, Value
from simulator.lab.judging.stored import SAME, BiasRow, Expectation, Kind
from simulator.results.draws import interval_of_difference
from simulator.results.red import red_marks

KINDS: tuple[Kind, ...] = ("flipped_fact", "padding", "angry", "twin", "shuffled")
# What must happen, and by how many grades (1..5): at least so far down, or at most so far from it on average.
EXPECTED: Mapping[Kind, tuple[Expectation, float]] = {
    "flipped_fact": ("falls", 2.0),
    "padding": ("stays", 0.2),
    "angry": ("stays", 0.2),
    "twin": ("stays", 0.2),
    "shuffled": ("stays", 0.1),
}
# `ja`, `jp` or `en` that is not part of a word: of "fees-01-ja", not of "japan-01".
_LANGUAGE_MARK = re.compile(r"(?<![a-z])(?:ja|jp|en)(?![a-z])", re.IGNORECASE)
# The row of all judges together: no grade of its own, but the colour that the turn gets.
TOGETHER = ""
# What follows a judge's name where only its Correctness is looked at.
_CORRECTNESS = ".correctness"
# Of the flipped facts, at least this share must fall by the bound, and turn from not red to red.
CAUGHT = 0.9
# Judges of manner and retrieval: a wrong fact is not theirs to see.
_MANNER = frozenset(
    ("fluency", "relevance", "answer_relevancy", "tone", "keigo", "cosine", "risk",
     "context_precision", "context_recall")
)  # fmt: skip
# Courtesy may please whoever grades the whole; it must not make an answer truer.
_WHOLE = frozenset(("turn", "similarity", "llm_similarity", "rouge_l"))
Grade = Callable[[GradingContext], Awaitable[list[Score]]]


class Probe(Value):
    """A generated pair: `base` is right, `changed` is the same but for what `note` says.

    `sort` is what was changed within its kind (amount, date, ability ...). `expects` falls: `changed` must
    lose at least `bound` grades of 1..5 and turn red; stays: the mean over all pairs of its kind may move by
    `bound` at most. `cluster` is shared by the pairs of one question.
    """

    kind: Kind
    sort: str
    language: Language
    cluster: str
    base: GradingContext
    changed: GradingContext
    expects: Expectation
    bound: float
    note: str


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


def without_language(name: str) -> str:
    """An id without its mark of a language: fees-01-ja and fees-01-en are one question, `fees-01-`."""
    return _LANGUAGE_MARK.sub("", name)


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
    for place in product(("ja", "en"), KINDS):
        of_kind = [probe for probe in probes if (probe.language, probe.kind) == place]
        pairs = [(p, scores[p.base.conversation], scores[p.changed.conversation]) for p in of_kind]
        rows += _rows(pairs, rules or RedRules(), seed) if pairs else ()
    return Bias(probes=len(probes), contexts=len(contexts), seed=seed, rows=tuple(rows))


def _rows(pairs: Sequence[_Pair], rules: RedRules, seed: int) -> Iterator[BiasRow]:
    """A row for each judge in their order, followed by its Correctness, and of flipped facts all together."""
    scores = [score for _probe, base, other in pairs for score in (*base, *other)]
    for judge in dict.fromkeys(score.judge for score in scores):
        yield _row(judge, pairs, rules, seed)
        if any(s.judge == judge and "correctness" in s.detail for s in scores):
            yield _row(judge + _CORRECTNESS, pairs, rules, seed)
    probe = pairs[0][0]
    if probe.kind != "flipped_fact":
        return
    # Whether the red rules catch the flipped facts, whichever judge they go by.
    red = [
        (_is_red(base, rules), _is_red(other, rules))
        for _p, base, other in pairs
        if all(any(score.state == "scored" for score in side) for side in (base, other))
    ]
    turned = _mean([after and not before for before, after in red])
    yield BiasRow(
        language=probe.language, kind=probe.kind, judge=TOGETHER, n=len(red),
        failed=len(pairs) - len(red), skipped=0, before=None, after=None, difference=None,
        interval=None, fell=None, red=_mean([after for _before, after in red]),
        red_before=_mean([before for before, _after in red]), turned=turned, expects=probe.expects,
        bound=None, held=None if turned is None else turned >= CAUGHT - SAME,
    )  # fmt: skip


def _row(judge: str, pairs: Sequence[_Pair], rules: RedRules, seed: int) -> BiasRow:
    """The row of one judge, or of its Correctness."""
    probe, name = pairs[0][0], judge.removesuffix(_CORRECTNESS)
    grades, fell, red, clusters, failed = list[tuple[float, float]](), [], [], [], 0
    for pair, *sides in pairs:
        base, other = (next((score for score in side if score.judge == name), None) for side in sides)
        failed += any(score is not None and score.state == "failed" for score in (base, other))
        was, now = _grade(base, judge), _grade(other, judge)
        if base is None or other is None or was is None or now is None:
            continue
        grades.append((was, now))
        # By the bound on grades; a judge of shares falls as soon as one of the answer's facts is denied.
        limit = -probe.bound + SAME if other.scale == FIFTHS else -SAME
        fell.append(now - was <= limit if other.scale == FIFTHS else now - was < limit)
        red.append((_is_red([base], rules, judge), _is_red([other], rules, judge)))
        clusters.append(pair.cluster)
    moved = [now - was for was, now in grades]
    difference, share_fallen = _mean(moved), _mean(fell)
    # A judge that sees red everywhere catches nothing: only the changed answer may be red.
    turned = _mean([now and not was for was, now in red])
    bound = probe.bound if is_bound(probe.kind, judge) else None
    held = None
    if bound is not None and difference is not None:
        held = abs(difference) <= bound + SAME
        if probe.expects == "falls":
            held = min(share_fallen or 0.0, turned or 0.0) >= CAUGHT - SAME
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
        fell=share_fallen if probe.expects == "falls" else None,
        red=_mean([now for _was, now in red]),
        red_before=_mean([was for was, _now in red]),
        turned=turned,
        expects=probe.expects,
        bound=bound,
        held=held,
    )


def _is_red(scores: Sequence[Score], rules: RedRules, judge: str = "") -> bool:
    marks = red_marks(scores[0].conversation, scores, rules)
    return any(mark.kind == "correctness" for mark in marks) if judge.endswith(_CORRECTNESS) else bool(marks)


def is_bound(kind: Kind, judge: str) -> bool:
    """Whether a bound is set on this judge for this kind of probe.

        turn on padding -> no     turn.correctness on padding -> yes     fluency on anything -> no

    Judges of manner and of what was retrieved are only reported; of padded answers the truth is
    bound (Correctness, groundedness, claims, facts, and judges of one's own), not the grade of the whole.
    """
    match = re.match(r"\w+", judge)
    name, dotted = (match[0] if match else judge), judge.endswith(_CORRECTNESS)
    if name in _MANNER:
        return False
    return dotted or kind != "padding" or name not in _WHOLE


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
