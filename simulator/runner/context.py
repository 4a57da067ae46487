"""Everyone a run needs, made from its settings: models, customers, judges, the bot."""

import asyncio
import contextlib
import importlib.metadata
import inspect
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from simulator import __version__
from simulator.core import shelves
from simulator.core.errors import InputError, UnknownName
from simulator.core.roles import LEXICAL, Endpoint
from simulator.core.secrets import known_secrets, lacking, used_secrets
from simulator.core.settings import Settings
from simulator.core.templates import LANGUAGES, fingerprint, stable_int
from simulator.core.types import Bot, Chat, Conversation, Persona, Role, Run, User, Utterance
from simulator.grading.judge import Panel
from simulator.grading.panel import Grading
from simulator.grading.rubric import Rubric
from simulator.models.cache import ResponseCache
from simulator.models.client import Connections, Model
from simulator.models.pricing import Ledger
from simulator.models.providers import Models
from simulator.privacy.redactor import Redactor
from simulator.runner.chains import applied
from simulator.runner.conversation import ask_plainly
from simulator.runner.masking import MaskedBot, MaskedUser, masked_talks, redactor_of
from simulator.storage.run_file import find_run, read_run
from simulator.users.base import PersonaUser, UserPrompts
from simulator.users.opening import OpeningPrompts, VoicedOpening
from simulator.users.scripted import MixedUser, lines_of_file, replayed, said_in_run, script_of, unused
from simulator.users.typing_variation import VaryingUser

PACKAGES = ("openai", "langchain-core", "faiss-cpu", "pydantic")
# Seconds a bot is given to close its connections.
CLOSING = 10.0


class RunContext:
    """Made once per run, before the run file: whatever is wrong with the input shows here."""

    def __init__(
        self,
        settings: Settings,
        endpoints: Mapping[Role, Endpoint | None],
        personas: Sequence[Persona],
        ledger: Ledger,
    ) -> None:
        """Reads prompts, personas' texts, judges and the adapter's settings; connects to nothing yet."""
        self.settings, self.endpoints, self.ledger = settings, endpoints, ledger
        self.personas = {persona.id: persona for persona in personas}
        self.prompts = UserPrompts(shelves.PERSONAS / "_user.toml")
        self.connections = Connections.of(settings)
        self.unkept = Connections.of(settings, ResponseCache("off"))
        self.models_of = Models(endpoints, self.connections, ledger)
        self.grading = Grading(settings, self.models_of)
        self.applied = applied(settings)
        self.redactor = redactor_of(settings)
        self.replayed = _replayed(settings, self.redactor)
        self.openings = OpeningPrompts(shelves.PERSONAS / "_opening.toml", self.prompts.guards)
        self.scripts = _scripts(settings)

    @property
    def judges(self) -> Mapping[str, Rubric | Callable[..., Any]]:
        """Who grades, by name."""
        return self.grading.judges

    @property
    def panel(self) -> Panel:
        """All of them at their work."""
        return self.grading.panel

    @property
    def offline(self) -> bool:
        """Whether no model takes part at all."""
        return not any(self.endpoints.values())

    @property
    def asks_once(self) -> bool:
        """Whether each row of a data set is asked once, and nobody plays a customer."""
        return self.settings.protocol == "single_turn"

    def greeting(self, language: str) -> str:
        """The desk's first line."""
        given = self.settings.greeting or {}
        return given.get(language) or self.prompts.text(language, "greeting")  # type: ignore[arg-type, call-overload]

    def opening(self, conversation: Conversation) -> User:
        """Who says the first line: as in a replayed run, in the persona's voice, or the question as it is."""
        if self.asks_once:
            return ask_plainly  # its words are masked already, with its case
        if said := self.replayed.get(conversation.id):
            return self._masking(replayed(said))
        asks: User = ask_plainly
        if self.settings.voice_opening:
            model = self.model("user", temperature=self.settings.user_temperature)
            persona = self.personas[conversation.persona]
            asks = VoicedOpening(persona, model, self.openings, self._seed(conversation))
        return self._masking(self._typing(asks, conversation))

    def user(self, conversation: Conversation) -> User:
        """Who plays the customer of this conversation after the first line."""
        if self.asks_once:
            return ask_plainly
        plays = self._typing(self._player(conversation), conversation)
        if said := self.replayed.get(conversation.id):
            return self._masking(replayed(said, plays))
        if lines := script_of(self.scripts, conversation):
            return self._masking(MixedUser(lines, plays))
        script = conversation.case.script
        return self._masking(MixedUser(script) if script or self._is_log else plays)

    def _masking(self, user: User) -> User:
        return MaskedUser(user, self.redactor) if self.redactor else user

    def turns(self, conversation: Conversation) -> tuple[int, bool]:
        """How many turns a conversation may have, and whether its customer is asked how they leave.

        A case's own script, a replay and a log end with their last line; nobody is asked then.
        """
        if self.asks_once:
            return 1, False
        said = self.replayed.get(conversation.id)
        if said or conversation.case.script:
            return len(said) if said else 1 + len(conversation.case.script), False
        lines = script_of(self.scripts, conversation) or ()
        if self._is_log:
            return 1 + len(lines), False
        return max(self.settings.turns, 1 + len(lines)), True

    @property
    def _is_log(self) -> bool:
        """Whether the bot's answers are recorded ones: nothing may be said that the log does not have."""
        return self.settings.adapter == "recorded"

    def _player(self, conversation: Conversation) -> User:
        persona, seed = self.personas[conversation.persona], self._seed(conversation)
        model = self.model("user", temperature=self.settings.user_temperature)
        if model is None:
            from simulator.users.offline import PhraseUser  # stand-ins: not where models play

            return PhraseUser(persona, seed)
        greeting = self.greeting(conversation.case.language)
        return PersonaUser(
            persona, self.prompts, model, seed=seed, turns=self.settings.turns, greeting=greeting
        )

    def _typing(self, user: User, conversation: Conversation) -> User:
        share = self.settings.typos
        return VaryingUser(user, self._seed(conversation), share) if share else user

    def _seed(self, conversation: Conversation) -> int:
        return stable_int(self.settings.seed, conversation.id)

    async def bot(self, plan: Sequence[Conversation]) -> Bot:
        """The bot under rehearsal, connected."""
        if names := lacking(self.settings.set):
            msg = f"--set {names[0]}: secrets are not stored with a run. Give it again, or write ${{NAME}}."
            raise InputError(msg)
        if not self.offline:
            self.connections.prepare()
        bot = await shelves.connect(self.settings.adapter, self.settings.set, self.offered(plan))
        secrets, in_errors = self._secrets()
        if self.applied is not None:
            bot = await self.applied.around(bot, plan, partial(shelves.connect, offered=self.offered(plan)))
        redactor = None if self.settings.adapter == "recorded" else self.redactor  # masked with its case
        if not (secrets or in_errors or redactor):
            return bot
        return MaskedBot(bot, redactor, self.settings.timeout, secrets, in_errors)

    def _secrets(self) -> tuple[frozenset[str], frozenset[str]]:
        """What is masked in the bot's answers, and what in its errors beside that."""
        chain = self.applied.chain if self.applied else None
        given = [self.settings.set, *(link.set for link in (chain.links if chain else ()))]
        models = {each.model for each in self.endpoints.values() if each and each.of_provider}
        providers = {re.split("[:_]", model)[0].upper() for model in models}
        used = frozenset(secret for each in given for secret in used_secrets(each, providers))
        return used, frozenset(secret for each in given for secret in known_secrets(each))

    def check_adapter(self, plan: Sequence[Conversation]) -> None:
        """Raises InputError for an unknown adapter, wrong or missing `--set`, no likelihoods to choose by."""
        connect = shelves.connector(self.settings.adapter)
        bound = shelves.bound_settings(self.settings.adapter, connect, self.settings.set, self.offered(plan))
        if self.settings.choosing == "likelihood" and (self.applied is None or "choosing" not in bound):
            what = "there is no --prompt with labels or choices to choose among"
            if self.applied is not None:
                what = f"the adapter {self.settings.adapter} tells no log-likelihoods; leave it out"
            msg = f"--choosing likelihood: {what}."
            raise InputError(msg)

    def check_prompts(self, run: Run) -> None:
        """Raises InputError where rows would be asked with other words than those that were asked before."""
        for name, digits in (self.applied.fingerprints() if self.applied else {}).items():
            if run.prompts.get(name) != digits:
                msg = f"{name.replace(':', ' ', 1)} is not what run {run.id} began with: start a new run."
                raise InputError(msg)

    def check_scripts(self, plan: Sequence[Conversation]) -> None:
        """Raises UnknownName for a script that belongs to no planned conversation."""
        if strangers := unused(self.scripts, plan):
            names = {conversation.case.id for conversation in plan}
            raise UnknownName(f"case in {self.settings.script}", strangers[0], names)

    def offered(self, plan: Sequence[Conversation]) -> dict[str, Any]:
        """What an adapter's `connect` may ask for by name."""
        chat: Chat | None = None
        if model := self._bots_models.role("demo"):
            chat = model.say
        cases = getattr(plan, "cases", None)  # of a data set, which stay where they are
        if cases is None:
            cases = tuple({conversation.case.id: conversation.case for conversation in plan}.values())
        given = {"choosing": self.settings.choosing, "patience": self.settings.patience}
        return {"chat": chat, "cases": cases, **given}

    @property
    def _bots_models(self) -> Models:
        """The bundled bot's model: what it says is not masked yet, so with --redact no cache keeps it."""
        if not self.redactor:
            return self.models_of
        return Models(self.endpoints, self.unkept, self.ledger)

    def models(self) -> dict[str, str]:
        """The model of each role that is played, or that a stand-in plays it."""
        played = {role: endpoint for role, endpoint in self.endpoints.items() if self.is_played(role)}
        return {role: endpoint.model if endpoint else LEXICAL for role, endpoint in played.items()}

    def is_played(self, role: Role) -> bool:
        """Whether anybody may be asked in this role; where rows are asked, not every role has a part."""
        if not self.asks_once:
            return True
        grading = self.grading
        if role == "embed":
            return any(
                not isinstance(each, Rubric) and "embed" in inspect.signature(each).parameters
                for each in grading.judges.values()
            )
        of_rows = {"user": False, "demo": self.settings.adapter == "demo"}
        return of_rows.get(role, bool(grading.rubrics or grading.forms or self.settings.outputs))

    def fingerprints(self) -> dict[str, str]:
        """Hashes of every prompt in play, for the run file."""
        people = () if self.asks_once else self.personas.values()
        hashes = {f"user:{p.id}": self.prompts.fingerprint(p) for p in people}
        if self.applied is not None:
            hashes |= self.applied.fingerprints()
        if self.settings.voice_opening:
            hashes |= {f"opening:{p.id}": self.openings.fingerprint(p) for p in self.personas.values()}
        if self.grading.outputs:
            hashes["outputs"] = self.grading.outputs.file.fingerprint
        for name, judge in self.grading.judges.items():
            if isinstance(judge, Rubric):
                tasks = [self.grading.frame.task(language, [judge], alone=True) for language in LANGUAGES]
                hashes[f"judge:{name}"] = fingerprint(*tasks)
        return hashes

    def versions(self) -> dict[str, str]:
        """Versions that can change a result, those of the prompts that rows are asked with among them."""
        return versions() | (self.applied.versions() if self.applied else {})

    async def close(self, bot: Bot | None) -> None:
        """Closes the bot's and the models' connections."""
        with contextlib.suppress(Exception):  # the bot is not our code, and its work is done
            if closing := getattr(bot, "aclose", None):
                async with asyncio.timeout(CLOSING):
                    closed = closing()
                    await closed if inspect.isawaitable(closed) else None
        await self.connections.close()
        await self.unkept.close()

    def model(self, role: Role, *, temperature: float | None = None) -> Model | None:
        """The model of a role; None where a stand-in plays it."""
        return self.models_of.role(role, temperature=temperature)


def _scripts(settings: Settings) -> dict[str, tuple[str, ...]]:
    return lines_of_file(Path(settings.script)) if settings.script else {}


def _replayed(settings: Settings, redactor: Redactor | None) -> dict[str, tuple[Utterance, ...]]:
    if not settings.replay:
        return {}
    path = find_run(settings.replay, Path(settings.runs))
    said = said_in_run(path)
    if redactor is None:
        return said
    conversations = read_run(path).conversations
    now = {
        old.id: new.id for old, new in zip(conversations, masked_talks(conversations, redactor), strict=True)
    }
    return {now[key]: lines for key, lines in said.items()}


def versions() -> dict[str, str]:
    """Versions that can change a result, for the run file."""
    found = {"rehearsal": __version__, "python": platform.python_version()}
    return found | {package: importlib.metadata.version(package) for package in PACKAGES}
