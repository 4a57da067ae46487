"""Why what an answer needed was not among its passages: not in the knowledge, not searched for, not found."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from pydantic import ValidationError

from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.shelves import DEMO
from simulator.core.types import Conversation, GradingContext, Passage, Results, Score, Turn, compact
from simulator.data.knowledge import read_knowledge
from simulator.diagnosis import wording
from simulator.diagnosis.evidence import (
    RIGHT,
    Blame,
    Cause,
    Corpus,
    Look,
    RetrievalCheck,
    article_of,
    references_of,
)
from simulator.diagnosis.wording import say
from simulator.stats.figures import Summary
from simulator.text.evidence import content_units, share, topic_units
from simulator.text.numerals import Quantity, quantities
from simulator.text.spelling import Pair, pairs, strange
from simulator.users.faults import spoilt_turns

# A guess at a pair of spellings needs this much likeness to be told.
TOLD = 0.6

Missing = tuple[Cause, str, bool, tuple[str, str] | None]


def missing(look: Look) -> Missing:
    """The cause, its evidence, whether it is sure, and the pair of spellings to register."""
    cause, evidence, sure, pair = _why(look)
    return cause, wording.together(look, evidence, wording.beside(look)), sure, pair


def _why(look: Look) -> Missing:
    article = wording.article(look)
    if look.need.place == "lacking":
        return "knowledge", _lacking(look), False, None
    if look.need.place == "outside" or look.corpus is None:
        return "retrieval", say(look, "outside", article=article), False, None
    if lost := _lost(look):
        return "misunderstood", lost, False, None
    if look.need.cut:
        return "retrieval", wording.cut_off(look), False, None
    if look.found_earlier():
        return "retrieval", say(look, "retrieval_unstable", article=article), False, None
    return _asked_again(look) if look.found and look.found.hit is not None else _by_words(look)


def _by_words(look: Look) -> Missing:
    """Nobody asked again: whether the article has the words of the question."""
    article, corpus = wording.article(look), look.corpus
    if corpus and corpus.finds(look.words, look.need.articles, look.searched):
        return "retrieval", say(look, "retrieval_words", article=article), False, None
    return _guess(look)


def _lacking(look: Look) -> str:
    """The article that is missing; where its name says nothing, the content that no article has."""
    articles, needed = look.need.articles, wording.needed(look)
    if articles and (not needed or (look.corpus and look.corpus.shares_ids(articles))):
        return say(look, "lacking", article=wording.article(look))
    return say(look, "lacking_content", need=needed)


def _lost(look: Look) -> str:
    """Evidence that the bot looked for something else than what was asked; empty when there is none."""
    if look.corpus is None:
        return ""
    finds = look.corpus.finds(look.asked, look.need.articles, look.searched)
    earlier = look.searched_again()
    if earlier and not finds and look.repeats(earlier):
        return say(look, "earlier_question", earlier=wording.quote(earlier))
    if earlier and finds:
        values = {"earlier": wording.quote(earlier), "article": wording.article(look)}
        return say(look, "earlier_search", **values)
    if not finds and not look.asks_the_same and look.found_earlier():
        return say(look, "lost_context", article=wording.article(look))
    return ""


def _asked_again(look: Look) -> Missing:
    """What the bot found in the article's own words settles it; for certain where ids alone prove it."""
    article, found, exact = wording.article(look), look.found, look.found_by_id
    if found is None or not found.hit:
        return "retrieval", say(look, "retrieval_asked", article=article), exact, None
    if found.pair:
        asked, written = found.pair
        evidence = say(look, "spelling_pair", article=article, asked=asked, written=written)
        return "spelling", evidence, exact, found.pair
    if pair := likely(look):
        evidence = say(look, "spelling_guess", article=article, asked=pair.asked, written=pair.written)
        return "spelling", evidence, False, (pair.asked, pair.written)
    return "spelling", say(look, "spelling_asked", article=article, strange=_strange(look)), False, None


def _guess(look: Look) -> Missing:
    """The question's words do not lead to the article: another spelling, or other words altogether."""
    article = wording.article(look)
    if pair := likely(look):
        evidence = say(look, "spelling_guess", article=article, asked=pair.asked, written=pair.written)
        return "spelling", evidence, False, (pair.asked, pair.written)
    return "spelling", say(look, "spelling_words", article=article, strange=_strange(look)), False, None


def likely(look: Look) -> Pair | None:
    """The likeliest pair of spellings of question and article."""
    texts = look.corpus.texts(look.need.articles) if look.corpus else ()
    found = pairs(look.words, texts) if texts else []
    return found[0] if found and found[0].likeness >= TOLD else None


def _strange(look: Look) -> str:
    """The words of the question that the article does not have."""
    texts = look.corpus.texts(look.need.articles) if look.corpus else ()
    found = [word for word in strange(look.words, texts) if _is_telling(word)][:3]
    joint = "、" if look.language == "ja" else ", "
    told = joint.join(map(wording.quote, found))
    return wording.TEXTS(look.language, "strange", words=told) if found else ""


def _is_telling(word: str) -> bool:
    """Whether a word is more than an ending: short Latin words and runs of hiragana are not."""
    return len(word) > 3 if word.isascii() else any(not "\u3041" <= c <= "\u309f" for c in word)


# From this share (0..1) of the right answer's content on, a passage is about the same matter.
SAME_MATTER = 0.4


class OutdatedArticle(NamedTuple):
    """The article, the right amount, and the one it says."""

    article: str
    right: str
    said: str


def outdated(look: Look) -> OutdatedArticle | None:
    """The article that misled the bot: it has the wrong amount of the answer, and not the right one."""
    agreement = look.agreement
    if agreement.recall < SAME_MATTER:
        return None
    instead = [
        (right, said) for right in agreement.numbers for said in agreement.instead if _alike(right, said)
    ]
    gold = {article_of(each) for each in look.case.passages}
    for passage, (right, said) in product(look.turn.answer.passages, instead):
        found = quantities(passage.text)
        if said not in found or right in found or not _is_of_the_matter(passage, look):
            continue
        article = article_of(passage.id)
        if article in gold if gold else look.need.place != "not_retrieved":
            return OutdatedArticle(article, right.shown(look.language), said.shown(look.language))
    return None


def _alike(right: Quantity, said: Quantity) -> bool:
    """Whether one can stand in the place of the other."""
    return bool(right.unit) and (right.kind, right.unit) == (said.kind, said.unit)


def _is_of_the_matter(passage: Passage, look: Look) -> bool:
    units = content_units(passage.text)
    return any(share(topic_units(each), units) >= SAME_MATTER for each in references_of(look.context))


Articles = tuple[Passage, ...]

# Judges of how something is said; below this value (0..1) they object.
TONE, OBJECTS = ("tone", "keigo", "fluency"), 0.7


class CauseFinding(NamedTuple):
    """A cause with its evidence, as a rule gives it."""

    cause: Cause
    evidence: str
    sure: bool = False
    pair: tuple[str, str] | None = None
    articles: tuple[str, ...] | None = None  # where they are others than those that were needed


def blames(
    results: Results,
    summary: Summary,
    *,
    articles: Articles | None = None,
    found: Mapping[tuple[str, int], RetrievalCheck] = {},
) -> tuple[Blame, ...]:
    """The cause of each red turn, in the order of `summary.reddest`.

    Without `articles` (the bot's knowledge) what is missing and what is not found cannot be told apart, and
    without `found` (what the bot retrieves in the article's own words) a wording is only suspected.
    """
    return tuple(_blame(look) for look in looks(results, summary, articles=articles, found=found))


def looks(
    results: Results,
    summary: Summary,
    *,
    articles: Articles | None = None,
    found: Mapping[tuple[str, int], RetrievalCheck] = {},
) -> Iterator[Look]:
    """The red turns, each with everything that bears on its cause."""
    corpus = Corpus(articles) if articles else None
    faults = spoilt_turns(results)
    turns = {
        (conversation.id, turn.index): (conversation, turn)
        for conversation in results.conversations
        for turn in conversation.turns
    }
    scores: dict[tuple[str, int], dict[str, Score]] = {}
    for score in results.scores:
        scores.setdefault((score.conversation, score.turn), {})[score.judge] = score
    for red in summary.reddest:
        at = red.conversation, red.turn
        if at in turns:
            context = _exhibit(*turns[at])
            yield Look(red, context, scores.get(at, {}), corpus, found.get(at), faults.get(at))


def _exhibit(conversation: Conversation, turn: Turn) -> GradingContext:
    earlier = tuple(each for each in conversation.turns if each.index < turn.index)
    return GradingContext(
        conversation=conversation.id,
        case=conversation.case,
        persona=conversation.persona,
        turn=turn,
        earlier=earlier,
    )


def _blame(look: Look) -> Blame:
    named = next(named for rule in RULES if (named := rule(look)))
    silent = named.cause in {"no_answer", "customer"}
    blame = Blame(
        conversation=look.red.conversation,
        turn=look.red.turn,
        cause=named.cause,
        sure=named.sure,
        evidence=named.evidence,
        articles=() if silent else named.articles or look.need.articles,
        pair=named.pair,
        cut=named.cause == "retrieval" and look.need.cut,
    )
    return compact(blame)


def _no_answer(look: Look) -> CauseFinding | None:
    if not look.red.failure:
        return None
    kind = look.red.failure
    known = kind if kind in {"timeout", "empty", "error"} else "error"
    return CauseFinding("no_answer", say(look, "no_answer", kind=say(look, f"kind_{known}")), sure=True)


def _customer(look: Look) -> CauseFinding | None:
    return CauseFinding("customer", say(look, "customer", reason=look.fault.reason)) if look.fault else None


def _should_refuse(look: Look) -> CauseFinding | None:
    """What no article answers was answered."""
    if look.reading.expected != "refuse" or look.reading.refused or look.reading.only_asks:
        return None
    return CauseFinding("should_refuse", say(look, "should_refuse", quote=wording.answer(look)))


def _refused_badly(look: Look) -> CauseFinding | None:
    """What was rightly declined, and is red all the same, was said badly."""
    if look.reading.expected != "refuse":
        return None
    return _tone(look) or _unclear(look)


def _complaint(look: Look) -> CauseFinding | None:
    """A complaint wants an apology and a person: it was taken for a question, or answered coldly."""
    if look.reading.expected != "comfort":
        return None
    if look.reading.handed_over:
        return _tone(look) or (
            None if look.reading.apologises else CauseFinding("tone", say(look, "complaint_cold"))
        )
    if look.reading.refused:
        return CauseFinding("misunderstood", say(look, "complaint_refused"))
    return CauseFinding("misunderstood", say(look, "complaint_explained", quote=wording.answer(look)))


def _outdated(look: Look) -> CauseFinding | None:
    """What was retrieved says another amount than the right answer, and the bot passed it on faithfully."""
    wrong = None if look.reading.refused else outdated(look)
    if wrong is None:
        return None
    evidence = say(
        look, "outdated", article=wording.named(look, wrong.article), right=wrong.right, wrong=wrong.said
    )
    return CauseFinding("outdated", evidence, articles=(wrong.article,))


def _not_there(look: Look) -> CauseFinding | None:
    """The needed article was not among the passages, and the answer is not right without it."""
    if look.need.place not in {"lacking", "not_retrieved", "outside"}:
        return None
    if look.is_right and not look.unsupported and not look.reading.refused:
        return None
    return CauseFinding(*missing(look))


def _doubtful_need(look: Look) -> CauseFinding | None:
    """Nobody can tell by words whether the answer is in the knowledge: it may follow from an article."""
    if look.need.place != "doubtful":
        return None
    if look.is_right and not look.unsupported and not look.reading.refused:
        return None
    key = "doubtful" if look.need.articles else "doubtful_nowhere"
    values = {"article": wording.article(look)} if look.need.articles else {}
    return CauseFinding("unclear", say(look, key, need=wording.needed(look), **values))


def _should_answer(look: Look) -> CauseFinding | None:
    if not look.reading.refused:
        return None
    if look.need.place == "retrieved":
        return CauseFinding("should_answer", say(look, "should_answer", article=wording.article(look)))
    if look.case.answerable or look.need.place == "hidden":
        return CauseFinding("should_answer", say(look, "should_answer_marked"))
    return None


def _asks_back(look: Look) -> CauseFinding | None:
    if not look.reading.only_asks or not look.case.answerable:
        return None
    return CauseFinding("should_answer", say(look, "asks_back", quote=wording.answer(look)))


def _invented(look: Look) -> CauseFinding | None:
    """The answer states what nothing bears out, although what it needed was there."""
    if look.unsupported and not _only_rude(look):
        return CauseFinding("invented", wording.unsupported(look))
    facts = look.scores.get("facts")
    if facts and facts.state == "scored" and facts.severity == "major":
        return CauseFinding("invented", say(look, "facts", reason=facts.reason))
    return None


def _misunderstood(look: Look) -> CauseFinding | None:
    """The answer is right for another question."""
    if look.is_right or not (earlier := look.answers_earlier()):
        return None
    return CauseFinding("misunderstood", say(look, "earlier_question", earlier=wording.quote(earlier)))


def _ignored(look: Look) -> CauseFinding | None:
    """What was needed was retrieved and is not in the answer."""
    if look.is_right or look.need.place != "retrieved":
        return None
    return CauseFinding("ignored", wording.ignored(look))


def _doubtful(look: Look) -> CauseFinding | None:
    """All is as it should be but for a claim that was not found."""
    if not look.is_right or not look.doubtful or _objecting(look):
        return None
    told = say(look, "unsupported", quote=say(look, "quote", text=wording.quote(look.doubtful)))
    return CauseFinding("invented", told)


def _no_handover(look: Look) -> CauseFinding | None:
    if look.case.handover != "required" or look.reading.handed_over:
        return None
    return CauseFinding("misunderstood", say(look, "no_handover", quote=wording.answer(look)))


def _tone(look: Look) -> CauseFinding | None:
    """The content is fine, so that only how it is said remains."""
    if objecting := _objecting(look):
        worst = min(objecting, key=lambda score: score.value or 0.0)
        return CauseFinding("tone", say(look, "tone", reason=worst.reason))
    if look.reading.expected == "answer" and look.reading.repeats and look.is_right:
        return CauseFinding("misunderstood", say(look, "repeats"))
    if look.is_right and not look.read_by_anyone:
        return CauseFinding("unclear", say(look, "only_words"))
    if look.is_right:
        return CauseFinding("tone", say(look, "tone_guess", reason=look.red.reason))
    return None


def _objecting(look: Look) -> list[Score]:
    """The grades of judges of tone that object."""
    found = [look.scores[name] for name in TONE if name in look.scores]
    return [s for s in found if s.state == "scored" and s.value is not None and s.value < OBJECTS]


def _only_rude(look: Look) -> bool:
    """Whether what no passage says is but the rude words beside a right answer."""
    plain = all(each.key == "unsupported" for each in look.unsupported)
    return plain and look.agreement.score >= RIGHT and bool(_objecting(look))


def _hidden(look: Look) -> CauseFinding | None:
    return CauseFinding("unclear", say(look, "hidden")) if look.need.place == "hidden" else None


def _unclear(look: Look) -> CauseFinding:
    return CauseFinding("unclear", say(look, "unclear", reason=look.red.reason))


RULES: tuple[Callable[[Look], CauseFinding | None], ...] = (
    _no_answer, _customer, _should_refuse, _refused_badly, _complaint, _outdated, _not_there, _doubtful_need,
    _should_answer,
    _asks_back, _invented, _misunderstood, _ignored, _no_handover, _doubtful, _tone, _hidden, _unclear,
)  # fmt: skip


NOTE = "asked_again"


def articles_of(settings: Settings) -> Articles | None:
    """The bot's own articles: what `--knowledge` names, or what the bundled bot answers from; else None."""
    if settings.knowledge:
        return tuple(read_knowledge(settings.knowledge))
    if settings.adapter != "demo":
        return None
    try:
        return tuple(read_knowledge(settings.set.get("knowledge") or DEMO / "knowledge"))
    except InputError:  # moved since the run: the run can still be shown
        return None


def found_before(results: Results) -> dict[tuple[str, int], RetrievalCheck]:
    """What the bot found when it was asked again, as noted in the run; a note that is none is passed over."""
    told = results.notes.get(NOTE)
    found: dict[tuple[str, int], RetrievalCheck] = {}
    for each in told if isinstance(told, list) else []:
        if isinstance(each, dict):
            found |= _found(each)
    return found


def as_note(found: Mapping[tuple[str, int], RetrievalCheck]) -> list[dict[str, Any]]:
    """The same as `found_before` reads it."""
    return [
        {"conversation": conversation, "turn": turn, **each.model_dump(mode="json")}
        for (conversation, turn), each in found.items()
    ]


def _found(told: Mapping[str, Any]) -> dict[tuple[str, int], RetrievalCheck]:
    rest = {key: value for key, value in told.items() if key not in {"conversation", "turn"}}
    try:
        return {(str(told["conversation"]), int(told["turn"])): RetrievalCheck.model_validate(rest)}
    except (KeyError, TypeError, ValueError, ValidationError):
        return {}
