"""The doors of a run are typed: what is misspelt there is found before anything runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".mypy_cache"


@pytest.mark.skipif(not CACHE.is_dir(), reason="mypy takes half a minute without its cache: make check")
def test_a_misspelt_class_or_keyword_of_who_plays_the_customer_is_found(tmp_path: Path) -> None:
    """In a copy of runner/context.py, which mypy reads beside it."""
    place = Path("simulator", "runner", "context.py")
    text = (ROOT / place).read_text(encoding="utf-8")
    for right, wrong in (("(ReplayUser(", "(ReplayUsers("), (" turns=turns or", " turn=turns or")):
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    copy = tmp_path / "copied_context.py"
    copy.write_text(text, encoding="utf-8")

    mypy = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(CACHE)]
    done = subprocess.run(
        [*mypy, str(copy)], cwd=ROOT, env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1, done.stdout + done.stderr
    assert 'Name "ReplayUsers" is not defined' in done.stdout
    assert 'Unexpected keyword argument "turn" for "PersonaUser"' in done.stdout
