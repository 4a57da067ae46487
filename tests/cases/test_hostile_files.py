"""Files that somebody means no good with."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.hostile_files import AS_REPORTS, FILES, faults

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_no_file_breaks_the_program(tmp_path: Path) -> None:
    """Bombs, pipes, links, broken and endless files: one line, little memory, nothing left, no codes.

    A workbook that stands where a report is to go is left alone, and the report written beside it.
    """
    program = [sys.executable, "-m", "tests.crash.hostile_files", str(tmp_path), "6"]
    known = {**os.environ, "LANGUAGE": "en", "COLUMNS": "200"}
    done = subprocess.run(program, env=known, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    seen = [json.loads(line) for line in done.stdout.splitlines()]

    assert len(seen) == len(FILES) + 4 + len(AS_REPORTS)
    assert [(each["name"], faults(each), each["said"]) for each in seen if faults(each)] == []
    assert sum(each["code"] == 2 for each in seen) > 30
    assert len([*tmp_path.glob("*.reports/report-2.xlsx")]) == len(AS_REPORTS)
