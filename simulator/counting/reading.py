"""What can be counted about one turn, once for all the judges that grade it."""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Literal

from simulator.core.types import Case, GradingContext, Language
from simulator.counting.dialogue_acts import apologises, is_handover, is_refusal, parts
from simulator.counting.evidence import (
    MOST_CLAUSES,
    MOST_KNOWN,
    Agreement,
    Support,
    best_agreement,
    coverage,
    matter,
    support,
)
from simulator.counting.polarity import contradicts, stated
from simulator.counting.quantities import Quantity
from simulator.counting.units import content_units, count_units, share
from simulator.counting.wording import wording

# What an unrelated answer shares with a question all the same (median on the bundled questions).
CHANCE: dict[Language, float] = {"ja": 0.2, "en": 0.1}
# An answer that shares this much with an earlier one, both ways, repeats it.
REPEATS = 0.9
# From this agreement with the reference on, a customer has what they came for.
ANSWERED = 0.45

Expected = Literal["comfort", "refuse", "answer"]


def expected(case: Case) -> Expected:
    """What a right answer does: `comfort` a complaint, `refuse` the unanswerable, or `answer`.

    A complaint is a case that must be handed over and has no answerability; without answerability, a
    case is unanswerable when all its references decline.
    """
    if case.answerable is None and case.handover == "required":
        return "comfort"
    known = known_answers(case)
    declined = bool(known) and all(is_refusal(text, case.language) for text in known)
    return "refuse" if case.answerable is False or (case.answerable is None and declined) else "answer"


def known_answers(case: Case) -> tuple[str, ...]:
    """The references of all turns."""
    return tuple(text for row in case.references for text in row)


class Reading:
    """What can be counted about one turn. All of it is remembered by text, so that judges share it."""

    def __init__(self, exhibit: GradingContext) -> None:
        """Counts nothing yet."""
        self.exhibit, self.case = exhibit, exhibit.case
        self.language = exhibit.case.language
        self.answer = exhibit.turn.answer.text
        self.passages = tuple(passage.text for passage in exhibit.turn.answer.passages)
        self.say = wording(self.language)

    @cached_property
    def refused(self) -> bool:
        """Whether the answer is a refusal to answer, or nothing but a handover."""
        return is_refusal(self.answer, self.language)

    @cached_property
    def handed_over(self) -> bool:
        """Whether the desk passes the customer on to a person."""
        return is_handover(self.answer, self.language)

    @cached_property
    def apologises(self) -> bool:
        """Whether it says sorry."""
        return apologises(self.answer, self.language)

    @cached_property
    def has_contact(self) -> bool:
        """Whether it names somebody to turn to."""
        return any(part.act in {"referral", "handover"} for part in parts(self.answer, self.language))

    @cached_property
    def only_asks(self) -> bool:
        """Whether it asks back and states nothing."""
        acts = {part.act for part in parts(self.answer, self.language)}
        return "question" in acts and acts <= {"question", "courtesy"}

    @cached_property
    def support(self) -> Support:
        """What this turn's passages bear out."""
        return support(self.answer, self.passages, self.language, self.exhibit.turn.user)

    @cached_property
    def agreement(self) -> Agreement:
        """How far it says what the nearest reference of this turn says."""
        return best_agreement(self.answer, self.exhibit.references, self.language)

    @cached_property
    def relevance(self) -> float:
        """The share (0..1, less what chance gives) of the need that the answer or its source takes up.

        The need is what was said in this turn, the case's question or its goal, whichever is met best;
        what agrees with the reference is relevant in other words.
        """
        chance = CHANCE[self.language]
        return max(0.0, (self.covered - chance) / (1 - chance), self.agreement.recall / 2)

    @cached_property
    def covered(self) -> float:
        """The share (0..1) of the need's content in the answer, or in it and the passage it is taken from.

        The passage counts as far as the answer's own words are in it.
        """
        needs = [self.exhibit.turn.user, self.case.question, *filter(None, [self.case.goal])]
        met = max(coverage(need, [self.answer]) for need in needs)
        if not self.passages:
            return met
        source = max(self.passages, key=lambda text: share(self._units, content_units(text)))
        taken = share(self._units, content_units(source))
        return max(met, taken * max(coverage(need, [self.answer, source]) for need in needs))

    @cached_property
    def expected(self) -> Expected:
        """What a right answer does."""
        return expected(self.case)

    @cached_property
    def repeats(self) -> bool:
        """Whether an earlier answer of the conversation said nearly the same."""
        if self.refused or self.only_asks:
            return False
        said = count_units(matter(self.answer, self.language))
        earlier = [count_units(matter(turn.answer.text, self.language)) for turn in self.exhibit.earlier]
        return any(min(share(said, each), share(each, said)) >= REPEATS for each in earlier if each)

    @cached_property
    def contradicts_itself(self) -> bool:
        """Whether it says the opposite of what an earlier answer said."""
        said = [clause for turn in self.exhibit.earlier for clause in stated(turn.answer.text)]
        saying = stated(self.answer)[:MOST_CLAUSES] if said else ()
        return any(contradicts(clause, said[-MOST_KNOWN:]) for clause in saying)

    @cached_property
    def already_answered(self) -> bool:
        """Whether an earlier turn gave the answer that the case's reference gives."""
        said = (turn.answer.text for turn in self.exhibit.earlier)
        return any(best_agreement(text, self.known, self.language).score >= ANSWERED for text in said)

    @property
    def known(self) -> tuple[str, ...]:
        """The references of all turns of the case."""
        return known_answers(self.case)

    @cached_property
    def reference_refuses(self) -> bool:
        """Whether the references of this turn decline to answer, or hand over."""
        references = self.exhibit.references
        return bool(references) and all(is_refusal(text, self.language) for text in references)

    @cached_property
    def evidence(self) -> Support:
        """What this turn's passages and references together bear out: the rest is invented."""
        known = (*self.passages, *self.exhibit.references)
        return support(self.answer, known, self.language, self.exhibit.turn.user)

    def shown(self, numbers: Iterable[Quantity]) -> list[str]:
        """Numbers as people of the case's language write them."""
        return [number.shown(self.language) for number in numbers]

    @property
    def _units(self) -> Counter[str]:
        return content_units(self.answer)
