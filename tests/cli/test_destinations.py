"""`--to`: files for other programs, and a function of one's own, from the command line."""

import shutil
from pathlib import Path

import pytest

from simulator.cli.app import main
from simulator.storage.run_file import find_run
from tests.commands import Command, held_once

HELD = ("--offline", "--persona", "calm", "--limit", "2", "--turns", "1", "--judges", "turn,fluency")
POST = '''
import asyncio


def send(summary, worksheets, folder):
    """Says what it was given."""
    text = f"{summary.red.count} red, {len(worksheets)} worksheets"
    (folder / "posted.txt").write_text(text, encoding="utf-8")
    return "posted"


def broken(results):
    raise ConnectionError("the wiki is away")


def leaving(results):
    raise SystemExit(7)


async def later(summary, folder):
    """Says what it was given, once it has waited."""
    await asyncio.sleep(0)
    (folder / "later.txt").write_text(f"{summary.turns} turns", encoding="utf-8")
    return "posted later"


text = "not a function"
'''


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, with a file of the user's own beside the runs."""
    return held_once(tmp_path_factory, HELD, files={"post.py": POST})


@pytest.fixture
def folder(held: Path) -> Path:
    """The folder of that run, where the test stands."""
    shutil.copytree(held, Path(), dirs_exist_ok=True)
    return find_run("latest", Path("runs")).parent


@pytest.mark.parametrize(
    ("name", "said", "written"),
    [("send", "posted", "9 worksheets"), ("later", "posted later", " turns")],
)
def test_a_sink_of_ones_own(
    folder: Path, name: str, said: str, written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function, async or not, is given what its parameters name; what it says is shown."""
    assert main(("report", "--to", f"post.py:{name}")) == 0

    assert f"post.py:{name}: {said}\n" in capsys.readouterr().err
    assert (folder / f"{said.split()[-1]}.txt").read_text(encoding="utf-8").endswith(written)


def test_a_report_that_fails_keeps_no_other_from_being_written(folder: Path) -> None:
    """The exit code says that one did."""
    assert main(("report", "--to", "post.py:broken,md")) == 2
    assert (folder / "report.md").is_file()


def test_reports_are_known_by_their_usual_names(folder: Path) -> None:
    """Excel and md as well as xlsx and markdown; html names the page, which is written anyway."""
    assert main(("report", "--to", "html,excel,md")) == 0
    assert {"report.html", "report.xlsx", "report.md"} <= {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("place", ["runs", "{here}/runs", "../elsewhere"])
def test_the_paths_of_all_reports_are_said_by_one_rule(place: str, tmp_path: Path, command: Command) -> None:
    """Relative below the working directory, whole outside it, however --runs was written."""
    runs = place.format(here=tmp_path)
    done = command("--offline", "--limit", "1", "--runs", runs, "--to", "xlsx,markdown,json,csv,junit")

    folder = Path(runs).resolve() / done.err.splitlines()[-1].split("/")[-2]
    shown = folder.relative_to(tmp_path) if folder.is_relative_to(tmp_path) else folder
    names = ("report.xlsx", "report.md", "report.json", "report.csv", "junit.xml")
    assert done.err.splitlines()[-5:] == [f"Written: {shown / name}" for name in names]
    # A path that is longer than a line is cut at its end.
    assert f"-openthereport:{shown / 'report.html'}-" in "".join(done.out.split())


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("exel", "unknown report: 'exel'"),
        ("post.py:sned", "sned"),
        ("post.py:text", "is str, not a function"),
        ("post.py:broken", "the wiki is away"),
        ("post.py:leaving", "--to post.py:leaving: SystemExit: 7"),
    ],
)
def test_what_cannot_be_painted_to_is_one_line(
    folder: Path, name: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2; the run is as it was."""
    assert main(("report", "--to", name)) == 2
    said = capsys.readouterr().err

    assert said.count("error: ") == 1
    assert problem in said
    assert "Traceback" not in said
