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
    either           nobody said what it does       unjudged

One rate alone can be had for nothing: a bot that refuses everything is right in all unanswerable cases. So
both are always shown, and both are conditions of a target.

What the bot did is what the judge of turns says (`Score.response`), and no word of the answer is looked at.
Where that judge was not asked, or failed, the conversation is unjudged: it is in no rate, and counted beside.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from simulator.core.messages import Message, _
from simulator.core.types import TURN, Response, Value
from simulator.results.figures import rounded
from simulator.results.intervals import wilson
from simulator.results.rows import ConversationRow, RunTurns

# What a bot can do in a turn: answer at least a part, decline or hand over, only ask back, or none of these.
Outcome = Literal["answered", "refused", "asked_back", "not_answered", "unjudged"]
_OUTCOMES: Mapping[Response | None, Outcome] = {
    "answered": "answered",
    "partly": "answered",
    "declined": "refused",
    "handed_over": "refused",
    "asked_back": "asked_back",
    "nothing": "not_answered",
    None: "unjudged",
}


class _Places(Value):
    """Conversations by their place in a 2 x 2 table, and outside of it: bot failures, unmarked and unjudged.

    Each field is a place, and its value a number of conversations; together they are those that have begun.
    """

    # The rates of a table: the place of the conversations that did right, and that of those that did wrong.
    RATES: ClassVar[Mapping[str, tuple[str, str]]] = {}

    unmarked: int = 0
    not_answered: int = 0
    unjudged: int = 0

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


def answerability(run: RunTurns) -> Answerability:
    """Answered or refused, answerable or not: one count for each conversation that has begun."""
    return Answerability.model_validate(_counted(run, answer_place))


def handovers(run: RunTurns) -> Handovers:
    """Handed over or kept, required or forbidden: one count for each conversation that has begun."""
    return Handovers.model_validate(_counted(run, handover_place))


def _counted(run: RunTurns, place: Callable[[ConversationRow], str]) -> Mapping[str, int]:
    return Counter(place(row) for row in run.conversations if row.turns)


def unjudged_reason(conversations: int, run: RunTurns) -> Message | None:
    """Why so many conversations are not judged; None where there are none."""
    if not conversations:
        return None
    if not run.asks_responses:
        return _(
            "Not judged: what an answer does is said by the judge {judge}, which was not asked. Name it in"
            " --judges.",
            judge=TURN,
        )
    return _("Not judged, because the judge {judge} failed: {n}.", judge=TURN, n=conversations)


def turn_outcome(failure: str | None, response: Response | None) -> Outcome:
    """What the bot did in a turn: answer, refuse, only ask back, or fail; by what a judge says it does."""
    return "not_answered" if failure else _OUTCOMES[response]


def answer_place(row: ConversationRow) -> str:
    """The field of `Answerability` in which a conversation that has begun is counted."""
    first = row.turns[0]
    # Of an unrecorded turn nobody knows what the bot said.
    if row.answerable is None or first.unrecorded:
        return "unmarked"
    outcome = turn_outcome(first.failure, first.response)
    if outcome in ("not_answered", "unjudged"):
        return outcome
    kind = "answerable" if row.answerable else "unanswerable"
    return f"{'clarified' if outcome == 'asked_back' else outcome}_{kind}"


def handover_place(row: ConversationRow) -> str:
    """The field of `Handovers` in which a conversation that has begun is counted."""
    if row.handover == "optional" or all(turn.unrecorded for turn in row.turns):
        return "unmarked"
    answers = [turn for turn in row.turns if not turn.failure]
    if not answers:
        return "not_answered"
    responses = {turn.response for turn in answers}
    if "handed_over" in responses:
        return f"handed_{row.handover}"
    # One of the answers that nobody judged may have been the handover.
    return "unjudged" if None in responses else f"kept_{row.handover}"
