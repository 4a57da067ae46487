"""What the adapter guides show works as it stands there."""

import inspect
import re
from pathlib import Path

import pytest
from simulator.shelves.rag_adapters import function

from simulator import Query
from simulator.core import shelves

GUIDES = ("bots.md", "bots.ja.md")
QUESTION = {"bots.md": "I am going to move", "bots.ja.md": "引っ越しはいつまでに申し込みますか"}


def blocks(root: Path, guide: str, kind: str) -> list[str]:
    """The code blocks of one kind in a guide."""
    text = (root / "docs" / guide).read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


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


@pytest.mark.parametrize("guide", GUIDES)
def test_every_setting_is_described(root: Path, guide: str) -> None:
    """A setting that a guide does not know would stay unknown."""
    text = (root / "docs" / guide).read_text(encoding="utf-8")
    for name in shelves.adapter_names():
        for setting in inspect.signature(shelves.connector(name)).parameters:
            assert f"`{setting}`" in text or f"--set {setting}=" in text, f"{name}: {setting}"
