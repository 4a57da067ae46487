"""The bot asked for lm_eval: every request a conversation, all of them on one event loop."""

import asyncio
import contextlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from simulator.core.errors import RehearsalError
from simulator.core.types import Answer, Conversation, Ended, Rag, Turn, User, Utterance
from simulator.data.files import language_of
from simulator.harness.documents import (
    SCRIPTED,
    Sending,
    Sent,
    conversation,
    place_of,
    plain_text,
    row_of,
    sent,
)
from simulator.harness.likelihood import Likelihoods, teller
from simulator.harness.session import Place, Session, say
from simulator.runner.conversation import converse
from simulator.runner.estimate import tokens
from simulator.runner.run import Progress, first_of
from simulator.users.scripted import MixedUser

Watch = Callable[[Sequence[Conversation]], AbstractContextManager[Progress]]


class Book(Protocol):
    """Where conversations are written as they happen, and taken up again after an interruption."""

    @property
    def name(self) -> str:
        """What these conversations are called where a bot keeps them apart from others."""
        ...

    def begun(self, talks: Sequence[Conversation]) -> list[Conversation]:
        """The same conversations, each as far as it has come."""
        ...

    def pending(self, talk: Conversation) -> Utterance | None:
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

    def begun(self, talks: Sequence[Conversation]) -> list[Conversation]:
        """None of them has begun."""
        return list(talks)

    def pending(self, talk: Conversation) -> Utterance | None:
        """Nothing."""

    def said(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """Forgets it."""

    def answered(self, conversation: str, turn: int, answer: Answer) -> None:
        """Forgets it."""

    def ended(self, conversation: str, ended: Ended, reason: str, closing: str) -> None:
        """Forgets it."""


class _Unwatched:
    def turn(self, conversation: Conversation) -> None: ...
    def graded(self, exhibit: Any, scores: Any) -> None: ...
    def ended(self, conversation: Conversation) -> None: ...


@contextlib.contextmanager
def unwatched(plan: Sequence[Conversation]) -> Iterator[Progress]:
    """Nobody is told how it goes on."""
    yield _Unwatched()


class _Asked(NamedTuple):
    request: Any
    talk: Conversation


class Asking:
    """Answers lm_eval's three kinds of requests."""

    def __init__(self, session: Session, book: Book | None = None, watch: Watch = unwatched) -> None:
        """`watch` is told of the conversations while they are held."""
        self.session, self.book, self.watch = session, book or NoBook(), watch
        self._often: Counter[Place] = Counter()

    def generate(self, requests: Sequence[Any]) -> list[str]:
        """What the bot says last in each conversation, cut as the request asks; "" where it failed."""
        asked = [self._asked(request) for request in requests]
        prompts = {each.talk.case.id: told for each in asked if (told := self._sent(each))}
        begun = self.book.begun([each.talk for each in asked])
        with self.watch(begun) as progress:
            held = self.session.run(self._hold(begun, prompts, progress))
        for each, talk in zip(asked, held, strict=True):
            self._remember(each.request, talk)
        _say_failures(held)
        return [generation(talk, each.request.args[1]) for each, talk in zip(asked, held, strict=True)]

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

    def _sent(self, asked: _Asked) -> Sent | None:
        return sent(self.session, asked.request, asked.talk.case)

    def _masked(self, text: str) -> str:
        return self.session.masked(text, language_of(text))

    def _asked(self, request: Any, question: str | None = None) -> _Asked:
        self._often[place_of(request)] += 1
        number = self._often[place_of(request)]
        return _Asked(request, conversation(self.session, request, number, question=question))

    def _remember(self, request: Any, talk: Conversation) -> None:
        self.session.talks.setdefault(place_of(request), []).append(talk)
        if row := row_of(request.doc):
            self.session.of_rows[row] = talk

    async def _hold(
        self, talks: Sequence[Conversation], prompts: dict[str, Sent], progress: Progress
    ) -> list[Conversation]:
        bot = await self.session.bot(tuple(talks))
        rag = Sending(bot, prompts) if prompts else bot
        waiting, held = iter(enumerate(talks)), list(talks)

        async def one_after_the_other() -> None:
            for place, talk in waiting:
                held[place] = await self._converse(talk, rag, progress)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(self.session.settings.concurrency, len(talks))):
                    tasks.create_task(one_after_the_other())
        except ExceptionGroup as group:
            raise first_of(group) from None
        return held

    async def _converse(self, talk: Conversation, rag: Rag, progress: Progress) -> Conversation:
        if talk.ended is not None:
            return talk
        turns, parting = self._turns(talk)
        done = await converse(
            talk,
            self._user(talk),
            rag,
            self.book,
            turns=turns,
            parting=parting,
            session=f"{self.book.name}/{talk.id}",
            timeout=self.session.settings.timeout,
            pending=self.book.pending(talk),
            on_turn=progress.turn,
        )
        if done.ended is Ended.USER_FAILED:
            msg = f"{talk.id}: the simulated customer failed: {done.reason}"
            raise RehearsalError(msg)
        self.book.ended(done.id, done.ended or Ended.TURN_LIMIT, done.reason, done.closing)
        progress.ended(done)
        return done

    def _turns(self, talk: Conversation) -> tuple[int, bool]:
        """One turn and the lines of the document, unless somebody goes on from there."""
        if talk.persona == SCRIPTED:
            return 1 + len(talk.case.script), False
        return self.session.playing.turns(talk)

    def _user(self, talk: Conversation) -> User:
        return MixedUser(talk.case.script) if talk.persona == SCRIPTED else self.session.playing.user(talk)

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
        begun = self.book.begun([asked.talk for asked, _ in answers])
        for (asked, answer), talk in zip(answers, begun, strict=True):
            turn = Turn(index=1, user=talk.case.question, answer=answer)
            held = talk.model_copy(update={"turns": (turn,), "ended": Ended.TURN_LIMIT})
            if talk.ended is None:
                self.book.said(talk.id, 1, Utterance(text=turn.user))
                self.book.answered(talk.id, 1, answer)
                self.book.ended(talk.id, Ended.TURN_LIMIT, "", "")
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


def generation(talk: Conversation, given: Any) -> str:
    """The last answer, up to the first of the texts to stop at and to the most tokens allowed.

    Tokens are counted by the bot's endpoint where it says so, and else estimated.
    """
    answer = talk.turns[-1].answer if talk.turns else Answer(text="")
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
    last = [talk.turns[-1].answer.error for talk in held if talk.turns]
    kinds = Counter(error.kind for error in last if error)
    if kinds:
        why = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        say(f"{kinds.total()} of {len(held)} requests got no answer ({why}): they count as empty answers.")
