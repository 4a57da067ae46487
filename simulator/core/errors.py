"""Everything that can go wrong and is expected to.

    RehearsalError
    ├── InputError              the user can fix it: one line, exit code 2
    │   ├── UnknownName         a persona, judge, adapter or setting that does not exist
    │   ├── CaseFileError       a data file that cannot be read, with file and line
    │   ├── PromptError         a prompt, persona or judge file that does not hold together
    │   └── RunFileError        a run file that is missing, foreign, or held by another process
    └── BoundaryFailure         data, not a crash: typed, counted, the run goes on
        ├── BotFailure          the bot's own failure
        │   └── Transient       the same question may not meet it again
        └── ModelFailure        the user, judge or embedding model's failure
            ├── MalformedReply  it answered, but not in the agreed form; `raw` is what it said
            ├── OutOfPatience   one call took as long as calls may take in all: it is not split up or repeated
            └── AccessDenied    the key or the endpoint was refused: nothing else can succeed

Any other exception is a bug of ours and is meant to surface; one that ends a run does as Unforeseen.
"""

import difflib
from collections.abc import Iterable
from pathlib import Path

from simulator.core.types import Failure


class RehearsalError(Exception):
    """Base of all expected errors; the message is one line that says what to do."""


class Unforeseen(Exception):
    """A bug of ours ended a run, whose file is `run`; the bug itself is the cause."""

    def __init__(self, run: Path) -> None:
        super().__init__(f"the run {run.parent.name} was ended by a bug")
        self.run = run


class InputError(RehearsalError):
    """Something the user can fix."""


class UnknownName(InputError):
    """A name that is not on the shelf; near names are offered."""

    def __init__(self, kind: str, name: str, names: Iterable[str], hint: str = "") -> None:
        known = sorted(names)
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        meant = f" Did you mean {', '.join(near)}?" if near else ""
        there = f" There are: {', '.join(known)}." if known else ""
        super().__init__(f"unknown {kind} '{name}'.{meant}{there}{' ' + hint if hint else ''}")


class CaseFileError(InputError):
    """A data file that cannot be used."""


class PromptError(InputError):
    """A prompt, persona or judge file that cannot be used."""


class RunFileError(InputError):
    """A run file that cannot be used."""


class BoundaryFailure(RehearsalError):
    """A failure outside our own code; `failure` is what is stored of it."""

    def __init__(self, kind: str, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.failure = Failure(kind=kind, message=message)
        self.raw = raw


class BotFailure(BoundaryFailure):
    """The bot under rehearsal gave no usable answer."""


class Transient(BotFailure):
    """A failure that the same question may not meet again: no connection, HTTP 429 or 5xx.

    `wait` is for how many seconds the bot asks to be left alone.
    """

    def __init__(self, kind: str, message: str, wait: float | None = None) -> None:
        super().__init__(kind, message)
        self.wait = wait


class ModelFailure(BoundaryFailure):
    """The simulator's own model gave nothing usable."""


class MalformedReply(ModelFailure):
    """A reply that is not in the agreed form, even after repair."""


class OutOfPatience(ModelFailure):
    """A call that took all of --patience, or would have had to wait for longer."""


class AccessDenied(ModelFailure):
    """The endpoint refused the key, the account or the model: the run stops at once."""
