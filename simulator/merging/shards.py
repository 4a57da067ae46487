"""Which conversations of a plan belong to a shard: the same ones on every machine."""

import hashlib
import json
from collections.abc import Iterable, Sequence

from simulator.core.settings import Shard
from simulator.core.types import Conversation, Value

# The note of a run that is a part of a larger one.
NOTE = "shard"


class Place(Value):
    """Where the conversations of a shard stand in the whole plan; `plan` is the digest of all of it."""

    shard: str
    planned: int
    plan: str
    places: tuple[int, ...]


def part_of(plan: Sequence[Conversation], shard: Shard) -> tuple[Conversation, ...]:
    """The conversations of one shard, in the plan's order; all those of a question stay together.

    The questions are dealt out in the order of a hash of their ids, so that no shard has more than one
    question more than another, however the file is sorted.
    """
    mine = _dealt({talk.case.id for talk in plan}, shard)
    return tuple(talk for talk in plan if talk.case.id in mine)


def _dealt(cases: Iterable[str], shard: Shard) -> frozenset[str]:
    ranked = sorted(cases, key=lambda case: hashlib.sha256(case.encode()).digest())
    return frozenset(ranked[shard.number - 1 :: shard.parts])


def place_of(plan: Sequence[Conversation], shard: Shard) -> Place:
    """What a shard has to remember of the whole plan."""
    mine = _dealt({talk.case.id for talk in plan}, shard)
    places = tuple(place for place, talk in enumerate(plan) if talk.case.id in mine)
    return Place(shard=shard.text, planned=len(plan), plan=plan_digest(plan), places=places)


def plan_digest(plan: Iterable[Conversation]) -> str:
    """A hash of who asks what in which order, with everything that is known of each question."""
    found = hashlib.sha256()
    for talk in plan:
        found.update(json.dumps([talk.id, talk.persona, talk.repeat]).encode())
        found.update(talk.case.model_dump_json().encode())
    return found.hexdigest()[:16]
