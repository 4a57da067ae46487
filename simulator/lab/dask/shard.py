"""A part of a plan, for --shard 2/5: which conversations it has, and where they stand in the whole."""

import hashlib
import json
from collections.abc import Sequence

from simulator.core.settings import Settings
from simulator.core.types import Conversation, Value
from simulator.lab.dask.settings import DaskSettings, Shard, read_shard
from simulator.plugins import Division

# The note of a run that is one shard of a larger one.
SHARD_NOTE = "shard"


class ShardPosition(Value):
    """The positions (from 0) of a shard's conversations in the plan; `plan` is the digest of the whole."""

    shard: str
    plan: str
    places: tuple[int, ...]


def shard_of_plan(settings: Settings, plan: Sequence[Conversation]) -> Division | None:
    """What --shard asks of this plan, with the note by which it is merged later; None without --shard."""
    part = DaskSettings.of(settings).shard
    if not part:
        return None
    position = shard_position(plan, read_shard(part))
    conversations = tuple(plan[place] for place in position.places)
    return Division(conversations, {SHARD_NOTE: position.model_dump_json()})


def shard_position(plan: Sequence[Conversation], shard: Shard) -> ShardPosition:
    """Which conversations are of a shard: all of a case are in one, in the plan's order.

    Cases are dealt out in the order of a hash of their ids, so that shards differ by at most one case,
    however the file is sorted: one sorted by language would otherwise make a slow shard and a quick one.
    """
    ids = {conversation.case.id for conversation in plan}
    ranked = sorted(ids, key=lambda case: hashlib.sha256(case.encode()).digest())
    cases = frozenset(ranked[shard.number - 1 :: shard.parts])
    places = tuple(place for place, conversation in enumerate(plan) if conversation.case.id in cases)
    # With all fields of the cases: parts with other references under the same ids are of different runs.
    digest = hashlib.sha256()
    for conversation in plan:
        digest.update(json.dumps([conversation.id, conversation.persona, conversation.repeat]).encode())
        digest.update(conversation.case.model_dump_json().encode())
    return ShardPosition(shard=shard.text, plan=digest.hexdigest()[:16], places=places)
