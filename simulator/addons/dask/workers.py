"""The workers of a run: checks them, sends them the user's files, and gives each a share of the limits."""

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from simulator.addons.dask import worker
from simulator.addons.dask.connection import (
    LOCAL,
    Connection,
    SchedulerLost,
    WorkersLost,
    difference,
    environment,
)
from simulator.addons.dask.worker import ShippedFiles, pack, setup_facts
from simulator.core import shelves
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _, say
from simulator.core.roles import LEXICAL
from simulator.core.types import Conversation
from simulator.runner.context import RunContext

# Seconds to wait for the first worker, and for all workers of --workers.
FIRST_TIMEOUT, ALL_TIMEOUT = 30.0, 300.0
# Seconds that a run waits without any worker: a killed one is often started again.
MAX_ALONE = 60.0
POLL_INTERVAL = 1.0


class Workers:
    """The workers that can play conversations now: `ready` has their addresses and threads."""

    def __init__(self, connection: Connection, context: RunContext, plan: Sequence[Conversation]) -> None:
        """Reads the files to send; contacts no worker yet."""
        self.connection, self.context, self.plan = connection, context, plan
        self.run = f"rehearsal-{uuid.uuid4().hex}"
        self.ready: dict[str, int] = {}
        self.slots = 1
        self._settings, self._shipment = pack(context.settings)
        self._environment, self._spec = environment(), ""
        self._preparing: dict[str, asyncio.Task[None]] = {}
        self._refused: dict[str, str] = {}
        self._without_since: float | None = None
        self._checked_at = 0.0

    async def open(self) -> None:
        """Waits for the workers and sets them up. Raises InputError for anything the user has to fix."""
        _say_left_out(self._shipment)
        threads_by_worker = await self._wait_for_workers()
        self.slots = self._slots(sum(threads_by_worker.values()))
        self._spec = json.dumps(self._specification(), ensure_ascii=False)
        for step in (self._compare, self._set_up):
            async with asyncio.TaskGroup() as tasks:
                for address, threads in threads_by_worker.items():
                    tasks.create_task(step(address, threads))

    async def _wait_for_workers(self) -> dict[str, int]:
        """Addresses and threads of the workers, as soon as there are as many as --workers says, or one."""
        count = self.context.settings.workers or 1
        patience = ALL_TIMEOUT if count > 1 else FIRST_TIMEOUT
        started = time.monotonic()
        while len(workers := await self.connection.workers()) < count:
            if time.monotonic() - started > patience:
                msg = _(
                    "{address} has {n} of {count} workers after {patience:g} s; start them with:"
                    " dask worker (docs/scale.md).",
                    address=self.connection.address,
                    n=len(workers),
                    count=count,
                    patience=patience,
                )
                raise InputError(msg)
            await asyncio.sleep(0.2)
        return workers

    def _slots(self, threads: int) -> int:
        """The number of batches at a time, within threads, --concurrency, --calls, plan and rate limits."""
        settings = self.context.settings
        rates = [e.rpm for e in self.context.endpoints.values() if e and e.rpm]
        return max(1, min(threads, settings.concurrency, settings.calls, len(self.plan), *rates))

    def _specification(self) -> dict[str, Any]:
        """The specification for a process, without secrets: they are in the worker's own environment."""
        context = self.context
        models = {f"{role}_model": model for role, model in context.models().items()}
        changes = {
            **models,
            "calls": max(1, self._settings.calls // self.slots),
            "engine": "local", "scheduler": None, "workers": None, "budget": None, "check": (), "to": (),
            "cases": None, "resume": None, "dry_run": False, "sequential": False, "confidence": None,
            "target": None, "knowledge": None, "rpm": None, "tpm": None, "shard": None,
        }  # fmt: skip
        settings = self._settings.model_copy(update=changes)
        return {
            "settings": settings.model_dump(mode="json"),
            "personas": [persona.model_dump(mode="json") for persona in context.personas.values()],
            "rates": {role: self._rates(end) for role, end in context.endpoints.items() if end},
            "cases": [case.model_dump(mode="json") for case in self._cases()],
        }

    def _rates(self, endpoint: Any) -> dict[str, int | None]:
        return {
            what: n and max(1, n // self.slots) for what, n in (("rpm", endpoint.rpm), ("tpm", endpoint.tpm))
        }

    def _cases(self) -> Sequence[Any]:
        """All cases if the adapter takes them, else none: there may be a million."""
        settings, offered = self.context.settings, self.context.offered(self.plan)
        connect = shelves.connector(settings.adapter)
        bound = shelves.adapter_arguments(settings.adapter, connect, settings.set, offered)
        cases: Sequence[Any] = offered["cases"] if "cases" in bound else ()
        return cases

    def _prefix(self, address: str) -> Message | str:
        return "" if self.connection.address == LOCAL else _("worker {address}: ", address=address)

    async def _compare(self, address: str, _slots: int) -> None:
        """Raises InputError for a worker with other versions or files than this machine."""
        prefix = self._prefix(address)
        there = await self._environment_of(address, prefix)
        if differs := difference(self._environment, there):
            msg = _(
                "{prefix}{differs}; make them the same before anything is paid (docs/scale.md).",
                prefix=prefix,
                differs=differs,
            )
            raise InputError(msg)

    async def _set_up(self, address: str, threads: int) -> None:
        """Sends the user's files and starts processes; from then on the worker is `ready`."""
        prefix = self._prefix(address)
        await self.connection.call(address, worker.prepare, self.run, self._spec, self._shipment.files)
        for begun in await self._begin(address, prefix, min(threads, self.slots)):
            self._check(begun, prefix)
        self.ready[address] = threads

    async def _environment_of(self, address: str, prefix: Message | str) -> Mapping[str, str]:
        try:
            environment: Mapping[str, str] = await self.connection.call(address, worker.environment)
        except RehearsalError:
            raise
        except Exception as error:  # whatever keeps a foreign process from loading our module
            why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            msg = _(
                "{prefix}cannot load the program ({why}); start it with PYTHONPATH naming the"
                " folder of run.py (docs/scale.md).",
                prefix=prefix,
                why=why,
            )
            raise InputError(msg) from None
        return environment

    async def _begin(self, address: str, prefix: Message | str, processes: int) -> list[dict[str, Any]]:
        tasks = [
            self.connection.task(address, worker.begin, self.run, key=f"begin-{uuid.uuid4().hex}")
            for _unused in range(processes)
        ]
        begun = list(await asyncio.gather(*map(self.connection.outcome, tasks)))
        if lost := next((each["lost"] for each in begun if "lost" in each), None):
            msg = _(
                "{prefix}the bot cannot be set up there: {lost}; its own words are in the worker's log.",
                prefix=prefix,
                lost=lost,
            )
            raise InputError(msg)
        return begun

    def _check(self, begun: Mapping[str, Any], prefix: Message | str) -> None:
        """Raises InputError for a process with other models or prompts than this machine."""
        if begun["refused"]:
            raise InputError(_("{process}{reason}", process=prefix, reason=begun["refused"]))
        here, there = setup_facts(self.context), begun["facts"]
        for role, model in here["models"].items():
            other = there["models"].get(role, LEXICAL)
            if other != model:
                msg = _(
                    "{prefix}{other} would play the role {role} there, here it is {model}: give"
                    " the worker the same OPENAI_ and REHEARSAL_ variables.",
                    prefix=prefix,
                    other=other,
                    role=role,
                    model=model,
                )
                raise InputError(msg)
            if here["addresses"][role] != there["addresses"].get(role):
                msg = _(
                    "{prefix}it reaches {model} at {there}, this machine at {here}: make them the same.",
                    prefix=prefix,
                    model=model,
                    there=there["addresses"].get(role),
                    here=here["addresses"][role],
                )
                raise InputError(msg)
        if here["prompts"] != there["prompts"]:
            msg = _(
                "{prefix}its prompts are not those of this machine: update its copy of the program.",
                prefix=prefix,
            )
            raise InputError(msg)

    async def refresh(self) -> None:
        """Forgets workers that are gone, and sets up new ones while the run goes on."""
        now = time.monotonic()
        if now - self._checked_at < POLL_INTERVAL:
            return
        self._checked_at = now
        workers = await self.connection.workers()
        for gone in self.ready.keys() - workers.keys():
            del self.ready[gone]
        for address in workers.keys() - self.ready.keys() - self._preparing.keys() - self._refused.keys():
            self._preparing[address] = asyncio.create_task(self._add(address, workers[address]))
        self._without_since = None if self.ready else (self._without_since or now)
        if self._without_since is not None and now - self._without_since > MAX_ALONE:
            why = next(iter(self._refused.values()), _("none came back"))
            msg = _("no worker is left at {address} ({why})", address=self.connection.address, why=why)
            raise WorkersLost(msg)

    async def _add(self, address: str, threads: int) -> None:
        try:
            await self._compare(address, threads)
            await self._set_up(address, threads)
        except SchedulerLost:
            pass  # the next `refresh` raises it
        except Exception as error:  # it may be gone already, or have another version: it is left alone
            self._refused[address] = str(error)
        finally:
            del self._preparing[address]

    def doubt(self, address: str) -> None:
        """Has a worker that lost a batch checked and set up again: it may have been restarted."""
        self.ready.pop(address, None)
        self._checked_at = 0.0

    async def close(self) -> None:
        """Ends all processes on the workers."""
        for task in self._preparing.values():
            task.cancel()
        if not self.connection.is_up:
            return
        await asyncio.gather(*(self._leave(address) for address in list(self.ready)))

    async def _leave(self, address: str) -> None:
        with contextlib.suppress(Exception):  # gone, or its scheduler is: its processes end with it
            await asyncio.wait_for(
                self.connection.call(address, worker.dismiss, self.run), worker.CLOSING + 5
            )


def _say_left_out(shipment: ShippedFiles) -> None:
    if shipment.left_out:
        names = ", ".join(shipment.left_out[:8])
        say(_("Not sent to the workers, as they look like secrets: {names}.", names=names))
