"""Connects to a Dask scheduler: the one of --scheduler, or a local one with --workers."""

import asyncio
import contextlib
import hashlib
import importlib.metadata
import logging
import platform
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from simulator import __version__
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _
from simulator.core.settings import Settings

# The program's own folder on this machine.
ROOT = Path(__file__).resolve().parent.parent.parent.parent


# Packages whose versions are compared: those that a run records, and those that connect to workers.
COMPARED = ("openai", "langchain-core", "faiss-cpu", "pydantic", "numpy", "dask", "distributed")
# Folders and files that two copies of the program must have in common.
_PROGRAM = ("simulator", "judges", "personas", "rag_adapters", "demo")
_SUFFIXES = (".py", ".toml")


def environment() -> dict[str, str]:
    """Versions of Python, this program and packages, and a hash of the program's own files."""
    versions = {"rehearsal": __version__, "python": ".".join(platform.python_version_tuple()[:2])}
    for package in COMPARED:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions | {"program": _program_hash()}


def _program_hash() -> str:
    """Not cached: processes start from the current files, however long their worker has run."""
    files = (path for folder in _PROGRAM for path in (ROOT / folder).rglob("*"))
    program_files = sorted(path for path in files if path.suffix in _SUFFIXES and path.is_file())
    digest = hashlib.sha256()
    for path in program_files:
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> Message | None:
    """The first difference between two environments, as a sentence without subject; None if there is none."""
    for name, version in here.items():
        other = there.get(name, "none")
        if other != version and name == "program":
            return _("its copy of the program has other files than this one")
        if other != version:
            return _("it has {name} {other}, this machine {version}", name=name, other=other, version=version)
    return None


class SchedulerLost(RehearsalError):
    """The scheduler is gone; what workers reported is saved, the rest is still open."""

    def __init__(self, address: Message | str) -> None:
        super().__init__(
            _("the scheduler at {address} is lost; any engine can finish the run.", address=address)
        )


class WorkersLost(RehearsalError):
    """No worker is left, or a conversation was lost with too many of them."""


# Seconds to wait for a scheduler's connection or answer.
PATIENCE = 10.0
LOCAL = _("this machine")
# A local cluster has no dashboard, and listens on nothing beyond this machine.
_LOCAL_CONFIG = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.worker.profile.enabled": False,
}


class Connection:
    """A client of a scheduler; its methods raise SchedulerLost once the scheduler is gone."""

    def __init__(self, client: Any, address: Message | str) -> None:
        """`address` as messages show it."""
        self.client, self.address = client, address

    @property
    def is_up(self) -> bool:
        """Whether the scheduler is connected."""
        return bool(self.client.status == "running")

    async def workers(self) -> dict[str, int]:
        """The addresses of all workers, each with its number of threads."""
        try:
            threads: dict[str, int] = await asyncio.wait_for(self.client.nthreads(), PATIENCE)
        except (TimeoutError, OSError):
            raise SchedulerLost(self.address) from None
        if not self.is_up:
            raise SchedulerLost(self.address)
        return threads

    async def call(self, worker: str, function: Callable[..., Any], *args: Any) -> Any:
        """The result of a function on one worker, outside its tasks."""
        results = await self.client.run(function, *args, workers=[worker])
        return results[worker]

    def task(self, worker: str, function: Callable[..., Any], *args: Any, key: str) -> Any:
        """The future of a task for this one worker. Its arguments and result are plain data."""
        return self.client.submit(
            _by_name(function),
            *args,
            key=key,
            workers=[worker],
            allow_other_workers=False,
            retries=0,
            pure=False,
        )

    async def outcome(self, future: Any) -> Any:
        """The result of a task; raises SchedulerLost if it was cancelled because the scheduler is gone."""
        from distributed.client import FutureCancelledError

        try:
            return await future
        except FutureCancelledError:
            if not self.is_up:
                raise SchedulerLost(self.address) from None
            raise

    def subscribe(self, topic: str, callback: Callable[[dict[str, Any]], None]) -> None:
        """Calls `callback` with every event that workers publish under a topic."""
        self.client.subscribe_topic(topic, lambda event: callback(event[1]))


def _by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function by its name: a scheduler reads tasks as well, and may not have this program."""
    module, name = function.__module__, function.__name__

    def call(*args: Any) -> Any:
        import importlib

        return getattr(importlib.import_module(module), name)(*args)

    return call


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Connection]:
    """A connection to `--scheduler`, or to a local cluster with `--workers`; closed at the end."""
    dask, distributed = _libraries()
    with _quiet(), dask.config.set({"distributed.comm.timeouts.connect": f"{PATIENCE:g}s"}):
        async with contextlib.AsyncExitStack() as opened:
            where: Any = settings.scheduler
            if where is None:
                where = await opened.enter_async_context(_local(dask, distributed, settings.workers or 1))
            shown = settings.scheduler or LOCAL
            yield await opened.enter_async_context(_client(distributed, where, shown))


def _libraries() -> tuple[Any, Any]:
    try:
        import dask
        import distributed
    except ImportError:
        msg = _("--engine dask needs the extra 'cluster': pip install 'distributed>=2025.4'.")
        raise InputError(msg) from None
    return dask, distributed


@asynccontextmanager
async def _local(dask: Any, distributed: Any, workers: int) -> AsyncIterator[Any]:
    """A cluster with workers on threads of this process; they start processes of their own."""
    from distributed.comm import inproc

    # Otherwise the name of this process is found out by contacting a public address.
    inproc.global_manager._ip = "127.0.0.1"
    with dask.config.set(_LOCAL_CONFIG):
        cluster = await distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=False,
            protocol="inproc://",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            asynchronous=True,
        )
        try:
            yield cluster
        finally:
            await cluster.close()


@asynccontextmanager
async def _client(distributed: Any, where: Any, address: Message | str) -> AsyncIterator[Connection]:
    try:
        client = await distributed.Client(where, asynchronous=True, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        why = " ".join(str(error).split())[:200]
        msg = _("--scheduler {address}: cannot be reached ({why}).", address=address, why=why)
        raise InputError(msg) from None
    try:
        yield Connection(client, address)
    finally:
        with contextlib.suppress(TimeoutError, OSError):
            await client.close(timeout=PATIENCE if client.status == "running" else 1.0)


@contextlib.contextmanager
def _quiet() -> Any:
    """Silences what the libraries log about lost peers: this program reports it in one line."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    loggers = [logging.getLogger(name) for name in (*names, "tornado.application")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
