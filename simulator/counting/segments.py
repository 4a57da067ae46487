"""Where texts are cut: characters and words, clauses and sentences, in Japanese and English."""

import re
import unicodedata
from functools import lru_cache

from simulator.typography import cut, straight

# Kana, kanji and their iteration and length marks: scripts without spaces, in which a character is a token.
CJK = (
    "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# A comma before three digits groups thousands; a word that starts with a letter keeps its digits (ipv6).
_TOKEN = re.compile(
    rf"[{CJK}]"
    r"|\d+(?:,\d{3}(?!\d))*(?:\.\d+)?"
    rf"|(?:(?![{CJK}])[^\W\d_])(?:(?![{CJK}])[^\W_])*(?:'[a-z]+)?"
)
_MARKUP = re.compile(r"^[^\S\n]*(?:#+\s+|>\s*|(?:[-*・•●○◆■]|\(?\d{1,2}[.)])\s+)|\*\*|__|`", re.MULTILINE)
_SENTENCE_END = re.compile(
    r"\n+|(?<=[。！？])(?![」』）)。！？]|[^「『]{0,200}[」』])|(?<=[!?])\s*(?=[^\W\da-z_])|(?<=\w\.|[\")]\.|.[!?])\s+(?=[\"'(\[]?[A-Z0-9])"
    r"|(?<=\w \.|\w [!?])\s+(?=\w)|(?<=[a-z]{3}[.!?])\s+(?=[a-z])"
)
_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|approx|inc|ltd|incl|excl|dept|tel|fig|vol|max|min|est|ext"
    r"|jan|feb|apr|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"(?<=[、，;；])(?!\d)|(?<=,)\s{1,4}|\s{1,4}(?=but\b|although\b|because\b)")


@lru_cache(maxsize=1024)
def normalise(text: str) -> str:
    """NFKC, lower case and straight marks: full-width letters, half-width kana and ’ become plain."""
    return unicodedata.normalize("NFKC", straight(text)).lower()


def tokens(text: str) -> list[str]:
    """One token per CJK character; other letters in runs (words); numbers without commas, with decimals."""
    return [found.replace(",", "") for found in _TOKEN.findall(normalise(text))]


@lru_cache(maxsize=1024)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences, without list marks and Markdown; a line break ends one, a quoted 。 does not."""
    found: list[str] = []
    for piece in cut(_SENTENCE_END, "".join(cut(_MARKUP, text))):
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] = f"{found[-1]} {piece.strip()}"
        elif piece.strip():
            found.append(piece.strip())
    return tuple(found)


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence between its commas."""
    return [piece.strip() for piece in _CLAUSE_END.split(sentence) if piece.strip()]
