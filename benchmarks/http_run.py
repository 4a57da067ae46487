"""100 conversations x 3 turns against an endpoint that answers after 200 ms (embeddings 50 ms).

Beside it, in the same run, the plain sequential script on three conversations, scaled up.
"""

import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measured import ROOT, Measured, measure

CONVERSATIONS, TURNS, LATENCY, EMBEDDING = 100, 3, 0.2, 0.05
# Bot and customer take turns; the last grade and the leaving question follow the last answer.
CRITICAL_PATH = TURNS * 2 * LATENCY + LATENCY
SCRIPT_CONVERSATIONS = 3


def main() -> None:
    """Both ways of judging, and the script."""
    with tempfile.TemporaryDirectory() as folder, endpoint() as url:
        cases = Path(folder) / "cases.csv"
        write_cases(cases, CONVERSATIONS)
        environment = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        script = measure(
            [str(ROOT / "benchmarks" / "sequential.py"), str(SCRIPT_CONVERSATIONS), str(TURNS)],
            environment=environment,
        )
        scaled = script.wall * CONVERSATIONS / SCRIPT_CONVERSATIONS
        measured = f"measured {script.wall:.1f} s on {SCRIPT_CONVERSATIONS} of {CONVERSATIONS}"
        print(f"plain script        {scaled:.0f} s   ({measured})")
        for judging in ("combined", "separate"):
            done = rehearse(cases, url, judging)
            print(line(f"http, {judging}", done, scaled))


def rehearse(cases: Path, url: str, judging: str, *more: str) -> Measured:
    """A whole run against the endpoint, which also plays the bot."""
    arguments = [
        str(ROOT / "run.py"), "--cases", str(cases), "--persona", "calm", "--adapter", "openai_chat",
        "--set", f"url={url}", "--set", "model=bot", "--judging", judging, "--concurrency", "1000",
        "--calls", "1000", "--cache", "off", "--json", *more,
    ]  # fmt: skip
    done = measure(arguments, environment={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"})
    if done.code not in (0, 1):
        sys.exit(done.stderr)
    return done


def line(name: str, done: Measured, scaled: float) -> str:
    """One row: seconds, and ratios to the script and to the critical path."""
    result = json.loads(done.stdout)
    calls = sum(result["calls"].values())
    return (
        f"{name:19} {done.wall:.1f} s   1/{scaled / done.wall:.0f} of the script,"
        f" {done.wall / CRITICAL_PATH:.1f} x the critical path; {done.cpu:.1f} s CPU, {done.memory:.0f} MB,"
        f" {calls} calls, {result['turns']} turns"
    )


def write_cases(path: Path, count: int) -> None:
    """Questions with a reference on every turn's subject."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "language", "references"])
        for number in range(count):
            writer.writerow(
                [
                    f"q{number}",
                    f"{number}番の料金はいくらですか",
                    "ja",
                    f"{number}番の料金は月額5,280円です。",
                ]
            )


@contextmanager
def endpoint() -> Iterator[str]:
    """The fake endpoint in a process of its own."""
    command = [sys.executable, "-m", "tests.servers.openai", "--latency", str(LATENCY)]
    command += ["--embeddings-latency", str(EMBEDDING)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield (server.stdout.readline().strip() if server.stdout else "")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
