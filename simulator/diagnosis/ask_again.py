"""Asks the bot again in the article's own words, to tell a spelling from a search that does not find."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from simulator.core.roles import endpoints
from simulator.core.settings import Settings
from simulator.core.types import Answer, Bot, Passage, Query, Results
from simulator.diagnosis.evidence import Look, RetrievalCheck, is_of, title_of
from simulator.diagnosis.root_cause import NOTE, Articles, articles_of, as_note, found_before, looks
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.runner.conversation import ask
from simulator.stats.figures import Summary
from simulator.stats.outcome import figures_of
from simulator.storage.run_file import note, read_run
from simulator.text.segments import normalise, sentences
from simulator.text.spelling import KANA_ONLY, Pair, pairs, words

# Questions per article: once in its own words, then one for each likely pair of words.
MOST_PAIRS = 3
# How many of an article's words go into a question beside its title.
KEY_TERMS = 5

At = tuple[str, int]


@dataclass(frozen=True)
class RetriedSearches:
    """Turns whose needed article was not retrieved, and that asked for it in the same words."""

    look: Look
    turns: tuple[At, ...]


async def ask_again(path: Path, settings: Settings, *, limit: int = 20) -> Mapping[At, RetrievalCheck]:
    """Asks the bot of a run about at most `limit` articles that were not retrieved, and notes what came.

    `settings` are the run's own. What was asked before is not asked again; gives all that is known.
    """
    results = read_run(path)
    summary = figures_of(results, settings)
    known = found_before(results)
    unasked = [
        each for each in sought(results, summary, articles_of(settings)) if not set(each.turns) <= set(known)
    ]
    if not unasked:
        return known
    context = RunContext(
        settings, endpoints(settings, strict=False), results.personas, Ledger.of(settings, results)
    )
    bot: Bot | None = None
    try:
        bot = await context.bot(results.conversations)
        known = known | await found_anew(bot, unasked[:limit], settings.timeout)
    finally:
        await context.close(bot)
    note(path, NOTE, json.dumps(as_note(known), ensure_ascii=False))
    return known


async def found_anew(
    bot: Bot, unasked: Iterable[RetriedSearches], timeout: float
) -> dict[At, RetrievalCheck]:
    """What a bot retrieves when it is asked for these articles in their own words, one after the other."""
    known: dict[At, RetrievalCheck] = {}
    for each in unasked:
        known |= dict.fromkeys(each.turns, await _ask(bot, each.look, timeout))
    return known


def sought(results: Results, summary: Summary, articles: Articles | None) -> tuple[RetriedSearches, ...]:
    """The red turns whose needed article is in the knowledge but was not retrieved, by case and article."""
    groups: dict[tuple[str, ...], list[Look]] = {}
    for look in looks(results, summary, articles=articles):
        if look.need.place != "not_retrieved" or look.need.cut:
            continue
        if not look.fault and not look.red.failure:
            groups.setdefault((look.case.id, *look.need.articles), []).append(look)
    return tuple(
        RetriedSearches(first[0], tuple((each.red.conversation, each.red.turn) for each in first))
        for first in groups.values()
    )


def own_words(texts: Iterable[str]) -> str:
    """How an article would ask for itself: its title, and the words that it uses most beside."""
    whole = list(texts)
    title = title_of(whole[0]) if whole else ""
    known = normalise("\n".join(whole))
    terms = [
        word for word in words("\n".join(whole)) if len(word) > 1 and normalise(word) not in normalise(title)
    ]
    terms = [word for word in terms if not word.isdigit() and not KANA_ONLY.fullmatch(word)]
    often = sorted(terms, key=lambda word: -known.count(normalise(word)))[:KEY_TERMS]
    return " ".join([title, *often]).strip() or next(iter(sentences(known)), "")


async def _ask(bot: Bot, look: Look, timeout: float) -> RetrievalCheck:
    """What the bot retrieves in the article's own words, and the one pair of words that is enough."""
    texts = look.corpus.texts(look.need.articles) if look.corpus else ()
    question = own_words(texts)
    answer = await ask(bot, _query(look, question, 0), timeout)
    hit = _hit(answer, look)
    found = RetrievalCheck(words=question, hit=hit, ids=tuple(passage.id for passage in answer.passages))
    if not hit:
        return found
    for number, pair in enumerate(_candidates(look, texts), 1):
        replaced = _replaced(look.words, pair)
        if _hit(await ask(bot, _query(look, replaced, number), timeout), look):
            return found.model_copy(update={"pair": (pair.asked, pair.written)})
    return found


def _candidates(look: Look, texts: tuple[str, ...]) -> list[Pair]:
    return pairs(look.words, texts)[:MOST_PAIRS]


def _replaced(question: str, pair: Pair) -> str:
    return question.replace(pair.asked, pair.written)


def _query(look: Look, text: str, number: int) -> Query:
    """A question in a session of its own, with nothing before it."""
    session = f"{look.red.conversation}/{look.red.turn}/again{number}"
    return Query(text=text, session=session, case=look.case.id, language=look.language)


def _hit(answer: Answer, look: Look) -> bool | None:
    """Whether the needed article came; None when the bot failed or does not show its passages."""
    if answer.error or not answer.shows_passages:
        return None
    return any(_is_needed(passage, look) for passage in answer.passages)


def _is_needed(passage: Passage, look: Look) -> bool:
    return any(is_of(passage, article, look.corpus) for article in look.need.articles)
