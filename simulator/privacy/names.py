"""Who is meant by name in Japanese: surnames, given names, and what only looks like either."""

import re
from functools import cache

from simulator.privacy.lists import (
    Span,
    any_of,
    is_rare,
    katakana,
    masked_part,
    name_list,
    usual_kanji,
    word_list,
)
from simulator.privacy.names_en import ENGLISH_NAME_CHECKS, english_name

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
    return frozenset("".join(word_list("given_ends")))


@cache
def katakana_surnames() -> frozenset[str]:
    """The common surnames in katakana."""
    return frozenset("".join(chr(ord(c) + 0x60) for c in surname) for surname in word_list("surnames_kana"))


@cache
def kana_surnames() -> frozenset[str]:
    """The common surnames in hiragana and katakana."""
    return word_list("surnames_kana") | katakana_surnames()


@cache
def _surnames() -> frozenset[str]:
    return any_of("surnames", of=("family_ja",)) | kana_surnames()


def is_surname(name: str) -> bool:
    """Whether a word is a surname and no common word: 生田目, 髙﨑, サトウ."""
    plain = usual_kanji(name)
    return plain in _surnames() or is_rare(name, "rare_family_ja") or is_rare(plain, "rare_family_ja")


def is_family(name: str) -> bool:
    """As `is_surname`; those that are common words or places as well are surnames, too."""
    plain = usual_kanji(name)
    return (
        is_surname(name)
        or plain in name_list("family_ja_common")
        or is_rare(name, "rare_family_ja_common")
        or is_rare(plain, "rare_family_ja_common")
    )


def is_person(name: str) -> bool:
    """Whether a surname is no city, station, company or common word: a person wherever it stands."""
    if name in any_of("doubtful", "no_person", "brands") or is_rare(name, "places_ja"):
        return False
    return len(name) > 1 and is_surname(name) and not COUNT.fullmatch(name)


def is_given(name: str) -> bool:
    """Whether a word in kanji is a given name and no common word."""
    plain = usual_kanji(name)
    return plain in name_list("given_ja") or is_rare(name, "rare_given_ja") or is_rare(plain, "rare_given_ja")


def is_any_given(name: str) -> bool:
    """As `is_given`; those that are common words as well are given names, too: 紬, 一歩."""
    return is_given(name) or usual_kanji(name) in name_list("given_ja_common")


def is_kana_family(name: str) -> bool:
    """Whether katakana is how a surname is read: サトウ, タカナシ."""
    return (
        name in name_list("family_kana") or name in katakana_surnames() or is_rare(name, "rare_family_kana")
    )


def is_kana_name(name: str) -> bool:
    """Whether kana is how a surname or a given name is read."""
    plain = katakana(name)
    return is_kana_family(plain) or plain in name_list("given_kana")


def is_foreign_kana(name: str) -> bool:
    """Whether katakana is a name of another language: ロッシ, グエン."""
    return name in word_list("foreign_kana") or is_rare(name, "rare_foreign_kana")


def is_role(name: str) -> bool:
    """Whether a word tells what somebody is, not who: 担当者, 奥."""
    return name in word_list("no_person") or any(name.endswith(word) for word in word_list("no_person_ends"))


def can_be_given(name: str) -> bool:
    """Whether what follows a surname can be a given name: nothing, or not a role such as 支店長."""
    return not name or (
        name not in word_list("no_given") and not any(map(name.endswith, word_list("no_person_ends")))
    )


def surname_at(name: str) -> int | None:
    """Where in a run of kanji a surname begins that leaves at most three for the given name."""
    surnames = word_list("surnames")
    plain = usual_kanji(name)
    for place in range(len(name)):
        rest = plain[place:]
        for length in (3, 2, 1):
            given = rest[length:].replace(" ", "")
            whole = length > 1 or place == 0
            if whole and rest[:length] in surnames and len(given) <= LONGEST_GIVEN and can_be_given(given):
                return place
    return 0 if _is_rare_name(name) else None


def _is_rare_name(name: str) -> bool:
    """Whether a word is a surname of the long lists, alone or before a given name of theirs."""
    if name.replace(" ", "") in word_list("no_person"):
        return False
    return any(
        is_family(name[:length])
        and (not (rest := name[length:].strip()) or is_any_given(rest) or re.fullmatch(r"[ぁ-ん]{2,4}", rest))
        for length in (4, 3, 2)
        if len(name) >= length
    )


def is_listed_pair(name: str) -> bool:
    """橘 薫, 鬼頭龍之介: a surname and a given name that the long lists both have."""
    surname, space, given = name.partition(" ")
    if not space:
        return any(is_surname(name[:cut]) and is_given(name[cut:]) for cut in (2, 3, 4) if name[cut + 1 :])
    if re.match("[ぁ-ん]", given):
        known = katakana(given) in name_list("given_kana")
        return known and surname not in word_list("doubtful") and not is_role(surname)
    if is_surname(surname) and len(given) == 1 and surname not in word_list("no_person"):
        return given not in _NO_ONE
    if not is_family(surname):
        return len(given) > 1 and is_given(given) and not is_role(surname)
    return given not in word_list("no_given") and is_any_given(given)


def goes_with(surname: str, given: str) -> bool:
    """Whether this can be a given name behind a surname, or is none."""
    if re.fullmatch(r"[ぁ-ん]{2,4}", given):
        return given[-1] in "こみえかなりきおや" and given not in _PARTICLES
    likely = given[-1:] in given_ends() and len(given) <= LONGEST_GIVEN
    return not given or (likely and can_be_given(given) and surname + given not in word_list("no_given"))


# Single kanji behind a surname that are no given name.
_NO_ONE = frozenset(
    "様氏君殿宛課部係店駅市県区町村行発着円月日年時分名人家方側的前後上下中内外間通号番点件本"
)
_PARTICLES = frozenset(
    ("から", "まで", "より", "など", "かな", "では", "にも", "とか", "ごろ", "へは", "しか", "たり")
)


_ORGANISATION = re.compile(
    r"(?:会社|商店|センター|サービス|サポート|窓口|ネット|保険|銀行|電力|病院|担当|係|課|部|店|社|会|局|制度|方式|機能|プラン|割|コース)$"
)


def with_title(match: re.Match[str]) -> Span | None:
    """Somebody before 様 or さん: a surname within the word, or a word that names no role or relation."""
    start, end = masked_part(match)
    name = match["v"]
    if re.match(r"[A-Za-z]", name):
        return english_name(match)
    if re.match(rf"[{KANJI}]", name):
        return _kanji_person(name, start)
    if re.match(r"[ぁ-ん]", name):
        return _kana_person(match)
    known = any(name.endswith(word) for word in word_list("no_person_kana"))
    return None if known else (start, end)


def _kanji_person(name: str, start: int) -> Span | None:
    end = start + len(name)
    place = surname_at(name)
    when = WHEN.match(name)
    if when and is_family(name[when.end() :]):
        return start + when.end(), end
    if place is not None:
        return start + place, end
    bare = name.replace(" ", "")
    return None if is_role(bare) or len(bare) == 1 or len(bare) > 5 else (start, end)


def _kana_person(match: re.Match[str]) -> Span | None:
    """Hiragana runs into the words before it: only from a known name on."""
    name, (start, end) = match["v"], masked_part(match)
    for place in range(len(name)):
        rest = name[place:].replace(" ", "")
        if any(
            rest.startswith(surname) and len(rest) <= len(surname) + 4
            for surname in word_list("surnames_kana")
        ):
            return start + place, end
        begins = place == 0 or name[place - 1] in "のとはがも"
        if begins and len(rest) > 1 and _is_called_so(rest, match):
            return start + place, end
    return None


def _is_called_so(name: str, match: re.Match[str]) -> bool:
    """れんくん: a given name in hiragana; before さん, which follows much else, of three signs at least."""
    friendly = match[0].endswith(("くん", "ちゃん"))
    known = katakana(name) in name_list("given_kana") and name not in any_of("no_person", "no_kana_name")
    return known and (friendly or len(name) > 2)


def introduced(match: re.Match[str]) -> Span | None:
    """Somebody before と申します; before といいます, as things are called, only with a known surname."""
    start, end = masked_part(match)
    name = match["v"]
    if _ORGANISATION.search(name) and surname_at(name) is None:
        return None
    polite = match.string[match.end() :].startswith(("申し", "もうし"))
    return (start, end) if polite or _knows(name) else None


def _knows(name: str) -> bool:
    """Whether a word begins with a surname of the lists, in kanji or kana, or is two capitalised words."""
    if re.match(r"[A-Za-z]", name):
        return " " in name
    kana = kana_surnames()
    foreign = "・" in name
    known = surname_at(name) == 0 or any(name.startswith(surname) for surname in kana)
    if re.match(rf"[{KANA}]", name):
        known = known or is_kana_name(name) or is_foreign_kana(name)
    return foreign or known


def labelled_name(match: re.Match[str]) -> Span | None:
    """A name behind 氏名: or 名前は; words such as 必須 and 本人 are none."""
    name = match["v"]
    bare = re.sub(r"[ ・]", "", name)
    if bare in word_list("no_label_value") or (_ORGANISATION.search(bare) and not _knows(name)):
        return None
    if re.match(r"[A-Za-z]", name):
        return english_name(match)
    tail = re.fullmatch(rf"[{KANJI}]+ ?([ぁ-ん]+)", name)
    if tail and katakana(tail[1]) not in name_list("given_kana"):
        return None
    if match["link"] in {"の", "、"} or match[0].startswith("担当"):
        return masked_part(match) if _knows(name) else None
    line = match.string[: match.start()].rstrip(" ・-*")
    if match["link"] == " " and line and not line.endswith("\n"):
        return masked_part(match) if _knows(name) else None
    by_colon = match["link"] == " " or ":" in match["link"] or match["link"] in {"=", "→", "⇒", "\n"}
    said = match["after"].startswith(("です", "だ", "と", "さん", "様"))
    likely = by_colon or said
    likely = likely or is_any_given(name)
    return masked_part(match) if _knows(name) or (likely and len(bare) > 1 and can_be_given(bare)) else None


def full_name(match: re.Match[str]) -> Span | None:
    """A surname and perhaps a given name that stand on their own; a title such as 部長 is not masked."""
    name = _ROLE.sub("", match["v"])
    when = WHEN.match(name)
    span = match.start("v") + (when.end() if when else 0), match.start("v") + len(name)
    name = name[when.end() :] if when else name
    if re.match(rf"[{KANA}]", name):
        surname, *rest = re.split("[ ・]", katakana(name))
        listed_both = is_kana_family(surname) and bool(rest) and rest[0] in name_list("given_kana")
        return span if surname in katakana_surnames() or listed_both or _is_foreign(name) else None
    for length in (3, 2, 1):
        surname, given = name[:length], name[length:]
        spaced = given.startswith(" ")
        if surname in word_list("surnames") and (length > 1 or spaced) and goes_with(surname, given.strip()):
            sure = surname not in word_list("doubtful") or spaced or given[-1:] in ("郎", "子", "美")
            if sure or (not given and _CALLED.match(match.string, span[1])):
                return span
    alone = is_person(name) and _STANDS.match(match.string, span[1]) and not _digit_before(match)
    return span if alone or is_listed_pair(name) else None


def _digit_before(match: re.Match[str]) -> bool:
    """Whether a count stands before a word: 3日前, 7営業日前."""
    return match.string[max(0, match.start() - 1) : match.start()].isnumeric()


# What a surname alone is followed by; 水増し and 日前までに are no names.
_STANDS = re.compile(
    r"[はがをにのともで、。」()\]!?\s\ue000,]|から|より|です|だ|さん|様|$|って|じゃ|なん|っす|や|宛|あて"
)


_ROLE = re.compile(
    "(?:部長|課長|係長|店長|社長|所長|室長|主任|主査|先生|教授|専務|常務|取締役|夫妻|一家|家|宛)$"
)
_CALLED = re.compile("と(?:申|言|い[うい])|って(?:言|い)|です(?:が|けど|けれど|。|$)|の名(?:前|義)")


def foreign_alone(match: re.Match[str]) -> Span | None:
    """イ・ソヨンです: katakana in parts where a text begins, none of them a word for staff."""
    name = match["v"]
    return None if any(name.endswith(word) for word in word_list("no_person_kana")) else masked_part(match)


def bare_given(match: re.Match[str]) -> Span | None:
    """母久美子が: a given name of the lists right behind a relation."""
    return masked_part(match) if is_given(match["v"]) else None


# Who says so goes on to say what is wanted.
_SOFT = re.compile("です(?:が|け)|だけ(?:ど|れど)|と申|でございます")


def _is_presented(match: re.Match[str]) -> bool:
    """予約している土橋ですが: a surname that is a place as well, behind what its bearer has done."""
    name = match["v"]
    if not is_family(name) or name in any_of("no_person", "prefectures", "brands") or COUNT.fullmatch(name):
        return False
    has_done = match.string[max(0, match.start("v") - 1) : match.start("v")] in {"る", "た"}
    return len(name) > 1 and (has_done or not is_rare(name, "places_ja"))


def given_alone(match: re.Match[str]) -> Span | None:
    """たくみだよ, ゆかりの携帯: a given name in kana where a sentence begins."""
    name = match["v"]
    kana = len(name) > 2 and katakana(name) in any_of("foreign_kana", of=("given_kana",))
    return (
        masked_part(match)
        if kana and name not in any_of("no_person", "no_kana_name", "doubtful_kana")
        else None
    )


def surname_alone(match: re.Match[str]) -> Span | None:
    """田中です: a surname that is no place and no common word, unless the words before tell a person."""
    name = match["v"]
    if match["sure"]:
        return masked_part(match) if _can_be_called(name) else None
    if _SOFT.match(match.string, match.end("v")) and _is_presented(match):
        return masked_part(match)
    if name in word_list("doubtful") - word_list("prefectures"):
        return masked_part(match) if not match.string[: match.start("v")].strip() else None
    plain = katakana(name) if re.match(rf"[{KANA}]", name) else name
    if re.match("[ぁ-ん]{4}", name) and katakana(name) in name_list("family_kana"):
        return None if name in any_of("no_kana_name", "no_person", "doubtful_kana") else masked_part(match)
    known = is_surname(plain) and name not in any_of("doubtful", "no_person") and not COUNT.fullmatch(name)
    return masked_part(match) if known and (len(name) > 1 or name in word_list("surnames")) else None


def _can_be_called(name: str) -> bool:
    """Whether a word is a surname or given name of any list, where the words around it ask for one."""
    if name in any_of("no_person", "no_kana_name", "no_label_value", "cities") or COUNT.fullmatch(name):
        return False
    if len(name) == 1:
        return name in word_list("surnames") and name not in word_list("prefectures")
    if re.match("[ぁ-ん]", name):
        return len(name) > 2 and is_kana_name(name)
    if re.match(rf"[{KANA}]", name):
        return is_kana_name(name) or is_foreign_kana(katakana(name)) or _is_foreign(name)
    surname, space, given = name.partition(" ")
    if space and re.fullmatch(rf"[ぁ-ん{KANA}]+", given):
        return not is_role(surname)
    return is_family(name) or is_listed_pair(name)


def _is_foreign(name: str) -> bool:
    """ドゥオン・ティ・ラン: katakana of several parts, one of them a name of another language."""
    parts = re.split("[ ・=]", katakana(name))
    return len(parts) > 1 and any(map(is_foreign_kana, parts))


def person_beside(match: re.Match[str]) -> Span | None:
    """鬼頭宛, 契約者ドゥオン・ティ・ラン, 「カワチ」でなく: a name where the words beside it ask for one."""
    return masked_part(match) if _can_be_called(match["v"]) else None


def either_person(match: re.Match[str]) -> Span | None:
    """As `person_beside`, of the group `v` or `w`."""
    group = "v" if match["v"] else "w"
    return match.span(group) if _can_be_called(match[group]) else None


def reading(match: re.Match[str]) -> Span | None:
    """（こうち しんや）: how a name is read, behind the name."""
    parts = katakana(match["v"]).split()
    if match.string[match.start() - 1] != "\ue000" and len(match["v"]) < LONGEST_GIVEN:
        return None
    known = all(is_kana_name(part) or part in word_list("foreign_kana") for part in parts)
    return masked_part(match) if known else None


def surname_listed(match: re.Match[str]) -> Span | None:
    """野々村が待って: a surname that does what people do."""
    name = match["v"]
    return masked_part(match) if is_surname(name) and name not in any_of("doubtful", "no_person") else None


def with_surname(match: re.Match[str]) -> Span | None:
    """安西先生: somebody before a title that others bear without their name."""
    name = match["v"]
    known = is_surname(katakana(name)) or is_family(name)
    return masked_part(match) if known and not is_role(name) else None


def called(match: re.Match[str]) -> Span | None:
    """三枝子という名前で: a given name or surname before the word for name."""
    name = match["v"]
    known = is_given(name) or is_kana_name(name) or is_family(name)
    return masked_part(match) if known or (len(name) > LONGEST_GIVEN - 1 and surname_at(name) == 0) else None


def surname_and_kana(match: re.Match[str]) -> Span | None:
    """馬場ウメ: a surname in kanji and a given name in katakana."""
    surname, space, given = re.split(rf"( ?)(?=[{KANA}])", match["v"], maxsplit=1)
    known = is_surname(surname) and (bool(space) or surname not in word_list("doubtful"))
    listed_given = katakana(given) in name_list("given_kana") or given[-1] in "子代江美枝"
    short = len(given) < LONGEST_GIVEN + bool(space)
    sure = listed_given or (short and (space or surname in word_list("surnames")))
    return masked_part(match) if known and sure else None


def changed_name(match: re.Match[str]) -> Span | None:
    """姓が石動から勅使河原に: any word behind "surname" that is no word for a person or a form."""
    name = match["v"]
    return (
        None
        if name in any_of("no_label_value", "no_person") or _ORGANISATION.search(name)
        else masked_part(match)
    )


def given_name(match: re.Match[str]) -> Span | None:
    """妻の花子, 妻のアンナ, 娘のゆかり: a given name behind a relation."""
    name = match["v"]
    if not re.match(rf"[{KANJI}]", name):
        parts = re.split("[ ・]", katakana(name))
        known = any(part in name_list("given_kana") or is_foreign_kana(part) for part in parts)
        return masked_part(match) if known and name not in any_of("no_kana_name", "no_person_kana") else None
    if surname_at(name) == 0 or is_any_given(name) or name in word_list("given_one"):
        return masked_part(match)
    if is_given(name.partition(" ")[2]):
        return masked_part(match)
    likely = len(name) <= LONGEST_GIVEN and name[-1] in given_ends() and name not in word_list("no_given")
    return masked_part(match) if likely and not _ORGANISATION.search(name) else None


def kana_pair(match: re.Match[str]) -> Span | None:
    """こばやし みお: a surname and a given name in hiragana."""
    surname, given = map(katakana, match["v"].split())
    return masked_part(match) if is_kana_family(surname) and given in name_list("given_kana") else None


NAME_CHECKS = ENGLISH_NAME_CHECKS | {
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
    "either_person": either_person,
    "given_alone": given_alone,
    "foreign_alone": foreign_alone,
    "bare_given": bare_given,
}
