"""The other run of a new version: free where it was replayed, a replay where it talked freely."""

from collections.abc import Iterable

from simulator.core.types import Run
from simulator.storage.runs import Head, replay_of


def companion(before: Run, after: Head, runs: Iterable[Head]) -> Run | None:
    """The run nearest in time to `after` that has the same bot and, of replay and free, is the other kind.

    It must have asked the very questions of `after`: those that failed, asked once more, would be a verdict
    about the hardest ones. A replay must be one of `before`. A free run must be newer than `before`: a bot
    that changed without a change of its settings would otherwise be taken for the new version.
    """
    wanted = [
        head.run
        for head in runs
        if head.run.id not in (before.id, after.run.id)
        and head.questions == after.questions
        and _is_other(before, after.run, head.run)
    ]
    return min(wanted, key=lambda run: abs(run.created - after.run.created), default=None)


def _is_other(before: Run, after: Run, run: Run) -> bool:
    if _bot(run) != _bot(after) or run.status != "finished" or run.offline != after.offline:
        return False
    if replay_of(after):
        return replay_of(run) is None and run.created > before.created
    return replay_of(run) == before.id


def _bot(run: Run) -> tuple[object, object, str | None]:
    return run.settings.get("adapter"), run.settings.get("set"), run.models.get("demo")
