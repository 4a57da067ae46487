"""Where the time of the HTTP run goes: seconds and CPU seconds from phase to phase of one process.

`python -m benchmarks.phases` prints the table; with arguments it is the process that is measured.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.http_run import CONVERSATIONS, USUAL, WAYS, WIDE, endpoint, options, rehearse, write_cases
from benchmarks.measured import ROOT, measure

HELD = "conversations and grades, the client's import included"
# Where a phase begins: the module, the function that begins it, and what the time up to there went into.
BEGINNINGS = (
    ("simulator.runner.plan", "read_plan", "interpreter, command line, modules"),
    ("simulator.api.run", "announce", "questions, judges, prompts"),
    ("simulator.runner.run", "perform", "forecast, with the table of prices"),
    ("simulator.runner.run", "hold_conversations", "the bot's start"),
    ("simulator.cli.publish", "publish", HELD),
)
LAST = "figures, report.html, summary"


def main() -> None:
    """One table for each way of judging."""
    with tempfile.TemporaryDirectory() as folder, endpoint() as url:
        cases = Path(folder) / "cases.jsonl"
        write_cases(cases, CONVERSATIONS)
        rehearse(cases, url, "combined", WIDE, "--limit", "1")  # compiles what the others find compiled
        for judging, calls in WAYS:
            arguments = [str(ROOT / "benchmarks" / "phases.py"), *options(cases, url, judging, calls)]
            environment = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "PYTHONPATH": str(ROOT)}
            done = measure(arguments, environment=environment)
            print(f"{judging}, {calls} calls{' (the default)' if calls == USUAL else ''}")
            for name, wall, cpu in json.loads(done.stderr.splitlines()[-1]):
                print(f"  {name:55} {wall:5.2f} s {cpu:5.2f} s CPU")


def measured(arguments: list[str]) -> int:
    """The program with a clock at the beginning of each phase; the times are its last line on stderr."""
    marks = [(0.0, 0.0)]
    began = time.perf_counter() - time.process_time()  # the interpreter's own start was CPU time alone

    def mark() -> None:
        marks.append((time.perf_counter() - began, time.process_time()))

    for module, function, _ in BEGINNINGS:
        _marked(import_module(module), function, mark)
    code: int = import_module("simulator.cli.app").main(arguments)
    mark()
    names = [*(name for _, _, name in BEGINNINGS), LAST]
    steps = zip(names, marks, marks[1:], strict=False)
    rows = [(name, until[0] - since[0], until[1] - since[1]) for name, since, until in steps]
    sys.stderr.write(f"\n{json.dumps(rows)}\n")
    return code


def _marked(module: Any, function: str, mark: Callable[[], None]) -> None:
    *owners, name = function.split(".")
    owner = reduce(getattr, owners, module)
    original = getattr(owner, name)

    def marked(*arguments: Any, **named: Any) -> Any:
        mark()
        return original(*arguments, **named)

    setattr(owner, name, marked)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(measured(sys.argv[1:]))
    main()
