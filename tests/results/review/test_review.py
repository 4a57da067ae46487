"""`review RUN`: people's blind grades, from the command line."""

from math import ceil
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.runner.labelled_answers import labelled_context, read_labels
from simulator.storage.words import save_verdicts
from tests.blind_grades import verdict


@pytest.fixture
def finished(long_run: Path) -> Path:
    """A run with enough answers to say something of the judge."""
    return long_run


def grade_all(shift: int) -> int:
    """Stores a blind grade for every turn, the judge's own and `shift`, within the scale; how many."""
    run = open_run()
    verdicts = [
        verdict(s.conversation, s.turn, min(5, max(1, ceil(5 * s.value) + shift)))
        for s in run.scores
        if s.value is not None
    ]
    return len(save_verdicts(next(Path("runs").glob("*/run.sqlite")), verdicts).added)


def test_grades_are_compared(run: Any) -> None:
    """What people gave stands beside what the judge gave."""
    grade_all(-1)
    done = run("review", "latest")

    assert (done.code, done.err) == (0, "")
    assert "要確認かどうかの一致" in done.out
    assert "点甘め" in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none", "--from", "x.csv"), "no run 'none'"),
        (("latest", "--from", "x.csv"), "x.csv: no such file"),
        (("latest", "--from", "x.pdf"), "x.pdf: no such file"),
        (("latest", "--from", "rows.csv"), "rows.csv: not a file of Excel"),
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
    n = grade_all(-1)
    done = run("review", "latest", "--export", "labels.jsonl")
    labels = read_labels("labels.jsonl")
    turns = {(talk.id, turn.index): (talk, turn) for talk in open_run().conversations for turn in talk.turns}

    assert done.code == 0
    assert "calibrate labels.jsonl --judge turn --label human" in done.err
    assert len(labels.rows) == n
    for row in labels.rows:
        conversation, _, index = row.case.id.rpartition("/")
        talk, turn = turns[conversation, int(index)]
        shown = labelled_context(row)
        assert (shown.turn.user, shown.turn.answer.text) == (turn.user, turn.answer.text)
        assert [p.text for p in shown.turn.answer.passages] == [p.text for p in turn.answer.passages]
        assert shown.references == talk.case.references_at(turn.index)
    assert run("calibrate", "labels.jsonl", "--judge", "turn", "--label", "human", "--offline").code == 0
