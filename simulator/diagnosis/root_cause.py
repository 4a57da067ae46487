"""Why a turn is red: rules, tried in order, that each know one cause and its evidence."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from simulator.core.document import Text
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, sentences
from simulator.core.settings import Settings
from simulator.core.shelves import DEMO
from simulator.core.types import Conversation, GradingContext, Passage, Results, Score, Turn
from simulator.data.knowledge import read_knowledge
from simulator.diagnosis import wording
from simulator.diagnosis.evidence import (
    RIGHT,
    Cause,
    Corpus,
    RedTurnEvidence,
    RetrievalCheck,
    RootCause,
    article_of,
    references_of,
)
from simulator.stats.figures import Summary
from simulator.storage.results import turns_with_scores
from simulator.text.evidence import content_units, share, topic_units
from simulator.text.numerals import quantities
from simulator.text.spelling import spelling_pairs, unknown_words
from simulator.text.wording import quoted
from simulator.users.faults import spoilt_turns

# A guess at a pair of spellings needs this likeness (0..1) to be reported.
LIKELY_PAIR = 0.6
# From this share (0..1) of the right answer's content on, a passage is about the same matter.
SAME_MATTER = 0.4
# Judges of how something is said; below this value (0..1) they object.
TONE, OBJECTS = ("tone", "keigo", "fluency"), 0.7
# The note of a run in which the checks of `ask_again` are stored.
NOTE = "asked_again"

Articles = tuple[Passage, ...]


class CauseFinding(NamedTuple):
    """The result of a rule: a cause, and one sentence of evidence; `pair` is a spelling to register."""

    cause: Cause
    evidence: Text
    sure: bool = False
    pair: tuple[str, str] | None = None
    articles: tuple[str, ...] | None = None  # if they are others than the needed ones


def root_causes(
    results: Results,
    summary: Summary,
    *,
    articles: Articles | None = None,
    found: Mapping[tuple[str, int], RetrievalCheck] = {},
) -> tuple[RootCause, ...]:
    """The cause of each red turn, in the order of `summary.reddest`.

    `articles` are the bot's knowledge: without them missing articles and a search that fails look the same.
    `found` are the checks of `ask_again`: without them another spelling is only suspected.
    """
    looks = turn_evidence(results, summary, articles=articles, found=found)
    causes = {(cause.conversation, cause.turn): cause for cause in map(_root_cause, looks)}
    keys = ((red.conversation, red.turn) for red in summary.reddest)
    return tuple(causes[key] for key in keys if key in causes)


def turn_evidence(
    results: Results,
    summary: Summary,
    *,
    articles: Articles | None = None,
    found: Mapping[tuple[str, int], RetrievalCheck] = {},
) -> Iterator[RedTurnEvidence]:
    """The red turns, each with all the evidence of its cause, conversation by conversation."""
    corpus = Corpus(articles) if articles else None
    faults = spoilt_turns(results)
    reddest = {(red.conversation, red.turn): red for red in summary.reddest}
    for conversation, turn, scores in turns_with_scores(results, reddest):
        at, context = (conversation.id, turn.index), _context(conversation, turn)
        yield RedTurnEvidence(reddest[at], context, scores, corpus, found.get(at), faults.get(at))


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


def stored_checks(results: Results) -> dict[tuple[str, int], RetrievalCheck]:
    """The checks of `ask_again` stored in a run, by conversation and turn; invalid ones are ignored."""
    stored: Any = results.notes.get(NOTE)
    checks: dict[tuple[str, int], RetrievalCheck] = {}
    for row in stored if isinstance(stored, list) else []:
        if not isinstance(row, dict):
            continue
        fields = {key: value for key, value in row.items() if key not in {"conversation", "turn"}}
        with contextlib.suppress(KeyError, TypeError, ValueError):
            at = str(row["conversation"]), int(row["turn"])
            checks[at] = RetrievalCheck.model_validate(fields)
    return checks


def as_note(checks: Mapping[tuple[str, int], RetrievalCheck]) -> list[dict[str, Any]]:
    """The same as `found_before` reads it."""
    return [
        {"conversation": conversation, "turn": turn, **check.model_dump(mode="json")}
        for (conversation, turn), check in checks.items()
    ]


def _context(conversation: Conversation, turn: Turn) -> GradingContext:
    earlier = tuple(each for each in conversation.turns if each.index < turn.index)
    return GradingContext(
        conversation=conversation.id,
        case=conversation.case,
        persona=conversation.persona,
        turn=turn,
        earlier=earlier,
    )


def _root_cause(look: RedTurnEvidence) -> RootCause:
    finding = next(finding for rule in RULES if (finding := rule(look)))
    needs_no_article = finding.cause in {"no_answer", "customer"}
    return RootCause(
        conversation=look.red.conversation,
        turn=look.red.turn,
        cause=finding.cause,
        sure=finding.sure,
        evidence=finding.evidence,
        articles=() if needs_no_article else finding.articles or look.need.articles,
        pair=finding.pair,
        cut=finding.cause == "retrieval" and look.need.cut,
    )


_NO_ANSWER = {"timeout": _("it timed out"), "empty": _("it was empty")}


def _no_answer(look: RedTurnEvidence) -> CauseFinding | None:
    if not look.red.failure:
        return None
    kind = _NO_ANSWER.get(look.red.failure, _("it failed"))
    return CauseFinding("no_answer", _("The bot gave no answer ({kind}).", kind=kind), sure=True)


def _customer(look: RedTurnEvidence) -> CauseFinding | None:
    if not look.customer_fault:
        return None
    spoilt = _("The simulated customer spoilt this turn, so it is not the bot's fault.")
    return CauseFinding("customer", sentences(spoilt, look.customer_fault.reason))


def _should_refuse(look: RedTurnEvidence) -> CauseFinding | None:
    """The bot answered a question that no article answers."""
    if look.reading.expected != "refuse" or look.reading.refused or look.reading.only_asks:
        return None
    return CauseFinding(
        "should_refuse",
        _(
            "The articles do not answer this. The bot should have said so and named a contact;"
            " instead it said {quote}.",
            quote=wording.answer(look),
        ),
    )


def _refused_badly(look: RedTurnEvidence) -> CauseFinding | None:
    """The bot rightly declined, so that only how it did so can be wrong."""
    if look.reading.expected != "refuse":
        return None
    return _tone(look) or _unclear(look)


def _complaint(look: RedTurnEvidence) -> CauseFinding | None:
    """A complaint needs an apology and a person; it was taken for a question, or answered coldly."""
    if look.reading.expected != "comfort":
        return None
    if look.reading.handed_over:
        cold = _("The complaint was passed on to a person, but without a word of apology.")
        return _tone(look) or (None if look.reading.apologises else CauseFinding("tone", cold))
    if look.reading.refused:
        return CauseFinding(
            "misunderstood",
            _("This is a complaint: it calls for a person, but the bot only said that it does not know."),
        )
    return CauseFinding(
        "misunderstood",
        _(
            "This is a complaint: it calls for an apology and a person, but the bot explained"
            " something: {quote}",
            quote=wording.answer(look),
        ),
    )


def _outdated(look: RedTurnEvidence) -> CauseFinding | None:
    """The retrieved article has another amount than the right answer, and the bot passed it on faithfully."""
    wrong = None if look.reading.refused else outdated(look)
    if wrong is None:
        return None
    sentence = _(
        'What was retrieved ({article}) says "{wrong}" where "{right}" is right: either the'
        " article or the right answer is out of date.",
        article=wording.article_name(look, wrong.article),
        right=wrong.right,
        wrong=wrong.wrong,
    )
    return CauseFinding("outdated", sentence, articles=(wrong.article,))


class OutdatedArticle(NamedTuple):
    """An article with a wrong amount in place of the right one."""

    article: str
    right: str
    wrong: str


def outdated(look: RedTurnEvidence) -> OutdatedArticle | None:
    """The article that misled the bot: it has the wrong amount of the answer, and not the right one."""
    agreement = look.agreement
    if agreement.recall < SAME_MATTER:
        return None
    instead = [
        (right, wrong)
        for right, wrong in product(agreement.numbers, agreement.instead)
        if right.unit and (right.kind, right.unit) == (wrong.kind, wrong.unit)
    ]
    gold = {article_of(each) for each in look.case.passages}
    for passage, (right, wrong) in product(look.turn.answer.passages, instead):
        amounts = quantities(passage.text)
        if wrong not in amounts or right in amounts or not _is_of_the_matter(passage, look):
            continue
        article = article_of(passage.id)
        if article in gold if gold else look.need.place != "not_retrieved":
            return OutdatedArticle(article, right.shown(look.language), wrong.shown(look.language))
    return None


def _is_of_the_matter(passage: Passage, look: RedTurnEvidence) -> bool:
    units = content_units(passage.text)
    return any(share(topic_units(each), units) >= SAME_MATTER for each in references_of(look.context))


def _not_there(look: RedTurnEvidence) -> CauseFinding | None:
    """The needed article was not among the passages, and the answer is not right without it."""
    if look.need.place not in {"lacking", "not_retrieved", "outside"}:
        return None
    if look.is_right and not look.unsupported and not look.reading.refused:
        return None
    finding = _why_not_there(look)
    return finding._replace(evidence=sentences(finding.evidence, wording.answer_instead(look)))


def _why_not_there(look: RedTurnEvidence) -> CauseFinding:
    article, corpus = wording.article(look), look.corpus
    if look.need.place == "lacking":
        return CauseFinding("knowledge", _lacking(look))
    if look.need.place == "outside" or corpus is None:
        return CauseFinding(
            "retrieval",
            _(
                "{article} was not retrieved. Whether it is missing from the knowledge or just not"
                " found shows with --knowledge.",
                article=article,
            ),
        )
    if lost := _lost(look, corpus):
        return CauseFinding("misunderstood", lost)
    if look.need.cut or look.found_earlier():
        unstable = _(
            "The search found {article} earlier in the conversation, but not this time: the"
            " search breaks down as the conversation goes on.",
            article=article,
        )
        return CauseFinding("retrieval", wording.cut_off(look) if look.need.cut else unstable)
    if look.check and look.check.hit is not None:
        return _checked(look, look.check)
    return _unchecked(look, corpus)


def _unchecked(look: RedTurnEvidence, corpus: Corpus) -> CauseFinding:
    """Nobody asked again: the article has the words of the question, or others."""
    if corpus.finds(look.words, look.need.articles, look.searched):
        return CauseFinding(
            "retrieval",
            _(
                "{article} was not retrieved, although it has the words of the question: the search"
                " seems to be at fault.",
                article=wording.article(look),
            ),
        )
    return _other_words(look)


def _lacking(look: RedTurnEvidence) -> Message:
    """The article that is missing; if its name says nothing, the content that no article has."""
    articles, needed = look.need.articles, wording.right_answer(look)
    if articles and (not needed or (look.corpus and look.corpus.shares_ids(articles))):
        return _("{article} is not in the bot's knowledge.", article=wording.article(look))
    return _(
        "What the right answer says ({need}) does not seem to be anywhere in the bot's knowledge.",
        need=needed,
    )


def _lost(look: RedTurnEvidence, corpus: Corpus) -> Message | None:
    """Evidence that the bot searched for something other than the question; None without any."""
    finds = corpus.finds(look.asked, look.need.articles, look.searched)
    earlier = look.searched_again()
    if earlier and not finds and look.repeats(earlier):
        return _answers_earlier(earlier)
    if earlier and finds:
        return _(
            'The bot looked up the earlier question "{earlier}" again; the words asked now would'
            " have found {article}.",
            earlier=quoted(earlier),
            article=wording.article(look),
        )
    if not finds and not look.asks_the_same and look.found_earlier():
        return _(
            "{article}, which was found earlier in the conversation, was not retrieved this"
            " time: the bot lost the thread.",
            article=wording.article(look),
        )
    return None


def _answers_earlier(question: str) -> Message:
    return _(
        'This answers the earlier question "{earlier}", not the one that was asked now.',
        earlier=quoted(question),
    )


def _checked(look: RedTurnEvidence, check: RetrievalCheck) -> CauseFinding:
    """What the bot found in the article's own words settles it; for certain if ids alone prove it."""
    article, is_proved = wording.article(look), look.found_by_id
    if not check.hit:
        sentence = _(
            "{article} was not retrieved, not even when asked in the article's own words: the"
            " search is at fault.",
            article=article,
        )
        return CauseFinding("retrieval", sentence, is_proved)
    if check.pair:
        asked, written = check.pair
        sentence = _(
            '{article} was not retrieved. "{asked}" in the question does not find it; the'
            ' article\'s "{written}" does.',
            article=article,
            asked=asked,
            written=written,
        )
        return CauseFinding("spelling", sentence, is_proved, check.pair)
    return _other_words(look)


def _other_words(look: RedTurnEvidence) -> CauseFinding:
    """The question does not have the article's words: a likely pair of spellings, or other words."""
    article = wording.article(look)
    texts = look.corpus.texts(look.need.articles) if look.corpus else ()
    candidates = spelling_pairs(look.words, texts) if texts else []
    if candidates and candidates[0].likeness >= LIKELY_PAIR:
        pair = candidates[0]
        sentence = _(
            '{article} was not retrieved. What the question calls "{asked}" is "{written}" in the article.',
            article=article,
            asked=pair.asked,
            written=pair.written,
        )
        return CauseFinding("spelling", sentence, pair=(pair.asked, pair.written))
    unknown = [quoted(word) for word in unknown_words(look.words, texts) if _is_telling(word)][:3]
    strange = _(" ({words})", words=unknown) if unknown else ""
    if look.check and look.check.hit:
        sentence = _(
            "{article} was not retrieved. The wording of the question{strange} does not find it;"
            " the article's own words do.",
            article=article,
            strange=strange,
        )
    else:
        sentence = _(
            "{article} was not retrieved, probably because the question is worded differently"
            " from the article{strange}.",
            article=article,
            strange=strange,
        )
    return CauseFinding("spelling", sentence)


def _is_telling(word: str) -> bool:
    """Whether a word is more than an ending: short Latin words and runs of hiragana are not."""
    return len(word) > 3 if word.isascii() else any(not "\u3041" <= c <= "\u309f" for c in word)


def _doubtful_need(look: RedTurnEvidence) -> CauseFinding | None:
    """Comparing words cannot tell whether the knowledge has the answer: it may follow from an article."""
    if look.need.place != "doubtful":
        return None
    if look.is_right and not look.unsupported and not look.reading.refused:
        return None
    if not look.need.articles:
        sentence = _(
            "Comparing words does not tell whether the bot's knowledge has the answer ({need}).",
            need=wording.right_answer(look),
        )
    else:
        sentence = _(
            "Comparing words does not tell whether the bot's knowledge has the answer ({need}). {article}"
            " comes nearest: it may say so in other words, or the answer may have to be worked out from it.",
            need=wording.right_answer(look),
            article=wording.article(look),
        )
    return CauseFinding("unclear", sentence)


def _should_answer(look: RedTurnEvidence) -> CauseFinding | None:
    if not look.reading.refused:
        return None
    if look.need.place == "retrieved":
        sentence = _(
            "The answer is in {article}, which the search found, but the bot declined to answer.",
            article=wording.article(look),
        )
        return CauseFinding("should_answer", sentence)
    if look.case.answerable or look.need.place == "hidden":
        return CauseFinding(
            "should_answer",
            _(
                "The articles answer this question, but the bot declined. Whether it had found the"
                " needed article is not known."
            ),
        )
    return None


def _asks_back(look: RedTurnEvidence) -> CauseFinding | None:
    if not look.reading.only_asks or not look.case.answerable:
        return None
    return CauseFinding(
        "should_answer",
        _(
            "The question can be answered, but the bot only asked a question back: {quote}",
            quote=wording.answer(look),
        ),
    )


def _invented(look: RedTurnEvidence) -> CauseFinding | None:
    """The answer states something unsupported, although the needed passage was there."""
    if look.unsupported and not _only_rude(look):
        return CauseFinding("invented", wording.unsupported(look))
    facts = look.scores.get("facts")
    if facts and facts.state == "scored" and facts.severity == "major":
        sentence = _("The answer differs from the desk's own facts: {reason}", reason=facts.reason)
        return CauseFinding("invented", sentence)
    return None


def _misunderstood(look: RedTurnEvidence) -> CauseFinding | None:
    """The answer is right for another question."""
    if look.is_right or not (earlier := look.answers_earlier()):
        return None
    return CauseFinding("misunderstood", _answers_earlier(earlier))


def _ignored(look: RedTurnEvidence) -> CauseFinding | None:
    """The needed passage was retrieved, and the answer does not use it."""
    if look.is_right or look.need.place != "retrieved":
        return None
    return CauseFinding("ignored", wording.ignored(look))


def _doubtful(look: RedTurnEvidence) -> CauseFinding | None:
    """Nothing is wrong except for a claim that was not found."""
    if not look.is_right or not look.doubtful or _objecting(look):
        return None
    quote = wording.quote(look.doubtful)
    return CauseFinding(
        "invented", _("The answer states what is in no retrieved passage: {quote}", quote=quote)
    )


def _no_handover(look: RedTurnEvidence) -> CauseFinding | None:
    if look.case.handover != "required" or look.reading.handed_over:
        return None
    return CauseFinding(
        "misunderstood",
        _(
            "This matter has to go to a person, but the bot kept it and said {quote}.",
            quote=wording.answer(look),
        ),
    )


def _tone(look: RedTurnEvidence) -> CauseFinding | None:
    """The content is fine, so that only the wording remains."""
    if objecting := _objecting(look):
        worst = min(objecting, key=lambda score: score.value or 0.0)
        fine = _("The content is fine; the wording is not.")
        return CauseFinding("tone", sentences(fine, worst.reason))
    before = {turn.answer.text for turn in look.context.earlier}
    if look.reading.expected == "answer" and look.turn.answer.text in before and look.is_right:
        return CauseFinding(
            "misunderstood",
            _(
                "The content agrees with the right answer, but the bot repeated its earlier answer"
                " word for word."
            ),
        )
    if look.is_right and not look.read_by_anyone:
        return CauseFinding(
            "unclear",
            _(
                "The content agrees with the right answer. What graded it compares words, so perhaps"
                " only the wording differs."
            ),
        )
    if look.is_right:
        right = _("The content agrees with the right answer; what remains seems to be the wording.")
        return CauseFinding("tone", sentences(right, look.red.reason))
    return None


def _objecting(look: RedTurnEvidence) -> list[Score]:
    """The scores of judges of tone that object."""
    found = [look.scores[name] for name in TONE if name in look.scores]
    return [s for s in found if s.state == "scored" and s.value is not None and s.value < OBJECTS]


def _only_rude(look: RedTurnEvidence) -> bool:
    """Whether the unsupported statements are only rude words beside a right answer."""
    plain = all(each.kind == "unsupported" for each in look.unsupported)
    return plain and look.agreement.score >= RIGHT and bool(_objecting(look))


def _hidden(look: RedTurnEvidence) -> CauseFinding | None:
    if look.need.place != "hidden":
        return None
    hidden = _("The bot does not show what it retrieved, so search and answer cannot be told apart.")
    return CauseFinding("unclear", hidden)


def _unclear(look: RedTurnEvidence) -> CauseFinding:
    unclear = _("What was retrieved, the right answer and the grades do not show why this turn is red.")
    return CauseFinding("unclear", sentences(unclear, look.red.reason))


RULES: tuple[Callable[[RedTurnEvidence], CauseFinding | None], ...] = (
    _no_answer, _customer, _should_refuse, _refused_badly, _complaint, _outdated, _not_there, _doubtful_need,
    _should_answer,
    _asks_back, _invented, _misunderstood, _ignored, _no_handover, _doubtful, _tone, _hidden, _unclear,
)  # fmt: skip
