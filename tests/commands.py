"""What commands leave when they are run in the process of a test."""

import json
from typing import Any, NamedTuple, Protocol

from simulator import open_run
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
