"""What is wrong with a target, told before anything is paid."""

from collections.abc import Callable, Iterable

from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.core.settings import Settings
from simulator.core.shelves import judge_name
from simulator.core.target import COVERAGE, SECONDS, TARGET_EXAMPLE, check_names, target_conditions
from simulator.core.titles import TITLES, title
from simulator.core.types import EXPECTATIONS, Case
from simulator.results.offered import further_figures, further_title
from simulator.results.red import primary_judge
from simulator.results.turns import has_evidence

# Judges that grade an answer by whatever evidence they get, and without any by how it reads: a fluent wrong
# answer would reach any target. So a target on these takes evidence.
_READERS = frozenset({"turn", "relevance"})


def check_gate(settings: Settings, is_of_outputs: Callable[[str], bool]) -> None:
    """Raises InputError for a target about figures that the run will not have, or for no target at all.

    `is_of_outputs` says whether the metric file has scores of a name.
    """
    conditions = target_conditions(settings.target)
    of_outputs = (condition.name for condition in conditions if is_of_outputs(condition.name))
    names = [*map(judge_name, settings.judges), *of_outputs, *further_figures()]
    check_names(settings.target, names, figure_title)
    check_certainty(settings)
    for condition in conditions:
        if condition.repeats and condition.repeats > settings.repeats and not settings.replay:
            msg = _(
                "--target {condition} takes {k} repeats of each question: add --repeats {k}.",
                condition=condition.text,
                k=condition.repeats,
            )
            raise InputError(msg)


def figure_title(figure: str) -> Message | str:
    """What people read for a figure of a target, which may be a judge: score -> 点."""
    return TITLES["figure"].get(figure) or further_title(figure) or title("judge", figure)


def check_certainty(settings: Settings) -> None:
    """Raises InputError for --confidence without a target."""
    if settings.target is None and settings.confidence is not None:
        msg = _(
            "--confidence is about a target: add --target 90, or conditions ({example}).",
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
            "The target (--target, or target in rehearsal.toml): the judge {primary} has nothing to hold the "
            "answers of {cases} against. Add"
            " a column 'reference' or 'contexts'.",
            primary=primary,
            cases=settings.cases,
        )
        raise InputError(msg)


def depends_on(primary: str, target: float | str | None) -> bool:
    """Whether a target asks for something that this judge decides, with whatever evidence it gets."""
    others = {COVERAGE, EXPECTATIONS, SECONDS}
    return primary in _READERS and any(c.name not in others for c in target_conditions(target))
