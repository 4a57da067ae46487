"""Whatever a bot raises, returns or withholds, it becomes an answer or a typed failure."""

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document

from simulator.core import shelves
from simulator.core.errors import BotFailure, InputError, ModelFailure
from simulator.core.loading import module_of_file
from simulator.core.tool_calls import CUT_MARK
from simulator.core.types import Answer, Bot, Passage, Query
from simulator.runner.conversation import ask

QUERY = Query(text="いくらですか")


async def failure(bot: Bot, timeout: float = 5.0) -> tuple[str, str]:
    """Kind and message of what went wrong in the bot's answer."""
    answer = await ask(bot, QUERY, timeout)
    assert answer.error is not None
    assert answer.text == ""
    return answer.error.kind, str(answer.error.message)


class Rude(BaseException):
    """What is no Exception."""


class Mute(Exception):
    """An error that cannot even be shown."""

    def __str__(self) -> str:
        """Fails."""
        raise ValueError("no words")


def raising(error: BaseException) -> Callable[[Query], str]:
    """A sync bot that raises."""

    def bot(query: Query) -> str:
        raise error

    return bot


def raising_later(error: BaseException) -> Bot:
    """An async bot that raises."""

    async def bot(query: Query) -> str:
        raise error

    return bot


@pytest.mark.parametrize("made", [raising, raising_later])
@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ValueError("bad\n  value"), "error", "ValueError: bad value"),
        (RuntimeError(), "error", "RuntimeError"),
        (TimeoutError("read timed out"), "timeout", "TimeoutError: read timed out"),
        (BotFailure("unreachable", "no\nroute"), "unreachable", "no route"),
        (InputError("mend it"), "error", "InputError: mend it"),
        (ModelFailure("timeout", "no reply"), "timeout", "no reply"),
        (StopIteration("end"), "error", "StopIteration"),
        (StopAsyncIteration("end"), "error", "StopAsyncIteration"),
        (asyncio.CancelledError(), "error", "CancelledError"),
        (SystemExit(1), "error", "SystemExit: 1"),
        (Rude("!"), "error", "Rude: !"),
        (BaseExceptionGroup("several", [Rude("!")]), "error", "BaseExceptionGroup: several"),
        (Mute(), "error", "Mute"),
        (ValueError("\ud800 x\0"), "error", "ValueError: \ufffd x\ufffd"),
        (ValueError("long " * 1000), "error", "ValueError: long"),
        (RecursionError("deep"), "error", "RecursionError: deep"),
    ],
)
async def test_whatever_a_bot_raises_is_a_finding(
    made: Callable[[BaseException], Bot], error: BaseException, kind: str, message: str
) -> None:
    """Sync or async, an exception is stored as one short line; only the kind tells them apart."""
    got = await failure(made(error))

    assert got[0] == kind
    assert message in got[1]
    assert len(got[1]) <= 300
    assert "\n" not in got[1]


async def test_a_failure_of_an_unknown_kind_names_the_kinds() -> None:
    """A BotFailure with a kind of somebody's own is an error that lists the kinds to choose from."""

    def bot(query: Query) -> str:
        raise BotFailure("overloaded", "too many questions")

    kind, message = await failure(bot)
    assert kind == "error"
    assert "no kind 'overloaded'; use one of timeout, error, empty, malformed, refused," in message


async def test_a_hanging_bot_is_given_up() -> None:
    """Sync or async, it has `timeout` seconds; the seconds are the answer's own."""
    release = threading.Event()

    def blocks(query: Query) -> str:
        release.wait(30)
        return "late"

    async def hangs(query: Query) -> str:
        await asyncio.Event().wait()
        return "never"

    assert await failure(blocks, 0.02) == ("timeout", "no answer within 0.02 s")
    assert await failure(hangs, 0.02) == ("timeout", "no answer within 0.02 s")
    assert 0.02 <= ((await ask(hangs, QUERY, 0.02)).seconds or 0) < 5
    release.set()


async def test_blocking_bots_run_beside_the_loop() -> None:
    """Three sync bots wait for each other: they can only all answer when they run at once."""
    meeting = threading.Barrier(3, timeout=10)

    def bot(query: Query) -> str:
        meeting.wait()
        return threading.current_thread().name

    answers = await asyncio.gather(*(ask(bot, QUERY, 10) for _ in range(3)))

    assert [answer.text for answer in answers] == ["bot"] * 3


class Desk:
    """A bot that is an object."""

    async def __call__(self, query: Query) -> str:
        """The answer."""
        return threading.current_thread().name

    async def answer(self, query: Query) -> str:
        """The same as a method."""
        return await self(query)


async def test_every_kind_of_callable_is_a_bot() -> None:
    """An async object, method or lambda runs on the loop; a function that returns an awaitable is awaited."""
    here = threading.current_thread().name
    for bot in (Desk(), Desk().answer, lambda query: Desk().answer(query)):
        assert (await ask(bot, QUERY, 5)).text == here


@pytest.mark.parametrize(
    "result", ["", " \n\t", "\x00"[:0], "\u200b\ufeff", "\x07\x1b", ("", []), ("  ", None)]
)
async def test_an_answer_with_nothing_to_read_is_empty(result: Any) -> None:
    """Blanks, control codes and zero-width marks are no answer."""
    assert await failure(lambda query: result) == ("empty", "empty answer")


PASSAGES = [
    "一",
    {"id": 0, "text": "二", "source": "s.md", "score": np.float32(0.5)},
    {"id": 1, "text": "三"},
    Passage(id="x", text="四"),
    Document(id="d", page_content="五", metadata={"source": "d.md"}),
    ("六", 0.25),
]
FOUND = (
    Passage(id="1", text="一"),
    Passage(id="0", text="二", source="s.md", score=0.5),
    Passage(id="1", text="三"),
    Passage(id="x", text="四"),
    Passage(id="d", text="五", source="d.md"),
    Passage(id="6", text="六", score=0.25),
)
DOORS = {
    "connect": "def connect():\n    return lambda query: RESULT",
    "answer": "def answer(question):\n    return RESULT",
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "result",
    [
        ("答え", PASSAGES),
        {"answer": "答え", "passages": PASSAGES},
        {"result": "答え", "contexts": PASSAGES},
        {"text": "答え", "documents": PASSAGES},
        (None, [{"role": "assistant", "content": "答え"}], PASSAGES),
    ],
)
async def test_both_doors_read_alike(
    door: str, result: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A function and what an own `connect` gives: ids 0 and 1 stay apart, documents and scores are read."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "bot.py").write_text(DOORS[door], encoding="utf-8")
    bot = await shelves.connect(f"bot.py:{door}", {}, {})
    vars(module_of_file(Path("bot.py"))).update(RESULT=result)

    assert (await ask(bot, QUERY, 5)).model_copy(update={"seconds": None}) == Answer(
        text="答え", passages=FOUND
    )


@pytest.mark.parametrize(("length", "mark"), [(20_000, ""), (20_001, CUT_MARK)])
async def test_an_answer_of_just_the_limit_is_whole(length: int, mark: str) -> None:
    """20,000 characters are kept without a mark, one more is cut."""
    answer = await ask(lambda query: "あ" * length, QUERY, 5)

    assert answer.text == "あ" * 20_000 + mark


@pytest.mark.parametrize(
    ("passages", "said"), [(["x"] * 1001, "1,001 passages"), (["x" * 1000] * 401, "401,000 characters")]
)
async def test_more_passages_than_anybody_reads_are_no_answer(passages: list[str], said: str) -> None:
    """Every judge would look at all of them."""
    assert said in (await failure(lambda query: ("!", passages)))[1]


@pytest.mark.parametrize("own", [None, 0.0, -1.0, float("nan"), float("inf")])
async def test_seconds_are_measured(own: float | None) -> None:
    """A bot's own sensible figure is taken, as of a recorded answer; any other is measured here."""
    measured = await ask(lambda query: Answer(text="!", seconds=own), QUERY, 5)
    told = await ask(lambda query: Answer(text="!", seconds=2.5), QUERY, 5)

    assert 0 < (measured.seconds or 0) < 5
    assert told.seconds == 2.5


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("<think>\n5,000円? いや。\n</think>\n\n月額4,180円です。", "月額4,180円です。"),
        ("<think>a</think><think>b</think> 4,180 yen.", "4,180 yen."),
        ("Let me see.\n</think>\n4,180 yen.", "4,180 yen."),
        ("[THINK]a[/THINK]4,180 yen.", "4,180 yen."),
        ("◁think▷a◁/think▷4,180 yen.", "4,180 yen."),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>4,180 yen.",
            "4,180 yen.",
        ),
        ("<Thinking>a</Thinking>\n4,180 yen.", "4,180 yen."),
    ],
)
async def test_what_a_bot_thinks_aloud_is_no_answer(said: str, text: str) -> None:
    """Neither shown, graded nor sent back: the customer of a real desk does not read it, or should not."""
    answer = await ask(lambda _: said, QUERY, 5.0)

    assert (answer.text, answer.reasoning > 0) == (text, True)


@pytest.mark.parametrize("said", ["<b>4,180</b> yen", "Write <think> before it.", "Tags: <think>a</think> b"])
async def test_a_tag_within_an_answer_stays(said: str) -> None:
    """What the customer reads is left alone."""
    answer = await ask(lambda _: said, QUERY, 5.0)

    assert (answer.text, answer.reasoning) == (said, 0)


async def test_a_bot_that_only_thinks_has_not_answered() -> None:
    """Its limit of tokens was over before it came to an answer."""
    assert (await failure(lambda _: "<think>5,000? No, it is"))[0] == "empty"
