"""Conversations that a customer spoilt, held once more with another seed; the clean one counts."""

from collections.abc import Sequence

from simulator.core.types import Conversation, Ended, Results
from simulator.users.faults import CustomerFault, customer_faults

# Ends the id of a second attempt, `angry/fees-01#1~2`: with it come another seed and another session.
AGAIN = "~2"
_HELD = frozenset({Ended.SATISFIED, Ended.GAVE_UP, Ended.HANDED_OVER, Ended.TURN_LIMIT, Ended.RAG_FAILED})


def second_attempts(results: Results) -> tuple[Conversation, ...]:
    """What is still to be held once more: each conversation with a fault, once, from its beginning."""
    faulty = _faulty(customer_faults(results))
    planned = {talk.id for talk in results.conversations}
    unplayed = {"turns": (), "ended": None, "reason": "", "closing": ""}
    return tuple(
        talk.model_copy(update=unplayed | {"id": talk.id + AGAIN})
        for talk in results.conversations
        if talk.id in faulty and not talk.id.endswith(AGAIN) and talk.id + AGAIN not in planned
    )


def superseded(results: Results) -> dict[str, str]:
    """Which conversations do not count, each with the one that stands in for it.

    The second attempt counts where it was held to its end without a fault of the customer, the first one
    otherwise: nobody gets a third.
    """
    faulty = _faulty(customer_faults(results))
    talks = {talk.id: talk for talk in results.conversations}
    found = {}
    for key, again in talks.items():
        first = key.removesuffix(AGAIN)
        if first != key and first in talks:
            is_clean = again.ended in _HELD and key not in faulty
            found[first if is_clean else key] = key if is_clean else first
    return found


def _faulty(faults: Sequence[CustomerFault]) -> frozenset[str]:
    return frozenset(fault.conversation for fault in faults)
