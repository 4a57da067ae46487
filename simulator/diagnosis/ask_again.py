"""Asks the bot again in the article's own words, to tell another spelling from a failing search."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from simulator.core.roles import endpoints
from simulator.core.settings import Settings
from simulator.core.types import Answer, Bot, Query, Results
from simulator.diagnosis.evidence import RedTurnEvidence, RetrievalCheck, is_of
from simulator.diagnosis.root_cause import NOTE, Articles, articles_of, as_note, stored_checks, turn_evidence
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.runner.conversation import ask
from simulator.stats.figures import Summary
from simulator.stats.summary import figures_of
from simulator.storage.run_file import add_note, read_run
from simulator.text.spelling import spelling_pairs

# Likely pairs of words that are tried for an article, after one question in its own words.
MOST_PAIRS = 3
# As many characters of an article are asked.
BEGINNING = 200

At = tuple[str, int]


@dataclass(frozen=True)
class RetriedSearches:
    """Turns of one case that missed the same articles; `look` is the first of them."""

    look: RedTurnEvidence
    turns: tuple[At, ...]


async def ask_again(path: Path, settings: Settings, *, limit: int = 20) -> Mapping[At, RetrievalCheck]:
    """Asks the bot of a run about at most `limit` missed articles, and stores the checks in the run.

    `settings` are the run's own. Earlier checks are not repeated; they are returned with the new ones.
    """
    results = read_run(path)
    summary = figures_of(results, settings)
    known = stored_checks(results)
    unasked = [
        each
        for each in missed_searches(results, summary, articles_of(settings))
        if not set(each.turns) <= set(known)
    ]
    if not unasked:
        return known
    context = RunContext(
        settings, endpoints(settings, strict=False), results.personas, Ledger.of(settings, results)
    )
    bot: Bot | None = None
    try:
        bot = await context.bot(results.conversations)
        known = known | await check_again(bot, unasked[:limit], settings.timeout)
    finally:
        await context.close(bot)
    add_note(path, NOTE, json.dumps(as_note(known), ensure_ascii=False))
    return known


async def check_again(
    bot: Bot, unasked: Iterable[RetriedSearches], timeout: float
) -> dict[At, RetrievalCheck]:
    """The checks of these articles, by conversation and turn; the bot is asked one question at a time."""
    known: dict[At, RetrievalCheck] = {}
    for each in unasked:
        known |= dict.fromkeys(each.turns, await _ask(bot, each.look, timeout))
    return known


def missed_searches(
    results: Results, summary: Summary, articles: Articles | None
) -> tuple[RetriedSearches, ...]:
    """The red turns whose needed article is in the knowledge but was not retrieved, by case and article."""
    groups: dict[tuple[str, ...], list[RedTurnEvidence]] = {}
    place = {(red.conversation, red.turn): at for at, red in enumerate(summary.reddest)}
    looks = turn_evidence(results, summary, articles=articles)
    for look in sorted(looks, key=lambda look: place[look.red.conversation, look.red.turn]):
        if look.need.place != "not_retrieved" or look.need.cut:
            continue
        if not look.customer_fault and not look.red.failure:
            groups.setdefault((look.case.id, *look.need.articles), []).append(look)
    return tuple(
        RetriedSearches(first[0], tuple((each.red.conversation, each.red.turn) for each in first))
        for first in groups.values()
    )


def own_words(texts: Iterable[str]) -> str:
    """A question in an article's own words: how it begins, which is its title and what it is about."""
    return " ".join(" ".join(texts).split())[:BEGINNING]


async def _ask(bot: Bot, look: RedTurnEvidence, timeout: float) -> RetrievalCheck:
    """What the bot retrieves in the article's own words, and the pair of words that alone is enough."""
    texts = look.corpus.texts(look.need.articles) if look.corpus else ()
    question = own_words(texts)
    answer = await ask(bot, _query(look, question, 0), timeout)
    hit = _hit(answer, look)
    check = RetrievalCheck(words=question, hit=hit, ids=tuple(passage.id for passage in answer.passages))
    if not hit:
        return check
    for number, pair in enumerate(spelling_pairs(look.words, texts)[:MOST_PAIRS], 1):
        replaced = look.words.replace(pair.asked, pair.written)
        if _hit(await ask(bot, _query(look, replaced, number), timeout), look):
            return check.model_copy(update={"pair": (pair.asked, pair.written)})
    return check


def _query(look: RedTurnEvidence, text: str, number: int) -> Query:
    """A question in a session of its own."""
    session = f"{look.red.conversation}/{look.red.turn}/again{number}"
    return Query(text=text, session=session, case=look.case.id, language=look.language)


def _hit(answer: Answer, look: RedTurnEvidence) -> bool | None:
    """Whether the needed article came; None when the bot failed or does not show its passages."""
    if answer.error or not answer.shows_passages:
        return None
    articles = look.need.articles
    return any(is_of(passage, article, look.corpus) for passage in answer.passages for article in articles)
