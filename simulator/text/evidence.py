"""How far texts share their words: an answer and its passages, an answer and a reference, and so on.

Everything here is counted, nothing inferred: whether a sentence denies what a passage affirms is left to
models. On public label sets the plain share of words did as well as anything finer (benchmarks/validity.py).
First the units that texts are compared by, then support by passages and agreement with a reference, in which
details (amounts, dates, addresses) are compared by what they mean: two weeks are 14 days; last both of them
about one turn, with what else can be counted there.

    content_units("the plans charge")   -> the, plan, charg, the+plan, plan+charg, once each
    support("解約金は4,800円です。", ("ホーム1ギガの解約金は5,000円です。",))
        -> share 0.80, number 4,800円 missing, score 0.36
    agreement("5,000円です。", "解約金は4,800円です。", "ja")
        -> score 0.02: it lacks 4,800円, and says 5,000円 instead

All functions are pure and cached by their texts, because several judges, the diagnosis and the offline
customers ask the same of one turn. `TurnEvidence` is what they share: it counts nothing before it is asked.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import pairwise, product
from pathlib import Path
from sys import intern
from typing import Literal, NamedTuple

from simulator.core.templates import read_toml
from simulator.core.types import Case, GradingContext, Language
from simulator.text.acts import (
    LONGEST,
    Part,
    apologises,
    is_refusal,
    negated_words,
    parts,
    passes_on,
)
from simulator.text.entities import (
    Measure,
    Specific,
    Token,
    are_periods,
    bare_numbers,
    details_of,
    follows,
    is_alike,
    is_said,
    lacking,
    located,
    matters,
    numbers_in,
    required,
)
from simulator.text.segments import CJK, clauses, normalise, sentences, tokens
from simulator.text.typography import straight_pattern
from simulator.text.wording import wording

# Weights of a single token; a pair of neighbours weighs half the mean of its two. Hiragana and stop words are
# not worthless: a copied sentence shares them too, an invented one does not.
CONTENT, HIRAGANA, STOP, PAIR = 1.0, 0.5, 0.2, 0.5

# Words that nearly every English answer has; contractions stand with their straight apostrophe.
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
# Between the two tokens of a pair: no token holds white space.
_BETWEEN = "\t"


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A word without the commonest English endings: charge, charges, charged, charging give charg.

    Far less than Porter's stemmer, and enough for an overlap: cities and city meet, classes become clas.
    Words of other scripts pass unchanged.
    """
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


class Units(Counter[str]):
    """How often a text has each unit."""

    @cached_property
    def weight(self) -> float:
        """The summed weight of all of them, for which a text is asked time and again."""
        return sum(unit_weight(unit) * count for unit, count in self.items())


@lru_cache(maxsize=1024)
def content_units(text: str) -> Units:
    """How often a text has each unit: its characters (CJK) or word stems, and their neighbouring pairs.

    The counter is shared between callers and must not be changed.
    """
    found = [token if token in STOP_WORDS else stem(token) for token in tokens(text)]
    # Interned: thousands of passages share most of their pairs.
    return Units(map(intern, [*found, *map(_BETWEEN.join, pairwise(found))]))


@lru_cache(maxsize=512)
def topic_units(text: str) -> Units:
    """The units that carry content: those with a kanji, a katakana or a word that is no stop word.

    A text of grammar alone keeps all its units, so that "それは何ですか" is about something. The counter is
    shared and must not be changed.
    """
    units = content_units(text)
    topical = {unit: count for unit, count in units.items() if is_topical(unit)}
    return Units(topical) or units


@lru_cache(maxsize=65536)
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
    return (units if isinstance(units, Units) else Units(units)).weight


def share(units: Mapping[str, int], within: Collection[str]) -> float:
    """The share (0..1), by weight, of `units` that are also in `within`; 1 for no units at all.

    Of an answer in its passages this is precision, of a reference in an answer it is recall. 料金は無料 has
    0.7 of its weight in 料金は千円.
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
# A reference with less content than this may be said in words that it does not have.
TELLING = 4
# Questions that share this much of their content ask the same: a later line that does presses for an answer.
SAME = 0.5
# Less than this share of what a reference says beyond the question, or of all that it says, is chance.
LITTLE_NEW, LITTLE = 0.08, 0.2
# Clauses of less content than this are not reported as left out.
WORTH_SAYING = 3
# From this share of a reference's words on an answer says the same.
SAME_WORDS = 0.6
# From this share on an answer with all the details of a reference does so, be it worded as a refusal.
SAYS_PART = 0.4
# A part of a reference with less of its words in an answer is missing, though all its details are there.
UNSAID = 0.2


class Support(NamedTuple):
    """How far passages support a text: the share (0..1) of its words that they have, by weight.

    `numbers` are those of its amounts, dates and the like that no passage has.
    """

    text: str
    share: float
    numbers: tuple[Specific, ...] = ()

    @property
    def score(self) -> float:
        """The share found, less what missing numbers take from it.

        Multiplied by `MISSING_NUMBER`, or by `MISSING_DIGIT` where all that is missing are single digits.
        """
        if not self.numbers:
            return self.share
        only_digits = all(
            isinstance(each.meaning, Measure) and max(map(len, each.meaning.values)) == 1
            for each in self.numbers
        )
        return self.share * (MISSING_DIGIT if only_digits else MISSING_NUMBER)


@lru_cache(maxsize=128)
def contents(passages: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The units of wording that these passages hold, and their numbers that have no unit; remembered.

    Several judges and sentences ask the same few passages, of which each may be an article.
    """
    units = frozenset().union(*map(content_units, passages))
    return units, frozenset().union(*(bare_numbers(normalise(text), 10) for text in passages))


def support(text: str, passages: tuple[str, ...], asked: str = "") -> Support:
    """How far passages support a text; the customer's own numbers are known, those in words are not read."""
    units, bare = contents(passages)
    numbers = (each for each in lacking(text, (*passages, asked)) if re.search(r"\d", each.text))
    # In "the first 12 monthly payments" the 12 may be months.
    unknown = (
        e for e in numbers if not isinstance(e.meaning, Measure) or not bare.issuperset(e.meaning.values)
    )
    return Support(text, share(content_units(text), units), tuple(unknown))


class Agreement(NamedTuple):
    """How far an answer says what a reference says: `score` and `recall` 0..1, and what differs.

    `missing` are clauses of the reference. Of its details (amounts, dates and the like) that are to be said,
    the answer has those that are `right` and `lacks` the others; `instead` are those that it gives where none
    of their kind is right. `is_beside` says that it has next to nothing of the reference's words beyond the
    question, or where these are too few to tell, of all of them.
    """

    score: float
    recall: float
    missing: tuple[str, ...] = ()
    lacks: tuple[Specific, ...] = ()
    instead: tuple[Specific, ...] = ()
    right: tuple[Specific, ...] = ()
    is_beside: bool = True

    @property
    def has_details(self) -> bool:
        """Whether there are details to say, and none is lacking."""
        return bool(self.right) and not self.lacks

    @property
    def open_details(self) -> tuple[Specific, ...]:
        """The details that it lacks, and of whose kind or unit it says no other.

        Where a right price is said and another one left out, nothing stands in the place of the latter.
        """
        right = {getattr(each.meaning, "unit", each.kind) for each in self.right}
        return tuple(each for each in self.lacks if getattr(each.meaning, "unit", each.kind) not in right)

    @property
    def is_same(self) -> bool:
        """Whether the answer says what the reference says: all its details, or else most of its words."""
        if self.missing or self.lacks:
            return False
        return self.has_details or self.recall >= SAME_WORDS


@lru_cache(maxsize=1024)
def agreement(
    answer: str, reference: str, language: Language, known: tuple[str, ...] = (), asked: str = ""
) -> Agreement:
    """How far an answer says what a reference says, without regard to order and to what it says beside.

    `known` are the passages and the question: of a sum that they do not have only the result has to be said.
    `asked` is all that the customer has said so far.

    Answers and refusals are compared by kind first: two refusals agree (1), a refusal where an answer is
    right has 0.05, a handover where a refusal is right 0.4. Two answers have nine parts of recall and one of
    precision, times `WRONG_NUMBER` where another figure stands in a right one's place, or `LEFT_OUT` where
    one is missing.
    """
    body, wanted = without_courtesies(answer, language), without_courtesies(reference, language)
    units, said = topic_units(wanted), content_units(body)
    details = required(wanted, known)
    # What the customer knows need not be said, unless it is all.
    details = tuple(e for e in details if located(e, known[-1:]) is None) or details
    # A figure of a sentence copied from an article on something else is not the one that was asked for.
    lacks = tuple(
        each
        for each in details
        if not is_said(each, body) or (known and _is_copied(each, body, wanted, known))
    )
    right = tuple(each for each in details if each not in lacks)
    found = Agreement(0.0, 0.0, lacks=lacks, right=right)
    # What the customer said stands in no other figure's place.
    others = lacking(body, (wanted, *known[-1:])) if lacks else ()
    instead = tuple(
        each
        for each in others
        if any(is_alike(each, one) or are_periods(each, one) for one in found.open_details)
    )
    missing: list[str] = []
    outcomes = {
        _outcome(answer, language, refused=refuses(answer, (reference,), language)),
        _outcome(reference, language, refused=is_refusal(reference, language)),
    }
    if outcomes != {"answer"}:
        score = 1.0 if len(outcomes) == 1 else 0.05 if "answer" in outcomes else 0.4
        recall = float(len(outcomes) == 1)
    elif not units:
        score = recall = float(normalise(reference).strip() in normalise(answer))
    else:
        recall, precision = share(units, said), share(topic_units(body), content_units(wanted))
        missing = [
            clause
            for sentence in sentences(wanted)
            for clause in clauses(sentence)
            if total_weight(topic_units(clause)) >= WORTH_SAYING
            and share(topic_units(clause), said) < (UNSAID if found.has_details else 0.5)
            and not (found.has_details and details_of(clause))
        ]
        score = RECALL * recall + (1 - RECALL) * precision
        is_other = any(is_alike(each, one) for each, one in product(others, lacks))
        score *= WRONG_NUMBER if is_other else LEFT_OUT if lacks else 1
    old = content_units(asked)
    new_units = {unit: count for unit, count in units.items() if unit not in old}
    is_told = total_weight(new_units) >= TELLING
    is_beside = share(new_units, said) < LITTLE_NEW
    if not is_told:
        is_beside = total_weight(units) >= TELLING and share(units, said) < LITTLE
    return found._replace(
        score=score, recall=recall, missing=tuple(missing), instead=instead, is_beside=is_beside
    )


def _is_copied(detail: Specific, text: str, wanted: str, known: Sequence[str]) -> bool:
    """Whether all sentences with this detail stand in a passage, and say not a word of what was asked."""
    *passages, asked = known
    if located(detail, passages) is None:
        return False
    copied = frozenset().union(*map(content_units, passages))
    about = content_units(wanted).keys() | content_units(asked).keys()
    held = [_words(each) for each in sentences(text) if located(detail, [each]) is not None]
    return bool(held) and all(own and not own & about and own <= copied for own in held)


def _words(sentence: str) -> frozenset[str]:
    """What carries content in a sentence, beside its figures."""
    pieces = [sentence]
    for detail in details_of(sentence):
        pieces = [part for piece in pieces for part in piece.split(detail.text)]
    return frozenset(unit for piece in pieces for unit in content_units(piece) if is_topical(unit))


def best_agreement(answer: str, references: Iterable[str], language: Language) -> Agreement:
    """The agreement with the nearest reference; none without references.

    Several references are alternatives: the score is that of the one that agrees most, never a mean.
    """
    found = (agreement(answer, reference, language) for reference in references)
    return max(found, key=lambda each: each.score, default=Agreement(0.0, 0.0))


def refuses(answer: str, references: Iterable[str], language: Language) -> bool:
    """Whether an answer is worded as a refusal, and says not what a right answer says.

    An answer that says what the reference says declines nothing, however it is worded.
    """
    if not is_refusal(answer, language):
        return False
    right = (without_courtesies(each, language) for each in references if not is_refusal(each, language))
    return not any(_says(answer, each, language) for each in right)


def _says(refusal: str, wanted: str, language: Language) -> bool:
    """Whether what is worded as a refusal says all details of this, and part of its words."""
    if share(topic_units(wanted), content_units(without_courtesies(refusal, language))) < SAYS_PART:
        return False
    details = details_of(wanted)
    return bool(details) and all(is_said(each, refusal) for each in details)


def _outcome(text: str, language: Language, *, refused: bool) -> str:
    if not refused:
        return "answer"
    return "handover" if passes_on(text, language) else "refusal"


def without_courtesies(text: str, language: Language) -> str:
    """The text without its courtesies; all of it when there is nothing else."""
    rest = [part.text for part in parts(text, language) if part.act != "courtesy"]
    return "\n".join(rest) or text


# From this share of its content on, and without a detail of its own, an answer says only what was said.
NOTHING_NEW = 0.9


def says_it_again(answer: str, earlier: Sequence[str], language: Language) -> bool:
    """Whether an answer, its courtesies aside, only says again what these earlier ones said.

    It may be put together anew. A short one ("はい、できます") may answer another question in the same words,
    and is one only where it is the same to the letter.
    """
    if not answer.strip():
        return False
    if answer.strip() in {text.strip() for text in earlier}:
        return True
    said = without_courtesies(answer, language)
    units = topic_units(said)
    if not earlier or total_weight(units) < TELLING or lacking(said, earlier):
        return False
    denied = {word for text in earlier for word in negated_words(text)}
    within = frozenset().union(*map(content_units, earlier))
    return share(units, within) >= NOTHING_NEW and denied.issuperset(negated_words(said))


# What an unrelated answer shares with a question all the same (median on the bundled questions).
CHANCE: dict[Language, float] = {"ja": 0.2, "en": 0.1}
# From this agreement with the reference on, a customer has what they came for.
ANSWERED = 0.45

ExpectedResponse = Literal["comfort", "refuse", "answer"]


def expected_response(case: Case) -> ExpectedResponse:
    """What a right answer does: `comfort` a complaint, `refuse` the unanswerable, or `answer`.

    Without answerability, a case is unanswerable when all its references decline. A complaint goes before
    both: it wants an apology, not an article.
    """
    if case.is_complaint:
        return "comfort"
    known = all_references(case)
    declined = bool(known) and all(is_refusal(text, case.language) for text in known)
    return "refuse" if case.answerable is False or (case.answerable is None and declined) else "answer"


def is_follow_up(context: GradingContext) -> bool:
    """Whether a later turn asks something else than the case's first question, which `answerable` is about.

    It does where it has right answers of its own, or the case has its words (as a log has) and they are about
    another matter. "Are you sure?" and the same in other words press for the first one, and so do customers
    who are played, as far as can be counted.
    """
    if context.turn.index == 1 or context.references:
        return context.turn.index > 1
    return bool(context.case.script) and is_another_matter(context)


def is_another_matter(context: GradingContext) -> bool:
    """Whether the customer's line has a topic, which is not that of the case's first question."""
    topic = topic_units(context.turn.user)
    return total_weight(topic) >= TELLING and share(topic, content_units(context.case.question)) < SAME


def all_references(case: Case) -> tuple[str, ...]:
    """The references of all turns."""
    return tuple(text for row in case.references for text in row)


# --- What an answer says beside the matter: where else to ask, kind words, advice any desk could give ---

# Beyond the courtesies of dialogue_acts.toml, for those who must not take such a sentence for a statement.
_COURTESIES = Path(__file__).with_name("courtesies.toml")
# How somebody can be reached: a sentence with other details says something about the matter.
_REACHED_BY = frozenset({"phone", "email", "url", "hours", "time"})
_CONTACTS = frozenset({"lead", "contact", "referral"})
# What is no statement, unless it has a detail.
_BESIDE = ("page", "kindness", "advice")
_IS_CJK = re.compile(f"[{CJK}]")


@lru_cache(maxsize=1024)
def statements(text: str, language: Language) -> tuple[str, ...]:
    """What an answer states about the matter: neither courtesies nor questions, nor where else to ask.

    「料金は990円です。詳しくは公式サイトをご覧ください。」 states the first sentence.
    """
    return tuple(
        part.text
        for part in parts(text, language)
        if part.act in {"claim", "no_handover", *_CONTACTS}
        and not sends_away(part, language)
        and (details_of(part.text) or not any(_matches(kind, part.text, language) for kind in _BESIDE))
    )


@lru_cache(maxsize=1024)
def declines(text: str, language: Language) -> bool:
    """Whether an answer declines, be it only by sending the customer politely to somebody else.

    What it states about the matter beside may be as long as that, no longer: a price and its conditions with
    "ask our shop for more" behind them are an answer, one word before the same sentence is none.
    """
    found = parts(text, language)
    if any(part.act == "refusal" for part in found) and is_refusal(text, language):
        return True
    away = [part.text for part in found if part.act in {"refusal", "handover"} or sends_away(part, language)]
    return bool(away) and len("".join(statements(text, language))) <= len("".join(away))


def sends_away(part: Part, language: Language) -> bool:
    """Whether a part of an answer says only where else to ask.

    A sentence with a price or a date is about the matter, whoever it names; opening hours, telephone numbers
    and addresses are how somebody is reached (`_REACHED_BY`).
    """
    kinds = {each.kind for each in details_of(part.text)}
    is_page = _matches("page", part.text, language)
    is_contact = (part.act in _CONTACTS and not is_page) or _matches("elsewhere", part.text, language)
    return is_contact and kinds <= _REACHED_BY


def _matches(kind: str, text: str, language: Language) -> bool:
    plain = normalise(text)
    if len(plain) > LONGEST:
        return False
    return bool(_patterns(language if _IS_CJK.search(text) else "en")[kind].search(plain))


@cache
def _patterns(language: Language) -> dict[str, re.Pattern[str]]:
    table = read_toml(_COURTESIES)[language]
    return {
        kind: re.compile(straight_pattern("|".join(f"(?:{pattern})" for pattern in patterns)))
        for kind, patterns in table.items()
    }


# --- One turn ---

# A day that a date may be counted from: 明日, 来週, Monday, today.
_SOME_DAY = re.compile(
    r"[月火水木金土日]曜|本日|今日|明日|明後日|昨日|来週|先週|今週|来月|先月|今月|月末"
    r"|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|tonight|tomorrow|tmrw|yesterday|now)\b"
    r"|\b(?:next|last|this) (?:week|month|year|weekend)"
)


def declines_wrongly(answer: str, wanted: Iterable[str], agreed: Agreement, language: Language) -> bool:
    """Whether an answer declines where the right ones do not.

    Where a right answer is to ask somebody else, saying so is no refusal.
    """
    if not declines(answer, language) or agreed.recall >= SAYS_PART:
        return False
    refers = names_contact(answer, language)
    return not any(
        (refers and declines(each, language))
        or any(isinstance(e.meaning, Token) and located(e, [answer]) is not None for e in details_of(each))
        for each in wanted
    )


def names_contact(answer: str, language: Language) -> bool:
    """Whether an answer names somebody to turn to: a number to call, a shop, the staff it passes on to."""
    return any(part.act in {"contact", "referral", "handover"} for part in parts(answer, language))


class TurnEvidence:
    """What can be counted about one turn, cached by text so that judges share it.

    `agreement` and `context.references` are of this turn; `agreed` and `wanted` fall back on the references
    of all turns, because a later turn mostly asks again what the case asks. `known` is what the bot may rely
    on here: this turn's passages, and the question.
    """

    def __init__(self, context: GradingContext) -> None:
        """Nothing is counted before it is asked for."""
        self.context, self.case = context, context.case
        self.language = context.case.language
        self.answer = context.turn.answer.text
        self.passages = tuple(passage.text for passage in context.turn.answer.passages)
        self.say = wording(self.language)

    @cached_property
    def refused(self) -> bool:
        """Whether the answer refuses, is nothing but a handover, or sends the customer elsewhere."""
        return declines_wrongly(self.answer, self.wanted, self.agreed, self.language)

    @cached_property
    def handed_over(self) -> bool:
        """Whether the bot passes the customer on to a person."""
        return passes_on(self.answer, self.language)

    @cached_property
    def apologises(self) -> bool:
        """Whether it says sorry."""
        return apologises(self.answer, self.language)

    @cached_property
    def has_contact(self) -> bool:
        """Whether it names somebody to turn to."""
        return names_contact(self.answer, self.language)

    @cached_property
    def only_asks(self) -> bool:
        """Whether it asks back and states nothing."""
        acts = {part.act for part in parts(self.answer, self.language)}
        return "question" in acts and acts <= {"question", "courtesy"}

    @cached_property
    def hints_at_refusal(self) -> bool:
        """Whether it may decline in unlisted words: it asks, refuses in part, or gives an address."""
        found = parts(self.answer, self.language)
        contacts = [each.text for each in found if each.act in {"contact", "referral", "lead", "handover"}]
        gives = any(isinstance(each.meaning, Token) for text in contacts for each in details_of(text))
        return gives or any(each.act in {"question", "refusal", "no_handover"} for each in found)

    @cached_property
    def support(self) -> Support:
        """How far this turn's passages support the answer, its courtesies apart.

        Its numbers are those that matter and that nothing bears out: they stand neither there nor in anything
        else that is known, and follow from none of it. What the bot itself said in earlier turns bears
        nothing out: it may have been made up then.
        """
        body = "\n".join(statements(self.answer, self.language)) or self.answer
        found = support(body, self.passages, self.context.turn.user)
        known = (*self.known, *self.wanted, *self._said_before)
        said = [each for each in found.numbers if any(is_said(each, text) for text in known)]
        unknown = [each for each in found.numbers if matters(each) and each not in said]
        return found._replace(numbers=tuple(each for each in unknown if not self._follows(each, said)))

    def _follows(self, detail: Specific, said: Iterable[Specific] = ()) -> bool:
        """Whether a figure can be worked out, where there is something to work out.

        A date may be counted on from a day that the customer names. Sums are allowed where the question has
        numbers, or the reference has figures that no passage has; elsewhere two prices that happen to add up
        prove nothing.
        """
        asked, known = self.context.turn.user, (*self.known, *self.wanted, *(each.text for each in said))
        reckons = bool(numbers_in(asked)) or any(lacking(each, self.known) for each in self.wanted)
        if not isinstance(detail.meaning, Measure):
            return (reckons or bool(_SOME_DAY.search(normalise(asked)))) and follows(detail, known)
        return follows(detail, known, "\n".join((asked, *self.wanted, self.answer)), sums=reckons)

    @property
    def _said_before(self) -> list[str]:
        """What the customer said before, and what was retrieved; the bot may have made up what it said."""
        history = [message.content for message in self.case.history]
        passages = [passage.text for turn in self.context.earlier for passage in turn.answer.passages]
        return [*history, *(turn.user for turn in self.context.earlier), *passages]

    @cached_property
    def differs(self) -> bool:
        """Whether figures show that the answer says something else than the reference.

        It gives another one in its place, or not the one that had to be worked out, or none and little else.
        """
        found = self.agreed
        unknown = (each for each in found.open_details if located(each, self.known) is None)
        if found.instead or any(map(self._follows, unknown)):
            return True
        is_little = found.recall < SAYS_PART and not found.right
        return bool(found.lacks) and is_little and not self._works_out_a_time

    @property
    def _works_out_a_time(self) -> bool:
        """Whether it says for this customer when that is, which the reference says for all."""
        own = (each for each in lacking(self.answer, self.passages) if each.kind in {"date", "time", "hours"})
        return any(self._follows(each) or located(each, [self.context.turn.user]) is not None for each in own)

    @cached_property
    def known(self) -> tuple[str, ...]:
        """The passages and the question."""
        return (*self.passages, self.context.turn.user)

    @cached_property
    def agreement(self) -> Agreement:
        """How far it says what the nearest reference of this turn says."""
        return self._agreed(self.context.references)

    @cached_property
    def agreed(self) -> Agreement:
        """The same of the references of all turns, where this turn has none of its own."""
        return self._agreed(self.wanted)

    def _agreed(self, references: Iterable[str]) -> Agreement:
        asked = "\n".join(turn.user for turn in (*self.context.earlier, self.context.turn))
        found = (agreement(self.answer, each, self.language, self.known, asked) for each in references)
        return max(found, key=lambda each: each.score, default=Agreement(0.0, 0.0))

    @cached_property
    def expected(self) -> ExpectedResponse:
        """What a right answer to this turn does; that the first question has none says nothing of others."""
        expected = expected_response(self.case)
        if expected != "refuse" or not is_follow_up(self.context):
            return expected
        own = self.context.references
        return "refuse" if own and all(is_refusal(text, self.language) for text in own) else "answer"

    @property
    def wanted(self) -> tuple[str, ...]:
        """The references of this turn; where it has none of its own, those of all turns of the case.

        That the first question is declined is no right answer to another one.
        """
        if expected_response(self.case) == "refuse" and is_follow_up(self.context):
            return self.context.references
        return self.context.references or all_references(self.case)

    @cached_property
    def already_answered(self) -> bool:
        """Whether an earlier turn gave the answer that the case's reference gives."""
        earlier = (turn.answer.text for turn in self.context.earlier)
        known = all_references(self.case)
        return any(best_agreement(text, known, self.language).score >= ANSWERED for text in earlier)
