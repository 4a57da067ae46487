"""The adapter of a user's own function."""

import asyncio
import inspect
import os
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from simulator.shelves.rag_adapters.function import connect

from simulator import Answer, BotFailure, InputError, Passage, ToolCall
from simulator.core import shelves
from simulator.core.concurrency import is_async
from simulator.core.loading import user_object
from simulator.core.messages import shown
from simulator.runner.conversation import as_answer
from tests.asking import QUERY
from tests.paths import ROOT

REFUND = ToolCall(name="refund", arguments='{"order": 1}', result="ok")
NUMBERED = (Passage(id="1", text="料金表"),)


def bot(source: str, name: str = "bot.py") -> str:
    """Writes the user's module and gives its name."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(source), encoding="utf-8")
    return name


async def asked(target: str, **settings: str) -> Any:
    """One question to the function, on a thread when it is sync, as in a rehearsal."""
    rag = connect(target=target, **settings)
    if inspect.iscoroutinefunction(rag):
        return await rag(QUERY)
    return await asyncio.to_thread(rag, QUERY)


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("def f(question): return question", "料金は？"),
        ("def f(anything): return anything", "料金は？"),
        ("def f(query: str): return query", "料金は？"),
        ("def f(query): return query.session", "s1"),
        ("from simulator import Query\ndef f(q: Query): return q.case", "c1"),
        (
            "from __future__ import annotations\nimport simulator\ndef f(q: simulator.Query): return q.case",
            "c1",
        ),
        ("def f(question, history): return history[-1]['content']", "前の答え"),
        ("def f(message, chat_history: 'list[tuple[str, str]]'): return chat_history[0][1]", "前の答え"),
        ("def f(messages): return messages[0]['content'] + messages[-1]['content']", "前の質問料金は？"),
        ("def f(question, *, session_id, lang): return session_id + lang", "s1ja"),
        ("def f(question, history=None, top_k=3): return str(top_k) + str(len(history))", "32"),
        ("def f(question, prompt='own'): return prompt", "own"),
        ("def f(question, /): return question", "料金は？"),
        ("def f(*args): return args[0]", "料金は？"),
        ("f = str.strip", "料金は？"),
        ("class Bot:\n    def __call__(self, text): return text\nf = Bot()", "料金は？"),
        ("class Bot:\n    async def __call__(self, text): return text\nf = Bot()", "料金は？"),
        ("async def f(question): return question", "料金は？"),
        ("async def g(question): return question\ndef f(question): return g(question)", "料金は？"),
        (
            "import functools\nasync def g(k, question): return k + question\nf = functools.partial(g, 'k')",
            "k料金は？",
        ),
    ],
)
async def test_parameters_get_their_values_by_name(definition: str, expected: str) -> None:
    """Annotation first, then name; the first parameter is the question whatever it is called."""
    target = bot(definition)

    assert (await asked(f"{target}:f")).text == expected


@pytest.mark.parametrize("keyword", ["", "async "])
@pytest.mark.parametrize(
    ("entry", "documents"),
    [
        ("{'role': 'assistant', 'content': '990円です。'}", "['料金表']"),
        ("(query, '990円です。')", "[{'id': '1', 'text': '料金表'}]"),
        ("('assistant', '990円です。')", "[Document(id='1', page_content='料金表')]"),
    ],
)
async def test_query_history_and_prompt_in_history_and_documents_out(
    keyword: str, entry: str, documents: str
) -> None:
    """`rag(query, history, prompt)` returns (anything, history, documents); the last answer counts."""
    target = bot(
        f"""
        from langchain_core.documents import Document

        {keyword}def rag(query, history, prompt):
            assert (query, prompt) == ("料金は？", "丁寧に。")
            history.append({entry})
            return None, history, {documents}
        """
    )

    assert await asked(f"{target}:rag", prompt="丁寧に。") == Answer(text="990円です。", passages=NUMBERED)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("'a'", Answer(text="a", shows_passages=False)),
        ("('a', ['料金表'])", Answer(text="a", passages=NUMBERED)),
        ("('a', None)", Answer(text="a")),
        ("{'answer': 'a', 'passages': ['料金表']}", Answer(text="a", passages=NUMBERED)),
        ("{'answer': 'a', 'contexts': ['料金表']}", Answer(text="a", passages=NUMBERED)),
        ("{'answer': 'a', 'documents': ['料金表'], 'extra': 1}", Answer(text="a", passages=NUMBERED)),
        ("{'result': 'a', 'source_documents': []}", Answer(text="a")),
        ("Answer(text='a', seconds=1.5)", Answer(text="a", seconds=1.5)),
        ("AIMessage('a')", Answer(text="a", shows_passages=False)),
        ("('', [HumanMessage('q'), AIMessage('a')], [])", Answer(text="a")),
        (
            "AIMessage([{'type': 'reasoning'}, {'type': 'text', 'text': 'a'}])",
            Answer(text="a", shows_passages=False),
        ),
        ("('', [AIMessage(['a', {'type': 'text', 'text': 'b'}])], [])", Answer(text="ab")),
    ],
)
async def test_what_a_function_may_return(returned: str, expected: Answer) -> None:
    """A text, a pair, a mapping, an Answer, or a LangChain message in place of a text."""
    target = bot(
        f"""
        from langchain_core.messages import AIMessage, HumanMessage
        from simulator import Answer

        def f(question):
            return {returned}
        """
    )

    assert await asked(f"{target}:f") == expected


@pytest.mark.parametrize(
    ("returned", "kind", "said"),
    [
        ("None", "empty", "returned None"),
        ("3", "malformed", "answered with int; return a text"),
        ("{'reply': 'a'}", "malformed", "needs the key 'answer', but it has the keys reply"),
        ("('a', 3)", "malformed", "not int"),
        ("(None, [{'role': 'user', 'content': 'q'}], [])", "empty", "no entry of the assistant"),
        ("(None, 'text', [])", "empty", "no entry of the assistant"),
        ("(part for part in iter(lambda: 'a' * 2**20, ''))", "malformed", "longer than 8 MB"),
        ("({'choices': []} for _ in 'ab')", "malformed", "it has the keys choices"),
    ],
)
async def test_what_is_no_answer_is_typed(returned: str, kind: str, said: str) -> None:
    """The message says what came, and what is wanted."""
    target = bot(f"def f(question): return {returned}")
    with pytest.raises(BotFailure, match=said) as caught:
        await asked(f"{target}:f")

    assert caught.value.failure.kind == kind


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("", "none.py:f", "none.py: no such file. Check its name and folder"),
        ("", "no_such_module:f", "no_such_module:f: cannot be imported: ModuleNotFoundError"),
        ("def answer(q): ...", "bot.py:answr", "unknown name in bot.py: 'answr'. Did you mean answer?"),
        (
            "import no_such_module",
            "bot.py:f",
            "bot.py:f: cannot be imported: ModuleNotFoundError: No module named 'no_such_module' (",
        ),
        ("raise BaseException('x')", "bot.py:f", "bot.py:f: cannot be imported: BaseException: x"),
        ("\n\nx = 1 / 0", "bot.py:f", "bot.py, line 3)."),
        ("def f(:\n  pass", "bot.py:f", "SyntaxError: invalid syntax (bot.py, line 1)."),
        ("import sys\nsys.exit(1)", "bot.py:f", "bot.py, line 2)."),
        ("class f: ...", "bot.py:f", "bot.py:f is a class, not a function"),
        ("def f(): ...", "bot.py:f", "bot.py:f: the function takes no parameter"),
        ("def f(question, colour): ...", "bot.py:f", "nothing is known to give to the parameter 'colour'"),
    ],
)
@pytest.mark.parametrize("door", ["function", "bot.py:answer"])
async def test_slips_are_told_in_one_line(source: str, target: str, said: str, door: str) -> None:
    """Whatever the user can mend is said before the start, by both doors alike, with file and line."""
    bot(source)
    adapter, settings = (door, {"target": target}) if door == "function" else (target, {})
    with pytest.raises(InputError) as caught:
        await shelves.connect(adapter, settings, {})

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    in_japanese = shown(caught.value.message, "ja")
    assert not any(words in in_japanese for words in ("parameter;", "a class", "nothing is known"))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("from langchain_core.runnables import RunnableLambda\nchain = RunnableLambda(str)", "料金は？"),
        ("class Chain:\n    def invoke(self, given): return given['question']\nchain = Chain()", "料金は？"),
        (
            "class Chain:\n    def invoke(self, given, config): return sorted(config)[0]\nchain = Chain()",
            "callbacks",
        ),
        ("class Chain:\n    def __call__(self, question): return question\nchain = Chain()", "料金は？"),
        (
            "def chain(question):\n    yield '990'\n    yield '円'\n    yield {'passages': ['料金表']}",
            "990円",
        ),
        ("async def chain(question):\n    yield '990'\n    yield '円'", "990円"),
    ],
)
async def test_any_object_is_taken_for_what_it_is(source: str, text: str) -> None:
    """A runnable is invoked, a function called, a generator joined; its first words are timed."""
    where = await asyncio.to_thread(bot, source)
    made: Any = await shelves.connect(f"{where}:chain", {}, {})
    answer = await (made(QUERY) if is_async(made) else asyncio.to_thread(made, QUERY))

    assert answer.text == text
    assert (answer.first_token_seconds is not None) is ("yield" in source)
    assert bool(answer.passages) is ("passages" in source)


LOOPS = """
import asyncio
SEEN = []
async def inner(question):
    await asyncio.sleep(0)
    SEEN.append(asyncio.get_running_loop())
    return question
def f(question):
    return asyncio.get_event_loop().run_until_complete(inner(question))
"""


async def test_a_function_that_asks_its_thread_for_an_event_loop() -> None:
    """As it works in a script; what it keeps between answers finds the same loop again."""
    rag = connect(target=bot(LOOPS) + ":f")

    said = [(await asyncio.to_thread(rag, QUERY)).text for _ in range(2)]

    seen = user_object("bot.py:SEEN")
    assert (said, len(set(map(id, seen)))) == (["料金は？", "料金は？"], 1)
    rag.aclose()
    assert seen[0].is_closed()


SLOW = """
import time
from concurrent.futures import ThreadPoolExecutor
POOL = ThreadPoolExecutor()
def answer(question):
    return POOL.submit(time.sleep, 120).result()
"""


def test_a_function_that_never_comes_back_does_not_hold_up_the_end() -> None:
    """Its pool of threads would be waited for by the interpreter; the program says that it goes without."""
    bot(SLOW)
    began = time.monotonic()
    few = "--adapter bot.py:answer --set timeout=0.2 --offline --persona calm --limit 1 --language en"
    done = subprocess.run(
        [sys.executable, ROOT / "run.py", *few.split()], capture_output=True, text=True, check=False
    )

    assert done.returncode == 3  # the bot gave no answer at all
    assert "2 calls of your code took too long and still go on" in done.stderr
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(("package", "inits"), [("one", 1), ("two", 2), ("none", 0)])
async def test_a_file_of_a_package_may_import_relatively(package: str, inits: int) -> None:
    """It is loaded as a part of the package around it, with or without an __init__.py."""
    for folder in (package, f"{package}/desk")[:inits]:
        bot("", f"{folder}/__init__.py")
    bot("TEXT = '990円'", f"{package}/desk/material.py")
    name = bot("from .material import TEXT\ndef f(question): return TEXT", f"{package}/desk/rag.py")

    assert (await asked(f"{name}:f")).text == "990円"


async def test_a_file_that_changes_the_folder_when_it_is_imported() -> None:
    """The folder of whoever started the program stays the working one."""
    before = os.getcwd()  # noqa: PTH109 - of an async function

    name = bot("import os\nos.chdir('..')\ndef f(question): return 'a'")

    assert (await asked(f"{name}:f")).text == "a"
    assert os.getcwd() == before  # noqa: PTH109


@pytest.mark.parametrize("key", ["tools", "tool_calls", "intermediate_steps"])
@pytest.mark.parametrize(
    ("called", "seen"),
    [
        ("[{'name': 'refund', 'arguments': {'order': 1}, 'result': 'ok'}]", (REFUND,)),
        ("[]", ()),
        ("None", None),
        ("{'hammer': 1}", None),
    ],
)
async def test_the_tools_that_a_function_tells_of(
    key: str, called: str, seen: tuple[ToolCall, ...] | None
) -> None:
    """None called is told by an empty list; what is no call is something else of that name."""
    answer = await asked(bot(f"def f(q): return {{'answer': 'はい', '{key}': {called}}}") + ":f")

    assert (answer.text, answer.tools) == ("はい", seen)


@pytest.mark.parametrize("text", ["'answer': '', ", "'answer': None, ", ""])
async def test_a_function_that_only_called_a_tool(text: str) -> None:
    """The customer reads nothing; the failure names the tool, and the call is kept."""
    answer = as_answer(await asked(bot(f"def f(q): return {{{text}'tools': ['refund']}}") + ":f"))

    assert answer.tools == (ToolCall(name="refund"),)
    assert answer.error
    assert (answer.error.kind, str(answer.error.message)) == (
        "only_tools",
        "the bot only called a tool (refund)",
    )
