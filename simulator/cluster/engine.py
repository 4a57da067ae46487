"""`--engine dask`: a run whose conversations are held on workers, and written by this process alone."""

from collections.abc import Callable, Sequence
from pathlib import Path

from simulator.cluster.connection import connected
from simulator.cluster.hub import Hub
from simulator.cluster.spread import Spread
from simulator.core.errors import InputError
from simulator.core.types import Conversation, Query, Rag
from simulator.runner.context import RunContext
from simulator.runner.run import First, Progress, Runner, Sit, Stopping, nothing_first, rehearse
from simulator.storage.run_file import RunFile


async def perform(  # noqa: PLR0917 - the same as of the local engine
    stage: RunContext,
    plan: Sequence[Conversation],
    open_file: Callable[[], RunFile],
    progress: Progress,
    first: First = nothing_first,
    sit: Sit | None = None,
    stopping: Stopping | None = None,
) -> tuple[Path, str | None]:
    """Like the local engine's: gives the run file, and why the run stopped early if it did.

    `sit` is for other kinds of sittings, which only the local engine knows.
    The file is opened once every worker is checked and has connected the bot; nothing is paid before.
    """
    try:
        async with connected(stage.settings) as connection:
            hub = Hub(connection, stage, plan)
            try:
                await hub.open()
            except* InputError as group:
                raise group.exceptions[0] from None
            file = open_file()

            def spread(
                record: RunFile,
                stage: RunContext,
                rag: Rag,
                progress: Progress,
                part: Sequence[Conversation] | None,
            ) -> Runner:
                return Spread(hub, record, stage, rag, progress, part)

            try:
                return file.path, await rehearse(file, stage, _elsewhere, progress, first, spread, stopping)
            finally:
                file.close()
                await hub.close()
    finally:
        await stage.close(None)


async def _elsewhere(_: Query) -> str:
    """The bot is connected on the workers only."""
    msg = "the bot answers on the workers"
    raise RuntimeError(msg)
