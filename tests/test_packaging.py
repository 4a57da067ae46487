"""What is installed with pip: one package, with all that a rehearsal needs, in whatever folder it runs."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.commands import Command

CHECKOUT = Path(__file__).resolve().parent.parent


def run(*words: str | Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python of its own, in a folder."""
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env={**os.environ, **environment}, capture_output=True,
        text=True, encoding="utf-8", check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of libraries that has the wheel made of the source distribution, as pip unpacks it."""
    made = tmp_path_factory.mktemp("dist")
    built = run("-m", "hatchling", "build", "-t", "sdist", "-d", made, folder=CHECKOUT)
    assert built.returncode == 0, built.stderr
    [archive] = made.glob("rag_rehearsal-*.tar.gz")
    run("-m", "tarfile", "-e", archive, folder=made)
    source = made / archive.name.removesuffix(".tar.gz")
    built = run("-m", "hatchling", "build", "-t", "wheel", "-d", made, folder=source)
    assert built.returncode == 0, built.stderr
    [wheel] = made.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(made / "site")
    return made / "site"


def rehearsal(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, as its entry point starts it."""
    start = site.parent / "rehearsal"
    start.write_text("import sys\nfrom simulator.cli.app import main\nsys.exit(main())\n", encoding="utf-8")
    return run(start, *arguments, folder=folder, PYTHONPATH=str(site))


def test_one_package_is_installed(installed: Path) -> None:
    """Beside its metadata, and with its types; no tests, benchmarks, caches or runs are in it."""
    tops = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    parts = {part for path in installed.rglob("*") for part in path.relative_to(installed).parts}

    assert tops == {"simulator"}
    assert "py.typed" in parts
    assert not parts & {"tests", "benchmarks", "scripts", "runs", ".venv", "__pycache__", ".env"}
    [names] = installed.glob("*.dist-info/entry_points.txt")
    assert "rehearsal = simulator.cli.app:main" in names.read_text(encoding="utf-8")


def test_it_rehearses_in_any_folder(installed: Path, tmp_path: Path) -> None:
    """The samples of init with their bot, a user's judges.py included; hints name the command."""
    assert rehearsal(installed, tmp_path, "init").returncode == 0
    (tmp_path / "judges.py").write_text(
        "from bot import answer\n\ndef calm(context):\n    return 4\n", "utf-8"
    )
    options = ("--offline", "--persona", "calm", "--limit", "1", "--adapter", "judges:answer")
    done = rehearsal(installed, tmp_path, *options, "--judges", "turn,judges:calm,rouge_l")
    page = rehearsal(installed, tmp_path, "--help")

    assert done.returncode in {0, 1}, done.stderr
    assert "rehearsal doctor checks it" in done.stdout
    assert next(tmp_path.glob("runs/*/report.html")).stat().st_size > 10_000
    for shown in (done.stdout, page.stdout, (tmp_path / "rehearsal.toml").read_text(encoding="utf-8")):
        assert "run.py" not in shown
    assert page.stdout.startswith("Usage: rehearsal ")


# The same line in both languages, in one process.
TYPED = """
import os
from simulator.cli.app import main
for locale in ("C.UTF-8", "ja_JP.UTF-8"):
    os.environ["LC_ALL"] = locale
    assert main(["--persona", "./own.toml", "--offline"]) == 2
"""


def test_a_page_that_a_message_names_is_there(
    installed: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its path, for the reader is in a folder of their own; in a checkout as well; in their language."""
    (tmp_path / "own.toml").write_text("naem = 1\n", encoding="utf-8")
    there = run("-c", TYPED, folder=tmp_path, PYTHONPATH=str(installed))
    here = command("--persona", "./own.toml", "--offline")
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")
    errors = there.stderr + here.err + command("--persona", "./own.toml", "--offline").err
    named = [Path(name) for name in re.findall(r"\S*docs/personas\S*\.md", errors)]

    assert [path.name for path in named] == ["personas.md", "personas.ja.md"] * 2
    assert all(path.is_file() for path in named)
    assert (there.returncode, here.code) == (0, 2)


def test_a_bot_called_like_the_program_is_named_by_its_file(installed: Path, tmp_path: Path) -> None:
    """simulator.py of the user's own: one line and exit code 2 for the name."""
    (tmp_path / "simulator.py").write_text("def answer(question):\n    return '550円です'\n", "utf-8")
    refused = rehearsal(installed, tmp_path, "--offline", "--adapter", "simulator:answer")

    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "./simulator.py:answer" in refused.stderr


def test_the_examples_run_as_printed(installed: Path, tmp_path: Path) -> None:
    """The tests of pytest with the fixture that the package brings, from whatever folder."""
    # The last of these tests: it compiles nothing, so that the folder of the examples stays as it is.
    # Assertions stay as they are, for pytest would compile the whole program anew to explain those in it.
    options = ("--rehearse-offline", "-p", "no:cacheprovider", "--assert", "plain")
    tests = ("-m", "pytest", CHECKOUT / "demo" / "python")
    ended = run(*tests, *options, folder=tmp_path, PYTHONPATH=str(installed), PYTHONDONTWRITEBYTECODE="1")

    assert (ended.returncode, "2 passed" in ended.stdout) == (0, True), ended.stdout
