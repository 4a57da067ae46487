"""Before a run: what rules it out, what of the data is ignored, which models play, what it will cost."""

import os
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simulator.cli.options import foreign_settings
from simulator.cli.terminal import say
from simulator.core.errors import InputError, RunFileError
from simulator.core.messages import Message, _, listed, ngettext, sentences
from simulator.core.roles import check_players
from simulator.core.settings import Protocol, Settings
from simulator.core.titles import title
from simulator.core.types import PASSED, Conversation, Role
from simulator.data.knowledge import unread_files
from simulator.runner.context import RunContext

# Imported where --scoring asks for it, and where there is a target.
CONTEST, GATE = "simulator.stats.contest", "simulator.stats.target"
# Unread files that are named at most.
LISTED = 8


def run_settings(settings: Settings, protocol: Protocol) -> Settings:
    """The settings of a run of a protocol: those of the other one, which rehearsal.toml may hold, are unset.

    Raises InputError for a way of scoring that does not fit the judges.
    """
    values: dict[str, Any] = {"protocol": protocol}
    values |= {name: Settings.model_fields[name].get_default() for name in foreign_settings(protocol)}
    if protocol == "single_turn":
        values["turns"] = 1
    elif settings.outputs:
        judges = tuple(name for name in settings.judges if name != PASSED)
        values["judges"] = judges or Settings.model_fields["judges"].get_default()
    settings = settings.model_copy(update=values)
    if settings.scoring is not None:
        settings = import_module(CONTEST).contest_settings(settings)
    return settings


def check_engine(settings: Settings) -> None:
    """Raises InputError for options that cannot be used together, and where the extra is missing."""
    if settings.engine == "local":
        if settings.scheduler or settings.workers:
            given = "--scheduler" if settings.scheduler else "--workers"
            raise InputError(_("{value} can only be used with --engine dask.", value=given))
        return
    if find_spec("distributed") is None or find_spec("cryptography") is None:
        msg = _("--engine dask needs the extra 'dask': pip install 'distributed>=2025.4' 'cryptography>=45'.")
        raise InputError(msg)
    if not (settings.scheduler or settings.workers):
        raise InputError(_("--engine dask needs --workers N on this machine, or --scheduler ADDRESS."))
    if settings.customers:
        raise InputError(_("--customers needs one machine to measure from: leave out --engine dask."))


def check_folder(runs: Path) -> None:
    """Raises RunFileError where a folder of runs could not be made or written; makes nothing."""
    try:
        existing = next(path for path in (runs, *runs.resolve().parents) if path.exists())
        writable = existing.is_dir() and os.access(existing, os.W_OK)
    except OSError:  # it cannot even be looked at
        writable = False
    if not writable:
        raise RunFileError(_("{runs}: cannot be written. Choose another folder with --runs.", runs=runs))


def check_target(context: RunContext, plan: Sequence[Conversation]) -> None:
    """Raises InputError for a target that could be reached by accident: by stand-ins, or without evidence."""
    settings = context.settings
    if settings.target is None:
        return

    roles: list[Role] = ["user", "judge"]
    if settings.adapter == "demo":
        roles.append("demo")
    check_players(settings, context.endpoints, [role for role in roles if context.is_played(role)])
    import_module(GATE).check_evidence(settings, (conversation.case for conversation in plan))


def check_retest(context: RunContext) -> None:
    """Raises InputError for --retest where no judge could say anything else when it grades again."""
    if context.settings.retest and not context.panel.retest.calls:
        msg = _(
            "--retest has nothing to grade twice, for no judge of whole answers asks a model: leave it out."
        )
        raise InputError(msg)


# --- What is said when a run starts ---


def announce(settings: Settings, context: RunContext, plan: Sequence[Conversation]) -> None:
    """Says on stderr what is ignored, what will run, and, if it is paid for, what it will cost."""
    knowledge = settings.set.get("knowledge", "") if settings.adapter == "demo" else ""
    if knowledge and (files := unread_files(knowledge)):
        say(_("{knowledge}: not read: {files}.", knowledge=knowledge, files=listed(files, LISTED)))
    if settings.adapter == "recorded" and context.has_customers and not settings.redacts:
        say(_("Texts are kept as recorded; --redact masks names, telephone numbers and the like."))
    size = _size(settings, context, plan)
    if not context.models():
        say(sentences(size, _("No model is used besides the bot.")))
        return
    if context.offline:
        reason = _("Offline as requested") if settings.offline else _("No model configured")
        roles = _("customer and judges") if context.has_customers else _("the judges")
        stand_ins = {"reason": reason, "roles": roles}
        why = _("{reason}: lexical stand-ins play {roles} (no language model, no cost).", **stand_ins)
        say(sentences(size, why))
        return
    roles_played = [role for role in context.models() if role != "demo" or settings.adapter == "demo"]
    models = tuple(
        _("{role} {model}", role=title("role", role), model=context.models()[role]) for role in roles_played
    )
    say(sentences(size, _("Models: {models}.", models=models)))


def _size(settings: Settings, context: RunContext, plan: Sequence[Conversation]) -> Message:
    if not context.has_customers:
        rows, bot = ngettext("{n} row", "{n} rows", n=len(plan)), settings.adapter
        if prompt := context.applied_prompt:
            return _("{rows}, bot: {bot}, prompt: {prompt}.", rows=rows, bot=bot, prompt=prompt.title)
        return _("{rows}, bot: {bot}.", rows=rows, bot=bot)
    turns = settings.turns
    if settings.adapter == "recorded":  # as far as the log goes
        turns = max((context.turns(conversation)[0] for conversation in plan), default=turns)
    return _(
        "{conversations}, up to {turns} each, bot: {bot}.",
        conversations=ngettext("{n} conversation", "{n} conversations", n=len(plan)),
        turns=ngettext("{n} turn", "{n} turns", n=turns),
        bot=settings.adapter,
    )
