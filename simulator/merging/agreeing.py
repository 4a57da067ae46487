"""Whether runs are parts of one: what differs between them is said in a line."""

from collections.abc import Iterator, Sequence
from typing import Any

from simulator.core.errors import InputError
from simulator.merging.parts import Part

# How fast and for how much, or which part: these may differ between the parts of one run.
_OF_EACH_PART = frozenset({"shard", "concurrency", "calls", "rpm", "tpm", "budget"})
# Differences that a message names; the rest is counted.
SHOWN = 3
LONGEST = 40


def check_agreement(parts: Sequence[Part], *, force: bool) -> tuple[str, ...]:
    """What differs between the parts: told as an InputError, or given back where it is `force`d."""
    found = tuple(dict.fromkeys(each for part in parts[1:] for each in _differences(parts[0], part)))
    if found and not force:
        more = f"; {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        msg = f"not parts of one run: {'; '.join(found[:SHOWN])}{more}. --force merges them with a note."
        raise InputError(msg)
    return found


def _differences(one: Part, other: Part) -> Iterator[str]:
    yield from _settings(one, other)
    if one.plan != other.plan:
        yield f"the questions or customers of {one.name} and {other.name} differ"
    if one.count and other.count and one.count != other.count:
        yield f"{one.name} is one of {one.count} shards, {other.name} one of {other.count}"
    if one.personas != other.personas:
        yield f"the personas of {one.name} and {other.name} are not told the same"
    yield from _mapping("prompt", one, one.run.prompts, other, other.run.prompts)
    yield from _mapping("model", one, one.run.models, other, other.run.models)
    yield from _mapping("version", one, _versions(one), other, _versions(other))
    for judge in one.rubrics.keys() & other.rubrics.keys():
        if one.rubrics[judge] != other.rubrics[judge]:
            yield f"{judge} graded by different rubrics in {one.name} and {other.name}"


def _settings(one: Part, other: Part) -> Iterator[str]:
    first, second = one.settings.of_the_run(), other.settings.of_the_run()
    kept = first.keys() - _OF_EACH_PART
    yield from _mapping("", one, {k: first[k] for k in kept}, other, {k: second[k] for k in kept})


def _versions(part: Part) -> dict[str, str]:
    """Python without its patch level: no two images of a machine have the same for long."""
    python = ".".join(part.run.versions.get("python", "").split(".")[:2])
    return part.run.versions | {"python": python}


def _mapping(
    kind: str, one: Part, first: dict[str, Any], other: Part, second: dict[str, Any]
) -> Iterator[str]:
    for key in sorted(first.keys() | second.keys()):
        if first.get(key) != second.get(key):
            was, now = _short(first.get(key)), _short(second.get(key))
            name = f"{kind} {key}".strip()
            yield f"{name} is {was} in {one.name} and {now} in {other.name}"


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
