"""Who is meant by name: surnames, given names, and what only looks like either."""

import re
from functools import cache
from pathlib import Path

from simulator.prompts import read_toml
from simulator.redaction.checks import Span, value
from simulator.redaction.lists import List, listed

_KANJI = "一-鿿㐀-䶿豈-﫿𠀀-𪛟々〆ヶ"
_KANA = "ァ-ヺーｦ-ﾟ"
_ORGANISATION = re.compile(
    r"(?:会社|商店|センター|サービス|サポート|窓口|ネット|保険|銀行|電力|病院|担当|係|課|部|店|社|会|局|制度|方式|機能|プラン|割|コース)$"
)
_LONGEST_GIVEN = 3


@cache
def words(key: str) -> frozenset[str]:
    """The words of one list of names.toml."""
    return frozenset(str(read_toml(Path(__file__).with_name("names.toml"))[key]).split())


@cache
def _any(*keys: str, of: tuple[List, ...] = (), without: tuple[str, ...] = ()) -> frozenset[str]:
    """The words of some lists of names.toml, and of the long lists, without those of others."""
    found = frozenset[str]().union(*map(words, keys), *map(listed, of))
    return found.difference(*map(words, without))


@cache
def _given_ends() -> frozenset[str]:
    return frozenset("".join(words("given_ends")))


@cache
def _katakana_surnames() -> frozenset[str]:
    return frozenset("".join(chr(ord(c) + 0x60) for c in name) for name in words("surnames_kana"))


@cache
def _kana_surnames() -> frozenset[str]:
    return words("surnames_kana") | _katakana_surnames()


@cache
def _surnames() -> frozenset[str]:
    return _any("surnames", of=("family_ja",)) | _kana_surnames()


def with_title(match: re.Match[str]) -> Span | None:
    """Somebody before 様 or さん: a surname within the word, or a word that names no role or relation."""
    start, end = value(match)
    told = match["v"]
    if re.match(r"[A-Za-z]", told):
        return english_name(match)
    if re.match(rf"[{_KANJI}]", told):
        return _kanji_person(told, start)
    if re.match(r"[ぁ-ん]", told):
        return _kana_person(told, start, end)
    known = any(told.endswith(word) for word in words("no_person_kana"))
    return None if known else (start, end)


def _kanji_person(told: str, start: int) -> Span | None:
    end = start + len(told)
    place = _surname_at(told)
    if place is not None:
        return start + place, end
    bare = told.replace(" ", "")
    is_role = bare in words("no_person") or any(bare.endswith(word) for word in words("no_person_ends"))
    return None if is_role or len(bare) == 1 or len(bare) > 5 else (start, end)


def _kana_person(told: str, start: int, end: int) -> Span | None:
    """Hiragana runs into the words before it: only from a known surname on."""
    for place in range(len(told)):
        rest = told[place:].replace(" ", "")
        if any(rest.startswith(name) and len(rest) <= len(name) + 4 for name in words("surnames_kana")):
            return start + place, end
    return None


def _surname_at(told: str) -> int | None:
    """Where in a run of kanji a surname begins that leaves at most three for the given name."""
    surnames = words("surnames")
    for place in range(len(told)):
        rest = told[place:]
        for length in (3, 2, 1):
            given = rest[length:].replace(" ", "")
            whole = length > 1 or place == 0
            if whole and rest[:length] in surnames and len(given) <= _LONGEST_GIVEN and _is_given(given):
                return place
    return 0 if _is_rare_surname(told) else None


def _is_rare_surname(told: str) -> bool:
    """Whether a word is a surname of the long list, alone or before a given name of the long list."""
    if told.replace(" ", "") in words("no_person"):
        return False
    family = _any(of=("family_ja", "family_ja_common"))
    given = _any(of=("given_ja", "given_ja_common"))
    return any(
        told[:length] in family and (not told[length:].strip() or told[length:].strip() in given)
        for length in (4, 3, 2)
    )


def _is_given(told: str) -> bool:
    """Whether what follows a surname can be a given name: nothing, or not a role such as 支店長."""
    return not told or (
        told not in words("no_given") and not any(map(told.endswith, words("no_person_ends")))
    )


def introduced(match: re.Match[str]) -> Span | None:
    """Somebody before と申します; before といいます, as things are called, only with a known surname."""
    start, end = value(match)
    told = match["v"]
    if _ORGANISATION.search(told) and _surname_at(told) is None:
        return None
    polite = match.string[match.end() :].startswith(("申し", "もうし"))
    return (start, end) if polite or _knows(told) else None


def _knows(told: str) -> bool:
    """Whether a word begins with a surname of the lists, in kanji or kana, or is two capitalised words."""
    if re.match(r"[A-Za-z]", told):
        return " " in told
    kana = _kana_surnames()
    foreign = "・" in told
    return foreign or _surname_at(told) == 0 or any(told.startswith(name) for name in kana)


def labelled_name(match: re.Match[str]) -> Span | None:
    """A name behind 氏名: or 名前は; words such as 必須 and 本人 are none."""
    told = match["v"]
    bare = re.sub(r"[ ・]", "", told)
    if bare in words("no_label_value") or (_ORGANISATION.search(bare) and not _knows(told)):
        return None
    if re.match(r"[A-Za-z]", told):
        return english_name(match)
    if match["told"] in {"の", "、"} or match[0].startswith("担当"):
        return value(match) if _knows(told) else None
    line = match.string[: match.start()].rstrip(" ・-*")
    if match["told"] == " " and line and not line.endswith("\n"):
        return value(match) if _knows(told) else None
    by_colon = match["told"] == " " or ":" in match["told"] or match["told"] in {"=", "\n"}
    said = match["after"].startswith(("です", "だ", "と", "さん", "様"))
    likely = by_colon or said
    return value(match) if _knows(told) or (likely and len(bare) > 1 and _is_given(bare)) else None


def full_name(match: re.Match[str]) -> Span | None:
    """A surname and perhaps a given name that stand on their own; a title such as 部長 is not masked."""
    told = _ROLE.sub("", match["v"])
    span = match.start("v"), match.start("v") + len(told)
    if re.match(rf"[{_KANA}]", told):
        surname, *rest = re.split("[ ・]", told)
        listed_both = surname in listed("family_kana") and bool(rest) and rest[0] in listed("given_kana")
        return span if surname in _katakana_surnames() or listed_both else None
    for length in (3, 2, 1):
        surname, given = told[:length], told[length:]
        spaced = given.startswith(" ")
        if surname in words("surnames") and (length > 1 or spaced) and _goes_with(surname, given.strip()):
            sure = surname not in words("doubtful") or spaced or given[-1:] in ("郎", "子", "美")
            if sure or (not given and _CALLED.match(match.string, span[1])):
                return span
    return span if _is_listed_pair(told) else None


def _is_listed_pair(told: str) -> bool:
    """橘 薫, 鬼頭龍之介: a surname and a given name that the long lists both have."""
    surname, space, given = told.partition(" ")
    family = listed("family_ja")
    if space:
        given_ja = _any(of=("given_ja", "given_ja_common"))
        families = _any("surnames", of=("family_ja", "family_ja_common"))
        known = surname in families and given not in words("no_given")
        return known and (given in given_ja or (len(given) > 1 and _is_given(given)))
    return any(
        told[:cut] in family and told[cut:] in listed("given_ja") for cut in (2, 3, 4) if told[cut + 1 :]
    )


def _goes_with(surname: str, given: str) -> bool:
    """Whether this can be a given name behind a surname, or is none."""
    if re.fullmatch(r"[ぁ-ん]{2,4}", given):
        return given[-1] in "こみえかなりきおや" and given not in _PARTICLES
    likely = given[-1:] in _given_ends() and len(given) <= _LONGEST_GIVEN
    return not given or (likely and _is_given(given) and surname + given not in words("no_given"))


_ROLE = re.compile(
    "(?:部長|課長|係長|店長|社長|所長|室長|主任|主査|先生|教授|専務|常務|取締役|夫妻|一家|家|宛)$"
)
_CALLED = re.compile("と(?:申|言|い[うい])|って(?:言|い)|です(?:が|けど|けれど|。|$)|の名(?:前|義)")
_PARTICLES = frozenset(
    ("から", "まで", "より", "など", "かな", "では", "にも", "とか", "ごろ", "へは", "しか", "たり")
)


def surname_alone(match: re.Match[str]) -> Span | None:
    """田中です: a surname that is no place and no common word."""
    told = match["v"]
    known = _surnames()
    return value(match) if told in known and told not in _any("doubtful", "no_person") else None


def with_surname(match: re.Match[str]) -> Span | None:
    """安西先生: somebody before a title that others bear without their name."""
    told = match["v"]
    return value(match) if told in _any("surnames", of=("family_ja",)) else None


def called(match: re.Match[str]) -> Span | None:
    """三枝子という名前で: a given name or surname before the word for name."""
    told = match["v"]
    lists = _any("surnames", of=("given_ja", "given_kana", "family_kana"))
    known = told in lists or _is_rare_surname(told)
    return value(match) if known else None


def surname_and_kana(match: re.Match[str]) -> Span | None:
    """馬場ウメ: a surname in kanji and a given name in katakana."""
    surname = re.split(rf"[{_KANA}]", match["v"])[0]
    return value(match) if surname in words("surnames") - words("doubtful") else None


def given_name(match: re.Match[str]) -> Span | None:
    """妻の花子: a given name behind a relation."""
    told = match["v"]
    if re.match(rf"[{_KANA}]", told):
        return None
    if _surname_at(told) == 0 or told.partition(" ")[2] in listed("given_ja"):
        return value(match)
    likely = len(told) <= _LONGEST_GIVEN and told[-1] in _given_ends() and told not in words("no_given")
    return value(match) if likely and not _ORGANISATION.search(told) else None


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
    known = told[0].capitalize() in _any("english_given", "romaji_surnames")
    calls = bool(re.match(r",? (?:calling|speaking|again|here|from)\b", match.string[match.end() :]))
    if known or (told[0][0].isupper() and (len(told) > 1 or calls) and not _DESCRIBES.search(told[0])):
        return english_name(match)
    return None


_DESCRIBES = re.compile(r"(?:ly|ed|ing|able|ful|ous|less|ive|'s)$")


def known_given_name(match: re.Match[str]) -> Span | None:
    """A common given name and a capitalised word behind it, or a Japanese surname and a word beside it."""
    told = [word.capitalize() if word.isupper() else word for word in match["v"].split()]
    if {told[0].lower(), told[-1].lower()} & words("no_english"):
        return None
    given = told[0] in _any("english_given", of=("given_en",)) and not match["v"].isupper()
    if given or {told[0], told[-1]} & words("romaji_surnames"):
        return value(match)
    family = told[-1] in listed("family_en") and not match["v"].isupper()
    if not family:
        return None
    begins = (
        not match.string[: match.start("v")].rstrip(" \"'(") or match.string[match.start("v") - 2] in ".!?:\n"
    )
    return (match.end("v") - len(told[-1]), match.end("v")) if begins else value(match)


def lower_pair(match: re.Match[str]) -> Span | None:
    """Ravi menon without capitals anywhere: a common given name and a name of the lists."""
    given, family = (word.capitalize() for word in match["v"].split())
    sure = _any("english_given", without=("doubtful_given",))
    known = _any("romaji_surnames", of=("family_en", "given_en"))
    return value(match) if given in sure and family in known else None


def kana_pair(match: re.Match[str]) -> Span | None:
    """こばやし みお: a surname and a given name in hiragana."""
    surname, given = ("".join(chr(ord(c) + 0x60) for c in part) for part in match["v"].split())
    known = (surname in listed("family_kana") or surname in _katakana_surnames()) and given in listed(
        "given_kana"
    )
    return value(match) if known else None


def lower_name(match: re.Match[str]) -> Span | None:
    """Its dave wilkins: a given name without its capital."""
    told = match["v"].split()
    return value(match) if told[0].capitalize() in _any("english_given", of=("given_en",)) else None


def bare_given_name(match: re.Match[str]) -> Span | None:
    """A common given name alone; those that are places or things as well are not taken for one."""
    told = match["v"]
    doubtful = told in words("doubtful_given") or told.lower() in words("no_english")
    rare = len(told) > 3 and told in listed("given_en")
    return value(match) if (told in words("english_given") or rare) and not doubtful else None


CHECKS = {
    "bare_given_name": bare_given_name,
    "with_title": with_title,
    "introduced": introduced,
    "labelled_name": labelled_name,
    "full_name": full_name,
    "surname_alone": surname_alone,
    "surname_and_kana": surname_and_kana,
    "given_name": given_name,
    "english_name": english_name,
    "self_named": self_named,
    "known_given_name": known_given_name,
    "lower_name": lower_name,
    "lower_pair": lower_pair,
    "kana_pair": kana_pair,
    "with_surname": with_surname,
    "called": called,
}
