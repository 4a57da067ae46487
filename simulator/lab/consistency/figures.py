"""How consistent the answers of a run are: which answers to the same question disagree, and how often.

Two answers disagree when they say different things about the same matter: another figure, or yes against no.
That is counted without a model. What one says and the other does not mention is no disagreement.

    "The fee is 1,100 yen."     "The fee is 2,200 yen."      another figure, of the same unit
    "You can cancel online."    "You cannot cancel online."  yes against no
    "The fee is 1,100 yen."     "It is free for students."   nothing: they may both hold
    手数料は1,100円です。       "The fee is 2,200 yen."      another figure, if 1,100 yen is expected

Everybody who asked one question must be told the same: all personas, repeats, wordings (`variant:ID` in the
tags) and languages of a case (`subject`). Every two of their conversations are a pair, a question's share is
that of its pairs that agree, and the run's the mean over questions, with an interval over these.

Alarms have to be right more than complete, because each is read by somebody: on 1,012 conversations of the
bundled bot there was none. Where models compared the answers (lab/consistency/across.py), their verdict
goes before what is counted.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, product
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from simulator.core.errors import RunFileError
from simulator.core.messages import _
from simulator.core.types import Case, Conversation, Results, Turn, Value
from simulator.lab.consistency.wording import content_units, negated_words, share, topic_units, total_weight
from simulator.results.intervals import interval_of_mean
from simulator.text.figures import Figure, differing, figures
from simulator.text.segments import clauses, normalise, sentences
from simulator.text.typography import nfkc, straight

# `judged`: a model said so, with its reason.
What = Literal["detail", "polarity", "judged"]
Rows = TypeVar("Rows")
# Two statements are about the same thing when, figures apart, this share (0..1) of each is in the other: the
# fees of two plans are told in the same words but for the names of the plans.
ALIKE = 0.72
# A statement of less weight than HEAVY, without its figures, must be the same in every word that counts; one
# of less than LEAST says too little to be recognised. Weight is that of topic units, rare words weighing
# more.
HEAVY, LEAST = 3.0, 1.5
# Two statements that deny and affirm must share more: a clause more or less turns a meaning.
ALIKE_DENIED = 0.8
# What names one of several things: プランA, eSIM, マンション. A name on one side only makes two subjects.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9\-]*|[ァ-ヺー]{2,}")
# Of English words those with a capital, a figure, or a letter that English does not have: eSIM, Light, not
# "plan".
_ENGLISH_NAME = re.compile(r"[A-Z0-9]|[^ -~]")
# A price with these words is the same as without them.
_WITH_TAX = re.compile(
    r"[(（]?(?:税込み?|消費税込み?)(?:で|の)?[)）]?|,? ?\(?(?:incl(?:uding|\.)? tax|tax included)\)?",
    re.IGNORECASE,
)
# A clause of fewer characters is no statement.
SHORTEST = 5
# What is taken out of two clauses to see whether they are the same but for a negation: of 解約できません and
# 解約できます there stays 解約でき.
_NEGATION = re.compile(
    r"ません|ます|(?<=[^\s])ない(?:です)?|です|\bdo(?:es)?(?: not|n't)\b|\bnot\b|n't\b|(?<=can)not\b"
)
# A sentence that asks: "?" anywhere, or one of the polite endings with か. It states nothing.
_QUESTION = re.compile(r"[?？]|(?:です|ます|でしょう|ません)か[。.]?$")
_DIGITS = re.compile(r"[\d.:-]")


class Disagreement(Value):
    """Two statements, word for word, that cannot both hold; `details` are the figures that differ.

    `reason` is that of a model, where one judged.
    """

    what: What
    one: str
    other: str
    details: tuple[str, str] = ("", "")
    reason: str = ""


@lru_cache(maxsize=4096)
def disagreement(first: str, other: str) -> Disagreement | None:
    """The first disagreement of two answers in the same language; None when there is none."""
    if first == other:
        return None
    return next(_differing(first, other), None) or _denying(first, other)


def _differing(first: str, other: str) -> Iterator[Disagreement]:
    """Statements that are alike but for a figure that the other answer does not have anywhere."""

    def only_in(answer: str, elsewhere: str) -> list[tuple[str, Figure]]:
        return [
            (sentence, detail)
            for sentence in sentences(answer)
            for detail in figures(sentence)
            if not is_in(detail, elsewhere)
        ]

    # A figure that the other answer has anywhere, however written, is agreed on.
    others = only_in(other, first)
    for sentence, detail in only_in(first, other):
        for against, figure in others:
            if unit_of(figure) == unit_of(detail) and alike(sentence, against):
                details = (detail.text, figure.text)
                yield Disagreement(what="detail", one=sentence, other=against, details=details)


def _denying(first: str, other: str) -> Disagreement | None:
    """A clause that affirms what one of the other answer denies, both about the same thing."""
    for clause, opposite in product(stated_clauses(first), stated_clauses(other)):
        if denies(clause) != denies(opposite) and _is_same_matter(clause, opposite):
            return Disagreement(what="polarity", one=clause, other=opposite)
    return None


@lru_cache(maxsize=512)
def stated_clauses(text: str) -> tuple[str, ...]:
    """The clauses of a text that state something: not those of questions."""
    stated = (sentence for sentence in sentences(text) if not _QUESTION.search(sentence))
    return tuple(clause for sentence in stated for clause in clauses(sentence))


@lru_cache(maxsize=4096)
def denies(clause: str) -> bool:
    """Whether a clause is negated, and not twice: できません is, できないわけではありません is not."""
    return len(negated_words(clause)) % 2 == 1


@lru_cache(maxsize=4096)
def _affirmed(text: str) -> str:
    """A clause without its negation, politeness and punctuation."""
    return re.sub(r"[\s、。.,!！]+", "", _NEGATION.sub("", normalise(text)))


def _is_same_matter(first: str, other: str) -> bool:
    """Whether two clauses are the same but for a negation, or share nearly all words, names and figures."""
    if min(len(first), len(other)) >= SHORTEST and _affirmed(first) == _affirmed(other):
        return True
    if _names(_bare(first)) != _names(_bare(other)):
        return False
    units, others = content_units(first), content_units(other)
    shared = min(share(units, others), share(others, units))
    details = [{detail.value for detail in figures(text)} for text in (first, other)]
    return shared >= ALIKE_DENIED and details[0] == details[1]


@lru_cache(maxsize=4096)
def across_languages(first: str, other: str, expected: tuple[str, ...]) -> Disagreement | None:
    """A disagreement of answers to the same question in two languages, by details that need no words.

    Only where each answer has one detail of a kind and unit, and one of the two is what the question is
    about: it is among the `expected` answers. Any other two figures may be about different things. None where
    they do not disagree, or where nobody can tell.
    """
    details_one, details_other = _lone_details(first), _lone_details(other)
    for unit in sorted(details_one.keys() & details_other.keys()):
        detail, against = details_one[unit], details_other[unit]
        is_said = is_in(detail, other) or is_in(against, first)
        if not is_said and is_in(detail, *expected) != is_in(against, *expected):
            return Disagreement(
                what="detail",
                one=_sentence_with(detail, first),
                other=_sentence_with(against, other),
                details=(detail.text, against.text),
            )
    return None


def _lone_details(text: str) -> dict[str, Figure]:
    """The details of a text that are the only ones of their kind and unit."""
    by_unit: dict[str, dict[str, Figure]] = {}
    for detail in figures(text):
        by_unit.setdefault(unit_of(detail), {})[detail.value] = detail
    return {unit: next(iter(details.values())) for unit, details in by_unit.items() if len(details) == 1}


def _sentence_with(specific: Figure, text: str) -> str:
    return next((sentence for sentence in sentences(text) if specific.text in sentence), specific.text)


def alike(first: str, other: str) -> bool:
    """Whether two statements are about the same thing, apart from the figures in them."""
    bare_one, bare_other = _bare(first), _bare(other)
    if _names(bare_one) != _names(bare_other):
        return False
    units_one, units_other = topic_units(bare_one), topic_units(bare_other)
    lighter = min(total_weight(units_one), total_weight(units_other))
    shared = min(share(units_one, units_other), share(units_other, units_one))
    return lighter >= LEAST and shared >= (ALIKE if lighter >= HEAVY else 1.0)


def is_in(detail: Figure, *texts: str) -> bool:
    """Whether one of the texts has this detail, however it is written."""
    return detail not in differing(detail.text, texts)


def unit_of(detail: Figure) -> str:
    """What a detail can be compared with: its kind, and its unit.

    1,100 yen is `amount:円`, 8 days `span:分` (spans are minutes), a telephone number `phone:`.
    """
    return f"{detail.kind}:{_DIGITS.sub('', detail.value)}"


@lru_cache(maxsize=4096)
def _bare(statement: str) -> str:
    """A statement without its figures: of "The fee is 1,100 yen (tax included)." there stays "The fee is .".

    Longer details first, because 1,100 stands in 11,100, too.
    """
    plain = nfkc(straight(statement))
    for detail in sorted(figures(statement), key=lambda detail: -len(detail.text)):
        plain = re.sub(re.escape(detail.text), " ", plain, flags=re.IGNORECASE)
    return re.sub(r"[0-9]+", " ", _WITH_TAX.sub(" ", plain))


@lru_cache(maxsize=4096)
def _names(statement: str) -> frozenset[str]:
    """The names in a statement: katakana words, and Latin letters within Japanese or with a capital.

    An English word names something with a capital within the sentence, or with figures in it.
    """
    words = _NAME.findall(straight(statement))
    if not re.search("[ぁ-んァ-ヶ一-鿿]", statement):
        # The capital at the beginning of a sentence is none of a name.
        no_names = {"I", *(word.capitalize() for word in words[:1])}
        words = [word for word in words if _ENGLISH_NAME.search(word) and word not in no_names]
    return frozenset(map(str.lower, words))


# Why two answers must agree: the same case; or the same question in other words or another language. The tag
# that names a case's question is `variant:fees`.
Link = Literal["same_case", "same_question"]
VARIANT = "variant:"
# The note of a run with what models made of the answers to its questions.
NOTE = "consistency"
SEED = 42
# The part of an id that is a language: of fees-01-ja, ja/fees and fees_en.v2, not of japan-01.
_LANGUAGE_PART = re.compile(r"[-_./](?:ja|en)(?=$|[-_./])|^(?:ja|en)[-_./]")


class Clash(Value):
    """Two answers that cannot both hold, with the statements word for word."""

    link: Link
    one: str
    one_turn: int
    other: str
    other_turn: int
    found: Disagreement


class JudgedQuestion(Value):
    """What the model `by` made of the answers to one question: who was told what contradicts what.

    `conversations` are all whose answers it compared.
    """

    by: str
    conversations: tuple[str, ...]
    clashes: tuple[Clash, ...] = ()


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

    `low` and `high` are its 95 % interval over questions; None for too few of them. `judged` names the models
    that compared answers to the same question, and is empty where only figures and yes or no were compared.
    `cases` are the questions that at least two conversations asked.
    """

    cases: tuple[CaseConsistency, ...] = ()
    judged: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def share(self) -> float | None:
        """The mean over the questions; None when nothing was asked twice."""
        return sum(case.share for case in self.cases) / len(self.cases) if self.cases else None

    @property
    def clashes(self) -> tuple[Clash, ...]:
        """Every disagreement."""
        return tuple(clash for case in self.cases for clash in case.clashes)

    def as_json(self) -> dict[str, Any]:
        """The figures for `--json`, with every disagreement."""
        return {
            "share": self.share,
            "low": self.low,
            "high": self.high,
            "cases": [{"case": case.case, "pairs": case.pairs, "share": case.share} for case in self.cases],
            "disagreements": [clash.model_dump(mode="json") for clash in self.clashes],
            "judged_by": self.judged,
        }


def consistency(results: Results) -> Consistency:
    """Compares a run's answers to the same questions; asks no bot and no model."""
    # By ids: a large run does not fit into memory, and each group is read when it is compared.
    groups: dict[str, list[str]] = defaultdict(list)
    for conversation in results.conversations:
        if answered(conversation):
            groups[subject(conversation.case)].append(conversation.id)
    questions = judged_of(results)
    judged = {(clash.one, clash.other): clash for question in questions for clash in question.clashes}
    cases = []
    for case, members in groups.items():
        if len(members) < 2:
            continue
        pairs = list(combinations(results.conversations.with_ids(members), 2))
        clashes = tuple(
            clash
            for first, other in pairs
            if (
                clash := judged.get((first.id, other.id))
                or judged.get((other.id, first.id))
                or _clash(first, other)
            )
        )
        cases.append(CaseConsistency(case=case, pairs=len(pairs), clashes=clashes))
    shares, names = [case.share for case in cases], [case.case for case in cases]
    low, high = interval_of_mean(shares, names, seed=SEED) or (None, None)
    by = tuple(sorted({question.by for question in questions}))
    return Consistency(cases=tuple(cases), judged=by, low=low, high=high)


def judged_of(results: Results) -> tuple[JudgedQuestion, ...]:
    """What models made of the answers to one question; raises RunFileError for an unreadable note."""
    return stored_rows(results, NOTE, TypeAdapter(tuple[JudgedQuestion, ...]))


def stored_rows(results: Results, note: str, rows: TypeAdapter[Rows]) -> Rows:
    """What a note of the run holds; raises RunFileError where another version wrote it otherwise."""
    try:
        return rows.validate_python(results.notes.get(note, []))
    except ValidationError:
        msg = _("the cross-examination in this run file is of another version: cross-examine RUN --again.")
        raise RunFileError(msg) from None


def subject(case: Case) -> str:
    """What a case asks, the same for its wordings: its tag `variant:ID`, or its id without the language."""
    tagged = next((tag.removeprefix(VARIANT) for tag in case.tags if tag.startswith(VARIANT)), "")
    return tagged or _LANGUAGE_PART.sub("", case.id) or case.id


def _clash(first: Conversation, other: Conversation) -> Clash | None:
    """The first disagreement of two conversations; turns of the same number first, which are most alike.

    In two languages only the first answers are compared: they are the ones to the same question.
    """
    expected = (*first.case.references_at(1), *other.case.references_at(1))
    # Of two conversations one clash is enough: they are one pair.
    pairs = product(answered(first), answered(other))
    for turn, against in sorted(pairs, key=lambda pair: abs(pair[0].index - pair[1].index)):
        texts = turn.answer.text, against.answer.text
        clash = None
        if first.case.language == other.case.language:
            clash = disagreement(*texts)
        elif turn.index == against.index == 1:
            clash = across_languages(*texts, expected)
        if clash:
            turns = {"one_turn": turn.index, "other_turn": against.index}
            return Clash(link=link_of(first, other), one=first.id, other=other.id, found=clash, **turns)
    return None


def link_of(first: Conversation, other: Conversation) -> Link:
    """Why the answers of these two must agree."""
    return "same_case" if first.case.id == other.case.id else "same_question"


def answered(conversation: Conversation) -> list[Turn]:
    """The turns that got an answer."""
    return [turn for turn in conversation.turns if not turn.answer.error and turn.answer.text.strip()]
