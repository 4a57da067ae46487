"""A finished run beside which reviews are read."""

import contextlib
import io
import shutil
from pathlib import Path

import pytest

from simulator.cli.app import main
from tests.commands import Command
from tests.reviewed_runs import HELD


@pytest.fixture(scope="package")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run; every test stands beside a copy of it."""
    folder = tmp_path_factory.mktemp("held")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        main(HELD)
    return folder / "runs"


@pytest.fixture
def run(held: Path, command: Command) -> Command:
    """Runs a command in this process, beside a finished run."""
    shutil.copytree(held, "runs")
    return command
