"""What rooms of the lab and packages of third parties add, tried as users meet it: by lines they type."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from simulator import open_run, plugins
from tests.commands import Done
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


# Types several lines, one after the other, in one process: a mark ends what each says, the codes come last.
TYPED = """
import json, sys
sys.path.insert(0, sys.argv[1])
from simulator.cli.app import main
codes = []
for line in json.loads(sys.argv[2]):
    codes.append(main(line))
    print("\x1e", end="", flush=True)
    print("\x1e", end="", file=sys.stderr)
print(json.dumps(codes))
"""


def typed(folder: Path, *lines: Sequence[str]) -> list[Done]:
    """What came of each of these lines, with the packages of this folder installed."""
    ended = subprocess.run(
        [sys.executable, "-c", TYPED, str(ROOT), json.dumps(lines)],
        cwd=folder.parent,
        env={**os.environ, "PYTHONPATH": str(folder), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    *said, codes = ended.stdout.split("\x1e")
    return [
        Done(*each) for each in zip(json.loads(codes), said, ended.stderr.split("\x1e")[:-1], strict=True)
    ]


RUN = ("--persona", "angry", "--offline", "--limit", "1", "--language", "en")


def test_a_package_adds_a_command_a_judge_a_section_and_a_figure(packages: Path) -> None:
    """All are in the help and the lists, and in the run's report and --json; the gate goes by the figure."""
    lines = ("greetings --name Ann", "greetings --help", "--help", "list", "doctor --offline")
    run = (*RUN, "--judges", "turn,greets", "--target", "greeted >= 0.9", "--json")
    done, greeting, page, first, listed, doctor = typed(packages, run, *(line.split() for line in lines))

    assert greeting.out == "Hello, Ann.\n"
    assert "Say hello to somebody." in page.out
    assert "greetings" in first.out
    shown = done.json
    assert shown["judges"]["greets"]["mean"] == 0
    assert shown["desk"] == {"turns": shown["turns"]}
    html = (packages.parent / shown["store"]).with_name("report.html").read_text(encoding="utf-8")
    assert "turns at the desk" in html
    condition, _major = shown["conditions"]
    assert done.code == 1
    assert (condition["condition"], condition["value"], condition["cases"]) == ("greeted >= 0.9", 0, 1)
    assert "Whether an answer begins with a greeting." in listed.out
    assert "plug-in            desk" in doctor.out


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
    (packages.parent / "rehearsal.toml").write_text('hours = "7-22"\n', encoding="utf-8")
    (packages.parent / "wrong.toml").write_text('hour = "7-22"\n', encoding="utf-8")
    done, page, refused = typed(
        packages, (*RUN, "--json"), ("simulate", "--help-all"), (*RUN, "-c", "wrong.toml")
    )

    assert "open 7-22" in done.err
    assert open_run(done.json["store"]).run.settings["hours"] == "7-22"
    assert "--hours FROM-TO" in page.out
    assert "When the desk is open. [default: 9-17]" in " ".join(page.out.split())
    assert "Did you mean hours?" in refused.err


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
    there, away = typed(
        packages, (*RUN, "--turns", "1", "--to", "desk,desk://second"), (*RUN, "--to", "desk://away")
    )

    assert "desk has 1 turn(s)\ndesk://second has 1 turn(s)\n" in there.err
    assert (away.code, away.err) == (2, "error: The desk is away.\n")
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

    [done] = typed(packages, (*RUN, "--json"))

    for name, (_code, why) in broken.items():
        line = f"Plug-in {name} ({name}:PLUGIN) is left out: {why}. Fix or uninstall its package."
        assert done.err.splitlines().count(line) == 1
    assert "Traceback" not in done.err
    assert done.json["turns"] > 0
