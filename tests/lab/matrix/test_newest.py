"""Which run is the newest: the time in the run file says so, in UTC, not the name of its folder."""

import json
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from simulator.cli.app import main
from simulator.lab.matrix.record import NAME, Record, RecordFile, find_record, record_ids
from simulator.storage.run_file import find_run, read_run, run_ids
from tests.excel import Person

CASES = "id,question,language,answer\nq1,届いた服を返せますか,ja,14日以内なら返品できます。\n"
RECORDED = ("--cases", "cases.csv", "--adapter", "recorded", "--turns", "1", "--offline")
# On one machine after a flight, or on two: the first run's folder has the later name.
FIRST, SECOND = "Asia/Tokyo", "America/New_York"


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs, the first one started in Tokyo, the second one after it in New York."""
    folder = tmp_path_factory.mktemp("held")
    (folder / "cases.csv").write_text(CASES, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for zone in (FIRST, SECOND):
            patch.setenv("TZ", zone)
            time.tzset()
            assert main([*RECORDED, "--to", "xlsx"]) == 0
    time.tzset()
    return folder


@pytest.fixture
def two(held: Path) -> tuple[str, str]:
    """The ids of these runs, which are where the test stands: the first one's is the later name."""
    shutil.copytree(held, Path(), dirs_exist_ok=True)
    second, first = sorted(path.name for path in Path("runs").iterdir())
    return first, second


def test_purge_latest_deletes_the_run_that_was_started_last(two: tuple[str, str]) -> None:
    """And then the one before it."""
    first, second = two

    assert main(["purge", "latest", "--yes"]) == 0
    assert run_ids(Path("runs")) == [first]
    assert not Path("runs", second).exists()
    assert main(["purge", "latest", "--yes"]) == 0
    assert run_ids(Path("runs")) == []


def test_a_folder_may_have_any_name(two: tuple[str, str]) -> None:
    """Renamed or copied, it is the same run."""
    first, second = two
    Path("runs", second).rename(Path("runs", "00-keep"))
    Path("runs", first).rename(Path("runs", "zz-before"))

    assert read_run(find_run("latest", Path("runs"))).run.id == second


def test_a_damaged_newest_run_is_said_instead_of_an_older_one_being_taken(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is deleted in its place."""
    _first, second = two
    path = Path("runs", second, "run.sqlite")
    path.write_bytes(path.read_bytes()[:3000])

    assert main(["purge", "latest", "--yes"]) == 2
    assert second in capsys.readouterr().err
    assert len(run_ids(Path("runs"))) == 2


def test_lists_and_hints_have_the_order_of_time(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`list`, the ids that are offered for a wrong one, and the run before for `diff`."""
    first, second = two
    capsys.readouterr()

    assert main(["list", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["runs"]) == [first, second]
    assert main(["report", "nothing"]) == 2
    assert f"Newest: {second}, {first}" in " ".join(capsys.readouterr().err.split())
    assert main(["diff", second]) == 2
    assert f"The one before it: {first}" in " ".join(capsys.readouterr().err.split())


def test_what_the_team_wrote_goes_on_to_the_run_after(two: tuple[str, str]) -> None:
    """Into the workbook of the run that was started later, whatever its name, and not the other way."""
    first, second = two
    with Person(Path("runs", first, "report.xlsx")) as person:
        person.type("確認", 2, "コメント", "資料にあります")

    assert main(["report", second, "--to", "xlsx"]) == 0
    with Person(Path("runs", second, "report.xlsx")) as person:
        comments = list(person.book["確認"].iter_rows(values_only=True))
    assert any("資料にあります" in map(str, row) for row in comments)


def test_matrices_have_the_order_of_time_too(tmp_path: Path) -> None:
    """By their records: the one with the later name was started before."""
    for name, hour in (("20261121-230000-matrix-0001", 14), ("20261121-093000-matrix-0002", 15)):
        (tmp_path / name).mkdir()
        started = datetime(2026, 11, 21, hour, tzinfo=UTC)
        RecordFile.create(tmp_path / name, Record(id=name, created=started, cells=())).close()

    assert [name[-4:] for name in record_ids(tmp_path)] == ["0001", "0002"]
    assert find_record("latest", tmp_path) == tmp_path / "20261121-093000-matrix-0002" / NAME
