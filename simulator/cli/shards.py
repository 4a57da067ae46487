"""What `--shard` changes about a run: its plan, its place in the whole, and its gate."""

from collections.abc import Sequence

from simulator.cli.terminal import DONE, print_json, say
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings, read_shard
from simulator.core.types import Conversation, Results
from simulator.runner.merge import SHARD_NOTE, merge_summary, shard_conversations, shard_position
from simulator.storage.run_file import RunFile


def check_shard(settings: Settings) -> None:
    """Raises InputError for --sequential, which needs the whole run."""
    if settings.shard and settings.sequential:
        msg = _("--sequential needs the whole run: leave it out with --shard.")
        raise InputError(msg)


def check_is_planned(results: Results) -> None:
    """Raises InputError for a merged run that lacks a shard, and cannot know its conversations."""
    joined = merge_summary(results.notes)
    if joined is not None and not joined.planned:
        msg = _(
            "{run} lacks shard {missing}: run it, then merge again.",
            run=results.run.id,
            missing=", ".join(joined.missing),
        )
        raise InputError(msg)


def sharded(plan: Sequence[Conversation], settings: Settings) -> Sequence[Conversation]:
    """The part of the plan for this shard; all of it without --shard."""
    return shard_conversations(plan, read_shard(settings.shard)) if settings.shard else plan


def remember_place(file: "RunFile", whole: Sequence[Conversation], settings: Settings) -> "RunFile":
    """Writes into a shard's file where its conversations stand in the whole plan."""
    if settings.shard:
        file.save_note(SHARD_NOTE, shard_position(whole, read_shard(settings.shard)).model_dump_json())
    return file


def without_gate(settings: Settings) -> Settings:
    """A shard has no gate of its own: the target is for the merged run."""
    if settings.shard is None or settings.target is None:
        return settings
    say(_("Shard {shard}: the target is for the merged run.", shard=settings.shard))
    return settings.model_copy(update={"target": None, "confidence": None})


def say_empty(file: "RunFile", settings: Settings) -> int:
    """Finishes the run of a shard without questions; returns the exit code."""
    file.finish("finished", 0.0)
    file.close()
    say(_("Shard {shard} has no questions, so there is nothing to run.", shard=settings.shard))
    if settings.json_output:
        print_json({"run": file.path.parent.name, "store": str(file.path), "turns": 0})
    return DONE
