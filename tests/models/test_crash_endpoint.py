"""An endpoint that breaks in every way there is costs a typed failure at most, never the run."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Results
from simulator.storage.run_file import find_run, read_run
from tests.commands import Command
from tests.crash.mix import RATES, failures, mean_of_answered, options
from tests.servers.faults import Faults
from tests.servers.openai import play, serve

TIMEOUT = 0.4


def rehearsed(
    folder: Path,
    reply: Any,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    **given: Any,
) -> tuple[int, Results, Counter[str]]:
    """A run against this endpoint: exit code, what is stored, requests."""
    folder.mkdir()
    conversations, failing = given.pop("conversations", 1), given.pop("failing", False)
    arguments = options(folder, conversations, failing=failing, timeout=TIMEOUT)
    with serve(reply, record=False) as server, monkeypatch.context() as there:
        there.setenv("REHEARSAL_JUDGE_URL", server.url)
        there.setenv("REHEARSAL_JUDGE_KEY", "key")
        done = command(*arguments, "--cache", "on")
        return done.code, read_run(find_run("latest", folder / "runs")), Counter(server.counts)


def test_a_mix_of_failures_takes_nothing_but_what_failed(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All conversations end, every failure has a kind, the mean is as without, few requests are added."""
    given: dict[str, Any] = {"conversations": 30}
    clean = rehearsed(tmp_path / "clean", play, command, monkeypatch, **given)
    faulty = rehearsed(tmp_path / "faulty", Faults(RATES), command, monkeypatch, **given, failing=True)
    found = failures(faulty[1])

    assert (clean[0], faulty[0]) == (0, 0)
    assert found.unanswered == 0
    assert found.bot["error"] == sum(found.bot.values()) > 0
    assert "untyped" not in found.judges
    (mean, graded), (expected, planned) = mean_of_answered(faulty[1]), mean_of_answered(clean[1])
    assert graded >= 0.9 * planned
    assert mean == pytest.approx(expected, abs=0.05)
    assert sum(faulty[2].values()) <= 1.3 * sum(clean[2].values())
