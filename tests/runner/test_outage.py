"""An outage, or a pause, costs no conversation: the run waits, or is interrupted and can go on."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Ended, Results
from simulator.models import patience
from simulator.storage.run_file import find_run, read_run
from tests.commands import Command, held_once
from tests.crash.trial import CASES, played
from tests.paths import ROOT
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer, play, serve

BOT = "def answer(question):\n    return f'OK: {question}'\n"
SLOW = """import asyncio

async def answer(question):
    await asyncio.sleep(0.3)
    return f"OK: {question}"
"""
OPTIONS = (
    "--cases", "cases.csv", "--adapter", "bot.py:answer", "--persona", "angry", "--repeats", "3",
    "--cache", "off", "--judges", "turn,conversation,cosine",
)  # fmt: skip


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, server: OpenAIServer) -> None:
    """Questions and a bot; whoever asks an endpoint that is away does so at once."""
    monkeypatch.setattr(patience, "FIRST", 0.0)
    Path("cases.csv").write_text(CASES, encoding="utf-8")
    Path("bot.py").write_text(BOT, encoding="utf-8")


def latest() -> Results:
    """The newest run."""
    return read_run(find_run("latest", Path("runs")))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the same run comes to without a disturbance."""
    with serve() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", "none")
        folder = held_once(tmp_path_factory, OPTIONS, files={"cases.csv": CASES, "bot.py": BOT})
    return played(read_run(find_run("latest", folder / "runs")))


def failing(server: OpenAIServer, when: Callable[[int], bool], with_: Reply) -> None:
    """From now on, chat calls fail whose number this says."""
    server.reply = lambda request: with_ if when(server.counts["chat"]) else play(request)


@pytest.mark.parametrize("reply", [Reply(status=500), Reply(status=429), Reply(close=True)])
def test_an_outage_is_waited_for(
    reply: Reply, command: Command, server: OpenAIServer, undisturbed: dict[str, Any]
) -> None:
    """Twelve conversations through a hundred failures end as an undisturbed run does."""
    failing(server, lambda call: 10 < call <= 110, reply)
    done = command(*OPTIONS)

    assert (done.code, latest().run.status) == (0, "finished")
    assert played(latest()) == undisturbed
    assert server.counts["chat"] > 110


@pytest.mark.parametrize("role", ["judge", "user"])
def test_after_patience_it_is_interrupted(
    role: str,
    command: Command,
    server: OpenAIServer,
    undisturbed: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not finished, exit code 3 and a line that says why; --resume comes to what it would have."""
    for each in ("judge", "user"):
        monkeypatch.setenv(f"REHEARSAL_{each.upper()}_MODEL", "gone" if each == role else "there")
    left = Counter({"gone": 9})

    def reply(request: Any) -> str | Reply:
        left[request["model"]] -= 1
        return play(request) if request["model"] != "gone" or left["gone"] >= 0 else Reply(status=500)

    server.reply = reply
    done = command(*OPTIONS, "--patience", "1", "--concurrency", "2")
    cut = latest()

    assert (done.code, cut.run.status) == (3, "interrupted")
    assert f"error: {role} model gone at {server.url}: 500" in done.err
    assert ("採点まで進まず" in done.out) is (role == "judge")
    assert "失敗" not in done.out  # what was not asked for did not fail
    assert re.search(r"--patience.*\)\. Finish it with: python .* --resume ", done.err)
    assert sum(bool(c.turns) for c in cut.conversations) < 12  # no further ones were begun
    assert {c.ended for c in cut.conversations} <= {None, Ended.INTERRUPTED, Ended.TURN_LIMIT}
    assert not [score for score in cut.scores if score.state == "failed"]
    assert all(turn.answer.error is None for c in cut.conversations for turn in c.turns)

    server.reply = play
    assert command("--resume", "latest").code == 0
    assert {key: each for key, each in played(latest()).items() if key != "grades"} == {
        key: each for key, each in undisturbed.items() if key != "grades"
    }
    assert {score.state for score in latest().scores} <= {"scored", "skipped"}
    assert len(latest().scores) == len(undisturbed["grades"])


@pytest.mark.parametrize(("refused", "left"), [("gpt", 3), ("gpt-4.1", 0)], ids=["all", "grades"])
def test_what_a_finished_run_lost_is_made_up_for(
    refused: str, left: int, command: Command, server: OpenAIServer, undisturbed: dict[str, Any]
) -> None:
    """Where others were answered it is finished all the same; --resume plays and grades what was lost."""

    def reply(request: Any) -> str | Reply:
        text = json.dumps(request["messages"], ensure_ascii=False)
        is_refused = refused in ("gpt", request["model"]) and "送料はいくらですか" in text
        return Reply(status=400) if is_refused else play(request)

    server.reply = reply
    first = command(*OPTIONS)
    cut = latest()
    lost = [c for c in cut.conversations if c.ended is Ended.ENDPOINT_FAILED]
    failed = [score for score in cut.scores if score.state == "failed"]

    assert (first.code, cut.run.status) == (3, "finished")
    assert [c.case.id for c in lost] == ["q2"] * left
    assert failed
    assert all(c.reason for c in lost)

    server.reply = play
    done = command("--resume", "latest")
    assert done.code == 0
    assert (
        f"Goes on with {left} conversations that an endpoint lost, and {len(failed)} grades that failed."
        in done.err
    )
    assert played(latest()) == undisturbed
    server.requests.clear()
    assert command("--resume", "latest").code == 0
    assert server.requests == []


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="only POSIX stops processes")
def test_a_pause_is_not_waited_for(server: OpenAIServer) -> None:
    """A process that stood still for longer than it waits for anything loses no call, and no answer."""
    Path("bot.py").write_text(SLOW, encoding="utf-8")
    stopped, away = threading.Event(), threading.Event()

    def go_on() -> None:
        away.clear()
        os.kill(process.pid, signal.SIGCONT)

    def reply(request: Any) -> str | Reply:
        if server.counts["chat"] == 4 and not stopped.is_set():
            stopped.set()
            away.set()
            os.kill(process.pid, signal.SIGSTOP)
            threading.Timer(5, go_on).start()
        return Reply(status=503) if away.is_set() else play(request)

    server.reply = reply
    limits = ("--patience", "3", "--timeout", "3")
    with (
        subprocess.Popen(
            [sys.executable, str(ROOT / "run.py"), *OPTIONS, *limits], stderr=subprocess.PIPE, text=True
        ) as process,
        contextlib.suppress(subprocess.TimeoutExpired),
    ):
        process.communicate(timeout=50)
    done = latest()

    assert stopped.is_set()
    lost = [c.reason for c in done.conversations if c.ended is not Ended.TURN_LIMIT]
    failed = [score.reason for score in done.scores if score.state == "failed"]
    assert (lost, failed) == ([], [])
    assert (process.returncode, done.run.status) == (0, "finished")
    assert not [turn for c in done.conversations for turn in c.turns if turn.answer.error]
    assert max(turn.answer.seconds or 0 for c in done.conversations for turn in c.turns) < 3
