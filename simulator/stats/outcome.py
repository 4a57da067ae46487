"""What a run comes to by its own settings: its figures, and the gate's verdict."""

from collections.abc import Iterable

from simulator.core.errors import InputError
from simulator.core.settings import EXAMPLE, MAJOR, MAX_MAJOR, Condition, Settings, asked, check_names
from simulator.core.shelves import judge_name
from simulator.core.types import STOPPED_EARLY, Case, Facts, Results
from simulator.grading.metric_file import read_outputs
from simulator.stats.customers import customers
from simulator.stats.figures import Summary
from simulator.stats.gate import (
    CheckedCondition,
    Decision,
    Gate,
    check,
    check_corrected,
    decide,
    decide_conditions,
    measured,
    unheard,
)
from simulator.stats.red import primary_judge
from simulator.stats.summary import CUT_OFF, NOBODY_LOOKED, everyone_who_graded, summarise
from simulator.storage.results import counted

# The judges of an answer that grade it by whatever they are shown, and without anything by its looks.
_READERS = frozenset({"turn", "relevance"})
# Figures that no judge decides.
_UNJUDGED = frozenset({"failed", "p95_seconds", "latency_p95", "cost_usd"})


def figures_of(results: Results, settings: Settings) -> Summary:
    """The figures of a run by these rules: the judges that were named first, then whoever else graded."""
    results = counted(results)
    played = NOBODY_LOOKED if results.run.asks_once else customers(results, settings.customer_faults)
    judges = everyone_who_graded(results, tuple(map(judge_name, settings.judges)))
    return summarise(results, rules=settings.red, judges=judges, seed=settings.seed, customers=played)


def check_gate(settings: Settings) -> None:
    """Raises InputError for a gate about figures that the run will not have, or about no target at all."""
    file = read_outputs(settings.outputs) if settings.outputs else None
    of_outputs = (each.name for each in asked(settings.target) if file and file.files(each.name))
    check_names(settings.target, [*map(judge_name, settings.judges), *of_outputs])
    check_certainty(settings)
    if settings.sequential and settings.customer_faults == "replay":
        msg = "--sequential decides before anything is held again: leave out --customer-faults replay."
        raise InputError(msg)


def check_certainty(settings: Settings) -> None:
    """Raises InputError for a certainty about no target at all."""
    flag = "--sequential" if settings.sequential else "--confidence"
    if settings.target is None and settings.certainty is not None:
        msg = f"{flag} is about a target: add --target 90, or conditions ({EXAMPLE})."
        raise InputError(msg)


def gate_of(results: Results, summary: Summary, settings: Settings) -> Gate:
    """The gate's verdict: a plain target asks for a score, anything more for every condition.

    Of either, the share of questions with a major turn is a condition (`max_major`).
    """
    target, sure = settings.target, settings.certainty
    limit, blind = _most_major(settings), sees_nothing(results, summary.primary, target)
    if not isinstance(target, str) and (target is None or sure is None):
        return decide(summary, target, settings.max_failed, limit, blind=blind)
    check_names(target, summary.judges)
    results = counted(results)
    level = None if sure is None else 1 - _alpha(results, sure, settings.sequential)
    checked = [
        _checked(each, results, summary, level, settings.max_failed)
        for each in _all_conditions(settings, limit)
    ]
    of_target = len(asked(target)) if settings.max_major is None else len(checked)
    return decide_conditions(
        summary,
        [each.model_copy(update={"by_default": at >= of_target}) for at, each in enumerate(checked)],
        settings.max_failed,
        unheard=unheard(results, summary),
        asked=target,
        confidence=sure,
        blind=blind,
    )


def sees_nothing(results: Results, primary: str, target: float | str | None) -> bool:
    """Whether a target rests on a judge who had answers, and nothing to hold any of them against."""
    if not _rests_on(primary, target):
        return False
    answered = False
    for conversation in results.conversations:
        if has_evidence(conversation.case) or any(turn.answer.passages for turn in conversation.turns):
            return False
        answered = answered or not all(turn.unrecorded for turn in conversation.turns)
    return answered


def _rests_on(primary: str, target: float | str | None) -> bool:
    """Whether a target asks for something that this judge decides, by whatever it is shown."""
    return primary in _READERS and any(each.name not in _UNJUDGED for each in asked(target))


def has_evidence(case: Case) -> bool:
    """Whether a question says itself what a right answer to it is, or what has to be known for one."""
    told = any(case.references) or case.label is not None or case.facts != Facts()
    return told or case.answerable is False or case.handover != "optional"


def check_evidence(settings: Settings, cases: Iterable[Case]) -> None:
    """Raises InputError for a target about recorded answers with nothing to hold them against."""
    primary = primary_judge(map(judge_name, settings.judges))
    if settings.adapter != "recorded" or not _rests_on(primary, settings.target):
        return
    answered = [each for each in cases if each.answer or each.recorded]
    if answered and not any(
        has_evidence(each) or each.contexts or _recorded_passages(each) for each in answered
    ):
        msg = (
            f"--target: the judge {primary} has nothing to hold the answers of {settings.cases} against."
            " Add a column 'reference' or 'contexts'."
        )
        raise InputError(msg)


def _recorded_passages(case: Case) -> bool:
    return any(answer.passages for answer in case.recorded)


def certain(results: Results, settings: Settings) -> Decision | None:
    """Passed or missed, if a run that ended here would be; None while it takes more conversations."""
    over = results.run.model_copy(update={"status": "finished"})
    stopped = {**results.notes, STOPPED_EARLY: True}
    now = results.model_copy(update={"run": over, "notes": stopped})
    decision = gate_of(now, figures_of(now, settings), settings).decision
    return None if decision == "undecided" else decision


def _most_major(settings: Settings) -> float:
    """The share of questions that may have a major turn.

    Who has to be certain allows none, unless the target itself says how many such turns there may be.
    """
    if settings.max_major is not None:
        return settings.max_major
    strict = settings.certainty is not None and not _names(settings, "severity_major")
    return 0.0 if strict else MAX_MAJOR


def _all_conditions(settings: Settings, most_major: float) -> tuple[Condition, ...]:
    """Those of the target, and the one of every target, unless it says that one itself."""
    if settings.max_major is None and _names(settings, MAJOR):
        return asked(settings.target)
    limit = Condition(name=MAJOR, comparison="<=" if most_major else "==", threshold=most_major)
    return tuple(dict.fromkeys((*asked(settings.target), limit)))


def _names(settings: Settings, figure: str) -> bool:
    return any(condition.name == figure for condition in asked(settings.target))


def _checked(
    condition: Condition, results: Results, summary: Summary, level: float | None, max_failed: float
) -> CheckedCondition:
    checked = check(condition, measured(condition, results, summary), level, max_failed)
    if summary.corrected and checked.is_score(summary.primary):
        return check_corrected(checked, summary.corrected, level)
    return checked


def _alpha(results: Results, sure: float, sequential: bool) -> float:
    """The error this look may make: all of it once, or what is spent on it after so many questions."""
    from simulator.stats.sequential import alpha_at

    if not sequential:
        return 1 - sure
    cases = {conversation.case.id for conversation in results.conversations}
    still_open = {t.case.id for t in results.conversations if t.ended is None or t.ended in CUT_OFF}
    return alpha_at(len(cases - still_open), len(cases), 1 - sure)
