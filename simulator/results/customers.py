"""How the simulated customers were played: what the guard rewrote, what they did wrong, what that spoilt.

A bot can only be judged by customers who behave like some. users/faults.py finds what went wrong, turn by
turn; here it is counted.
"""

from collections import Counter

from simulator.core.types import SUPERSEDED, Conversation, Ended, Results
from simulator.results.figures import CustomerFigures, Handling
from simulator.results.rows import RunTurns
from simulator.users.faults import customer_faults


def customer_figures(results: Results, run: RunTurns, handling: Handling | None = None) -> CustomerFigures:
    """How the customers of a run were played.

    `handling` is what is done with the turns that they spoilt; None where nobody looks for any, and then
    there are no faults.
    """
    guarded = [broken for row in run.conversations for broken in row.broken]
    faults = customer_faults(results) if handling else ()
    # A bot that says nothing has failed, whatever it was asked.
    answered = {turn.key for turn in run.turns if not turn.failure}
    superseded = results.notes.get(SUPERSEDED) if handling else None
    return CustomerFigures(
        guarded=len(guarded),
        rules=dict(Counter(rule for broken in guarded for rule in broken)),
        failed=sum(row.ended in (Ended.USER_FAILED, Ended.ENDPOINT_FAILED) for row in run.conversations),
        overruled=sum(row.overruled for row in run.conversations),
        faults=dict(Counter(fault.kind for fault in faults)),
        spoilt={key: f for f in faults if f.spoils and (key := (f.conversation, f.turn)) in answered},
        handling=handling or "keep",
        superseded=tuple(superseded) if isinstance(superseded, dict) else (),
    )


def customer_messages(conversation: Conversation) -> list[str]:
    """The customer's messages from first to closing one, as they were meant: without typing mistakes."""
    return [*(turn.user for turn in conversation.turns), *filter(None, [conversation.closing])]
