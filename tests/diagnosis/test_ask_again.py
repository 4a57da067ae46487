"""The bot is asked again in the article's own words; what came is noted in the run, and paid for once."""

import asyncio
from pathlib import Path

from simulator.cli.app import main
from simulator.core.settings import stored_settings
from simulator.core.types import Answer, Bot, Passage, Query, Results
from simulator.diagnosis.asking import ask_again, check_again, missed_searches
from simulator.diagnosis.evidence import RetrievalCheck
from simulator.diagnosis.root_cause import articles_of, as_note, root_causes, stored_checks
from simulator.stats.summary import figures_of
from simulator.storage.run_file import find_run, read_run
from tests.reviewed_runs import reviewed_run, summary_of
from tests.texts import said

ROUTER = Passage(id="kb/router", text="# ルーターの設定\n\nルーターは、電源を入れると約3分で使えます。")
OTHER = Passage(id="kb/other", text="# 請求\n\n請求書は毎月10日に発行します。")


def missed(brought: Passage = OTHER) -> Results:
    """The rehearsed run, in which every question was about るーたー and brought another article."""
    results = reviewed_run(
        question="るーたーはどうですか", passages=("kb/router",), answerable=True, handover="optional",
        references=(("ルーターは、電源を入れると約3分で使えます。",),),
    )  # fmt: skip
    conversations = []
    for conversation in results.conversations:
        answers = (turn.answer.model_copy(update={"passages": (brought,)}) for turn in conversation.turns)
        turns = (
            turn.model_copy(update={"user": conversation.case.question, "answer": answer})
            for turn, answer in zip(conversation.turns, answers, strict=True)
        )
        conversations.append(conversation.model_copy(update={"turns": tuple(turns)}))
    return results.model_copy(update={"conversations": tuple(conversations)})


def finds(query: Query) -> Answer:
    """Finds the router's article by its katakana only."""
    return Answer(text="はい。", passages=(ROUTER,) if "ルーター" in query.text else (OTHER,))


def blind(query: Query) -> Answer:
    """Does not show what it retrieved."""
    return Answer(text=query.text, shows_passages=False)


def asked(results: Results, bot: Bot = finds) -> dict[tuple[str, int], RetrievalCheck]:
    """What came when the bot was asked again about the searches that missed."""
    return asyncio.run(check_again(bot, missed_searches(results, summary_of(results), (ROUTER, OTHER)), 5))


def test_a_spelling_is_told_from_a_broken_search() -> None:
    """Found in the article's own words: a spelling, with its pair. Not even then: the search, by ids."""
    results = missed()
    summary, articles = summary_of(results), (ROUTER, OTHER)
    again = asked(results)
    never = {at: found.model_copy(update={"hit": False, "pair": None}) for at, found in again.items()}
    named = [
        b for b in root_causes(results, summary, articles=articles, found=again) if b.cause == "spelling"
    ]

    assert named
    assert {blame.pair for blame in named} == {("るーたー", "ルーター")}
    assert all(blame.sure and "「ルーター」なら見つかります" in said(blame.evidence, "ja") for blame in named)
    gone = {at: found.model_copy(update={"ids": ("elsewhere/1",)}) for at, found in again.items()}
    assert not any(b.sure for b in root_causes(results, summary, articles=articles, found=gone) if b.pair)
    assert "spelling" not in {b.cause for b in root_causes(results, summary, articles=articles, found=never)}
    for ids, sure in ((("kb/other",), True), (("elsewhere/1",), False)):
        told = {at: found.model_copy(update={"ids": ids}) for at, found in never.items()}
        broken = root_causes(results, summary, articles=articles, found=told)
        assert {b.sure for b in broken if b.cause == "retrieval"} == {sure}


def test_an_article_cut_in_the_wrong_place_is_only_likely() -> None:
    """That the piece lacks the answer rests on words, whatever came when the bot was asked again."""
    never = {
        at: found.model_copy(update={"hit": False, "ids": ("kb/other",), "pair": None})
        for at, found in asked(missed()).items()
    }
    results = missed(ROUTER.model_copy(update={"text": "# ルーターの設定\n\nはじめに。"}))
    causes = root_causes(results, summary_of(results), articles=(ROUTER, OTHER), found=never)
    cut = [each for each in causes if "cut in the wrong places" in said(each.evidence, "en")]

    assert cut
    assert not any(each.sure for each in cut)


def test_a_bot_that_shows_nothing_leaves_it_open() -> None:
    """Nobody knows what it found, so a guess stays a guess."""
    assert {each.hit for each in asked(missed(), blind).values()} == {None}


def test_what_was_found_can_be_noted() -> None:
    """Noted and read back, it is the same."""
    results = missed()
    found = asked(results)
    noted = results.model_copy(update={"notes": {"asked_again": as_note(found)}})

    assert stored_checks(noted) == found


def test_a_run_is_asked_once(tmp_path: Path) -> None:
    """The demo bot is asked about what it missed; a second time there is nothing left to ask."""
    arguments = ["--offline", "--persona", "calm", "--turns", "1", "--limit", "24", "--language", "ja"]
    arguments += ["--runs", str(tmp_path)]
    main([*arguments, "--judges", "turn", "--json"])
    path = find_run("latest", tmp_path)
    settings = stored_settings(read_run(path).run.settings)
    first = asyncio.run(ask_again(path, settings))
    results = read_run(path)
    summary = figures_of(results, settings)
    articles = articles_of(settings)
    causes = root_causes(results, summary, articles=articles, found=stored_checks(results))

    assert first
    assert stored_checks(results) == first == asyncio.run(ask_again(path, settings, limit=0))
    assert len(causes) == len(summary.reddest)
    assert any(blame.sure for blame in causes if blame.cause in {"spelling", "retrieval"})
    assert not any(blame.sure for blame in causes if blame.cause in {"misunderstood", "tone", "unclear"})
