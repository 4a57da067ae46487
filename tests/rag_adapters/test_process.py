"""A bot in another interpreter: an environment of its own, without any library of this program."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent
from typing import Any
from uuid import UUID

import pytest

from simulator import Answer, BotFailure, InputError, Passage, ToolCall
from simulator.cli.app import main
from simulator.core import shelves
from tests.asking import QUERY

TABLE = (Passage(id="1", text="料金表"),)
FOUND = (Passage(id="p1", text="料金表", source="p1", score=0.5),)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of an empty environment."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


Bots = Any  # makes a bot of a module's source


def write(name: str, source: str) -> None:
    """A module of the user's."""
    Path(name).write_text(dedent(source), encoding="utf-8")


@pytest.fixture
async def made(python: str) -> AsyncIterator[Bots]:
    """Bots that are closed in the end."""
    there: list[Any] = []

    async def bot(source: str, name: str = "answer", **given: str) -> Any:
        write("bot.py", source)
        there.append(await shelves.connect(f"bot.py:{name}", {"python": python, **given}, {}))
        return there[-1]

    yield bot
    for each in there:
        await each.aclose()


@pytest.mark.parametrize(
    ("source", "text", "passages"),
    [
        ("def answer(question): return question", "料金は？", ()),
        (
            "async def answer(question, history): return history[-1]['content'] + question",
            "前の答え料金は？",
            (),
        ),
        ("def answer(query): return query.upper()", "料金は？", ()),
        ("def answer(question, *, session_id, lang='en', spare=3): return session_id + lang", "s1ja", ()),
        (
            "class D:\n    page_content, metadata = '料金表', {'source': 'p1', 'score': 0.5}\n"
            "def answer(question): return '990円', [D()]",
            "990円",
            FOUND,
        ),
        ("def answer(question): return {'answer': '990円', 'contexts': ['料金表']}", "990円", TABLE),
        ("class M:\n    content = [{'text': '990'}, '円']\ndef answer(question): return M()", "990円", ()),
        ("def answer(question):\n    yield '990'\n    yield '円'\n    yield ['料金表']", "990円", TABLE),
        ("async def answer(question):\n    yield '990'\n    yield '円'", "990円", ()),
    ],
)
async def test_what_a_bot_gives_comes_through(
    made: Bots, source: str, text: str, passages: tuple[Passage, ...]
) -> None:
    """Functions and streams, what they are called with, and whatever shape their answers have."""
    bot = await made(source)
    answer = await bot(QUERY)

    assert (answer.text, answer.passages) == (text, passages)
    assert (await bot(QUERY)).text == text
    assert (answer.first_token_seconds is not None) is ("yield" in source)


GIVEN = """
    from dataclasses import dataclass
    from uuid import UUID

    class Score:
        def __float__(self): return 0.5

    @dataclass
    class Found:
        text: str
        id: UUID

    class Message:
        def __init__(self, content, tool_calls=()): self.content, self.tool_calls = content, list(tool_calls)

    GIVEN = {
        "an id that is no text": {"answer": "a", "documents": [Found("料金表", UUID(int=1))]},
        "the score of an index": ("a", [("料金表", Score())]),
        "a call of a tool": Message("a", [{"name": "refund", "args": {}, "id": "1"}]),
        "nothing retrieved": ("a", []),
        "a thing that is no answer": UUID(int=1),
    }
    def answer(question):
        return GIVEN[question]
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("an id that is no text", Answer(text="a", passages=(Passage(id=str(UUID(int=1)), text="料金表"),))),
        ("the score of an index", Answer(text="a", passages=(Passage(id="1", text="料金表", score=0.5),))),
        (
            "a call of a tool",
            Answer(text="a", shows_passages=False, tools=(ToolCall(name="refund", arguments="{}"),)),
        ),
        ("nothing retrieved", Answer(text="a")),
    ],
)
async def test_objects_come_through_as_well(made: Bots, name: str, expected: Answer) -> None:
    """Data classes, messages and numbers of other libraries, without this program's own."""
    bot = await made(GIVEN)

    assert await bot(QUERY.model_copy(update={"text": name})) == expected


async def test_what_is_no_answer_is_called_by_its_type(made: Bots) -> None:
    """As for a function of this interpreter."""
    bot = await made(GIVEN)
    with pytest.raises(BotFailure, match="the bot answered with UUID"):
        await bot(QUERY.model_copy(update={"text": "a thing that is no answer"}))


async def test_it_runs_elsewhere_with_modules_of_its_own(made: Bots, python: str) -> None:
    """Without this program's libraries, the bot's folder first; nothing hides Python's own http and JSON."""
    write("json_of_mine.py", "WORDS = 'mine'")
    bot = await made(
        """
        import http, json.encoder, sys, json_of_mine
        def answer(question):
            try:
                import pydantic
            except ImportError:
                own = f"{http.HTTPStatus(200)} {json.encoder.c_make_encoder.__module__}"
                return f"{sys.executable} {json_of_mine.WORDS} {own}"
        """
    )

    assert (await bot(QUERY)).text == f"{python} mine 200 _json"


async def test_what_is_printed_disturbs_nothing(made: Bots) -> None:
    """Neither by Python, nor below it, nor by a child, nor by who reads what others are asked."""
    bot = await made(
        """
        import os, subprocess, sys
        print('{"id": 1, "result": "forged"}')
        def answer(question):
            print('{"id": 1, "result": "forged"}', flush=True)
            os.write(1, b'{"id": 1, "result": "forged"}\\n')
            subprocess.run([sys.executable, "-c", "print('child')"])
            return repr(sys.stdin.read())
        """
    )

    assert (await bot(QUERY)).text == "''"


async def test_many_questions_are_answered_at_a_time(made: Bots) -> None:
    """Each waits for all the others, on threads and on the event loop alike."""
    for word in ("", "async "):
        bot = await made(
            f"""
            import threading, asyncio
            n, all_here = 0, threading.Event()
            {word}def answer(question):
                global n
                n += 1
                if n == 20:
                    all_here.set()
                {"while not all_here.is_set(): await asyncio.sleep(0.001)" if word else "all_here.wait()"}
                return question
            """
        )
        queries = [QUERY.model_copy(update={"text": str(n)}) for n in range(20)]
        answers = await asyncio.gather(*map(bot, queries))

        assert [answer.text for answer in answers] == [str(n) for n in range(20)]


async def test_an_exception_is_a_failure_with_its_line(made: Bots) -> None:
    """And the next question is asked as if nothing had happened."""
    bot = await made(
        "def answer(question):\n"
        "    if question == '!': raise ValueError('no\\x1b[31m index')\n    return 'はい'"
    )
    with pytest.raises(BotFailure, match=r"^ValueError: no index \(bot\.py, line 2\)$"):
        await bot(QUERY.model_copy(update={"text": "!"}))

    assert (await bot(QUERY)).text == "はい"


async def test_a_process_that_dies_is_started_again(made: Bots) -> None:
    """Who waited gets the failure with what it printed last; one that always dies is given up."""
    bot = await made(
        """
        import os, sys
        def answer(question):
            if question == "料金は？":
                return str(os.getpid())
            print("out of memory", file=sys.stderr)
            os._exit(7)
        """
    )
    dying = QUERY.model_copy(update={"text": "!"})
    first = (await bot(QUERY)).text
    with pytest.raises(BotFailure, match=r"ended \(exit code 7\): out of memory"):
        await bot(dying)
    second = (await bot(QUERY)).text
    for _each in range(5):
        with pytest.raises(BotFailure, match="exit code 7"):
            await bot(dying)

    assert first != second
    with pytest.raises(BotFailure, match="exit code 7"):
        await bot(QUERY)


async def test_an_answer_beyond_the_limit_is_a_failure(made: Bots, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is not read any further; another one answers the next question."""
    monkeypatch.setattr("simulator.shelves.rag_adapters._process._LONGEST", 2**20)
    bot = await made("def answer(question): return question * (1 if question == 'b' else 2**21)")
    with pytest.raises(BotFailure, match="an answer of more than 1 MB"):
        await bot(QUERY)

    assert (await bot(QUERY.model_copy(update={"text": "b"}))).text == "b"


async def test_late_answers_are_nobodys(made: Bots) -> None:
    """A question that was given up is not answered with another one's words."""
    bot = await made(
        """
        import threading
        held = threading.Event()
        def answer(question):
            if question == "late":
                held.wait()
            held.set()
            return question
        """,
        timeout="0.05",
    )
    with pytest.raises(BotFailure, match=r"no answer within 0\.05 s"):
        await bot(QUERY.model_copy(update={"text": "late"}))

    assert (await bot.bot(QUERY)).text == "料金は？"


@pytest.mark.parametrize(
    ("source", "given", "message"),
    [
        ("import nothing_like_it", {}, "No module named 'nothing_like_it' (bot.py, line 1); name the Python"),
        ("def other(): pass", {}, "has no attribute 'answer'"),
        ("answer = 3", {}, "bot.py:answer is int, not a function"),
        ("class R:\n    def invoke(self, x): return x\nanswer = R()", {}, "is R, not a function. Wrap it"),
        ("def answer(): pass", {}, "the function takes no parameter"),
        ("import os\nos._exit(9)", {}, "ended (exit code 9)"),
        (
            "def answer(q): pass",
            {"python": "./nothing/python"},
            "python=./nothing/python: no such interpreter",
        ),
        ("def answer(q): pass", {"python": "/dev/null"}, "python=/dev/null: no such interpreter"),
    ],
)
async def test_what_cannot_work_is_said_before_the_start(
    made: Bots, source: str, given: dict[str, str], message: str
) -> None:
    """In one line, with what to do or what the bot's module raised."""
    with pytest.raises(InputError) as caught:
        await made(source, **given)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_an_interpreter_that_cannot_read_the_host_is_called_too_old(made: Bots, tmp_path: Path) -> None:
    """Its syntax error is about this program's file, of which nobody knows."""
    old = tmp_path / "python2"
    old.write_text(
        '#!/bin/sh\necho "  File \\"$2\\", line 9" >&2\necho "SyntaxError: invalid syntax" >&2\nexit 1\n'
    )
    old.chmod(0o755)

    with pytest.raises(InputError, match=r"too old; Python 3\.8 or newer"):
        await made("def answer(q): pass", python=str(old))


async def test_it_ends_with_who_started_it(made: Bots) -> None:
    """Closed, it is gone; Ctrl-C alone, which is for the program that started it, does nothing."""
    bot = await made("import os\ndef answer(question): return str(os.getpid())")
    process = int((await bot(QUERY)).text)
    os.kill(process, signal.SIGINT)

    assert (await bot(QUERY)).text == str(process)
    await bot.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_run_with_it(python: str, capsys: pytest.CaptureFixture[str]) -> None:
    """From the command line: doctor, a run, and the seconds to the first words in --json and in the gate."""
    write(
        "bot.py", "import time\ndef answer(q):\n    time.sleep(0.02)\n    yield '料金は'\n    yield '990円'\n"
    )
    where = ("--adapter", "bot.py:answer", "--set", f"python={python}")
    assert main(["doctor", *where]) == 0
    capsys.readouterr()
    target = ("--target", "p95_seconds <= 5", "--max-major", "1")
    few = ("--offline", "--persona", "calm", "--limit", "6", "--turns", "1")
    code = main([*few, *where, *target, "--json"])
    shown = json.loads(capsys.readouterr().out)

    assert code == 0
    assert shown["conditions"][0]["decision"] == "passed"
    assert 0 < shown["latency"]["first_token"]["p50"] <= shown["latency"]["answer"]["p95"]


async def test_a_package_and_an_event_loop_in_another_interpreter(made: Bots) -> None:
    """Relative imports and `get_event_loop` work there as they do here."""
    write("material.py", "TEXT = '990円'")
    source = """
        import asyncio
        from .material import TEXT
        async def inner():
            return TEXT
        def answer(question):
            return asyncio.get_event_loop().run_until_complete(inner())
    """
    bot = await made(source)

    assert [(await bot(QUERY)).text for _ in range(2)] == ["990円", "990円"]
