"""Answers graded output by output: the values of a JSON answer, each compared with the reference's.

For the metric file {"default": ["em"], "path": [{"name": "gpt_similarity", "threshold": 1}]}, with

    reference    {"method": "DELETE", "path": "/users/42"}
    answer       Like this: {"method": "DELETE", "path": "/users/042", "note": "..."}

the row has two outputs, those of the reference. `method` goes to exact_match (score `method.em`), `path` to
llm_similarity (score `path.gpt_similarity`); `note`, which nobody asked for, costs nothing. The verdict on
the row is the score `passed`: 1 if every output reached its thresholds.

How values become texts (`output_text`), so that only what differs in meaning differs:

    1.0, "1.0", "１"     1             a number is the same with quotation marks and without
    "007"               007           with a leading zero it is a code
    {"b": 1, "a": []}   {"a":[],"b":1}

An answer that lacks an output is wrong there (0), and counted as not extracted: the tested model did not do
what it was asked. Only our own failures are `failed`. The judges see one output at a time as if it were the
whole answer, so every judge of the shelf can grade outputs without knowing of them.
"""

import inspect
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from simulator.core import shelves
from simulator.core.errors import CaseFileError
from simulator.core.messages import Message, _, encodable, listed, quote, shown
from simulator.core.settings import Settings
from simulator.core.types import PASSED, Case, GradingContext, Score
from simulator.grading.panel import JudgeCall, Panel
from simulator.grading.rubric import Judge, Rubric, load_judge
from simulator.lab.datasets.metric_file import COMPARING_JUDGES, DEFAULT, Metric, MetricFile, read_metric_file
from simulator.lab.datasets.settings import DatasetSettings
from simulator.text.normalise import plain_form
from simulator.text.numerals import number_text

# A code block anywhere, also one that is not closed; and a text that is one as a whole.
_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_WHOLE_FENCE = re.compile(r"\s*```[^\n`]*\n(.*?)\n?\s*```\s*", re.DOTALL)
# After so many opening braces without an object a text is taken to hold none: each costs an attempt to
# decode.
_MOST_BRACES = 300
# Numbers stay as they were written: no digits are lost, and none is too many.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False)
# Names in a message.
_MOST_LISTED = 8

Object = dict[str, Any]
# The calls of one judge, and whether it compares with references.
Calls = tuple[Sequence[JudgeCall], bool]
Keep = Callable[[list[Score]], None]


def whole_object(text: str) -> Object | None:
    """The JSON object that a text is, also as one code block; None when it is anything else."""
    bare = unfenced(text).strip()
    decoded = _decoded(bare, 0) if bare.startswith("{") else None
    return decoded[0] if decoded and decoded[1] == len(bare) else None


def unfenced(text: str) -> str:
    """The inside of a text that is a single code block; any other text as it is."""
    fenced = _WHOLE_FENCE.fullmatch(text)
    return fenced[1] if fenced else text


def object_within(text: str, wanted: Collection[str] = ()) -> Object | None:
    """The JSON object of an answer, also in a code block or between sentences; None without one.

    Of several the last one with a wanted key counts, or else the last one: a model that corrects itself does
    so afterwards. {"a": 1} then {"b": 2} -> {"b": 2}, with "a" wanted {"a": 1}.
    """
    if (whole := whole_object(text)) is not None:
        return whole
    objects = [value for block in _FENCED.findall(text) for value in _objects(block)] or list(_objects(text))
    fitting = [value for value in objects if not value.keys().isdisjoint(wanted)]
    chosen = fitting or objects
    return chosen[-1] if chosen else None


def _objects(text: str) -> Iterator[Object]:
    """The outermost objects of a text, in order."""
    # Outermost objects only: after one, the search goes on behind it.
    at, tried = text.find("{"), 0
    while at >= 0 and tried < _MOST_BRACES:
        decoded, tried = _decoded(text, at), tried + 1
        if decoded is not None:
            yield decoded[0]
        at = text.find("{", decoded[1] if decoded else at + 1)


def _decoded(text: str, at: int) -> tuple[Object, int] | None:
    try:
        value, end = _DECODER.raw_decode(text, at)
        # Written once for the check: what cannot be written again cannot be compared.
        value = encodable(value)
        _text(value)
    except (ValueError, RecursionError):  # nested too deeply to be written again
        return None
    return (value, end) if isinstance(value, dict) else None


def text_at(values: Mapping[str, Any], name: str) -> str | None:
    """The value of an output as text; `address.city` and `items.0` lead inside; None where it is missing.

    Texts stay as they are, numbers are in their plain form, lists and objects are canonical JSON: keys in
    order, no spaces.
    """
    # A key with a dot in it goes before the way inside.
    if name in values:
        return output_text(values[name])
    value: Any = values
    for part in name.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return output_text(value)


def output_text(value: Any) -> str:
    """A JSON value as the text that is compared."""
    if isinstance(value, str):
        number = number_text(value)
        return str(value) if number is None else number
    return _text(value)


def _text(value: Any) -> str:
    """Canonical JSON; a number is the same whether it is in quotation marks or not."""
    if isinstance(value, str):
        number = number_text(value)
        return json.dumps(value, ensure_ascii=False) if number is None else number
    if isinstance(value, dict):
        inside = (f"{json.dumps(key, ensure_ascii=False)}:{_text(value[key])}" for key in sorted(value))
        return "{" + ",".join(inside) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


Missing = Literal["", "json", "key"]


class OutputPart(NamedTuple):
    """One output of a row; `missing` says what the answer lacks: the key, or any JSON at all."""

    output: str
    metrics: tuple[Metric, ...]
    answer: str
    references: tuple[str, ...]
    missing: Missing = ""


def parts_of(outputs: MetricFile, context: GradingContext) -> tuple[OutputPart, ...]:
    """The outputs that the references have; without any reference, those that the file names.

    References that are no JSON objects make the whole answer one output, `default`.
    """
    answer = context.turn.answer
    # A row may have several right answers, each with all outputs.
    objects = [
        value_of_answer for text in context.references if (value_of_answer := whole_object(text)) is not None
    ]
    names = [name for name in outputs.named if name != DEFAULT]
    if objects:
        names = output_names(outputs, objects[0])
    elif context.references or not names:
        # Plain texts, also a number in quotes, are compared in the same form as outputs.
        references = tuple(map(output_text, context.references))
        whole = OutputPart(DEFAULT, outputs.default, output_text(answer.text), references)
        return (whole,) if whole.metrics else ()
    keys = {*names, *(name.partition(".")[0] for name in names), *(key for value in objects for key in value)}
    value_of_answer = None if answer.error else object_within(answer.text, keys)
    parts = []
    for name in names:
        text = None if value_of_answer is None else text_at(value_of_answer, name)
        missing: Missing = (
            "" if text is not None or answer.error else "json" if value_of_answer is None else "key"
        )
        right = dict.fromkeys(
            value for reference in objects if (value := text_at(reference, name)) is not None
        )
        parts.append(OutputPart(name, outputs.metrics(name), text or "", tuple(right), missing))
    return tuple(parts)


def output_names(outputs: MetricFile, reference: Object) -> list[str]:
    """The outputs that a reference has and the file has judges for.

    Where the file names what is inside a value (`address.city`), the value itself is no output.
    """
    inside = [
        name for name in outputs.named if name not in reference and text_at(reference, name) is not None
    ]
    opened = {name.partition(".")[0] for name in inside}
    plain = [name for name in reference if name not in opened and outputs.metrics(name)]
    return [*plain, *inside]


def context_of(part: OutputPart, context: GradingContext) -> GradingContext:
    """What is put before the judges of one output: its text as the answer, its references as the case's."""
    turn, case = context.turn, context.case
    answer = turn.answer if turn.answer.error else turn.answer.model_copy(update={"text": part.answer})
    # At the place of this turn: a judge asks the case for them by its number.
    references = ((),) * (turn.index - 1) + (part.references,)
    return context.model_copy(
        update={
            "turn": turn.model_copy(update={"answer": answer}),
            "case": case.model_copy(update={"references": references}),
        }
    )


def is_reference(part: OutputPart) -> bool:
    """Whether an output's text is one of its references after normalisation."""
    answer = "" if part.missing else plain_form(part.answer)
    return bool(answer) and any(plain_form(text) == answer for text in part.references)


class ReferenceCheck:
    """Checks the references of a data set, row by row, against the outputs that the metric file names."""

    def __init__(self, file: MetricFile) -> None:
        """No row yet."""
        self.file = file
        self._keys: dict[str, None] = {}
        self._found: set[str] = set()

    def __call__(self, case: Case) -> Message | str | None:
        """The problem with the references of a row, or None."""
        texts = case.references_at(1)
        # Code blocks are allowed here as in answers: teams paste what their bot said.
        objects = [whole_object(text) for text in texts]
        for text, value in zip(texts, objects, strict=True):
            if value is None and (problem := json_problem(text)):
                return problem
        if any(value is None for value in objects) and any(value is not None for value in objects):
            return _(
                "of its references some are JSON objects and some are not; write all of them in one form."
            )
        return self._outputs(case, [value for value in objects if value is not None])

    def _outputs(self, case: Case, objects: list[dict[str, object]]) -> Message | None:
        named = [name for name in self.file.named if name != DEFAULT]
        for value in objects:
            self._keys |= dict.fromkeys(value)
            self._found |= {name for name in named if text_at(value, name) is not None}
        if objects and not output_names(self.file, objects[0]):
            return _(
                "its reference has none of the outputs that {file} names ({listed}).",
                file=self.file.path,
                listed=_listed(named),
            )
        if not objects and case.references_at(1) and not self.file.default:
            return _(
                'its reference answer is not a JSON object; {file} has no "{default}" for plain texts.',
                file=self.file.path,
                default=DEFAULT,
            )
        return None

    def done(self) -> None:
        """To be called after the last row: raises CaseFileError for a named output that no reference has."""
        for name in self.file.named:
            if self._keys and name != DEFAULT and name not in self._found:
                what = _(
                    "no reference has the output {name}; they have: {listed}.",
                    name=quote(name),
                    listed=_listed(self._keys),
                )
                raise CaseFileError(_("{path}: {what}", path=self.file.path, what=what))


def json_problem(text: str) -> Message | None:
    """The problem of a reference that begins like a JSON object and is none, or None."""
    bare = unfenced(text).strip()
    if not bare.startswith("{"):
        return None
    try:
        json.loads(bare)
    except (ValueError, RecursionError) as error:
        return _("its reference begins like a JSON object and is none ({problem}).", problem=error)
    return None


def _listed(names: Iterable[str]) -> Message:
    return listed([quote(name) for name in names], _MOST_LISTED)


class OutputJudges:
    """The judges that a metric file names, looked up."""

    def __init__(self, file: MetricFile) -> None:
        """Loads every judge of the file once."""
        self.file = file
        names = {metric.judge for metrics in file.named.values() for metric in metrics}
        self._judges = {name: load_judge(name) for name in sorted(names)}
        self.decides, self.fingerprint, self.files = file.decides, file.fingerprint, file.files
        # By the names of their scores for whole answers.
        self.judges = {shelves.judge_name(name): judge for name, judge in self._judges.items()}
        # The most unnamed outputs that a row has; not known before `expect` has seen the rows.
        self.unnamed = 1

    @classmethod
    def of(cls, settings: Settings) -> "OutputJudges | None":
        """The judges of `--outputs`; None without."""
        path = DatasetSettings.of(settings).outputs
        return cls(read_metric_file(path)) if path else None

    def reference_check(self) -> ReferenceCheck:
        """What looks at the references before a run."""
        return ReferenceCheck(self.file)

    @property
    def judge_names(self) -> tuple[str, ...]:
        """The names that the judges were loaded by."""
        return tuple(self._judges)

    @property
    def judges_per_row(self) -> list[tuple[str, Judge]]:
        """The judges that grade a row at most: one entry for each judge of each output."""
        times = {DEFAULT: self.unnamed}
        named = self.file.named.items()
        metrics = [metric for name, metrics in named for metric in metrics * times.get(name, 1)]
        return [(shelves.judge_name(metric.judge), self._judges[metric.judge]) for metric in metrics]

    def expect(self, cases: Iterable[Case]) -> None:
        """Takes note of the most unnamed outputs that one of these cases has."""
        references = (whole_object(text) for case in cases for text in case.references_at(1)[:1])
        # Each of them is graded by the judges of `default`, which a forecast has to know.
        counts = (
            sum(name not in self.file.named for name in output_names(self.file, reference))
            for reference in references
            if reference
        )
        self.unnamed = max(counts, default=1)

    def names(self, context: GradingContext) -> set[str]:
        """The names of the scores that the outputs of this row get."""
        parts = parts_of(self.file, context)
        return {f"{part.output}.{metric.score_name}" for part in parts for metric in part.metrics}

    def panel(
        self,
        judge_calls: Callable[[Mapping[str, Judge]], list[JudgeCall]],
        answer_calls: Sequence[JudgeCall],
    ) -> "OutputPanel":
        """The panel; `judge_calls` makes the calls of some judges, `answer_calls` grade whole answers."""
        calls = {
            name: (judge_calls({shelves.judge_name(name): judge}), compares(judge))
            for name, judge in self._judges.items()
        }
        return OutputPanel(self.file, calls, answer_calls)


def compares(judge: Judge) -> bool:
    """Whether a judge compares with references, and so grades nothing without one."""
    if isinstance(judge, Rubric):
        return "reference" in judge.needs
    return "references" in inspect.signature(judge).parameters


class OutputPanel(Panel):
    """The judges of a run whose answers are graded output by output; scores are filed `OUTPUT.JUDGE`."""

    def __init__(
        self,
        outputs: MetricFile,
        judge_calls_of: Mapping[str, Calls],
        answer_calls: Sequence[JudgeCall] = (),
    ) -> None:
        """`judge_calls_of`: the calls of every judge by its name; `answer_calls` grade the whole answer."""
        super().__init__(answer_calls)
        self.outputs, self.judge_calls_of = outputs, judge_calls_of

    async def grade(
        self, context: GradingContext, done: Collection[str] = (), keep: Keep = lambda _: None
    ) -> list[Score]:
        """The scores of a row, and whether all of it passed; as `Panel.grade` does.

        `done` may map names to scores: what the verdict on the whole row then needs no second grading for.
        """
        graded = done if isinstance(done, Mapping) else {}
        split = parts_of(self.outputs, context)
        calls: list[JudgeCall] = []
        for part, metric in ((output, metric) for output in split for metric in output.metrics):
            inner, by_reference = self.judge_calls_of[metric.judge]
            ruled = _ruled(part, metric, context, by_reference)
            calls += [_ruled_call(ruled)] if ruled else [_of_output(call, part, metric) for call in inner]
        # Without their scores, outputs of a row that has no verdict are graded anew.
        names = done if graded or PASSED in done else {name for name in done if "." not in name}
        scores = await Panel([*self.judge_calls, *calls]).grade(context, names, keep)
        if PASSED in done or not self.outputs.decides:
            return scores
        every = {**graded, **{score.judge: score for score in scores}}
        verdict = self._verdict(context, list(every.values()))
        keep([verdict])
        return [*scores, verdict]

    def _verdict(self, context: GradingContext, scores: Sequence[Score]) -> Score:
        """Whether every output reached its thresholds; gate, colour and history go by it."""
        # The grades of further models (--panel) are shown beside, and decide nothing.
        of_outputs = [score for score in scores if "output" in score.detail and "@" not in score.judge]
        missed = [score for score in of_outputs if score.detail.get("passed") is False]
        undecided = [score for score in of_outputs if score.state == "failed" and "threshold" in score.detail]
        decided = [score for score in of_outputs if "passed" in score.detail]
        detail: dict[str, Any] = {"missed": [score.judge for score in missed]}
        fields: dict[str, Any] = {"rubric": self.outputs.fingerprint}
        if missed:
            reason = _("{parts}", parts=tuple(map(_miss, missed)))
            unanswered = context.turn.answer.error is not None
            fields |= {"state": "scored", "value": 0.0, "raw": 0.0, "by_rule": unanswered}
            kinds = [kind for score in missed if (kind := score.detail.get("not_extracted"))]
            detail |= {"not_extracted": kinds[0]} if kinds else {}
        elif undecided:
            names = tuple(score.judge for score in undecided)
            reason = _("not every output could be graded: {names}", names=names)
            fields |= {"state": "failed"}
            detail = {"kind": undecided[0].detail.get("kind", "error")}
        elif not decided:
            reason, fields = _("no output could be held against a threshold"), {"state": "skipped"}
        else:
            reason = _("every output reached its thresholds")
            fields |= {"state": "scored", "value": 1.0, "raw": 1.0}
        return _score(PASSED, context, scale=(0, 1), reason=reason, detail=detail, **fields)


def _score_name(call: JudgeCall) -> str:
    """The name that a call gives its scores before they are renamed to those of an output."""
    rubrics: Any = getattr(call, "rubrics", None) or [getattr(call, "rubric", None)]
    return str(getattr(rubrics[0], "name", "") or getattr(call, "name", ""))


def _ruled(part: OutputPart, metric: Metric, context: GradingContext, by_reference: bool) -> Score | None:
    """The score that takes no judge: of a text that could not be extracted, and of empty texts; else None."""
    if part.missing:
        reason = _("not extracted: no JSON in the answer")
        if part.missing == "key":
            reason = _("not extracted: the answer's JSON has no '{output}'", output=part.output)
        detail = {"not_extracted": part.missing}
        return _graded(part, metric, context, right=False, reason=reason, detail=detail, by_rule=True)
    if not by_reference or not part.references or context.turn.answer.error:
        return None
    # Judges of text are not made for nothing: METEOR and cosine of empty texts are undefined.
    blank = not part.answer.strip()
    blanks = [not text.strip() for text in part.references]
    if blank and any(blanks):
        return _graded(part, metric, context, right=True, reason=_("reference and answer are both empty"))
    if blank or all(blanks):
        reason = _("only one of reference and answer is empty")
        return _graded(part, metric, context, right=False, reason=reason)
    return None


def _graded(
    part: OutputPart, metric: Metric, context: GradingContext, *, right: bool, **fields: Any
) -> Score:
    grade: dict[str, Any] = {"value": float(right), "raw": metric.scale[right], "scale": metric.scale}
    score = _score(f"{part.output}.{metric.score_name}", context, state="scored", **grade, **fields)
    return _with_threshold(score, part, metric)


def _ruled_call(score: Score) -> JudgeCall:
    async def call(_: GradingContext, done: Collection[str]) -> list[Score]:
        return [] if score.judge in done else [score]

    return call


def _of_output(inner: JudgeCall, part: OutputPart, metric: Metric) -> JudgeCall:
    """A call that shows the judge one output instead of the whole answer."""
    name, inner_name = f"{part.output}.{metric.score_name}", _score_name(inner)

    async def call(context: GradingContext, done: Collection[str]) -> list[Score]:
        suffixes = [key.removeprefix(name) for key in done if key.partition("@")[0] == name]
        scores = await inner(context_of(part, context), {f"{inner_name}{suffix}" for suffix in suffixes})
        return [_with_threshold(_renamed(score, name), part, metric) for score in scores]

    return call


def _renamed(score: Score, name: str) -> Score:
    """Under the name of output and judge; that of a further model still follows."""
    _, at_sign, model = score.judge.partition("@")
    return score.model_copy(update={"judge": f"{name}{at_sign}{model}"})


def _with_threshold(score: Score, part: OutputPart, metric: Metric) -> Score:
    """The score with its output and threshold, and whether that is reached."""
    detail = {**score.detail, "output": part.output}
    if metric.threshold is not None:
        detail["threshold"] = metric.threshold
    if score.state == "scored" and ("not_extracted" in detail or metric.threshold is not None):
        detail["passed"] = _passes(score, part, metric)
    return score.model_copy(update={"detail": detail})


def _passes(score: Score, part: OutputPart, metric: Metric) -> bool:
    """At or above the threshold; a text that is the reference after normalisation passes every comparison."""
    # A threshold of 0 would let a bot pass that did not answer.
    unanswered = score.by_rule and score.raw == score.scale[0]
    if unanswered or metric.threshold is None or score.raw is None:
        return False
    if score.raw >= metric.threshold - 1e-9:
        return True
    return metric.judge in COMPARING_JUDGES and is_reference(part)


def _miss(score: Score) -> Message:
    """Which output missed which threshold."""
    if "not_extracted" in score.detail:
        return _("{name}: not extracted", name=score.judge)
    threshold = score.detail.get("threshold")
    return _(
        "{name}: {value:.3g} (threshold {threshold:g})",
        name=score.judge,
        value=score.raw,
        threshold=threshold,
    )


def _score(judge: str, context: GradingContext, reason: Message | str = "", **fields: Any) -> Score:
    """The score of a row, with its reason in the language of the row."""
    said = shown(reason, context.case.language)
    return Score(
        judge=judge, conversation=context.conversation, turn=context.turn.index, reason=said, **fields
    )
