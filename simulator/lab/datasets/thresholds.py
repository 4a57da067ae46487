"""Thresholds for scores, from answers that people said are right or wrong.

`thresholds suggest labelled.csv --judges rougeL,gpt_similarity` goes like this:

1. `LabelledAnswers` reads the rows and their labels, and splits each answer into outputs as a run would.
2. `evidence` has every judge of every output grade them: one `LabelledScore` for each, right or wrong.
3. `suggestion_of` derives a threshold from those of one judge and output (suggested.py): the highest that
   95 % of the right answers reach.
4. `changes` says what `--write` puts into the metric file; judges that say right or wrong keep theirs.

    right answers score .5 .6 .7 .8, wrong ones .2 .3 -> 0.5: every right answer passes, no wrong one

Thresholds are on the judge's own scale, as metric files have them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from simulator.core.concurrency import for_each
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings
from simulator.core.shelves import canonical_judge, judge_name
from simulator.core.types import GradingContext, Score, Spending
from simulator.lab.datasets import outputs as splitting
from simulator.lab.datasets.metric_file import (
    BINARY_JUDGES,
    COMPARING_JUDGES,
    DEFAULT,
    MetricFile,
    threshold_text,
)
from simulator.lab.datasets.outputs import (
    OutputJudges,
)
from simulator.lab.datasets.suggested import Suggestion, suggest
from simulator.models.pricing import total_spending
from simulator.results.figures import rounded
from simulator.runner.context import RunContext
from simulator.runner.estimate import grading_estimate
from simulator.runner.labelled_answers import (
    LabelledAnswer,
    labelled_context,
    read_dimension,
    read_labels,
    sample_rows,
)


class LabelledScore(NamedTuple):
    """A score on the judge's own scale, of an answer (or of one `output` of it) that is right or wrong.

    Rows of the same `group` are not independent.
    """

    judge: str
    output: str
    value: float
    scale: tuple[float, float]
    right: bool
    group: str


class JudgedScores(NamedTuple):
    """All scores of a file, and how many there are not: `skipped` by their judge, or `failed`."""

    judged: tuple[LabelledScore, ...]
    skipped: int = 0
    failed: int = 0


class LabelledAnswers:
    """Labelled answers to grade. Making it reads all input, so that errors show before anything is paid."""

    def __init__(
        self,
        file: str,
        outputs: MetricFile,
        settings: Settings,
        *,
        label: str | None = None,
        good: str | None = None,
        limit: int | None = None,
    ) -> None:
        """Reads labels and judges without connecting to anything.

        `label` says right or wrong; `limit` rows are drawn.
        """
        self.file, self.outputs = read_labels(file), outputs
        self.label = read_dimension(self.file, label or self._only_label(), good)
        # A row that nobody labelled says nothing about any threshold.
        labelled = [row for row in self.file.rows if self.label.human_grade(row)]
        self.rows = sample_rows(labelled, limit, settings.seed)
        self.judges = OutputJudges(outputs)
        alone = {"judges": self.judges.judge_names, "judging": "separate", "retest": 0.0}
        # Grading as of a run, but each judge by itself and once: a threshold belongs to a judge alone.
        plain = settings.model_copy(update=alone)
        self.context = RunContext(plain)
        self.panel = self.judges.panel(self.context.grading.judge_calls, ())
        self.contexts = [labelled_context(row) for row in self.rows]

    def _only_label(self) -> str:
        """The one label of the file; raises InputError where there are several."""
        if len(self.file.dimensions) > 1:
            msg = _(
                "{file}: several things are labelled ({known}): name one with --label.",
                file=self.file.path,
                known=", ".join(self.file.dimensions),
            )
            raise InputError(msg)
        return self.file.dimensions[0]

    def forecast(self) -> Spending:
        """Calls, tokens and dollars at most; nothing where no model grades."""
        # Each judge sees only the outputs that the metric file gives it.
        shown: dict[str, list[GradingContext]] = {}
        for context in self.contexts:
            for part in splitting.parts_of(self.outputs, context):
                for metric in part.metrics:
                    shown.setdefault(metric.judge, []).append(splitting.context_of(part, context))
        return total_spending(
            [
                grading_estimate(self.context, {judge_name(judge)}, contexts)
                for judge, contexts in shown.items()
            ]
        )

    async def evidence(self, progress: Callable[[Score], None]) -> JudgedScores:
        """All rows graded, and every connection closed; raises what makes grading impossible."""

        async def graded_row(context: GradingContext) -> list[Score]:
            scores = await self.panel.grade(context)
            # Progress counts rows, not scores.
            for score in scores[:1]:
                progress(score)
            return scores

        try:
            graded = await for_each(self.contexts, graded_row, self.context.settings.calls)
        finally:
            await self.context.close(None)
        judged = chain.from_iterable(map(self._judged, self.rows, self.contexts, graded))
        states = [score.state for scores in graded for score in scores]
        return JudgedScores(tuple(judged), states.count("skipped"), states.count("failed"))

    def _judged(
        self, row: LabelledAnswer, context: GradingContext, scores: Iterable[Score]
    ) -> Iterable[LabelledScore]:
        """The row's scores with its labels; an output that is its reference is not what is wrong.

        A label of the whole answer says that something in it is wrong, not what. Of several outputs those
        that equal their reference are certainly not it, and would drag the threshold up.
        """
        split = splitting.parts_of(self.outputs, context)
        same = {part.output: splitting.is_reference(part) for part in split}
        for score in scores:
            output = score.detail.get("output")
            # `passed` grades the row by thresholds that are only being looked for; further models of a panel
            # decide nothing.
            if not isinstance(output, str) or "@" in score.judge:
                continue
            judge = score.judge.removeprefix(f"{output}.")
            value = measured(score, judge, same=same.get(output, False))
            if value is None or (said := self.label.human_grade(row)) is None:
                continue
            right = said.mean >= self.label.good_from
            if right or len(split) == 1 or not same.get(output, False):
                yield LabelledScore(judge, output, value, score.scale, right, row.group)


def suggestion_of(judged: Sequence[LabelledScore], seed: int) -> Suggestion:
    """What these scores speak for; no threshold at the low end of a scale, which every answer reaches."""
    values, right = [answer.value for answer in judged], [answer.right for answer in judged]
    suggestion = suggest(values, right, [answer.group for answer in judged], seed)
    if suggestion.threshold is None or suggestion.threshold > judged[0].scale[0]:
        return suggestion
    # A threshold that everything reaches is none: 0 for a judge of 0 to 1.
    nothing = dict.fromkeys(("threshold", "interval", "right_passing", "wrong_passing"))
    return suggestion.model_copy(update=nothing)


class SuggestedThreshold(NamedTuple):
    """A suggestion for a judge of an output; `scale` is what it is on."""

    judge: str
    output: str
    scale: tuple[float, float]
    suggestion: Suggestion

    @property
    def name(self) -> str:
        """What it is about, in short."""
        return self.judge if self.output == DEFAULT else f"{self.output}.{self.judge}"

    def as_json(self) -> dict[str, Any]:
        """Judge and output, the threshold and what it rests on."""
        suggestion = self.suggestion
        shares = {
            "right_passing": rounded(suggestion.right_passing),
            "wrong_passing": rounded(suggestion.wrong_passing),
        }
        about = {"judge": self.judge, "output": self.output}
        return about | {"scale": list(self.scale)} | suggestion.model_dump() | shares


class ThresholdChange(NamedTuple):
    """A threshold of a metric file, before and after."""

    output: str
    judge: str
    before: float | None
    after: float


def measured(score: Score, judge: str, *, same: bool) -> float | None:
    """The score that is held against thresholds; None where there is none, or where none is held.

    What could not be extracted is wrong whatever the threshold. A text that is its reference is right
    whatever the threshold, so a comparison is taken to have the top of its scale.
    """
    if score.state != "scored" or score.raw is None or score.by_rule:
        return None
    return score.scale[1] if same and canonical_judge(judge) in COMPARING_JUDGES else score.raw


def of_output(
    judged: Sequence[LabelledScore], output: str, judge: str, file: MetricFile | None
) -> list[LabelledScore]:
    """The scores that speak for the threshold of a judge of an output, as a metric file names both.

    Those of this very output; for `default` those of all outputs that the file does not name.
    """
    mine = [score for score in judged if canonical_judge(score.judge) == canonical_judge(judge)]
    # The judge by any of its names: gpt_similarity is llm_similarity.
    exact = [score for score in mine if score.output == output]
    if exact or output != DEFAULT:
        return exact
    named = set(file.named) if file else set()
    return [score for score in mine if score.output not in named]


def suggestions(evidence: JudgedScores, seed: int) -> list[SuggestedThreshold]:
    """For every judge of every output; the whole answer first."""
    parts: dict[tuple[str, str], list[LabelledScore]] = {}
    for score in evidence.judged:
        parts.setdefault((score.output, score.judge), []).append(score)
    # `default`, which is the whole answer or all outputs without a name, leads.
    ordered = sorted(parts.items(), key=lambda part: (part[0][0] != DEFAULT, part[0]))
    return [
        SuggestedThreshold(judge, output, judged[0].scale, suggestion_of(judged, seed))
        for (output, judge), judged in ordered
    ]


def changes(evidence: JudgedScores, seed: int, file: MetricFile | None) -> Iterator[ThresholdChange]:
    """What the metric file should say; without a file, every judge and output there is.

    Judges that say right or wrong keep their thresholds: there is nothing between 0 and 1 to choose.
    """
    thresholds = (
        {(o, m.name): m.threshold for o, metrics in file.named.items() for m in metrics} if file else {}
    )
    wanted = thresholds or dict.fromkeys((score.output, score.judge) for score in evidence.judged)
    for (output, judge), before in wanted.items():
        judged = of_output(evidence.judged, output, judge, file)
        if canonical_judge(judge) in BINARY_JUDGES or not judged:
            continue
        threshold = suggestion_of(judged, seed).threshold
        if threshold is not None:
            # As the file is written and read: within the scale, with four decimals at most.
            low, high = judged[0].scale
            after = float(threshold_text(min(high, max(low, threshold))))
            yield ThresholdChange(output, judge, before, after)
