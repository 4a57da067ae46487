"""The prompts of two data-set runs: which they are, and whether their versions tell the truth."""

from collections.abc import Iterator
from typing import NamedTuple

from simulator.core.types import Run

_MARK = "prompt:"


class Noted(NamedTuple):
    """What a run noted of a prompt: the version that its file gives itself, and the hash of its words."""

    version: str
    hash: str


def prompts_of(run: Run) -> dict[str, Noted]:
    """The prompts of a run by name: one, or those of a chain; none where rows were sent as they are."""
    return {
        name.removeprefix(_MARK): Noted(run.versions.get(name, ""), digits)
        for name, digits in run.prompts.items()
        if name.startswith(_MARK)
    }


def told(run: Run) -> str:
    """Each prompt with version and hash, as reports show them: `choose:expert 2 (331ef023326d)`."""
    return ", ".join(f"{name} {noted.version} ({noted.hash})" for name, noted in prompts_of(run).items())


def unnoticed(before: Run, after: Run) -> Iterator[str]:
    """The prompts whose words changed while the version stayed."""
    yield from (name for name, was, now in _both(before, after) if was.version == now.version and was != now)


def renumbered(before: Run, after: Run) -> Iterator[str]:
    """The prompts whose version changed while the words stayed."""
    yield from (name for name, was, now in _both(before, after) if was.hash == now.hash and was != now)


def _both(before: Run, after: Run) -> Iterator[tuple[str, Noted, Noted]]:
    """The prompts of both runs; with another number of examples, other words are no change of the file."""
    first, second = prompts_of(before), prompts_of(after)
    if before.settings.get("shots") == after.settings.get("shots"):
        yield from ((name, first[name], second[name]) for name in first if name in second)
