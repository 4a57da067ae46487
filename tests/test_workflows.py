"""The workflows of this repository: what they may do, and that what they call is there."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def workflow(path: Path) -> dict[str, Any]:
    """The file as GitHub reads it: `on` is not a word for true there."""
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8").replace("\non:", '\n"on":'))
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    """The steps of all jobs."""
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_workflow_may_read_and_has_an_end(path: Path) -> None:
    """Nothing of the repository is written, no key is left in the checkout, and a job that hangs is ended."""
    found = workflow(path)

    assert found["permissions"]["contents"] == "read"
    assert all(job["timeout-minutes"] <= 120 for job in found["jobs"].values())
    checkouts = [step for step in steps(path) if step.get("uses", "").startswith("actions/checkout@")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False]


def test_all_workflows_use_the_same_versions_of_actions() -> None:
    """An update of one is an update of all."""
    used = {step["uses"] for path in FILES for step in steps(path) if "uses" in step}

    assert len(used) == len({name.partition("@")[0] for name in used})
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", name) for name in used)


def test_changes_are_checked_on_every_python_that_the_program_is_made_for() -> None:
    """Lint, tests and try-install, for a push to the main branch and for each pull request."""
    path = ROOT / ".github" / "workflows" / "checks.yml"
    found, project = workflow(path), tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (job,) = found["jobs"].values()
    versions = job["strategy"]["matrix"]["python"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    assert {"push", "pull_request"} <= found["on"].keys()
    assert versions == ["3.11", "3.12", "3.13"]
    assert project["project"]["requires-python"] == f">={versions[0]}"
    assert commands[-3:] == ["make check", "make test", "scripts/try-install"]
    assert {"check", "test"} <= {*targets}
    assert os.access(ROOT / "scripts" / "try-install", os.X_OK)
