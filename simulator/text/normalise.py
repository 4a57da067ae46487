"""Texts as they are compared: what does not change an answer is taken away.

Three forms, from the least to the most that is lost:

    folded("ＡＢＣ　１，０００")       -> "abc 1000" (width, case, commas of thousands, marks that look alike)
    plain_form("「富士山です。」")      -> "富士山です" (and punctuation around it, Markdown, idle spaces)
    squad_form("The Beatles' album.")  -> "beatles album" (SQuAD's own, English only)

Exact match and labels are compared in the plain form, whose version stands in each result
(`PLAIN_FORM_VERSION`): change the rules, and change it. -5, .5, 5% and C++ keep the signs that carry meaning.

Tokenizers cut for ROUGE-L, METEOR and F1. A figure without its tokenizer means nothing, so the name with its
version is part of every result, too. `cjk-char` is right in both languages; the others reproduce published
values (`ascii-words` is what the rouge_score package does, and loses Japanese altogether).
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any, NamedTuple

from simulator.core.errors import InputError, UnknownName
from simulator.core.messages import _
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
@cache
def _idle_space() -> re.Pattern[str]:
    return re.compile(rf"(?<=[{CJK}]) | (?=[{CJK}])")


_AROUND = " ,;:!?。、・…‥'\"`*_~()[]{}<>「」『』【】《》〈〉〔〕«».—-"
# Punctuation before the first word. Before a digit a point or minus stays: it belongs to the number.
_OPENING = re.compile(rf"(?:[{re.escape(_AROUND.rstrip('.—-'))}]|[.—-](?!\d))+")
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_ASCII_PUNCTUATION = str.maketrans("", "", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


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
    return _idle_space().sub("", kept) if " " in kept else kept


def squad_form(text: str) -> str:
    """Lower case without ASCII punctuation and English articles, as in SQuAD (Rajpurkar et al., 2016)."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_ASCII_PUNCTUATION)).split())


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


DEFAULT_TOKENIZER = "cjk-char"

_WORD = rf"[^\W_{CJK}]+"


# A kana or kanji; a number with its decimals; a word with an apostrophe in it.
@cache
def _token() -> re.Pattern[str]:
    return re.compile(rf"[{CJK}]|\d+(?:\.\d+)+|{_WORD}(?:'{_WORD})*")


# MeCab is given lines of at most so many characters; its own buffer is not much larger.
_LINE = re.compile(r".{1,10000}")
_ASCII_WORD = re.compile(r"[a-z0-9]+")


class Tokenizer(NamedTuple):
    """Cuts a text into tokens; `name` stands in every result made with it."""

    name: str
    cut: Callable[[str], list[str]]


def tokenizer(name: str = DEFAULT_TOKENIZER) -> Tokenizer:
    """The tokenizer of that name: cjk-char, mecab, ascii-words, ascii-words+porter, blank or squad.

    Raises UnknownName, or InputError where mecab or the stemmer is not installed.
    """
    if made := {"mecab": _mecab, "ascii-words+porter": _porter}.get(name):
        return made()
    if name not in _TOKENIZERS:
        raise UnknownName(_("tokenizer"), name, [*_TOKENIZERS, "ascii-words+porter", "mecab"])
    return _TOKENIZERS[name]


def ascii_words(text: str) -> list[str]:
    """Runs of a-z and 0-9 of the lower-cased text, as the rouge_score package cuts; Japanese is lost."""
    return _ASCII_WORD.findall(text.lower())


@lru_cache(maxsize=1)
def _mecab() -> Tokenizer:
    """MeCab's words by the IPA dictionary: frozen since 2007, so scores do not drift."""
    try:
        import ipadic
        import MeCab
    except ImportError:
        msg = _("the tokenizer mecab needs the extra 'ja': pip install mecab-python3 ipadic.")
        raise InputError(msg) from None
    tagger: Any = MeCab.Tagger(f"{ipadic.MECAB_ARGS} -Owakati")

    def cut(text: str) -> list[str]:
        """Surfaces with a letter or digit; MeCab stops at NULs, lone surrogates and endless lines."""
        readable = folded(text).replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
        words = (word for line in _LINE.findall(readable) for word in tagger.parse(line).split())
        return [word for word in words if any(map(str.isalnum, word))]

    return Tokenizer(f"mecab-ipadic {version('ipadic')}", cut)


@lru_cache(maxsize=1)
def _porter() -> Tokenizer:
    """Words of more than three letters by Porter's stems (1980), as ROUGE-1.5.5 has them."""
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError:
        msg = _("the tokenizer ascii-words+porter needs the extra 'metrics': pip install 'nltk>=3.10'.")
        raise InputError(msg) from None
    stem = lru_cache(maxsize=65536)(PorterStemmer().stem)

    def cut(text: str) -> list[str]:
        return [stem(word) if len(word) > 3 else word for word in ascii_words(text)]

    return Tokenizer("ascii-words-1+porter", cut)


_TOKENIZERS = {
    # Each kana and kanji (also ー, 々), other scripts by word; NFKC, case-folded, without punctuation.
    "cjk-char": Tokenizer("cjk-char-1", lambda text: _token().findall(folded(text))),
    "ascii-words": Tokenizer("ascii-words-1", ascii_words),
    "blank": Tokenizer("blank-1", lambda text: text.lower().split()),
    # Words without articles and punctuation, as SQuAD's own F1 counts them.
    "squad": Tokenizer("squad-1", lambda text: squad_form(text).split()),
}
