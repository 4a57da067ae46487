"""What moves a judge that should not, as it is kept: bound to one rubric, like a calibration."""

import json
from collections.abc import Collection
from datetime import date
from pathlib import Path

from pydantic import ValidationError

from simulator.analysis.bias import BiasRow
from simulator.calibration import stored
from simulator.core.types import Value

BUNDLED = "bundled"


class StoredBias(Value):
    """The rows of one judge (and of its Correctness) with this rubric; `source` is whose questions."""

    judge: str
    rubric: str
    model: str
    source: str
    seed: int
    date: date
    rows: tuple[BiasRow, ...]

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


def file_name(judge: str) -> str:
    """`bias-turn.json`."""
    return stored.file_name("bias", judge)


def save(bias: StoredBias, folder: Path = stored.FOLDER) -> Path | None:
    """The whole file or the old one; its path, or None where more pairs of the same questions are kept.

    Rows of a language that was not probed this time stay as they were, if rubric and questions are the same.
    """
    path = folder / file_name(bias.judge)
    before = _read(path)
    if before and (before.rubric, before.source) == (bias.rubric, bias.source):
        if any(before.pairs.get(language, 0) > n for language, n in bias.pairs.items()):
            return None
        kept = tuple(row for row in before.rows if row.language not in bias.pairs)
        bias = bias.model_copy(update={"rows": (*kept, *bias.rows)})
    return stored.write(path, bias)


def bias_for(judge: str, rubrics: Collection[str], folder: Path = stored.FOLDER) -> StoredBias | None:
    """What is known of this judge with exactly this rubric."""
    graded_by = {rubric for rubric in rubrics if rubric}
    found = _read(folder / file_name(judge))
    return found if found and found.judge == judge and graded_by == {found.rubric} else None


def _read(path: Path) -> StoredBias | None:
    """None where there is no file, or one of another version: it warns of nothing."""
    try:
        return StoredBias.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError, RecursionError):
        return None
