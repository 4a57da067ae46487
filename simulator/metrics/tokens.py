"""Tokenizers by name. A score means nothing without its tokenizer, so each carries name and version."""

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple

from simulator.core.errors import InputError, UnknownName
from simulator.counting.segments import CJK
from simulator.metrics.forms import folded, squad_form
from simulator.metrics.porter import stem

DEFAULT = "cjk-char"

_WORD = rf"[^\W_{CJK}]+"
_TOKEN = re.compile(rf"[{CJK}]|\d+(?:\.\d+)+|{_WORD}(?:'{_WORD})*")
_LINE = re.compile(r".{1,10000}")
_ASCII_WORD = re.compile(r"[a-z0-9]+")


class Tokenizer(NamedTuple):
    """Cuts a text into tokens; `name` stands in every result made with it."""

    name: str
    cut: Callable[[str], list[str]]


def tokenizer(name: str = DEFAULT) -> Tokenizer:
    """The tokenizer of that name: cjk-char, mecab, ascii-words, ascii-words+porter, blank or squad."""
    if name == "mecab":
        return _mecab()
    if name not in _TOKENIZERS:
        raise UnknownName("tokenizer", name, [*_TOKENIZERS, "mecab"])
    return _TOKENIZERS[name]


def cjk_characters(text: str) -> list[str]:
    """Each kana and kanji (also ー, 々), other scripts by word; NFKC, case-folded, without punctuation."""
    return _TOKEN.findall(folded(text))


def ascii_words(text: str) -> list[str]:
    """Runs of a-z and 0-9 of the lower-cased text, as the rouge_score package cuts; Japanese is lost."""
    return _ASCII_WORD.findall(text.lower())


def ascii_stems(text: str) -> list[str]:
    """The same with words of more than three letters stemmed, as ROUGE-1.5.5 does."""
    return [stem(word) if len(word) > 3 else word for word in ascii_words(text)]


def blank_words(text: str) -> list[str]:
    """What stands between blanks, in lower case."""
    return text.lower().split()


def squad_words(text: str) -> list[str]:
    """Words without articles and punctuation, as SQuAD's own F1 counts them."""
    return squad_form(text).split()


@lru_cache(maxsize=1)
def _mecab() -> Tokenizer:
    """MeCab's words by the IPA dictionary: frozen since 2007, so scores do not drift."""
    try:
        mecab, ipadic = import_module("MeCab"), import_module("ipadic")
    except ImportError:
        msg = "the tokenizer mecab needs the extra 'ja': pip install mecab-python3 ipadic."
        raise InputError(msg) from None
    tagger: Any = mecab.Tagger(f"{ipadic.MECAB_ARGS} -Owakati")

    def cut(text: str) -> list[str]:
        """Surfaces with a letter or digit; MeCab stops at NULs, lone surrogates and endless lines."""
        readable = folded(text).replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
        words = (word for line in _LINE.findall(readable) for word in tagger.parse(line).split())
        return [word for word in words if any(map(str.isalnum, word))]

    return Tokenizer(f"mecab-ipadic {version('ipadic')}", cut)


_TOKENIZERS = {
    "cjk-char": Tokenizer("cjk-char-1", cjk_characters),
    "ascii-words": Tokenizer("ascii-words-1", ascii_words),
    "ascii-words+porter": Tokenizer("ascii-words-1+porter", ascii_stems),
    "blank": Tokenizer("blank-1", blank_words),
    "squad": Tokenizer("squad-1", squad_words),
}
