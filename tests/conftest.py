"""The world of a test: an empty folder, a clean environment, no network but loopback."""

import os
import time
from pathlib import Path

import pytest

from simulator import find

# Pages and terminals tell the time of the machine's own zone: in tests it is the same everywhere.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()


@pytest.fixture(autouse=True)
def clean_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test stands in a folder of its own, without keys, endpoints or caches of this machine."""
    for name in list(os.environ):
        if name.startswith(("REHEARSAL_", "OPENAI_", "LANGSMITH_", "LANGCHAIN_")) or name.endswith("_PROXY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def root() -> Path:
    """The checkout."""
    return find.ROOT
