"""`cache`: how much of the models' answers is stored on this machine, and how to delete it.

One SQLite file for all projects of a user (`models/cache.py`). What is deleted is gone from the file as well,
for it may hold what customers said.
"""

import sys
from typing import Any, Literal

from simulator.cli.options import argument, takes
from simulator.cli.terminal import ExitCode, print_json, say
from simulator.core.messages import _, localised, ngettext
from simulator.core.settings import load_settings
from simulator.models.cache import cache_file, clear, entries, size_on_disk


@takes("json_output")
def command(
    flags: dict[str, Any],
    action: Literal["show", "clear"] = argument("[show|clear]", "Show the cache or clear it.", "show"),
) -> int:
    """Show how many answers of models are cached on this machine, or delete them.

    Runs and reports do not need them: the same request is sent, and paid for, again.
    """
    settings, path = load_settings(flags), cache_file()
    cleared = clear(path) if action == "clear" else None
    n, size = entries(path), size_on_disk(path)
    if settings.json_output:
        print_json({"file": str(path), "bytes": size, "cleared": cleared, "entries": n})
        return ExitCode.DONE
    if cleared is not None:
        say(ngettext("{n} answer cleared.", "{n} answers cleared.", n=cleared))
    shown = _("{path}: {n} answers, {size:,.1f} MB", path=path, n=n, size=size / 1e6)
    sys.stdout.write(f"{localised(shown)}\n")
    return ExitCode.DONE
