"""How many questions `diff` says would be needed, and how often so many of them decide.

Bots as in `benchmarks.changes`, the later one worse by 0 to 30 points of 100. Of pairs of runs that decide
nothing `diff` says how many questions would show a change of 20 points; so many are then asked of the same
two bots. Fails where fewer than 90 % of these decide although the later bot is worse by as much.
"""

import argparse
from itertools import product
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from benchmarks.changes import draw_runs
from simulator.results.comparison import FAR, JudgeDifference, differences

FALLS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
ASKED = (8, 12, 20, 40)
LEAST = 0.9


class Answers(NamedTuple):
    """Shares (0..1) of pairs that decided at once, and with the number said; and the numbers said.

    `narrow` are those whose interval became as narrow as was aimed at.
    """

    at_once: float
    decided: float | None
    narrow: float | None
    said: list[int]


def compared(random: np.random.Generator, questions: int, fall: float) -> JudgeDifference:
    """The deciding judge's row of `diff`, of two runs with so many questions."""
    (row,) = differences({"judge-0": draw_runs(random, questions, 1, fall)["judge-0"]}, seed=42)
    return row


def simulate(questions: int, fall: float, pairs: int, seed: int) -> Answers:
    """What so many pairs of runs come to, and those that are asked once more with the number said."""
    random = np.random.default_rng([seed, questions, round(100 * fall)])
    rows = [compared(random, questions, fall) for _ in range(pairs)]
    said = [row.cases_needed for row in rows if row.verdict == "no_difference" and row.cases_needed]
    again = [compared(random, number, fall) for number in said]
    return Answers(
        at_once=fmean(row.verdict in ("better", "worse") for row in rows),
        decided=fmean(row.verdict in ("better", "worse") for row in again) if again else None,
        narrow=fmean(row.cases_needed == 0 for row in again) if again else None,
        said=said,
    )


def main() -> None:
    """Prints a row for each kind of pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200, help="pairs of runs of each kind")
    parser.add_argument("--seed", type=int, default=42)
    given = parser.parse_args()
    worst = 1.0
    print(f"{given.pairs} pairs of runs of each kind; shares in %\n")
    print("                    decided                           decided   at most 20")
    print("worse by questions  at once   said (10 to 90 %)  with as many  points wide")
    for fall, questions in product(FALLS, ASKED):
        found = simulate(questions, fall, given.pairs, given.seed)
        start = f"{100 * fall:8.0f}{questions:10d}{100 * found.at_once:9.0f}"
        if found.decided is None or found.narrow is None:
            print(f"{start}   none")
            continue
        worst = min(worst, found.decided) if fall >= FAR else worst
        low, high = np.quantile(found.said, [0.1, 0.9])
        numbers = f"{median(found.said):.0f} ({low:.0f} to {high:.0f})"
        print(f"{start}{numbers:>20}{100 * found.decided:14.0f}{100 * found.narrow:13.0f}", flush=True)
    print(f"\nFewest decided of bots that are worse by {100 * FAR:.0f} points or more: {100 * worst:.1f} %")
    if worst < LEAST:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
