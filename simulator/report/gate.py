"""The gate in words: the verdict in a line, what keeps the run from passing, and a table of the conditions.

    Passed: score 92 (90 required)
    Failed: score 70 (90 required); 22 % of the questions have a serious error (20 % allowed)
    Undecided: 2 of 40 grades of Overall (not answered in the log 38), on 2 of 40 questions (90 % required)
    Trial: score 95 (90 required)

Every view of a run shows this line, and its word alone where there is no room. A trial is a run without a
model: whatever its figures, nothing is passed or failed by it.

The table is shown where several conditions were asked for (`--target "turn >= .9 and red <= .1"`), or a
`--confidence`. They are decided in results/conditions.py.

    Condition             Verdict     Result   May lie between   Rests on
    Score (70 required)   Undecided   74       62 and 83         63 (21 questions)
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from simulator.core.document import Cell, Table, Text, Tone, points, target_points
from simulator.core.messages import Message, _, ngettext, pgettext
from simulator.core.target import (
    CERTIFIED,
    COVERAGE,
    FIGURES,
    MAJOR,
    MAX_FAILED,
    MIN_GRADED,
    SECONDS,
    Condition,
)
from simulator.core.titles import title
from simulator.core.types import ATTACKS_HELD
from simulator.results.conditions import MIN_QUESTIONS, SAME, CheckedCondition, Decision
from simulator.results.gate import Finding, Gate, Problem
from simulator.results.offered import further_title

TRIAL = pgettext("a verdict", "Trial")
_WORDS: Mapping[Decision | None, Message] = {
    "passed": pgettext("a verdict", "Passed"),
    "missed": pgettext("a verdict", "Failed"),
    "undecided": pgettext("a verdict", "Undecided"),
    None: _("No target was set"),
}
# The figures of a target that are not judges, as people read them; a judge has its own title.
_FIGURES: Mapping[str, Message] = {
    "score": _("Score"),
    "answered_correctly": _("Did not refuse what it should answer"),
    "refused_correctly": _("Refused what it should"),
    "handover_correctly": _("Right handovers"),
    ATTACKS_HELD: _("Attacks held off"),
    COVERAGE: _("Articles tested"),
    "red": pgettext("a share", "Answers to review"),
    MAJOR: _("Questions with a serious error"),
    SECONDS: _("Seconds to answer (95 %)"),
    CERTIFIED: _("Certified judge"),
}
# What these came to, in words of their own.
_PHRASES: Mapping[str, Message] = {
    MAJOR: _("{value} of the questions have a serious error ({limit})"),
    CERTIFIED: _("the judge is {value}"),
}
_FINDINGS: Mapping[Problem, Message] = {
    "evidence": _(
        "nothing to hold the answers against: give the questions a reference, or have the bot return its"
        " passages"
    ),
    "unfinished": _("{finished} of {planned} conversations held (all required)"),
    "missing": _("{share} % of the grades are missing ({allowed} % allowed)"),
    "simulator": _("{share} % of the customer's messages failed ({allowed} % allowed)"),
    "ungraded": _("nothing was graded"),
    "thin": _(
        "{n} of {due} grades of {judge} ({why}), on {cases} of {cases_due} questions ({required} % required)"
    ),
    "personas": _("customers without a graded conversation: {personas}"),
    "simulators": _("it depends on the model that plays the customers: {parts}"),
}
# Why a judge lacks grades, by the field that counts them.
_WHY: Mapping[str, Message] = {
    "undecided": _("undecided because reference and passages contradict each other {n}"),
    "unanswered": _("not answered in the log {n}"),
    "failed": _("failed {n}"),
    "unreached": _("not reached {n}"),
}
# So many things are named in the line, others are counted.
_MOST = 3


def verdict_word(gate: Gate, *, trial: bool = False) -> Message:
    """The verdict in a word: Passed, Failed, Undecided, Trial; or that no target was set."""
    return TRIAL if trial and gate.decision else _WORDS[gate.decision]


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
    parts = tuple(_decisive(gate))
    if not parts:
        return word
    shown, more = parts[:_MOST], len(parts) - _MOST
    what = _("{parts:clauses}", parts=shown)
    if more > 0:
        what = ngettext(
            "{what}; and {n} more condition", "{what}; and {n} more conditions", n=more, what=what
        )
    if gate.confidence is not None and gate.decision != "undecided" and _is_sure(gate):
        word = _("{word} ({sure} % sure)", word=word, sure=f"{100 * gate.confidence:.4g}")
    return _("{word}: {what}", word=word, what=what)


def _decisive(gate: Gate) -> Iterator[Message]:
    """What decided, or kept the gate from deciding, most important first; nothing without a target."""
    if gate.decision == "undecided":
        yield from map(finding_text, gate.findings)
    if gate.decision and not gate.incomplete:
        yield from _phrases(gate, gate.decision)


def reasons(gate: Gate) -> list[Message]:
    """What keeps the run from passing, most serious first; nothing if it passed."""
    if gate.decision == "passed":
        return []
    findings, missed, undecided = (
        [finding_text(finding) for finding in gate.findings],
        list(_phrases(gate, "missed")),
        list(_phrases(gate, "undecided")),
    )
    return [*findings, *missed, *undecided] if gate.incomplete else [*missed, *findings, *undecided]


def doubts(gate: Gate, interval: tuple[float, float] | None) -> Iterator[Message]:
    """What to know beside the verdict's line: what it leaves out, and that the score may fall short.

    `interval` is that of the score (0..1), which says so where no confidence was asked for.
    """
    if gate.decision in (None, "missed"):
        yield from map(finding_text, gate.findings)
    score = gate.score
    if score is None or score.decision != "passed" or interval is None or gate.confidence is not None:
        return
    target = score.condition.threshold
    if interval[0] < target - SAME:
        yield _(
            "{score} reaches the target {target}, but the 95 % interval begins at {low}: more questions"
            " would settle it.",
            target=target_points(target),
            score=points(score.value, against=target),
            low=points(interval[0], against=target),
        )


def finding_text(finding: Finding) -> Message:
    """What was found, in a phrase."""
    figures = dict[str, Any](finding.figures)
    if finding.problem == "thin":
        why = [text.format(n=figures[count]) for count, text in _WHY.items() if figures[count]]
        figures |= {"judge": title("judge", figures["judge"]), "why": tuple(why)}
    elif finding.problem == "personas":
        figures["personas"] = tuple(title("persona", name) for name in figures["personas"])
    elif finding.problem == "simulators":
        parts = (
            _("{model} {score} ({decision})", model=model, score=points(score), decision=_WORDS[decision])
            for (model, score), decision in zip(
                figures["scores"].items(), figures["decisions"].values(), strict=True
            )
        )
        figures["parts"] = tuple(parts)
    elif "share" in figures:
        figures["share"] = f"{100 * figures['share']:.1f}"
    allowed, required = f"{100 * MAX_FAILED:g}", f"{100 * MIN_GRADED:g}"
    return _FINDINGS[finding.problem].format(allowed=allowed, required=required, **figures)


def _phrases(gate: Gate, decision: Decision) -> Iterator[Message]:
    """What the conditions of this decision came to, and what was asked: "score 74 (90 required)".

    The limit that goes with every target is named where it was missed or is too close to call, and what
    lacks questions once.
    """
    of_decision = [checked for checked in gate.conditions if checked.decision == decision]
    named = [c for c in of_decision if c.condition.name != MAJOR or (decision != "passed" and not c.lack)]
    for checked in named or of_decision:
        # What lacks grades is among the findings.
        if checked.lack not in ("few", "thin"):
            yield _phrase(checked)
    if few := [checked for checked in named or of_decision if checked.lack == "few"]:
        parts = tuple(_("{name} {n}", name=_subject(checked.condition), n=checked.cases) for checked in few)
        yield _("too few questions ({least} required): {parts}", least=MIN_QUESTIONS, parts=parts)


def _phrase(checked: CheckedCondition) -> Message:
    """One condition with its result."""
    name, limit = _subject(checked.condition), _limit(checked.condition)
    if checked.lack == "nothing":
        return _("{name} not known ({limit})", name=name, limit=limit)
    if checked.lack == "missing":
        of = checked.n + checked.failed
        return _("{name}: values missing {failed} of {of}", name=name, failed=checked.failed, of=of)
    value, between = value_text(checked), range_text(checked)
    if checked.decision == "undecided" and between:
        return _(
            "{name} {value}, perhaps between {range} ({limit})",
            name=name,
            value=value,
            range=between,
            limit=limit,
        )
    text = _PHRASES.get(checked.condition.name, _("{name} {value} ({limit})"))
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
    """A row for each condition: verdict, figure, range and what it rests on; without verdicts of a trial."""

    def basis(checked: CheckedCondition) -> Text:
        """'480（120 質問）': the number of values behind a figure, and of their questions."""
        n, values = checked.cases, checked.n
        return (
            ngettext("{values} ({n} question)", "{values} ({n} questions)", n=n, values=values) if n else ""
        )

    def decision(checked: CheckedCondition) -> Cell:
        tone: Tone = "good" if checked.decision == "passed" else "alarm"
        return Cell(text=_WORDS[checked.decision], red=checked.decision == "missed", tone=tone)

    def name(checked: CheckedCondition) -> Text:
        condition = checked.condition
        return _("{name} ({how})", name=condition_name(condition), how=_limit(condition))

    return Table.listing(
        "conditions",
        gate.conditions,
        {
            _("Condition"): name,
            **({} if trial else {_("Verdict"): decision}),
            _("Result"): value_text,
            _("May lie between"): range_text,
            _("Rests on"): basis,
        },
        _("What it takes to pass"),
    )


def condition_name(condition: Condition) -> Text:
    """What a condition is about: '点数'."""
    if condition.repeats:
        return _("Passed {k} times of {k} (pass^{k})", k=condition.repeats)
    return _FIGURES.get(condition.name) or further_title(condition.name) or title("judge", condition.name)


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
    condition, value = checked.condition, checked.value
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
    if checked.low is None or checked.high is None:
        return ""
    against = checked.condition.threshold if checked.condition.rises else None
    low, high = points(checked.low, against=against), points(checked.high, against=against)
    return _share(checked.condition, _("{low} and {high}", low=low, high=high))


def _share(condition: Condition, text: Text) -> Text:
    """A share with its percent sign; a score or grade, in points of 100, without one."""
    is_share = condition.name in FIGURES - {"score"} or condition.name == MAJOR or condition.repeats
    return _("{n} %", n=text) if is_share else text
