"""What runs inside a worker of the cluster: it keeps desks, hands them batches and passes on their events."""

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
from simulator.addons.dask.connection import ROOT
from simulator.addons.dask.outbox import Outbox
from simulator.core.errors import InputError, RehearsalError
from simulator.core.roles import endpoints
from simulator.core.settings import PREFIX, Settings, from_run
from simulator.core.types import Bot, Case, Conversation, GradingContext, Persona, Role, Score
from simulator.models.pricing import Allowance, Ledger
from simulator.runner.chains import AppliedPrompts
from simulator.runner.context import RunContext
from simulator.runner.prompt_file import split_variant
from simulator.runner.run import Runner, first_of

# Seconds without an order after which nobody is expected to give one.
IDLE = 300.0
# Seconds in which events are gathered: so much is lost with a process that is killed.
GATHER = 0.1
# Seconds that connections are given to close once the worker is gone.
LEAVING = 5.0


class Purse(Ledger):
    """A ledger whose budget is given anew with every batch: the driver keeps the books of the run."""

    def grant(self, budget: float | None) -> None:
        """So many dollars, of which nothing is spent; None is without limit."""
        self.budget, self.roles = budget, {}
        self._allowance = None if budget is None else Allowance(budget)


class NoProgress:
    """Progress that nobody watches: the driver shows it."""

    def turn(self, conversation: Conversation) -> None:
        """Nothing."""

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """Nothing."""

    def ended(self, conversation: Conversation) -> None:
        """Nothing."""


class WorkerContext:
    """The stage of a run as this process has set it up, and the bot."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Reads judges and settings of the user's files; connects to nothing yet."""
        _share_rates(spec["rates"])
        settings = from_run(spec["settings"])
        personas = [Persona.model_validate(persona) for persona in spec["personas"]]
        self.purse = Purse({}, None, Ledger.of(settings).prices)
        self.context = RunContext(settings, endpoints(settings, strict=False), personas, self.purse)
        self.cases = [Case.model_validate(case) for case in spec["cases"]]
        self.bot: Bot | None = None

    async def open(self) -> dict[str, Any]:
        """Connects the bot; gives what has to be the same on every desk."""
        plan = [Conversation(id=c.id, case=c, persona="", repeat=1) for c in self.cases]
        self.bot = await self.context.bot(plan)
        return signs(self.context)

    async def hold(self, batch: Mapping[str, Any], post: "Post") -> dict[str, Any]:
        """Holds and grades a batch; gives how it came to its end."""
        outbox = Outbox(batch, post.event)
        self.purse.grant(batch["budget"])
        self.purse.record = outbox.called
        self.context.settings = self.context.settings.model_copy(update={"concurrency": batch["concurrency"]})
        assert self.bot is not None  # noqa: S101 - orders come after `open`
        runner = Runner(outbox, self.context, self.bot, NoProgress())
        stopped: str | None = None
        try:
            await runner.run()
        except* RehearsalError as group:
            stopped = str(first_of(group))
        return {"stopped": stopped, "out_of_budget": runner.out_of_budget is not None}


def signs(context: RunContext) -> dict[str, Any]:
    """The models of each role, where they are reached, and the hashes of all prompts."""
    addresses = {role: end.address if end else "" for role, end in context.endpoints.items()}
    return {"models": context.models(), "addresses": addresses, "prompts": context.fingerprints()}


def _share_rates(rates: Mapping[str, Mapping[str, int | None]]) -> None:
    """What the run may ask of an endpoint within a minute is divided among all desks."""
    for role in get_args(Role):
        for what in ("rpm", "tpm"):
            name = f"{PREFIX}{role.upper()}_{what.upper()}"
            os.environ.pop(name, None)
            if share := rates.get(role, {}).get(what):
                os.environ[name] = str(share)


class Post:
    """The way out. Events that happen within a moment go together, as one parcel."""

    def __init__(self, out: IO[str]) -> None:
        """Nothing is waiting yet."""
        self._out = out
        self._events: list[str] = []

    def event(self, event: str) -> None:
        """Something that happened, as JSON."""
        if not self._events:
            asyncio.get_running_loop().call_later(GATHER, self.flush)
        self._events.append(event)

    def flush(self) -> None:
        """Sends what is waiting."""
        if self._events:
            events, self._events = self._events, []
            self._write(f"[{','.join(events)}]")

    def answer(self, *said: Any) -> None:
        """The answer to an order, after everything that happened before it."""
        self.flush()
        self._write(json.dumps(said, ensure_ascii=False))

    def _write(self, line: str) -> None:
        try:
            self._out.write(line + "\n")
            self._out.flush()
        except OSError:  # the worker is gone, and with it everybody who could write this down
            os._exit(0)


async def _serve(orders: "asyncio.Queue[str]", post: Post) -> None:
    desk: WorkerContext | None = None
    try:
        while order := await asyncio.wait_for(orders.get(), IDLE):
            body = json.loads(order)
            if desk is None:
                desk = WorkerContext(body)
                post.answer("open", await desk.open())
            else:
                post.answer("over", await desk.hold(body, post))
    except TimeoutError:
        pass
    except RehearsalError as error:
        post.answer("refused", str(error))
    finally:
        if desk is not None:
            await desk.context.close(desk.bot)


async def _work() -> None:
    """Orders are read beside the loop; the end of stdin cancels whatever is going on."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    orders: asyncio.Queue[str] = asyncio.Queue()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
    os.dup2(2, 1)  # whatever a bot prints is no event

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(orders.put_nowait, line)
        if task is not None:
            loop.call_soon_threadsafe(task.cancel)
        threading.Timer(LEAVING, os._exit, [0]).start()

    threading.Thread(target=read, daemon=True, name="orders").start()

    await _serve(orders, Post(out))


def main() -> None:
    """What `worker` starts; Ctrl-C in a terminal is for the driver alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_work())
    os._exit(0)  # a bot's thread that hangs must not keep the process


# What a bot's folder may hold at most; more is likely not meant to travel.
MOST_FILES, MOST_BYTES = 5_000, 200_000_000
# What lies outside the folder where the user stands is put below this one.
ELSEWHERE = ".elsewhere"
_PASSED_OVER = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_SECRET = re.compile(r"secret|credential|service[-_. ]?account|id_rsa|\.(pem|key|p12|pfx)$", re.IGNORECASE)
_ONE_FILE = ("outputs", "guidelines", "contacts", "ng_words", "script", "replay")
# Longer values of --set are texts, not names of files.
_LONGEST_NAME = 500


@dataclass
class ShippedFiles:
    """Files by the name they have in the worker's folder, and what was left out as a likely secret."""

    files: dict[str, bytes] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    _size: int = 0
    _folders: dict[Path, str] = field(default_factory=dict)

    def file(self, name: str) -> str:
        """Takes one file along; gives the name by which the worker finds it."""
        path = _absolute(name)
        called = f"{self._called(path.parent)}/{path.name}".removeprefix("./")
        self._add(path, called)
        return called

    def beside(self, name: str) -> str:
        """Takes a file and all that lies in its folder along; gives the file's name there."""
        path = _absolute(name)
        self.folder(path.parent)
        return self.file(name)

    def folder(self, path: Path) -> str:
        """Takes a folder with all below it along; gives its name there."""
        called = self._called(path)
        for each in _below(path):
            if _SECRET.search(each.name) and each.suffix != ".py":
                self.left_out += [each.name] * (each.name not in self.left_out)
            else:
                self._add(each, f"{called}/{each.relative_to(path).as_posix()}".removeprefix("./"))
        return called

    def _called(self, folder: Path) -> str:
        here = Path.cwd()
        if folder.is_relative_to(here):
            return folder.relative_to(here).as_posix()
        # One number for each folder: what lies side by side here does so there.
        return f"{ELSEWHERE}/{self._folders.setdefault(folder, str(len(self._folders)))}"

    def _add(self, path: Path, called: str) -> None:
        if called in self.files:
            return
        try:
            content = path.read_bytes()
        except OSError as error:
            msg = f"{path}: cannot be read for the workers ({error.strerror})."
            raise InputError(msg) from None
        self.files[called] = content
        self._size += len(content)
        if len(self.files) > MOST_FILES or self._size > MOST_BYTES:
            msg = (
                f"{path.parent}: more than {MOST_FILES:,} files or {MOST_BYTES // 10**6} MB would go to each"
                " worker; put the bot into a folder of its own."
            )
            raise InputError(msg)


def pack(settings: Settings) -> tuple[Settings, ShippedFiles]:
    """The settings as a worker has to read them, and the files they name."""
    shipment = ShippedFiles()
    changes: dict[str, object] = {
        "adapter": _code(settings.adapter, shipment),
        "judges": tuple(_judge(name, shipment) for name in settings.judges),
        "set": {key: _value(text, shipment) for key, text in settings.set.items()},
    }
    if settings.prompt:
        changes["prompt"] = _prompt(settings, shipment)
    for name in _ONE_FILE:
        if given := getattr(settings, name):
            changes[name] = shipment.file(given)
    return settings.model_copy(update=changes), shipment


def _prompt(settings: Settings, shipment: ShippedFiles) -> str:
    """The prompt's name for the workers, with every file that it or its chain is made of."""
    found, given = AppliedPrompts(settings), str(settings.prompt)
    for name in found.code:
        _code(name, shipment)
    name, variant = (given, "") if found.chain else split_variant(given)
    inside = all(_absolute(str(path)).is_relative_to(Path.cwd()) for path in found.files)
    for path in found.files:
        _ = shipment.file(str(path)) if inside else shipment.beside(str(path))
    if not name.endswith(".toml"):
        return given  # by its name: of the shelf, or of the folder prompts/, which went along
    called = shipment.file(name)
    return f"{called}:{variant}" if variant else called


def _code(name: str, shipment: ShippedFiles) -> str:
    """`bot.py:answer` with its folder; for `package.module:thing` of the user's, the folder they stand in."""
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
    """A value of --set that names a file (`@file`, too), a folder, or code; any other as it is."""
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
    """Every file that is neither hidden nor made by a tool, nor part of a run."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _PASSED_OVER and not _is_run(Path(at, name))
        )
        yield from (Path(at, name) for name in sorted(files) if not name.startswith("."))


def _is_run(folder: Path) -> bool:
    return (folder / "run.sqlite").is_file()


def _absolute(name: str) -> Path:
    return Path(os.path.abspath(name))  # noqa: PTH100 - a link stays what it is called


# Seconds between two looks at whether anybody still waits for a batch.
LOOK = 0.5
CLOSING = 5.0


# Not from where the worker stands, nor from where the user's files are: from the program's own folder.
_COMMAND = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from simulator.addons.dask.worker import main; main()"
)


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
    return connection.about()


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
