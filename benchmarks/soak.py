"""One long run while endpoint and bot fail now and then: throughput and memory by the minute.

`make soak` takes 30 minutes; `python -m benchmarks.soak --minutes 5` a short while.
"""

import argparse
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measured import ROOT
from simulator.core.errors import RunFileError
from simulator.storage.run_file import find_run, read_run
from tests.crash.mix import RATES, failures, options
from tests.crash.processes import environment
from tests.crash.trial import is_sound
from tests.servers.faults import Faults
from tests.servers.openai import OpenAIServer, serve

MINUTES, LATENCY, TIMEOUT, EVERY = 30.0, 0.1, 5.0, 1.0
# Conversations at once, and more of them than can be held in a second.
CONVERSATIONS, A_SECOND = 60, 60


@dataclass(frozen=True)
class Sample:
    """Seconds since the start, memory in MB (10^6 bytes), requests and turns so far."""

    seconds: float
    memory: float
    requests: int
    turns: int


def main() -> None:
    """Rehearses for so many minutes, interrupts, and looks at what is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    flags = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="soak-") as name,
        serve(Faults(RATES), latency=LATENCY, embeddings_latency=LATENCY, record=False) as server,
    ):
        folder = Path(name)
        planned = round(flags.minutes * 60 * A_SECOND)
        process = _started(folder, planned, server.url)
        watch(process, server, folder / "runs", flags.minutes * 60)
        process.send_signal(signal.SIGINT)
        code = process.wait()
        _judge(folder, code)


def _started(folder: Path, planned: int, url: str) -> subprocess.Popen[bytes]:
    arguments = list(options(folder, planned, failing=True, timeout=TIMEOUT))
    arguments[arguments.index("--concurrency") + 1] = str(CONVERSATIONS)
    return subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), *arguments],
        cwd=folder,
        env=environment() | {"REHEARSAL_JUDGE_URL": url, "REHEARSAL_JUDGE_KEY": "key"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def watch(process: subprocess.Popen[bytes], server: OpenAIServer, runs: Path, seconds: float) -> None:
    """A line a minute, for so many seconds or until the process ends."""
    began, last = time.monotonic(), Sample(0, 0, 0, 0)
    print("minute   requests/s   turns/s   memory MB")
    while process.poll() is None and time.monotonic() - began < seconds:
        time.sleep(EVERY)
        now = time.monotonic() - began
        if now // 60 > last.seconds // 60:
            sample = Sample(now, _memory(process.pid), sum(server.counts.values()), _turns(runs))
            _say(int(now // 60), last, sample)
            last = sample


def _say(minute: int, last: Sample, now: Sample) -> None:
    span = now.seconds - last.seconds
    requests, turns = (now.requests - last.requests) / span, (now.turns - last.turns) / span
    print(f"{minute:6} {requests:12.0f} {turns:9.1f} {now.memory:11.0f}", flush=True)


def _memory(process: int) -> float:
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    resident = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(resident[0]) * 1024 / 1e6 if resident else 0.0


def _turns(runs: Path) -> int:
    try:
        with closing(sqlite3.connect(find_run("latest", runs), timeout=10)) as file:
            (count,) = file.execute("SELECT count(*) FROM turns WHERE answer IS NOT NULL").fetchone()
            return int(count)
    except (RunFileError, sqlite3.Error):
        return 0


def _judge(folder: Path, code: int) -> None:
    """What is in the run file after Ctrl-C."""
    path = find_run("latest", folder / "runs")
    results = read_run(path)
    begun = [conversation for conversation in results.conversations if conversation.turns]
    found = failures(results.model_copy(update={"conversations": tuple(begun)}))
    print(f"interrupted: exit {code}, run file sound: {is_sound(path)}, {path.stat().st_size / 1e6:.0f} MB")
    print(f"  {len(begun):,} conversations: {dict(found.ended)}")
    print(f"  failed: bot {dict(found.bot)}, grades {dict(found.judges)} of {len(results.scores):,}")


if __name__ == "__main__":
    main()
