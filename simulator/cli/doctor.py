"""`doctor`: whether keys, endpoints, bot, questions and folders work, before money is spent."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.options import takes_settings
from simulator.core.errors import BotFailure, InputError, MalformedReply, ModelFailure, RehearsalError
from simulator.core.secrets import addressed, without_secrets
from simulator.core.settings import RowSettings, Settings, load

if TYPE_CHECKING:
    from simulator.core.types import Conversation, Role
    from simulator.runner.context import RunContext

Check = Callable[[], Awaitable[str]]
TO_MEND = 2
_FORMATS = {"schema": "strict JSON", "json": "JSON", "text": "JSON in plain text"}


Cases = Annotated[str | None, typer.Argument(
    metavar="CASES", show_default=False,
    help="Instead: what the right answers of this data set look like, and which judges fit them.",
)]  # fmt: skip
Outputs = Annotated[str | None, typer.Option(
    "--outputs", metavar="FILE", show_default=False,
    help="With CASES: the metric file, to see which of its thresholds even the reference would miss.",
)]  # fmt: skip


@takes_settings
def command(flags: dict[str, Any], data: Cases = None, outputs: Outputs = None) -> int:
    """Try keys, models, bot and folders, with one real call each, before money is spent.

    Takes the options of a rehearsal, and says in a sentence what is wrong. With CASES nothing is asked.
    """
    from simulator.cli.sinks import check_sinks

    settings = load(flags)
    if data is not None:
        from simulator.cli.doctor_cases import examine_cases

        return examine_cases(data, outputs, settings)
    if outputs is not None:
        msg = "--outputs goes with a data set: doctor CASES --outputs FILE."
        raise InputError(msg)
    check_sinks(settings)
    return asyncio.run(_examine(settings))


async def _examine(settings: Settings) -> int:
    from simulator.cli.announce import check_target, counted
    from simulator.core.roles import endpoints
    from simulator.models.pricing import Ledger
    from simulator.runner.context import RunContext
    from simulator.runner.plan import read_plan
    from simulator.runner.whose_bot import with_bot

    settings = with_bot(settings)
    plan, personas = read_plan(settings)
    no_cache = settings.model_copy(update={"cache": "off"})
    aside = contextlib.redirect_stdout(sys.stderr)  # what a bot's own code prints is none of the report
    with aside:
        context = RunContext(no_cache, endpoints(settings), personas, Ledger({}))
        check_target(context, plan)
    context.connections.attempts = 1  # what is wrong is to show at once
    report = Report(_in_force(settings), as_json=settings.json_output)
    report.say("ok", "questions", f"{counted(len(plan), 'conversation')} planned")
    checks: dict[str, Check] = {f"{role} model": _model_check(context, role) for role in context.endpoints}
    checks["bot"] = _bot_check(context, plan, settings)
    checks["runs folder"] = _folder_check(Path(settings.runs))
    if settings.sheet or settings.new_sheet or "sheets" in settings.to:
        checks["Google account"] = _account_check
    if settings.sheet:
        checks["Google Sheet"] = _sheet_check(settings.sheet, settings.worksheet or "")
    try:
        for name, check in checks.items():
            try:
                with aside:
                    said = await check()
                report.say("ok", name, said)
            except RehearsalError as error:
                report.say("NOT OK", name, str(error))
    finally:
        await context.connections.close()
    return report.close()


class Report:
    """What was found: a line each, or one JSON object at the end."""

    def __init__(self, settings: dict[str, str], *, as_json: bool) -> None:
        """Begins with the settings in force."""
        self.settings, self.as_json = settings, as_json
        self.found: list[dict[str, str | bool]] = []
        for name, shown in settings.items():
            self._line("", name, shown)

    def say(self, mark: str, name: str, text: str) -> None:
        """One part, and whether it works."""
        self.found.append({"name": name, "ok": mark == "ok", "message": text})
        self._line(mark, name, text)

    def close(self) -> int:
        """The exit code."""
        failed = sum(not part["ok"] for part in self.found)
        if self.as_json:
            shown = {"settings": self.settings, "checks": self.found, "ok": not failed}
            sys.stdout.write(json.dumps(shown, ensure_ascii=False) + "\n")
        return TO_MEND if failed else 0

    def _line(self, mark: str, name: str, text: str) -> None:
        from simulator.core.translations import plain

        if not self.as_json:
            sys.stdout.write(f"{mark:6} {name:18} {plain(' '.join(text.split()))}\n")


def _in_force(settings: Settings) -> dict[str, str]:
    """The settings in force; secrets are never among them, only whether a key is set.

    Of what only data sets are told, what nobody has set is left out.
    """
    usual = {name: RowSettings.model_fields[name].get_default() for name in RowSettings.model_fields}
    shown = {
        name: addressed(_shown(without_secrets(value) if name == "set" else value))
        for name, value in settings.model_dump(mode="json").items()
        if value is not None and value is not False and value not in ([], {}, usual.get(name))
    }
    keys = [
        name for name in sorted(os.environ) if name.startswith(("REHEARSAL_", "OPENAI_")) and "KEY" in name
    ]
    return shown | {"keys": ", ".join(f"{name}=***" for name in keys) or "none in the environment"}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={_shown(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


async def _account_check() -> str:
    from simulator.sheets.google_api import account

    who = account()
    if who.kind == "service":
        return f"service account; share (共有) the sheet with {who.email} as an editor (編集者)"
    return f"signed in as {who.email or 'a person'}" if who.kind == "person" else "the machine's own account"


def _sheet_check(sheet: str, worksheet: str) -> Check:
    async def check() -> str:
        from simulator.sheets.google_api import target
        from simulator.sheets.google_pull import pull

        found = await asyncio.to_thread(pull, target(sheet, worksheet), ("summary",))
        runs = len(found.rows.get("summary", ()))
        return "can be read" + (
            f"; a run was pushed there before ({runs} rows)" if runs else "; nothing there yet"
        )

    return check


def _model_check(context: "RunContext", role: "Role") -> Check:
    from simulator.runner.estimate import embeds

    async def check() -> str:
        endpoint = context.endpoints[role]
        embedding = any(embeds(judge) for judge in context.judges.values())
        unused = {"demo": context.settings.adapter != "demo", "embed": not embedding}
        if unused.get(role):
            return "not used"
        model = context.model(role)
        if endpoint is None or model is None:
            return "played by a lexical stand-in"
        from simulator.core import replies

        where = f"{endpoint.model} at {endpoint.address}"
        if role == "embed":
            vectors = await model.embed(["ok"])
            return f"{where}: vectors of {len(vectors[0])} numbers"
        asked = [{"role": "user", "content": 'Reply with this JSON object: {"answer": "ok"}'}]
        if role == "demo":
            text, _ = await model.say(asked)
            return f"{where}: answered {text[:20]!r}"
        try:
            await model.ask(asked, replies.form("reply", {"answer": str}), str)
        except MalformedReply as error:
            msg = f"{where}: does not reply in JSON as asked ({error})"
            raise ModelFailure("malformed", msg) from None
        return f"{where}: replies in {_FORMATS[context.connections.abilities(endpoint).reply_format]}"

    return check


def _bot_check(context: "RunContext", plan: "Sequence[Conversation]", settings: Settings) -> Check:
    async def check() -> str:
        from simulator.cli.announce import counted
        from simulator.cli.hearing import remember_answer
        from simulator.core.types import Query
        from simulator.runner.conversation import ask

        bot = await context.bot(plan)
        case = plan[0].case
        query = Query(text=case.question, session="doctor", case=case.id, language=case.language)
        answer = await ask(bot, query, context.settings.timeout)
        if closing := getattr(bot, "aclose", None):
            await closing()
        if answer.error and answer.error.kind == "unrecorded":
            return f"{context.settings.adapter}: {answer.error.message}"
        if answer.error:
            raise BotFailure(answer.error.kind, f"{context.settings.adapter}: {answer.error.message}")
        if not context.offline:  # where nothing costs, nothing is forecast
            remember_answer(settings, answer, case.language)
        heard = f"{counted(len(answer.text), 'character')}, {counted(len(answer.passages), 'passage')}"
        if not answer.passages:
            heard += " (none to check its claims against: see docs/adapters.md, passages)"
        return f"{context.settings.adapter}: answered with {heard}"

    return check


def _folder_check(folder: Path) -> Check:
    async def check() -> str:
        from simulator.cli.announce import check_folder

        check_folder(folder)
        return f"{folder} can be written"

    return check
