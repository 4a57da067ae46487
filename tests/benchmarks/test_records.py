"""A benchmark that a model answers keeps each answer at once, and asks only for what is missing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import causes, conversation_validity, five_bots
from tests.servers.openai import OpenAIServer, play

HALF = ("--part", "a", "--lang", "en")
ASKED = ("--judge-model", "reader")


def dropped(file: Path, key: str) -> int:
    """Takes one answer out of the file, as if it had been cut before it; how many there were."""
    body: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    kept = body[key] if key else body
    n = len(kept)
    kept.pop(next(iter(kept)))
    file.write_text(json.dumps(body), encoding="utf-8")
    return n


@pytest.mark.parametrize(
    ("benchmark", "key"),
    [(causes.main, ""), (five_bots.main, "causes"), (conversation_validity.main, "verdicts")],
    ids=["causes", "five bots", "conversations"],
)
def test_what_was_answered_is_not_asked_again(
    benchmark: Callable[[tuple[str, ...]], None], key: str, server: OpenAIServer, tmp_path: Path
) -> None:
    """After a cut the file has what came before it; the rest is asked for, and nothing when all is there."""
    server.reply, file = play, tmp_path / "record.json"
    given = (*HALF, *ASKED, "--record", str(file))
    benchmark(given)
    first = len(server.requests)
    there = dropped(file, key)
    benchmark(given)
    second = len(server.requests)
    benchmark(given)

    assert 10 < there <= first
    assert (second - first, len(server.requests) - second) == (1, 0)
