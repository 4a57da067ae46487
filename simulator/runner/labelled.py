"""Files of answers that people have labelled: who said what of which answer, and on which scale."""

import asyncio
import hashlib
import json
import math
import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from simulator.core import shelves
from simulator.core.errors import CaseFileError, InputError, RehearsalError, UnknownName
from simulator.core.settings import Settings
from simulator.core.templates import fingerprint
from simulator.core.types import Answer, Case, Failure, GradingContext, Passage, Score, Spending, Turn
from simulator.data.cases import read_cases
from simulator.data.files import printable, read_bytes, shown
from simulator.data.readers import read_rows, split_sheet
from simulator.data.values import Row, fault, field_of, has_question, is_empty, is_extra
from simulator.grading.judge import FunctionJudge, JudgeCall, ModelJudge, Panel
from simulator.grading.rubric import ReplySchema, Rubric, load_form, load_judge
from simulator.models.pricing import BudgetSpent, together
from simulator.runner.context import RunContext
from simulator.runner.estimate import GRADE, GRADES, tokens

Vote = float | str
# `labels.faithfulness` is a column of its own in a table.
_PREFIX = re.compile(r"labels?[._]", re.IGNORECASE)
_ENDINGS = re.compile(r"(\.(jsonl|ndjson|json|csv|tsv|tab|txt|yaml|yml|xlsx|xlsm|gz))+$", re.IGNORECASE)


_SENTENCE_ENDS = tuple("。.．！!？?")
# Shares of a file's references.
_MANY, _FEW = 0.3, 0.1


class LabelledAnswer(NamedTuple):
    """One answer and what people said of it, by dimension: one vote for each annotator.

    `about` holds what rows may be told apart by (domain, model); `published` are other systems' scores.
    """

    case: Case
    row: Row
    group: str
    labels: Mapping[str, tuple[Vote, ...]]
    scales: Mapping[str, str] = {}
    annotators: Mapping[str, tuple[str, ...]] = {}
    about: Mapping[str, str] = {}
    published: Mapping[str, float] = {}
    context_ids: tuple[str, ...] = ()


class LabelFile(NamedTuple):
    """All rows of a file, the data set's name, and a hash of the bytes."""

    path: Path
    dataset: str
    rows: tuple[LabelledAnswer, ...]
    sha256: str

    @property
    def dimensions(self) -> list[str]:
        """What was labelled, in the order of the file."""
        return list(dict.fromkeys(name for row in self.rows for name in row.labels))


def read_labels(path: str | Path) -> LabelFile:
    """The labelled answers of a JSONL, JSON, CSV, TSV, YAML or Excel file (also `.gz`).

    The columns are those of a question file with `answer` and `contexts`, beside them `labels` (an object of
    dimensions; in a table also a column for each) and, if there are any, `scale`, `group`, `dataset`,
    `annotators`, `meta`, `published_scores` and `context_ids`. A broken row is named by its line.
    """
    path = Path(path)
    cases = read_cases(path)
    rows = list(read_rows(path, has_question))
    found = tuple(_labelled(path, case, row) for case, row in zip(cases, rows, strict=True))
    if not any(row.labels for row in found):
        msg = f'{path}: nobody has labelled anything in it; add "labels": {{"NAME": number}} or a column.'
        raise CaseFileError(msg)
    names = {str(row.values["dataset"]) for row in rows if not is_empty(row.values.get("dataset"))}
    file, _ = split_sheet(path)
    dataset = names.pop() if len(names) == 1 else _ENDINGS.sub("", file.name)
    return LabelFile(path, printable(dataset), found, hashlib.sha256(read_bytes(file)).hexdigest())


def mark_between_references(rows: Sequence[LabelledAnswer]) -> str:
    """The stroke where a file has its acceptable answers in one text, parted by strokes; else nothing.

    Told by the whole file: many references with a stroke, and hardly any that ends like a sentence.
    """
    texts = [text for row in rows for text in row.case.references_at(1)]
    strokes = sum("/" in text and "://" not in text for text in texts)
    ends = sum(text.rstrip().endswith(_SENTENCE_ENDS) for text in texts)
    return "/" if strokes > _MANY * len(texts) and ends < _FEW * len(texts) else ""


def context_of(row: LabelledAnswer, apart: str = "") -> GradingContext:
    """The labelled answer as a judge of a run would see it: turn 1, with its passages and history.

    `apart` is a mark that stands between acceptable answers which the file has in one text.
    """
    case = row.case
    if apart:
        split = (part.strip() for text in case.references_at(1) for part in text.split(apart))
        case = case.model_copy(update={"references": (tuple(filter(None, split)),)})
    text = case.answer or ""
    answer = Answer(
        text=text,
        passages=_passages(case, row.context_ids),
        shows_passages=bool(case.contexts),
        error=None if text.strip() else Failure(kind="empty", message="the answer is empty"),
    )
    turn = Turn(index=1, user=case.question, answer=answer)
    return GradingContext(conversation=f"calibration/{case.id}", case=case, persona="", turn=turn)


def _passages(case: Case, ids: tuple[str, ...]) -> tuple[Passage, ...]:
    if len(ids) != len(case.contexts):
        ids = tuple(str(number) for number in range(1, len(case.contexts) + 1))
    return tuple(Passage(id=id_, text=text) for id_, text in zip(ids, case.contexts, strict=True))


def _labelled(path: Path, case: Case, row: Row) -> LabelledAnswer:
    if case.answer is None and "answer" not in map(field_of, row.values):
        raise fault(path, row, "no answer to grade; name a column 'answer'.")
    group = row.values.get("group")
    return LabelledAnswer(
        case=case,
        row=row,
        group=case.id if is_empty(group) else str(group),
        labels=_labels(path, row),
        scales={key: str(text) for key, text in _object(row, "scale").items()},
        annotators={
            key: tuple(map(str, names))
            for key, names in _object(row, "annotators").items()
            if isinstance(names, list)
        },
        about=_about(row),
        published=dict(_numbers(_object(row, "published_scores"))),
        context_ids=_ids(row.values.get("context_ids")),
    )


def _object(row: Row, column: str) -> Mapping[str, JsonValue]:
    """An object, or one that is written inside a cell; a text stands for all dimensions."""
    value = row.values.get(column)
    if isinstance(value, str) and row.cells and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    if isinstance(value, str) and column == "scale" and value.strip():
        return {"": value}
    return value if isinstance(value, dict) else {}


def _labels(path: Path, row: Row) -> dict[str, tuple[Vote, ...]]:
    given = dict(_object(row, "labels"))
    for column, value in row.values.items():
        if _PREFIX.match(column) and field_of(column) is None and not is_extra(column):
            given[_PREFIX.sub("", column, count=1)] = value
        elif row.cells and field_of(column) is None and not is_extra(column):
            given.setdefault(column, value)
    found: dict[str, tuple[Vote, ...]] = {}
    for name, value in given.items():
        if not isinstance(value, dict) and (votes := _votes(path, row, name, value)):
            found[name] = votes
    return found


def _votes(path: Path, row: Row, name: str, value: JsonValue) -> tuple[Vote, ...]:
    """One vote for each annotator; in a table `|` stands between them."""
    if isinstance(value, str) and row.cells:
        inside = value.strip()
        if inside.startswith("["):
            try:
                value = json.loads(inside)
            except (ValueError, RecursionError):
                what = f"column {shown(name)}: {shown(inside)} is no list; write 4|3|4."
                raise fault(path, row, what) from None
        elif "|" in inside:
            value = list(inside.split("|"))
    items = value if isinstance(value, list) else [value]
    return tuple(_vote(path, row, name, item) for item in items if not is_empty(item))


def _vote(path: Path, row: Row, name: str, value: JsonValue) -> Vote:
    if isinstance(value, (list, dict)):
        raise fault(path, row, f"label {shown(name)}: {shown(value)} is neither a number nor a text.")
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return value.strip()
    else:
        number = float(value or 0)
    if not math.isfinite(number):
        raise fault(path, row, f"label {shown(name)}: {shown(value)} is no number.")
    return number


def _about(row: Row) -> dict[str, str]:
    """What the row is of: its `meta`, and its other plain columns."""
    plain = {key: value for key, value in row.values.items() if isinstance(value, (str, int, float))}
    meta = dict(_object(row, "meta"))
    about = {**{key: value for key, value in plain.items() if not _is_text(key)}, **meta}
    return {key: _joined(value) for key, value in about.items() if not is_empty(value)}


def _is_text(column: str) -> bool:
    """Whether a column is different in every row, so that nothing can be grouped by it."""
    return field_of(column) not in {None, "language", "tags", "label"}


def _joined(value: JsonValue) -> str:
    return printable(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def _numbers(given: Mapping[str, JsonValue]) -> Iterable[tuple[str, float]]:
    for name, value in given.items():
        if isinstance(value, (int, float)) and math.isfinite(value):
            yield printable(name), float(value)


def _ids(value: JsonValue) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*(?:-|–|〜|~|\.\.)\s*({_NUMBER})")
_LISTED = re.compile(rf"\s*{_NUMBER}(?:\s*\|\s*{_NUMBER})+")
# Texts that a label may hold are listed up to here.
_LISTED_TEXTS = 12
_MOST_LEVELS = 101


class Said(NamedTuple):
    """What people said of one answer: their mean, and each vote, higher being better."""

    mean: float
    votes: tuple[float, ...]
    annotators: tuple[str, ...]


class Dimension(NamedTuple):
    """How a label is read. `text` is the one that is good; `flipped`: of 0 and 1, 0 is good."""

    name: str
    levels: tuple[float, ...]
    good_from: float
    text: str | None = None
    flipped: bool = False

    @property
    def good(self) -> str:
        """What counts as good, as people would write it."""
        if self.text is not None:
            return f"{self.name} = {self.text}"
        return f"{self.name} = 0" if self.flipped else f"{self.name} >= {self.good_from:g}"

    @property
    def scale(self) -> str:
        """The levels, in short."""
        if self.text is not None:
            return "0-1"
        steps = {round(b - a, 9) for a, b in zip(self.levels, self.levels[1:], strict=False)}
        if len(self.levels) > 2 and steps != {1.0}:
            return "|".join(f"{level:g}" for level in self.levels)
        return f"{self.levels[0]:g}-{self.levels[-1]:g}"

    def said(self, row: LabelledAnswer) -> Said | None:
        """What people said of a row; None where nobody labelled it."""
        given = row.labels.get(self.name)
        if not given:
            return None
        if self.text is not None:
            votes = tuple(float(_text(vote) == self.text) for vote in given)
        else:
            votes = tuple(1 - float(vote) if self.flipped else float(vote) for vote in given)
        names = row.annotators.get(self.name, ())
        return Said(sum(votes) / len(votes), votes, names if len(names) == len(votes) else ())


def dimension(file: LabelFile, name: str, good: str | None = None) -> Dimension:
    """The dimension of that name; `good` is a limit, or the text that is good.

    Without `good`, a label is good that rounds to the top of its scale; for texts it has to be said.
    """
    if name not in file.dimensions:
        raise UnknownName(f"label in {file.path}", name, file.dimensions)
    rows = [row for row in file.rows if name in row.labels]
    if any(isinstance(vote, str) for row in rows for vote in row.labels[name]):
        return _of_texts(name, rows, good)
    levels = _levels(file, name, rows)
    votes = {float(vote) for row in rows for vote in row.labels[name]}
    if good is None:
        return Dimension(name, levels, (levels[-1] + levels[-2]) / 2)
    try:
        limit = float(good)
    except ValueError:
        msg = (
            f"--good {shown(good)}: the labels of {name} are numbers on a scale {levels[0]:g}-{levels[-1]:g}."
        )
        raise InputError(msg) from None
    if limit == 0 and votes <= {0.0, 1.0}:
        return Dimension(name, (0.0, 1.0), 0.5, flipped=True)
    return Dimension(name, levels, limit)


def _of_texts(name: str, rows: Sequence[LabelledAnswer], good: str | None) -> Dimension:
    texts = dict.fromkeys(_text(vote) for row in rows for vote in row.labels[name])
    if good is None:
        known = ", ".join(shown(text) for text in list(texts)[:_LISTED_TEXTS])
        msg = f"the labels of {name} are texts: say which is good with --good. There are: {known}."
        raise InputError(msg)
    if good not in texts:
        raise UnknownName(f"value of label {name}", good, list(texts)[:_LISTED_TEXTS])
    return Dimension(name, (0.0, 1.0), 0.5, text=good)


def _text(vote: float | str) -> str:
    return vote if isinstance(vote, str) else f"{vote:g}"


def _levels(file: LabelFile, name: str, rows: Sequence[LabelledAnswer]) -> tuple[float, ...]:
    """The levels that the file names; otherwise 0-1 or 1-5 if that holds all labels, else their range."""
    written = next((text for row in rows if (text := row.scales.get(name) or row.scales.get(""))), "")
    levels = _written(written)
    votes = [float(vote) for row in rows for vote in row.labels[name]]
    if levels is None:
        low, high = min(votes), max(votes)
        usual = next((s for s in ((0.0, 1.0), (1.0, 5.0)) if s[0] <= low and high <= s[1]), (low, high))
        return _steps(*usual)
    for row in rows:
        for vote in row.labels[name]:
            if not levels[0] <= float(vote) <= levels[-1]:
                what = f"label {shown(name)} is {vote:g}, outside its scale {levels[0]:g}-{levels[-1]:g}."
                raise fault(file.path, row.row, what)
    return levels


def _written(scale: str) -> tuple[float, ...] | None:
    if listed := _LISTED.match(scale):
        return tuple(sorted({float(text) for text in listed[0].split("|")}))
    if found := _RANGE.match(scale):
        return _steps(float(found[1]), float(found[2]))
    return None


def _steps(low: float, high: float) -> tuple[float, ...]:
    """Every whole number of a scale; only its ends where there are none, or too many."""
    whole = low.is_integer() and high.is_integer() and 0 < high - low < _MOST_LEVELS
    return tuple(map(float, range(int(low), int(high) + 1))) if whole else _ends(low, high)


def _ends(*both: float) -> tuple[float, ...]:
    low, high = sorted(both)
    return (low, high if high > low else low + 1)


# Who grades.
Grader = Literal["by_model", "by_stand_in", "by_function"]

SHARE = (0.0, 1.0)
# Fields of a judge's detail that are shares (0..1), not grades on the judge's own scale.
_SHARES = frozenset({"score", "recall", "claimed", "cosine"})


class JudgeName(NamedTuple):
    """`turn.completeness`: the judge as it is looked up, and the part of its verdict that is compared."""

    judge: str
    field: str = ""

    @classmethod
    def of(cls, given: str) -> "JudgeName":
        """Only judges of the shelf have parts; a file's name keeps its dots."""
        if any(mark in given for mark in ":/\\") or given.endswith(".toml") or "." not in given:
            return cls(given)
        judge, _, field = given.partition(".")
        return cls(judge, field)

    def __str__(self) -> str:
        return f"{self.judge}.{self.field}" if self.field else self.judge


class GradedRow(NamedTuple):
    """A row with the judge's score."""

    row: LabelledAnswer
    score: Score


class RowGrade(NamedTuple):
    """The compared number of one row, on `scale`."""

    row: LabelledAnswer
    value: float
    scale: tuple[float, float]


class LabelledRun:
    """One judge over many rows; what is graded by a model is kept beside the result, line by line."""

    def __init__(self, run_context: RunContext, judge: str, partial: Path | None = None) -> None:
        """`judge` is the name its scores are filed under; `partial` is where the lines are kept."""
        self.run_context, self.judge = run_context, judge
        chosen = [judging for judging in run_context.panel.judgings if judge in graders_of(judging)]
        self.panel = Panel(chosen)
        # Only a model's grades are worth keeping, and its rubric tells whether they still hold.
        self.rubric = str(getattr(chosen[0], "rubric_hash", "")) if chosen else ""
        self._partial = partial if self.rubric else None

    async def grade(
        self,
        rows: Sequence[LabelledAnswer],
        *,
        apart: str = "",
        progress: Callable[[Score], None] = lambda _: None,
    ) -> list[GradedRow]:
        """The score of every row, in their order; raises BudgetSpent, or what makes grading impossible."""
        contexts = [context_of(row, apart) for row in rows]
        kept = self._kept()
        found = [kept.get(_seal(context)) if kept else None for context in contexts]
        for score in filter(None, found):
            progress(score)
        waiting = iter([at for at, score in enumerate(found) if score is None])

        async def work() -> None:
            for at in waiting:
                await asyncio.sleep(0)  # judges that never wait would keep Ctrl-C waiting
                found[at] = score = await self._score(contexts[at])
                progress(score)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(len(rows), self.run_context.settings.calls)):
                    tasks.create_task(work())
        except BaseExceptionGroup as group:
            raise worst_of(group) from None
        return [GradedRow(row, score) for row, score in zip(rows, found, strict=True) if score is not None]

    def forget(self) -> None:
        """Drops the kept lines, once the result is stored."""
        if self._partial:
            self._partial.unlink(missing_ok=True)

    async def _score(self, context: GradingContext) -> Score:
        scores = await self.panel.grade(context)
        score = next(score for score in scores if score.judge == self.judge)
        if score.state != "failed":
            self._keep(context, score)
        return score

    def _keep(self, context: GradingContext, score: Score) -> None:
        if not self._partial:
            return
        line = json.dumps({"row": _seal(context), "score": score.model_dump(mode="json")}, ensure_ascii=False)
        try:
            self._partial.parent.mkdir(parents=True, exist_ok=True)
            with self._partial.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            msg = f"{self._partial}: cannot be written ({error.strerror})."
            raise InputError(msg) from None

    def _kept(self) -> dict[str, Score]:
        """What an interrupted sitting left, as far as it is of the same rubric."""
        found: dict[str, Score] = {}
        if not self._partial or not self._partial.is_file():
            return found
        for line in self._partial.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                kept = json.loads(line)
                score = Score.model_validate(kept["score"])
            except (ValueError, KeyError, TypeError):  # the last line may be cut off
                continue
            if score.rubric in ("", self.rubric):
                found[str(kept["row"])] = score
        return found


def grades_of(graded: Sequence[GradedRow], field: str = "") -> list[RowGrade]:
    """The compared numbers of the rows that were scored; an unknown field raises UnknownName."""
    scored = [each for each in graded if each.score.state == "scored" and each.score.raw is not None]
    if not field:
        return [RowGrade(row, score.raw or 0.0, score.scale) for row, score in scored]
    found = []
    for row, score in scored:
        value = score.detail.get(field)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found.append(RowGrade(row, float(value), SHARE if field in _SHARES else score.scale))
    if scored and not found:
        raise UnknownName("part of this judge's verdict", field, sorted(_grading_numbers(scored[0].score)))
    return found


def sample(rows: Sequence[LabelledAnswer], limit: int | None, seed: int) -> list[LabelledAnswer]:
    """So many rows by lot, in the order of the file."""
    if limit is None or limit >= len(rows):
        return list(rows)
    drawn = sorted(random.Random(seed).sample(range(len(rows)), limit))  # noqa: S311 - a sample, no secret
    return [rows[at] for at in drawn]


def judged_with(settings: Settings, judge: str, *, by_model: bool) -> Settings:
    """The settings under which this judge grades as in a run.

    Judges that share one call with others (`--judging combined`) share it here, too: another set of
    judges is another prompt, and a calibration holds for one prompt only.
    """
    together = by_model and settings.judging == "combined" and judge in settings.judges
    names = settings.judges if together else (judge,)
    rubrics = tuple(name for name in names if name == judge or isinstance(load_judge(name), Rubric))
    return settings.model_copy(update={"judges": rubrics})


def filed(run_context: RunContext, judge: str) -> str:
    """The name under which the scores of a judge are filed."""
    return list(run_context.judges)[run_context.settings.judges.index(judge)]


def graders_of(judging: JudgeCall) -> Collection[str]:
    """The names under which one judging files its scores."""
    mark = getattr(judging, "filed", "")
    rubrics: Any = getattr(judging, "rubrics", None) or filter(None, [getattr(judging, "rubric", None)])
    names = {f"{rubric.name}{mark}" for rubric in rubrics if isinstance(rubric, Rubric)}
    return names or {str(getattr(judging, "name", ""))}


def _grading_numbers(score: Score) -> list[str]:
    return [
        key
        for key, value in score.detail.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]


def _seal(context: GradingContext) -> str:
    """Stands for everything that a judge is shown."""
    return fingerprint(context.model_dump_json())


def worst_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What ended all: a bug of ours before an expected error, a spent budget last."""
    leaves = sorted(_leaves(group), key=lambda e: (isinstance(e, RehearsalError), isinstance(e, BudgetSpent)))
    return leaves[0]


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def forecast(run_context: RunContext, panel: Panel, contexts: Sequence[GradingContext]) -> Spending:
    """Calls, tokens and dollars at most; nothing where no model grades. Dollars are None without a price."""
    asked: list[Spending] = []
    endpoint, prices = run_context.endpoints["judge"], run_context.ledger.prices
    for judging in panel.judgings:
        if isinstance(judging, ModelJudge):
            form = GRADES + GRADE * (len(judging.rubrics) - 1)
            size = sum(_size(run_context, each, judging.rubrics, alone=judging.alone) for each in contexts)
            model = judging.model.endpoint.model
            calls = len(contexts) * judging.votes
            asked.append(prices.spending(model, calls, size * judging.votes, form * calls))
        elif endpoint and isinstance(judging, FunctionJudge):
            for name in set(graders_of(judging)) & set(shelves.form_names()):
                size = sum(_size(run_context, each, [load_form(name)], alone=True) for each in contexts)
                calls = len(contexts)
                asked.append(prices.spending(endpoint.model, calls, size, GRADE * calls))
    return together(asked)


def _size(
    run_context: RunContext, context: GradingContext, forms: Sequence[ReplySchema], *, alone: bool
) -> int:
    messages = run_context.grading.frame.prompt(context, forms, alone=alone)
    return sum(tokens(message["content"]) for message in messages)
