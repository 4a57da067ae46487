"""How far texts share their words: an answer and its passages, an answer and a reference, and so on.

Everything here is counted, nothing inferred: whether a sentence denies what a passage affirms is left to
models. On public label sets the plain share of words did as well as anything finer (benchmarks/validity.py).
First the units that texts are compared by, then support by passages and agreement with a reference; both of
them about one turn are in turn_evidence.py.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from sys import intern
from typing import Literal, NamedTuple

from simulator.core.types import Case, Language
from simulator.text.acts import is_refusal, parts, passes_on
from simulator.text.numerals import Quantity, quantities, units_by_value, unmatched
from simulator.text.segments import clauses, normalise, sentences, tokens

# Weights of a single token; a pair of neighbours weighs half the mean of its two. Hiragana and stop words are
# not worthless: a copied sentence shares them too, an invented one does not.
CONTENT, HIRAGANA, STOP, PAIR = 1.0, 0.5, 0.2, 0.5

_FUNCTION_WORDS = """
    a about above after again all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he
    her here hers him his how i if in into is it its itself just may me might more most must my no nor not
    now of off on once one only or other our ours out over own please shall she should so some such than
    that the their theirs them then there these they this those through to too under until up upon us very
    was we were what when where which while who whom why will with would yes you your yours it's i'm i'd
    i'll i've we're we've we'll you're you'll you've that's there's they're let's don't doesn't didn't
    can't cannot couldn't won't wouldn't isn't aren't wasn't weren't shouldn't haven't hasn't
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
_HIRAGANA = re.compile("[\u3041-\u309f\u30fc]")
_BETWEEN = "\t"


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A word without the commonest English endings: charge, charges, charged, charging give charg."""
    plain = word.removesuffix("'s")
    for ending in ("ing", "ed", "es", "s", "ly"):
        if plain.endswith(ending) and len(plain) - len(ending) >= 3 and not plain.endswith("ss"):
            plain = plain.removesuffix(ending)
            break
    if len(plain) > 3 and plain[-1] == plain[-2]:
        plain = plain[:-1]
    if len(plain) > 2 and plain.endswith("i"):
        plain = plain[:-1] + "y"
    return plain.removesuffix("e") if len(plain) > 3 else plain


@lru_cache(maxsize=1024)
def content_units(text: str) -> Counter[str]:
    """How often a text has each unit: its characters (CJK) or word stems, and their neighbouring pairs.

    The counter is shared between callers and must not be changed.
    """
    found = [token if token in STOP_WORDS else stem(token) for token in tokens(text)]
    # Interned: thousands of passages share most of their pairs.
    return Counter(map(intern, [*found, *map(_BETWEEN.join, pairwise(found))]))


@lru_cache(maxsize=512)
def topic_units(text: str) -> Counter[str]:
    """The units that carry content: those with a kanji, a katakana or a word that is no stop word.

    A text of grammar alone keeps all its units. The counter is shared and must not be changed.
    """
    units = content_units(text)
    topical = {unit: count for unit, count in units.items() if is_topical(unit)}
    return Counter(topical) or units


def is_topical(unit: str) -> bool:
    """Whether a unit carries content: a kanji, a katakana or a word that is no stop word."""
    return any(part not in STOP_WORDS and not _HIRAGANA.match(part) for part in unit.split(_BETWEEN))


@lru_cache(maxsize=65536)
def unit_weight(unit: str) -> float:
    """How much a unit says: content 1, hiragana 0.5, stop words 0.2, a pair half the mean of its two."""
    if _BETWEEN in unit:
        return PAIR * sum(map(unit_weight, unit.split(_BETWEEN))) / 2
    if unit in STOP_WORDS:
        return STOP
    return HIRAGANA if _HIRAGANA.match(unit) else CONTENT


def total_weight(units: Mapping[str, int]) -> float:
    """The summed weight of some units."""
    return sum(unit_weight(unit) * count for unit, count in units.items())


def share(units: Mapping[str, int], within: Collection[str]) -> float:
    """The share (0..1), by weight, of `units` that are also in `within`; 1 for no units at all.

    Of an answer in its passages this is precision, of a reference in an answer it is recall.
    """
    whole = total_weight(units)
    if not whole:
        return 1.0
    return sum(unit_weight(unit) * count for unit, count in units.items() if unit in within) / whole


def coverage(question: str, texts: Iterable[str]) -> float:
    """The share (0..1) of a question's content that these texts take up."""
    return share(topic_units(question), frozenset().union(*(content_units(text) for text in texts)))


# What is left of the support of a text with a number that no passage has (at most a grade of 3), and with one
# of a single digit, which may be there in other words.
MISSING_NUMBER, MISSING_DIGIT = 0.45, 0.75
# What is left of the agreement with a reference where another figure stands in its place, or it is left out.
WRONG_NUMBER, LEFT_OUT = 0.1, 0.8
# An answer may say more than its reference; what it leaves out counts nine times as much.
RECALL = 0.9
# Clauses of less content than this are not reported as left out.
WORTH_SAYING = 3


class Support(NamedTuple):
    """How far passages support a text: the share (0..1) of its words that they have, by weight.

    `numbers` are those of its numbers that no passage has.
    """

    text: str
    share: float
    numbers: tuple[Quantity, ...] = ()

    @property
    def score(self) -> float:
        """The share found, less what missing numbers take from it."""
        if not self.numbers:
            return self.share
        only_digits = all(len(number.value) == 1 for number in self.numbers)
        return self.share * (MISSING_DIGIT if only_digits else MISSING_NUMBER)


class PassageContents(NamedTuple):
    """What some passages hold: units of wording, and of each number the units it has."""

    units: frozenset[str]
    numbers: dict[str, set[str]]


@lru_cache(maxsize=128)
def passage_contents(passages: tuple[str, ...]) -> PassageContents:
    """What these passages hold, remembered."""
    return PassageContents(
        frozenset().union(*(content_units(text) for text in passages)),
        units_by_value(each for text in passages for each in quantities(text)),
    )


def support(text: str, known: PassageContents, asked: str = "") -> Support:
    """How far passages support a text; the customer's own numbers count as known."""
    units, amounts = content_units(text), quantities(text)
    numbers = unmatched(unmatched(amounts, known.numbers), quantities(asked)) if amounts else []
    return Support(text, share(units, known.units), tuple(numbers))


class Agreement(NamedTuple):
    """How far an answer says what a reference says: `score` and `recall` 0..1, and what differs.

    `missing` are clauses and `numbers` amounts of the reference, `instead` the amounts in the same units
    that the answer gives and the reference does not. `overlap` is the score before numbers count.
    """

    score: float
    recall: float
    missing: tuple[str, ...] = ()
    numbers: tuple[Quantity, ...] = ()
    instead: tuple[Quantity, ...] = ()
    overlap: float = 0.0


@lru_cache(maxsize=1024)
def agreement(answer: str, reference: str, language: Language) -> Agreement:
    """How far an answer says what a reference says, without regard to order and to what it says beside."""
    outcomes = {_outcome(answer, language), _outcome(reference, language)}
    if outcomes != {"answer"}:
        score = 1.0 if len(outcomes) == 1 else 0.05 if "answer" in outcomes else 0.4
        return Agreement(score, float(len(outcomes) == 1))
    body, reference_body = without_courtesies(answer, language), without_courtesies(reference, language)
    wanted, said = topic_units(reference_body), content_units(body)
    if not wanted:
        is_there = float(normalise(reference).strip() in normalise(answer))
        return Agreement(is_there, is_there)
    recall, precision = share(wanted, said), share(topic_units(body), content_units(reference_body))
    amounts, own = quantities(reference_body), quantities(body)
    # The numbers with a unit; where there are none, all of them (a telephone number alone is the answer).
    missing = unmatched({each for each in amounts if each.unit} or amounts, own)
    kinds = {each.kind for each in unmatched(amounts, own)} - {""}
    instead = tuple(each for each in unmatched(own, amounts) if each.kind in kinds)
    overlap = RECALL * recall + (1 - RECALL) * precision
    left_out = (
        clause
        for sentence in sentences(reference_body)
        for clause in clauses(sentence)
        if total_weight(topic_units(clause)) >= WORTH_SAYING and share(topic_units(clause), said) < 0.5
    )
    score = overlap * number_factor(missing, instead)
    return Agreement(score, recall, tuple(left_out), tuple(missing), instead, overlap)


def number_factor(missing: Collection[Quantity], instead: Collection[Quantity]) -> float:
    """What is left of an agreement where numbers are missing, or others stand in their place."""
    return WRONG_NUMBER if instead else LEFT_OUT if missing else 1


def best_agreement(answer: str, references: Iterable[str], language: Language) -> Agreement:
    """The agreement with the nearest reference; none without references."""
    found = (agreement(answer, reference, language) for reference in references)
    return max(found, key=lambda each: each.score, default=Agreement(0.0, 0.0))


def _outcome(text: str, language: Language) -> str:
    if not is_refusal(text, language):
        return "answer"
    return "handover" if passes_on(text, language) else "refusal"


def without_courtesies(text: str, language: Language) -> str:
    """The text without its courtesies; all of it when there is nothing else."""
    rest = [part.text for part in parts(text, language) if part.act != "courtesy"]
    return "\n".join(rest) or text


# What an unrelated answer shares with a question all the same (median on the bundled questions).
CHANCE: dict[Language, float] = {"ja": 0.2, "en": 0.1}
# From this agreement with the reference on, a customer has what they came for.
ANSWERED = 0.45

ExpectedResponse = Literal["comfort", "refuse", "answer"]


def expected_response(case: Case) -> ExpectedResponse:
    """What a right answer does: `comfort` a complaint, `refuse` the unanswerable, or `answer`.

    A complaint is a case that must be handed over and has no answerability; without answerability, a
    case is unanswerable when all its references decline.
    """
    if case.answerable is None and case.handover == "required":
        return "comfort"
    known = all_references(case)
    declined = bool(known) and all(is_refusal(text, case.language) for text in known)
    return "refuse" if case.answerable is False or (case.answerable is None and declined) else "answer"


def all_references(case: Case) -> tuple[str, ...]:
    """The references of all turns."""
    return tuple(text for row in case.references for text in row)
