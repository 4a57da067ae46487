"""Texts as they are compared: what does not change an answer is taken away."""

import re
import unicodedata

from simulator.counting.segments import CJK
from simulator.typography import straight

# How answers are compared word for word, and the version of these rules.
PLAIN = "nfkc-2"

_GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Beside kana or kanji a space has no meaning.
_IDLE_SPACE = re.compile(rf"(?<=[{CJK}]) | (?=[{CJK}])")
_AROUND = " ,;:!?。、・…‥'\"`*_~()[]{}<>「」『』【】《》〈〉〔〕«».—-"
# Before a number the point and the minus belong to it.
_OPENING = re.compile(rf"(?:[{re.escape(_AROUND.rstrip('.—-'))}]|[.—-](?!\d))+")
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_ASCII_PUNCTUATION = str.maketrans("", "", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def folded(text: str) -> str:
    """NFKC and without case; numbers without the commas of thousands: １，０００ is 1000.

    Of the hyphens, dashes, apostrophes, quotation marks and wave dashes that look alike, one each is left.
    """
    # NFKC makes a space and an accent of \u00b4, which people type for an apostrophe.
    whole = straight(unicodedata.normalize("NFKC", text).replace(" \u0301", "'"))
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


def squad_form(text: str) -> str:
    """Lower case without ASCII punctuation and English articles, as in SQuAD (Rajpurkar et al., 2016)."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_ASCII_PUNCTUATION)).split())
