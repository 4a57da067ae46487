"""Red turns as things to mend: grouping, ranking, and what mending would bring."""

from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.core import types
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
from simulator.results import red_answers
from simulator.results.causes import Cause, RootCause, cause_name
from simulator.results.figures import Summary
from simulator.results.recommendations import (
    Gains,
    Improvements,
    PlaceKind,
    as_json,
    improvements,
    improvements_of,
    who,
)
from tests.properties import examples
from tests.sample_runs import changed, rehearsed, summed
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
        known = Case(id=f"case-{number}", question=f"解約金はいくらですか{number}", language="ja", **case)
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


def blamed(summary: Summary, cause: Cause = "ignored", **known: Any) -> list[RootCause]:
    """The same cause for every red turn."""
    return [
        RootCause(
            conversation=red.conversation,
            turn=red.turn,
            cause=cause,
            evidence="なぜなら。",
            **{"standing": "judge", **known},
        )
        for red in summary.red.answers
    ]


def found(
    grades: Sequence[Sequence[int]], causes: Sequence[dict[str, Any]], most: int | None = None, **case: Any
) -> Improvements:
    """What there is to mend when the red turns, gravest first, have these causes."""
    results, summary = run_of(grades, **case)
    told = [
        RootCause(
            conversation=red.conversation,
            turn=red.turn,
            evidence="なぜなら。",
            **{"standing": "judge", **cause},
        )
        for red, cause in zip(summary.red.answers, causes, strict=True)
    ]
    return improvements(results, summary, told, most=most)


def test_turns_of_one_cause_and_article_are_one_fix() -> None:
    """Pieces of an article are the article; its title is in the sentence."""
    causes = [{"cause": "retrieval", "articles": (piece,)} for piece in ("ja/17-fee", "ja/17-fee#2")]
    (fix,) = found([[2], [2], [5]], causes, passages=("ja/17-fee",)).fixes

    assert (fix.rank, fix.key) == (1, "retrieval/article:ja/17-fee")
    assert len(fix.turns) == len(fix.cases) == 2
    assert fix.personas == ("angry",)
    assert "「光の解約金」の記事（ja/17-fee）が検索で見つかるように" in said(fix.what, "ja")
    assert [example.case for example in fix.examples] == ["case-0", "case-1"]


def test_rows_of_a_table_stay_apart() -> None:
    """`faq#1` and `faq#2` are two articles: there is none that is called `faq`."""
    causes = [{"cause": "retrieval", "articles": (f"faq#{n}",)} for n in (1, 2)]

    assert len(found([[2], [2]], causes).fixes) == 2


def test_inventions_are_of_the_prompt() -> None:
    """One line of it, whichever articles the turns needed."""
    (fix,) = found([[2], [2]], [{"cause": "invented", "articles": (f"a{n}",)} for n in (1, 2)]).fixes

    assert fix.key == "invented/prompt"
    assert "プロンプトに「記事にないことは答えない」を足す" in said(fix.what, "ja")


def test_a_customer_who_should_be_passed_on_needs_a_line_of_its_own() -> None:
    """The prompt is told to hand over, not to say that it does not know."""
    declines = found([[2]], [{"cause": "should_refuse", "articles": ("a",)}], handover="required").fixes
    keeps = found([[2]], [{"cause": "no_handover", "articles": ("a",)}]).fixes

    assert ["担当者に引き継ぐ" in said(fix.what, "ja") for fix in (*declines, *keeps)] == [True, True]
    assert {said(fix.where, "ja") for fix in (*declines, *keeps)} == {"プロンプト"}


def test_what_brings_most_comes_first_then_what_is_gravest() -> None:
    """Two turns of a two-turn conversation weigh as much as the one turn of another."""
    causes = [
        {"cause": "knowledge", "articles": ("a",)},
        {"cause": "knowledge", "articles": ("b",)},
        {"cause": "knowledge", "articles": ("b",)},
        {"cause": "outdated", "articles": ("c",)},
    ]
    told = found([[1], [2, 2], [3], [5]], causes).fixes

    assert [fix.key[-1] for fix in told] == ["a", "b", "c"]
    assert [round(fix.gain, 4) for fix in told] == [0.2, 0.15, 0.1]


def test_fixes_beyond_the_most_are_counted_with_their_gain() -> None:
    """A large run shows the best ones; how many there are, and the score with all, stay the same."""
    causes = [{"cause": "knowledge", "articles": (name,)} for name in "abc"]
    every, best = (found([[1], [2], [3], *[[5]] * 5], causes, most) for most in (None, 1))

    assert (best.fixes, best.left_out) == (every.fixes[:1], 2)
    assert best.mended == pytest.approx(every.mended)
    assert as_json(best, best.fixes, {}, str)["left_out"] == 2


def test_a_fix_of_a_large_run_quotes_its_turns_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the summary keeps the texts of some red turns only, here of none."""
    causes = [{"cause": "knowledge", "articles": (name,)} for name in "ab"]
    small = found([[1], [2], [5]], causes).fixes
    monkeypatch.setattr(types, "MANY_ROWS", 1)
    monkeypatch.setattr(red_answers, "MAX_QUOTED", 0)
    large = found([[1], [2], [5]], causes).fixes

    assert all(example.question and example.answer and example.reason for example in small[0].examples)
    assert large == small


def test_a_fixed_turn_is_graded_like_those_that_are_not_red() -> None:
    """The mean of 4 and 5 is 4.5 of 5, whatever the cause: declining brings no more than any other fix."""
    for cause in ({"cause": "ignored", "articles": ("a",)}, {"cause": "should_refuse"}):
        made = found([[2], [4], [5]], [cause])

        assert made.goal == pytest.approx(0.9)
        assert made.fixes[0].gain == pytest.approx((0.9 - 0.4) / 3)


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
    """Red by another rule and graded 5: it counts among what a fixed turn is measured by.

    The others are five 4s and a 1; a fixed turn brings (5 * 0.8 + 1) / 6 = 0.8333, as does the run.
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
    made = improvements(results, summary, blamed(summary, "invented"))

    assert {red.conversation for red in summary.red.answers} == {"angry/case-5#1", "angry/case-6#1"}
    assert made.goal == pytest.approx((5 * 0.8 + 1) / 6)
    assert sum(fix.gain for fix in made.fixes) == pytest.approx((made.goal - 0.2) / 7)
    assert made.mended == pytest.approx(made.goal)


@pytest.mark.parametrize("green", [0, 1, 4, 5])
def test_nothing_is_foretold_from_fewer_than_five_green_turns(green: int) -> None:
    """Neither of the run nor of a fix; what is to be mended keeps its order."""
    causes: list[dict[str, Any]] = [{"cause": "tone"}, {"cause": "invented"}]
    made = found([[1], [2], *[[5]] * green], causes)
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
    """All fixes together bring what a run with those turns fixed would score, and that is the goal."""
    results, summary = run_of(grades)
    told = [
        RootCause(
            conversation=r.conversation, turn=r.turn, cause=c, standing="judge", evidence="-", articles=("a",)
        )
        for r, c in zip(summary.red.answers, causes, strict=False)
    ]
    made = improvements(results, summary, told)
    better = {(b.conversation, b.turn): made.goal for b in told}
    scores = [
        s.model_copy(update={"value": max(s.value or 0, better.get((s.conversation, s.turn), 0))})
        for s in results.scores
    ]
    mended = summed(results.model_copy(update={"scores": tuple(scores)}), ("turn",))

    if made.foretells:
        assert made.mended == pytest.approx(made.goal)
    assert made.mended == (pytest.approx(mended.scores.score) if made.foretells or not made.fixes else None)


def test_an_answer_that_never_came_names_the_failure() -> None:
    """A timeout is mended in the bot, not in an article."""
    silent = Answer(text="", error=Failure(kind="timeout", message="60 s"))
    (fix,) = improvements_of(*run_of([[1]], answer=silent)).fixes

    assert fix.key == "no_answer/bot:timeout"
    assert said(fix.what, "ja").startswith("ボットが時間内に答えるようにする")


@pytest.mark.parametrize(
    ("standings", "whole", "shown"),
    [
        (["certain", "certain"], "certain", "certain"),
        (["certain", "likely"], "likely", "certain, likely"),
        (["judge", "certain"], "judge", "certain, the judge's view"),
        (["likely", "judge"], "judge", "likely, the judge's view"),
    ],
)
def test_a_fix_is_as_sure_as_the_least_sure_of_its_turns(
    standings: list[str], whole: str, shown: str
) -> None:
    """One doubtful turn in two makes the whole a doubtful one; people read how sure each is."""
    causes = [{"cause": "ignored", "articles": ("a",), "standing": standing} for standing in standings]
    made = found([[2]] * 2, causes)

    assert made.fixes[0].standing == whole
    assert str(cause_name("ignored", *made.fixes[0].standings)) == f"Found but not used ({shown})"
    assert as_json(made, made.fixes, {}, str)["fixes"][0]["sure"] == (whole == "certain")


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_its_sentence(cause: Cause, language: Language) -> None:
    """With an article and without one, in both languages, one sentence with a full stop."""
    for articles in ((), ("ja/17-fee",)):
        results, summary = run_of([[2], [5]])
        told = improvements(results, summary, blamed(summary, cause, articles=articles))
        (fix,) = told.fixes

        assert said(fix.what, language).endswith("。" if language == "ja" else (".", ").", "”", ".”"))
        assert "{" not in "".join(said(text, language) for text in (fix.what, fix.title, fix.where))


@pytest.mark.parametrize(
    ("cause", "kind", "name"),
    [
        ("outdated", "article", "Article writer"),
        ("should_answer", "prompt", "Prompt author"),
        ("knowledge", "case", "Article writer"),
        ("retrieval", "case", "Search engineer"),
        ("unclear", "article", ""),
    ],
)
def test_whoever_does_what_the_sentence_says_is_named(cause: Cause, kind: PlaceKind, name: str) -> None:
    """Not always who owns the place; nobody where the conversations have to be read first."""
    assert said(who(cause, kind), "en") == name


def test_a_follow_up_goes_with_its_question_where_both_miss_the_article() -> None:
    """Then the article is what to mend, not the search."""
    (only,) = found([[2, 2]], [{"cause": "retrieval", "articles": ("a",)}] * 2).fixes

    assert only.article == "a"
    assert len(only.turns) == 2


def test_turns_that_nobody_looked_into_are_one_group_and_the_last() -> None:
    """Whatever they would bring: there is nothing to mend before they were read."""
    causes = [
        {"cause": "unclear", "standing": "open"},
        {"cause": "unclear", "standing": "open"},
        {"cause": "tone"},
    ]
    made = found([[1], [1], [3]], causes)

    assert [fix.key for fix in made.fixes] == ["tone/prompt", "unclear/open"]
    assert len(made.fixes[1].turns) == 2
    assert "2" in said(made.fixes[1].what, "en")


def test_rows_without_a_known_cause_are_one_group() -> None:
    """Their answers are to be read, not conversations; each row is told once."""
    results, summary = as_rows(*run_of([[2], [1], [5]]))
    made = improvements(results, summary, blamed(summary, "unclear"))
    (fix,) = made.fixes

    assert fix.key == "unclear/rows"
    assert said(fix.what).startswith("Rows without a known cause: 2. Read their answers")
    assert len(fix.cases) == 2
    (known,) = improvements(results, summary, blamed(summary, "unclear", articles=("ja/17-fee",))).fixes
    assert said(known.what, "ja", "rows").startswith("回答を読み、「光の解約金」の記事")


def test_red_rows_without_a_search_are_not_said_to_be_none() -> None:
    """Nothing can be told of what to mend; that no row is red would be wrong."""
    made = improvements_of(*as_rows(*run_of([[1]], answer=Answer(text="?"))))

    assert said(none_text(made), "en", "rows").startswith("Nothing was retrieved")


@pytest.mark.parametrize(("primary", "goal"), [("label", 1.0), ("limit.em", 1.0), ("turn", 0.8)])
def test_what_is_right_or_wrong_is_mended_whole(primary: str, goal: float) -> None:
    """Where nothing was right, a judge by rule still knows what right is; another one does not."""
    _results, summary = run_of([[1], [1]])

    assert Gains(changed(summary, primary=primary)).goal == goal


def as_rows(results: Results, summary: Summary) -> tuple[Results, Summary]:
    """The same as a single-turn data set."""
    run = results.run.model_copy(update={"settings": {**results.run.settings, "protocol": "single_turn"}})
    return results.model_copy(update={"run": run}), summary.model_copy(update={"rows": True})
