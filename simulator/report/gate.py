"""The gate in words: its verdict, each of its conditions, and what a reader must know of them."""

import math
from collections.abc import Iterator
from pathlib import Path

from simulator.core.document import Cell, Table
from simulator.core.settings import FIGURES, MAJOR
from simulator.core.templates import Texts
from simulator.core.translations import Words, points, target_points
from simulator.stats.figures import Summary
from simulator.stats.gate import MIN_QUESTIONS, CheckedCondition, Finding, Gate, major_texts

TEXTS = Texts(Path(__file__).with_name("gate.toml"))
# Shares that are shown in percent; a score and the grades of judges are points out of 100.
_PERCENT = frozenset(name for name, measure in FIGURES.items() if measure == "share") - {"score"}
_SIGNS = {">=": "≥", "<=": "≤", "==": "=", ">": ">", "<": "<"}


def verdict_text(gate: Gate, words: Words) -> str:
    """The verdict in one phrase: '判定保留（あと約 120 会話で決まります）'."""
    language = words.language
    if gate.decision == "undecided":
        if gate.incomplete or gate.more is None:
            return TEXTS(language, "undecided")
        return TEXTS(language, "undecided_more", n=f"{gate.more:,}")
    return TEXTS(language, gate.decision or "undecided", what=_verdict_subject(gate, words))


def _verdict_subject(gate: Gate, words: Words) -> str:
    """What passed or was missed, and with which confidence."""
    language = words.language
    missed = [each for each in gate.conditions if each.decision == "missed"]
    if gate.target is not None and not isinstance(gate.asked, str) and len(missed) == (not gate.passed):
        what = TEXTS(language, "what_target", target=target_points(gate.target))
        if missed and not missed[0].condition.rises:
            what = condition_text(missed[0], words)
    else:
        count = str(len(gate.conditions))
        key = "what_conditions" if gate.passed else "what_missed"
        what = TEXTS(language, key, n=count, **({} if gate.passed else {"missed": str(len(missed))}))
    if gate.confidence is None:
        return what
    return TEXTS(language, "sure", what=what, sure=f"{100 * gate.confidence:.4g}")


def condition_text(checked: CheckedCondition, words: Words) -> str:
    """A condition as people read it: 'スコア ≥ 90'."""
    condition = checked.condition
    name = condition.name
    title = TEXTS(words.language, f"figure_{name}") if name in FIGURES else words.name("judge", name)
    return f"{title} {_SIGNS[condition.comparison]} {_amount(checked, condition.threshold, words)}"


def decision_text(checked: CheckedCondition, words: Words, confidence: float | None = None) -> str:
    """The verdict on a condition; under a `confidence`, whether it rests on a count alone."""
    key = "counted" if confidence is not None and _is_counted(checked) else checked.decision
    return TEXTS(words.language, f"decision_{key}")


def _is_counted(checked: CheckedCondition) -> bool:
    """Whether a condition that allows some failures passed by its count, which carries no certainty."""
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
        return _percent(checked, f"{100 * value:.3g}" if rounded else target_points(value), words)
    text = f"{value:.3g}" if rounded and measure != "count" else f"{value:g}"
    key = {"seconds": "seconds", "cost": "dollars"}.get(measure)
    return TEXTS(words.language, key, n=text) if key else text


def _percent(checked: CheckedCondition, points: str, words: Words) -> str:
    """A share with its percent sign, a score or grade without one."""
    return TEXTS(words.language, "percent", n=points) if checked.condition.name in _PERCENT else points


def range_text(checked: CheckedCondition, words: Words) -> str:
    """The range of a figure, or the upper bound of a count of turns; empty where neither is known."""
    language, measure = words.language, checked.condition.measure
    if checked.low is None or checked.high is None:
        return ""
    if measure == "count":
        return TEXTS(language, "at_most_turns", high=_percent_up(checked.high))
    against = checked.condition.threshold if checked.condition.rises else None
    low, high = points(checked.low, against=against), points(checked.high, against=against)
    if measure == "seconds":
        seconds = f"{checked.condition.threshold:g}"
        return TEXTS(language, "quick_enough", seconds=seconds, low=low, high=high)
    return _percent(checked, TEXTS(language, "from_to", low=low, high=high), words)


def _percent_up(share: float) -> str:
    """A share in percent, rounded up."""
    return f"{math.ceil(1000 * share - 1e-6) / 10:.3g}"


def conditions_table(gate: Gate, words: Words) -> Table | None:
    """A row for each condition: verdict, figure, range and what it rests on; None for a single one."""
    if len(gate.conditions) < 2:
        return None
    columns = ("condition", "result", "value", "range", "rests_on")
    return Table(
        name="conditions",
        title=TEXTS(words.language, "title"),
        columns=tuple(TEXTS(words.language, column) for column in columns),
        rows=tuple(
            (
                Cell(
                    text=condition_text(checked, words),
                    note=TEXTS(words.language, "by_default") if checked.by_default else "",
                ),
                Cell(
                    text=decision_text(checked, words, gate.confidence),
                    red=checked.decision == "missed",
                    tone="good" if checked.decision == "passed" else "alarm",
                ),
                Cell(text=value_text(checked, words), number=checked.value),
                Cell(text=range_text(checked, words)),
                Cell(text=basis_text(checked, words)),
            )
            for checked in gate.conditions
        ),
    )


def basis_text(checked: CheckedCondition, words: Words) -> str:
    """'480（120 質問）': the number of values behind a figure, and of their questions."""
    if not checked.cases:
        return ""
    return TEXTS(words.language, "on_questions", n=f"{checked.n:,}", cases=f"{checked.cases:,}")


def gate_notes(summary: Summary, gate: Gate, words: Words) -> Iterator[tuple[str, bool]]:
    """What a reader must know of the gate: each sentence, and whether it is an alarm."""
    language = words.language
    for checked in gate.conditions:
        if checked.decision != "passed":
            yield _condition_note(checked, words), True
    for finding in gate.findings:
        if finding.problem == "personas":
            yield _personas_note(finding, words), True
    if summary.spared:
        yield _stopped_note(summary, words), False
    for checked in gate.conditions:
        yield from ((text, False) for text in _count_notes(checked, gate, words))
    if summary.spared and gate.confidence is not None:
        yield TEXTS(language, "note_looks", error=f"{100 * (1 - gate.confidence):.3g}"), False


def _condition_note(checked: CheckedCondition, words: Words) -> str:
    """Why a condition has not passed."""
    language, condition = words.language, condition_text(checked, words)
    figures = {"condition": condition, "value": value_text(checked, words)}
    if checked.decision == "missed" and checked.condition.name == MAJOR:
        return TEXTS(language, "note_major", **major_texts(checked))
    if checked.decision == "missed":
        return TEXTS(language, "note_missed", **figures)
    if checked.lack == "few":
        return TEXTS(
            language, "note_few", condition=condition, cases=str(checked.cases), least=str(MIN_QUESTIONS)
        )
    if checked.lack == "nothing":
        key = "note_no_cost" if checked.condition.measure == "cost" else "note_nothing"
        return TEXTS(language, key, condition=condition)
    if checked.lack == "ungraded":
        of = checked.n + checked.failed
        return TEXTS(
            language, "note_unmeasured", condition=condition, failed=f"{checked.failed:,}", of=f"{of:,}"
        )
    return _close_note(checked, figures | {"range": range_text(checked, words)}, words)


def _close_note(checked: CheckedCondition, figures: dict[str, str], words: Words) -> str:
    if checked.more is None:
        return TEXTS(words.language, "note_never", **figures)
    more = {key: f"{getattr(checked.more, key):,}" for key in ("questions", "conversations")}
    note = TEXTS(words.language, "note_close", **figures, **more)
    if checked.more.repeats is None:
        return note
    key = "note_repeats_help" if checked.more.repeats else "note_repeats_vain"
    return f"{note}{'' if words.language == 'ja' else ' '}{TEXTS(words.language, key)}"


def _personas_note(finding: Finding, words: Words) -> str:
    names = [words.name("persona", name) for name in finding.figures["personas"].split(", ")]
    return TEXTS(words.language, "note_personas", personas=words("comma").join(names))


def _stopped_note(summary: Summary, words: Words) -> str:
    finished = summary.planned - summary.spared
    counts = {"held": finished, "planned": summary.planned, "spared": summary.spared}
    share = f"{100 * summary.spared / summary.planned:.0f}"
    return TEXTS(words.language, "note_stopped", **{k: f"{n:,}" for k, n in counts.items()}, share=share)


def _count_notes(checked: CheckedCondition, gate: Gate, words: Words) -> Iterator[str]:
    """That a condition was added by default, and how far a count that passed can be relied on."""
    condition = condition_text(checked, words)
    if checked.by_default:
        yield TEXTS(words.language, "note_by_default", condition=condition)
    counts_turns = checked.condition.measure == "count" or checked.condition.name == MAJOR
    if checked.decision == "passed" and counts_turns and checked.high is not None:
        counts = {"n": f"{checked.n:,}", "cases": f"{checked.cases:,}", "high": _percent_up(checked.high)}
        if not _is_counted(checked):
            key = "note_zero_major" if checked.condition.name == MAJOR else "note_zero"
            yield TEXTS(words.language, key, condition=condition, **counts)
        elif gate.confidence is not None:
            counts |= {"value": value_text(checked, words), "sure": f"{100 * gate.confidence:.4g}"}
            key = "note_count_major" if checked.condition.name == MAJOR else "note_count"
            yield TEXTS(words.language, key, condition=condition, **counts)
