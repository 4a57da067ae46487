"""100, 1,000 and 10,000 conversations x 3 turns: what one costs must not depend on how many there are.

Every turn takes the customer's line, the bot's answer, five LLM grades and one embeddings call, from an
endpoint that answers after 30 ms; page, summary and report.json are painted by the same process, and the
workbook, too, with `--to json xlsx`. Beside it, in the same minutes: a bare loop of the same calls through
aiohttp, and a plain one of a million steps. It fails where one of them took more memory than the limit.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.http_run import TURNS, bare_loop, write_cases
from benchmarks.measured import ROOT, loop, measure

COUNTS = (100, 1_000, 10_000)
LATENCY, EMBEDDING = 0.03, 0.02
CONCURRENCY, CALLS = 100, 200
# Of a whole run, its reports included, in MB.
LIMIT = 300
_MB = 1e6 if sys.platform == "darwin" else 1e6 / 1024


def main() -> None:
    """A row per count; the counts may be given, and further options of the program after them."""
    reader = argparse.ArgumentParser(prog="benchmarks.many", description=__doc__)
    reader.add_argument("--counts", nargs="+", type=int, default=COUNTS, metavar="N")
    reader.add_argument("--to", nargs="*", default=["json"], help="reports beside the page")
    options, more = reader.parse_known_args()
    most = 0.0
    with endpoint(LATENCY, EMBEDDING) as url:
        for count in options.counts:
            used = one(count, url, options.to, more)
            most = max(most, used["whole"][2])
            print(_row(count, used), flush=True)
    if most > LIMIT:
        sys.exit(f"{most:.0f} MB: more than {LIMIT} MB")


def one(count: int, url: str, to: list[str], more: list[str]) -> dict[str, Any]:
    """One run of so many conversations, in a process and a folder of its own; what it used."""
    with tempfile.TemporaryDirectory() as folder:
        cases = Path(folder) / "cases.jsonl"
        write_cases(cases, count)
        arguments = [
            "--cases", str(cases), "--persona", "calm", "--adapter", "http", *_bot(url), "--json",
            "--judging", "separate", "--cache", "off", "--concurrency", str(CONCURRENCY),
            "--calls", str(CALLS), "--runs", folder,
            *(part for name in to for part in ("--to", name)), *more,
        ]  # fmt: skip
        environment = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "PYTHONPATH": str(ROOT)}
        done = measure(["-m", "benchmarks.many", "child", *arguments], environment=environment)
        if done.code not in (0, 1) or not done.stdout:
            sys.exit(done.stderr)
        used: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
        run = Path(json.loads(done.stdout)["store"]).parent
        sizes = {path.name: path.stat().st_size / 1e6 for path in run.iterdir()}
        calls = sum(json.loads(done.stdout)["calls"].values())
        bare = bare_loop(url, "separate", CALLS, "aiohttp", count)
        return used | {"calls": calls, "sizes": sizes, "bare": bare.cpu, "loop": loop()}


def child(arguments: list[str]) -> int:
    """The program itself; says on stderr what it had used before its reports, and at its end."""
    from simulator.cli import publish
    from simulator.cli.app import main as program

    paint, before = publish.publish, [0.0, 0.0, 0.0]

    def painting(*arguments: Any) -> int:
        before[:] = _used()
        return paint(*arguments)

    publish.publish = painting  # type: ignore[assignment]
    code = program(arguments)
    sys.stderr.write("\n" + json.dumps({"run": before, "whole": _used()}) + "\n")
    return code


def _bot(url: str) -> list[str]:
    """The options for the endpoint's own bot, which shows a passage."""
    request = {"model": "bot", "messages": [{"role": "user", "content": "$question"}]}
    keys = {
        "url": f"{url}/chat/completions",
        "request": json.dumps(request),
        "answer": "choices[0].message.content",
        "passages": "choices",
        "passage_text": "message.content",
    }
    return [part for key, value in keys.items() for part in ("--set", f"{key}={value}")]


@contextmanager
def endpoint(latency: float, embedding: float) -> Iterator[str]:
    """The fake endpoint in a process of its own; it keeps no request."""
    command = [sys.executable, "-m", "tests.servers.openai", "--latency", str(latency)]
    command += ["--embeddings-latency", str(embedding)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield (server.stdout.readline().strip() if server.stdout else "")
    finally:
        server.terminate()
        server.wait()


def _used() -> list[float]:
    """Seconds since the start, seconds of CPU, and the most memory so far, in MB."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return [time.perf_counter() - _STARTED, used.ru_utime + used.ru_stime, used.ru_maxrss / _MB]


def _row(count: int, used: dict[str, Any]) -> str:
    (wall, cpu, memory), whole, calls = used["run"], used["whole"], used["calls"] + count * TURNS
    sizes = ", ".join(f"{name} {size:.1f} MB" for name, size in sorted(used["sizes"].items()) if size)
    return (
        f"{count:6,} conversations  {wall:.0f} s, {calls / wall:.0f} calls/s ({calls:,} calls);"
        f" {1000 * cpu / count:.1f} ms CPU per conversation (bare loop {1000 * used['bare'] / count:.1f},"
        f" a million steps {1000 * used['loop']:.0f} ms), {memory:.0f} MB;"
        f" reports {whole[0] - wall:.1f} s, {1000 * (whole[1] - cpu) / count:.2f} ms CPU per conversation,"
        f" {whole[2]:.0f} MB in all; {sizes}"
    )


_STARTED = time.perf_counter()

if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        sys.exit(child(sys.argv[2:]))
    main()
