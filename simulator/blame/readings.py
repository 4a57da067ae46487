"""Words as they sound, so that 東京, Tokyo and とうきょう, or スマホ and すまほ, meet."""

import re
import unicodedata
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from simulator.counting.segments import normalise

_KANJI = re.compile("[\u3400-\u9fff々]")
_KANA = re.compile("[\u3041-\u309f]")
_SMALL = str.maketrans("ぁぃぅぇぉゃゅょゎゕゖ", "あいうえおやゆよわかけ")
_SAME_SOUND = str.maketrans("づぢゐゑを", "ずじいえお")
_JOINTS = re.compile(r"[\s\-‐‑–—・．.'’_/]")
_SOKUON = "っ"
_ROWS = {
    "": "あいうえお", "k": "かきくけこ", "g": "がぎぐげご", "s": "さしすせそ", "z": "ざじずぜぞ",
    "t": "たちつてと", "d": "だぢづでど", "n": "なにぬねの", "h": "はひふへほ", "b": "ばびぶべぼ",
    "p": "ぱぴぷぺぽ", "m": "まみむめも", "r": "らりるれろ",
}  # fmt: skip
_ROMAN = {
    kana: row + vowel for row, kanas in _ROWS.items() for kana, vowel in zip(kanas, "aiueo", strict=True)
}
_ROMAN |= {"や": "ya", "ゆ": "yu", "よ": "yo", "わ": "wa", "を": "o", "ん": "n", "ゔ": "v"}
_ROMAN |= {"し": "shi", "ち": "chi", "つ": "tsu", "ふ": "fu", "じ": "ji", "ぢ": "ji", "づ": "zu"}
_GLIDES = {"ゃ": "a", "ゅ": "u", "ょ": "o", "ぁ": "a", "ぃ": "i", "ぅ": "u", "ぇ": "e", "ぉ": "o"}


def hiragana(text: str) -> str:
    """Plain lower-case text with its katakana as hiragana; half-width kana become full-width first."""
    plain = normalise(text)
    return "".join(chr(ord(c) - 0x60) if "\u30a1" <= c <= "\u30f6" else c for c in plain)


def folded(text: str) -> str:
    """Hiragana without length marks, hyphens and small kana: ウェブサイト, うえぶさいと are the same."""
    joined = _JOINTS.sub("", hiragana(text)).replace("ー", "").replace(_SOKUON, "")
    return joined.translate(_SMALL).translate(_SAME_SOUND)


@lru_cache(maxsize=16384)
def reading(word: str) -> str:
    """How a word is read, in hiragana; empty for kanji when no dictionary (extra ja) is installed."""
    plain = hiragana(word)
    if not _KANJI.search(plain):
        return plain
    tagger = _dictionary()
    return hiragana(tagger(word)) if tagger else ""


@lru_cache(maxsize=16384)
def roman(word: str) -> str:
    """The word in Latin letters: kana by Hepburn with long vowels as short ones; Latin stays."""
    sound = _JOINTS.sub("", reading(word))
    if not _KANA.search(sound):
        return _unaccented(sound)
    letters: list[str] = []
    for place, kana in enumerate(sound):
        following = _ROMAN.get(sound[place + 1 : place + 2], "")
        if kana in _GLIDES and letters:
            letters[-1] = _glided(letters[-1], kana)
        elif kana == _SOKUON:
            letters.append(following[:1])
        elif kana != "ー":
            letters.append(_ROMAN.get(kana, kana))
    return re.sub(r"ou|oo", "o", re.sub(r"uu", "u", "".join(letters)))


def _glided(syllable: str, kana: str) -> str:
    """し and ょ are sho, き and ょ are kyo, フ and ァ are fa."""
    base = "w" if syllable == "u" else syllable[:-1] or syllable
    joint = "y" if kana in "ゃゅょ" and base not in {"sh", "ch", "j"} else ""
    return base + joint + _GLIDES[kana]


def _unaccented(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


@cache
def _dictionary() -> Any:
    """MeCab's readings, where the extra is installed; without it kanji have none."""
    try:
        mecab, ipadic = import_module("MeCab"), import_module("ipadic")
    except ImportError:
        return None
    tagger = mecab.Tagger(f"{ipadic.MECAB_ARGS} -Oyomi")
    return lambda word: tagger.parse(word).strip()
