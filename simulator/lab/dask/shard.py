"""A part of a plan, for --shard 2/5: which conversations it has, and where they stand in the whole."""

import hashlib
import json
from collections.abc import Iterable, Sequence

from simulator.core.settings import Settings
from simulator.core.types import Conversation, Value
from simulator.lab.dask.settings import DaskSettings, Shard, read_shard
from simulator.plugins import Division

# The note of a run that is one shard of a larger one.
SHARD_NOTE = "shard"


class ShardPosition(Value):
    """The positions (from 0) of a shard's conversations in the plan; `plan` is the digest of the whole."""

    shard: str
    planned: int
    plan: str
    places: tuple[int, ...]


def shard_of_plan(settings: Settings, plan: Sequence[Conversation]) -> Division | None:
    """What --shard asks of this plan, with the note by which it is merged later; None without --shard."""
    part = DaskSettings.of(settings).shard
    if not part:
        return None
    shard = read_shard(part)
    note = shard_position(plan, shard).model_dump_json()
    return Division(shard_conversations(plan, shard), {SHARD_NOTE: note})


def shard_conversations(plan: Sequence[Conversation], shard: Shard) -> tuple[Conversation, ...]:
    """The conversations of one shard, in the plan's order; all conversations of a case are in one shard.

    Cases are dealt out in the order of a hash of their ids, so that shards differ by at most one case,
    however the file is sorted: one sorted by language would otherwise make a slow shard and a quick one.
    """
    cases = _shard_cases(plan, shard)
    return tuple(conversation for conversation in plan if conversation.case.id in cases)


def _shard_cases(plan: Iterable[Conversation], shard: Shard) -> frozenset[str]:
    ids = {conversation.case.id for conversation in plan}
    ranked = sorted(ids, key=lambda case: hashlib.sha256(case.encode()).digest())
    return frozenset(ranked[shard.number - 1 :: shard.parts])


def shard_position(plan: Sequence[Conversation], shard: Shard) -> ShardPosition:
    """The note that a shard keeps, by which it is merged later."""
    cases = _shard_cases(plan, shard)
    places = tuple(place for place, conversation in enumerate(plan) if conversation.case.id in cases)
    # With all fields of the cases: parts with other references under the same ids are of different runs.
    digest = hashlib.sha256()
    for conversation in plan:
        digest.update(json.dumps([conversation.id, conversation.persona, conversation.repeat]).encode())
        digest.update(conversation.case.model_dump_json().encode())
    whole = digest.hexdigest()[:16]
    return ShardPosition(shard=shard.text, planned=len(plan), plan=whole, places=places)
