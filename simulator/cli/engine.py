"""--engine: what holds the conversations of a run, this process or workers of Dask."""

from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simulator.addons.dask import driver
from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.core.settings import Settings
from simulator.runner import run

# Of RunContext, plan, how to open the run file, progress, what comes first, Runner, and how to stop early.
Engine = Callable[..., Coroutine[Any, Any, tuple[Path, Message | str | None]]]


def check_engine(settings: Settings) -> None:
    """Raises InputError for options that cannot be used together, and where the extra is missing."""
    if settings.engine == "local":
        if settings.scheduler or settings.workers:
            msg = _(
                "{value} can only be used with --engine dask.",
                value="--scheduler" if settings.scheduler else "--workers",
            )
            raise InputError(msg)
        return
    if find_spec("distributed") is None or find_spec("cryptography") is None:
        msg = _(
            "--engine dask needs the extra 'cluster': pip install 'distributed>=2025.4' 'cryptography>=45'."
        )
        raise InputError(msg)
    if not (settings.scheduler or settings.workers):
        msg = _("--engine dask needs --workers N on this machine, or --scheduler ADDRESS.")
        raise InputError(msg)
    if settings.customers:
        msg = _("--customers needs one machine to measure from: leave out --engine dask.")
        raise InputError(msg)


def engine_of(settings: Settings) -> Engine:
    """What performs a run."""
    if settings.engine == "dask":
        return driver.perform

    return run.perform
