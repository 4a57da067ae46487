"""Thresholds for scores, from answers that people said are right or wrong."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from simulator.addons.calibration.grade import domain_of
from simulator.core.concurrency import for_each
from simulator.core.errors import InputError, RunFileError
from simulator.core.messages import _
from simulator.core.roles import endpoints
from simulator.core.settings import Settings
from simulator.core.shelves import canonical_judge, judge_name
from simulator.core.types import PASSED, Conversation, GradingContext, Results, Score, Spending, Turn
from simulator.grading import outputs as splitting
from simulator.grading.metric_file import BINARY_JUDGES, COMPARING_JUDGES, DEFAULT, MetricFile, threshold_text
from simulator.grading.outputs import (
    OutputJudges,
    Part,
    is_reference,
    object_within,
    output_text,
    text_at,
    whole_object,
)
from simulator.models.pricing import Ledger, total_spending
from simulator.runner.context import RunContext
from simulator.runner.estimate import grading_estimate
from simulator.runner.labelled_answers import (
    LabelledAnswer,
    labelled_context,
    read_dimension,
    read_labels,
    sample_rows,
)
from simulator.stats.calibration import Method, Suggestion, suggest
from simulator.stats.corrected import blind_grades
from simulator.stats.figures import Summary, rounded

# A blind grade from here on (four of five) says that the answer is right.
GOOD = 0.8
Place = tuple[str, int]


class LabelledScore(NamedTuple):
    """A score on the judge's own scale, of an answer (or of one `output` of it) that is right or wrong.

    Rows of the same `group` are not independent; `domain` is what the row is about.
    """

    judge: str
    output: str
    domain: str
    value: float
    scale: tuple[float, float]
    right: bool
    group: str


class JudgedScores(NamedTuple):
    """All scores of a file or a run, and what became of the rest: unlabelled, skipped and failed rows."""

    judged: tuple[LabelledScore, ...]
    unlabelled: int = 0
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
        by: str | None = None,
        limit: int | None = None,
    ) -> None:
        """Reads labels and judges without connecting to anything.

        `label` says right or wrong, `by` names what tells domains apart; `limit` rows are drawn.
        """
        self.file, self.outputs = read_labels(file), outputs
        self.domain = domain_of(self.file, by)
        name = label or self._only_label()
        self.label = read_dimension(self.file, name, good, named_for_answers=name not in outputs.named)
        self.labels = {self.label.name: self.label}
        if label is None:  # labels that are called like an output are about it
            named = [each for each in self.file.dimensions if each in outputs.named]
            self.labels |= {
                each: read_dimension(self.file, each, good, named_for_answers=False) for each in named
            }
        labels = self.labels.values()
        labelled = [row for row in self.file.rows if any(each.human_grade(row) for each in labels)]
        self.rows = sample_rows(labelled, limit, settings.seed)
        self.unlabelled = len(self.file.rows) - len(labelled)
        self.judges = OutputJudges(outputs)
        alone = {"judges": self.judges.judge_names, "judging": "separate", "retest": 0.0}
        plain = settings.model_copy(update=alone)
        self.context = RunContext(plain, endpoints(settings), (), Ledger.of(settings))
        self.panel = self.judges.panel(self.context.grading.judge_calls, ())
        self.contexts = [labelled_context(row) for row in self.rows]

    def _only_label(self) -> str:
        """The one label that is not about a single output; raises InputError where there are several."""
        plain = [name for name in self.file.dimensions if name not in self.outputs.named]
        if len(plain) > 1:
            msg = _(
                "{file}: several things are labelled ({known}): name one with --label.",
                file=self.file.path,
                known=", ".join(self.file.dimensions),
            )
            raise InputError(msg)
        return (plain or self.file.dimensions)[0]

    def forecast(self) -> Spending:
        """Calls, tokens and dollars at most; nothing where no model grades."""
        shown: dict[str, list[GradingContext]] = {}
        for context in self.contexts:
            for part in splitting.parts_of(self.outputs, context).parts:
                for metric in part.metrics:
                    shown.setdefault(metric.judge, []).append(splitting.context_of(part, context))
        return total_spending(
            [
                grading_estimate(self.context, {judge_name(judge)}, contexts)
                for judge, contexts in shown.items()
            ]
        )

    async def evidence(self, told: Callable[[Score], None]) -> JudgedScores:
        """All rows graded, and every connection closed; raises what makes grading impossible."""

        async def graded_row(context: GradingContext) -> list[Score]:
            scores = await self.panel.grade(context)
            for score in scores[:1]:
                told(score)
            return scores

        try:
            graded = await for_each(self.contexts, graded_row, self.context.settings.calls)
        finally:
            await self.context.close(None)
        judged = chain.from_iterable(map(self._judged, self.rows, self.contexts, graded))
        states = [score.state for scores in graded for score in scores]
        return JudgedScores(tuple(judged), self.unlabelled, states.count("skipped"), states.count("failed"))

    def _judged(
        self, row: LabelledAnswer, context: GradingContext, scores: Iterable[Score]
    ) -> Iterable[LabelledScore]:
        """The row's scores with its labels; an output that is its reference is not what is wrong."""
        split = splitting.parts_of(self.outputs, context).parts
        same = {part.output: splitting.is_reference(part) for part in split}
        for score in scores:
            output = score.detail.get("output")
            if not isinstance(output, str) or "@" in score.judge:
                continue
            label = self.labels.get(output, self.label)
            judge = score.judge.removeprefix(f"{output}.")
            value = measured(score, judge, same=same.get(output, False))
            if value is None or (said := label.human_grade(row)) is None:
                continue
            right = said.mean >= label.good_from
            if right or len(split) == 1 or label is not self.label or not same.get(output, False):
                domain = row.attributes.get(self.domain, "") if self.domain else ""
                yield LabelledScore(judge, output, domain, value, score.scale, right, row.group)


class SuggestionMethod(NamedTuple):
    """By which method, and with which seed for the interval."""

    method: Method = "quantile"
    quantile: float = 0.05
    seed: int = 42

    def of(self, judged: Sequence[LabelledScore]) -> Suggestion:
        """What these scores speak for; no threshold at the low end of a scale, which every answer reaches."""
        values, right = [each.value for each in judged], [each.right for each in judged]
        groups = [each.group for each in judged]
        found = suggest(values, right, groups, self.method, self.quantile, self.seed)
        if found.threshold is None or found.threshold > judged[0].scale[0]:
            return found
        nothing = dict.fromkeys(("threshold", "interval", "right_passing", "wrong_passing"))
        return found.model_copy(update=nothing)


class SuggestedThreshold(NamedTuple):
    """A suggestion for a judge of an output, of all domains ("") or of one; `scale` is what it is on."""

    judge: str
    output: str
    domain: str
    scale: tuple[float, float]
    suggestion: Suggestion

    @property
    def name(self) -> str:
        """What it is about, in short."""
        about = self.judge if self.output == DEFAULT else f"{self.output}.{self.judge}"
        return f"{about} [{self.domain}]" if self.domain else about

    def as_json(self) -> dict[str, Any]:
        """Judge, output and domain (null: all), the threshold and what it rests on."""
        found = self.suggestion
        shares = {
            "right_passing": rounded(found.right_passing),
            "wrong_passing": rounded(found.wrong_passing),
        }
        about = {"judge": self.judge, "output": self.output, "domain": self.domain or None}
        return about | {"scale": list(self.scale)} | found.model_dump(exclude={"method"}) | shares


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

    Those of this very output, or of a domain of that name; for `default` those of all outputs that the file
    does not name.
    """
    mine = [each for each in judged if canonical_judge(each.judge) == canonical_judge(judge)]
    if exact := [each for each in mine if each.output == output]:
        return exact
    if output == DEFAULT:
        named = set(file.named) if file else set()
        return [each for each in mine if each.output not in named]
    return [each for each in mine if each.domain == output]


def scores_of_run(
    results: Results, summary: Summary, judges: tuple[str, ...], by: str | None
) -> JudgedScores:
    """Every score of a turn that people judged; raises RunFileError where nobody did.

    `judges` are those that are asked about (empty: all). `by` is `tags` or `persona`: what parts domains.
    """
    said = said_right(results, summary)
    if not said:
        msg = _(
            "{run}: nobody has said which answers are right; read verdicts back with `review`, or"
            " name a file of labelled answers.",
            run=results.run.id,
        )
        raise RunFileError(msg)
    turns = {
        (conversation.id, turn.index): (conversation, turn)
        for conversation in results.conversations
        for turn in conversation.turns
    }
    judged: list[LabelledScore] = []
    failed = skipped = 0
    for score in results.scores:
        place = (score.conversation, score.turn)
        if place not in said or place not in turns or score.judge == PASSED or "@" in score.judge:
            continue
        if judges and _judge(score) not in judges:
            continue
        failed, skipped = failed + (score.state == "failed"), skipped + (score.state == "skipped")
        judged += _judged(score, *turns[place], right=said[place], by=by)
    return JudgedScores(tuple(judged), len(turns) - len(said), skipped, failed)


def said_right(results: Results, summary: Summary) -> dict[Place, bool]:
    """What people say of a turn: by blind grades where there are some, else by the review of the red marks.

    A confirmed red mark is a wrong answer, a false alarm a right one; a turn that should be red is wrong.
    """
    red = {(turn.conversation, turn.turn) for turn in summary.reddest}
    found: dict[Place, bool] = {}
    for verdict in results.verdicts:
        place = (verdict.conversation, verdict.turn)
        if verdict.source == "review" and verdict.judge_is in ("right", "wrong"):
            found[place] = (place in red) == (verdict.judge_is == "wrong")
    blind = blind_grades(results.verdicts)
    return found | {place: grade.value >= GOOD for place, grade in blind.items()}


def _judge(score: Score) -> str:
    output = score.detail.get("output")
    return score.judge.removeprefix(f"{output}.") if isinstance(output, str) else score.judge


def _judged(
    score: Score, conversation: Conversation, turn: Turn, *, right: bool, by: str | None
) -> Iterator[LabelledScore]:
    output = str(score.detail.get("output", DEFAULT))
    judge, same = _judge(score), is_reference(_part(output, conversation, turn))
    value = measured(score, judge, same=same)
    whole = output == DEFAULT
    if value is None or (same and not right and not whole):
        return  # of a wrong answer, an output that is its reference is not the cause
    domains = {"tags": conversation.case.tags, "persona": (conversation.persona,)}.get(by or "", ("",)) or (
        "",
    )
    for domain in domains:
        yield LabelledScore(judge, output, domain, value, score.scale, right, conversation.case.id)


def _part(output: str, conversation: Conversation, turn: Turn) -> Part:
    """The output of an answer as it was graded, without the file that named its judges."""
    references = conversation.case.references_at(turn.index)
    if output == DEFAULT:
        return Part(output, (), output_text(turn.answer.text), tuple(map(output_text, references)))
    objects = [found for text in references if (found := whole_object(text)) is not None]
    right = [text for found in objects if (text := text_at(found, output)) is not None]
    answer = object_within(turn.answer.text, [key for found in objects for key in found])
    given = None if answer is None else text_at(answer, output)
    return Part(output, (), given or "", tuple(right), "" if given is not None else "key")


def suggestions(evidence: JudgedScores, how: SuggestionMethod) -> list[SuggestedThreshold]:
    """For every judge of every output; with several domains also for each domain."""
    several = len({each.domain for each in evidence.judged}) > 1
    parts: dict[tuple[str, str, str], list[LabelledScore]] = {}
    for each in evidence.judged:
        for domain in ("", each.domain or "-") if several else ("",):
            parts.setdefault((each.output, each.judge, domain), []).append(each)
    return [
        SuggestedThreshold(judge, output, domain, judged[0].scale, how.of(judged))
        for (output, judge, domain), judged in sorted(
            parts.items(), key=lambda part: (part[0][0] != DEFAULT, part[0])
        )
    ]


def changes(
    evidence: JudgedScores, how: SuggestionMethod, file: MetricFile | None
) -> Iterator[ThresholdChange]:
    """What the metric file should say; without a file, every judge and output there is.

    Judges that say right or wrong keep their thresholds: there is nothing between 0 and 1 to choose.
    """
    known = {(o, m.name): m.threshold for o, metrics in file.named.items() for m in metrics} if file else {}
    wanted = known or dict.fromkeys((each.output, each.judge) for each in evidence.judged)
    for (output, judge), before in wanted.items():
        judged = of_output(evidence.judged, output, judge, file)
        if canonical_judge(judge) in BINARY_JUDGES or not judged:
            continue
        threshold = how.of(judged).threshold
        if threshold is not None:
            low, high = judged[0].scale
            after = float(threshold_text(min(high, max(low, threshold))))
            yield ThresholdChange(output, judge, before, after)
