"""`cache`: what the answers kept from models take, and how to be rid of them."""

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from simulator.cli.options import takes
from simulator.core.settings import load

if TYPE_CHECKING:
    from simulator.models.cache import CacheContents

# fmt: off
Action = Annotated[Literal["show", "clear"], typer.Argument(help="What to do.", show_default=True)]
OlderThan = Annotated[float | None, typer.Option(
    "--older-than", metavar="DAYS", min=0, show_default=False,
    help="Clear only what is older; answers of unknown age count as older.",
)]
# fmt: on
UNKNOWN = "before endpoints were noted"


@takes("json_output")
def command(flags: dict[str, Any], action: Action = "show", older_than: OlderThan = None) -> int:
    """Show what of the models' answers is kept on this machine, or clear it.

    python run.py cache clear --older-than 30

    Runs and reports need none of it: a cleared answer is only paid for again when it is asked for again.
    """
    from simulator.core.errors import InputError
    from simulator.models.cache import cache_file, clear, kept, size_of

    settings, path = load(flags), cache_file()
    if action == "show" and older_than is not None:
        msg = "--older-than belongs to `cache clear`."
        raise InputError(msg)
    gone = clear(path, older_than) if action == "clear" else None
    rows = kept(path)
    if settings.json_output:
        shown: dict[str, Any] = {"file": str(path), "bytes": size_of(path), "cleared": gone}
        shown["endpoints"] = [row._asdict() for row in rows]
        sys.stdout.write(json.dumps(shown, ensure_ascii=False) + "\n")
        return 0
    if gone is not None:
        sys.stdout.write(f"{gone:,} answers cleared.\n")
    _show(rows, str(path), size_of(path))
    return 0


def _show(rows: "list[CacheContents]", path: str, size: int) -> None:
    from simulator.core.translations import plain

    total = sum(row.entries for row in rows)
    sys.stdout.write(f"{path}: {total:,} answers, {size / 1e6:,.1f} MB\n")
    for row in rows:
        name = plain(row.endpoint) or UNKNOWN
        ages = f"{_age(row.newest)} to {_age(row.oldest)} old" if row.oldest else "age unknown"
        sys.stdout.write(f"{row.entries:8,} answers  {row.size / 1e6:8,.2f} MB  {ages:24}  {name}\n")


def _age(kept: str) -> str:
    days = (datetime.now(tz=UTC) - datetime.fromisoformat(kept)).total_seconds() / 86400
    return f"{days:.0f} days" if days >= 2 else f"{days * 24:.0f} hours"
