"""The same offline rehearsal in one process and on two workers of this machine: nothing but CPU.

`python -m benchmarks.cluster 24` holds each bundled question 24 times with each of three customers.
"""

import asyncio
import hashlib
import json
import os
import sys

from benchmarks.measured import ROOT, Measured, measure, middle
from simulator.addons.dask.driver import perform as on_workers
from simulator.core.roles import endpoints
from simulator.core.settings import Settings
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.runner.plan import read_plan
from simulator.runner.run import create_run, perform
from simulator.storage.run_file import RunFile, read_run
from tests.run_helpers import Quiet

REPEATS, PAIRS, WORKERS, GOAL = 12, 3, 2, 1.7
PERSONAS = ("angry", "calm", "beginner")


def main() -> None:
    """Pairs of runs, one after the other; ratios of the time in which conversations were held and graded."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS
    print(f"cluster: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before it began")
    ratios, bounds, alike = [], [], True
    for _ in range(PAIRS):
        one, alone = _measured(repeats, "local")
        two, spread = _measured(repeats, "dask")
        alike = alike and alone["same"] == spread["same"]
        ratios.append(alone["seconds"] / spread["seconds"])
        bounds.append(WORKERS * alone["cpu"] / spread["cpu"])
        more = 1000 * (spread["cpu"] - alone["cpu"]) / alone["held"]
        print(
            f"  {alone['held']} conversations: {alone['seconds']:.1f} s, {spread['seconds']:.1f} s on workers"
        )
        print(f"    {ratios[-1]:.2f} x; with start and set-up {one.wall / two.wall:.2f} x", end="; ")
        print(f"CPU {alone['cpu']:.1f} s and {spread['cpu']:.1f} s, {more:+.1f} ms a conversation")
        print(f"    of that the writing process takes {1000 * spread['own'] / spread['held']:.1f} ms each")
    print(f"cluster             {middle(ratios):.2f} x, {WORKERS} workers, median of {PAIRS}, goal {GOAL} x;")
    print(f"                    {middle(bounds):.2f} x by its CPU alone, as on idle cores;", end=" ")
    print(f"the same words and grades: {'yes' if alike else 'NO'}")


def _measured(repeats: int, engine: str) -> tuple[Measured, dict[str, float]]:
    done = measure(["-m", "benchmarks.cluster", str(repeats), engine], environment={"PYTHONPATH": str(ROOT)})
    if done.code:
        sys.exit(done.stderr)
    return done, json.loads(done.stdout)


def hold(repeats: int, engine: str) -> None:
    """One run in this process, without reports; prints seconds, CPU of it and its desks, and a hash."""
    workers = {"engine": engine, "workers": WORKERS} if engine == "dask" else {}
    settings = Settings(offline=True, cache="off", persona=PERSONAS, repeats=repeats, **workers)
    plan, personas, *_ = read_plan(settings)
    context = RunContext(settings, endpoints(settings), personas, Ledger.of(settings))

    def opened() -> RunFile:
        return create_run(settings, context, plan, personas)

    path, stopped = asyncio.run((on_workers if workers else perform)(context, plan, opened, Quiet()))
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
        "cpu": sum(os.times()[:4]),
        "own": sum(os.times()[:2]),
        "same": hashlib.sha256("\n".join(ids).encode()).hexdigest(),
    }))  # fmt: skip


if __name__ == "__main__":
    if sys.argv[2:]:
        hold(int(sys.argv[1]), sys.argv[2])
    else:
        main()
