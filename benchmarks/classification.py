"""`make bench-classification`: classifiers by F1 on JCommonsenseMorality, each a run of `evaluate`.

Half of the sentence pairs are learnt from, the other half are asked: without a model, so that the figures are
the same everywhere. With a model: `evaluate FILE --adapter openai_chat --prompt labels`. The set (MIT) is not
part of this program: without it a sentence says where to put it.
"""

import contextlib
import io
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import DATA, classifiers
from simulator.cli.app import main as command
from simulator.core.types import Results
from simulator.lab.datasets.classification import LABEL_JUDGE, classifications
from simulator.storage.run_file import read_run

FILE = DATA / "jcm" / "classification_jcm_ja_dev.jsonl"
BOTS = ("majority", "neighbour", "bayes")


def main() -> None:
    """Prints the table of classifiers, the best first."""
    if not FILE.is_file():
        print(f"jcm: not there; put {FILE.name} into {FILE.parent} (or set REHEARSAL_BENCH_DATA).")
        return
    training, held_out = halves([json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()])
    classifiers.learn([classifiers.Example(row["text"], str(row["label"])) for row in training])
    print(f"JCommonsenseMorality (dev): learnt from {len(training)} sentences, asked {len(held_out)}\n")
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / FILE.name
        lined = (json.dumps(row, ensure_ascii=False) + "\n" for row in held_out)
        rows.write_text("".join(lined), encoding="utf-8")
        runs = list(evaluated_runs(rows))
    print("\n".join(lines(runs)))


def halves(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Every second pair of sentences that differ in a few words; both of a pair are on the same side."""
    sides = {group: place % 2 for place, group in enumerate(dict.fromkeys(row["group"] for row in rows))}
    training, held_out = ([row for row in rows if sides[row["group"]] == side] for side in (0, 1))
    return training, held_out


def evaluated_runs(rows: Path) -> Iterator[tuple[str, Results]]:
    """Each classifier's run, and on stderr how long it took."""
    for bot in BOTS:
        started = time.perf_counter()
        out = io.StringIO()
        options = ["--adapter", f"benchmarks.classifiers:{bot}", "--runs", str(rows.parent), "--offline"]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = command(["evaluate", str(rows), *options, "--json"])
        if code:
            sys.exit(f"{bot}: evaluate ended with {code}")
        sys.stderr.write(f"{bot}: {time.perf_counter() - started:.1f} s\n")
        yield bot, read_run(Path(json.loads(out.getvalue())["store"]))


def lines(runs: Iterable[tuple[str, Results]]) -> Iterator[str]:
    """The runs by F1 as text, the best first."""
    found = [
        (name, classification)
        for name, results in runs
        for classification in classifications(results)
        if classification.judge == LABEL_JUDGE
    ]
    rows = [
        (e.f1, e.f1_stderr, e.accuracy, e.accuracy_stderr, e.macro.f1, e.not_extracted, n) for n, e in found
    ]
    yield f"{'':22} {'F1':>17} {'accuracy':>17} {'macro F1':>9} {'not extracted':>13}"
    for f1, f1_error, accuracy, error, macro, missing, name in sorted(
        rows, key=lambda row: (-row[0], -row[2])
    ):
        shown = [_with(f1, f1_error), _with(accuracy, error)]
        yield f"{name:22} {shown[0]:>17} {shown[1]:>17} {macro:>9.4f} {missing:>13}"


def _with(value: float, error: float | None) -> str:
    return f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.4f}"


if __name__ == "__main__":
    main()
