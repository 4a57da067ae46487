"""One worker of this machine and two, a process with one thread each: how much sooner two have finished.

Twice: offline, which is nothing but CPU, and with a bot that takes its time, where each worker holds eight
conversations at a time. `python -m benchmarks.cluster 24` holds each bundled question 24 times with each of
three customers, and a quarter of that with the slow bot.
"""

import asyncio
import hashlib
import json
import os
import sys
from pathlib import Path

from benchmarks.measured import ROOT, Measured, measure, middle
from simulator import plugins
from simulator.core.settings import stored_settings
from simulator.lab.dask.driver import perform
from simulator.runner.context import RunContext
from simulator.runner.plan import read_plan
from simulator.runner.run import create_run
from simulator.storage.run_file import RunFile, read_run
from tests.run_helpers import Quiet

REPEATS, PAIRS, GOAL, AT_ONCE, WAIT = 12, 3, 1.8, 8, 0.5
PERSONAS = ("angry", "calm", "beginner")
BOUNDS = {"cpu": "nothing but CPU", "bot": f"a bot that takes {WAIT} s"}
BOT = f"""
import asyncio

async def answer(text):
    await asyncio.sleep({WAIT})
    return "The fee is 990 yen a month."
"""


def main() -> None:
    """Pairs of runs, one after the other; ratios of the time in which conversations were held and graded."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS
    print(f"cluster: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before it began")
    for bound, what in BOUNDS.items():
        ratios, alike = [], True
        for _ in range(PAIRS):
            (one, first), (two, second) = (_measured(repeats, bound, workers) for workers in (1, 2))
            alike = alike and first["same"] == second["same"]
            ratios.append(first["seconds"] / second["seconds"])
            print(
                f"  {first['held']} conversations: {first['seconds']:.1f} s,"
                f" {second['seconds']:.1f} s with two workers, {ratios[-1]:.2f} x;"
                f" with start and set-up {one.wall / two.wall:.2f} x"
            )
            print(
                f"    CPU a conversation, start included: workers"
                f" {1000 * first['played'] / first['held']:.1f} and"
                f" {1000 * second['played'] / second['held']:.1f} ms,"
                f" the writing process, without it, {1000 * second['own'] / second['held']:.1f} ms"
            )
        print(f"{what}: {middle(ratios):.2f} x, median of {PAIRS}, goal {GOAL} x;", end=" ")
        print(f"the same words and grades: {'yes' if alike else 'NO'}")


def _measured(repeats: int, bound: str, workers: int) -> tuple[Measured, dict[str, float]]:
    arguments = ["-m", "benchmarks.cluster", str(repeats), bound, str(workers)]
    done = measure(arguments, environment={"PYTHONPATH": str(ROOT)})
    if done.code:
        sys.exit(done.stderr)
    return done, json.loads(done.stdout)


def hold(repeats: int, bound: str, workers: int) -> None:
    """One run without reports; prints seconds, CPU of this process and of the workers, and a hash."""
    slow = {}
    if bound == "bot":
        Path("bot.py").write_text(BOT, encoding="utf-8")
        slow = {"adapter": "bot.py:answer", "concurrency": AT_ONCE * workers}
        repeats = max(1, repeats // 4)
    plain = {"offline": True, "cache": "off", "persona": PERSONAS, "repeats": repeats, **slow}
    plugins.offer()
    settings = stored_settings({**plain, "workers": workers})
    plan, personas, *_ = read_plan(settings)
    context = RunContext(settings, personas)
    began = 0.0

    def opened() -> RunFile:
        nonlocal began
        began = sum(os.times()[:2])
        return create_run(settings, context, plan, personas)

    path, stopped = asyncio.run(perform(context, plan, opened, Quiet()))
    own, played = sum(os.times()[:2]) - began, sum(os.times()[2:4])
    results = read_run(path)
    if stopped or results.run.status != "finished":
        sys.exit("stopped: " + str(stopped))
    ids = [
        c.model_dump_json(exclude={"turns": {"__all__": {"answer": {"seconds"}}}})
        for c in results.conversations
    ]
    ids += [score.model_dump_json() for score in results.scores]
    print(json.dumps({
        "held": len(results.conversations),
        "seconds": results.run.seconds,
        "played": played,
        "own": own,
        "same": hashlib.sha256("\n".join(ids).encode()).hexdigest(),
    }))  # fmt: skip


if __name__ == "__main__":
    if sys.argv[2:]:
        hold(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    else:
        main()
