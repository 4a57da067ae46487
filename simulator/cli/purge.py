"""`purge RUN`: deletes a run, and says where else its text is.

Replies in the response cache go before the run: the run file names them, and once it is gone nobody could
find them.
"""

import sys
from typing import Any

from simulator.cli.options import argument, option, takes
from simulator.cli.terminal import ExitCode, print_json
from simulator.core.errors import InputError
from simulator.core.messages import _, localised, say
from simulator.core.settings import load_settings
from simulator.models.cache import cache_file, delete
from simulator.storage.purge import Purge, cached_replies, delete_run, open_purge


@takes("runs", "json_output")
def command(
    flags: dict[str, Any],
    run: str = argument("RUN", "A run: id, start of an id, latest, or path.", ...),
    *,
    yes: bool = option("--yes", "Delete without asking."),
    replies: bool = option(
        "--replies", "Also delete the models' replies of this run from the response cache."
    ),
) -> int:
    """Delete a run: its folder with run file, reports and verdicts.

    Also says where else its text is: in the response cache (--replies deletes it there), and in the Google
    Sheet it was written to.
    """
    settings = load_settings(flags)
    with open_purge(run, settings.runs) as purge:
        cached = cached_replies(purge.results)
        files = len(purge.files)
        if not yes and not _agreed(purge, len(cached) if replies else 0):
            say(_("Nothing was deleted."))
            return ExitCode.DONE
        if replies and cached:
            delete(cache_file(), cached)
        delete_run(purge)
    left = 0 if replies else len(cached)
    deleted = len(cached) - left
    if settings.json_output:
        print_json(
            {
                "purged": str(purge.folder),
                "files": files,
                "cache": {"deleted": deleted, "left": left},
                "elsewhere": [str(place) for place in purge.elsewhere],
            }
        )
    _report(purge, files, deleted, left)
    return ExitCode.DONE


def _agreed(purge: "Purge", replies: int) -> bool:
    """Whether the person at the terminal says yes; raises InputError where there is none."""
    if not sys.stdin.isatty():
        files = {"folder": purge.folder, "n": len(purge.files)}
        raise InputError(_("{folder} would be deleted with {n} files. Add --yes to do it.", **files))
    counts = {"folder": purge.folder, "n": len(purge.files), "planned": purge.results.planned}
    say(_("{folder}: {n} files, {planned} conversations.", **counts))
    asked = _("Delete them for good? [y/N]")
    if replies:
        asked = _("Delete them and {replies} replies in the cache for good? [y/N]", replies=replies)
    sys.stderr.write(f"{localised(asked)} ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes", "はい")


def _report(purge: "Purge", files: int, deleted: int, left: int) -> None:
    """Says what was deleted, and what may still hold text of the run."""
    say(_("Deleted {folder}: {files} files.", folder=purge.folder, files=files))
    if deleted:
        say(_("Deleted {deleted} replies of models from the cache.", deleted=deleted))
    if left:
        say(
            _("The response cache still has {left} replies of this run: python run.py cache clear", left=left)
        )
    if purge.elsewhere:
        say(_("Text of the run may also be in: {places}", places=purge.elsewhere))
