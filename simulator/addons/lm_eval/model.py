"""Any bot as a model of lm_eval: `--model rehearsal --model_args adapter=openai_chat,url=...,model=...`."""

import asyncio
import atexit
import contextlib
import math
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from lm_eval import models
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model
from pydantic import Field

from simulator.addons.lm_eval.report import given_for_a_task, whole_name
from simulator.addons.lm_eval.tasks import (
    OF_A_TASK,
    SCRIPTED,
    Place,
    PromptedBot,
    RowPrompt,
    Session,
    as_chat,
    begin,
    conversation_of,
    place_of,
    plain_text,
    row_of,
    say,
    sent,
)
from simulator.core.errors import BotFailure, InputError, RehearsalError
from simulator.core.secrets import without_secrets
from simulator.core.settings import RowSettings, Settings, from_run, load
from simulator.core.types import Answer, Bot, Conversation, Ended, Turn, User, Utterance, Value
from simulator.data.files import language_of
from simulator.models.cache import ResponseCache, request_key
from simulator.runner.conversation import converse
from simulator.runner.estimate import tokens
from simulator.runner.run import Progress, first_of
from simulator.users.scripted import MixedUser


class TaskRequest(Value):
    """Tasks by name or file, data sets that are made tasks, and what they are told of their rows.

    `limit` is how many documents of each task, `shots` how many examples lm_eval puts before each.
    """

    tasks: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    filters: dict[str, str] = Field({})
    rows: dict[str, Any] = Field({})
    limit: int | None = None
    shots: int | None = None

    @classmethod
    def of(cls, settings: Settings, filters: dict[str, str], **named: tuple[str, ...]) -> Self:
        """Names of files with their folders, so that a run can be taken up elsewhere."""
        known = {key: tuple(map(_whole, names)) for key, names in named.items()}
        if not known["tasks"] and not known["cases"]:
            msg = "harness needs tasks: --tasks NAME or FILE.yaml; or a data set: harness questions.jsonl"
            raise InputError(msg)
        rows = given_for_a_task(settings) if known["cases"] else {}
        shots = None if known["cases"] else settings.shots  # else they are the prompt's
        return cls(**known, filters=filters, rows=rows, limit=settings.limit, shots=shots)

    @property
    def title(self) -> str:
        """What is evaluated, in a few words."""
        return ", ".join(Path(name).name for name in (*self.tasks, *self.cases))

    def task_settings(self, settings: Settings) -> Settings:
        """The settings for writing the tasks of the data sets."""
        usual = {name: getattr(settings, name) for name in Settings.model_fields if name not in OF_A_TASK}
        return from_run({**usual, **self.rows})


def _whole(name: str) -> str:
    """A file or folder with the folder it is in; a task of the same name as a folder is a task."""
    is_path = Path(name).suffix or "/" in name or "\\" in name
    return str(Path(name).resolve()) if is_path and Path(name).exists() else whole_name(name)


def of_the_bot(settings: Settings) -> Settings:
    """The settings for who asks the bot: what is said of rows and their judges belongs to the tasks."""
    names = (*RowSettings.model_fields, "judges", "cases")
    return settings.model_copy(update={name: Settings.model_fields[name].get_default() for name in names})


# Each token of a text: its log-likelihood (natural; None for a first one that nothing precedes), and whether
# the model itself would have said it there.
Tokens = Sequence[tuple[float | None, bool]]
Tell = Callable[[str], Awaitable[Tokens]]
# Attempts, and seconds before the second one; they double.
ATTEMPTS, WAIT = 4, 0.5
# What no further attempt would change: the endpoint does not tell, or not us.
_FINAL = ("refused", "malformed", "denied")


def teller(bot: Bot, adapter: str) -> Tell:
    """What a bot tells likelihoods by; raises InputError for one that cannot."""
    inner: Any = bot
    while inner is not None:
        if found := getattr(inner, "prompt_logprobs", None):
            return found  # type: ignore[no-any-return]
        inner = vars(inner).get("bot") if hasattr(inner, "__dict__") else None
    raise _refused(adapter, "it is a bot that only answers")


def _refused(adapter: str, why: str) -> InputError:
    msg = (
        f"adapter {adapter} gives no log-likelihoods ({why}): choose tasks of output_type generate_until,"
        " or --adapter openai_chat at an endpoint whose /completions echoes prompt logprobs, such as vLLM."
    )
    return InputError(msg)


class Likelihoods:
    """Asks for each text once, however many choices share it."""

    def __init__(self, tell: Tell, settings: Settings) -> None:
        """`settings` say how many are asked for at once, for how long, and whether they are kept."""
        self._tell, self._settings = tell, settings
        self._whose = request_key(settings.adapter, without_secrets(settings.set))
        self._cache = ResponseCache(settings.cache)
        self._places = asyncio.Semaphore(settings.concurrency)
        self._asked: dict[str, asyncio.Task[Tokens]] = {}
        self._tasks: asyncio.TaskGroup

    def close(self) -> None:
        """Closes what it keeps its findings in."""
        self._cache.close()

    async def pairs(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, bool]]:
        """The log-likelihood of each continuation of a context, and whether it is the greedy one."""
        return await self._all([self._pair(*pair) for pair in pairs])

    async def texts(self, texts: Sequence[str]) -> list[float]:
        """The log-likelihood of each text, without a first token that nothing precedes."""
        return await self._all([self._whole(text) for text in texts])

    async def _all(self, work: Sequence[Awaitable[Any]]) -> list[Any]:
        """All of them, or the first failure at once."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                running = [self._tasks.create_task(_awaited(each)) for each in work]
        except ExceptionGroup as group:
            raise first_of(group) from None
        return [task.result() for task in running]

    async def _pair(self, context: str, continuation: str) -> tuple[float, bool]:
        # As lm_eval does: the space between the two belongs to what follows it.
        bare = context.rstrip()
        before = await self._tokens(bare) if bare else ()
        whole = await self._tokens(context + continuation)
        told = whole[min(len(before), max(0, len(whole) - 1)) :]
        return math.fsum(value or 0.0 for value, _ in told), all(greedy for _, greedy in told)

    async def _whole(self, text: str) -> float:
        return math.fsum(value or 0.0 for value, _ in await self._tokens(text))

    async def _tokens(self, text: str) -> Tokens:
        if text not in self._asked:
            self._asked[text] = self._tasks.create_task(self._kept(text))
        return await self._asked[text]

    async def _kept(self, text: str) -> Tokens:
        key = request_key(self._whose, {"echo": text})
        if (known := self._cache.get(key)) is not None and isinstance(known.get("tokens"), list):
            return [(value, bool(greedy)) for value, greedy in known["tokens"]]
        async with self._places:
            found = await self._persistently(text)
        self._cache.put(key, {"tokens": [list(each) for each in found]}, self._settings.adapter)
        return found

    async def _persistently(self, text: str) -> Tokens:
        for attempt in range(ATTEMPTS):
            try:
                async with asyncio.timeout(self._settings.timeout):
                    return await self._tell(text)
            except (BotFailure, TimeoutError) as error:
                failure = error
            if isinstance(failure, BotFailure) and failure.failure.kind in _FINAL:
                raise _refused(self._settings.adapter, str(failure))
            await asyncio.sleep(WAIT * 2**attempt if attempt < ATTEMPTS - 1 else 0)
        why = str(failure) or f"no answer within {self._settings.timeout:g} s"
        msg = f"adapter {self._settings.adapter} tells no log-likelihoods just now ({why}); try again later."
        raise RehearsalError(msg)


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


Watch = Callable[[Sequence[Conversation]], AbstractContextManager[Progress]]


class Book(Protocol):
    """Where conversations are written as they happen, and taken up again after an interruption."""

    @property
    def name(self) -> str:
        """What these conversations are called where a bot keeps them apart from others."""
        ...

    def begun(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        """The same conversations, each as far as it has come."""
        ...

    def pending(self, conversation: Conversation) -> Utterance | None:
        """A line of the customer that the bot had not answered yet."""
        ...

    def said(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """The customer's line."""
        ...

    def answered(self, conversation: str, turn: int, answer: Answer) -> None:
        """The bot's answer."""
        ...

    def ended(self, conversation: str, ended: Ended, reason: str, closing: str) -> None:
        """Why a conversation stopped."""
        ...


class NoBook:
    """Nothing is written: lm_eval's own command line keeps what it wants to keep."""

    def __init__(self) -> None:
        """Has a name that no other process has."""
        self.name = secrets.token_hex(4)

    def begun(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        """None of them has begun."""
        return list(conversations)

    def pending(self, conversation: Conversation) -> Utterance | None:
        """Nothing."""

    def said(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """Forgets it."""

    def answered(self, conversation: str, turn: int, answer: Answer) -> None:
        """Forgets it."""

    def ended(self, conversation: str, ended: Ended, reason: str, closing: str) -> None:
        """Forgets it."""


class _Unwatched:
    def turn(self, conversation: Conversation) -> None: ...
    def graded(self, context: Any, scores: Any) -> None: ...
    def ended(self, conversation: Conversation) -> None: ...


@contextlib.contextmanager
def unwatched(plan: Sequence[Conversation]) -> Iterator[Progress]:
    """Nobody is told how it goes on."""
    yield _Unwatched()


class _Asked(NamedTuple):
    request: Any
    conversation: Conversation


class RequestAnswerer:
    """Answers lm_eval's three kinds of requests."""

    def __init__(self, session: Session, book: Book | None = None, watch: Watch = unwatched) -> None:
        """`watch` is told of the conversations while they are held."""
        self.session, self.book, self.watch = session, book or NoBook(), watch
        self._often: Counter[Place] = Counter()

    def generate(self, requests: Sequence[Any]) -> list[str]:
        """What the bot says last in each conversation, cut as the request asks; "" where it failed."""
        asked = [self._asked(request) for request in requests]
        prompts = {each.conversation.case.id: told for each in asked if (told := self._sent(each))}
        begun = self.book.begun([each.conversation for each in asked])
        with self.watch(begun) as progress:
            held = self.session.run(self._hold(begun, prompts, progress))
        for each, conversation in zip(asked, held, strict=True):
            self._remember(each.request, conversation)
        _say_failures(held)
        return [
            generation(conversation, each.request.args[1])
            for each, conversation in zip(asked, held, strict=True)
        ]

    def likelihoods(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        """The log-likelihood of each continuation, and whether the model would have said just that."""
        found = self.session.run(
            self._pairs([(self._masked(plain_text(each.args[0])), each.args[1]) for each in requests])
        )
        by_document: dict[Place, list[tuple[Any, float, bool]]] = {}
        for request, (value, greedy) in zip(requests, found, strict=True):
            by_document.setdefault(place_of(request), []).append((request, value, greedy))
        self._write(likelihoods_told(each) for each in by_document.values())
        return found

    def rolling(self, requests: Sequence[Any]) -> list[float]:
        """The log-likelihood of each whole text."""
        found = self.session.run(self._texts([self._masked(request.args[0]) for request in requests]))
        self._write((request, f"{value:.4f}", {}) for request, value in zip(requests, found, strict=True))
        return found

    def _sent(self, asked: _Asked) -> RowPrompt | None:
        return sent(self.session, asked.request, asked.conversation.case)

    def _masked(self, text: str) -> str:
        return self.session.masked(text, language_of(text))

    def _asked(self, request: Any, question: str | None = None) -> _Asked:
        self._often[place_of(request)] += 1
        number = self._often[place_of(request)]
        return _Asked(request, conversation_of(self.session, request, number, question=question))

    def _remember(self, request: Any, conversation: Conversation) -> None:
        self.session.conversations.setdefault(place_of(request), []).append(conversation)
        if row := row_of(request.doc):
            self.session.of_rows[row] = conversation

    async def _hold(
        self, conversations: Sequence[Conversation], prompts: dict[str, RowPrompt], progress: Progress
    ) -> list[Conversation]:
        bot = await self.session.bot(tuple(conversations))
        prompted = PromptedBot(bot, prompts) if prompts else bot
        waiting, held = iter(enumerate(conversations)), list(conversations)

        async def one_after_the_other() -> None:
            for place, conversation in waiting:
                held[place] = await self._converse(conversation, prompted, progress)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(self.session.settings.concurrency, len(conversations))):
                    tasks.create_task(one_after_the_other())
        except ExceptionGroup as group:
            raise first_of(group) from None
        return held

    async def _converse(self, conversation: Conversation, bot: Bot, progress: Progress) -> Conversation:
        if conversation.ended is not None:
            return conversation
        turns, parting = self._turns(conversation)
        done = await converse(
            conversation,
            self._user(conversation),
            bot,
            self.book,
            turns=turns,
            parting=parting,
            session=f"{self.book.name}/{conversation.id}",
            timeout=self.session.settings.timeout,
            pending=self.book.pending(conversation),
            on_turn=progress.turn,
        )
        if done.ended is Ended.USER_FAILED:
            msg = f"{conversation.id}: the simulated customer failed: {done.reason}"
            raise RehearsalError(msg)
        self.book.ended(done.id, done.ended or Ended.TURN_LIMIT, done.reason, done.closing)
        progress.ended(done)
        return done

    def _turns(self, conversation: Conversation) -> tuple[int, bool]:
        """One turn and the lines of the document, unless somebody goes on from there."""
        if conversation.persona == SCRIPTED:
            return 1 + len(conversation.case.script), False
        return self.session.playing.turns(conversation)

    def _user(self, conversation: Conversation) -> User:
        return (
            MixedUser(conversation.case.script)
            if conversation.persona == SCRIPTED
            else self.session.playing.user(conversation)
        )

    async def _likelihoods(self) -> Likelihoods:
        settings = self.session.settings
        return Likelihoods(teller(await self.session.bot(()), settings.adapter), settings)

    async def _pairs(self, pairs: list[tuple[str, str]]) -> list[tuple[float, bool]]:
        with contextlib.closing(await self._likelihoods()) as told:
            return await told.pairs(pairs)

    async def _texts(self, texts: list[str]) -> list[float]:
        with contextlib.closing(await self._likelihoods()) as told:
            return await told.texts(texts)

    def _write(self, told: Iterator[tuple[Any, str, dict[str, float]]]) -> None:
        """Each document as one turn: what stood before, and the likeliest of what might follow."""
        answers = [(self._asked(request), Answer(text=text, logprobs=lls)) for request, text, lls in told]
        begun = self.book.begun([asked.conversation for asked, _ in answers])
        for (asked, answer), conversation in zip(answers, begun, strict=True):
            turn = Turn(index=1, user=conversation.case.question, answer=answer)
            held = conversation.model_copy(update={"turns": (turn,), "ended": Ended.TURN_LIMIT})
            if conversation.ended is None:
                self.book.said(conversation.id, 1, Utterance(text=turn.user))
                self.book.answered(conversation.id, 1, answer)
                self.book.ended(conversation.id, Ended.TURN_LIMIT, "", "")
            self._remember(asked.request, held)


def likelihoods_told(found: Sequence[tuple[Any, float, bool]]) -> tuple[Any, str, dict[str, float]]:
    """A document's first request, what is likeliest, and how likely everything is that it was asked for.

    Where the choices differ in what stands before and not in what follows, they are told by the former.
    """
    first = found[0][0]
    contexts = {request.args[0] for request, _, _ in found}
    part = 0 if len(contexts) > 1 and len({request.args[1] for request, _, _ in found}) == 1 else 1
    same = [each for each in found if part == 0 or each[0].args[0] == first.args[0]]
    values = {str(request.args[part]).strip(): value for request, value, _ in same}
    return first, max(values, key=lambda text: values[text]), values


def generation(conversation: Conversation, given: Any) -> str:
    """The last answer, up to the first of the texts to stop at and to the most tokens allowed.

    Tokens are counted by the bot's endpoint where it says so, and else estimated.
    """
    answer = conversation.turns[-1].answer if conversation.turns else Answer(text="")
    kwargs = given if isinstance(given, dict) else {}
    until = kwargs.get("until") or ()
    stops = [until] if isinstance(until, str) else list(until)
    ends = [at for stop in stops if stop and (at := answer.text.find(stop)) >= 0]
    text = _shortened(answer, kwargs.get("max_gen_toks"))
    return text[: min(ends)] if ends else text


def _shortened(answer: Answer, most: Any) -> str:
    if not isinstance(most, int) or most < 1:
        return answer.text
    told = answer.usage.tokens_out if answer.usage else 0
    count = told or tokens(answer.text)
    return answer.text if count <= most else answer.text[: len(answer.text) * most // count]


def _say_failures(held: Sequence[Conversation]) -> None:
    """How often the bot gave no answer, and why."""
    last = [conversation.turns[-1].answer.error for conversation in held if conversation.turns]
    kinds = Counter(error.kind for error in last if error)
    if kinds:
        why = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        say(f"{kinds.total()} of {len(held)} requests got no answer ({why}): they count as empty answers.")


# Named here so that they are registered before ours, which would else be the only one.
ITS_OWN = models.MODEL_MAPPING
# What lm_eval tells every model, and what is of no use to a bot.
_NOT_OURS = ("batch_size", "max_batch_size", "device", "trust_remote_code")


@register_model("rehearsal")
class RehearsalLM(LM):  # type: ignore[misc]
    """The bot under rehearsal; its likelihoods are those of its endpoint, where that tells any."""

    def __init__(self, asking: RequestAnswerer | None = None, **model_args: Any) -> None:
        """lm_eval's command line gives `model_args`: settings of a rehearsal, and else of the adapter."""
        super().__init__()
        if asking is None:
            session = begin(settings_of(model_args))
            atexit.register(session.close)
            asking = RequestAnswerer(session)
        self.asking = asking

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """What the bot says to each request."""
        return self.asking.generate(requests)

    def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """How likely each continuation is after its context, and whether it is the likeliest."""
        return self.asking.likelihoods(requests)

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        """How likely each whole text is."""
        return self.asking.rolling(requests)

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        """A chat stays one: the bot is sent its messages."""
        return as_chat(chat_history)

    @property
    def tokenizer_name(self) -> str:
        """Whoever makes tokens of texts, it is not us."""
        return "rehearsal"


def settings_of(model_args: Mapping[str, Any]) -> Settings:
    """The settings that lm_eval's `--model_args` stand for, over environment and rehearsal.toml."""
    given = {key: _text(value) for key, value in model_args.items() if key not in _NOT_OURS}
    flags: dict[str, Any] = {key: value for key, value in given.items() if key in Settings.model_fields}
    own = [f"{key}={value}" for key, value in given.items() if key not in Settings.model_fields]
    return load(flags | ({"set": own} if own else {}))


def _text(value: Any) -> str:
    """As it was written: lm_eval makes booleans and numbers of texts."""
    return str(value).lower() if isinstance(value, bool) else "none" if value is None else str(value)
