"""What is noted of the parts, as notes of the whole."""

from collections.abc import Iterable, Mapping
from typing import Any

from simulator.merging.parts import MERGED
from simulator.merging.shards import NOTE

# Of one file only: its place in the whole, the runs it was put together from, the sheet it was pushed to.
_OF_ONE_FILE = frozenset({NOTE, MERGED, "sheet"})


def joined(notes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The notes of all parts: lists one after another, mappings together, else the first."""
    found: dict[str, Any] = {}
    for each in notes:
        for key, told in each.items():
            if key not in _OF_ONE_FILE:
                found[key] = _join(found[key], told) if key in found else told
    return found


def _join(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        both = {key: _join(one[key], other[key]) for key in one.keys() & other.keys()}
        return {**one, **other, **both}
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *(each for each in other if each not in one)]
    return one
