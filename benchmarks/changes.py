"""How often `diff` reports a change of bots that did not change, how often it finds a real one, and how fast.

Six judges who see much the same, cases of their own difficulty, grades in fifths, bots that answer a little
otherwise each time. Beside it a plain look: any of the six means lower by Student's paired test.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simulator.core.types import RedRules
from simulator.results.comparison import Pair, differences
from simulator.results.draws import student
from simulator.results.history import past_runs
from simulator.results.intervals import Floats
from simulator.results.significance import ALPHA, mcnemar

JUDGES, DRAWS = 6, 200
# Below this a turn is red.
RED = RedRules().overall or 0.0
ROOT = Path(__file__).resolve().parent.parent
RunPairs = dict[str, list[Pair]]


def main() -> None:
    """False alarms, power, and the seconds that a hundred runs take."""
    print(f"diff, {DRAWS} pairs of runs each, six judges: regression found (plain paired t, any judge)")
    for cases, runs in ((8, 1), (20, 1), (20, 3), (60, 1), (200, 1)):
        columns = [
            f"{name} {share(cases, runs, fall):5.1%} ({share(cases, runs, fall, plain=True):5.1%})"
            for name, fall in (("unchanged", 0.0), ("5 points worse", 0.05), ("10 points worse", 0.1))
        ]
        print(f"  {cases:3} cases x {runs}   {'   '.join(columns)}")
    many_runs()


def share(cases: int, conversations: int, fall: float, *, plain: bool = False, draws: int = DRAWS) -> float:
    """How often (0..1) a regression is found where the later bot is worse by `fall`."""
    random = np.random.default_rng(20261121)
    alarm = by_t_test if plain else is_found
    return sum(alarm(draw_runs(random, cases, conversations, fall)) for _ in range(draws)) / draws


def draw_runs(random: np.random.Generator, cases: int, conversations: int, fall: float) -> RunPairs:
    """The pairs of two runs, by judge."""
    hard = random.uniform(0.3, 0.95, size=(cases, 1))
    ways = [hard - lower + random.normal(0, 0.15, (cases, conversations)) for lower in (0.0, fall)]
    return {
        f"judge-{n}": list(pairs(graded(random, ways[0]), graded(random, ways[1]))) for n in range(JUDGES)
    }


def graded(random: np.random.Generator, quality: Floats) -> Floats:
    """What one judge gives, in fifths: the quality with a little of its own."""
    given: Floats = np.clip(np.round((quality + random.normal(0, 0.1, quality.shape)) * 5) / 5, 0.2, 1)
    return given


def pairs(before: Floats, after: Floats) -> Iterator[Pair]:
    """Case, before and after."""
    for case, (one, other) in enumerate(zip(before, after, strict=True)):
        for a, b in zip(one, other, strict=True):
            yield f"case-{case:03}", float(a), float(b)


def is_found(values: RunPairs) -> bool:
    """Whether `diff` would call it a regression: the score fell, or more cases turned red, beyond chance."""
    deciding = values["judge-0"]
    (score,) = differences({"judge-0": deciding}, seed=42)
    net: dict[str, int] = {}
    for case, before, after in deciding:
        net[case] = net.get(case, 0) + (after < RED) - (before < RED)
    worse, better = sum(n > 0 for n in net.values()), sum(n < 0 for n in net.values())
    return score.verdict == "worse" or (worse > better and mcnemar(worse, better) < ALPHA)


def by_t_test(values: RunPairs) -> bool:
    """Whether any judge's mean is lower by a paired t test over conversations, uncorrected."""
    return any(_t([after - before for _, before, after in value]) for value in values.values())


def _t(by: list[float]) -> bool:
    spread = float(np.std(by, ddof=1)) / len(by) ** 0.5
    return bool(np.mean(by) < -student(0.975, len(by) - 1) * spread)


def many_runs(count: int = 100) -> None:
    """`history` over so many runs of the bundled questions."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, str(ROOT / "run.py"), "--offline", "--persona", "angry", "--persona", "calm"],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
        runs = Path(folder, "runs")
        first = next(runs.iterdir())
        for number in range(1, count):
            shutil.copytree(first, runs / f"{first.name}-{number:03}")
        started = time.perf_counter()
        past, _ = past_runs(runs)
        took = time.perf_counter() - started
        whole = json.dumps([run.score for run in past])
        print(
            f"history, {len(past)} runs of {past[0].graded} conversations: {took:.2f} s ({len(whole)} bytes)"
        )


if __name__ == "__main__":
    main()
