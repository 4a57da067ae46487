"""What people say of answers: a row each time, and what counts of them, whoever writes at the same moment."""

import contextlib
import sqlite3
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import RunFileError
from simulator.core.types import HumanVerdict, ReleaseDecision
from simulator.storage.run_file import read_run
from simulator.storage.words import (
    AGAIN,
    WORDS,
    Edit,
    OtherWord,
    Replaced,
    add_to_note,
    all_words,
    decide_release,
    in_document,
    note_written,
    read_news,
    save_blind_grade,
    save_release_decision,
    save_verdicts,
    save_words,
    words_of,
)
from tests.run_helpers import a_run
from tests.storage.test_store import FIRST, PLAN

AT = (FIRST, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run file that nobody holds."""
    with contextlib.closing(a_run(tmp_path / "runs", PLAN)) as file:
        return file.path


def sheet(**said: Any) -> HumanVerdict:
    """What the row of an answer says in a sheet."""
    return HumanVerdict(conversation=FIRST, turn=1, source="review", **said)


def say(path: Path, by: str = "Sato", **changes: tuple[Any, Any]) -> HumanVerdict:
    """Changes fields on the page, each from what was seen to what it is to be."""
    return save_words(path, {AT: True}, {name: Edit(*change) for name, change in changes.items()}, by)[0]  # type: ignore[misc]


def rows(path: Path) -> int:
    """How many rows of what people said there are."""
    with contextlib.closing(sqlite3.connect(path)) as file:
        return int(file.execute("SELECT count(*) FROM verdicts").fetchone()[0])


def test_what_people_said_keeps_its_history(path: Path) -> None:
    """The newest of each reviewer counts, what is said again adds nothing, and no earlier word is lost."""
    one = sheet(judge_is="right")
    other = sheet(judge_is="wrong", comment="資料どおり")
    blind = HumanVerdict(conversation=FIRST, turn=1, source="blind", reviewer="Sato", grade=2)

    assert save_verdicts(path, [one, blind]).added == (one, blind)
    assert not save_verdicts(path, [one.model_copy(update={"given": datetime.now(tz=UTC)})]).added
    assert save_verdicts(path, [other, blind]).added == (other,)
    assert set(read_run(path).verdicts) == {other, blind}
    assert rows(path) == 3


def test_a_sheet_that_is_read_again_undoes_nothing(path: Path) -> None:
    """What it said before the page said otherwise stays said; what somebody changes in it since counts."""
    save_verdicts(path, [sheet(judge_is="right", cause="tone")])
    say(path, judge_is=("right", "wrong"), comment=("", "as documented"))
    save_verdicts(path, [sheet(judge_is="right", cause="tone", assignee="Ito")])
    (after_reading,) = read_news(path).verdicts
    save_verdicts(path, [sheet(judge_is="unsure", cause="tone", assignee="Ito")])
    (after_change,) = read_news(path).verdicts

    assert (after_reading.judge_is, after_reading.assignee) == ("wrong", "Ito")
    assert (after_change.judge_is, after_change.comment) == ("unsure", "as documented")


def test_each_document_is_held_against_itself(path: Path) -> None:
    """What a workbook has said all along undoes nothing that another sheet or the page has said since.

    What is empty in a copy that was never read takes nothing back.
    """
    save_verdicts(path, [sheet(document="book", judge_is="right")])
    save_verdicts(path, [sheet(document="desk", judge_is="wrong", assignee="Ito")])
    say(path, assignee=("Ito", "Mari"))
    save_verdicts(path, [sheet(document="book", judge_is="right", comment="yes")])
    save_verdicts(path, [sheet(document="copy", judge_is="right", comment="yes")])
    save_verdicts(path, [sheet(document="older copy", judge_is="right")])
    (word,) = read_news(path).verdicts

    assert (word.judge_is, word.assignee, word.comment) == ("wrong", "Mari", "yes")


def test_what_a_document_cannot_say_undoes_nothing(path: Path) -> None:
    """A deleted column and a cell that is no choice are no words; an emptied cell is one."""
    save_verdicts(path, [sheet(document="book", judge_is="right", cause="tone", comment="yes")])
    silent = frozenset({"judge_is", "cause"})
    save_verdicts(path, [sheet(document="book", comment="", assignee="Ito", silent=silent)])
    (word,) = read_news(path).verdicts

    assert (word.judge_is, word.cause, word.comment, word.assignee) == ("right", "tone", "", "Ito")


def test_what_a_sheet_replaces_is_named(path: Path) -> None:
    """With who wrote it on the page; what changes within the sheet is that sheet's business."""
    say(path, "Sato", comment=("", "as documented"))
    note_written(path, "book")
    replaced = save_verdicts(path, [sheet(document="book", comment="no", cause="tone")]).replaced
    again = save_verdicts(path, [sheet(document="book", comment="yes", cause="tone")]).replaced

    assert replaced == (Replaced(AT, "comment", "as documented", "Sato", "no"),)
    assert again == ()


def test_a_word_says_who_wrote_it_last(path: Path) -> None:
    """Reading a sheet that adds nothing leaves the name of whoever wrote on the page."""
    say(path, judge_is=(None, "wrong"))
    save_verdicts(path, [sheet(judge_is="wrong")])
    (word,) = read_news(path).verdicts

    assert (word.source, word.reviewer, word.judge_is) == ("page", "Sato", "wrong")
    assert word.given


def test_nothing_is_overwritten_unseen(path: Path) -> None:
    """Whoever saw something else gets what is there; another field, or the same word, is no conflict."""
    say(path, "Sato", judge_is=(None, "right"))
    with pytest.raises(OtherWord) as other:
        say(path, "Ito", judge_is=(None, "wrong"), cause=("", "tone"))
    same = say(path, "Ito", judge_is=(None, "right"), comment=("", "yes"))

    assert isinstance(other.value.current, HumanVerdict)
    assert (other.value.current.reviewer, other.value.current.judge_is) == ("Sato", "right")
    assert (same.judge_is, same.cause, same.comment) == ("right", "", "yes")


def test_taking_back_is_one_more_row(path: Path) -> None:
    """What was said stays in the file, and counts no longer."""
    say(path, judge_is=(None, "wrong"), make_test=(False, True))
    say(path, judge_is=("wrong", None), make_test=(True, False))
    (word,) = read_news(path).verdicts

    assert not any(getattr(word, name) for name in WORDS)
    assert rows(path) == 2


def test_a_word_is_about_every_turn_with_the_answer(path: Path) -> None:
    """But the mark is judged only where it is the same."""
    save_words(
        path,
        {AT: True, (FIRST, 2): False},
        {"judge_is": Edit(None, "wrong"), "cause": Edit("", "tone")},
        "",
    )

    assert {(word.turn, word.judge_is, word.cause) for word in read_news(path).verdicts} == {
        (1, "wrong", "tone"), (2, None, "tone"),
    }  # fmt: skip


def test_a_word_on_the_mark_says_which_mark_it_was(path: Path) -> None:
    """Later words on other fields leave it; a sheet's word on the mark has the sheet's."""
    verdicts = save_words(
        path, {AT: True, (FIRST, 2): False}, {"judge_is": Edit(None, "wrong")}, "", red=True
    )
    later = save_words(path, {AT: True}, {"comment": Edit("", "x")}, "", red=False)
    assert [verdict.red for verdict in (*verdicts, *later)] == [True, None, True]

    save_verdicts(path, [sheet(document="book", judge_is="wrong", comment="y", red=False)])
    save_verdicts(path, [sheet(document="book", judge_is="right", comment="y", red=False)])
    assert {word.turn: (word.judge_is, word.red) for word in read_news(path).verdicts} == {
        1: ("right", False), 2: (None, None),
    }  # fmt: skip


def test_words_are_written_while_the_run_is_held(tmp_path: Path) -> None:
    """By several at once, each of whose words is there; the run goes on writing its own."""
    with contextlib.closing(a_run(tmp_path / "runs", PLAN)) as run:
        failures: list[BaseException] = []

        def write(turn: int) -> None:
            try:
                for n in range(20):
                    save_words(
                        run.path,
                        {(FIRST, turn): True},
                        {"comment": Edit(str(n - 1) if n else "", str(n))},
                        "",
                    )
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=write, args=(turn,)) for turn in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for n in range(60):
            run.save_note("n", str(n))
        for thread in threads:
            thread.join()

    assert failures == []
    assert rows(run.path) == 60
    assert {word.comment for word in read_news(run.path).verdicts} == {"19"}
    assert read_run(run.path).notes == {"n": 59}


def test_a_word_that_cannot_be_written_says_so(path: Path, tmp_path: Path) -> None:
    """And leaves what was there."""
    with pytest.raises(RunFileError, match="does not exist"):
        say(tmp_path / "other.sqlite", judge_is=(None, "right"))
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "CREATE TRIGGER full BEFORE INSERT ON verdicts BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    with pytest.raises(RunFileError, match="disk full"):
        say(path, judge_is=(None, "right"))

    assert rows(path) == 0


def test_a_blind_grade_takes_the_place_of_the_one_that_was_seen(path: Path) -> None:
    """Of its reviewer; what was graded elsewhere meanwhile is not overwritten, nor by another name."""
    assert not all_words(path)
    blind = HumanVerdict(conversation=FIRST, turn=1, source="blind", reviewer="Sato", grade=2)
    other, better = (blind.model_copy(update=change) for change in ({"reviewer": "Ito"}, {"grade": 4}))
    save_blind_grade(path, blind, (None, ""))
    save_blind_grade(path, other, (None, ""))
    save_blind_grade(path, blind, (None, ""))
    with pytest.raises(OtherWord) as met:
        save_blind_grade(path, better, (None, ""))
    assert met.value.current == blind
    save_blind_grade(path, better, (2, ""))
    with pytest.raises(OtherWord):
        save_blind_grade(path, blind, (4, "no"))

    assert set(read_news(path).verdicts) == {other, better}
    assert (rows(path), all_words(path)) == (4, {})
    say(path, comment=("", "x"))
    assert all_words(path)


def test_what_a_document_was_given_is_no_word_of_anybody(path: Path) -> None:
    """It is noted once, and held against what the document says later; expectations stay the document's."""
    say(path, "Sato", comment=("", "x"), expect=("", "names the fee"))
    for _again in range(2):
        note_written(path, "book")
    assert rows(path) == 2
    kept = in_document(path, "book")
    assert (kept.words[AT].read["book"].comment, kept.words[AT].read["book"].expect) == ("x", "")
    assert (kept.decision, kept.decision_read, kept.document) == (None, ReleaseDecision(), "book")
    assert in_document(path, "desk").decision_read is None

    assert not save_verdicts(path, [sheet(document="book", comment="x")]).added
    saved = save_verdicts(path, [sheet(document="book", comment="y", expect="more")])
    assert (len(saved.added), [change.name for change in saved.replaced]) == (1, ["expect", "comment"])
    (word,) = read_news(path).verdicts
    assert (word.comment, word.expect, word.source, word.reviewer) == ("y", "more", "review", "")


def test_a_note_may_grow(path: Path) -> None:
    """Entry by entry, in any language; what is being looked at says how far the run has come."""
    add_to_note(path, AGAIN, {"id": "再"})
    add_to_note(path, AGAIN, 2)
    news = read_news(path)

    assert (news.again, news.status, news.planned, news.ended) == ([{"id": "再"}, 2], "running", 3, 0)
    assert read_run(path).notes == {AGAIN: [{"id": "再"}, 2]}
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("DELETE FROM about WHERE key = 'run'")
    with pytest.raises(RunFileError, match="damaged"):
        read_news(path)


def test_a_decision_is_replaced_by_a_newer_one_alone(path: Path) -> None:
    """What a sheet said before undoes nothing; what nobody has seen is not overwritten."""
    go, no = ReleaseDecision(verdict="go", by="Sato"), ReleaseDecision(verdict="no", by="Ito")
    later = ReleaseDecision(verdict="conditional", by="Sato")

    assert save_release_decision(path, go, "sheet") is None
    decide_release(path, go, no)
    assert save_release_decision(path, go, "sheet") is None
    assert read_run(path).release_decision == no
    with pytest.raises(OtherWord) as other:
        decide_release(path, go, later)
    assert other.value.current == no
    assert save_release_decision(path, later, "sheet") == no
    assert read_run(path).release_decision == later
    decide_release(path, later, ReleaseDecision())
    assert read_run(path).release_decision is None


def test_nothing_counts_of_no_words() -> None:
    """None, rather than a word that says nothing."""
    assert words_of([]) is None
