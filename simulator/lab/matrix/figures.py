"""The figures of a matrix: means of each cell, and how the cells of a data set compare.

The cells of a data set share their rows, so they are compared row by row by Wilcoxon's signed-rank test. Each
cell is compared with the highest one only, and as any of the cells might have been that one, p is multiplied
by the number of pairs of cells (Bonferroni).

    three cells, three pairs: a p of 0.02 of one against the highest counts as 0.06, "no difference shown"
    the highest is `best` where every other is worse, beyond chance, and `highest` where one may be as good

A cell is read from its own run, one data set at a time, so that a matrix of many runs needs no more memory
than its largest data set.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field, InstanceOf

from simulator import plugins
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import Case, Results, Value
from simulator.lab.matrix.plan import CellId
from simulator.lab.matrix.record import CellRun, Record, State, run_of, state_of
from simulator.models.pricing import total_spending
from simulator.results.comparison import FEWEST_CASES
from simulator.results.figures import Summary, rounded
from simulator.results.gate import Gate, gate_of
from simulator.results.intervals import LEVEL
from simulator.results.significance import wilcoxon
from simulator.results.summary import figures_of
from simulator.storage.run_file import RUN_FILE, read_run

if TYPE_CHECKING:
    from pandas import Series

# `highest`: leads, and at least one other may be as good; `best`: every other is worse, beyond chance.
Verdict = Literal["best", "highest", "worse", "no_difference", "not_enough", "not_comparable"]


# --- What is shown ---


class CellComparison(Value):
    """One cell compared with the one with the highest mean, by the rows that both have.

    `difference` (-1..1) is this one less that one; `p` is as corrected. Of the leading cell itself, `open`
    says to how many others no difference is shown. `to` is the key of the leading cell; `difference` and `p`
    are None where there are too few common rows, or where another rubric graded.
    """

    verdict: Verdict
    to: str = ""
    rows: int = 0
    difference: float | None = None
    p: float | None = None
    open: int = 0


class JudgeFigures(Value):
    """One judge in one cell: the mean (0..1) of `n` graded rows of those `planned`, with its error."""

    mean: float | None
    stderr: float | None
    n: int
    planned: int
    failed: int = 0


class Labels(Value):
    """How well a cell predicts labels (0..1)."""

    accuracy: float
    accuracy_stderr: float | None
    f1: float
    f1_stderr: float | None


class CellFigures(Value):
    """One cell. `run` is the folder of its run; `error` says why there is none.

    `silent` are rows to which the model gave no answer, `not_extracted` those from whose answer something
    that was looked for could not be read. `against` is by the judge that decides; None in a cell that takes
    no part in the comparison: one that is not finished, or alone.
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
    # By name, in the order of the run; `labels` is None of rows without labels.
    judges: dict[str, JudgeFigures] = Field(default={})
    labels: Labels | None = None
    against: CellComparison | None = None
    passed: bool | None = None
    incomplete: bool = False
    # What reports word the verdict of; not part of what `--json` prints.
    gate: InstanceOf[Gate] | None = Field(default=None, exclude=True)
    score: float | None = Field(default=None, exclude=True)
    graded_usd: float | None = None
    answers_usd: float | None = None
    answer_seconds: float | None = None
    trial: bool = False


class DataFigures(Value):
    """One data set: its judges in the order in which they were named, and its cells in the order shown.

    `primary` is the judge that decides. With labels the cells are sorted by F1, the best first (`by_f1`).
    """

    name: str
    judges: tuple[str, ...]
    primary: str
    cells: tuple[CellFigures, ...]
    by_f1: bool = False

    @property
    def best(self) -> str:
        """The key of the cell that is best beyond chance by what decides; empty without one."""
        return next(
            (cell.cell.key for cell in self.cells if cell.against and cell.against.verdict == "best"), ""
        )


class MatrixFigures(Value):
    """A matrix as far as it has come."""

    id: str
    created: datetime
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
        # A cell that never began has cost nothing, and is not unknown.
        costs = [cell.graded_usd for cell in self.cells if cell.run]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


def as_json(figures: MatrixFigures) -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals, but not dollars."""
    data = [
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
                    **rounded(cell.model_dump(mode="json", exclude={"cell"})),
                    "graded_usd": cell.graded_usd,
                    "answers_usd": cell.answers_usd,
                }
                for cell in data.cells
            ],
        }
        for data in figures.data
    ]
    return {
        "matrix": figures.id,
        "complete": not figures.open,
        "cells": {"finished": 0, **Counter(cell.state for cell in figures.cells)},
        "data": data,
        "cost_usd": figures.cost_usd,
    }


# --- How cells compare ---


class CellScores(NamedTuple):
    """What a judge gave one cell: a value for each row that has one, by the row's id."""

    values: "Series[float]"
    rubrics: tuple[str, ...] = ()

    def against(self, best: "CellScores", leader: str, pairs: int) -> CellComparison:
        """Compared with the leading cell, by the rows that both have."""
        # Rows that one of the two has no grade of are in neither mean.
        by = (self.values - best.values).dropna()
        rows, difference, p = len(by), by.mean() if len(by) else None, None
        verdict: Verdict = "no_difference"
        if self.rubrics and best.rubrics and set(self.rubrics) != set(best.rubrics):
            verdict, difference = "not_comparable", None
        elif rows < FEWEST_CASES:
            verdict = "not_enough"
        else:
            p = min(1.0, pairs * wilcoxon(by.tolist()))
            # The leader by F1 may be behind in rows read right: nobody is better than the highest.
            if p < 1 - LEVEL and by.mean() < 0:
                verdict = "worse"
        return CellComparison(verdict=verdict, to=leader, rows=rows, difference=difference, p=p)


def against_best(cells: Mapping[str, CellScores], f1: Mapping[str, float]) -> dict[str, CellComparison]:
    """Each cell of a data set, by its key, compared with the one with the highest mean, or the highest F1."""
    # Alone there is nothing to be better than.
    if len(cells) < 2:
        return {}
    figures = f1 or {key: cell.values.mean() for key, cell in cells.items()}
    # Of equals the first, in the order of the matrix.
    leader = max(cells, key=lambda key: figures.get(key, 0.0))
    pairs = len(cells) * (len(cells) - 1) // 2
    others = {key: cell.against(cells[leader], leader, pairs) for key, cell in cells.items() if key != leader}
    # Of the leader: whether all others are worse, or nothing can be said of any of them.
    verdicts = [difference.verdict for difference in others.values()]
    still_open = sum(verdict != "worse" for verdict in verdicts)
    verdict: Verdict = "highest" if still_open else "best"
    if set(verdicts) <= {"not_enough", "not_comparable"}:
        verdict = verdicts[0]
    return {leader: CellComparison(verdict=verdict, to=leader, open=still_open)} | others


# --- What the runs of the cells hold ---


class _GradedCell(NamedTuple):
    """A cell as read: its figures, what the deciding judge gave each row, and which judge that is."""

    figures: CellFigures
    graded: CellScores | None = None
    primary: str = ""


def compared(record: Record, runs: Path) -> MatrixFigures:
    """The figures of a matrix as far as its runs have come; one data set is in memory at a time."""
    cells: dict[str, list[CellRun]] = {}
    for cell_run in record.cells:
        cells.setdefault(cell_run.cell.data, []).append(cell_run)
    data = tuple(_data(name, of_data, runs) for name, of_data in cells.items())
    return MatrixFigures(id=record.id, created=record.created, data=data)


def _data(name: str, cells: Iterable[CellRun], runs: Path) -> DataFigures:
    read = [_cell(cell_run, runs) for cell_run in cells]
    # A cell that failed has none; the others name what there is.
    judges = tuple(dict.fromkeys(judge for run in read for judge in run.figures.judges))
    # Only finished cells are compared: the first half of a data set may be its easy one.
    whole = {run.figures.cell.key: run for run in read if run.figures.state == "finished"}
    f1 = {key: run.figures.labels.f1 for key, run in whole.items() if run.figures.labels}
    primary = next((run.primary for run in read if run.primary), "")
    graded = {key: run.graded for key, run in whole.items() if run.graded and run.primary == primary}
    against = against_best(graded, f1)
    figures = [run.figures.model_copy(update={"against": against.get(run.figures.cell.key)}) for run in read]
    if f1:
        figures.sort(key=lambda cell: -cell.labels.f1 if cell.labels else 1.0)
    return DataFigures(name=name, judges=judges, primary=primary, cells=tuple(figures), by_f1=bool(f1))


def _cell(cell_run: CellRun, runs: Path) -> _GradedCell:
    path = runs / cell_run.run / RUN_FILE
    run = run_of(path) if cell_run.run else None
    state = state_of(cell_run, run)
    # Not begun, or its file is gone: a row without figures, and the error if there is one.
    if run is None:
        return _GradedCell(CellFigures(cell=cell_run.cell, state=state, error=cell_run.error))
    results = read_run(path)
    settings = stored_settings(run.settings)
    summary = figures_of(results, settings)
    gate = gate_of(results, summary, settings)
    cases: dict[str, Case] = {}
    seconds: list[float] = []
    for conversation in results.conversations:
        cases[conversation.id] = conversation.case
        # An error says nothing of how long an answer takes.
        answers = (turn.answer for turn in conversation.turns)
        seconds += [answer.seconds for answer in answers if answer.seconds is not None and not answer.error]
    used = list(summary.money.bot.values())
    figures = CellFigures(
        cell=cell_run.cell,
        state=state,
        run=cell_run.run,
        error=cell_run.error,
        rows=summary.planned,
        silent=sum(summary.bot_failures.values()),
        # Turns, not scores: three judges of one output that was not there are one turn.
        not_extracted=len(
            {(s.conversation, s.turn) for s in results.scores if s.detail.get("not_extracted")}
        ),
        judges={
            name: JudgeFigures(mean=j.mean, stderr=j.stderr, n=j.n, planned=j.planned, failed=j.failed)
            for name, j in summary.scores.judges.items()
        },
        labels=_labels(results, summary, settings),
        passed=gate.passed,
        incomplete=gate.incomplete,
        gate=gate,
        score=summary.scores.score,
        graded_usd=summary.money.cost_usd,
        answers_usd=total_spending(used).cost_usd if used else None,
        answer_seconds=median(seconds) if seconds else None,
        trial=summary.trial,
    )
    return _GradedCell(figures, _graded(results, summary, cases), summary.scores.primary)


def _labels(results: Results, summary: Summary, settings: Settings) -> Labels | None:
    """The figures of labels, as the run's report has them; of the first judge where there are several."""
    for plugin in plugins.reporting(results, settings):
        for section in filter(None, (build(results, summary, settings) for build in plugin.sections)):
            if section.key == "classification":
                figures = next(iter(section.figures.values()))
                return Labels(**{key: figures[key] for key in Labels.model_fields})
    return None


def _graded(results: Results, summary: Summary, cases: Mapping[str, Case]) -> CellScores | None:
    """What the deciding judge gave each row, the mean over its repeats; `cases` are by conversation."""
    from pandas import DataFrame  # a second, and only once there are runs to compare

    primary = summary.scores.primary
    rows = [
        (cases[score.conversation].id, score.value)
        for score in results.scores
        if score.judge == primary
        and score.state == "scored"
        and score.value is not None
        and score.conversation in cases
    ]
    if not rows:
        return None
    table = DataFrame.from_records(rows, columns=["row", "value"])
    return CellScores(table.groupby("row")["value"].mean(), summary.scores.judges[primary].rubrics)
