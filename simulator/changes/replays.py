"""Which run another one replays: said wherever a replay is shown."""

from pathlib import Path

from simulator.core.types import Run
from simulator.store import NAME


def replay_of(run: Run) -> str | None:
    """The id of the run whose customers' lines were said again; None for a run of its own."""
    given = run.settings.get("replay")
    if not isinstance(given, str) or not given:
        return None
    path = Path(given.replace("\\", "/"))
    return path.parent.name if path.name == NAME and path.parent.name else path.name
