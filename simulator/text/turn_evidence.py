"""What can be counted about one turn: how far its passages support it, and how far it says what is right.

Beyond the words and numbers of evidence.py, details are compared by what they mean: two weeks are 14 days.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from simulator.core.types import GradingContext, Language
from simulator.text.acts import apologises, parts, passes_on
from simulator.text.courtesies import declines, statements
from simulator.text.entities import Specific, details_of, follows, is_alike, located, required, unaccounted
from simulator.text.evidence import (
    ANSWERED,
    ExpectedResponse,
    Support,
    agreement,
    all_references,
    best_agreement,
    content_units,
    expected_response,
    number_factor,
    passage_contents,
    share,
    support,
    topic_units,
    without_courtesies,
)
from simulator.text.numerals import Quantity
from simulator.text.wording import wording

# From this share of a reference's words on an answer says the same.
SAME_WORDS = 0.6
# An answer that says so much of the right one does not decline.
ALREADY_SAID = 0.4
# A part of a reference with less of its words in an answer is missing, though all its details are there.
UNSAID = 0.2


@dataclass(frozen=True)
class DetailedAgreement:
    """How far an answer says what a reference says, as `Agreement`, with details compared by their meaning.

    `lacks` are the details of the reference that the answer has to say and does not; `has_details` says that
    there are some, and that none is lacking. `news` is the share (0..1) of the reference's words that the
    question does not have already and the answer says.
    """

    score: float
    recall: float
    missing: tuple[str, ...] = ()
    numbers: tuple[Quantity, ...] = ()
    instead: tuple[Quantity, ...] = ()
    lacks: tuple[Specific, ...] = ()
    has_details: bool = False
    news: float = 0.0

    @property
    def is_same(self) -> bool:
        """Whether the answer says what the reference says: all its details, or else most of its words."""
        if self.missing or self.numbers or self.lacks:
            return False
        return self.has_details or self.recall >= SAME_WORDS


def detailed_agreement(
    answer: str, reference: str, language: Language, known: Sequence[str], asked: str
) -> DetailedAgreement:
    """How far an answer says what a reference says.

    `known` are the passages and the question; `asked` is all that the customer has said so far.
    """
    found = agreement(answer, reference, language)
    body, wanted = without_courtesies(answer, language), without_courtesies(reference, language)
    details = required(wanted, known)
    lacks = tuple(each for each in details if located(each, [body]) is None)
    optional = [each for each in details_of(wanted) if each not in details]
    numbers = unaccounted(found.numbers, wanted, [body], optional)
    instead = unaccounted(found.instead, body, [wanted]) if numbers else ()
    said, old = content_units(body), content_units(asked)
    new_units = {unit: count for unit, count in topic_units(wanted).items() if unit not in old}
    has_details = bool(details) and not lacks
    missing = tuple(
        part
        for part in found.missing
        if not has_details or (not details_of(part) and share(topic_units(part), said) < UNSAID)
    )
    score = found.overlap * number_factor(numbers, instead) if found.overlap else found.score
    return DetailedAgreement(
        score=score,
        recall=found.recall,
        missing=missing,
        numbers=numbers,
        instead=instead,
        lacks=lacks,
        has_details=has_details,
        news=share(new_units, said) if new_units else found.recall,
    )


class TurnEvidence:
    """What can be counted about one turn, cached by text so that judges share it."""

    def __init__(self, context: GradingContext) -> None:
        """Nothing is counted before it is asked for."""
        self.context, self.case = context, context.case
        self.language = context.case.language
        self.answer = context.turn.answer.text
        self.passages = tuple(passage.text for passage in context.turn.answer.passages)
        self.say = wording(self.language)

    @cached_property
    def refused(self) -> bool:
        """Whether the answer is a refusal to answer, nothing but a handover, or sends the customer elsewhere.

        Where the right answer is to ask somebody else, saying so is no refusal.
        """
        return declines(self.answer, self.language) and self.agreed.recall < ALREADY_SAID

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
        return any(
            part.act in {"contact", "referral", "handover"} for part in parts(self.answer, self.language)
        )

    @cached_property
    def only_asks(self) -> bool:
        """Whether it asks back and states nothing."""
        acts = {part.act for part in parts(self.answer, self.language)}
        return "question" in acts and acts <= {"question", "courtesy"}

    @cached_property
    def support(self) -> Support:
        """How far this turn's passages support the answer, its courtesies apart."""
        body = "\n".join(statements(self.answer, self.language)) or self.answer
        found = support(body, passage_contents(self.passages), self.context.turn.user)
        # What a passage says in another unit is not missing, nor what can be worked out from it.
        return found._replace(numbers=unaccounted(found.numbers, body, self.known, self._worked_out(body)))

    @cached_property
    def unknown_numbers(self) -> tuple[Quantity, ...]:
        """The numbers of the answer that neither the passages nor the references have, in any unit."""
        return unaccounted(self.support.numbers, self.answer, [*self.known, *self.wanted])

    @cached_property
    def is_worked_out(self) -> bool:
        """Whether all its details follow from passages and question, in words that need not be theirs."""
        details = [each for each in details_of(self.answer) if located(each, self.known) is None]
        return bool(details) and set(details) <= set(self._worked_out(self.answer))

    def _worked_out(self, text: str) -> list[Specific]:
        """Details of a reference that follow from passages; dates and times, where the question has one."""
        dates = [e for e in details_of(self.context.turn.user) if e.kind in {"date", "time", "hours"}]
        return [
            each
            for each in details_of(text)
            if (
                self.agreed.recall >= SAME_WORDS
                or located(each, self.wanted) is not None
                or any(is_alike(each, other) for other in dates)
            )
            and follows(each, self.known, "\n".join((self.context.turn.user, *self.wanted)))
        ]

    @cached_property
    def known(self) -> tuple[str, ...]:
        """The passages and the question."""
        return (*self.passages, self.context.turn.user)

    @cached_property
    def agreement(self) -> DetailedAgreement:
        """How far it says what the nearest reference of this turn says."""
        return self._agreed(self.context.references)

    @cached_property
    def agreed(self) -> DetailedAgreement:
        """The same of the references of all turns, where this turn has none of its own."""
        return self._agreed(self.wanted)

    def _agreed(self, references: Iterable[str]) -> DetailedAgreement:
        asked = "\n".join(turn.user for turn in (*self.context.earlier, self.context.turn))
        found = (
            detailed_agreement(self.answer, each, self.language, self.known, asked) for each in references
        )
        return max(found, key=lambda each: each.score, default=DetailedAgreement(0.0, 0.0))

    @cached_property
    def expected(self) -> ExpectedResponse:
        """What a right answer does."""
        return expected_response(self.case)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The references of this turn; where it has none of its own, those of all turns of the case."""
        return self.context.references or all_references(self.case)

    @cached_property
    def already_answered(self) -> bool:
        """Whether an earlier turn gave the answer that the case's reference gives."""
        earlier = (turn.answer.text for turn in self.context.earlier)
        known = all_references(self.case)
        return any(best_agreement(text, known, self.language).score >= ANSWERED for text in earlier)

    def shown(self, numbers: Iterable[Quantity]) -> list[str]:
        """Numbers as people of the case's language write them."""
        return [number.shown(self.language) for number in numbers]
