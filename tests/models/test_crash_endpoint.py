"""An endpoint that breaks in every way there is costs a typed failure at most, never the run."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.types import Results
from simulator.storage.run_file import find_run, read_run
from tests.crash.mix import RATES, failures, mean_of_answered, options
from tests.servers.faults import Faults
from tests.servers.openai import play, serve

TIMEOUT = 0.4


def rehearsed(
    folder: Path,
    reply: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    **given: Any,
) -> tuple[int, dict[str, Any], Results, Counter[str]]:
    """A run against this endpoint: exit code, JSON, what is stored, requests."""
    folder.mkdir()
    conversations, failing = given.pop("conversations", 1), given.pop("failing", False)
    arguments = options(folder, conversations, failing=failing, timeout=TIMEOUT)
    with serve(reply, record=False) as server, monkeypatch.context() as there:
        there.setenv("REHEARSAL_JUDGE_URL", server.url)
        there.setenv("REHEARSAL_JUDGE_KEY", "key")
        code = main([*arguments, "--cache", "on"])
        told = json.loads(capsys.readouterr().out)
        return code, told, read_run(find_run("latest", folder / "runs")), Counter(server.counts)


def test_a_mix_of_failures_takes_nothing_but_what_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All conversations end, every failure has a kind, the mean is as without, few requests are added."""
    given: dict[str, Any] = {"conversations": 30}
    clean = rehearsed(tmp_path / "clean", play, capsys, monkeypatch, **given)
    faulty = rehearsed(tmp_path / "faulty", Faults(RATES), capsys, monkeypatch, **given, failing=True)
    found = failures(faulty[2])

    assert (clean[0], faulty[0]) == (0, 0)
    assert found.unanswered == 0
    assert found.bot["error"] == sum(found.bot.values()) > 0
    assert "untyped" not in found.judges
    (mean, graded), (expected, planned) = mean_of_answered(faulty[2]), mean_of_answered(clean[2])
    assert graded >= 0.9 * planned
    assert mean == pytest.approx(expected, abs=0.05)
    assert sum(faulty[3].values()) <= 1.3 * sum(clean[3].values())
