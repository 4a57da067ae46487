"""A judge's grades compared with people's labels.

    run = CalibrationRun(file, judge, ...)        reads labels and judge, raises whatever is wrong
    graded = await run.grade(progress)            a score for each row; the only step that costs anything
    compared = run.compare(graded)                figures (lab/judging/figures.py)
    save_record(run.calibration(compared))        beside the rubric's hash, for later reports

The judge sees a row as it would see a turn: question, history, contexts, reference and answer.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from simulator.core.errors import InputError
from simulator.core.messages import _, language_of_most, sentences
from simulator.core.settings import Settings
from simulator.core.types import LEXICAL, Language, RedRules, Score, Spending
from simulator.grading.rubric import Rubric
from simulator.lab.judging.figures import Figures, LabelledGrade, Yardstick, measure
from simulator.lab.judging.rows import GradedRow, GraderKind, grade_rows, score_name
from simulator.lab.judging.stored import Calibration
from simulator.results import judge_records
from simulator.results.judge_records import CheckedLabels
from simulator.results.red import is_red_alone
from simulator.runner.estimate import grading_estimate
from simulator.runner.labelled_answers import (
    Dimension,
    LabelFile,
    judging_context,
    labelled_context,
    read_dimension,
    read_labels,
    sample_rows,
)


class Counts(NamedTuple):
    """What became of the labelled rows before the judge: n = rows less skipped and failed.

    `unlabelled` rows of the file are not among `rows`. `reason` is the most frequent one of what is missing.
    A judge skips what it has nothing to hold against, as groundedness a row without contexts.
    """

    rows: int
    unlabelled: int
    skipped: int
    failed: int
    reason: str = ""


class LabelComparison(NamedTuple):
    """The grades that have a label, their figures, and what became of the other rows."""

    grades: tuple[GradedRow, ...]
    figures: Figures
    counts: Counts
    rubric: str


class CalibrationRun:
    """One calibration. Making it reads all input, so that errors show before anything is paid."""

    def __init__(
        self,
        file: str,
        judge: str,
        label: str,
        settings: Settings,
        *,
        good: str | None = None,
        limit: int | None = None,
        folder: Path = judge_records.FOLDER,
    ) -> None:
        """Reads labels and judge without connecting to anything; calibrations are stored in `folder`.

        Raises UnknownName for a judge or a label that there is not, CaseFileError for a file that cannot be
        read, InputError for `good` that does not fit the label.
        """
        self.folder, self.file = folder, read_labels(file)
        self.label = read_dimension(self.file, label, good)
        # Rows without this label are not drawn: `limit` counts answers that can be compared.
        labelled = [row for row in self.file.rows if self.label.human_grade(row)]
        self.rows = sample_rows(labelled, limit, settings.seed)
        self.context = judging_context(settings, judge)
        self.settings = self.context.settings
        self.judge = score_name(self.context, judge)

    @property
    def language(self) -> Language:
        """The language of most rows; Japanese on a tie."""
        return language_of_most(row.case.language for row in self.rows)

    async def grade(self, progress: Callable[[Score], None]) -> list[GradedRow]:
        """All rows graded, and every connection closed."""
        try:
            return await grade_rows(self.context, self.judge, self.rows, progress=progress)
        finally:
            await self.context.close(None)

    def compare(self, graded: list[GradedRow]) -> LabelComparison:
        """The figures."""
        return compare(self.file, graded, self.label, seed=self.settings.seed, rules=self.settings.red)

    def grader(self) -> tuple[GraderKind, str]:
        """Who graded, and its name: a model, a stand-in, or a function without one.

        A function of the user's that asked a model counts as that model: by the calls in the ledger.
        """
        # A rubric is asked of the judge's model, or its stand-in counts.
        models = self.context.models()
        if isinstance(self.context.judges[self.judge], Rubric):
            return ("by_stand_in" if models["judge"] == LEXICAL else "by_model"), models["judge"]
        asked = [models[role] for role in self.context.ledger.roles]
        return ("by_model", ", ".join(dict.fromkeys(asked))) if asked else ("by_function", LEXICAL)

    def calibration(self, compared: LabelComparison) -> Calibration:
        """What is stored."""
        figures = compared.figures
        return Calibration(
            judge=self.judge,
            label=self.label.name,
            dataset=self.file.dataset,
            n=figures.n,
            rubric=compared.rubric,
            model=self.grader()[1],
            language=self.language,
            good=self.label.good,
            date=judge_records.today(),
            file=str(self.file.path),
            sha256=self.file.sha256,
            auroc=figures.judge.auroc.value,
            interval=figures.judge.auroc.ends,
            commonest=figures.commonest,
            share=figures.share,
            poor_discrimination=figures.poor,
            # Six decimals: enough to tell an equal grade from a shifted one, and the file stays readable.
            rows=tuple((row.row.case.id, round(row.grade or 0.0, 6)) for row in compared.grades),
            scale=figures.scale,
        )

    def checked_labels(self, compared: LabelComparison) -> CheckedLabels | None:
        """What the judge's standing counts; None where no model graded."""
        if self.grader()[0] != "by_model":
            return None
        rules, label = self.settings.red, self.label
        return CheckedLabels(
            judge=self.judge,
            rubric=compared.rubric,
            model=self.grader()[1],
            source=f"{self.file.dataset}-{label.name}",
            date=judge_records.today(),
            answers=tuple(
                (grade.row.group, people.mean < label.good_from, is_red_alone(grade.score, rules))
                for grade in compared.grades
                if (people := label.human_grade(grade.row)) and grade.score.rubric == compared.rubric
            ),
        )

    def forecast(self) -> Spending:
        """Calls, tokens and dollars at most, from the real prompts; nothing where no model grades."""
        # A judge of whole conversations sees the row's history as turns.
        whole = self.judge in self.context.grading.conversation_names
        contexts = (labelled_context(row, whole=whole) for row in self.rows)
        return grading_estimate(self.context, {self.judge}, contexts)


def compare(
    file: LabelFile,
    graded: Sequence[GradedRow],
    label: Dimension,
    *,
    seed: int = 42,
    rules: RedRules | None = None,
) -> LabelComparison:
    """Compares a judge's grades with one label; raises InputError when no row has both.

    `rules` say which grades are red in a run.
    """
    counts = _counts(file, graded, label)
    grades = [row for row in graded if row.grade is not None and label.human_grade(row.row)]
    # Nothing to compare: told apart, because a failing endpoint and a missing column are mended by others.
    if not grades and counts.failed:
        msg = _("{file}: the judge failed on all rows: {reason}", file=file.path, reason=counts.reason)
        raise InputError(msg)
    if not grades:
        skipped = {"file": file.path, "n": counts.skipped, "reason": counts.reason}
        msg = _("{file}: the judge skipped all {n} rows: {reason}", **skipped)
        has_contexts = any(row.case.contexts for row in file.rows)
        hint = None if has_contexts else _("No row has contexts: add a column of what was retrieved.")
        raise InputError(sentences(msg, hint))
    rules = rules or RedRules()
    marked = [
        LabelledGrade(row.row.group, row.grade, people.mean, is_red_alone(row.score, rules), people.votes)
        for row in grades
        if row.grade is not None and (people := label.human_grade(row.row))
    ]
    yardstick = Yardstick(grades[0].score.scale, label.levels, label.good_from, seed)
    rubrics = [row.score.rubric for row in graded if row.score.state == "scored" and row.score.rubric]
    return LabelComparison(
        grades=tuple(grades),
        figures=measure(marked, yardstick),
        counts=counts,
        rubric=_commonest(rubrics),
    )


def _commonest(texts: Sequence[str]) -> str:
    """The text that is there most often; of as frequent ones the last in order, so that it is always one.

    Of rubrics there is one, unless a judge of the user's names several; of reasons there may be many.
    """
    return max(set(texts), key=lambda text: (texts.count(text), text), default="")


def _counts(file: LabelFile, graded: Sequence[GradedRow], label: Dimension) -> Counts:
    labelled = [row for row in graded if label.human_grade(row.row)]
    skipped = [row.score for row in labelled if row.score.state == "skipped" or row.score.by_rule]
    failed = [row.score for row in labelled if row.score.state == "failed"]
    return Counts(
        rows=len(labelled),
        unlabelled=sum(not label.human_grade(row) for row in file.rows),
        skipped=len(skipped),
        failed=len(failed),
        reason=_commonest([score.reason for score in failed or skipped]),
    )
