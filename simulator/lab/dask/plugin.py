"""The room of runs on many machines: an engine whose workers hold conversations, and runs made in parts."""

from importlib.util import find_spec

from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings
from simulator.lab.dask import command
from simulator.lab.dask.driver import perform
from simulator.lab.dask.settings import DaskSettings
from simulator.lab.dask.shard import shard_of_plan
from simulator.plugins import Plugin


def check_engine(settings: Settings) -> None:
    """Raises InputError for options that cannot be used together, and where the extra is missing."""
    dask = DaskSettings.of(settings)
    if settings.engine == "local":
        if dask.scheduler or dask.workers:
            given = "--scheduler" if dask.scheduler else "--workers"
            raise InputError(_("{value} can only be used with --engine dask.", value=given))
        return
    if find_spec("distributed") is None or find_spec("cryptography") is None:
        msg = _("--engine dask needs the extra 'dask': pip install 'distributed>=2025.4' 'cryptography>=45'.")
        raise InputError(msg)
    if not (dask.scheduler or dask.workers):
        raise InputError(_("--engine dask needs --workers N on this machine, or --scheduler ADDRESS."))
    if settings.added.get("customers"):
        raise InputError(_("--customers needs one machine to measure from: leave out --engine dask."))


PLUGIN = Plugin(
    name="dask",
    commands={"merge": command.command},
    settings=DaskSettings,
    engines={"dask": perform},
    dividing=shard_of_plan,
    check=check_engine,
)
