"""Answers labelled by people: their files, the dimensions of the labels, and a judge's grades of them.

A row is a question with a bot's answer, its passages, and what people say of it:

    {"question": "...", "answer": "...", "contexts": ["..."], "labels": {"correct": [5, 4], "tone": "rude"}}

or, in a table, one column for each label: `correct` with `5|4` in it, for two annotators. Each label is a
`Dimension`, which says how it is read: on which scale, and from which value on an answer is good.

    numbers on a scale 1-5                 good from 4.5 on: what rounds to the top
    --good 3.5                             good from 3.5 on
    0 and 1, --good 0                      0 is the good one: `hallucinated`
    --good "<=2"                           low numbers are the good ones
    texts, --good correct                  that text is good, every other one is not

A low-is-good scale is turned round when it is read, so that everything behind it knows one direction only.

`labelled_context` makes of a row what a judge sees in a run.
"""

import contextlib
import hashlib
import math
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from simulator.cases.case import case_of
from simulator.cases.cases import read_cases
from simulator.cases.files import files_of, read_bytes
from simulator.cases.headings import field_of, has_question, is_empty, is_extra, without_columns
from simulator.cases.logs import rated_rows
from simulator.cases.row import Row, RowFault
from simulator.cases.rows import read_rows
from simulator.cases.tables import split_sheet
from simulator.core.errors import CaseFileError, InputError, UnknownName
from simulator.core.messages import _, printable, quote
from simulator.core.roles import endpoints
from simulator.core.settings import Settings
from simulator.core.types import Answer, Case, Failure, GradingContext, Passage, Turn
from simulator.grading.rubric import Rubric, grades_whole, load_judge
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext

# One annotator's label: a number, or the text of a category.
Vote = float | str
_ENDINGS = re.compile(r"(\.(jsonl|ndjson|json|csv|tsv|tab|txt|xlsx|xlsm|gz))+$", re.IGNORECASE)
_NUMBER = r"-?\d+(?:\.\d+)?"
# A scale as a file states it: "1-4".
_RANGE = re.compile(rf"({_NUMBER})-({_NUMBER})")
# `--good "<=2"`: low labels are the good ones.
_LIMIT = re.compile(rf"\s*(<=|≤|≦|>=|≥|≧)?\s*({_NUMBER})\s*")
# A message lists at most this many texts that a label may be.
_LISTED_TEXTS = 12
# Of a scale with more steps (0-1000) only the ends are levels.
_MAX_LEVELS = 101


class LabelledAnswer(NamedTuple):
    """One answer with its labels by dimension: one vote for each annotator.

    `group` is what rows share that are not independent of each other, such as one conversation: intervals are
    drawn by groups. `scales` are as written, by dimension.
    """

    case: Case
    row: Row
    group: str
    labels: Mapping[str, tuple[Vote, ...]]
    scales: Mapping[str, JsonValue] = {}


class LabelFile(NamedTuple):
    """The rows of a file, the data set's name, and a hash of the file's bytes."""

    path: Path
    dataset: str
    rows: tuple[LabelledAnswer, ...]
    sha256: str

    @property
    def dimensions(self) -> list[str]:
        """The names of all labels, in the order of the file."""
        return list(dict.fromkeys(name for row in self.rows for name in row.labels))


def read_labels(path: str | Path) -> LabelFile:
    """Reads labelled answers from a JSONL, JSON, CSV, TSV or Excel file (also `.gz`).

    The columns are those of a case file with `answer` and `contexts`, beside them `labels` (an object of
    dimensions; in a table a column for each) and, if there are any, `scale`, `group` and `dataset`. Raises
    CaseFileError, with the line, for an invalid row.
    """
    path = Path(path)
    with without_columns():
        cases: Sequence[Case] = read_cases(path)
        rows = list(read_rows(path, has_question))
        # A log is read as one case per conversation, but people rate answers: each rated answer is a row.
        if any("recorded" in row.values for row in rows) and (rated := rated_rows(path)):
            rows = rated
            cases = [case_of(path, row, str(row.line)) for row in rows]
    answers = tuple(_labelled(path, case, row) for case, row in zip(cases, rows, strict=True))
    if not any(answer.labels for answer in answers):
        msg = _('{path}: it has no labels; add "labels": {{"NAME": number}} or a column.', path=path)
        raise CaseFileError(msg)
    # Several data sets in one file are called by the file's name.
    names = {str(row.values["dataset"]) for row in rows if not is_empty(row.values.get("dataset"))}
    file, _unused = split_sheet(path)
    dataset = names.pop() if len(names) == 1 else _ENDINGS.sub("", file.name)
    return LabelFile(
        path,
        printable(dataset),
        answers,
        hashlib.sha256(b"".join(map(read_bytes, files_of(file)))).hexdigest(),
    )


def labelled_context(row: LabelledAnswer, *, whole: bool = False) -> GradingContext:
    """The labelled answer as judges of a run would see it: turn 1, with its passages and history.

    As a `whole` conversation, the history is its earlier turns.
    """
    case = row.case
    text = case.answer or ""
    passages = tuple(Passage(id=str(at), text=passage) for at, passage in enumerate(case.contexts, 1))
    answer = Answer(
        text=text,
        passages=passages,
        shows_passages=bool(case.contexts),
        error=None if text.strip() else Failure(kind="empty", message=_("the answer is empty")),
    )
    turn = Turn(index=1, user=case.question, answer=answer)
    seen = GradingContext(conversation=f"calibration/{case.id}", case=case, persona="", turn=turn)
    if not whole:
        return seen
    # Messages are put together to turns: a desk that speaks twice has one answer, one that speaks first has
    # turn 1.
    earlier: list[Turn] = []
    for message in case.history:
        if message.role == "user" or not earlier:
            said = message.content if message.role == "user" else ""
            earlier.append(Turn(index=len(earlier) + 1, user=said, answer=Answer(text="")))
        if message.role == "assistant":
            last = earlier[-1]
            text = "\n".join(filter(None, (last.answer.text, message.content)))
            earlier[-1] = last.model_copy(update={"answer": Answer(text=text)})
    changes = {"history": (), "references": ((),) * len(earlier) + case.references}
    return seen.model_copy(
        update={
            "case": case.model_copy(update=changes),
            "earlier": tuple(earlier),
            "turn": turn.model_copy(update={"index": len(earlier) + 1}),
            "closing": "",
        }
    )


def _labelled(path: Path, case: Case, row: Row) -> LabelledAnswer:
    if case.answer is None and "answer" not in map(field_of, row.values):
        raise RowFault(path, row, _("no answer to grade; name a column 'answer'."))
    group, scales = row.values.get("group"), row.values.get("scale")
    # What people say of the answer is nothing that a judge may be told; of choices it is the right one.
    if not case.choices:
        case = case.model_copy(update={"label": None})
    return LabelledAnswer(
        case=case,
        row=row,
        group=case.id if is_empty(group) else str(group),
        labels=_labels(path, row),
        scales=scales if isinstance(scales, dict) else {},
    )


def _labels(path: Path, row: Row) -> dict[str, tuple[Vote, ...]]:
    """The votes by label: of the object `labels`, of a column `label`, and in a table of unknown columns."""
    labels = row.values.get("labels")
    values = dict(labels) if isinstance(labels, dict) else {}
    for column, value in row.values.items():
        # A column of a case (question, answer ...) is no label, and neither are notes and addresses of a log.
        is_unknown = row.cells and field_of(column) is None and not is_extra(column)
        if is_unknown or field_of(column) == "label":
            values.setdefault(column, value)
    votes = {n: _votes(path, row, n, value) for n, value in values.items() if not isinstance(value, dict)}
    return {name: vote for name, vote in votes.items() if vote}


def _votes(path: Path, row: Row, name: str, value: JsonValue) -> tuple[Vote, ...]:
    """One vote for each annotator; in a table they are separated by `|`."""
    if isinstance(value, str) and row.cells:
        value = list(value.split("|"))
    votes: list[Vote] = []
    for item in value if isinstance(value, list) else [value]:
        if is_empty(item):
            continue
        vote: Any = item.strip() if isinstance(item, str) else item
        with contextlib.suppress(TypeError, ValueError):
            vote = float(vote)
        if not isinstance(vote, str) and not (isinstance(vote, float) and math.isfinite(vote)):
            problem = _(
                "label {name}: {value} is neither a number nor a text.", name=quote(name), value=quote(item)
            )
            raise RowFault(path, row, problem)
        votes.append(vote)
    return tuple(votes)


class HumanGrade(NamedTuple):
    """People's grade of one answer: the mean, and the vote of each annotator; higher is better."""

    mean: float
    votes: tuple[float, ...]


class Dimension(NamedTuple):
    """How a label is read: a number from `good_from` on, or the category `text`, is good.

    `levels` are those of the scale, lowest first. `inverted` if low numbers are the good ones: then levels
    and `good_from` are those of the turned scale, on which a 2 of 1-5 is a 4.
    """

    name: str
    levels: tuple[float, ...]
    good_from: float
    text: str | None = None
    inverted: bool = False

    @property
    def is_binary(self) -> bool:
        """Whether an answer is either good or not: 0 and 1, or texts."""
        return self.levels == (0.0, 1.0)

    @property
    def good(self) -> str:
        """The condition for a good label, as people would write it."""
        if self.text is not None:
            return f"{self.name} = {self.text}"
        if not self.inverted:
            return f"{self.name} >= {self.good_from:g}"
        return f"{self.name} = 0" if self.is_binary else f"{self.name} <= {self._turned(self.good_from):g}"

    def _turned(self, number: float) -> float:
        return self.levels[0] + self.levels[-1] - number

    def human_grade(self, row: LabelledAnswer) -> HumanGrade | None:
        """People's grade of a row; None if nobody labelled it."""
        labels = row.labels.get(self.name)
        if not labels:
            return None
        if self.text is not None:
            votes = tuple(float(_text(vote) == self.text) for vote in labels)
        else:
            votes = tuple(self._turned(float(vote)) if self.inverted else float(vote) for vote in labels)
        return HumanGrade(sum(votes) / len(votes), votes)


def read_dimension(file: LabelFile, name: str, good: str | None = None) -> Dimension:
    """The dimension of that name; `good` is the lowest good number, `<=2`, 0 of 0 and 1, or the good text.

    Without `good`, numbers that round to the top of their scale are good; for texts it is required.
    Raises UnknownName for an unknown name or text, InputError for `good` that is missing or does not fit.
    """
    if name not in file.dimensions:
        raise UnknownName(_("label in {file}", file=file.path), name, file.dimensions)
    rows = [row for row in file.rows if name in row.labels]
    # One text among numbers makes categories of all: 1 is the text "1" then.
    if any(isinstance(vote, str) for row in rows for vote in row.labels[name]):
        return _of_texts(name, rows, good)
    levels = _levels(file, name, rows)
    votes = {float(vote) for row in rows for vote in row.labels[name]}
    if good is None:
        return Dimension(name, levels, (levels[-1] + levels[-2]) / 2)
    if (limit := _LIMIT.fullmatch(good)) is None:
        msg = _(
            "--good {good}: the labels of {name} are numbers on a scale {lowest:g}-{highest:g}.",
            good=quote(good),
            name=name,
            lowest=levels[0],
            highest=levels[-1],
        )
        raise InputError(msg)
    number, is_most = float(limit[2]), limit[1] in {"<=", "≤", "≦"}
    # Of 0 and 1, `--good 0` says that the lower one is good; so does `<=2` of a longer scale.
    if number == 0 and votes <= {0.0, 1.0} and limit[1] in {None, "<=", "≤", "≦"}:
        return Dimension(name, (0.0, 1.0), 0.5, inverted=True)
    if is_most:
        ends = levels[0] + levels[-1]
        turned = tuple(sorted(ends - level for level in levels))
        return Dimension(name, turned, ends - number, inverted=True)
    return Dimension(name, levels, number)


def _of_texts(name: str, rows: Sequence[LabelledAnswer], good: str | None) -> Dimension:
    texts = dict.fromkeys(_text(vote) for row in rows for vote in row.labels[name])
    if good is None:
        listed = tuple(quote(text) for text in list(texts)[:_LISTED_TEXTS])
        msg = _(
            "the labels of {name} are texts: say which is good with --good. There are: {listed}.",
            name=name,
            listed=listed,
        )
        raise InputError(msg)
    if good not in texts:
        raise UnknownName(_("value of label {name}", name=name), good, list(texts)[:_LISTED_TEXTS])
    return Dimension(name, (0.0, 1.0), 0.5, text=good)


def _text(vote: float | str) -> str:
    return vote if isinstance(vote, str) else f"{vote:g}"


def _levels(file: LabelFile, name: str, rows: Sequence[LabelledAnswer]) -> tuple[float, ...]:
    """The levels that the file states; otherwise 0-1 or 1-5 if all labels fit, else their range.

    Labels that happen to be 2, 3 and 4 are most likely on 1-5, and a file of ones alone on 0-1.
    """
    stated = next((ends for row in rows if (ends := _RANGE.fullmatch(str(row.scales.get(name))))), None)
    votes_of_rows = [(row, float(vote)) for row in rows for vote in row.labels[name]]
    low, high = (end(vote for _row, vote in votes_of_rows) for end in (min, max))
    usual = next((s for s in ((0.0, 1.0), (1.0, 5.0)) if s[0] <= low and high <= s[1]), (low, high))
    levels = _steps(float(stated[1]), float(stated[2])) if stated else _steps(*usual)
    for row, vote in votes_of_rows:
        if not levels[0] <= vote <= levels[-1]:
            problem = _(
                "label {name} is {vote:g}, outside its scale {lowest:g}-{highest:g}.",
                name=quote(name),
                vote=vote,
                lowest=levels[0],
                highest=levels[-1],
            )
            raise RowFault(file.path, row.row, problem)
    return levels


def _steps(low: float, high: float) -> tuple[float, ...]:
    """The whole numbers of a scale; only its ends if they are not whole, or too far apart.

    1, 5 -> 1, 2, 3, 4, 5; 0, 0.5 -> 0, 0.5.
    """
    if low.is_integer() and high.is_integer() and 0 < high - low < _MAX_LEVELS:
        return tuple(map(float, range(int(low), int(high) + 1)))
    low, high = sorted((low, high))
    return (low, high if high > low else low + 1)


def sample_rows(rows: Sequence[LabelledAnswer], limit: int | None, seed: int) -> list[LabelledAnswer]:
    """`limit` rows at random, in the order of the file; all of them if `limit` is None."""
    if limit is None or limit >= len(rows):
        return list(rows)
    places = sorted(random.Random(seed).sample(range(len(rows)), limit))  # noqa: S311 - a sample, no secret
    return [rows[at] for at in places]


def judging_context(settings: Settings, *judges: str, ledger: Ledger | None = None) -> RunContext:
    """What these judges grade with as they do in a run; there are no customers, and no bot.

    Judges that share their call with others (`--judging combined`) share it here, too: another set of
    judges is another prompt, and a calibration is valid for one prompt only.
    """
    by_role = endpoints(settings)
    # Judges that are not among the run's own would not share its call either.
    is_combined = by_role["judge"] and settings.judging == "combined" and {*judges} <= {*settings.judges}
    names = settings.judges if is_combined else judges

    def is_shared(name: str) -> bool:
        judge = load_judge(name)  # a rubric for turns shares its call
        return isinstance(judge, Rubric) and not grades_whole(judge)

    kept = tuple(name for name in names if name in judges or is_shared(name))
    # A calibration has one grade for each answer.
    alone = settings.model_copy(update={"judges": kept, "retest": 0.0})
    return RunContext(alone, (), ledger, by_role=by_role)
