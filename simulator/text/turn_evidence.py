"""What can be counted about one turn: how far its passages support it, and how far it says what is right."""

from collections.abc import Iterable
from functools import cached_property

from simulator.core.types import GradingContext
from simulator.text.acts import apologises, parts, passes_on
from simulator.text.courtesies import declines, statements
from simulator.text.entities import Specific, details_of, follows, is_alike, located
from simulator.text.evidence import (
    ANSWERED,
    SAME_WORDS,
    Agreement,
    ExpectedResponse,
    Support,
    agreement,
    all_references,
    best_agreement,
    expected_response,
    support,
)
from simulator.text.wording import wording

# An answer that says so much of the right one does not decline.
ALREADY_SAID = 0.4


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
        found = support(body, self.passages, self.context.turn.user)
        # What can be worked out from a passage is not missing.
        worked_out = self._worked_out(body)
        return found._replace(numbers=tuple(each for each in found.numbers if each not in worked_out))

    @cached_property
    def unknown_numbers(self) -> tuple[Specific, ...]:
        """The numbers of the answer that neither the passages nor the references have."""
        return tuple(each for each in self.support.numbers if located(each, self.wanted) is None)

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
