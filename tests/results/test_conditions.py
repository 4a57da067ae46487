"""Conditions of the gate: read, refused with a reason, measured, and decided one by one."""

from typing import Any

import pytest

from simulator.core.errors import InputError, UnknownName
from simulator.core.settings import Settings
from simulator.core.target import (
    Condition,
    check_names,
    parse_conditions,
    read_confidence,
    read_target,
    target_conditions,
)
from simulator.core.types import Failure, Results
from simulator.report.gate import range_text, value_text
from simulator.results.conditions import (
    MeasuredFigure,
    asked_conditions,
    check_condition,
    measure_condition,
)
from simulator.results.intervals import cluster_values
from simulator.results.target import check_gate
from tests.commands import Command
from tests.diff_runs import a_result, grades_of, stored
from tests.sample_runs import JUDGES, changed, rehearsed, summed
from tests.texts import said


def shares(hits: int, n: int, repeats: int = 1, failed: int = 0) -> MeasuredFigure:
    """So many of n questions were answered well, each asked so often."""
    values = [float(place < hits) for place in range(n) for _ in range(repeats)]
    clusters = cluster_values(values, [f"q{place}" for place in range(n) for _ in range(repeats)])
    return MeasuredFigure(clusters.mean, clusters, failed)


def condition(text: str) -> Condition:
    """The one condition of a text."""
    (known,) = parse_conditions(text)
    return known


@pytest.mark.parametrize(("given", "read"), [
    ("turn>=90", "turn >= 0.9"), ("turn ≥ ８０ AND red<=0.1", "turn >= 0.8 and red <= 0.1"),
    ("red == 0 and red == 0", "red == 0"), ("p95_seconds <= 2.5", "p95_seconds <= 2.5"),
    ("expectations == 1", "expectations == 1"), ("score >= 90 and certified", "score >= 0.9 and certified"),
    ("90", 0.9), (0.9, 0.9), (None, None), ("９０ ％", 0.9), ("80点", 0.8),
])  # fmt: skip
def test_a_target_is_a_number_or_conditions(given: Any, read: Any) -> None:
    """In any width and spelling; what is said twice is asked once."""
    assert read_target(given) == read


@pytest.mark.parametrize(("given", "said"), [
    ("turn => 0.9", "is not a condition"), ("turn", "is not a condition"), ("", "is not a condition"),
    ("0.8 <= turn", "is not a condition"), ("turn > 0.9", "is not a condition"),
    ("turn >= 0.9 or red <= 0.1", "is not a condition"), ("turn >= 0.9 and", "is not a condition"),
    ("__import__('os')", "is not a condition"), ("p95_seconds <= -1", "is not a condition"),
    ("p95_seconds <= 5%", "is not a condition"),
    ("turn >= 1.2", "between 0 and 1"), (True, "between 0 and 1"),
    ("pass^3 == 0.9", "write pass.3 >= 0.9"), ("p95_seconds >= 1", "write p95_seconds <= 1"),
    ("red >= 0.1", "write red <= 0.1"), ("score <= 90", "write score >= 0.9"),
    ("red == 0.1", "write red <= 0.1"), ("refused_correctly == 0", "write refused_correctly >= 0"),
])  # fmt: skip
def test_what_makes_no_sense_is_told(given: Any, said: str) -> None:
    """One line that says how it is written: nothing passes for being bad, or for hitting a share exactly."""
    with pytest.raises(ValueError, match=said):
        read_target(given)


@pytest.mark.parametrize(("text", "value", "holds"), [
    ("score >= 0.9", 0.8999999999999999, True), ("score >= 0.9", 0.8999, False),
    ("red <= 0.1", 0.10000000000000002, True), ("red <= 0.1", 0.1001, False), ("red == 0", 0.0001, False),
])  # fmt: skip
def test_only_a_rounding_error_is_forgiven(text: str, value: float, holds: bool) -> None:
    """A mean of tenths may lie a bit below its number; one answer of ten thousand is none."""
    assert condition(text).holds(value) is holds


def test_names_that_are_not_there_are_refused_with_those_that_are() -> None:
    """A near one is offered."""
    with pytest.raises(UnknownName, match=r"unknown figure in --target: 'tern'. Did you mean turn\?.*score"):
        check_names("score >= 0.9 and tern >= 0.8", JUDGES)
    for title in ("総合", "Overall"):
        with pytest.raises(InputError, match=r"Did you mean turn \(Overall\)\?"):
            check_gate(Settings(target=f"{title} >= 0.9"), lambda _: False)
    with pytest.raises(InputError, match=r"not what a target can ask: write turn >= 0.9"):
        check_names(read_target("turn <= 90"), JUDGES)
    check_names("turn == 1 and fluency >= 0.8 and red <= 0.1", JUDGES)
    assert target_conditions(0.9) == (Condition(name="score", comparison=">=", threshold=0.9),)


def test_shares_may_be_percentages() -> None:
    """20 and 20% mean 0.2, from 2 a number is a percentage, 1% is no whole; 95 is a certainty of 0.95."""
    given = (20, "20%", "２０％", 2, "1%", "1", 0, None)
    read = [Settings.model_validate({"max_major": each}).max_major for each in given]
    assert read == [0.2, 0.2, 0.2, 0.02, 0.01, 1, 0, None]
    for wrong in ("1.5", "-1", "200%", "some"):
        with pytest.raises(ValueError, match="max_major"):
            Settings.model_validate({"max_major": wrong})
    sure = [read_confidence(each) for each in (95, "９５％", "0.9", "off", None)]
    assert sure == [0.95, 0.95, 0.9, None, None]
    for no_certainty in ("x", 0.5, "40%", 100, True, "nan"):
        with pytest.raises(ValueError, match=r"0\.95 \(or 95, 95%\) is usual"):
            read_confidence(no_certainty)


@pytest.mark.parametrize(("settings", "limit"), [
    ({}, "major <= 0.2"), ({"confidence": 0.95}, "major == 0"), ({"max_major": 0}, "major == 0"),
    ({"max_major": 0.1, "confidence": 0.95}, "major <= 0.1"), ({"max_major": 1}, None),
])  # fmt: skip
def test_a_limit_on_serious_errors_goes_with_every_target(
    settings: dict[str, Any], limit: str | None
) -> None:
    """A limit of all questions is none."""
    first, *others = asked_conditions(Settings(target=0.9, **settings))

    assert first.text == "score >= 0.9"
    assert [other.text for other in others] == ([limit] if limit else [])


NOTHING = MeasuredFigure(None, None)


@pytest.mark.parametrize(("text", "figure", "level", "decision", "lack"), [
    # 59 right answers of 59 are needed for 95 % at 95 %: one of the best known numbers of statistics.
    ("refused_correctly >= 0.95", shares(59, 59), 0.95, "passed", ""),
    ("refused_correctly >= 0.95", shares(58, 58), 0.95, "undecided", ""),
    ("refused_correctly >= 0.95", shares(40, 59), 0.95, "missed", ""),
    ("red <= 0.05", shares(0, 59), 0.95, "passed", ""),
    ("red <= 0.05", shares(0, 58), 0.95, "undecided", ""),
    ("red <= 0.05", shares(19, 59), 0.95, "missed", ""),
    # Without a level the figure decides, as a plain target does, but never on fewer than five questions.
    ("turn >= 0.9", shares(9, 10), None, "passed", ""), ("turn >= 0.9", shares(8, 10), None, "missed", ""),
    ("turn >= 0.9", shares(4, 4), None, "undecided", "few"), ("turn >= 1", shares(5, 5), None, "passed", ""),
    # Missing values and missing questions never pass, however good the rest is.
    ("turn >= 0.5", shares(100, 100, failed=5), None, "passed", ""),
    ("turn >= 0.5", shares(100, 100, failed=6), 0.95, "undecided", "missing"),
    ("turn >= 0.5", NOTHING, 0.95, "undecided", "nothing"),
    ("turn >= 0.5", MeasuredFigure(None, None, 3), 0.95, "undecided", "missing"),
    ("red == 0", NOTHING, 0.95, "undecided", "nothing"),
    # All or none is decided by what was seen, and missed however few were asked.
    ("red == 0", shares(0, 5), 0.95, "passed", ""), ("red == 0", shares(0, 3), 0.95, "undecided", "few"),
    ("red == 0", shares(1, 3, repeats=4), 0.95, "missed", ""),
    ("expectations == 1", shares(2, 3, failed=9), None, "missed", ""),
    # What exceeds the limit on serious errors does so however few were asked; with a level a bound decides.
    ("major <= 0.2", shares(1, 4), None, "missed", ""),
    ("major <= 0.2", shares(1, 3, failed=9), None, "missed", ""),
    ("major <= 0.2", shares(0, 4), None, "undecided", "few"),
    ("major <= 0.2", shares(3, 20), 0.9, "undecided", ""), ("major <= 0.2", shares(3, 60), 0.9, "passed", ""),
    # Articles are all there are.
    ("coverage >= 0.5", shares(2, 3), 0.95, "passed", ""),
    ("coverage >= 0.9", shares(2, 3), 0.95, "missed", ""),
    ("p95_seconds <= 3", shares(59, 59)._replace(value=2.0), 0.95, "passed", ""),
    ("p95_seconds <= 3", shares(58, 58)._replace(value=2.0), 0.95, "undecided", ""),
])  # fmt: skip
def test_a_condition_is_decided_by_its_bound_or_by_what_was_seen(
    text: str, figure: MeasuredFigure, level: float | None, decision: str, lack: str
) -> None:
    """A share passes with its lower bound; what is missing decides nothing."""
    checked = check_condition(condition(text), figure, level)

    assert (checked.decision, checked.lack) == (decision, lack)


def test_judges_that_lack_grades_decide_nothing() -> None:
    """But for what no further grade can mend."""
    decided = [
        check_condition(condition(text), shares(9, 10), None, thin=True)
        for text in ("turn >= 0.5", "red <= 0.5", "red == 0")
    ]

    assert [(c.decision, c.lack) for c in decided] == [("undecided", "thin")] * 2 + [("missed", "")]


@pytest.mark.parametrize(("text", "figure", "value", "between"), [
    ("score >= 0.7", shares(74, 100), "74", "66 and 81"),
    ("score >= 0.745", shares(74, 100), "74", "66 and 81"),
    ("refused_correctly >= 0.9", shares(20, 60), "33 %", "23 and 45 %"),
    ("red <= 0.5", shares(15, 38), "39.5 %", "26 and 54 %"),
    ("pass^2 >= 0.9", shares(5, 5), "100 %", "55 and 100 %"),
    ("p95_seconds <= 3", shares(58, 59)._replace(value=2.966), "2.97 s", ""),
    ("p95_seconds <= 3", shares(58, 59)._replace(value=float("inf")), "–", ""),
    ("score >= 0.9", NOTHING, "–", ""),
])  # fmt: skip
def test_figures_have_their_unit(text: str, figure: MeasuredFigure, value: str, between: str) -> None:
    """Scores are points, other shares have their sign, times their seconds."""
    checked = check_condition(condition(text), figure, 0.95)

    assert (said(value_text(checked)), said(range_text(checked))) == (value, between)


@pytest.mark.parametrize(("name", "value"), [
    ("red", 8 / 13), ("major", 3 / 4), ("turn", None), ("score", None), ("fluency", None),
])  # fmt: skip
def test_every_figure_agrees_with_the_summary(name: str, value: float | None) -> None:
    """What the gate measures is what reports show."""
    results = rehearsed()
    summary = summed(results)
    figure = measure_condition(Condition(name=name, comparison="<=", threshold=0.5), results, summary)

    mean = summary.scores.judges["fluency"].mean if name == "fluency" else summary.scores.score
    assert figure.value == pytest.approx(mean if value is None else value)
    assert figure.failed == (name == "fluency")


def test_what_has_no_grade_is_counted_with_the_figure_that_lacks_it() -> None:
    """Of the score conversations or grades, whichever are more; of expectations also those without proof."""
    results = rehearsed()
    summary = summed(results)

    def failed(name: str, missing: int = 0, **counts: int) -> int:
        judge = summary.scores.primary if name == "score" else name
        judges = {judge: summary.scores.judges["fluency"].model_copy(update=counts)}
        lacking = changed(summary, judges=judges, missing=missing)
        return measure_condition(condition(f"{name} >= 0.5"), results, lacking).failed

    assert (failed("score", 3), failed("score", failed=2), failed("score", 3, failed=2)) == (3, 2, 3)
    assert (failed("fluency", failed=2, ignored=1), failed("expectations", failed=2, ignored=1)) == (2, 3)


def test_an_answer_in_just_the_time_that_was_asked_came_in_time() -> None:
    """Of thirteen answers twelve took 1.2 seconds, and the other 60."""
    results = rehearsed()
    figure = measure_condition(condition("p95_seconds <= 1.2"), results, summed(results))

    assert figure.clusters
    assert figure.clusters.mean == pytest.approx(12 / 13)


@pytest.mark.parametrize(("n", "value"), [(20, 20.0), (21, 20.0), (40, 39.0)])
def test_the_time_of_nineteen_in_twenty_is_one_that_was_taken(n: int, value: float) -> None:
    """Of answers that took 1, 2, 3 ... seconds; the values say how many came in time."""
    results = a_result({(f"q{at}", "calm", 1): [1.0] for at in range(n)})
    talks = []
    for seconds, talk in enumerate(results.conversations, 1):
        (turn,) = talk.turns
        answer = turn.answer.model_copy(update={"seconds": float(seconds)})
        talks.append(talk.model_copy(update={"turns": (turn.model_copy(update={"answer": answer}),)}))
    results = results.model_copy(update={"conversations": tuple(talks)})
    figure = measure_condition(condition("p95_seconds <= 10"), results, summed(results, ("turn",)))

    assert (figure.value, figure.n, figure.cases) == (value, n, n)
    assert figure.clusters
    assert figure.clusters.mean == pytest.approx(10 / n)


@pytest.mark.parametrize(
    ("scale", "lowest", "floor"), [((1, 5), 0.2, 0.2), ((1, 5), 0.1, 0.1), ((0, 5), 0.2, 0.0)]
)
def test_bounds_know_how_low_a_grade_can_be(scale: tuple[float, float], lowest: float, floor: float) -> None:
    """By the scale, and below it where a judge of one's own went there; of score and judge alike."""
    results = a_result(grades_of([lowest, 0.6, 1.0]))
    scores = tuple(score.model_copy(update={"scale": scale}) for score in results.scores)
    results = results.model_copy(update={"scores": scores})
    summary = summed(results, ("turn",))
    for name in ("score", "turn"):
        figure = measure_condition(condition(f"{name} >= 0.5"), results, summary)
        assert figure.clusters
        assert figure.clusters.floor == pytest.approx(floor)


@pytest.mark.parametrize(("dead", "value", "decision"), [(1, 1.0, "passed"), (2, None, "missed")])
def test_a_dead_answer_is_slower_than_any(dead: int, value: float | None, decision: str) -> None:
    """However quickly it failed: of 21 answers one may be lost within 95 %, a second one is too many."""
    results = a_result({(f"q{n}", "calm", 1): [1.0] for n in range(21)})
    refused = Failure(kind="unreachable", message="no connection")
    answered = []
    for place, talk in enumerate(results.conversations):
        [turn] = talk.turns
        lost = {"text": "", "error": refused, "seconds": 0.01}
        given = lost if place < dead else {"seconds": 1.0}
        turn = turn.model_copy(update={"answer": turn.answer.model_copy(update=given)})
        answered.append(talk.model_copy(update={"turns": (turn,)}))
    results = results.model_copy(update={"conversations": tuple(answered)})
    figure = measure_condition(condition("p95_seconds <= 2"), results, summed(results, ("turn",)))
    checked = check_condition(condition("p95_seconds <= 2"), figure, None)

    assert (figure.n, figure.failed) == (21, 0)
    assert (checked.decision, checked.as_json()["value"]) == (decision, value)


def test_of_a_run_without_turns_nothing_is_known() -> None:
    """Which is not the same as none that is grave."""
    none = rehearsed().model_copy(update={"conversations": (), "scores": ()})
    summary = summed(none)

    for text in ("red == 0", "major <= 0.1", "p95_seconds <= 5", "expectations == 1", "pass^2 >= 0.9"):
        assert measure_condition(condition(text), none, summary).value is None


def test_a_certainty_needs_a_target_and_may_be_taken_away(command: Command) -> None:
    """One line and exit code 2 without; a run's own stays until it is switched off."""
    stored(a_result(grades_of([0.6, 1.0] * 4), "1-run"))
    alone = command("report", "1-run", "--confidence", "95%")
    wrong = command("report", "1-run", "--confidence", "50")
    sure = ("report", "1-run", "--target", "70", "--json", "--confidence")
    kept, off = command(*sure, "95"), command(*sure, "off")

    assert (alone.code, wrong.code) == (2, 2)
    assert "--confidence is about a target: add --target 90" in alone.error
    assert "--confidence 50: must lie between 0.5 and 1: 0.95 (or 95, 95%)" in wrong.error
    assert (kept.code, kept.json["decision"]) == (1, "undecided")
    assert (off.code, off.json["decision"], off.json["confidence"]) == (0, "passed", None)


def test_a_target_that_points_the_wrong_way_is_one_line(command: Command) -> None:
    """Exit code 2, before anything is played; a stored run with one is named by `history`, not fatal."""
    done = command("--offline", "--limit", "1", "--target", "red >= 0.1")
    assert done.code == 2
    assert "write red <= 0.1" in done.error
    stored(a_result(grades_of([0.8] * 6), "1-run"))
    odd: Results = a_result(grades_of([0.8] * 6), "2-odd")
    settings = odd.run.settings | {"target": "red >= 0.1"}
    stored(odd.model_copy(update={"run": odd.run.model_copy(update={"settings": settings})}))
    history = command("history", "--json")
    assert (history.code, history.json["unread"]) == (0, ["2-odd"])


def test_what_json_says_of_a_condition() -> None:
    """Text, decision, figures to four decimals, and on what they rest."""
    checked = check_condition(condition("score >= 70"), shares(74, 100), 0.95)

    assert checked.as_json() == {
        "condition": "score >= 0.7", "decision": "undecided", "value": 0.74, "bounds": [0.658, 0.811],
        "n": 100, "cases": 100,
    }  # fmt: skip
