"""A folder of one's own: three files that work as they are, and never over files that are there."""

import contextlib
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simulator.core import shelves

FILES = {"bot.py", "questions.csv", "rehearsal.toml"}


def here() -> set[str]:
    """The files where the test stands."""
    return {path.name for path in Path().iterdir()}


def test_it_writes_a_start_and_says_how_to_go_on(command: Any) -> None:
    """Settings, a bot and questions, writable by the user; the last line is the command to type."""
    code, out, err = command("init")

    assert (code, err) == (0, "")
    assert here() == FILES
    assert out.startswith("Written: bot.py, questions.csv, rehearsal.toml.\n")
    assert all(stat.S_IMODE(Path(name).stat().st_mode) & 0o600 == 0o600 for name in FILES)


def test_the_folder_that_it_makes_runs_at_once(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the language of the terminal or the one asked for; without a key, without options."""
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    code, out, _ = command("init", "a/my shop")
    asked = command("init", "shop", "--language", "en")

    assert (code, asked[0]) == (0, 0)
    assert "cd 'a/my shop' && python " in out
    assert Path("a/my shop/questions.csv").read_text("utf-8-sig").startswith("質問,")
    for folder in ("a/my shop", "shop"):
        with contextlib.chdir(folder):
            assert command().code == 0
            assert here() == FILES | {"runs"}


def test_commands_on_screen_and_in_files_work_where_the_user_stands() -> None:
    """The program is named by the path that was typed, in the new folder by the path from there."""
    path = Path(os.path.relpath(shelves.ROOT / "run.py"))
    for words in (["init", "shop"], ["--nonsense"]):
        done = subprocess.run([sys.executable, path, *words], capture_output=True, text=True, check=False)

    assert f"See: python {path.as_posix()} simulate --help" in done.stderr
    settings = Path("shop/rehearsal.toml").read_text("utf-8")
    assert f"`python ../{path.as_posix()} list`" in settings
    # Editors take the schema from there.
    schema = settings.splitlines()[0].removeprefix("#:schema ")
    assert Path("shop", schema).resolve() == shelves.ROOT / "docs" / "schemas" / "rehearsal.schema.json"


def test_json_names_the_files_and_what_to_type(command: Any) -> None:
    """One object in place of the sentences."""
    done = command("init", "shop", "--json")

    assert set(done.json) == {"written", "next"}
    assert {Path(file) for file in done.json["written"]} == {Path("shop", name) for name in FILES}
    assert done.json["next"].startswith("cd shop && python ")


def test_a_file_in_the_way_is_one_line(command: Any) -> None:
    """What is named is a file, or lies below one."""
    Path("shop").write_text("mine", encoding="utf-8")

    for folder in ("shop", "shop/within"):
        code, out, err = command("init", folder)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "cannot be written" in err


@pytest.mark.parametrize("name", sorted(FILES))
def test_nothing_is_overwritten(command: Any, name: str) -> None:
    """One of the files is there: it stays as it is, and none is written."""
    Path(name).write_text("mine", encoding="utf-8")
    code, out, err = command("init")

    assert (code, out) == (2, "")
    assert err == f"error: {name} is already there; nothing was written. Name another folder, or rename it.\n"
    assert here() == {name}
    assert Path(name).read_text("utf-8") == "mine"
