"""What may be concluded from labels: the split by question, and whether a rubric got better."""

import random
from typing import Any

import pytest

from simulator.core.types import Answer, Case, GradingContext, HumanVerdict, RedRules, Turn
from simulator.grading.proposing import LabelledRow
from simulator.results.learning import compare_rubrics, halves, labels_of_run, row_of, votes_of
from simulator.results.significance import sign_test
from tests.sample_runs import rehearsed


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


def said_of(turn: int, source: str, **words: Any) -> HumanVerdict:
    """What somebody says of a turn."""
    return HumanVerdict(conversation="c", turn=turn, source=source, **words)


@pytest.mark.parametrize(
    ("verdicts", "votes"),
    [
        ([], None),
        ([said_of(1, "review", comment="?")], None),
        ([said_of(1, "review", red=True, judge_is="unsure")], None),
        # The mark is right: a bad answer; a mark is missing: the same.
        ([said_of(1, "review", red=True, judge_is="right")], [True]),
        ([said_of(1, "review", red=False, judge_is="wrong")], [True]),
        ([said_of(1, "review", red=True, judge_is="wrong")], [False]),
        ([said_of(1, "review", red=True, judge_is=word) for word in ("right", "wrong")], [False]),
        # Grades that nobody was led to go before opinions; 3.5 of 5 is on the line, and good.
        ([said_of(1, "blind", grade=2), said_of(1, "review", red=True, judge_is="wrong")], [True]),
        ([said_of(1, "blind", grade=grade) for grade in (3.4, 3.5, 4)], [True, False, False]),
        ([said_of(1, "blind", comment="?")], None),
    ],
)
def test_who_calls_an_answer_bad(verdicts: list[HumanVerdict], votes: list[bool] | None) -> None:
    """By a low blind grade, or an opinion of the mark; nobody has to say anything."""
    assert votes_of(verdicts, RedRules()) == votes


def test_labels_of_a_run_are_what_people_said_of_its_answers() -> None:
    """With what they wrote; what the desk expects counts where they differ."""
    words = [
        said_of(1, "blind", grade=2, comment=" cold "),
        said_of(1, "blind", grade=4, reviewer="2"),
        said_of(1, "review", expect="names\nthe fee", correct_answer=" It is 5. "),
        said_of(2, "review", red=True, judge_is="right", expect="is polite"),
        said_of(3, "review", comment="?"),
        said_of(9, "review", red=True, judge_is="right"),
    ]
    contexts = {("c", turn): (f"q{turn}", _context("q")) for turn in (1, 2, 3)}
    results = rehearsed("en").model_copy(update={"verdicts": tuple(words)})
    split, bad = labels_of_run(results, contexts, RedRules())

    assert (split.question, split.bad, split.split, split.comments) == (
        "q1",
        False,
        True,
        ("cold", "→ It is 5."),
    )
    assert split.expected == "names the fee"
    assert (bad.label, bad.question, bad.bad, bad.expected) == (f"{results.run.id}/c/2", "q2", True, "")
    assert row_of("a", "q", _context("q"), [True, True, False], ()).bad
    assert not row_of("a", "q", _context("q"), [True, False], ()).bad


def test_people_who_differ_teach_nothing() -> None:
    """One says good, another bad: the row is split, and the lead is asked."""
    assert row_of("a", "q", _context("q"), [True, False], ()).split
    assert not row_of("a", "q", _context("q"), [True, True], ()).split
