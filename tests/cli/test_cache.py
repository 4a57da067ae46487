"""What of models' answers is kept on this machine, and how to be rid of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.models.cache import ResponseCache, cache_file

BODY: dict[str, Any] = {"choices": [{"message": {"content": "はい" * 500}}]}


def kept(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    """The object that the command prints."""
    assert main(["cache", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def filled() -> None:
    """Four answers."""
    cache = ResponseCache("on")
    for key in "abcd":
        cache.put(key, BODY)
    cache.close()


def test_an_empty_cache_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is made by looking."""
    shown = kept(capsys)

    assert (shown["bytes"], shown["cleared"], shown["entries"]) == (0, None, 0)
    assert kept(capsys, "clear")["cleared"] == 0
    assert not cache_file().exists()


def test_what_is_kept_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """How many answers, and how much room they take."""
    filled()
    shown = kept(capsys)

    assert shown["file"] == str(cache_file())
    assert shown["bytes"] >= cache_file().stat().st_size
    assert shown["entries"] == 4
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.startswith(f"{cache_file()}: 4 answers, 0.0 MB")


def test_clear_empties_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of it is left in the file, which shrinks."""
    filled()
    size = cache_file().stat().st_size

    assert kept(capsys, "clear")["cleared"] == 4
    assert cache_file().stat().st_size <= size
    assert "はい" not in cache_file().read_bytes().decode("utf-8", "replace")
    assert kept(capsys)["entries"] == 0
    filled()
    assert main(["cache", "clear"]) == 0
    assert "4 answers cleared." in capsys.readouterr().err


def test_a_broken_file_can_be_cleared(capsys: pytest.CaptureFixture[str]) -> None:
    """It is said to be none, and `clear` removes it."""
    path = cache_file()
    path.parent.mkdir(parents=True)
    Path(path).write_bytes(b"no database at all, but long enough to look like one" * 20)

    assert main(["cache"]) == 3
    assert "cannot be read or emptied" in capsys.readouterr().err
    emptied = kept(capsys, "clear")
    assert (emptied["entries"], emptied["cleared"]) == (0, 0)
    assert not path.exists()
    # An empty one is a database without any table yet.
    path.touch()
    assert kept(capsys, "clear")["cleared"] == 0
    assert path.read_bytes().startswith(b"SQLite format 3")


def test_what_makes_no_sense_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, and nothing is cleared."""
    filled()
    assert main(["cache", "clera"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert kept(capsys)["entries"] == 4
