"""What commands leave when they are run in the process of a test."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core.types import Results


class Done(NamedTuple):
    """Exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which is one JSON object and nothing else."""
        assert self.out, self.err
        return json.loads(self.out)

    @property
    def run(self) -> Results:
        """The newest run."""
        return open_run()

    @property
    def error(self) -> str:
        """The error line: the only one, and the last on standard error."""
        *_, last = self.err.splitlines()
        assert self.err.count("error: ") == 1
        assert "Traceback" not in self.err
        return last


class Command(Protocol):
    """The fixture `command`."""

    def __call__(self, *arguments: str) -> Done: ...


def held_once(
    factory: pytest.TempPathFactory, *lines: tuple[str, ...], files: Mapping[str, str] | None = None
) -> Path:
    """A folder with these files, in which these commands succeeded: the tests of a module copy it."""
    folder = factory.mktemp("held")
    for name, text in (files or {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in lines:
            assert main(line) == 0
    return folder
