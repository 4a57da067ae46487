"""Conditions of the gate: read, refused with a reason, and decided one by one."""

from typing import Any

import pytest

from simulator.core.errors import InputError, UnknownName
from simulator.core.settings import (
    Condition,
    Settings,
    check_names,
    parse_conditions,
    read_confidence,
    read_target,
    target_conditions,
)
from simulator.core.titles import title
from simulator.core.types import Failure, Language, Results, Spending
from simulator.report.conditions import conditions_table
from simulator.report.context import notes
from simulator.report.verdict import verdict
from simulator.results.conditions import (
    MeasuredFigure,
    check_condition,
    decide_conditions,
    measure_condition,
    range_text,
    ungraded_personas,
    value_text,
)
from simulator.results.findings import CheckedCondition
from simulator.results.intervals import cluster_values
from tests.commands import Command
from tests.diff_runs import a_result, grades_of, stored
from tests.results.test_gate import summary as calm
from tests.sample_runs import JUDGES, rehearsed, summed
from tests.texts import said


def shares(hits: int, n: int, repeats: int = 1) -> MeasuredFigure:
    """So many of n questions were answered well, each asked so often."""
    values = [float(place < hits) for place in range(n) for _ in range(repeats)]
    found = cluster_values(values, [f"q{place}" for place in range(n) for _ in range(repeats)])
    return MeasuredFigure(found.mean, found, len(values))


def checked(text: str, found: MeasuredFigure, level: float | None = 0.95) -> CheckedCondition:
    """One condition decided."""
    (condition,) = parse_conditions(text)
    return check_condition(condition, found, level)


@pytest.mark.parametrize(("given", "read"), [
    ("turn>=90", "turn >= 0.9"),
    ("turn ≥ ８０ AND red<=0.1", "turn >= 0.8 and red <= 0.1"),
    ("severity_major == 0 and severity_major == 0", "severity_major == 0"),
    ("p95_seconds < 2.5 and cost_usd <= 1e1", "p95_seconds < 2.5 and cost_usd <= 10"),
    ("failed == 0", "failed == 0"), ("90", 0.9), (0.9, 0.9), (None, None),
    ("90%", 0.9), ("９０ ％", 0.9), ("80点", 0.8),
])  # fmt: skip
def test_a_target_is_a_number_or_conditions(given: Any, read: Any) -> None:
    """In any width and spelling; what is said twice is asked once."""
    assert read_target(given) == read


@pytest.mark.parametrize(("given", "said"), [
    ("turn => 0.9", "is not a condition"), ("turn", "is not a condition"),
    ("0.8 <= turn", "is not a condition"),
    ("turn >= 0.9 or red <= 0.1", "is not a condition"), ("turn >= 0.9 and", "is not a condition"),
    ("", "is not a condition"), ("__import__('os')", "is not a condition"),
    ("turn >= 1.2.3", "is not a condition"),
    ("turn >= 1.2", "between 0 and 1"), ("pass^3 == 0.9", "write pass.3 >= 0.9"), (True, "between 0 and 1"),
    ("severity_major <= 1.5", "is a whole number"), ("severity_major >= 1", "write severity_major <= 1"),
    ("p95_seconds >= 1", "write p95_seconds <= 1"),
    ("cost_usd == 2", "write cost_usd <= 2"), ("cost_usd <= -1", "is an amount of dollars"),
    ("red >= 0.1", "write red <= 0.1"), ("failed > 0", "write failed <= 0"),
    ("score <= 90", "write score >= 90"),
    ("red == 0.1", "write red <= 0.1"), ("refused_correctly == 0", "write refused_correctly >= 0"),
])  # fmt: skip
def test_what_makes_no_sense_is_told(given: Any, said: str) -> None:
    """One line that says how it is written."""
    with pytest.raises(ValueError, match=said):
        read_target(given)


def test_names_that_are_not_there_are_refused_with_those_that_are() -> None:
    """A near one is offered."""
    with pytest.raises(UnknownName, match=r"unknown figure in --target: 'tern'. Did you mean turn\?.*score"):
        check_names("score >= 0.9 and tern <= 0.8", JUDGES)
    for given in ("turn < 90", "turn == 0.9"):
        with pytest.raises(InputError, match=r"not what a target can ask: write turn >= 0.9"):
            check_names(read_target(given), JUDGES)
    check_names("turn >= 0.9 and fluency >= 0.8 and severity_minor <= 3", JUDGES)
    assert target_conditions(0.9) == (Condition(name="score", comparison=">=", threshold=0.9),)


def test_a_share_of_major_turns_may_be_a_percentage() -> None:
    """20 and 20% mean 0.2, 1% is no whole; what is no share is refused."""
    given = (20, "20", "20%", "２０％", "1%", "1", 0, "0", None)
    read = [Settings.model_validate({"max_major": each}).max_major for each in given]
    assert read == [0.2, 0.2, 0.2, 0.2, 0.01, 1, 0, 0, None]
    for wrong in ("1.5", "-1", "200%", "some"):
        with pytest.raises(ValueError, match="max_major"):
            Settings.model_validate({"max_major": wrong})


def test_a_certainty_may_be_a_percentage() -> None:
    """95, 95% and ９５％ mean 0.95, off is none; what is no certainty is refused with an example."""
    assert [read_confidence(given) for given in (95, "95%", "９５％", "0.9", 0.9, "off", None)] == [
        0.95, 0.95, 0.95, 0.9, 0.9, None, None,
    ]  # fmt: skip
    for given in ("x", "", 0.5, "40%", 1, 100, "100%", True, "nan"):
        with pytest.raises(ValueError, match=r"0\.95 \(or 95, 95%\) is usual"):
            read_confidence(given)


NOTHING = MeasuredFigure(None, None, 0)


@pytest.mark.parametrize(("text", "found", "level", "decision", "lack"), [
    # 59 right answers of 59 are needed for 95 % at 95 %: one of the best known numbers of statistics.
    ("refused_correctly >= 0.95", shares(59, 59), 0.95, "passed", ""),
    ("refused_correctly >= 0.95", shares(58, 58), 0.95, "undecided", "close"),
    ("refused_correctly >= 0.95", shares(54, 59), 0.95, "undecided", "close"),
    ("refused_correctly >= 0.95", shares(40, 59), 0.95, "missed", ""),
    ("failed <= 0.05", shares(0, 59), 0.95, "passed", ""),
    ("failed <= 0.05", shares(0, 58), 0.95, "undecided", "close"),
    ("failed <= 0.05", shares(5, 59), 0.95, "undecided", "close"),
    ("failed <= 0.05", shares(19, 59), 0.95, "missed", ""),
    # Without a level the figure decides, as a plain target does, but never on fewer than five questions.
    ("turn >= 0.9", shares(9, 10), None, "passed", ""), ("turn >= 0.9", shares(8, 10), None, "missed", ""),
    ("turn >= 0.9", shares(4, 4), None, "undecided", "few"), ("turn >= 1", shares(5, 5), None, "passed", ""),
    # Missing values and missing questions never pass, however good the rest is.
    ("turn >= 0.5", shares(100, 100)._replace(failed=6), 0.95, "undecided", "ungraded"),
    ("turn >= 0.5", NOTHING, 0.95, "undecided", "nothing"),
    ("severity_major == 0", NOTHING, 0.95, "undecided", "nothing"),
    # A cost needs no questions: it is that of the run.
    ("cost_usd <= 1", MeasuredFigure(0.5, None, 9), 0.95, "passed", ""),
    ("cost_usd <= 1", MeasuredFigure(1.5, None, 9), 0.95, "missed", ""),
    # A count that is exceeded is missed however few were asked: four do not become fewer with more of them.
    ("severity_major == 0", shares(1, 3, repeats=4)._replace(value=4), 0.95, "missed", ""),
    ("severity_major <= 4", shares(1, 3, repeats=4)._replace(value=4), 0.95, "undecided", "few"),
    ("failed == 0", shares(1, 3, repeats=4), 0.95, "missed", ""),
    ("failed <= 0.5", shares(1, 3, repeats=4), 0.95, "undecided", "few"),
    ("severity_major == 0", shares(1, 40)._replace(value=1), 0.95, "missed", ""),
])  # fmt: skip
def test_a_condition_is_decided_by_its_bound_or_by_what_was_seen(
    text: str, found: MeasuredFigure, level: float | None, decision: str, lack: str
) -> None:
    """A share passes with its lower bound; counts and costs are facts; what is missing decides nothing."""
    decided = checked(text, found, level)

    assert (decided.decision, decided.lack) == (decision, lack)
    reasons = {"": "does not hold", "few": "at least 5", "nothing": "No question", "close": "not settled"}
    said = decide_conditions(summed(), [decided], Settings()).reasons
    assert decision == "passed" or reasons.get(lack, "6 of 106 values are missing") in said[0]


def test_a_count_is_a_fact_that_says_how_far_it_goes() -> None:
    """None seen in 40 turns of 40 questions: it may still be 7 % of turns."""
    none = shares(0, 40)._replace(value=0)
    found = checked("severity_major == 0", none)

    assert found.decision == "passed"
    assert found.high == pytest.approx(0.0722, abs=1e-3)


@pytest.mark.parametrize(("language", "passed", "note"), [
    ("ja", "合格（件数）", "確かさ 95% は、この条件には及びません"),
    ("en", "Passed (count)", "being 95 % sure does not extend to it"),
])  # fmt: skip
def test_a_count_above_none_is_only_counted(language: Language, passed: str, note: str) -> None:
    """Neither row nor notes let the certainty seem to apply; of none at all the old sentence is said."""
    gate, summary = a_gate(score=shares(60, 60))
    count = checked("severity_major <= 10", shares(7, 40)._replace(value=7))
    none = checked("severity_minor == 0", shares(0, 40)._replace(value=0))
    counted = gate.model_copy(update={"conditions": (count, none)})
    table = conditions_table(counted)
    assert table is not None
    texts = [said(each.text, language) for each in notes(summary, counted, title)]

    assert said(table.rows[0][1].text, language) == passed
    assert said(table.rows[1][1].text) == "Passed"
    assert [note in text for text in texts].count(True) == 1
    plain = conditions_table(counted.model_copy(update={"confidence": None}))
    assert plain is not None
    assert said(plain.rows[0][1].text) == "Passed"


def test_shares_have_their_sign() -> None:
    """Shares of turns and conversations in percent, grades as points."""
    gate, _summary = a_gate(score=shares(36, 40), refused_correctly=shares(20, 60))
    red = checked("red <= 0.5", shares(15, 38))
    gate = gate.model_copy(update={"conditions": (*gate.conditions, red)})
    table = conditions_table(gate)
    assert table is not None
    ja = [[said(cell.text, "ja") for cell in row] for row in table.rows]

    assert ja[0][0:3:2] == ["点数が80以上", "90"]
    assert ja[1][0:3:2] == ["断るべき質問を断った割合が90%以上", "33%"]
    assert ja[2][0:3:2] == ["要確認の割合が50%以下", "39.5%"]
    assert said(table.rows[2][3].text).endswith(" %")
    # Of one that is missed, the reason has the figure, and the condition the range with a confidence.
    gate, _summary = a_gate(refused_correctly=shares(20, 60))
    (share,) = gate.conditions
    assert gate.reasons == ("Refused what it should ≥ 90 % does not hold: the result is 33 %.",)
    assert (round(share.low or 0, 2), round(share.high or 0, 2)) == (0.23, 0.45)


@pytest.mark.parametrize(("name", "value"), [
    ("red", 8 / 13), ("severity_major", None), ("failed", None), ("turn", None), ("fluency", None),
    ("p95_seconds", None), ("cost_usd", 0.1247), ("answered_correctly", None), ("refused_correctly", None),
    ("handover_correctly", None), ("score", None),
])  # fmt: skip
def test_every_figure_agrees_with_the_summary(name: str, value: float | None) -> None:
    """What the gate measures is what reports show."""
    results = rehearsed()
    summary = summed(results)
    found = measure_condition(Condition(name=name, comparison="<=", threshold=0.5), results, summary)

    known = {
        "turn": summary.scores.score, "score": summary.scores.score,
        "fluency": summary.scores.judges["fluency"].mean,
        "failed": sum(summary.bot_failures.values()) / summary.turns,
        "severity_major": sum(any(m.severity == "major" for m in t.marks) for t in summary.red.answers),
    }  # fmt: skip
    if value is not None or name in known:
        assert found.value == pytest.approx(known.get(name, value))
    assert found.cases == (0 if found.clusters is None else len(found.clusters.sizes))
    assert (found.failed, found.clusters is not None and found.clusters.floor < 0) == (
        name == "fluency",
        False,
    )


@pytest.mark.parametrize(("text", "value", "decision"), [
    ("first_token_p95_seconds <= 0.5", 0.5, "passed"), ("first_token_p95_seconds < 0.4", 0.5, "missed"),
    ("p95_seconds <= 2", 3.0, "missed"),
])  # fmt: skip
def test_the_first_words_have_a_limit_of_their_own(text: str, value: float, decision: str) -> None:
    """Beside that of the whole answer; an answer without that figure says nothing of either."""
    results = a_result({(f"q{n}", "calm", 1): [1.0] for n in range(21)})
    timed = []
    for talk, first in zip(results.conversations, [0.5] * 20 + [None], strict=True):
        [turn] = talk.turns
        answer = turn.answer.model_copy(update={"first_token_seconds": first, "seconds": 3.0})
        turns = (turn.model_copy(update={"answer": answer}),)
        timed.append(talk.model_copy(update={"turns": turns}))
    results = results.model_copy(update={"conversations": tuple(timed)})
    summary = summed(results, ("turn",))
    (condition,) = parse_conditions(text)
    found = measure_condition(condition, results, summary)

    assert found.value == value
    assert (found.n, found.failed) == ((20, 1) if "first" in text else (21, 0))
    assert check_condition(condition, found, None).decision == decision


@pytest.mark.parametrize("name", ["p95_seconds", "first_token_p95_seconds"])
@pytest.mark.parametrize(("dead", "value", "decision"), [(1, 1.0, "passed"), (2, None, "missed")])
def test_a_dead_answer_is_slower_than_any(name: str, dead: int, value: float | None, decision: str) -> None:
    """However quickly it failed: of 21 answers one may be lost within 95 %, a second one is too many."""
    results = a_result({(f"q{n}", "calm", 1): [1.0] for n in range(21)})
    refused = Failure(kind="unreachable", message="no connection")
    answered = []
    for place, talk in enumerate(results.conversations):
        [turn] = talk.turns
        lost = {"text": "", "error": refused, "seconds": 0.01, "first_token_seconds": 0.01}
        given = lost if place < dead else {"seconds": 1.0, "first_token_seconds": 1.0}
        turn = turn.model_copy(update={"answer": turn.answer.model_copy(update=given)})
        answered.append(talk.model_copy(update={"turns": (turn,)}))
    results = results.model_copy(update={"conversations": tuple(answered)})
    (condition,) = parse_conditions(f"{name} <= 2")
    found = measure_condition(condition, results, summed(results, ("turn",)))
    verdict = check_condition(condition, found, None)

    assert (found.n, found.failed) == (21, 0)
    assert verdict.decision == decision
    assert verdict.as_json()["value"] == value


def test_an_unknown_cost_is_too_much_as_soon_as_its_known_part_is() -> None:
    """Of less nobody can say that it is within the limit."""
    spending = {"judge": Spending(cost_usd=None, known_usd=2.0, uncounted=1)}
    results = rehearsed().model_copy(update={"spending": spending})
    summary = summed(results)
    limits = [Condition(name="cost_usd", comparison="<=", threshold=limit) for limit in (1.5, 2.0)]

    assert [measure_condition(each, results, summary).value for each in limits] == [2.0, None]
    # Of a run without turns nothing is known, which is not the same as none that is grave.
    none = rehearsed().model_copy(update={"conversations": (), "scores": ()})
    summary = summed(none)

    for text in ("severity_major == 0", "red <= 0.1", "p95_seconds < 5"):
        (condition,) = parse_conditions(text)
        assert measure_condition(condition, none, summary).value is None


def a_gate(level: float | None = 0.95, **figures: MeasuredFigure) -> Any:
    """The gate over some figures of a calm run."""
    summary, texts = calm(), {"score": "score >= 0.8", "refused_correctly": "refused_correctly >= 0.9"}
    found = [checked(texts[name], measure, level) for name, measure in figures.items()]
    text = " and ".join(each.condition.text for each in found)
    return decide_conditions(summary, found, Settings(target=text, confidence=level)), summary


@pytest.mark.parametrize(("score", "refused", "decision", "ja", "en"), [
    (shares(60, 60), shares(60, 60), "passed",
     "合格（確かさ95%）：点数 100（80以上が必要）／断るべき質問を断った割合 100%（90%以上が必要）",
     "Passed (95 % sure): score 100 (80 required); Refused what it should 100 % (90 % required)"),
    (shares(60, 60), shares(20, 60), "missed",
     "不合格（確かさ95%）：断るべき質問を断った割合 33%（90%以上が必要）",
     "Failed (95 % sure): Refused what it should 33 % (90 % required)"),
    (shares(36, 40), shares(60, 60), "undecided", "判定保留：点数 90、ありうる範囲は",
     "Undecided: score 90, perhaps between"),
    (shares(36, 40), MeasuredFigure(None, None, 0), "undecided", "判定保留：点数 90、ありうる範囲は",
     "Undecided: score 90, perhaps between"),
])  # fmt: skip
def test_the_verdict_in_a_phrase(
    score: MeasuredFigure, refused: MeasuredFigure, decision: str, ja: str, en: str
) -> None:
    """All have to hold; one that is missed for sure decides; what is open says how much is missing."""
    gate, _summary = a_gate(score=score, refused_correctly=refused)

    assert gate.decision == decision
    assert gate.passed is (decision == "passed")
    assert bool(gate.reasons) is (decision != "passed")
    shown = said(verdict(gate), "ja")
    assert shown.startswith(ja)
    assert said(verdict(gate)).startswith(en)


def test_who_was_never_heard_is_missed() -> None:
    """A persona whose conversations all lack a grade keeps the gate from passing."""
    results: Results = rehearsed()
    summary = summed(results)
    assert ungraded_personas(results, summary) == ()
    kept = {k: v for k, v in summary.scores.by_conversation.items() if not k.startswith("calm/")}
    silent = calm(by_conversation=kept)

    assert ungraded_personas(results, silent) == ("calm",)
    passed = [checked("score >= 0.8", shares(60, 60))]
    gate = decide_conditions(silent, passed, Settings(), lost=("calm",))
    assert (gate.passed, gate.decision, gate.incomplete) == (False, "undecided", False)
    assert gate.reasons == ("Customers who took part without a graded conversation: calm.",)


@pytest.mark.parametrize(("given", "said"), [
    ("95%", "--confidence is about a target: add --target 90"),
    ("50", "--confidence 50: must lie between 0.5 and 1: 0.95 (or 95, 95%)"),
])  # fmt: skip
def test_a_report_says_what_a_certainty_is_about(command: Command, given: str, said: str) -> None:
    """Without a target nothing would be certain: one line, exit code 2."""
    stored(a_result(grades_of([0.8] * 6), "1-run"))
    done = command("report", "1-run", "--confidence", given)

    assert done.code == 2
    assert said in done.error


def test_a_report_takes_a_certainty_away(command: Command) -> None:
    """A run's own stays until it is switched off."""
    stored(a_result(grades_of([0.6, 1.0] * 4), "1-run", target=0.9, confidence=0.95))

    kept = command("report", "1-run", "--target", "70", "--json")
    off = command("report", "1-run", "--target", "70", "--confidence", "off", "--json")
    assert (kept.code, kept.json["decision"]) == (1, "undecided")
    assert (off.code, off.json["decision"], off.json["passed"]) == (0, "passed", True)
    assert off.json.get("confidence") is None


def test_a_target_that_points_the_wrong_way_is_one_line(command: Command) -> None:
    """Exit code 2, before anything is played; a stored run with one is named by `history`, not fatal."""
    done = command("--offline", "--limit", "1", "--target", "red >= 0.1")
    assert done.code == 2
    assert "write red <= 0.1" in done.error
    stored(a_result(grades_of([0.8] * 6), "1-run"))
    odd = a_result(grades_of([0.8] * 6), "2-odd")
    settings = odd.run.settings | {"target": "red >= 0.1"}
    stored(odd.model_copy(update={"run": odd.run.model_copy(update={"settings": settings})}))
    history = command("history", "--json")
    assert (history.code, history.json["unread"]) == (0, ["2-odd"])


def test_the_range_of_a_cost_is_one_of_money() -> None:
    """Only a count of turns is bounded by a share of them."""
    cost = Condition(name="cost_usd", comparison="<=", threshold=10)
    turns = Condition(name="severity_major", comparison="<=", threshold=3)
    found = {"value": 2.0, "low": 0.5, "high": 0.75, "decision": "passed", "n": 4}
    assert "%" not in said(range_text(CheckedCondition(condition=cost, **found)), "en")
    assert said(range_text(CheckedCondition(condition=turns, **found)), "en") == "up to 75 % of answers"
    shown = [said(value_text(CheckedCondition(condition=each, **found)), "en") for each in (cost, turns)]
    assert shown == ["2 USD", "2"]


def test_a_figure_lies_between_one_and_another() -> None:
    """As the sentence and the column say that have the range."""
    score = Condition(name="score", comparison=">=", threshold=0.7)
    found = CheckedCondition(condition=score, value=0.74, low=0.62, high=0.83, decision="undecided", n=4)
    assert said(range_text(found), "en") == "62 and 83"
