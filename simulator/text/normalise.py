"""Texts as they are compared: what does not change an answer is taken away.

Two forms, from the least to the most that is lost:

    folded("ＡＢＣ　１，０００")       -> "abc 1000" (width, case, commas of thousands, marks that look alike)
    plain_form("「富士山です。」")      -> "富士山です" (and punctuation around it, Markdown, idle spaces)

Exact match and labels are compared in the plain form, whose version stands in each result
(`PLAIN_FORM_VERSION`): change the rules, and change it. -5, .5, 5% and C++ keep the signs that carry meaning.

`words` cuts for ROUGE-L, METEOR and F1, rightly in both languages. A figure without its tokenizer means
nothing, so the name with its version (`TOKENIZER`) is part of every result, too.
"""

import re

from simulator.core.patterns import LazyPattern
from simulator.text.segments import CJK
from simulator.text.typography import nfkc, straight

# How answers are compared word for word, and the version of these rules.
PLAIN_FORM_VERSION = "nfkc-3"

# Soft hyphen, grapheme joiner, zero-width spaces and joiners, marks of direction, word joiner, byte order
# mark; and the selectors of a variant of the character before (葛󠄀).
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_LONG_VOWEL_AS_HYPHEN = re.compile(r"(?<=\d)ー(?=\d)")
_GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


# Beside kana or kanji a space has no meaning.
_IDLE_SPACE = LazyPattern(rf"(?<=[{CJK}]) | (?=[{CJK}])")


_AROUND = " ,;:!?。、・…‥'\"`*_~()[]{}<>「」『』【】《》〈〉〔〕«».—-"
# Punctuation before the first word. Before a digit a point or minus stays: it belongs to the number.
_OPENING = re.compile(rf"(?:[{re.escape(_AROUND.rstrip('.—-'))}]|[.—-](?!\d))+")


def folded(text: str) -> str:
    """NFKC and without case; numbers without the commas of thousands: １，０００ is 1000.

    Without signs that nobody sees (zero-width spaces, soft hyphens, variation selectors). The long vowel mark
    that stands for a hyphen between digits (0120ー123ー456) becomes one. Of the hyphens, dashes, apostrophes,
    quotation marks and wave dashes that look alike, one each is left.
    """
    # NFKC makes a space and an accent of \u00b4, which people type for an apostrophe.
    if text.isascii():
        seen = text
    else:
        seen = _LONG_VOWEL_AS_HYPHEN.sub("-", nfkc(_UNSEEN.sub("", text)).replace(" \u0301", "'"))
    whole = straight(seen)
    plain = whole.casefold().replace("\u301c", "~")
    return _GROUPING.sub("", plain) if "," in plain else plain


def plain_form(text: str) -> str:
    """Folded, without surrounding punctuation, quotes, brackets and Markdown, and with no idle space.

    The sign and the point of a number stay (-5, .5), and so do signs that carry meaning (C#, C++, 5%, ¥).
    A text of nothing but punctuation is left as it is.
    """
    whole = " ".join(folded(text).split())
    opening = _OPENING.match(whole)
    content = whole[opening.end() if opening else 0 :].rstrip(_AROUND)
    kept = content or whole
    return _IDLE_SPACE.sub("", kept) if " " in kept else kept


# Where a quotation leaves words out; signs between two digits, which keep them apart; and all other signs.
_GAP = re.compile(r"…+|\.{3,}|・{3,}|\[[.…]+\]")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\W_]++(?=\d)")
_SIGN = re.compile(r"(?!(?<=\d)[.|](?=\d))[\W_]")


def is_quoted_from(quotation: str, text: str) -> bool:
    """Whether every stretch of the quotation stands in the text; signs, spaces, width and case do not matter.

    Stretches are what "…" parts. A number stands there as a whole only: "200円" is no quotation from
    「1,200円」. A quotation without letters and digits is from nowhere.
    """
    letters = _letters(text)
    stretches = [stretch for part in _GAP.split(quotation) if (stretch := _letters(part))]
    return bool(stretches) and all(_stands_whole(stretch, letters) for stretch in stretches)


def _letters(text: str) -> str:
    """Letters and digits alone, with a mark where two numbers would run into one."""
    parted = _BETWEEN_DIGITS.sub(lambda signs: "." if signs[0] == "." else "|", folded(text))
    return _SIGN.sub("", parted)


def _stands_whole(stretch: str, letters: str) -> bool:
    """Whether the stretch stands there without more digits before or after a number at its ends."""
    at = letters.find(stretch)
    while at >= 0:
        before, after = letters[max(0, at - 2) : at], letters[at + len(stretch) : at + len(stretch) + 2]
        begun = stretch[0].isdigit() and re.search(r"\d\.?\Z", before)
        ended = stretch[-1].isdigit() and re.match(r"\.?\d", after)
        if not begun and not ended:
            return True
        at = letters.find(stretch, at + 1)
    return False


# How texts are cut, and the version of these rules.
TOKENIZER = "cjk-char-1"
_WORD = rf"[^\W_{CJK}]+"


# A kana or kanji; a number with its decimals; a word with an apostrophe in it.
_TOKEN = LazyPattern(rf"[{CJK}]|\d+(?:\.\d+)+|{_WORD}(?:'{_WORD})*")


def words(text: str) -> list[str]:
    """Each kana and kanji (also ー, 々), other scripts by word; NFKC, case-folded, without punctuation."""
    return _TOKEN.findall(folded(text))
