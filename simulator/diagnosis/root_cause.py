"""Why a turn is red: questions in a fixed order, each of which knows one cause and its evidence.

Whether the bot answered, whether its customer asked sensibly, whether it had to decline, whether what it
needed came, and only then what is wrong with the answer itself. The first question with an answer decides.

A cause that is `sure` stands; any other gives way to the verdict of a model, where one was asked
(`diagnosis/asking.py`).

The questions, in their order, with an example each; the right answer is "The cancellation fee is 1,100 yen.":

    no_answer       it timed out, failed, or said nothing                               certain
    forgotten, contradictions, loops, promises: the judge of whole conversations named such a lapse in the
                    turn; goes before any other cause that is only likely
    customer        the simulated customer made up a detail or repeated itself
    forbidden       nothing is wrong but that it breaks a rule of the desk
    should_refuse   the case has no answer, and it said "It is 2,200 yen."              may be certain
    misunderstood   it gave the answer to the question before, or kept what a person has to settle
    outdated        the article says 1,100 yen, the right answer 3,300                  may be certain
    knowledge       no article says anything of it                                      may be certain
    retrieval       the article has the question's words, and `hours` came              may be certain
    spelling        the question has other words than the article                       may be certain
    should_answer   the article came, and it said "I do not know."                      may be certain
    invented        the article came, and it said "It is 2,200 yen."
    ignored         the article came, and nothing of it is in the answer                may be certain
    tone            the content is right, so that only the wording remains
    unclear         nothing of all this shows

Certain is what ids, the question file, figures or `--ask-again` prove. Likeness of words alone never does: by
it a polite deflection would be an invention.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, TypeVar

from simulator.core.document import Text
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, sentences
from simulator.core.settings import Settings
from simulator.core.shelves import DEMO
from simulator.core.types import GradingContext, Passage, Results, Score
from simulator.data.knowledge import read_knowledge
from simulator.diagnosis.evidence import (
    RIGHT,
    Cause,
    Corpus,
    JudgedCause,
    RedTurnEvidence,
    RetrievalCheck,
    RootCause,
    article_of,
    is_stand_in,
)
from simulator.stats.figures import MarkKind, Summary
from simulator.stats.red import LAPSES, RANK
from simulator.storage.results import turns_with_scores
from simulator.text.acts import claims
from simulator.text.entities import is_alike, located, specifics_of
from simulator.text.evidence import content_units, share, topic_units, total_weight
from simulator.text.segments import normalise
from simulator.text.spelling import spelling_pairs
from simulator.text.wording import quoted
from simulator.users.faults import spoilt_turns

# A guess at a pair of spellings needs this likeness (0..1) to be reported; `--ask-again` proves pairs
# instead.
LIKELY_PAIR = 0.6
# From this share (0..1) of the right answer's content on, a passage is about the same matter. Less would let
# a price list be out of date for every price in it.
SAME_MATTER = 0.4
# An answer that has so little of the right one says nothing of it, in whatever words: only then is it certain
# that a bot that declined did not answer as well.
LITTLE = 0.2
# Judges of how something is said; below this value (0..1) they object.
TONE, OBJECTS = ("tone", "keigo", "fluency"), 0.7
# How a judge's reason speaks of rude or cold words: "curt", "dismissive", 冷た, 口調. "The tone is fine, the
# price is wrong" matches as well, which is why it counts only where no detail is lacking.
_OF_TONE = re.compile(
    r"失礼|無礼|ぞんざい|冷た|突き放|口調|語調|言い方|言葉遣い|言葉づかい|叱|見下|嫌味|皮肉|乱暴|横柄|高圧|責め|馬鹿に"
    r"|ぶっきらぼう|偉そう|なれなれし"
    r"|\b(?:rude|curt|brusque|cold(?:ly)?|tone|scold\w*|wording|talk\w* down|sarcas\w*|condescend\w*"
    r"|lectur\w*|patroni[sz]\w*|sneer\w*|blam\w*|snap\w*|snippy|snide|dismissive|unfriendly|impolite|disrespect\w*"
    r"|insult\w*|harsh\w*|abrupt\w*|blunt\w*|unkind|mock\w*|belittl\w*)\b"
)
# The note of a run in which the checks of `ask_again` are stored.
NOTE = "asked_again"
# The same of the verdicts of `ask_judge`.
JUDGED_NOTE = "judged_causes"

# The causes that are called like the marks of lapses.
_CAUSE_OF_LAPSE: Mapping[MarkKind, Cause] = {
    "forgotten": "forgotten", "contradictions": "contradictions", "loops": "loops", "promises": "promises",
}  # fmt: skip

Articles = tuple[Passage, ...]
_Stored = TypeVar("_Stored", RetrievalCheck, JudgedCause)


def root_causes(
    results: Results,
    summary: Summary,
    *,
    articles: Articles | None = None,
    found: Mapping[tuple[str, int], RetrievalCheck] = {},
    judged: Mapping[tuple[str, int], JudgedCause] = {},
) -> tuple[RootCause, ...]:
    """The cause of each red turn, in the order of `summary.reddest`.

    `articles` are the bot's knowledge: without them missing articles and a search that fails look the same.
    `found` are the checks of `ask_again`: without them another spelling is only suspected. `judged` are the
    verdicts of `ask_judge`, which count where no rule proves the cause. All three are by conversation and
    turn. No model and no bot is asked here, so that a report can be made again at any time, and says the
    same.
    """
    looks = turn_evidence(results, summary, articles=articles, found=found)
    causes = {
        (cause.conversation, cause.turn): _with_verdict(cause, judged.get((cause.conversation, cause.turn)))
        for cause in map(_root_cause, looks)
    }
    keys = ((red.conversation, red.turn) for red in summary.reddest)
    return tuple(causes[key] for key in keys if key in causes)


def _with_verdict(by_rule: RootCause, verdict: JudgedCause | None) -> RootCause:
    """The cause that a model named instead of the rule's, unless that is certain.

    A verdict without a cause is shown beside the rule's. Another cause than the rule's takes away what only
    the rule knew, a pair of spellings and a cut.
    """
    if verdict is None or by_rule.sure:
        return by_rule
    if verdict.cause is None:
        none = _("The judge's model was asked and named no cause: {reason}", reason=verdict.reason)
        return replace(by_rule, evidence=sentences(by_rule.evidence, none))
    said = _("The judge's model: {reason}", reason=verdict.reason)
    if verdict.cause == by_rule.cause:
        return replace(by_rule, evidence=said)
    return replace(by_rule, cause=verdict.cause, evidence=said, pair=None, cut=False)


def turn_evidence(
    results: Results,
    summary: Summary,
    *,
    articles: Articles | None = None,
    found: Mapping[tuple[str, int], RetrievalCheck] = {},
) -> Iterator[RedTurnEvidence]:
    """The red turns, each with all the evidence of its cause, conversation by conversation.

    In the order of the run file, not of `reddest`: conversations are read one after the other, and large runs
    do not fit into memory at once.
    """
    corpus = Corpus(articles) if articles else None
    faults = spoilt_turns(results)
    reddest = {(red.conversation, red.turn): red for red in summary.reddest}
    for conversation, turn, scores in turns_with_scores(results, reddest):
        at = (conversation.id, turn.index)
        context = GradingContext(
            conversation=conversation.id,
            case=conversation.case,
            persona=conversation.persona,
            turn=turn,
            earlier=tuple(each for each in conversation.turns if each.index < turn.index),
        )
        yield RedTurnEvidence(reddest[at], context, scores, corpus, found.get(at), faults.get(at))


def articles_of(settings: Settings) -> Articles | None:
    """The bot's own articles: what `--knowledge` names, or what the bundled bot answers from; else None.

    Raises InputError where what `--knowledge` names cannot be read.
    """
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
    return _stored(results, NOTE, RetrievalCheck)


def _stored(results: Results, note: str, kind: type[_Stored]) -> dict[tuple[str, int], _Stored]:
    # Rows that another version wrote otherwise are as good as none: the bot or the model can be asked again.
    stored: Any = results.notes.get(note)
    found: dict[tuple[str, int], _Stored] = {}
    for row in stored if isinstance(stored, list) else []:
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            fields = row.copy()
            at = str(fields.pop("conversation")), int(fields.pop("turn"))
            found[at] = kind.model_validate(fields)
    return found


def as_note(checks: Mapping[tuple[str, int], RetrievalCheck | JudgedCause]) -> list[dict[str, Any]]:
    """A row for each turn, as `stored_checks` and `stored_judgements` read it."""
    return [
        {"conversation": conversation, "turn": turn, **check.model_dump(mode="json")}
        for (conversation, turn), check in checks.items()
    ]


def stored_judgements(results: Results) -> dict[tuple[str, int], JudgedCause]:
    """The verdicts of `ask_judge` stored in a run, by conversation and turn; invalid ones are ignored."""
    return _stored(results, JUDGED_NOTE, JudgedCause)


def _because(
    look: RedTurnEvidence,
    cause: Cause,
    evidence: Text,
    *,
    sure: bool = False,
    pair: tuple[str, str] | None = None,
    articles: tuple[str, ...] = (),
) -> RootCause:
    """The cause of a turn, with one sentence of evidence; `articles` are named where others were needed.

    Without an answer, after a line of the customer's that made no sense, or for what went wrong between
    turns, no article is to blame.
    """
    if cause not in {"no_answer", "customer", *LAPSES}:
        articles = articles or look.need.articles
    return RootCause(
        conversation=look.red.conversation,
        turn=look.red.turn,
        cause=cause,
        sure=sure,
        evidence=evidence,
        articles=articles,
        pair=pair,
        cut=cause == "retrieval" and look.need.cut,
    )


# Of a turn that is red by the judge of whole conversations alone: no other judge objected to its answer.
_OF_THE_WHOLE = _("The answer is not at fault by itself; the conversation as a whole left something open.")


def _root_cause(look: RedTurnEvidence) -> RootCause:
    """The first cause for which there is evidence.

    Where there is no answer, or the customer spoilt the turn, the rest says nothing. What the bot had to work
    with comes before what it made of it, and tone after all that: it is named where the content is fine.
    """
    if look.red.failure:
        kinds = {"timeout": _("it timed out"), "empty": _("it was empty")}
        kind = kinds.get(look.red.failure, _("it failed"))
        return _because(look, "no_answer", _("The bot gave no answer ({kind}).", kind=kind), sure=True)
    marked, lapse = {mark.kind for mark in look.red.marks}, _lapse(look)
    if marked <= {"conversation", *LAPSES}:
        return lapse or _because(look, "unclear", sentences(_OF_THE_WHOLE, look.red.reason))
    if look.customer_fault:
        spoilt = _("The simulated customer spoilt this turn, so it is not the bot's fault.")
        return _because(look, "customer", sentences(spoilt, look.customer_fault.reason))
    if marked - LAPSES.keys() == {"risk"}:
        broken = next(mark.reason for mark in look.red.marks if mark.kind == "risk")
        return _because(look, "forbidden", broken)
    found = _of_the_turn(look)
    return lapse if lapse and not found.sure else found


def _lapse(look: RedTurnEvidence) -> RootCause | None:
    """What the judge of whole conversations found between this turn and another; the gravest if several."""
    named = [mark for mark in look.red.marks if mark.kind in LAPSES]
    if not named:
        return None
    gravest = min(named, key=lambda mark: RANK[mark.severity])
    return _because(look, _CAUSE_OF_LAPSE[gravest.kind], gravest.reason)


def _of_the_turn(look: RedTurnEvidence) -> RootCause:
    """The cause by the turn alone."""
    # Whether to answer at all comes before what the answer was made of.
    to_a_person = look.case.handover == "required" and not look.handed_over
    if to_a_person and look.case.answerable is None:
        return _kept(look)
    if look.should_refuse:
        return _should_refuse(look)
    # First the question, then the knowledge, then the search, and only then what the bot made of it.
    found = (
        _misunderstood(look)
        or _outdated(look)
        or _not_there(look)
        or _should_answer(look)
        or _of_the_answer(look)
    )
    if found is None and to_a_person:
        found = _kept(look)
    return found or _tone(look) or _unclear(look)


def _should_refuse(look: RedTurnEvidence) -> RootCause:
    """The bot should have declined; where it did, only how it did so can be wrong.

    Certain where the question file says so of this very question, and the answer does nothing but state a
    figure of its own.
    """
    if look.refused or look.only_asks:
        return _tone(look) or _unclear(look)
    refuse = _(
        "The articles do not answer this. The bot should have said so and named a contact;"
        " instead it said {quote}.",
        quote=_stated(look),
    )
    sure = look.turn.index == 1 and look.answerable is False and look.only_states
    return _because(look, "should_refuse", refuse, sure=sure)


def _kept(look: RedTurnEvidence) -> RootCause:
    """The bot went on by itself where it had to hand over to a person."""
    kept = _("This matter has to go to a person, but the bot kept it and said {quote}.", quote=_stated(look))
    return _because(look, "misunderstood", kept)


def _misunderstood(look: RedTurnEvidence) -> RootCause | None:
    """The answer is the one that another question got before.

    A right answer may well be the one of before, where the customer asks the same in other words.
    """
    earlier = None if look.is_right else look.answers_earlier()
    if earlier is None:
        return None
    sentence = _(
        'This answers the earlier question "{earlier}", not the one that was asked now.',
        earlier=quoted(earlier.meant),
    )
    return _because(look, "misunderstood", sentence)


def _outdated(look: RedTurnEvidence) -> RootCause | None:
    """The retrieved article has another amount than the right answer, and the bot passed it on faithfully.

    Either may be out of date, article or right answer, and only people know which. Certain where the article
    is the one that the case names, came word for word, and the right amount stands nowhere in the knowledge.
    """
    found = look.agreement
    if look.refused:
        return None
    # What has to be worked out is in no article, out of date or not.
    details = [each for each in found.lacks if not look.follows(each, sums=False)]
    instead = [(one, other) for one, other in product(details, found.instead) if is_alike(one, other)]
    gold = {article_of(each) for each in look.case.passages}
    for passage, (right, wrong) in product(look.turn.answer.passages, instead):
        units = content_units(passage.text)
        article = article_of(passage.id)
        # The passage has to be about this question: another price of another plan is not out of date.
        of_the_matter = any(
            share(topic_units(each), units) >= SAME_MATTER for each in (look.asked, *look.references)
        )
        has_wrong, has_right = (located(each, [passage.text]) is not None for each in (wrong, right))
        if not has_wrong or has_right or not (of_the_matter or article in gold):
            continue
        # Where the case names its articles, another one with that amount is no proof; where it names none,
        # the right one must not be lying elsewhere.
        if article in gold if gold else look.need.place != "not_retrieved":
            sentence = _(
                'What was retrieved ({article}) says "{wrong}" where "{right}" is right: either the'
                " article or the right answer is out of date.",
                article=_named(look, article),
                right=right.text,
                wrong=wrong.text,
            )
            sure = look.came_whole and len(instead) == 1 and not look.corpus_has(right)
            return _because(look, "outdated", sentence, sure=sure, articles=(article,))
    return None


def _not_there(look: RedTurnEvidence) -> RootCause | None:
    """The needed article was not among the passages, and the answer is not right without it.

    An answer that is right all the same is not red for want of an article: `_tone` says what remains.
    """
    place, corpus, need = look.need.place, look.corpus, _right_answer(look)
    if place not in {"lacking", "not_retrieved", "outside", "doubtful"}:
        return None
    if look.is_right and not look.unsupported:
        return None
    article = _article(look)
    if place == "doubtful":
        # Comparing words cannot tell whether the knowledge has the answer: it may follow from an article.
        doubt = _(
            "Comparing words does not tell whether the bot's knowledge has the answer ({need}).", need=need
        )
        if look.need.articles:
            doubt = _(
                "Comparing words does not tell whether the bot's knowledge has the answer ({need})."
                " {article} comes nearest: it may say so in other words, or the answer may have to be worked"
                " out from it.",
                need=need,
                article=article,
            )
        return _because(look, "unclear", doubt)
    if place == "lacking":
        missing = _(
            "What the right answer says ({need}) does not seem to be anywhere in the bot's knowledge.",
            need=need,
        )
        # A name of an article says something only if it is one of the knowledge base's own.
        if look.need.articles and (not need or (corpus and corpus.has_folders_of(look.need.articles))):
            missing = _("{article} is not in the bot's knowledge.", article=article)
            if corpus and corpus.knows(look.need.articles):
                missing = _(
                    "{article} does not say what the right answer says ({need}).", article=article, need=need
                )
        finding = _because(look, "knowledge", missing, sure=not look.agreement.instead and look.is_unwritten)
    elif place == "outside" or corpus is None:
        unknown = _(
            "{article} was not retrieved. Whether it is missing from the knowledge or just not"
            " found shows with --knowledge.",
            article=article,
        )
        finding = _because(look, "retrieval", unknown)
    else:
        finding = _not_retrieved(look, corpus)
    # What the bot said for want of it: why the turn is not merely red, but dangerous.
    instead = None
    if not look.refused:
        instead = _("The bot said {quote} instead.", quote=_stated(look))
        instead = _unsupported(look) if look.unsupported else instead
    return replace(finding, evidence=sentences(finding.evidence, instead))


def _not_retrieved(look: RedTurnEvidence, corpus: Corpus) -> RootCause:
    """The needed article is in the knowledge base: the thread, the search or the wording is to blame.

    Asked again in the article's own words, a search that still misses it is at fault, and one that finds it
    was asked in other words. Without having asked, our own search over words decides, as likely.
    """
    article, check, needed = _article(look), look.check, look.need.articles
    if look.need.cut:
        return _because(look, "retrieval", _cut_off(look))
    if check and check.hit is False:
        sentence = _(
            "{article} was not retrieved, not even when asked in the article's own words: the"
            " search is at fault.",
            article=article,
        )
        return _because(look, "retrieval", sentence, sure=look.found_by_id)  # ids alone prove it
    # A search over plain words that finds it, and enough common words: then the bot's search ought to have.
    is_found = corpus.finds(look.words, needed, look.searched) and corpus.has_words_of(look.words, needed)
    if (check and check.hit) or not is_found:
        return _other_words(look, corpus)
    sentence = _(
        "{article} was not retrieved, although it has the words of the question: the search"
        " seems to be at fault.",
        article=article,
    )
    return _because(look, "retrieval", sentence)


def _other_words(look: RedTurnEvidence, corpus: Corpus) -> RootCause:
    """The question does not have the article's words: a pair of spellings, or other words altogether.

    A pair is proved where one replaced word alone brought the article, and guessed where two words are alike.
    """
    article, texts, check = _article(look), corpus.texts(look.need.articles), look.check
    if check and check.pair:
        asked, written = check.pair
        proved = _(
            '{article} was not retrieved. "{asked}" in the question does not find it; the'
            ' article\'s "{written}" does.',
            article=article,
            asked=asked,
            written=written,
        )
        return _because(look, "spelling", proved, sure=look.found_by_id, pair=check.pair)
    candidates = spelling_pairs(look.words, texts) if texts else []
    if candidates and candidates[0].likeness >= LIKELY_PAIR:
        pair = candidates[0]
        sentence = _(
            '{article} was not retrieved. What the question calls "{asked}" is "{written}" in the article.',
            article=article,
            asked=pair.asked,
            written=pair.written,
        )
        return _because(look, "spelling", sentence, pair=(pair.asked, pair.written))
    sentence = _(
        "{article} was not retrieved, probably because the question is worded differently from the article.",
        article=article,
    )
    if check and check.hit:
        sentence = _(
            "{article} was not retrieved. The wording of the question does not find it;"
            " the article's own words do.",
            article=article,
        )
    return _because(look, "spelling", sentence)


def _should_answer(look: RedTurnEvidence) -> RootCause | None:
    """The bot declined, or only asked back, where the question has an answer.

    Certain where the case says that it can be answered, the named article came whole, and the bot said no in
    so many words.
    """
    if look.refused and look.need.place == "retrieved":
        sentence = _(
            "The answer is in {article}, which the search found, but the bot declined to answer.",
            article=_article(look),
        )
        sure = bool(look.answerable) and look.came_whole and look.says_no
        sure = sure and look.agreement.recall < LITTLE
        return _because(look, "should_answer", sentence, sure=sure)
    if look.refused and (look.answerable or look.need.place == "hidden"):
        sentence = _(
            "The articles answer this question, but the bot declined. Whether it had found the"
            " needed article is not known."
        )
    elif look.only_asks and look.answerable:
        sentence = _(
            "The question can be answered, but the bot only asked a question back: {quote}",
            quote=_stated(look),
        )
    else:
        return None
    return _because(look, "should_answer", sentence)


def _of_the_answer(look: RedTurnEvidence) -> RootCause | None:
    """The answer makes something up, or does not use what it needed; what is made up comes first."""
    # Only rude words beside a right answer are no invention.
    plain = all(each.kind == "unsupported" for each in look.unsupported)
    # Rude words beside the right content stand in no article either.
    only_rude = plain and look.agreement.recall >= RIGHT and _objecting(look)
    if plain and _is_about_tone(look):
        return _because(look, "tone", look.red.reason)
    if look.unsupported and not only_rude:
        # Never sure: what stands nowhere may follow from what does, or only be said in other words.
        return _because(look, "invented", _unsupported(look))
    facts = look.scores.get("facts")
    if facts and facts.state == "scored" and facts.severity == "major":
        sentence = _("The answer differs from the desk's own facts: {reason}", reason=facts.reason)
        return _because(look, "invented", sentence)
    if look.need.place == "retrieved" and not look.is_right:
        return _because(look, "ignored", _ignored(look), sure=_is_neighbours(look))
    return None


def _is_neighbours(look: RedTurnEvidence) -> bool:
    """Whether the needed detail was there, and the answer gives another one that was there in its place."""
    found = look.agreement
    return (
        look.came_whole
        and not look.said_before
        and bool(found.instead)
        and all(located(each, look.passages) is not None for each in (*found.lacks, *found.instead))
    )


def _tone(look: RedTurnEvidence) -> RootCause | None:
    """The content is fine, so that only the wording remains; None where the content is not.

    Where no model graded the whole answer, only a judge of tone can say so: counting hears no tone.
    """
    if objecting := _objecting(look):
        # The judge with the lowest grade says what to change.
        worst = min(objecting, key=lambda score: score.value or 0.0)
        fine = _("The content is fine; the wording is not.")
        return _because(look, "tone", sentences(fine, worst.reason))
    if not look.is_right:
        return None
    if any(map(look.repeats, look.context.earlier)):
        again = _(
            "The content agrees with the right answer, but the bot repeated its earlier answer word for word."
        )
        return _because(look, "misunderstood", again)
    # Neither counted words nor a judge of the content alone has anything to say about how it sounds.
    deciding = look.scores.get("turn")
    if deciding is None or is_stand_in(deciding):
        agrees = _("The content agrees with the right answer; counting words cannot tell what is wrong.")
        return _because(look, "unclear", sentences(agrees, look.red.reason))
    right = _("The content agrees with the right answer; what remains seems to be the wording.")
    return _because(look, "tone", sentences(right, look.red.reason))


def _objecting(look: RedTurnEvidence) -> list[Score]:
    """The scores of judges of tone that object."""
    found = [look.scores[name] for name in TONE if name in look.scores]
    return [s for s in found if s.state == "scored" and s.value is not None and s.value < OBJECTS]


def _is_about_tone(look: RedTurnEvidence) -> bool:
    """Whether a model's reason is about how it is said, and the answer lacks no detail."""
    deciding = look.scores.get("turn")
    by_model = deciding is not None and not is_stand_in(deciding)
    return by_model and not look.agreement.lacks and bool(_OF_TONE.search(normalise(look.red.reason)))


def _unclear(look: RedTurnEvidence) -> RootCause:
    """No question has found a cause: the judge's own reason is all there is to say."""
    if look.need.place == "hidden":
        hidden = _("The bot does not show what it retrieved, so search and answer cannot be told apart.")
        return _because(look, "unclear", hidden)
    unclear = _("What was retrieved, the right answer and the grades do not show why this turn is red.")
    return _because(look, "unclear", sentences(unclear, look.red.reason))


# The evidence in words.


def _quote(text: str) -> Message:
    """A text in quotation marks, shortened."""
    return _('"{text}"', text=quoted(text))


def _stated(look: RedTurnEvidence) -> Message:
    """What the answer states first, in quotation marks."""
    return _quote(next(iter(claims(look.said, look.language)), look.said))


def _right_answer(look: RedTurnEvidence) -> Text:
    """The right answer in quotation marks, shortened; empty if none is known."""
    return next(map(_quote, look.references), "")


def _article(look: RedTurnEvidence) -> Message:
    """The needed articles by title and id; at most two, of those that came first."""
    articles = look.need.articles
    if look.need.place == "retrieved":
        ids = {article_of(passage.id) for passage in look.turn.answer.passages}
        articles = tuple(each for each in articles if each in ids) or articles
    # Two are enough to find them by; a comparison may need four.
    names = [_named(look, each) for each in articles[:2]]
    if len(names) > 1:
        return _("{one} and {other}", one=names[0], other=names[1])
    return names[0] if names else _("The needed article")


def _named(look: RedTurnEvidence, article: str) -> Message:
    """One article by title and id."""
    if title := look.title(article):
        return _('"{title}" ({id})', title=title, id=article)
    return _("Passage {id}", id=article)


def _unsupported(look: RedTurnEvidence) -> Message:
    """The gravest unsupported statement."""
    first = look.unsupported[0]
    text = _quote(first.text)
    if first.kind == "contradicted":
        return _("The answer contradicts the retrieved passages: {quote}", quote=text)
    if first.kind == "numbers":
        return _(
            "The answer gives figures that are in no retrieved passage ({numbers}): {quote}",
            numbers=tuple(each.text for each in first.details[:3]),
            quote=text,
        )
    return _("The answer states what is in no retrieved passage: {quote}", quote=text)


def _ignored(look: RedTurnEvidence) -> Message:
    """Which part of the needed article the answer leaves out, or says otherwise.

    One figure for another is named as such, if the rest of the answer is about the same.
    """
    found, name = look.agreement, _article(look)
    # The other amount stands in the same sentence as the right one would.
    if len(found.instead) == len(found.lacks) == 1 and found.recall >= SAME_MATTER:
        right, wrong = (each[0].text for each in (found.lacks, found.instead))
        return _(
            'The search found {article}, but the answer says "{wrong}" where "{right}" is right.',
            article=name,
            right=right,
            wrong=wrong,
        )
    if need := _missing_part(look):
        return _(
            "The search found {article}, but the answer leaves out what it says ({need}).",
            article=name,
            need=need,
        )
    return _("The search found {article}, but the answer makes no use of it.", article=name)


def _cut_off(look: RedTurnEvidence) -> Message:
    """Which article came in part, and which part of it did not."""
    return _(
        "A piece of {article} was retrieved, but not the one with the answer ({need}):"
        " articles are cut in the wrong places.",
        article=_article(look),
        need=_missing_part(look) or _right_answer(look),
    )


def _missing_part(look: RedTurnEvidence) -> Message | None:
    """The part of the right answer that is missing: its weightiest clause, or its numbers."""
    found = look.agreement
    if found.missing:
        return _quote(
            max(found.missing, key=lambda text: (bool(specifics_of(text)), total_weight(topic_units(text))))
        )
    shown = tuple(each.text for each in found.lacks[:3])
    return _("{parts}", parts=shown) if shown else None
