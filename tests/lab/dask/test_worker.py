"""Workers have to be like this machine; what cannot be played with them is one line."""

import os
from pathlib import Path

import pytest

from simulator.cli.app import main
from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.lab.dask import plugin, worker
from tests.lab.dask.clusters import offline, rehearsed

KEY = "sk-never-to-be-seen-1234567890"


async def test_a_secret_of_the_bot_is_named_and_does_not_travel(tmp_path: Path) -> None:
    """One line says how to give it; there is no run."""
    (tmp_path / "bot.py").write_text(
        "def connect(api_key: str):\n    return lambda query: api_key[:1]\n", encoding="utf-8"
    )
    with pytest.raises(
        InputError, match=r"--set api_key: secrets do not travel to workers\. Write \$\{NAME\}"
    ):
        await rehearsed(offline(adapter="bot.py:connect", set={"api_key": KEY}, workers=1))

    assert "runs" not in os.listdir(tmp_path)  # noqa: PTH208 - a test of files, and not of speed


def test_load_is_measured_from_one_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2, and nothing is started."""
    assert main(["--workers", "2", "--customers", "3"]) == 2
    assert "--customers needs one machine to measure from" in capsys.readouterr().err


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that says what to install."""
    monkeypatch.setattr(plugin, "find_spec", lambda _: None)

    assert main(["--workers", "2"]) == 2
    assert "extra 'dask'" in capsys.readouterr().err


def test_a_scheduler_that_is_not_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line with its address, exit code 2, and no run."""
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    monkeypatch.setattr("simulator.lab.dask.driver.PATIENCE", 0.2)

    assert main(["--offline", "--limit", "1", "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "error: --scheduler tcp://127.0.0.1:9: cannot be reached" in capsys.readouterr().err
    assert not Path("runs").exists()


def test_the_first_difference_is_told() -> None:
    """By name, with both versions; the same is no difference."""
    here = worker.environment()

    assert worker.difference(here, here) is None
    assert (
        str(worker.difference(here, here | {"python": "3.9"}))
        == f"it has python 3.9, this machine {here['python']}"
    )
    assert "other files of the program" in str(worker.difference(here, here | {"program": "1"}))


def test_the_files_of_the_user_have_to_be_the_same(tmp_path: Path) -> None:
    """The bot with what it imports, judges, lists and files of --set; plain words are no files."""
    for name in ("bot.py", "helper.py", "mine.py", "rules.txt"):
        (tmp_path / name).write_text("import helper\n", encoding="utf-8")
    given = Settings(
        adapter="bot.py:answer", guidelines="rules.txt", judges=("turn", "mine.py:strict"),
        set={"request": "@rules.txt", "said": "rules are words", "url": "http://localhost:1/x"},
    )  # fmt: skip
    names = worker.user_files(given)
    here = worker.environment(names)

    assert sorted(set(names)) == ["bot.py", "mine.py", "rules.txt"]
    for changed, named in (("helper.py", "bot.py"), ("rules.txt", "rules.txt")):
        before = worker.environment(names)
        (tmp_path / changed).write_text("other = 1\n", encoding="utf-8")
        assert str(worker.difference(before, worker.environment(before))).startswith(f"it has {named} ")
    (tmp_path / "mine.py").unlink()
    assert str(worker.difference(here, worker.environment(here) | {"bot.py": here["bot.py"]})) == (
        f"it has mine.py none, this machine {here['mine.py']}"
    )


def test_workers_need_the_file_of_a_prompt() -> None:
    """The prompt has to be the same there; nothing of what lies beside it."""
    for name in ("mine", "other"):
        Path("prompts").mkdir(exist_ok=True)
        Path(f"prompts/{name}.toml").write_text("version=1\n[ja]\nuser='$question'", encoding="utf-8")

    for name in ("mine", "./prompts/mine.toml"):
        files = worker.user_files(Settings(protocol="single_turn", prompt=name, adapter="demo"))

        assert [Path(each).name for each in files] == ["mine.toml"]
