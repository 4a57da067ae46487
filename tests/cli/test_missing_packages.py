"""Packages that are not installed: what a bot imports, and what only some bots need."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import faiss
import pytest

from tests.commands import Command

CHECKOUT = Path(__file__).resolve().parents[2]
FEW = ("--offline", "--persona", "calm", "--limit", "1", "--turns", "1")
CHAIN = """
from langchain_core.runnables import RunnableLambda

def found(question: str):
    import no_such_package

bot = RunnableLambda(found)
"""
HINT = "If your bot has its own environment, name the Python of that: --set python="


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("import no_such_package\ndef bot(question): ...", 2),
        ("from json import no_such_name\ndef bot(question): ...", 2),
        ("def bot(question):\n    import no_such_package", 3),
        ("async def bot(question):\n    import no_such_package", 3),
        (CHAIN, 3),
    ],
)
def test_a_bot_whose_packages_are_missing_is_told_of_its_own_python(
    command: Command, source: str, code: int
) -> None:
    """At its import, or in its answers by the first lines of the result; functions and chains alike."""
    Path("bot.py").write_text(source, encoding="utf-8")
    done = command("--adapter", "bot.py:bot", *FEW)

    assert done.code == code
    assert f"{HINT}../bot/.venv/bin/python." in " ".join((done.out or done.err).split())


@pytest.mark.parametrize("python", [".venv/bin/python", "venv/Scripts/python.exe"])
def test_an_environment_beside_the_bot_is_named(command: Command, python: str) -> None:
    """As it can be pasted into a shell."""
    folder = Path("my shop")
    (folder / python).parent.mkdir(parents=True)
    (folder / python).touch()
    (folder / "bot.py").write_text("import no_such_package", encoding="utf-8")

    assert f"{HINT}'my shop/{python}'." in command("--adapter", "my shop/bot.py:bot", *FEW).error


def test_other_code_of_a_users_is_not_told_of_another_python(command: Command) -> None:
    """A judge runs here, whatever Python the bot has; and so does a bot with another mistake."""
    Path("own.py").write_text("import no_such_package\ndef judge(context): ...", encoding="utf-8")
    Path("bot.py").write_text("bot = 1 / 0", encoding="utf-8")

    assert "python=" not in command(*FEW, "--judges", "own.py:judge").error
    assert "python=" not in command(*FEW, "--adapter", "bot.py:bot").error


def without(
    folder: Path, package: str, *arguments: str, instead: str | None = None
) -> subprocess.CompletedProcess[str]:
    """The program, in an environment that has all packages but this one, or code `instead` of it."""
    site = folder / "site"
    site.mkdir()
    for path in Path(faiss.__file__).parents[1].iterdir():
        if not path.name.startswith(package):
            (site / path.name).symlink_to(path)
    if instead is not None:
        (site / f"{package}.py").write_text(instead, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-S", CHECKOUT / "run.py", *arguments],
        env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True, encoding="utf-8",
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("package", ["pydantic", "rich"])
def test_an_environment_without_the_programs_packages_is_to_be_installed(
    tmp_path: Path, package: str
) -> None:
    """Whichever package is missed first: one line in each language, from the folder of one's own bot."""
    done = without(tmp_path, package, *FEW)
    checkout = os.path.relpath(CHECKOUT)

    assert (done.returncode, done.stderr.count("\n")) == (2, 2)
    assert f"error: No module named '{package}'. Run `make -C {checkout} install` once, then: " in done.stderr
    assert f"then: {checkout}/.venv/bin/python {checkout}/run.py\n" in done.stderr


def test_the_environment_that_is_there_is_named() -> None:
    """Where it is installed and another Python was called, nothing is to be installed."""
    checkout = Path("rehearsal")
    (checkout / ".venv").mkdir(parents=True)
    shutil.copy(CHECKOUT / "run.py", checkout)
    Path("shop").mkdir()
    run = [sys.executable, "-S", "../rehearsal/run.py"]  # without any package
    world = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(run, cwd="shop", env=world, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "install" not in done.stderr
    assert "type: ../rehearsal/.venv/bin/python ../rehearsal/run.py\n" in done.stderr


def test_ones_own_bot_is_rehearsed_where_the_demos_packages_are_missing(tmp_path: Path) -> None:
    """What its package would be is in no run file; the run is as any other."""
    Path("bot.py").write_text("def answer(question):\n    return '550円です。'\n", encoding="utf-8")
    done = without(tmp_path, "faiss", *FEW, "--adapter", "bot.py:answer", "--json")

    assert (done.returncode, "error" in done.stderr) == (0, False), done.stderr


def test_the_demo_without_its_packages_is_one_line(tmp_path: Path) -> None:
    """For the user to mend: exit code 2, and which package it is."""
    done = without(tmp_path, "faiss", *FEW)

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "adapter demo: a package that it needs cannot be imported (No module named 'faiss')" in done.stderr
    assert "--adapter bot.py:answer" in done.stderr


def test_a_package_of_the_demo_that_does_not_load_is_one_line(tmp_path: Path) -> None:
    """It is there, and a library of the system that it needs is not."""
    broken = "raise ImportError('libgomp.so.1: cannot open shared object file')"
    done = without(tmp_path, "faiss", *FEW, instead=broken)

    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "cannot be imported (libgomp.so.1: cannot open shared object file)" in done.stderr
