"""The way to a scheduler: one that is there already, or one in this process with so many workers."""

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
from simulator.core.settings import Settings

# The program's own folder, on whichever machine this is.
ROOT = Path(__file__).resolve().parent.parent.parent.parent


# All that a run notes of itself, and what carries it to the workers.
COMPARED = ("openai", "langchain-core", "faiss-cpu", "pydantic", "numpy", "dask", "distributed")
# The folders that make up the program; two copies of it are the same when all of this is.
_PROGRAM = ("simulator", "judges", "personas", "rag_adapters", "demo")
_SUFFIXES = (".py", ".toml")


def about() -> dict[str, str]:
    """Versions of Python, of this program and of packages, and a hash of the program's own files."""
    found = {"rehearsal": __version__, "python": ".".join(platform.python_version_tuple()[:2])}
    for package in COMPARED:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found | {"program": _program()}


def _program() -> str:
    """Read anew each time: desks start from the files as they are, however long their worker has run."""
    files = (path for folder in _PROGRAM for path in (ROOT / folder).rglob("*"))
    known = sorted(path for path in files if path.suffix in _SUFFIXES and path.is_file())
    digest = hashlib.sha256()
    for path in known:
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """The first thing that is not the same, in words; None when all is."""
    for name, version in here.items():
        found = there.get(name, "none")
        if found != version and name == "program":
            return "its copy of the program has other files than this one"
        if found != version:
            return f"it has {name} {found}, this machine {version}"
    return None


class SchedulerLost(RehearsalError):
    """The scheduler is gone; what was reported is written, the rest is open."""

    def __init__(self, address: str) -> None:
        super().__init__(f"the scheduler at {address} is lost; any engine can finish the run.")


class WorkersLost(RehearsalError):
    """Nobody is left to hold a conversation, or one of them ends every process that holds it."""


# Seconds to reach a scheduler, or to be answered by it.
PATIENCE = 10.0
LOCAL = "this machine"
# A cluster of this process alone: no dashboard, and nothing that listens beyond the machine.
_WITHIN = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.worker.profile.enabled": False,
}


class Connection:
    """A client of a scheduler; whoever asks a scheduler that is gone is told so."""

    def __init__(self, client: Any, address: str) -> None:
        """`address` as it is shown."""
        self.client, self.address = client, address

    @property
    def is_up(self) -> bool:
        """Whether the scheduler can be asked."""
        return bool(self.client.status == "running")

    async def workers(self) -> dict[str, int]:
        """The workers that are there, and how many tasks each takes at a time."""
        try:
            found: dict[str, int] = await asyncio.wait_for(self.client.nthreads(), PATIENCE)
        except (TimeoutError, OSError):
            raise SchedulerLost(self.address) from None
        if not self.is_up:
            raise SchedulerLost(self.address)
        return found

    async def call(self, worker: str, function: Callable[..., Any], *given: Any) -> Any:
        """What a function of ours gives on one worker, outside its tasks."""
        found = await self.client.run(function, *given, workers=[worker])
        return found[worker]

    def task(self, worker: str, function: Callable[..., Any], *given: Any, key: str) -> Any:
        """A task for one worker and no other, to be awaited. What it is given and gives is plain data."""
        return self.client.submit(
            _by_name(function),
            *given,
            key=key,
            workers=[worker],
            allow_other_workers=False,
            retries=0,
            pure=False,
        )

    async def outcome(self, future: Any) -> Any:
        """What a task gave; a cancelled one is told from a lost scheduler."""
        from distributed.client import FutureCancelledError

        try:
            return await future
        except FutureCancelledError:
            if not self.is_up:
                raise SchedulerLost(self.address) from None
            raise

    def listen(self, topic: str, hear: Callable[[dict[str, Any]], None]) -> None:
        """Tells `hear` of everything that workers report under a topic."""
        self.client.subscribe_topic(topic, lambda event: hear(event[1]))


def _by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a worker finds it: a scheduler reads tasks, too, and need not have our program."""
    module, name = function.__module__, function.__name__

    def call(*given: Any) -> Any:
        import importlib

        return getattr(importlib.import_module(module), name)(*given)

    return call


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Connection]:
    """The scheduler of `--scheduler`, or `--workers` in this process; closed again in the end."""
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
        msg = "--engine dask needs the extra 'cluster': pip install 'distributed>=2025.4'."
        raise InputError(msg) from None
    return dask, distributed


@asynccontextmanager
async def _local(dask: Any, distributed: Any, workers: int) -> AsyncIterator[Any]:
    """Workers on threads of this process: each has desks, and those are processes."""
    from distributed.comm import inproc

    # A name for this process. Left alone, it is found out by way of a public address.
    inproc.global_manager._ip = "127.0.0.1"
    with dask.config.set(_WITHIN):
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
async def _client(distributed: Any, where: Any, address: str) -> AsyncIterator[Connection]:
    try:
        client = await distributed.Client(where, asynchronous=True, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        why = " ".join(str(error).split())[:200]
        msg = f"--scheduler {address}: cannot be reached ({why})."
        raise InputError(msg) from None
    try:
        yield Connection(client, address)
    finally:
        with contextlib.suppress(TimeoutError, OSError):
            await client.close(timeout=PATIENCE if client.status == "running" else 1.0)


@contextlib.contextmanager
def _quiet() -> Any:
    """What the libraries log about lost peers is told by us, in one line."""
    known = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    loggers = [logging.getLogger(name) for name in (*known, "tornado.application")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
