"""Where texts are cut: characters and words, clauses and sentences, in Japanese and English.

Japanese has no spaces, so a token is one kana or kanji there, and a word elsewhere; with character pairs on
top that did as well as a dictionary on public label sets, and needs none.

    tokens("光10GB、月額1,234円です")  -> 光 10 gb 月 額 1234 円 で す
    sentences("「はい。」と答えます！ It costs $5, e.g. monthly. Ask us.")
        -> 「はい。」と答えます！ | It costs $5, e.g. monthly. | Ask us.
    clauses("無料です、ただし初月のみ")  -> 無料です、 | ただし初月のみ

Sentences and clauses keep their words as they were written, for they are quoted in reasons; tokens are
normalised, for they are compared.
"""

import re
from functools import lru_cache

from simulator.core.patterns import LazyPattern
from simulator.text.typography import cut, nfkc, straight

# Kana, kanji and their iteration and length marks: scripts without spaces, in which a character is a token.
CJK = (
    "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# A comma before three digits groups thousands; a word that starts with a letter keeps its digits (ipv6).
_TOKEN = LazyPattern(
    rf"[{CJK}]"
    r"|\d+(?:,\d{3}(?!\d))*(?:\.\d+)?"
    rf"|[^\W\d_][^\W_{CJK}]*(?:'[a-z]+)?"
)
# What Markdown puts before or around words: headings, quotes, bullets, numbered items, emphasis, code.
_MARKUP = re.compile(r"^[^\S\n]*(?:#+\s+|>\s*|(?:[-*・•●○◆■]|\(?\d{1,2}[.)])\s+)|\*\*|__|`", re.MULTILINE)
# A sentence ends at a line break; at 。！？ unless more marks or a closing bracket follow (「はい。」と言う
# is one sentence); in English at a mark before a capital, a digit or a quotation, or between lower-case words
# of three letters and more, as people type in chats ("it works. thanks"). 3.5 and example.com are not cut.
_SENTENCE_END = re.compile(
    r"\n+|(?<=[。！？])(?![」』）)。！？]|[^「『]{0,200}[」』])|(?<=[!?])\s*(?=[^\W\da-z_])|(?<=[\w%]\.|[\")]\.|.[!?])\s+(?=[\"'(\[]?[A-Z0-9])"
    r"|(?<=\w \.|\w [!?])\s+(?=\w)|(?<=[a-z]{3}[.!?])\s+(?=[a-z])"
)
# After "e.g." or "Feb." the sentence goes on, though a blank and a capital follow.
_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|approx|inc|ltd|incl|excl|dept|tel|fig|vol|max|min|est|ext"
    r"|jan|feb|apr|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
# At a comma, but not that of 1,000; and before but, although and because.
_CLAUSE_END = re.compile(r"(?<=[、，;；])(?!\d)|(?<=,)\s{1,4}|\s{1,4}(?=but\b|although\b|because\b)")


@lru_cache(maxsize=1024)
def normalise(text: str) -> str:
    """NFKC, lower case and straight marks: full-width letters, half-width kana and ’ become plain.

    "Ｗｉ－ＦｉのﾊﾟｽﾜｰﾄﾞＩＤ" -> "wi-fiのパスワードid". Every pattern of this package is written for such a
    text. The length may change (㈱, ﾊﾟ).
    """
    return nfkc(straight(text)).lower()


def tokens(text: str) -> list[str]:
    """One token per CJK character; other letters in runs (words); numbers without commas, with decimals."""
    return [token.replace(",", "") for token in _TOKEN.findall(normalise(text))]


@lru_cache(maxsize=1024)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences, without list marks and Markdown; a line break ends one, a quoted 。 does not."""
    found: list[list[str]] = []
    goes_on = False
    for piece in map(str.strip, cut(_SENTENCE_END, "".join(cut(_MARKUP, text)))):
        if goes_on:
            found[-1].append(piece)
        elif piece:
            found.append([piece])
        # An abbreviation stands in its last letters: looking through all of a long sentence takes too long.
        goes_on = bool(found and _ABBREVIATION.search(found[-1][-1][-12:]))
    return tuple(map(" ".join, found))


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence between its commas."""
    return [piece.strip() for piece in _CLAUSE_END.split(sentence) if piece.strip()]
