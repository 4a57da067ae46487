"""Texts without the personal data in them; every other character stays as it is."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simulator.core.errors import InputError
from simulator.core.types import Language
from simulator.redaction.again import told_again
from simulator.redaction.checks import Span
from simulator.redaction.patterns import mask, masks, patterns, signs
from simulator.text.typography import straight

# Plain signs for full-width ones, and a hyphen for a half-width ー, each in its old place.
_PLAIN = str.maketrans(
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {ord("ｰ"): "-", 0x3000: " ", 0xA0: " "}
)
# What is masked already is one sign that no pattern has, repeated: places stay the same.
_TAKEN = "\ue000"


class Redacted(NamedTuple):
    """A text with masks in place of personal data, and how many of each kind were masked."""

    text: str
    counts: dict[str, int]


class _Found(NamedTuple):
    """A span to be masked; of overlapping ones the lowest `rank` names the mask."""

    start: int
    end: int
    rank: int
    kind: str


# So many texts are remembered.
_LATEST = 256


class Redactor:
    """Masks personal data; of further regular expressions, `patterns`, the first group or all is masked.

    What stands in `public` as well (a desk's own contacts) is not masked, unless a team's pattern says so.
    """

    def __init__(self, patterns: Sequence[str] = (), public: Sequence[str] = ()) -> None:
        """A broken pattern is an `InputError`."""
        self._own = tuple(map(_compiled, patterns))
        self._public = frozenset(_public(public))
        self._latest: dict[tuple[str, Language], Redacted] = {}

    def redact(self, text: str, language: Language) -> Redacted:
        """The text with its personal data as masks of the language; of a masked text, the same."""
        if (known := self._latest.get((text, language))) is not None:
            return known  # an answer is often its reference, word for word
        if len(self._latest) >= _LATEST:
            self._latest.clear()
        found = self._latest[text, language] = self._redacted(text, language)
        return found

    def _redacted(self, text: str, language: Language) -> Redacted:
        counts: Counter[str] = Counter()
        # A mask can lay bare what was part of something longer: until nothing more is found.
        while found := _joined(self._found(text)):
            counts.update(one.kind for one in found)
            text = _masked(text, found, language)
        return Redacted(text, dict(counts))

    def _found(self, text: str) -> Iterator[_Found]:
        original = masks().sub(lambda known: _TAKEN * len(known[0]), text)
        for own in self._own:
            for match in own.finditer(original):
                start, end = match.span(1 if own.groups else 0)
                if start < end and _TAKEN not in original[start:end]:
                    yield _Found(start, end, 0, "custom")
        plain = straight(original).translate(_PLAIN)
        known = [one for one in self._known(plain) if not self._is_public(plain[one.start : one.end])]
        yield from known
        names = [plain[one.start : one.end] for one in known if one.kind == "name"]
        for start, end in told_again(plain, names):
            if not self._is_public(plain[start:end]):
                yield _Found(start, end, len(patterns()) + 1, "name")

    def _known(self, plain: str) -> Iterator[_Found]:
        present = signs(plain)
        for rank, pattern in enumerate(patterns(), start=1):
            for match in pattern.regex.finditer(plain) if pattern.needs <= present else ():
                span = pattern.check(match)
                if span and (span := _bare(plain, span)):
                    yield _Found(*span, rank, pattern.kind)

    def _is_public(self, told: str) -> bool:
        return bool(self._public) and _essence(told) in self._public


def _public(texts: Sequence[str]) -> Iterator[str]:
    """All that a redactor would mask in what is public."""
    for text in texts:
        plain = straight(text).translate(_PLAIN)
        for pattern in patterns():
            for match in pattern.regex.finditer(plain):
                if span := pattern.check(match):
                    yield _essence(plain[slice(*span)])


def _essence(told: str) -> str:
    """A number without the signs between its digits; other texts without spaces and capitals."""
    digits = re.sub(r"\D", "", told)
    is_number = len(digits) >= 3 and not re.search(r"[^\W\d_]", told)
    return digits if is_number else "".join(told.casefold().split())


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        msg = f"{pattern}: no regular expression ({error}). Mend the pattern of what is to be masked."
        raise InputError(msg) from None


def _bare(text: str, span: Span) -> Span | None:
    """The span without spaces at its ends and, where it reaches a mask, only up to that."""
    start, end = span
    if (taken := text.find(_TAKEN, start, end)) >= 0:
        end = taken
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


def _joined(found: Iterator[_Found]) -> list[_Found]:
    """In order and without overlaps: what overlaps is masked as one."""
    kept: list[_Found] = []
    for one in sorted(found):
        if kept and one.start < kept[-1].end:
            last = kept[-1]
            first = min(last, one, key=lambda each: each.rank)
            kept[-1] = first._replace(start=last.start, end=max(last.end, one.end))
        else:
            kept.append(one)
    return kept


def _masked(text: str, found: Sequence[_Found], language: Language) -> str:
    pieces, reached = [], 0
    for one in found:
        pieces += [text[reached : one.start], mask(one.kind, language)]
        reached = one.end
    return "".join((*pieces, text[reached:]))
