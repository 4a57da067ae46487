"""The workers of a run: checked, furnished with the user's files and with a share of the limits each."""

import asyncio
import contextlib
import json
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from simulator.addons.dask import worker
from simulator.addons.dask.connection import LOCAL, Connection, SchedulerLost, WorkersLost, about, difference
from simulator.addons.dask.worker import ShippedFiles, pack, signs
from simulator.core import shelves
from simulator.core.errors import InputError, RehearsalError
from simulator.core.roles import LEXICAL
from simulator.core.types import Conversation
from simulator.runner.context import RunContext

# Seconds to wait for the first worker; for all of those that --workers asks for.
FIRST, ASKED_FOR = 30.0, 300.0
# Seconds a run goes on without any worker: a killed one is often started again.
ALONE = 60.0
LOOK = 1.0


class Hub:
    """Who can hold conversations now."""

    def __init__(self, connection: Connection, context: RunContext, plan: Sequence[Conversation]) -> None:
        """Reads the files that have to travel; asks nobody yet."""
        self.connection, self.context, self.plan = connection, context, plan
        self.run = f"rehearsal-{uuid.uuid4().hex}"
        self.ready: dict[str, int] = {}
        self.slots = 1
        self._settings, self._shipment = pack(context.settings)
        self._about_here, self._spec = about(), ""
        self._welcoming: dict[str, asyncio.Task[None]] = {}
        self._refused: dict[str, str] = {}
        self._alone_since: float | None = None
        self._looked = 0.0

    async def open(self) -> None:
        """Waits for the workers and sets them up. Raises InputError for what has to be mended."""
        _say_left_out(self._shipment)
        found = await self._first()
        self.slots = self._slots(sum(found.values()))
        self._spec = json.dumps(self._as_spec(), ensure_ascii=False)
        for step in (self._compare, self._furnish):
            async with asyncio.TaskGroup() as tasks:
                for address, threads in found.items():
                    tasks.create_task(step(address, threads))

    async def _first(self) -> dict[str, int]:
        """The workers at the beginning: all that --workers asks for, or whoever is there."""
        wanted = self.context.settings.workers or 1
        patience = ASKED_FOR if wanted > 1 else FIRST
        started = time.monotonic()
        while len(found := await self.connection.workers()) < wanted:
            if time.monotonic() - started > patience:
                msg = (
                    f"{self.connection.address} has {len(found)} of {wanted} workers after {patience:g} s;"
                    " start them with: dask worker (docs/scale.md)."
                )
                raise InputError(msg)
            await asyncio.sleep(0.2)
        return found

    def _slots(self, threads: int) -> int:
        """Batches at a time: no more than there is something for each of."""
        settings = self.context.settings
        rates = [e.rpm for e in self.context.endpoints.values() if e and e.rpm]
        return max(1, min(threads, settings.concurrency, settings.calls, len(self.plan), *rates))

    def _as_spec(self) -> dict[str, Any]:
        """All that a desk has to know, without a secret: those are in the worker's own environment."""
        context, given = self.context, self._settings
        models = {f"{role}_model": model for role, model in context.models().items()}
        changes = {
            **models,
            "calls": max(1, given.calls // self.slots),
            "engine": "local", "scheduler": None, "workers": None, "budget": None, "check": (), "to": (),
            "cases": None, "resume": None, "dry_run": False, "sequential": False, "confidence": None,
            "target": None, "knowledge": None, "rpm": None, "tpm": None, "shard": None,
        }  # fmt: skip
        settings = given.model_copy(update=changes)
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
        """All questions, where the adapter asks for them; they may be a million."""
        settings, offered = self.context.settings, self.context.offered(self.plan)
        connect = shelves.connector(settings.adapter)
        bound = shelves.bound_settings(settings.adapter, connect, settings.set, offered)
        cases: Sequence[Any] = offered["cases"] if "cases" in bound else ()
        return cases

    def _shown(self, address: str) -> str:
        return "" if self.connection.address == LOCAL else f"worker {address}: "

    async def _compare(self, address: str, _: int) -> None:
        """Raises InputError for a worker that is not like this machine."""
        shown = self._shown(address)
        there = await self._about(address, shown)
        if differs := difference(self._about_here, there):
            msg = f"{shown}{differs}; make them the same before anything is paid (docs/scale.md)."
            raise InputError(msg)

    async def _furnish(self, address: str, threads: int) -> None:
        """Sends the user's files and has desks opened; from then on the worker is `ready`."""
        shown = self._shown(address)
        await self.connection.call(address, worker.prepare, self.run, self._spec, self._shipment.files)
        found = await self._begun(address, shown, min(threads, self.slots))
        for each in found:
            self._check(each, shown)
        self.ready[address] = threads

    async def _about(self, address: str, shown: str) -> Mapping[str, str]:
        try:
            found: Mapping[str, str] = await self.connection.call(address, worker.about)
        except RehearsalError:
            raise
        except Exception as error:  # whatever keeps a foreign process from loading our module
            why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            msg = (
                f"{shown}cannot load the program ({why}); start it with PYTHONPATH naming the folder of"
                " run.py (docs/scale.md)."
            )
            raise InputError(msg) from None
        return found

    async def _begun(self, address: str, shown: str, desks: int) -> list[dict[str, Any]]:
        tasks = [
            self.connection.task(address, worker.begin, self.run, key=f"begin-{uuid.uuid4().hex}")
            for _ in range(desks)
        ]
        found = list(await asyncio.gather(*map(self.connection.outcome, tasks)))
        if lost := next((each["lost"] for each in found if "lost" in each), None):
            msg = f"{shown}the bot cannot be set up there: {lost}; its own words are in the worker's log."
            raise InputError(msg)
        return found

    def _check(self, begun: Mapping[str, Any], shown: str) -> None:
        """Whether a desk has the models and the prompts of this machine."""
        if begun["refused"]:
            raise InputError(f"{shown}{begun['refused']}")
        here, there = signs(self.context), begun["signs"]
        for role, model in here["models"].items():
            found = there["models"].get(role, LEXICAL)
            if found != model:
                msg = (
                    f"{shown}{found} would play the role {role} there, here it is {model}: give the worker"
                    " the same OPENAI_ and REHEARSAL_ variables."
                )
                raise InputError(msg)
            if here["addresses"][role] != there["addresses"].get(role):
                msg = (
                    f"{shown}it reaches {model} at {there['addresses'].get(role)}, this machine at"
                    f" {here['addresses'][role]}: make them the same."
                )
                raise InputError(msg)
        if here["prompts"] != there["prompts"]:
            msg = f"{shown}its prompts are not those of this machine: update its copy of the program."
            raise InputError(msg)

    async def refresh(self) -> None:
        """Forgets workers that are gone, and furnishes new ones beside the run."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        self._looked = now
        found = await self.connection.workers()
        for gone in self.ready.keys() - found.keys():
            del self.ready[gone]
        for address in found.keys() - self.ready.keys() - self._welcoming.keys() - self._refused.keys():
            self._welcoming[address] = asyncio.create_task(self._also(address, found[address]))
        self._alone_since = None if self.ready else (self._alone_since or now)
        if self._alone_since is not None and now - self._alone_since > ALONE:
            why = next(iter(self._refused.values()), "none came back")
            msg = f"no worker is left at {self.connection.address} ({why})"
            raise WorkersLost(msg)

    async def _also(self, address: str, threads: int) -> None:
        try:
            await self._compare(address, threads)
            await self._furnish(address, threads)
        except SchedulerLost:
            pass  # the next look says so
        except Exception as error:  # it may be gone again already; a foreign one is left alone
            self._refused[address] = str(error)
        finally:
            del self._welcoming[address]

    def doubt(self, address: str) -> None:
        """A worker that lost a batch is checked and furnished anew: it may be another process by now."""
        self.ready.pop(address, None)
        self._looked = 0.0

    async def close(self) -> None:
        """Sends every desk home."""
        for task in self._welcoming.values():
            task.cancel()
        if not self.connection.is_up:
            return
        await asyncio.gather(*(self._leave(address) for address in list(self.ready)))

    async def _leave(self, address: str) -> None:
        with contextlib.suppress(Exception):  # gone, or its scheduler is: its desks end with it
            await asyncio.wait_for(
                self.connection.call(address, worker.dismiss, self.run), worker.CLOSING + 5
            )


def _say_left_out(shipment: ShippedFiles) -> None:
    if shipment.left_out:
        names = ", ".join(shipment.left_out[:8])
        sys.stderr.write(f"Not sent to the workers, as they look like secrets: {names}.\n")
