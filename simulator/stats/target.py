"""What is wrong with a target, told before anything is paid; and whether a run may stop already."""

from collections.abc import Callable, Iterable

from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import TARGET_EXAMPLE, Settings, check_names, target_conditions
from simulator.core.shelves import judge_name
from simulator.core.types import STOPPED_EARLY, Case, Results
from simulator.stats.findings import Decision
from simulator.stats.gate import depends_on, gate_of, has_evidence
from simulator.stats.offered import further_figures
from simulator.stats.red import primary_judge
from simulator.stats.summary import figures_of


def check_gate(settings: Settings, is_of_outputs: Callable[[str], bool]) -> None:
    """Raises InputError for a target about figures that the run will not have, or for no target at all.

    `is_of_outputs` says whether the metric file has scores of a name.
    """
    conditions = target_conditions(settings.target)
    of_outputs = (condition.name for condition in conditions if is_of_outputs(condition.name))
    check_names(settings.target, [*map(judge_name, settings.judges), *of_outputs, *further_figures()])
    check_certainty(settings)
    for condition in conditions:
        if condition.repeats and condition.repeats > settings.repeats and not settings.replay:
            msg = _(
                "--target {condition} takes {k} repeats of each question: add --repeats {k}.",
                condition=condition.text,
                k=condition.repeats,
            )
            raise InputError(msg)
    if settings.sequential and settings.customer_faults == "replay":
        msg = _("--sequential decides before anything is held again: leave out --customer-faults replay.")
        raise InputError(msg)


def check_certainty(settings: Settings) -> None:
    """Raises InputError for --confidence or --sequential without a target.

    `settings.certainty` is set by either of them.
    """
    flag = "--sequential" if settings.sequential else "--confidence"
    if settings.target is None and settings.certainty is not None:
        msg = _(
            "{flag} is about a target: add --target 90, or conditions ({example}).",
            flag=flag,
            example=TARGET_EXAMPLE,
        )
        raise InputError(msg)


def check_evidence(settings: Settings, cases: Iterable[Case]) -> None:
    """Raises InputError for a target about recorded answers with nothing to hold them against.

    Of a live bot nobody knows before it is asked whether it shows its passages; there the gate finds it out
    afterwards (`evidence`). It is enough that one row has evidence: the others are then skipped and counted.
    """
    primary = primary_judge(map(judge_name, settings.judges))
    if settings.adapter != "recorded" or not depends_on(primary, settings.target):
        return
    evidence = [
        has_evidence(case) or case.contexts or any(answer.passages for answer in case.recorded)
        for case in cases
        if case.answer or case.recorded
    ]
    if evidence and not any(evidence):
        msg = _(
            "--target: the judge {primary} has nothing to hold the answers of {cases} against. Add"
            " a column 'reference' or 'contexts'.",
            primary=primary,
            cases=settings.cases,
        )
        raise InputError(msg)


def certain_decision(results: Results, settings: Settings) -> Decision | None:
    """The decision if the run ended here: passed or missed; None while it needs more conversations.

    The gate is asked as if the run were finished, because an unfinished one is never decided; that it was
    stopped keeps it from missing the conversations that are not held.
    """
    finished = results.run.model_copy(update={"status": "finished"})
    stopped = {**results.notes, STOPPED_EARLY: True}
    now = results.model_copy(update={"run": finished, "notes": stopped})
    decision = gate_of(now, figures_of(now, settings), settings).decision
    return None if decision == "undecided" else decision
