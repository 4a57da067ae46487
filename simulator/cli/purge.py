"""`purge RUN`: a run off the disk, and word of where else its text may be."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.options import takes
from simulator.core.errors import InputError
from simulator.core.settings import load

if TYPE_CHECKING:
    from simulator.storage.purge import Purge

DONE = 0
# Files that are listed at most.
_LISTED = 10

# fmt: off
Run = Annotated[str, typer.Argument(
    metavar="RUN", help="A run: id, start of an id, latest, or path.", show_default=False,
)]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.", show_default=False)]
Cache = Annotated[bool, typer.Option(
    "--cache", help="Also the models' replies of this run that the response cache keeps.",
)]
# fmt: on


@takes("runs", "json_output")
def command(flags: dict[str, Any], run: Run, *, yes: Yes = False, cache: Cache = False) -> int:
    """Delete a run: its folder with run file, reports and verdicts.

    Says where else its text may be: the response cache (--cache clears it of this run), Google Sheets it was
    pushed to, and pages of other runs that show it.
    """
    from simulator.storage.purge import delete, forget, held_for_purging, replies_of

    settings = load(flags)
    with held_for_purging(run, Path(settings.runs)) as purge:
        replies = replies_of(purge.results)
        files = len(purge.files)
        if not yes and not _agreed(purge, len(replies) if cache else 0):
            _say("Nothing was deleted.")
            return DONE
        if cache and replies:
            forget(replies)
        delete(purge)
    left = 0 if cache else len(replies)
    gone = len(replies) - left
    if settings.json_output:
        told: dict[str, Any] = {"purged": str(purge.folder), "files": files}
        told |= {"cache": {"deleted": gone, "left": left}, "elsewhere": list(purge.elsewhere)}
        sys.stdout.write(json.dumps(told, ensure_ascii=False) + "\n")
    _tell(purge, files, gone, left)
    return DONE


def _agreed(purge: "Purge", replies: int) -> bool:
    """Whether the person at the terminal says yes; without one, --yes has to be given."""
    if not sys.stdin.isatty():
        msg = f"{purge.folder} would be deleted with {len(purge.files)} files. Add --yes to do it."
        raise InputError(msg)
    _say(f"{purge.folder}: {len(purge.files)} files, {purge.results.planned} conversations.")
    also = f" and {replies} replies in the cache" if replies else ""
    sys.stderr.write(f"Delete them{also} for good? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes", "はい")


def _tell(purge: "Purge", files: int, gone: int, left: int) -> None:
    """What is gone, and what may still hold text of the run."""
    _say(f"Deleted {purge.folder}: {files} files.")
    if gone:
        _say(f"Deleted {gone} replies of models from the cache.")
    if left:
        _say(f"The response cache keeps {left} replies of this run: python run.py cache clear")
    if purge.elsewhere:
        _say("Text of the run may also be in:")
        for place in purge.elsewhere[:_LISTED]:
            _say(f"  {place}")
        if len(purge.elsewhere) > _LISTED:
            _say(f"  and {len(purge.elsewhere) - _LISTED} more files of other runs")


def _say(text: str) -> None:
    from simulator.core.translations import plain

    sys.stderr.write(plain(text) + "\n")
