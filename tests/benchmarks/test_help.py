"""`python -m benchmarks.NAME --help` says what a benchmark does, and runs nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("benchmarks.sequential", "The plain script that teams start with"),
        ("benchmarks", "prints every figure"),
    ],
)
def test_help_says_what_a_benchmark_does(name: str, said: str) -> None:
    """Also of one without options."""
    done = subprocess.run(
        [sys.executable, "-m", name, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )

    assert said in done.stdout
    assert done.stdout.count("\n") < 5


@pytest.mark.parametrize("name", ["validity", "customers"])
def test_without_its_data_a_benchmark_says_where_to_put_it(name: str, tmp_path: Path) -> None:
    """The folder with its whole path."""
    folder = tmp_path / "data"
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}"],
        cwd=ROOT,
        env=os.environ | {"REHEARSAL_BENCH_DATA": str(folder)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert f"into {folder} (or set REHEARSAL_BENCH_DATA)." in done.stdout.splitlines()[-1]
