"""Runs in a Dask worker: starts processes that play batches of conversations, and passes their events on.

Every process connects its own bot, and a bot that crashes ends no worker. First in this module: what such
a process runs; then the files that are sent to workers; then what the worker itself runs.
"""

import asyncio
import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, get_args

from simulator.addons.dask import connection
from simulator.addons.dask.batch import BatchRecord
from simulator.addons.dask.connection import ROOT
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _
from simulator.core.roles import endpoints
from simulator.core.settings import PREFIX, Settings, stored_settings
from simulator.core.types import Bot, Case, Conversation, GradingContext, Persona, Role, Score
from simulator.models.pricing import Allowance, Ledger
from simulator.runner.chains import AppliedPrompts
from simulator.runner.context import RunContext
from simulator.runner.prompt_file import split_variant
from simulator.runner.run import Runner, first_error

# Seconds without an order after which a process ends.
IDLE = 300.0
# Seconds for which events are collected; these are lost with a process that is killed.
GATHER = 0.1
# Seconds that connections may take to close once the worker is gone.
LEAVING = 5.0
# Seconds between two checks whether the driver still waits for a batch.
LOOK = 0.5
CLOSING = 5.0
# Imports the program from its own folder, neither from the worker's current folder nor the user's files.
_COMMAND = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from simulator.addons.dask.worker import main; main()"
)
# A bot's folder with more files or bytes is probably not meant to be sent.
MOST_FILES, MOST_BYTES = 5_000, 200_000_000
# Files from outside the current folder are put below this one.
ELSEWHERE = ".elsewhere"
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_SECRET = re.compile(r"secret|credential|service[-_. ]?account|id_rsa|\.(pem|key|p12|pfx)$", re.IGNORECASE)
_FILE_SETTINGS = ("outputs", "guidelines", "contacts", "ng_words", "script", "replay")
# Longer values of --set are texts, not names of files.
_LONGEST_NAME = 500


class BatchLedger(Ledger):
    """A ledger with a new budget for every batch; the run's own ledger is the driver's."""

    def grant(self, budget: float | None) -> None:
        """Starts again with this budget in dollars; None means no limit."""
        self.budget, self.roles = budget, {}
        self._allowance = None if budget is None else Allowance(budget)


class NoProgress:
    """Shows nothing: the driver shows the progress."""

    def turn(self, conversation: Conversation) -> None:
        """Nothing."""

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """Nothing."""

    def ended(self, conversation: Conversation) -> None:
        """Nothing."""


class WorkerContext:
    """The RunContext of this process, and its bot."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Reads settings, judges and the user's files; connects to nothing yet."""
        _share_rates(spec["rates"])
        settings = stored_settings(spec["settings"])
        personas = [Persona.model_validate(persona) for persona in spec["personas"]]
        self.ledger = BatchLedger({}, None, Ledger.of(settings).prices)
        self.context = RunContext(settings, endpoints(settings, strict=False), personas, self.ledger)
        self.cases = [Case.model_validate(case) for case in spec["cases"]]
        self.bot: Bot | None = None

    async def open(self) -> dict[str, Any]:
        """Connects the bot; returns what has to be the same in every process."""
        plan = [Conversation(id=c.id, case=c, persona="", repeat=1) for c in self.cases]
        self.bot = await self.context.bot(plan)
        return setup_facts(self.context)

    async def play(self, batch: Mapping[str, Any], sender: "EventSender") -> dict[str, Any]:
        """Plays and grades a batch; returns why it stopped, if it did, and whether its budget is spent."""
        record = BatchRecord(batch, sender.event)
        self.ledger.grant(batch["budget"])
        self.ledger.record = record.save_call
        self.context.settings = self.context.settings.model_copy(update={"concurrency": batch["concurrency"]})
        assert self.bot is not None  # noqa: S101 - orders come after `open`
        runner = Runner(record, self.context, self.bot, NoProgress())
        stopped: str | None = None
        try:
            await runner.run()
        except* RehearsalError as group:
            stopped = str(first_error(group))
        return {"stopped": stopped, "out_of_budget": runner.out_of_budget is not None}


def setup_facts(context: RunContext) -> dict[str, Any]:
    """What must be the same everywhere: the models, their addresses, and the hashes of all prompts."""
    addresses = {role: end.address if end else "" for role, end in context.endpoints.items()}
    return {"models": context.models(), "addresses": addresses, "prompts": context.fingerprints()}


def _share_rates(rates: Mapping[str, Mapping[str, int | None]]) -> None:
    """Limits each endpoint to this process's share of the run's requests and tokens per minute."""
    for role in get_args(Role):
        for what in ("rpm", "tpm"):
            name = f"{PREFIX}{role.upper()}_{what.upper()}"
            os.environ.pop(name, None)
            if share := rates.get(role, {}).get(what):
                os.environ[name] = str(share)


class EventSender:
    """Writes events to the worker; those within GATHER seconds go together, as one report."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._events: list[str] = []

    def event(self, event: str) -> None:
        """Adds an event, as JSON."""
        if not self._events:
            asyncio.get_running_loop().call_later(GATHER, self.flush)
        self._events.append(event)

    def flush(self) -> None:
        """Sends the events that are waiting."""
        if self._events:
            events, self._events = self._events, []
            self._write(f"[{','.join(events)}]")

    def answer(self, *values: Any) -> None:
        """Answers an order, after all events that came before."""
        self.flush()
        self._write(json.dumps(values, ensure_ascii=False))

    def _write(self, line: str) -> None:
        try:
            self._out.write(line + "\n")
            self._out.flush()
        except OSError:  # the worker is gone: nobody can save this any more
            os._exit(0)


async def _serve(orders: "asyncio.Queue[str]", sender: EventSender) -> None:
    process: WorkerContext | None = None
    try:
        while order := await asyncio.wait_for(orders.get(), IDLE):
            body = json.loads(order)
            if process is None:
                process = WorkerContext(body)
                sender.answer("open", await process.open())
            else:
                sender.answer("over", await process.play(body, sender))
    except TimeoutError:
        pass
    except RehearsalError as error:
        sender.answer("refused", str(error))
    finally:
        if process is not None:
            await process.context.close(process.bot)


async def _work() -> None:
    """Reads orders on a thread beside the event loop; the end of stdin cancels the current one."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    orders: asyncio.Queue[str] = asyncio.Queue()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
    os.dup2(2, 1)  # what a bot prints must not be taken for an event

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(orders.put_nowait, line)
        if task is not None:
            loop.call_soon_threadsafe(task.cancel)
        threading.Timer(LEAVING, os._exit, [0]).start()

    threading.Thread(target=read, daemon=True, name="orders").start()

    await _serve(orders, EventSender(out))


def main() -> None:
    """Entry point of a process; Ctrl-C in a terminal is handled by the driver alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_work())
    os._exit(0)  # a bot's thread that hangs must not keep the process


@dataclass
class ShippedFiles:
    """Files by their name in the worker's folder, and the names of those left out as likely secrets."""

    files: dict[str, bytes] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    _size: int = 0
    _folders: dict[Path, str] = field(default_factory=dict)

    def file(self, name: str) -> str:
        """Adds one file; returns its name on the worker."""
        path = _absolute(name)
        called = f"{self._remote_name(path.parent)}/{path.name}".removeprefix("./")
        self._add(path, called)
        return called

    def beside(self, name: str) -> str:
        """Adds a file and everything else in its folder; returns the file's name on the worker."""
        path = _absolute(name)
        self.folder(path.parent)
        return self.file(name)

    def folder(self, path: Path) -> str:
        """Adds a folder with everything below it; returns its name on the worker."""
        called = self._remote_name(path)
        for each in _below(path):
            if _SECRET.search(each.name) and each.suffix != ".py":
                self.left_out += [each.name] * (each.name not in self.left_out)
            else:
                self._add(each, f"{called}/{each.relative_to(path).as_posix()}".removeprefix("./"))
        return called

    def _remote_name(self, folder: Path) -> str:
        here = Path.cwd()
        if folder.is_relative_to(here):
            return folder.relative_to(here).as_posix()
        # One number for each folder, so that files of one folder stay together.
        return f"{ELSEWHERE}/{self._folders.setdefault(folder, str(len(self._folders)))}"

    def _add(self, path: Path, called: str) -> None:
        if called in self.files:
            return
        try:
            content = path.read_bytes()
        except OSError as error:
            msg = _(
                "{path}: cannot be read for the workers ({strerror}).", path=path, strerror=error.strerror
            )
            raise InputError(msg) from None
        self.files[called] = content
        self._size += len(content)
        if len(self.files) > MOST_FILES or self._size > MOST_BYTES:
            msg = _(
                "{folder}: more than {files} files or {size} MB would go to each"
                " worker; put the bot into a folder of its own.",
                folder=path.parent,
                files=MOST_FILES,
                size=MOST_BYTES // 10**6,
            )
            raise InputError(msg)


def pack(settings: Settings) -> tuple[Settings, ShippedFiles]:
    """The settings with the file names that workers have, and the files themselves."""
    shipment = ShippedFiles()
    changes: dict[str, object] = {
        "adapter": _code(settings.adapter, shipment),
        "judges": tuple(_judge(name, shipment) for name in settings.judges),
        "set": {key: _value(text, shipment) for key, text in settings.set.items()},
    }
    if settings.prompt:
        changes["prompt"] = _prompt(settings, shipment)
    for name in _FILE_SETTINGS:
        if path := getattr(settings, name):
            changes[name] = shipment.file(path)
    return settings.model_copy(update=changes), shipment


def _prompt(settings: Settings, shipment: ShippedFiles) -> str:
    """The prompt's name on the workers; every file that it or its chain consists of is added."""
    prompts, option = AppliedPrompts(settings), str(settings.prompt)
    for name in prompts.code:
        _code(name, shipment)
    name, variant = (option, "") if prompts.chain else split_variant(option)
    inside = all(_absolute(str(path)).is_relative_to(Path.cwd()) for path in prompts.files)
    for path in prompts.files:
        _unused = shipment.file(str(path)) if inside else shipment.beside(str(path))
    if not name.endswith(".toml"):
        return option  # a name of the shelf, or of the folder prompts/, which was added
    called = shipment.file(name)
    return f"{called}:{variant}" if variant else called


def _code(name: str, shipment: ShippedFiles) -> str:
    """Adds the folder of `bot.py:answer`, or the current folder for `package.module:thing` of the user's."""
    module, colon, attribute = name.rpartition(":")
    if not colon:
        return name
    if module.endswith(".py") or "/" in module or "\\" in module:
        return f"{shipment.beside(module)}:{attribute}"
    first = Path(module.partition(".")[0])
    if first.is_dir() or first.with_suffix(".py").is_file():
        shipment.folder(Path.cwd())
    return name


def _judge(name: str, shipment: ShippedFiles) -> str:
    if ":" in name:
        return _code(name, shipment)
    return shipment.file(name) if name.endswith(".toml") or "/" in name else name


def _value(text: str, shipment: ShippedFiles) -> str:
    """A value of --set: files (also `@file`), folders and code are added; other values stay unchanged."""
    mark = "@" if text.startswith("@") else ""
    name = text.removeprefix("@")
    if not name or len(name) > _LONGEST_NAME or "\n" in name or "\0" in name:
        return text
    path = _absolute(name)
    if path.is_file():
        return mark + shipment.file(name)
    if path.is_dir() and (path == Path.cwd() or not Path.cwd().is_relative_to(path)):
        return shipment.folder(path)
    module = name.rpartition(":")[0]
    return _code(name, shipment) if module.endswith(".py") and Path(module).is_file() else text


def _below(folder: Path) -> Iterator[Path]:
    """Every file that is not hidden, generated by a tool, or part of a run."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _SKIPPED_FOLDERS and not _is_run(Path(at, name))
        )
        yield from (Path(at, name) for name in sorted(files) if not name.startswith("."))


def _is_run(folder: Path) -> bool:
    return (folder / "run.sqlite").is_file()


def _absolute(name: str) -> Path:
    return Path(os.path.abspath(name))  # noqa: PTH100 - links must keep their names


class ProcessLost(Exception):
    """A process ended before its batch did."""


@dataclass
class RunOnWorker:
    """One run on this worker: the folder of its files, the specification for processes, and its processes."""

    folder: Path
    spec: str
    free: "list[WorkerProcess]" = field(default_factory=list)
    all: "list[WorkerProcess]" = field(default_factory=list)


# By run. Tasks run on threads of the worker, several at a time.
_known: dict[str, RunOnWorker] = {}
_lock = threading.Lock()


def environment() -> dict[str, str]:
    """The versions on this worker."""
    return connection.environment()


async def prepare(run: str, spec: str, files: dict[str, bytes], dask_worker: Any) -> None:
    """Writes the user's files into a folder of their own, unless that was done before."""
    await asyncio.to_thread(_prepare, run, spec, files, dask_worker.local_directory)


def _prepare(run: str, spec: str, files: dict[str, bytes], scratch: str) -> None:
    with _lock:
        if run in _known:
            return
        folder = Path(tempfile.mkdtemp(prefix="rehearsal-", dir=scratch))
        _unpack(files, folder)
        _known[run] = RunOnWorker(folder, spec)


def _unpack(files: dict[str, bytes], folder: Path) -> None:
    """Writes the files, readable by this user only."""
    for name, content in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            msg = _("{name}: not below the folder of the run", name=name)
            raise ValueError(msg)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(content)
        path.chmod(0o600)


async def dismiss(run: str) -> None:
    """Ends all processes of a run and removes its files."""
    await asyncio.to_thread(_dismiss, run)


def _dismiss(run: str) -> None:
    with _lock:
        rehearsal = _known.pop(run, None)
    if rehearsal is not None:
        for process in rehearsal.all:
            process.dismiss()
        for process in rehearsal.all:
            process.wait()
        shutil.rmtree(rehearsal.folder, ignore_errors=True)


def begin(run: str) -> dict[str, Any]:
    """Starts a process; returns the facts of its setup, or why it was refused or lost."""
    try:
        with _process(run) as process:
            return {"facts": process.facts, "refused": process.refused}
    except ProcessLost as error:
        return {"lost": str(error)}


def play(run: str, key: str, batch: str) -> dict[str, Any]:
    """Plays a batch in a process, and publishes its events under the topic `run`.

    Returns how it ended, or why it was lost. It also ends when the driver no longer waits for it.
    """
    try:
        return _play(run, key, batch)
    except ProcessLost as error:
        return {"lost": str(error)}


def _play(run: str, key: str, batch: str) -> dict[str, Any]:
    from distributed import get_worker

    worker = get_worker()
    task = str(worker.get_current_task())
    sent = 0
    with _process(run) as process:
        if process.refused:
            return {"stopped": process.refused, "out_of_budget": False, "reports": 0}
        process.send(batch)
        while True:
            line = process.line(LOOK)
            if line and line.startswith('["over"'):
                return {**json.loads(line)[1], "reports": sent}
            if line:
                worker.log_event(run, {"batch": key, "events": line})
                sent += 1
            if not _is_wanted(worker, task):
                process.kill()
                return {"stopped": None, "out_of_budget": False, "reports": sent}


def _is_wanted(worker: Any, task: str) -> bool:
    """Whether the driver still waits for this task: it is cancelled when the driver leaves or dies."""
    state = worker.state.tasks.get(task)
    return state is not None and state.state in ("executing", "long-running")


@contextlib.contextmanager
def _process(run: str) -> Iterator["WorkerProcess"]:
    """A free process, or a new one; free again afterwards unless it has ended."""
    with _lock:
        rehearsal = _known.get(run)
        if rehearsal is None:
            raise ProcessLost(_("this worker does not know the run"))
        rehearsal.free = [process for process in rehearsal.free if process.is_alive]
        free = rehearsal.free.pop() if rehearsal.free else None
    process = free or WorkerProcess(rehearsal)
    yield process
    with _lock:
        if process.is_alive and not process.refused:
            rehearsal.free.append(process)


class WorkerProcess:
    """A child process of a worker, in which batches are played."""

    def __init__(self, rehearsal: RunOnWorker) -> None:
        """Starts the process and waits until it has connected the bot, or has refused."""
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-c", _COMMAND],
            cwd=rehearsal.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        rehearsal.all.append(self)
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True, name="worker-process").start()
        self.send(rehearsal.spec)
        self.facts: dict[str, Any] = {}
        self.refused: str | None = None
        event, value = json.loads(self.line(None) or "")
        if event == "open":
            self.facts = value
        else:
            self.refused = str(value)

    @property
    def is_alive(self) -> bool:
        """Whether it can be given another batch."""
        return self.process.poll() is None

    def send(self, order: str) -> None:
        """Writes one line to its stdin."""
        assert self.process.stdin is not None  # noqa: S101 - opened as a pipe
        try:
            self.process.stdin.write(order.encode("utf-8", "replace") + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise ProcessLost(self._exit_message()) from None

    def line(self, timeout: float | None) -> str | None:
        """Its next line; None after `timeout` seconds without one. Raises ProcessLost if it has ended."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            return None
        if line is None:
            self._lines.put(None)  # for the next caller
            raise ProcessLost(self._exit_message())
        return line

    def _read(self) -> None:
        assert self.process.stdout is not None  # noqa: S101 - opened as a pipe
        with self.process.stdout as out:
            for line in out:
                self._lines.put(line.decode("utf-8", "replace"))
        self._lines.put(None)

    def _exit_message(self) -> Message:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1)
        code = self.process.poll()
        return _("its process ended") if code is None else _("its process ended with code {code}", code=code)

    def dismiss(self) -> None:
        """Closes its stdin, so that it closes its connections and ends."""
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()

    def wait(self) -> None:
        """Waits until it has ended; kills it after a while."""
        try:
            self.process.wait(CLOSING + 1)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Ends it at once."""
        self.process.kill()
        self.process.wait()
        self.dismiss()
