"""The doors of a run are typed: what is misspelt there is found before anything runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulator.core.run_options import RehearsalOptions, RowOptions
from simulator.core.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".mypy_cache"
# What a command does with the run, and the parts of a run that a call takes as arguments.
COMMAND_LINE = {
    "protocol", "cases", "dry_run", "json_output", "verbose", "to", "sheet",
    "worksheet", "tests",
}  # fmt: skip


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy says of two files with mistakes: a copy of runner/context.py, and one of an example."""
    if not CACHE.is_dir():
        pytest.skip("mypy takes half a minute without its cache: make check")
    folder = tmp_path_factory.mktemp("misspelt")
    place = Path("simulator", "runner", "context.py")
    text = (ROOT / place).read_text(encoding="utf-8")
    for right, wrong in (
        ("(ReplayUser(", "(ReplayUsers("),
        ("            turns=most,\n            voiced", "            turn=most,\n            voiced"),
    ):
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    (folder / "copied_context.py").write_text(text, encoding="utf-8")
    text = (ROOT / "demo" / "python" / "rehearse_bot_en.py").read_text(encoding="utf-8")
    assert text.count('persona="calm", turns=2') == 1
    text = text.replace("def answer(question: str):", "def answer(question: str) -> object:")
    text = text.replace('persona="calm", turns=2', 'person="calm", turns="2"')
    (folder / "copied_example.py").write_text(text, encoding="utf-8")
    return mypy(*folder.iterdir())


def test_a_misspelt_class_or_keyword_of_who_plays_the_customer_is_found(said: str) -> None:
    """In a copy of runner/context.py, which mypy reads beside it."""
    assert 'Name "ReplayUsers" is not defined' in said
    assert 'Unexpected keyword argument "turn" for "PersonaUser"' in said


def test_a_misspelt_keyword_of_a_rehearsal_is_found(said: str) -> None:
    """In the example of the documentation, and so is a value of another type; the example itself is right."""
    assert sum("copied_example.py" in line and "error:" in line for line in said.splitlines()) == 2
    assert 'Unexpected keyword argument "person" for "rehearse"' in said
    assert 'Argument "turns" to "rehearse" has incompatible type "str"; expected "int"' in said


def test_every_setting_of_a_run_is_a_keyword() -> None:
    """A new setting is typed where it is made; what says how a terminal shows a run is none."""
    fields, keywords = (
        {*Settings.model_fields},
        {*RehearsalOptions.__annotations__, *RowOptions.__annotations__},
    )

    assert keywords - fields == set()
    assert fields - keywords == COMMAND_LINE


def mypy(*paths: Path) -> str:
    """What it says of files that have mistakes."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(CACHE)]
    done = subprocess.run(
        [*command, *map(str, paths)], cwd=ROOT, env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout
