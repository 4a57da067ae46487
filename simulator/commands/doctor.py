"""`doctor`: whether keys, endpoints, bot, questions and folders work, before money is spent."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from simulator.commands.options import takes_settings
from simulator.errors import RehearsalError
from simulator.settings import Settings, load

Check = Callable[[], Awaitable[str]]
TO_MEND = 2


@takes_settings
def command(flags: dict[str, Any]) -> int:
    """Try each part with one real call and say in a sentence what is wrong. Takes the same options."""
    return asyncio.run(_examine(load(flags)))


async def _examine(settings: Settings) -> int:
    from simulator.endpoints import endpoints
    from simulator.plan import read_plan
    from simulator.spending import Ledger
    from simulator.stage import Stage

    _print_settings(settings)
    plan, personas = read_plan(settings)
    _say("ok", "questions", f"{len(plan)} conversations planned")
    no_cache = settings.model_copy(update={"cache": "off"})
    stage = Stage(no_cache, endpoints(settings), personas, Ledger({}))
    checks: dict[str, Check] = {f"{role} model": _model_check(stage, role) for role in stage.endpoints}
    checks["bot"] = _bot_check(stage, plan)
    checks["runs folder"] = _folder_check(Path(settings.runs))
    failed = 0
    try:
        for name, check in checks.items():
            try:
                _say("ok", name, await check())
            except RehearsalError as error:
                failed += 1
                _say("NOT OK", name, str(error))
    finally:
        await stage.connections.close()
    return TO_MEND if failed else 0


def _print_settings(settings: Settings) -> None:
    """The settings in force; secrets are never among them, only whether a key is set."""
    for name, value in settings.model_dump(mode="json").items():
        if value not in (None, [], {}, False):
            _say("", name, str(value))
    keys = [
        name for name in sorted(os.environ) if name.startswith(("REHEARSAL_", "OPENAI_")) and "KEY" in name
    ]
    _say("", "keys", ", ".join(f"{name}=***" for name in keys) or "none in the environment")


def _model_check(stage: Any, role: Any) -> Check:
    async def check() -> str:
        endpoint = stage.endpoints[role]
        if endpoint is None:
            return "played by a lexical stand-in"
        from simulator.llm import Model

        model = Model(endpoint, stage.connections, stage.ledger)
        if role == "embed":
            vectors = await model.embed(["ok"])
            return f"{endpoint.model} at {endpoint.url}: vectors of {len(vectors[0])} numbers"
        text, usage = await model.say([{"role": "user", "content": "Reply with: ok"}])
        return f"{endpoint.model} at {endpoint.url}: answered {text[:20]!r} ({usage.tokens_out} tokens)"

    return check


def _bot_check(stage: Any, plan: Any) -> Check:
    async def check() -> str:
        from simulator.conversation import ask
        from simulator.errors import RagFailure
        from simulator.types import Query

        rag = await stage.rag(plan)
        case = plan[0].case
        query = Query(text=case.question, session="doctor", case=case.id, language=case.language)
        answer = await ask(rag, query, stage.settings.timeout)
        if closing := getattr(rag, "aclose", None):
            await closing()
        if answer.error:
            raise RagFailure(answer.error.kind, f"{stage.settings.adapter}: {answer.error.message}")
        heard = f"{len(answer.text)} characters, {len(answer.passages)} passages"
        return f"{stage.settings.adapter}: answered with {heard}"

    return check


def _folder_check(folder: Path) -> Check:
    async def check() -> str:
        if not _is_writable(folder):
            from simulator.errors import RunFileError

            msg = f"{folder}: cannot be written. Choose another folder with --runs."
            raise RunFileError(msg)
        return f"{folder} can be written"

    return check


def _is_writable(folder: Path) -> bool:
    existing = next(p for p in (folder, *folder.resolve().parents) if p.exists())
    return os.access(existing, os.W_OK)


def _say(mark: str, name: str, text: str) -> None:
    from simulator.reports.words import plain

    sys.stdout.write(f"{mark:6} {name:18} {plain(text)}\n")
