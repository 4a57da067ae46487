"""What the adapter guides show works as it stands there."""

import inspect
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from simulator.shelves.rag_adapters import function

from simulator import Query
from simulator.core import shelves

GUIDES = ("adapters.md", "adapters.ja.md")
QUESTION = {"adapters.md": "I am going to move", "adapters.ja.md": "引っ越しはいつまでに申し込みますか"}


@pytest.fixture(autouse=True)
def search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a test's own modules were looked up is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))


def blocks(root: Path, guide: str, kind: str) -> list[str]:
    """The code blocks of one kind in a guide."""
    text = (root / "docs" / guide).read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(root: Path, guide: str) -> list[list[str]]:
    """The `run.py` commands of a guide, as words."""
    text = "".join(blocks(root, guide, "console")).replace("\\\n", " ")
    return [shlex.split(line[1:])[2:] for line in text.splitlines() if line.startswith("$ python run.py")]


def values(words: list[str], flag: str) -> list[str]:
    """The values of a flag, in order."""
    return [value for name, value in pairwise(words) if name == flag]


@pytest.mark.parametrize("guide", GUIDES)
def test_the_bot_in_ten_lines_answers(root: Path, guide: str) -> None:
    """Copied into a file it is a bot, and it is no longer than promised."""
    source = blocks(root, guide, "python")[0]
    Path("bot.py").write_text(source, encoding="utf-8")
    bot = function.connect(target="bot.py:answer")
    answer = bot(Query(text=QUESTION[guide]))

    assert [passage.id for passage in answer.passages] == ["moving"]
    assert answer.text == answer.passages[0].text
    assert len([line for line in source.splitlines() if line.strip()]) <= 10


SLIPS = {
    "bot.py:answer: cannot be imported": "import no_such_module",
    "unknown name in bot.py 'answr'": "def answer(question): ...",
    "nothing is known to give to the parameter 'k'": "def answer(question, k): ...",
    "bot.py:chain is RunnableSequence, not a function": (
        "from langchain_core.runnables import RunnableLambda as Link\nchain = Link(str) | Link(str)"
    ),
    "error: KeyError: 'k' (bot.py, line 12)": "\n" * 10 + "def answer(question):\n    return {}['k']",
    "malformed: the bot answered with int": "def answer(question): return 3",
}


@pytest.mark.parametrize("guide", GUIDES)
def test_every_setting_is_described(root: Path, guide: str) -> None:
    """A setting that a guide does not know would stay unknown."""
    text = (root / "docs" / guide).read_text(encoding="utf-8")
    for name in shelves.adapter_names():
        for setting in inspect.signature(shelves.connector(name)).parameters:
            assert f"`{setting}`" in text or f"--set {setting}=" in text, f"{name}: {setting}"
