"""The program in a process that kills itself with -9 at an event within it, or has little room on its disk.

`python tests/crash/armed.py '{"event": "run", "count": 12, "note": "killed.txt"}' run.py --persona angry`
"""

import json
import os
import runpy
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

# What is counted, by the SQLite file whose statements it is; `file` counts what happens to files of a run.
DATABASES = {"run": "run.sqlite", "cache": "responses.sqlite"}
_FILE_EVENTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.truncate")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Countdown:
    """Dies at the event that was counted down to; the moment is left in the file `note`."""

    def __init__(self, count: int, note: str) -> None:
        self.left, self.note = count, note

    def met(self, _: object = None) -> None:
        """Once more; the last time is the end."""
        self.left -= 1
        if self.left == 0:
            Path(self.note).write_text(str(time.monotonic()), encoding="utf-8")
            os.kill(os.getpid(), signal.SIGKILL)

    def at_statements(self, database: str) -> None:
        """Counts what is about to be done to the SQLite files of that name."""
        connect = sqlite3.connect

        def traced(path: Any, *given: Any, **options: Any) -> Any:
            connection = connect(path, *given, **options)
            if Path(path).name == database:
                connection.set_trace_callback(self.met)
            return connection

        sqlite3.connect = traced  # type: ignore[assignment]

    def at_files(self) -> None:
        """Counts what is about to be done to files of runs."""

        def heard(name: str, given: tuple[Any, ...]) -> None:
            if name in _FILE_EVENTS and _writes_a_run(name, given):
                self.met()

        sys.addaudithook(heard)


def _writes_a_run(name: str, given: tuple[Any, ...]) -> bool:
    if "runs/" not in str(given[0]):
        return False
    return name != "open" or bool(given[2] & _WRITING)


def arm(order: dict[str, Any]) -> None:
    """Prepares this process: `event`, `count` and `note` of its death, or `limit`, the bytes of a file."""
    if limit := order.get("limit"):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if event := order.get("event"):
        countdown = Countdown(order["count"], order["note"])
        if event == "file":
            countdown.at_files()
        else:
            countdown.at_statements(DATABASES[event])


if __name__ == "__main__":
    arm(json.loads(sys.argv[1]))
    sys.argv = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")
