"""Who is meant by name in Japanese: surnames, given names, and what only looks like either."""

import re
from functools import cache

from simulator.redaction.checks import Span, value
from simulator.redaction.lists import any_of, katakana, listed, words
from simulator.redaction.names_en import CHECKS as ENGLISH
from simulator.redaction.names_en import english_name

_KANJI = "一-鿿㐀-䶿豈-﫿𠀀-𪛟々〆ヶ"
_KANA = "ァ-ヺーｦ-ﾟ"
_ORGANISATION = re.compile(
    r"(?:会社|商店|センター|サービス|サポート|窓口|ネット|保険|銀行|電力|病院|担当|係|課|部|店|社|会|局|制度|方式|機能|プラン|割|コース)$"
)
_LONGEST_GIVEN = 3


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
    return any_of("surnames", of=("family_ja",)) | _kana_surnames()


def with_title(match: re.Match[str]) -> Span | None:
    """Somebody before 様 or さん: a surname within the word, or a word that names no role or relation."""
    start, end = value(match)
    told = match["v"]
    if re.match(r"[A-Za-z]", told):
        return english_name(match)
    if re.match(rf"[{_KANJI}]", told):
        return _kanji_person(told, start)
    if re.match(r"[ぁ-ん]", told):
        return _kana_person(match)
    known = any(told.endswith(word) for word in words("no_person_kana"))
    return None if known else (start, end)


def _kanji_person(told: str, start: int) -> Span | None:
    end = start + len(told)
    place = _surname_at(told)
    if place is not None:
        return start + place, end
    bare = told.replace(" ", "")
    return None if _is_role(bare) or len(bare) == 1 or len(bare) > 5 else (start, end)


def _is_role(told: str) -> bool:
    """Whether a word tells what somebody is, not who: 担当者, 奥."""
    return told in words("no_person") or any(told.endswith(word) for word in words("no_person_ends"))


def _kana_person(match: re.Match[str]) -> Span | None:
    """Hiragana runs into the words before it: only from a known name on."""
    told, (start, end) = match["v"], value(match)
    for place in range(len(told)):
        rest = told[place:].replace(" ", "")
        if any(rest.startswith(name) and len(rest) <= len(name) + 4 for name in words("surnames_kana")):
            return start + place, end
        begins = place == 0 or told[place - 1] in "のとはがも"
        if begins and len(rest) > 1 and _is_called_so(rest, match):
            return start + place, end
    return None


def _is_called_so(told: str, match: re.Match[str]) -> bool:
    """れんくん: a given name in hiragana; before さん, which follows much else, of three signs at least."""
    friendly = match[0].endswith(("くん", "ちゃん"))
    known = katakana(told) in listed("given_kana") and told not in any_of("no_person", "no_kana_name")
    return known and (friendly or len(told) > 2)


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
    family = any_of(of=("family_ja", "family_ja_common"))
    given = any_of(of=("given_ja", "given_ja_common"))
    return any(
        told[:length] in family
        and (not (rest := told[length:].strip()) or rest in given or re.fullmatch(r"[ぁ-ん]{2,4}", rest))
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
        surname, *rest = re.split("[ ・]", katakana(told))
        listed_both = surname in listed("family_kana") and bool(rest) and rest[0] in listed("given_kana")
        return span if surname in _katakana_surnames() or listed_both or _is_foreign(told) else None
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
        given_ja = any_of(of=("given_ja", "given_ja_common"))
        families = any_of("surnames", of=("family_ja", "family_ja_common"))
        if re.match("[ぁ-ん]", given):
            return surname not in words("doubtful") and katakana(given) in listed("given_kana")
        if surname not in families:
            return len(given) > 1 and given in listed("given_ja") and not _is_role(surname)
        return given not in words("no_given") and (given in given_ja or (len(given) > 1 and _is_given(given)))
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
    """田中です: a surname that is no place and no common word, unless the words before tell a person."""
    told = match["v"]
    if match["sure"]:
        return value(match) if _can_be_called(told) else None
    if told in words("doubtful") - words("prefectures"):
        return value(match) if not match.string[: match.start("v")].strip() else None
    known = told in _surnames() and told not in any_of("doubtful", "no_person")
    return value(match) if known and (len(told) > 1 or told in words("surnames")) else None


def _can_be_called(told: str) -> bool:
    """Whether a word is a surname or given name of any list, where the words around it ask for one."""
    if told in any_of("no_person", "no_kana_name", "no_label_value"):
        return False
    if re.match("[ぁ-ん]", told):
        return len(told) > 2 and katakana(told) in any_of(of=("family_kana", "given_kana"))
    if re.match(rf"[{_KANA}]", told):
        return katakana(told) in any_of("foreign_kana", of=("family_kana", "given_kana")) or _is_foreign(told)
    surname, space, given = told.partition(" ")
    if space and re.fullmatch(rf"[ぁ-ん{_KANA}]+", given):
        return not _is_role(surname)
    return told in any_of("surnames", of=("family_ja", "family_ja_common")) or _is_listed_pair(told)


def _is_foreign(told: str) -> bool:
    """ドゥオン・ティ・ラン: katakana of several parts, one of them a name of another language."""
    parts = re.split("[ ・=]", katakana(told))
    return len(parts) > 1 and bool(set(parts) & words("foreign_kana"))


def person_beside(match: re.Match[str]) -> Span | None:
    """鬼頭宛, 契約者ドゥオン・ティ・ラン, 「カワチ」でなく: a name where the words beside it ask for one."""
    return value(match) if _can_be_called(match["v"]) else None


def reading(match: re.Match[str]) -> Span | None:
    """（こうち しんや）: how a name is read, behind the name."""
    parts = katakana(match["v"]).split()
    known = any_of("foreign_kana", of=("family_kana", "given_kana"))
    return value(match) if all(part in known for part in parts) else None


def surname_listed(match: re.Match[str]) -> Span | None:
    """野々村が待って: a surname that does what people do."""
    return value(match) if match["v"] in _surnames() - any_of("doubtful", "no_person") else None


def with_surname(match: re.Match[str]) -> Span | None:
    """安西先生: somebody before a title that others bear without their name."""
    told = match["v"]
    return value(match) if katakana(told) in _surnames() and told not in words("no_person") else None


def called(match: re.Match[str]) -> Span | None:
    """三枝子という名前で: a given name or surname before the word for name."""
    told = match["v"]
    lists = any_of("surnames", of=("given_ja", "given_kana", "family_kana"))
    known = told in lists or _is_rare_surname(told)
    return value(match) if known else None


def surname_and_kana(match: re.Match[str]) -> Span | None:
    """馬場ウメ: a surname in kanji and a given name in katakana."""
    surname, space, given = re.split(rf"( ?)(?=[{_KANA}])", match["v"], maxsplit=1)
    known = surname in any_of("surnames", of=("family_ja",), without=() if space else ("doubtful",))
    listed_given = katakana(given) in listed("given_kana") or given[-1] in "子代江美枝"
    sure = surname in words("surnames") or listed_given or (space and len(given) < _LONGEST_GIVEN + 1)
    return value(match) if known and sure else None


def changed_name(match: re.Match[str]) -> Span | None:
    """姓が石動から勅使河原に: any word behind "surname" that is no word for a person or a form."""
    told = match["v"]
    return (
        None if told in any_of("no_label_value", "no_person") or _ORGANISATION.search(told) else value(match)
    )


def given_name(match: re.Match[str]) -> Span | None:
    """妻の花子: a given name behind a relation."""
    told = match["v"]
    if re.match(rf"[{_KANA}]", told):
        return None
    if _surname_at(told) == 0 or told.partition(" ")[2] in listed("given_ja"):
        return value(match)
    likely = len(told) <= _LONGEST_GIVEN and told[-1] in _given_ends() and told not in words("no_given")
    return value(match) if likely and not _ORGANISATION.search(told) else None


def kana_pair(match: re.Match[str]) -> Span | None:
    """こばやし みお: a surname and a given name in hiragana."""
    surname, given = ("".join(chr(ord(c) + 0x60) for c in part) for part in match["v"].split())
    known = (surname in listed("family_kana") or surname in _katakana_surnames()) and given in listed(
        "given_kana"
    )
    return value(match) if known else None


CHECKS = ENGLISH | {
    "with_title": with_title,
    "introduced": introduced,
    "labelled_name": labelled_name,
    "full_name": full_name,
    "surname_alone": surname_alone,
    "surname_and_kana": surname_and_kana,
    "given_name": given_name,
    "kana_pair": kana_pair,
    "with_surname": with_surname,
    "called": called,
    "surname_listed": surname_listed,
    "changed_name": changed_name,
    "person_beside": person_beside,
    "reading": reading,
}
