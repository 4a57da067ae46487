"""Benchmarks that measure with public sets, which are not shipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT


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
