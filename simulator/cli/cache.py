"""`cache`: how much of the models' answers is stored on this machine, and how to delete it."""

import sys
from datetime import UTC, datetime
from typing import Any, Literal

from simulator.cli.options import argument, option, takes
from simulator.cli.terminal import DONE, padded, print_json
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, localised, ngettext, safe_text
from simulator.core.settings import load_settings
from simulator.models.cache import CacheContents, cache_file, cached_endpoints, clear, size_on_disk

UNKNOWN = _("unknown endpoint")


@takes("json_output")
def command(
    flags: dict[str, Any],
    action: Literal["show", "clear"] = argument("", "Show the cache or clear it.", "show"),
    older_than: float | None = option(
        "--older-than DAYS", "Clear only answers older than this; those of unknown age count as older.", min=0
    ),
) -> int:
    """Show how many answers of models are cached on this machine, or delete them.

    python run.py cache clear --older-than 30

    Runs and reports do not need them: the same request is sent, and paid for, again.
    """
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
        _write(ngettext("{n} answer cleared.", "{n} answers cleared.", n=cleared))
    _show(rows, str(path), size_on_disk(path))
    return DONE


def _show(rows: "list[CacheContents]", path: str, size: int) -> None:
    total = sum(row.entries for row in rows)
    _write(_("{path}: {n} answers, {size:,.1f} MB", path=path, n=total, size=size / 1e6))
    for row in rows:
        ages = _("age unknown")
        if row.oldest:
            ages = _("{newest} to {oldest} old", newest=_age(row.newest), oldest=_age(row.oldest))
        _write(
            _(
                "{entries} answers  {size} MB  {ages}  {endpoint}",
                entries=f"{row.entries:8,}",
                size=f"{row.size / 1e6:8,.2f}",
                ages=padded(localised(ages), 24),
                endpoint=row.endpoint or UNKNOWN,
            )
        )


def _age(stored: str) -> Message:
    days = (datetime.now(tz=UTC) - datetime.fromisoformat(stored)).total_seconds() / 86400
    if days >= 2:
        return _("{n} days", n=round(days))
    return _("{n} hours", n=round(days * 24))


def _write(line: Message) -> None:
    sys.stdout.write(f"{safe_text(localised(line))}\n")
