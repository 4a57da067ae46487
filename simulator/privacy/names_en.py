"""Who is meant by name in Latin letters: given names, surnames, and words that are neither."""

import re
from unicodedata import combining, normalize

from simulator.privacy.lists import (
    Span,
    any_of,
    is_rare,
    latin_forms,
    latin_key,
    masked_part,
    name_list,
    word_list,
)


def english_name(match: re.Match[str]) -> Span | None:
    """A name of one to three words; it ends before a word that belongs to none."""
    start, end = masked_part(match)
    kept = 0
    if _COMPANY.search(match["v"]) or _COMPANY.match(match.string[end : end + 14]):
        return None
    if title := _TITLE.match(match["v"]):
        start += title.end()
    for word in re.finditer(r"[^ ]+ ?", match["v"][title.end() if title else 0 :]):
        name = word[0].strip(" .,")
        if name.lower() in word_list("no_english") and not (kept and name in word_list("family_and_word")):
            break
        kept = word.start() + len(word[0].rstrip())
    return (start, start + kept) if kept else None


_TITLE = re.compile(
    r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Sister|Brother|Father|Mother|Pastor|Reverend|Nurse|Officer|Captain|Colonel"
    r"|Sergeant|Judge|Sir|Lady|Lord|Aunt|Uncle|Coach|Chef|Agent)\.? (?=[A-Z])"
)


_COMPANY = re.compile(r",? ?\b(?:Corp|Inc|LLC|Ltd|PLC|GmbH|Company|Holdings|Group|Properties|Industries)\b")


def lower_surname(match: re.Match[str]) -> Span | None:
    """Book with dr fernandes: a name of any list without its capital, behind a title."""
    return masked_part(match) if _is_named(match["v"].capitalize()) else None


def greeted(match: re.Match[str]) -> Span | None:
    """Hi Aditi!: who is greeted; "Hi Mizunara Support" is no person."""
    behind = re.match(
        r" (?i:team|support|customer|service|help|care|bank|desk|everyone)\b",
        match.string[match.end("v") : match.end("v") + 14],
    )
    return None if behind else english_name(match)


def self_named(match: re.Match[str]) -> Span | None:
    """Somebody who says "I'm ...": a common given name, or two capitalised words that describe nothing."""
    words = match["v"].split()
    if words[0].lower() in word_list("describes") and len(words) == 1:
        return None
    known = words[0].capitalize() in any_of("english_given", "romaji_surnames") or _is_listed(words[0])
    calls = bool(
        re.match(
            r",? (?:calling|speaking|again|here|from|I|my)\b", match.string[match.end() : match.end() + 14]
        )
    )
    known = known or (calls and words[0].capitalize() in name_list("given_en"))
    known = known or is_rare(words[0], "rare_given_en", "rare_given_en_common")
    if known or (words[0][0].isupper() and (len(words) > 1 or calls) and not _DESCRIBES.search(words[0])):
        return english_name(match)
    return None


def _is_listed(word: str) -> bool:
    """Whether a capitalised word is a name of any list, Japanese ones included."""
    if not word[0].isupper() or len(word) < _FEWEST or word.lower() in word_list("no_english"):
        return False
    key = latin_key(word)
    japanese = key in latin_forms("family_kana") or key in latin_forms("given_kana")
    return japanese or _plain(word) in any_of(of=("given_en", "family_en"))


def listed_name(match: re.Match[str]) -> Span | None:
    """Booked under Fitzgerald: a name of any list."""
    return masked_part(match) if _is_listed(match["v"]) else None


_FEWEST = 4
_DESCRIBES = re.compile(r"(?:ly|ed|ing|able|ful|ous|less|ive|ish|ese|[aei]an|ch|'s)$")


def known_given_name(match: re.Match[str]) -> Span | None:
    """A common given name and a capitalised word behind it, or a Japanese surname and a word beside it."""
    words = [_plain(word) for word in match["v"].split()]
    also_word = words[-1] in word_list("family_and_word") and _is_sure_given(words[0])
    also_word = also_word and not _PLACE_BEHIND.match(match.string, match.end("v"))
    if words[0].lower() in word_list("no_english") or (
        words[-1].lower() in word_list("no_english") and not also_word
    ):
        return None
    if is_rare(words[0], "rare_given_en", "rare_given_en_common") and _is_named(words[-1]):
        return masked_part(match)
    given = words[0] in any_of("english_given", "more_given", of=("given_en",)) and not match["v"].isupper()
    if given or {words[0], words[-1]} & word_list("romaji_surnames") or _is_japanese(words):
        return masked_part(match)
    if match["v"].isupper():
        both = words[0] in any_of("english_given", of=("given_en",)) and words[-1] in name_list("family_en")
        return masked_part(match) if both else None
    family = bool(set(words[-1].split("-")) & any_of("more_family", of=("family_en",)))
    if not family:
        return None
    begins = (
        not match.string[: match.start("v")].rstrip(" \"'(") or match.string[match.start("v") - 2] in ".!?:\n"
    )
    return (match.end("v") - len(words[-1]), match.end("v")) if begins else masked_part(match)


# Lincoln Park store
_PLACE_BEHIND = re.compile(
    r" (?:store|station|location|branch|mall|area|zoo|hotel|office|campus|school|shop)\b"
)


def _plain(word: str) -> str:
    """A word as the lists have it: without accents, with one capital."""
    bare = "".join(sign for sign in normalize("NFKD", word) if not combining(sign))
    return bare.capitalize() if bare.isupper() else bare


def _is_japanese(words: list[str]) -> bool:
    """Miyuki Tokita, Tokita Miyuki: a Japanese given name and surname in Latin letters."""
    first, last = latin_key(words[0]), latin_key(words[-1])
    family, given = latin_forms("family_kana"), latin_forms("given_kana")
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
        and not {given.lower(), family.lower()} & word_list("no_english")
        and _is_japanese([given, family])
    ):
        return masked_part(match)
    return masked_part(match) if given in sure and family in known else None


def lower_name(match: re.Match[str]) -> Span | None:
    """Its dave wilkins: a given name without its capital."""
    words = match["v"].split()
    return masked_part(match) if words[0].capitalize() in any_of("english_given", of=("given_en",)) else None


def lower_given(match: re.Match[str]) -> Span | None:
    """Hey its dwayne, this is bhavesh patel: a given name without its capital, and a surname behind it."""
    start, _ = masked_part(match)
    first, _, last = match["v"].partition(" ")
    surname = last.capitalize()
    sure = not match[0].lower().startswith(("it", "here", "name is"))
    with_surname = sure and len(first) > _FEWEST and surname in any_of("more_family", of=("family_en",))
    if first in word_list("no_english") or not (_is_sure_given(first.capitalize()) or with_surname):
        return None
    both = _is_named(last.capitalize()) or "'" in last
    return start, start + len(match["v"] if both else first)


def _is_sure_given(word: str) -> bool:
    """Whether a word is a given name and neither a place nor a thing as well."""
    known = word in any_of("english_given", "more_given", of=("given_en",)) or is_rare(word, "rare_given_en")
    return known and len(word) > 2 and word not in word_list("doubtful_given")


def _is_named(word: str) -> bool:
    """Whether a capitalised word is a name of any list, the rare ones included."""
    plain = _plain(word)
    if len(word) < _FEWEST - 1 or plain.lower() in word_list("no_english"):
        return plain in word_list("family_and_word")
    rare = is_rare(plain, "rare_given_en", "rare_family_en")
    more = any_of("english_given", "romaji_surnames", "more_given", "more_family")
    return rare or _is_listed(word) or plain in more


def known_pair(match: re.Match[str]) -> Span | None:
    """It's under Mercy Fletcher: two words, the second a surname and the first a given name."""
    first, last = match["v"].split(" ", 1)
    if first.lower() in word_list("no_english") or last.lower() in word_list("no_english"):
        return None
    surname = is_rare(_plain(last), "rare_family_en") or _plain(last) in any_of(
        "more_family", of=("family_en",)
    )
    given = _is_named(first) or is_rare(first, "rare_given_en_common")
    return masked_part(match) if surname and given else None


def last_line(match: re.Match[str]) -> Span | None:
    """Thanks so much!, and "Josh" on a line of its own: a name of the lists."""
    first = match["v"].split()[0]
    known = _is_sure_given(_plain(first)) or is_rare(first, "rare_given_en_common") or _is_named(first)
    return english_name(match) if known else None


def with_initial(match: re.Match[str]) -> Span | None:
    """T. Achebe: a surname of the lists behind initials."""
    last = re.split(r"[. ]+", match["v"])[-1].capitalize()
    if last.lower() in word_list("no_english") and last not in word_list("family_and_word"):
        return None
    before = match.string[max(0, match.start("v") - 3) : match.start("v")].rstrip(" ")
    begins = not before or before[-1] in ",:;(\n\ue000"
    return masked_part(match) if begins or any(map(_is_named, last.split("-"))) else None


def listed_person(match: re.Match[str]) -> Span | None:
    """Tell Jürgen, Denise in billing: one name is listed, and the words beside it ask for one."""
    words = match["v"].split()
    named = any(_is_named(part) for word in words for part in word.split("-"))
    return english_name(match) if named else None


def latin_beside(match: re.Match[str]) -> Span | None:
    """Nguyen Van Minhです, Emmaです: a name in Latin letters in a Japanese sentence, one of it listed."""
    words = [_plain(word) for word in re.split("[ -]", match["v"])]
    if any(word.lower() in word_list("no_english") for word in words):
        return None
    alone = len(words) == 1
    known = [_is_sure_given(word) if alone else _is_named(word) for word in words]
    return masked_part(match) if any(known) else None


def beside_name(match: re.Match[str]) -> Span | None:
    """Nguyen Thi Hoa, where only "Thi Hoa" is masked yet: a name of the lists beside a mask."""
    group = "v" if match["v"] else "w"
    name = match[group].strip()
    known = len(name) >= _FEWEST and _is_named(name) and name not in word_list("doubtful_given")
    return match.span(group) if known else None


def ticket_name(match: re.Match[str]) -> Span | None:
    """SATO/KENICHI MR: as airlines write a name."""
    words = [_plain(word) for word in re.split("[/ ]", match["v"])]
    titled = words[-1] in {"Mr", "Mrs", "Ms", "Miss", "Mstr"}
    return masked_part(match) if titled or (_is_named(words[0]) and _is_named(words[1])) else None


def bare_given_name(match: re.Match[str]) -> Span | None:
    """A common given name alone; those that are places or things as well are not taken for one."""
    name = match["v"]
    doubtful = name in word_list("doubtful_given") or name.lower() in word_list("no_english")
    plain = _plain(name)
    rare = len(name) > 3 and (plain in name_list("given_en") or name in name_list("given_en"))
    if doubtful or not (plain in word_list("english_given") or rare):
        return None
    before = match.string[max(0, match.start() - 5) : match.start()]
    is_thing = _THING_BEFORE.search(before) or _THING_BEHIND.match(match.string, match.end())
    return None if is_thing else masked_part(match)


# The Taylor guitar, Johnson & Johnson, Madison Square
_THING_BEFORE = re.compile(r"(?:\b(?:the|an?|The|An?)|&) $")
_THING_BEHIND = re.compile(
    r" (?:& [A-Z]|(?:Square|Gardens?|Street|Avenue|Park|Stadium|University|College|Hospital|Hotel|Airport"
    r"|Station|Center|Centre|Museum|Theat(?:re|er)|Bridge|County|Island|Lake|River|Beach|Mall|Cowboys|guitar|phone|tv)\b)"
)


ENGLISH_NAME_CHECKS = {
    "english_name": english_name,
    "self_named": self_named,
    "known_given_name": known_given_name,
    "lower_name": lower_name,
    "listed_name": listed_name,
    "lower_pair": lower_pair,
    "bare_given_name": bare_given_name,
    "lower_given": lower_given,
    "with_initial": with_initial,
    "listed_person": listed_person,
    "latin_beside": latin_beside,
    "ticket_name": ticket_name,
    "beside_name": beside_name,
    "greeted": greeted,
    "lower_surname": lower_surname,
    "known_pair": known_pair,
    "last_line": last_line,
}
