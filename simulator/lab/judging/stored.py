"""What is stored of a judge besides its standing: calibrations, and what probes found to sway it.

    groundedness-faithfulness-shop-RUBRIC-gpt-4.1.json     judge, label, data set, rubric's hash, model
    bias-turn-RUBRIC-gpt-4.1.json                          the probes of `calibrate --probes`

They lie beside the records of `results/judge_records.py`, and are bound to a rubric as these are.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Literal

from simulator.core.types import Language, Value
from simulator.results.judge_records import (
    FOLDER,
    JudgeRecord,
    place_of,
    records_of,
    same_record,
    save_record,
)

# The source of probes that were made of the bundled questions.
BUNDLED = "bundled"
# What was changed in an answer; a flipped fact has to lower its grade, all else must not move it.
Kind = Literal["flipped_fact", "padding", "angry", "shuffled"]
FLIPPED: Literal["flipped_fact"] = "flipped_fact"


class Drift(Value):
    """One judge on n frozen rows: `shift` is the mean of new less old grade on a scale 0..1.

    `equal` is the share (0..1) of rows with the same grade. `drifted`: the 95 % interval of the shift
    excludes 0, or it is over 0.1 either way. `same_rubric` is False where prompt or model are no longer
    those of the calibration; `failed` counts rows that could not be graded.
    """

    judge: str
    n: int
    shift: float
    low: float | None
    high: float | None
    equal: float
    drifted: bool
    same_rubric: bool
    failed: int = 0


class Calibration(JudgeRecord):
    """How far a judge with this rubric agreed with people on one label of one data set.

    `auroc` is how often (0..1) an answer that people call good is graded above one that they do not, with its
    95 % interval; None where people call all answers good, or none. `commonest` is the grade that `share`
    (0..1) of the answers got, `poor_discrimination` says that this is too much to tell them apart. `rows` has
    (row id, grade) of every row that was compared: those are the frozen rows of `--check`. `file` and
    `sha256` are of the labels, `good` says which are good, `language` is that of most rows, `scale` the
    judge's. `n` rows were compared.
    """

    label: str
    dataset: str
    n: int
    language: Language
    good: str
    file: str
    sha256: str
    auroc: float | None
    interval: tuple[float, float] | None
    commonest: float
    share: float
    poor_discrimination: bool
    rows: tuple[tuple[str, float], ...] = ()
    scale: tuple[float, float] = (1, 5)

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells it from the others of a folder, and is its file name."""
        return (self.judge, self.label, self.dataset, self.rubric, self.model)


class BiasRow(Value):
    """One judge (or its Correctness: `turn.correctness`) on one kind of probe in one language.

    Means are grades from 1 to 5, whatever the judge's scale; `interval` is that of `difference`, drawn by
    question. `fell` is the share of pairs that lost the bound (a judge of shares: anything), None of what has
    to stay; `red_before` is the share of right answers that are red by this judge alone, `turned` that of
    pairs in which only the changed answer is red. `bound` and `held` are None where nothing is asked.
    `failed` and `skipped` count pairs that are left out because one side has no grade.
    """

    language: Language
    kind: Kind
    judge: str
    n: int
    failed: int
    skipped: int
    before: float | None
    after: float | None
    difference: float | None
    interval: tuple[float, float] | None
    fell: float | None
    red_before: float | None
    turned: float | None
    bound: float | None
    held: bool | None


class StoredBias(JudgeRecord):
    """The rows of one judge (and of its Correctness) with this rubric; `source` is whose questions."""

    source: str
    seed: int
    rows: tuple[BiasRow, ...]

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells it from the others of a folder, and is its file name."""
        return ("bias", self.judge, self.rubric, self.model)

    @property
    def broken(self) -> tuple[BiasRow, ...]:
        """The rows whose bound does not hold."""
        return tuple(row for row in self.rows if row.held is False)

    @property
    def pairs(self) -> dict[str, int]:
        """How many graded pairs of probes there are in each language."""
        return {
            language: sum(r.n for r in self.rows if r.language == language and r.judge == self.judge)
            for language in dict.fromkeys(row.language for row in self.rows)
        }


def short_number(value: float | None) -> str:
    """Two decimals without the leading zero, as papers have them: .89, -.12, 1.00; a dash for None."""
    if value is None:
        return "-"
    # What rounds to minus nothing is nothing, and a whole one keeps its digit.
    shown = f"{value:.2f}".replace("-0.00", "0.00")
    return shown.replace("0.", ".", 1) if abs(value) < 0.995 else shown


def larger_calibration(calibration: Calibration, folder: Path = FOLDER) -> Path | None:
    """Where the folder has the same calibration of the same label file from more rows; None if it has not.

    A try with `--limit 20` must not replace what a thousand graded rows cost.
    """
    before = same_record(calibration, folder)
    is_larger = before and before.sha256 == calibration.sha256 and before.n > calibration.n
    return place_of(calibration, folder) if is_larger else None


def calibration_for(
    judge: str, rubrics: Collection[str], language: Language | None = None, folder: Path = FOLDER
) -> Calibration | None:
    """The calibration of this judge with exactly this rubric (Score.rubric): in `language`, else the largest.

    None where grades are of several rubrics.
    """
    calibrations = records_of(Calibration, judge, rubrics, folder)
    return max(
        calibrations, key=lambda calibration: (calibration.language == language, calibration.n), default=None
    )


def save_bias(bias: StoredBias, folder: Path = FOLDER) -> Path | None:
    """Stores a bias result; returns its path, or None where more pairs of the same questions are stored.

    Stored rows of a language that was not probed this time stay, if rubric and questions are the same. Other
    questions replace everything: rows of two sets of questions are not one result.
    """
    before = same_record(bias, folder)
    if before and before.source == bias.source:
        # Fewer pairs of the same questions would replace a steadier result.
        if any(before.pairs.get(language, 0) > n for language, n in bias.pairs.items()):
            return None
        other_languages = tuple(row for row in before.rows if row.language not in bias.pairs)
        bias = bias.model_copy(update={"rows": (*other_languages, *bias.rows)})
    return save_record(bias, folder)


def bias_for(judge: str, rubrics: Collection[str], folder: Path = FOLDER) -> StoredBias | None:
    """The stored bias result of this judge with exactly this rubric; None without one."""
    return next(records_of(StoredBias, judge, rubrics, folder), None)
