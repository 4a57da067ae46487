"""`purge RUN`: deletes a run, and says where else its text may be."""

import sys
from typing import Any

from simulator.cli.options import argument, option, takes
from simulator.cli.terminal import ExitCode, print_json
from simulator.core.errors import InputError
from simulator.core.messages import _, localised, say
from simulator.core.settings import load_settings
from simulator.storage.purge import Purge, delete_run, open_purge


@takes("runs", "json_output")
def command(
    flags: dict[str, Any],
    run: str = argument("RUN", "A run: id, start of an id, latest, or path.", ...),
    *,
    yes: bool = option("--yes", "Delete without asking."),
) -> int:
    """Delete a run: its folder with run file, reports and verdicts.

    Also says where else its text may be: in the Google Sheet it was written to, in later runs that took
    comments of your team over, and in the response cache.
    """
    settings = load_settings(flags)
    with open_purge(run, settings.runs) as purge:
        files = len(purge.files)
        if not yes and not _agreed(purge):
            say(_("Nothing was deleted."))
            return ExitCode.DONE
        delete_run(purge)
    if settings.json_output:
        elsewhere = [str(place) for place in purge.elsewhere]
        print_json({"purged": str(purge.folder), "files": files, "elsewhere": elsewhere})
    say(_("Deleted {folder}: {files} files.", folder=purge.folder, files=files))
    if purge.elsewhere:
        say(_("Text of the run may also be in: {places}", places=purge.elsewhere))
    return ExitCode.DONE


def _agreed(purge: Purge) -> bool:
    """Whether the person at the terminal says yes; raises InputError where there is none."""
    if not sys.stdin.isatty():
        files = {"folder": purge.folder, "n": len(purge.files)}
        raise InputError(_("{folder} would be deleted with {n} files. Add --yes to do it.", **files))
    counts = {"folder": purge.folder, "n": len(purge.files), "planned": purge.results.planned}
    say(_("{folder}: {n} files, {planned} conversations.", **counts))
    sys.stderr.write(f"{localised(_('Delete them for good? [y/N]'))} ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes", "はい")
