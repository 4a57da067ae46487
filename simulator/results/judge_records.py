"""What is known of a judge beside the runs: records in `calibrations/`, bound to a rubric and its model.

The folder has a JSON file for each record, named by what tells it from others:

    checked-turn-learn-RUBRIC-gpt-4.1.json     labelled answers that it graded outside a run
    probes-turn-RUBRIC-gpt-4.1.json            what `doctor --judge` found

The rubric's hash covers the words of the prompt, the form of the reply and the model, so that after any
change of these the judge counts as not checked, rather than as good as it once was. Files are replaced as a
whole; what cannot be read is skipped, because a report must not fail for it.
"""

import contextlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

from simulator.core.types import Value
from simulator.core.writing import replaced

FOLDER = Path("calibrations")
# What may not stand in a file's name: data sets and models are named by users, "../../etc/x y" and "glm/5".
_UNSAFE = re.compile(r"[^\w.-]+")


class JudgeRecord(Value, ABC):
    """Something that is known of a judge with one rubric and model."""

    judge: str
    rubric: str
    model: str
    date: date

    @property
    @abstractmethod
    def identity(self) -> tuple[str, ...]:
        """What tells it from the others of a folder, and is its file name."""


class CheckedLabels(JudgeRecord):
    """Labelled answers that a judge graded outside a run, for its standing: (question, bad, marked) of each.

    `source` is where the labels are from: a label file, or the answers that `learn` kept aside.
    """

    source: str
    answers: tuple[tuple[str, bool, bool], ...]

    @property
    def identity(self) -> tuple[str, ...]:
        """By judge and source."""
        return ("checked", self.judge, self.source, self.rubric, self.model)


class ProbedJudge(JudgeRecord):
    """What `doctor --judge` found: of `n` probes, by name, those that a judge with this rubric failed."""

    n: int
    failed: tuple[str, ...]

    @property
    def identity(self) -> tuple[str, ...]:
        """By judge."""
        return ("probes", self.judge, self.rubric, self.model)


Record = TypeVar("Record", bound=JudgeRecord)


def today() -> date:
    """The day that a record is dated with."""
    return datetime.now(tz=UTC).date()


def save_record(record: JudgeRecord, folder: Path = FOLDER) -> Path:
    """Stores a record in the place of an earlier one of the same identity; returns its path."""
    path = place_of(record, folder)
    # What is wrong with the folder shows when the file is written, in one message.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as new:
        new.write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return path


def place_of(record: JudgeRecord, folder: Path = FOLDER) -> Path:
    """Where a record is stored."""
    return folder / f"{'-'.join(_UNSAFE.sub('_', part) for part in record.identity)}.json"


def stored(kind: type[Record], folder: Path = FOLDER) -> Iterator[Record]:
    """What a folder has of one kind, by file name; other files, and those of another version, are skipped."""
    try:
        paths = sorted(folder.glob("*.json"))
    except OSError:
        return
    for path in paths:
        # A folder of JSON may hold anything, also what nests too deep to be read.
        with contextlib.suppress(OSError, ValueError, RecursionError):
            yield kind.model_validate(json.loads(path.read_text(encoding="utf-8")))


def same_record(record: Record, folder: Path = FOLDER) -> Record | None:
    """What is stored in the place of a record, of the same identity; None where there is nothing."""
    return next((old for old in stored(type(record), folder) if old.identity == record.identity), None)


def records_of(
    kind: type[Record], judge: str, rubrics: Collection[str], folder: Path = FOLDER
) -> Iterator[Record]:
    """What a folder has of one kind that is of this judge with exactly this rubric.

    Nothing for grades of several rubrics: a run that was graded half by an older prompt is vouched for by
    neither. Grades by rule, which have no rubric, do not count.
    """
    graded_by = {rubric for rubric in rubrics if rubric}
    return (r for r in stored(kind, folder) if r.judge == judge and graded_by == {r.rubric})
