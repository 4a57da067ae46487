"""Checks on what the simulated customer is about to say, before the bot sees it.

A bot must not be scored on a customer who fell out of the role: each rule names one way of doing so.
The phrases live in personas/_user.toml.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from simulator.errors import PromptError
from simulator.types import Language

# Customers write short: about 27 characters a turn in Japanese, 9 words in English.
LONGEST = {"ja": 200, "en": 500}
RULES = ("empty", "too_long", "language", "reasoning", "desk", "repeat")

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f]")
_KANA = re.compile(r"[\u3041-\u30ff\uff66-\uff9f]")
_LETTER = re.compile(r"[^\W\d_]")
# Addresses, file names, error codes: written the same in every language.
_CODE = re.compile(r"[!-~]*[@_/.\d][!-~]+")


class Guard:
    """The rules of one language."""

    def __init__(
        self, language: Language, desk_phrases: Iterable[str] = (), reasoning_marks: Iterable[str] = ()
    ) -> None:
        """`desk_phrases` and `reasoning_marks` are regular expressions."""
        self.language = language
        self._desk = _compiled(desk_phrases)
        self._reasoning = _compiled(reasoning_marks)

    def broken_rule(self, text: str, said: Sequence[str]) -> str | None:
        """The first rule that `text` breaks, given what the customer has `said` before."""
        if not text.strip():
            return "empty"
        if len(text) > LONGEST[self.language]:
            return "too_long"
        if _is_foreign(text, self.language):
            return "language"
        if any(mark.search(text) for mark in self._reasoning):
            return "reasoning"
        if any(phrase.search(text) for phrase in self._desk):
            return "desk"
        return "repeat" if any(_alike(text, earlier) for earlier in said) else None


def _compiled(patterns: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    try:
        return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)
    except re.error as error:
        msg = f"personas/_user.toml: {error.pattern!r} is not a regular expression ({error.msg})."
        raise PromptError(msg) from None


def _is_foreign(text: str, language: Language) -> bool:
    """Whether the letters are mostly of another script; product names and codes are let through.

    Japanese without any kana is taken to be Chinese.
    """
    plain = _CODE.sub(" ", text)
    letters, cjk = len(_LETTER.findall(plain)), len(_CJK.findall(plain))
    if letters < 12:
        return False
    if language == "en":
        return cjk > 0.25 * letters
    return cjk < 0.3 * letters or not _KANA.search(plain)


def _alike(text: str, earlier: str) -> bool:
    """Nearly the same line: nine tenths of the character pairs are shared."""
    one, other = _pairs(text), _pairs(earlier)
    return bool(one) and len(one & other) >= 0.9 * len(one | other)


@lru_cache(maxsize=4096)
def _pairs(text: str) -> frozenset[str]:
    plain = "".join(c for c in unicodedata.normalize("NFKC", text).lower() if c.isalnum())
    return frozenset(plain[i : i + 2] for i in range(max(1, len(plain) - 1)) if plain)
