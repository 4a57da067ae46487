"""One process of a worker: it connects the bot once, then holds batch after batch on its own event loop.

A line on stdin is an order, each line on stdout an event. It ends with its worker: when stdin does.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Any, get_args

from simulator.cluster.outbox import Outbox
from simulator.core.errors import RehearsalError
from simulator.core.roles import endpoints
from simulator.core.settings import PREFIX, from_run
from simulator.core.types import Case, Conversation, GradingContext, Persona, Rag, Role, Score
from simulator.models.pricing import Allowance, Ledger
from simulator.runner.context import RunContext
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


class Silent:
    """Progress that nobody watches: the driver shows it."""

    def turn(self, conversation: Conversation) -> None:
        """Nothing."""

    def graded(self, exhibit: GradingContext, scores: Sequence[Score]) -> None:
        """Nothing."""

    def ended(self, conversation: Conversation) -> None:
        """Nothing."""


class Desk:
    """The stage of a run as this process has set it up, and the bot."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Reads judges and settings of the user's files; connects to nothing yet."""
        _share_rates(spec["rates"])
        settings = from_run(spec["settings"])
        personas = [Persona.model_validate(persona) for persona in spec["personas"]]
        self.purse = Purse({}, None, Ledger.of(settings).prices)
        self.stage = RunContext(settings, endpoints(settings, strict=False), personas, self.purse)
        self.cases = [Case.model_validate(case) for case in spec["cases"]]
        self.rag: Rag | None = None

    async def open(self) -> dict[str, Any]:
        """Connects the bot; gives what has to be the same on every desk."""
        plan = [Conversation(id=c.id, case=c, persona="", repeat=1) for c in self.cases]
        self.rag = await self.stage.rag(plan)
        return signs(self.stage)

    async def hold(self, batch: Mapping[str, Any], post: "Post") -> dict[str, Any]:
        """Holds and grades a batch; gives how it came to its end."""
        outbox = Outbox(batch, post.event)
        self.purse.grant(batch["budget"])
        self.purse.record = outbox.called
        self.stage.settings = self.stage.settings.model_copy(update={"concurrency": batch["concurrency"]})
        assert self.rag is not None  # noqa: S101 - orders come after `open`
        sitting = Runner(outbox, self.stage, self.rag, Silent())
        stopped: str | None = None
        try:
            await sitting.run()
        except* RehearsalError as group:
            stopped = str(first_of(group))
        return {"stopped": stopped, "out_of_budget": sitting.out_of_budget is not None}


def signs(stage: RunContext) -> dict[str, Any]:
    """The models of each role, where they are reached, and the hashes of all prompts."""
    addresses = {role: end.address if end else "" for role, end in stage.endpoints.items()}
    return {"models": stage.models(), "addresses": addresses, "prompts": stage.fingerprints()}


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
    desk: Desk | None = None
    try:
        while order := await asyncio.wait_for(orders.get(), IDLE):
            body = json.loads(order)
            if desk is None:
                desk = Desk(body)
                post.answer("open", await desk.open())
            else:
                post.answer("over", await desk.hold(body, post))
    except TimeoutError:
        pass
    except RehearsalError as error:
        post.answer("refused", str(error))
    finally:
        if desk is not None:
            await desk.stage.close(desk.rag)


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
