"""Red turns as things to mend: grouping, ranking, and what mending would bring."""

from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.core.types import (
    Answer,
    Case,
    Conversation,
    Failure,
    Language,
    Passage,
    Results,
    Score,
    Turn,
)
from simulator.report.fixes import none_text
from simulator.results.causes import Cause, RootCause
from simulator.results.figures import Summary
from simulator.results.recommendations import Improvements, as_json, improvements, improvements_of
from simulator.results.red import red_questions
from simulator.results.rows import Key
from tests.properties import examples
from tests.sample_runs import rehearsed, summed
from tests.texts import said

CAUSES: tuple[Cause, ...] = get_args(Cause)
FEE = Passage(id="ja/17-fee", text="# 光の解約金\n\n24か月以内の解約は4,800円です。", source="ja/17-fee.md")
LOST = Answer(text="わかりません。", passages=(FEE,))


def run_of(grades: Sequence[Sequence[int]], *, answer: Answer = LOST, **case: Any) -> tuple[Results, Summary]:
    """A run whose conversations have turns with these grades (1..5) and this answer, and its figures."""
    base = rehearsed("ja")
    conversations, scores = [], []
    for number, turns in enumerate(grades):
        key = f"angry/case-{number}#1"
        fields = {"question": f"解約金はいくらですか{number}", **case}
        known = Case(id=f"case-{number}", language="ja", **fields)
        held = tuple(Turn(index=i, user=known.question, answer=answer) for i, _ in enumerate(turns, 1))
        conversations.append(Conversation(id=key, case=known, persona="angry", turns=held, ended="gave_up"))
        scores += [
            Score(
                judge="turn", conversation=key, turn=i, state="scored", value=g / 5, raw=g, reason=f"低い{i}"
            )
            for i, g in enumerate(turns, 1)
        ]
    results = base.model_copy(
        update={"planned": len(conversations), "conversations": tuple(conversations), "scores": tuple(scores)}
    )
    return results, summed(results, ("turn",))


def causes_of(summary: Summary, causes: Sequence[dict[str, Any]]) -> dict[Key, RootCause]:
    """A cause for each red turn, gravest first; the last one for all that are left."""
    usual: dict[str, Any] = {
        "standing": "judge",
        "evidence": "なぜなら。",
        "article": "",
        "title": "",
        "cut": False,
    }
    return {
        red.key: RootCause(**usual | causes[min(at, len(causes) - 1)])
        for at, red in enumerate(summary.red.answers)
    }


def found(grades: Sequence[Sequence[int]], causes: Sequence[dict[str, Any]]) -> Improvements:
    """What there is to mend when the red turns, gravest first, have these causes."""
    _results, summary = run_of(grades)
    return improvements(summary, causes_of(summary, causes))


def test_a_run_without_red_answers_has_nothing_to_fix() -> None:
    """It is not said that nobody could look."""
    assert str(none_text(found([[5], [5]], []))) == "Nothing to fix: no answer needs review."


@pytest.mark.parametrize(
    ("grades", "first"),
    # Two of five and less are serious: an answer to a filler may be as grave, and shows nobody what is wrong.
    [([[2, 5, 1]], 1), ([[3, 5, 2]], 3), ([[3, 3]], 1), ([[2, 1], [1, 1]], 1), ([[5, 2, 1], [3, 1]], 2)],
)
def test_readers_see_the_first_wrong_answer_of_a_question(grades: list[list[int]], first: int) -> None:
    """Later ones follow from it, unless one is serious and the first is not; in every view."""
    results, summary = run_of(grades)
    worst = summary.red.answers[0]

    assert worst.turn == first
    assert red_questions(summary)[0][0] == worst
    assert improvements_of(results, summary).fixes[0].examples[0].red == worst


def test_what_has_no_grade_gains_nothing() -> None:
    """An answer that never came, and was not graded yet, counts for no score."""
    silent = Answer(text="", error=Failure(kind="timeout", message="late"))
    results, _summary = run_of([[2], [5]], answer=silent)
    ungraded = results.model_copy(update={"scores": results.scores[1:]})
    summary = summed(ungraded, ("turn",))
    causes = causes_of(summary, [{"cause": "no_answer", "evidence": "It was late."}])
    first, *_others = improvements(summary, causes).fixes

    assert ("angry/case-0#1", 1) in first.turns
    assert said(first.what, "en") == "Make the bot always return an answer (It was late)."
    assert first.gain == 0


@pytest.mark.parametrize(
    ("question", "id_", "cut"),
    [
        ("料" * 40, "a" * 60, False),
        ("料" * 41, "a" * 61, True),
        ("How much is it? " * 5, "a", False),
        ("How much is it? " * 6, "a", True),
    ],
)
def test_long_questions_and_ids_are_cut_in_a_sentence(question: str, id_: str, cut: bool) -> None:
    """Japanese takes twice the room."""
    results, summary = run_of([[2], [5]], question=question)
    asked = results.conversations[0].case.question
    (fix,) = improvements(
        summary, causes_of(summary, [{"cause": "retrieval", "article": id_, "title": "t"}])
    ).fixes

    assert (asked.strip() in said(fix.what)) is not cut
    assert (f"({id_})" in said(fix.what)) is (len(id_) <= 60)


def test_turns_of_one_cause_and_article_are_one_fix() -> None:
    """With the article's title in the sentence, the question, and who does it."""
    cause = {"cause": "retrieval", "article": "ja/17-fee", "title": "光の解約金"}
    (fix,) = found([[2], [2], [5]], [cause]).fixes

    assert (fix.rank, fix.key, fix.article) == (1, "retrieval/article:ja/17-fee", "ja/17-fee")
    assert len(fix.turns) == len(fix.cases) == 2
    assert fix.personas == ("angry",)
    assert said(fix.what) == (
        "Let the search find the article “光の解約金” (ja/17-fee): add the words of “解約金はいくらですか0”"
        " to its heading or text."
    )
    assert said(fix.who) == "Article writer"
    assert [example.red.case for example in fix.examples] == ["case-0", "case-1"]


def test_an_article_that_nobody_has_read_is_to_be_written() -> None:
    """One that has a title gets the answer added."""
    new, known = (
        found([[2], [5]], [{"cause": "knowledge", "article": "a", "title": title}]).fixes[0]
        for title in ("", "Fees")
    )

    assert said(new.what).startswith("Write an article that answers “解約金はいくらですか0”")
    assert new.key == known.key
    assert said(known.what).startswith("Add the answer to “解約金はいくらですか0” to the article “Fees” (a).")


@pytest.mark.parametrize(("cause", "key", "who"), [
    ({"cause": "retrieval"}, "retrieval/case:case-0", "Search engineer"),
    ({"cause": "knowledge"}, "knowledge/case:case-0", "Article writer"),
    ({"cause": "retrieval", "article": "a", "cut": True}, "retrieval/cutting", "Search engineer"),
    # One line of the prompt, whichever articles the turns needed.
    ({"cause": "invented", "article": "a"}, "invented/prompt", "Prompt author"),
    ({"cause": "no_handover", "article": "a"}, "no_handover/prompt", "Prompt author"),
    ({"cause": "no_answer"}, "no_answer/bot", "Bot engineer"),
    ({"cause": "unclear", "article": "a"}, "unclear/open", ""),
])  # fmt: skip
def test_each_cause_has_its_place_and_somebody_who_works_there(
    cause: dict[str, Any], key: str, who: str
) -> None:
    """The article where it is known; nobody where the conversations have to be read first."""
    (fix,) = found([[2], [5]], [cause]).fixes

    assert (fix.key, said(fix.who)) == (key, who)


def test_a_follow_up_that_lost_the_article_is_the_searchs() -> None:
    """The question itself finds it; where both miss it, the article is what to mend."""
    lost = {"cause": "retrieval", "article": "a"}
    (follow_up,) = found([[5, 2]], [lost]).fixes
    (only,) = found([[2, 2]], [lost]).fixes

    assert follow_up.key == "retrieval/dialogue"
    assert (only.article, len(only.turns)) == ("a", 2)


def test_what_brings_most_comes_first_then_what_is_gravest() -> None:
    """Two turns of a conversation weigh as much as the one turn of another; what is not known comes last."""
    causes = [
        {"cause": "unclear"},
        {"cause": "knowledge", "article": "a"},
        {"cause": "knowledge", "article": "b"},
        {"cause": "knowledge", "article": "b"},
        {"cause": "outdated", "article": "c"},
    ]
    fixes = found([[1], [1], [2, 2], [3], [5]], causes).fixes

    assert [fix.key.rpartition(":")[2] for fix in fixes] == ["a", "b", "c", "unclear/open"]
    assert [round(fix.gain, 4) for fix in fixes] == [0.16, 0.12, 0.08, 0.16]


def test_all_fixed_is_what_each_fixed_turn_brings() -> None:
    """Turns weigh as in the score: a conversation of one turn as much as one of four.

    Not red are a 5 (weight 1/3), three 4s (1/12 each) and four 4s (1/12 each); red is a 2 (1/12). So a fixed
    turn brings (1/3 * 1 + 7/12 * 0.8) / (11/12) = 0.8727: the run scores 0.8333 now, and 0.8727 then.
    An unweighted mean of the turns would be 0.825: less than the run has already.
    """
    made = found([[5], [4, 4, 4, 2], [4, 4, 4, 4]], [{"cause": "should_refuse"}])

    assert made.score == pytest.approx((1 + (3 * 0.8 + 0.4) / 4 + 0.8) / 3)
    assert made.goal == pytest.approx((1 / 3 + 7 / 12 * 0.8) / (11 / 12))
    assert made.fixes[0].gain == pytest.approx((made.goal - 0.4) / 12)
    assert made.mended == pytest.approx(made.goal)


def test_a_red_turn_with_a_good_grade_brings_nothing_and_lowers_nothing() -> None:
    """Red by another rule and graded 5: that fixing it would lower it is nothing to count.

    The others are five 4s and a 1; a fixed turn brings 0.8, and the run then has (6 * 0.8 + 1) / 7.
    """
    results, _ = run_of([[4]] * 5 + [[5], [1]])
    untrue = Score(
        judge="groundedness",
        conversation="angry/case-5#1",
        turn=1,
        state="scored",
        value=0.2,
        raw=1,
        reason="-",
    )
    results = results.model_copy(update={"scores": (*results.scores, untrue)})
    summary = summed(results, ("turn", "groundedness"))
    made = improvements(summary, causes_of(summary, [{"cause": "invented"}]))

    assert {red.conversation for red in summary.red.answers} == {"angry/case-5#1", "angry/case-6#1"}
    assert made.goal == pytest.approx(0.8)
    assert sum(fix.gain for fix in made.fixes) == pytest.approx(0.6 / 7)
    assert made.mended == pytest.approx((6 * 0.8 + 1) / 7)


@pytest.mark.parametrize("green", [0, 4, 5])
def test_nothing_is_foretold_from_fewer_than_five_green_turns(green: int) -> None:
    """Neither of the run nor of a fix; what is to be mended keeps its order."""
    made = found([[1], [2], *[[5]] * green], [{"cause": "tone"}, {"cause": "invented"}])
    told = as_json(made, made.fixes, {}, str)

    assert [(fix["rank"], fix["cause"]) for fix in told["fixes"]] == [(1, "tone"), (2, "invented")]
    figures = (made.mended, told["mended"], told["goal"], *(fix["gain"] for fix in told["fixes"]))
    assert all((figure is None) == (green < 5) for figure in figures)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), min_size=1, max_size=6),
    st.lists(st.sampled_from(CAUSES), min_size=24, max_size=24),
)
def test_gains_add_up(grades: list[list[int]], causes: list[Cause]) -> None:
    """All fixes together bring what a run with those turns fixed would score."""
    results, summary = run_of(grades)
    made = improvements(summary, causes_of(summary, [{"cause": c, "article": "a"} for c in causes]))
    better = dict.fromkeys(summary.red.by_turn, made.goal)
    scores = [
        s.model_copy(update={"value": max(s.value or 0, better.get((s.conversation, s.turn), 0))})
        for s in results.scores
    ]
    mended = summed(results.model_copy(update={"scores": tuple(scores)}), ("turn",))

    assert made.mended == (pytest.approx(mended.scores.score) if made.foretells or not made.fixes else None)


@pytest.mark.parametrize(("standings", "least"), [
    (["certain", "certain"], "certain"), (["likely", "certain"], "likely"), (["judge", "certain"], "judge"),
])  # fmt: skip
def test_a_fix_is_as_sure_as_the_least_sure_of_its_turns(standings: list[str], least: str) -> None:
    """One doubtful turn in two makes the whole a doubtful one."""
    made = found([[2]] * 2, [{"cause": "ignored", "standing": standing} for standing in standings])

    assert made.fixes[0].standing == least
    assert as_json(made, made.fixes, {}, str)["fixes"][0]["sure"] == (least == "certain")


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_its_sentence(cause: Cause, language: Language) -> None:
    """With an article and without one, in both languages, one sentence with a full stop."""
    for article in ("", "ja/17-fee"):
        (fix,) = found([[2], [5]], [{"cause": cause, "article": article}]).fixes

        assert said(fix.what, language).endswith("。" if language == "ja" else (".", ").", "”", ".”"))
        assert "{" not in said(fix.what, language)


def test_red_rows_without_a_search_are_not_said_to_be_none() -> None:
    """Nothing can be told of what to mend; that no row is red would be wrong."""
    results, summary = run_of([[1]], answer=Answer(text="?"))
    run = results.run.model_copy(update={"settings": {**results.run.settings, "protocol": "single_turn"}})
    made = improvements_of(results.model_copy(update={"run": run}), summary.model_copy(update={"rows": True}))

    assert said(none_text(made), "en", "rows").startswith("Nothing was retrieved")
