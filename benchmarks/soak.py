"""One long run while endpoint and bot fail now and then: throughput and memory by the minute, and a picture.

`make soak` takes 30 minutes; `python -m benchmarks.soak --minutes 5` a short while.
"""

import argparse
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
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
PICTURE = ROOT / "docs" / "pictures" / "soak.svg"


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
    parser.add_argument("--picture", type=Path, default=PICTURE)
    flags = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="soak-") as name,
        serve(Faults(RATES), latency=LATENCY, embeddings_latency=LATENCY, record=False) as server,
    ):
        folder = Path(name)
        planned = round(flags.minutes * 60 * A_SECOND)
        process = _started(folder, planned, server.url)
        samples = watch(process, server, folder / "runs", flags.minutes * 60)
        process.send_signal(signal.SIGINT)
        code = process.wait()
        _judge(folder, code)
    flags.picture.write_text(picture(samples), encoding="utf-8")
    print(f"the memory curve is in {os.path.relpath(flags.picture)}")


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


def watch(process: subprocess.Popen[bytes], server: OpenAIServer, runs: Path, seconds: float) -> list[Sample]:
    """A sample a second, a line a minute."""
    began, samples = time.monotonic(), [Sample(0, 0, 0, 0)]
    last, turns = samples[0], 0
    print("minute   requests/s   turns/s   memory MB")
    while process.poll() is None and time.monotonic() - began < seconds:
        time.sleep(EVERY)
        now, minute = time.monotonic() - began, int((time.monotonic() - began) // 60)
        passed = minute > last.seconds // 60
        # Counted by the minute: reading a large file each second would be a load of its own.
        turns = _turns(runs) if passed else turns
        samples.append(Sample(now, _memory(process.pid), sum(server.counts.values()), turns))
        if passed:
            _say(minute, last, samples[-1])
            last = samples[-1]
    return samples[1:]


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


def picture(samples: Sequence[Sample]) -> str:
    """The memory curve as SVG: minutes across, MB upwards."""
    wide, high, left, foot = 720, 260, 60, 40
    most, last = max(s.memory for s in samples) * 1.15, samples[-1].seconds
    points = " ".join(
        f"{left + s.seconds / last * wide:.1f},{20 + high - s.memory / most * high:.1f}" for s in samples
    )
    marks = [(20 + high - share * high, f"{share * most:.0f}") for share in (0, 0.25, 0.5, 0.75, 1)]
    lines = "".join(
        f'<path d="M{left} {y:.1f}h{wide}" stroke="#ddd"/>'
        f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
        for y, text in marks
    )
    minutes = "".join(
        f'<text x="{left + share * wide:.0f}" y="{high + foot}" text-anchor="middle">'
        f"{share * last / 60:.1f}</text>"
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + wide + 30} {high + foot + 30}"'
        ' font-family="sans-serif" font-size="12" fill="#444">'
        f'<rect width="100%" height="100%" fill="#fff"/><text x="{left}" y="14">MB</text>{lines}{minutes}'
        f'<text x="{left + wide / 2}" y="{high + foot + 20}" text-anchor="middle">minutes</text>'
        f'<polyline points="{points}" fill="none" stroke="#1f6feb" stroke-width="1.5"/></svg>\n'
    )


if __name__ == "__main__":
    main()
