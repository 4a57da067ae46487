"""Which engine holds the conversations of a run, and whether its options go together."""

from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simulator.core.errors import InputError
from simulator.core.settings import Settings

# Stage, plan, how to open the run file, progress, what comes first, the kind of sitting.
Engine = Callable[..., Coroutine[Any, Any, tuple[Path, str | None]]]


def check_engine(settings: Settings) -> None:
    """Raises InputError for options that do not go together, and where the extra is missing."""
    if settings.engine == "local":
        if given := settings.scheduler or settings.workers:
            option = "--scheduler" if given is settings.scheduler else "--workers"
            msg = f"{option} goes with --engine dask."
            raise InputError(msg)
        return
    if find_spec("distributed") is None:
        msg = "--engine dask needs the extra 'cluster': pip install 'distributed>=2025.4'."
        raise InputError(msg)
    if not (settings.scheduler or settings.workers):
        msg = "--engine dask needs --workers N on this machine, or --scheduler ADDRESS."
        raise InputError(msg)
    if settings.customers:
        msg = "--customers is measured from one machine: leave out --engine dask."
        raise InputError(msg)


def engine_of(settings: Settings) -> Engine:
    """What performs a run: this process, or this process with workers."""
    if settings.engine == "dask":
        from simulator.addons.dask.driver import perform as on_workers

        return on_workers
    from simulator.runner.run import perform

    return perform
