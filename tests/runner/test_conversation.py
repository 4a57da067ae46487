"""A dialogue has the shape it should, and whatever a bot does in it becomes data."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from simulator.core.errors import AccessDenied, BotFailure, ModelFailure, RunFileError
from simulator.core.types import Answer, Bot, Case, Conversation, Ended, Query, Turn, User, Utterance
from simulator.models.pricing import BudgetSpent
from simulator.runner.conversation import ask, conversation_context, converse
from simulator.users.scripted import MixedUser
from tests.run_helpers import a_case, a_rich_case, a_talk, a_turn, echo


class Notes:
    """A log in memory."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int, str]] = []

    def save_utterance(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """The customer's line."""
        self.lines.append(("said", turn, utterance.text))

    def save_answer(self, conversation: str, turn: int, answer: Answer) -> None:
        """The bot's answer."""
        self.lines.append(("answered", turn, answer.text))


async def conversation(
    user: User | None = None,
    bot: Bot = echo,
    start: Conversation | None = None,
    log: Notes | None = None,
    **options: Any,
) -> Conversation:
    """A dialogue of up to three turns."""
    given: dict[str, Any] = {"turns": 3, "session": "s", "timeout": 5.0} | options
    return await converse(
        start or a_talk(), user or MixedUser(["二つ目", "三つ目"]), bot, log or Notes(), **given
    )


def leaving(after: int, utterance: Utterance) -> User:
    """A customer who leaves after so many turns, and otherwise counts."""

    async def user(case: Case, turns: tuple[Turn, ...]) -> Utterance:
        return utterance if len(turns) >= after else Utterance(text=f"その{len(turns) + 1}")

    return user


async def test_the_question_is_the_first_turn() -> None:
    """The case's question opens; the user is asked for every later line; each step is logged in order."""
    log = Notes()
    done = await conversation(log=log)
    question = a_case().question

    assert [turn.user for turn in done.turns] == [question, "二つ目", "三つ目"]
    assert [turn.index for turn in done.turns] == [1, 2, 3]
    assert log.lines == [
        ("said", 1, question), ("answered", 1, f"「{question}」ですね。"),
        ("said", 2, "二つ目"), ("answered", 2, "「二つ目」ですね。"),
        ("said", 3, "三つ目"), ("answered", 3, "「三つ目」ですね。"),
    ]  # fmt: skip


async def test_the_bot_gets_what_went_before() -> None:
    """Each query carries the case's own history and all earlier turns, one session, case and language."""
    queries: list[Query] = []

    async def bot(query: Query) -> str:
        queries.append(query)
        return "!" if len(queries) > 1 else ""

    case = a_rich_case()
    await conversation(bot=bot, start=a_talk(case))
    first, second, third = queries

    assert [m.content for m in first.history] == [m.content for m in case.history]
    assert [(m.role, m.content) for m in second.history[2:]] == [("user", case.question), ("assistant", "")]
    assert [m.content for m in third.history[2:]] == [case.question, "", "二つ目", "!"]
    assert {(q.session, q.case, q.language) for q in queries} == {("s", case.id, "ja")}


@pytest.mark.parametrize(
    ("way", "ended"),
    [
        ("satisfied", Ended.SATISFIED), ("gave_up", Ended.GAVE_UP), ("handed_over", Ended.HANDED_OVER),
    ],
)  # fmt: skip
async def test_a_customer_leaves_in_three_ways(way: str, ended: Ended) -> None:
    """The last words are the closing line, not a turn."""
    words = Utterance.model_validate({"text": "ではこれで。", "next": way, "reason": "済んだ"})
    done = await conversation(leaving(1, words))

    assert (done.ended, done.closing, done.reason) == (ended, "ではこれで。", "済んだ")
    assert len(done.turns) == 1


@pytest.mark.parametrize(
    ("words", "ended", "asked"),
    [
        (Utterance(text="まだあります。", next="stay", reason="続き"), Ended.TURN_LIMIT, 3),
        (Utterance(text="助かりました。", next="satisfied", reason="済んだ"), Ended.SATISFIED, 3),
        (Utterance(text="もういいです。", next="gave_up", reason="無駄"), Ended.GAVE_UP, 3),
        (None, Ended.TURN_LIMIT, 2),
    ],
)
async def test_at_the_limit_the_customer_says_how_it_went(
    words: Utterance | None, ended: Ended, asked: int
) -> None:
    """Who is content with the last answer left content; who would stay is stopped, and the bot not asked.

    Where nobody is to be asked how they leave, the limit ends it.
    """
    asks: list[int] = []
    log = Notes()

    async def user(case: Case, turns: tuple[Turn, ...]) -> Utterance:
        asks.append(len(turns))
        return words if words and len(turns) == 3 else Utterance(text=f"その{len(turns) + 1}")

    done = await conversation(user, log=log, parting=words is not None)

    assert (done.ended, len(done.turns), len(asks)) == (ended, 3, asked)
    assert [text for kind, _turn, text in log.lines if kind == "said"] == [
        a_case().question,
        "その2",
        "その3",
    ]
    assert done.reason == (words.reason if words else "")
    assert (context := conversation_context(done))
    assert context.turn.index == 3


async def test_two_failures_in_a_row_end_it() -> None:
    """One failure is survived; the second in a row is the bot's ending, with its message."""
    answers: Iterator[str | BotFailure] = iter(
        [BotFailure("error", "first"), "ok", BotFailure("timeout", "a"), BotFailure("error", "b")]
    )

    async def bot(query: Query) -> str:
        if isinstance(answer := next(answers), str):
            return answer
        raise answer

    done = await conversation(leaving(9, Utterance()), bot=bot, turns=9)

    assert [turn.answer.error is None for turn in done.turns] == [False, True, False, False]
    assert (done.ended, done.reason) == (Ended.RAG_FAILED, "b")


async def test_a_refused_key_ends_it_at_once() -> None:
    """Nobody asks on where the bot's endpoint has denied access, on whichever turn."""
    answers = iter(["ok"])

    async def bot(query: Query) -> str:
        for answer in answers:
            return answer
        raise BotFailure("denied", "401")

    done = await conversation(bot=bot)

    assert (done.ended, len(done.turns)) == (Ended.RAG_FAILED, 2)


async def test_the_customers_failure_is_not_the_bots() -> None:
    """A customer model that gives nothing usable ends the talk as user_failed, with what was said so far."""

    async def user(case: Case, turns: tuple[Turn, ...]) -> Utterance:
        raise ModelFailure("guard", "the customer model broke the rule 'desk' twice")

    done = await conversation(user)

    assert (done.ended, len(done.turns)) == (Ended.USER_FAILED, 1)
    assert "desk" in done.reason


@pytest.mark.parametrize(
    "error", [AccessDenied("denied", "401"), BudgetSpent("spent"), RunFileError("disk full")]
)
async def test_what_stops_a_run_is_nobodys_failure(error: Exception) -> None:
    """A refused key, a spent budget and a full disk pass through customer and bot alike."""

    async def user(case: Case, turns: tuple[Turn, ...]) -> Utterance:
        raise error

    async def bot(query: Query) -> str:
        raise error

    with pytest.raises(type(error)):
        await conversation(user)
    with pytest.raises(type(error)):
        await conversation(bot=bot)


async def test_an_interrupted_talk_goes_on() -> None:
    """Turns that are there are not played again; a line that was not answered is asked as it was said."""
    log = Notes()
    asked: list[str] = []

    async def bot(query: Query) -> str:
        asked.append(query.text)
        return "!"

    line = Utterance(text="途中の一言", broken_rules=("desk",))
    done = await conversation(bot=bot, start=a_talk(a_case(), a_turn()), log=log, pending=line)

    assert asked == ["途中の一言", "三つ目"]
    assert done.turns[0] == a_turn()
    assert [turn.broken_rules for turn in done.turns] == [(), ("desk",), ()]
    assert log.lines[0] == ("answered", 2, "!")


@pytest.mark.parametrize("swallowed", [(), (asyncio.CancelledError,)])
async def test_a_bot_cannot_swallow_an_interruption(swallowed: tuple[type[BaseException], ...]) -> None:
    """The line was said and is unanswered; a bot that answers when it is cancelled is not heard."""
    log, asked = Notes(), asyncio.Event()

    async def bot(query: Query) -> str:
        asked.set()
        with contextlib.suppress(*swallowed):
            await asyncio.Event().wait()
        return "too late"

    running = asyncio.create_task(conversation(bot=bot, log=log))
    await asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert [(step, turn) for step, turn, _ in log.lines] == [("said", 1)]
    late = await ask(bot, Query(text="?"), 0.01)
    assert late.error is not None
    assert (late.text, late.error.kind) == ("", "timeout")
