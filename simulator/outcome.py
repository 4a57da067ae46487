"""What a run comes to by its own settings: its figures, and the gate's verdict."""

from simulator.analysis.checked import Checked, Decision, check, check_corrected
from simulator.analysis.figures import Summary
from simulator.analysis.gate import Gate, decide, decide_conditions
from simulator.analysis.measured import measured, unheard
from simulator.analysis.summary import CUT_OFF, NOBODY_LOOKED, counted, everyone_who_graded, summarise
from simulator.conditions import EXAMPLE, NO_MAJOR, Condition, asked, check_names, conditions
from simulator.customers.figures import customers
from simulator.errors import InputError
from simulator.find import judge_name
from simulator.outputs.metric_file import read_outputs
from simulator.settings import Settings
from simulator.types import STOPPED_EARLY, Results


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

    With a level of confidence, or with conditions of its own, a run with a severe turn never passes unless
    the conditions themselves say how many may be.
    """
    target, sure = settings.target, settings.certainty
    if not isinstance(target, str) and (target is None or sure is None):
        return decide(summary, target, settings.max_failed)
    check_names(target, summary.judges)
    results = counted(results)
    level = None if sure is None else 1 - _alpha(results, sure, settings.sequential)
    checked = [
        _checked(each, results, summary, level, settings.max_failed)
        for each in (*asked(target), *_default(target))
    ]
    of_target = len(asked(target))
    return decide_conditions(
        summary,
        [each.model_copy(update={"by_default": at >= of_target}) for at, each in enumerate(checked)],
        settings.max_failed,
        unheard=unheard(results, summary),
        asked=target,
        confidence=sure,
    )


def certain(results: Results, settings: Settings) -> Decision | None:
    """Passed or missed, if a run that ended here would be; None while it takes more conversations."""
    over = results.run.model_copy(update={"status": "finished"})
    stopped = {**results.notes, STOPPED_EARLY: True}
    now = results.model_copy(update={"run": over, "notes": stopped})
    decision = gate_of(now, figures_of(now, settings), settings).decision
    return None if decision == "undecided" else decision


def _default(target: float | str | None) -> tuple[Condition, ...]:
    """That no turn is severe, where nobody said how many may be."""
    named = {condition.name for condition in asked(target)}
    return () if "severity_major" in named else conditions(NO_MAJOR)


def _checked(
    condition: Condition, results: Results, summary: Summary, level: float | None, max_failed: float
) -> Checked:
    checked = check(condition, measured(condition, results, summary), level, max_failed)
    if summary.corrected and checked.is_score(summary.primary):
        return check_corrected(checked, summary.corrected, level)
    return checked


def _alpha(results: Results, sure: float, sequential: bool) -> float:
    """The error this look may make: all of it once, or what is spent on it after so many questions."""
    from simulator.analysis.sequential import alpha_at

    if not sequential:
        return 1 - sure
    cases = {talk.case.id for talk in results.conversations}
    still_open = {t.case.id for t in results.conversations if t.ended is None or t.ended in CUT_OFF}
    return alpha_at(len(cases - still_open), len(cases), 1 - sure)
