"""Redaction on labelled lines: how much that is personal is masked, how much that is masked is personal.

A line is `part TAB text`; {phone:090-1234-5678} labels. The rules were written with the lines of `seen`;
those of every later part were measured before a rule was changed, and only then learnt from, so these shares
say what stays learnt, not what to expect of new lines: docs/privacy.md has that. `fresh3` came from somebody
who knew no rule; `round1` to `round9` are chats of many trades.
"""

import re
from collections import Counter
from functools import cache

import pytest

from simulator.core.types import Language
from simulator.privacy.patterns import patterns, scripts_in
from simulator.privacy.redactor import Redactor
from tests.paths import FIXTURES

DATA = FIXTURES
ROUNDS = tuple(f"round{number}" for number in range(1, 10))
PARTS = ("seen", "mended", "heldout", "last", "fresh", "fresh2", "fresh3", "fresh4", *ROUNDS)
_LABEL = re.compile(r"\{(\w+):([^{}]*)\}")
# Fences around each mask that no line has, so that its place in the masked text tells its place in the line.
_MASK = re.compile(r"\[[^\[\]]+\]")


def _lines(language: Language, parts: tuple[str, ...]) -> list[str]:
    lines = (DATA / f"personal_{language}.tsv").read_text(encoding="utf-8").splitlines()
    return [text.replace("\\n", "\n") for part, text in (line.split("\t") for line in lines) if part in parts]


def _hidden(text: str, masked: str) -> set[int]:
    """The places of the characters of a text that the masked one does not show."""
    shown, place = set(), 0
    pieces = _MASK.split(masked)
    for number, piece in enumerate(pieces):
        place = len(text) - len(piece) if number == len(pieces) - 1 else text.index(piece, place)
        shown |= set(range(place, place + len(piece)))
        # Something was masked before the next piece.
        place += len(piece) + 1
    return set(range(len(text))) - shown


@cache
def _part_measured(language: Language, part: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in _lines(language, (part,)):
        text = _LABEL.sub(lambda label: label[2], line)
        hidden = _hidden(text, Redactor().redact(text, language).text)
        labelled, moved = set(), 0
        for label in _LABEL.finditer(line):
            start = label.start() - moved
            moved += len(label[0]) - len(label[2])
            places = {place for place in range(start, start + len(label[2])) if not text[place].isspace()}
            labelled |= set(range(start, start + len(label[2])))
            kind = "name" if label[1] == "name" else "other"
            counts[kind] += 1
            counts[f"found {kind}"] += places <= hidden
        runs = [place for place in hidden if place - 1 not in hidden]
        counts["masked"] += len(runs)
        for run in runs:
            end = next(place for place in range(run, len(text) + 1) if place not in hidden)
            counts["right"] += sum(place in labelled for place in range(run, end)) >= 0.8 * (end - run)
    return counts


@pytest.mark.parametrize("parts", [PARTS, ("heldout", "fresh", "fresh2", "fresh3", "fresh4"), ROUNDS])
@pytest.mark.parametrize(("language", "names"), [("ja", 0.95), ("en", 0.81)])
def test_personal_data_is_masked_and_little_else(
    language: Language, names: float, parts: tuple[str, ...]
) -> None:
    """Numbers, addresses and Japanese names; of English names, which few lists know, most."""
    counts = sum((_part_measured(language, part) for part in parts), Counter[str]())

    assert counts["found other"] >= 0.98 * counts["other"]
    assert counts["found name"] >= names * counts["name"]
    assert counts["right"] >= 0.96 * counts["masked"]


@pytest.mark.parametrize("language", ["ja", "en"])
def test_a_pattern_that_is_not_tried_would_find_nothing(language: Language) -> None:
    """What a pattern needs according to `needs` is in every text that it matches."""
    texts = [_LABEL.sub(lambda label: label[2], line) for line in _lines(language, PARTS)[::4]]
    texts += [_LABEL.sub("\ue000\ue000\ue000\ue000", line) for line in _lines(language, PARTS)[::4]]

    for pattern in patterns():
        rest = [text for text in texts if not pattern.needs <= scripts_in(text)]
        assert not any(map(pattern.regex.search, rest)), pattern.regex.pattern
