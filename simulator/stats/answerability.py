"""Whether the bot answers what it can answer and declines what it cannot; the same for handing over.

Refusing is right where the question is unanswerable, and only there (SQuAD 2.0: Rajpurkar et al., 2018). Each
conversation is counted once, on turn 1, to which the case's question belongs.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

from simulator.core.types import Case, Conversation, Results, Turn, Value
from simulator.stats.figures import rounded, turn_failure
from simulator.stats.intervals import wilson
from simulator.storage.results import cache_latest
from simulator.text.acts import claims, is_handover, parts
from simulator.text.evidence import all_references, refuses

Outcome = Literal["answered", "refused", "asked_back", "not_answered"]


class Answerability(Value):
    """The 2 x 2 table of answerable x answered, in conversations, and what stands outside of it.

    `clarified_` are answers that only ask back; `not_answered` the bot's failures on marked cases; `unmarked`
    counts cases that say nothing about it. `held` of the conversations that began with a right refusal
    (`refused_unanswerable`) declined to the end; the others gave in to a customer who insisted.
    """

    answered_answerable: int = 0
    refused_answerable: int = 0
    answered_unanswerable: int = 0
    refused_unanswerable: int = 0
    clarified_answerable: int = 0
    clarified_unanswerable: int = 0
    unmarked: int = 0
    not_answered: int = 0
    held: int = 0

    @property
    def marked(self) -> int:
        """Conversations whose case says whether it can be answered."""
        return sum(self.model_dump(exclude={"unmarked", "held"}).values())

    def as_json(self) -> dict[str, Any]:
        """The table, its rates with their intervals, and what stands outside of it."""
        return self.model_dump() | {
            "marked": self.marked,
            "answered_correctly": _rate(self.answered_answerable, self.refused_answerable),
            "refused_correctly": _rate(self.refused_unanswerable, self.answered_unanswerable),
        }


class Handovers(Value):
    """The 2 x 2 table of handover required or forbidden x handed over, in conversations.

    A required handover counts in whichever turn it came (`late` of them after turn 1), and so does one that
    was not wanted. `unmarked` are the cases in which either is right.
    """

    handed_required: int = 0
    kept_required: int = 0
    handed_forbidden: int = 0
    kept_forbidden: int = 0
    late: int = 0
    unmarked: int = 0
    not_answered: int = 0

    @property
    def marked(self) -> int:
        """Conversations whose case says whether a person has to take over."""
        return sum(self.model_dump(exclude={"unmarked", "late"}).values())

    def as_json(self) -> dict[str, Any]:
        """The table, its rates with their intervals, and what stands outside of it."""
        return self.model_dump() | {
            "marked": self.marked,
            "handed_correctly": _rate(self.handed_required, self.kept_required),
            "kept_correctly": _rate(self.kept_forbidden, self.handed_forbidden),
        }


def _rate(right: int, wrong: int) -> dict[str, Any]:
    """The share that is right, with its 95 % interval (Wilson, 1927)."""
    n = right + wrong
    return {"rate": rounded(right / n) if n else None, "interval": rounded(wilson(right, n))}


@cache_latest
def answerability(results: Results) -> Answerability:
    """Answered or refused, answerable or not: one count for each conversation that has begun."""
    if not results.conversations.select("with_expectations"):
        return Answerability(unmarked=len(results.conversations.select("begun")))
    places, held = Counter[str](), 0
    for conversation in results.conversations.select("begun"):
        place, language = answer_place(conversation), conversation.case.language
        places[place] += 1
        # A right refusal holds when no later turn states anything about what was declined.
        held += place == "refused_unanswerable" and not any(
            turn_outcome(turn, conversation.case) == "answered" and claims(turn.answer.text, language)
            for turn in conversation.turns[1:]
        )
    return Answerability.model_validate({**places, "held": held})


@cache_latest
def handovers(results: Results) -> Handovers:
    """Handed over or kept, required or forbidden: one count for each conversation that has begun."""
    if not results.conversations.select("with_expectations"):
        return Handovers(unmarked=len(results.conversations.select("begun")))
    places, late = Counter[str](), 0
    for conversation in results.conversations.select("begun"):
        place = handover_place(conversation)
        places[place] += 1
        late += place == "handed_required" and not _hands_over(conversation, conversation.turns[:1])
    return Handovers.model_validate({**places, "late": late})


def turn_outcome(turn: Turn, case: Case) -> Outcome:
    """What the bot did in a turn: answer, refuse, only ask back without stating anything, or fail."""
    language = case.language
    if turn_failure(turn):
        return "not_answered"
    if refuses(turn.answer.text, all_references(case), language):
        return "refused"
    acts = {part.act for part in parts(turn.answer.text, language)}
    return "asked_back" if "question" in acts and acts <= {"question", "courtesy"} else "answered"


def answer_place(conversation: Conversation) -> str:
    """The field of `Answerability` in which a conversation that has begun is counted."""
    if conversation.case.answerable is None or conversation.turns[0].unrecorded:
        return "unmarked"
    outcome = turn_outcome(conversation.turns[0], conversation.case)
    if outcome == "not_answered":
        return outcome
    kind = "answerable" if conversation.case.answerable else "unanswerable"
    return f"{'clarified' if outcome == 'asked_back' else outcome}_{kind}"


def handover_place(conversation: Conversation) -> str:
    """The field of `Handovers` in which a conversation that has begun is counted."""
    if conversation.case.handover == "optional" or all(turn.unrecorded for turn in conversation.turns):
        return "unmarked"
    if all(turn_failure(turn) for turn in conversation.turns):
        return "not_answered"
    done = "handed" if _hands_over(conversation, conversation.turns) else "kept"
    return f"{done}_{conversation.case.handover}"


def _hands_over(conversation: Conversation, turns: Iterable[Turn]) -> bool:
    return any(is_handover(turn.answer.text, conversation.case.language) for turn in turns)
