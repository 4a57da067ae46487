"""Causes by ids and marks: what they prove, what they make likely, and what they leave to a model."""

from typing import Any, get_args

import pytest

from simulator.core.settings import Settings
from simulator.core.types import Answer, Case, Conversation, Failure, Language, Passage, Results, Score, Turn
from simulator.grading.cause import JudgedCause
from simulator.results.articles import Shelf
from simulator.results.causes import (
    NOTE,
    Cause,
    RootCause,
    cause_sentence,
    red_answers,
    root_causes,
    stored_verdicts,
)
from simulator.results.knowledge import articles_of
from tests.reviewed_runs import summary_of
from tests.sample_runs import hostile, rehearsed, summed
from tests.texts import said

FEES = Passage(id="ja/fees", text="# 解約金\n\n24か月以内の解約には、解約金4,800円がかかります。")
HOURS = Passage(id="ja/hours", text="# 営業時間\n\n受付は9時から18時までです。")
SHELF = Shelf((FEES, HOURS))
JUDGED = JudgedCause(
    cause="invented", reason="金額がどこにもありません。", article="ja/fees", words="4,800円"
)


def run_of(
    answer: str = "2,000円です。",
    passages: tuple[Passage, ...] = (FEES,),
    *,
    response: str = "answered",
    failure: Failure | None = None,
    turn: int = 1,
    passages_named: tuple[str, ...] = ("ja/fees",),
    **case: Any,
) -> Results:
    """A run of one conversation whose last turn has this answer and is red."""
    fields = {"references": (("解約金は4,800円です。",),), "passages": passages_named, **case}
    known = Case(id="fee", question="解約金はいくらですか", language="ja", **fields)
    held = [
        Turn(
            index=n,
            user=known.question if n == 1 else f"では{n}件目は",
            answer=Answer(text="はい。", passages=(FEES,)),
        )
        for n in range(1, turn)
    ]
    last = Answer(text=answer, passages=passages, shows_passages=True, error=failure)
    held.append(Turn(index=turn, user=known.question if turn == 1 else "では学生は", answer=last))
    conversation = Conversation(
        id="calm/fee#1", case=known, persona="calm", turns=tuple(held), ended="gave_up"
    )
    score = Score(
        judge="turn", conversation=conversation.id, turn=turn, state="scored", value=0.4, raw=2,
        reason="誤り", rubric="r", response=response or None,
    )  # fmt: skip
    base = rehearsed("ja")
    run = base.run.model_copy(update={"offline": False})
    update = {"run": run, "planned": 1, "conversations": (conversation,), "scores": (score,)}
    return base.model_copy(update=update)


def cause_of(results: Results, shelf: Shelf = SHELF, judged: JudgedCause | None = None) -> RootCause:
    """The cause of its red turn, with what a model said of it."""
    summary = summed(results, ("turn",))
    [answer] = red_answers(results, summary, shelf)
    [cause] = root_causes(results, summary, shelf, {answer.fault: judged} if judged else {}).values()
    return cause


def short(cause: RootCause) -> tuple[str, str]:
    """Its name, and how sure it is."""
    return cause.cause, cause.standing


def test_an_article_that_the_case_names_and_that_did_not_come_is_certain() -> None:
    """By its id; the sentence names it by title and id."""
    cause = cause_of(run_of(passages=(HOURS,)))

    assert short(cause) == ("retrieval", "certain")
    assert "「解約金」" in said(cause.evidence, "ja") or '"解約金"' in said(cause.evidence, "ja")
    assert "ja/fees" in said(cause.evidence, "ja")
    assert cause.article == "ja/fees"


@pytest.mark.parametrize(
    "passages",
    [
        (FEES,),
        (FEES.model_copy(update={"id": "ja/fees#2"}),),
        (FEES.model_copy(update={"id": "17", "source": "ja/fees.md"}),),
        (HOURS.model_copy(update={"text": f"詳しくは次のとおり。{'解約金は4,800円です。'}"}),),
    ],
    ids=["its id", "a piece", "its source", "another article with the reference word for word"],
)
def test_what_came_is_not_called_missing(passages: tuple[Passage, ...]) -> None:
    """Whatever the bot calls it, and wherever the answer stands."""
    assert short(cause_of(run_of(passages=passages))) == ("unclear", "open")


def test_an_article_that_the_bot_does_not_have_is_missing_knowledge() -> None:
    """Its ids say so: the other article that the case names is there."""
    results = run_of(passages=(), passages_named=("ja/fees", "ja/hours"))

    assert short(cause_of(results, Shelf((HOURS,)))) == ("knowledge", "certain")


def test_ids_of_another_kind_prove_nothing() -> None:
    """A bot that calls its passages otherwise than the cases do has not missed them for that."""
    other = HOURS.model_copy(update={"id": "kb-4711"})

    for shelf in (Shelf(()), Shelf((other,)), SHELF):
        assert cause_of(run_of(passages=(other,), references=()), shelf).standing == "open"


def test_one_of_two_articles_that_did_not_come_is_likely() -> None:
    """The other one may have been enough."""
    cause = cause_of(run_of(references=(), passages_named=("ja/fees", "ja/hours")))

    assert (*short(cause), cause.article) == ("retrieval", "likely", "ja/hours")


@pytest.mark.parametrize(("response", "standing"), [("answered", "certain"), ("partly", "likely")])
def test_an_unanswerable_question_that_was_answered_is_certain(response: str, standing: str) -> None:
    """By the case's mark, and by what the judge read the answer as; half an answer may be half a refusal."""
    cause = cause_of(run_of(response=response, answerable=False, references=(), passages=(HOURS,)))

    assert short(cause) == ("should_refuse", standing)
    assert "2,000円" in said(cause.evidence, "ja")


@pytest.mark.parametrize("response", ["declined", "asked_back", "handed_over", ""])
def test_an_unanswerable_question_that_was_not_answered_proves_nothing(response: str) -> None:
    """Nor where no judge read the answer."""
    assert cause_of(run_of(response=response, answerable=False, references=())).standing == "open"


def test_a_stand_in_that_reads_phrases_proves_nothing() -> None:
    """What an offline judge takes for an answer is likely at most, and its refusals blame nobody."""
    for marked, response, standing in ((False, "answered", "likely"), (True, "declined", "open")):
        results = run_of(response=response, answerable=marked, references=())
        scores = [score.model_copy(update={"rubric": "lexical-turn"}) for score in results.scores]
        assert cause_of(results.model_copy(update={"scores": tuple(scores)})).standing == standing


def test_marks_are_about_the_first_question() -> None:
    """What is asked later may well be answered, and by other articles."""
    assert cause_of(run_of(turn=2, answerable=False, references=())).standing == "open"
    assert cause_of(run_of(turn=2, passages=(HOURS,))).standing == "open"


def test_an_answerable_question_that_was_declined_is_likely() -> None:
    """A mark and a reading."""
    cause = cause_of(run_of("分かりかねます。", response="declined", answerable=True))

    assert short(cause) == ("should_answer", "likely")


@pytest.mark.parametrize("passage", [HOURS, Passage(id="ja/fees#2", text="ほかの部分です。")])
def test_an_article_with_the_reference_word_for_word_is_likely(passage: Passage) -> None:
    """The case names none; the bot has it and did not retrieve it, or only another part of it."""
    references = (("24か月以内の解約には、解約金4,800円がかかります。",),)
    cause = cause_of(run_of(passages=(passage,), references=references, passages_named=()))

    assert (*short(cause), cause.article) == ("retrieval", "likely", "ja/fees")
    assert cause.cut == (passage.id == "ja/fees#2")


@pytest.mark.parametrize("kind", ["timeout", "error", "empty"])
def test_no_answer_is_certain(kind: Any) -> None:
    """Whatever else is known."""
    cause = cause_of(run_of("", failure=Failure(kind=kind, message="?")), judged=JUDGED)

    assert short(cause) == ("no_answer", "certain")


def test_what_a_model_said_is_its_view() -> None:
    """With the article and its words."""
    cause = cause_of(run_of(), judged=JUDGED)

    assert short(cause) == ("invented", "judge")
    sentence = said(cause_sentence(cause), "ja")
    assert "採点役の見立て" in sentence
    assert "金額がどこにもありません。" in sentence
    assert "ja/fees" in sentence
    assert "4,800円" in sentence


def test_what_ids_prove_stands_whatever_a_model_says() -> None:
    """But that other wording kept the article away is what only a model can see."""
    results = run_of(passages=(HOURS,))
    wording = JUDGED.model_copy(update={"cause": "spelling"})
    same = JUDGED.model_copy(update={"cause": "retrieval"})

    assert short(cause_of(results, judged=JUDGED)) == ("retrieval", "certain")
    assert short(cause_of(results, judged=wording)) == ("spelling", "judge")
    found = cause_of(results, judged=same)
    assert short(found) == ("retrieval", "certain")
    assert "金額がどこにもありません。" in said(found.evidence, "ja")


def test_a_model_goes_before_what_is_likely() -> None:
    """And where both say the same it stays likely."""
    results = run_of("分かりかねます。", response="declined", answerable=True)

    assert short(cause_of(results, judged=JUDGED)) == ("invented", "judge")
    agreed = JUDGED.model_copy(update={"cause": "should_answer"})
    assert short(cause_of(results, judged=agreed)) == ("should_answer", "likely")


@pytest.mark.parametrize(
    ("verdict", "says"),
    [(None, "no model was asked"), (JudgedCause(cause=None, reason="HTTP 500"), "did not say")],
)
def test_where_nobody_looked_no_cause_is_claimed(verdict: JudgedCause | None, says: str) -> None:
    """And the sentence says why."""
    cause = cause_of(run_of(), judged=verdict)
    sentence = said(cause_sentence(cause), "en")

    assert short(cause) == ("unclear", "open")
    assert says in sentence
    assert "Unclear" not in sentence


@pytest.mark.parametrize("language", ["ja", "en"])
def test_every_red_turn_has_a_cause(language: Language) -> None:
    """One for each, in the same order, with a sentence."""
    results = rehearsed(language)
    summary = summary_of(results)
    causes = root_causes(results, summary)

    assert [*causes] == [red.key for red in summary.red.answers]
    evidence = [said(cause_sentence(cause), language) for cause in causes.values()]
    assert all(text.strip() and "{" not in text for text in evidence)


def test_hostile_texts_have_causes_too() -> None:
    """Whatever bots and customers say, nothing breaks."""
    text = "]]>\0<script>alert(1)</script>$evidence{{x}}\u202e『"
    results = hostile(text)
    causes = root_causes(results, summary_of(results), Shelf((Passage(id=text, text=text),)))

    assert {cause.cause for cause in causes.values()} <= {*get_args(Cause)}
    assert len(causes) == len(summary_of(results).red.answers)


def test_the_demo_bot_brings_its_articles() -> None:
    """The bundled bot's articles are known; another bot's only with --knowledge."""
    assert "ja/01-fibre-plans" in articles_of(Settings()).ids
    assert not articles_of(Settings(adapter="http"))
    assert not articles_of(Settings(set={"knowledge": "nowhere/at/all"}))


def test_articles_are_masked_where_the_run_is(tmp_path: Any) -> None:
    """They go to the judge's model, and into sentences."""
    (tmp_path / "who.md").write_text("# 担当\n\n連絡先は taro@example.com です。", encoding="utf-8")
    settings = Settings(adapter="http", knowledge=str(tmp_path))
    plain, masked = articles_of(settings), articles_of(settings.model_copy(update={"redact": "on"}))

    assert "taro@example.com" in plain.passages[0].text
    assert "taro@example.com" not in masked.passages[0].text


def test_the_nearest_articles_are_those_with_the_words_of_the_question() -> None:
    """The needed ones first, and none that came."""
    shelf = Shelf((HOURS, FEES, Passage(id="ja/shop", text="# 店舗\n\n駅前にあります。")))

    assert [each.id for each in shelf.nearest(["解約金はいくら"], (), (), 1)] == ["ja/fees"]
    assert [each.id for each in shelf.nearest(["解約金はいくら"], ("ja/hours",), (), 1)] == ["ja/hours"]
    assert "ja/fees" not in [each.id for each in shelf.nearest(["解約金はいくら"], (), (FEES,), 4)]


def test_broken_notes_are_passed_over() -> None:
    """A note that cannot be read never keeps a run from being shown."""
    noted = {f"{NOTE}a": {"cause": "nonsense"}, f"{NOTE}b": 3, f"{NOTE}c": {"cause": "tone", "reason": "r"}}

    assert stored_verdicts(rehearsed().model_copy(update={"notes": noted})).keys() == {"c"}
