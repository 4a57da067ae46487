"""Causes of planted faults, and of every red turn whatever is known of it."""

import asyncio
from functools import cache
from typing import get_args

import pytest

from benchmarks.blame import Judged, accuracy, judged, matrix
from benchmarks.blame_plants import grounds, plants
from simulator.core.settings import Settings
from simulator.core.types import GradingContext, Language, Passage, Score
from simulator.diagnosis.evidence import Cause, RedTurnEvidence
from simulator.diagnosis.root_cause import articles_of, root_causes, stored_checks
from simulator.stats.red import LAPSES
from tests.reviewed_runs import reviewed_run, summary_of
from tests.sample_runs import hostile, rehearsed
from tests.texts import said


@cache
def planted(*, asks: bool) -> list[Judged]:
    """Four plants of every cause and language, with the causes that are found."""
    with grounds() as both:
        return [
            each
            for ground in both
            for each in asyncio.run(judged(plants(ground, 4), ground.deleted, asks=asks))
        ]


def test_planted_faults_are_found() -> None:
    """At least 85 % are named, and every cause at least once."""
    found = planted(asks=True)
    right = [each for each in found if each.plant.cause == each.root_cause.cause]

    assert len(right) / len(found) >= 0.85
    assert {each.plant.cause for each in right} == {*get_args(Cause)} - {"unclear", "forbidden", *LAPSES}
    assert "accuracy" in accuracy(found)
    assert matrix(found).count("\n") >= 11


@pytest.mark.parametrize("language", ["ja", "en"])
def test_every_red_turn_has_a_cause(language: Language) -> None:
    """One blame for each red turn, in the same order, with evidence."""
    results = rehearsed(language)
    summary = summary_of(results)
    found = root_causes(results, summary)

    assert [(b.conversation, b.turn) for b in found] == [(r.conversation, r.turn) for r in summary.reddest]
    evidence = [said(blame.evidence, language) for blame in found]
    assert all(text.strip() and "{" not in text for text in evidence)


def test_hostile_texts_have_causes_too() -> None:
    """Whatever bots and customers say, a cause is found and nothing breaks."""
    text = "]]>\0<script>alert(1)</script>$evidence{{x}}\u202e『"
    results = hostile(text)
    found = root_causes(results, summary_of(results), articles=(Passage(id=text, text=text),))

    assert {blame.cause for blame in found} <= {*get_args(Cause)}
    assert len(found) == len(summary_of(results).reddest)


@pytest.mark.parametrize("asks", [True, False])
def test_nothing_that_rests_on_words_is_certain(asks: bool) -> None:
    """By what the case says, by ids and by details; of the search only when the bot was asked again."""
    found = [each for each in planted(asks=asks) if each.root_cause.sure]
    by_rule = {"no_answer", "should_refuse", "should_answer", "outdated", "ignored", "invented"}

    assert {each.root_cause.cause for each in found} <= by_rule | {"knowledge", "retrieval", "spelling"}
    assert asks == bool({"retrieval", "spelling"} & {each.root_cause.cause for each in found})
    assert all(each.root_cause.cause == each.plant.cause for each in found)


def test_what_words_cannot_tell_is_unclear() -> None:
    """An answer that may have to be worked out blames neither the knowledge nor the search."""
    results = reviewed_run(
        question="解約金はいくらですか", passages=(), answerable=True, handover="optional",
        references=(("24か月以内の解約には、解約金4,800円がかかります。",),),
    )  # fmt: skip
    split = Passage(id="ja/32", text="# 解約金の分割\n\n解約金は、月2,400円ずつ2回に分けてお支払いです。")
    found = root_causes(results, summary_of(results), articles=(split,))
    unclear = [blame for blame in found if blame.cause == "unclear"]

    assert "knowledge" not in {blame.cause for blame in found}
    assert unclear
    assert all("そこから導く答えかもしれません" in said(blame.evidence, "ja") for blame in unclear)


def test_what_a_model_found_unsupported_is_invented() -> None:
    """What contradicts the passages is named before what is not in them."""
    results = rehearsed("ja")
    turn = results.conversations[0].turns[0]
    rows = [
        {"claim": claim, "verdict": verdict}
        for claim, verdict in (("甲", "not_found"), ("乙", "supported"), ("丙", "contradicted"))
    ]
    score = Score(judge="claims", conversation="a/b#1", turn=1, state="scored", detail={"claims": rows})
    context = GradingContext(
        conversation="a/b#1", case=results.conversations[0].case, persona="angry", turn=turn
    )
    red = summary_of(results).reddest[0]
    look = RedTurnEvidence(red, context, {"claims": score}, None, None, None)

    assert [(each.kind, each.text) for each in look.unsupported] == [
        ("contradicted", "丙"),
        ("unsupported", "甲"),
    ]


def test_without_the_knowledge_nothing_is_sure_about_it() -> None:
    """Missing from the knowledge and not found cannot be told apart without --knowledge."""
    results = reviewed_run(passages=("ja/99-nowhere",))
    found = [b for b in root_causes(results, summary_of(results)) if b.cause in {"knowledge", "retrieval"}]

    assert not any(blame.sure for blame in found)
    assert all("--knowledge" in said(blame.evidence, "ja") for blame in found)


def test_the_demo_bot_brings_its_articles() -> None:
    """The bundled bot's articles are known; another bot's only with --knowledge."""
    assert any(passage.id == "ja/01-fibre-plans" for passage in articles_of(Settings()) or ())
    assert articles_of(Settings(adapter="http")) is None
    assert articles_of(Settings(set={"knowledge": "nowhere/at/all"})) is None


def test_broken_notes_are_passed_over() -> None:
    """A note that another version wrote never keeps a run from being shown."""
    broken = {"asked_again": [{"conversation": "a"}, 3, {"conversation": "a", "turn": 1, "odd": 1}]}

    assert stored_checks(rehearsed().model_copy(update={"notes": broken})) == {}
    assert stored_checks(rehearsed().model_copy(update={"notes": {"asked_again": "x"}})) == {}
