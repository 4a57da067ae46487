"""Shards of a run, held apart and put together again, are the run that one machine would have held."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.types import Conversation
from simulator.lab.dask.merge import merged_notes, read_part
from simulator.lab.dask.settings import Shard, read_shard
from simulator.lab.dask.shard import shard_position
from simulator.storage.run_file import add_note, find_run, read_run
from tests.run_helpers import a_case

SHARDS = 5
BOT = '''
from simulator import Answer, Passage

def answer(question):
    """Always after half a second by its own clock, and nothing at all to one question in four."""
    passage = Passage(id="p", text="送料は全国一律550円です。")
    return Answer(text="" if "返せ" in question else "送料は550円です。", passages=(passage,), seconds=0.5)
'''
OPTIONS = ("--offline", "--adapter", "bot.py:answer", "--persona", "angry,calm", "--repeats", "2",
           "--turns", "2", "--target", "40")  # fmt: skip
CASES = ("--cases", "cases.jsonl")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A whole run, and the same in five shards, each in a folder of its own as a download would be."""
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("HOME", str(folder))
        asks = ("送料はいくらですか", "届いた服を返せますか", "ポイントは使えますか")
        rows = [
            {"id": f"q{n}", "question": asks[n % 3], "references": ["送料は550円です。"]} for n in range(9)
        ]
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        (folder / "cases.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (folder / "bot.py").write_text(BOT, encoding="utf-8")
        assert main([*OPTIONS, *CASES, "--runs", "whole", "--to", "json"]) in (0, 1)
        for number in range(1, SHARDS + 1):
            assert main([*OPTIONS, *CASES, "--runs", f"part-{number}", "--shard", f"{number}/{SHARDS}"]) == 0
        yield folder


@pytest.fixture
def parts(world: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders of the shards."""
    monkeypatch.chdir(world)
    for name in ("merged", "again"):
        shutil.rmtree(name, ignore_errors=True)
    return [f"part-{number}" for number in range(1, SHARDS + 1)]


def report(folder: str) -> dict[str, Any]:
    """report.json of the one run in a folder, without its own name and times."""
    (found,) = Path(folder).glob("*/report.json")
    told: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
    return {key: value for key, value in told.items() if key not in ("run", "store", "seconds")}


def test_every_conversation_is_in_one_shard_with_all_of_its_question() -> None:
    """The shards divide the plan, keep a question together, and differ by one question at most."""
    plan = [
        Conversation(id=f"{who}/q{n}#1", case=a_case(id=f"q{n}"), persona=who)
        for n in range(23)
        for who in ("angry", "calm")
    ]
    positions = [shard_position(plan, Shard(number, 4)) for number in range(1, 5)]
    shards = [[plan[place] for place in position.places] for position in positions]

    assert sorted(conversation.id for shard in shards for conversation in shard) == sorted(
        conversation.id for conversation in plan
    )
    assert sorted(len(shard) for shard in shards) == [10, 12, 12, 12]
    assert all(len({t.persona for t in shard if t.case.id == case}) == 2
               for shard in shards for case in {t.case.id for t in shard})  # fmt: skip


@pytest.mark.parametrize("given", ["0/5", "6/5", "x", "5", "1/0", "-1/5", "2/5/7"])
def test_what_is_no_part_is_refused(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2, and nothing is left behind."""
    assert main(["--offline", f"--shard={given}"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not Path("runs").exists()
    assert read_shard(" 2 / 5 ") == Shard(2, 5)


def test_merged_equals_the_whole(parts: list[str]) -> None:
    """Every figure, verdict, row and count of the whole run, in its order, from shards in any order."""
    code = main(["merge", *reversed(parts), "--runs", "merged", "--to", "json"])

    whole, merged = report("whole"), report("merged")
    assert code in (0, 1)
    assert merged == whole
    assert merged["conversations"]["planned"] >= 36


def test_a_file_alone_is_enough(parts: list[str], tmp_path: Path) -> None:
    """A downloaded artifact holds run.sqlite and nothing else."""
    for name in parts:
        (found,) = Path(name).glob("*/run.sqlite")
        (tmp_path / name).mkdir()
        shutil.copy(found, tmp_path / name / "run.sqlite")

    assert main(["merge", str(tmp_path), "--runs", "merged", "--to", "json"]) in (0, 1)
    assert report("merged") == report("whole")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("part-1 part-2 part-5", "missing: shard 3/5, 4/5. Hold it"),
        ("part-1 part-2 part-3 part-4 part-5 twice", "are both shard 1/5: leave one of them out"),
        ("part-1 part-2 part-3 part-4 part-5 whole", "not a shard of a run"),
    ],
)
def test_what_makes_no_whole_is_refused(
    parts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, told: str
) -> None:
    """A shard is missing or there twice, or is none: one line, exit code 2, and no run that lacks them."""
    shutil.copytree(parts[0], tmp_path / "twice")
    folders = given.replace("twice", str(tmp_path / "twice")).split()

    assert main(["merge", *folders, "--runs", "merged"]) == 2
    assert told in capsys.readouterr().err
    assert not Path("merged").exists()


@pytest.mark.parametrize("change", [("--turns", "1"), ()])
def test_a_part_of_another_run_is_refused(
    parts: list[str], world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, ...]
) -> None:
    """Other settings, or a question that was edited meanwhile: one line names what differs."""
    text = (world / "cases.jsonl").read_text(encoding="utf-8")
    own, other = tmp_path / "cases.jsonl", str(tmp_path / "other")
    own.write_text(text if change else text.replace("ポイント", "クーポン"), encoding="utf-8")
    main([*OPTIONS, "--cases", str(own), *change, "--shard", "5/5", "--runs", other])
    capsys.readouterr()

    assert main(["merge", *parts[:4], other, "--runs", "merged"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert ("turns is 2 in" if change else "the questions, customers or number of shards differ") in said
    assert not Path("merged").exists()


def test_a_shard_without_questions_is_a_run(
    parts: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """More shards than questions: the last ones have nothing to hold, say so, and can be merged."""
    runs = [str(tmp_path / str(number)) for number in (1, 2, 3)]
    for number, folder in enumerate(runs, 1):
        code = main([*OPTIONS, *CASES, "--limit", "2", "--shard", f"{number}/3", "--runs", folder, "--json"])
        assert code == 0
    told = capsys.readouterr()

    assert "Shard 3/3 has no questions" in told.err
    assert json.loads(told.out.splitlines()[-1])["turns"] == 0
    assert main(["merge", *runs, "--runs", "merged"]) in (0, 1)


def test_what_was_noted_is_joined(parts: list[str], tmp_path: Path) -> None:
    """Rows follow one another; the sheet of a part is not that of the whole."""
    for number, name in enumerate(parts, 1):
        shutil.copytree(name, tmp_path / name)
        add_note(find_run("latest", tmp_path / name), "asked_again", json.dumps([{"turn": number}]))
        add_note(find_run("latest", tmp_path / name), "sheet", json.dumps({"key": "k"}))
    main(["merge", str(tmp_path), "--runs", "merged"])
    notes = read_run(find_run("latest", Path("merged"))).notes

    assert notes["asked_again"] == [{"turn": number} for number in range(1, 6)]
    assert "sheet" not in notes
    assert merged_notes([{"a": {"x": 1}}, {"a": {"y": 2}, "b": [1]}]) == {"a": {"x": 1, "y": 2}, "b": [1]}


def test_a_run_that_is_being_written_is_refused(parts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Half of a run is not taken for all of it."""
    fcntl = pytest.importorskip("fcntl")
    path = find_run("latest", Path(parts[0]))
    with path.with_name("run.lock").open(encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        assert read_part(path).shard == Shard(1, 5)
    with path.with_name("run.lock").open("a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["merge", *parts, "--runs", "merged"]) == 2
    assert "still being written" in capsys.readouterr().err
