"""Causes of faults that were planted on desks of other trades, and sound turns beside them."""

import asyncio
from functools import cache

import pytest

from benchmarks.causes import LANGUAGES, ROWS, SOUND, Finding, counted, found, judged, rows
from simulator.core.types import Language


@cache
def findings(language: Language, mode: str) -> list[Finding]:
    """The rows of a language, graded by the stand-ins or as a model might."""
    every = rows(ROWS / "build", language)
    return found(
        every, asyncio.run(counted(every)) if mode == "offline" else judged(every), named=mode != "unnamed"
    )


def cause_of(language: Language, name: str, mode: str = "judged") -> str | None:
    """The cause that is found for one row."""
    [each] = [each for each in findings(language, mode) if name in each.row.conversation.id]
    return each.root_cause.cause if each.root_cause else None


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("mode", ["judged", "unnamed"])
def test_planted_causes_are_found(language: Language, mode: str) -> None:
    """Nine of ten, and each of those that are called certain."""
    faults = [each for each in findings(language, mode) if each.root_cause]

    assert sum(each.is_right for each in faults) / len(faults) >= 0.9
    assert all(each.is_right for each in faults if each.root_cause and each.root_cause.sure)


@pytest.mark.parametrize("language", LANGUAGES)
def test_sound_turns_are_rarely_red_offline(language: Language) -> None:
    """Other words, another unit, a sum rightly worked out or a polite refusal are no faults."""
    sound = [each for each in findings(language, "offline") if each.row.cause == SOUND]
    faults = [each for each in findings(language, "offline") if each.row.cause != SOUND]

    assert sum(each.red is not None for each in sound) <= len(sound) // 20
    assert sum(each.red is not None for each in faults) / len(faults) >= 0.85


@pytest.mark.parametrize(
    ("language", "name", "cause"),
    [
        ("ja", "receipt", "should_answer"),
        ("en", "starter-deal", "should_answer"),
        ("ja", "okinawa-sum", "ignored"),
        ("en", "cover-8000", "ignored"),
        ("ja", "futon-days", "ignored"),
        ("en", "empty-old-unit", "invented"),
        ("ja", "storage-5pack", "retrieval"),
        ("en", "brother-access", "misunderstood"),
        ("en", "gas-barbecue", "tone"),
    ],
)
def test_what_was_taken_for_something_else(language: Language, name: str, cause: str) -> None:
    """A polite deflection declines, a sum got wrong is not invented, a fact that did not come not ignored."""
    assert cause_of(language, name) == cause
