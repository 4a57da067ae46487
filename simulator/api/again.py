"""Asks the bot of a run one question once more, with the same customer, as `--resume` would ask it.

One conversation of the plan is held from its first line, with the settings and the seed of the run. It is
graded by nobody and kept as a note, so that no score changes.
"""

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from simulator.api.forecast import total
from simulator.api.resume import as_started
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, ngettext
from simulator.core.settings import Settings, stored_settings
from simulator.core.types import Conversation
from simulator.runner.context import RunContext
from simulator.runner.conversation import Unsaved, converse
from simulator.runner.estimate import forecast
from simulator.storage.run_file import HARNESS_NOTE, read_run
from simulator.storage.words import AGAIN, add_to_note


class Again(NamedTuple):
    """A conversation that can be held once more: what it takes to, as it was planned, and as it went."""

    path: Path
    context: RunContext
    plan: Conversation
    before: Conversation


def prepare_again(path: Path, conversation: str, today: Settings) -> Again:
    """Gets ready to hold a conversation once more; asks nothing yet.

    `today` has what no run stores, such as secrets. Raises InputError where the bot cannot be asked.
    """
    results = read_run(path)
    if stored_settings(results.run.settings).adapter == "recorded" or HARNESS_NOTE in results.notes:
        raise InputError(_("The answers of this run were recorded: there is no bot to ask again."))
    talk = next((talk for talk in results.conversations if talk.id == conversation), None)
    if talk is None:
        raise InputError(_("{run} has no such conversation.", run=results.run.id))
    settings = as_started(results.run, today)
    # As if it were repeated: a reply of the bundled bot that is stored would be no new one.
    settings = settings.model_copy(update={"repeats": max(2, settings.repeats)})
    context = RunContext(settings, results.personas)
    context.check_prompts(results.run)
    fresh = Conversation.model_validate({
        name: getattr(talk, name) for name in ("id", "case", "persona", "repeat", "user_model")
    })  # fmt: skip
    context.check_adapter([fresh])
    return Again(path, context, fresh, talk)


def cost_again(again: Again) -> Message:
    """What it takes at most: answers of the bot, and calls of our models."""
    estimate = forecast(again.context, [again.plan])
    # Nothing is graded.
    spending = [spent for (role, _model), spent in estimate.high.items() if role in {"user", "demo"}]
    answers = ngettext(
        "{n} answer of the bot", "{n} answers of the bot", n=again.context.turns(again.plan)[0]
    )
    parts = (answers, total(spending)) if spending else (answers, _("no call of a model"))
    return _("At most {parts}.", parts=parts)


async def ask_again(again: Again) -> Conversation:
    """Holds the conversation, and stores it as a note of the run.

    Raises RehearsalError where the bot cannot be asked, or the customer's model not be reached.
    """
    context, plan = again.context, again.plan
    bot = None
    try:
        bot = await context.bot([plan])
        turns, parting = context.turns(plan)
        held = await converse(
            plan, context.user(plan), bot, Unsaved(),
            turns=turns, parting=parting, session=f"again-{os.urandom(4).hex()}/{plan.id}",
            timeout=context.settings.timeout, opening=context.opening(plan),
        )  # fmt: skip
    finally:
        with contextlib.suppress(Exception):  # what it said is there
            await context.close(bot)
    entry: dict[str, JsonValue] = {
        "conversation": plan.id,
        "at": datetime.now(UTC).isoformat(),
        "before": _said(again.before),
        "turns": _said(held),
    }
    add_to_note(again.path, AGAIN, entry)
    return held


def _said(talk: Conversation) -> list[JsonValue]:
    """What was said in a conversation, turn by turn."""
    return [
        {
            "turn": turn.index,
            "user": turn.user,
            "answer": turn.answer.text,
            "error": str(turn.answer.error.message) if turn.answer.error else None,
        }
        for turn in talk.turns
    ]
