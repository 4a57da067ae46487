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
    Standing,
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
    line: str = "では学生は",
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
    held.append(Turn(index=turn, user=known.question if turn == 1 else line, answer=last))
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


BOTH = ("ja/fees", "ja/hours")
WORD_FOR_WORD = (("24か月以内の解約には、解約金4,800円がかかります。",),)
OTHER_PART = Passage(id="ja/fees#2", text="ほかの部分です。")


@pytest.mark.parametrize(
    ("run", "shelf", "expected"),
    [
        # No article came that the case names; one of two may have been enough.
        ({"passages": (HOURS,)}, SHELF, ("retrieval", "certain", "ja/fees")),
        ({"references": (), "passages_named": BOTH}, SHELF, ("retrieval", "likely", "ja/hours")),
        # A shelf of which nothing ever came: its articles are called otherwise, so none of them is missing.
        (
            {"passages": (HOURS,), "references": (), "passages_named": BOTH},
            Shelf((HOURS.model_copy(update={"id": "hours"}),)),
            ("retrieval", "likely", "ja/fees"),
        ),
        # The bot has the other one alone: an id that no article has proves nothing.
        ({"passages": (), "passages_named": BOTH}, Shelf((HOURS,)), ("retrieval", "certain", "ja/hours")),
        (
            {"passages": (HOURS,), "passages_named": BOTH},
            Shelf((HOURS,)),
            ("knowledge", "likely", "ja/fees"),
        ),
        # Nobody knows the articles, and none of this name came.
        ({"references": (), "passages_named": BOTH}, Shelf(()), ("retrieval", "likely", "ja/hours")),
        # It is called almost like one that came.
        (
            {"passages": (FEES, HOURS), "passages_named": ("ja/hours", "ja/fee"), "references": ()},
            SHELF,
            ("unclear", "open", "ja/hours"),
        ),
        # Nothing is named; an article has the reference word for word, in a part that did not come.
        (
            {"passages": (HOURS,), "references": WORD_FOR_WORD, "passages_named": ()},
            SHELF,
            ("retrieval", "likely", "ja/fees"),
        ),
        # What the case marks, and what a judge read the answer as; half an answer may be half a refusal.
        ({"answerable": False, "passages": (HOURS,)}, SHELF, ("should_refuse", "certain", "ja/fees")),
        ({"answerable": False, "response": "partly"}, SHELF, ("should_refuse", "likely", "ja/fees")),
        ({"answerable": True, "response": "declined"}, SHELF, ("should_answer", "likely", "ja/fees")),
        # Who needs a person was kept; to a later line as well.
        ({"handover": "required", "response": "partly"}, SHELF, ("no_handover", "likely", "ja/fees")),
        ({"handover": "required", "turn": 2, "response": "declined"}, SHELF, ("no_handover", "likely", "")),
        ({"handover": "required", "passages": (HOURS,)}, SHELF, ("retrieval", "certain", "ja/fees")),
        # A later line that is the question again.
        (
            {"passages": (HOURS,), "turn": 2, "line": "解約金はいくらですか"},
            SHELF,
            ("retrieval", "certain", "ja/fees"),
        ),
        # Whatever else is known.
        ({"failure": Failure(kind="timeout", message="?")}, SHELF, ("no_answer", "certain", "")),
    ],
)
def test_what_ids_and_marks_say(
    run: dict[str, Any], shelf: Shelf, expected: tuple[Cause, Standing, str]
) -> None:
    """The cause, how sure it is, and the article that it is about; each by a sentence."""
    cause = cause_of(run_of(**run), shelf)

    assert (*short(cause), cause.article) == expected
    titles = {"ja/fees": "解約金", "ja/hours": "営業時間", "": ""}
    assert cause.title == (titles[cause.article] if cause.article in shelf.ids else "")
    assert "{" not in said(cause_sentence(cause), "ja")


@pytest.mark.parametrize(
    "run",
    [
        *({"passages": (FEES.model_copy(update=names),)} for names in (
            {"id": "ja/fees"}, {"id": "ja/fees#2"}, {"id": "17", "source": "ja/fees.md"},
        )),
        # Another article has the reference word for word.
        {"passages": (HOURS.model_copy(update={"text": "詳しくは次のとおり。解約金は4,800円です。"}),)},
        *({"answerable": False, "response": did} for did in ("declined", "asked_back", "handed_over", "")),
        # Marks are about the first question: what is asked later may well be answered, by other articles.
        {"turn": 2, "answerable": False, "references": ()},
        {"turn": 2, "answerable": False, "passages": (HOURS,), "line": "解約金はいくらですか"},
        {"turn": 2, "answerable": True, "response": "declined", "line": "解約金はいくらですか"},
        {"turn": 2, "passages": (HOURS,)},
        # Whoever asks back may still hand over; where nobody needs a person, there is nothing to hand over.
        *({"handover": "required", "response": did} for did in ("handed_over", "asked_back", "nothing")),
        {"handover": "forbidden"},
    ],
)  # fmt: skip
def test_what_proves_nothing(run: dict[str, Any]) -> None:
    """What came is not called missing, whatever the bot calls it; what was not answered is no fault."""
    assert short(cause_of(run_of(**run))) == ("unclear", "open")


LOOPS = {"lapses": [{"kind": "loops", "what": "it", "turn": 1}]}
UNMET = {"expectations": [{"sentence": "names the fee", "state": "unmet", "turn": 1}]}


@pytest.mark.parametrize(
    ("judge", "detail", "low", "expected"),
    [
        # A tool that was not called goes before an article that did not come, that before a lapse.
        ("tools", {}, 0.4, ("tools", "certain")),
        ("conversation", LOOPS, 0.4, ("retrieval", "certain")),
        ("conversation", LOOPS, 1.0, ("loops", "judge")),
        ("conversation", {}, 1.0, ("unclear", "judge")),
        ("expectations", UNMET, 1.0, ("expectations", "certain")),
        ("expectations", UNMET, 0.4, ("retrieval", "certain")),
        ("risk", {}, 1.0, ("forbidden", "judge")),
        ("risk", {}, 0.4, ("retrieval", "certain")),
    ],
)  # fmt: skip
def test_what_a_mark_names_by_itself(
    judge: str, detail: dict[str, Any], low: float, expected: tuple[Cause, Standing]
) -> None:
    """Alone, or beside a low grade of an answer whose article did not come."""
    results = run_of(passages=(HOURS,))
    graded = results.scores[0].model_copy(update={"value": low, "raw": 5 * low})
    share = 0.0 if judge != "conversation" or not detail else 1.0
    other = graded.model_copy(update={"judge": judge, "value": share, "raw": share, "detail": detail})

    assert short(cause_of(results.model_copy(update={"scores": (graded, other)}))) == expected


def test_a_part_that_did_not_come_is_how_an_article_is_cut() -> None:
    """By the reference, or as the model says."""
    judged = JudgedCause(cause="retrieval", reason="別の部分です。", article="ja/fees#2")
    held = cause_of(run_of(passages=(OTHER_PART,), references=WORD_FOR_WORD))

    assert (held.article, held.cut) == ("ja/fees", True)
    assert cause_of(run_of(passages=(FEES.model_copy(update={"id": "ja/fees#2"}),)), judged=judged).cut
    assert not cause_of(run_of(passages=(HOURS,))).cut


def test_ids_of_another_kind_prove_nothing() -> None:
    """A bot that calls its passages otherwise than the cases do has not missed them for that."""
    other = HOURS.model_copy(update={"id": "kb-4711"})

    for shelf in (Shelf(()), Shelf((other,)), SHELF):
        assert cause_of(run_of(passages=(other,), references=()), shelf).standing == "open"


def test_a_stand_in_that_reads_phrases_proves_nothing() -> None:
    """What an offline judge takes for an answer is likely at most, and its refusals blame nobody."""
    for marked, response, standing in ((False, "answered", "likely"), (True, "declined", "open")):
        results = run_of(response=response, answerable=marked, references=())
        scores = [score.model_copy(update={"rubric": "lexical-turn"}) for score in results.scores]
        assert cause_of(results.model_copy(update={"scores": tuple(scores)})).standing == standing


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
    [(None, "No model was asked."), (JudgedCause(cause=None, reason="HTTP 500"), "did not say")],
)
def test_where_nobody_looked_no_cause_is_claimed(verdict: JudgedCause | None, says: str) -> None:
    """And the sentence says why."""
    cause = cause_of(run_of(), judged=verdict)
    sentence = said(cause_sentence(cause), "en")

    assert short(cause) == ("unclear", "open")
    assert says in sentence
    assert sentence.startswith("Unclear: ")


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
