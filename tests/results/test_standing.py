"""How good a judge is known to be: both shares, their bounds, and what people's labels can show."""

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from simulator.core.types import HumanVerdict, RedRules, Results, Score, ScoreTuple
from simulator.results.certificate import (
    CheckedAnswer,
    Side,
    Standing,
    is_certain,
    lower_bound,
    side_of,
    standing_text,
)
from simulator.results.judge_records import CheckedLabels, save_record, today
from simulator.results.review import blind_sample
from simulator.results.standing import checked_answers, standing_of
from tests.blind_grades import verdict
from tests.commands import Command
from tests.reviewed_runs import reviewed_run, vote
from tests.sample_runs import large, summed
from tests.servers.openai import OpenAIServer

RUBRIC = "0123456789abcdef"


def _rows(right: int, wrong: int, *, bad: bool) -> list[CheckedAnswer]:
    """So many answers, each about a question of its own."""
    return [CheckedAnswer(str(at), bad, (at < right) == bad) for at in range(right + wrong)]


@pytest.mark.parametrize(
    ("right", "wrong", "certain"),
    [(14, 0, True), (13, 0, False), (21, 1, True), (20, 1, False), (45, 5, True), (44, 5, False)],
)
def test_a_side_is_certain_from_14_of_14_21_of_22_and_45_of_50(
    right: int, wrong: int, *, certain: bool
) -> None:
    """By hand: .8 ** 14 = .0440, .8 ** 13 = .0550; .8 ** 22 + 22 * .2 * .8 ** 21 = .0480."""
    assert is_certain(right, wrong) is certain
    assert side_of(_rows(right, wrong, bad=True), bad=True).certified is certain
    assert side_of(_rows(right, wrong, bad=False), bad=False).certified is certain


@pytest.mark.parametrize(
    ("right", "wrong", "bound"),
    [
        (1, 0, 0.05), (1, 9, 0.005116196891823701), (14, 0, 0.8073638243498646), (45, 5, 0.8011669974835816),
        (300, 70, 0.7741500420449815), (0, 5, 0.0),
    ],
)  # fmt: skip
def test_the_bound_is_that_of_clopper_and_pearson(right: int, wrong: int, bound: float) -> None:
    """As scipy 1.17.1 has it: `beta.ppf(0.05, right, wrong + 1)`; no hit says nothing good of anybody."""
    assert lower_bound(right, wrong) == pytest.approx(bound, abs=1e-9)


def test_a_question_counts_once_however_many_customers_asked_it() -> None:
    """Fourteen answers to two questions are two observations, and certify nobody."""
    rows = [CheckedAnswer(str(at % 2), True, True, str(at)) for at in range(14)]
    side = side_of(rows, bad=True)

    assert (side.right, side.answers, side.more) == (14, 14, 12)
    assert side.bound == pytest.approx(0.05**0.5)


def test_half_a_question_right_is_no_hit_and_one_miss() -> None:
    """Of 14 questions one has a right and a wrong answer: 13 hits of 14, and 8 more are needed."""
    rows = [
        *_rows(13, 0, bad=True),
        CheckedAnswer("x", True, True, "a"),
        CheckedAnswer("x", True, False, "b"),
    ]
    side = side_of(rows, bad=True)

    assert side.bound == pytest.approx(0.7032657610511254, abs=1e-9)
    assert side.more == 8


def test_answers_that_were_drawn_more_often_count_for_less() -> None:
    """Ten of weight 1 and twenty of weight .2 are fourteen drawn at random."""
    rows = [CheckedAnswer(str(at), True, True, "", 1.0 if at < 10 else 0.2) for at in range(30)]

    assert side_of(rows, bad=True).more == 0
    assert side_of(rows[:-1], bad=True).more == 1
    wrong = [CheckedAnswer("x", True, False, "", 0.5), *rows[:1]]
    assert side_of(wrong, bad=True).share == pytest.approx(1 / 1.5)
    assert side_of([], bad=True) == Side()


@pytest.mark.parametrize(("right", "more"), [(0, None), (1, 200), (2, 199)])
def test_more_answers_are_named_up_to_two_hundred(right: int, more: int | None) -> None:
    """Beside 37 misses it takes 201 hits; more than anybody labels is no way to a certificate."""
    side = side_of(_rows(right, 37, bad=True), bad=True)

    assert (side.more, side.certified) == (more, False)


def test_the_same_answer_to_several_customers_is_shown_as_one() -> None:
    """The line says how many answers people looked at, not how many customers got them."""
    rows = [CheckedAnswer("q", False, False, "same")] * 5

    assert (side_of(rows, bad=False).right, side_of(rows, bad=False).answers) == (1, 1)


def test_the_line_says_certified_or_what_is_missing() -> None:
    """With figures of both sides, and nothing of a judge that nobody checked."""
    whole = Standing(
        judge="turn",
        bad=side_of(_rows(21, 1, bad=True), bad=True),
        good=side_of(_rows(45, 5, bad=False), bad=False),
    )
    part = whole.model_copy(update={"bad": side_of(_rows(8, 0, bad=True), bad=True)})
    poor = whole.model_copy(update={"bad": side_of(_rows(10, 90, bad=True), bad=True)})

    assert whole.certified
    assert "certified; it marks 21 of 22 bad answers, and passes 45 of 50 good ones" in str(
        standing_text(whole)
    )
    assert str(standing_text(part)) == "agrees with people in 53 of 58; needed: 6 more bad answers."
    assert "not certified; it agrees with people in 55 of 150" in str(standing_text(poor))
    assert "not checked" in str(standing_text(Standing(judge="turn")))
    assert "not checked" in str(standing_text(None))


def test_a_stand_in_is_never_certified_nor_who_failed_a_probe() -> None:
    """However well it agrees: words were counted, or it passes an empty answer."""
    side = Side(right=50, answers=50, share=1.0, bound=0.94, more=0)
    standing = Standing(judge="turn", bad=side, good=side, stand_in=True)
    failing = Standing(judge="turn", bad=side, good=side, failed_probes=("empty-ja",))

    assert not standing.certified
    assert not failing.certified
    assert failing.model_copy(update={"failed_probes": ()}).certified
    assert standing.state == "stand_in"
    assert standing_of("turn", "lexical-1-abc", RedRules(), None).state == "stand_in"


def test_label_files_count_for_exactly_the_rubric_that_graded_them(tmp_path: Path) -> None:
    """Another prompt or model is a judge that nobody checked."""
    answers = tuple((str(at), at < 14, at < 14) for at in range(28))
    save_record(
        CheckedLabels(judge="turn", rubric=RUBRIC, model="m", source="desk", date=today(), answers=answers),
        tmp_path,
    )

    assert standing_of("turn", RUBRIC, RedRules(), None, tmp_path).certified
    assert standing_of("turn", "another", RedRules(), None, tmp_path).state == "not_checked"


def _graded(value: float, *places: tuple[str, int]) -> list[Score]:
    return [
        Score(
            judge="turn",
            conversation=conversation,
            turn=turn,
            state="scored",
            value=value,
            raw=5 * value,
            rubric=RUBRIC,
        )
        for conversation, turn in places
    ]


def _blind(place: tuple[str, int], grade: float, sampled: float) -> HumanVerdict:
    return verdict(place[0], place[1], grade, sampled=sampled)


def _run(marked: int, *verdicts: HumanVerdict) -> tuple[Results, list[tuple[str, int]]]:
    """The rehearsed run, of which the first so many turns are marked."""
    results = reviewed_run(*verdicts)
    places = [(c.id, t.index) for c in results.conversations for t in c.turns]
    scores = (*_graded(0.4, *places[:marked]), *_graded(1.0, *places[marked:]))
    return results.model_copy(update={"scores": ScoreTuple(scores)}), places


def test_reviews_of_marked_answers_alone_show_no_side() -> None:
    """Whoever looks only at what was marked cannot know what was missed."""
    _all, places = _run(4)
    votes = [vote(places[0], "right", red=True), vote(places[1], "wrong", red=True)]
    answers = checked_answers(_run(4, *votes)[0], "turn", RUBRIC, RedRules())

    assert answers == []


def test_blind_grades_fill_both_sides_and_reviews_weigh_by_their_share() -> None:
    """Two of four marks were reviewed, two of the other answers graded blind with a chance of a quarter."""
    _all, places = _run(4)
    said = [
        vote(places[0], "right", red=True), vote(places[1], "wrong", red=True),
        _blind(places[5], 1, 0.25), _blind(places[6], 5, 0.25),
    ]  # fmt: skip
    answers = checked_answers(_run(4, *said)[0], "turn", RUBRIC, RedRules())

    assert sorted((a.bad, a.marked, a.weight) for a in answers) == [
        (False, False, 1.0), (False, True, 0.5), (True, False, 1.0), (True, True, 0.5),
    ]  # fmt: skip
    # What was said of the same answer in an earlier run chose nothing here.
    run = _run(4, *said)[0]
    earlier = run.run.created - timedelta(days=7)
    carried = tuple(
        v.model_copy(update={"given": earlier}) if v.source == "review" else v for v in run.verdicts
    )
    answers = checked_answers(run.model_copy(update={"verdicts": carried}), "turn", RUBRIC, RedRules())
    assert {a.marked for a in answers} <= {False}


def test_an_opinion_is_about_the_mark_that_was_in_view() -> None:
    """A judge that was wrong to mark an answer is right to pass it after it was graded anew."""
    _all, places = _run(0)
    said = [vote(places[0], "wrong", red=True), _blind(places[1], 5, 1.0)]
    answers = checked_answers(_run(0, *said)[0], "turn", RUBRIC, RedRules())

    assert {(a.bad, a.marked) for a in answers} == {(False, False)}


ROWS = "\n".join(
    json.dumps(
        {"id": f"q{at}", "question": f"Question {at}?", "answer": f"Answer {at}.", "reference": "Yes."}
    )
    for at in range(28)
)


def test_a_certified_judge_is_a_condition_of_a_target(command: Command, server: OpenAIServer) -> None:
    """Undecided until people's labels certify it, with the reason; then as the other conditions say."""
    Path("rows.jsonl").write_text(ROWS, encoding="utf-8")
    target = ("--target", "score >= 10 and certified", "--max-major", "100")
    usual = (
        "evaluate",
        "rows.jsonl",
        "--adapter",
        "recorded",
        "--judges",
        "turn",
        "--language",
        "en",
        "--json",
    )
    first = command(*usual, *target)
    judge = first.json["judges"]["turn"]["standing"]
    rubric = judge["rubric"]

    assert (first.code, first.json["decision"], judge["state"]) == (1, "undecided", "not_checked")
    assert "the judge is not certified" in first.json["reasons"]

    labels = tuple((f"q{at}", at < 14, at < 14) for at in range(28))
    save_record(
        CheckedLabels(judge="turn", rubric=rubric, model="m", source="d", date=today(), answers=labels)
    )
    again = command("report", "latest", *target, "--json")

    assert (again.json["decision"], again.json["judges"]["turn"]["standing"]["state"]) == (
        "passed",
        "certified",
    )
    assert command(*usual, *target).code == 0


def test_a_trial_is_never_certified(command: Command) -> None:
    """Words were counted: exit code 1, and the reason says so."""
    usual = ("--offline", "--limit", "6", "--turns", "1", "--max-major", "100", "--json")
    done = command(*usual, "--target", "p95_seconds <= 600 and certified")

    assert (done.code, done.json["decision"]) == (1, "undecided")
    assert "the judge is not certified" in done.json["reasons"]


def test_the_blind_sample_is_unbiased_by_its_weights() -> None:
    """Exactly: each turn's chance is what it says, so that weights of 1 / chance add up to the run.

    Over 400 lots every turn is drawn as often as its `sampled` says, within four standard errors.
    """
    results = large(12)
    summary = summed(results)
    size, lots = 12, 400
    counted, chances = Counter[tuple[str, int]](), dict[tuple[str, int], float]()
    for lot in range(lots):
        run = results.model_copy(update={"run": results.run.model_copy(update={"id": f"lot {lot}"})})
        drawn = blind_sample(run, summary, size)
        assert len(drawn) == size
        counted.update(drawn.keys())
        chances |= drawn
    everything = blind_sample(results, summary, 10_000)

    assert set(everything.values()) == {1}
    # Of each kind of turns the chances are n / N: together they are the size of the sample.
    assert sum(chances.values()) == pytest.approx(size)
    assert chances.keys() == everything.keys()
    for place, chance in chances.items():
        error = (chance * (1 - chance) / lots) ** 0.5
        assert abs(counted[place] / lots - chance) <= 4.5 * error + 1e-9


def test_half_of_the_blind_sample_is_where_the_judge_is_likely_to_be_wrong() -> None:
    """Grades of 3 and 4 are near the line; 1, 2 and 5 are not."""
    results = large(40)
    scores = tuple(
        score.model_copy(update={"raw": raw, "value": raw / 5, "detail": {}})
        for at, score in enumerate(results.scores)
        for raw in [4 if at % 8 == 0 else 5]
        if score.judge == "turn"
    )
    run = results.model_copy(update={"scores": scores})
    near = {(score.conversation, score.turn) for score in scores if score.raw == 4}
    drawn = blind_sample(run, summed(run), 20)
    doubtful = drawn.keys() & near

    assert len(near) < len(scores) / 2
    assert len(doubtful) == 20 - round(10 * (len(scores) - len(near)) / len(scores))
