"""Second attempts at conversations that the simulated customer spoiled, and which attempt counts."""

from simulator.core.types import COMPLETE, Conversation, Results
from simulator.users.faults import customer_faults

# Suffix of the id of a second attempt, `angry/fees-01#1~2`; the new id also means another seed and session.
AGAIN = "~2"


def second_attempts(results: Results) -> tuple[Conversation, ...]:
    """The conversations to play once more from the start: each that the customer spoiled, unless planned."""
    faulty = {fault.conversation for fault in customer_faults(results)}
    planned = set(results.conversations.ids)
    unplayed = {"turns": (), "ended": None, "reason": "", "closing": "", "reaction": None}
    return tuple(
        conversation.model_copy(update=unplayed | {"id": conversation.id + AGAIN})
        for conversation in results.conversations
        if conversation.id in faulty
        and not conversation.id.endswith(AGAIN)
        and conversation.id + AGAIN not in planned
    )


def superseded(results: Results) -> dict[str, str]:
    """The ids of conversations that do not count, each with the id of the attempt that counts instead.

    The second attempt counts if it is complete and without a fault of the customer, otherwise the first:
    there is no third.
    """
    faulty = {fault.conversation for fault in customer_faults(results)}
    endings = {conversation.id: conversation.ended for conversation in results.conversations}
    replaced = {}
    for key, ended in endings.items():
        first = key.removesuffix(AGAIN)
        if first != key and first in endings:
            is_clean = ended in COMPLETE and key not in faulty
            replaced[first if is_clean else key] = key if is_clean else first
    return replaced
