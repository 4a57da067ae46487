"""`cache`: how much of the models' answers is stored on this machine, and how to delete it."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from simulator.cli.options import takes
from simulator.cli.terminal import DONE, print_json
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import load_settings

if TYPE_CHECKING:
    from simulator.models.cache import CacheContents

# fmt: off
Action = Annotated[Literal["show", "clear"], typer.Argument(
    help="Show the cache or clear it.", show_default=True,
)]
OlderThan = Annotated[float | None, typer.Option(
    "--older-than", metavar="DAYS", min=0, show_default=False,
    help="Clear only answers older than this; those of unknown age count as older.",
)]
# fmt: on
UNKNOWN = "unknown endpoint"


@takes("json_output")
def command(flags: dict[str, Any], action: Action = "show", older_than: OlderThan = None) -> int:
    """Show how many answers of models are cached on this machine, or delete them.

    python run.py cache clear --older-than 30

    Runs and reports do not need them: the same request is sent, and paid for, again.
    """
    from simulator.models.cache import cache_file, cached_endpoints, clear, size_on_disk

    settings, path = load_settings(flags), cache_file()
    if action == "show" and older_than is not None:
        msg = _("--older-than can only be used with `cache clear`.")
        raise InputError(msg)
    cleared = clear(path, older_than) if action == "clear" else None
    rows = cached_endpoints(path)
    if settings.json_output:
        shown: dict[str, Any] = {"file": str(path), "bytes": size_on_disk(path), "cleared": cleared}
        shown["endpoints"] = [row._asdict() for row in rows]
        print_json(shown)
        return DONE
    if cleared is not None:
        sys.stdout.write(f"{cleared:,} answers cleared.\n")
    _show(rows, str(path), size_on_disk(path))
    return DONE


def _show(rows: "list[CacheContents]", path: str, size: int) -> None:
    from simulator.core.translations import safe_text

    total = sum(row.entries for row in rows)
    sys.stdout.write(f"{path}: {total:,} answers, {size / 1e6:,.1f} MB\n")
    for row in rows:
        name = safe_text(row.endpoint) or UNKNOWN
        ages = f"{_age(row.newest)} to {_age(row.oldest)} old" if row.oldest else "age unknown"
        sys.stdout.write(f"{row.entries:8,} answers  {row.size / 1e6:8,.2f} MB  {ages:24}  {name}\n")


def _age(stored: str) -> str:
    days = (datetime.now(tz=UTC) - datetime.fromisoformat(stored)).total_seconds() / 86400
    return f"{days:.0f} days" if days >= 2 else f"{days * 24:.0f} hours"
