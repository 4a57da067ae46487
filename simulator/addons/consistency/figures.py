"""Where two answers say different things of the same matter: another figure, or yes against no.

Counted without a model. What is merely said in one answer and not in the other is no disagreement.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal

from simulator.core.types import Case, Conversation, Results, Turn, Value
from simulator.stats.intervals import interval_of_mean
from simulator.text.entities import Specific, located, specifics_of
from simulator.text.entity_meaning import Measure
from simulator.text.evidence import Clause, contradicts, mass, share, stated, topic_units
from simulator.text.segments import normalise, sentences
from simulator.text.typography import straight

What = Literal["detail", "polarity"]

# Two statements are about the same thing when, figures apart, this share (0..1) of each is in the other.
ALIKE = 0.72
# A statement of less weight than OWN, without its figures, must be the same in every word that counts; one of
# less than LEAST tells too little to be known by.
OWN, LEAST = 3.0, 1.5
# A reply that is about what was asked shares so much of the claim's topic, or the claim of the reply's.
REPLIES = 0.3
# Two statements that deny and affirm must share more: a clause more or less turns a meaning.
ALIKE_DENIED = 0.8
# What names one of several things: プランA, eSIM, マンション. One that only one side has makes two subjects.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9\-]*|[ァ-ヺー]{2,}")
# What a reply to a yes-or-no question begins with.
_YES_NO = re.compile(r"\s*(?:(はい|ええ|yes\b)|(いいえ|いえ、|no\b(?=[,.]| )))", re.IGNORECASE)
# As prices are told to customers: with or without these words, the same.
_WITH_TAX = re.compile(
    r"[(（]?(?:税込み?|消費税込み?)(?:で|の)?[)）]?|,? ?\(?(?:incl(?:uding|\.)? tax|tax included)\)?",
    re.IGNORECASE,
)
# A clause of fewer characters is no statement.
SHORTEST = 5
_NEGATION = re.compile(
    r"ません|ます|(?<=[^\s])ない(?:です)?|です|\bdo(?:es)?(?: not|n't)\b|\bnot\b|n't\b|(?<=can)not\b"
)
_UNCHECKED = ("url", "email")


class Disagreement(Value):
    """Two statements, word for word, that cannot both hold; `details` are the figures that differ."""

    what: What
    one: str
    other: str
    details: tuple[str, str] = ("", "")


@lru_cache(maxsize=4096)
def disagreement(one: str, other: str) -> Disagreement | None:
    """The first disagreement of two answers in the same language; None when there is none to be seen."""
    if one == other:
        return None
    return next(_differing(one, other), None) or _denying(one, other)


@lru_cache(maxsize=4096)
def across_languages(one: str, other: str, expected: tuple[str, ...]) -> Disagreement | None:
    """A disagreement of answers to the same question in two languages, by details that need no words.

    Only where each answer has one detail of a kind and unit, and one of the two is what the question is
    about: it is among the `expected` answers. Two other figures may be told of two other things.
    """
    here, there = _lone(one), _lone(other)
    for unit in sorted(here.keys() & there.keys()):
        mine, theirs = here[unit], there[unit]
        if located(mine, (other,)) is not None or located(theirs, (one,)) is not None:
            continue
        if (located(mine, expected) is None) != (located(theirs, expected) is None):
            quotes = _sentence_with(mine, one), _sentence_with(theirs, other)
            return Disagreement(
                what="detail", one=quotes[0], other=quotes[1], details=(mine.text, theirs.text)
            )
    return _replying(one, other)


def alike(one: str, other: str) -> bool:
    """Whether two statements are about the same thing, apart from the figures in them."""
    here, there = _bare(one), _bare(other)
    if _names(here) != _names(there):
        return False
    mine, theirs = topic_units(here), topic_units(there)
    least = min(mass(mine), mass(theirs))
    wanted = ALIKE if least >= OWN else 1.0
    return least >= LEAST and min(share(mine, theirs), share(theirs, mine)) >= wanted


def takes_up(reply: str, claim: str) -> bool:
    """Whether a reply to a question about a claim is about it: next to nothing but a figure, or on its topic.

    Less is asked than of two statements that were made apart: what the reply is about has been told.
    """
    bare, about = _bare(reply), _bare(claim)
    mine, theirs = topic_units(bare), topic_units(about)
    shared = max(share(mine, theirs), share(theirs, mine))
    return _names(bare) <= _names(about) and (mass(mine) < OWN or shared >= REPLIES)


def unit_of(specific: Specific) -> str:
    """What a detail can be compared with: its kind, and its unit."""
    meaning = specific.meaning
    return f"{specific.kind}:{meaning.unit}" if isinstance(meaning, Measure) else specific.kind


def checkable(text: str) -> tuple[Specific, ...]:
    """The details of a text that a customer would rely upon; addresses of pages are none."""
    return tuple(each for each in specifics_of(text) if each.kind not in _UNCHECKED)


def _differing(one: str, other: str) -> Iterator[Disagreement]:
    """Statements that are alike but for a figure that the other answer does not have anywhere."""
    for here in sentences(one):
        for mine in _foreign(here, other):
            for there in sentences(other):
                theirs = [each for each in _foreign(there, one) if unit_of(each) == unit_of(mine)]
                if theirs and alike(here, there):
                    details = (mine.text, theirs[0].text)
                    yield Disagreement(what="detail", one=here, other=there, details=details)


def _foreign(statement: str, answer: str) -> list[Specific]:
    """The details of a statement that an answer does not hold."""
    return [each for each in checkable(statement) if located(each, (answer,)) is None]


def _denying(one: str, other: str) -> Disagreement | None:
    """A clause that affirms what one of the other answer denies, both about the same thing."""
    known = stated(other)
    for clause in stated(one):
        if clause.denies is None:
            continue
        for against in known:
            opposed = contradicts(clause, (against,)) and _is_same(clause, against)
            if opposed or _is_turned(clause, against):
                return Disagreement(what="polarity", one=clause.text, other=against.text)
    return None


def _is_turned(clause: Clause, against: Clause) -> bool:
    """Whether two clauses are the same word for word, but for one negation: できます, できません."""
    told = None not in (clause.denies, against.denies) and clause.denies != against.denies
    return told and len(clause.text) >= SHORTEST and _affirmed(clause.text) == _affirmed(against.text)


@lru_cache(maxsize=4096)
def _affirmed(text: str) -> str:
    """A clause without its negation, politeness and punctuation."""
    return re.sub(r"[\s、。.,!！]+", "", _NEGATION.sub("", normalise(text)))


def _is_same(clause: Clause, against: Clause) -> bool:
    if _names(_bare(clause.text)) != _names(_bare(against.text)):
        return False
    both = share(clause.units, against.units), share(against.units, clause.units)
    return min(both) >= ALIKE_DENIED and {each.canonical for each in checkable(clause.text)} == {
        each.canonical for each in checkable(against.text)
    }


def _replying(one: str, other: str) -> Disagreement | None:
    """はい against No, where both answers begin with one of them."""
    here, there = _YES_NO.match(one), _YES_NO.match(other)
    if here and there and bool(here[1]) != bool(there[1]):
        return Disagreement(what="polarity", one=sentences(one)[0], other=sentences(other)[0])
    return None


@lru_cache(maxsize=4096)
def _bare(statement: str) -> str:
    """A statement without its figures."""
    for each in sorted(specifics_of(statement), key=lambda each: -len(each.text)):
        statement = statement.replace(each.text, " ")
    statement = _WITH_TAX.sub(" ", statement)
    return re.sub(r"[0-9０-９]+", " ", statement)


@lru_cache(maxsize=4096)
def _names(statement: str) -> frozenset[str]:
    """The names in a statement: katakana words, and Latin letters within Japanese or with a capital."""
    japanese = bool(re.search("[ぁ-んァ-ヶ一-鿿]", statement))
    found = _NAME.findall(straight(statement))
    capital = [word for word in found if japanese or not word.isascii() or _is_name(word, statement)]
    return frozenset(word.lower() for word in capital)


def _is_name(word: str, statement: str) -> bool:
    """Whether an English word names something: a capital within the sentence, or letters with figures."""
    at_start = statement.lstrip().startswith(word)
    named = word[0].isupper() and word != "I" and (not at_start or (word.isupper() and len(word) > 1))
    return named or any(map(str.isdigit, word))


def _lone(text: str) -> dict[str, Specific]:
    """The details of a text that are the only ones of their kind and unit."""
    found: dict[str, dict[str, Specific]] = {}
    for each in checkable(text):
        found.setdefault(unit_of(each), {})[each.canonical] = each
    return {unit: next(iter(each.values())) for unit, each in found.items() if len(each) == 1}


def _sentence_with(specific: Specific, text: str) -> str:
    return next((each for each in sentences(text) if specific.text in each), specific.text)


# Why two conversations must agree: the same case; the same question in other words or another language; or,
# of different questions, the same gold passages. Those of the last kind count only where they disagree.
Link = Literal["same_case", "same_question", "same_passages"]
VARIANT = "variant:"
SEED = 42
_Said = tuple[Conversation, Turn]
_LANGUAGE_PART = re.compile(r"[-_./](?:ja|en)(?=$|[-_./])|^(?:ja|en)[-_./]")


class Clash(Value):
    """Two answers that cannot both hold, with the statements word for word."""

    link: Link
    one: str
    one_turn: int
    other: str
    other_turn: int
    found: Disagreement


class CaseConsistency(Value):
    """The pairs of conversations about one question, and those among them that disagree."""

    case: str
    pairs: int
    clashes: tuple[Clash, ...] = ()

    @property
    def share(self) -> float:
        """The share (0..1) of pairs that agree."""
        return 1 - len(self.clashes) / self.pairs if self.pairs else 1.0


class Consistency(Value):
    """The consistency of a run: the mean share of agreeing pairs over its questions, 0..1.

    `low` and `high` bound it in 95 of 100 samples of questions; None for fewer than two. `beside` are
    disagreements between different questions on the same passages: they are told, not counted.
    """

    cases: tuple[CaseConsistency, ...] = ()
    beside: tuple[Clash, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def share(self) -> float | None:
        """The mean over the questions; None when nothing was asked twice."""
        return sum(case.share for case in self.cases) / len(self.cases) if self.cases else None

    @property
    def clashes(self) -> tuple[Clash, ...]:
        """Every disagreement, those between different questions last."""
        return (*(clash for case in self.cases for clash in case.clashes), *self.beside)


def consistency(results: Results) -> Consistency:
    """What a run's answers to the same questions have in common; asks nobody."""
    conversations = [
        conversation
        for conversation in results.conversations
        if any(_is_said(turn) for turn in conversation.turns)
    ]
    groups: dict[str, list[Conversation]] = defaultdict(list)
    for conversation in conversations:
        groups[subject(conversation.case)].append(conversation)
    cases = tuple(_of_group(case, members) for case, members in groups.items() if len(members) > 1)
    low, high = _interval(cases)
    return Consistency(cases=cases, beside=tuple(_beside(list(groups.values()))), low=low, high=high)


def subject(case: Case) -> str:
    """What a case asks, the same for its wordings: its tag `variant:ID`, or its id without the language."""
    tagged = next((tag.removeprefix(VARIANT) for tag in case.tags if tag.startswith(VARIANT)), "")
    return tagged or _LANGUAGE_PART.sub("", case.id) or case.id


def _of_group(case: str, members: Sequence[Conversation]) -> CaseConsistency:
    pairs = list(combinations(members, 2))
    found = (_clash(one, other) for one, other in pairs)
    return CaseConsistency(case=case, pairs=len(pairs), clashes=tuple(clash for clash in found if clash))


def _clash(one: Conversation, other: Conversation) -> Clash | None:
    """The first disagreement of two conversations about the same question."""
    link: Link = "same_case" if one.case.id == other.case.id else "same_question"
    if one.case.language == other.case.language:
        return next(_statements(one, other, link), None)
    here, there = one.turns[0], other.turns[0]
    if not (_is_said(here) and _is_said(there)):
        return None
    expected = (*one.case.references_at(1), *other.case.references_at(1))
    found = across_languages(here.answer.text, there.answer.text, expected)
    return _clashing((one, here), (other, there), link, found) if found else None


def _statements(one: Conversation, other: Conversation, link: Link) -> Iterator[Clash]:
    """Answers to the same question first: they are most likely to tell the same."""
    pairs = [
        (here, there) for here in one.turns for there in other.turns if _is_said(here) and _is_said(there)
    ]
    for here, there in sorted(pairs, key=lambda pair: abs(pair[0].index - pair[1].index)):
        if found := disagreement(here.answer.text, there.answer.text):
            yield _clashing((one, here), (other, there), link, found)


def _clashing(one: _Said, other: _Said, link: Link, found: Disagreement) -> Clash:
    (here, turn), (there, other_turn) = one, other
    return Clash(
        link=link,
        one=here.id,
        one_turn=turn.index,
        other=there.id,
        other_turn=other_turn.index,
        found=found,
    )


def _beside(groups: Sequence[Sequence[Conversation]]) -> Iterator[Clash]:
    """Different questions whose gold passages are the same: one clash for each pair of questions."""
    by_passages: dict[tuple[str, ...], list[Sequence[Conversation]]] = defaultdict(list)
    for members in groups:
        languages = {
            (conversation.case.language, *sorted(conversation.case.passages))
            for conversation in members
            if conversation.case.passages
        }
        for key in sorted(languages):
            by_passages[key].append(
                [conversation for conversation in members if conversation.case.language == key[0]]
            )
    for sharing in by_passages.values():
        for one, other in combinations(sharing, 2):
            found = (clash for a in one for b in other for clash in _statements(a, b, "same_passages"))
            if clash := next(found, None):
                yield clash


def _interval(cases: Sequence[CaseConsistency]) -> tuple[float | None, float | None]:
    """Of the mean share, by question."""
    shares, names = [case.share for case in cases], [case.case for case in cases]
    return interval_of_mean(shares, names, seed=SEED) or (None, None)


def _is_said(turn: Turn) -> bool:
    return turn.answer.error is None and bool(turn.answer.text.strip())
