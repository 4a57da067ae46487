"""Starts of the program: cold ones, as a user's, and warm ones, which are quick."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from tests.paths import ROOT

# Compiled modules, as every start but the first finds them; beside the checkout, which stays as it is.
_COMPILED = tempfile.TemporaryDirectory(prefix="compiled-")
COMPILED = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": _COMPILED.name}
_NOT_PASSED_ON = ("OPENAI_", "REHEARSAL_")
LONGEST = 600.0


def environment() -> dict[str, str]:
    """That of this process, without keys."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_PASSED_ON)}
    # Threads of a linear algebra library would not survive a fork.
    return clean | {"OPENBLAS_NUM_THREADS": "1"}


class Starter(Protocol):
    """Starts the program in a folder and waits for it; what it prints is in out.txt and err.txt there."""

    def start(
        self, folder: Path, arguments: Sequence[str], given: Mapping[str, str], armed: Mapping[str, Any]
    ) -> int:
        """The process."""
        ...

    def wait(self) -> int:
        """Its exit code."""
        ...


class Cold:
    """`python run.py ...`, one interpreter for each; to compile all libraries pays from a dozen starts on."""

    def __init__(self, *, compiled: bool = True) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._compiled = COMPILED if compiled else {}

    def start(
        self, folder: Path, arguments: Sequence[str], given: Mapping[str, str], armed: Mapping[str, Any]
    ) -> int:
        """The process."""
        before = [str(ROOT / "tests" / "crash" / "armed.py"), json.dumps(armed)] if armed else []
        with (folder / "out.txt").open("wb") as out, (folder / "err.txt").open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, *before, str(ROOT / "run.py"), *arguments],
                cwd=folder,
                env=environment() | self._compiled | dict(given),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        return self._process.pid

    def wait(self) -> int:
        """Its exit code."""
        assert self._process is not None
        try:
            return self._process.wait(LONGEST)
        finally:
            self._process.kill()


class Warm:
    """A forked process for each start; the first one is not forked and must not be killed."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.warm"],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._is_warm = False

    def start(
        self, folder: Path, arguments: Sequence[str], given: Mapping[str, str], armed: Mapping[str, Any]
    ) -> int:
        """The process."""
        order = {"folder": str(folder), "arguments": list(arguments), "environment": dict(given)}
        assert self._parent.stdin is not None
        self._parent.stdin.write(json.dumps(order | {"armed": dict(armed), "here": not self._is_warm}) + "\n")
        self._parent.stdin.flush()
        self._is_warm = True
        return self.wait()

    def wait(self) -> int:
        """Its exit code."""
        assert self._parent.stdout is not None
        return int(self._parent.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parent.communicate()
