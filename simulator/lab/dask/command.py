"""`merge A B ...`: shards of a run become the run that one machine would have made.

The parts stay as they are. The merged run has a file, reports and a gate of its own (`merge.py`); a
part that is missing, or was held under other conditions, is an error before anything is written.
"""

from typing import Any

from simulator.api.destinations import check_destinations
from simulator.cli.options import REPORTING, argument, takes
from simulator.cli.publish import publish
from simulator.core.settings import load_settings, settings_of_run
from simulator.lab.dask.merge import find_parts, merge, read_part
from simulator.storage.run_file import read_run


@takes(*REPORTING, "target", "max_major", "confidence")
def command(
    flags: dict[str, Any],
    parts: list[str] = argument("RUN...", "Runs: ids, folders, run files, or a folder with runs in it.", ...),
) -> int:
    """Merge the runs of --shard 1/5, 2/5 ... into one run, with one report and one gate.

    python run.py merge shard-1 shard-2 shard-3 --target 80
    """
    today = load_settings(flags)
    check_destinations(today)
    runs = today.runs
    path, stopped = merge([read_part(path) for path in find_parts(parts, runs)], runs)
    settings = settings_of_run(read_run(path).run.settings, flags, today, REPORTING)
    return publish(path, settings, stopped)
