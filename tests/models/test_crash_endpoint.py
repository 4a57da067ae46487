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
from tests.servers.faults import FAULTS, Faults, Reply, script
from tests.servers.openai import play, serve
from tests.servers.replies import ChatRequest

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


@pytest.mark.parametrize(
    "fault",
    [Reply(close=True), Reply(delay=3600), Reply(half=True), Reply(pace=0.05)],
    ids=["reset", "stall", "half", "drip"],
)
def test_what_passes_is_tried_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, fault: Reply
) -> None:
    """A reset, a stall, half an answer, one drop by drop: one request more, and nothing is missing."""
    code, told, results, requests = rehearsed(tmp_path / "run", script([fault]), capsys, monkeypatch)

    assert code == 0
    assert told["conversations"]["finished"] == 1
    assert failures(results) == failures(results.model_copy(update={"scores": ()}))
    # Two customer lines, whether they would leave, and three grades.
    assert requests["chat"] == 7


@pytest.mark.parametrize("fault", ["garbage", "huge"])
def test_what_is_no_answer_is_a_typed_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Bytes that are no JSON, ten megabytes of text: the grade failed, which says why; nothing is kept."""

    def broken(request: ChatRequest) -> str | Reply:
        graded = "overall" in json.dumps(request.get("response_format", {})).lower()
        return FAULTS[fault]("") if graded else play(request)

    code, told, results, _ = rehearsed(tmp_path / "run", broken, capsys, monkeypatch)
    kept = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())

    assert code == 3
    assert told["conversations"]["finished"] == 1
    assert set(failures(results).judges) == {"malformed"}
    assert kept < 1_000_000


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
