"""Where an answer says what the passages do not: found in its text, so that the page can underline it.

Judges copy the answer's words, but not always exactly: both sides are compared after NFKC, without
spaces and case. What still cannot be found is marked at the sentence nearest to it, or not at all.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from pydantic import JsonValue

from simulator.core.types import Score
from simulator.text.typography import straight

Kind = Literal["contradicted", "not_found"]

# A sentence that shares less than this of the claim's pairs of characters is not the one that was meant.
NEAREST = 0.5
_SENTENCE = re.compile(r"[^。！？!?\n]*?(?:[。！？!?\n]+|\.(?=\s)|$)", re.DOTALL)
_RANK: Mapping[Kind, int] = {"contradicted": 0, "not_found": 1}


@dataclass(frozen=True, slots=True)
class Flaw:
    """Words of an answer that are not borne out; `passage` is the id of what contradicts them, or empty.

    `number` counts them in the order in which they stand in the answer, from 1.
    """

    kind: Kind
    judge: str
    words: str
    passage: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of an answer, and what is wrong with it; `ends` when the flaw ends here."""

    text: str
    flaw: Flaw | None = None
    ends: bool = False


def flaws(scores: Mapping[str, Score]) -> list[Flaw]:
    """What `claims` and `facts` found unsupported in a turn, contradictions first."""
    found = [*_claims(scores.get("claims")), *_facts(scores.get("facts"))]
    return sorted(dict.fromkeys(found), key=lambda flaw: _RANK[flaw.kind])


def marked(answer: str, found: Iterable[Flaw]) -> tuple[list[Span], list[Flaw]]:
    """The answer cut at its flaws, and the flaws numbered as they appear; those not in it come last."""
    text, owners, placed = _Folded(answer), [-1] * len(answer), []
    listed: list[Flaw] = []
    for flaw in found:
        # Facts are taken from the answer as they stand: where they are not, no sentence is meant.
        place = text.place(flaw.words, owners, near=flaw.judge != "facts")
        if place is None and flaw.judge == "facts" and any(_within(flaw, other) for other in listed):
            continue
        if place:
            owners[place[0] : place[1]] = [
                len(listed) if owner < 0 else owner for owner in owners[slice(*place)]
            ]
        placed.append(len(answer) if place is None else place[0])
        listed.append(flaw)
    order = sorted(range(len(listed)), key=placed.__getitem__)
    numbered = {old: replace(listed[old], number=new) for new, old in enumerate(order, 1)}
    return list(_spans(answer, owners, numbered)), [numbered[old] for old in order]


def _claims(score: Score | None) -> Iterator[Flaw]:
    for told in _told(score, "claims"):
        words, passage = told.get("claim"), told.get("passage")
        kind = next((kind for kind in _RANK if kind == told.get("verdict")), None)
        if isinstance(words, str) and words.strip() and kind:
            yield Flaw(kind, "claims", words, passage if isinstance(passage, str) else "")


def _facts(score: Score | None) -> Iterator[Flaw]:
    for told in _told(score, "facts"):
        words = told.get("text")
        if isinstance(words, str) and words.strip() and told.get("found") is False:
            yield Flaw("not_found", "facts", words)


def _told(score: Score | None, key: str) -> list[dict[str, JsonValue]]:
    """The findings of a score, as far as they have the shape that is expected."""
    told = score.detail.get(key) if score and score.state == "scored" else None
    return [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []


class _Folded:
    """A text as it is compared, which knows where in the original each of its characters came from."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded, self._places = _folded(text)

    def place(self, words: str, owners: list[int], *, near: bool) -> tuple[int, int] | None:
        """From where to where in the original the words stand, or the sentence that is `near` to them."""
        wanted, _ = _folded(words)
        exact = self._exact(wanted, owners)
        return exact or (self._nearest(wanted, owners) if near else None)

    def _exact(self, wanted: str, owners: list[int]) -> tuple[int, int] | None:
        at = self._folded.find(wanted) if wanted else -1
        while at >= 0:
            first, end = self._places[at][0], self._places[at + len(wanted) - 1][1]
            if self._whole(at, at + len(wanted)) and owners[first] < 0:
                return first, end
            at = self._folded.find(wanted, at + 1)
        return None

    def _whole(self, at: int, end: int) -> bool:
        """Whether no number is cut: '24' is not found in '240'."""
        text = self._folded
        before = at > 0 and text[at - 1].isdecimal() and text[at].isdecimal()
        return not before and not (end < len(text) and text[end].isdecimal() and text[end - 1].isdecimal())

    def _nearest(self, wanted: str, owners: list[int]) -> tuple[int, int] | None:
        pairs = Counter(pairwise(wanted))
        best, nearest = NEAREST, None
        for match in _SENTENCE.finditer(self._text):
            sentence = _folded(match[0])[0]
            shared = pairs & Counter(pairwise(sentence))
            share = shared.total() / pairs.total() if pairs else 0.0
            if share >= best and any(owner < 0 for owner in owners[match.start() : match.end()]):
                best, nearest = share + 1e-9, _trimmed(match)
        return nearest


def _folded(text: str) -> tuple[str, list[tuple[int, int]]]:
    """NFKC and straight, without spaces and case; and for each of its characters where it came from."""
    marked = straight(text)
    folded, places = [], []
    for start, end in _clusters(marked):
        for character in unicodedata.normalize("NFKC", marked[start:end]).casefold():
            if not character.isspace():
                folded.append(character)
                places.append((start, end))
    return "".join(folded), places


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Characters with the marks that combine with them: ﾊﾞ is one."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or not (unicodedata.combining(text[at]) or text[at] in "\uff9e\uff9f"):
            yield start, at
            start = at


def _trimmed(match: re.Match[str]) -> tuple[int, int]:
    """A sentence without the spaces around it."""
    before = len(match[0]) - len(match[0].lstrip())
    return match.start() + before, match.start() + len(match[0].rstrip())


def _within(flaw: Flaw, other: Flaw) -> bool:
    return _folded(flaw.words)[0] in _folded(other.words)[0]


def _spans(answer: str, owners: list[int], numbered: Mapping[int, Flaw]) -> Iterator[Span]:
    start, lasts = 0, {owner: at for at, owner in enumerate(owners)}
    for at in range(1, len(answer) + 1):
        if at == len(answer) or owners[at] != owners[start]:
            owner = owners[start]
            yield Span(answer[start:at], numbered.get(owner), owner >= 0 and lasts[owner] == at - 1)
            start = at
