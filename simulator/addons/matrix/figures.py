"""What a matrix comes to: the figures of each cell, as frozen values that every report shows."""

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

from simulator.addons.matrix.plan import Cell
from simulator.addons.matrix.record import CellRun, Record, State, run_of, state_of
from simulator.core.settings import Settings, from_run
from simulator.core.types import Language, Results, Usage, Value
from simulator.models.pricing import Prices
from simulator.stats.classification import Classification, classifications, headline, is_label, per_class
from simulator.stats.comparison import FEWEST_CASES
from simulator.stats.exact_tests import wilcoxon
from simulator.stats.figures import Summary
from simulator.stats.intervals import LEVEL
from simulator.stats.outcome import figures_of, gate_of
from simulator.storage.results import counted
from simulator.storage.run_file import NAME as RUN_FILE
from simulator.storage.run_file import read_run

Floats = NDArray[np.float64]
# `equal`: every cell has the same.
# `highest`: leads, and at least one other may be as good; `best`: every other is worse, beyond chance.
Verdict = Literal[
    "best", "highest", "equal", "worse", "no_difference", "not_enough", "not_comparable", "alone"
]  # fmt: skip


# Means that differ by less are the same: they were added up in another order.
_THE_SAME = 1e-9


class Against(Value):
    """One cell held against the one with the highest mean, by the rows that both have.

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


def against_best(graded: Mapping[str, CellScores]) -> dict[str, Against]:
    """Each cell of a data set, by its key, held against the best of those that were graded alike."""
    return against_highest(
        {key: each.mean for key, each in graded.items()},
        lambda key, leader, pairs: _against(graded[key], graded[leader], leader, pairs),
    )


def against_highest(
    means: Mapping[str, float], against: Callable[[str, str, int], Against]
) -> dict[str, Against]:
    """Each cell held against the one with the highest figure; where all have the same, none is that.

    `against` holds one cell against the leading one; its third argument is the number of pairs.
    """
    able = {key: mean for key, mean in means.items() if not np.isnan(mean)}
    if len(able) < 2:
        return {key: Against(verdict="alone") for key in able}
    if max(able.values()) - min(able.values()) < _THE_SAME:
        return {key: Against(verdict="equal", difference=0.0) for key in able}
    leader = max(able, key=able.__getitem__)
    pairs = len(able) * (len(able) - 1) // 2
    found = {key: against(key, leader, pairs) for key in able if key != leader}
    return {leader: _leading(found, leader)} | found


def _leading(others: Mapping[str, Against], leader: str) -> Against:
    verdicts = [each.verdict for each in others.values()]
    still_open = sum(verdict != "worse" for verdict in verdicts)
    if set(verdicts) <= {"not_enough", "not_comparable"}:
        return Against(verdict=verdicts[0], to=leader, open=still_open)
    return Against(verdict="highest" if still_open else "best", to=leader, open=still_open)


def _against(one: CellScores, best: CellScores, leader: str, pairs: int) -> Against:
    by = one.values - best.values
    by = by[~np.isnan(by)]
    rows = len(by)
    if one.rubrics and best.rubrics and set(one.rubrics) != set(best.rubrics):
        return Against(verdict="not_comparable", to=leader, rows=rows)
    if rows < FEWEST_CASES:
        mean = float(by.mean()) if rows else None
        return Against(verdict="not_enough", to=leader, rows=rows, difference=mean)
    difference, p = float(by.mean()), min(1.0, pairs * wilcoxon(by.tolist()))
    beyond = p < 1 - LEVEL and difference < 0
    return Against(
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
    against: Against | None = None


class Labels(Value):
    """How well a cell told labels apart (0..1)."""

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

    cell: Cell
    state: State
    run: str = ""
    error: str = ""
    rows: int = 0
    silent: int = 0
    not_extracted: int = 0
    judges: dict[str, JudgeFigures] = Field(default={})
    labels: Labels | None = None
    against: Against | None = None
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
Told = tuple[tuple[str, str | None], ...]
_SEED = 1234
# So often answers are exchanged: more for many pairs of cells, whose p has to be smaller.
_FEWEST, _FOR_A_PAIR, _MOST = 9_999, 200, 99_999
_AT_ONCE = 2_000_000


class Read(NamedTuple):
    """A cell as a classifier: what was read row by row, and the F1 (0..1) that it comes to."""

    rows: Mapping[int, Told]
    labels: tuple[str, ...]
    positive: str
    f1: float


def read_of(results: Results, found: Classification, places: Mapping[str, int]) -> Read:
    """What the judge of `found` read; `places` has the row of each conversation."""
    own = {conversation.id: conversation.case.label for conversation in results.conversations}
    rows: dict[int, list[tuple[str, str | None]]] = {}
    for score in results.scores:
        if score.judge == found.judge and score.state == "scored" and score.conversation in places:
            expected = score.detail.get("expected", own[score.conversation])
            predicted = score.detail.get("predicted")
            told = (str(expected), None if predicted is None else str(predicted))
            rows.setdefault(places[score.conversation], []).append(told)
    every = {at: tuple(sorted(each, key=str)) for at, each in rows.items()}
    return Read(every, found.labels, found.positive, found.f1)


def f1_against_best(read: Mapping[str, Read]) -> dict[str, Against]:
    """Each cell of a data set, by its key, held by F1 against the one whose F1 is highest."""
    return against_highest(
        {key: each.f1 for key, each in read.items()},
        lambda key, leader, pairs: _labelled_against(read[key], read[leader], leader, pairs),
    )


def _labelled_against(one: Read, best: Read, leader: str, pairs: int) -> Against:
    kinds = Counter((one.rows[at], best.rows[at]) for at in one.rows.keys() & best.rows.keys())
    rows = kinds.total()
    if rows < FEWEST_CASES:
        return Against(verdict="not_enough", to=leader, rows=rows, difference=one.f1 - best.f1)
    labels = tuple(dict.fromkeys((*best.labels, *one.labels)))
    positive = labels.index(best.positive) if best.positive else None
    ones, bests = (_tables([pair[at] for pair in kinds], labels) for at in (0, 1))
    sizes = np.array(list(kinds.values()))
    difference, p = _exchanged(ones, bests, sizes, len(labels), positive, pairs)
    p = min(1.0, pairs * p)
    beyond = p < 1 - LEVEL and difference < 0
    verdict = "worse" if beyond else "no_difference"
    return Against(verdict=verdict, to=leader, rows=rows, difference=difference, p=p)


def _exchanged(  # noqa: PLR0917 - the tables of two cells, and how they are read
    ones: Floats, bests: Floats, sizes: NDArray[np.int64], labels: int, positive: int | None, pairs: int
) -> tuple[float, float]:
    """How much the F1 of two cells differ, and how probable that much is where they are alike."""

    def apart(exchanged: Floats) -> Floats:
        one, best = sizes @ ones + exchanged, sizes @ bests - exchanged
        shape = (*exchanged.shape[:-1], labels, labels + 1)
        first, second = (headline(per_class(each.reshape(shape)), positive) for each in (one, best))
        return first - second

    known = float(apart(np.zeros(ones.shape[1])))
    moves = bests - ones
    other = moves.any(axis=1)
    if not other.any():
        return known, 1.0
    random, draws = np.random.default_rng(_SEED), min(_MOST, max(_FEWEST, _FOR_A_PAIR * pairs))
    step, as_much = max(1, _AT_ONCE // max(int(other.sum()), ones.shape[1])), 0
    for at in range(0, draws, step):
        drawn = random.binomial(sizes[other], 0.5, size=(min(step, draws - at), int(other.sum())))
        as_much += int((np.abs(apart(drawn.astype(float) @ moves[other])) >= abs(known) - 1e-12).sum())
    return known, (as_much + 1) / (draws + 1)


def _tables(told: Sequence[Told], labels: Sequence[str]) -> Floats:
    """What each kind of row adds to the table of labels by what was read, flat; last is what was not."""
    place = {label: at for at, label in enumerate(labels)}
    found = np.zeros((len(told), len(labels) * (len(labels) + 1)))
    for row, each in enumerate(told):
        for expected, predicted in each:
            read = len(labels) if predicted is None else place.get(predicted, len(labels))
            found[row, place[expected] * (len(labels) + 1) + read] += 1
    return found


# Its model is one of the run's own roles: what its answers cost stands in the run already.
_OWN_BOT = "demo"


class _Read(NamedTuple):
    """A cell as read: its figures, what each judge gave each row, its labels, and its rows by language."""

    figures: CellFigures
    graded: Mapping[str, CellScores]
    labels: Read | None = None
    primary: str = ""
    languages: Mapping[str, int] = {}


class _Rows:
    """The rows of one data set: each has one place in the arrays of all its cells."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, case: str) -> int:
        """Where a row stands."""
        return self._places.setdefault(case, len(self._places))

    def filled(self, sums: Mapping[int, tuple[float, int]]) -> Floats:
        """The mean of each row, NaN where it has none."""
        values = np.full(len(self._places), np.nan)
        for at, (total, n) in sums.items():
            values[at] = total / n
        return values

    def padded(self, values: Floats) -> Floats:
        """As long as there are rows by now."""
        return np.append(values, np.full(len(self._places) - len(values), np.nan))


def compared(record: Record, runs: Path) -> MatrixFigures:
    """Everything the runs of a matrix say, as far as they have come. One data set is held at a time."""
    names = list(dict.fromkeys(held.cell.data for held in record.cells))
    languages: Counter[str] = Counter()
    data = [
        _data(name, [held for held in record.cells if held.cell.data == name], runs, languages)
        for name in names
    ]
    asked = record.settings.get("language")
    language: Language = "en" if asked == "en" or languages["en"] > languages["ja"] else "ja"
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
    read = [_cell(held, runs, rows) for held in cells]
    for each in read:
        languages.update(each.languages)
    judges = tuple(dict.fromkeys(judge for each in read for judge in each.figures.judges))
    whole = [each for each in read if each.figures.state == "finished"]
    by_f1 = any(each.labels for each in read)
    # Where F1 decides, the share of right labels is shown, and nothing is held against it.
    verdicts = {
        judge: _comparing_against(judge, whole, rows) for judge in judges if not (by_f1 and is_label(judge))
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


def _comparing_against(judge: str, cells: Iterable[_Read], rows: _Rows) -> dict[str, Against]:
    graded = {each.figures.cell.key: each.graded[judge] for each in cells if judge in each.graded}
    return against_best({key: each._replace(values=rows.padded(each.values)) for key, each in graded.items()})


def _with_verdicts(
    cell: CellFigures, verdicts: Mapping[str, Mapping[str, Against]], deciding: Mapping[str, Against]
) -> CellFigures:
    key = cell.cell.key
    judges = {
        name: judge.model_copy(update={"against": verdicts.get(name, {}).get(key)})
        for name, judge in cell.judges.items()
    }
    return cell.model_copy(update={"judges": judges, "against": deciding.get(key)})


def _cell(held: CellRun, runs: Path, rows: _Rows) -> _Read:
    path = runs / held.run / RUN_FILE
    run = run_of(path) if held.run else None
    state = state_of(held, run)
    if run is None:
        return _Read(CellFigures(cell=held.cell, state=state, error=held.error), {})
    results = counted(read_run(path))
    settings = from_run(run.settings)
    summary = figures_of(results, settings)
    told = classifications(results)
    figures = _figures(held, state, results, summary, settings)
    figures = figures.model_copy(update={"labels": _labels(told)})
    places = {conversation.id: rows.place(conversation.case.id) for conversation in results.conversations}
    labels = read_of(results, told[0], places) if told else None
    languages = Counter[str](conversation.case.language for conversation in results.conversations)
    return _Read(figures, _graded(results, summary, places, rows), labels, summary.primary, languages)


def _figures(
    held: CellRun, state: State, results: Results, summary: Summary, settings: Settings
) -> CellFigures:
    gate = gate_of(results, summary, settings)
    used, seconds = _used(results)
    return CellFigures(
        cell=held.cell,
        state=state,
        run=held.run,
        error=held.error,
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
    """How labels were told apart; of the first judge of labels where there are several."""
    names = ("accuracy", "accuracy_stderr", "f1", "f1_stderr")
    return Labels(**{name: getattr(found[0], name) for name in names}) if found else None


def _used(results: Results) -> tuple[dict[str, Usage], list[float]]:
    """The tokens of all answers by model, and how long each answer took; a large run is not held for it."""
    used: dict[str, Usage] = {}
    seconds = []
    for conversation in results.conversations:
        for answer in (turn.answer for turn in conversation.turns):
            for told in answer.usages:
                before = used.get(told.model, Usage(model=told.model))
                tokens = {"tokens_in": before.tokens_in + told.tokens_in}
                tokens["tokens_out"] = before.tokens_out + told.tokens_out
                used[told.model] = before.model_copy(update=tokens)
            if answer.seconds is not None and not answer.error:
                seconds.append(answer.seconds)
    return used, seconds


def _priced(used: Iterable[Usage], prices: Prices) -> float | None:
    """Dollars of the answers' tokens; None where none were told, or a price is unknown."""
    costs = [prices.cost_usd(each) for each in used]
    return None if not costs or None in costs else sum(cost for cost in costs if cost is not None)


def _not_extracted(results: Results) -> int:
    """The answers from which a judge could not read what it looks for."""
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
