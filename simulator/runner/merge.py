"""Parts put together to one run file: the plan in its order, and every row of every part once."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simulator.core.errors import InputError, RehearsalError, RunFileError
from simulator.core.settings import Settings, Shard, from_run, read_shard
from simulator.core.types import Conversation, Persona, Results, Run, Score, Status, Value
from simulator.runner.plan import read_plan
from simulator.runner.run import AGAIN
from simulator.storage.run_file import NAME, RunFile, find_run, new_run_id, read_run

# The note of a run that is a part of a larger one.
NOTE = "shard"


class ShardPosition(Value):
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
    mine = _dealt({conversation.case.id for conversation in plan}, shard)
    return tuple(conversation for conversation in plan if conversation.case.id in mine)


def _dealt(cases: Iterable[str], shard: Shard) -> frozenset[str]:
    ranked = sorted(cases, key=lambda case: hashlib.sha256(case.encode()).digest())
    return frozenset(ranked[shard.number - 1 :: shard.parts])


def place_of(plan: Sequence[Conversation], shard: Shard) -> ShardPosition:
    """What a shard has to remember of the whole plan."""
    mine = _dealt({conversation.case.id for conversation in plan}, shard)
    places = tuple(place for place, conversation in enumerate(plan) if conversation.case.id in mine)
    return ShardPosition(shard=shard.text, planned=len(plan), plan=plan_digest(plan), places=places)


def plan_digest(plan: Iterable[Conversation]) -> str:
    """A hash of who asks what in which order, with everything that is known of each question."""
    found = hashlib.sha256()
    for conversation in plan:
        found.update(json.dumps([conversation.id, conversation.persona, conversation.repeat]).encode())
        found.update(conversation.case.model_dump_json().encode())
    return found.hexdigest()[:16]


# The note of a run that was put together.
MERGED = "merged"


class MergeSummary(Value):
    """What a merged run says of itself.

    `missing` of its `shards` were not there; where `planned`, their conversations are in its plan.
    `unfinished` runs were broken off; `differences` were passed over.
    """

    runs: tuple[str, ...]
    shards: int = 0
    missing: tuple[str, ...] = ()
    planned: bool = True
    unfinished: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()


def joined_of(notes: Mapping[str, Any]) -> MergeSummary | None:
    """What a run says of having been merged; None for one that was held at one place."""
    try:
        return MergeSummary.model_validate(notes[MERGED]) if MERGED in notes else None
    except ValidationError:
        return None


@dataclass(frozen=True)
class PartConversation:
    """One conversation of a part: where it stands in the plan, a hash of all of it, whether anyone spoke."""

    conversation: Conversation
    place: int
    content: str
    begun: bool


@dataclass(frozen=True)
class Part:
    """One of the runs. `shards` are those it holds of `count`; none where it was never divided."""

    path: Path
    run: Run
    settings: Settings
    personas: tuple[Persona, ...]
    notes: dict[str, Any]
    held: tuple[PartConversation, ...]
    plan: str
    count: int = 0
    shards: frozenset[int] = frozenset()
    rubrics: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called in a message."""
        return self.run.id

    @property
    def is_whole(self) -> bool:
        """Whether all that it was to hold was held; shards that another merge missed are not its own."""
        told = joined_of(self.notes)
        return self.run.status == "finished" or (told is not None and not told.unfinished)


def find_parts(names: Iterable[str], runs: Path) -> list[Path]:
    """The run files meant by ids, folders and files; a folder of folders stands for all runs within it."""
    found: list[Path] = []
    for name in names:
        folder = Path(name)
        inside = sorted(folder.rglob(NAME)) if folder.is_dir() else []
        found += inside or [find_run(name, runs)]
    return list(dict.fromkeys(path.resolve() for path in found))


def read_part(path: Path) -> Part:
    """A run as a part; raises RunFileError for one that is still being written."""
    _check_is_free(path)
    results = read_run(path)
    settings, place = from_run(results.run.settings), _place(results, path)
    shard = read_shard(place.shard) if place else None
    count, shards = (shard.parts, frozenset({shard.number})) if shard else _of_merged(results)
    planned = [conversation for conversation in results.conversations if not conversation.id.endswith(AGAIN)]
    return Part(
        path=path,
        run=results.run,
        settings=settings,
        personas=results.personas,
        notes=dict(results.notes),
        held=_held(results, place),
        plan=place.plan if place else plan_digest(planned),
        count=count,
        shards=shards,
        rubrics=_rubrics(results.scores),
    )


def _place(results: Results, path: Path) -> ShardPosition | None:
    told = results.notes.get(NOTE)
    if told is None and results.run.settings.get("shard") is None:
        return None
    try:
        place = ShardPosition.model_validate(told)
    except ValidationError:
        msg = f"{path}: does not say where its part belongs in the whole run. Hold that shard anew."
        raise RunFileError(msg) from None
    first = [conversation for conversation in results.conversations if not conversation.id.endswith(AGAIN)]
    if len(first) != len(place.places):
        msg = f"{path}: holds {len(first)} conversations, and places for {len(place.places)}: it is damaged."
        raise RunFileError(msg)
    return place


def _of_merged(results: Results) -> tuple[int, frozenset[int]]:
    """The shards of a run that was put together before; those that it missed may have been held since."""
    told = joined_of(results.notes)
    if told is None:
        return 0, frozenset()
    resumed = results.run.status == "finished" and told.planned
    missing = set() if resumed else {read_shard(each).number for each in told.missing}
    return told.shards, frozenset(range(1, told.shards + 1)) - missing


def _held(results: Results, place: ShardPosition | None) -> tuple[PartConversation, ...]:
    scores: dict[str, list[str]] = {}
    for score in results.scores:
        scores.setdefault(score.conversation, []).append(score.model_dump_json())
    places: dict[str, int] = {}
    for conversation in results.conversations:
        again = conversation.id.endswith(AGAIN)
        first = places.get(conversation.id.removesuffix(AGAIN), len(places)) if again else len(places)
        places[conversation.id] = first
    return tuple(
        PartConversation(
            conversation=conversation.model_copy(update={"turns": ()}),
            place=place.places[places[conversation.id]] if place else places[conversation.id],
            content=_content(conversation, scores.get(conversation.id, [])),
            begun=bool(conversation.turns or conversation.ended),
        )
        for conversation in results.conversations
    )


def _content(conversation: Conversation, scores: Iterable[str]) -> str:
    said = "\n".join([conversation.model_dump_json(), *scores])
    return hashlib.sha256(said.encode()).hexdigest()


def _rubrics(scores: Iterable[Score]) -> dict[str, frozenset[str]]:
    """What each judge graded by; grades that a rule gave have no prompt behind them."""
    found: dict[str, set[str]] = {}
    for score in scores:
        if score.state == "scored" and score.rubric and not score.by_rule:
            found.setdefault(score.judge, set()).add(score.rubric)
    return {judge: frozenset(hashes) for judge, hashes in found.items()}


def _check_is_free(path: Path) -> None:
    """Raises RunFileError while another process writes the run."""
    lock = path.with_name("run.lock")
    if not lock.exists():
        return
    try:
        import fcntl  # not on Windows
    except ImportError:
        return
    with lock.open(encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            msg = f"{path.parent.name} is still being written; wait for it, or end it."
            raise RunFileError(msg) from None


# How fast and for how much, or which part: these may differ between the parts of one run.
_OF_EACH_PART = frozenset({"shard", "concurrency", "calls", "rpm", "tpm", "budget"})
# Differences that a message names; the rest is counted.
SHOWN = 3
LONGEST = 40


def check_agreement(parts: Sequence[Part], *, force: bool) -> tuple[str, ...]:
    """What differs between the parts: told as an InputError, or given back where it is `force`d."""
    found = tuple(dict.fromkeys(each for part in parts[1:] for each in _differences(parts[0], part)))
    if found and not force:
        more = f"; {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        msg = f"not parts of one run: {'; '.join(found[:SHOWN])}{more}. --force merges them with a note."
        raise InputError(msg)
    return found


def _differences(one: Part, other: Part) -> Iterator[str]:
    yield from _settings(one, other)
    if one.plan != other.plan:
        yield f"the questions or customers of {one.name} and {other.name} differ"
    if one.count and other.count and one.count != other.count:
        yield f"{one.name} is one of {one.count} shards, {other.name} one of {other.count}"
    if one.personas != other.personas:
        yield f"the personas of {one.name} and {other.name} are not told the same"
    yield from _mapping("prompt", one, one.run.prompts, other, other.run.prompts)
    yield from _mapping("model", one, one.run.models, other, other.run.models)
    yield from _mapping("version", one, _versions(one), other, _versions(other))
    for judge in one.rubrics.keys() & other.rubrics.keys():
        if one.rubrics[judge] != other.rubrics[judge]:
            yield f"{judge} graded by different rubrics in {one.name} and {other.name}"


def _settings(one: Part, other: Part) -> Iterator[str]:
    first, second = one.settings.of_the_run(), other.settings.of_the_run()
    kept = first.keys() - _OF_EACH_PART
    yield from _mapping("", one, {k: first[k] for k in kept}, other, {k: second[k] for k in kept})


def _versions(part: Part) -> dict[str, str]:
    """Python without its patch level: no two images of a machine have the same for long."""
    python = ".".join(part.run.versions.get("python", "").split(".")[:2])
    return part.run.versions | {"python": python}


def _mapping(
    kind: str, one: Part, first: dict[str, Any], other: Part, second: dict[str, Any]
) -> Iterator[str]:
    for key in sorted(first.keys() | second.keys()):
        if first.get(key) != second.get(key):
            was, now = _short(first.get(key)), _short(second.get(key))
            name = f"{kind} {key}".strip()
            yield f"{name} is {was} in {one.name} and {now} in {other.name}"


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


# Of one file only: its place in the whole, the runs it was put together from, the sheet it was pushed to.
_OF_ONE_FILE = frozenset({NOTE, MERGED, "sheet"})


def joined(notes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The notes of all parts: lists one after another, mappings together, else the first."""
    found: dict[str, Any] = {}
    for each in notes:
        for key, told in each.items():
            if key not in _OF_ONE_FILE:
                found[key] = _join(found[key], told) if key in found else told
    return found


def _join(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        both = {key: _join(one[key], other[key]) for key in one.keys() & other.keys()}
        return {**one, **other, **both}
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *(each for each in other if each not in one)]
    return one


# Notes are joined, and the plan is written, by whoever puts the parts together.
_NOT_COPIED = ("about", "conversations")
_OF_THE_PLAN = frozenset({"id", "position", "persona", "repeat", "case"})


def copy_rows(whole: Path, part: Path, conversations: Iterable[str]) -> None:
    """Everything that was said, graded, called and judged in these conversations of a part.

    What belongs to no conversation, as calls do, is copied too. The part is only read.
    """
    try:
        with closing(sqlite3.connect(whole, isolation_level=None, timeout=10)) as file:
            file.execute("ATTACH DATABASE ? AS part", (str(part),))
            file.execute("BEGIN")
            file.execute("CREATE TEMP TABLE mine (id TEXT PRIMARY KEY)")
            file.executemany("INSERT INTO mine VALUES (?)", ((each,) for each in conversations))
            _copy_all(file)
            file.execute("DROP TABLE temp.mine")
            file.execute("COMMIT")
    except sqlite3.Error as error:
        msg = f"{part}: cannot be copied ({error}). Is the disk full, or the file damaged?"
        raise RunFileError(msg) from None


def _copy_all(file: sqlite3.Connection) -> None:
    for table in _tables(file, "main"):
        names = _columns(file, "main", table)
        shared = [name for name in _columns(file, "part", table) if name in names]
        if table == "conversations":
            _copy_endings(file, [name for name in shared if name not in _OF_THE_PLAN])
        elif table not in _NOT_COPIED and shared:
            columns = ", ".join(f'"{name}"' for name in shared)
            mine = " WHERE conversation IN (SELECT id FROM mine)" if "conversation" in shared else ""
            source = f'SELECT {columns} FROM part."{table}"{mine}'  # noqa: S608 - names of our own schema
            file.execute(f'INSERT OR IGNORE INTO main."{table}" ({columns}) {source}')


def _copy_endings(file: sqlite3.Connection, names: list[str]) -> None:
    sets = ", ".join(f'"{name}" = p."{name}"' for name in names)
    file.execute(
        f"UPDATE main.conversations SET {sets} FROM part.conversations AS p "  # noqa: S608 - as above
        "WHERE p.id = main.conversations.id AND p.id IN (SELECT id FROM mine)"
    )


def _tables(file: sqlite3.Connection, schema: str) -> Iterator[str]:
    query = f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"  # noqa: S608
    return iter([name for (name,) in file.execute(query)])


def _columns(file: sqlite3.Connection, schema: str, table: str) -> list[str]:
    """The columns of a table, but for a number that only counts its rows; none where there is no table."""
    found = list(file.execute(f'PRAGMA {schema}.table_info("{table}")'))
    keys = [row for row in found if row[5]]
    counts = keys[0][1] if len(keys) == 1 and keys[0][2].upper() == "INTEGER" else None
    return [row[1] for row in found if row[1] != counts]


# Who holds a conversation: the number of the part, and what it holds.
Owners = Mapping[str, tuple[int, PartConversation]]


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
    found: dict[str, tuple[int, PartConversation]] = {}
    for number, part in enumerate(parts):
        for held in part.held:
            known = found.get(held.conversation.id)
            if known is None or (held.begun and not known[1].begun):
                found[held.conversation.id] = (number, held)
            elif held.begun and held.content != known[1].content:
                one = parts[known[0]].name
                name = held.conversation.id
                msg = f"{name} is not the same in {one} and {part.name}: leave one of the two out."
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

    def order(owned: tuple[int, PartConversation]) -> tuple[bool, int, int]:
        number, held = owned
        return held.conversation.id.endswith(AGAIN), 0 if together else number, held.place

    return [held.conversation for _, held in sorted(owners.values(), key=order)]


def _filled(owners: Owners, whole: Sequence[Conversation]) -> list[Conversation]:
    """The whole plan, with what was held once more at its end."""
    more = sorted(
        (held for _, held in owners.values() if held.conversation.id.endswith(AGAIN)), key=lambda h: h.place
    )
    return [*whole, *(held.conversation for held in more)]


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
    told = MergeSummary(
        runs=tuple(part.name for part in parts),
        shards=max(part.count for part in parts),
        **{name: getattr(done, name) for name in ("missing", "planned", "unfinished")},
        differences=done.forced,
    )
    file.noted(MERGED, told.model_dump_json())
