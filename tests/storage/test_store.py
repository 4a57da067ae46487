"""The run file keeps every step as it happens, has one writer, and says what is wrong with it in one line."""

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from simulator.core.errors import RunFileError
from simulator.core.types import (
    Answer,
    Ended,
    Failure,
    HumanVerdict,
    Passage,
    Score,
    Spending,
    Usage,
    Utterance,
)
from simulator.storage.run_file import RUN_FILE, RunFile, find_run, new_run_id, read_run, run_ids
from tests.paths import ROOT
from tests.run_helpers import a_case, a_rich_case, a_run, a_talk

ID = "20261121-090400-angry-0001"
PLAN = (a_talk(a_rich_case()), a_talk(a_case("en", id="fees-2")), a_talk(a_case(id="fees-3")))
FIRST, SECOND, THIRD = (conversation.id for conversation in PLAN)
ANSWER = Answer(
    text="月額4,180円です。\n", passages=(Passage(id="p", text="料金表", score=0.5),), seconds=1.5
)


def a_score(judge: str = "turn", turn: int = 1, **changes: object) -> Score:
    """A grade of the first conversation."""
    known = {"judge": judge, "conversation": FIRST, "turn": turn, "state": "scored", "value": 0.8, "raw": 4}
    return Score.model_validate(known | changes)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RunFile]:
    """A new run of three conversations."""
    with contextlib.closing(a_run(tmp_path / "runs", PLAN, ID)) as opened:
        yield opened


def why(path: Path) -> str:
    """Why a run cannot be read; always one line."""
    with pytest.raises(RunFileError) as met:
        read_run(path)
    assert "\n" not in str(met.value)
    return str(met.value)


def test_what_is_written_is_read_back(file: RunFile) -> None:
    """Plan, lines, answers, grades, endings and calls come back as the same values, in the plan's order."""
    failed = Answer(text="", error=Failure(kind="timeout", message="no answer within 60 s"), seconds=60)
    file.save_utterance(FIRST, 1, Utterance(text="いくら？"))
    file.save_answer(FIRST, 1, ANSWER)
    file.save_utterance(FIRST, 2, Utterance(text="本当？", broken_rules=("repeat",)))
    file.save_answer(FIRST, 2, failed)
    file.save_scores(
        [a_score(), a_score("fluency", state="skipped", value=None, raw=None, detail={"kind": ["x"]})]
    )
    file.save_ending(FIRST, Ended.SATISFIED, "解決した", "どうも。")
    file.save_call("user", Usage(model="m", tokens_in=10, tokens_out=2), False, 0.25)
    file.save_call("user", Usage(model="m", tokens_in=10, tokens_out=2), True, 0.0)
    file.save_call("judge", Usage(model="?"), False, None)
    file.close()

    results = read_run(file.path)
    first, second, third = results.conversations
    assert (first.case, second, third) == (PLAN[0].case, PLAN[1], PLAN[2])
    assert [(t.index, t.user, t.answer, t.broken_rules) for t in first.turns] == [
        (1, "いくら？", ANSWER, ()),
        (2, "本当？", failed, ("repeat",)),
    ]
    assert (first.ended, first.reason, first.closing) == (Ended.SATISFIED, "解決した", "どうも。")
    assert {score.judge: score.state for score in results.scores} == {"turn": "scored", "fluency": "skipped"}
    assert results.spending == {
        "user": Spending(calls=1, cached=1, tokens_in=10, tokens_out=2, cost_usd=0.25),
        "judge": Spending(calls=1, cost_usd=None),
    }
    assert (results.planned, results.run.id, [p.id for p in results.personas]) == (3, ID, ["angry"])


def test_a_line_without_its_answer_is_no_turn_yet(file: RunFile) -> None:
    """What was said but not answered is kept apart, to be asked again after an interruption."""
    line = Utterance(text="いくら？", broken_rules=("desk",))
    file.save_utterance(FIRST, 1, line)

    assert file.results().conversations[0].turns == ()
    assert file.unanswered() == {FIRST: (1, line)}


def test_a_later_grade_replaces_an_earlier_one(file: RunFile) -> None:
    """One judge has one score per turn: the last."""
    file.save_scores([a_score(state="failed", value=None, raw=None), a_score("fluency")])
    file.save_scores([a_score(raw=2, value=0.4)])

    assert [(s.judge, s.raw) for s in file.results().scores] == [("fluency", 4), ("turn", 2)]


def test_a_reader_sees_a_run_that_is_being_written(file: RunFile) -> None:
    """Each step is there for other processes as soon as it is written."""
    file.save_utterance(FIRST, 1, Utterance(text="いくら？"))
    assert read_run(file.path).conversations[0].turns == ()

    file.save_answer(FIRST, 1, ANSWER)
    assert read_run(file.path).conversations[0].turns[0].answer == ANSWER
    assert read_run(file.path).run.status == "running"


def test_finishing_marks_what_was_cut_off(file: RunFile) -> None:
    """Conversations that had begun count as interrupted, the others as not held; time adds up."""
    file.save_utterance(FIRST, 1, Utterance(text="?"))
    file.save_utterance(SECOND, 1, Utterance(text="?"))
    file.save_ending(SECOND, Ended.SATISFIED, "", "")
    file.finish("interrupted", 2.5)
    file.mark_running()
    again = file.results()
    assert [c.ended for c in again.conversations] == [None, Ended.SATISFIED, None]
    assert again.run.status == "running"

    file.save_ending(THIRD, Ended.BUDGET, "", "")
    file.finish("stopped", 1.5)
    done = file.results()
    assert [c.ended for c in done.conversations] == [Ended.INTERRUPTED, Ended.SATISFIED, Ended.BUDGET]
    assert (done.run.status, done.run.seconds) == ("stopped", 4.0)


def test_a_run_is_its_owners(file: RunFile) -> None:
    """Folder and file can be read by nobody else."""
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_closing_leaves_one_file(file: RunFile) -> None:
    """The write-ahead log is folded in, so that the run can be copied."""
    file.save_utterance(FIRST, 1, Utterance(text="?"))
    file.close()
    read_run(file.path)

    assert sorted(path.name for path in file.path.parent.iterdir()) == ["run.lock", RUN_FILE]


def test_there_is_one_writer(file: RunFile) -> None:
    """A second process is told who holds the run; when that one has gone, it may go on."""
    script = (
        "import sys; from pathlib import Path; from simulator.storage.run_file import RunFile\n"
        "try: RunFile.reopen(Path(sys.argv[1])).close()\n"
        "except Exception as error: sys.exit(f'{type(error).__name__}: {error}')"
    )
    command = [sys.executable, "-c", script, str(file.path)]
    world = os.environ | {"PYTHONPATH": str(ROOT)}
    second = subprocess.run(command, capture_output=True, text=True, check=False, env=world)
    file.close()
    third = subprocess.run(command, capture_output=True, text=True, check=False, env=world)

    assert second.returncode == 1
    assert second.stderr == (
        f"RunFileError: {ID} is being written by process {os.getpid()}; wait for it, or end it.\n"
    )
    assert (third.returncode, third.stderr) == (0, "")


def test_a_bug_while_writing_leaves_nothing_half_done(file: RunFile) -> None:
    """An exception of ours takes its transaction back, and the file can be written on."""

    def scores() -> Iterator[Score]:
        yield a_score()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        file.save_scores(scores())
    file.save_scores([a_score("fluency")])

    assert [score.judge for score in file.results().scores] == ["fluency"]


def test_a_run_whose_plan_cannot_be_written_leaves_no_folder(tmp_path: Path) -> None:
    """Two conversations of one id are refused, and no broken run is left to be found as the latest."""
    with pytest.raises(RunFileError, match="UNIQUE"):
        a_run(tmp_path / "runs", [PLAN[0], PLAN[0]])

    assert run_ids(tmp_path / "runs") == []
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file in the way of the runs folder is one line, with the way out."""
    (tmp_path / "runs").write_text("")

    with pytest.raises(RunFileError, match=r"cannot be written \(.*\)\. Choose another folder with --runs\."):
        a_run(tmp_path / "runs", PLAN)


def test_foreign_files_are_no_runs(tmp_path: Path) -> None:
    """Text, another database, a missing file and an empty one are each named as what they are."""
    text, other, empty = tmp_path / "a.txt", tmp_path / "b.sqlite", tmp_path / "c.sqlite"
    text.write_text("not a database, though it is long enough to be one" * 10, encoding="utf-8")
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE t (x)")
    empty.touch()

    assert "not a run file (file is not a database)" in why(text)
    assert "not a run file" in why(other)
    assert "start a new run" in why(empty)
    assert "this run file does not exist" in why(tmp_path / "nothing.sqlite")
    assert not (tmp_path / "nothing.sqlite").exists()


def test_a_run_of_a_newer_version_is_refused(file: RunFile) -> None:
    """Its schema number is named, and that the program wants updating."""
    file.close()
    with contextlib.closing(sqlite3.connect(file.path)) as database:
        database.execute("PRAGMA user_version = 7")

    assert why(file.path).endswith("written by a newer version (schema 7); update the program.")


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM about WHERE key = 'run'",
        "DELETE FROM about WHERE key = 'personas'",
        "UPDATE about SET body = '{}' WHERE key = 'run'",
        "UPDATE about SET body = 'nonsense'",
        "DROP TABLE scores",
        "UPDATE conversations SET ended = 'vanished'",
        'UPDATE conversations SET "case" = \'{"id": 1\'',
    ],
)
def test_a_damaged_run_is_one_line(file: RunFile, damage: str) -> None:
    """Whatever is missing or unreadable in it, there is no traceback."""
    file.close()
    with contextlib.closing(sqlite3.connect(file.path)) as database, database:
        database.execute(damage)

    assert "the run file is damaged" in why(file.path)


def test_a_run_file_cut_short_is_one_line(file: RunFile) -> None:
    """Half a copy is not mistaken for a run."""
    file.close()
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[: len(whole) // 2])

    assert "damaged" in why(file.path) or "not a run file" in why(file.path)


def test_a_run_is_found_by_what_people_write(tmp_path: Path) -> None:
    """Its id, the start of it, `latest`, its folder and its file all mean the run."""
    runs = tmp_path / "runs"
    for name in ("20260401-093000-angry-1111", "20260402-093000-calm-2222"):
        a_run(runs, PLAN[:1], name).close()
    (runs / "not-a-run").mkdir()
    newest = runs / "20260402-093000-calm-2222" / RUN_FILE

    assert run_ids(runs) == ["20260401-093000-angry-1111", "20260402-093000-calm-2222"]
    for name in (
        "20260402-093000-calm-2222", "20260402", "latest", str(newest), str(newest.parent),
    ):  # fmt: skip
        assert find_run(name, runs) == newest


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("2026", "2 runs start with '2026'. Newest: 20260402-x, 20260401-x."),
        ("1999", "no run '1999' in runs/. Newest: 20260402-x, 20260401-x."),
        ("", "no run '' in runs/. Newest: 20260402-x, 20260401-x."),
    ],
)
def test_a_run_that_is_not_found_is_answered_with_those_there_are(
    tmp_path: Path, name: str, message: str
) -> None:
    """The newest come first, and an empty name means none."""
    for known in ("20260401-x", "20260402-x"):
        a_run(tmp_path / "runs", PLAN[:1], known).close()

    with pytest.raises(RunFileError) as met:
        find_run(name, Path("runs"))
    assert str(met.value) == message


def test_no_runs_yet(tmp_path: Path) -> None:
    """`latest` without any run says so."""
    with pytest.raises(RunFileError, match=r"no run 'latest' in .*runs/\. Newest: none yet\."):
        find_run("latest", tmp_path / "runs")


def test_ids_sort_by_time_and_can_be_typed() -> None:
    """An id is date, time, who played, and four digits that keep two at once apart; ASCII only."""
    now = datetime(2026, 4, 1, 9, 30, tzinfo=UTC)
    ids = [new_run_id(now + timedelta(milliseconds=n), ["angry"]) for n in range(3)]

    assert ids == sorted(ids)
    assert ids[0].startswith("20260401-093000000-angry-")
    assert new_run_id(now, ["angry", "calm"])[19:-5] == "mixed"
    assert new_run_id(now, ["怒り"])[19:-5] == "persona"
    assert new_run_id(now, ["../../x"])[19:-5] == "x"


def test_a_large_run_is_read_in_linear_time(tmp_path: Path) -> None:
    """Ten thousand planned conversations are planned and read in about a second."""
    plan = [PLAN[1].model_copy(update={"id": f"angry/{n}#1"}) for n in range(10_000)]
    started = time.perf_counter()
    a_run(tmp_path / "runs", plan, ID).close()

    assert read_run(tmp_path / "runs" / ID / RUN_FILE).planned == 10_000
    assert time.perf_counter() - started < 5


def test_what_people_said_keeps_its_history(file: RunFile) -> None:
    """The newest of each reviewer counts, what is said again adds nothing, and no earlier word is lost."""
    one = HumanVerdict(conversation=FIRST, turn=1, source="review", reviewer="Sato", judge_is="right")
    other = one.model_copy(update={"judge_is": "wrong", "comment": "資料どおり"})
    blind = HumanVerdict(conversation=FIRST, turn=1, source="blind", reviewer="Sato", grade=2)

    assert file.save_verdicts([one, blind]) == 2
    assert file.save_verdicts([one.model_copy(update={"given": datetime.now(tz=UTC)})]) == 0
    assert file.save_verdicts([other, blind]) == 1
    assert set(file.results().verdicts) == {other, blind}
    with contextlib.closing(sqlite3.connect(file.path)) as database:
        assert database.execute("SELECT count(*) FROM verdicts").fetchone() == (3,)


def test_notes_about_the_run_are_kept(file: RunFile) -> None:
    """The newest note of a name is read back."""
    file.save_note("check", '{"drifted": false}')
    file.save_note("check", '{"drifted": true}')

    assert file.results().notes == {"check": {"drifted": True}}
