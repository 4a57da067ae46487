"""Plays one conversation, from the case's question to its end; every failure of the bot becomes an Answer.

A conversation ends in one of these ways: the customer leaves (content, out of patience, or handed over to a
person); the turns are used up; the bot failed twice in a row, or denied access; the customer model failed, or
its endpoint, which is held against nobody; the budget is spent; or it is interrupted, and goes on when the
run is resumed.

A bot is not our code. Whatever it raises, returns or withholds is a finding about it, stored with its kind:
even SystemExit. What passes through are errors after which nothing else can succeed either.

    "550 yen."                    an answer
    None, "", "  "                empty: blanks and invisible characters are no answer
    {"x": 1}, 5                   malformed, with what was expected instead
    raise ValueError("cut off")   error: "ValueError: cut off"
    nothing within --timeout      timeout
    20,001 characters             an answer, cut off and marked with " […]"
    a call of a tool, no text     only_tools, with its name

The order of one turn, which storage relies on: the line is written, the bot asked, the answer saved, then
`on_turn` called, which has it graded beside the dialogue. An interruption between the first two steps costs
the answer, never the line.
"""

import asyncio
import contextlib
import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from simulator.core.answers import MOST_PASSAGES, answer_of, without_reasoning
from simulator.core.clock import TimeLimit
from simulator.core.concurrency import is_async, on_a_thread
from simulator.core.errors import (
    HOPELESS,
    BotFailure,
    BoundaryFailure,
    MalformedReply,
    ModelFailure,
    RunFileError,
)
from simulator.core.messages import Message, _, changed, encodable, shown
from simulator.core.replies import revalidated
from simulator.core.tool_calls import CUT_MARK, bounded
from simulator.core.types import (
    COMPLETE,
    SCRIPTED,
    Answer,
    Bot,
    Case,
    ChatMessage,
    Conversation,
    Ended,
    Failure,
    GradingContext,
    Query,
    Reaction,
    Turn,
    User,
    Utterance,
    traits_of,
    turn_of,
)
from simulator.models.pricing import BudgetSpent

# Longer answers are cut and marked: a bot that returns a megabyte must not fill every prompt and sheet.
LONGEST_ANSWER = 20_000
# Characters of all passages of an answer: a whole index returned by mistake would fill file and memory.
MOST_IN_PASSAGES = 400_000
LONGEST_MESSAGE = 300
# Of the tools that a bot called instead of answering, so many are named.
_MOST_NAMED = 5
# After this many failures in a row the conversation ends. One may pass; a customer who is met with two
# leaves, and a bot that is down would be asked for every turn of every conversation.
FAILURES_IN_A_ROW = 2
# Kinds of failures of a customer's model that are its endpoint's: no answer, or one that is no reply at all.
_OF_ENDPOINT = ("timeout", "unreachable", "error", "malformed")
# Not failures of the bot, though they may pass through it (the demo bot asks a model of ours): after these
# nothing else can succeed.
_FATAL = (*HOPELESS, BudgetSpent, RunFileError, KeyboardInterrupt, GeneratorExit)


async def ask_plainly(case: Case, turns: tuple[Turn, ...]) -> Utterance:
    """The usual opening: the case's question unchanged."""
    return Utterance(text=case.question)


class Log(Protocol):
    """Saves each line of a conversation as soon as it exists."""

    def save_utterance(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """Saves the customer's line."""
        ...

    def save_answer(self, conversation: str, turn: int, answer: Answer) -> None:
        """Saves the bot's answer."""
        ...


class Unsaved(Log):
    """Saves nothing: this conversation is never resumed."""

    def save_utterance(self, *_line: object) -> None:
        """Nothing."""

    def save_answer(self, *_answer: object) -> None:
        """Nothing."""


async def converse(
    start: Conversation,
    user: User,
    bot: Bot,
    log: Log,
    *,
    turns: int,
    session: str,
    timeout: float,
    opening: User = ask_plainly,
    parting: bool = True,
    pending: Utterance | None = None,
    on_turn: Callable[[Conversation], None] = lambda _: None,
) -> Conversation:
    """Continues `start` up to `turns` turns, then asks how the customer leaves; returns it with its ending.

    `opening` writes the first line, `user` all others; without `parting` nobody is asked how they leave.
    `pending` is a customer line that an interruption left unanswered. `on_turn` is called after each new
    turn. Raises AccessDenied, Outage and BudgetSpent.
    """
    conversation = start
    while True:
        index = len(conversation.turns) + 1
        # A log has its answers at once and is read to its end, whatever failed in it.
        if not traits_of(bot).at_once and (failure := _fatal_failure(conversation)):
            return _end(conversation, Ended.RAG_FAILED, _said(failure, conversation))
        if index > turns and not parting:
            return _end(conversation, Ended.TURN_LIMIT, "")
        try:
            # What an interruption left is said as it is, whoever would speak now.
            line = pending or await (user if conversation.turns else opening)(
                conversation.case, conversation.turns
            )
        except HOPELESS:
            raise
        except ModelFailure as error:
            lost = error.failure.kind in _OF_ENDPOINT and not isinstance(error, MalformedReply)
            how = Ended.ENDPOINT_FAILED if lost else Ended.USER_FAILED
            return _end(conversation, how, _said(error.failure, conversation))
        # Leaving goes before the limit: who is content with the last answer left content.
        if line.next != "stay":
            ended = Ended.TURN_LIMIT if line.next == "over" else Ended(line.next)
            return _end(conversation, ended, line.reason, line.text, line.reaction)
        if index > turns:
            return _end(conversation, Ended.TURN_LIMIT, line.reason, reaction=line.reaction)
        if pending is None:
            log.save_utterance(conversation.id, index, line)
        pending = None
        # From here to the next save an interruption costs the bot's answer alone: the line is in the file.
        answer = await ask(bot, _query(conversation, line.text, session), timeout)
        log.save_answer(conversation.id, index, answer)
        turn = turn_of(index, line, answer)
        conversation = conversation.model_copy(update={"turns": (*conversation.turns, turn)})
        on_turn(conversation)


def grading_context(conversation: Conversation, index: int) -> GradingContext:
    """What judges see of turn `index` (from 1): the turn, those before it, the case and the persona."""
    return GradingContext(
        conversation=conversation.id,
        case=conversation.case,
        persona=conversation.persona,
        turn=conversation.turns[index - 1],
        earlier=conversation.turns[: index - 1],
    )


def grading_contexts(conversation: Conversation) -> Iterator[GradingContext]:
    """All of a conversation that judges see: each turn, and the whole of one that was held to its end."""
    for turn in conversation.turns:
        yield grading_context(conversation, turn.index)
    if (whole := conversation_context(conversation)) is not None:
        yield whole


def conversation_context(conversation: Conversation) -> GradingContext | None:
    """What judges of the whole conversation see; None unless it was held to its end, and for a single row."""
    if conversation.persona == SCRIPTED or conversation.ended not in COMPLETE or not conversation.turns:
        return None
    last = grading_context(conversation, len(conversation.turns))
    return last.model_copy(update={"closing": conversation.closing})


def _end(
    conversation: Conversation,
    ended: Ended,
    reason: str,
    closing: str = "",
    reaction: Reaction | None = None,
) -> Conversation:
    ending = {"ended": ended, "reason": reason, "closing": closing, "reaction": reaction}
    return conversation.model_copy(update=ending)


def _fatal_failure(conversation: Conversation) -> Failure | None:
    """The failure that ends a conversation: access denied, or one too many in a row; None otherwise.

    Turns of an earlier session count, too: what is resumed ends where it would have ended.
    """
    errors = [turn.answer.error for turn in conversation.turns[-FAILURES_IN_A_ROW:]]
    # The last turn was answered: whatever failed before is over.
    if not errors or errors[-1] is None:
        return None
    in_a_row = len(errors) == FAILURES_IN_A_ROW and all(errors)
    return errors[-1] if in_a_row or errors[-1].kind == "denied" else None


def _query(conversation: Conversation, text: str, session: str) -> Query:
    # Failed answers are part of it, as empty texts: so a stateless bot sees the dialogue as the customer did.
    history = list(conversation.case.history)
    for turn in conversation.turns:
        history.append(ChatMessage(role="user", content=turn.user))
        history.append(ChatMessage(role="assistant", content=turn.answer.text))
    return Query(
        text=text,
        history=tuple(history),
        session=session,
        case=conversation.case.id,
        language=conversation.case.language,
    )


async def ask(bot: Bot, query: Query, timeout: float) -> Answer:
    """Asks the bot; every failure is returned as `Answer.error`.

    Waiting for a free place, where the bot limits its concurrent requests, does not count as answer time.
    """
    places = traits_of(bot).places
    async with places or contextlib.nullcontext():
        answer = await timed_answer(bot, query, timeout)
        # Places at a model's endpoint learn from it how much that bears.
        if answer.error is None and (answered := getattr(places, "answered", None)):
            answered()
        return answer


async def timed_answer(bot: Bot, query: Query, timeout: float) -> Answer:
    """Like `ask`, for callers that already have one of the bot's places.

    `seconds` of the answer are those that the adapter measured itself, if it did (a stream knows better when
    it ended), else those of the call.
    """
    clock = TimeLimit(timeout)
    try:
        async with clock:
            answer = as_answer(await call_bot(bot, query))
    except _FATAL:
        raise
    except BaseException as error:  # the bot is not our code: whatever it raises is a finding
        answer = _failure_of(error)
    # A cancellation that the bot swallowed; one of its own is none.
    if (task := asyncio.current_task()) is not None and task.cancelling():
        raise asyncio.CancelledError
    if clock.expired():
        answer = _failed("timeout", _("no answer within {timeout:g} s", timeout=timeout))
    measured = answer.seconds  # by the adapter itself, where it does
    if not measured or not math.isfinite(measured) or measured <= 0:
        measured = clock.elapsed
    return answer.model_copy(update={"seconds": measured})


def _said(failure: Failure, conversation: Conversation) -> str:
    """Why it broke off, in the language of the conversation: people read it in reports."""
    return shown(failure.message, conversation.case.language)


def _failure_of(error: BaseException) -> Answer:
    if isinstance(error, BoundaryFailure):
        return _failed(error.failure.kind, error.failure.message)
    kind = "timeout" if isinstance(error, TimeoutError) else "error"
    try:
        message = str(error)
    except Exception:  # its own __str__ fails
        message = ""
    return _failed(kind, f"{type(error).__name__}: {message}".rstrip(": "))


async def call_bot(bot: Bot, query: Query) -> Any:
    """Calls a bot, async or not, and returns its result; an exception of an async bot passes through.

    An ordinary function runs on a thread, where it may block. One that hangs stays there when the time is
    over: it is a daemon, and cannot keep the program from ending.
    """
    if is_async(bot):
        return await bot(query)
    if traits_of(bot).at_once:  # it has the answer already and needs no thread
        return bot(query)
    result = await on_a_thread(_outcome, bot, query, name="bot")
    return await result if inspect.isawaitable(result) else result


def _outcome(bot: Bot, query: Query) -> Any:
    try:
        return bot(query)
    except BaseException as error:  # on a thread of its own, even KeyboardInterrupt comes from the bot
        return _failure_of(error)


def as_answer(result: Any) -> Answer:
    """The Answer for what a bot returned; None, an empty text or an unknown type becomes a failure."""
    try:
        given = answer_of(result)
        # No more than judges can look at.
        if (n := len(given.passages)) > MOST_PASSAGES:
            raise BotFailure("malformed", _("{n:,} passages, more than {most:,}", n=n, most=MOST_PASSAGES))
        if (n := sum(len(passage.text) for passage in given.passages)) > MOST_IN_PASSAGES:
            msg = _("passages of {n:,} characters, more than {most:,}", n=n, most=MOST_IN_PASSAGES)
            raise BotFailure("malformed", msg)
        if given.tools:
            given = given.model_copy(update={"tools": bounded(given.tools)})
        answer = without_reasoning(revalidated(Answer, given))
    except BotFailure as error:
        return _failure_of(error)
    # Blanks, control characters and zero-width characters are no answer.
    if answer.error is None and not any(char.isprintable() and not char.isspace() for char in answer.text):
        empty = Failure(kind="empty", message=_("empty answer"))
        if answer.tools:
            names = tuple(dict.fromkeys(call.name for call in answer.tools))[:_MOST_NAMED]
            empty = Failure(kind="only_tools", message=_("the bot only called a tool ({names})", names=names))
        return answer.model_copy(update={"text": "", "error": empty})
    if len(answer.text) > LONGEST_ANSWER:
        return answer.model_copy(update={"text": answer.text[:LONGEST_ANSWER] + CUT_MARK})
    return answer


def _failed(kind: str, message: Message | str) -> Answer:
    # A bot's exception may hold a whole page; only what others said is cut, our sentence stays.
    one_line = changed(message, lambda text: " ".join(str(encodable(text)).split())[:LONGEST_MESSAGE])
    return Answer(text="", error=BotFailure(kind, one_line).failure)
