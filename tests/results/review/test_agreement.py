"""People's blind grades beside the judge's, worked out by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Answer, Failure, Results
from simulator.report.review import ReviewOutcome, review_report
from simulator.results.review import (
    BlindAgreement,
    BlindGrade,
    blind_agreement,
    blind_grades,
    blind_sample,
)
from simulator.results.review_files import as_lines
from tests.blind_grades import graded, verdict
from tests.diff_runs import a_result, grades_of
from tests.sample_runs import decide, summed
from tests.texts import terminal


def review(results: Results) -> BlindAgreement | None:
    """The review of a run with the usual rules."""
    return blind_agreement(results, summed(results))


def with_verdicts(results: Results, *more: Any) -> Results:
    """The run with further verdicts."""
    return results.model_copy(update={"verdicts": (*results.verdicts, *more)})


def test_the_figures_by_hand() -> None:
    """Two conversations graded 5, 4, 2 by the judge; people give 5, 2, 2 and 3, 4, 4."""
    result = review(
        graded(
            lambda conversation, turn: (
                ((5, 2, 2), (3, 4, 4))[conversation][turn - 1] if conversation < 2 else None
            )
        )
    )

    assert result
    assert (result.turns, result.grades) == (6, 6)
    assert result.same_side == pytest.approx(3 / 6)
    assert result.difference == pytest.approx((22 - 20) / 6 / 5)
    assert [(turn.turn, turn.human, turn.judge) for turn in result.missed] == [(2, 2, 4)]
    assert [(turn.turn, turn.human, turn.judge) for turn in result.overcalled] == [(3, 4, 2)]


def test_sampling_rates_weigh_the_turns() -> None:
    """A turn of which one in ten was sampled stands for ten; without all rates none count."""
    base = graded(lambda *_: None)
    conversation = base.conversations[0].id
    rated = with_verdicts(
        base,
        verdict(conversation, 1, 1, sampled=0.1),
        verdict(conversation, 2, 4, sampled=0.1),
        verdict(conversation, 3, 2, sampled=1),
    )
    result, plain = review(rated), review(with_verdicts(rated, verdict(base.conversations[1].id, 1, 5)))

    assert result
    assert plain
    assert result.same_side == pytest.approx(11 / 21)
    assert plain.same_side == pytest.approx(3 / 4)


def test_only_blind_grades_count_and_reviewers_are_averaged() -> None:
    """The rate is the same for both reviewers; opinions and comments are no grades."""
    given = [verdict("c", 1, 4, sampled=0.5), verdict("c", 1, 3, reviewer="B", sampled=0.5)]
    others = [verdict("c", 2, 1, source="review"), verdict("c", 3, None)]

    assert blind_grades([*given, *others]) == {("c", 1): BlindGrade(0.7, 0.5)}


@pytest.mark.parametrize(
    ("near", "clear", "chances"),
    [
        # Half at random, half where the judge is likely to be wrong; one kind fills what the other lacks.
        (60, 40, {0.6: 32 / 60, 1.0: 8 / 40}),
        (10, 90, {0.6: 1.0, 1.0: 30 / 90}),
        (90, 10, {0.6: 38 / 90, 1.0: 2 / 10}),
        (0, 50, {1.0: 40 / 50}),
        (50, 0, {0.6: 40 / 50}),
        (3, 4, {0.6: 1.0, 1.0: 1.0}),
    ],
)
def test_each_drawn_turn_knows_its_chance(near: int, clear: int, chances: dict[float, float]) -> None:
    """Forty of a run, or all; the sum of all chances is as many as are drawn."""
    results = a_result(grades_of([0.6] * near + [1.0] * clear))
    values = {score.conversation: score.value for score in results.scores}
    sample = blind_sample(results, summed(results, ("turn",)))

    assert len(sample) == min(40, near + clear)
    assert {(values[talk], chance) for (talk, _turn), chance in sample.items()} == {*chances.items()}
    order = [values[talk] or 0 for talk, _turn in sample]
    assert len({*order}) == 1 or order not in (sorted(order), sorted(order, reverse=True))


def test_no_turn_without_answer_or_grade_is_drawn() -> None:
    """There is nothing to compare; where another judge or model makes it red, its own is in doubt."""
    grades = [1.0] * 60
    results = a_result(grades_of(grades), judges=("turn", "groundedness"))
    silent, blank, *others = results.conversations
    dead = silent.turns[0].model_copy(
        update={"answer": Answer(text="x", error=Failure(kind="timeout", message="late"))}
    )
    empty = blank.turns[0].model_copy(update={"answer": Answer(text=" \n")})
    talks = (
        silent.model_copy(update={"turns": (dead,)}),
        blank.model_copy(update={"turns": (empty,)}),
        *others,
    )
    ungraded, doubted, disputed = (talk.id for talk in others[:3])
    low = {"value": 0.2, "raw": 1.0}
    scores = [
        score.model_copy(update=low if (score.judge, score.conversation) == ("groundedness", doubted) else {})
        for score in results.scores
        if (score.judge, score.conversation) != ("turn", ungraded)
    ]
    scores += [
        score.model_copy(update={"judge": "turn@other"} | (low if score.conversation == disputed else {}))
        for score in scores
        if score.judge == "turn"
    ]
    results = results.model_copy(update={"conversations": talks, "scores": tuple(scores)})
    sample = blind_sample(results, summed(results, ("turn", "groundedness")))

    assert len(sample) == 40
    assert not {silent.id, blank.id, ungraded} & {talk for talk, _turn in sample}
    assert sample[doubted, 1] == sample[disputed, 1] == 1.0


@pytest.mark.parametrize(("turns", "reviewers", "enough"), [(9, 1, False), (9, 2, False), (10, 1, True)])
def test_it_takes_ten_turns_however_many_grades_each_has(turns: int, reviewers: int, enough: bool) -> None:
    """A second opinion of the same answers tells nothing of others; turns and grades are both said."""
    base = graded(lambda *_: None)
    places = [(talk.id, turn.index) for talk in base.conversations for turn in talk.turns][:turns]
    given = [
        verdict(talk, turn, 5 if turn == 1 else 2, reviewer="AB"[who])
        for talk, turn in places
        for who in range(reviewers)
    ]
    results = with_verdicts(base, *given)
    figures = summed(results)
    found = review(results)
    page = Path("report.html")
    outcome = ReviewOutcome(results, figures, decide(figures, None), "en", page, found, None)
    text = terminal(review_report(outcome))

    assert found
    assert (found.turns, found.grades) == (turns, turns * reviewers)
    assert f"{turns} answers, {turns * reviewers} human grades" in text
    assert (f"too few to tell ({turns} answers" in text) != enough


@pytest.mark.parametrize(("references", "written"), [((), None), (("a",), "a"), (("a", "b"), ["a", "b"])])
def test_what_calibrate_reads_has_every_reference(references: tuple[str, ...], written: object) -> None:
    """One as a text, several as a list; the dialogue before the turn stands in its history."""
    base = graded(lambda _conversation, turn: 4 if turn == 2 else None)
    first, *others = base.conversations
    case = first.case.model_copy(update={"references": (references,) * 3})
    talks = (first.model_copy(update={"case": case}), *others)
    row, *_rows = map(json.loads, as_lines(base.model_copy(update={"conversations": talks})).splitlines())

    assert (row["id"], row["reference"], row["labels"]) == (f"{first.id}/2", written, {"human": [4]})
    assert [line["content"] for line in row["history"]] == [first.turns[0].user, first.turns[0].answer.text]


def test_what_calibrate_reads_says_of_a_case_what_its_judges_are_told() -> None:
    """Whether it can be answered, what the customer wants, when a person takes over; else nothing of it."""
    base = graded(lambda *_: 4)
    first, second, *_others = base.conversations
    facts = {"answerable": False, "goal": "解約する", "handover": "required"}
    silence = {"answerable": None, "goal": None, "handover": "optional"}
    talks = tuple(
        talk.model_copy(update={"case": talk.case.model_copy(update=said)})
        for talk, said in ((first, facts), (second, silence))
    )
    lines = as_lines(base.model_copy(update={"conversations": talks})).splitlines()
    rows = {row["id"]: {key: row[key] for key in facts if key in row} for row in map(json.loads, lines)}

    assert rows[f"{first.id}/1"] == facts
    assert rows[f"{second.id}/1"] == {}


def test_review_verdicts_and_ungraded_turns_have_no_say() -> None:
    """Only blind grades of turns that the judge has graded."""
    base = graded(lambda *_: None)
    conversation = base.conversations[0].id
    ungraded = base.model_copy(update={"scores": ()})

    assert review(base) is None
    assert review(with_verdicts(base, verdict(conversation, 1, 1, source="review"))) is None
    assert review(with_verdicts(ungraded, verdict(conversation, 1, 1))) is None
