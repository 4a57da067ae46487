"""`purge RUN`: what goes, what is refused, and what is said about the rest."""

import io
import json
import shutil
import sys
from contextlib import closing
from pathlib import Path

import pytest

from simulator.cli.app import main
from simulator.core.types import HumanVerdict
from simulator.models.cache import ResponseCache
from simulator.storage.run_file import RUN_FILE, RunFile, add_note, find_run, read_run, run_ids
from simulator.storage.words import save_verdicts

CASES = "id,question,language,answer\nq1,届いた服を返せますか,ja,14日以内なら返品できます。\n"


class Terminal(io.StringIO):
    """What a person types."""

    def isatty(self) -> bool:
        """Somebody sits there."""
        return True


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with one finished run."""
    (tmp_path / "cases.csv").write_text(CASES, encoding="utf-8")
    assert simulate() == 0
    return tmp_path / "runs"


def simulate(*options: str) -> int:
    return main(["--cases", "cases.csv", "--adapter", "recorded", "--turns", "1", "--offline", *options])


def test_a_run_is_deleted_wholly(runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Run file, lock, reports and whatever else a run has; one JSON object says so."""
    folder = find_run("latest", runs).parent
    (folder / "pairwise.jsonl").write_text("{}\n")
    capfd.readouterr()

    assert main(["purge", "latest", "--yes", "--json"]) == 0
    output = json.loads(capfd.readouterr().out)
    assert not folder.exists()
    assert (output["purged"], output["elsewhere"]) == (str(folder.relative_to(Path.cwd())), [])
    assert output["files"] >= 3


def test_runs_that_took_comments_over_are_named(runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What people wrote of an answer goes on with it into later runs, and stays there."""
    path = find_run("latest", runs)
    said = HumanVerdict(
        conversation=read_run(path).conversations.ids[0], turn=1, source="page", comment="本人です"
    )
    save_verdicts(path, [said])
    assert simulate() == simulate("--persona", "calm") == 0
    later = run_ids(runs)[1:]
    capfd.readouterr()

    assert main(["purge", path.parent.name, "--yes"]) == 0
    assert (
        f"Text of the run may also be in: comments of your team in {', '.join(later)}"
        in capfd.readouterr().err
    )
    assert all(read_run(runs / name / RUN_FILE).verdicts[0].comment == "本人です" for name in later)


@pytest.mark.parametrize(("typed", "gone"), [("y\n", True), ("はい\n", True), ("\n", False), ("n\n", False)])
def test_it_asks_before(
    typed: str, gone: bool, runs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Only a yes deletes, or --yes where nobody sits at a terminal."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert main(["purge", "latest"]) == 2
    assert "--yes" in capfd.readouterr().err
    monkeypatch.setattr(sys, "stdin", Terminal(typed))

    assert main(["purge", "latest"]) == 0
    assert (not list(runs.iterdir())) == gone
    assert ("Nothing was deleted." in capfd.readouterr().err) != gone


def test_a_run_that_is_held_stays(runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Another process writes it."""
    with closing(RunFile.reopen(find_run("latest", runs))):
        assert main(["purge", "latest", "--yes"]) == 2
    assert "being written by" in capfd.readouterr().err
    assert list(runs.iterdir())


def test_what_is_no_run_folder_is_refused(
    runs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other folders and files, a link to a run, a run among files of the user's, and where one stands."""
    run = find_run("latest", runs).parent
    (tmp_path / "photos").mkdir()
    (tmp_path / "other.sqlite").write_bytes((run / "run.sqlite").read_bytes())
    (tmp_path / "link").symlink_to(run)
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (mixed / "run.sqlite").write_bytes((run / "run.sqlite").read_bytes())
    (mixed / "thesis.txt").write_text("years of work")
    for name in ("photos", "other.sqlite", "link", "mixed", ".", "/", "..", ""):
        assert main(["purge", name, "--yes"]) == 2, name
    (run / "mine").mkdir()
    assert main(["purge", run.name, "--yes"]) == 2
    (run / "mine").rmdir()
    monkeypatch.chdir(run)
    assert main(["purge", ".", "--yes"]) == 2

    assert "Traceback" not in capfd.readouterr().err
    assert (mixed / "thesis.txt").exists()
    assert (run / "run.sqlite").exists()


@pytest.mark.parametrize("linked", ["folder", "run file"])
def test_a_link_in_place_of_a_run_is_refused_and_leads_nowhere(
    linked: str, runs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Named by its id as any other: neither the link nor what it points to goes, and the line says why."""
    run = find_run("latest", runs).parent
    elsewhere = tmp_path / "elsewhere"
    place = run if linked == "folder" else run / "run.sqlite"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    before = {path: path.is_symlink() for path in sorted(tmp_path.rglob("*"))}

    assert main(["purge", run.name, "--yes"]) == 2
    assert "is a link. Purge the run at its real location." in capfd.readouterr().err
    assert {path: path.is_symlink() for path in sorted(tmp_path.rglob("*"))} == before


def test_a_link_in_a_run_goes_without_what_it_points_to(runs: Path, tmp_path: Path) -> None:
    """Whoever linked their notes there keeps them."""
    run = find_run("latest", runs).parent
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "mine.txt").write_text("years of work")
    (run / "notes").symlink_to(notes)
    (run / "report.md").symlink_to(notes / "mine.txt")

    assert main(["purge", run.name, "--yes"]) == 0
    assert not run.exists()
    assert (notes / "mine.txt").read_text() == "years of work"


def test_a_folder_that_cannot_be_deleted_is_named(
    runs: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the file at fault; the rest is still there."""
    folder = find_run("latest", runs).parent

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path / "run.sqlite"))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    assert main(["purge", "latest", "--yes"]) == 2
    assert (
        "run.sqlite: cannot be deleted (Permission denied). The rest of the run is" in capfd.readouterr().err
    )
    assert folder.exists()


def test_it_says_where_else_text_of_the_run_may_be(runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In the sheet that it was pushed to, and in the cache."""
    first = find_run("latest", runs)
    add_note(first, "sheet", json.dumps({"key": "KEY123", "worksheet": " v1"}))
    kept = ResponseCache("on")
    kept.put("of-some-run", {"choices": []})
    kept.close()
    capfd.readouterr()

    assert main(["purge", first.parent.name, "--yes"]) == 0
    errors = capfd.readouterr().err
    assert "spreadsheets/d/KEY123 (worksheets ending in v1)" in errors
    assert "cache clear" in errors
