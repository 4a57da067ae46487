"""What a matrix has spent, and what each cell may still spend: one budget for all of them."""

import contextlib
import sqlite3
from pathlib import Path

from simulator.core.types import Results
from simulator.matrix.record import RecordFile


def left_for(file: RecordFile, at: int, budget: float) -> float:
    """Dollars that the run of a cell may come to in all, once the other cells' are paid."""
    others = (file.run_file(place) for place in range(len(file.record.cells)) if place != at)
    return budget - sum(spent(path) for path in others if path and path.is_file())


def spent(run: Path) -> float:
    """Dollars that a run has paid so far; nothing for what is no run."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(run, timeout=10)) as file:
        (paid,) = file.execute("SELECT sum(cost_usd) FROM calls").fetchone()
        return float(paid or 0.0)
    return 0.0


def silence(results: Results) -> str:
    """Why a model never answered at all, in its own first words; empty where it did."""
    first = ""
    for talk in results.conversations:
        for answer in (turn.answer for turn in talk.turns):
            if answer.text.strip() and not answer.error:
                return ""
            first = first or (answer.error.message if answer.error else "the answer is empty")
    return f"not one answer: {first}" if first else ""
