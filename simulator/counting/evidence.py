"""How far texts bear each other out: an answer its passages, an answer a reference, an answer a question."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from simulator.core.types import Language
from simulator.counting.dialogue_acts import claims, is_handover, is_refusal, parts
from simulator.counting.polarity import Clause, contradicts, stated
from simulator.counting.quantities import Quantity, quantities, unmatched
from simulator.counting.segments import clauses, normalise, sentences
from simulator.counting.units import content_units, count_units, in_runs, mass, runs, share, topic_units

# What is left of a sentence's support when all its numbers are missing, or some of it is contradicted.
MISSING_NUMBER, CONTRADICTED = 0.5, 0.5
# A claim of this much weight of which less than this share is found is invented.
SOME_LENGTH, INVENTED = 6, 0.3
# How much runs of characters count beside single ones and pairs, in a script without spaces.
RUNS = 0.7
# What is left of the agreement with a reference: another figure or the opposite is wrong, a figure left out
# is only incomplete.
WRONG_NUMBER, WRONG_SIDE, LEFT_OUT = 0.2, 0.2, 0.8
# An answer may say more than its reference; what it leaves out counts nine times as much.
RECALL = 0.9
# Clauses of less content than this are not reported as left out.
WORTH_SAYING = 3
# Clauses are compared each with each: beyond these many the rest is taken not to contradict.
MOST_CLAUSES, MOST_KNOWN = 200, 2000


class Finding(NamedTuple):
    """One sentence: the share (0..1) of it that is borne out, its weight, and what speaks against it."""

    text: str
    share: float
    weight: float
    numbers: tuple[Quantity, ...] = ()
    contradicted: tuple[str, ...] = ()
    missing: float = 0.0

    @property
    def is_invented(self) -> bool:
        """Whether hardly anything is found of a sentence of some length, however good the rest is."""
        return self.share < INVENTED and self.weight >= SOME_LENGTH

    @property
    def support(self) -> float:
        """The share found, less what missing numbers (`missing` of all) and contradictions take from it."""
        kept = 1 - (1 - MISSING_NUMBER) * self.missing
        return self.share * kept * (CONTRADICTED if self.contradicted else 1)


class Support(NamedTuple):
    """What the passages bear out of an answer.

    `score` covers every sentence; `claims` are the findings on those that state something, and `beside`
    those on what an answer declines to say beside its claims.
    """

    score: float
    claims: tuple[Finding, ...]
    beside: tuple[Finding, ...] = ()

    @property
    def claimed(self) -> float:
        """The supported share of what is claimed, and declined beside it, by weight; 1 when nothing is."""
        return _pooled((*self.claims, *self.beside))

    @property
    def invented(self) -> float:
        """The share (0..1) by weight of claims of some length that are hardly found at all."""
        whole = sum(claim.weight for claim in self.claims)
        return sum(claim.weight for claim in self.claims if claim.is_invented) / whole if whole else 0.0

    @property
    def numbers(self) -> tuple[Quantity, ...]:
        """Numbers that no passage has."""
        return tuple(dict.fromkeys(number for claim in self.claims for number in claim.numbers))

    @property
    def contradicted(self) -> tuple[str, ...]:
        """Clauses of which a passage says the opposite."""
        return tuple(clause for claim in self.claims for clause in claim.contradicted)


class Agreement(NamedTuple):
    """How far an answer says what a reference says: `score` and `recall` 0..1, and what differs.

    `missing` are clauses and `numbers` amounts of the reference, `instead` the amounts in the same units
    that the answer gives and the reference does not, `contradicted` clauses with the opposite sense.
    """

    score: float
    recall: float
    missing: tuple[str, ...] = ()
    numbers: tuple[Quantity, ...] = ()
    instead: tuple[Quantity, ...] = ()
    contradicted: tuple[str, ...] = ()


class Known(NamedTuple):
    """What some passages hold: units, runs of characters, clauses and numbers."""

    units: frozenset[str]
    runs: frozenset[str]
    clauses: tuple[Clause, ...]
    numbers: frozenset[Quantity]


@lru_cache(maxsize=512)
def support(answer: str, passages: tuple[str, ...], language: Language, asked: str = "") -> Support:
    """What these passages bear out of an answer, by sentence; numbers that the customer gave are known."""
    known = known_of(passages)
    known = known._replace(numbers=known.numbers | quantities(asked))
    findings = {sentence: finding(sentence, known) for sentence in sentences(answer)}
    stating = [findings.get(claim) or finding(claim, known) for claim in claims(answer, language)]
    declined = [part.text for part in parts(answer, language) if part.act == "refusal"] if stating else []
    if declined and is_refusal(answer, language):
        declined = []
    beside = tuple(findings.get(text) or finding(text, known) for text in declined)
    return Support(_pooled(findings.values()), tuple(stating), beside)


@lru_cache(maxsize=1024)
def agreement(answer: str, reference: str, language: Language) -> Agreement:
    """How far an answer says what a reference says, without regard to order and to what it says beside."""
    outcomes = {_outcome(answer, language), _outcome(reference, language)}
    if outcomes != {"answer"}:
        score = 1.0 if len(outcomes) == 1 else 0.05 if "answer" in outcomes else 0.4
        return Agreement(score, float(len(outcomes) == 1))
    said, meant = matter(answer, language), matter(reference, language)
    wanted, given = topic_units(meant), topic_units(said)
    if not wanted:
        is_said = float(normalise(reference).strip() in normalise(answer))
        return Agreement(is_said, is_said)
    recall, precision = share(wanted, content_units(said)), share(given, content_units(meant))
    lacking = unmatched(_amounts(meant), quantities(said))
    others = unmatched(quantities(said), quantities(meant))
    instead = _instead(unmatched(quantities(meant), quantities(said)), others)
    against = _denied(said, stated(meant)) or _denied(meant, stated(said))
    score = RECALL * recall + (1 - RECALL) * precision
    score *= (WRONG_NUMBER if instead else LEFT_OUT if lacking else 1) * (WRONG_SIDE if against else 1)
    left_out = tuple(clause for clause in clauses_of(meant) if _is_left_out(clause, said))
    return Agreement(score, recall, left_out, tuple(lacking), tuple(instead), tuple(against))


def best_agreement(answer: str, references: Iterable[str], language: Language) -> Agreement:
    """The agreement with the nearest reference; none without references."""
    found = (agreement(answer, reference, language) for reference in references)
    return max(found, key=lambda each: each.score, default=Agreement(0.0, 0.0))


def coverage(question: str, texts: Iterable[str]) -> float:
    """The share (0..1) of a question's content that these texts take up."""
    asked = topic_units(question)
    return share(asked, frozenset().union(*(content_units(text) for text in texts)))


def clauses_of(text: str) -> list[str]:
    """All clauses of a text."""
    return [clause for sentence in sentences(text) for clause in clauses(sentence)]


@lru_cache(maxsize=128)
def known_of(passages: tuple[str, ...]) -> Known:
    """What these passages hold, remembered."""
    return Known(
        frozenset().union(*(content_units(text) for text in passages)),
        frozenset().union(*(runs(text) for text in passages)),
        tuple(clause for text in passages for clause in stated(text)),
        frozenset().union(*(quantities(text) for text in passages)),
    )


def finding(sentence: str, known: Known) -> Finding:
    """How far a sentence is borne out by what is known, and what speaks against it."""
    units, amounts = count_units(sentence), quantities(sentence)
    numbers = unmatched(amounts, known.numbers)
    found = share(units, known.units)
    if runs(sentence):
        found = RUNS * in_runs(sentence, known.runs) + (1 - RUNS) * found
    against = tuple(_denied(sentence, known.clauses))
    missing = len(numbers) / len(amounts) if amounts else 0.0
    return Finding(sentence, found, mass(units), tuple(numbers), against, missing)


def _outcome(text: str, language: Language) -> str:
    if not is_refusal(text, language):
        return "answer"
    return "handover" if is_handover(text, language) else "refusal"


def _is_left_out(clause: str, said: str) -> bool:
    """Whether most of a clause that says something is not said."""
    units = topic_units(clause)
    return mass(units) >= WORTH_SAYING and share(units, content_units(said)) < 0.5


def _instead(lacking: Iterable[Quantity], others: Iterable[Quantity]) -> list[Quantity]:
    """The other amounts that stand where a lacking one was expected: those of its kind."""
    kinds = {quantity.kind for quantity in lacking} - {""}
    return [quantity for quantity in others if quantity.kind in kinds]


def _amounts(text: str) -> frozenset[Quantity]:
    """The numbers with a unit; where there are none, all of them (a telephone number alone is the answer)."""
    found = quantities(text)
    return frozenset(quantity for quantity in found if quantity.unit) or found


def _denied(text: str, known: tuple[Clause, ...]) -> list[str]:
    compared = known[:MOST_KNOWN]
    return [clause.text for clause in stated(text)[:MOST_CLAUSES] if contradicts(clause, compared)]


def _pooled(findings: Iterable[Finding]) -> float:
    weighed = [(finding.support, finding.weight) for finding in findings]
    whole = sum(weight for _, weight in weighed)
    return sum(share * weight for share, weight in weighed) / whole if whole else 1.0


def matter(text: str, language: Language) -> str:
    """The text without its courtesies; all of it when there is nothing else."""
    rest = [part.text for part in parts(text, language) if part.act != "courtesy"]
    return "\n".join(rest) or text
