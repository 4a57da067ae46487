"""The figures of a matrix: means of each cell, and how the cells of a data set compare."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from simulator.addons.matrix.plan import CellId
from simulator.addons.matrix.record import CellRun, Record, State, run_of, state_of
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import Language, Results, Usage, Value
from simulator.models.pricing import Prices
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
from simulator.stats.summary import figures_of
from simulator.storage.results import without_superseded
from simulator.storage.run_file import RUN_FILE as RUN_FILE
from simulator.storage.run_file import read_run

Floats = NDArray[np.float64]
# `equal`: every cell has the same.
# `highest`: leads, and at least one other may be as good; `best`: every other is worse, beyond chance.
Verdict = Literal[
    "best", "highest", "equal", "worse", "no_difference", "not_enough", "not_comparable", "alone"
]  # fmt: skip


# Means that differ by less are the same: they were added up in another order.
_THE_SAME = 1e-9
# Of a normal distribution, for a range of 95 %.
_REACH = 1.96


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


class CellScores(NamedTuple):
    """What a judge gave one cell: a value for each row, in the data set's order, NaN where there is none."""

    values: Floats
    rubrics: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """The mean over the rows that have a value; NaN where none has."""
        known = self.values[~np.isnan(self.values)]
        return float(known.mean()) if len(known) else float("nan")


def against_best(graded: Mapping[str, CellScores]) -> dict[str, CellComparison]:
    """Each cell of a data set, by its key, compared with the best of those that were graded alike."""
    return against_highest(
        {key: each.mean for key, each in graded.items()},
        lambda key, leader, pairs: _against(graded[key], graded[leader], leader, pairs),
    )


def against_highest(
    means: Mapping[str, float], against: Callable[[str, str, int], CellComparison]
) -> dict[str, CellComparison]:
    """Each cell compared with the one with the highest figure; all are `equal` where they have the same.

    `against` compares a cell with the leading one; its third argument is the number of pairs of cells.
    """
    able = {key: mean for key, mean in means.items() if not np.isnan(mean)}
    if len(able) < 2:
        return {key: CellComparison(verdict="alone") for key in able}
    if max(able.values()) - min(able.values()) < _THE_SAME:
        return {key: CellComparison(verdict="equal", difference=0.0) for key in able}
    leader = max(able, key=able.__getitem__)
    pairs = len(able) * (len(able) - 1) // 2
    found = {key: against(key, leader, pairs) for key in able if key != leader}
    return {leader: _leading(found, leader)} | found


def _leading(others: Mapping[str, CellComparison], leader: str) -> CellComparison:
    verdicts = [each.verdict for each in others.values()]
    still_open = sum(verdict != "worse" for verdict in verdicts)
    if set(verdicts) <= {"not_enough", "not_comparable"}:
        return CellComparison(verdict=verdicts[0], to=leader, open=still_open)
    return CellComparison(verdict="highest" if still_open else "best", to=leader, open=still_open)


def _against(one: CellScores, best: CellScores, leader: str, pairs: int) -> CellComparison:
    by = one.values - best.values
    by = by[~np.isnan(by)]
    rows = len(by)
    if one.rubrics and best.rubrics and set(one.rubrics) != set(best.rubrics):
        return CellComparison(verdict="not_comparable", to=leader, rows=rows)
    if rows < FEWEST_CASES:
        mean = float(by.mean()) if rows else None
        return CellComparison(verdict="not_enough", to=leader, rows=rows, difference=mean)
    difference, p = float(by.mean()), min(1.0, pairs * wilcoxon(by.tolist()))
    beyond = p < 1 - LEVEL and difference < 0
    return CellComparison(
        verdict="worse" if beyond else "no_difference",
        to=leader,
        rows=rows,
        difference=difference,
        stderr=float(by.std(ddof=1)) / sqrt(rows),
        p=p,
    )


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
    nobody knows. `answer_seconds` is the median of an answer.
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


class MatrixFigures(Value):
    """A matrix as far as it has come; `language` is the one that most of its rows are in."""

    id: str
    title: str
    chain: bool = False
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


def is_best(cell: CellFigures, judge: str) -> bool:
    """Whether the cell is better than every other by this judge, beyond chance."""
    found = cell.judges.get(judge)
    return bool(found and found.against and found.against.verdict == "best")


class DecidingFigure(NamedTuple):
    """A mean (0..1) by which cells are compared, and the ends of its interval of 95 %."""

    mean: float
    low: float
    high: float


def deciding(cell: CellFigures, data: DataFigures) -> DecidingFigure | None:
    """F1, or the mean of the deciding judge; None where the cell has none."""
    judge = cell.judges.get(data.primary)
    if data.by_f1:
        mean, stderr = (cell.labels.f1, cell.labels.f1_stderr) if cell.labels else (None, None)
    else:
        mean, stderr = (judge.mean, judge.stderr) if judge else (None, None)
    if mean is None:
        return None
    reach = _REACH * (stderr or 0.0)
    return DecidingFigure(mean, max(0.0, mean - reach), min(1.0, mean + reach))


def as_json(found: MatrixFigures) -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals."""
    return {
        "matrix": found.id,
        "title": found.title,
        "chain": found.chain,
        "complete": not found.open,
        "cells": {state: sum(c.state == state for c in found.cells) for state in _states(found)},
        "data": [_data_json(data) for data in found.data],
        "cost_usd": _rounded(found.cost_usd, 6),
        "seconds": _rounded(sum(cell.seconds for cell in found.cells)),
    }


def _states(found: MatrixFigures) -> list[str]:
    return list(dict.fromkeys(["finished", *(cell.state for cell in found.cells)]))


def _data_json(data: DataFigures) -> dict[str, Any]:
    return {
        "name": data.name,
        "judges": list(data.judges),
        "primary": data.primary,
        "best": data.best or None,
        "sorted_by": "f1" if data.by_f1 else None,
        "cells": [_cell_json(cell) for cell in data.cells],
    }


def _cell_json(cell: CellFigures) -> dict[str, Any]:
    shown = cell.model_dump(mode="json", exclude={"cell", "judges", "labels"})
    judges = {name: _rounded(judge.model_dump(mode="json")) for name, judge in cell.judges.items()}
    labels = _rounded(cell.labels.model_dump()) if cell.labels else None
    names = {"prompt": cell.cell.prompt or None, "model": cell.cell.model or None}
    return names | _rounded(shown) | {"judges": judges, "labels": labels}  # type: ignore[no-any-return]


def _rounded(value: Any, places: int = 4) -> Any:
    """Four decimals; dollars with six, for a cell may cost less than a cent."""
    if isinstance(value, Mapping):
        return {key: _rounded(each, 6 if key.endswith("_usd") else 4) for key, each in value.items()}
    return round(value, places) if isinstance(value, float) else value


# A row's own label and what was read from the answer (None: nothing), for each time it was asked.
LabelPairs = tuple[tuple[str, str | None], ...]
_SEED = 1234
# Permutations: more for many pairs of cells, whose p has to be smaller.
_FEWEST, _FOR_A_PAIR, _MOST = 9_999, 200, 99_999
_BATCH = 2_000_000


class ClassifiedRows(NamedTuple):
    """A cell as a classifier: what was read row by row, and the F1 (0..1) that it comes to."""

    rows: Mapping[int, LabelPairs]
    labels: tuple[str, ...]
    positive: str
    f1: float


def classified_rows(results: Results, found: Classification, places: Mapping[str, int]) -> ClassifiedRows:
    """What the judge of `found` read; `places` has the row of each conversation."""
    own = {conversation.id: conversation.case.label for conversation in results.conversations}
    rows: dict[int, list[tuple[str, str | None]]] = {}
    for score in results.scores:
        if score.judge == found.judge and score.state == "scored" and score.conversation in places:
            expected = score.detail.get("expected", own[score.conversation])
            predicted = score.detail.get("predicted")
            pair = (str(expected), None if predicted is None else str(predicted))
            rows.setdefault(places[score.conversation], []).append(pair)
    every = {at: tuple(sorted(each, key=str)) for at, each in rows.items()}
    return ClassifiedRows(every, found.labels, found.positive, found.f1)


def f1_against_best(read: Mapping[str, ClassifiedRows]) -> dict[str, CellComparison]:
    """Each cell of a data set, by its key, compared by F1 with the one whose F1 is highest."""
    return against_highest(
        {key: each.f1 for key, each in read.items()},
        lambda key, leader, pairs: _f1_against(read[key], read[leader], leader, pairs),
    )


def _f1_against(one: ClassifiedRows, best: ClassifiedRows, leader: str, pairs: int) -> CellComparison:
    kinds = Counter((one.rows[at], best.rows[at]) for at in one.rows.keys() & best.rows.keys())
    rows = kinds.total()
    if rows < FEWEST_CASES:
        return CellComparison(verdict="not_enough", to=leader, rows=rows, difference=one.f1 - best.f1)
    labels = tuple(dict.fromkeys((*best.labels, *one.labels)))
    positive = labels.index(best.positive) if best.positive else None
    ones, bests = (_tables([pair[at] for pair in kinds], labels) for at in (0, 1))
    sizes = np.array(list(kinds.values()))
    difference, p = _permutation_test(ones, bests, sizes, len(labels), positive, pairs)
    p = min(1.0, pairs * p)
    beyond = p < 1 - LEVEL and difference < 0
    verdict = "worse" if beyond else "no_difference"
    return CellComparison(verdict=verdict, to=leader, rows=rows, difference=difference, p=p)


def _permutation_test(  # noqa: PLR0917 - the tables of two cells, and how they are read
    ones: Floats, bests: Floats, sizes: NDArray[np.int64], labels: int, positive: int | None, pairs: int
) -> tuple[float, float]:
    """How much the F1 of two cells differ, and its p by a permutation test."""

    def apart(exchanged: Floats) -> Floats:
        one, best = sizes @ ones + exchanged, sizes @ bests - exchanged
        shape = (*exchanged.shape[:-1], labels, labels + 1)
        first, second = (headline_f1(per_class(each.reshape(shape)), positive) for each in (one, best))
        return first - second

    known = float(apart(np.zeros(ones.shape[1])))
    moves = bests - ones
    other = moves.any(axis=1)
    if not other.any():
        return known, 1.0
    random, draws = np.random.default_rng(_SEED), min(_MOST, max(_FEWEST, _FOR_A_PAIR * pairs))
    step, as_much = max(1, _BATCH // max(int(other.sum()), ones.shape[1])), 0
    for at in range(0, draws, step):
        drawn = random.binomial(sizes[other], 0.5, size=(min(step, draws - at), int(other.sum())))
        as_much += int((np.abs(apart(drawn.astype(float) @ moves[other])) >= abs(known) - 1e-12).sum())
    return known, (as_much + 1) / (draws + 1)


def _tables(rows: Sequence[LabelPairs], labels: Sequence[str]) -> Floats:
    """What each kind of row adds to the flat table of expected by predicted labels; last is no prediction."""
    place = {label: at for at, label in enumerate(labels)}
    tables = np.zeros((len(rows), len(labels) * (len(labels) + 1)))
    for row, pairs in enumerate(rows):
        for expected, predicted in pairs:
            column = len(labels) if predicted is None else place.get(predicted, len(labels))
            tables[row, place[expected] * (len(labels) + 1) + column] += 1
    return tables


# Its model is one of the run's own roles: what its answers cost stands in the run already.
_OWN_BOT = "demo"


class _GradedCell(NamedTuple):
    """A cell as read: its figures, what each judge gave each row, its labels, and its rows by language."""

    figures: CellFigures
    graded: Mapping[str, CellScores]
    labels: ClassifiedRows | None = None
    primary: str = ""
    languages: Mapping[str, int] = {}


class _Rows:
    """The rows of one data set: each has one place in the arrays of all its cells."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, case: str) -> int:
        """The place of a row."""
        return self._places.setdefault(case, len(self._places))

    def filled(self, sums: Mapping[int, tuple[float, int]]) -> Floats:
        """The mean of each row, NaN where it has none."""
        values = np.full(len(self._places), np.nan)
        for at, (total, n) in sums.items():
            values[at] = total / n
        return values

    def padded(self, values: Floats) -> Floats:
        """The values with NaN for rows that came later."""
        return np.append(values, np.full(len(self._places) - len(values), np.nan))


def compared(record: Record, runs: Path) -> MatrixFigures:
    """The figures of a matrix as far as its runs have come; one data set is in memory at a time."""
    names = list(dict.fromkeys(cell_run.cell.data for cell_run in record.cells))
    languages: Counter[str] = Counter()
    data = [
        _data(name, [cell_run for cell_run in record.cells if cell_run.cell.data == name], runs, languages)
        for name in names
    ]
    requested = record.settings.get("language")
    language: Language = "en" if requested == "en" or languages["en"] > languages["ja"] else "ja"
    return MatrixFigures(
        id=record.id,
        title=record.title,
        chain=record.chain,
        created=record.created,
        language=language,
        data=tuple(data),
    )


def _data(name: str, cells: Iterable[CellRun], runs: Path, languages: Counter[str]) -> DataFigures:
    rows = _Rows()
    read = [_cell(cell_run, runs, rows) for cell_run in cells]
    for each in read:
        languages.update(each.languages)
    judges = tuple(dict.fromkeys(judge for each in read for judge in each.figures.judges))
    whole = [each for each in read if each.figures.state == "finished"]
    by_f1 = any(each.labels for each in read)
    # Where F1 decides, the share of right labels is shown, but not compared.
    verdicts = {
        judge: _judge_against_best(judge, whole, rows)
        for judge in judges
        if not (by_f1 and is_label_judge(judge))
    }
    primary = next((each.primary for each in read if each.primary), "")
    labels = {each.figures.cell.key: each.labels for each in whole if each.labels}
    deciding = f1_against_best(labels) if by_f1 else verdicts.get(primary, {})
    figures = [_with_verdicts(each.figures, verdicts, deciding) for each in read]
    return DataFigures(
        name=name,
        judges=judges,
        primary=primary,
        cells=tuple(sorted(figures, key=_f1) if by_f1 else figures),
        by_f1=by_f1,
    )


def _f1(cell: CellFigures) -> float:
    return -cell.labels.f1 if cell.labels else 1.0


def _judge_against_best(judge: str, cells: Iterable[_GradedCell], rows: _Rows) -> dict[str, CellComparison]:
    graded = {each.figures.cell.key: each.graded[judge] for each in cells if judge in each.graded}
    return against_best({key: each._replace(values=rows.padded(each.values)) for key, each in graded.items()})


def _with_verdicts(
    cell: CellFigures,
    verdicts: Mapping[str, Mapping[str, CellComparison]],
    deciding: Mapping[str, CellComparison],
) -> CellFigures:
    key = cell.cell.key
    judges = {
        name: judge.model_copy(update={"against": verdicts.get(name, {}).get(key)})
        for name, judge in cell.judges.items()
    }
    return cell.model_copy(update={"judges": judges, "against": deciding.get(key)})


def _cell(cell_run: CellRun, runs: Path, rows: _Rows) -> _GradedCell:
    path = runs / cell_run.run / RUN_FILE
    run = run_of(path) if cell_run.run else None
    state = state_of(cell_run, run)
    if run is None:
        return _GradedCell(CellFigures(cell=cell_run.cell, state=state, error=cell_run.error), {})
    results = without_superseded(read_run(path))
    settings = stored_settings(run.settings)
    summary = figures_of(results, settings)
    by_judge = classifications(results)
    figures = _figures(cell_run, state, results, summary, settings)
    figures = figures.model_copy(update={"labels": _labels(by_judge)})
    places = {conversation.id: rows.place(conversation.case.id) for conversation in results.conversations}
    labels = classified_rows(results, by_judge[0], places) if by_judge else None
    languages = Counter[str](conversation.case.language for conversation in results.conversations)
    return _GradedCell(figures, _graded(results, summary, places, rows), labels, summary.primary, languages)


def _figures(
    cell_run: CellRun, state: State, results: Results, summary: Summary, settings: Settings
) -> CellFigures:
    gate = gate_of(results, summary, settings)
    used, seconds = _used(results)
    return CellFigures(
        cell=cell_run.cell,
        state=state,
        run=cell_run.run,
        error=cell_run.error,
        rows=summary.planned,
        silent=sum(summary.bot_failures.values()),
        not_extracted=_not_extracted(results),
        judges={
            name: JudgeFigures(mean=j.mean, stderr=j.stderr, n=j.n, planned=j.planned, failed=j.failed)
            for name, j in summary.judges.items()
        },
        passed=gate.passed,
        incomplete=gate.incomplete,
        graded_usd=summary.cost_usd,
        answers_usd=None if settings.adapter == _OWN_BOT else _priced(used.values(), Prices.of(settings)),
        tokens_in=sum(each.tokens_in for each in used.values()),
        tokens_out=sum(each.tokens_out for each in used.values()),
        answer_seconds=median(seconds) if seconds else None,
        seconds=summary.seconds,
        offline=summary.offline,
    )


def _labels(found: Sequence[Classification]) -> Labels | None:
    """How well labels were predicted; by the first judge of labels where there are several."""
    names = ("accuracy", "accuracy_stderr", "f1", "f1_stderr")
    return Labels(**{name: getattr(found[0], name) for name in names}) if found else None


def _used(results: Results) -> tuple[dict[str, Usage], list[float]]:
    """The tokens of all answers by model, and the seconds of each answer."""
    used: dict[str, Usage] = {}
    seconds = []
    for conversation in results.conversations:
        for answer in (turn.answer for turn in conversation.turns):
            for usage in answer.usages:
                before = used.get(usage.model, Usage(model=usage.model))
                tokens = {"tokens_in": before.tokens_in + usage.tokens_in}
                tokens["tokens_out"] = before.tokens_out + usage.tokens_out
                used[usage.model] = before.model_copy(update=tokens)
            if answer.seconds is not None and not answer.error:
                seconds.append(answer.seconds)
    return used, seconds


def _priced(used: Iterable[Usage], prices: Prices) -> float | None:
    """Dollars of the answers' tokens; None where no usage was reported, or a price is unknown."""
    costs = [prices.cost_usd(each) for each in used]
    return None if not costs or None in costs else sum(cost for cost in costs if cost is not None)


def _not_extracted(results: Results) -> int:
    """The number of answers from which a judge could not extract what it looks for."""
    return len({(s.conversation, s.turn) for s in results.scores if s.detail.get("not_extracted")})


def _graded(
    results: Results, summary: Summary, places: Mapping[str, int], rows: _Rows
) -> dict[str, CellScores]:
    """What each judge gave each row: the mean over its repeats."""
    sums: dict[str, dict[int, tuple[float, int]]] = {}
    for score in results.scores:
        if score.state == "scored" and score.value is not None and score.conversation in places:
            of_judge = sums.setdefault(score.judge, {})
            total, n = of_judge.get(places[score.conversation], (0.0, 0))
            of_judge[places[score.conversation]] = total + score.value, n + 1
    return {
        judge: CellScores(rows.filled(found), summary.judges[judge].rubrics)
        for judge, found in sums.items()
        if judge in summary.judges
    }
