"""`purge RUN`: what goes, what is refused, and what is said about the rest."""

import io
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from simulator.cli.app import main
from simulator.models.cache import ResponseCache, cache_file
from simulator.storage import results
from simulator.storage.run_file import RunFile, add_note, find_run, read_run
from tests.servers.openai import OpenAIServer

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
    assert (output["purged"], output["cache"], output["elsewhere"]) == (
        str(folder.relative_to(Path.cwd())), {"deleted": 0, "left": 0}, [],
    )  # fmt: skip
    assert output["files"] >= 3


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


def test_it_names_the_sheet_that_has_text_of_the_run(runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The one that it was pushed to."""
    first = find_run("latest", runs)
    add_note(first, "sheet", json.dumps({"key": "KEY123", "worksheet": " v1"}))
    capfd.readouterr()

    assert main(["purge", first.parent.name, "--yes"]) == 0
    assert "spreadsheets/d/KEY123 (worksheets ending in v1)" in capfd.readouterr().err


@pytest.fixture
def paid(tmp_path: Path, server: OpenAIServer) -> None:
    """A run that models graded, and one of another question; the cache has the replies of both."""
    for number, question in enumerate(("届いた服を返せますか", "送料はいくらですか"), 1):
        rows = f"id,question,language,answer\nq{number},{question},ja,{question}とのことですが、はい。\n"
        (tmp_path / "cases.csv").write_text(rows, encoding="utf-8")
        main(["--cases", "cases.csv", "--adapter", "recorded", "--turns", "1", "--judges", "turn"])


@pytest.mark.usefixtures("paid")
@pytest.mark.parametrize("most", [results.MAX_LOADED, 0])
def test_the_cached_replies_of_a_run_can_go_with_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """--replies removes replies with text of the run, also from the file's bytes; else it counts them."""
    monkeypatch.setattr(results, "MAX_LOADED", most)
    cache = tmp_path / "cache" / "rehearsal" / "responses.sqlite"
    first = min((tmp_path / "runs").iterdir())
    reason = next(s.reason for s in read_run(first / "run.sqlite").scores)
    before = _rows(cache)
    capfd.readouterr()

    assert main(["purge", "latest", "--yes"]) == 0
    assert "cache clear" in capfd.readouterr().err

    assert main(["purge", first.name, "--yes", "--replies", "--json"]) == 0
    said = capfd.readouterr()
    cache_counts = json.loads(said.out)["cache"]
    assert cache_counts["deleted"] >= 1
    assert _rows(cache) == before - cache_counts["deleted"]
    assert reason.encode() not in b"".join(
        path.read_bytes() for path in cache.parent.iterdir() if path.is_file()
    )


@pytest.mark.parametrize(("reply", "deleted"), [("はい", 0), ("1234567", 0), ("12345678", 1)])
def test_a_reply_of_a_few_letters_is_nobodys(
    reply: str, deleted: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It says nothing about a run that another run's model said yes, too: from eight letters on it does."""
    (tmp_path / "cases.csv").write_text(CASES.replace("14日以内なら返品できます。", reply), encoding="utf-8")
    assert simulate() == 0
    kept = ResponseCache("on")
    said = {"choices": [{"message": {"role": "assistant", "content": reply}}]}
    kept.put("of-another-run", said)
    kept.close()
    capfd.readouterr()

    assert main(["purge", "latest", "--yes", "--replies", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["cache"] == {"deleted": deleted, "left": 0}
    assert _rows(cache_file()) == 1 - deleted


def test_a_run_that_keeps_the_bots_articles_goes_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """They are stored compressed, and looked for in no reply."""
    (tmp_path / "cases.csv").write_text(CASES, encoding="utf-8")
    (tmp_path / "articles").mkdir()
    (tmp_path / "articles" / "returns.md").write_text("14日以内なら返品できます。", encoding="utf-8")
    assert simulate("--knowledge", "articles") == 0
    kept = ResponseCache("on")
    kept.put("of-another-run", {"choices": []})
    kept.close()
    capfd.readouterr()

    assert main(["purge", "latest", "--yes", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["cache"] == {"deleted": 0, "left": 0}


def _rows(cache: Path) -> int:
    with closing(sqlite3.connect(cache)) as file:
        return int(file.execute("SELECT count(*) FROM responses").fetchone()[0])
