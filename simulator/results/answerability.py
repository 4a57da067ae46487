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
from typing import Any, Literal, NamedTuple

from simulator.core.messages import Message, _
from simulator.core.types import TURN, Response
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


# The rates of the tables: the place of the conversations that did right, and that of those that did wrong.
ANSWER_RATES = {
    "answered_correctly": ("answered_answerable", "refused_answerable"),
    "refused_correctly": ("refused_unanswerable", "answered_unanswerable"),
}
HANDOVER_RATES = {
    "handed_correctly": ("handed_required", "kept_required"),
    "kept_correctly": ("kept_forbidden", "handed_forbidden"),
}
_CLARIFIED = ("clarified_answerable", "clarified_unanswerable")
_OUTSIDE = ("not_answered", "unjudged", "unmarked")


class Places(NamedTuple):
    """Conversations that have begun by their place: in a 2 x 2 table, or outside of it.

    `counts` has every place; outside are bot failures, what nobody judged, and cases that do not say what is
    right. `rates` are the places of those that did right, and wrong.
    """

    counts: Mapping[str, int]
    rates: Mapping[str, tuple[str, str]]

    @property
    def marked(self) -> int:
        """Conversations whose case says what is right."""
        return sum(self.counts.values()) - self.counts["unmarked"]

    @property
    def unjudged(self) -> int:
        """Those of which nobody said what the bot did."""
        return self.counts["unjudged"]

    def as_json(self) -> dict[str, Any]:
        """The table, its rates with their 95 % intervals (Wilson, 1927), and what stands outside of it."""
        shown: dict[str, Any] = {**self.counts, "marked": self.marked}
        for name, (right, wrong) in self.rates.items():
            # Of those that did either; a question back is in no rate.
            hits, n = self.counts[right], self.counts[right] + self.counts[wrong]
            shown[name] = rounded({"rate": hits / n if n else None, "interval": wilson(hits, n)})
        return shown


def answerability(run: RunTurns) -> Places:
    """Answered or refused, answerable or not: one count for each conversation that has begun."""
    return _places(run, answer_place, ANSWER_RATES, _CLARIFIED)


def handovers(run: RunTurns) -> Places:
    """Handed over or kept, required or forbidden; a handover counts in whichever turn it came."""
    return _places(run, handover_place, HANDOVER_RATES)


def _places(
    run: RunTurns,
    place: Callable[[ConversationRow], str],
    rates: Mapping[str, tuple[str, str]],
    others: tuple[str, ...] = (),
) -> Places:
    counts = Counter(place(row) for row in run.conversations if row.turns)
    names = (*(name for pair in rates.values() for name in pair), *others, *_OUTSIDE)
    return Places({name: counts[name] for name in names}, rates)


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
    """Where a conversation that has begun is counted: what the bot did, and what its case says is right."""
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
    """The same by whether a person took over."""
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
