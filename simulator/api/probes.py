"""`doctor --judge`: answers that any judge has to see through, graded as in a run.

A judge that passes an empty answer, a bare "Solution:", a flipped fact or an answer that grades itself is
worth nothing, however it agrees with people elsewhere. What it failed is stored for its rubric and model
(`calibrations/probes-*.json`), and stands in its standing.
"""

from collections.abc import Iterator

from simulator.core import shelves
from simulator.core.concurrency import for_each
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.roles import endpoints, judge_endpoint
from simulator.core.settings import Settings
from simulator.core.shelves import judge_name
from simulator.core.templates import LANGUAGES, read_toml
from simulator.core.types import Answer, Case, Failure, GradingContext, Turn, Value
from simulator.grading.rubric import Rubric
from simulator.results.judge_records import ProbedJudge, save_record, today
from simulator.results.red import is_red_alone, primary_judge
from simulator.runner.context import RunContext
from simulator.runner.labelled_answers import judging_context

# The probe that is no text: an answer without one.
EMPTY = "empty"


class JudgeProbe(Value):
    """An answer, and whether a judge has to mark it."""

    name: str
    bad: bool
    answer: str


def probe_contexts() -> Iterator[tuple[str, bool, GradingContext]]:
    """Each probe as judges of a run would see it: its name with the language, and whether it is bad."""
    tables = read_toml(shelves.JUDGES / "_probes.toml")
    for language in LANGUAGES:
        table = tables[language]
        probes = [JudgeProbe.model_validate(probe) for probe in table["probes"]]
        for probe in (*probes, JudgeProbe(name=EMPTY, bad=True, answer="")):
            name = f"{probe.name}-{language}"
            case = Case(
                id=name, question=table["question"], references=((table["reference"],),), language=language
            )
            error = None if probe.answer else Failure(kind="empty", message=_("the answer is empty"))
            turn = Turn(index=1, user=case.question, answer=Answer(text=probe.answer, error=error))
            yield name, probe.bad, GradingContext(conversation=name, case=case, persona="", turn=turn)


def rubric_judge(settings: Settings, asker: str) -> tuple[str, RunContext]:
    """The judge that decides, and what it grades with.

    Raises InputError where no model judges, or the judge has no rubric.
    """
    name = primary_judge(tuple(map(judge_name, settings.judges)))
    judge_endpoint(endpoints(settings), asker)
    context = judging_context(settings, name)
    if not isinstance(context.judges.get(name), Rubric):
        raise InputError(_("{judge} has no rubric: name a judge with a prompt.", judge=name))
    return name, context


async def probe_judge(settings: Settings) -> ProbedJudge:
    """What the judge that decides makes of all probes; stored.

    Raises InputError where no model judges, or the judge has no rubric.
    """
    name, context = rubric_judge(settings.model_copy(update={"cache": "off"}), "doctor --judge")
    of_judge, probes = context.settings, list(probe_contexts())

    async def grade(probe: tuple[str, bool, GradingContext]) -> tuple[str, bool, str]:
        """The probe, whether the judge failed it, and by which rubric."""
        key, bad, seen = probe
        score = next(score for score in await context.panel.grade(seen) if score.judge == name)
        marked = score.state == "scored" and is_red_alone(score, of_judge.red)
        return key, score.state == "failed" or marked != bad, "" if score.by_rule else score.rubric

    try:
        graded = await for_each(probes, grade, of_judge.calls)
    finally:
        await context.close(None)
    rubric = next((rubric for _key, _failed, rubric in graded if rubric), "")
    record = ProbedJudge(
        judge=name,
        rubric=rubric,
        model=context.models()["judge"],
        date=today(),
        n=len(graded),
        failed=tuple(key for key, failed, _rubric in graded if failed),
    )
    save_record(record)
    return record
