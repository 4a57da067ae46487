"""100 conversations x 3 turns against an endpoint that answers after 200 ms (embeddings 50 ms).

Every turn takes the customer's line, the bot's answer, five LLM grades and one embeddings call. Beside
it, in the same minutes: bare loops that make the same calls, through aiohttp and through the OpenAI client,
and do nothing else; the plain sequential script on three conversations, scaled up; and how long until the
endpoint sees the first request. The run asks for no causes (`--causes ids`), since the loops ask for none.
"""

import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measured import ROOT, Measured, measure, middle

CONVERSATIONS, TURNS, LATENCY, EMBEDDING = 100, 3, 0.2, 0.05
# Bot and customer take turns; the last grade and the leaving question follow the last answer.
CRITICAL_PATH = TURNS * 2 * LATENCY + LATENCY
SCRIPT_CONVERSATIONS = 3
RUNS = 3
WIDE, USUAL = 1000, 64
CLIENTS = ("aiohttp", "openai")
# How it is judged, and how many calls may be in flight.
WAYS = (("separate", WIDE), ("combined", WIDE), ("separate", USUAL))


def main() -> None:
    """The script, the first request, then each way of judging beside its bare loops; medians, alternating."""
    with tempfile.TemporaryDirectory() as folder, endpoint() as url:
        cases = Path(folder) / "cases.jsonl"
        write_cases(cases, CONVERSATIONS)
        scaled = script(url)
        rehearse(cases, url, "combined", WIDE, "--limit", "1")  # compiles what the others find compiled
        first = typical([first_request(cases) for _ in range(RUNS)])
        print(f"first request       after {first.wall:.2f} s, {first.cpu:.2f} s CPU")
        for judging, calls in WAYS:
            loops: dict[str, list[Measured]] = {client: [] for client in CLIENTS}
            done = []
            for _ in range(RUNS):
                for client in CLIENTS:
                    loops[client].append(bare_loop(url, judging, calls, client))
                done.append(rehearse(cases, url, judging, calls))
            bare = {client: typical(runs) for client, runs in loops.items()}
            name = f"{judging}, {calls} calls"
            for client in CLIENTS:
                print(f"bare loop, {client:7} {name:20} {_used(bare[client])}")
            print(line(f"http, {name}", typical(done), bare, scaled, bound(judging, calls)))


def first_request(cases: Path) -> Measured:
    """From the shell's prompt to the first request, which is never answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        arguments = [str(ROOT / "run.py"), *options(cases, url, "separate", WIDE)]
        environment = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        return measure(arguments, environment=environment, until=lambda: server.accept()[0].recv(1))


def script(url: str) -> float:
    """Seconds that the plain script would take for all conversations."""
    arguments = [str(ROOT / "benchmarks" / "sequential.py"), str(SCRIPT_CONVERSATIONS), str(TURNS)]
    done = measure(arguments, environment={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"})
    scaled = done.wall * CONVERSATIONS / SCRIPT_CONVERSATIONS
    measured = f"measured {done.wall:.1f} s on {SCRIPT_CONVERSATIONS} of {CONVERSATIONS}"
    print(f"plain script        {scaled:.0f} s   ({measured})")
    return scaled


def bare_loop(url: str, judging: str, calls: int, client: str, count: int = CONVERSATIONS) -> Measured:
    """The same calls through this client, and nothing else."""
    program = str(ROOT / "benchmarks" / "bare_loop.py")
    arguments = [program, str(count), str(TURNS), str(calls), judging, client]
    return _sound(measure(arguments, environment={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}))


def rehearse(cases: Path, url: str, judging: str, calls: int, *more: str) -> Measured:
    """A whole run against the endpoint."""
    arguments = [str(ROOT / "run.py"), *options(cases, url, judging, calls), *more]
    return _sound(measure(arguments, environment={"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}))


def options(cases: Path, url: str, judging: str, calls: int) -> list[str]:
    """What the program is told; the endpoint also plays a bot that shows a passage."""
    request = {"model": "bot", "messages": [{"role": "user", "content": "$question"}]}
    bot = {
        "url": f"{url}/chat/completions",
        "request": json.dumps(request),
        "answer": "choices[0].message.content",
        "passages": "choices",
        "passage_text": "message.content",
    }
    return [
        "--cases", str(cases), "--persona", "calm", "--adapter", "http",
        *(part for key, value in bot.items() for part in ("--set", f"{key}={value}")),
        "--judging", judging, "--concurrency", str(WIDE), "--calls", str(calls), "--cache", "off", "--json",
        "--causes", "ids",
    ]  # fmt: skip


def _sound(done: Measured) -> Measured:
    if done.code not in (0, 1):
        sys.exit(done.stderr)
    return done


def typical(runs: Sequence[Measured]) -> Measured:
    """The run of median wall time."""
    wall = middle([run.wall for run in runs])
    return next(run for run in runs if run.wall == wall)


def bound(judging: str, calls: int) -> float:
    """Seconds below which no order of the calls can come: the critical path, or the work of all places."""
    grades = 5 if judging == "separate" else 1
    work = CONVERSATIONS * TURNS * ((2 + grades) * LATENCY + EMBEDDING) / calls
    return max(CRITICAL_PATH, work)


def line(name: str, done: Measured, bare: Mapping[str, Measured], scaled: float, least: float) -> str:
    """One row: seconds, and ratios to the bare loops, the bound and the script."""
    result = json.loads(done.stdout)
    calls = sum(result["calls"].values())
    ratios = ", ".join(
        f"{done.wall / loop.wall:.2f} x the bare loop of {client} ({done.cpu / loop.cpu:.1f} x its CPU)"
        for client, loop in bare.items()
    )
    return (
        f"{name:27} {_used(done)}; {ratios}, {done.wall / least:.1f} x the bound of {least:.1f} s,"
        f" 1/{scaled / done.wall:.0f} of the script; {calls} model calls, {result['turns']} turns"
    )


def _used(done: Measured) -> str:
    return f"{done.wall:.1f} s, {done.cpu:.1f} s CPU, {done.memory:.0f} MB"


def write_cases(path: Path, count: int) -> None:
    """Questions with a reference for every turn."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            case = {
                "id": f"q{number}",
                "question": f"{number}番の料金はいくらですか",
                "language": "ja",
                "references": [[f"{number}番の料金は月額{turn}5,280円です。"] for turn in range(1, 4)],
            }
            file.write(json.dumps(case, ensure_ascii=False) + "\n")


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
