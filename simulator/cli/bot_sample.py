"""`--dry-run --ask-bot`: the bot alone is asked a few questions, so that a forecast need not guess.

The sizes of its answers, and no words of them, are remembered beside the response cache, and forecasts use
them for some days.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.cli.terminal import stdout_to_stderr
from simulator.core.errors import BotFailure, InputError, RunFileError
from simulator.core.messages import _
from simulator.core.types import Answer, Conversation, Language

if TYPE_CHECKING:
    from simulator.core.settings import Settings
    from simulator.runner.context import RunContext
    from simulator.runner.estimate import BotSampler, SampledAnswers

# A bot may have changed since: samples are forgotten after so many days, and beyond so many bots.
DAYS, BOTS = 7, 50


def check_ask_bot(settings: "Settings") -> None:
    """Raises InputError for --ask-bot without --dry-run."""
    if settings.ask_bot and not settings.dry_run:
        msg = _(
            "--ask-bot can only be used with --dry-run: it asks only the bot and shows what a run will cost."
        )
        raise InputError(msg)


def bot_sample(context: "RunContext", plan: Sequence[Conversation]) -> "BotSampler | None":
    """How a forecast learns the sizes of the bot's answers: by asking it, or from an earlier sample.

    None where the answers are recorded, or nothing may be cached.
    """
    settings = context.settings
    if settings.adapter == "recorded" or (settings.cache == "off" and not settings.ask_bot):
        return None

    def sample() -> "Mapping[Language, SampledAnswers]":
        from simulator.runner.bot_sample import sample_bot  # only where the bot is asked

        if not settings.ask_bot:
            return remembered(settings, plan)
        try:
            with stdout_to_stderr():
                answers = asyncio.run(sample_bot(context, plan))
        except BotFailure as error:
            msg = _("{error} (find out why with: python run.py doctor)", error=error)
            raise InputError(msg) from None
        remember(settings, answers)
        return answers

    return sample


def remember(settings: "Settings", samples: "Mapping[Language, SampledAnswers]") -> None:
    """Stores a sample of this bot, unless nothing may be cached."""
    from simulator.cli.destinations import write_atomically
    from simulator.models.cache import private_folder

    if settings.cache == "off":
        return
    others = {bot: sample for bot, sample in _stored().items() if bot != _bot_key(settings)}
    today = datetime.now(tz=UTC).date().isoformat()
    sizes = {language: [*sample[:-1], today] for language, sample in samples.items()}
    newest = dict([*others.items(), (_bot_key(settings), sizes)][-BOTS:])
    with suppress(OSError, RunFileError):  # a forecast does without
        private_folder(_path().parent)
        write_atomically(_path(), json.dumps(newest))


def remembered(settings: "Settings", plan: Sequence[Conversation]) -> "Mapping[Language, SampledAnswers]":
    """The last sample of the very same bot; empty if it is too old, or lacks a language of the plan."""
    from simulator.runner.estimate import SampledAnswers, TokenRange

    stored = _stored().get(_bot_key(settings))
    if not stored:
        return {}
    since = (datetime.now(tz=UTC) - timedelta(days=DAYS)).date().isoformat()
    try:
        samples: dict[Any, SampledAnswers] = {
            language: SampledAnswers(TokenRange(*answer), TokenRange(*passages), *rest)
            for language, (answer, passages, *rest) in stored.items()
        }
        is_fresh = all(sample.on >= since for sample in samples.values())
    except (AttributeError, TypeError, ValueError):  # of another version
        return {}
    languages = {conversation.case.language for conversation in plan}
    return samples if is_fresh and languages <= samples.keys() else {}


def remember_answer(settings: "Settings", answer: Answer, language: Language) -> None:
    """Stores the size of one answer, unless there is a sample of the bot."""
    from simulator.runner.bot_sample import measure_answers

    if settings.adapter != "recorded" and _bot_key(settings) not in _stored():
        remember(settings, {language: measure_answers([answer], settings.adapter)})


def _path() -> Path:
    from simulator.models.cache import cache_folder

    return cache_folder() / "heard.json"


def _stored() -> dict[str, Any]:
    """The samples of all bots, as they are in the file."""
    try:
        samples = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return samples if isinstance(samples, dict) else {}


def _bot_key(settings: "Settings") -> str:
    """Stands for a bot: its adapter and settings, and the file with its code."""
    from simulator.core.secrets import without_secrets
    from simulator.core.templates import fingerprint

    file = Path(settings.adapter.rpartition(":")[0] or settings.adapter)
    try:
        code = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        code = ""
    adapter_settings = sorted(without_secrets(settings.set).items())
    return fingerprint(
        settings.adapter, repr(adapter_settings), repr(settings.prompt), settings.demo_model or "", code
    )
