"""The other run of a new version: free where it was replayed, a replay where it talked freely."""

from collections.abc import Iterable

from simulator.changes.replays import replay_of
from simulator.types import Run


def companion(before: Run, after: Run, runs: Iterable[Run]) -> Run | None:
    """The run nearest in time to `after` that has the same bot and, of replay and free, is the other kind.

    A replay must be one of `before`. A free run must be newer than `before`: a bot that changed without a
    change of its settings would otherwise be taken for the new version.
    """
    wanted = [run for run in runs if run.id not in (before.id, after.id) and _is_other(before, after, run)]
    return min(wanted, key=lambda run: abs(run.created - after.created), default=None)


def _is_other(before: Run, after: Run, run: Run) -> bool:
    if _bot(run) != _bot(after) or run.status != "finished" or run.offline != after.offline:
        return False
    if replay_of(after):
        return replay_of(run) is None and run.created > before.created
    return replay_of(run) == before.id


def _bot(run: Run) -> tuple[object, object, str | None]:
    return run.settings.get("adapter"), run.settings.get("set"), run.models.get("demo")
