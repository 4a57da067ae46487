"""What runs inside a worker of the cluster: it keeps desks, hands them batches and passes on their events."""

import asyncio
import contextlib
import json
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulator.cluster import ROOT
from simulator.cluster import about as versions

# Seconds between two looks at whether anybody still waits for a batch.
LOOK = 0.5
CLOSING = 5.0


# Not from where the worker stands, nor from where the user's files are: from the program's own folder.
_COMMAND = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from simulator.cluster.desk import main; main()"


class DeskLost(Exception):
    """The process of a desk ended while it had something to do."""


@dataclass
class Rehearsal:
    """One run on this worker: its folder, what a desk has to know, and the desks without work."""

    folder: Path
    spec: str
    free: "list[DeskProcess]" = field(default_factory=list)
    all: "list[DeskProcess]" = field(default_factory=list)


# By run. Tasks run on threads of the worker, several at a time.
_known: dict[str, Rehearsal] = {}
_lock = threading.Lock()


def about() -> dict[str, str]:
    """What this worker runs on."""
    return versions.about()


async def prepare(run: str, spec: str, files: dict[str, bytes], dask_worker: Any) -> None:
    """Puts the user's files into a folder of their own; a second time does nothing."""
    await asyncio.to_thread(_prepare, run, spec, files, dask_worker.local_directory)


def _prepare(run: str, spec: str, files: dict[str, bytes], scratch: str) -> None:
    with _lock:
        if run in _known:
            return
        folder = Path(tempfile.mkdtemp(prefix="rehearsal-", dir=scratch))
        _unpack(files, folder)
        _known[run] = Rehearsal(folder, spec)


def _unpack(files: dict[str, bytes], folder: Path) -> None:
    """Writes what was shipped; readable by this user only."""
    for name, content in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            msg = f"{name}: not below the folder of the run"
            raise ValueError(msg)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(content)
        path.chmod(0o600)


async def dismiss(run: str) -> None:
    """Ends all desks of a run and removes its files."""
    await asyncio.to_thread(_dismiss, run)


def _dismiss(run: str) -> None:
    with _lock:
        rehearsal = _known.pop(run, None)
    if rehearsal is not None:
        for desk in rehearsal.all:
            desk.dismiss()
        for desk in rehearsal.all:
            desk.wait()
        shutil.rmtree(rehearsal.folder, ignore_errors=True)


def begin(run: str) -> dict[str, Any]:
    """Has a desk opened; gives what it found, or why it was refused or lost."""
    try:
        with _desk(run) as desk:
            return {"signs": desk.signs, "refused": desk.refused}
    except DeskLost as error:
        return {"lost": str(error)}


def hold(run: str, key: str, batch: str) -> dict[str, Any]:
    """Has a batch held, and passes on what happens under the topic `run`.

    Gives how it ended, or why it was lost. Nobody waiting any more ends it, too.
    """
    try:
        return _hold(run, key, batch)
    except DeskLost as error:
        return {"lost": str(error)}


def _hold(run: str, key: str, batch: str) -> dict[str, Any]:
    """Gives also how many parcels of events were sent."""
    from distributed import get_worker

    worker = get_worker()
    task = str(worker.get_current_task())
    sent = 0
    with _desk(run) as desk:
        if desk.refused:
            return {"stopped": desk.refused, "out_of_budget": False, "parcels": 0}
        desk.tell(batch)
        while True:
            line = desk.line(LOOK)
            if line and line.startswith('["over"'):
                return {**json.loads(line)[1], "parcels": sent}
            if line:
                worker.log_event(run, {"batch": key, "events": line})
                sent += 1
            if not _is_wanted(worker, task):
                desk.kill()
                return {"stopped": None, "out_of_budget": False, "parcels": sent}


def _is_wanted(worker: Any, task: str) -> bool:
    """Whether the driver still waits for this task: it is cancelled when the driver leaves or dies."""
    state = worker.state.tasks.get(task)
    return state is not None and state.state in ("executing", "long-running")


@contextlib.contextmanager
def _desk(run: str) -> Iterator["DeskProcess"]:
    """A desk for one batch; it is free again afterwards, unless its process has ended."""
    with _lock:
        rehearsal = _known.get(run)
        if rehearsal is None:
            raise DeskLost("this worker knows nothing of the run")
        rehearsal.free = [desk for desk in rehearsal.free if desk.is_alive]
        found = rehearsal.free.pop() if rehearsal.free else None
    desk = found or DeskProcess(rehearsal)
    yield desk
    with _lock:
        if desk.is_alive and not desk.refused:
            rehearsal.free.append(desk)


class DeskProcess:
    """A desk as its worker sees it."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        """Starts it and waits until it has connected the bot, or has refused to."""
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-c", _COMMAND],
            cwd=rehearsal.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        rehearsal.all.append(self)
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True, name="desk").start()
        self.tell(rehearsal.spec)
        self.signs: dict[str, Any] = {}
        self.refused: str | None = None
        what, said = json.loads(self.line(None) or "")
        if what == "open":
            self.signs = said
        else:
            self.refused = str(said)

    @property
    def is_alive(self) -> bool:
        """Whether it can be given another batch."""
        return self.process.poll() is None

    def tell(self, order: str) -> None:
        """One line on its stdin."""
        assert self.process.stdin is not None  # noqa: S101 - opened as a pipe
        try:
            self.process.stdin.write(order.encode("utf-8", "replace") + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise DeskLost(self._how()) from None

    def line(self, timeout: float | None) -> str | None:
        """What it says next; None when there is nothing for so many seconds."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            return None
        if line is None:
            self._lines.put(None)  # for whoever asks next
            raise DeskLost(self._how())
        return line

    def _read(self) -> None:
        assert self.process.stdout is not None  # noqa: S101 - opened as a pipe
        with self.process.stdout as out:
            for line in out:
                self._lines.put(line.decode("utf-8", "replace"))
        self._lines.put(None)

    def _how(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        code = self.process.poll()
        return f"its process ended{'' if code is None else f' with code {code}'}"

    def dismiss(self) -> None:
        """Lets it close its connections and go."""
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()

    def wait(self) -> None:
        """Until it is gone."""
        try:
            self.process.wait(CLOSING + 1)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """At once."""
        self.process.kill()
        self.process.wait()
        self.dismiss()
