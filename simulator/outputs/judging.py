"""The outputs of a row before their judges: graded one by one, held against thresholds, and all in one."""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simulator.core import shelves
from simulator.core.settings import Settings
from simulator.core.templates import Texts
from simulator.core.types import PASSED, Case, GradingContext, Score
from simulator.judging import Judging, Panel
from simulator.outputs.checking import most_unnamed
from simulator.outputs.metric_file import DEFAULT, Metric, Outputs, read_outputs
from simulator.outputs.parts import Part, exhibit_of, is_reference, parts_of
from simulator.outputs.traits import COMPARES
from simulator.rubrics import Rubric, load_judge

TEXTS = Texts(Path(__file__).with_name("words.toml"))

Judge = Rubric | Callable[..., Any]
# The judgings of one judge, and whether it compares with references.
Judgings = tuple[Sequence[Judging], bool]
Keep = Callable[[list[Score]], None]


class OutputJudges:
    """The judges that a metric file names, looked up."""

    def __init__(self, file: Outputs) -> None:
        """Every judge once, by the name of ours."""
        self.file = file
        given = {metric.judge for metrics in file.named.values() for metric in metrics}
        self._found = {name: load_judge(name) for name in sorted(given)}
        # Outputs that nobody named: how many a row has at most is not known before the rows are.
        self.unnamed = 1

    @classmethod
    def of(cls, settings: Settings) -> "OutputJudges | None":
        """Those of `--outputs`; None without any."""
        return cls(read_outputs(settings.outputs)) if settings.outputs else None

    @property
    def names_given(self) -> tuple[str, ...]:
        """What each is looked up by."""
        return tuple(self._found)

    @property
    def judges(self) -> dict[str, Judge]:
        """Each under the name that its scores would have by themselves."""
        return {shelves.judge_name(name): judge for name, judge in self._found.items()}

    @property
    def asked(self) -> list[tuple[str, Judge]]:
        """Who is asked about a row at most: one entry for each judge of each output."""
        times = {DEFAULT: self.unnamed}
        metrics = [each for name, found in self.file.named.items() for each in found * times.get(name, 1)]
        return [(shelves.judge_name(metric.judge), self._found[metric.judge]) for metric in metrics]

    def expect(self, cases: Iterable[Case]) -> None:
        """Counts how many unnamed outputs there are in a row at most."""
        self.unnamed = most_unnamed(self.file, cases)

    def names(self, exhibit: GradingContext) -> set[str]:
        """What the scores of this row's outputs are filed under."""
        parts = parts_of(self.file, exhibit).parts
        return {f"{part.output}.{metric.filed}" for part in parts for metric in part.metrics}

    def panel(
        self, judgings: Callable[[Mapping[str, Judge]], list[Judging]], whole: Sequence[Judging]
    ) -> "OutputPanel":
        """All of them at their work; `judgings` makes those of some judges, `whole` grade whole answers."""
        made = {
            name: (judgings({shelves.judge_name(name): judge}), compares(judge))
            for name, judge in self._found.items()
        }
        return OutputPanel(self.file, made, whole)


def compares(judge: Judge) -> bool:
    """Whether a judge grades nothing that has no reference."""
    if isinstance(judge, Rubric):
        return "reference" in judge.needs
    return "references" in inspect.signature(judge).parameters


class OutputPanel(Panel):
    """The judges of a run whose answers are graded output by output; scores are filed `OUTPUT.JUDGE`."""

    def __init__(
        self, outputs: Outputs, judgings_of: Mapping[str, Judgings], whole: Sequence[Judging] = ()
    ) -> None:
        """`judgings_of` has those of every judge by its name; `whole` grade the answer as it is."""
        super().__init__(whole)
        self.outputs, self.judgings_of = outputs, judgings_of

    async def grade(
        self, exhibit: GradingContext, done: Collection[str] = (), keep: Keep = lambda _: None
    ) -> list[Score]:
        """The scores of a row, and whether all of it passed; as `Panel.grade` does.

        `done` may map names to scores: what the verdict on the whole row then needs no second grading for.
        """
        known = done if isinstance(done, Mapping) else {}
        split = parts_of(self.outputs, exhibit)
        asked = [
            judging
            for part in split.parts
            for metric in part.metrics
            for judging in self._judgings(part, metric, exhibit)
        ]
        scores = await Panel([*self.judgings, *asked]).grade(exhibit, _open(done, known), keep)
        if PASSED in done or not self.outputs.decides:
            return scores
        every = {**known, **{score.judge: score for score in scores}}
        verdict = self._verdict(exhibit, list(every.values()), split.extra)
        keep([verdict])
        return [*scores, verdict]

    def _judgings(self, part: Part, metric: Metric, exhibit: GradingContext) -> list[Judging]:
        """Those of one judge of one output, or the score itself where no judge is needed."""
        inner, by_reference = self.judgings_of[metric.judge]
        ruled = _ruled(part, metric, exhibit, by_reference)
        return [_already(ruled)] if ruled else [_of_output(each, part, metric) for each in inner]

    def _verdict(self, exhibit: GradingContext, scores: Sequence[Score], extra: Sequence[str]) -> Score:
        """Whether every output reached its thresholds: what gate, colour and history go by."""
        mine = [score for score in scores if "output" in score.detail and "@" not in score.judge]
        missed = [score for score in mine if score.detail.get("passed") is False]
        undecided = [score for score in mine if score.state == "failed" and "threshold" in score.detail]
        decided = [score for score in mine if "passed" in score.detail]
        language = exhibit.case.language
        comma = TEXTS(language, "comma")
        detail: dict[str, Any] = {"missed": [score.judge for score in missed], "extra": list(extra)}
        fields: dict[str, Any] = {"rubric": self.outputs.fingerprint}
        if missed:
            reason = comma.join(_told(score, exhibit) for score in missed)
            unanswered = exhibit.turn.answer.error is not None
            fields |= {"state": "scored", "value": 0.0, "raw": 0.0, "by_rule": unanswered}
            kinds = [kind for score in missed if (kind := score.detail.get("not_extracted"))]
            detail |= {"not_extracted": kinds[0]} if kinds else {}
        elif undecided:
            names = comma.join(score.judge for score in undecided)
            reason = TEXTS(language, "not_graded", names=names)
            fields |= {"state": "failed"}
            detail = {"kind": undecided[0].detail.get("kind", "error")}
        elif not decided:
            reason, fields = TEXTS(language, "nothing_held"), {"state": "skipped"}
        else:
            reason = TEXTS(language, "all_passed")
            fields |= {"state": "scored", "value": 1.0, "raw": 1.0}
        return _score(PASSED, exhibit, scale=(0, 1), reason=reason, detail=detail, **fields)


def _open(done: Collection[str], known: Mapping[str, Score]) -> Collection[str]:
    """What needs no grading; without the scores themselves, a row that has no verdict is graded anew."""
    return done if known or PASSED in done else {name for name in done if "." not in name}


def _filed_as(judging: Judging) -> str:
    """What a judging calls its scores before they are those of an output."""
    rubrics: Any = getattr(judging, "rubrics", None) or [getattr(judging, "rubric", None)]
    return str(getattr(rubrics[0], "name", "") or getattr(judging, "name", ""))


def _ruled(part: Part, metric: Metric, exhibit: GradingContext, by_reference: bool) -> Score | None:
    """The score that takes no judge: of what could not be extracted, and of empty texts."""
    language = exhibit.case.language
    if part.missing:
        reason = TEXTS(language, f"not_{part.missing}", output=part.output)
        told = {"reason": reason, "detail": {"not_extracted": part.missing}, "by_rule": True}
        return _graded(part, metric, exhibit, right=False, **told)
    if not by_reference or not part.references or exhibit.turn.answer.error:
        return None
    blank = not part.answer.strip()
    may_be, must_be = (how(not text.strip() for text in part.references) for how in (any, all))
    if blank and may_be:
        return _graded(part, metric, exhibit, right=True, reason=TEXTS(language, "both_blank"))
    if blank or must_be:
        return _graded(part, metric, exhibit, right=False, reason=TEXTS(language, "one_blank"))
    return None


def _graded(part: Part, metric: Metric, exhibit: GradingContext, *, right: bool, **told: Any) -> Score:
    grade = {"value": float(right), "raw": metric.scale[right], "scale": metric.scale}
    score = _score(f"{part.output}.{metric.filed}", exhibit, state="scored", **grade, **told)
    return _held(score, part, metric)


def _already(score: Score) -> Judging:
    async def judging(_: GradingContext, done: Collection[str]) -> list[Score]:
        return [] if score.judge in done else [score]

    return judging


def _of_output(inner: Judging, part: Part, metric: Metric) -> Judging:
    """A judging that is shown one output instead of the whole answer."""
    own, called = f"{part.output}.{metric.filed}", _filed_as(inner)

    async def judging(exhibit: GradingContext, done: Collection[str]) -> list[Score]:
        marks = [name.removeprefix(own) for name in done if name.partition("@")[0] == own]
        found = await inner(exhibit_of(part, exhibit), {f"{called}{mark}" for mark in marks})
        return [_held(_renamed(score, own), part, metric) for score in found]

    return judging


def _renamed(score: Score, name: str) -> Score:
    """Filed under output and judge; a further model of the panel stays named behind them."""
    _, beside, model = score.judge.partition("@")
    return score.model_copy(update={"judge": f"{name}{beside}{model}"})


def _held(score: Score, part: Part, metric: Metric) -> Score:
    """The score with its output and threshold, and whether that is reached."""
    detail = {**score.detail, "output": part.output}
    if metric.threshold is not None:
        detail["threshold"] = metric.threshold
    if score.state == "scored" and ("not_extracted" in detail or metric.threshold is not None):
        detail["passed"] = _passes(score, part, metric)
    return score.model_copy(update={"detail": detail})


def _passes(score: Score, part: Part, metric: Metric) -> bool:
    """At or above the threshold; a text that is the reference after normalisation passes every comparison."""
    unanswered = score.by_rule and score.raw == score.scale[0]
    if unanswered or metric.threshold is None or score.raw is None:
        return False
    if score.raw >= metric.threshold - 1e-9:
        return True
    return metric.judge in COMPARES and is_reference(part)


def _told(score: Score, exhibit: GradingContext) -> str:
    """Which output missed what."""
    if "not_extracted" in score.detail:
        return TEXTS(exhibit.case.language, "missed_text", name=score.judge)
    value, threshold = f"{score.raw:.3g}", f"{score.detail.get('threshold'):g}"
    return TEXTS(exhibit.case.language, "missed", name=score.judge, value=value, threshold=threshold)


def _score(judge: str, exhibit: GradingContext, **fields: Any) -> Score:
    return Score(judge=judge, conversation=exhibit.conversation, turn=exhibit.turn.index, **fields)
