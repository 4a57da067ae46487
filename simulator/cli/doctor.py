"""`doctor`: do keys, endpoints, bot, questions and folders work? Tried before money is spent."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.options import takes_settings
from simulator.cli.terminal import DONE, TO_FIX, counted, print_json, stdout_to_stderr
from simulator.core.errors import BotFailure, InputError, MalformedReply, ModelFailure, RehearsalError
from simulator.core.secrets import without_secrets, without_url_secrets
from simulator.core.settings import RowSettings, Settings, load_settings
from simulator.core.translations import safe_text

if TYPE_CHECKING:
    from simulator.core.types import Conversation, Role
    from simulator.runner.context import RunContext

Check = Callable[[], Awaitable[str]]
_FORMATS = {"schema": "strict JSON", "json": "JSON", "text": "JSON in plain text"}


Cases = Annotated[str | None, typer.Argument(
    metavar="CASES", show_default=False,
    help="Check a data set instead: what its right answers look like, and which judges fit them.",
)]  # fmt: skip
Outputs = Annotated[str | None, typer.Option(
    "--outputs", metavar="FILE", show_default=False,
    help="With CASES: a metric file, to see which of its thresholds even a reference would miss.",
)]  # fmt: skip


@takes_settings("dialogue")
def command(flags: dict[str, Any], data: Cases = None, outputs: Outputs = None) -> int:
    """Check keys, models, bot and folders with one real call each, before money is spent.

    Takes the options of a rehearsal, and says in one sentence what is wrong. With CASES nothing is called.
    """
    from simulator.cli.destinations import check_destinations

    settings = load_settings(flags)
    if data is not None:
        from simulator.cli.doctor_cases import examine_cases

        return examine_cases(data, outputs, settings)
    if outputs is not None:
        msg = "--outputs needs a data set: doctor CASES --outputs FILE."
        raise InputError(msg)
    check_destinations(settings)
    return asyncio.run(_examine(settings))


async def _examine(settings: Settings) -> int:
    from simulator.cli.preflight import check_target
    from simulator.core.roles import endpoints
    from simulator.models.pricing import Ledger
    from simulator.runner.bot_choice import with_bot
    from simulator.runner.context import RunContext
    from simulator.runner.plan import read_plan

    settings = with_bot(settings)
    plan, personas, *_ = read_plan(settings)
    no_cache = settings.model_copy(update={"cache": "off"})
    with stdout_to_stderr():
        context = RunContext(no_cache, endpoints(settings), personas, Ledger({}))
        check_target(context, plan)
    context.connections.attempts = 1  # a failure should show at once
    report = Report(_settings_text(settings), as_json=settings.json_output)
    report.add("ok", "questions", f"{counted(len(plan), 'conversation')} planned")
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
                with stdout_to_stderr():
                    result = await check()
                report.add("ok", name, result)
            except RehearsalError as error:
                report.add("NOT OK", name, str(error))
    finally:
        await context.connections.close()
    return report.close()


class Report:
    """A line for each check, or one JSON object at the end."""

    def __init__(self, settings: dict[str, str], *, as_json: bool) -> None:
        """Prints the settings that apply."""
        self.settings, self.as_json = settings, as_json
        self.checks: list[dict[str, str | bool]] = []
        for name, value in settings.items():
            self._line("", name, value)

    def add(self, mark: str, name: str, text: str) -> None:
        """Adds one check, and prints it."""
        self.checks.append({"name": name, "ok": mark == "ok", "message": text})
        self._line(mark, name, text)

    def close(self) -> int:
        """The exit code."""
        failed = sum(not part["ok"] for part in self.checks)
        if self.as_json:
            shown = {"settings": self.settings, "checks": self.checks, "ok": not failed}
            print_json(shown)
        return TO_FIX if failed else DONE

    def _line(self, mark: str, name: str, text: str) -> None:
        if not self.as_json:
            sys.stdout.write(f"{mark:6} {name:18} {safe_text(' '.join(text.split()))}\n")


def _settings_text(settings: Settings) -> dict[str, str]:
    """The settings that apply, as text; of keys, only whether they are set.

    Settings of data sets are left out where they have their defaults.
    """
    defaults = {name: RowSettings.model_fields[name].get_default() for name in RowSettings.model_fields}
    texts = {
        name: without_url_secrets(_text(without_secrets(value) if name == "set" else value))
        for name, value in settings.model_dump(mode="json").items()
        if value is not None and value is not False and value not in ([], {}, defaults.get(name))
    }
    keys = [
        name for name in sorted(os.environ) if name.startswith(("REHEARSAL_", "OPENAI_")) and "KEY" in name
    ]
    return texts | {"keys": ", ".join(f"{name}=***" for name in keys) or "none in the environment"}


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={_text(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


async def _account_check() -> str:
    from simulator.sheets.google_api import account

    signed_in = account()
    if signed_in.kind == "service":
        return f"service account; share (共有) the sheet with {signed_in.email} as an editor (編集者)"
    if signed_in.kind == "person":
        return f"signed in as {signed_in.email or 'a person'}"
    return "the machine's own account"


def _sheet_check(sheet: str, worksheet: str) -> Check:
    async def check() -> str:
        from simulator.sheets.google_api import target
        from simulator.sheets.google_pull import pull

        pulled = await asyncio.to_thread(pull, target(sheet, worksheet), ("summary",))
        rows = len(pulled.rows.get("summary", ()))
        return (
            f"can be read; holds an earlier run ({rows} rows)" if rows else "can be read; nothing there yet"
        )

    return check


def _model_check(context: "RunContext", role: "Role") -> Check:
    from simulator.core.replies import create_form
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
        address = f"{endpoint.model} at {endpoint.address}"
        if role == "embed":
            vectors = await model.embed(["ok"])
            return f"{address}: vectors of {len(vectors[0])} numbers"
        messages = [{"role": "user", "content": 'Reply with this JSON object: {"answer": "ok"}'}]
        if role == "demo":
            text, _ = await model.say(messages)
            return f"{address}: answered {text[:20]!r}"
        try:
            await model.ask(messages, create_form("reply", {"answer": str}), str)
        except MalformedReply as error:
            msg = f"{address}: does not reply in JSON as asked ({error})"
            raise ModelFailure("malformed", msg) from None
        return f"{address}: replies in {_FORMATS[context.connections.abilities(endpoint).reply_format]}"

    return check


def _bot_check(context: "RunContext", plan: "Sequence[Conversation]", settings: Settings) -> Check:
    async def check() -> str:
        from simulator.cli.bot_sample import remember_answer
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
        size = f"{counted(len(answer.text), 'character')}, {counted(len(answer.passages), 'passage')}"
        if not answer.passages:
            size += " (none to check its claims against: see docs/adapters.md, passages)"
        return f"{context.settings.adapter}: answered with {size}"

    return check


def _folder_check(folder: Path) -> Check:
    async def check() -> str:
        from simulator.cli.preflight import check_folder

        check_folder(folder)
        return f"{folder} can be written"

    return check
