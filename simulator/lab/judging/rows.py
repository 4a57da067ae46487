"""Labelled answers before a judge, graded by a run's own panel, in the same words.

A calibration is valid for one prompt only.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple

from simulator.core.concurrency import for_each
from simulator.core.messages import Message, _
from simulator.core.types import Score
from simulator.grading.model_judge import ModelJudge
from simulator.grading.panel import JudgeCall, LexicalStandIn, Panel
from simulator.runner.context import RunContext
from simulator.runner.labelled_answers import LabelledAnswer, labelled_context

# What grades: a model, its stand-in, or a function.
GraderKind = Literal["by_model", "by_stand_in", "by_function"]


class GradedRow(NamedTuple):
    """A row with the judge's score."""

    row: LabelledAnswer
    score: Score

    @property
    def grade(self) -> float | None:
        """The number that is compared, on the scale of the score; None where the judge gave none.

        A grade by rule, as of a missing answer, says nothing of the judge.
        """
        return self.score.raw if self.score.state == "scored" and not self.score.by_rule else None


def graded_by(kind: GraderKind, model: str) -> Message:
    """Who graded, in words."""
    words = {
        "by_model": _("Graded by {model}", model=model),
        "by_stand_in": _("Graded by simple scoring (word overlap, no AI)"),
        "by_function": _("Computed, no language model"),
    }
    return words[kind]


def judge_panel(run_context: RunContext, judges: AbstractSet[str]) -> Panel:
    """The part of a run's panel that gives the scores of these judges."""

    # By the names of the scores that a call gives, whatever kind of call it is.
    def names(call: JudgeCall) -> AbstractSet[str]:
        if isinstance(call, ModelJudge):
            return {rubric.name + call.suffix for rubric in call.rubrics}
        return {call.rubric.name if isinstance(call, LexicalStandIn) else str(getattr(call, "name", ""))}

    panel = run_context.panel
    return Panel(
        [call for call in panel.judge_calls if names(call) & judges],
        [call for call in panel.conversation_calls if names(call) & judges],
    )


async def grade_rows(
    run_context: RunContext,
    judge: str,
    rows: Sequence[LabelledAnswer],
    *,
    progress: Callable[[Score], None] = lambda _score: None,
) -> list[GradedRow]:
    """The rows with their scores of a judge, in order; `judge` is the name of its scores.

    Raises BudgetSpent, or what makes grading impossible. What was graded before is in the cache.
    """
    panel, whole = judge_panel(run_context, {judge}), judge in run_context.grading.conversation_names

    async def graded(row: LabelledAnswer) -> GradedRow:
        scores = await panel.grade(labelled_context(row, whole=whole))
        score = next(score for score in scores if score.judge == judge)
        progress(score)
        return GradedRow(row, score)

    return await for_each(rows, graded, run_context.settings.calls)


def score_name(run_context: RunContext, judge: str) -> str:
    """The name that the scores of a judge have."""
    return list(run_context.judges)[run_context.settings.judges.index(judge)]
