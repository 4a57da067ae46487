"""Who was named once and is named again in the same text, where nothing else tells a name."""

import re
from collections.abc import Iterator, Sequence

from simulator.redaction.checks import Span
from simulator.redaction.lists import words

# So that a text made of names is still read in linear time.
_MOST = 20
_KANJI, _KANA = "一-鿿々", "ァ-ヺーｦ-ﾟ"
# 山口さん、山口県: the place is not the person. 佐々木様, 佐々木宛, 佐々木家 are.
_ENDS = rf"(?![A-Za-z{_KANA}]|(?![様宛家殿氏君方])[{_KANJI}])"


def told_again(text: str, names: Sequence[str]) -> Iterator[Span]:
    """Where the text has these names, or a part of one that stands apart by a space, as whole words."""
    parts = sorted({part for name in names for part in _parts(name)}, key=lambda part: (-len(part), part))
    if parts:
        either = "|".join(map(_bounded, parts[:_MOST]))
        pattern = re.compile(f"(?:{either}){_ENDS}")
        yield from (match.span() for match in pattern.finditer(text))


def _bounded(part: str) -> str:
    """Two kanji may be part of a longer word; 佐々木 is not."""
    is_long = len(part) > 2 and re.fullmatch(f"[{_KANJI}]+", part)
    return re.escape(part) if is_long else rf"(?<![A-Za-z{_KANJI}{_KANA}]){re.escape(part)}"


def _parts(name: str) -> Iterator[str]:
    for part in {name, *re.split("[ ・]", name)}:
        is_name = _latin_name(part) if part.isascii() else _japanese_name(part)
        if is_name:
            yield part


def _latin_name(part: str) -> bool:
    is_word = part.lower() in words("no_english") or part in words("doubtful_given")
    return len(part) > 2 and not part.islower() and not is_word


def _japanese_name(part: str) -> bool:
    return len(part) > 1 + bool(re.match("[ぁ-ん]", part)) and part not in words("doubtful")
