"""`doctor`: do keys, endpoints, bot, questions and folders work? Tried before money is spent.

A check is an async function that returns a line, or raises a RehearsalError whose message is the line; one
after the other is run, and a failure does not keep the next from being tried. Each makes one real call, as a
run would make it, past the cache and without a second attempt, so that what is wrong shows at once:

    ok     judge model        played by a lexical stand-in
    NOT OK bot                bot.py:answer: ValueError: no index (bot.py, line 2).
"""

import asyncio
import inspect
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from simulator import plugins
from simulator.api.destinations import check_destinations
from simulator.api.probes import probe_contexts, probe_judge
from simulator.api.progress import stdout_to_stderr
from simulator.api.run import check_folder, check_target, run_settings
from simulator.cli.options import option, takes_settings
from simulator.cli.terminal import ExitCode, padded, print_json
from simulator.core.errors import BotFailure, BoundaryFailure, MalformedReply, ModelFailure, RehearsalError
from simulator.core.messages import Message, _, localised, ngettext, pgettext, safe_text, sentences
from simulator.core.replies import NextLine, create_form
from simulator.core.roles import JUDGE_TEMPERATURE, Endpoint, with_judging_for
from simulator.core.secrets import without_secrets, without_url_secrets
from simulator.core.settings import Settings, dollars, load_settings, own_settings
from simulator.core.templates import request
from simulator.core.types import (
    Answer,
    Conversation,
    GradingContext,
    Passage,
    Query,
    Role,
    Turn,
    traits_of,
)
from simulator.grading.rubric import ReplySchema
from simulator.models.client import Model
from simulator.models.pricing import Ledger
from simulator.report.coverage import unknown_text
from simulator.results.articles import misnamed_articles
from simulator.results.knowledge import articles_of
from simulator.runner.bot_choice import with_bot
from simulator.runner.context import RunContext, embeds
from simulator.runner.conversation import ask
from simulator.runner.plan import cases_of_plan, read_plan
from simulator.sheets.google_api import account, target
from simulator.sheets.google_sheets import pull

# Characters of a passage, and what a judge is told that has no rubric.
_PASSAGE = 500
_SHORT = "You reply in JSON."

Check = Callable[[], Awaitable[Message | str]]
# In which form a model replies where a JSON object is asked for, best first; the client finds out, and
# remembers.
_FORMATS = {"schema": _("strict JSON"), "json": "JSON", "text": _("JSON in plain text")}


@takes_settings("dialogue", without=frozenset({"customers"}))
def command(
    flags: dict[str, Any],
    customers: bool = option(
        "--customers",
        "Play each customer with a perfect, a useless, a rude, an inventing and a plausibly wrong bot and one"
        " that only asks back, and name those that do not react; exit code 1 if there are any.",
    ),
    judge: bool = option(
        "--judge",
        "Try the judge on answers that any judge has to see through (empty, rude, a flipped fact, forged "
        "verdicts, orders to the judge), and store what it failed; exit code 1 if there is any.",
    ),
) -> int:
    """Check keys, models, bot and folders with one real call each, before money is spent.

    Takes the options of a rehearsal, and says in one sentence what is wrong.
    """
    settings = load_settings(flags)
    check_destinations(settings)
    settings = with_judging_for(run_settings(settings, "dialogue"))
    if judge:
        return asyncio.run(_try_judge(settings))
    return asyncio.run(plugins.reacting()(settings) if customers else _examine(settings))


async def _try_judge(settings: Settings) -> int:
    """Shows what the judge made of the probes."""
    with stdout_to_stderr():
        probed = await probe_judge(settings)
    if settings.json_output:
        print_json(probed.model_dump(mode="json"))
    else:
        passed = _("{n} of {of} probes passed", n=probed.n - len(probed.failed), of=probed.n)
        _print("NOT OK" if probed.failed else "ok", probed.judge, passed)
        right = {name for name, bad, _probe in probe_contexts() if not bad}
        for name in probed.failed:
            _print("NOT OK", _("probe"), _PASSED.format(name=name) if name in right else name)
        if probed.failed:
            sys.stdout.write(f"{localised(_CRITERION)}\n")
    return ExitCode.MISSED if probed.failed else ExitCode.DONE


async def _examine(settings: Settings) -> int:
    """Shows check by check what works, with --verbose the settings, too; 0 where all work, else 2."""
    settings = with_bot(settings)
    planned = read_plan(settings)
    plan, personas = planned.plan, planned.personas
    # A cached answer would say that a model works which cannot be reached.
    no_cache = settings.model_copy(update={"cache": "off"})
    with stdout_to_stderr():
        context = RunContext(no_cache, personas, Ledger({}))
        check_target(context, plan)
    context.connections.attempts = 1  # a failure should show at once
    outcomes: list[dict[str, Any]] = []

    def add(mark: str, name: Message | str, text: Message | str) -> None:
        outcomes.append({"name": name, "ok": mark == "ok", "message": text})
        if not settings.json_output:
            _print(mark, name, text)

    count = ngettext("{n} conversation planned", "{n} conversations planned", n=len(plan))
    doubts = [*filter(None, (planned.ignored_columns, _misnamed(settings, plan)))]
    add("ok", _("questions"), sentences(_("{reason:sentence}", reason=count), *doubts) if doubts else count)
    _check_plugins(add)
    try:
        for name, role, check in _checks(context, plan):
            try:
                with stdout_to_stderr():
                    result = await check()
                add("ok", name, result)
            except RehearsalError as error:
                add("NOT OK", name, _with_step(error, role))
    finally:
        await context.connections.close()
    is_fine = all(outcome["ok"] for outcome in outcomes)
    shown = _settings_text(settings)
    if settings.json_output:
        print_json({"settings": shown, "checks": outcomes, "ok": is_fine})
    elif settings.verbose:
        for key, value in shown.items():
            _print("", key, value)
    return ExitCode.DONE if is_fine else ExitCode.TO_FIX


def _checks(
    context: RunContext, plan: Sequence[Conversation]
) -> Iterator[tuple[Message, Role | None, Check]]:
    """What is tried, in order, each with the name of its row, and the role whose model it tries."""
    settings, first = context.settings, plan[0]
    # Several models that play the customers are tried one by one, in the place of the one.
    for name, endpoint in context.players.items():
        talk = first.model_copy(update={"user_model": name})
        yield (
            _("user model {name}", name=name),
            "user",
            partial(_check_model, context, talk, "user", endpoint),
        )
    for role, endpoint in context.endpoints.items():
        if role != "user" or not context.players:
            yield _MODELS[role], role, partial(_check_model, context, first, role, endpoint)
    # Of the bundled bot only its model can fail.
    yield _("bot"), "demo" if settings.adapter == "demo" else None, partial(_check_bot, context, plan)
    yield _("runs folder"), None, partial(_check_runs, settings.runs)
    if settings.sheet or "sheets" in settings.to:
        yield _("Google account"), None, _check_account
    if settings.sheet:
        yield _("Google Sheet"), None, partial(_check_sheet, settings.sheet, settings.worksheet or "")


# What variables are called of which only the name is shown.
_CONCEALED = ("KEY", "_HEADERS", "_EXTRA")
_MARKS = {"ok": pgettext("of a check", "ok"), "NOT OK": pgettext("of a check", "NOT OK")}
_PASSED = _("{name} (a good answer did not pass)")
_CRITERION = _("Name a stronger model with --judge-model, or change its criterion (docs/judges.md).")
_MODELS: dict[str, Message] = {
    "user": _("user model"),
    "judge": _("judge model"),
    "embed": _("embed model"),
    "demo": _("demo model"),
}


# What to do about a failure, by its kind; where a message has no advice of its own.
_BOT_STEPS: Mapping[str, Message] = {
    "timeout": _("Raise --timeout, or make the bot answer faster."),
    "unreachable": _("Start the bot, or correct its address (--set url)."),
    "denied": _("Give it a valid key or token (headers, or the variable that it reads)."),
    "error": _("Ask the bot a question without this program, and mend what its own log says."),
    "empty": _("Ask the bot a question without this program: it has to answer in words."),
    "only_tools": _("Ask the bot a question without this program: it has to answer in words."),
    "malformed": _("docs/bots.md shows what a bot returns, and how to name the place of its answer."),
}
_MODEL_STEPS: Mapping[str, Message] = {
    "timeout": _("Raise --timeout, or name a faster model in {name}_MODEL."),
    "unreachable": _("Start the endpoint, or correct {name}_URL."),
    "error": _("Check {name}_URL and {name}_MODEL; where they are right, try again later."),
    "malformed": _("Name a model in {name}_MODEL that replies as asked (docs/models.md)."),
    "refused": _("Name another model in {name}_MODEL: this one refuses."),
}

# How adapters, and the clients of bots of one's own, tell the status of a reply.
_STATUS = re.compile(r"(?:HTTP|Error code:) (\d{3})\b")
# What to do about a bot's status, where its log says nothing about it.
_REQUEST_STEP = _("Check the path of --set url, and the names of the fields in --set request (docs/bots.md).")
_STATUS_STEPS: Mapping[str, Message | None] = {
    **dict.fromkeys(("301", "302", "303", "307", "308")),
    "404": _REQUEST_STEP,
    "405": _REQUEST_STEP,
    "422": _REQUEST_STEP,
    "429": _("The bot takes fewer questions at the same time: try --set concurrency=4."),
}
# What names settings of `http`, in whose place an adapter with other ones has a sentence of its own.
_OF_HTTP = (_REQUEST_STEP, _BOT_STEPS["denied"], _BOT_STEPS["malformed"])


def _with_step(error: RehearsalError, role: Role | None) -> Message | str:
    """What went wrong with the model of a role and, in one sentence, what to do about it."""
    # All others say that themselves, as does the message of denied access.
    if role is None or not isinstance(error, BoundaryFailure):
        return error.message
    step = _MODEL_STEPS.get(error.failure.kind)
    return _advised(error.message, step and step.format(name=f"REHEARSAL_{role.upper()}"))


def _bot_failure(kind: str, message: Message, adapter: str, to_check: Message | str) -> BotFailure:
    """The failure of a bot with what to do about it; `to_check` are the settings of one without `http`'s."""
    if adapter == "demo":
        return BotFailure(kind, message)
    step = _BOT_STEPS.get(kind)
    status = _STATUS.search(str(message)) if step else None
    step = _STATUS_STEPS.get(status[1], step) if status else step
    return BotFailure(kind, _advised(message, to_check if to_check and step in _OF_HTTP else step))


def _advised(message: Message | str, step: Message | str | None) -> Message | str:
    return sentences(_("{reason:sentence}", reason=message), step) if step else message


def _print(mark: str, name: Message | str, text: Message | str) -> None:
    """One line: what was checked, and what came of it."""
    state = localised(_MARKS[mark]) if mark else ""
    said = safe_text(" ".join(localised(text).split()))
    sys.stdout.write(f"{padded(state, 6)} {padded(localised(name), 18)} {said}\n")


def _misnamed(settings: Settings, plan: Sequence[Conversation]) -> Message | None:
    """The ids that questions name and no article has; None where the articles are not known."""
    if articles := articles_of(settings).articles:
        needed = ((case.id, case.passages) for case in cases_of_plan(plan))
        if misnamed := misnamed_articles(needed, articles):
            return unknown_text(misnamed)
    return None


def _check_plugins(add: Callable[[str, Message | str, Message | str], None]) -> None:
    """A line for each plug-in of a third party."""
    for plugin in plugins.third_party():
        add("ok", _("plug-in"), plugin.name)
    for fault in plugins.faults():
        add("NOT OK", _("plug-in"), fault)


def _settings_text(settings: Settings) -> dict[str, Message | str]:
    """The settings that apply, as text; of keys, only whether they are set, and of addresses no password.

    Settings of data sets are left out where they have their defaults.
    """
    of_rows = {*own_settings("single_turn"), "protocol"} & Settings.model_fields.keys()
    defaults = {name: Settings.model_fields[name].get_default() for name in of_rows}
    texts: dict[str, Message | str] = {
        name: without_url_secrets(_text(without_secrets(value) if name == "set" else value))
        for name, value in settings.model_dump(mode="json").items()
        if value is not None and value is not False and value not in ([], {}, defaults.get(name))
    }
    keys = [
        name
        for name in sorted(os.environ)
        if name.startswith(("REHEARSAL_", "OPENAI_")) and any(word in name for word in _CONCEALED)
    ]
    if settings.budget:
        texts["budget"] = _("{amount} USD", amount=dollars(settings.budget))
    return texts | {"keys": ", ".join(f"{name}=***" for name in keys) or _("none in the environment")}


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={_text(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


async def _check_account() -> Message:
    """Whose the credentials are: a service account's address is what the sheet has to be shared with."""
    if email := account():
        return _("service account; share (共有) the sheet with {email} as an editor (編集者)", email=email)
    return _("signed in by a person, or the machine's own account")


async def _check_sheet(sheet: str, worksheet: str) -> Message:
    """Reads the sheet, and says whether an earlier run is there; whether it can be written shows a push."""
    pulled = await asyncio.to_thread(pull, target(sheet, worksheet), ("summary",))
    if rows := len(pulled.rows.get("summary", ())):
        return _("can be read; holds an earlier run ({rows} rows)", rows=rows)
    return _("can be read; nothing there yet")


async def _check_model(
    context: RunContext, conversation: Conversation, role: Role, endpoint: Endpoint | None
) -> Message:
    """Has the model of a role do once what it does in a run: reply in its form, embed, or answer as a bot."""
    embedding = any(embeds(judge) for judge in context.judges.values())
    # Roles that this command line does not use are named, and cost no call.
    unused = {"demo": context.settings.adapter != "demo", "embed": not embedding}
    if unused.get(role):
        return _("not used")
    if endpoint is None:
        if context.settings.offline:
            return _("played by a simple version (no AI)")
        return _("played by a simple version (no AI); set OPENAI_API_KEY for a model")
    address = _("{model} at {address}", model=endpoint.model, address=endpoint.address)
    temperature = JUDGE_TEMPERATURE if role == "judge" else None
    model = context.model_factory.at(endpoint, temperature=temperature)
    if role == "embed":
        vectors = await model.embed(["ok"])
        return _("{address}: vectors of {n} numbers", address=address, n=len(vectors[0]))
    if role == "demo":
        messages = request("Answer in one word.", "Are you there?")
        text, _unused = await model.say(messages, seed=context.settings.seed)
        return _("{address}: answered {text}", address=address, text=repr(text[:20]))
    try:
        await (_grade(context, conversation, model) if role == "judge" else _speak(context, conversation))
    except MalformedReply as error:
        msg = _("{address}: does not reply in JSON as asked ({error})", address=address, error=error)
        raise ModelFailure("malformed", msg) from None
    reply_format = _FORMATS[context.connections.record(endpoint).abilities.reply_format]
    return _("{address}: replies in {format}", address=address, format=reply_format)


async def _grade(context: RunContext, conversation: Conversation, model: Model) -> None:
    """Has the judge grade one answer with passages, by the longest of the run's prompts and in its form."""
    grading, frame, case = context.grading, context.grading.frame, conversation.case
    whole = grading.conversation_rubrics
    asked: list[Sequence[ReplySchema]] = [*([form] for form in grading.forms), *whole]
    asked += [grading.rubrics] if grading.is_combined else [[rubric] for rubric in grading.rubrics]
    if not asked:  # functions that ask no model, or in a form of their own
        messages = request(_SHORT, 'Reply with this JSON object: {"answer": "ok"}')
        await model.ask(messages, create_form("reply", {"answer": str}), str, seed=context.settings.seed)
        return
    tasks = [frame.task(case.language, group, alone=len(group) == 1) for group in asked]
    task, group = max(zip(tasks, asked, strict=True), key=lambda pair: len(pair[0]))
    alone = len(group) == 1
    # As long as the passages of a usual answer, and in its language: what the judge is told anyway.
    turn = _turn(conversation, [task[at : at + _PASSAGE] for at in range(0, 5 * _PASSAGE, _PASSAGE)])
    closing = "" if group in whole else None
    graded = GradingContext(
        conversation=conversation.id, case=case, persona=conversation.persona, turn=turn, closing=closing
    )
    form = group[0].form if alone else create_form("grades", {rubric.name: rubric.form for rubric in group})
    await model.ask(
        frame.prompt(graded, group, alone=alone),
        form,
        lambda problem: frame.text(case.language, "again", problem=problem),
        seed=context.settings.seed,
    )


async def _speak(context: RunContext, conversation: Conversation) -> None:
    """Has the customer react to one answer, in its form: words alone never say how somebody feels."""
    user: Any = context.persona_user(conversation)
    case, turns = conversation.case, (_turn(conversation, ()),)
    again = user.prompts.again(case.language)
    await user.model.ask(user.messages(case, turns), NextLine, again, seed=context.settings.seed)


def _turn(conversation: Conversation, passages: Sequence[str]) -> Turn:
    """A first turn: the question, and a reference, or the question again, as its answer."""
    case = conversation.case
    text = next(iter(case.references_at(1)), case.question)
    shown = tuple(Passage(id=f"p{n}", text=text) for n, text in enumerate(passages, 1))
    return Turn(index=1, user=case.question, answer=Answer(text=text, passages=shown))


async def _check_bot(context: RunContext, plan: Sequence[Conversation]) -> Message:
    """The bot's answer to the first question: its length and passages, for it need not be a good one."""
    bot, case, adapter = await context.bot(plan), plan[0].case, context.settings.adapter
    query = Query(text=case.question, session="doctor", case=case.id, language=case.language)
    try:
        answer = await ask(bot, query, context.settings.timeout)
    finally:
        if closing := getattr(bot, "aclose", None):
            closed = closing()
            await closed if inspect.isawaitable(closed) else None
    # A log without an answer to this question is no fault of the log's.
    to_check = traits_of(bot).to_check
    if answer.error:
        message = _("{adapter}: {reason}", adapter=adapter, reason=answer.error.message)
        if answer.error.kind == "unrecorded":
            return message
        raise _bot_failure(answer.error.kind, message, adapter, to_check)
    passages = ngettext("{n} passage", "{n} passages", n=len(answer.passages))
    if missing := answer.missing_passages:
        # Those of a template leave the place out where nothing was found.
        if "passages" in context.settings.set:
            message = _("{adapter}: {reason}", adapter=adapter, reason=missing)
            raise _bot_failure("malformed", message, adapter, to_check)
        passages = _("{name} ({how})", name=passages, how=missing)
    elif not answer.passages and not to_check:
        passages = _(
            "{passages} (none to check its claims against: see docs/bots.md, passages)", passages=passages
        )
    return _(
        "{adapter}: answered with {characters}, {passages}",
        adapter=adapter,
        characters=ngettext("{n} character", "{n} characters", n=len(answer.text)),
        passages=passages,
    )


async def _check_runs(folder: Path) -> Message:
    """Whether runs can be written, without making the folder."""
    check_folder(folder)
    return _("{folder} can be written", folder=folder)
