"""Any bot as a model of lm_eval: its answers, and the log-likelihoods that its endpoint tells.

    generate_until           a question to the bot; the answer, cut where the task says
    loglikelihood            nothing is asked of the bot: its endpoint's /completions echoes context and
                             continuation with the log-likelihood of every token
    loglikelihood_rolling    refused

The likelihood of a continuation is the sum over the tokens that the whole text has more than the context
alone.

Each answer is in the run file as soon as it is there. On `--resume` lm_eval, which knows of no resuming, is
started from the beginning, and gets at once what is there already; likelihoods come from the cache then.
"""

import asyncio
import contextlib
import json
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from lm_eval.api.model import LM

from simulator.core.concurrency import for_each
from simulator.core.errors import BotFailure, InputError, RehearsalError, RunFileError
from simulator.core.messages import Message, _, message_of
from simulator.core.secrets import without_secrets
from simulator.core.settings import Settings
from simulator.core.types import Answer, Bot, Conversation, Ended, Status, Turn, Utterance
from simulator.lab.harness.echo import Tokens, tokens_of
from simulator.lab.harness.tasks import (
    DocumentKey,
    HarnessSession,
    conversation_of,
    document_key,
)
from simulator.models.cache import ResponseCache, request_key
from simulator.runner.conversation import converse
from simulator.runner.estimate import tokens
from simulator.runner.run import Progress, create_run
from simulator.storage.run_file import HARNESS_NOTE, RunFile
from simulator.text.typography import language_of
from simulator.users.scripted import MixedUser

LogprobSource = Callable[[str], Awaitable[Tokens]]


def logprob_source(bot: Bot, adapter: str) -> LogprobSource:
    """The bot's function for log-likelihoods; raises InputError if it has none."""
    # The bot may be wrapped, to be masked or limited; the adapter's own object knows its endpoint.
    inner: Any = bot
    while inner is not None:
        if source := getattr(inner, "prompt_logprobs", None):
            return source  # type: ignore[no-any-return]
        if hasattr(inner, "post") and hasattr(inner, "body"):  # that of openai_chat
            return partial(tokens_of, body=inner.body, post=inner.post)
        inner = vars(inner).get("bot") if hasattr(inner, "__dict__") else None
    raise _refused(adapter, _("it is a bot that only answers"))


def _refused(adapter: str, why: Message | str) -> InputError:
    msg = _(
        "adapter {adapter} gives no log-likelihoods ({why}): choose tasks of output_type"
        " generate_until, or --adapter openai_chat at an endpoint whose /completions echoes prompt"
        " logprobs, such as vLLM.",
        adapter=adapter,
        why=why,
    )
    return InputError(msg)


class Likelihoods:
    """Log-likelihoods of texts; each text is requested once, however many choices share it.

    Texts that are known come from the response cache.
    """

    def __init__(self, source: LogprobSource, settings: Settings) -> None:
        """`settings` has the concurrency, the timeout and the cache."""
        self._source, self._settings = source, settings
        # The same text at another endpoint, or of another model, has other likelihoods.
        self._bot_key = request_key(settings.adapter, without_secrets(settings.set))
        self._cache = ResponseCache(settings.cache)
        self._requests: dict[str, asyncio.Task[Tokens]] = {}

    def close(self) -> None:
        """Ends what nobody waits for any more, and closes the cache."""
        for request in self._requests.values():
            request.cancel()
        self._cache.close()

    async def pairs(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, bool]]:
        """The log-likelihood of each continuation of a context, and whether it is the greedy one."""
        return await for_each(pairs, self._pair, self._settings.concurrency)

    async def _pair(self, pair: tuple[str, str]) -> tuple[float, bool]:
        context, continuation = pair
        # As lm_eval does: the space between the two belongs to what follows it, as tokenizers have it ("
        # Rome").
        bare = context.rstrip()
        before = await self._tokens(bare) if bare else ()
        whole = await self._tokens(context + continuation)
        tokens = whole[min(len(before), max(0, len(whole) - 1)) :]
        return math.fsum(value or 0.0 for value, _unused in tokens), all(greedy for _unused, greedy in tokens)

    async def _tokens(self, text: str) -> Tokens:
        # A task and not the result: choices that share a context ask for it at the same moment.
        if text not in self._requests:
            self._requests[text] = asyncio.create_task(self._cached(text))
        return await self._requests[text]

    async def _cached(self, text: str) -> Tokens:
        key = request_key(self._bot_key, {"echo": text})
        if (entry := self._cache.get(key)) is not None and isinstance(entry.get("tokens"), list):
            return [(value, bool(greedy)) for value, greedy in entry["tokens"]]
        adapter, timeout = self._settings.adapter, self._settings.timeout
        try:
            async with asyncio.timeout(timeout):
                tokens = await self._source(text)
        except BotFailure as error:
            # The endpoint cannot do it, and will not on a second try; anything else may pass.
            if error.failure.kind in ("refused", "malformed", "denied"):
                raise _refused(adapter, str(error)) from None
            why: Message | str = message_of(error)
        except TimeoutError:
            why = _("no answer within {timeout:g} s", timeout=timeout)
        else:
            self._cache.put(key, {"tokens": [list(token) for token in tokens]})
            return tokens
        msg = _(
            "adapter {adapter} returns no log-likelihoods at the moment ({why}); go on later.",
            adapter=adapter,
            why=why,
        )
        raise RehearsalError(msg)


class RunWriter:
    """Writes the run file of one evaluation, from the first conversation on."""

    def __init__(
        self, session: HarnessSession, settings: Settings, asked: dict[str, Any], resumed: Path | None = None
    ) -> None:
        """`settings` are stored with the run, `asked` is what is needed to resume it; `resumed` goes on."""
        self.session, self.settings, self.asked = session, settings, asked
        self.file: RunFile | None = None
        self._known: dict[str, Conversation] = {}
        self._started = time.monotonic()
        if resumed:
            self.file = RunFile.reopen(resumed)
            self.file.mark_running()
            self._known = {conversation.id: conversation for conversation in self.file.conversations()}
            session.ledger.record = self.file.save_call

    def begun(self, conversations: Sequence[Conversation]) -> tuple[RunFile, list[Conversation]]:
        """The run file, and the conversations as far as they have come.

        Raises RunFileError if a task has changed since the run began.
        """
        new = [conversation for conversation in conversations if conversation.id not in self._known]
        if self.file is None:
            personas = tuple(self.session.context.personas.values())
            self.file = create_run(self.settings, self.session.context, new, personas)
            self.save_note({})
            self.session.ledger.record = self.file.save_call
        elif new:
            self.file.add_conversations(new)
        self._known |= {conversation.id: conversation for conversation in new}
        # A changed document would get the answer to the old one.
        for conversation in conversations:
            if self._known[conversation.id].case != conversation.case:
                msg = _(
                    "{case}: the task has changed since this run began. Start a new run.",
                    case=conversation.case.id,
                )
                raise RunFileError(msg)
        return self.file, [self._known[conversation.id] for conversation in conversations]

    def save_note(self, measured: Mapping[str, Any]) -> None:
        """Saves what was asked for and, once it is known, what lm_eval measured."""
        if self.file:
            self.file.save_note(HARNESS_NOTE, json.dumps({**self.asked, **measured}, ensure_ascii=False))

    def close(self, status: Status) -> None:
        """Saves the final status, if there is a run file."""
        if self.file:
            self.file.commit()
            self.file.finish(status, time.monotonic() - self._started)
            self.file.close()


# Shows the progress of conversations.
Watch = Callable[[Sequence[Conversation]], AbstractContextManager[Progress]]


def likelihood_summary(requests: Sequence[tuple[Any, float, bool]]) -> tuple[Any, str, dict[str, float]]:
    """A document's first request, the likeliest choice, and the log-likelihood of every choice.

    Choices are usually continuations of one context. In tasks such as WinoGrande it is the other way round.
    If the choices differ in their contexts and not in their continuations, they are named by the contexts.
    """
    first = requests[0][0]
    contexts = {request.args[0] for request, _unused, _unused in requests}
    part = (
        0
        if len(contexts) > 1 and len({request.args[1] for request, _unused, _unused in requests}) == 1
        else 1
    )
    same = [request for request in requests if part == 0 or request[0].args[0] == first.args[0]]
    values = {str(request.args[part]).strip(): value for request, value, _unused in same}
    return first, max(values, key=lambda text: values[text]), values


def generation(conversation: Conversation, options: Any) -> str:
    """The answer, cut at the first of the texts to stop at, and at the maximum number of tokens.

    Tokens are those that the bot's endpoint reports, otherwise estimated.
    """
    answer = conversation.turns[-1].answer if conversation.turns else Answer(text="")
    kwargs = options if isinstance(options, dict) else {}
    until = kwargs.get("until") or ()
    # The earliest stop counts, whichever comes first in the list.
    stops = [until] if isinstance(until, str) else list(until)
    ends = [at for stop in stops if stop and (at := answer.text.find(stop)) >= 0]
    text, most = answer.text, kwargs.get("max_gen_toks")
    if isinstance(most, int) and most > 0:
        # Cut in proportion: where the model's tokens end nobody knows but its tokenizer.
        count = (answer.usage.tokens_out if answer.usage else 0) or tokens(text)
        text = text if count <= most else text[: len(text) * most // count]
    return text[: min(ends)] if ends else text


class RehearsalLM(LM):  # type: ignore[misc]
    """The bot under test as a model of lm_eval; likelihoods come from its endpoint."""

    def __init__(self, writer: RunWriter, watch: Watch) -> None:
        """`writer` has the session, and keeps every answer as it comes."""
        super().__init__()
        self.session, self.writer, self.watch = writer.session, writer, watch
        self._counts: Counter[DocumentKey] = Counter()

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """The bot's answer to each request, cut as it asks; "" if it failed."""
        asked = [self._asked(request) for request in requests]
        file, begun = self.writer.begun(asked)
        bot = self.session.run(self.session.bot(tuple(begun)))
        with self.watch(begun) as progress:
            conversations = self.session.run(
                for_each(
                    begun,
                    lambda conversation: self._converse(conversation, bot, file, progress),
                    self.session.settings.concurrency,
                )
            )
        for request, conversation in zip(requests, conversations, strict=True):
            self._remember(request, conversation)
        return [
            generation(conversation, request.args[1])
            for request, conversation in zip(requests, conversations, strict=True)
        ]

    def loglikelihood(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """The log-likelihood of each continuation, and whether the model would have said just that."""
        pairs = [(self._masked(request.args[0]), request.args[1]) for request in requests]
        likelihoods = self.session.run(self._likelihoods(pairs))
        by_document: dict[DocumentKey, list[tuple[Any, float, bool]]] = {}
        for request, (value, greedy) in zip(requests, likelihoods, strict=True):
            by_document.setdefault(document_key(request), []).append((request, value, greedy))
        self._save(likelihood_summary(pair) for pair in by_document.values())
        return likelihoods

    def loglikelihood_rolling(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[float]:
        """Refused: how likely whole texts are says nothing of a bot."""
        task = requests[0].task_name
        msg = _(
            "task {task} measures how likely whole texts are, which says nothing of a bot: choose tasks of"
            " output_type generate_until or multiple_choice.",
            task=task,
        )
        raise InputError(msg)

    def _masked(self, text: str) -> str:
        return self.session.masked(text, language_of(text))

    def _asked(self, request: Any) -> Conversation:
        """The conversation that a request asks for, still without turns."""
        # Asked several times (repeats of a task), it is a conversation each time.
        self._counts[document_key(request)] += 1
        return conversation_of(self.session, request, self._counts[document_key(request)])

    def _remember(self, request: Any, conversation: Conversation) -> None:
        self.session.conversations.setdefault(document_key(request), []).append(conversation)

    async def _converse(
        self, conversation: Conversation, bot: Bot, file: RunFile, progress: Progress
    ) -> Conversation:
        if conversation.ended is not None:
            return conversation
        done = await converse(
            conversation,
            MixedUser(()),
            bot,
            file,
            turns=1,
            parting=False,
            session=f"{file.path.parent.name}/{conversation.id}",
            timeout=self.session.settings.timeout,
            on_turn=progress.turn,
        )
        file.save_ending(done.id, done.ended or Ended.TURN_LIMIT, done.reason, done.closing)
        progress.ended(done)
        return done

    async def _likelihoods(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, bool]]:
        settings = self.session.settings
        source = logprob_source(await self.session.bot(()), settings.adapter)
        with contextlib.closing(Likelihoods(source, settings)) as likelihoods:
            return await likelihoods.pairs(pairs)

    def _save(self, documents: Iterator[tuple[Any, str, dict[str, float]]]) -> None:
        """Saves each document as one turn: its text, and the likeliest continuation as the answer."""
        answers = [
            (request, self._asked(request), Answer(text=text, logprobs=lls))
            for request, text, lls in documents
        ]
        file, begun = self.writer.begun([conversation for _unused, conversation, _unused in answers])
        for (request, _unused, answer), conversation in zip(answers, begun, strict=True):
            turn = Turn(index=1, user=conversation.case.question, answer=answer)
            if conversation.ended is None:
                file.save_utterance(conversation.id, 1, Utterance(text=turn.user))
                file.save_answer(conversation.id, 1, answer)
                file.save_ending(conversation.id, Ended.TURN_LIMIT, "", "")
            finished = conversation.model_copy(update={"turns": (turn,), "ended": Ended.TURN_LIMIT})
            self._remember(request, finished)
