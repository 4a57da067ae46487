"""One dialogue, from the case's question to its end; whatever the bot does becomes data here."""

import asyncio
import contextlib
import inspect
import math
import time
from collections.abc import Callable
from typing import Any, Protocol

from simulator.core.answers import answer_of
from simulator.core.concurrency import is_async, on_a_thread
from simulator.core.errors import AccessDenied, BotFailure, BoundaryFailure, ModelFailure, RunFileError
from simulator.core.replies import checked, encodable
from simulator.core.types import (
    Answer,
    Bot,
    Case,
    Conversation,
    Ended,
    Failure,
    Message,
    Query,
    Turn,
    User,
    Utterance,
    traits_of,
)
from simulator.models.pricing import BudgetSpent

# Longer answers are cut, with a mark: a bot that dumps a megabyte must not fill every prompt and sheet.
LONGEST_ANSWER = 20_000
CUT_MARK = " […]"
LONGEST_MESSAGE = 300
# A bot that fails this often in a row has ended the conversation itself.
FAILURES_IN_A_ROW = 2
# Not the bot's failures, though they may pass through it: after these nothing else can succeed.
_STOPPING = (AccessDenied, BudgetSpent, RunFileError, KeyboardInterrupt, GeneratorExit)
_LEAVING = {"satisfied": Ended.SATISFIED, "gave_up": Ended.GAVE_UP, "handed_over": Ended.HANDED_OVER}


async def ask_plainly(case: Case, turns: tuple[Turn, ...]) -> Utterance:
    """The first line of most conversations: the case's question as it stands."""
    return Utterance(text=case.question)


class Log(Protocol):
    """Where a dialogue is written as it happens."""

    def said(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """The customer's line."""
        ...

    def answered(self, conversation: str, turn: int, answer: Answer) -> None:
        """The bot's answer."""
        ...


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
    """Plays on from what `start` already holds, up to `turns` turns, then asks how the customer leaves.

    `opening` says the first line, `user` all others; without `parting` nobody is asked how they leave.
    `pending` is a customer line that was said but not
    answered before an interruption.
    `on_turn` is told of each new turn as soon as it is there. Raises AccessDenied and BudgetSpent.
    """
    conversation = start
    while True:
        index = len(conversation.turns) + 1
        if not traits_of(bot).at_once and (failed := _rag_gave_out(conversation)):
            return _end(conversation, Ended.RAG_FAILED, failed.message)
        if index > turns and not parting:
            return _end(conversation, Ended.TURN_LIMIT, "")
        try:
            line = pending or await (user if conversation.turns else opening)(
                conversation.case, conversation.turns
            )
        except AccessDenied:
            raise
        except ModelFailure as error:
            return _end(conversation, Ended.USER_FAILED, str(error))
        if line.next != "stay":
            return _end(conversation, _LEAVING[line.next], line.reason, line.text)
        if index > turns:
            return _end(conversation, Ended.TURN_LIMIT, line.reason)
        if pending is None:
            log.said(conversation.id, index, line)
        pending = None
        answer = await ask(bot, _query(conversation, line.text, session), timeout)
        log.answered(conversation.id, index, answer)
        turn = Turn(
            index=index, user=line.text, answer=answer, broken_rules=line.broken_rules, clean=line.clean
        )
        conversation = conversation.model_copy(update={"turns": (*conversation.turns, turn)})
        on_turn(conversation)


def _end(conversation: Conversation, ended: Ended, reason: str, closing: str = "") -> Conversation:
    return conversation.model_copy(update={"ended": ended, "reason": reason, "closing": closing})


def _rag_gave_out(conversation: Conversation) -> Failure | None:
    """The failure after which asking on makes no sense: a refused key, or one too many in a row."""
    last = [turn.answer.error for turn in conversation.turns[-FAILURES_IN_A_ROW:]]
    if not last or last[-1] is None:
        return None
    in_a_row = len(last) == FAILURES_IN_A_ROW and all(last)
    return last[-1] if in_a_row or last[-1].kind == "denied" else None


def _query(conversation: Conversation, text: str, session: str) -> Query:
    history = list(conversation.case.history)
    for turn in conversation.turns:
        history.append(Message(role="user", content=turn.user))
        history.append(Message(role="assistant", content=turn.answer.text))
    return Query(
        text=text,
        history=tuple(history),
        session=session,
        case=conversation.case.id,
        language=conversation.case.language,
    )


async def ask(bot: Bot, query: Query, timeout: float) -> Answer:
    """The bot's answer. Everything that can go wrong in it comes back as `Answer.error`.

    Waiting for one of a bot's places is no part of its time.
    """
    async with traits_of(bot).places or contextlib.nullcontext():
        return await answered(bot, query, timeout)


async def answered(bot: Bot, query: Query, timeout: float) -> Answer:
    """As `ask`, for who waits for one of a bot's places elsewhere."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(timeout) as clock:
            answer = as_answer(await called(bot, query))
    except _STOPPING:
        raise
    except BaseException as error:  # the bot is not our code: whatever it raises is a finding
        answer = _failure_of(error)
    _leave_if_cancelled()
    if clock.expired():
        answer = _failed("timeout", f"no answer within {timeout:g} s")
    own = answer.seconds
    timed = own if own and math.isfinite(own) and own > 0 else time.perf_counter() - started
    return answer.model_copy(update={"seconds": timed})


def _leave_if_cancelled() -> None:
    """Goes on with a cancellation that the bot swallowed; one that it raised itself cancels nothing."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _failure_of(error: BaseException) -> Answer:
    if isinstance(error, BoundaryFailure):
        return _failed(error.failure.kind, error.failure.message)
    kind = "timeout" if isinstance(error, TimeoutError) else "error"
    try:
        said = str(error)
    except Exception:  # its own __str__ fails
        said = ""
    return _failed(kind, f"{type(error).__name__}: {said}".rstrip(": "))


async def called(bot: Bot, query: Query) -> Any:
    """What the bot returns, whether it is async or not; whatever it raises."""
    if is_async(bot):
        return await bot(query)
    if traits_of(bot).at_once:  # it has the answer already: nobody waits for it
        return bot(query)
    result = await on_a_thread(_outcome, bot, query, name="bot")
    return await result if inspect.isawaitable(result) else result


def _outcome(bot: Bot, query: Query) -> Any:
    try:
        return bot(query)
    except BaseException as error:  # on a thread of its own, KeyboardInterrupt is the bot's own, too
        return _failure_of(error)


def as_answer(result: Any) -> Answer:
    """What a bot returned as an Answer; one that says nothing usable is a failure."""
    if result is None:
        return _failed("empty", "the bot returned None")
    try:
        return _checked(answer_of(result))
    except BotFailure as error:
        return _failure_of(error)


def _checked(answer: Answer) -> Answer:
    answer = checked(Answer, answer)
    if answer.error is None and not _is_visible(answer.text):
        return answer.model_copy(update={"text": "", "error": Failure(kind="empty", message="empty answer")})
    if len(answer.text) > LONGEST_ANSWER:
        return answer.model_copy(update={"text": answer.text[:LONGEST_ANSWER] + CUT_MARK})
    return answer


def _is_visible(text: str) -> bool:
    """Whether there is anything to read in it: not only blanks, control codes and zero-width marks."""
    return any(character.isprintable() and not character.isspace() for character in text)


def _failed(kind: str, message: str) -> Answer:
    one_line = " ".join(encodable(message).split())[:LONGEST_MESSAGE]
    return Answer(text="", error=BotFailure(kind, one_line).failure)
