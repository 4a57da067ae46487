"""The causes of a stored run: its knowledge and its notes are read, the bot is never asked."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from simulator.blame.attribute import Articles
from simulator.blame.cause import Found
from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.shelves import DEMO
from simulator.core.types import Results
from simulator.data.knowledge import read_knowledge

NOTE = "asked_again"


def articles_of(settings: Settings) -> Articles | None:
    """The bot's own articles: what `--knowledge` names, or what the bundled bot answers from; else None."""
    if settings.knowledge:
        return tuple(read_knowledge(settings.knowledge))
    if settings.adapter != "demo":
        return None
    try:
        return tuple(read_knowledge(settings.set.get("knowledge") or DEMO / "knowledge"))
    except InputError:  # moved since the run: the run can still be shown
        return None


def found_before(results: Results) -> dict[tuple[str, int], Found]:
    """What the bot found when it was asked again, as noted in the run; a note that is none is passed over."""
    told = results.notes.get(NOTE)
    found: dict[tuple[str, int], Found] = {}
    for each in told if isinstance(told, list) else []:
        if isinstance(each, dict):
            found |= _found(each)
    return found


def as_note(found: Mapping[tuple[str, int], Found]) -> list[dict[str, Any]]:
    """The same as `found_before` reads it."""
    return [
        {"conversation": talk, "turn": turn, **each.model_dump(mode="json")}
        for (talk, turn), each in found.items()
    ]


def _found(told: Mapping[str, Any]) -> dict[tuple[str, int], Found]:
    rest = {key: value for key, value in told.items() if key not in {"conversation", "turn"}}
    try:
        return {(str(told["conversation"]), int(told["turn"])): Found.model_validate(rest)}
    except (KeyError, TypeError, ValueError, ValidationError):
        return {}
