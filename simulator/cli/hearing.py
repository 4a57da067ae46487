"""`--dry-run --ask-bot`: the bot alone is asked a few questions, so that its answers need no guess.

What was learnt, sizes and no words, is kept beside the response cache: forecasts go by it for some days.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.core.errors import BotFailure, InputError
from simulator.core.types import Answer, Conversation, Language

if TYPE_CHECKING:
    from simulator.core.settings import Settings
    from simulator.runner.context import RunContext
    from simulator.runner.estimate import Hearing, SampledAnswers

# A bot may have changed since: what was heard of it is forgotten after so many days, and beyond so many bots.
DAYS, BOTS = 7, 50


def check_hearing(settings: "Settings") -> None:
    """Raises InputError where the bot is to be asked and nothing is forecast."""
    if settings.ask_bot and not settings.dry_run:
        msg = "--ask-bot goes with --dry-run: it asks the bot alone, and shows what a run will cost."
        raise InputError(msg)


def hearing(context: "RunContext", plan: Sequence[Conversation]) -> "Hearing | None":
    """How the bot is heard: it is asked, or remembered; None where its answers are there, or nobody may."""
    settings = context.settings
    if settings.adapter == "recorded" or (settings.cache == "off" and not settings.ask_bot):
        return None

    def heard() -> "Mapping[Language, SampledAnswers]":
        from simulator.runner.heard import hear  # not where nobody is asked

        if not settings.ask_bot:
            return remembered(settings, plan)
        try:
            with contextlib.redirect_stdout(
                sys.stderr
            ):  # what a bot's own code prints is none of the forecast
                found = asyncio.run(hear(context, plan))
        except BotFailure as error:
            msg = f"{error} (python run.py doctor looks into it)"
            raise InputError(msg) from None
        remember(settings, found)
        return found

    return heard


def remember(settings: "Settings", found: "Mapping[Language, SampledAnswers]") -> None:
    """Keeps what was heard of the bot, unless nothing is to be cached."""
    from simulator.cli.sinks import write_atomically
    from simulator.models.cache import private_folder

    if settings.cache == "off":
        return
    known = {key: each for key, each in _kept().items() if key != _key(settings)}
    today = datetime.now(tz=UTC).date().isoformat()
    sizes = {language: [*heard[:-1], today] for language, heard in found.items()}
    newest = dict([*known.items(), (_key(settings), sizes)][-BOTS:])
    with contextlib.suppress(OSError):  # a forecast does without
        private_folder(_path().parent)
        write_atomically(_path(), json.dumps(newest))


def remembered(settings: "Settings", plan: Sequence[Conversation]) -> "Mapping[Language, SampledAnswers]":
    """What was heard of the very same bot these days; nothing, unless in every language of the plan."""
    from simulator.runner.estimate import SampledAnswers, TokenRange

    told = _kept().get(_key(settings))
    if not told:
        return {}
    since = (datetime.now(tz=UTC) - timedelta(days=DAYS)).date().isoformat()
    try:
        found: dict[Any, SampledAnswers] = {
            language: SampledAnswers(TokenRange(*answer), TokenRange(*passages), *rest)
            for language, (answer, passages, *rest) in told.items()
        }
        fresh = all(heard.on >= since for heard in found.values())
    except (AttributeError, TypeError, ValueError):  # another version's
        return {}
    return found if fresh and {conversation.case.language for conversation in plan} <= found.keys() else {}


def remember_answer(settings: "Settings", answer: Answer, language: Language) -> None:
    """Keeps what one answer told, where nothing is known of the bot yet."""
    from simulator.runner.heard import heard

    if settings.adapter != "recorded" and _key(settings) not in _kept():
        remember(settings, {language: heard([answer], settings.adapter)})


def _path() -> Path:
    from simulator.models.cache import cache_folder

    return cache_folder() / "heard.json"


def _kept() -> dict[str, Any]:
    try:
        found = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _key(settings: "Settings") -> str:
    """Stands for a bot: its adapter and settings, and the file with its code."""
    from simulator.core.secrets import without_secrets
    from simulator.core.templates import fingerprint

    file = Path(settings.adapter.rpartition(":")[0] or settings.adapter)
    try:
        code = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        code = ""
    told = sorted(without_secrets(settings.set).items())
    return fingerprint(settings.adapter, repr(told), repr(settings.prompt), settings.demo_model or "", code)
