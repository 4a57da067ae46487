"""The ways to mistype a line: conversion errors, kana, width and marks in Japanese, slips in English.

Only words that are listed in typing_variation.toml are changed.
"""

import random
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.templates import read_toml
from simulator.core.types import Language
from simulator.text.typography import half_width, straight

FILE = Path(__file__).with_name("typing_variation.toml")

_KANJI = "々一-龥"
_FULL = "０-９Ａ-Ｚａ-ｚ"
_WORD = f"{_KANJI}ァ-ヶーA-Za-z0-9{_FULL}"
# Keys that touch on a QWERTY keyboard, on the same row or the next.
_NEIGHBOURS = {
    "q": "wa", "w": "qes", "e": "wrd", "r": "etf", "t": "ryg", "y": "tuh", "u": "yij", "i": "uok",
    "o": "ipl", "p": "o", "a": "qsz", "s": "adwx", "d": "sfec", "f": "dgrv", "g": "fhtb", "h": "gjyn",
    "j": "hkum", "k": "jli", "l": "ko", "z": "xa", "x": "zcs", "c": "xvd", "v": "cbf", "b": "vng",
    "n": "bmh", "m": "n",
}  # fmt: skip
_TO_FULL = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_NUMBER = re.compile(
    rf"(?<![A-Za-z0-9{_FULL}.,:/+\-．，：／＋－])[0-9０-９]{{1,4}}(?![A-Za-z0-9{_FULL}.,:/\-．，：／－])"
)
_ABBREVIATION = re.compile(rf"(?<![{_WORD}\-－])[A-Za-zＡ-Ｚａ-ｚ]{{2,4}}(?![{_WORD}\-－])")
_END = re.compile(r"(?<=[^\s。．.?？!！…])([。．.]|[?？])\s*$")
_ENGLISH_WORD = re.compile(r"(?<![\w'@./\-])[A-Za-z]+(?:'[a-z]+)?(?![\w'@/\-]|\.\w)")
_SENTENCE_START = re.compile(r"(?:^|(?<=[.!?] ))([A-Z])[a-z]*(?=[ ,.!?']|$)")
_ASKED_IN_JAPANESE = re.compile(r"(?:か|かね|かな|でしょう|の|って)[?？]\s*$")
_ASKED_IN_ENGLISH = re.compile(
    r"\b(?:who|whose|what|when|where|which|why|how)\b|(?:^|[.!?,] ?)"
    r"(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|may|am)\b[^.!?]*\?\s*$",
    re.IGNORECASE,
)


class Edit(NamedTuple):
    """`text` in place of what stands from `start` to `end`, and what kind of variation that is."""

    start: int
    end: int
    text: str
    kind: str


class Typist:
    """A language's ways to mistype a line; `weights` say how often each kind is chosen."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        """`table` is the language's table of typing_variation.toml."""
        self.weights: Mapping[str, int] = table["weights"]
        self.misspellings = _pairs(table["misspellings"])

    def edits(self, text: str, rng: random.Random) -> Iterator[Edit]:
        """The possible edits of a line, one for each place and kind."""
        raise NotImplementedError


class JapaneseTypist(Typist):
    """Kana on a keyboard or phone, converted to kanji by an input method that guesses."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        super().__init__(table)
        self.readings = _pairs(table["readings"])
        self._reading = {form: reading for reading, forms in self.readings.items() for form in forms}
        self._forms = _words_of(self._reading)
        self._abbreviations = frozenset(table["latin"].split())
        before = (f"{particle}(?={_any(verbs.split())})" for particle, verbs in table["particles"].items())
        self._particle = re.compile(rf"(?<=[{_WORD}])(?<![何誰幾])(?:{'|'.join(before)})")
        one_way = _pairs(table["long_vowels"])
        self._long_vowels = {other: [word] for word, others in one_way.items() for other in others} | one_way
        self._katakana = re.compile(rf"(?<![ァ-ヶー])(?:{_any(self._long_vowels)})(?![ァ-ヶー])")
        self._misspelt = re.compile(_any(self.misspellings))
        self._interrogatives = tuple(table["interrogatives"].split())

    def edits(self, text: str, rng: random.Random) -> Iterator[Edit]:
        """変換ミス, kana left alone, no particle, misspellings, the other width, long vowels, no 。 or ？."""
        for match in self._forms.finditer(text):
            reading = self._reading[match[0]]
            if others := [form for form in self.readings[reading] if form != match[0]]:
                yield Edit(*match.span(), rng.choice(others), "homophone")
            yield Edit(*match.span(), reading, "kana")
        for match in self._particle.finditer(text):
            yield Edit(*match.span(), "", "particle")
        for match in self._misspelt.finditer(text):
            yield Edit(*match.span(), rng.choice(self.misspellings[match[0]]), "misspelling")
        yield from self._width(text)
        yield from self._lengths(text, rng)
        yield from self._end(text)

    def _width(self, text: str) -> Iterator[Edit]:
        """Numbers and abbreviations in the other width."""
        for match in [*_NUMBER.finditer(text), *_ABBREVIATION.finditer(text)]:
            plain = half_width(match[0])
            if plain.isdigit() or plain.upper() in self._abbreviations:
                other = plain.translate(_TO_FULL) if plain == match[0] else plain
                yield Edit(*match.span(), other, "width")

    def _lengths(self, text: str, rng: random.Random) -> Iterator[Edit]:
        """ルータ for ルーター and the other way round, or the last ー typed twice."""
        for match in self._katakana.finditer(text):
            start, bar, end = match[0].rpartition("ー")
            doubled = [f"{start}ーー{end}"] if bar else []
            yield Edit(*match.span(), rng.choice(self._long_vowels[match[0]] + doubled), "long_vowel")

    def _end(self, text: str) -> Iterator[Edit]:
        """No 。 at the end, no ？ where a question is plain without it."""
        asks = _ASKED_IN_JAPANESE.search(text) or any(word in text for word in self._interrogatives)
        yield from _without_end_mark(text, asks=bool(asks))


class EnglishTypist(Typist):
    """Fast fingers on QWERTY, without a second look."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        super().__init__(table)
        self.words = frozenset(table["words"].split())
        self.real = self.words | frozenset(table["lookalikes"].split())
        self.homophones = _pairs(table["homophones"])
        self._contractions = frozenset(table["contractions"].split())
        self._starters = frozenset(table["starters"].split())

    def edits(self, text: str, rng: random.Random) -> Iterator[Edit]:
        """Slips, homophones, misspellings, no apostrophe, no capital, no mark at the end."""
        plain = straight(text)
        for match in _ENGLISH_WORD.finditer(plain):
            for kind, typed in self._typed(match[0]).items():
                if typed:
                    yield Edit(*match.span(), rng.choice(typed), kind)
        for match in _SENTENCE_START.finditer(plain):
            if match[0] in self._starters:
                yield Edit(*match.span(1), match[1].lower(), "lower_start")
        yield from _without_end_mark(text, asks=bool(_ASKED_IN_ENGLISH.search(text)))

    def _typed(self, word: str) -> dict[str, list[str]]:
        """What may be typed for a word, by kind; slips spare the first letter and never make another word."""
        contracted = word in self._contractions or word[0].lower() + word[1:] in self._contractions
        found = {
            "homophone": self.homophones.get(word, []),
            "misspelling": self.misspellings.get(word, []),
            "apostrophe": [word.replace("'", "")] if contracted else [],
        }
        if word in self.words:
            found |= {k: [t for t in typed if t not in self.real] for k, typed in slips(word).items()}
        return found


@lru_cache(maxsize=1024)
def slips(word: str) -> dict[str, list[str]]:
    """What fingers make of a lower-case word, by kind, with the first letter right (shared: read only)."""
    places = range(1, len(word))
    return {
        "adjacent_key": [word[:i] + key + word[i + 1 :] for i in places for key in _NEIGHBOURS[word[i]]],
        "dropped_letter": [word[:i] + word[i + 1 :] for i in places],
        "doubled_letter": [word[:i] + word[i] + word[i:] for i in places],
        "transposition": [
            word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in places[:-1] if word[i] != word[i + 1]
        ],
    }


@lru_cache
def typist(language: Language) -> Typist:
    """How people type in a language, read once."""
    table = read_toml(FILE)[language]
    return JapaneseTypist(table) if language == "ja" else EnglishTypist(table)


def _without_end_mark(text: str, *, asks: bool) -> Iterator[Edit]:
    if (match := _END.search(text)) and (asks or match[1] not in "?？"):
        yield Edit(match.start(1), len(text), "", "end_mark")


def _pairs(text: str) -> dict[str, list[str]]:
    """Items `word:one,other`, separated by blanks."""
    split = (item.partition(":") for item in text.split())
    return {word: others.split(",") for word, _, others in split}


def _words_of(forms: Collection[str]) -> re.Pattern[str]:
    """The forms as words of their own: no kanji, letter or digit before, no kanji after a kanji."""
    bounded = [form + (f"(?![{_KANJI}])" if re.search(f"[{_KANJI}]$", form) else "") for form in forms]
    longest_first = "|".join(sorted(bounded, key=len, reverse=True))
    return re.compile(rf"(?<![{_KANJI}A-Za-z0-9{_FULL}])(?:{longest_first})")


def _any(words: Collection[str]) -> str:
    """Alternatives, of which the longest that fits is taken."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))
