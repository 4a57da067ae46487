"""RunContext: models, users, judges and the bot of a run, made from its settings.

This is the one place where a run is put together. It is made before the run file and connects to nothing:
whatever can be wrong with prompts, personas, judges, lists or the settings of an adapter is reported while
nothing is paid or written. The bot is connected by `bot()`, models by their first call.

Who says what in a conversation is decided by its case and the settings:

    first line    `opening`: the earlier one (--replay), the question in the persona's voice
                  (--voice-opening), or the question as it stands
    later lines   `user`: the earlier ones, those of the case's script, or the persona's own
    how many      `turns`: --turns, as many as a script has, one for a row of a data set

The bot is wrapped from the inside out: the adapter's bot, the prompt that is applied to each row
(`PromptedBot`), then masking (`MaskedBot`), so that whatever a prompt or a bot makes of a line is masked last
of all.

Nothing is connected to here, and no library that calls models is loaded before one is asked: to load openai
takes longer than a small offline run.
"""

import asyncio
import contextlib
import importlib.metadata
import inspect
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from simulator.core import shelves
from simulator.core.choosing import Choosing, choosing_for
from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import _
from simulator.core.roles import USER_TEMPERATURE, Endpoint, endpoints, host_of, players
from simulator.core.secrets import known_secrets, missing_secrets, used_secrets
from simulator.core.settings import Settings
from simulator.core.templates import LANGUAGES, fingerprint, stable_int
from simulator.core.types import (
    LEXICAL,
    SCRIPTED,
    Bot,
    Chat,
    Conversation,
    Persona,
    Role,
    Run,
    Turn,
    User,
    traits_of,
)
from simulator.core.version import __version__
from simulator.grading.desk import DESK
from simulator.grading.grading import Grading
from simulator.grading.panel import Panel
from simulator.grading.rubric import Rubric
from simulator.models.by_role import Models
from simulator.models.client import Model
from simulator.models.connections import Connections
from simulator.models.limiter import BotPlaces
from simulator.models.pricing import Ledger
from simulator.privacy.redactor import Redactor
from simulator.runner.conversation import ask_plainly
from simulator.runner.masking import MaskedBot, MaskedUser, masked_conversations, redactor_of
from simulator.runner.plan import cases_of_plan
from simulator.runner.prompts import AppliedPrompt
from simulator.storage.run_file import find_run, read_run
from simulator.users.attack import AttackerUser, AttackPrompts, ScriptedAttacker, attack_lines
from simulator.users.base import UserPrompts, played_by
from simulator.users.offline import PhraseUser
from simulator.users.opening import OpeningPrompts, VoicedOpening
from simulator.users.persona import PersonaUser
from simulator.users.rules import wanted_turns
from simulator.users.scripted import (
    Follower,
    MixedUser,
    ReplayUser,
    read_scripts,
    script_of,
    turns_of_run,
    unused_scripts,
)

# Their versions stand in the run file, because other ones can change a result.
PACKAGES = ("openai", "langchain-core", "faiss-cpu", "pydantic")
# Seconds a bot may take to close its connections. It is not our code, and what it did is stored by then.
CLOSING = 10.0
# Seconds in which the first questions go out, before a thread loads what figures and reports are made with.
# That takes a few tenths of a second, while the bot answers, and delays neither a question nor an answer.
HEAD_START = 0.1


def _import_numpy() -> None:
    import numpy  # noqa: F401 - takes a while


# What that thread loads; whoever reports a run adds the reports.
AHEAD: list[Callable[[], object]] = [_import_numpy]


def _read_ahead() -> None:
    """Loads it in a thread. A run may be over by then, and takes no more threads."""
    with suppress(RuntimeError):
        asyncio.get_running_loop().run_in_executor(None, lambda: [load() for load in AHEAD])


class RunContext:
    """Made once per run, before the run file, so that invalid input is found before anything is stored."""

    def __init__(
        self,
        settings: Settings,
        personas: Sequence[Persona] = (),
        ledger: Ledger | None = None,
        *,
        by_role: Mapping[Role, Endpoint | None] | None = None,
        bot: object | None = None,
    ) -> None:
        """Reads prompts, personas, judges and the adapter's settings; connects to nothing yet.

        The endpoints of the models (`by_role`) and the ledger are those of the settings. A `bot` that is
        there already, a function or a runnable, is asked in place of the one that `settings.adapter` names.
        """
        self.settings, self.given_bot = settings, bot
        self.endpoints = endpoints(settings) if by_role is None else by_role
        self.ledger = Ledger.of(settings) if ledger is None else ledger
        # The dollars that a conversation may cost at most; None until it was forecast.
        self.cost_of_one: float | None = None
        # Of several customers' models, the endpoint of each; None where a stand-in plays.
        # Rows are asked by nobody, so models of customers are not even looked for.
        self.players = players(settings) if settings.protocol == "dialogue" else {}
        self.personas = {persona.id: persona for persona in personas}
        self.prompts = UserPrompts(shelves.PERSONAS / "_user.toml")
        self.model_factory = Models(self.endpoints, settings, self.ledger)
        self.grading = Grading(settings, self.model_factory)
        self.applied_prompt = AppliedPrompt(settings) if settings.prompt else None
        self.redactor = redactor_of(settings) if settings.redacts else None
        self.replayed_turns = _replayed_turns(settings, self.redactor)
        self.scripts: Mapping[str, tuple[str, ...]] = (
            read_scripts(Path(settings.script)) if settings.script else {}
        )

    @cached_property
    def openings(self) -> OpeningPrompts:
        """The prompts by which a model words the first line."""
        return OpeningPrompts(shelves.PERSONAS / "_opening.toml", self.prompts.guards)

    @cached_property
    def attacks(self) -> AttackPrompts:
        """The prompts by which a model plays an attacker."""
        return AttackPrompts(shelves.PERSONAS / "_attacker.toml")

    @property
    def connections(self) -> Connections:
        """The connections of the models, which are made when they are first asked for."""
        return self.model_factory.connections

    @property
    def judges(self) -> Mapping[str, Rubric | Callable[..., Any]]:
        """The rubrics and judge functions by name."""
        return self.grading.judges

    @property
    def panel(self) -> Panel:
        """The judges, ready to grade."""
        return self.grading.panel

    @property
    def offline(self) -> bool:
        """Whether no role has a model."""
        return not any((*self.endpoints.values(), *self.players.values()))

    @property
    def has_customers(self) -> bool:
        """Whether anybody plays a customer; the rows of a data set are asked as they are written."""
        return self.personas.keys() != {SCRIPTED}

    def opening(self, conversation: Conversation) -> User:
        """The user of the first line: replayed, in the persona's voice, or the question unchanged."""
        if conversation.id in self.replayed_turns:
            return self.user(conversation)
        if not self.settings.voice_opening:
            return ask_plainly  # the question is masked already, with its case
        # Without a model the question is asked as it stands.
        model = self._player(conversation)
        persona = self.personas[conversation.persona]
        return self._masking(VoicedOpening(persona, model, self.openings, self._seed(conversation)))

    def user(self, conversation: Conversation) -> User:
        """The user that plays the customer after the first line; of a replay, the first one as well."""
        if earlier := self.replayed_turns.get(conversation.id):
            customer = self.persona_user(conversation)
            return self._masking(ReplayUser(earlier, customer))
        lines, goes_on = self._given_lines(conversation)
        user = self.persona_user(conversation) if goes_on else None
        return self._masking(user if user and not lines else MixedUser(lines, user))

    def turns(self, conversation: Conversation) -> tuple[int, bool]:
        """The maximum number of turns, and whether the customer is asked at the end how they leave."""
        if earlier := self.replayed_turns.get(conversation.id):
            return max(len(earlier), self.settings.turns), True
        lines, goes_on = self._given_lines(conversation)
        return max(self.settings.turns if goes_on else 1, 1 + len(lines)), goes_on

    def _given_lines(self, conversation: Conversation) -> tuple[Sequence[str], bool]:
        """The given lines after the first, and whether the customer goes on by itself after the last of them.

        A case's own script and a log of answers end with their last line. A row of a data set is
        asked once, whatever script it has.
        """
        if conversation.persona == SCRIPTED:
            return (), False
        script = script_of(self.scripts, conversation) if self.scripts else None
        is_log = self.settings.adapter == "recorded"  # only lines of the log have an answer
        if script and not is_log:
            return script, True
        return script or conversation.case.script, not (conversation.case.script or is_log)

    def _masking(self, user: User) -> User:
        return MaskedUser(user, self.redactor) if self.redactor else user

    def persona_user(self, conversation: Conversation, turns: int | None = None) -> Follower:
        """Who plays the persona: a model, or phrases where there is none; for at most so many turns.

        Where none are given, they are those of the conversation in the run, in which customers may go on as
        long as people do.
        """
        persona, seed = self.personas[conversation.persona], self._seed(conversation)
        model = self._player(conversation)
        most = turns or self.turns(conversation)[0]
        wanted = 0 if turns else wanted_turns(conversation.case.language, seed, most)
        if model is None:
            lines = attack_lines(persona, conversation.case)
            return ScriptedAttacker(lines, most) if lines else PhraseUser(persona, seed, wanted)
        if persona.adversarial:
            greeting = self.prompts.text(conversation.case.language, "greeting")
            return AttackerUser(persona, self.attacks, model, seed=seed, turns=most, greeting=greeting)
        return PersonaUser(
            persona,
            self.prompts,
            model,
            seed=seed,
            turns=most,
            voiced=self.settings.voice_opening,
            wanted=wanted,
        )

    def _player(self, conversation: Conversation) -> Model | None:
        """The model that plays the customer of a conversation; None where a stand-in does."""
        endpoint = self.players.get(conversation.user_model, self.endpoints["user"])
        return self.model_factory.at(endpoint, temperature=USER_TEMPERATURE) if endpoint else None

    def _seed(self, conversation: Conversation) -> int:
        return stable_int(self.settings.seed, conversation.like_others)

    async def bot(self, plan: Sequence[Conversation]) -> Bot:
        """Connects the bot under test, with its prompts and with masking where they apply."""
        # Before anything connects: the adapter would send *** as the key.
        if names := missing_secrets(self.settings.set):
            msg = _(
                "--set {names}: secrets are not stored with a run. Give it again, or write ${{NAME}}.",
                names=names[0],
            )
            raise InputError(msg)
        if not self.offline:
            import aiohttp  # noqa: F401 - takes a tenth of a second, which must not delay an answer

            asyncio.get_running_loop().call_later(HEAD_START, _read_ahead)
        bot = await shelves.connect(
            self.settings.adapter, self.settings.set, self.offered(plan), self.given_bot
        )
        # A bot behind the same host shares its limit: --calls is for both together.
        traits = traits_of(bot)
        if endpoint := self._endpoint_at(traits.address or self.settings.set.get("url", "")):
            places = BotPlaces(self.connections.limiter(endpoint), traits.places)
            vars(bot)["traits"] = replace(traits, places=places)
        # Secrets that the run uses are masked in answers; all that are known, in error messages as well.
        # `bedrock_converse:...` reads BEDROCK_ variables, `google_genai:...` GOOGLE_ ones.
        models = {endpoint.model for endpoint in self.endpoints.values() if endpoint and endpoint.of_provider}
        providers = {re.split("[:_]", model)[0].upper() for model in models}
        secrets, in_errors = used_secrets(self.settings.set, providers), known_secrets(self.settings.set)
        if self.applied_prompt is not None:
            bot = self.applied_prompt.around(bot, plan)
        # Recorded answers are masked already, with their cases.
        redactor = None if self.settings.adapter == "recorded" else self.redactor
        if not (secrets or in_errors or redactor):
            return bot
        timeout = self.settings.timeout
        return MaskedBot(bot, redactor, timeout, secrets, in_errors)

    def _endpoint_at(self, url: str) -> Endpoint | None:
        """The endpoint of a model at whose host a bot is asked as well; None where there is none."""
        models = (*self.endpoints.values(), *self.players.values())
        hosts = {model.host: model for model in models if model and model.url}
        return hosts.get(host_of(url))

    def check_adapter(self, plan: Sequence[Conversation]) -> None:
        """Raises InputError for an unknown adapter, invalid `--set`, or choosing that it cannot do."""
        connect = shelves.connector(self.settings.adapter, self.settings.set, self.given_bot)
        bound = shelves.adapter_arguments(
            self.settings.adapter, connect, self.settings.set, self.offered(plan)
        )
        choosing = self._choosing()
        if choosing and choosing.refusal and "choosing" not in bound:
            raise InputError(choosing.refusal)

    def check_prompts(self, run: Run) -> None:
        """Raises InputError if a prompt has changed since `run` began."""
        prompt = self.applied_prompt and self.applied_prompt.prompt
        if prompt and run.prompts.get(f"prompt:{prompt.name}") != prompt.hash:
            name = f"prompt {prompt.name}"
            msg = _("{name} is not what run {run} began with: start a new run.", name=name, run=run.id)
            raise InputError(msg)

    def check_scripts(self, plan: Sequence[Conversation]) -> None:
        """Raises UnknownName for a script without a planned conversation."""
        if self.scripts and (unknown := unused_scripts(self.scripts, plan)):
            names = {conversation.case.id for conversation in plan}
            raise UnknownName(_("case in {script}", script=self.settings.script), unknown[0], names)

    def offered(self, plan: Sequence[Conversation]) -> dict[str, Any]:
        """The arguments that an adapter's `connect` may take by name, beside its settings."""
        chat: Chat | None = None
        # The demo bot's replies are not kept with --redact, for its answers are not masked yet, nor with
        # --repeats: from the cache every repeat would be the first one again, and `pass^k` always 0 or 1.
        is_cached = not self.settings.redacts and self.settings.repeats == 1
        if model := self.model_factory.role("demo", cached=is_cached):
            chat = model.say
        settings = {"choosing": self._choosing(), "patience": self.settings.patience}
        return {"chat": chat, "cases": cases_of_plan(plan), **settings}

    def _choosing(self) -> Choosing | None:
        """How choices are weighed; only a prompt names any."""
        return choosing_for(self.settings) if self.applied_prompt else None

    def models(self) -> dict[str, str]:
        """The model's name of each role that is played, or LEXICAL for a stand-in; several with commas."""
        # By name and not by address: the same model elsewhere gives comparable runs.
        models: dict[str, str] = {
            role: endpoint.model if endpoint else LEXICAL
            for role, endpoint in self.endpoints.items()
            if self.is_played(role)
        }
        return models | ({"user": ", ".join(self.players)} if self.players else {})

    def is_played(self, role: Role) -> bool:
        """Whether a role takes part in this run; where rows are asked, not every role does."""
        if self.has_customers:
            return True
        grading = self.grading
        if role == "embed":
            return any(map(embeds, grading.judges.values()))
        of_rows = {"user": False, "demo": self.settings.adapter == "demo"}
        return of_rows.get(role, bool(grading.rubrics or grading.forms or grading.outputs))

    def fingerprints(self) -> dict[str, str]:
        """Hashes of every prompt in use, for the run file.

        `user:angry`, `opening:angry`, `judge:turn`, `prompt:classify`, `outputs`. By them `diff` says what
        changed between two runs, `merge` refuses parts that were graded differently, and a calibration knows
        whether it is still one of this judge.
        """
        people = [persona for persona in self.personas.values() if persona.id != SCRIPTED]
        hashes = {
            f"user:{p.id}": played_by(self.attacks if p.adversarial else self.prompts, p) for p in people
        }
        if self.applied_prompt is not None:
            prompt = self.applied_prompt.prompt
            hashes[f"prompt:{prompt.name}"] = prompt.hash
        if self.settings.voice_opening:
            hashes |= {f"opening:{p.id}": played_by(self.openings, p) for p in self.personas.values()}
        if self.scripts:
            hashes["script"] = fingerprint(repr(sorted(self.scripts.items())))
        if self.grading.outputs:
            hashes["outputs"] = self.grading.outputs.fingerprint
        # Functions have their hash in their scores (`Grading._function_rubric`); the frame is part of a
        # rubric's.
        for name, judge in self.grading.judges.items():
            if isinstance(judge, Rubric):
                tasks = [self.grading.frame.task(language, [judge], alone=True) for language in LANGUAGES]
                hashes[f"judge:{name}"] = fingerprint(*tasks)
        if self.grading.desk and self.is_played("judge"):
            hashes[DESK] = fingerprint(*self.grading.desk.prompt_parts())
        return hashes

    def versions(self) -> dict[str, str]:
        """Versions that can change a result, including those of applied prompts, for the run file."""
        if self.applied_prompt is None:
            return {**versions()}
        prompt = self.applied_prompt.prompt
        return {**versions(), f"prompt:{prompt.name}": prompt.version}

    async def close(self, bot: Bot | None) -> None:
        """Closes the bot's and the models' connections."""
        # First the bot: the demo bot calls one of our models, which are closed next.
        with contextlib.suppress(Exception):  # the bot is not our code, and its work is done
            if closing := getattr(bot, "aclose", None):
                async with asyncio.timeout(CLOSING):
                    closed = closing()
                    await closed if inspect.isawaitable(closed) else None
        await self.model_factory.close()


def embeds(judge: Rubric | Callable[..., Any]) -> bool:
    """Whether a judge asks for embeddings: a function that has a parameter `embed`."""
    return not isinstance(judge, Rubric) and "embed" in inspect.signature(judge).parameters


def _replayed_turns(settings: Settings, redactor: Redactor | None) -> dict[str, tuple[Turn, ...]]:
    """The turns of the run in `--replay`, by conversation; their ids are masked like the cases.

    The lines themselves are masked when they are said.
    """
    if not settings.replay:
        return {}
    path = find_run(settings.replay, settings.runs)
    turns = turns_of_run(path)
    if redactor is None:
        return turns
    conversations = read_run(path).conversations
    masked = masked_conversations(conversations, redactor)
    new_ids = {old.id: new.id for old, new in zip(conversations, masked, strict=True)}
    return {new_ids[key]: turn for key, turn in turns.items()}


@cache
def versions() -> dict[str, str]:
    """Versions that can change a result, for the run file. A package that is missing has none.

    faiss-cpu, say, which only the demo's bot needs, may not be there in the environment of one's own bot.
    """
    numbers = {"rehearsal": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            numbers[package] = importlib.metadata.version(package)
    return numbers
