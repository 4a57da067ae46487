"""Who is meant by name in Latin letters: given names, surnames, and words that are neither."""

import re
from unicodedata import combining, normalize

from simulator.redaction.checks import Span, value
from simulator.redaction.lists import any_of, in_latin, latin_key, listed, words


def english_name(match: re.Match[str]) -> Span | None:
    """A name of one to three words; it ends before a word that belongs to none."""
    start, _ = value(match)
    kept = 0
    for word in re.finditer(r"[^ ]+ ?", match["v"]):
        if word[0].strip(" .,").lower() in words("no_english"):
            break
        kept = word.start() + len(word[0].rstrip())
    return (start, start + kept) if kept else None


def self_named(match: re.Match[str]) -> Span | None:
    """Somebody who says "I'm ...": a common given name, or two capitalised words that describe nothing."""
    told = match["v"].split()
    known = told[0].capitalize() in any_of("english_given", "romaji_surnames") or _is_listed(told[0])
    calls = bool(re.match(r",? (?:calling|speaking|again|here|from|I|my)\b", match.string[match.end() :]))
    known = known or (calls and told[0].capitalize() in listed("given_en"))
    if known or (told[0][0].isupper() and (len(told) > 1 or calls) and not _DESCRIBES.search(told[0])):
        return english_name(match)
    return None


def _is_listed(word: str) -> bool:
    """Whether a capitalised word is a name of any list, Japanese ones included."""
    if not word[0].isupper() or len(word) < _FEWEST or word.lower() in words("no_english"):
        return False
    japanese = latin_key(word) in in_latin("family_kana") | in_latin("given_kana")
    return japanese or _plain(word) in any_of(of=("given_en", "family_en"))


def listed_name(match: re.Match[str]) -> Span | None:
    """Booked under Fitzgerald: a name of any list."""
    return value(match) if _is_listed(match["v"]) else None


_FEWEST = 4
_DESCRIBES = re.compile(r"(?:ly|ed|ing|able|ful|ous|less|ive|ish|ese|[aei]an|ch|'s)$")


def known_given_name(match: re.Match[str]) -> Span | None:
    """A common given name and a capitalised word behind it, or a Japanese surname and a word beside it."""
    told = [_plain(word) for word in match["v"].split()]
    if {told[0].lower(), told[-1].lower()} & words("no_english"):
        return None
    given = told[0] in any_of("english_given", of=("given_en",)) and not match["v"].isupper()
    if given or {told[0], told[-1]} & words("romaji_surnames") or _is_japanese(told):
        return value(match)
    if match["v"].isupper():
        both = told[0] in any_of("english_given", of=("given_en",)) and told[-1] in listed("family_en")
        return value(match) if both else None
    family = bool(set(told[-1].split("-")) & listed("family_en"))
    if not family:
        return None
    begins = (
        not match.string[: match.start("v")].rstrip(" \"'(") or match.string[match.start("v") - 2] in ".!?:\n"
    )
    return (match.end("v") - len(told[-1]), match.end("v")) if begins else value(match)


def _plain(word: str) -> str:
    """A word as the lists have it: without accents, with one capital."""
    bare = "".join(sign for sign in normalize("NFKD", word) if not combining(sign))
    return bare.capitalize() if bare.isupper() else bare


def _is_japanese(told: list[str]) -> bool:
    """Miyuki Tokita, Tokita Miyuki: a Japanese given name and surname in Latin letters."""
    first, last = latin_key(told[0]), latin_key(told[-1])
    family, given = in_latin("family_kana"), in_latin("given_kana")
    either = (first in given and last in family) or (first in family and last in given)
    return either and min(len(first), len(last)) > 2


def lower_pair(match: re.Match[str]) -> Span | None:
    """Ravi menon without capitals anywhere: a common given name and a name of the lists."""
    given, family = (word.capitalize() for word in match["v"].split())
    sure = any_of("english_given", without=("doubtful_given",))
    known = any_of("romaji_surnames", of=("family_en", "given_en"))
    japanese = max(map(len, (given, family))) > 5 and min(map(len, (given, family))) > 3
    if (
        japanese
        and not {given.lower(), family.lower()} & words("no_english")
        and _is_japanese([given, family])
    ):
        return value(match)
    return value(match) if given in sure and family in known else None


def lower_name(match: re.Match[str]) -> Span | None:
    """Its dave wilkins: a given name without its capital."""
    told = match["v"].split()
    return value(match) if told[0].capitalize() in any_of("english_given", of=("given_en",)) else None


def bare_given_name(match: re.Match[str]) -> Span | None:
    """A common given name alone; those that are places or things as well are not taken for one."""
    told = match["v"]
    doubtful = told in words("doubtful_given") or told.lower() in words("no_english")
    rare = len(told) > 3 and told in listed("given_en")
    return value(match) if (told in words("english_given") or rare) and not doubtful else None


CHECKS = {
    "english_name": english_name,
    "self_named": self_named,
    "known_given_name": known_given_name,
    "lower_name": lower_name,
    "listed_name": listed_name,
    "lower_pair": lower_pair,
    "bare_given_name": bare_given_name,
}
