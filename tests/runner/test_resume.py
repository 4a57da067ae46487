"""A run survives whatever ends it: it goes on from there, and pays for nothing twice."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.templates import stable_int
from simulator.core.types import Ended, Results
from simulator.storage.run_file import RUN_FILE, find_run, read_run
from tests.crash.trial import CASES, is_sound, played
from tests.paths import ROOT
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer, play

BOT = """
import threading

def answer(question):
    return f"OK: {question}"

def long(question):
    return "とても長い回答です。" * 100

def hangs(question):
    print("hanging", flush=True)
    threading.Event().wait()
"""
OPTIONS = (
    "--cases", "cases.csv", "--adapter", "bot.py:answer", "--persona", "angry", "--cache", "off",
    "--concurrency", "3", "--calls", "4",
)  # fmt: skip


class Counting:
    """What the endpoint answers: as usual, but at the request that was chosen something happens first."""

    def __init__(self) -> None:
        self.left = 0
        self.then: Callable[[], None] | None = None

    def __call__(self, request: Any) -> str:
        """The answer."""
        self.left -= 1
        if self.left == 0 and self.then:
            self.then()
        return play(request)


@pytest.fixture
def server(server: OpenAIServer, tmp_path: Path) -> OpenAIServer:
    """The fake endpoint for every role, slow enough to have calls in flight; questions and bot are there."""
    (tmp_path / "cases.csv").write_text(CASES, encoding="utf-8")
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    server.reply = Counting()
    server.latency = server.embeddings_latency = 0.02
    return server


def start(*arguments: str, limit: int | None = None) -> subprocess.Popen[str]:
    """`run.py` as a process of its own, where the test stands; `limit` is its largest file, in bytes."""
    command = [sys.executable, str(ROOT / "run.py"), *arguments]
    if limit is not None:
        command[1:1] = [str(ROOT / "tests" / "crash" / "armed.py"), json.dumps({"limit": limit})]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code and standard error."""
    _, err = process.communicate(timeout=50)
    return process.returncode, err


def stopped_at(server: OpenAIServer, count: int, number: signal.Signals, *arguments: str) -> tuple[int, str]:
    """A process that is sent a signal when the endpoint gets its `count`-th request."""
    counting = server.reply
    assert isinstance(counting, Counting)
    process = start(*arguments)
    counting.then = lambda: os.kill(process.pid, number)
    counting.left = count
    return ended(process)


def latest() -> Path:
    """The newest run file."""
    return find_run("latest", Path("runs"))


def sound(path: Path) -> Results:
    """What is in a run file, once SQLite itself finds nothing wrong with it."""
    assert is_sound(path)
    return read_run(path)


def settled(path: Path) -> set[int]:
    """The seeds of all calls whose result is in the file: of lines that were said, and of graded turns."""
    seeds = set()
    with contextlib.closing(sqlite3.connect(path)) as file:
        for conversation, turn in file.execute("SELECT conversation, turn FROM turns"):
            seeds |= {stable_int(stable_int(42, conversation), turn - 1, attempt) for attempt in (0, 1)}
        for conversation, turn in file.execute("SELECT conversation, turn FROM scores WHERE judge = 'turn'"):
            seeds.add(stable_int(42, conversation, turn))
    return seeds


def whole(server: OpenAIServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the same run comes to without a disturbance."""
    folder.mkdir()
    for name in ("cases.csv", "bot.py"):
        (folder / name).write_bytes(Path(name).read_bytes())
    with monkeypatch.context() as there:
        there.chdir(folder)
        assert main(OPTIONS) == 0
        found = played(sound(latest()))
    server.requests.clear()
    return found


def test_a_finished_run_is_not_touched(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    """--resume shows it again, with the exit code it had, asks nobody, and names options without effect."""
    assert main([*OPTIONS, "--target", "1"]) == 1
    path = latest()
    before = path.read_bytes()
    server.requests.clear()

    assert main(["--resume", "latest"]) == 1
    assert main(["--resume", str(path.parent)]) == 1
    assert "not used" not in capsys.readouterr().err
    assert main([*OPTIONS, "--resume", "latest", "--turns", "9"]) == 1
    assert "not used: --turns.\n" in capsys.readouterr().err
    assert (path.read_bytes(), server.requests) == (before, [])


def test_ctrl_c_ends_it_cleanly(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 3 and one line that says how to go on; then it comes to what it would have."""
    undisturbed = whole(server, tmp_path / "whole", monkeypatch)
    code, err = stopped_at(server, 9, signal.SIGINT, *OPTIONS)
    cut = sound(latest())

    assert code == 3
    onward = f"python {ROOT / 'run.py'} --resume {cut.run.id}"
    assert err.splitlines()[-1] == f"error: interrupted. Finish it with: {onward}"
    assert "Traceback" not in err
    assert cut.run.status == "interrupted"
    assert {c.ended for c in cut.conversations if c.turns} <= {Ended.INTERRUPTED, Ended.TURN_LIMIT}
    assert (latest().parent / "report.html").is_file()

    done = settled(latest())
    server.requests.clear()
    assert main(["--resume", cut.run.id]) == 0
    assert not done & {request.body.get("seed") for request in server.requests}
    assert played(sound(latest())) == undisturbed


def test_a_run_has_one_process(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    """A second one is told in one line who is at it, and spoils nothing; after the first it may go on."""
    arrived = threading.Event()

    def stalled(request: Any) -> Reply:
        arrived.set()
        return Reply(delay=3600)

    server.reply = stalled
    first = start(*OPTIONS)
    assert arrived.wait(30)
    code = main(["--resume", "latest"])
    out, err = capsys.readouterr()
    first.kill()
    ended(first)
    run = latest().parent.name

    assert (code, out) == (2, "")
    assert err == f"error: {run} is being written by process {first.pid}; wait for it, or end it.\n"
    server.reply = play
    assert main(["--resume", run]) == 0
    assert sound(latest()).run.status == "finished"


def test_a_full_disk_is_one_line(server: OpenAIServer) -> None:
    """Exit code 3; the turns before it are safe, and with room again the run is finished."""
    bot = ["--cases", "cases.csv", "--adapter", "bot.py:long", "--judges", "fluency", "--offline"]
    options = (*bot, "--persona", "angry,calm,beginner")
    code, err = ended(start(*options, limit=150_000))
    cut = sound(latest())
    errors = [line for line in err.splitlines() if line.startswith("error: ")]

    assert code == 3
    assert "Traceback" not in err
    assert len(errors) == 1
    assert "cannot be written" in errors[0]
    assert "what was committed before is safe" in errors[0]
    assert errors[0].endswith(f"--resume {cut.run.id}")
    turns = sum(len(c.turns) for c in cut.conversations)
    assert 0 < turns < 20

    assert main(["--resume", cut.run.id]) == 0
    assert sum(len(c.turns) for c in sound(latest()).conversations) > turns


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            b"",
            "not a run file, or one whose start was interrupted before its plan was written; start a new run",
        ),
        (b"SQLite format 3\0" + b"\xff" * 4096, "not a run file"),
        (b"a text that somebody keeps here\n" * 100, "not a run file (file is not a database)"),
    ],
)
def test_what_is_no_run_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: bytes, message: str
) -> None:
    """Exit code 2, whatever stands in the file's place, for `report` as well."""
    folder = tmp_path / "runs" / "20260401-093000-angry-0000"
    folder.mkdir(parents=True)
    (folder / RUN_FILE).write_bytes(damage)

    for arguments in (["--resume", "latest"], ["report", folder.name]):
        code = main(arguments)
        out, err = capsys.readouterr()
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
