"""The room of runs on many machines: an engine whose workers hold conversations, and runs made in parts."""

from importlib.util import find_spec

from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings
from simulator.lab.dask import command
from simulator.lab.dask.driver import perform
from simulator.lab.dask.settings import DaskSettings
from simulator.lab.dask.shard import shard_of_plan
from simulator.plugins import Engine, Plugin


def engine(settings: Settings) -> Engine | None:
    """Dask, where workers are named or to be started."""
    dask = DaskSettings.of(settings)
    return perform if dask.scheduler or dask.workers else None


def check(settings: Settings) -> None:
    """Raises InputError for options that cannot be used together, and where the extra is missing."""
    if engine(settings) is None:
        return
    if find_spec("distributed") is None or find_spec("cryptography") is None:
        msg = _("Workers need the extra 'dask': pip install 'distributed>=2025.4' 'cryptography>=45'.")
        raise InputError(msg)
    if settings.added.get("customers"):
        raise InputError(_("--customers needs one machine to measure from: leave out the workers."))


PLUGIN = Plugin(
    name="dask",
    commands={"merge": command.command},
    settings=DaskSettings,
    engine=engine,
    dividing=shard_of_plan,
    check=check,
)
