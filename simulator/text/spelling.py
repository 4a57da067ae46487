"""The same thing written differently: pairs of words, and codes however they are typed.

A pair is a word as it was asked and as the article writes it. Without a dictionary it is known by its sound
(kana, Latin), by its letters, or because replacing the one by the other brings the article.

    spelling_pairs("るーたーの設定を教えて", ["ルーターの電源を入れ…"])   -> るーたー / ルーター, likeness 1
    spelling_likeness("ルーター", "router")      -> 0.82, by what is heard
    spelling_likeness("fiber", "fibre")          -> 0.80, by letters
    spelling_likeness("引落", "引き落とし")      -> 0.95, but for okurigana
    codes("E-205、3,300円、0120-000-371")        -> e-205, 0120-000-371 (an amount is no code)

`diagnosis/root_cause.py` names the first pair where an article was not found as it was asked for, and is
found in its own words. With the extra `ja` (MeCab) kanji have a reading, too: とうきょう and 東京 are a pair.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import pairwise, product
from typing import Any, NamedTuple

from simulator.text.evidence import STOP_WORDS, stem
from simulator.text.segments import normalise
from simulator.text.typography import half_width, nfkc

_KANA = re.compile("[\u3041-\u309f]")
_SMALL = str.maketrans("ぁぃぅぇぉゃゅょゎゕゖ", "あいうえおやゆよわかけ")
_SAME_SOUND = str.maketrans("づぢゐゑを", "ずじいえお")
_JOINTS = re.compile(r"[\s\-‐‑–—・．.'’_/]")
_SOKUON = "っ"
# The kana by their consonant, in the order of the vowels a, i, u, e, o.
_ROWS = {
    "": "あいうえお", "k": "かきくけこ", "g": "がぎぐげご", "s": "さしすせそ", "z": "ざじずぜぞ",
    "t": "たちつてと", "d": "だぢづでど", "n": "なにぬねの", "h": "はひふへほ", "b": "ばびぶべぼ",
    "p": "ぱぴぷぺぽ", "m": "まみむめも", "r": "らりるれろ",
}  # fmt: skip
_ROMAN = {
    kana: row + vowel for row, kanas in _ROWS.items() for kana, vowel in zip(kanas, "aiueo", strict=True)
}
_ROMAN |= {"や": "ya", "ゆ": "yu", "よ": "yo", "わ": "wa", "を": "o", "ん": "n", "ゔ": "v"}
# The irregular ones of Hepburn: shi, chi, tsu, fu, ji, zu.
_ROMAN |= {"し": "shi", "ち": "chi", "つ": "tsu", "ふ": "fu", "じ": "ji", "ぢ": "ji", "づ": "zu"}
# What is longer is no word; the dictionary takes ever longer for it.
_LONGEST_WORD = 60
# Small kana and the vowel that they put in place of the one before: し + ょ is sho, フ + ァ is fa.
_GLIDES = {"ゃ": "a", "ゅ": "u", "ょ": "o", "ぁ": "a", "ぃ": "i", "ぅ": "u", "ぇ": "e", "ぉ": "o"}


def hiragana(text: str) -> str:
    """Plain lower-case text with its katakana as hiragana; half-width kana become full-width first."""
    plain = normalise(text)
    return "".join(chr(ord(c) - 0x60) if "\u30a1" <= c <= "\u30f6" else c for c in plain)


@lru_cache(maxsize=16384)
def folded_kana(text: str) -> str:
    """Hiragana without length marks, hyphens and small kana: ウェブサイト, うえぶさいと are the same."""
    joined = _JOINTS.sub("", hiragana(text)).replace("ー", "").replace(_SOKUON, "")
    return joined.translate(_SMALL).translate(_SAME_SOUND)


@lru_cache(maxsize=16384)
def reading(word: str) -> str:
    """How a word is read, in hiragana; empty for kanji without a dictionary (extra ja), and of a long run."""
    plain = hiragana(word)
    if not _KANJI.search(plain):
        return plain
    tagger = _dictionary() if len(plain) <= _LONGEST_WORD else None
    return hiragana(tagger(word)) if tagger else ""


@lru_cache(maxsize=16384)
def roman(word: str) -> str:
    """The word in Latin letters: kana by Hepburn with long vowels as short ones; Latin stays.

    るーたー -> ruta, とうきょう -> tokyo, Wi-Fi -> wifi. Empty for kanji without a dictionary.
    """
    sound = _JOINTS.sub("", reading(word))
    if not _KANA.search(sound):  # Latin, without its accents
        return "".join(c for c in unicodedata.normalize("NFKD", nfkc(sound)) if not unicodedata.combining(c))
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


@cache
def _dictionary() -> Any:
    """MeCab's readings, where the extra is installed; without it kanji have none."""
    try:
        import ipadic
        import MeCab
    except ImportError:
        return None
    tagger = MeCab.Tagger(f"{ipadic.MECAB_ARGS} -Oyomi")
    return lambda word: tagger.parse(word).strip()


_WORD = re.compile(
    r"[A-Za-zÀ-ɏ0-9]+(?:[-.'’&][A-Za-zÀ-ɏ0-9]+)*"
    r"|[\u30a1-\u30faー]+|[\u3400-\u9fff々]+(?:[^\W\u0000-\u3040\u30a0-\uffffのがをはにでともやへ][\u3400-\u9fff々]+)*|[\u3041-\u309fー]{2,}"
)
_KANJI = re.compile("[\u3400-\u9fff々]")
KANA_ONLY = re.compile("[\u3041-\u309fー]+")
_LATIN = re.compile("[a-zà-ɏ0-9&.'-]+")
_OKURIGANA = re.compile("[\u3041-\u309f]")
_VOWELS = re.compile("[aeiouy]")
# How Japanese hears consonants: l as r, v as b, c and q as k.
_LOANS = str.maketrans("lvcq", "rbkk")
# How alike two words must be to be offered as a pair: Latin, kanji, and what remains of their sound.
LATIN, KANJI, SOUND = 0.75, 0.6, 0.8
# Words of fewer letters are alike by chance; of a text so many words are looked at.
SHORTEST = 3
MOST_WORDS = 400


class SpellingPair(NamedTuple):
    """One word as it was asked and as the article writes it; `likeness` 0..1, 1 for the same sound."""

    asked: str
    written: str
    likeness: float


def words(text: str) -> list[str]:
    """The words of a text without a dictionary: runs of one script; of hiragana, runs of two and more."""
    return list(dict.fromkeys(_WORD.findall(text)))[:MOST_WORDS]


def unknown_words(question: str, texts: Iterable[str]) -> list[str]:
    """The words of a question that carry content and occur in none of these texts."""
    known = normalise("\n".join(texts))
    stems = {stem(word) for word in _WORD.findall(known)}
    return [word for word in words(question) if _carries(word) and not _occurs(word, known, stems)]


def spelling_pairs(question: str, texts: Sequence[str]) -> list[SpellingPair]:
    """Words of a question that these texts write differently, the likeliest first; at most five.

    Only words that the texts do not have are asked about, and only words that the question does not have are
    offered. Of overlapping pairs the likeliest one is kept. Words of hiragana alone have no boundary in a
    sentence; `_within_kana` looks for the sounds of the article's words in them.
    """
    there, known = normalise(question), "\n".join(texts)
    plain, unknown = normalise(known), unknown_words(question, texts)
    written = [word for word in words(known) if _carries(word) and normalise(word) not in there]
    compound = [word for word in _joined(known) if normalise(word) not in there]
    parted = (*product(_joined(question), written), *product(unknown, compound))
    candidates = [
        *product([word for word in unknown if not KANA_ONLY.fullmatch(word)], written),
        # Words that differ in nothing but how they are joined, where the article has only one of them.
        *((a, b) for a, b in parted if folded_kana(a) == folded_kana(b) and normalise(a) not in plain),
    ]
    pairs = [SpellingPair(one, other, spelling_likeness(one, other)) for one, other in candidates]
    pairs += _within_kana(question, written, known)
    best: list[SpellingPair] = []
    for pair in sorted(pairs, key=lambda pair: -pair.likeness):
        if pair.likeness and not any(pair.asked in each.asked or each.asked in pair.asked for each in best):
            best.append(pair)
    return best[:5]


@lru_cache(maxsize=65536)
def spelling_likeness(one: str, other: str) -> float:
    """How alike (0..1) two spellings are; 0 when they are no likely spellings of one word.

    1 for the same sound; kanji by what is left without okurigana; Latin letters among themselves; Latin
    letters and kana by consonants, as Japanese hears them; everything else by its folded kana.
    """
    a, b = folded_kana(one), folded_kana(other)
    if a == b or (a and b and _same_sound(one, other)):
        return 1.0
    if _KANJI.search(a) and _KANJI.search(b):
        return _kanji_likeness(a, b)
    if _LATIN.fullmatch(a) and _LATIN.fullmatch(b):
        return _latin_likeness(a, b)
    if _LATIN.fullmatch(a) or _LATIN.fullmatch(b):
        return _loan_likeness(roman(one), roman(other))
    ratio = SequenceMatcher(None, a, b).ratio()
    return ratio if ratio >= SOUND and min(len(a), len(b)) >= SHORTEST else 0.0


def _same_sound(one: str, other: str) -> bool:
    if not reading(one) or not reading(other):
        return False
    first, second = roman(one), roman(other)
    return folded_kana(reading(one)) == folded_kana(reading(other)) or (
        first == second and len(first) >= SHORTEST
    )


def _kanji_likeness(a: str, b: str) -> float:
    """引落 and 引き落とし differ in okurigana only; 違約金 and 解約金 share two of three characters."""
    bare = _OKURIGANA.sub("", a), _OKURIGANA.sub("", b)
    if bare[0] == bare[1]:
        return 0.95
    if a in b or b in a or min(map(len, bare)) < SHORTEST:
        return 0.0
    ratio = SequenceMatcher(None, bare[0], bare[1]).ratio()
    return ratio if ratio >= KANJI else 0.0


def _latin_likeness(a: str, b: str) -> float:
    """Like fiber and fibre, cancelation and cancellation; words of the same stem are no pair."""
    if stem(a) == stem(b) or min(len(a), len(b)) < SHORTEST + 1 or any(c.isdigit() for c in a + b):
        return 0.0
    ratio = SequenceMatcher(None, a, b).ratio()
    return ratio if ratio >= LATIN and a[0] == b[0] else 0.0


def _loan_likeness(a: str, b: str) -> float:
    """ルーター and router: what remains without vowels, as Japanese hears the consonants."""
    if min(len(a), len(b)) < SHORTEST or not a.isascii() or not b.isascii():
        return 0.0
    first, second = _heard(a), _heard(b)
    bones = _VOWELS.sub("", first), _VOWELS.sub("", second)
    if min(map(len, bones)) < 2 or bones[0][0] != bones[1][0]:
        return 0.0
    ratio = SequenceMatcher(None, bones[0], bones[1]).ratio()
    whole = SequenceMatcher(None, first, second).ratio()
    return 0.99 * (ratio + whole) / 2 if ratio >= SOUND and whole >= 0.5 else 0.0


@lru_cache(maxsize=16384)
def _heard(word: str) -> str:
    """L as r, v as b, no r before a consonant or at the end, no letter twice."""
    plain = re.sub(r"r(?![aeiouy])", "", word.translate(_LOANS))
    return re.sub(r"(.)\1", r"\1", re.sub(r"m(?=[pb])", "n", plain))


def _within_kana(question: str, written: Iterable[str], known: str) -> Iterator[SpellingPair]:
    """とうきょうのてんぽ has no word boundary: the sound of an article's word is looked for inside.

    ひっこし and 引っ越し end alike: the kana that follows in both belongs to them, unless it is a particle.
    """
    runs = [run for run in KANA_ONLY.findall(normalise(question)) if len(run) >= SHORTEST]
    for word in written:
        sound = reading(word)
        if len(roman(word)) < SHORTEST or (sound == word and KANA_ONLY.fullmatch(word)):
            continue
        for run in runs:
            piece, likeness = _piece(run, word, 2 * len(sound))
            following = run.partition(piece)[2][:1] if piece else ""
            is_ending = (
                known.partition(word)[2][:1] == following and following not in "はがをにのでともへやかで"
            )
            if piece:
                more = following if is_ending else ""
                yield SpellingPair(piece + more, word + more, likeness)


def _piece(run: str, word: str, longest: int) -> tuple[str, float]:
    """The part of a run of kana that sounds like a word, and how much so; empty when none does."""
    best = ("", 0.0)
    for start in range(len(run)):
        for end in range(start + SHORTEST, min(start + longest, len(run)) + 1):
            likeness = spelling_likeness(run[start:end], word)
            if likeness >= max(best[1], 0.01) and (likeness == 1 or start == 0):
                best = (run[start:end], likeness)
    return best


def _joined(text: str) -> list[str]:
    """Neighbouring Latin words that others may write as one: `Wi Fi`, `e SIM`, `sign in`."""
    found = [
        (a[0], b[0])
        for line in text.splitlines()
        for a, b in pairwise(_WORD.finditer(line))
        if line[a.end() : b.start()] == " "
    ]
    both = [f"{a} {b}" for a, b in found if a.isascii() and b.isascii() and len(a) + len(b) <= 16]
    return list(dict.fromkeys(both))[:MOST_WORDS]


def _carries(word: str) -> bool:
    plain = normalise(word)
    if plain.isdigit() or plain in STOP_WORDS:
        return False
    return len(plain) >= 2 and not (KANA_ONLY.fullmatch(plain) and plain == word and len(plain) < SHORTEST)


def _occurs(word: str, known: str, stems: Iterable[str]) -> bool:
    plain = normalise(word)
    return plain in known if not _LATIN.fullmatch(plain) else stem(plain) in stems


_ADDRESS = (
    r"[A-Za-z][A-Za-z0-9+.\-]{1,15}://[!-~]+"
    r"|[A-Za-z0-9._%+\-]{1,64}@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+"
    r"|[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63})*\.[A-Za-z]{2,}(?![A-Za-z0-9])(?:/[!-~]*)?"
)
# Words, numbers and what joins them; a code is one with a digit and with a letter or a joint in it:
# E-205, 10GB, 0120-000-371, 9:00, 3.5.
_RUN = r"(?P<run>[A-Za-z0-9]+(?:[-_./:#][A-Za-z0-9]+)*)"
_CODES = re.compile(f"{_ADDRESS}|{_RUN}", re.IGNORECASE)


def codes(text: str) -> Counter[str]:
    """The codes, addresses and telephone numbers in plain lower case, and how often each is there.

        "e-205、Ｅ－２０５、3,300円、24"   -> e-205 twice
        "help@mizunara.exampleへ9:00から"  -> the address, and 9:00

    Counted, because two of the same in a question are one thing said twice, not two things.
    """
    found = ((match[0].lower(), match["run"]) for match in _CODES.finditer(half_width(text)))
    # An address counts as it is; a run of letters and digits where it has a digit, and something else.
    return Counter(
        code for code, run in found if not run or (any(map(str.isdigit, run)) and not run.isdigit())
    )
