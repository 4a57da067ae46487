"""What rooms of the lab and packages of third parties add, tried as users meet it: by `python run.py`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from simulator import open_run, plugins
from tests.paths import ROOT

# The package of the documentation: a command, a judge, a section of every report.
DESK = dedent(str(plugins.__doc__).partition("# desk_plugin.py\n")[2].partition("\nThen ")[0])


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder of installed packages, with that of a third party."""
    folder = tmp_path / "site"
    (folder / "desk_plugin-1.0.dist-info").mkdir(parents=True)
    (folder / "desk_plugin-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: desk-plugin\nVersion: 1.0\n", encoding="utf-8"
    )
    (folder / "desk_plugin-1.0.dist-info" / "entry_points.txt").write_text(
        "[rehearsal.plugins]\ndesk = desk_plugin:PLUGIN\n", encoding="utf-8"
    )
    (folder / "desk_plugin.py").write_text(DESK, encoding="utf-8")
    return folder


# Types several lines, one after the other, in one process; what each says on stdout ends with a mark.
TYPED = """
import json, sys
sys.path.insert(0, sys.argv[1])
from simulator.cli.app import main
for line in json.loads(sys.argv[2]):
    main(line)
    print("\x1e", end="")
"""


def typed(folder: Path, *lines: str) -> list[str]:
    """What each of these lines says, with the packages of this folder installed."""
    words = json.dumps([line.split() for line in lines])
    return _ran(folder, "-c", TYPED, str(ROOT), words).stdout.split("\x1e")


def program(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`python run.py`, with the packages of this folder installed."""
    return _ran(folder, str(ROOT / "run.py"), *arguments)


def _ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder.parent,
        env={**os.environ, "PYTHONPATH": str(folder), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


RUN = ("--persona", "angry", "--offline", "--limit", "1", "--language", "en", "--judges", "turn,greets")


def test_a_package_adds_a_command(packages: Path) -> None:
    """Its word runs it, its docstring is its help, and the list of commands has it."""
    greeting, page, first, *_ = typed(packages, "greetings --name Ann", "greetings --help", "--help")

    assert greeting == "Hello, Ann.\n"
    assert "Say hello to somebody." in page
    assert "greetings" in first


def test_a_package_adds_a_judge_and_a_section(packages: Path) -> None:
    """Both stand in the run's report and in --json; `list` and `doctor` name them."""
    done = program(packages, *RUN, "--json")
    shown = json.loads(done.stdout)

    assert shown["judges"]["greets"]["mean"] == 0
    assert shown["desk"] == {"turns": shown["turns"]}
    page = Path(shown["store"]).with_name("report.html").read_text(encoding="utf-8")
    assert "turns at the desk" in page
    listed, doctor, *_ = typed(packages, "list", "doctor --offline")
    assert "Whether an answer begins with a greeting." in listed
    assert "plug-in            desk" in doctor


SETTINGS = """
import sys

from simulator.core.settings import AddedSettings, Group, setting
from simulator.plugins import Plugin

class DeskSettings(AddedSettings):
    group = Group("The desk")
    hours: str = setting("When the desk is open.", "9-17", shape="FROM-TO")

def check(settings):
    sys.stderr.write(f"open {DeskSettings.of(settings).hours}\\n")

PLUGIN = Plugin(name="desk", settings=DeskSettings, check=check)
"""


def test_a_package_brings_settings(packages: Path) -> None:
    """Of the file, in the help, kept with the run; an unknown one is still refused."""
    (packages / "desk_plugin.py").write_text(SETTINGS, encoding="utf-8")
    options = RUN[: RUN.index("--judges")]

    file = packages.parent / "rehearsal.toml"
    file.write_text('hours = "7-22"\n', encoding="utf-8")
    done = program(packages, *options, "--json")
    assert "open 7-22" in done.stderr
    assert open_run(json.loads(done.stdout)["store"]).run.settings["hours"] == "7-22"
    shown = program(packages, "simulate", "--help-all").stdout
    assert "--hours FROM-TO" in shown
    assert "When the desk is open. [default: 9-17]" in " ".join(shown.split())
    file.write_text('hour = "7-22"\n', encoding="utf-8")
    assert "Did you mean hours?" in program(packages, *options).stderr


def test_a_package_adds_a_figure_that_a_target_names(packages: Path) -> None:
    """The gate goes by it, question by question, as by a judge's grades."""
    done = program(packages, *RUN[:-2], "--target", "greeted >= 0.9", "--json")
    condition, _major = json.loads(done.stdout)["conditions"]

    assert done.returncode == 1
    assert (condition["condition"], condition["value"], condition["cases"]) == ("greeted >= 0.9", 0, 1)


DESTINATION = """
from simulator.core.errors import InputError
from simulator.plugins import Destination, Plugin

def send(name, context, settings):
    return f"{name} has {context.summary.turns} turn(s)"

def check(name):
    if "away" in name:
        raise InputError("The desk is away.")

PLUGIN = Plugin(name="desk", destinations={"desk": Destination(send, check)})
"""


def test_a_package_adds_a_destination(packages: Path) -> None:
    """A name of --to, and addresses that begin with it; what will not work is said before the run."""
    (packages / "desk_plugin.py").write_text(DESTINATION, encoding="utf-8")

    done = program(packages, *RUN[:-2], "--turns", "1", "--to", "desk,desk://second")
    assert "desk has 1 turn(s)\ndesk://second has 1 turn(s)\n" in done.stderr
    done = program(packages, *RUN[:-2], "--to", "desk://away")
    assert (done.returncode, done.stderr) == (2, "error: The desk is away.\n")
    assert len(list((packages.parent / "runs").iterdir())) == 1


def test_broken_packages_are_a_line_each_and_stop_nothing(packages: Path) -> None:
    """The run goes on; the line says which package, what is wrong and what to do."""
    broken = {
        "lost": (
            "import nothing_of_that_name",
            "ModuleNotFoundError: No module named 'nothing_of_that_name'",
        ),
        "five": ("PLUGIN = 5", "it is int, not a simulator.plugins.Plugin"),
        "ended": ("raise SystemExit(7)", "SystemExit: 7"),
    }
    points = "".join(f"{name} = {name}:PLUGIN\n" for name in broken)
    (packages / "desk_plugin-1.0.dist-info" / "entry_points.txt").write_text(
        f"[rehearsal.plugins]\n{points}", encoding="utf-8"
    )
    for name, (code, _why) in broken.items():
        (packages / f"{name}.py").write_text(code, encoding="utf-8")

    done = program(packages, *RUN[:-2], "--json")

    for name, (_code, why) in broken.items():
        line = f"Plug-in {name} ({name}:PLUGIN) is left out: {why}. Fix or uninstall its package."
        assert done.stderr.splitlines().count(line) == 1
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["turns"] > 0
