"""The figures of a run by its own settings, the gate's verdict on them, and checks before the run begins."""

from collections.abc import Iterable

from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import (
    MAJOR,
    MAX_MAJOR,
    TARGET_EXAMPLE,
    Condition,
    Settings,
    check_names,
    target_conditions,
)
from simulator.core.shelves import judge_name
from simulator.core.types import STOPPED_EARLY, Case, Facts, Results
from simulator.grading.metric_file import read_metric_file
from simulator.stats.customers import summarise_customers
from simulator.stats.figures import Summary
from simulator.stats.gate import (
    CheckedCondition,
    Decision,
    Gate,
    check_condition,
    check_corrected,
    decide,
    decide_conditions,
    measure_condition,
    ungraded_personas,
)
from simulator.stats.red import primary_judge
from simulator.stats.sequential import alpha_at
from simulator.stats.summary import CUSTOMERS_UNCHECKED, CUT_OFF, grading_judges, summarise
from simulator.storage.results import without_superseded

# Judges that grade an answer by whatever evidence they get, and without any by how it reads.
_READERS = frozenset({"turn", "relevance"})
# Figures that do not depend on a judge.
_UNJUDGED = frozenset({"failed", "p95_seconds", "latency_p95", "cost_usd"})


def figures_of(results: Results, settings: Settings) -> Summary:
    """The figures of a run by these settings: first the judges they name, then whichever others graded it."""
    results = without_superseded(results)
    played = (
        CUSTOMERS_UNCHECKED
        if results.run.asks_once
        else summarise_customers(results, settings.customer_faults)
    )
    judges = grading_judges(results, tuple(map(judge_name, settings.judges)))
    return summarise(results, rules=settings.red, judges=judges, seed=settings.seed, customers=played)


def check_gate(settings: Settings) -> None:
    """Raises InputError for a target about figures that the run will not have, or for no target at all."""
    file = read_metric_file(settings.outputs) if settings.outputs else None
    of_outputs = (each.name for each in target_conditions(settings.target) if file and file.files(each.name))
    check_names(settings.target, [*map(judge_name, settings.judges), *of_outputs])
    check_certainty(settings)
    if settings.sequential and settings.customer_faults == "replay":
        msg = _("--sequential decides before anything is held again: leave out --customer-faults replay.")
        raise InputError(msg)


def check_certainty(settings: Settings) -> None:
    """Raises InputError for --confidence or --sequential without a target."""
    flag = "--sequential" if settings.sequential else "--confidence"
    if settings.target is None and settings.certainty is not None:
        msg = _(
            "{flag} is about a target: add --target 90, or conditions ({example}).",
            flag=flag,
            example=TARGET_EXAMPLE,
        )
        raise InputError(msg)


def gate_of(results: Results, summary: Summary, settings: Settings) -> Gate:
    """The gate's verdict: a plain target asks for a score, anything more for every condition.

    Of either, the share of questions with a major turn is a condition (`max_major`).
    """
    target, certainty = settings.target, settings.certainty
    limit, blind = _most_major(settings), lacks_evidence(results, summary.primary, target)
    if not isinstance(target, str) and (target is None or certainty is None):
        return decide(summary, target, settings.max_failed, limit, blind=blind)
    check_names(target, summary.judges)
    results = without_superseded(results)
    level = None if certainty is None else 1 - _alpha(results, certainty, settings.sequential)
    checked = [
        _checked(each, results, summary, level, settings.max_failed)
        for each in _all_conditions(settings, limit)
    ]
    of_target = len(target_conditions(target)) if settings.max_major is None else len(checked)
    return decide_conditions(
        summary,
        [each.model_copy(update={"by_default": at >= of_target}) for at, each in enumerate(checked)],
        settings.max_failed,
        ungraded_personas=ungraded_personas(results, summary),
        asked=target,
        confidence=certainty,
        blind=blind,
    )


def lacks_evidence(results: Results, primary: str, target: float | str | None) -> bool:
    """Whether a target depends on a judge that had answers, but no evidence to check any of them against."""
    if not _depends_on(primary, target):
        return False
    answered = False
    for conversation in results.conversations:
        if has_evidence(conversation.case) or any(turn.answer.passages for turn in conversation.turns):
            return False
        answered = answered or not all(turn.unrecorded for turn in conversation.turns)
    return answered


def _depends_on(primary: str, target: float | str | None) -> bool:
    """Whether a target asks for something that this judge decides, with whatever evidence it gets."""
    return primary in _READERS and any(each.name not in _UNJUDGED for each in target_conditions(target))


def has_evidence(case: Case) -> bool:
    """Whether a case says itself what a right answer to it is, or what has to be known for one."""
    answer_known = any(case.references) or case.label is not None or case.facts != Facts()
    return answer_known or case.answerable is False or case.handover != "optional"


def check_evidence(settings: Settings, cases: Iterable[Case]) -> None:
    """Raises InputError for a target about recorded answers with nothing to hold them against."""
    primary = primary_judge(map(judge_name, settings.judges))
    if settings.adapter != "recorded" or not _depends_on(primary, settings.target):
        return
    answered = [case for case in cases if case.answer or case.recorded]
    if answered and not any(
        has_evidence(case) or case.contexts or any(answer.passages for answer in case.recorded)
        for case in answered
    ):
        msg = _(
            "--target: the judge {primary} has nothing to hold the answers of {cases} against. Add"
            " a column 'reference' or 'contexts'.",
            primary=primary,
            cases=settings.cases,
        )
        raise InputError(msg)


def certain_decision(results: Results, settings: Settings) -> Decision | None:
    """The decision if the run ended here: passed or missed; None while it needs more conversations."""
    finished = results.run.model_copy(update={"status": "finished"})
    stopped = {**results.notes, STOPPED_EARLY: True}
    now = results.model_copy(update={"run": finished, "notes": stopped})
    decision = gate_of(now, figures_of(now, settings), settings).decision
    return None if decision == "undecided" else decision


def _most_major(settings: Settings) -> float:
    """The share of questions that may have a major turn.

    With a certainty none may, unless the target itself says how many such turns there may be.
    """
    if settings.max_major is not None:
        return settings.max_major
    strict = settings.certainty is not None and not _names(settings, "severity_major")
    return 0.0 if strict else MAX_MAJOR


def _all_conditions(settings: Settings, most_major: float) -> tuple[Condition, ...]:
    """The target's conditions, and the limit on major turns unless the target states that one itself."""
    if settings.max_major is None and _names(settings, MAJOR):
        return target_conditions(settings.target)
    limit = Condition(name=MAJOR, comparison="<=" if most_major else "==", threshold=most_major)
    return tuple(dict.fromkeys((*target_conditions(settings.target), limit)))


def _names(settings: Settings, figure: str) -> bool:
    return any(condition.name == figure for condition in target_conditions(settings.target))


def _checked(
    condition: Condition, results: Results, summary: Summary, level: float | None, max_failed: float
) -> CheckedCondition:
    checked = check_condition(condition, measure_condition(condition, results, summary), level, max_failed)
    if summary.corrected and checked.is_score(summary.primary):
        return check_corrected(checked, summary.corrected, level)
    return checked


def _alpha(results: Results, certainty: float, sequential: bool) -> float:
    """The error that this look may make: the whole of it, or with --sequential this look's share."""
    if not sequential:
        return 1 - certainty
    cases = {conversation.case.id for conversation in results.conversations}
    still_open = {t.case.id for t in results.conversations if t.ended is None or t.ended in CUT_OFF}
    return alpha_at(len(cases - still_open), len(cases), 1 - certainty)
