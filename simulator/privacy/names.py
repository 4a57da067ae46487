"""Who is meant by name: the checks of the patterns of names, and the lists that they look names up in.

Japanese names are known by lists, because a surname stands beside kanji that are words; those in Latin
letters by the words around them, by a short list of given names, and by how the Japanese lists are spelt. A
check returns what of a match is masked: a span, or whether it is the match's group `v`.

There are short lists in names.toml, kept by hand: common surnames, words that only look like names, words for
people who are not named (担当者, 上司). And long ones in lists/, from dictionaries (its README names them and
their licences): 88,000 surnames, given names, readings. A name that is a common word or a place as well is in
a list of its own (`family_ja_common`, `places_ja`), and counts only where something beside it asks for a
name.

    山口さんは山口県から     -> the first 山口 alone
    上司に確認します         -> nobody
    鬼頭龍之介が             -> a surname and a given name of the lists
    Hi Aditi! It's Gmail.    -> Aditi alone

What goes wrong here goes wrong silently, in both directions: tests/privacy holds shares over 2,786 labelled
lines, and `make bench-masks` prints what is masked in 4,000 ordinary sentences.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal
from unicodedata import combining, normalize

from simulator.core.templates import read_toml

# Start and end of what is masked.
Span = tuple[int, int]
Check = Callable[[re.Match[str]], Span | bool]
List = Literal[
    "family_ja", "family_ja_common", "given_ja", "given_ja_common", "family_kana", "given_kana",
    "rare_family_kana", "foreign_kana", "places_ja",
]  # fmt: skip
# Kanji with their rare planes and iteration marks; kana in full and half width.
KANJI = "一-鿿㐀-䶿豈-﫿𠀀-𪛟々〆ヶ"
KANA = "ァ-ヺーｦ-ﾟ"
# The name of an entry of [parts] in a pattern.
_PART = re.compile("«([a-z_]+)»")
# A given name has at most so many kanji; longer runs are words.
LONGEST_GIVEN = 3
# Shorter names in Latin letters are looked up in no list of Japanese ones: Mai, Rei.
_FEWEST_LETTERS = 4
# 髙﨑, 邊: names are written with old forms and looked up with the usual ones.
_USUAL = str.maketrans(
    "﨑碕髙濵濱嶋嶌邊邉齋齊斉澤廣國德櫻條眞惠榮龍圓壽彌實藏關藪淺淵渕廐瀧槇禮晄峯冨羣鷗靜豐會國靏鐵",
    "崎崎高浜浜島島辺辺斎斎斎沢広国徳桜条真恵栄竜円寿弥実蔵関薮浅渕渕厩滝槙礼晃峰富群鴎静豊会国鶴鉄",
)


@cache
def table(name: str) -> dict[str, Any]:
    """The tables of patterns.toml or names.toml."""
    return read_toml(Path(__file__).with_name(f"{name}.toml"))


@cache
def word_list(key: str) -> frozenset[str]:
    """The words of one list of names.toml."""
    return frozenset(str(table("names")[key]).split())


def filled(pattern: str) -> str:
    """A pattern with the entries of [parts] of patterns.toml in the place of their names."""
    while _PART.search(pattern):
        pattern = _PART.sub(lambda name: str(table("patterns")["parts"][name[1]]), pattern)
    return pattern


@cache
def part(name: str) -> re.Pattern[str]:
    """An entry of [parts], compiled at its first use."""
    return re.compile(filled(f"«{name}»"))


@cache
def _list(name: List) -> dict[str, tuple[str, str]]:
    """By the first sign of a name: the second ones of names of two, and the rests of longer ones.

    A hundred thousand names take little memory so; a name of one sign has "." among the second ones. A line
    of a file is the first sign, the second ones without spaces, and the rests of longer names, with spaces
    between.
    """
    path = Path(__file__).with_name("lists") / f"{name}.txt"
    lines = (line.split(" ", 2) for line in path.read_text(encoding="utf-8").splitlines())
    return {first: (seconds, f" {' '.join(longer)} ") for first, seconds, *longer in lines}


def _listed(name: str, *lists: List) -> bool:
    """Whether a name stands in one of the long lists, in old forms of its kanji or the usual ones.

    髙﨑 is looked up as it is, and as 高崎.
    """
    for written in dict.fromkeys((name, name.translate(_USUAL))):
        rest = written[1:] or "."
        for list_name in lists if " " not in rest else ():
            seconds, longer = _list(list_name).get(written[:1], ("", ""))
            if (rest in seconds) if len(rest) == 1 else (f" {rest} " in longer):
                return True
    return False


@cache
def _latin_forms(name: List) -> frozenset[str]:
    """The names of a katakana list in Latin letters, as `_latin_key` writes them.

    By the table `romaji` of names.toml, Hepburn with Q for ッ: サットン is satton, マッチ is matchi.
    """
    pairs = str(table("names")["romaji"]).split()
    signs = dict(zip(pairs[::2], pairs[1::2], strict=True))

    def latin(kana: str) -> str:
        text = "".join(signs.get(sign, "") for sign in re.findall(".[ャュョ]|.", kana))
        return re.sub(r"Q(.)", r"\1\1", text).replace("cch", "tch").replace("Q", "")

    def names() -> Iterator[str]:
        for first, (seconds, longer) in _list(name).items():
            yield from (first + rest.strip(".") for rest in (*seconds.strip("-"), *longer.split()))

    return frozenset(_latin_key(latin(kana)) for kana in names())


def _latin_key(text: str) -> str:
    """Ohno, Oono and Ōno as one: long vowels and the n before b, m and p are written in many ways.

    All three are ono; Shimbo and Shinbo are shinbo.
    """
    plain = re.sub(r"[^a-z]", "", normalize("NFKD", text.lower()))
    plain = re.sub(r"oh(?![aeiouy])|o[uo]", "o", plain)
    return re.sub(r"m(?=[bmp])", "n", plain.replace("uu", "u"))


def _katakana(text: str) -> str:
    """A word in hiragana or half-width kana as the lists have it."""
    return "".join(chr(ord(c) + 0x60) if "ぁ" <= c <= "ゖ" else c for c in normalize("NFKC", text))


# Japanese


@cache
def _katakana_surnames() -> frozenset[str]:
    return frozenset(map(_katakana, word_list("surnames_kana")))


def _is_surname(name: str) -> bool:
    """Whether a word is a surname and no common word: 生田目, 髙﨑, サトウ."""
    surnames = word_list("surnames") | word_list("surnames_kana") | _katakana_surnames()
    return name.translate(_USUAL) in surnames or _listed(name, "family_ja")


def _is_family(name: str) -> bool:
    """As `_is_surname`; those that are common words or places as well are surnames, too."""
    return _is_surname(name) or _listed(name, "family_ja_common")


def _is_given(name: str) -> bool:
    """Whether a word in kanji is a given name and no common word."""
    return _listed(name, "given_ja")


def _is_any_given(name: str) -> bool:
    """As `_is_given`; those that are common words as well are given names, too: 紬, 一歩."""
    return _listed(name, "given_ja", "given_ja_common")


def _is_kana_family(name: str) -> bool:
    """Whether katakana is how a surname is read: サトウ, タカナシ."""
    return name in _katakana_surnames() or _listed(name, "family_kana", "rare_family_kana")


def _is_kana_name(name: str) -> bool:
    """Whether kana is how a surname or a given name is read."""
    plain = _katakana(name)
    return _is_kana_family(plain) or _listed(plain, "given_kana")


def _is_foreign_kana(name: str) -> bool:
    """Whether katakana is a name of another language: ロッシ, グエン."""
    return name in word_list("foreign_kana") or _listed(name, "foreign_kana")


def _is_role(name: str) -> bool:
    """Whether a word tells what somebody is, not who: 担当者, 奥."""
    return name in word_list("no_person") or name.endswith(tuple(word_list("no_person_ends")))


def _can_be_given(name: str) -> bool:
    """Whether what follows a surname can be a given name: nothing, or not a role such as 支店長."""
    return not name or not (
        name in word_list("no_given") or name.endswith(tuple(word_list("no_person_ends")))
    )


def _ends_as_given(name: str) -> bool:
    """Whether kanji end like a given name: the lists have not all of them."""
    ends = "".join(word_list("given_ends"))
    return name[-1:] in ends and len(name) <= LONGEST_GIVEN and name not in word_list("no_given")


def _surname_at(name: str) -> int | None:
    """Where in a run of kanji a surname begins that leaves at most three for the given name.

    鬼頭龍之介 -> 0. A common surname may stand behind other words (お客様佐藤花子); one of the long lists
    only where the run begins, because nearly any two kanji are somebody's surname. None where no name can be
    in it.
    """
    plain = name.translate(_USUAL)
    for place in range(len(name)):
        rest = plain[place:]
        for length in (3, 2, 1):
            given = rest[length:].replace(" ", "")
            whole = length > 1 or place == 0
            if (
                whole
                and rest[:length] in word_list("surnames")
                and len(given) <= LONGEST_GIVEN
                and _can_be_given(given)
            ):
                return place
    if name.replace(" ", "") in word_list("no_person"):
        return None
    # A surname of the long lists, alone or before a given name of theirs.
    for length in (4, 3, 2):
        rest = name[length:].strip()
        fits = not rest or _is_any_given(rest) or re.fullmatch(r"[ぁ-ん]{2,4}", rest)
        if len(name) >= length and fits and _is_family(name[:length]):
            return 0
    return None


def _is_listed_pair(name: str) -> bool:
    """橘 薫, 鬼頭龍之介: a surname and a given name that the long lists both have."""
    surname, space, given = name.partition(" ")
    if not space:
        return any(_is_surname(name[:cut]) and _is_given(name[cut:]) for cut in (2, 3, 4) if name[cut + 1 :])
    if re.match("[ぁ-ん]", given):
        is_given = _listed(_katakana(given), "given_kana")
        return is_given and surname not in word_list("doubtful") and not _is_role(surname)
    if _is_surname(surname) and len(given) == 1 and surname not in word_list("no_person"):
        return given not in word_list("no_one")
    if not _is_family(surname):
        return len(given) > 1 and _is_given(given) and not _is_role(surname)
    return given not in word_list("no_given") and _is_any_given(given)


def _begins_with_surname(name: str) -> bool:
    """Whether a word begins with a surname of the lists, in kanji or kana, or is two capitalised words."""
    if re.match(r"[A-Za-z]", name):
        return " " in name
    is_surname = (
        "・" in name
        or _surname_at(name) == 0
        or name.startswith(tuple(word_list("surnames_kana") | _katakana_surnames()))
    )
    return is_surname or bool(
        re.match(rf"[{KANA}]", name) and (_is_kana_name(name) or _is_foreign_kana(name))
    )


def _can_be_called(name: str) -> bool:
    """Whether a word is a surname or given name of any list, where the words around it ask for one."""
    lists = ("no_person", "no_kana_name", "no_label_value", "cities")
    if any(name in word_list(key) for key in lists) or part("count").fullmatch(name):
        return False
    if len(name) == 1:
        return name in word_list("surnames") and name not in word_list("prefectures")
    if re.match("[ぁ-ん]", name):
        return len(name) > 2 and _is_kana_name(name)
    if re.match(rf"[{KANA}]", name):
        return _is_kana_name(name) or _is_foreign_kana(_katakana(name))
    surname, space, given = name.partition(" ")
    if space and re.fullmatch(rf"[ぁ-ん{KANA}]+", given):
        return not _is_role(surname)
    return _is_family(name) or _is_listed_pair(name)


def with_title(match: re.Match[str]) -> Span | bool:
    """Somebody before 様 or さん: a surname within the word, or a word that names no role or relation.

    佐藤花子様, サトウ様, さとうさん, Smith様; not お客様, 担当者様, お子さん.
    """
    name, (start, end) = match["v"], match.span("v")
    if re.match(r"[A-Za-z]", name):
        return english_name(match)
    if re.match(r"[ぁ-ん]", name):
        return _kana_person(match)
    if not re.match(rf"[{KANJI}]", name):
        return not name.endswith(tuple(word_list("no_person_kana")))
    return _kanji_person(name, start, end)


def _kanji_person(name: str, start: int, end: int) -> Span | bool:
    """What of kanji before 様 or さん, at these places, is somebody's name."""
    when = part("when").match(name)
    if when and _is_family(name[when.end() :]):
        return start + when.end(), end
    if name in word_list("no_person"):
        return False
    if (place := _surname_at(name)) is not None:
        return start + place, end
    bare = name.replace(" ", "")
    return 1 < len(bare) <= 5 and not _is_role(bare)


def _kana_person(match: re.Match[str]) -> Span | bool:
    """Hiragana runs into the words before it: only from a known name on.

    A given name before さん, which follows much else, has three signs at least; れんくん two.
    """
    name, (start, end) = match["v"], match.span("v")
    fewest = 2 if match[0].endswith(("くん", "ちゃん")) else 3
    for place in range(len(name)):
        rest = name[place:].replace(" ", "")
        surnames = word_list("surnames_kana")
        if any(rest.startswith(surname) and len(rest) <= len(surname) + 4 for surname in surnames):
            return start + place, end
        begins = place == 0 or name[place - 1] in "のとはがも"
        is_word = rest in word_list("no_person") or rest in word_list("no_kana_name")
        if begins and not is_word and len(rest) >= fewest and _listed(_katakana(rest), "given_kana"):
            return start + place, end
    return False


def introduced(match: re.Match[str]) -> bool:
    """Somebody before と申します; before といいます, as things are called, only with a known surname.

    "ルーターといいます" names a thing; "ミズナラサポートと申します" a desk, by how the word ends.
    """
    name = match["v"]
    if part("organisation").search(name) and _surname_at(name) is None:
        return False
    polite = match.string.startswith(("申し", "もうし"), match.end())
    return polite or _begins_with_surname(name)


def labelled_name(match: re.Match[str]) -> Span | bool:
    """A name behind 氏名: or 名前は; words such as 必須 and 本人 are none."""
    name, link = match["v"], match["link"]
    bare = re.sub(r"[ ・]", "", name)
    is_name = _begins_with_surname(name)
    if bare in word_list("no_label_value") or (part("organisation").search(bare) and not is_name):
        return False
    if re.match(r"[A-Za-z]", name):
        return english_name(match)
    tail = re.fullmatch(rf"[{KANJI}]+ ?([ぁ-ん]+)", name)
    if tail and not _listed(_katakana(tail[1]), "given_kana"):
        return False
    line = match.string[: match.start()].rstrip(" ・-*")
    in_sentence = link == " " and line and not line.endswith("\n")
    if is_name or in_sentence or link in {"の", "、"} or match[0].startswith("担当"):
        return is_name
    likely = (
        ":" in link
        or link in {" ", "=", "→", "⇒", "\n"}
        or match["after"].startswith(("です", "だ", "と", "さん", "様"))
        or _is_any_given(name)
    )
    return likely and len(bare) > 1 and _can_be_given(bare)


def full_name(match: re.Match[str]) -> Span | bool:
    """A surname and perhaps a given name that stand on their own; a title such as 部長 is not masked.

    The most frequent way to be named, and the one with the most to be confused with. Katakana needs a surname
    and a given name that the lists know; a common surname needs an ending of a given name, a space, or, where
    it is a word as well (`doubtful`), both; a rare surname alone needs a particle or です behind it, and no
    counter before.
    """
    name = part("role").sub("", match["v"])
    if match.string.endswith(("お", "ご"), 0, match.start("v")):  # お部屋内, お風呂上がり
        return False
    when = part("when").match(name)
    span = match.start("v") + (when.end() if when else 0), match.start("v") + len(name)
    name = name[when.end() :] if when else name
    if re.match(rf"[{KANA}]", name):
        surname, *rest = re.split("[ ・]", _katakana(name))
        both = _is_kana_family(surname) and bool(rest) and _listed(rest[0], "given_kana")
        named = sum(map(_is_foreign_kana, (surname, *rest))) + bool(
            part("books").match(match.string, span[1])
        )
        return span if surname in _katakana_surnames() or both or named > 1 else False
    for length in (3, 2, 1):
        surname, given = name[:length], name[length:]
        spaced = given.startswith(" ")
        if surname in word_list("surnames") and (length > 1 or spaced) and _goes_with(surname, given.strip()):
            sure = surname not in word_list("doubtful") or spaced or given[-1:] in ("郎", "子", "美")
            if sure or (not given and part("called").match(match.string, span[1])):
                return span
    is_person = (
        len(name) > 1
        and not any(name in word_list(key) for key in ("doubtful", "no_person", "brands"))
        and not _listed(name, "places_ja")
        and not part("count").fullmatch(name)
        and _is_surname(name)
    )
    # 3日前, 7営業日前: no name behind a count.
    counted = match.string[max(0, match.start() - 1) : match.start()].isnumeric()
    alone = is_person and not counted and part("stands").match(match.string, span[1])
    return span if alone or _is_listed_pair(name) else False


def _goes_with(surname: str, given: str) -> bool:
    """Whether this can be a given name behind a surname, or is none."""
    if re.fullmatch(r"[ぁ-ん]{2,4}", given):
        return given[-1] in "こみえかなりきおや" and given not in word_list("particles")
    return not given or (
        _ends_as_given(given) and _can_be_given(given) and surname + given not in word_list("no_given")
    )


def foreign_alone(match: re.Match[str]) -> bool:
    """イ・ソヨンです: katakana in parts where a text begins, none of them a word for staff."""
    return not match["v"].endswith(tuple(word_list("no_person_kana")))


def bare_given(match: re.Match[str]) -> bool:
    """母久美子が: a given name of the lists right behind a relation."""
    return _is_given(match["v"])


def given_alone(match: re.Match[str]) -> bool:
    """たくみだよ, ゆかりの携帯: a given name in kana where a sentence begins."""
    name = match["v"]
    if len(name) < 3 or any(name in word_list(key) for key in ("no_person", "no_kana_name", "doubtful_kana")):
        return False
    return _katakana(name) in word_list("foreign_kana") or _listed(_katakana(name), "given_kana")


def surname_alone(match: re.Match[str]) -> bool:
    """田中です: a surname that is no place and no common word, unless the words before tell a person.

    Behind what its bearer has done a surname that is a place counts, too: 予約している土橋ですが.
    """
    name = match["v"]
    if match["sure"]:
        return _can_be_called(name)
    if part("soft").match(match.string, match.end("v")) and _is_presented(match):
        return True
    if name in word_list("doubtful") - word_list("prefectures"):
        return not match.string[: match.start("v")].strip()
    if name in word_list("no_person"):
        return False
    if re.match("[ぁ-ん]{4}", name) and _listed(_katakana(name), "family_kana"):
        return name not in word_list("no_kana_name") | word_list("doubtful_kana")
    plain = _katakana(name) if re.match(rf"[{KANA}]", name) else name
    is_surname = (
        _is_surname(plain) and name not in word_list("doubtful") and not part("count").fullmatch(name)
    )
    return is_surname and (len(name) > 1 or name in word_list("surnames"))


def _is_presented(match: re.Match[str]) -> bool:
    """予約している土橋ですが: a surname that is a place as well, behind what its bearer has done."""
    name = match["v"]
    if len(name) < 2 or any(name in word_list(key) for key in ("no_person", "prefectures", "brands")):
        return False
    has_done = match.string[max(0, match.start("v") - 1) : match.start("v")] in {"る", "た"}
    return (
        _is_family(name)
        and not part("count").fullmatch(name)
        and (has_done or not _listed(name, "places_ja"))
    )


def person_beside(match: re.Match[str]) -> Span | bool:
    """A name where the words beside it ask for one: 鬼頭宛, 契約者ドゥオン・ティ・ラン.

    These words say already that somebody is meant, so any list will do.
    """
    group = "v" if match["v"] else "w"
    return match.span(group) if _can_be_called(match[group]) else False


def with_surname(match: re.Match[str]) -> bool:
    """安西先生: somebody before a title that others bear without their name."""
    name = match["v"]
    return (_is_surname(_katakana(name)) or _is_family(name)) and not _is_role(name)


def called(match: re.Match[str]) -> bool:
    """三枝子という名前で: a given name or surname before the word for name."""
    name = match["v"]
    is_name = _is_given(name) or _is_kana_name(name) or _is_family(name)
    return is_name or (len(name) >= LONGEST_GIVEN and _surname_at(name) == 0)


def surname_and_kana(match: re.Match[str]) -> bool:
    """馬場ウメ: a surname in kanji and a given name in katakana."""
    surname, space, given = re.split(rf"( ?)(?=[{KANA}])", match["v"], maxsplit=1)
    is_name = _is_surname(surname) and (bool(space) or surname not in word_list("doubtful"))
    short = len(given) < LONGEST_GIVEN + bool(space) and (bool(space) or surname in word_list("surnames"))
    return is_name and (short or given[-1] in "子代江美枝" or _listed(_katakana(given), "given_kana"))


def given_name(match: re.Match[str]) -> bool:
    """妻の花子, 妻のアンナ, 娘のゆかり: a given name behind a relation."""
    name = match["v"]
    if not re.match(rf"[{KANJI}]", name):
        parts = re.split("[ ・]", _katakana(name))
        is_name = any(_listed(part, "given_kana") or _is_foreign_kana(part) for part in parts)
        return is_name and name not in word_list("no_kana_name") | word_list("no_person_kana")
    if name in word_list("no_person"):
        return False
    if _surname_at(name) == 0 or _is_any_given(name) or name in word_list("given_one"):
        return True
    return _is_given(name.partition(" ")[2]) or (
        _ends_as_given(name) and not part("organisation").search(name)
    )


def kana_pair(match: re.Match[str]) -> bool:
    """こばやし みお: a surname and a given name in hiragana."""
    surname, given = map(_katakana, match["v"].split())
    return _is_kana_family(surname) and _listed(given, "given_kana")


# In Latin letters


def _plain(word: str) -> str:
    """A word as the list has it: without accents, with one capital."""
    bare = "".join(sign for sign in normalize("NFKD", word) if not combining(sign))
    return bare.capitalize() if bare.isupper() else bare


def _is_common_given(word: str) -> bool:
    """Whether a capitalised word is a common given name, and neither a place nor a thing as well."""
    return _plain(word) in word_list("english_given") and word not in word_list("doubtful_given")


def _is_known(word: str) -> bool:
    """Whether a capitalised word is a common given name or a Japanese name in Latin letters."""
    if word.lower() in word_list("no_english"):
        return False
    key = _latin_key(word)
    japanese = key in _latin_forms("family_kana") or key in _latin_forms("given_kana")
    common = _plain(word) in word_list("english_given") | word_list("romaji_surnames")
    return common or (japanese and len(word) >= _FEWEST_LETTERS)


def _is_japanese(word: str, other: str) -> bool:
    """Miyuki Tokita, Tokita Miyuki: a Japanese given name and surname in Latin letters."""
    first, last = _latin_key(word), _latin_key(other)
    family, given = _latin_forms("family_kana"), _latin_forms("given_kana")
    either = (first in given and last in family) or (first in family and last in given)
    return either and min(len(first), len(last)) > 2


def english_name(match: re.Match[str]) -> Span | bool:
    """A name of one to three words; it ends before a word that belongs to none.

    "Jane Doe Please" is Jane Doe. The words are those that a pattern has taken for capitalised; which of them
    belong to no name is the list `no_english`.
    """
    start, end = match.span("v" if match["v"] else "w")
    kept = 0
    for word in re.finditer(r"[^ ]+ ?", match.string[start:end]):
        name = word[0].strip(" .,")
        is_family = kept and name in word_list("family_and_word")
        if part("contracted").search(name) or (name.lower() in word_list("no_english") and not is_family):
            break
        kept = word.start() + len(word[0].rstrip())
    return (start, start + kept) if kept else False


def greeted(match: re.Match[str]) -> Span | bool:
    """Hi Aditi!: who is greeted; "Hi Mizunara Support" is no person."""
    return not part("team").match(match.string, match.end("v")) and english_name(match)


def self_named(match: re.Match[str]) -> Span | bool:
    """Somebody who says "I'm ...": a name of the lists, or capitalised words that describe nothing.

    "I'm Dwayne" and "It's Priya calling" are names; "I'm Catholic", "I am tired" and "It's Gmail" are not.
    """
    words = match["v"].split()
    if words[0].lower() in word_list("describes") and len(words) == 1:
        return False
    is_me = (
        len(words) > 1
        or bool(re.match("(?i:i'm|i am)", match[0]))  # "It's Gmail" is nobody
        or bool(part("calls").match(match.string, match.end()))
    )
    likely = is_me and words[0][0].isupper() and not part("describes").search(words[0])
    return (likely or _is_known(words[0].capitalize())) and english_name(match)


def known_given_name(match: re.Match[str]) -> bool:
    """A common given name and a capitalised word behind it, or a Japanese surname and a word beside it.

    Jane Doe, Tokita Miyuki; not New York.
    """
    words = [_plain(word) for word in match["v"].split()]
    first, last = words[0], words[-1]
    if first.lower() in word_list("no_english"):
        return False
    is_name = last in word_list("family_and_word") and _is_common_given(first)
    if last.lower() in word_list("no_english") and not is_name:
        return False
    given = first in word_list("english_given") and not match["v"].isupper()
    return given or bool({first, last} & word_list("romaji_surnames")) or _is_japanese(first, last)


def lower_given(match: re.Match[str]) -> Span | bool:
    """Hey its dwayne, its dave wilkins: a common given name without its capital, and a word behind it."""
    start, end = match.span("v")
    first, _, last = match["v"].partition(" ")
    if first in word_list("no_english") or not _is_common_given(first.capitalize()):
        return False
    return start, end if last not in word_list("no_english") else start + len(first)


def latin_beside(match: re.Match[str]) -> bool:
    """Emmaです, Tokita Miyukiです: a name in Latin letters in a Japanese sentence, one word of it known.

    Three words with which a text begins are somebody who writes: Nguyen Van Minhです.
    """
    words = [_plain(word) for word in re.split("[ -]", match["v"])]
    if any(word.lower() in word_list("no_english") for word in words):
        return False
    if len(words) == 1:
        return _is_common_given(words[0])
    return any(map(_is_known, words)) or (len(words) > 2 and match.start("v") == 0)


def ticket_name(match: re.Match[str]) -> bool:
    """SATO/KENICHI MR: as airlines write a name."""
    words = [_plain(word) for word in re.split("[/ ]", match["v"])]
    titled = words[-1] in {"Mr", "Mrs", "Ms", "Miss", "Mstr"}
    return titled or (_is_known(words[0]) and _is_known(words[1]))


def bare_given_name(match: re.Match[str]) -> bool:
    """A common given name alone; those that are places or things as well are not taken for one."""
    before = match.string[max(0, match.start() - 5) : match.start()]
    is_thing = part("thing_before").search(before) or part("thing_behind").match(match.string, match.end())
    return not is_thing and match["v"].lower() not in word_list("no_english") and _is_common_given(match["v"])


# By the names that patterns.toml calls them.
NAME_CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        with_title, introduced, labelled_name, full_name, foreign_alone, bare_given, given_alone,
        surname_alone, person_beside, with_surname, called, surname_and_kana,
        given_name, kana_pair, english_name, greeted, self_named, known_given_name,
        lower_given, latin_beside, ticket_name, bare_given_name,
    )
}  # fmt: skip
