"""The figures of a matrix: means of each cell, and how the cells of a data set compare.

The cells of a data set share their rows, so they are compared row by row: grades by Wilcoxon's signed-rank
test, the F1 of labels by a permutation test. Each cell is compared with the highest one only, and as any of
the cells might have been that one, p is multiplied by the number of pairs of cells (Bonferroni).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import sqrt
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from simulator.addons.matrix.plan import CellId
from simulator.addons.matrix.record import CellRun, Record, State, run_of, state_of
from simulator.core.settings import stored_settings
from simulator.core.types import Case, Language, Results, Value
from simulator.models.pricing import total_spending
from simulator.stats.classification import (
    Classification,
    classifications,
    headline_f1,
    is_label_judge,
    per_class,
)
from simulator.stats.comparison import FEWEST_CASES, wilcoxon
from simulator.stats.figures import Summary
from simulator.stats.gate import gate_of
from simulator.stats.intervals import LEVEL
from simulator.stats.summary import bot_usage, figures_of
from simulator.storage.results import without_superseded
from simulator.storage.run_file import RUN_FILE, read_run

if TYPE_CHECKING:
    from pandas import Series

Floats = NDArray[np.float64]
# `equal`: every cell has the same.
# `highest`: leads, and at least one other may be as good; `best`: every other is worse, beyond chance.
Verdict = Literal[
    "best", "highest", "equal", "worse", "no_difference", "not_enough", "not_comparable", "alone"
]  # fmt: skip
# A row's own label and what was read from the answer (None: nothing), for each time it was asked.
LabelPairs = tuple[tuple[str, str | None], ...]

# Means that differ by less are the same: they were added up in another order.
_THE_SAME = 1e-9
# Permutations: more for many pairs of cells, whose p has to be smaller.
_SEED, _FEWEST, _FOR_A_PAIR, _MOST = 1234, 9_999, 200, 99_999
_BATCH = 2_000_000


# --- What is shown ---


class CellComparison(Value):
    """One cell compared with the one with the highest mean, by the rows that both have.

    `difference` (-1..1) is this one less that one, with its standard error; `p` is as corrected. Of the
    leading cell itself, `open` says to how many others no difference is shown.
    """

    verdict: Verdict
    to: str = ""
    rows: int = 0
    difference: float | None = None
    stderr: float | None = None
    p: float | None = None
    open: int = 0


class JudgeFigures(Value):
    """One judge in one cell: the mean (0..1) of `n` graded rows of those `planned`, with its standard error.

    `against` is None in a cell that takes no part in the comparison.
    """

    mean: float | None
    stderr: float | None
    n: int
    planned: int
    failed: int = 0
    against: CellComparison | None = None


class Labels(Value):
    """How well a cell predicts labels (0..1)."""

    accuracy: float
    accuracy_stderr: float | None
    f1: float
    f1_stderr: float | None


class CellFigures(Value):
    """One cell. `run` is the folder of its run; `error` says why there is none.

    `silent` are rows to which the model gave no answer, `not_extracted` those from whose answer something
    that was looked for could not be read. `against` is by what decides: F1 of labels, or the judge that does.
    `graded_usd` is what the run itself paid for, `answers_usd` the price of the answers' tokens: None where
    nobody knows, and of the bundled bot, whose answers are part of what the run paid for. `answer_seconds` is
    the median of an answer.
    """

    cell: CellId
    state: State
    run: str = ""
    error: str = ""
    rows: int = 0
    silent: int = 0
    not_extracted: int = 0
    judges: dict[str, JudgeFigures] = Field(default={})
    labels: Labels | None = None
    against: CellComparison | None = None
    passed: bool | None = None
    incomplete: bool = False
    graded_usd: float | None = None
    answers_usd: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    answer_seconds: float | None = None
    seconds: float = 0.0
    offline: bool = False

    def is_best(self, judge: str) -> bool:
        """Whether the cell is better than every other by this judge, beyond chance."""
        found = self.judges.get(judge)
        return bool(found and found.against and found.against.verdict == "best")


class DataFigures(Value):
    """One data set: its judges in the order in which they were named, and its cells in the order shown.

    `primary` is the judge that decides; with `by_f1` F1 does, and the cells are sorted
    by it, the best first.
    """

    name: str
    judges: tuple[str, ...]
    primary: str
    cells: tuple[CellFigures, ...]
    by_f1: bool = False

    @property
    def best(self) -> str:
        """The key of the cell that is best beyond chance by what decides; empty without one."""
        return next((e.cell.key for e in self.cells if e.against and e.against.verdict == "best"), "")

    def deciding(self, cell: CellFigures) -> tuple[float, float, float] | None:
        """F1, or the mean of the deciding judge (0..1), with the ends of its interval of 95 %."""
        if self.by_f1:
            mean, stderr = (cell.labels.f1, cell.labels.f1_stderr) if cell.labels else (None, None)
        else:
            judge = cell.judges.get(self.primary)
            mean, stderr = (judge.mean, judge.stderr) if judge else (None, None)
        if mean is None:
            return None
        reach = 1.96 * (stderr or 0.0)
        return mean, max(0.0, mean - reach), min(1.0, mean + reach)


class MatrixFigures(Value):
    """A matrix as far as it has come; `language` is the one that most of its rows are in."""

    id: str
    title: str
    created: datetime
    language: Language
    data: tuple[DataFigures, ...]

    @property
    def cells(self) -> tuple[CellFigures, ...]:
        """All cells, data set after data set."""
        return tuple(cell for data in self.data for cell in data.cells)

    @property
    def open(self) -> tuple[CellFigures, ...]:
        """The cells that are not finished."""
        return tuple(cell for cell in self.cells if cell.state != "finished")

    @property
    def cost_usd(self) -> float | None:
        """Dollars of all runs; None as soon as one is unknown."""
        costs = [cell.graded_usd for cell in self.cells if cell.run]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


def as_json(found: MatrixFigures) -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals, dollars to 6."""
    states = Counter(cell.state for cell in found.cells)
    values = {
        "matrix": found.id,
        "title": found.title,
        "complete": not found.open,
        "cells": {"finished": 0, **states},
        "data": [
            {
                "name": data.name,
                "judges": data.judges,
                "primary": data.primary,
                "best": data.best or None,
                "sorted_by": "f1" if data.by_f1 else None,
                "cells": [
                    {
                        "prompt": cell.cell.prompt or None,
                        "model": cell.cell.model or None,
                        **cell.model_dump(mode="json", exclude={"cell"}),
                    }
                    for cell in data.cells
                ],
            }
            for data in found.data
        ],
        "cost_usd": found.cost_usd,
        "seconds": sum(cell.seconds for cell in found.cells),
    }
    return {key: _rounded(value, key) for key, value in values.items()}


def _rounded(value: Any, key: str = "") -> Any:
    """Four decimals; dollars with six, for a cell may cost less than a cent."""
    if isinstance(value, Mapping):
        return {name: _rounded(each, name) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return round(value, 6 if key.endswith("_usd") else 4) if isinstance(value, float) else value


# --- How cells compare ---


class CellScores(NamedTuple):
    """What a judge gave one cell: a value for each row that has one, by the row's id."""

    values: "Series[float]"
    rubrics: tuple[str, ...] = ()

    @property
    def figure(self) -> float:
        """The mean over the rows that have a value."""
        return self.values.mean()

    def against(self, best: "CellScores", leader: str, pairs: int) -> CellComparison:
        """Compared with the leading cell, by the rows that both have."""
        by = (self.values - best.values).dropna()
        rows, mean = len(by), by.mean()
        if self.rubrics and best.rubrics and set(self.rubrics) != set(best.rubrics):
            return CellComparison(verdict="not_comparable", to=leader, rows=rows)
        if rows < FEWEST_CASES:
            return CellComparison(
                verdict="not_enough", to=leader, rows=rows, difference=mean if rows else None
            )
        return _tested(leader, rows, mean, by.std() / sqrt(rows), pairs * wilcoxon(by.tolist()))


class ClassifiedRows(NamedTuple):
    """A cell as a classifier: what was read row by row, and the F1 (0..1) that it comes to."""

    rows: Mapping[str, LabelPairs]
    labels: tuple[str, ...]
    positive: str
    figure: float

    def against(self, best: "ClassifiedRows", leader: str, pairs: int) -> CellComparison:
        """Compared with the leading cell by F1, by the rows that both have.

        The permutation test exchanges at random which cell gave which answer to a row. Rows that both cells
        read alike are one kind, so that only how many of each kind are exchanged has to be drawn.
        """
        kinds = Counter((self.rows[at], best.rows[at]) for at in self.rows.keys() & best.rows.keys())
        rows = kinds.total()
        if rows < FEWEST_CASES:
            difference = self.figure - best.figure
            return CellComparison(verdict="not_enough", to=leader, rows=rows, difference=difference)
        labels = tuple(dict.fromkeys((*best.labels, *self.labels)))
        positive = labels.index(best.positive) if best.positive else None
        ones, bests = (_tables([pair[side] for pair in kinds], labels) for side in (0, 1))
        sizes = np.array(list(kinds.values()))

        def apart(exchanged: Floats) -> Floats:
            one, other = sizes @ ones + exchanged, sizes @ bests - exchanged
            shape = (*exchanged.shape[:-1], len(labels), len(labels) + 1)
            first, second = (headline_f1(per_class(each.reshape(shape)), positive) for each in (one, other))
            return first - second

        known = float(apart(np.zeros(ones.shape[1])))
        moves = bests - ones
        moving = moves.any(axis=1)
        if not moving.any():
            return _tested(leader, rows, known, None, 1.0)
        random, draws = np.random.default_rng(_SEED), min(_MOST, max(_FEWEST, _FOR_A_PAIR * pairs))
        step, as_much = max(1, _BATCH // max(int(moving.sum()), ones.shape[1])), 0
        for at in range(0, draws, step):
            drawn = random.binomial(sizes[moving], 0.5, size=(min(step, draws - at), int(moving.sum())))
            as_much += int((np.abs(apart(drawn.astype(float) @ moves[moving])) >= abs(known) - 1e-12).sum())
        return _tested(leader, rows, known, None, pairs * (as_much + 1) / (draws + 1))


def _tables(rows: Sequence[LabelPairs], labels: Sequence[str]) -> Floats:
    """What each kind of row adds to the flat table of expected by predicted labels; last is no prediction."""
    place = {label: at for at, label in enumerate(labels)}
    tables = np.zeros((len(rows), len(labels) * (len(labels) + 1)))
    for row, pairs in enumerate(rows):
        for expected, predicted in pairs:
            column = len(labels) if predicted is None else place.get(predicted, len(labels))
            tables[row, place[expected] * (len(labels) + 1) + column] += 1
    return tables


def _tested(leader: str, rows: int, difference: float, stderr: float | None, p: float) -> CellComparison:
    p = min(1.0, p)
    worse = p < 1 - LEVEL and difference < 0
    return CellComparison(
        verdict="worse" if worse else "no_difference",
        to=leader,
        rows=rows,
        difference=difference,
        stderr=stderr,
        p=p,
    )


_Graded = TypeVar("_Graded", CellScores, ClassifiedRows)


def against_best(cells: Mapping[str, _Graded]) -> dict[str, CellComparison]:
    """Each cell of a data set, by its key, compared with the one with the highest figure.

    All are `equal` where they have the same.
    """
    figures = {key: cell.figure for key, cell in cells.items()}
    if len(cells) < 2:
        return {key: CellComparison(verdict="alone") for key in cells}
    if max(figures.values()) - min(figures.values()) < _THE_SAME:
        return {key: CellComparison(verdict="equal", difference=0.0) for key in cells}
    leader = max(figures, key=figures.__getitem__)
    pairs = len(cells) * (len(cells) - 1) // 2
    others = {key: cell.against(cells[leader], leader, pairs) for key, cell in cells.items() if key != leader}
    verdicts = [each.verdict for each in others.values()]
    still_open = sum(verdict != "worse" for verdict in verdicts)
    verdict: Verdict = "highest" if still_open else "best"
    if set(verdicts) <= {"not_enough", "not_comparable"}:
        verdict = verdicts[0]
    return {leader: CellComparison(verdict=verdict, to=leader, open=still_open)} | others


# --- What the runs of the cells hold ---


class _GradedCell(NamedTuple):
    """A cell as read: its figures, what each judge gave each row, its labels, and its rows by language."""

    figures: CellFigures
    graded: Mapping[str, CellScores] = {}
    labels: ClassifiedRows | None = None
    primary: str = ""
    languages: Mapping[str, int] = {}


def compared(record: Record, runs: Path) -> MatrixFigures:
    """The figures of a matrix as far as its runs have come; one data set is in memory at a time."""
    cells: dict[str, list[CellRun]] = {}
    for cell_run in record.cells:
        cells.setdefault(cell_run.cell.data, []).append(cell_run)
    languages: Counter[str] = Counter()
    data = tuple(_data(name, of_data, runs, languages) for name, of_data in cells.items())
    english = record.settings.get("language") == "en" or languages["en"] > languages["ja"]
    return MatrixFigures(
        id=record.id,
        title=record.title,
        created=record.created,
        language="en" if english else "ja",
        data=data,
    )


def _data(name: str, cells: Iterable[CellRun], runs: Path, languages: Counter[str]) -> DataFigures:
    read = [_cell(cell_run, runs) for cell_run in cells]
    for each in read:
        languages.update(each.languages)
    judges = tuple(dict.fromkeys(judge for each in read for judge in each.figures.judges))
    whole = {each.figures.cell.key: each for each in read if each.figures.state == "finished"}
    by_f1 = any(each.labels for each in read)
    # Where F1 decides, the share of right labels is shown, but not compared.
    verdicts = {
        judge: against_best({key: each.graded[judge] for key, each in whole.items() if judge in each.graded})
        for judge in judges
        if not (by_f1 and is_label_judge(judge))
    }
    primary = next((each.primary for each in read if each.primary), "")
    deciding = verdicts.get(primary, {})
    if by_f1:
        deciding = against_best({key: each.labels for key, each in whole.items() if each.labels})
    figures = []
    for cell in (each.figures for each in read):
        key = cell.cell.key
        compared_judges = {
            judge: each.model_copy(update={"against": verdicts.get(judge, {}).get(key)})
            for judge, each in cell.judges.items()
        }
        figures.append(cell.model_copy(update={"judges": compared_judges, "against": deciding.get(key)}))
    if by_f1:
        figures.sort(key=lambda cell: -cell.labels.f1 if cell.labels else 1.0)
    return DataFigures(name=name, judges=judges, primary=primary, cells=tuple(figures), by_f1=by_f1)


def _cell(cell_run: CellRun, runs: Path) -> _GradedCell:
    path = runs / cell_run.run / RUN_FILE
    run = run_of(path) if cell_run.run else None
    state = state_of(cell_run, run)
    if run is None:
        return _GradedCell(CellFigures(cell=cell_run.cell, state=state, error=cell_run.error))
    results = without_superseded(read_run(path))
    settings = stored_settings(run.settings)
    summary = figures_of(results, settings)
    gate = gate_of(results, summary, settings)
    found = classifications(results)
    cases: dict[str, Case] = {}
    languages: Counter[str] = Counter()
    seconds: list[float] = []
    for conversation in results.conversations:
        cases[conversation.id] = conversation.case
        languages[conversation.case.language] += 1
        answers = (turn.answer for turn in conversation.turns)
        seconds += [each.seconds for each in answers if each.seconds is not None and not each.error]
    used = list(bot_usage(results).values())
    figures = CellFigures(
        cell=cell_run.cell,
        state=state,
        run=cell_run.run,
        error=cell_run.error,
        rows=summary.planned,
        silent=sum(summary.bot_failures.values()),
        not_extracted=len(
            {(s.conversation, s.turn) for s in results.scores if s.detail.get("not_extracted")}
        ),
        judges={
            name: JudgeFigures(mean=j.mean, stderr=j.stderr, n=j.n, planned=j.planned, failed=j.failed)
            for name, j in summary.judges.items()
        },
        # By the first judge of labels where there are several.
        labels=Labels.model_validate(found[0], from_attributes=True) if found else None,
        passed=gate.passed,
        incomplete=gate.incomplete,
        graded_usd=summary.cost_usd,
        answers_usd=total_spending(used).cost_usd if used else None,
        tokens_in=sum(usage.tokens_in for usage in results.conversations.usages()),
        tokens_out=sum(usage.tokens_out for usage in results.conversations.usages()),
        answer_seconds=median(seconds) if seconds else None,
        seconds=summary.seconds,
        offline=summary.offline,
    )
    classified = _classified(results, found[0], cases) if found else None
    return _GradedCell(figures, _graded(results, summary, cases), classified, summary.primary, languages)


def _graded(results: Results, summary: Summary, cases: Mapping[str, Case]) -> dict[str, CellScores]:
    """What each judge gave each row: the mean over its repeats. `cases` has the row of a conversation."""
    from pandas import DataFrame  # a second, and only once there are runs to compare

    table = DataFrame.from_records(
        [
            (score.judge, cases[score.conversation].id, score.value)
            for score in results.scores
            if score.state == "scored" and score.value is not None and score.conversation in cases
        ],
        columns=["judge", "row", "value"],
    )
    return {
        str(judge): CellScores(of_judge.groupby("row")["value"].mean(), summary.judges[str(judge)].rubrics)
        for judge, of_judge in table.groupby("judge")
        if judge in summary.judges
    }


def _classified(results: Results, found: Classification, cases: Mapping[str, Case]) -> ClassifiedRows:
    """What the judge of `found` read, row by row."""
    rows: dict[str, list[tuple[str, str | None]]] = {}
    for score in results.scores.of_judge(found.judge, "scored"):
        if case := cases.get(score.conversation):
            expected, predicted = score.detail.get("expected", case.label), score.detail.get("predicted")
            pair = (str(expected), None if predicted is None else str(predicted))
            rows.setdefault(case.id, []).append(pair)
    every = {at: tuple(sorted(each, key=str)) for at, each in rows.items()}
    return ClassifiedRows(every, found.labels, found.positive, found.f1)
