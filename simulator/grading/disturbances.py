"""Signs that a text is not fluent, found without reading it: garbling, repeats, a missing end."""

import re
from collections import Counter
from functools import lru_cache

from simulator.core.types import Language
from simulator.text.segments import CJK, normalise, sentences, tokens

# How many grades each sign costs; a text without any is a 5.
COSTS = {
    "foreign": 3,
    "garbled": 3,
    "repeats": 2,
    "same_sentence": 1,
    "unfinished": 1,
    "endless": 1,
    "brackets": 1,
    "particles": 1,
    "mixed": 1,
}
_LONGEST_SENTENCE = {"ja": 160, "en": 400}
_REPEATED = re.compile(r"(\S{2,20}?)\1{2,}|\b(\w+)(?:\W+\2\b){2,}")
_RULED_LINE = re.compile(r"([-=_*~.・…。!?！？ー〜wｗ笑0-9])\1+")
_GARBLED = re.compile("\ufffd|[ÃÂâã][\u0080-\u00bf€™œ]|[縺繧](?:.{1,3}[縺繧]){2}")
_CHARACTER = re.compile(f"[{CJK}]")
_ADDRESS = re.compile(r"[\w.+-]{0,64}(?:://|@)[!-~]+")
_KANA = re.compile("[\u3041-\u30fa]")
_LETTER = re.compile(r"[^\W\d_]")
_HANGUL_OR_CYRILLIC = re.compile("[\uac00-\ud7af\u0400-\u04ff]")
_DOUBLED = re.compile(r"をを|がが|にに|へへ|でで(?!き)|のの|です(?:です|ます)|ますです|ました(?:です|ます)")
_OPEN_END = re.compile(
    r"(?:[、,]|[^。!?！？](?:を|へ|の|と|で|に|が|は|また|そして|および|つまり)|\b(?:the|a|an|and|or|of|to|in|with|for|because|is|are))$"
)
_PAIRS = (("「", "」"), ("『", "』"), ("（", "）"), ("(", ")"), ("【", "】"))


@lru_cache(maxsize=256)
def disturbances(text: str, language: Language) -> tuple[str, ...]:
    """The signs found, by name; a text without letters is `foreign`."""
    found = {
        "foreign": _is_foreign(text, language),
        "garbled": bool(_GARBLED.search(text)),
        "repeats": bool(_REPEATED.search(_RULED_LINE.sub(" ", normalise(text)))),
        "same_sentence": _says_twice(text),
        "unfinished": _is_unfinished(text),
        "endless": any(len(s) > _LONGEST_SENTENCE[language] for s in sentences(text)),
        "brackets": any(text.count(opening) != text.count(closing) for opening, closing in _PAIRS),
        "particles": language == "ja" and bool(_DOUBLED.search(text)),
        "mixed": _is_mixed(text, language),
    }
    return tuple(name for name, is_there in found.items() if is_there)


def _is_foreign(text: str, language: Language) -> bool:
    letters, cjk = _letters(text)
    if not letters:
        return not any(map(str.isalnum, text))
    if language == "en":
        return cjk > 0.3 * letters
    # Japanese sentences are held together by kana; a row of kanji without any is Chinese or a name.
    return letters >= 12 and (cjk < 0.2 * letters or not _KANA.search(text))


def _is_mixed(text: str, language: Language) -> bool:
    letters, cjk = _letters(text)
    if _HANGUL_OR_CYRILLIC.search(text):
        return True
    return letters >= 20 and (cjk < 0.5 * letters if language == "ja" else cjk > 0.05 * letters)


def _letters(text: str) -> tuple[int, int]:
    """All letters and the CJK ones among them, addresses of sites and mailboxes left out."""
    plain = _ADDRESS.sub(" ", text)
    return len(_LETTER.findall(plain)), len(_CHARACTER.findall(plain))


def _says_twice(text: str) -> bool:
    counts = Counter(sentence for sentence in sentences(text) if len(tokens(sentence)) >= 6)
    return max(counts.values(), default=0) > 1


def _is_unfinished(text: str) -> bool:
    plain = normalise(text).rstrip()
    return len(plain) > 15 and bool(_OPEN_END.search(plain))
