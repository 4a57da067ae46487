"""Typing variation: a share of the customer's lines has 変換ミス, typos and missing marks.

A customer who never mistypes makes a bot look better than it is. The meaning stays: codes, addresses, numbers
and negations are never changed.
"""

import random
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from simulator.core.types import Case, Language, Turn, User, Utterance
from simulator.text.spelling import exact_spans, is_same_matter
from simulator.users.mistypings import Edit, typist

# The share (0..1) of a customer's lines that are varied, and the share of those that are varied twice.
SHARE, TWICE = 0.15, 0.3
MOST_CHANGES = 2

_NAME = re.compile(r"[「『\"“]([^「」『』\"“”]{1,40})[」』\"”]|(?<=\w )([A-Z][\w\-]+)")


class TypedLine(NamedTuple):
    """A line as it was typed, and the kinds of what was changed in it: none for most lines."""

    text: str
    kinds: tuple[str, ...] = ()


class VaryingUser:
    """Any customer, with a share of lines mistyped; `Utterance.clean` has the text as meant."""

    def __init__(self, user: User, seed: int, share: float = SHARE) -> None:
        """`seed` belongs to this conversation; `share` is 0..1."""
        self.user, self.seed, self.share = user, seed, share

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The customer's line as typed; closing words reach nobody and are left alone."""
        line = await self.user(case, turns)
        if line.next != "stay":
            return line
        rng = random.Random(f"{self.seed}/typing/{len(turns)}")  # noqa: S311 - a choice, not a secret
        varied = vary(line.text, case.language, rng, keep=names(case), share=self.share)
        return line.model_copy(update={"text": varied.text, "clean": line.text}) if varied.kinds else line


def vary(
    text: str, language: Language, rng: random.Random, *, keep: Collection[str] = (), share: float = SHARE
) -> TypedLine:
    """The line as a customer may have typed it: as it is, or with one or two changes.

    `share` (0..1) is how likely it is varied at all. Codes, addresses, numbers, negations and what is
    named in `keep` stay; a line in which nothing can be changed stays as it is.
    """
    if rng.random() >= share:
        return TypedLine(text)
    kept = _kept_spans(text, keep)
    edits = [
        edit
        for edit in typist(language).edits(text, rng)
        if not any(edit.start < end and start < edit.end for start, end in kept)
    ]
    chosen = _chosen(text, edits, typist(language).weights, rng)
    return TypedLine(_applied(text, chosen), tuple(edit.kind for edit in chosen))


def names(case: Case) -> tuple[str, ...]:
    """Names in the case, which are not mistyped: quoted, or capitalised within a sentence."""
    texts = (case.question, case.goal or "", *case.facts.knows, *case.facts.unknown)
    found = (quoted or capital for text in texts for quoted, capital in _NAME.findall(text))
    return tuple(dict.fromkeys(found))


def _kept_spans(text: str, keep: Collection[str]) -> list[tuple[int, int]]:
    named = (found.span() for name in keep for found in re.finditer(re.escape(name), text))
    return [*exact_spans(text), *named]


def _chosen(text: str, edits: Sequence[Edit], weights: Mapping[str, int], rng: random.Random) -> list[Edit]:
    """One edit, sometimes a second of another kind elsewhere in the line; only such as leave the matter."""
    chosen: list[Edit] = []
    wanted = MOST_CHANGES if rng.random() < TWICE else 1
    while edits and len(chosen) < wanted:
        kinds = sorted({edit.kind for edit in edits})
        kind = rng.choices(kinds, [weights[each] for each in kinds])[0]
        one = rng.choice([edit for edit in edits if edit.kind == kind])
        if _is_harmless(text, _applied(text, [*chosen, one])):
            chosen.append(one)
            edits = [e for e in edits if e.kind != kind and (e.end <= one.start or one.end <= e.start)]
        else:
            edits = [edit for edit in edits if edit != one]
    return chosen


def _is_harmless(text: str, typed: str) -> bool:
    return any(map(str.isalnum, typed)) and is_same_matter(text, typed)


def _applied(text: str, edits: Sequence[Edit]) -> str:
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
