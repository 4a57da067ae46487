"""Which words are Japanese surnames and given names: lists, old forms of kanji, and lookalikes."""

import re
from functools import cache

from simulator.redaction.lists import any_of, is_rare, katakana, listed, usual, words

KANJI = "一-鿿㐀-䶿豈-﫿𠀀-𪛟々〆ヶ"
KANA = "ァ-ヺーｦ-ﾟ"
LONGEST_GIVEN = 3
# 今日の午後岩瀬が, 私野島が: what runs into the surname behind it.
WHEN = re.compile(
    "(?:今日|昨日|明日|一昨日|明後日|先週|来週|今週|先月|来月|今月|昨年|去年|今年|午前|午後|今朝|昨夜|昨晩|今夜|夕方|先日|本日|当日|翌日"
    "|前回|今回|次回|先程|先刻|現在|私|僕|俺|弊社|当社|当店)(?=.)"
)
# 三月, 二丁目: days and counts that some are called by.
COUNT = re.compile("[〇一二三四五六七八九十百千万]+(?:丁目|番地|[月日年時分円個人名回度台本枚つ番号階])")


@cache
def given_ends() -> frozenset[str]:
    """Kanji that given names end with."""
    return frozenset("".join(words("given_ends")))


@cache
def katakana_surnames() -> frozenset[str]:
    """The common surnames in katakana."""
    return frozenset("".join(chr(ord(c) + 0x60) for c in name) for name in words("surnames_kana"))


@cache
def kana_surnames() -> frozenset[str]:
    """The common surnames in hiragana and katakana."""
    return words("surnames_kana") | katakana_surnames()


@cache
def _surnames() -> frozenset[str]:
    return any_of("surnames", of=("family_ja",)) | kana_surnames()


def is_surname(told: str) -> bool:
    """Whether a word is a surname and no common word: 生田目, 髙﨑, サトウ."""
    plain = usual(told)
    return plain in _surnames() or is_rare(told, "rare_family_ja") or is_rare(plain, "rare_family_ja")


def is_family(told: str) -> bool:
    """As `is_surname`; those that are common words or places as well are surnames, too."""
    plain = usual(told)
    return (
        is_surname(told)
        or plain in listed("family_ja_common")
        or is_rare(told, "rare_family_ja_common")
        or is_rare(plain, "rare_family_ja_common")
    )


def is_person(told: str) -> bool:
    """Whether a surname is no city, station, company or common word: a person wherever it stands."""
    if told in any_of("doubtful", "no_person", "brands") or is_rare(told, "places_ja"):
        return False
    return len(told) > 1 and is_surname(told) and not COUNT.fullmatch(told)


def is_given(told: str) -> bool:
    """Whether a word in kanji is a given name and no common word."""
    plain = usual(told)
    return plain in listed("given_ja") or is_rare(told, "rare_given_ja") or is_rare(plain, "rare_given_ja")


def is_any_given(told: str) -> bool:
    """As `is_given`; those that are common words as well are given names, too: 紬, 一歩."""
    return is_given(told) or usual(told) in listed("given_ja_common")


def is_kana_family(told: str) -> bool:
    """Whether katakana is how a surname is read: サトウ, タカナシ."""
    return told in listed("family_kana") or told in katakana_surnames() or is_rare(told, "rare_family_kana")


def is_kana_name(told: str) -> bool:
    """Whether kana is how a surname or a given name is read."""
    plain = katakana(told)
    return is_kana_family(plain) or plain in listed("given_kana")


def is_foreign_kana(told: str) -> bool:
    """Whether katakana is a name of another language: ロッシ, グエン."""
    return told in words("foreign_kana") or is_rare(told, "rare_foreign_kana")


def is_role(told: str) -> bool:
    """Whether a word tells what somebody is, not who: 担当者, 奥."""
    return told in words("no_person") or any(told.endswith(word) for word in words("no_person_ends"))


def can_be_given(told: str) -> bool:
    """Whether what follows a surname can be a given name: nothing, or not a role such as 支店長."""
    return not told or (
        told not in words("no_given") and not any(map(told.endswith, words("no_person_ends")))
    )


def surname_at(told: str) -> int | None:
    """Where in a run of kanji a surname begins that leaves at most three for the given name."""
    surnames = words("surnames")
    plain = usual(told)
    for place in range(len(told)):
        rest = plain[place:]
        for length in (3, 2, 1):
            given = rest[length:].replace(" ", "")
            whole = length > 1 or place == 0
            if whole and rest[:length] in surnames and len(given) <= LONGEST_GIVEN and can_be_given(given):
                return place
    return 0 if _is_rare_name(told) else None


def _is_rare_name(told: str) -> bool:
    """Whether a word is a surname of the long lists, alone or before a given name of theirs."""
    if told.replace(" ", "") in words("no_person"):
        return False
    return any(
        is_family(told[:length])
        and (not (rest := told[length:].strip()) or is_any_given(rest) or re.fullmatch(r"[ぁ-ん]{2,4}", rest))
        for length in (4, 3, 2)
        if len(told) >= length
    )


def is_listed_pair(told: str) -> bool:
    """橘 薫, 鬼頭龍之介: a surname and a given name that the long lists both have."""
    surname, space, given = told.partition(" ")
    if not space:
        return any(is_surname(told[:cut]) and is_given(told[cut:]) for cut in (2, 3, 4) if told[cut + 1 :])
    if re.match("[ぁ-ん]", given):
        known = katakana(given) in listed("given_kana")
        return known and surname not in words("doubtful") and not is_role(surname)
    if is_surname(surname) and len(given) == 1 and surname not in words("no_person"):
        return given not in _NO_ONE
    if not is_family(surname):
        return len(given) > 1 and is_given(given) and not is_role(surname)
    return given not in words("no_given") and is_any_given(given)


def goes_with(surname: str, given: str) -> bool:
    """Whether this can be a given name behind a surname, or is none."""
    if re.fullmatch(r"[ぁ-ん]{2,4}", given):
        return given[-1] in "こみえかなりきおや" and given not in _PARTICLES
    likely = given[-1:] in given_ends() and len(given) <= LONGEST_GIVEN
    return not given or (likely and can_be_given(given) and surname + given not in words("no_given"))


# Single kanji behind a surname that are no given name.
_NO_ONE = frozenset(
    "様氏君殿宛課部係店駅市県区町村行発着円月日年時分名人家方側的前後上下中内外間通号番点件本"
)
_PARTICLES = frozenset(
    ("から", "まで", "より", "など", "かな", "では", "にも", "とか", "ごろ", "へは", "しか", "たり")
)
