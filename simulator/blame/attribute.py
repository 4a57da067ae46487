"""The cause of every red turn, from what was retrieved in that turn, the gold and the scores.

Questions are asked of a turn in a fixed order, and the first one that has an answer names the cause: whose
failure comes first in the chain customer, knowledge, search, answer is the one to be mended first.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from simulator.blame import telling
from simulator.blame.cause import Blame, Cause, Found
from simulator.blame.corpus import Corpus
from simulator.blame.look import RIGHT, Look
from simulator.blame.missing import missing
from simulator.blame.outdated import outdated
from simulator.blame.telling import say
from simulator.core.types import Conversation, GradingContext, Passage, Results, Score, Turn, compact
from simulator.stats.figures import Summary
from simulator.users.faults import spoilt_turns

Articles = tuple[Passage, ...]

# Judges of how something is said; below this value (0..1) they object.
TONE, OBJECTS = ("tone", "keigo", "fluency"), 0.7


class Named(NamedTuple):
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
    found: Mapping[tuple[str, int], Found] = {},
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
    found: Mapping[tuple[str, int], Found] = {},
) -> Iterator[Look]:
    """The red turns, each with everything that bears on its cause."""
    corpus = Corpus(articles) if articles else None
    faults = spoilt_turns(results)
    turns = {(talk.id, turn.index): (talk, turn) for talk in results.conversations for turn in talk.turns}
    scores: dict[tuple[str, int], dict[str, Score]] = {}
    for score in results.scores:
        scores.setdefault((score.conversation, score.turn), {})[score.judge] = score
    for red in summary.reddest:
        at = red.conversation, red.turn
        if at in turns:
            exhibit = _exhibit(*turns[at])
            yield Look(red, exhibit, scores.get(at, {}), corpus, found.get(at), faults.get(at))


def _exhibit(talk: Conversation, turn: Turn) -> GradingContext:
    earlier = tuple(each for each in talk.turns if each.index < turn.index)
    return GradingContext(
        conversation=talk.id, case=talk.case, persona=talk.persona, turn=turn, earlier=earlier
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


def _no_answer(look: Look) -> Named | None:
    if not look.red.failure:
        return None
    kind = look.red.failure
    known = kind if kind in {"timeout", "empty", "error"} else "error"
    return Named("no_answer", say(look, "no_answer", kind=say(look, f"kind_{known}")), sure=True)


def _customer(look: Look) -> Named | None:
    return Named("customer", say(look, "customer", reason=look.fault.reason)) if look.fault else None


def _should_refuse(look: Look) -> Named | None:
    """What no article answers was answered."""
    if look.reading.expected != "refuse" or look.reading.refused or look.reading.only_asks:
        return None
    return Named("should_refuse", say(look, "should_refuse", quote=telling.answer(look)))


def _refused_badly(look: Look) -> Named | None:
    """What was rightly declined, and is red all the same, was said badly."""
    if look.reading.expected != "refuse":
        return None
    return _tone(look) or _unclear(look)


def _complaint(look: Look) -> Named | None:
    """A complaint wants an apology and a person: it was taken for a question, or answered coldly."""
    if look.reading.expected != "comfort":
        return None
    if look.reading.handed_over:
        return _tone(look) or (
            None if look.reading.apologises else Named("tone", say(look, "complaint_cold"))
        )
    if look.reading.refused:
        return Named("misunderstood", say(look, "complaint_refused"))
    return Named("misunderstood", say(look, "complaint_explained", quote=telling.answer(look)))


def _outdated(look: Look) -> Named | None:
    """What was retrieved says another amount than the right answer, and the bot passed it on faithfully."""
    wrong = None if look.reading.refused else outdated(look)
    if wrong is None:
        return None
    evidence = say(
        look, "outdated", article=telling.named(look, wrong.article), right=wrong.right, wrong=wrong.said
    )
    return Named("outdated", evidence, articles=(wrong.article,))


def _not_there(look: Look) -> Named | None:
    """The needed article was not among the passages, and the answer is not right without it."""
    if look.need.place not in {"lacking", "not_retrieved", "outside"}:
        return None
    if look.is_right and not look.unsupported and not look.reading.refused:
        return None
    return Named(*missing(look))


def _doubtful_need(look: Look) -> Named | None:
    """Nobody can tell by words whether the answer is in the knowledge: it may follow from an article."""
    if look.need.place != "doubtful":
        return None
    if look.is_right and not look.unsupported and not look.reading.refused:
        return None
    key = "doubtful" if look.need.articles else "doubtful_nowhere"
    values = {"article": telling.article(look)} if look.need.articles else {}
    return Named("unclear", say(look, key, need=telling.needed(look), **values))


def _should_answer(look: Look) -> Named | None:
    if not look.reading.refused:
        return None
    if look.need.place == "retrieved":
        return Named("should_answer", say(look, "should_answer", article=telling.article(look)))
    if look.case.answerable or look.need.place == "hidden":
        return Named("should_answer", say(look, "should_answer_marked"))
    return None


def _asks_back(look: Look) -> Named | None:
    if not look.reading.only_asks or not look.case.answerable:
        return None
    return Named("should_answer", say(look, "asks_back", quote=telling.answer(look)))


def _invented(look: Look) -> Named | None:
    """The answer states what nothing bears out, although what it needed was there."""
    if look.unsupported and not _only_rude(look):
        return Named("invented", telling.unsupported(look))
    facts = look.scores.get("facts")
    if facts and facts.state == "scored" and facts.severity == "major":
        return Named("invented", say(look, "facts", reason=facts.reason))
    return None


def _misunderstood(look: Look) -> Named | None:
    """The answer is right for another question."""
    if look.is_right or not (earlier := look.answers_earlier()):
        return None
    return Named("misunderstood", say(look, "earlier_question", earlier=telling.quote(earlier)))


def _ignored(look: Look) -> Named | None:
    """What was needed was retrieved and is not in the answer."""
    if look.is_right or look.need.place != "retrieved":
        return None
    return Named("ignored", telling.ignored(look))


def _doubtful(look: Look) -> Named | None:
    """All is as it should be but for a claim that was not found."""
    if not look.is_right or not look.doubtful or _objecting(look):
        return None
    told = say(look, "unsupported", quote=say(look, "quote", text=telling.quote(look.doubtful)))
    return Named("invented", told)


def _no_handover(look: Look) -> Named | None:
    if look.case.handover != "required" or look.reading.handed_over:
        return None
    return Named("misunderstood", say(look, "no_handover", quote=telling.answer(look)))


def _tone(look: Look) -> Named | None:
    """The content is fine, so that only how it is said remains."""
    if objecting := _objecting(look):
        worst = min(objecting, key=lambda score: score.value or 0.0)
        return Named("tone", say(look, "tone", reason=worst.reason))
    if look.reading.expected == "answer" and look.reading.repeats and look.is_right:
        return Named("misunderstood", say(look, "repeats"))
    if look.is_right and not look.read_by_anyone:
        return Named("unclear", say(look, "only_words"))
    if look.is_right:
        return Named("tone", say(look, "tone_guess", reason=look.red.reason))
    return None


def _objecting(look: Look) -> list[Score]:
    """The grades of judges of tone that object."""
    found = [look.scores[name] for name in TONE if name in look.scores]
    return [s for s in found if s.state == "scored" and s.value is not None and s.value < OBJECTS]


def _only_rude(look: Look) -> bool:
    """Whether what no passage says is but the rude words beside a right answer."""
    plain = all(each.key == "unsupported" for each in look.unsupported)
    return plain and look.agreement.score >= RIGHT and bool(_objecting(look))


def _hidden(look: Look) -> Named | None:
    return Named("unclear", say(look, "hidden")) if look.need.place == "hidden" else None


def _unclear(look: Look) -> Named:
    return Named("unclear", say(look, "unclear", reason=look.red.reason))


RULES: tuple[Callable[[Look], Named | None], ...] = (
    _no_answer, _customer, _should_refuse, _refused_badly, _complaint, _outdated, _not_there, _doubtful_need,
    _should_answer,
    _asks_back, _invented, _misunderstood, _ignored, _no_handover, _doubtful, _tone, _hidden, _unclear,
)  # fmt: skip
