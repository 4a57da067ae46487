"""A process that has imported everything, and is forked for each start of the program.

It reads orders from standard input, one JSON object a line, and writes the process and then its exit code.
A start costs a tenth of a cold one; what is killed is a process of its own all the same.
"""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from simulator.cli.app import main
from tests.crash.armed import arm


def _perform(order: dict[str, Any]) -> int:
    os.chdir(order["folder"])
    os.environ.update(order["environment"])
    for number, name in ((1, "out.txt"), (2, "err.txt")):
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, number)
        os.close(file)
    arm(order["armed"])
    arguments: Sequence[str] = order["arguments"]
    return main(list(arguments))


def _forked(order: dict[str, Any], told: int) -> None:
    process = os.fork()
    if process == 0:
        code = 70  # a traceback is in err.txt
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            code = _perform(order)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.write(told, f"{process}\n".encode())
    _, status = os.waitpid(process, 0)
    os.write(told, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def serve() -> None:
    """Orders until there are none; the first one is carried out here, which imports all that it needs."""
    told = os.dup(1)
    for line in sys.stdin:
        order = json.loads(line)
        if order["here"]:
            code = _perform(order)
            os.write(told, f"{os.getpid()}\n{code}\n".encode())
        else:
            _forked(order, told)


if __name__ == "__main__":
    serve()
