"""The run file keeps every step as it happens, has one writer, and says what is wrong with it in one line."""

import contextlib
import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest

from simulator.core.errors import RunFileError
from simulator.core.types import (
    Answer,
    Ended,
    Failure,
    HumanVerdict,
    Passage,
    Score,
    Selection,
    Spending,
    StoredArticle,
    Usage,
    Utterance,
)
from simulator.storage import results as stored
from simulator.storage import run_file, schema
from simulator.storage.run_file import RUN_FILE, RunFile, find_run, new_run_id, read_run, run_ids
from simulator.storage.words import save_verdicts
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
    file.save_call("user", Usage(model="m", tokens_in=10, tokens_out=2, tokens_cached=8), False, 0.25)
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
        "user": Spending(calls=1, cached=1, tokens_in=10, tokens_out=2, tokens_cached=8, cost_usd=0.25),
        "judge": Spending(calls=1, cost_usd=None, uncounted=1),
    }
    assert (results.planned, results.run.id, [p.id for p in results.personas]) == (3, ID, ["angry"])


def test_lengths_and_tokens_of_a_selection_count_its_own_turns_only(file: RunFile) -> None:
    """By finished turns, those not begun as 0; a line without its answer is no turn."""
    used = Usage(model="m", tokens_in=7, tokens_out=3)
    for key, index, usage in ((FIRST, 1, used), (FIRST, 2, None), (SECOND, 1, used)):
        file.save_utterance(key, index, Utterance(text="?"))
        file.save_answer(key, index, ANSWER.model_copy(update={"usage": usage}))
    file.save_utterance(SECOND, 2, Utterance(text="?"))

    every = file.conversations()
    assert every.lengths() == {2: 1, 1: 1, 0: 1}
    assert list(every.usages()) == [used, used]
    others = every.without({FIRST})
    assert others.lengths() == {1: 1, 0: 1}
    assert list(others.usages()) == [used]


def test_a_line_without_its_answer_is_no_turn_yet(file: RunFile) -> None:
    """What was said but not answered is kept apart, to be asked again after an interruption."""
    line = Utterance(text="いくら？", broken_rules=("desk",))
    file.save_utterance(FIRST, 1, line)

    assert file.results().conversations[0].turns == ()
    assert file.unanswered() == {FIRST: (1, line)}
    with contextlib.closing(sqlite3.connect(file.path)) as database:  # as short as it can be
        assert database.execute("SELECT utterance FROM turns").fetchone() == (
            '{"text":"いくら？","broken_rules":["desk"]}',
        )


def test_a_later_grade_replaces_an_earlier_one(file: RunFile) -> None:
    """One judge has one score per turn: the last."""
    file.save_scores([a_score(state="failed", value=None, raw=None), a_score("fluency")])
    file.save_scores([a_score(raw=2, value=0.4)])

    assert [(s.judge, s.raw) for s in file.results().scores] == [("fluency", 4), ("turn", 2)]


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


def test_the_lock_names_its_holder_not_an_earlier_one(file: RunFile) -> None:
    """The number of a process that died is replaced, whatever its length."""
    file.close()
    (file.path.parent / "run.lock").write_text("9999999999", encoding="utf-8")
    with (
        contextlib.closing(RunFile.reopen(file.path)),
        pytest.raises(RunFileError, match=rf"by process {os.getpid()};"),
    ):
        RunFile.reopen(file.path)


def test_a_lock_that_is_a_link_is_not_written(file: RunFile, tmp_path: Path) -> None:
    """A folder from elsewhere may have it lead to a file of ours."""
    file.close()
    precious, lock = tmp_path / "precious", file.path.with_name("run.lock")
    precious.write_text("kept", encoding="utf-8")
    lock.unlink()
    lock.symlink_to(precious)

    with pytest.raises(RunFileError, match="cannot be written"):
        RunFile.reopen(file.path)
    assert precious.read_text(encoding="utf-8") == "kept"


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


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM about WHERE key = 'run'",
        "UPDATE about SET body = 'nonsense'",
        "UPDATE about SET body = replace(hex(zeroblob(9000)), '00', '[') WHERE key = 'personas'",
        "UPDATE about SET body = json_set(body, '$.created', '9999-12-31T23:00:00Z') WHERE key = 'run'",
        "DROP TABLE scores",
        "UPDATE conversations SET persona = x'ff00'",
        'UPDATE conversations SET "case" = \'{"id": 1\'',
    ],
)
def test_a_damaged_run_is_one_line(file: RunFile, damage: str) -> None:
    """Whatever is missing or unreadable in it, there is no traceback."""
    file.close()
    with contextlib.closing(sqlite3.connect(file.path)) as database, database:
        database.execute(damage)

    assert "the run file is damaged" in why(file.path)
    with contextlib.closing(RunFile.reopen(file.path)) as again, pytest.raises(RunFileError, match="damaged"):
        again.results()


def test_a_run_is_its_owners_and_one_file(file: RunFile) -> None:
    """Nobody else can read it; closed, the write-ahead log is folded in, so that it can be copied."""
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.save_note("check", '{"drifted": false}')
    file.save_note("check", '{"drifted": true}')
    file.close()

    assert read_run(file.path).notes == {"check": {"drifted": True}}
    assert sorted(path.name for path in file.path.parent.iterdir()) == ["run.lock", RUN_FILE]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file in the way of the runs folder is one line, with the way out."""
    (tmp_path / "runs").write_text("")

    with pytest.raises(RunFileError, match=r"cannot be written \(.*\)\. Choose another folder with --runs\."):
        a_run(tmp_path / "runs", PLAN)


def test_what_is_no_run_file_is_named_as_what_it_is(file: RunFile, tmp_path: Path) -> None:
    """Text, another database, a missing file, an empty one, half a copy, and a run of another version."""
    file.close()
    whole = file.path.read_bytes()
    text, other, empty, half = (tmp_path / name for name in ("a.txt", "b.sqlite", "c.sqlite", "d.sqlite"))
    text.write_text("not a database, though it is long enough to be one" * 10, encoding="utf-8")
    half.write_bytes(whole[: len(whole) // 2])
    empty.touch()
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE t (x)")
    with contextlib.closing(sqlite3.connect(file.path)) as database:
        database.execute("PRAGMA user_version = 1")

    assert "not a run file (file is not a database)" in why(text)
    assert "not a run file" in why(other)
    assert "start a new run" in why(empty)
    assert "this run file does not exist" in why(tmp_path / "nothing.sqlite")
    assert not (tmp_path / "nothing.sqlite").exists()
    assert re.search("damaged|not a run file", why(half))
    text.write_bytes(whole)
    (tmp_path / "a.txt-wal").mkdir()  # SQLite has no place for what it needs beside the file
    assert "unable to open database file). Is the disk full, or the folder read-only?" in why(text)
    assert why(file.path).endswith(
        "a run of another version of the program (schema 1, not 3); start a new run."
    )


def test_a_run_is_found_by_what_people_write(tmp_path: Path) -> None:
    """Its id, the start of it, `latest`, its folder and its file; else the newest are named, newest first."""
    runs, names = tmp_path / "runs", ["20260401-x", "20260402-x"]
    with pytest.raises(
        RunFileError, match=r"no run 'latest' in .*runs/\. There is no .*runs/ here: type this"
    ):
        find_run("latest", runs)
    runs.mkdir()
    with pytest.raises(RunFileError, match=r"no run 'latest' in .*runs/\. Newest: none yet\."):
        find_run("latest", runs)
    for name in names:
        a_run(runs, PLAN[:1], name).close()
    (runs / "not-a-run").mkdir()
    newest = runs / "20260402-x" / RUN_FILE

    assert run_ids(runs) == names
    for name in ("20260402-x", "20260402", "latest", str(newest), str(newest.parent)):
        assert find_run(name, runs) == newest
    with pytest.raises(RunFileError, match=rf"no run '{'x' * 80}' in "):
        find_run("x" * 81, runs)
    for name, problem in (("2026", "2 runs start with"), ("1999", "no run"), ("", "no run")):
        with pytest.raises(RunFileError, match=rf"{problem} '{name}'.*\. Newest: 20260402-x, 20260401-x\."):
            find_run(name, runs)


def test_what_conversations_share_is_held_once(file: RunFile) -> None:
    """Cases and passages; a conversation is read when it is looked at, as far as it has come by then."""
    file.add_conversations([PLAN[0].model_copy(update={"id": "calm/fees#2"})])
    conversations = file.conversations()
    for key in (FIRST, "calm/fees#2"):
        file.save_utterance(key, 1, Utterance(text="いくら？"))
        file.save_answer(key, 1, ANSWER)
    first, *_, last = conversations

    assert [len(conversation.turns) for conversation in conversations] == [1, 0, 0, 1]
    assert conversations[1:] == list(conversations)[1:]
    assert first.case is last.case
    assert first.turns[0].answer.passages[0] is last.turns[0].answer.passages[0]


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_run_is_the_same_in_memory_and_in_its_file(
    file: RunFile, in_memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is asked of its conversations and grades, whole or in part."""
    used = Usage(model="m", tokens_in=7, tokens_out=3)
    said = {
        (FIRST, 1): ANSWER.model_copy(update={"usage": used}),
        (SECOND, 1): Answer(text="Free.", reasoning=12),
        (SECOND, 2): Answer(text="Yes.", reasoning=3, passages=(Passage(id="q", text="x", source="faq.md"),)),
    }
    for (key, index), answer in said.items():
        file.save_utterance(key, index, Utterance(text="?"))
        file.save_answer(key, index, answer)
    file.save_utterance(THIRD, 1, Utterance(text="?"))
    file.save_ending(FIRST, Ended.SATISFIED, "", "")
    file.save_ending(SECOND, Ended.ENDPOINT_FAILED, "", "")
    failed: dict[str, Any] = {"conversation": SECOND, "state": "failed", "value": None}
    scores = [a_score(), a_score("fluency"), a_score(turn=2, **failed), a_score("fluency", **failed)]
    file.save_scores(scores)
    file.close()
    monkeypatch.setattr(stored, "MAX_LOADED", file.path.stat().st_size - (not in_memory))
    results = read_run(file.path)
    talks, grades = results.conversations, results.scores
    assert isinstance(talks, tuple) is isinstance(grades, tuple) is in_memory

    chosen = {which: list(talks.select(which).ids) for which in get_args(Selection)}
    assert chosen == {
        "begun": [FIRST, SECOND], "unfinished": [SECOND, THIRD], "english": [SECOND],
        "with_passages": [FIRST, SECOND],
    }  # fmt: skip
    assert list(talks.ids) == [talk.id for talk in talks] == [FIRST, SECOND, THIRD]
    assert (len(talks), talks.turns, talks.lengths(), talks.reasoned) == (3, 3, {1: 1, 2: 1, 0: 1}, 2)
    assert list(talks.usages()) == [used]
    assert [talk.id for talk in talks.with_ids([THIRD, FIRST])] == [THIRD, FIRST]
    others = talks.without({SECOND})
    assert ([talk.id for talk in others], others.reasoned, others.turns) == ([FIRST, THIRD], 0, 1)
    assert (list(others.usages()), list(others.select("begun").ids)) == ([used], [FIRST])
    assert (len(grades), grades.judges) == (4, {"turn", "fluency"})
    assert [s.conversation for s in grades.of_judge("turn")] == [FIRST, SECOND]
    assert [s.conversation for s in grades.of_judge("turn", "failed")] == [SECOND]
    assert [s.judge for s in grades.without({SECOND})] == ["fluency", "turn"]
    by_turn = grades.of_conversations([SECOND, THIRD])
    assert {key: {turn: [*judges] for turn, judges in turns.items()} for key, turns in by_turn.items()} == {
        SECOND: {1: ["fluency"], 2: ["turn"]}
    }
    pairs = {talk.id: [*turns] for talk, turns in stored.conversations_with_scores(results)}
    assert pairs == {FIRST: [1], SECOND: [1, 2], THIRD: []}
    turns = stored.turns_with_scores(results, {(SECOND, 2), (FIRST, 1), (FIRST, 9)})
    assert [(talk.id, turn.index, [*judges]) for talk, turn, judges in turns] == [
        (FIRST, 1, ["fluency", "turn"]), (SECOND, 2, ["turn"]),
    ]  # fmt: skip
    selected = stored.select_turns(results, {(SECOND, 2), (FIRST, 1), (FIRST, 9), (THIRD, 1)})
    assert [(talk.id, turn.index) for talk, turn in selected] == [(FIRST, 1), (SECOND, 2)]
    assert stored.report_language(results) == "ja"


def test_a_report_is_in_the_language_of_most_conversations(tmp_path: Path) -> None:
    """Japanese on a tie; what the run was started with goes first."""
    ja, en, more = PLAN[0], PLAN[1], a_talk(a_case("en", id="fees-9"))
    for plan, language in (((ja, en), "ja"), ((ja, en, more), "en")):
        with contextlib.closing(a_run(tmp_path / language, plan)) as file:
            results = file.results()
        named = [
            results.run.model_copy(update={"settings": {"language": name}}) for name in ("ja", "en", "all")
        ]
        said = [stored.report_language(results.model_copy(update={"run": run})) for run in named]
        assert said == ["ja", "en", language]


def test_the_bots_articles_are_kept_up_to_a_size(file: RunFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it their titles and digests are, by which a change is still seen."""
    articles = [StoredArticle.of(name, name.upper(), "本文" * 50) for name in ("a", "b")]
    monkeypatch.setattr(run_file, "MOST_PACKED", sum(len(article.packed) for article in articles))
    file.save_articles(articles)
    assert file.results().articles == tuple(articles)
    assert [article.text for article in file.results().articles] == ["本文" * 50] * 2

    monkeypatch.setattr(run_file, "MOST_PACKED", run_file.MOST_PACKED - 1)
    file.save_articles(articles)
    kept = file.results().articles
    assert [(article.id, article.title, article.digest, article.text) for article in kept] == [
        (article.id, article.title, article.digest, "") for article in articles
    ]
    assert articles[0].digest == "77b8af03c2eff118"


def test_which_articles_a_run_named_and_retrieved(file: RunFile) -> None:
    """Of the questions that were begun; passages with their source, where they tell one."""
    shown = (Passage(id="p", text="x"), Passage(id="q", text="y", source="faq.md"))
    file.save_utterance(FIRST, 1, Utterance(text="?"))
    file.save_answer(FIRST, 1, Answer(text="x", passages=shown))
    file.save_utterance(SECOND, 1, Utterance(text="?"))
    named = file.results().conversations[0].case.passages

    with schema.snapshot(file.path) as opened, contextlib.closing(opened):
        use = stored.article_use(opened)
    assert (use.needed, use.retrieved) == (frozenset(named), frozenset({("p", ""), ("q", "faq.md")}))


def test_whether_a_run_is_held(file: RunFile) -> None:
    """By whoever has its lock; a folder without a lock is held by nobody."""
    folder = file.path.parent
    assert run_file.is_held(folder)
    file.close()
    assert not run_file.is_held(folder)
    (folder / "run.lock").unlink()
    assert not run_file.is_held(folder)
    (folder / "run.lock").mkdir()
    assert run_file.is_held(folder)


def test_runs_are_listed_by_when_they_were_started(tmp_path: Path) -> None:
    """And not by their names; one that cannot be read counts as of when it was last written."""
    runs = tmp_path / "runs"
    for name, created in (
        ("20260102-a", "2026-01-02T05:00:00+09:00"),
        ("20260101-b", "2026-01-01T23:00:00Z"),
    ):
        a_run(runs, PLAN[:1], name).close()
        with contextlib.closing(sqlite3.connect(runs / name / RUN_FILE)) as database, database:
            change = "UPDATE about SET body = json_set(body, '$.created', ?) WHERE key = 'run'"
            database.execute(change, (created,))
    (runs / "broken").mkdir()
    (runs / "broken" / RUN_FILE).write_text("?" * 100, encoding="utf-8")
    os.utime(runs / "broken" / RUN_FILE, (946684800, 946684800))

    assert run_ids(runs) == ["broken", "20260102-a", "20260101-b"]
    assert run_file.created_at(runs / "20260102-a" / RUN_FILE) == datetime(2026, 1, 1, 20, tzinfo=UTC)
    assert run_file.created_at(runs / "broken" / RUN_FILE) == datetime(2000, 1, 1, tzinfo=UTC)
    os.utime(runs / "broken" / RUN_FILE, (10**12, 10**12))
    for name in ("gone", "broken"):  # of no time at all
        assert run_file.created_at(runs / name / RUN_FILE) == datetime.min.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("replay", "run"),
    [
        (ID, ID), (f"runs/{ID}", ID), (f"runs/{ID}/run.sqlite", ID), (f"C:\\runs\\{ID}\\run.sqlite", ID),
        ("run.sqlite", "run.sqlite"), ("", None), (None, None), (5, None),
    ],
)  # fmt: skip
def test_which_run_was_replayed(replay: object, run: str | None, file: RunFile) -> None:
    """By its id, whatever was typed and on whatever system."""
    assert run_file.replay_of(file.run.model_copy(update={"settings": {"replay": replay}})) == run


def test_runs_of_which_people_said_something(tmp_path: Path) -> None:
    """Oldest first, without those that cannot be read; labelled ones by the rubric that graded them."""
    runs = tmp_path / "runs"
    for name, said in (("20260101-a", True), ("20260102-b", False), ("20260103-c", True)):
        with contextlib.closing(a_run(runs, PLAN, name)) as opened:
            opened.save_scores([a_score(rubric=f"rubric-{name[-1]}")])
        if said:
            word = HumanVerdict(conversation=FIRST, turn=1, source="blind", reviewer="Sato", grade=2)
            save_verdicts(runs / name / RUN_FILE, [word])
    (runs / "broken").mkdir()
    (runs / "broken" / RUN_FILE).write_text("?" * 100, encoding="utf-8")

    assert [results.run.id for results in run_file.with_verdicts(runs)] == ["20260101-a", "20260103-c"]
    assert [results.run.id for results in run_file.labelled_runs(runs, "rubric-c")] == ["20260103-c"]
    assert list(run_file.labelled_runs(runs, "rubric-b")) == []


@pytest.mark.parametrize(
    ("personas", "label"),
    [(["angry"], "angry"), (["angry", "calm"], "mixed"), (["怒り"], "persona"), (["a_b-" * 9], "a_b-" * 5)],
)
def test_the_id_of_a_run_names_its_customer_in_ascii(personas: list[str], label: str) -> None:
    """It is a folder's name, and is read aloud."""
    now = datetime(2026, 4, 1, 9, 30, 0, 512_000, tzinfo=UTC)

    assert re.fullmatch(rf"20260401-093000512-{label}-[0-9a-f]{{4}}", new_run_id(now, personas))
