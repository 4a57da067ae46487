"""The workflow that evaluates on every merge: what it may do, and that its commands work."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

GH = """#!/bin/sh
echo "$@" >> "$RUNNER_TEMP/asked"
if [ "$1" = api ]; then echo "$PULL"; fi
"""


@pytest.fixture
def workflow(root: Path) -> dict[str, Any]:
    """The file, as GitHub reads it: `on` is not a word for true there."""
    text = (root / ".github" / "workflows" / "contest.yml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text.replace("\non:", '\n"on":'))
    return found


def steps(workflow: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The steps of its one job, by name."""
    (job,) = workflow["jobs"].values()
    return {step.get("name", step.get("uses")): step for step in job["steps"]}


def run(
    step: dict[str, Any], folder: Path, root: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A step as the runner does it, in the checkout; a pipe may fail where the step names no shell."""
    stops = ["-eo", "pipefail"] if step.get("shell") == "bash" else ["-e"]
    path = f"{folder / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", *stops, "-c", step["run"]],
        cwd=root,
        env={**os.environ, "PATH": path, "RUNNER_TEMP": str(folder), **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )


def test_without_a_key_it_evaluates_offline_and_comments(
    workflow: dict[str, Any], tmp_path: Path, root: Path
) -> None:
    """The result is printed and kept, and goes with the report to the pull request that was merged."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(GH, encoding="utf-8")
    (tmp_path / "bin" / "gh").chmod(0o755)
    given = {
        "CASES": "demo/datasets/contest.csv",
        "SAMPLE": "3",
        "JUDGES": "gpt_similarity,gpt_groundedness",
        "BUDGET": "",
    }
    keys = {"OPENAI_API_KEY": "", "REHEARSAL_JUDGE_KEY": ""}
    told = run(steps(workflow)["Evaluate"], tmp_path, root, **given, **keys)

    assert re.fullmatch(
        r"\*{5} Result \*{5}\naverage_score: \{'gpt_groundedness': [\d.]+, 'gpt_similarity': [\d.]+\}\n"
        r"total_score: \d+\.\d{3}\n",
        told.stdout,
    )
    commit = {"GH_REPO": "o/r", "COMMIT": "abc", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    run(steps(workflow)["Comment"], tmp_path, root, **commit, PULL="7")
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert told.stdout in summary
    assert "gpt\\_similarity" in summary
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert asked[0].startswith("api repos/o/r/commits/abc/pulls")
    assert asked[1] == f"pr comment 7 --body-file {tmp_path / 'comment.md'}"
