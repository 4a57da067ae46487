"""A new run, from its settings to its last grade, and what a resumed one shares with it.

Whatever makes a run (`rehearse`, `evaluate`) does it by `make` (api/make.py), a cell of a matrix by `start`;
what finishes one is in api/resume.py. In this order:

    run_settings      settings of the other protocol, which rehearsal.toml may hold, are unset
    read_plan         questions and personas become conversations (`runner/plan.py`)
    RunContext        keys, judges, adapter, prompts: whatever is wrong with these shows here
    check_...         a target that accident could reach, a retest without a model, scripts that fit nobody
    forecast          with --dry-run it is shown, and nothing else happens
    create            the run file: from here on a run exists, and every error names it
    perform           conversations are held and graded, each saved as it happens (`runner/run.py`)
    publish           reports, summary, exit code (cli/publish.py)

Nothing is paid, and no folder made, before the plan and everything that plays in it has been looked at.
"""

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from simulator import plugins
from simulator.api.forecast import announce_cost
from simulator.api.progress import ProgressBar, progress_bar, stdout_to_stderr
from simulator.cases.cases import CaseObjects
from simulator.cases.knowledge import read_knowledge, unread_files
from simulator.core.errors import InputError, RehearsalError, RunFileError, Unforeseen
from simulator.core.messages import Message, _, listed, ngettext, say, sentences
from simulator.core.roles import check_players, endpoints, with_judging_for
from simulator.core.settings import Protocol, Settings, foreign_settings
from simulator.core.titles import title
from simulator.core.types import PASSED, Conversation, GradingContext, Role, Score
from simulator.grading.offered import outputs_of
from simulator.models.pricing import check_prices, money
from simulator.results.disputes import disputed_in
from simulator.results.knowledge import stored_articles
from simulator.results.red import primary_judge, red_marks
from simulator.results.target import check_evidence, check_gate
from simulator.runner import run
from simulator.runner.bot_choice import with_bot
from simulator.runner.context import RunContext
from simulator.runner.estimate import Forecast, forecast
from simulator.runner.plan import read_plan
from simulator.runner.run import create_run
from simulator.storage.run_file import SKIPPED_NOTE, RunFile, find_run

# Unread files (pictures in a PDF folder, say) that are named at most.
LISTED = 8


class Interrupted(KeyboardInterrupt):
    """Ctrl-C for the second time: the run at `path` holds what was done, and can be continued."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path


class FinishedRun(NamedTuple):
    """A run that is over: its file, its settings, and why it stopped early, None where it did not.

    Stopped early are runs that were interrupted, out of budget, or whose disk was full. An empty one, of a
    shard without questions, has nothing to report.
    """

    path: Path
    settings: Settings
    stopped: Message | str | None = None
    is_empty: bool = False


# --- Before it: what rules it out ---


def run_settings(settings: Settings, protocol: Protocol) -> Settings:
    """The settings of a run of a protocol: those of the other one, which rehearsal.toml may hold, are unset.

    Raises InputError for a way of scoring that does not fit the judges.
    """
    values: dict[str, Any] = {"protocol": protocol}
    foreign = foreign_settings(protocol)
    values |= {name: field.get_default() for name, field in Settings.model_fields.items() if name in foreign}
    values["added"] = {name: value for name, value in settings.added.items() if name not in foreign}
    if protocol == "single_turn":
        values["turns"] = 1
    # `passed` is the judge of a row's outputs, and means nothing of a conversation.
    elif PASSED in settings.judges:
        judges = tuple(name for name in settings.judges if name != PASSED)
        values["judges"] = judges or Settings.model_fields["judges"].get_default()
    settings = settings.model_copy(update=values)
    for plugin in plugins.asked_by(settings):
        settings = plugin.settled(settings) if plugin.settled else settings
    return settings


def check_folder(runs: Path) -> None:
    """Raises RunFileError where a folder of runs could not be made or written; makes nothing.

    It looks at the nearest folder above that exists. Somebody may still take the right away later: this is to
    tell of a typing error before an hour's work, not to promise anything.
    """
    try:
        existing = next(path for path in (runs, *runs.absolute().parents) if path.exists())
        writable = existing.is_dir() and os.access(existing, os.W_OK)
    except OSError:  # it cannot even be looked at
        writable = False
    if not writable:
        raise RunFileError(_("{runs}: cannot be written. Choose another folder with --runs.", runs=runs))


def check_target(context: RunContext, plan: Sequence[Conversation]) -> None:
    """Raises InputError for a target that could be reached by accident: by stand-ins, or without evidence.

    A gate in CI whose key has expired would otherwise be green by word counts; so would one whose judge has
    no reference and no passage to hold an answer against. `--offline` says that stand-ins are meant.
    """
    settings = context.settings
    if settings.target is None:
        return

    # The model of the bundled bot is one of our roles; a bot of the user's own has its own.
    roles: list[Role] = ["user", "judge"]
    if settings.adapter == "demo":
        roles.append("demo")
    check_players(settings, context.endpoints, [role for role in roles if context.is_played(role)])
    check_evidence(settings, (conversation.case for conversation in plan))


def check_retest(context: RunContext) -> None:
    """Raises InputError for --retest where no judge could say anything else when it grades again."""
    if context.settings.retest and not context.panel.retest.calls:
        msg = _(
            "--retest has nothing to grade twice, for no judge of whole answers asks a model: leave it out."
        )
        raise InputError(msg)


# --- What is said when it starts, and while it goes on ---


def announce(context: RunContext, plan: Sequence[Conversation]) -> None:
    """Says on stderr what is ignored, what will run, and, if it is paid for, what it will cost."""
    settings = context.settings
    knowledge = settings.set.get("knowledge", "") if settings.adapter == "demo" else ""
    if knowledge and (files := unread_files(knowledge)):
        say(_("{knowledge}: not read: {files}.", knowledge=knowledge, files=listed(files, LISTED)))
    # Logs of real people: said once, at the start, and not decided for them.
    if settings.adapter == "recorded" and context.has_customers and not settings.redacts:
        say(_("Texts are kept as recorded; --redact masks names, telephone numbers and the like."))
    size = _size(context, plan)
    if not context.models():
        say(sentences(size, _("Apart from the bot, no model is used.")))
        return
    if context.offline:
        reason = _("Offline as requested") if settings.offline else _("No model configured")
        roles = _("customer and judges") if context.has_customers else _("the judges")
        stand_ins = {"reason": reason, "roles": roles}
        why = _("{reason}: simple versions (no AI, no cost) play {roles}.", **stand_ins)
        say(sentences(size, why))
        return
    roles_played = [role for role in context.models() if role != "demo" or settings.adapter == "demo"]
    models = tuple(
        _("{role} {model}", role=title("role", role), model=context.models()[role]) for role in roles_played
    )
    say(sentences(size, _("Models: {models}.", models=models)))


def _size(context: RunContext, plan: Sequence[Conversation]) -> Message:
    settings = context.settings
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
        turns=ngettext("{n} answer", "{n} answers", n=turns),
        bot=settings.adapter,
    )


class Tally:
    """Counts conversations, graded and red turns of a run, and shows them on its bar.

    Its methods are called by the runner as things happen, on the event loop, so none of them may wait. Red is
    counted by the judges of the turn alone; a judge of whole conversations may turn more of them red later.
    """

    def __init__(self, plan: Sequence[Conversation], context: RunContext) -> None:
        """Nothing has happened yet; the bar shows nothing unless it is given one."""
        self.planned, self.context, self.bar = len(plan), context, ProgressBar()
        self.over = self.graded_turns = self.red = 0
        self.primary = primary_judge(context.grading.names)
        self._updated = 0.0

    def changed(self) -> None:
        """Something has happened; it is shown ten times a second at most."""
        if time.monotonic() - self._updated > 0.1:
            self._updated = time.monotonic()
            self.bar.update(self.over, self.planned, self.message())

    def turn(self, conversation: Conversation) -> None:
        """There is a new turn."""
        self.changed()

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """A turn has been graded; of whole conversations only the endings are counted."""
        if context.closing is not None:
            return
        self.graded_turns += 1
        rules = self.context.settings.red
        self.red += bool(red_marks(scores, rules, self.primary))
        self.changed()

    def ended(self, conversation: Conversation) -> None:
        """A conversation is over."""
        self.over += 1
        self.changed()

    def message(self) -> Message:
        """One line: conversations, turns, red, calls, money."""
        spent = self.context.ledger.spent
        # Two decimals always: a figure that grows and shrinks makes the line jump.
        price = money(spent) if spent.cost_usd is None else f"{spent.cost_usd:.2f} USD"
        counts = {"over": self.over, "planned": self.planned, "graded": self.graded_turns, "red": self.red}
        if spent.calls:
            return _(
                "{over}/{planned} conversations, {graded} answers graded, {red} to review, {calls} "
                "calls, {price}",
                calls=spent.calls,
                price=price,
                **counts,
            )
        return _("{over}/{planned} conversations, {graded} answers graded, {red} to review", **counts)


@contextlib.contextmanager
def progress_on_stderr(plan: Sequence[Conversation], context: RunContext) -> Iterator[Tally]:
    """The tally, shown as a bar when stderr is a terminal."""
    tally = Tally(plan, context)
    with progress_bar(len(plan), tally.message(), counts=True) as tally.bar:
        yield tally


# --- A new run ---


def start(
    settings: Settings, run_id: str = "", *, bot: object | None = None, cases: CaseObjects | None = None
) -> FinishedRun | Forecast:
    """Makes a new run; returns it, or with --dry-run what it will take.

    A `bot` that is an object is called `settings.adapter`, and `cases` that are objects `settings.cases`.
    `run_id` is given where the id is known beforehand, as in the record of a matrix; else it is made of time
    and persona.
    """
    # All before the questions are read, for these can take a while.
    settings = _with_judging(_with_bot(_with_whole_paths(settings), cases))
    if bot is not None and plugins.engine_of(settings):
        raise InputError(_("Workers find the bot by a name: bot.py:answer."))
    planned = read_plan(settings, cases)
    settings, whole_plan = planned.settings, planned.plan
    if settings.target is not None or settings.confidence is not None:
        outputs = outputs_of(settings)
        check_gate(settings, outputs.files if outputs else lambda _name: False)
    plan = whole_plan
    notes: Mapping[str, str] = {}
    for dividing in (plugin.dividing for plugin in plugins.asked_by(settings) if plugin.dividing):
        if part := dividing(settings, whole_plan):
            plan, notes = part
    # Code of others is imported here: adapters, judges, and what they print.
    with stdout_to_stderr():
        context = RunContext(settings, planned.personas, bot=bot)
        context.check_adapter(plan)
        check_target(context, plan)
        check_retest(context)
        context.check_scripts(whole_plan)
    # After the checks: a mistake is one line.
    for line in planned.messages():
        say(line)

    # Read before anything is paid: what cannot be read is refused, and later there may be other articles.
    articles = () if settings.dry_run else stored_articles(settings)

    # Where it stands in the whole plan, and what was left out, are written with the run, not at its end: a
    # run that is killed can still be merged, and still says what is missing.
    def create() -> RunFile:
        file = create_run(settings, context, plan, planned.personas, run_id)
        file.save_articles(articles)
        for key, note in notes.items():
            file.save_note(key, note)
        if planned.skipped.count:
            file.save_note(SKIPPED_NOTE, json.dumps(planned.skipped.as_note(), ensure_ascii=False))
        return file

    return play(context, plan, plan, create, {})


def _with_whole_paths(settings: Settings) -> Settings:
    """With a run and articles that are still found when the run is resumed, or reported from elsewhere.

    Settings are stored with the run: a path that is relative, or `latest`, would mean something else by then.
    """
    changes = {}
    if settings.replay:  # `latest` would be another run then
        changes["replay"] = str(find_run(settings.replay, settings.runs).resolve())
    if settings.knowledge:
        read_knowledge(settings.knowledge)  # refuses what has no articles; reads none
        changes["knowledge"] = str(Path(settings.knowledge).resolve())
    return settings.model_copy(update=changes)


def _with_bot(settings: Settings, cases: CaseObjects | None) -> Settings:
    """With the adapter that grades recorded answers, where the file has some and no bot was named."""
    changed = with_bot(settings, cases)
    if changed.adapter != settings.adapter:
        graded = {"cases": settings.cases, "adapter": changed.adapter}
        say(_("{cases}: its recorded answers are graded (--adapter {adapter}).", **graded))
    return changed


def _with_judging(settings: Settings) -> Settings:
    """With the short prompts of `--judging small` where the judge's model is a small one; that is said."""
    changed = with_judging_for(settings)
    if changed.judging != settings.judging:
        judge = endpoints(settings)["judge"]
        say(
            _(
                "The judge's model is small ({model}), so it grades by --judging small. For the usual prompts"
                " say --judging combined.",
                model=judge.model if judge else "",
            )
        )
    return changed


# --- What a new run and a resumed one have in common ---


def play(
    context: RunContext,
    plan: Sequence[Conversation],
    unfinished: Sequence[Conversation],
    open_file: Callable[[], RunFile],
    notes: Mapping[str, JsonValue],
) -> FinishedRun | Forecast:
    """Holds the unfinished conversations of a plan, and has them graded; with --dry-run, what that will take.

    `open_file` makes or reopens the run file, and is called as late as possible: until then nothing exists
    that would have to be tidied up. Raises Interrupted on a second Ctrl-C, which does not wait for answers in
    flight.
    """
    settings = context.settings
    added = plugins.asked_by(settings)
    preparing = next((plugin.preparation for plugin in added if plugin.preparation), None)
    preparation = preparing(context, notes) if preparing else None
    if settings.dry_run:
        estimate = forecast(context, unfinished, disputed_in(settings.runs))
        check_prices(settings, estimate.high)
        return estimate
    check_folder(settings.runs)
    from simulator.api import team_words  # the reports

    if settings.to:
        team_words.read_earlier_words(settings)
    if not plan:
        return _finish_empty(open_file(), settings)
    announce(context, unfinished)
    if context.models() and not context.offline:
        announce_cost(context, unfinished)
    # Known where the run breaks off: what is said then names the run, once there is one.
    opened: list[RunFile] = []

    def opening() -> RunFile:
        opened.append(open_file())
        return opened[0]

    # One process with one event loop, or batches on dask's workers; the same signature.
    perform = plugins.engine_of(settings) or run.perform
    new_runner = next((plugin.runner for plugin in added if plugin.runner), None)
    try:
        with progress_on_stderr(plan, context) as progress, stdout_to_stderr():
            work = perform(context, plan, opening, progress, preparation, new_runner, _ask_after_run)
            path, stopped = asyncio.run(work)
        team_words.carry_words(path)
    except KeyboardInterrupt:  # Ctrl-C for the second time
        if not opened:
            raise
        raise Interrupted(opened[0].path) from None
    # Of a mistake of ours the line has to name the run, which holds everything up to there.
    except BaseException as error:
        if not opened or isinstance(error, (RehearsalError, SystemExit)):
            raise
        raise Unforeseen(opened[0].path) from error
    return FinishedRun(path, settings, stopped)


async def _ask_after_run(file: RunFile, context: RunContext) -> None:
    from simulator.results.asking import ask_after_run  # with what only the end of a run needs

    await ask_after_run(file, context)


def _finish_empty(file: RunFile, settings: Settings) -> FinishedRun:
    """Finishes the run of a shard that has no questions."""
    file.finish("finished", 0.0)
    file.close()
    say(_("Shard {shard} has no questions, so there is nothing to run.", shard=settings.added.get("shard")))
    return FinishedRun(file.path, settings, is_empty=True)
