"""Finished runs beside which reviews are read."""

import contextlib
import io
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from simulator.cli.app import main
from tests.commands import Command
from tests.reviewed_runs import LONG, SHORT


def runs_of(arguments: Sequence[str], factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    folder = factory.mktemp("finished")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        main(arguments)
    return folder / "runs"


@pytest.fixture(scope="package")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with something to review; every test stands beside a copy of it."""
    return runs_of(SHORT, tmp_path_factory)


@pytest.fixture(scope="package")
def short_run_with_workbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with its workbook."""
    return runs_of((*SHORT, "--to", "xlsx"), tmp_path_factory)


@pytest.fixture(scope="package")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with enough answers for people's grades to correct its score."""
    return runs_of(LONG, tmp_path_factory)


@pytest.fixture
def finished(short_run: Path) -> Path:
    """The run of a test; modules that need many answers take the long one."""
    return short_run


@pytest.fixture
def run(finished: Path, command: Command) -> Command:
    """Runs a command in this process, beside a finished run."""
    shutil.copytree(finished, "runs")
    return command
