"""What `--shard` changes about a rehearsal: its plan, what it remembers of the whole, and its gate."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulator.core.errors import InputError
from simulator.core.settings import Settings, read_shard
from simulator.core.types import Conversation, Results
from simulator.runner.merge import NOTE, part_of, place_of

if TYPE_CHECKING:
    from simulator.storage.run_file import RunFile


def check_shard(settings: Settings) -> None:
    """Raises InputError for what needs the whole run to look at."""
    if settings.shard and settings.sequential:
        msg = "--sequential looks at the whole run: leave it out with --shard."
        raise InputError(msg)


def check_is_planned(results: Results) -> None:
    """Raises InputError for a merged run that lacks a shard whose conversations it does not know."""
    from simulator.runner.merge import joined_of  # only for a run that is taken up again

    told = joined_of(results.notes)
    if told is not None and not told.planned:
        msg = f"{results.run.id} lacks shard {', '.join(told.missing)}: hold it, then merge again."
        raise InputError(msg)


def sharded(plan: Sequence[Conversation], settings: Settings) -> Sequence[Conversation]:
    """The part of the plan that is held here: all of it without --shard."""
    return part_of(plan, read_shard(settings.shard)) if settings.shard else plan


def remember_place(file: "RunFile", whole: Sequence[Conversation], settings: Settings) -> "RunFile":
    """Writes into a shard's file where its conversations stand in the whole plan."""
    if settings.shard:
        file.noted(NOTE, place_of(whole, read_shard(settings.shard)).model_dump_json())
    return file


def without_gate(settings: Settings) -> Settings:
    """A shard has no gate of its own: the target is that of the merged run."""
    if settings.shard is None or settings.target is None:
        return settings
    sys.stderr.write(f"Shard {settings.shard}: the target is for the merged run.\n")
    return settings.model_copy(update={"target": None, "confidence": None})


def say_empty(file: "RunFile", settings: Settings) -> int:
    """A shard without questions is a run that is over as soon as it is there."""
    file.finish("finished", 0.0)
    file.close()
    sys.stderr.write(f"Shard {settings.shard} has no questions: there is nothing to hold.\n")
    if settings.json_output:
        shown = {"run": file.path.parent.name, "store": str(file.path), "turns": 0}
        sys.stdout.write(json.dumps(shown, ensure_ascii=False) + "\n")
    return 0
