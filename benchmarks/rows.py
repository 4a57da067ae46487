"""1,000, 10,000 and 100,000 rows of a data set, evaluated and reported: memory must not grow as they do.

Every row has a recorded answer of 60 Japanese tokens, its reference and its question; each run is a process
of its own, page and summary included, with personal data masked as it is by default.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measured import ROOT, measure

COUNTS = (1_000, 10_000, 100_000)
JUDGES = ("exact_match", "rouge_l")
# Of a whole run, its report included, in MB.
LIMIT = 300
_MB = 1e6 if sys.platform == "darwin" else 1e6 / 1024
_WORDS = (
    "料金", "配送", "返品", "期限", "会員", "登録", "変更", "手続き", "確認", "注文", "番号", "無料", "送料",
    "窓口", "電話", "受付", "時間", "平日", "は", "が", "を", "に", "で", "と", "も", "から", "まで", "です",
    "ます", "ください", "できます", "ありません", "の", "場合", "次", "右上", "押す", "店舗", "予約",
)  # fmt: skip
_TOKENS = 60


def main() -> None:
    """A line per judge and count; fails where a run took more memory than the limit."""
    reader = argparse.ArgumentParser(prog="benchmarks.rows", description=__doc__)
    reader.add_argument("--counts", nargs="+", type=int, default=COUNTS, metavar="N")
    reader.add_argument("--judges", nargs="+", default=JUDGES, metavar="NAME")
    options, more = reader.parse_known_args()
    most = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for count in options.counts:
            rows = Path(folder) / f"{count}.jsonl"
            write_rows(rows, count)
            for judge in options.judges:
                seconds, cpu, memory = evaluate(rows, judge, Path(folder), more)
                most = max(most, memory)
                rate = f"{count / seconds:,.0f} rows/s, {1000 * cpu / count:.2f} ms CPU a row"
                print(f"{count:8,} rows  {judge:<12} {seconds:6.1f} s  {rate}  {memory:.0f} MB", flush=True)
    if most > LIMIT:
        sys.exit(f"{most:.0f} MB: more than {LIMIT} MB")


def write_rows(path: Path, count: int) -> None:
    """A JSONL file; three of five answers are their references, word for word."""
    lot = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            reference = _text(lot)
            answer = reference if lot.random() < 0.6 else _text(lot)
            row = {"id": f"r{number}", "question": f"{number}番です。{_text(lot)[:30]}？"}
            row |= {"reference": reference, "answer": answer}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _text(lot: random.Random) -> str:
    """Sixty tokens as ROUGE-L counts them: each kanji or kana is one."""
    text = ""
    while len(text) < _TOKENS:
        text += lot.choice(_WORDS)
    return text[:_TOKENS]


def evaluate(rows: Path, judge: str, runs: Path, more: list[str]) -> tuple[float, float, float]:
    """Seconds, seconds of CPU and the most memory (MB) of one run."""
    masked = ("--adapter", "recorded", "--redact", "on")
    arguments = ["evaluate", str(rows), *masked, "--judges", judge, "--json"]
    done = measure(
        ["-m", "benchmarks.rows", "child", *arguments, "--runs", str(runs / "runs"), *more],
        environment={"PYTHONPATH": str(ROOT)},
    )
    if done.code:
        sys.exit(done.stderr)
    seconds, cpu, memory = json.loads(done.stderr.splitlines()[-1])
    return seconds, cpu, memory


def child(arguments: list[str]) -> int:
    """The program itself; says on stderr what it has used at its end."""
    started = time.perf_counter()
    from simulator.cli.app import main as program

    code = program(arguments)
    used = resource.getrusage(resource.RUSAGE_SELF)
    usage = [time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / _MB]
    sys.stderr.write("\n" + json.dumps(usage) + "\n")
    return code


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        sys.exit(child(sys.argv[2:]))
    main()
