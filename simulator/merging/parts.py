"""The runs that are to be put together, each as far as that needs: what it is, and what it holds."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from simulator.core.errors import RunFileError
from simulator.core.settings import Settings, from_run, read_shard
from simulator.core.types import Conversation, Persona, Results, Run, Score, Value
from simulator.customers.replaying import AGAIN
from simulator.merging.shards import NOTE, Place, plan_digest
from simulator.storage.run_file import NAME, find_run, read_run

# The note of a run that was put together.
MERGED = "merged"


class Joined(Value):
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


def joined_of(notes: Mapping[str, Any]) -> Joined | None:
    """What a run says of having been merged; None for one that was held at one place."""
    try:
        return Joined.model_validate(notes[MERGED]) if MERGED in notes else None
    except ValidationError:
        return None


@dataclass(frozen=True)
class Held:
    """One conversation of a part: where it stands in the plan, a hash of all of it, whether anyone spoke."""

    talk: Conversation
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
    held: tuple[Held, ...]
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
    planned = [talk for talk in results.conversations if not talk.id.endswith(AGAIN)]
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


def _place(results: Results, path: Path) -> Place | None:
    told = results.notes.get(NOTE)
    if told is None and results.run.settings.get("shard") is None:
        return None
    try:
        place = Place.model_validate(told)
    except ValidationError:
        msg = f"{path}: does not say where its part belongs in the whole run. Hold that shard anew."
        raise RunFileError(msg) from None
    first = [talk for talk in results.conversations if not talk.id.endswith(AGAIN)]
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


def _held(results: Results, place: Place | None) -> tuple[Held, ...]:
    scores: dict[str, list[str]] = {}
    for score in results.scores:
        scores.setdefault(score.conversation, []).append(score.model_dump_json())
    places: dict[str, int] = {}
    for talk in results.conversations:
        again = talk.id.endswith(AGAIN)
        first = places.get(talk.id.removesuffix(AGAIN), len(places)) if again else len(places)
        places[talk.id] = first
    return tuple(
        Held(
            talk=talk.model_copy(update={"turns": ()}),
            place=place.places[places[talk.id]] if place else places[talk.id],
            content=_content(talk, scores.get(talk.id, [])),
            begun=bool(talk.turns or talk.ended),
        )
        for talk in results.conversations
    )


def _content(talk: Conversation, scores: Iterable[str]) -> str:
    said = "\n".join([talk.model_dump_json(), *scores])
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
