"""The gate in words, where it asks for certainty or for more than a score."""

import math
from collections.abc import Iterator
from pathlib import Path

from simulator.core.settings import FIGURES, MAJOR
from simulator.core.templates import Texts
from simulator.core.translations import Words, goal, points
from simulator.stats.figures import Summary
from simulator.stats.gate import MIN_CASES, CheckedCondition, Finding, Gate, major_figures

TEXT = Texts(Path(__file__).with_name("gate.toml"))
# Shares that are said in percent; a score and the grades of judges are points of 100.
_PERCENT = frozenset(name for name, measure in FIGURES.items() if measure == "share") - {"score"}
_SIGNS = {">=": "≥", "<=": "≤", "==": "=", ">": ">", "<": "<"}


def verdict_of(gate: Gate, words: Words) -> str:
    """The verdict in one phrase: '判定保留（あと約 120 会話で決まります）'."""
    language = words.language
    if gate.decision == "undecided":
        more = None if gate.incomplete else gate.more
        return (
            TEXT(language, "undecided") if more is None else TEXT(language, "undecided_more", n=f"{more:,}")
        )
    return TEXT(language, gate.decision or "undecided", what=_what(gate, words))


def _what(gate: Gate, words: Words) -> str:
    """What the verdict is about, and how sure it is."""
    language = words.language
    missed = [each for each in gate.conditions if each.decision == "missed"]
    if gate.target is not None and not isinstance(gate.asked, str) and len(missed) == (not gate.passed):
        what = TEXT(language, "what_target", target=goal(gate.target))
        if missed and not missed[0].condition.rises:
            what = condition_text(missed[0], words)
    else:
        count = str(len(gate.conditions))
        key = "what_conditions" if gate.passed else "what_missed"
        what = TEXT(language, key, n=count, **({} if gate.passed else {"missed": str(len(missed))}))
    if gate.confidence is None:
        return what
    return TEXT(language, "sure", what=what, sure=f"{100 * gate.confidence:.4g}")


def condition_text(checked: CheckedCondition, words: Words) -> str:
    """A condition as people read it: 'スコア ≥ 90'."""
    condition = checked.condition
    name = condition.name
    title = TEXT(words.language, f"figure_{name}") if name in FIGURES else words.name("judge", name)
    return f"{title} {_SIGNS[condition.comparison]} {_amount(checked, condition.threshold, words)}"


def decision_text(checked: CheckedCondition, words: Words, confidence: float | None = None) -> str:
    """The verdict on a condition; where a certainty was asked for, whether it was only counted."""
    key = "counted" if confidence is not None and _is_counted(checked) else checked.decision
    return TEXT(words.language, f"decision_{key}")


def _is_counted(checked: CheckedCondition) -> bool:
    """Whether a number or share above 0 may pass: by what was seen, to which no certainty applies."""
    condition = checked.condition
    if condition.name == MAJOR:
        return checked.decision == "passed" and condition.threshold > 0
    return checked.decision == "passed" and condition.measure == "count" and condition.holds(1)


def value_text(checked: CheckedCondition, words: Words) -> str:
    """The figure of a condition as people read it; a share never looks like the threshold it misses."""
    if checked.value is None or math.isinf(checked.value):
        return "–"
    if checked.condition.measure == "share" and checked.condition.rises:
        return _percent(checked, points(checked.value, against=checked.condition.threshold), words)
    return _amount(checked, checked.value, words, rounded=True)


def _amount(checked: CheckedCondition, value: float, words: Words, *, rounded: bool = False) -> str:
    measure = checked.condition.measure
    if measure == "share":
        return _percent(checked, f"{100 * value:.3g}" if rounded else goal(value), words)
    text = f"{value:.3g}" if rounded and measure != "count" else f"{value:g}"
    key = {"seconds": "seconds", "cost": "dollars"}.get(measure)
    return TEXT(words.language, key, n=text) if key else text


def _percent(checked: CheckedCondition, points: str, words: Words) -> str:
    """A share with its sign, grades without."""
    return TEXT(words.language, "percent", n=points) if checked.condition.name in _PERCENT else points


def range_text(checked: CheckedCondition, words: Words) -> str:
    """Between what the figure may lie, or how far a count of turns reaches; empty where nothing is known."""
    language, measure = words.language, checked.condition.measure
    if checked.low is None or checked.high is None:
        return ""
    if measure == "count":
        return TEXT(language, "at_most_turns", high=_upward(checked.high))
    against = checked.condition.threshold if checked.condition.rises else None
    low, high = points(checked.low, against=against), points(checked.high, against=against)
    if measure == "seconds":
        seconds = f"{checked.condition.threshold:g}"
        return TEXT(language, "quick_enough", seconds=seconds, low=low, high=high)
    return _percent(checked, TEXT(language, "from_to", low=low, high=high), words)


def _upward(share: float) -> str:
    """A share in percent, never smaller than it is."""
    return f"{math.ceil(1000 * share - 1e-6) / 10:.3g}"


def rests_on(checked: CheckedCondition, words: Words) -> str:
    """How many values of how many questions stand behind a figure."""
    if not checked.cases:
        return ""
    return TEXT(words.language, "on_questions", n=f"{checked.n:,}", cases=f"{checked.cases:,}")


def sentences(summary: Summary, gate: Gate, words: Words) -> Iterator[tuple[str, bool]]:
    """What a reader must know of the gate, each with whether it decides about the result."""
    language = words.language
    for checked in gate.conditions:
        if checked.decision != "passed":
            yield _of_condition(checked, words), True
    for finding in gate.findings:
        if finding.problem == "personas":
            yield _personas(finding, words), True
    if summary.spared:
        yield _stopped(summary, words), False
    for checked in gate.conditions:
        yield from ((text, False) for text in _of_count(checked, gate, words))
    if summary.spared and gate.confidence is not None:
        yield TEXT(language, "note_looks", error=f"{100 * (1 - gate.confidence):.3g}"), False


def _of_condition(checked: CheckedCondition, words: Words) -> str:
    """Why a condition has not passed."""
    language, condition = words.language, condition_text(checked, words)
    figures = {"condition": condition, "value": value_text(checked, words)}
    if checked.decision == "missed" and checked.condition.name == MAJOR:
        return TEXT(language, "note_major", **major_figures(checked))
    if checked.decision == "missed":
        return TEXT(language, "note_missed", **figures)
    if checked.lack == "few":
        return TEXT(language, "note_few", condition=condition, cases=str(checked.cases), least=str(MIN_CASES))
    if checked.lack == "nothing":
        key = "note_no_cost" if checked.condition.measure == "cost" else "note_nothing"
        return TEXT(language, key, condition=condition)
    if checked.lack == "ungraded":
        of = checked.n + checked.failed
        return TEXT(
            language, "note_unmeasured", condition=condition, failed=f"{checked.failed:,}", of=f"{of:,}"
        )
    return _close(checked, figures | {"range": range_text(checked, words)}, words)


def _close(checked: CheckedCondition, figures: dict[str, str], words: Words) -> str:
    if checked.more is None:
        return TEXT(words.language, "note_never", **figures)
    more = {key: f"{getattr(checked.more, key):,}" for key in ("questions", "conversations")}
    said = TEXT(words.language, "note_close", **figures, **more)
    if checked.more.repeats is None:
        return said
    key = "note_repeats_help" if checked.more.repeats else "note_repeats_vain"
    return f"{said}{'' if words.language == 'ja' else ' '}{TEXT(words.language, key)}"


def _personas(finding: Finding, words: Words) -> str:
    names = [words.name("persona", name) for name in finding.figures["personas"].split(", ")]
    return TEXT(words.language, "note_personas", personas=words("comma").join(names))


def _stopped(summary: Summary, words: Words) -> str:
    held = summary.planned - summary.spared
    counts = {"held": held, "planned": summary.planned, "spared": summary.spared}
    share = f"{100 * summary.spared / summary.planned:.0f}"
    return TEXT(words.language, "note_stopped", **{k: f"{n:,}" for k, n in counts.items()}, share=share)


def _of_count(checked: CheckedCondition, gate: Gate, words: Words) -> Iterator[str]:
    """That a condition was added, and how little a count may say."""
    condition = condition_text(checked, words)
    if checked.by_default:
        yield TEXT(words.language, "note_by_default", condition=condition)
    seen = checked.condition.measure == "count" or checked.condition.name == MAJOR
    if checked.decision == "passed" and seen and checked.high is not None:
        counts = {"n": f"{checked.n:,}", "cases": f"{checked.cases:,}", "high": _upward(checked.high)}
        if not _is_counted(checked):
            key = "note_zero_major" if checked.condition.name == MAJOR else "note_zero"
            yield TEXT(words.language, key, condition=condition, **counts)
        elif gate.confidence is not None:
            counts |= {"value": value_text(checked, words), "sure": f"{100 * gate.confidence:.4g}"}
            key = "note_count_major" if checked.condition.name == MAJOR else "note_count"
            yield TEXT(words.language, key, condition=condition, **counts)
