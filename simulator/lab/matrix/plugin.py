"""The room of matrices: data sets, prompts and models beside each other."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.lab.matrix.command import matrix_or_record, run_matrix
from simulator.plugins import Plugin


def evaluate(files: Sequence[str], prompts: Sequence[str], flags: Mapping[str, Any]) -> int | None:
    """Runs a matrix, or finishes one; None where the command line means a single run."""
    matrix = matrix_or_record(files, prompts, flags)
    return None if matrix is None else run_matrix(matrix, flags)


PLUGIN = Plugin(name="matrix", evaluation=evaluate)
