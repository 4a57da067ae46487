"""Offline rehearsals of 40 questions x 3 personas: over the bundled articles, and over 1,152 public passages.

Turns a second of CPU, for a machine that is shared: while the conversations are held and graded, and of the
whole process, from the shell prompt to the written report; and what a turn costs beside a plain Python loop
of a million steps. The passages are mtrag_un of `../shared/data`, or
REHEARSAL_BENCH_DATA.
"""

import json
import sys
import tempfile
from pathlib import Path

from benchmarks import DATA
from benchmarks.customers_data import rows_of
from benchmarks.measured import ROOT, loop, measure, middle
from benchmarks.phases import HELD

QUESTIONS, RUNS = 40, 3
CONVERSATIONS = DATA / "mtrag_un" / "rag_conversations_mtrag_un_dev.jsonl.gz"
PASSAGES = DATA / "mtrag_un" / "rag_corpus_mtrag_un.jsonl.gz"


def main() -> None:
    """A row for each knowledge base: 120 conversations of up to three turns, report included."""
    with tempfile.TemporaryDirectory() as folder:
        rehearse("demo")
        if not PASSAGES.exists():
            print(f"1,152 passages: not there; put {PASSAGES.name} into {PASSAGES.parent}")
            return
        cases = Path(folder, "cases.jsonl")
        cases.write_text("\n".join(map(json.dumps, questions())), encoding="utf-8")
        rehearse("1,152 passages", "--cases", str(cases), "--set", f"knowledge={PASSAGES}")


def questions() -> list[dict[str, object]]:
    """The last questions of recorded conversations, with what was to be answered."""
    kept = ("id", "question", "language", "reference")
    return [{key: row[key] for key in kept} for row in rows_of(CONVERSATIONS)[:QUESTIONS]]


def rehearse(name: str, *more: str) -> None:
    """One row; the median of some runs."""
    arguments = [
        str(ROOT / "benchmarks" / "phases.py"), "--offline", "--adapter", "demo", "--json",
        "--persona", "angry,calm,beginner", "--limit", str(QUESTIONS), *more,
    ]  # fmt: skip
    held, whole, memory, steps, turns = [], [], [], [], 0
    for _ in range(RUNS):
        done = measure(arguments, environment={"PYTHONPATH": str(ROOT)})
        if not done.stdout:
            sys.exit(done.stderr)
        turns = json.loads(done.stdout)["turns"]
        phases = {phase: cpu for phase, _, cpu in json.loads(done.stderr.splitlines()[-1])}
        held.append(phases[HELD])
        whole.append(done.cpu)
        memory.append(done.memory)
        steps.append(loop())
    print(
        f"offline, {name:15} {turns} turns: {turns / middle(held):.0f} a second of CPU while they are held,"
        f" {turns / middle(whole):.0f} of the whole; {middle(whole):.1f} s CPU, {middle(memory):.0f} MB;"
        f" a turn is {middle(held) / turns / middle(steps):.2f} of the loop's {1000 * middle(steps):.0f} ms"
    )


if __name__ == "__main__":
    main()
