"""What may be concluded from labels: the split by question, and whether a rubric got better."""

import random

import pytest

from simulator.core.types import Answer, Case, GradingContext, Turn
from simulator.grading.proposing import LabelledRow
from simulator.results.learning import compare_rubrics, halves, row_of
from simulator.results.significance import sign_test


def _context(name: str) -> GradingContext:
    case = Case(id=name, question=name, language="en")
    return GradingContext(
        conversation=name, case=case, persona="", turn=Turn(index=1, user=name, answer=Answer(text="x"))
    )


def _rows(questions: int, each: int = 1) -> list[LabelledRow]:
    return [
        LabelledRow(f"{q}/{n}", f"q{q}", _context(f"q{q}"), bad=q % 4 == 0)
        for q in range(questions)
        for n in range(each)
    ]


@pytest.mark.parametrize(
    ("better", "worse", "p"),
    [(0, 0, 1.0), (5, 0, 1 / 32), (3, 1, 5 / 16), (8, 1, 10 / 512)],
)
def test_the_sign_test_is_exact_and_one_sided(better: int, worse: int, p: float) -> None:
    """By hand: 8 better and 1 worse are (1 + 9) / 2 ** 9."""
    assert sign_test(better, worse) == p


def test_a_rubric_is_better_by_questions_and_not_by_answers() -> None:
    """Five answers to one question that all got better are one question."""
    rows = [("q", True, False, True)] * 5

    assert compare_rubrics(rows)[:4] == (1, 0, 0, 5)
    assert not compare_rubrics(rows).is_better
    assert compare_rubrics([(str(at), True, False, True) for at in range(5)]).is_better


def test_answers_that_cancel_out_in_a_question_count_for_neither() -> None:
    """One better and one worse to the same question is no change of it."""
    compared = compare_rubrics([("q", True, False, True), ("q", True, True, False)])

    assert (compared.better, compared.worse, compared.p) == (0, 0, 1.0)


def test_no_question_is_in_both_halves_and_both_have_both_kinds() -> None:
    """The same seed gives the same halves."""
    rows = _rows(40, each=3)
    learn, held = halves(rows, 42)

    assert {row.question for row in learn}.isdisjoint(row.question for row in held)
    assert len({row.question for row in held}) == 20
    assert all({row.bad for row in half} == {True, False} for half in (learn, held))
    assert halves(rows[::-1], 42).held == held[::-1]
    assert halves(rows, 43).held != held


def test_what_was_learned_from_before_is_never_held() -> None:
    """A second round tries its rules on answers that no prompt has shown."""
    rows = _rows(40)
    learned = {row.question for row in halves(rows, 42).learn}

    assert learned.isdisjoint(row.question for row in halves(rows, 7, learned).held)


def test_a_rubric_that_is_no_better_is_accepted_in_at_most_one_of_twenty() -> None:
    """1,000 draws of 40 questions, of which 16 change either way by luck."""
    lot = random.Random(1)
    accepted = 0
    for _draw in range(1000):
        rows = [
            (str(at), True, changed and old, changed and not old) if changed else (str(at), True, True, True)
            for at in range(40)
            for changed, old in [(at < 16, lot.random() < 0.5)]
        ]
        accepted += compare_rubrics(rows).is_better

    assert accepted <= 50


def test_people_who_differ_teach_nothing() -> None:
    """One says good, another bad: the row is split, and the lead is asked."""
    assert row_of("a", "q", _context("q"), [True, False], ()).split
    assert not row_of("a", "q", _context("q"), [True, True], ()).split
