"""`review RUN`: people's blind grades, from the command line."""

import csv
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.runner.labelled_answers import labelled_context, read_labels


@pytest.fixture
def finished(long_run: Path) -> Path:
    """A run with enough answers to say something of the judge."""
    return long_run


def graded(shift: int = 0, *more: tuple[object, ...]) -> list[tuple[object, ...]]:
    """A grade for every turn: the judge's own and `shift`, within the scale; then `more` rows."""
    grades = [
        (s.conversation, s.turn, "さとう", min(5, max(1, ceil(5 * s.value) + shift)), "")
        for s in open_run().scores
        if s.value is not None
    ]
    return [*grades, *more]


def written(rows: list[tuple[object, ...]], name: str = "grades.csv", encoding: str = "utf-8") -> str:
    """The rows as a table."""
    with Path(name).open("w", encoding=encoding, newline="") as file:
        csv.writer(file).writerows([("conversation", "turn", "reviewer", "grade", "comment"), *rows])
    return name


def test_grades_are_read_and_compared(run: Any) -> None:
    """From a table as Excel saves it."""
    done = run("review", "latest", "--from", written(graded(-1), encoding="cp932"))
    n = len(open_run().verdicts)
    said = done.out

    assert (done.code, done.err) == (0, "")
    assert f"目視採点{n}件" in said
    assert "要確認かどうかの一致" in said
    assert "点甘め" in said


def test_rows_that_cannot_be_used_are_named_and_skipped(run: Any) -> None:
    """By line, with a count; the others are stored."""
    talk = open_run().conversations[0].id
    bad: list[tuple[object, ...]] = [
        ("nobody#0", 1, "佐藤", 3, ""), (talk, 9, "佐藤", 3, ""), (talk, 1, "鈴木", 6, ""),
        (talk, 1, "さとう", 2, ""), (talk, 1, "田中", "", ""),
    ]  # fmt: skip
    good = len(graded())
    first = next(line for line, row in enumerate(graded(), 2) if row[:2] == (talk, 1))
    done = run("review", "latest", "--from", written(graded(0, *bad)))
    assert done.code == 0
    assert done.err.splitlines() == [
        f"grades.csv, line {good + 2}: no conversation 'nobody#0' in this run; skipped.",
        f"grades.csv, line {good + 3}: conversation '{talk}' has no answer 9; skipped.",
        f"grades.csv, line {good + 4}: grade '6' is not between 1 and 5; skipped.",
        f"grades.csv, line {good + 5}: a second grade for the same answer; the first is on"
        f" line {first}; skipped.",
    ]
    assert "使えなかった記入が4件" in done.out
    assert len(open_run().verdicts) == good


def test_a_file_of_another_run_is_refused(run: Any) -> None:
    """Nothing of it fits: one line, exit code 2, nothing stored."""
    done = run("review", "latest", "--from", written([("other#0", 1, "A", 3, "")]))

    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("error: grades.csv: 1 row is invalid, so nothing was stored."
                             " Is it a file of another run?\n")  # fmt: skip
    assert open_run().verdicts == ()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none", "--from", "x.csv"), "no run 'none'"),
        (("latest", "--from", "x.csv"), "x.csv: no such file"),
        (("latest", "--from", "x.pdf"), "x.pdf: no such file"),
        (("latest", "--from", "rows.csv"), "no columns conversation, turn and grade"),
        (("latest", "--export", "labels.jsonl"), "no answer of"),
        (("latest", "--from", "sheet"), "was pushed to no sheet: name one with --sheet KEY_OR_URL"),
        (("latest", "--from", "sheet:!!"), "not a sheet's key or address"),
        (("latest", "--form", "x.csv"), "unknown option: '--form'"),
    ],
)
def test_what_is_to_mend_is_one_line(run: Any, arguments: tuple[str, ...], said: str) -> None:
    """Exit code 2, and nothing is written."""
    Path("rows.csv").write_text("question,answer\na,b\n", encoding="utf-8")
    done = run("review", *arguments)

    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("error: ")
    assert said in done.err
    assert not Path("labels.jsonl").exists()


def test_labels_go_to_calibrate(run: Any) -> None:
    """Each labelled answer is what the judge had before it."""
    run("review", "latest", "--from", written(graded(-1)))
    done = run("review", "latest", "--export", "labels.jsonl")
    labels = read_labels("labels.jsonl")
    turns = {(talk.id, turn.index): (talk, turn) for talk in open_run().conversations for turn in talk.turns}

    assert done.code == 0
    assert "calibrate labels.jsonl --judge turn --label human" in done.err
    assert len(labels.rows) == len(open_run().verdicts)
    for row in labels.rows:
        conversation, _, index = row.case.id.rpartition("/")
        talk, turn = turns[conversation, int(index)]
        shown = labelled_context(row)
        assert (shown.turn.user, shown.turn.answer.text) == (turn.user, turn.answer.text)
        assert [p.text for p in shown.turn.answer.passages] == [p.text for p in turn.answer.passages]
        assert shown.references == talk.case.references_at(turn.index)
    assert run("calibrate", "labels.jsonl", "--judge", "turn", "--label", "human", "--offline").code == 0
