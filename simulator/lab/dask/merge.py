"""Shards: divides a plan into parts, and merges the runs of the parts into one run file.

`--shard 2/5` plans the whole run, holds the part of it that is its own, and keeps a note: where its
conversations stand in the whole plan, and a digest of that plan. So parts can be told to belong together
wherever they were held, and the merged run has the order, the figures and the gate of a run that one
machine had held.

A merge reads all parts, checks that none is missing and that they were held under the same conditions, and
copies rows from file to file.

    machine 1: run.py ... --shard 1/2   a run whose note "shard" is {"shard": "1/2", "plan": "5f0c...",
                                        "places": [0, 1, 4, 5]}
    machine 2: run.py ... --shard 2/2   another one, with the other four places
    run.py merge RUN RUN                a new run with all 8 conversations in the order of the plan

A case is never divided: all its conversations are in one shard, because intervals, `pass^k` and the sharing
of first turns are by case. A merged run is an ordinary run, whose note names the runs it came from; the parts
stay as they are.
"""

import contextlib
import json
import shutil
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.errors import InputError, RehearsalError, RunFileError
from simulator.core.messages import Message, _
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import Conversation, Results, Status
from simulator.lab.dask.settings import Shard, read_shard
from simulator.lab.dask.shard import SHARD_NOTE, ShardPosition
from simulator.storage.run_file import RUN_FILE, RunFile, find_run, new_run_id, read_run

# The note of a run that was merged from others.
MERGED_NOTE = "merged"
# Settings that may differ between the parts of one run: which part it is, how fast, for how much. All others
# decide what was asked and how it was graded.
_FREE_SETTINGS = frozenset({"causes", "shard", "concurrency", "calls", "budget"})
# A message names this many differences; longer values are cut (characters).
_LISTED, _MAX_VALUE = 3, 40
# Notes that belong to one file only: its position in the plan, its sources, the sheet it was pushed to.
_OWN_NOTES = frozenset({SHARD_NOTE, MERGED_NOTE, "sheet"})
# The tables whose rows are copied from a part, beside those that the plan has already.
_TABLES = ("turns", "scores", "verdicts", "calls")


class ShardFile(NamedTuple):
    """One run to merge: a shard, and where it belongs in the plan."""

    path: Path
    results: Results
    settings: Settings
    position: ShardPosition

    @property
    def name(self) -> str:
        """The run's id, for messages."""
        return self.results.run.id

    @property
    def shard(self) -> Shard:
        """Which shard of the plan it is."""
        return read_shard(self.position.shard)

    def places(self) -> Iterator[tuple[int, str]]:
        """Its conversations by their ids, each with its place in the plan; ValueError where one has none."""
        return zip(self.position.places, self.results.conversations.ids, strict=True)


def find_parts(names: Iterable[str], runs: Path) -> list[Path]:
    """The run files for ids, files and folders; a folder stands for all runs below it. Without duplicates.

    CI stores what each job made as an artifact in a folder of its own, and `merge artifacts/` finds all of
    them.
    """
    paths: list[Path] = []
    for name in names:
        folder = Path(name)
        inside = sorted(folder.rglob(RUN_FILE)) if folder.is_dir() else []
        paths += inside or [find_run(name, runs)]
    return list(dict.fromkeys(path.resolve() for path in paths))


def read_part(path: Path) -> ShardFile:
    """Reads a shard; raises RunFileError for another run, and for one that is still written or damaged."""
    _check_is_free(path)
    results = read_run(path)
    try:
        part = ShardFile(
            path,
            results,
            stored_settings(results.run.settings),
            ShardPosition.model_validate(results.notes.get(SHARD_NOTE)),
        )
        # Runs through them for the check: a run to which conversations were added has more than it has
        # places.
        deque(part.places(), maxlen=0)
    except ValueError:
        msg = _("{path}: not a shard of a run (--shard 1/5), or it no longer says which one.", path=path)
        raise RunFileError(msg) from None
    return part


def _check_is_free(path: Path) -> None:
    """Raises RunFileError while another process writes the run."""
    # A shared lock: several merges may read a part, and a writer holds it alone.
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
            msg = _("{parent} is still being written; wait for it, or end it.", parent=path.parent.name)
            raise RunFileError(msg) from None


def check_agreement(parts: Sequence[ShardFile]) -> None:
    """Raises InputError where the parts differ, or where a shard is missing."""
    if differences := list(
        dict.fromkeys(text for part in parts[1:] for text in _differences(parts[0], part))
    ):
        # A few are enough to see what was mixed up.
        raise InputError(_("not parts of one run: {listed:clauses}.", listed=tuple(differences[:_LISTED])))
    # Of two with the same number the later one stays, so the earlier one meets another part in it.
    by_number = {part.shard.number: part for part in parts}
    for part in parts:
        if (other := by_number[part.shard.number]) is not part:
            twice = {"shard": part.shard.text, "one": part.name, "other": other.name}
            raise InputError(_("{one} and {other} are both shard {shard}: leave one of them out.", **twice))
    count = parts[0].shard.parts
    if missing := [Shard(n, count).text for n in range(1, count + 1) if n not in by_number]:
        msg = _(
            "missing: shard {missing}. Hold it with the options of the others, then merge again.",
            missing=", ".join(missing),
        )
        raise InputError(msg)


def _differences(first: ShardFile, other: ShardFile) -> Iterator[Message | str]:
    conditions, others = _conditions(first), _conditions(other)
    for key in dict.fromkeys((*conditions, *others)):
        if conditions.get(key) != others.get(key):
            texts = (" ".join(str(values.get(key)).split()) for values in (conditions, others))
            was, now = (t if len(t) <= _MAX_VALUE else t[: _MAX_VALUE - 1] + "…" for t in texts)
            yield _(
                "{name} is {value} in {one} and {changed} in {other}",
                name=key,
                value=was,
                one=first.name,
                changed=now,
                other=other.name,
            )
    if first.position.plan != other.position.plan or first.shard.parts != other.shard.parts:
        yield _(
            "the questions, customers or number of shards differ in {one} and {other}",
            one=first.name,
            other=other.name,
        )


def _conditions(part: ShardFile) -> dict[str, Any]:
    """What has to be the same in every part; prompts are also those of personas and rubrics."""
    run = part.results.run
    # Python's version without its patch level: two images of a machine seldom have the same for long.
    versions = run.versions | {"python": ".".join(run.versions.get("python", "").split(".")[:2])}
    return {
        **{key: value for key, value in part.settings.stored_values().items() if key not in _FREE_SETTINGS},
        **{f"prompt {key}": value for key, value in run.prompts.items()},
        **{f"model {key}": value for key, value in run.models.items()},
        **{f"version {key}": value for key, value in versions.items()},
    }


def merged_notes(notes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The notes of all parts merged: lists appended, mappings united, of other values the first.

    [1, 2] and [2, 3] -> [1, 2, 3]; {"a": [1]} and {"a": [2], "b": 1} -> {"a": [1, 2], "b": 1}; 1 and 2 -> 1.
    """
    merged: dict[str, Any] = {}
    for part_notes in notes:
        for key, value in part_notes.items():
            if key not in _OWN_NOTES:
                merged[key] = _merged_value(merged[key], value) if key in merged else value
    return merged


def _merged_value(first: Any, other: Any) -> Any:
    if isinstance(first, dict) and isinstance(other, dict):
        both = {key: _merged_value(first[key], other[key]) for key in first.keys() & other.keys()}
        return {**first, **other, **both}
    if isinstance(first, list) and isinstance(other, list):
        return [*first, *(value for value in other if value not in first)]
    return first


def _copy_rows(whole: Path, part: Path, conversations: Iterable[str]) -> None:
    """Copies all rows of these conversations from a part, and its calls, which belong to no conversation.

    The part is only read. Raises RunFileError.
    """
    # As one JSON text: SQLite takes a limited number of variables, and a part may have more conversations.
    ids, chosen = json.dumps(list(conversations)), "(SELECT value FROM json_each(:ids))"
    try:
        with contextlib.closing(sqlite3.connect(whole, isolation_level=None, timeout=10)) as file:
            # SQLite copies by itself: a part may have more rows than fit into memory. The plan was written
            # when the run was created, so of conversations only the endings are still missing.
            file.execute("ATTACH DATABASE ? AS part", (str(part),))
            file.execute("BEGIN")
            ending = ("ended", "reason", "closing", "reaction")
            file.execute(
                f"UPDATE main.conversations SET {', '.join(f'{name} = p.{name}' for name in ending)} "  # noqa: S608 - ours
                f"FROM part.conversations AS p WHERE p.id = main.conversations.id AND p.id IN {chosen}",
                {"ids": ids},
            )
            for table in _TABLES:
                names = [row[1] for row in file.execute(f"PRAGMA part.table_info({table})")]
                columns = ", ".join(name for name in names if name != "id")  # verdicts are numbered anew
                condition = f"WHERE conversation IN {chosen}" if "conversation" in names else ""
                source = f"SELECT {columns} FROM part.{table} {condition}"  # noqa: S608 - ours
                file.execute(f"INSERT OR IGNORE INTO main.{table} ({columns}) {source}", {"ids": ids})
            file.execute("COMMIT")
    except sqlite3.Error as error:
        msg = _(
            "{part}: cannot be copied ({error}). Is the disk full, or the file damaged?",
            part=part,
            error=error,
        )
        raise RunFileError(msg) from None


def merge(parts: Sequence[ShardFile], runs: Path) -> tuple[Path, Message | None]:
    """Merges the parts into a new run in the folder `runs`; the parts are not changed.

    Returns its run file, and which parts were not finished, None where all were. Raises InputError if they
    are not the parts of one run.
    """
    check_agreement(parts)
    unfinished = [part.name for part in parts if part.results.run.status != "finished"]
    status: Status = "interrupted" if unfinished else "finished"
    with contextlib.closing(_create(parts, _ordered(parts), runs)) as file:
        try:
            for part in parts:
                _copy_rows(file.path, part.path, part.results.conversations.ids)
            for key, value in merged_notes(part.results.notes for part in parts).items():
                file.save_note(key, json.dumps(value, ensure_ascii=False))
            file.save_note(MERGED_NOTE, json.dumps({"runs": [part.name for part in parts]}))
            file.finish(status, sum(part.results.run.seconds for part in parts))
        except RehearsalError:
            # The parts are untouched, so that merging can be tried again.
            shutil.rmtree(file.path.parent, ignore_errors=True)  # half a run is worth nothing
            raise
    return file.path, _("not finished: {runs}", runs=", ".join(unfinished)) if unfinished else None


def _ordered(parts: Sequence[ShardFile]) -> Iterator[Conversation]:
    """The conversations in the order of the plan."""
    placed = sorted((*place, number) for number, part in enumerate(parts) for place in part.places())
    for _place, name, number in placed:
        yield from parts[number].results.conversations.with_ids([name])


def _create(parts: Sequence[ShardFile], plan: Iterable[Conversation], runs: Path) -> RunFile:
    first, now = parts[0].results, datetime.now(tz=UTC)
    # Each part had a budget of its own; with one that had none, the whole has none.
    budgets = [part.settings.budget for part in parts]
    budget = sum(amount for amount in budgets if amount) if all(budgets) else None
    changes = {
        "id": new_run_id(now.astimezone(), [persona.id for persona in first.personas]),
        "created": now,
        "settings": first.run.settings | {"shard": None, "budget": budget},
        "offline": all(part.results.run.offline for part in parts),
        "status": "running",
        "seconds": 0.0,
    }
    run = first.run.model_copy(update=changes)
    personas = {persona.id: persona for part in parts for persona in part.results.personas}
    file = RunFile.create(runs / run.id, run, plan, personas.values())
    file.save_articles(first.articles)
    return file
