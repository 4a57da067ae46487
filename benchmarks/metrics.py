"""`make bench-metrics`: how many rows a second the text metrics take, beside rouge_score and sacrebleu.

Every line of the tables is measured in processes of its own, on one core, by CPU time; the values of ours
and of theirs are compared row by row. Fails when they differ, or when a run's judges are too slow.
"""

import json
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measured import ROOT, measure
from benchmarks.metric_rows import Row, english, japanese
from benchmarks.metric_speed import OURS, PEER, PEERS

METRICS = ("exact_match", "rouge_l", "token_f1", "chrf")
ROWS = 5000
EQUAL = 1e-9
# Rows a second and core that a run's judges have to reach on Japanese answers of 60 tokens.
TARGETS = {"exact_match": 20_000, "rouge_l": 5_000}
HEAD = (
    "| rows/s | function | judge | in a run | MB | MB in a run | beside | rows/s | MB | ratio | equal |",
    "|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|",
)

Measurement = dict[str, Any]


def main() -> None:
    """Prints the tables in Markdown."""
    print(f"Python {platform.python_version()}, one core, CPU time (time.process_time), best of 3 passes.")
    print(
        "judge: from texts to a Score; in a run: through its panel, checked and filed; MB: a process's peak;"
    )
    print(f"ratio: function to function; equal: rows on which both give the same value, to {EQUAL:g}.\n")
    name, rows = english()
    ours = table("Japanese answers of 60 tokens", japanese(ROWS))
    sound = [ours, table(f"English answers, {name}", rows)]
    missed = list(reached(ours))
    if missed or not all(agrees(each) for found in sound for each in found.values()):
        sys.exit(1)


def table(title: str, rows: Sequence[Row]) -> dict[str, tuple[Measurement, Measurement]]:
    """The lines of one set of rows, printed as they are measured."""
    print(f"### {title} ({len(rows):,} rows)\n", *HEAD, sep="\n")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.jsonl")
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        file.write_text("".join(lines), encoding="utf-8")
        for metric in METRICS:
            peer = measured(PEER, metric, file) if metric in PEERS else {}
            found[metric] = measured(OURS, metric, file), peer
            print(line(metric, *found[metric]), flush=True)
    least = min(own["rows_memory"] for own, _ in found.values())
    print(f"\nPython with the rows and nothing else: {least:.0f} MB.")
    if heavy := {peer["name"] for _, peer in found.values() if peer and peer["beside"]}:
        print(f"{' and '.join(sorted(heavy))}: with scikit-learn or pandas, which NLTK loads where they are.")
    print()
    return found


def measured(package: str, metric: str, file: Path) -> Measurement:
    """What the process found out; nothing where the other package is not installed."""
    arguments = ["-m", "benchmarks.metric_speed", package, metric, str(file)]
    done = measure(arguments, environment={"PYTHONPATH": str(ROOT)})
    if done.code and package == PEER and "ModuleNotFoundError" in done.stderr:
        return {}
    if done.code:
        sys.exit(done.stderr)
    found: Measurement = json.loads(done.stdout)
    return found


def line(metric: str, ours: Measurement, peer: Measurement) -> str:
    """One metric beside the other package's."""
    own = [f"{ours[key]:,.0f}" for key in ("speed", "judge", "run", "memory", "run_memory")]
    beside = ["not installed" if metric in PEERS else "-", *"----"]
    if peer:
        equal = f"{equals(ours, peer):,} of {len(ours['values']):,}"
        times = f"{ours['speed'] / peer['speed']:.1f}"
        beside = [peer["name"], f"{peer['speed']:,.0f}", f"{peer['memory']:,.0f}", times, equal]
    return f"| {' | '.join([metric, *own, *beside])} |"


def equals(ours: Measurement, peer: Measurement) -> int:
    """How many rows both give the same value."""
    pairs = zip(ours["values"], peer["values"], strict=True)
    return sum(abs(own - other) <= EQUAL for own, other in pairs)


def agrees(found: tuple[Measurement, Measurement]) -> bool:
    """Whether that is all rows, as far as there is anything to compare."""
    ours, peer = found
    return not peer or equals(ours, peer) == len(ours["values"])


def reached(found: dict[str, tuple[Measurement, Measurement]]) -> Iterator[str]:
    """Says which metrics are as fast as they have to be; those that are not."""
    for metric, target in TARGETS.items():
        slowest = min(found[metric][0][way] for way in ("speed", "judge", "run"))
        result = "reached" if slowest >= target else "MISSED"
        print(f"{metric}: {slowest:,.0f} rows/s by the slowest way, {target:,} wanted: {result}")
        if slowest < target:
            yield metric


if __name__ == "__main__":
    main()
