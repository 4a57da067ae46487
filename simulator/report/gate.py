"""The gate in words: the verdict in a line, what keeps the run from passing, and a table of the conditions.

    Passed: score 92 (90 required)
    Failed: score 70 (90 required); 22 % of the questions have a serious error (20 % allowed)
    Undecided: 2 of 40 grades of Overall (not answered in the log 38), on 2 of 40 questions (90 % required)
    Trial, target reached: score 95 (90 required)

Every view of a run shows this line, and its word alone where there is no room. A trial is a run without a
model: whatever its figures, nothing is passed or failed by it.

The table is shown where several conditions were asked for (`--target "turn >= .9 and red <= .1"`), or a
`--confidence`. They are decided in results/conditions.py.

    Condition             Verdict     Result   May lie between   Questions
    Score (70 required)   Undecided   74       62 and 83                21
"""

import math
from collections.abc import Iterator, Mapping

from simulator.core.document import Cell, Table, Text, Tone, points, target_points
from simulator.core.messages import Message, _, ngettext, pgettext
from simulator.core.target import CERTIFIED, FIGURES, MAJOR, SECONDS, Condition
from simulator.results.conditions import MIN_QUESTIONS, SAME, CheckedCondition, Decision
from simulator.results.gate import DECISIONS, Gate
from simulator.results.target import figure_title

# What a trial says of its target.
_TRIALS: Mapping[Decision, Message] = {
    "passed": pgettext("a verdict", "Trial, target reached"),
    "missed": pgettext("a verdict", "Trial, target missed"),
    "undecided": pgettext("a verdict", "Trial, undecided"),
}
# The same with the confidence that was asked for.
_SURE_TRIALS: Mapping[Decision, Message] = {
    "passed": _("Trial, target reached ({sure} % sure)"),
    "missed": _("Trial, target missed ({sure} % sure)"),
}
# What these came to, in words of their own.
_PHRASES: Mapping[str, Message] = {
    MAJOR: _("{value} of the questions have a serious error ({limit})"),
    CERTIFIED: _("the judge is {value}"),
}
# So many things are named in the line, others are counted.
_MOST = 3


def verdict_word(gate: Gate, *, trial: bool = False) -> Message:
    """The verdict in a word: Passed, Failed, Undecided, or what a trial says; that no target was set."""
    if gate.incomplete:
        return pgettext("a verdict", "Trial, incomplete") if trial else pgettext("a verdict", "Incomplete")
    if gate.decision is None:
        return _("No target was set")
    return (_TRIALS if trial else DECISIONS)[gate.decision]


def verdict_tone(gate: Gate, *, trial: bool = False) -> Tone:
    """Colour is for what may be relied on: a trial has none."""
    if trial or gate.decision is None:
        return ""
    return "good" if gate.decision == "passed" else "alarm"


def verdict(gate: Gate, *, trial: bool = False) -> Message:
    """The gate in one line, with the figures that decided and what was asked of them.

    `trial` says that no model took part.
    """
    word = verdict_word(gate, trial=trial)
    if gate.decision is None and not gate.incomplete:
        return word
    parts = tuple(_phrases(gate, "passed") if gate.passed else reasons(gate))
    shown, more = parts[:_MOST], len(parts) - _MOST
    what = _("{parts:clauses}", parts=shown)
    if more > 0:
        what = ngettext(
            "{what}; and {n} more condition", "{what}; and {n} more conditions", n=more, what=what
        )
    decided = gate.decision if gate.decision != "undecided" else None
    if gate.confidence is not None and decided and _is_sure(gate):
        text = _SURE_TRIALS[decided] if trial else _("{word} ({sure} % sure)")
        word = text.format(word=word, sure=f"{100 * gate.confidence:.4g}")
    return _("{word}: {what}", word=word, what=what)


def reasons(gate: Gate) -> list[Message]:
    """What keeps the run from passing, most serious first; nothing if it passed.

    Of a run that is incomplete only what is missing counts.
    """
    findings = [finding.text for finding in gate.findings]
    if gate.decision == "missed":
        return [*_phrases(gate, "missed"), *findings, *_phrases(gate, "undecided")]
    return findings if gate.incomplete else [*findings, *_phrases(gate, "undecided")]


def doubts(gate: Gate, interval: tuple[float, float] | None) -> Iterator[Message]:
    """What to know beside the verdict's line: that the score may fall short.

    `interval` is that of the score (0..1), which says so where no confidence was asked for.
    """
    score = gate.score
    if score is None or score.decision != "passed" or interval is None or gate.confidence is not None:
        return
    target = score.condition.threshold
    if interval[0] < target - SAME:
        yield _(
            "{score} reaches the target {target}, but the 95 % interval begins at {low}: more questions"
            " would settle it.",
            target=target_points(target),
            score=points(score.figure.value, against=target),
            low=points(interval[0], against=target),
        )


def _phrases(gate: Gate, decision: Decision) -> Iterator[Message]:
    """What the conditions of this decision came to, and what was asked: "score 74 (90 required)".

    The limit that goes with every target is named where it was missed or is too close to call; what lacks
    questions is said once, and what lacks grades is among the findings.
    """
    of_decision = [checked for checked in gate.conditions if checked.decision == decision]
    named = [c for c in of_decision if c.condition.name != MAJOR or (decision != "passed" and not c.lack)]
    few = []
    for checked in named or of_decision:
        if checked.lack == "few":
            name, n = _subject(checked.condition), checked.figure.cases
            few.append(ngettext("{name} on {n} question", "{name} on {n} questions", n=n, name=name))
        elif checked.lack != "thin":
            yield _phrase(checked)
    if few:
        yield _("too few questions ({least} required): {parts}", least=MIN_QUESTIONS, parts=tuple(few))


def _phrase(checked: CheckedCondition) -> Message:
    """One condition with its result."""
    condition, figure = checked.condition, checked.figure
    name, limit = _subject(condition), _limit(condition)
    if checked.lack == "nothing":
        return _("{name} not known ({limit})", name=name, limit=limit)
    if checked.lack == "missing":
        of = figure.n + figure.failed
        return _("{name}: values missing {failed} of {of}", name=name, failed=figure.failed, of=of)
    value, between = value_text(checked), range_text(checked)
    if checked.decision == "undecided" and between:
        text = _("{name} {value}, perhaps between {range} ({limit})")
        return text.format(name=name, value=value, range=between, limit=limit)
    text = _PHRASES.get(condition.name, _("{name} {value} ({limit})"))
    return text.format(name=name, value=value, limit=limit)


def _subject(condition: Condition) -> Text:
    """What a condition is about, within a sentence."""
    return _("score") if condition.name == "score" else condition_name(condition)


def _is_sure(gate: Gate) -> bool:
    """Whether what decided carries the confidence that was asked for: what was only counted does not."""
    of_decision = (c.condition for c in gate.conditions if c.decision == gate.decision)
    return any(not condition.is_fact and condition.name != MAJOR for condition in of_decision)


def is_tabled(gate: Gate) -> bool:
    """Whether the conditions have a table: a single one is the target itself, and stands in the verdict."""
    return gate.confidence is not None or sum(c.condition.name != MAJOR for c in gate.conditions) > 1


def conditions_table(gate: Gate, *, trial: bool = False) -> Table:
    """A row for each condition: verdict, figure, range and questions; without verdicts of a trial."""

    def name(checked: CheckedCondition) -> Text:
        condition = checked.condition
        return _("{name} ({how})", name=condition_name(condition), how=_limit(condition))

    def decision(checked: CheckedCondition) -> Cell:
        tone: Tone = "good" if checked.decision == "passed" else "alarm"
        return Cell(text=DECISIONS[checked.decision], red=checked.decision == "missed", tone=tone)

    return Table.listing(
        "conditions",
        gate.conditions,
        {
            _("Condition"): name,
            **({} if trial else {_("Verdict"): decision}),
            _("Result"): value_text,
            _("May lie between"): range_text,
            pgettext("of customers", "Questions"): lambda checked: checked.figure.cases,
        },
        _("What it takes to pass"),
    )


def condition_name(condition: Condition) -> Text:
    """What a condition is about: '点数'."""
    if condition.repeats:
        return _("Passed {k} times of {k} (pass^{k})", k=condition.repeats)
    return figure_title(condition.name)


def _limit(condition: Condition) -> Message:
    """What is asked of a figure, in its unit: 90 required, at most 5 % allowed."""
    seconds = _("{n} s", n=f"{condition.threshold:g}")
    amount = seconds if condition.name == SECONDS else _share(condition, target_points(condition.threshold))
    return _("{amount} required", amount=amount) if condition.rises else _("{amount} allowed", amount=amount)


def value_text(checked: CheckedCondition) -> Text:
    """The figure of a condition as people read it; one that has to be high never looks like what it misses.

    Seconds and shares of what went wrong have three digits: where 2.97 s were measured and 3 s are allowed,
    "3 s" would puzzle.
    """
    condition, value = checked.condition, checked.figure.value
    if value is None or math.isinf(value):
        return "–"
    if condition.name == CERTIFIED:
        return pgettext("a judge", "certified") if value else pgettext("a judge", "not certified")
    if condition.name == SECONDS:
        return _("{n} s", n=f"{value:.3g}")
    text = points(value, against=condition.threshold) if condition.rises else f"{100 * value:.3g}"
    return _share(condition, text)


def range_text(checked: CheckedCondition) -> Text:
    """Between what a figure may lie; empty where that is not known."""
    if checked.bounds is None:
        return ""
    against = checked.condition.threshold if checked.condition.rises else None
    low, high = (points(end, against=against) for end in checked.bounds)
    return _share(checked.condition, _("{low} and {high}", low=low, high=high))


def _share(condition: Condition, text: Text) -> Text:
    """A share with its percent sign; a score or grade, in points of 100, without one."""
    is_share = condition.name in FIGURES - {"score"} or condition.name == MAJOR or condition.repeats
    return _("{n} %", n=text) if is_share else text
