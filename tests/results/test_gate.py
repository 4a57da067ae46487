"""The gate: reached, missed, or too little to tell: by enough grades of enough questions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Results
from simulator.report.gate import reasons
from simulator.results.figures import Summary
from simulator.results.gate import Gate, ungraded_personas
from tests.commands import Command
from tests.diff_runs import Grades, a_result, grades_of, measured, stored
from tests.sample_runs import changed, decide, rehearsed, summed
from tests.texts import said

# What is missing of these runs stands in the reasons beside it.
GRADED = [0.9] * 8


def summary(grades: list[float] | None = None, **changes: Any) -> Summary:
    """The rehearsed run without failures of the simulator or a judge, or one of such grades, so changed."""
    figures = summed(a_result(grades_of(grades)), ("turn",)) if grades else summed()
    whole = {"failed": 0, "cases": 6, "cases_due": 6}
    judges = {name: judge.model_copy(update=whole) for name, judge in figures.scores.judges.items()}
    return changed(figures, **({"failed": 0, "judges": judges} | changes))


def why(gate: Gate) -> list[str]:
    """The reasons in English."""
    return list(map(said, reasons(gate)))


@pytest.mark.parametrize(("grades", "target", "passed", "told"), [
    (GRADED, None, None, []),
    ([0.7] * 8, 0.9, False, ["score 70 (90 required)"]),
    # Also when floating point falls short by nothing.
    ([0.1 + 0.7 + 0.1 - 1e-16] * 8, 0.9, True, []),
    # A near miss never reads as equal: it has as many decimals as that takes.
    ([0.8996] * 8, 0.9, False, ["score 89.96 (90 required)"]),
])  # fmt: skip
def test_the_score_decides_and_the_reasons_say_why(
    grades: list[float], target: float | None, passed: bool | None, told: list[str]
) -> None:
    """Reached, missed, or without a target no verdict; none of these is incomplete."""
    gate = decide(summary(grades), target)

    assert (gate.target, gate.passed, why(gate), gate.incomplete) == (target, passed, told, False)


@pytest.mark.parametrize(("failed", "skipped", "incomplete"), [(5, 0, False), (6, 0, True), (6, 900, True)])
def test_failed_grades_above_the_limit_make_it_incomplete(
    failed: int, skipped: int, incomplete: bool
) -> None:
    """Five of a hundred are tolerated, six are not, however many turns the judge had nothing to say about."""
    figures = summary(GRADED)
    some = figures.scores.judges["turn"]
    judges = {
        "turn": some.model_copy(update={"n": 50, "failed": 0, "planned": 50}),
        "relevance": some.model_copy(update={"n": 50 - failed, "failed": failed, "skipped": skipped}),
    }
    gate = decide(changed(figures, judges=judges), 0.9)

    assert (gate.incomplete, gate.passed) == (incomplete, not incomplete)
    assert why(gate) == (["6.0 % of the grades are missing (5 % allowed)"] if incomplete else [])


def test_failures_of_the_deciding_judge_do_not_hide_among_others() -> None:
    """A judge that fails on a tenth of the turns cannot decide, however well the others did."""
    some = summary().scores.judges["turn"]
    good = some.model_copy(update={"n": 100, "failed": 0, "planned": 100})
    bad = some.model_copy(update={"n": 90, "failed": 10, "planned": 100})

    gate = decide(summary(judges={"turn": bad, **{f"j{i}": good for i in range(9)}}), None)

    assert gate.incomplete
    assert why(gate) == ["10.0 % of the grades are missing (5 % allowed)"]


def test_failures_of_the_simulated_customer_make_it_incomplete() -> None:
    """They are counted over the messages that were to be written."""
    gate = decide(summed(), None)

    assert (gate.incomplete, gate.passed) == (True, None)
    assert why(gate)[-1] == "7.1 % of the customer's messages failed (5 % allowed)"


@pytest.mark.parametrize(("changes", "reason"), [
    ({"status": "interrupted", "planned": 9}, "8 of 9 conversations held (all required)"),
    ({"status": "running", "planned": 9}, "8 of 9 conversations held (all required)"),
    ({"status": "finished", "planned": 9}, "8 of 9 conversations held (all required)"),
    (
        {"status": "interrupted", "planned": 8},
        "all conversations were held, but the run was cut short before it was over",
    ),
    ({"score": None}, "nothing was graded"),
])  # fmt: skip
def test_what_is_unfinished_or_not_graded_never_passes(changes: dict[str, Any], reason: str) -> None:
    """However high the score so far, nor does it fail however low; no score is not a score of 0."""
    for target in (0.5, 0.95):
        gate = decide(summary(GRADED, **changes), target)

        assert (gate.decision, gate.incomplete, why(gate)) == ("undecided", True, [reason])


@pytest.mark.parametrize(("of_a_log", "target", "incomplete"), [
    (13, None, False), (12, None, True), (0, None, True), (13, 0.5, True),
])  # fmt: skip
def test_a_log_without_grades_may_be_read(of_a_log: int, target: float | None, incomplete: bool) -> None:
    """Where every turn is of a log and nothing is asked for, no grade is missing."""
    gate = decide(summary(score=None, interval=None, unrecorded=of_a_log), target)

    assert gate.incomplete is incomplete


def test_who_was_never_heard_keeps_the_gate_from_passing() -> None:
    """A persona whose conversations all lack a grade."""
    results = rehearsed()
    figures = summary(score=1.0)
    kept = {k: v for k, v in figures.scores.by_conversation.items() if not k.startswith("calm/")}
    silent = changed(figures, by_conversation=dict.fromkeys(kept, 1.0))
    gate = decide(silent, 0.9, max_major=1)

    assert (ungraded_personas(results, figures), ungraded_personas(results, silent)) == ((), ("calm",))
    assert (gate.passed, gate.decision, gate.incomplete) == (False, "undecided", False)
    assert "customers without a graded conversation: Calm" in why(gate)


def test_what_failed_comes_first_and_too_few_questions_are_said_once() -> None:
    """Whatever the order of the conditions."""
    target = "refused_correctly >= .9 and turn >= .9 and score >= .9 and certified"
    gate = measured(a_result(grades_of([0.2, 1.0, 1.0]), target=target))[1]

    assert why(gate) == [
        "33.3 % of the questions have a serious error (20 % allowed)",
        "Refused what it should not known (90 % required)",
        "the judge is not certified",
        "too few questions (5 required): Overall on 3 questions, score on 3 questions",
    ]


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
    targets = ("score >= 50", "turn >= .5", "red <= .5")
    others = (command("report", "latest", "--json", "--target", target) for target in targets)

    for done in (first, *others):
        assert (done.code, done.json["passed"], done.json["decision"]) == (1, False, "undecided")
        assert done.json["reasons"][0] == (
            "2 of 40 grades of Overall (not answered in the log 38), on 2 of 40 questions (90 % required)"
        )
    assert "試行（判定保留）：「総合」の採点は40件中2件（記録に回答なし38件）" in lead.replace("\\", "")


def test_undecided_turns_decide_nothing(command: Command) -> None:
    """69 of 71 turns whose evidence conflicts are no pass; a verdict takes 90 % of the grades."""
    stored(undecided(a_result(grades_of([1.0] * 71), "1-run"), [f"case-{n}" for n in range(6, 71)]))
    for target in ("50", "score >= 0.5", "score >= 0.5 and red <= 0.5"):
        report = ("report", "1-run", "--json", "--target", target)
        done = command(*report)

        assert (done.code, done.json["score"], done.json["decision"]) == (1, 1.0, "undecided")
        assert done.json["reasons"] == [
            "6 of 71 grades of Overall (undecided because reference and passages contradict each other 65),"
            " on 6 of 71 questions (90 % required)"
        ]


@pytest.mark.parametrize(("missing", "decision"), [(1, "passed"), (2, "undecided")])
@pytest.mark.parametrize("target", [0.5, "score >= 0.5"])
def test_nine_in_ten_grades_are_enough(missing: int, decision: str, target: float | str) -> None:
    """A grade of ten may be missing, two may not."""
    results = a_result(grades_of([1.0] * 10), target=target)

    assert judged(undecided(results, [f"case-{n}" for n in range(missing)])).decision == decision


def test_what_lacks_grades_is_not_missed_either() -> None:
    """Ten grades of twenty are as little a reason to fail as to pass."""
    for target in (0.9, "turn >= 0.9"):
        results = a_result(grades_of([0.6] * 20), target=target, max_major=1)

        assert judged(results).decision == "missed"
        assert judged(undecided(results, [f"case-{n}" for n in range(10)])).decision == "undecided"


@pytest.mark.parametrize(
    ("target", "decision"), [("red <= 0.1", "undecided"), (0.9, "passed"), ("p95_seconds <= 1", "passed")]
)
def test_red_answers_take_the_grades_of_every_judge_that_marks(target: float | str, decision: str) -> None:
    """Nobody knows how many answers groundedness would have marked; score and seconds do not need it."""
    judges = ("turn", "groundedness", "fluency", "relevance", "tone")
    results = a_result(grades_of([1.0] * 10), judges=judges, target=target, max_major=1)
    talks = []
    for talk in results.conversations:
        (turn,) = talk.turns
        answer = turn.answer.model_copy(update={"seconds": 0.5})
        talks.append(talk.model_copy(update={"turns": (turn.model_copy(update={"answer": answer}),)}))
    results = results.model_copy(update={"conversations": tuple(talks)})
    lost = {"state": "failed", "value": None, "raw": None}
    cases = {"calm/case-0#1", "calm/case-1#1"}
    scores = tuple(
        score.model_copy(update=lost if score.judge == "groundedness" and score.conversation in cases else {})
        for score in results.scores
    )

    assert judged(results).decision == "passed"
    assert judged(results.model_copy(update={"scores": scores})).decision == decision


def test_one_long_conversation_stands_for_no_other_question() -> None:
    """19 of 20 grades are there, but all of one question: the other one in two has none."""
    grades: Grades = {("long", "calm", 1): [1.0] * 90, **grades_of([1.0] * 9)}
    results = a_result(grades, target=0.5)

    assert judged(results).decision == "passed"
    gate = judged(undecided(results, [f"case-{n}" for n in range(9)]))
    assert gate.decision == "undecided"
    reason = said(reasons(gate)[0])
    assert "90 of 99 grades" in reason
    assert "on 1 of 10 questions" in reason


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
        assert done.json["reasons"] == (
            ["too few questions (5 required): score on 4 questions"] if code else []
        )


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

    assert (gate.decision, reasons(gate)) == (None, [])
