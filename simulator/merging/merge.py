"""Parts put together to one run file: the plan in its order, and every row of every part once."""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from simulator.core.errors import InputError, RehearsalError
from simulator.core.settings import Shard
from simulator.core.types import Conversation, Run, Status
from simulator.customers.replaying import AGAIN
from simulator.merging.agreeing import check_agreement
from simulator.merging.notes import joined
from simulator.merging.parts import MERGED, Held, Joined, Part
from simulator.merging.rows import copy_rows
from simulator.merging.shards import plan_digest
from simulator.plan import read_plan
from simulator.storage.run_file import RunFile, new_run_id

# Who holds a conversation: the number of the part, and what it holds.
Owners = Mapping[str, tuple[int, Held]]


@dataclass(frozen=True)
class Merge:
    """What came of it. `missing` are shards; `planned` says whether their conversations stand in the run.

    `unfinished` are parts that were broken off, and `forced` the differences that were passed over.
    """

    path: Path
    missing: tuple[str, ...] = ()
    planned: bool = True
    unfinished: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()

    @property
    def stopped(self) -> str | None:
        """Why the merged run is not whole, in a line; None when it is."""
        told = [f"missing: shard {', '.join(self.missing)}"] if self.missing else []
        told += [f"not finished: {', '.join(self.unfinished)}"] if self.unfinished else []
        return "; ".join(told) or None

    @property
    def go_on(self) -> str:
        """By which options of the program it is finished."""
        if self.planned:
            return "--resume {run}"
        return f"--shard {self.missing[0]} and the options of the others, then merge again"


def merge(parts: Sequence[Part], runs: Path, *, force: bool = False) -> Merge:
    """Writes the run that the parts come to into a new folder of `runs`; the parts stay as they are.

    Raises InputError where they are not parts of one run, or tell the same conversation differently.
    """
    forced = check_agreement(parts, force=force)
    owners = _owners(parts)
    missing = _missing(parts)
    whole = _whole_plan(parts[0]) if missing else None
    plan = _ordered(parts, owners) if whole is None else _filled(owners, whole)
    unfinished = tuple(part.name for part in parts if not part.is_whole)
    status: Status = "interrupted" if missing or unfinished else "finished"
    with closing(_create(parts, plan, runs)) as file:
        done = Merge(file.path, missing, whole is not None or not missing, unfinished, forced)
        try:
            _fill(file, parts, owners, done)
            file.finish(status, sum(part.run.seconds for part in parts))
        except RehearsalError:
            shutil.rmtree(file.path.parent, ignore_errors=True)  # half of a run is none
            raise
    return done


def _owners(parts: Sequence[Part]) -> Owners:
    """Each conversation with the part it is taken from: one that began it, and the first of these."""
    found: dict[str, tuple[int, Held]] = {}
    for number, part in enumerate(parts):
        for held in part.held:
            known = found.get(held.talk.id)
            if known is None or (held.begun and not known[1].begun):
                found[held.talk.id] = (number, held)
            elif held.begun and held.content != known[1].content:
                one = parts[known[0]].name
                msg = f"{held.talk.id} is not the same in {one} and {part.name}: leave one of the two out."
                raise InputError(msg)
    return found


def _missing(parts: Sequence[Part]) -> tuple[str, ...]:
    """The shards that nobody holds; none where one of the parts is a whole run."""
    if not all(part.count for part in parts):
        return ()
    there = frozenset[int]().union(*(part.shards for part in parts))
    count = parts[0].count
    return tuple(Shard(index, count).text for index in range(1, count + 1) if index not in there)


def _whole_plan(part: Part) -> Sequence[Conversation] | None:
    """The plan that the parts were cut from, where the questions can still be read and are the same."""
    try:
        plan, _ = read_plan(part.settings.model_copy(update={"shard": None}))
    except RehearsalError:
        return None
    return plan if plan_digest(plan) == part.plan else None


def _ordered(parts: Sequence[Part], owners: Owners) -> list[Conversation]:
    """What is held, in the order of the whole plan; those that were held once more come last."""
    together = len({part.plan for part in parts}) == 1

    def order(owned: tuple[int, Held]) -> tuple[bool, int, int]:
        number, held = owned
        return held.talk.id.endswith(AGAIN), 0 if together else number, held.place

    return [held.talk for _, held in sorted(owners.values(), key=order)]


def _filled(owners: Owners, whole: Sequence[Conversation]) -> list[Conversation]:
    """The whole plan, with what was held once more at its end."""
    more = sorted(
        (held for _, held in owners.values() if held.talk.id.endswith(AGAIN)), key=lambda h: h.place
    )
    return [*whole, *(held.talk for held in more)]


def _create(parts: Sequence[Part], plan: Sequence[Conversation], runs: Path) -> RunFile:
    first, now = parts[0], datetime.now(tz=UTC)
    budgets = [part.settings.budget for part in parts]
    budget = sum(each for each in budgets if each) if all(budgets) else None
    run = Run(
        id=new_run_id(now.astimezone(), [each.id for each in first.personas]),
        created=now,
        settings=first.run.settings | {"shard": None, "budget": budget},
        versions=first.run.versions,
        prompts=first.run.prompts,
        models=first.run.models,
        offline=all(part.run.offline for part in parts),
    )
    personas = {each.id: each for part in parts for each in part.personas}
    return RunFile.create(runs / run.id, run, plan, personas.values())


def _fill(file: RunFile, parts: Sequence[Part], owners: Owners, done: Merge) -> None:
    known: set[tuple[str, frozenset[str]]] = set()
    for number, part in enumerate(parts):
        whole = (part.run.id, frozenset(held.content for held in part.held))
        if whole not in known:  # a run that is named twice was paid for once
            copy_rows(file.path, part.path, [key for key, (owner, _) in owners.items() if owner == number])
        known.add(whole)
    for key, told in joined(part.notes for part in parts).items():
        file.noted(key, json.dumps(told, ensure_ascii=False))
    told = Joined(
        runs=tuple(part.name for part in parts),
        shards=max(part.count for part in parts),
        **{name: getattr(done, name) for name in ("missing", "planned", "unfinished")},
        differences=done.forced,
    )
    file.noted(MERGED, told.model_dump_json())
