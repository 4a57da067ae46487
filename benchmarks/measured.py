"""A command as a whole process: wall and CPU seconds, peak memory."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
# Compiled modules, as every start but the first finds them; beside the checkout, which stays as it is.
_COMPILED = tempfile.TemporaryDirectory(prefix="compiled-")
_NOT_PASSED_ON = ("OPENAI_", "REHEARSAL_", "PYTHONDONTWRITEBYTECODE")


@dataclass(frozen=True)
class Measured:
    """One finished process; memory in MB (10^6 bytes)."""

    wall: float
    cpu: float
    memory: float
    code: int
    stdout: str
    stderr: str


def measure(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    until: Callable[[], object] | None = None,
) -> Measured:
    """Runs `python ARGUMENTS` in an empty folder with no keys but those of `environment`.

    To its end, or until `until` returns.
    """
    clean = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_PASSED_ON)}
    clean["PYTHONPYCACHEPREFIX"] = _COMPILED.name
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env=clean | {"XDG_CACHE_HOME": folder, "COLUMNS": "100"} | dict(environment or {}),
            stdout=out,
            stderr=err,
        )
        if until is not None:
            until()
            process.kill()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        return Measured(
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            memory=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6,
            code=process.returncode,
            stdout=_read(out),
            stderr=_read(err),
        )


def loop() -> float:
    """Seconds of CPU for a plain loop of a million steps: how fast this machine is at the moment."""
    began, total = time.process_time(), 0
    for step in range(1_000_000):
        total += step * step % 7
    return time.process_time() - began


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def middle(values: Sequence[float]) -> float:
    """The median."""
    return sorted(values)[len(values) // 2]
