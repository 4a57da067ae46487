"""A target is reached or missed by enough grades of enough questions, or it is undecided."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Results
from simulator.results.findings import Gate
from tests.commands import Command
from tests.diff_runs import Grades, a_result, grades_of, measured, stored

CONFLICT = {"conflicts": [{"reference": "550 yen", "passages": "600 yen"}]}


def undecided(results: Results, cases: Sequence[str], reason: str = "they contradict each other") -> Results:
    """The run, the deciding judge without a grade for these questions, because their evidence conflicts."""
    keys = {conversation.id for conversation in results.conversations if conversation.case.id in cases}
    changes: dict[str, Any] = {
        "state": "skipped", "value": None, "raw": None, "detail": CONFLICT, "reason": reason,
    }  # fmt: skip
    scores = tuple(s.model_copy(update=changes if s.conversation in keys else {}) for s in results.scores)
    return results.model_copy(update={"scores": scores})


def judged(results: Results) -> Gate:
    """The gate of a run by its own settings."""
    return measured(results)[1]


def log(answered: int, of: int, **last: str) -> str:
    """A log of so many questions, of which the first ones have an answer, the one in their reference."""
    rows = [
        {"question": f"料金{n}はいくらですか", "reference": f"料金は{n}00円です。"}
        | ({"answer": f"料金は{n}00円です。"} if n <= answered else {})
        for n in range(1, of + 1)
    ]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    Path("log.jsonl").write_text(text, encoding="utf-8")
    return "log.jsonl"


def test_a_log_with_two_answers_of_forty_reaches_no_target(command: Command) -> None:
    """Undecided, exit code 1, with the counts; what asks for no grade alone is told by its own values."""
    first = command(
        "evaluate", log(2, 40), "--adapter", "recorded", "--offline", "--judges", "turn", "--target", "50",
        "--json", "--to", "markdown",
    )  # fmt: skip
    lead = next(Path("runs").glob("*/report.md")).read_text(encoding="utf-8").split("\n##")[0]
    targets = ("score >= 50", "turn >= .5", "red <= .5", "major <= .5", "severity_major <= 9")
    others = (command("report", "latest", "--json", "--target", target) for target in targets)

    for done in (first, *others):
        assert (done.code, done.json["passed"], done.json["decision"]) == (1, False, "undecided")
        assert done.json["reasons"][0] == (
            "Overall has 2 of 40 grades (not answered in the log 38), for 2 of 40 questions; a verdict takes"
            " 90 % of both."
        )
    assert "試行：" in lead
    assert "40件中2件（記録に回答なし 38）" in lead


def test_what_a_log_does_not_tell_is_no_answer_given(command: Command) -> None:
    """38 lines without an answer are neither answered nor unanswered by the bot."""
    words = ("evaluate", log(10, 40), "--adapter", "recorded", "--offline", "--json")
    done = command(*words, "--target", "failed <= .5", "--max-major", "1")

    assert (done.code, done.json["decision"]) == (1, "undecided")
    assert "cannot be decided: 30 of 40 values are missing." in " ".join(done.json["reasons"])


def test_undecided_turns_decide_nothing(command: Command) -> None:
    """69 of 71 turns whose evidence conflicts are no pass; a verdict takes 90 % of the grades."""
    stored(undecided(a_result(grades_of([1.0] * 71), "1-run"), [f"case-{n}" for n in range(6, 71)]))
    for target in ("50", "score >= 0.5", "score >= 0.5 and red <= 0.5"):
        report = ("report", "1-run", "--json", "--target", target)
        done = command(*report)

        assert (done.code, done.json["score"], done.json["decision"]) == (1, 1.0, "undecided")
        assert done.json["reasons"] == [
            "Overall has 6 of 71 grades (undecided because reference and passages contradict each other 65),"
            " for 6 of 71 questions; a verdict takes 90 % of both."
        ]


@pytest.mark.parametrize(("missing", "decision"), [(1, "passed"), (2, "undecided")])
@pytest.mark.parametrize("target", [0.5, "score >= 0.5"])
def test_nine_in_ten_grades_are_enough(missing: int, decision: str, target: float | str) -> None:
    """A grade of ten may be missing, two may not."""
    results = a_result(grades_of([1.0] * 10), target=target)

    assert judged(undecided(results, [f"case-{n}" for n in range(missing)])).decision == decision


def test_one_long_conversation_stands_for_no_other_question() -> None:
    """19 of 20 grades are there, but all of one question: the other one in two has none."""
    grades: Grades = {("long", "calm", 1): [1.0] * 90, **grades_of([1.0] * 9)}
    results = a_result(grades, target=0.5)

    assert judged(results).decision == "passed"
    gate = judged(undecided(results, [f"case-{n}" for n in range(9)]))
    assert gate.decision == "undecided"
    assert "90 of 99 grades" in gate.reasons[0]
    assert "for 1 of 10 questions" in gate.reasons[0]


@pytest.mark.parametrize("target", ["90", "score >= 90"])
def test_grades_that_do_not_apply_are_not_missed(target: str, command: Command) -> None:
    """Half of the answers have no reference and no passages, so that no grade was due."""
    path = Path(log(40, 40))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    kept = [row if n % 2 else {**row, "reference": ""} for n, row in enumerate(rows)]
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in kept), encoding="utf-8")
    words = ("--cases", str(path), "--adapter", "recorded", "--persona", "calm", "--offline", "--json")
    done = command(*words, "--judges", "turn", "--target", target)

    assert done.json["judges"]["turn"]["skipped"] == 20
    assert (done.code, done.json["passed"]) == (0, True)


@pytest.mark.parametrize(("questions", "code"), [(4, 1), (5, 0)])
def test_a_verdict_takes_five_questions(questions: int, code: int, command: Command) -> None:
    """A plain target as well as conditions; however many customers ask them."""
    grades = {(f"case-{n}", who, 1): [1.0] for n in range(questions) for who in ("calm", "angry")}
    stored(a_result(grades, "1-run"))
    for target in ("50", "score >= 50"):
        done = command("report", "1-run", "--target", target, "--json")

        assert (done.code, done.json["passed"]) == (code, not code)
        assert ("at least 5 questions" in " ".join(done.json["reasons"])) is bool(code)


@pytest.mark.parametrize(
    ("line", "decision"), [("ありがとうございました。", "passed"), ("税込ですか", "undecided")]
)
def test_thanks_at_the_end_of_a_log_need_no_answer(line: str, decision: str, command: Command) -> None:
    """A question at the end does: nobody knows what the bot said."""
    rows = [
        {
            "reference": f"料金は{n}00円です。",
            "turns": [
                {"question": f"料金{n}はいくらですか", "answer": f"料金は{n}00円です。"},
                {"question": line},
            ],
        }
        for n in range(1, 7)
    ]
    Path("log.jsonl").write_text(
        "\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8"
    )
    words = ("--cases", "log.jsonl", "--adapter", "recorded", "--persona", "calm", "--offline", "--json")

    assert command(*words, "--target", "50").json["decision"] == decision


def test_what_no_further_grade_can_mend_is_missed() -> None:
    """More questions with a major turn than are allowed, whatever the undecided ones would have got."""
    results = a_result(grades_of([0.2] * 6 + [1.0] * 4), target=0.5)
    some = [f"case-{n}" for n in range(7, 10)]

    for target in (0.5, "score >= 0.5"):
        run = results.run.model_copy(update={"settings": {**results.run.settings, "target": target}})
        assert judged(undecided(results.model_copy(update={"run": run}), some)).decision == "missed"


def test_without_a_target_nothing_is_decided() -> None:
    """A run that is only looked at says nothing of the gate."""
    gate = judged(undecided(a_result(grades_of([1.0] * 10)), [f"case-{n}" for n in range(8)]))

    assert (gate.decision, gate.reasons) == (None, ())
