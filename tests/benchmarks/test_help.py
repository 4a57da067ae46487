"""`python -m benchmarks.NAME --help` says what a benchmark does, and runs nothing."""

import subprocess
import sys

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
