"""Whether the bot answers what it can answer and declines what it cannot; the same for handing over.

Refusing is right where the question is unanswerable, and only there (SQuAD 2.0: Rajpurkar et al., 2018). Each
conversation is counted once, on turn 1, to which the case's question belongs.

    case             what the bot did on turn 1     place
    answerable       "4,180 yen a month."           answered_answerable     right
    answerable       "I'm afraid I don't know."     refused_answerable      too cautious
    answerable       "Which plan are you on?"       clarified_answerable    neither
    unanswerable     "4,180 yen a month."           answered_unanswerable   made up
    unanswerable     "I'm afraid I don't know."     refused_unanswerable    right
    either           nothing, or an error           not_answered

One rate alone can be had for nothing: a bot that refuses everything is right in all unanswerable cases. So
both are always shown, and both are conditions of a target.

No model is asked; what a refusal is, text/acts.py says, and `make bench-refusals` how often it is right.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from simulator.core.types import Case, Conversation, Results, Turn, Value
from simulator.stats.figures import rounded, turn_failure
from simulator.stats.intervals import wilson
from simulator.storage.results import cache_latest
from simulator.text.acts import is_handover, parts
from simulator.text.evidence import all_references, refuses

# What a bot can do in a turn; `asked_back` states nothing and only asks.
Outcome = Literal["answered", "refused", "asked_back", "not_answered"]


class _Places(Value):
    """Conversations by their place in a 2 x 2 table, and outside of it: bot failures, and unmarked cases.

    Each field is a place, and its value a number of conversations; together they are those that have begun.
    """

    # The rates of a table: the place of the conversations that did right, and that of those that did wrong.
    RATES: ClassVar[Mapping[str, tuple[str, str]]] = {}

    unmarked: int = 0
    not_answered: int = 0

    @property
    def marked(self) -> int:
        """Conversations whose case says what is right."""
        return sum(self.model_dump(exclude={"unmarked"}).values())

    def as_json(self) -> dict[str, Any]:
        """The table, its rates with their 95 % intervals (Wilson, 1927), and what stands outside of it."""
        counts = self.model_dump()
        shown: dict[str, Any] = counts | {"marked": self.marked}
        for name, (right, wrong) in self.RATES.items():
            # Of those that did either; a question back is in no rate.
            hits, n = counts[right], counts[right] + counts[wrong]
            shown[name] = rounded({"rate": hits / n if n else None, "interval": wilson(hits, n)})
        return shown


class Answerability(_Places):
    """The table of answerable x answered; `clarified_` are answers that only ask back."""

    RATES: ClassVar = {
        "answered_correctly": ("answered_answerable", "refused_answerable"),
        "refused_correctly": ("refused_unanswerable", "answered_unanswerable"),
    }

    answered_answerable: int = 0
    refused_answerable: int = 0
    answered_unanswerable: int = 0
    refused_unanswerable: int = 0
    clarified_answerable: int = 0
    clarified_unanswerable: int = 0


class Handovers(_Places):
    """The table of handover required or forbidden x handed over.

    A handover counts in whichever turn it came. `unmarked` are the cases in which either is right.
    """

    RATES: ClassVar = {
        "handed_correctly": ("handed_required", "kept_required"),
        "kept_correctly": ("kept_forbidden", "handed_forbidden"),
    }

    handed_required: int = 0
    kept_required: int = 0
    handed_forbidden: int = 0
    kept_forbidden: int = 0


@cache_latest
def answerability(results: Results) -> Answerability:
    """Answered or refused, answerable or not: one count for each conversation that has begun."""
    return Answerability.model_validate(_counted(results, answer_place))


@cache_latest
def handovers(results: Results) -> Handovers:
    """Handed over or kept, required or forbidden: one count for each conversation that has begun."""
    return Handovers.model_validate(_counted(results, handover_place))


def _counted(results: Results, place: Callable[[Conversation], str]) -> Mapping[str, int]:
    begun = results.conversations.select("begun")
    # Millions of rows that expect nothing need not be read for it.
    if not results.conversations.select("with_expectations"):
        return {"unmarked": len(begun)}
    return Counter(map(place, begun))


def turn_outcome(turn: Turn, case: Case) -> Outcome:
    """What the bot did in a turn: answer, refuse, only ask back without stating anything, or fail.

    An answer that says what the reference says is none of a refusal, even where it is worded like one: "you
    cannot cancel online" is the right answer to some questions.
    """
    language = case.language
    if turn_failure(turn):
        return "not_answered"
    if refuses(turn.answer.text, all_references(case), language):
        return "refused"
    # Thanks and apologies around a question do not make it an answer.
    acts = {part.act for part in parts(turn.answer.text, language)}
    return "asked_back" if "question" in acts and acts <= {"question", "courtesy"} else "answered"


def answer_place(conversation: Conversation) -> str:
    """The field of `Answerability` in which a conversation that has begun is counted."""
    if conversation.case.answerable is None or conversation.turns[0].unrecorded:
        return "unmarked"
    # Of an unrecorded turn nobody knows what the bot said.
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
    language = conversation.case.language
    handed = any(is_handover(turn.answer.text, language) for turn in conversation.turns)
    return f"{'handed' if handed else 'kept'}_{conversation.case.handover}"
