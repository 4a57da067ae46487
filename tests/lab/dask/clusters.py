"""A scheduler and workers as processes of their own, over loopback; runs here and there to be compared."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from simulator.core.settings import Settings, stored_settings
from simulator.core.types import Conversation, Results
from simulator.models.pricing import Ledger
from simulator.plugins import engine_of
from simulator.runner.context import RunContext
from simulator.runner.plan import read_plan
from simulator.runner.run import Progress, create_run
from simulator.runner.run import perform as perform_here
from simulator.storage.run_file import RunFile, read_run
from tests.paths import ROOT
from tests.run_helpers import Quiet

# A bot that takes its time, and notes every question: what was asked twice was paid for twice.
SLOW = """
import asyncio, os

with open(os.environ["ASKED"] + ".pids", "a", encoding="utf-8") as file:
    file.write(f"{os.getpid()}\\n")

async def answer(query):
    await asyncio.sleep(0.05)
    with open(os.environ["ASKED"], "a", encoding="utf-8") as file:
        file.write(f"{query.case} {len(query.history)}\\n")
    return f"「{query.text}」ですね。"
"""


class Machines:
    """Processes that are ended with it, however it ends."""

    def __init__(self, folder: Path) -> None:
        """Nothing runs yet."""
        self.folder, self.address = folder, ""
        self.asked = folder / "asked"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """A scheduler at a free port."""
        told = self.folder / "scheduler.json"
        told.unlink(missing_ok=True)
        self.scheduler = self._process("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-show",
            "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(told))  # fmt: skip
        wait_for(lambda: told.is_file() and told.read_bytes().endswith(b"}"))
        self.address = str(json.loads(told.read_text(encoding="utf-8"))["address"])

    def worker(self, path: Path | None = ROOT) -> subprocess.Popen[bytes]:
        """One more worker, whose program is in `path`; None: it has none, whatever is installed."""
        if path is None:
            path = self.folder / "without"
            path.mkdir(exist_ok=True)
            (path / "simulator.py").write_text("raise ImportError('not here')\n", encoding="utf-8")
        known = {"PYTHONPATH": str(path)}
        started = self._process(
            "worker", self.address, "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1",
            "--dashboard-address", "127.0.0.1:0", "--local-directory", str(self.folder), **known,
        )  # fmt: skip
        self.workers.append(started)
        return started

    def at_least(self, count: int) -> None:
        """So many workers, whatever became of those before."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < count:
            self.worker()

    def _process(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        clean = {
            k: v for k, v in os.environ.items() if not k.startswith(("REHEARSAL_", "OPENAI_", "PYTHONPATH"))
        }
        log = (self.folder / "log").open("ab")
        with log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments],
                cwd=self.folder, env=clean | {"ASKED": str(self.asked)} | environment, stdout=log, stderr=log,
            )  # fmt: skip

    def end(self) -> None:
        """All of them, at once."""
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            kill(process)
        self.workers, self.scheduler = [], None


class FailingProxy:
    """Stands between a client and a scheduler; drops both at a request after so many such."""

    def __init__(self, scheduler: str, request: bytes, allowed: int) -> None:
        """Listens once it is entered."""
        host, port = scheduler.removeprefix("tcp://").split(":")
        self.scheduler, self.request, self.left = (host, int(port)), request, allowed
        self.address = ""
        self._open: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        """At a free port."""
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.address = f"tcp://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nobody gets through any more."""
        self._drop()

    async def _carry(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        scheduler, to_scheduler = await asyncio.open_connection(*self.scheduler)
        self._open += [to_client, to_scheduler]
        await asyncio.gather(
            self._copy(client, to_scheduler, self.request), self._copy(scheduler, to_client, None)
        )

    async def _copy(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, request: bytes | None
    ) -> None:
        with contextlib.suppress(OSError):
            while chunk := await source.read(65536):
                if request is not None and request in chunk:
                    self.left -= 1
                    if self.left < 0:
                        self._drop()
                        return
                target.write(chunk)
                await target.drain()
        target.close()

    def _drop(self) -> None:
        self._server.close()
        for writer in self._open:
            writer.transport.abort()


def kill(process: subprocess.Popen[bytes]) -> None:
    """As the system does when memory runs out."""
    process.send_signal(signal.SIGKILL)
    process.wait(10)


def wait_for(is_so: Callable[[], bool], seconds: float = 20.0) -> None:
    """Until something is so."""
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "it never came to pass"
        time.sleep(0.02)


class Acting(Quiet):
    """Progress that does something once so many conversations are over."""

    def __init__(self, after: int, act: Callable[[], Any]) -> None:
        super().__init__()
        self.after, self.act = after, act
        self.before: set[str] = set()

    def ended(self, conversation: Conversation) -> None:
        """A conversation is over."""
        super().ended(conversation)
        if self.over <= self.after:
            self.before.add(conversation.case.id)
        if self.over == self.after:
            self.act()


def offline(**given: Any) -> Settings:
    """Settings of a run without models."""
    known: dict[str, Any] = {"offline": True, "cache": "off", "persona": ("angry",), "runs": "runs"}
    return stored_settings(known | given)


async def rehearsed(settings: Settings, progress: Progress | None = None) -> tuple[Results, str | None]:
    """A run from beginning to end, by the engine of these settings."""
    plan, personas, *_ = read_plan(settings)
    context = RunContext(settings, personas)
    context.check_adapter(plan)

    def opened() -> RunFile:
        return create_run(settings, context, plan, personas)

    return await _performed(settings, context, plan, opened, progress)


async def resumed(
    results: Results, settings: Settings, progress: Progress | None = None
) -> tuple[Results, str | None]:
    """The same run taken up again, by the engine of these settings."""
    file = RunFile.reopen(Path(settings.runs, results.run.id, "run.sqlite"))
    context = RunContext(settings, results.personas, Ledger.of(settings, results))

    def opened() -> RunFile:
        file.mark_running()
        return file

    return await _performed(settings, context, results.conversations, opened, progress)


async def _performed(
    settings: Settings,
    context: RunContext,
    plan: Sequence[Conversation],
    opened: Callable[[], RunFile],
    progress: Progress | None,
) -> tuple[Results, str | None]:
    perform = engine_of(settings) or perform_here
    path, stopped = await perform(context, plan, opened, progress or Quiet())
    return read_run(path), None if stopped is None else str(stopped)
